# Part of tensor.pyx: the keys that eager tensors are indexed by most, without Python; ops/indexing.py has them all.

cdef Primitive _strided_slice = None     # noted on tapes; filled by ops/indexing.py


cdef extern from "Python.h":
    int PySlice_Unpack(object slice, Py_ssize_t* start, Py_ssize_t* stop, Py_ssize_t* step) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t length, Py_ssize_t* start, Py_ssize_t* stop, Py_ssize_t step) noexcept


cdef bint _plain_number(object n) noexcept:
    return n is None or type(n) is int


cdef bint _plain_slice(object key) noexcept:
    cdef object step = key.step
    return _plain_number(key.start) and _plain_number(key.stop) and (step is None or (type(step) is int and step))


cdef EagerTensor _part(EagerTensor x, int64_t offset, int ndim, const int64_t* dims):
    """A tensor of the elements from `offset` on, in x's memory."""
    block_retain(x.block)
    return wrap_slice(x.block, x.data + offset * _item_sizes[x.dtype_code], x.dtype_code, ndim, dims)


cdef object _spec_item(object part):
    if part is None:
        return ("n",)
    if part is Ellipsis:
        return ("e",)
    if type(part) is slice:
        return ("s", part.start, part.stop, part.step)
    return ("i", part)


cdef object _fast_getitem(EagerTensor x, object key):
    """x[key] for ints, slices of ints, None and ... ; None where the general road must be taken."""
    cdef ThreadState state = thread_state()
    cdef EagerTensor out = None
    cdef int64_t dims[MAX_RANK]
    cdef int64_t row = 1
    cdef Py_ssize_t index, start, stop, step, n
    cdef int i, n_ellipses = 0
    cdef int overflow = 0
    cdef tuple spec, parts
    cdef object view
    if state.trace is not None or x.block == NULL:
        return None
    if type(key) is int:
        if x.ndim == 0:
            return None
        index = PyLong_AsLongLongAndOverflow(key, &overflow)
        if index < 0:
            index += x.dims[0]
        if overflow or index < 0 or index >= x.dims[0]:
            return None
        for i in range(1, x.ndim):
            row *= x.dims[i]
        out = _part(x, index * row, x.ndim - 1, &x.dims[1])
    elif type(key) is slice:
        if x.ndim == 0 or not _plain_slice(key):
            return None
        PySlice_Unpack(key, &start, &stop, &step)
        if step != 1:
            return _view_getitem(state, x, (key,))
        n = PySlice_AdjustIndices(x.dims[0], &start, &stop, step)
        for i in range(1, x.ndim):
            row *= x.dims[i]
            dims[i] = x.dims[i]
        dims[0] = n
        out = _part(x, (start if n else 0) * row, x.ndim, &dims[0])
    elif type(key) is tuple:
        return _view_getitem(state, x, <tuple>key)
    elif key is None or key is Ellipsis:
        return _view_getitem(state, x, (key,))
    else:
        return None
    if state.tapes:
        return _noted_part(state, x, (key,), out)
    return out


cdef object _view_getitem(ThreadState state, EagerTensor x, tuple key):
    """x[key] by way of NumPy's view, where NumPy and TensorFlow agree on what it means."""
    cdef object part
    cdef bint whole = False
    cdef EagerTensor out
    for part in key:
        if part is Ellipsis:
            if whole:
                return None
            whole = True
        elif not (part is None or type(part) is int or (type(part) is slice and _plain_slice(part))):
            return None
    try:
        out = _adopt(tensor_array(x)[key if whole else key + (Ellipsis,)])
    except (IndexError, ValueError):
        return None
    return _noted_part(state, x, key, out) if state.tapes else out


cdef object _noted_part(ThreadState state, EagerTensor x, tuple key, EagerTensor out):
    global _strided_slice
    if _strided_slice is None:
        _strided_slice = get_slot("strided_slice")
    _note(state, _strided_slice, (x,), {"spec": tuple([_spec_item(part) for part in key])}, out)
    return out
