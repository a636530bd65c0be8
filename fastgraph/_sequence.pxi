# Part of _tensor.pyx: the walk over nested Python sequences that become tensors.

cdef enum:
    HAS_BOOL = 1
    HAS_INT = 2
    HAS_FLOAT = 4
    HAS_COMPLEX = 8
    HAS_STR = 16
    HAS_TENSOR = 32
    HAS_OTHER = 64
    HAS_ARRAY = 128   # an array with dimensions where a number could stand


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
        raise ValueError("Can't convert Python sequence nested deeper than 64 levels (does it contain itself?) to Tensor.")
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
