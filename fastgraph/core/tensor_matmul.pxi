# Part of tensor.pyx: matrix products: by blocks where those are as fast as BLAS, int64 by loops, else NumPy's.

cdef extern from "core/native/small_matmul.h" nogil:
    void fg_product_f32(void*, void*, void*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t)
    void fg_product_f64(void*, void*, void*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t)
    void fg_product_i32(void*, void*, void*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t)
    void fg_product_i64(void*, void*, void*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t)

cdef enum:
    SMALL_FLOAT = 32768         # multiplications up to which a product is done here and not by BLAS
    SMALL_DOUBLE = 10000
    KEEPS_GIL = 300000          # multiplications up to which the GIL is kept: about 4 us
    MANY_PRODUCTS = 64          # of a batch, up to which their places need no memory but the stack's

cdef object _numpy_matmul = np.matmul
cdef dict _plain_product = {"transpose_a": False, "transpose_b": False}
cdef Primitive _matmul_primitive = None


cdef EagerTensor _product(EagerTensor a, EagerTensor b, bint transpose_a, bint transpose_b):
    """a @ b of two matrices of one dtype; None where NumPy's body must do it or say what is wrong."""
    cdef int64_t dims[2]
    cdef int64_t k, a_row, a_col, b_row, b_col, small
    cdef int code = a.dtype_code
    cdef EagerTensor out = None
    if a.ndim != 2 or b.ndim != 2:
        return _product_batch(a, b, transpose_a, transpose_b)
    if b.dtype_code != code:
        return None
    if code != FLOAT32 and code != FLOAT64 and code != INT32 and code != INT64:
        return None
    k = a.dims[0] if transpose_a else a.dims[1]
    if (b.dims[1] if transpose_b else b.dims[0]) != k:
        return None
    dims[0] = a.dims[1] if transpose_a else a.dims[0]
    dims[1] = b.dims[0] if transpose_b else b.dims[1]
    if _count(2, &dims[0]) < 0:
        return None
    if dims[0] == 0 or dims[1] == 0:
        return wrap_block(block_new(0), code, 2, &dims[0])
    if code != INT64:
        out = wrap_block(block_new(dims[0] * dims[1] * _item_sizes[code]), code, 2, &dims[0])
        if _by_blocks(a, b, out, dims[0], dims[1], k, transpose_a, transpose_b, 1, &_nowhere, &_nowhere):
            return out
    if code == FLOAT32 or code == FLOAT64:
        small = SMALL_FLOAT if code == FLOAT32 else SMALL_DOUBLE
        if k > small or dims[0] > small or dims[1] > small or dims[0] * dims[1] * k > small:
            return _blas_product(a, b, transpose_a, transpose_b, &dims[0], out)
    a_row = 1 if transpose_a else a.dims[1]
    a_col = a.dims[1] if transpose_a else 1
    b_row = 1 if transpose_b else b.dims[1]
    b_col = b.dims[1] if transpose_b else 1
    if out is None:
        out = wrap_block(block_new(dims[0] * dims[1] * _item_sizes[code]), code, 2, &dims[0])
    if code == FLOAT32:
        fg_product_f32(a.data, b.data, out.data, dims[0], k, dims[1], a_row, a_col, b_row, b_col)
    elif code == FLOAT64:
        fg_product_f64(a.data, b.data, out.data, dims[0], k, dims[1], a_row, a_col, b_row, b_col)
    else:
        with nogil:
            if code == INT32:
                fg_product_i32(a.data, b.data, out.data, dims[0], k, dims[1], a_row, a_col, b_row, b_col)
            else:
                fg_product_i64(a.data, b.data, out.data, dims[0], k, dims[1], a_row, a_col, b_row, b_col)
    return out


cdef int64_t _nowhere = 0       # where the only product of a batch of one begins


cdef bint _by_blocks(
    EagerTensor a, EagerTensor b, EagerTensor out, int64_t m, int64_t n, int64_t k, bint transpose_a, bint transpose_b,
    int64_t batch, int64_t* a_offsets, int64_t* b_offsets
) noexcept:
    """Products of float32, float64 or int32 by blocks into `out`; False, having done nothing, where BLAS is as good."""
    cdef double work = <double>m * n * k
    cdef int kind = DOUBLE if out.dtype_code == FLOAT64 else INTEGER if out.dtype_code == INT32 else SINGLE
    cdef bint small = kind == INTEGER or work <= (SMALL_DOUBLE if kind == DOUBLE else SMALL_FLOAT)
    cdef bint done
    if work * batch <= KEEPS_GIL:
        return block_product(kind, a.data, b.data, out.data, m, n, k, transpose_a, transpose_b, batch, a_offsets,
                             b_offsets, small)
    with nogil:
        done = block_product(kind, a.data, b.data, out.data, m, n, k, transpose_a, transpose_b, batch, a_offsets,
                             b_offsets, small)
    return done


