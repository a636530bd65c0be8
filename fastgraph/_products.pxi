# Part of _tensor.pyx: matrix products: by blocks up to a moderate size, integers and small doubles by loops, else BLAS.

cdef extern from "_products.h" nogil:
    void fg_product_f32(void*, void*, void*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t)
    void fg_product_f64(void*, void*, void*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t)
    void fg_product_i32(void*, void*, void*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t)
    void fg_product_i64(void*, void*, void*, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, int64_t)

cdef enum:
    SMALL_FLOAT = 32768         # multiplications up to which a product is done here and not by BLAS
    SMALL_DOUBLE = 10000
    ONE_THREAD = 1000000        # multiplications above which NumPy's BLAS takes several threads, which pays

cdef object _numpy_matmul = np.matmul
cdef dict _plain_product = {"transpose_a": False, "transpose_b": False}
cdef Primitive _matmul_primitive = None


cdef EagerTensor _product(EagerTensor a, EagerTensor b, bint transpose_a, bint transpose_b):
    """a @ b of two matrices of one dtype; None where NumPy's body must do it or say what is wrong."""
    cdef int64_t dims[2]
    cdef int64_t k, a_row, a_col, b_row, b_col, small
    cdef int code = a.dtype_code
    cdef EagerTensor out = None
    if a.ndim != 2 or b.ndim != 2 or b.dtype_code != code:
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
    if code == FLOAT32 and <double>dims[0] * dims[1] * k <= ONE_THREAD:
        out = wrap_block(block_new(dims[0] * dims[1] * 4), code, 2, &dims[0])
        if block_product(
            <float*>a.data, <float*>b.data, <float*>out.data, dims[0], dims[1], k, transpose_a, transpose_b,
            <double>dims[0] * dims[1] * k <= SMALL_FLOAT,
        ):
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


cdef EagerTensor _blas_product(
    EagerTensor a, EagerTensor b, bint transpose_a, bint transpose_b, const int64_t* dims, EagerTensor out
):
    """a @ b by NumPy's BLAS, into `out` or pool memory."""
    if out is None:
        out = wrap_block(block_new(dims[0] * dims[1] * _item_sizes[a.dtype_code]), a.dtype_code, 2, dims)
    cdef cnp.ndarray target = <cnp.ndarray>tensor_array(out)
    left = tensor_array(a).T if transpose_a else tensor_array(a)
    right = tensor_array(b).T if transpose_b else tensor_array(b)
    cnp.PyArray_ENABLEFLAGS(target, cnp.NPY_ARRAY_WRITEABLE)
    token = PyContextVar_Set(_error_state, _quiet) if _error_state is not None else None
    try:
        _numpy_matmul(left, right, target)
    finally:
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
    return _operate(op_matmul, "matmul", a, b, reflected)
