# Part of tensor.pyx: memory in and out: tensors over Blocks, arrays, strings and Cells.

cdef int64_t _count(int ndim, const int64_t* dims) noexcept nogil:
    """The number of elements; -1 if their bytes would not fit into 63 bits, whatever their dtype."""
    cdef int i
    cdef int64_t n = 1
    for i in range(ndim):
        if dims[i] == 0:
            return 0
    for i in range(ndim):
        if n > (<int64_t>1 << 58) // dims[i]:
            return -1
        n *= dims[i]
    return n


cdef dict _parts = None   # number of the CPU's part by the name asked for by fg.device; None while the CPU is whole


def place_by(parts) -> None:
    """Let new tensors lie on the part of the CPU that `parts` has for the thread's device; None: there is one part."""
    global _parts
    _parts = parts


cdef EagerTensor wrap_slice(Block* block, char* data, int dtype_code, int ndim, const int64_t* dims):
    """A tensor over part of `block`, whose reference it takes. ResourceExhaustedError if block is NULL."""
    cdef EagerTensor t
    cdef int i
    cdef int64_t size = 1
    if block == NULL:
        raise ResourceExhaustedError(None, None, op_errors.out_of_memory(
            tuple([dims[i] for i in range(ndim)]), _dtypes[dtype_code]))
    t = EagerTensor.__new__(EagerTensor)
    t.block = block
    t.data = data
    t.dtype_code = dtype_code
    if ndim > NEAR_RANK:
        t.dims = <int64_t*>malloc(ndim * sizeof(int64_t))
        if t.dims == NULL:
            raise MemoryError()
    else:
        t.dims = &t.near[0]
    t.ndim = ndim
    for i in range(ndim):
        t.dims[i] = dims[i]
        size *= dims[i]
    t.size = size
    if _parts is not None:
        t.part = <short>_parts.get(thread_state().device, 0)
    return t


cdef EagerTensor wrap_block(Block* block, int dtype_code, int ndim, const int64_t* dims):
    """A tensor over all of `block`, whose reference it takes. ResourceExhaustedError if block is NULL."""
    return wrap_slice(block, block.data if block != NULL else NULL, dtype_code, ndim, dims)


cdef object tensor_array(EagerTensor t):
    """The elements as a read-only ndarray that shares them and keeps them alive.

    Its base is a Buffer, which lends no writable memory: NumPy refuses to make the view writeable.
    """
    if t.array is None:
        t.array = _view(t, 0)
    return t.array


cdef cnp.ndarray _view(EagerTensor t, int flags):
    """An ndarray over the elements, with NumPy's `flags` besides those that they always have."""
    cdef cnp.ndarray view
    cdef cnp.dtype descr
    _alive(t)
    descr = _descr(t.dtype_code)
    Py_INCREF(descr)
    try:
        view = <cnp.ndarray>PyArray_NewFromDescr(
            <void*>cnp.ndarray, <void*>descr, t.ndim, <cnp.npy_intp*>&t.dims[0], NULL, t.data,
            cnp.NPY_ARRAY_C_CONTIGUOUS | cnp.NPY_ARRAY_ALIGNED | flags, None)
    except ValueError:  # NumPy counts the other axes even where there is no element
        raise ResourceExhaustedError(None, None, op_errors.out_of_memory(_dims(t), _dtypes[t.dtype_code])) from None
    cnp.set_array_base(view, Buffer.of(t.block))
    return view


def as_array(EagerTensor t not None):
    """The elements of `t` as a read-only ndarray that shares them."""
    return tensor_array(t)


def new_array(tuple shape, dtype) -> np.ndarray:
    """An ndarray of memory that the pool has kept, to be written by a body that returns it: its tensor shares it.

    The system clears what NumPy takes anew for each large array, which may cost more than what the body does.
    """
    cdef int64_t[MAX_RANK] dims
    cdef int i
    for i in range(len(shape)):
        dims[i] = shape[i]
    return _view(wrap_block(block_new(_count(len(shape), &dims[0]) * _item_sizes[dtype.code]), dtype.code, len(shape),
                            &dims[0]), cnp.NPY_ARRAY_WRITEABLE)