cdef EagerTensor _product_batch(EagerTensor a, EagerTensor b, bint transpose_a, bint transpose_b):
    """a @ b of batches of matrices of float32, float64 or int32, broadcasting; None where NumPy's body must do it."""
    cdef int64_t dims[MAX_RANK]
    cdef int64_t a_steps[MAX_RANK]      # elements from one matrix to the next along an axis, 0 if broadcast
    cdef int64_t b_steps[MAX_RANK]
    cdef int64_t at[MAX_RANK]
    cdef int64_t places[2 * MANY_PRODUCTS]
    cdef int64_t m, n, k, x, y, a_size, b_size, a_at = 0, b_at = 0, i
    cdef int64_t batch = 1
    cdef int code = a.dtype_code, rank = max(a.ndim, b.ndim) - 2, axis, from_a, from_b
    cdef int64_t* a_offsets = &places[0]
    cdef int64_t* b_offsets
    cdef EagerTensor out
    if a.ndim < 2 or b.ndim < 2 or b.dtype_code != code or (code != FLOAT32 and code != FLOAT64 and code != INT32):
        return None
    k = a.dims[a.ndim - 2] if transpose_a else a.dims[a.ndim - 1]
    if (b.dims[b.ndim - 1] if transpose_b else b.dims[b.ndim - 2]) != k:
        return None
    m = a.dims[a.ndim - 1] if transpose_a else a.dims[a.ndim - 2]
    n = b.dims[b.ndim - 2] if transpose_b else b.dims[b.ndim - 1]
    a_size = m * k
    b_size = k * n
    for axis in range(rank - 1, -1, -1):
        from_a = axis - rank + a.ndim - 2
        from_b = axis - rank + b.ndim - 2
        x = a.dims[from_a] if from_a >= 0 else 1
        y = b.dims[from_b] if from_b >= 0 else 1
        if x != y and x != 1 and y != 1:
            return None
        a_steps[axis] = a_size if x != 1 else 0
        b_steps[axis] = b_size if y != 1 else 0
        dims[axis] = y if x == 1 else x
        a_size *= x
        b_size *= y
        at[axis] = 0
    dims[rank] = m
    dims[rank + 1] = n
    if _count(rank + 2, &dims[0]) <= 0 or k == 0:
        return None
    for axis in range(rank):
        batch *= dims[axis]
    if b_size == k * n and not transpose_a:  # one right operand for all: the left ones are one matrix
        m *= batch
        batch = 1
    if batch > MANY_PRODUCTS:
        a_offsets = <int64_t*>malloc(2 * batch * sizeof(int64_t))
        if a_offsets == NULL:
            return None
    b_offsets = a_offsets + batch
    for i in range(batch):
        a_offsets[i] = a_at
        b_offsets[i] = b_at
        axis = rank - 1
        while axis >= 0:
            at[axis] += 1
            a_at += a_steps[axis]
            b_at += b_steps[axis]
            if at[axis] < dims[axis]:
                break
            a_at -= a_steps[axis] * dims[axis]
            b_at -= b_steps[axis] * dims[axis]
            at[axis] = 0
            axis -= 1
    try:
        out = wrap_block(block_new(batch * m * n * _item_sizes[code]), code, rank + 2, &dims[0])
        if _by_blocks(a, b, out, m, n, k, transpose_a, transpose_b, batch, a_offsets, b_offsets):
            return out
        if code != INT32 and blas_product(DOUBLE if code == FLOAT64 else SINGLE, a.data, b.data, out.data, m, n, k,
                                          transpose_a, transpose_b, batch, a_offsets, b_offsets):
            return out
    finally:
        if a_offsets != &places[0]:
            free(a_offsets)
    return None


cdef EagerTensor _blas_product(
    EagerTensor a, EagerTensor b, bint transpose_a, bint transpose_b, const int64_t* dims, EagerTensor out
):
    """a @ b into `out` or pool memory: by BLAS in pieces if that is worth it, else by NumPy's on this thread."""
    if out is None:
        out = wrap_block(block_new(dims[0] * dims[1] * _item_sizes[a.dtype_code]), a.dtype_code, 2, dims)
    if blas_product(DOUBLE if a.dtype_code == FLOAT64 else SINGLE, a.data, b.data, out.data, dims[0], dims[1],
                    a.dims[0] if transpose_a else a.dims[1], transpose_a, transpose_b, 1, &_nowhere, &_nowhere):
        return out
    cdef cnp.ndarray target = <cnp.ndarray>tensor_array(out)
    left = tensor_array(a).T if transpose_a else tensor_array(a)
    right = tensor_array(b).T if transpose_b else tensor_array(b)
    cnp.PyArray_ENABLEFLAGS(target, cnp.NPY_ARRAY_WRITEABLE)
    token = PyContextVar_Set(_error_state, _quiet) if _error_state is not None else None
    blas_begin()
    try:
        _numpy_matmul(left, right, target)
    finally:
        blas_end()
        if token is not None:
            PyContextVar_Reset(_error_state, token)
        cnp.PyArray_CLEARFLAGS(target, cnp.NPY_ARRAY_WRITEABLE)
    return out


cdef object _matmul(object a, object b, bint reflected):
    """The operator @."""
    global _matmul_primitive
    cdef ThreadState state
    cdef EagerTensor out
    if type(a) is EagerTensor and type(b) is EagerTensor:
        state = thread_state()
        if state.trace is None:
            out = _product(<EagerTensor>a, <EagerTensor>b, False, False)
            if out is not None:
                if state.tapes:
                    if _matmul_primitive is None:
                        _matmul_primitive = get_slot("matmul_primitive")
                    _note(state, _matmul_primitive, (a, b), _plain_product, out)
                return out
    if _promotion is not None:
        promoted = _promotion("matmul", b, a) if reflected else _promotion("matmul", a, b)
        if promoted is not None:
            return promoted
    return _operate(ops.matmul, "matmul", a, b, reflected)
