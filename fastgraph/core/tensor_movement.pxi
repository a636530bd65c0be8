# Part of tensor.pyx: ops that move elements, in C where that is simple. Each gives None where the op's NumPy body must
# do it, or say what is wrong.

cdef void _repeat(const char* x, const int64_t* dims, const int64_t* strides, int ndim, int64_t item,
                  char* out) noexcept nogil:
    """Write x, repeated along the axes whose stride (in bytes) is 0, to `out`."""
    cdef int64_t i, filled, part = item
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
            i = 1  # what is there is copied behind itself: few calls, however short a part is
            while i < dims[0] and i * part < 65536:
                memcpy(out + i * part, out, min(i, dims[0] - i) * part)
                i *= 2
            filled = min(i, dims[0])
            i = filled
            while i < dims[0]:
                memcpy(out + i * part, out, min(filled, dims[0] - i) * part)
                i += filled
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
    if size < 0:
        return None
    out = wrap_block(block_new(size * _item_sizes[x.dtype_code]), x.dtype_code, ndim, &dims[0])
    if size:
        if size > RELEASE_GIL:
            with nogil:
                _repeat(x.data, &dims[0], &strides[0], ndim, _item_sizes[x.dtype_code], out.data)
        else:
            _repeat(x.data, &dims[0], &strides[0], ndim, _item_sizes[x.dtype_code], out.data)
    return out


cdef EagerTensor _join(tuple values, int64_t axis, bint new_axis):
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
    if out.size == 0:
        return out  # whatever the other extents are: none of their rows is walked over
    for k in range(n):
        t = <EagerTensor>values[k]
        row = inner if new_axis else inner * t.dims[axis]
        if outer == 1 and row > 4 * RELEASE_GIL:
            with nogil:
                _copy_bytes(to, t.data, row)
        else:
            for o in range(outer):
                memcpy(to + o * total * inner, t.data + o * row, row)
        to += row
    return out


cdef struct Gathering:
    char* x
    char* out
    char* indices
    bint wide
    int64_t n_indices
    int64_t n
    int64_t inner


cdef void _gather_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Gathering* g = <Gathering*>context
    cdef int64_t k, at, i = first % g.n_indices, row = first // g.n_indices * g.n
    cdef char* to = g.out + first * g.inner
    cdef char* x
    for k in range(first, last):
        at = (<int64_t*>g.indices)[i] if g.wide else (<int32_t*>g.indices)[i]
        x = g.x + (row + at) * g.inner
        if g.inner == 4:
            (<int32_t*>to)[0] = (<int32_t*>x)[0]
        elif g.inner == 8:
            (<int64_t*>to)[0] = (<int64_t*>x)[0]
        else:
            memcpy(to, x, g.inner)
        to += g.inner
        i += 1
        if i == g.n_indices:
            i = 0
            row += g.n