cdef EagerTensor _adopt(object value):
    """A tensor that takes over `value`, a body's result: a dense array without a copy. Nobody may write to it later."""
    cdef cnp.ndarray array
    cdef object base
    cdef Block* block
    cdef int code
    if type(value) is EagerTensor:
        return <EagerTensor>value
    if type(value) is bytes or type(value) is str:
        value = np.array(value, object)
    array = <cnp.ndarray>value if cnp.PyArray_CheckExact(value) else np.array(value, subok=False)
    code = _code_of(array)
    if code < 0 or not cnp.PyArray_ISNOTSWAPPED(array) or (code == STRING and not _are_bytes(array)):
        return from_array(array)
    if cnp.PyArray_NDIM(array) > MAX_RANK:
        raise InvalidArgumentError(None, None, op_errors.rank_too_large(cnp.PyArray_NDIM(array)))
    if not (cnp.PyArray_IS_C_CONTIGUOUS(array) and cnp.PyArray_ISALIGNED(array)):
        array = cnp.PyArray_NewCopy(array, cnp.NPY_CORDER)
    base = array
    while cnp.PyArray_Check(base) and cnp.PyArray_BASE(<cnp.ndarray>base) != NULL:
        base = <object>cnp.PyArray_BASE(<cnp.ndarray>base)
    if type(base) is Buffer:  # a dense view of a tensor: share its Block: references are counted in one place
        block = (<Buffer>base).block
        block_retain(block)
        return wrap_slice(block, <char*>cnp.PyArray_DATA(array), code, cnp.PyArray_NDIM(array),
                          <int64_t*>cnp.PyArray_DIMS(array))
    cnp.PyArray_CLEARFLAGS(array, cnp.NPY_ARRAY_WRITEABLE)
    block = block_of_object(array, <char*>cnp.PyArray_DATA(array), cnp.PyArray_NBYTES(array),
                            BLOCK_OBJECT if code == STRING else BLOCK_FOREIGN)
    return wrap_block(block, code, cnp.PyArray_NDIM(array), <int64_t*>cnp.PyArray_DIMS(array))


cpdef EagerTensor from_array(array, dtype=None, bint copy=True):
    """A tensor of the elements of `array`, cast to `dtype` (None: its own).

    copy=False: a dense array of the right dtype is taken over; the caller promises that nobody writes to it.
    ValueError for element types that tensors do not have.
    """
    cdef cnp.ndarray source, target
    cdef EagerTensor t
    cdef Block* block
    cdef int code, wanted
    source = <cnp.ndarray>np.asarray(array)
    if source.ndim > MAX_RANK:
        raise InvalidArgumentError(None, None, op_errors.rank_too_large(source.ndim))
    code = _code_of(source)
    wanted = dtype.code if dtype is not None else code
    if code == STRING or wanted == STRING or (<object>source).dtype.kind in "SU":
        return _from_strings(source, dtype)
    if code < 0 or wanted < 0:
        raise ValueError(op_errors.unsupported_array(source.dtype))
    if not copy and wanted == code and cnp.PyArray_IS_C_CONTIGUOUS(source) and cnp.PyArray_ISALIGNED(source) and (
            cnp.PyArray_ISNOTSWAPPED(source)):
        return _adopt(source)
    block = block_new(cnp.PyArray_SIZE(source) * _item_sizes[wanted])
    t = wrap_block(block, wanted, cnp.PyArray_NDIM(source), <int64_t*>cnp.PyArray_DIMS(source))
    if wanted == code and cnp.PyArray_IS_C_CONTIGUOUS(source) and cnp.PyArray_ISNOTSWAPPED(source):
        memcpy(t.data, cnp.PyArray_DATA(source), t.size * _item_sizes[wanted])
        return t
    target = <cnp.ndarray>tensor_array(t)
    cnp.PyArray_ENABLEFLAGS(target, cnp.NPY_ARRAY_WRITEABLE)
    if wanted == code:  # no element is cast
        cnp.PyArray_CopyInto(target, source)
        cnp.PyArray_CLEARFLAGS(target, cnp.NPY_ARRAY_WRITEABLE)
        return t
    if (<object>source).dtype.kind == "c" and (<object>target).dtype.kind != "c":
        source = <cnp.ndarray>(<object>source).real
    with np.errstate(all="ignore"):
        np.copyto(target, source, casting="unsafe")
    cnp.PyArray_CLEARFLAGS(target, cnp.NPY_ARRAY_WRITEABLE)
    return t


