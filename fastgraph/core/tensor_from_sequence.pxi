# Part of tensor.pyx: the walk over nested Python sequences that become tensors.

cdef enum:
    HAS_BOOL = 1
    HAS_INT = 2
    HAS_FLOAT = 4
    HAS_COMPLEX = 8
    HAS_STR = 16
    HAS_TENSOR = 32
    HAS_OTHER = 64
    HAS_ARRAY = 128   # an array with dimensions where a number could stand


@cython.binding(False)
cdef class Leaves:
    """A nested sequence taken apart: its numbers in order, the sizes of its levels, the kinds found."""

    cdef public list values
    cdef public list dims
    cdef public int kinds
    cdef public int first           # kind of the first number
    cdef public bint ragged
    cdef public bint mixed_depth


cdef int _kind(object value):
    cdef type kind = type(value)
    if kind is float:
        return HAS_FLOAT
    if kind is int:
        return HAS_INT
    if kind is bool:
        return HAS_BOOL
    if kind is str or kind is bytes:
        return HAS_STR
    if isinstance(value, Tensor) or _is_lazy_tensor(value):
        return HAS_TENSOR
    if isinstance(value, (np.generic, np.ndarray)):
        if isinstance(value, np.ndarray) and value.ndim > 0:
            return HAS_ARRAY
        return {"b": HAS_BOOL, "i": HAS_INT, "u": HAS_INT, "f": HAS_FLOAT, "c": HAS_COMPLEX, "S": HAS_STR,
                "U": HAS_STR}.get(value.dtype.kind, HAS_FLOAT if value.dtype.name == "bfloat16" else HAS_OTHER)
    if isinstance(value, complex):
        return HAS_COMPLEX
    if isinstance(value, bool):
        return HAS_BOOL
    if isinstance(value, int):
        return HAS_INT
    if isinstance(value, float):
        return HAS_FLOAT
    if isinstance(value, (str, bytes)):
        return HAS_STR
    return HAS_OTHER


cdef bint _is_level(object value):
    return type(value) is list or type(value) is tuple or isinstance(value, (list, tuple, range, bytearray, memoryview))


cdef int _walk(Leaves leaves, object value, Py_ssize_t depth) except -1:
    cdef object item
    cdef int kind
    cdef Py_ssize_t n
    if depth > 64:
        raise ValueError(
            "Can't convert Python sequence nested deeper than 64 levels (does it contain itself?) to Tensor.")
    n = len(value)
    if depth == len(leaves.dims):
        if leaves.values or leaves.kinds & HAS_ARRAY:  # numbers stood at an earlier place of this level
            leaves.mixed_depth = True
            return 0
        leaves.dims.append(n)
    elif leaves.dims[depth] != n:
        leaves.ragged = True
        return 0
    for item in value:
        if _is_level(item):
            _walk(leaves, item, depth + 1)
        else:
            kind = _kind(item)
            if leaves.first == 0:
                leaves.first = kind
            leaves.kinds |= kind
            if depth + 1 != len(leaves.dims):
                if depth + 1 < len(leaves.dims):
                    leaves.ragged = True
                else:
                    leaves.mixed_depth = True
            leaves.values.append(item)
    return 0


def take_apart(value) -> Leaves:
    """The numbers in a nested sequence (lists, tuples, ranges, bytearrays) and its shape."""
    cdef Leaves leaves = Leaves.__new__(Leaves)
    leaves.values = []
    leaves.dims = []
    _walk(leaves, value, 0)
    return leaves


# Lists of plain floats and ints, the common case, without the general rules (which give the same).

cdef bint _scan(object value, int depth, int* ndim, int64_t* dims, int* kinds):
    """Scan for a full rectangle of plain floats and ints, with no level empty; note its sizes and the kinds found."""
    cdef Py_ssize_t n = len(value)
    cdef object item
    cdef type kind
    if n == 0 or depth >= 8:
        return False
    if depth == ndim[0]:
        if kinds[0]:
            return False
        dims[depth] = n
        ndim[0] += 1
    elif dims[depth] != n:
        return False
    for item in value:
        kind = type(item)
        if kind is float:
            kinds[0] |= HAS_FLOAT
        elif kind is int:
            kinds[0] |= HAS_INT
        elif kind is list or kind is tuple:
            if not _scan(item, depth + 1, ndim, dims, kinds):
                return False
            continue
        else:
            return False
        if depth + 1 != ndim[0]:
            return False
    return True


cdef bint _write(object value, int code, char** place):
    """Write the numbers in `value` as elements of dtype `code`; False for one that does not fit."""
    cdef object item
    cdef double real
    cdef long long integer
    cdef int overflow = 0
    for item in value:
        if type(item) is list or type(item) is tuple:
            if not _write(item, code, place):
                return False
            continue
        if type(item) is int:
            integer = PyLong_AsLongLongAndOverflow(item, &overflow)
            if overflow:
                return False
            real = <double>integer
        else:
            real = PyFloat_AS_DOUBLE(item)
            integer = 0
            if code == FLOAT32 and not _fits_float32(real):
                return False
        if code == FLOAT32:
            (<float*>place[0])[0] = <float>real
            place[0] += 4
        elif code == FLOAT64:
            (<double*>place[0])[0] = real
            place[0] += 8
        elif code == INT32:
            (<int32_t*>place[0])[0] = <int32_t>integer
            place[0] += 4
        else:
            (<int64_t*>place[0])[0] = integer
            place[0] += 8
    return True


cdef bint _small_ints(object value):
    cdef object item
    cdef long long integer
    cdef int overflow = 0
    for item in value:
        if type(item) is list or type(item) is tuple:
            if not _small_ints(item):
                return False
        else:
            integer = PyLong_AsLongLongAndOverflow(item, &overflow)
            if overflow or integer < -2147483648 or integer > 2147483647:
                return False
    return True


cdef EagerTensor _plain_sequence(object value, int code):
    """A tensor of nested lists of plain floats and ints, of dtype `code` (-1: theirs); None where the rules decide."""
    cdef int64_t dims[MAX_RANK]
    cdef int ndim = 0, kinds = 0
    cdef int64_t size
    cdef EagerTensor out
    cdef char* place
    if code != -1 and code != FLOAT32 and code != FLOAT64 and code != INT32 and code != INT64:
        return None
    if not _scan(value, 0, &ndim, &dims[0], &kinds):
        return None
    if code == -1:
        code = FLOAT32 if kinds & HAS_FLOAT else INT32 if _small_ints(value) else INT64
    elif kinds & HAS_FLOAT and (code == INT32 or code == INT64):
        return None
    size = _count(ndim, &dims[0])
    out = wrap_block(block_new(size * _item_sizes[code]), code, ndim, &dims[0])
    place = out.data
    return out if _write(value, code, &place) else None