cdef EagerTensor _gather(EagerTensor x, EagerTensor indices, int64_t axis):
    """Slices of x along `axis` at `indices`; None where one of them is out of range."""
    cdef int64_t dims[MAX_RANK]
    cdef int64_t outer = 1, inner = _item_sizes[x.dtype_code], n, k, at
    cdef int i
    cdef Gathering how
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
    if _count(x.ndim + indices.ndim - 1, &dims[0]) < 0:
        return None
    out = wrap_block(block_new(outer * indices.size * inner), x.dtype_code, x.ndim + indices.ndim - 1, &dims[0])
    how.x = x.data
    how.out = out.data
    how.indices = indices.data
    how.wide = indices.dtype_code == INT64
    how.n_indices = indices.size
    how.n = n
    how.inner = inner
    if out.size == 0:
        return out
    _share(_gather_part, &how, outer * indices.size, 4 * SHARE_RUN // inner, out.size < SHARE_LIGHT)
    return out


ctypedef void (*Choose)(const void*, const void*, int64_t, const void*, int64_t, void*, int64_t) noexcept nogil

cdef struct Choosing:
    Choose choose
    char* c
    char* x
    char* y
    char* out
    int64_t x_step
    int64_t y_step
    int64_t item


cdef void _choose_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Choosing* h = <Choosing*>context
    h.choose(h.c + first, h.x + first * h.x_step * h.item, h.x_step, h.y + first * h.y_step * h.item, h.y_step,
             h.out + first * h.item, last - first)


cdef EagerTensor _select(EagerTensor c, EagerTensor x, EagerTensor y):
    """c ? x : y of three tensors of one shape, or with scalars for x and y."""
    cdef int64_t item = _item_sizes[x.dtype_code]
    cdef Choosing how
    cdef EagerTensor out
    if c.dtype_code != BOOL or x.dtype_code != y.dtype_code or x.dtype_code == STRING:
        return None
    if not _same_dims(c, x) and x.ndim or not _same_dims(c, y) and y.ndim:
        return None
    how.x_step = 1 if x.ndim or not c.ndim else 0
    how.y_step = 1 if y.ndim or not c.ndim else 0
    how.choose = (fg_choose_4 if item == 4 else fg_choose_8 if item == 8 else fg_choose_1 if item == 1 else
                  fg_choose_2 if item == 2 else <Choose>NULL)
    if how.choose == NULL:
        return None
    out = wrap_block(block_new(c.size * item), x.dtype_code, c.ndim, &c.dims[0])
    how.c = c.data
    how.x = x.data
    how.y = y.data
    how.out = out.data
    how.item = item
    _share(_choose_part, &how, c.size, 2 * SHARE_RUN, c.size < SHARE_LIGHT)
    return out


cdef bint _same_dims(EagerTensor a, EagerTensor b) noexcept:
    cdef int i
    if a.ndim != b.ndim:
        return False
    for i in range(a.ndim):
        if a.dims[i] != b.dims[i]:
            return False
    return True


cdef EagerTensor _squeeze(EagerTensor x, tuple axes):
    """The same memory without axes of 1: those named, or all."""
    cdef int64_t dims[MAX_RANK]
    cdef bint gone[MAX_RANK]
    cdef int i, ndim = 0
    cdef int64_t axis
    for i in range(x.ndim):
        gone[i] = not axes and x.dims[i] == 1
    for number in axes:
        axis = number
        if axis < 0:
            axis += x.ndim
        if axis < 0 or axis >= x.ndim or x.dims[axis] != 1:
            return None
        gone[axis] = True
    for i in range(x.ndim):
        if not gone[i]:
            dims[ndim] = x.dims[i]
            ndim += 1
    return _part(x, 0, ndim, &dims[0])


# Filling.

cdef struct Filling:
    char* out
    char* value
    int64_t item


cdef void _fill_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Filling* f = <Filling*>context
    fg_fill(f.out + first * f.item, f.value, f.item, last - first)


cdef void _fill_items(char* out, char* value, int64_t item, int64_t n) noexcept nogil:
    cdef Filling how
    how.out = out
    how.value = value
    how.item = item
    if n < 2 * SHARE_LIGHT:
        fg_fill(out, value, item, n)
    else:
        pool_share(_fill_part, &how, n, 4 * SHARE_RUN)


cdef EagerTensor filled(int code, int ndim, const int64_t* dims, bint one):
    """Zeros or ones; None for dtypes whose ones are not known here."""
    cdef int64_t size = _count(ndim, dims), item = _item_sizes[code]
    cdef char value[16]
    cdef EagerTensor out
    if size < 0 or code == STRING:
        return None
    if not one:
        return wrap_block(block_zeros(size * item), code, ndim, dims)
    memset(&value[0], 0, 16)
    if code == FLOAT32:
        (<float*>&value[0])[0] = 1
    elif code == FLOAT64:
        (<double*>&value[0])[0] = 1
    elif code == INT32 or code == INT64 or code == BOOL:
        value[0] = 1  # little-endian, as all that is stored here
    else:
        return None
    out = wrap_block(block_new(size * item), code, ndim, dims)
    with nogil:
        _fill_items(out.data, &value[0], item, size)
    return out


def zeros_or_ones(shape, dtype, bint one, /):
    """Zeros or ones of a shape; None in a trace, and where NumPy must make them or say why not."""
    cdef int64_t dims[MAX_RANK]
    cdef int i
    if type(shape) is not tuple or type(dtype) is not _DType or thread_state().trace is not None:
        return None
    if len(<tuple>shape) > MAX_RANK or dtype.code == STRING:
        return None
    for i in range(len(<tuple>shape)):
        extent = (<tuple>shape)[i]
        if type(extent) is not int or extent > 1 << 60:
            return None
        dims[i] = extent
        if dims[i] < 0:
            return None
    return filled(dtype.code, len(shape), &dims[0], one)


cdef EagerTensor _fill(EagerTensor value, tuple shape):
    """A tensor of `shape` with the scalar everywhere."""
    cdef int64_t dims[MAX_RANK]
    cdef int64_t size, item = _item_sizes[value.dtype_code]
    cdef int i
    cdef EagerTensor out
    if len(shape) > MAX_RANK or value.size != 1 or value.dtype_code == STRING:
        return None
    for i in range(len(shape)):
        dims[i] = shape[i]
        if dims[i] < 0:
            return None
    size = _count(len(shape), &dims[0])
    if size < 0:
        return None
    out = wrap_block(block_new(size * item), value.dtype_code, len(shape), &dims[0])
    with nogil:
        _fill_items(out.data, value.data, item, size)
    return out


cdef struct Marking:
    char* out
    char* indices
    char* on
    char* off
    int code
    int64_t item
    int64_t depth


cdef void _mark_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Marking* m = <Marking*>context
    cdef int64_t k, at
    fg_fill(m.out + first * m.depth * m.item, m.off, m.item, (last - first) * m.depth)
    for k in range(first, last):
        if m.code == INT64:
            at = (<int64_t*>m.indices)[k]
        elif m.code == INT32:
            at = (<int32_t*>m.indices)[k]
        else:
            at = (<unsigned char*>m.indices)[k]
        if 0 <= at < m.depth:
            if m.item == 4:
                (<int32_t*>m.out)[k * m.depth + at] = (<int32_t*>m.on)[0]
            else:
                memcpy(m.out + (k * m.depth + at) * m.item, m.on, m.item)


cdef EagerTensor _one_hot(EagerTensor indices, EagerTensor on, EagerTensor off, int64_t depth, int64_t axis):
    """Along a new last axis."""
    cdef int64_t dims[MAX_RANK]
    cdef Marking m
    cdef int i
    cdef EagerTensor out
    if (axis != -1 and axis != indices.ndim) or on.ndim or off.ndim or on.dtype_code == STRING or depth < 0:
        return None
    if indices.ndim >= MAX_RANK or on.dtype_code != off.dtype_code or (
            indices.dtype_code != INT32 and indices.dtype_code != INT64 and indices.dtype_code != UINT8):
        return None
    for i in range(indices.ndim):
        dims[i] = indices.dims[i]
    dims[indices.ndim] = depth
    m.item = _item_sizes[on.dtype_code]
    i = indices.ndim + 1
    if _count(i, &dims[0]) < 0:
        return None
    out = wrap_block(block_new(indices.size * depth * m.item), on.dtype_code, i, &dims[0])
    m.out = out.data
    m.indices = indices.data
    m.on = on.data
    m.off = off.data
    m.code = indices.dtype_code
    m.depth = depth
    _share(_mark_part, &m, indices.size, SHARE_RUN // max(depth, 1), out.size < SHARE_LIGHT)
    return out


# Rows.

cdef struct Rows:
    Loop loop
    char* x
    char* out
    int64_t width
    int64_t item


cdef void _softmax_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Rows* r = <Rows*>context
    cdef char* operands[1]
    operands[0] = r.x + first * r.width * r.item
    r.loop(&operands[0], &r.width, r.out + first * r.width * r.item, last - first)


cdef EagerTensor _softmax(Primitive prim, EagerTensor x):
    cdef Rows r
    cdef EagerTensor out
    r.loop = prim.loops[x.dtype_code]
    if _is_half(x.dtype_code):
        out = _softmax(prim, _cast_to(x, FLOAT32))
        return None if out is None else _cast_to(out, x.dtype_code)
    if r.loop == NULL or x.ndim == 0 or x.size == 0:
        return None
    out = wrap_block(block_new(x.size * _item_sizes[x.dtype_code]), x.dtype_code, x.ndim, &x.dims[0])
    r.x = x.data
    r.out = out.data
    r.width = x.dims[x.ndim - 1]
    r.item = _item_sizes[x.dtype_code]
    _share(_softmax_part, &r, x.size // r.width, SHARE_RUN // r.width, x.size < SHARE_HEAVY)
    return out


# Short cuts that public functions try first: None where the op must be applied in the usual way.

def quick_cast(x, dtype, /):
    """x cast to `dtype` where nothing but the elements is concerned."""
    cdef ThreadState state = thread_state()
    cdef EagerTensor out
    if type(x) is not EagerTensor or type(dtype) is not _DType or state.trace is not None:
        return None
    if (<EagerTensor>x).dtype_code == <int>dtype.code:
        return x
    if state.tapes:
        return None
    return _cast(<EagerTensor>x, dtype)


# Splitting.

def equal_parts(EagerTensor x, int64_t number, axis, /):
    """x in so many equal pieces, or None where that cannot be, or tapes must know of it: then it is the op's business.
    """
    cdef ThreadState state = thread_state()
    cdef int64_t dims[MAX_RANK]
    cdef int64_t extent, outer = 1, inner, k, o, item = _item_sizes[x.dtype_code]
    cdef int i, at
    cdef EagerTensor part
    cdef list parts = []
    if type(axis) is not int or state.trace is not None or state.tapes or x.dtype_code == STRING or x.size == 0:
        return None
    if not -x.ndim <= axis < x.ndim or number <= 0:
        return None
    at = axis + x.ndim if axis < 0 else axis
    if x.dims[at] % number:
        return None
    extent = x.dims[at] // number
    inner = extent
    for i in range(x.ndim):
        dims[i] = x.dims[i]
        if i < at:
            outer *= x.dims[i]
        elif i > at:
            inner *= x.dims[i]
    dims[at] = extent
    for k in range(number):
        if outer == 1:
            parts.append(_part(x, k * inner, x.ndim, &dims[0]))
            continue
        part = wrap_block(block_new(outer * inner * item), x.dtype_code, x.ndim, &dims[0])
        for o in range(outer):
            memcpy(part.data + o * inner * item, x.data + (o * number + k) * inner * item, inner * item)
        parts.append(part)
    return parts