cdef bint _are_bytes(cnp.ndarray array) noexcept:
    """Return whether these are objects one after the other, all of them bytes: what string tensors hold."""
    cdef PyObject** items = <PyObject**>cnp.PyArray_DATA(array)
    cdef Py_ssize_t i
    if cnp.PyArray_TYPE(array) != cnp.NPY_OBJECT or not cnp.PyArray_IS_C_CONTIGUOUS(array):
        return False
    for i in range(cnp.PyArray_SIZE(array)):
        if items[i] == NULL or not PyBytes_CheckExact(<object>items[i]):
            return False
    return True


cdef EagerTensor _from_strings(cnp.ndarray source, object dtype):
    """A string tensor: an object array of bytes, made from arrays of bytes, str or object."""
    cdef cnp.ndarray target, flat_target
    cdef object item
    cdef Py_ssize_t i = 0
    if dtype is not None and dtype.code != STRING:
        raise op_errors.not_strings(source, dtype)
    if _are_bytes(source):
        return _adopt(cnp.PyArray_NewCopy(source, cnp.NPY_CORDER))
    target = <cnp.ndarray>np.empty((<object>source).shape, object)
    flat_target = <cnp.ndarray>target.reshape(-1)
    for item in (<object>source).flat:
        if type(item) is not bytes:
            if isinstance(item, bytes):
                item = bytes(item)
            elif isinstance(item, str):
                item = item.encode("utf-8")
            else:
                raise op_errors.not_strings(source, dtype, item)
        (<object>flat_target)[i] = item
        i += 1
    cnp.PyArray_CLEARFLAGS(target, cnp.NPY_ARRAY_WRITEABLE)
    return wrap_block(
        block_of_object(target, <char*>cnp.PyArray_DATA(target), cnp.PyArray_NBYTES(target), BLOCK_OBJECT),
        STRING, cnp.PyArray_NDIM(target), <int64_t*>cnp.PyArray_DIMS(target))


# Cells: what a Variable holds.

cpdef EagerTensor cell_read(Cell cell):
    """The value that `cell` holds, sharing its Block. FailedPreconditionError if it holds none."""
    cdef EagerTensor t
    cdef Block* block
    cdef char* data
    cdef int dtype_code, ndim, i
    cdef int64_t[MAX_RANK] dims
    fg_spin_lock(&cell.lock)
    block = cell.block
    if block != NULL:
        block_retain(block)
        data = cell.data
        dtype_code = cell.dtype_code
        ndim = cell.ndim
        for i in range(ndim):
            dims[i] = cell.dims[i]
    fg_spin_unlock(&cell.lock)
    if block == NULL:
        raise FailedPreconditionError(None, None, op_errors.uninitialized(cell.name))
    return wrap_slice(block, data, dtype_code, ndim, &dims[0])


cpdef object cell_assign(Cell cell, EagerTensor value):
    """Make `cell` hold `value`, sharing its Block. InvalidArgumentError if the dtype or shape does not fit."""
    cdef Block* old
    cdef int i
    _alive(value)
    if cell.aval is not None:
        shape = cell.aval.shape
        if value.dtype_code != cell.dtype_code or (shape is not None and (
                len(shape) != value.ndim
                or any([shape[i] is not None and shape[i] != value.dims[i] for i in range(value.ndim)]))):
            raise op_errors.wrong_assignment(cell, value)
    block_retain(value.block)
    fg_spin_lock(&cell.lock)
    old = cell.block
    cell.block = value.block
    cell.data = value.data
    cell.ndim = value.ndim
    for i in range(value.ndim):
        cell.dims[i] = value.dims[i]
    cell.version += 1
    fg_spin_unlock(&cell.lock)
    block_release(old)
