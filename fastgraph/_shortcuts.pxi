# Part of _tensor.pyx: ops whose attributes or several shapes keep them from the elementwise loops, done in C where that
# is simple. Each gives None where the op's NumPy body must do it, or say what is wrong.

ctypedef void (*Reduction)(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept nogil

cdef extern from "_reductions.h" nogil:
    void fg_sum_f32(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void fg_sum_f64(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void fg_sum_i32(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void fg_sum_i64(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void fg_max_f32(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void fg_max_f64(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void fg_max_i32(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void fg_max_i64(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void fg_min_f32(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void fg_min_f64(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void fg_min_i32(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept
    void fg_min_i64(const void*, void*, int64_t, int64_t, int64_t, int64_t) noexcept


cdef Reduction _reduction(int kind, int code) noexcept:
    if kind == SHORT_SUM or (kind == SHORT_MEAN and (code == FLOAT32 or code == FLOAT64)):
        return (fg_sum_f32 if code == FLOAT32 else fg_sum_f64 if code == FLOAT64 else
                fg_sum_i32 if code == INT32 else fg_sum_i64 if code == INT64 else <Reduction>NULL)
    if kind == SHORT_MAX:
        return (fg_max_f32 if code == FLOAT32 else fg_max_f64 if code == FLOAT64 else
                fg_max_i32 if code == INT32 else fg_max_i64 if code == INT64 else <Reduction>NULL)
    if kind == SHORT_MIN:
        return (fg_min_f32 if code == FLOAT32 else fg_min_f64 if code == FLOAT64 else
                fg_min_i32 if code == INT32 else fg_min_i64 if code == INT64 else <Reduction>NULL)
    return NULL


cdef EagerTensor _reduce(int kind, EagerTensor x, int first, int last, int ndim, const int64_t* dims):
    """x reduced over the axes first .. last - 1, as a tensor of `dims`."""
    cdef Reduction reduction = _reduction(kind, x.dtype_code)
    cdef int64_t outer = 1, n = 1, inner = 1
    cdef int i
    cdef EagerTensor out
    if reduction == NULL or x.size == 0:
        return None
    for i in range(x.ndim):
        if i < first:
            outer *= x.dims[i]
        elif i < last:
            n *= x.dims[i]
        else:
            inner *= x.dims[i]
    out = wrap_block(block_new(outer * inner * _item_sizes[x.dtype_code]), x.dtype_code, ndim, dims)
    if x.size > RELEASE_GIL:
        with nogil:
            reduction(x.data, out.data, outer, n, inner, n if kind == SHORT_MEAN else 0)
    else:
        reduction(x.data, out.data, outer, n, inner, n if kind == SHORT_MEAN else 0)
    return out


cdef EagerTensor _reduce_axes(int kind, EagerTensor x, object axes, bint keepdims):
    cdef int64_t dims[MAX_RANK]
    cdef bint chosen[MAX_RANK]
    cdef int i, axis, ndim = 0, first = -1, last = 0
    if axes is None:
        for i in range(x.ndim):
            chosen[i] = True
    elif type(axes) is tuple:
        for i in range(x.ndim):
            chosen[i] = False
        for number in <tuple>axes:
            axis = number
            if axis < 0:
                axis += x.ndim
            if axis < 0 or axis >= x.ndim or chosen[axis]:
                return None
            chosen[axis] = True
    else:
        return None
    for i in range(x.ndim):
        if chosen[i]:
            if first < 0:
                first = i
            elif last != i:
                return None  # axes with others between them
            last = i + 1
            if keepdims:
                dims[ndim] = 1
                ndim += 1
        else:
            dims[ndim] = x.dims[i]
            ndim += 1
    if first < 0:
        return None
    return _reduce(kind, x, first, last, ndim, &dims[0])


cdef EagerTensor _sum_to(EagerTensor dy, EagerTensor x):
    """dy summed down to the shape of x, where that is one run of axes in front, or all."""
    cdef int i, lead = dy.ndim - x.ndim
    if lead < 0:
        return None
    if lead == 0:
        for i in range(x.ndim):
            if x.dims[i] != dy.dims[i]:
                break
        else:
            return dy
    if x.size == 1:
        return _reduce(SHORT_SUM, dy, 0, dy.ndim, x.ndim, &x.dims[0])
    for i in range(x.ndim):
        if x.dims[i] != dy.dims[lead + i]:
            return None
    return _reduce(SHORT_SUM, dy, 0, lead, x.ndim, &x.dims[0])


cdef EagerTensor _cast(EagerTensor x, object dtype):
    cdef int code = dtype.code
    cdef Loop loop = cast_loop(x.dtype_code, code)
    cdef EagerTensor out
    cdef char* operands[1]
    cdef int64_t steps[1]
    if loop == NULL:
        return None
    out = wrap_block(block_new(x.size * _item_sizes[code]), code, x.ndim, &x.dims[0])
    operands[0] = x.data
    steps[0] = 1
    _run_shared(loop, 1, &operands[0], &steps[0], _item_sizes[x.dtype_code], out.data, _item_sizes[code], out.size,
                SHARE_LIGHT)
    return out


cdef EagerTensor _reshape(EagerTensor x, object shape):
    """The same memory in another shape."""
    cdef int64_t dims[MAX_RANK]
    cdef int64_t size = 1, extent
    cdef int ndim, i, rest = -1
    if type(shape) is not tuple or len(<tuple>shape) > MAX_RANK or x.size == 0:
        return None
    ndim = len(<tuple>shape)
    for i in range(ndim):
        extent = (<tuple>shape)[i]
        if extent == -1 and rest < 0:
            rest = i
            continue
        if extent <= 0 or extent > x.size:
            return None
        dims[i] = extent
        size *= extent
        if size > x.size:
            return None
    if rest >= 0:
        if x.size % size:
            return None
        dims[rest] = x.size // size
    elif size != x.size:
        return None
    return _part(x, 0, ndim, &dims[0])


cdef EagerTensor _transpose(EagerTensor x, object perm):
    """A matrix transposed, in tiles."""
    cdef int64_t dims[2]
    cdef EagerTensor out
    if x.ndim != 2 or perm != (1, 0) or x.dtype_code == STRING:
        return None
    dims[0] = x.dims[1]
    dims[1] = x.dims[0]
    if dims[0] == 1 or dims[1] == 1:
        return _part(x, 0, 2, &dims[0])
    out = wrap_block(block_new(x.size * _item_sizes[x.dtype_code]), x.dtype_code, 2, &dims[0])
    with nogil:
        if _item_sizes[x.dtype_code] == 4:
            _transpose_tiles[int32_t](<int32_t*>x.data, <int32_t*>out.data, x.dims[0], x.dims[1])
        elif _item_sizes[x.dtype_code] == 8:
            _transpose_tiles[int64_t](<int64_t*>x.data, <int64_t*>out.data, x.dims[0], x.dims[1])
        elif _item_sizes[x.dtype_code] == 1:
            _transpose_tiles[char](x.data, out.data, x.dims[0], x.dims[1])
        elif _item_sizes[x.dtype_code] == 2:
            _transpose_tiles[short](<short*>x.data, <short*>out.data, x.dims[0], x.dims[1])
        else:
            _transpose_tiles[double_complex](<double_complex*>x.data, <double_complex*>out.data, x.dims[0], x.dims[1])
    return out


ctypedef double complex double_complex

ctypedef fused Element:
    char
    short
    int32_t
    int64_t
    double_complex


cdef void _transpose_tiles(Element* x, Element* out, int64_t rows, int64_t columns) noexcept nogil:
    cdef int64_t i0, j0, i, j
    for i0 in range(0, rows, 16):
        for j0 in range(0, columns, 16):
            for j in range(j0, min(j0 + 16, columns)):
                for i in range(i0, min(i0 + 16, rows)):
                    out[j * rows + i] = x[i * columns + j]


cdef EagerTensor _expand_dims(EagerTensor x, object axes):
    """The same memory with axes of 1, counted in the result."""
    cdef int64_t dims[MAX_RANK]
    cdef int ndim, axis, i, at = 0
    if type(axes) is not tuple:
        return None
    ndim = x.ndim + <int>len(<tuple>axes)
    if ndim > MAX_RANK:
        return None
    for i in range(ndim):
        dims[i] = -1
    for number in <tuple>axes:
        axis = number
        if axis < 0:
            axis += ndim
        if axis < 0 or axis >= ndim or dims[axis] == 1:
            return None
        dims[axis] = 1
    for i in range(ndim):
        if dims[i] < 0:
            dims[i] = x.dims[at]
            at += 1
    return _part(x, 0, ndim, &dims[0])


cdef EagerTensor _shortcut(Primitive prim, tuple inputs, dict attrs):
    """The op in C, or None."""
    cdef EagerTensor x
    cdef int kind = prim.shortcut
    if not inputs or type(<object>inputs[0]) is not EagerTensor:
        return None
    x = <EagerTensor>inputs[0]
    if x.block == NULL:
        return None
    if kind == SHORT_CAST:
        return _cast(x, attrs["dtype"])
    if kind == SHORT_RESHAPE:
        return _reshape(x, attrs["shape"])
    if kind == SHORT_EXPAND:
        return _expand_dims(x, attrs["axes"])
    if kind == SHORT_TRANSPOSE:
        return _transpose(x, attrs["perm"])
    if kind == SHORT_PRODUCT:
        if type(<object>inputs[1]) is not EagerTensor:
            return None
        return _product(x, <EagerTensor>inputs[1], attrs["transpose_a"], attrs["transpose_b"])
    if kind == SHORT_SUM_TO:
        return _sum_to(x, <EagerTensor>inputs[1]) if type(<object>inputs[1]) is EagerTensor else None
    if kind == SHORT_BROADCAST:
        return _broadcast_to(x, attrs["shape"])
    if kind == SHORT_CONCAT or kind == SHORT_STACK:
        return _join(inputs, attrs["axis"], kind == SHORT_STACK)
    if kind == SHORT_GATHER:
        if attrs["batch_dims"] or type(<object>inputs[1]) is not EagerTensor:
            return None
        return _gather(x, <EagerTensor>inputs[1], attrs["axis"])
    if kind == SHORT_SELECT:
        if type(<object>inputs[1]) is not EagerTensor or type(<object>inputs[2]) is not EagerTensor:
            return None
        return _select(x, <EagerTensor>inputs[1], <EagerTensor>inputs[2])
    return _reduce_axes(kind, x, attrs["axes"], attrs["keepdims"])


# Moving elements.

cdef void _repeat(const char* x, const int64_t* dims, const int64_t* strides, int ndim, int64_t item,
                  char* out) noexcept nogil:
    """Write x, repeated along the axes whose stride (in bytes) is 0, to `out`."""
    cdef int64_t i, part = item
    cdef int axis
    cdef bint repeats = False
    for axis in range(ndim):
        if strides[axis] == 0 and dims[axis] != 1:
            repeats = True
    if not repeats:
        for axis in range(ndim):
            part *= dims[axis]
        memcpy(out, x, part)
        return
    for axis in range(1, ndim):
        part *= dims[axis]
    if strides[0] == 0:
        if dims[0] > 0:
            _repeat(x, dims + 1, strides + 1, ndim - 1, item, out)
        if part == item and item == 4:
            for i in range(1, dims[0]):
                (<int32_t*>out)[i] = (<int32_t*>out)[0]
        elif part == item and item == 8:
            for i in range(1, dims[0]):
                (<int64_t*>out)[i] = (<int64_t*>out)[0]
        else:
            for i in range(1, dims[0]):
                memcpy(out + i * part, out, part)
    else:
        for i in range(dims[0]):
            _repeat(x + i * strides[0], dims + 1, strides + 1, ndim - 1, item, out + i * part)


cdef EagerTensor _broadcast_to(EagerTensor x, object shape):
    cdef int64_t dims[MAX_RANK]
    cdef int64_t strides[MAX_RANK]
    cdef int64_t stride = _item_sizes[x.dtype_code], size
    cdef int i, ndim, at
    cdef bint same
    cdef EagerTensor out
    if type(shape) is not tuple or len(<tuple>shape) > MAX_RANK or x.dtype_code == STRING:
        return None
    ndim = len(<tuple>shape)
    if ndim < x.ndim:
        return None
    same = ndim == x.ndim
    for i in range(ndim - 1, -1, -1):
        dims[i] = (<tuple>shape)[i]
        at = i - (ndim - x.ndim)
        if dims[i] < 0:
            return None
        if at < 0 or x.dims[at] == 1:
            strides[i] = 0
            same = same and dims[i] == 1
        elif x.dims[at] == dims[i]:
            strides[i] = stride
            stride *= dims[i]
        else:
            return None
    if same:
        return x
    size = _count(ndim, &dims[0])
    if size < 0 or size > (<int64_t>1 << 58):
        return None
    out = wrap_block(block_new(size * _item_sizes[x.dtype_code]), x.dtype_code, ndim, &dims[0])
    if size:
        if size > RELEASE_GIL:
            with nogil:
                _repeat(x.data, &dims[0], &strides[0], ndim, _item_sizes[x.dtype_code], out.data)
        else:
            _repeat(x.data, &dims[0], &strides[0], ndim, _item_sizes[x.dtype_code], out.data)
    return out


cdef EagerTensor _join(tuple values, int axis, bint new_axis):
    """The tensors end to end along `axis`, or (new_axis) one beside the other along a new one."""
    cdef EagerTensor first = <EagerTensor>values[0], t, out
    cdef int64_t dims[MAX_RANK]
    cdef int64_t outer = 1, inner, o, total = 0, row, item = _item_sizes[first.dtype_code]
    cdef int i, ndim = first.ndim + (1 if new_axis else 0)
    cdef Py_ssize_t k, n = len(values)
    cdef char* to
    if first.dtype_code == STRING or ndim > MAX_RANK or ndim == 0:
        return None
    if axis < 0:
        axis += ndim
    if axis < 0 or axis >= ndim:
        return None
    for k in range(n):
        if type(<object>values[k]) is not EagerTensor:
            return None
        t = <EagerTensor>values[k]
        if t.ndim != first.ndim or t.dtype_code != first.dtype_code or t.block == NULL:
            return None
        for i in range(t.ndim):
            if t.dims[i] != first.dims[i] and (new_axis or i != axis):
                return None
        total += 1 if new_axis else t.dims[axis]
    for i in range(axis):
        dims[i] = first.dims[i]
        outer *= first.dims[i]
    dims[axis] = total
    inner = item
    for i in range(axis + 1, ndim):
        dims[i] = first.dims[i - 1 if new_axis else i]
        inner *= dims[i]
    out = wrap_block(block_new(outer * total * inner), first.dtype_code, ndim, &dims[0])
    to = out.data
    for k in range(n):
        t = <EagerTensor>values[k]
        row = inner if new_axis else inner * t.dims[axis]
        for o in range(outer):
            memcpy(to + o * total * inner, t.data + o * row, row)
        to += row
    return out


cdef EagerTensor _gather(EagerTensor x, EagerTensor indices, int axis):
    """Slices of x along `axis` at `indices`; None where one of them is out of range."""
    cdef int64_t dims[MAX_RANK]
    cdef int64_t outer = 1, inner = _item_sizes[x.dtype_code], n, o, k, at
    cdef int i
    cdef char* to
    cdef EagerTensor out
    if x.dtype_code == STRING or (indices.dtype_code != INT32 and indices.dtype_code != INT64):
        return None
    if axis < 0:
        axis += x.ndim
    if axis < 0 or axis >= x.ndim or x.ndim + indices.ndim - 1 > MAX_RANK:
        return None
    n = x.dims[axis]
    for k in range(indices.size):
        at = (<int32_t*>indices.data)[k] if indices.dtype_code == INT32 else (<int64_t*>indices.data)[k]
        if at < 0 or at >= n:
            return None
    for i in range(axis):
        dims[i] = x.dims[i]
        outer *= x.dims[i]
    for i in range(indices.ndim):
        dims[axis + i] = indices.dims[i]
    for i in range(axis + 1, x.ndim):
        dims[indices.ndim + i - 1] = x.dims[i]
        inner *= x.dims[i]
    out = wrap_block(block_new(outer * indices.size * inner), x.dtype_code, x.ndim + indices.ndim - 1, &dims[0])
    to = out.data
    for o in range(outer):
        for k in range(indices.size):
            at = (<int32_t*>indices.data)[k] if indices.dtype_code == INT32 else (<int64_t*>indices.data)[k]
            memcpy(to, x.data + (o * n + at) * inner, inner)
            to += inner
    return out


cdef EagerTensor _select(EagerTensor c, EagerTensor x, EagerTensor y):
    """c ? x : y of three tensors of one shape, or with scalars for x and y."""
    cdef int64_t item = _item_sizes[x.dtype_code], k, x_step, y_step
    cdef int i
    cdef EagerTensor out
    if c.dtype_code != BOOL or x.dtype_code != y.dtype_code or x.dtype_code == STRING:
        return None
    if not _same_dims(c, x) and x.ndim or not _same_dims(c, y) and y.ndim:
        return None
    x_step = 1 if x.ndim or not c.ndim else 0
    y_step = 1 if y.ndim or not c.ndim else 0
    if item != 4 and item != 8 and item != 1:
        return None
    out = wrap_block(block_new(c.size * item), x.dtype_code, c.ndim, &c.dims[0])
    if item == 4:
        _choose[int32_t](c.data, <int32_t*>x.data, x_step, <int32_t*>y.data, y_step, <int32_t*>out.data, c.size)
    elif item == 8:
        _choose[int64_t](c.data, <int64_t*>x.data, x_step, <int64_t*>y.data, y_step, <int64_t*>out.data, c.size)
    else:
        _choose[char](c.data, x.data, x_step, y.data, y_step, out.data, c.size)
    return out


cdef void _choose(const char* c, Element* x, int64_t x_step, Element* y, int64_t y_step, Element* out,
                  int64_t n) noexcept nogil:
    cdef int64_t k
    for k in range(n):
        out[k] = x[k * x_step] if c[k] else y[k * y_step]


cdef bint _same_dims(EagerTensor a, EagerTensor b) noexcept:
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.dims[i] != b.dims[i]:
            return False
    return True
