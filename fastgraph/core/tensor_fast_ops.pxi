# Part of tensor.pyx: ops whose attributes or several shapes keep them from the elementwise loops, done in C where that
# is simple. Each gives None where the op's NumPy body must do it, or say what is wrong.

ctypedef void (*ReduceAll)(const void*, void*, int64_t, int64_t, int64_t, int64_t, int64_t) noexcept nogil
ctypedef void (*ReducePart)(const void*, void*, int64_t) noexcept nogil
ctypedef void (*ReduceParts)(const int64_t*, int64_t, void*, int64_t) noexcept nogil
ctypedef void (*Place)(const void*, int64_t*, int64_t, int64_t) noexcept nogil

cdef extern from *:
    """
    #include "core/native/reductions.h"
    typedef struct {
        int code;
        void (*all)(const void *, void *, int64_t, int64_t, int64_t, int64_t, int64_t);
        void (*part)(const void *, void *, int64_t);
        void (*finish)(const int64_t *, int64_t, void *, int64_t);
    } fg_reduction;
    #define FG_REDUCTION(code, name) {code, name, name##_part, name##_finish}
    #define FG_REDUCTIONS(op) {FG_REDUCTION(1, op##_f32), FG_REDUCTION(2, op##_f64), FG_REDUCTION(3, op##_i32), \\
                               FG_REDUCTION(9, op##_i64)}
    static const fg_reduction fg_reductions[3][4] = {
        FG_REDUCTIONS(fg_sum), FG_REDUCTIONS(fg_max), FG_REDUCTIONS(fg_min),
    };
    typedef struct { int code; void (*place)(const void *, int64_t *, int64_t, int64_t); } fg_place;
    static const fg_place fg_places[2][4] = {
        {{1, fg_argmax_f32}, {2, fg_argmax_f64}, {3, fg_argmax_i32}, {9, fg_argmax_i64}},
        {{1, fg_argmin_f32}, {2, fg_argmin_f64}, {3, fg_argmin_i32}, {9, fg_argmin_i64}},
    };
    """
    ctypedef struct fg_reduction:
        int code
        ReduceAll all
        ReducePart part
        ReduceParts finish
    ctypedef struct fg_place:
        int code
        Place place
    const fg_reduction[3][4] fg_reductions
    const fg_place[2][4] fg_places
    enum: FG_CHUNK
    enum: FG_COLUMNS

cdef extern from "core/native/movement.h" nogil:
    void fg_choose_1(const void*, const void*, int64_t, const void*, int64_t, void*, int64_t)
    void fg_choose_2(const void*, const void*, int64_t, const void*, int64_t, void*, int64_t)
    void fg_choose_4(const void*, const void*, int64_t, const void*, int64_t, void*, int64_t)
    void fg_choose_8(const void*, const void*, int64_t, const void*, int64_t, void*, int64_t)
    void fg_fill(void*, const void*, int64_t, int64_t)
    void fg_tile(int64_t, const void*, int64_t, void*, int64_t, int64_t, int64_t)


cdef struct Reducing:           # x[outer, n, inner], shared among threads by chunks, rows or columns
    const fg_reduction* how
    char* x
    char* out
    int64_t item
    int64_t outer
    int64_t n
    int64_t inner
    int64_t count


cdef void _reduce_chunks(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Reducing* r = <Reducing*>context
    cdef int64_t k
    for k in range(first, last):
        r.how.part(r.x + k * FG_CHUNK * r.item, <int64_t*>r.out + k, min(<int64_t>FG_CHUNK, r.n - k * FG_CHUNK))


cdef void _reduce_rows(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Reducing* r = <Reducing*>context
    r.how.all(r.x + first * r.n * r.inner * r.item, r.out + first * r.inner * r.item, last - first, r.n, r.inner,
              r.inner, r.count)


cdef void _reduce_columns(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Reducing* r = <Reducing*>context
    r.how.all(r.x + first * r.item, r.out + first * r.item, r.outer, r.n, last - first, r.inner, r.count)


cdef EagerTensor _reduce(int kind, EagerTensor x, int first, int last, int ndim, const int64_t* dims):
    """x reduced over the axes first .. last - 1, as a tensor of `dims`."""
    cdef const fg_reduction* table = &fg_reductions[1 if kind == SHORT_MAX else 2 if kind == SHORT_MIN else 0][0]
    cdef Reducing r
    cdef Block* parts
    cdef int64_t chunks
    cdef int i
    cdef EagerTensor out
    if _is_half(x.dtype_code):
        out = _reduce(kind, _cast_to(x, FLOAT32), first, last, ndim, dims)
        return None if out is None else _cast_to(out, x.dtype_code)
    if x.size == 0 or (kind == SHORT_MEAN and x.dtype_code != FLOAT32 and x.dtype_code != FLOAT64):
        return None
    for i in range(4):
        if table[i].code == x.dtype_code:
            break
    else:
        return None
    r.how = &table[i]
    r.outer = r.n = r.inner = 1
    for i in range(x.ndim):
        if i < first:
            r.outer *= x.dims[i]
        elif i < last:
            r.n *= x.dims[i]
        else:
            r.inner *= x.dims[i]
    r.x = x.data
    r.item = _item_sizes[x.dtype_code]
    r.count = r.n if kind == SHORT_MEAN else 0
    out = wrap_block(block_new(r.outer * r.inner * r.item), x.dtype_code, ndim, dims)
    r.out = out.data
    if x.size <= RELEASE_GIL:
        r.how.all(x.data, out.data, r.outer, r.n, r.inner, r.inner, r.count)
        return out
    if r.outer == 1 and r.inner == 1 and r.n > FG_CHUNK:
        chunks = (r.n + FG_CHUNK - 1) // FG_CHUNK
        parts = block_new(8 * chunks)
        if parts == NULL:
            return None
        r.out = parts.data
        with nogil:
            pool_share(_reduce_chunks, &r, chunks, 1 if chunks < 64 else 4)
            r.how.finish(<int64_t*>parts.data, chunks, out.data, r.count)
            block_release(parts)
        return out
    with nogil:
        if r.outer > 1 and x.size >= SHARE_LIGHT:
            pool_share(_reduce_rows, &r, r.outer, max(<int64_t>1, SHARE_RUN * r.outer // x.size))
        elif r.inner >= 2 * FG_COLUMNS and x.size >= SHARE_LIGHT:
            pool_share(_reduce_columns, &r, r.inner, FG_COLUMNS)
        else:
            r.how.all(x.data, out.data, r.outer, r.n, r.inner, r.inner, r.count)
    return out


cdef struct Placing:
    Place place
    char* x
    int64_t* out
    int64_t item
    int64_t n


cdef void _place_rows(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Placing* p = <Placing*>context
    p.place(p.x + first * p.n * p.item, p.out + first, last - first, p.n)


cdef EagerTensor _position(int kind, EagerTensor x, int64_t axis, object dtype):
    """The place of the best element of each row of the last axis."""
    cdef Placing p
    cdef int i
    cdef int64_t rows
    cdef EagerTensor out
    if axis < 0:
        axis += x.ndim
    if x.ndim == 0 or axis != x.ndim - 1 or x.size == 0:
        return None
    if _is_half(x.dtype_code):
        x = _cast_to(x, FLOAT32)
    for i in range(4):
        if fg_places[kind == SHORT_ARGMIN][i].code == x.dtype_code:
            break
    else:
        return None
    p.place = fg_places[kind == SHORT_ARGMIN][i].place
    p.x = x.data
    p.item = _item_sizes[x.dtype_code]
    p.n = x.dims[axis]
    rows = x.size // p.n
    out = wrap_block(block_new(8 * rows), INT64, x.ndim - 1, &x.dims[0])
    p.out = <int64_t*>out.data
    _share(_place_rows, &p, rows, 2 * SHARE_RUN // p.n, x.size < SHARE_LIGHT)
    return out if dtype.code == INT64 else _cast(out, dtype)


cdef EagerTensor _reduce_axes(int kind, EagerTensor x, object axes, bint keepdims):
    cdef int64_t dims[MAX_RANK]
    cdef bint chosen[MAX_RANK]
    cdef int i, ndim = 0, first = -1, last = 0
    cdef int64_t axis
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
    return _cast_to(x, dtype.code)


cdef EagerTensor _cast_to(EagerTensor x, int code):
    """x as elements of a dtype code, or None where NumPy must make them."""
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


cdef enum:
    TILE = 64


cdef struct Turning:            # elements along two axes, and the axes that both tensors are walked over around them
    char* x
    char* out
    int64_t item
    int64_t rows                # along the last axis of the result, x_row apart in x
    int64_t x_row
    int64_t columns             # along the last axis of x, out_row apart in the result
    int64_t out_row
    int ndim
    int64_t dims[MAX_RANK]
    int64_t x_steps[MAX_RANK]
    int64_t out_steps[MAX_RANK]


cdef void _turn_tiles(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Turning* t = <Turning*>context
    cdef int64_t across = (t.columns + TILE - 1) // TILE, down = (t.rows + TILE - 1) // TILE, k, rest, i, j, at
    cdef int64_t x, out
    cdef int axis
    for k in range(first, last):
        i = k % down * TILE
        j = k // down % across * TILE
        rest = k // down // across
        x = i * t.x_row + j
        out = j * t.out_row + i
        for axis in range(t.ndim - 1, -1, -1):
            at = rest % t.dims[axis]
            rest //= t.dims[axis]
            x += at * t.x_steps[axis]
            out += at * t.out_steps[axis]
        fg_tile(t.item, t.x + x * t.item, t.x_row, t.out + out * t.item, t.out_row,
                min(<int64_t>TILE, t.rows - i), min(<int64_t>TILE, t.columns - j))


cdef void _move_rows(void* context, int64_t first, int64_t last) noexcept nogil:
    """Rows of `columns` elements, which both tensors have in one piece, to their new places."""
    cdef Turning* t = <Turning*>context
    cdef int64_t k, rest, at, x, out, row = t.columns * t.item
    cdef int axis
    for k in range(first, last):
        rest = k
        x = out = 0
        for axis in range(t.ndim - 1, -1, -1):
            at = rest % t.dims[axis]
            rest //= t.dims[axis]
            x += at * t.x_steps[axis]
            out += at * t.out_steps[axis]
        memcpy(t.out + out * t.item, t.x + x * t.item, row)


cdef EagerTensor _transpose(EagerTensor x, object perm):
    """x with its axes in another order: in rows where the last axis stays the last, else in tiles."""
    cdef int64_t dims[MAX_RANK]
    cdef int64_t x_steps[MAX_RANK]
    cdef int64_t out_steps[MAX_RANK]
    cdef int order[MAX_RANK]
    cdef bint seen[MAX_RANK]
    cdef int64_t step = 1, runs, run, axis, before = -1
    cdef int i
    cdef bint moved = False, whole
    cdef Turning t
    cdef EagerTensor out
    if type(perm) is not tuple or len(<tuple>perm) != x.ndim or x.dtype_code == STRING:
        return None
    for i in range(x.ndim):
        seen[i] = False
    for i in range(x.ndim):
        axis = (<tuple>perm)[i]
        if axis < 0:
            axis += x.ndim
        if axis < 0 or axis >= x.ndim or seen[axis]:
            return None
        seen[axis] = True
        order[i] = axis
        dims[i] = x.dims[axis]
        if dims[i] != 1:  # axes of 1 may stand anywhere
            moved = moved or axis < before
            before = axis
    if not moved or x.size == 0:
        return _part(x, 0, x.ndim, &dims[0])
    for i in range(x.ndim - 1, -1, -1):
        x_steps[i] = step
        step *= x.dims[i]
    step = 1
    for i in range(x.ndim - 1, -1, -1):
        out_steps[order[i]] = step  # by axes of x
        step *= dims[i]
    out = wrap_block(block_new(x.size * _item_sizes[x.dtype_code]), x.dtype_code, x.ndim, &dims[0])
    t.x = x.data
    t.out = out.data
    t.item = _item_sizes[x.dtype_code]
    t.ndim = 0
    t.rows = t.columns = 1
    i = x.ndim - 1
    while i > 0 and order[i] == i:  # what stays together at the end
        t.columns *= x.dims[i]
        i -= 1
    whole = t.columns > 1
    if whole:
        for axis in range(i + 1):
            t.dims[t.ndim] = x.dims[axis]
            t.x_steps[t.ndim] = x_steps[axis]
            t.out_steps[t.ndim] = out_steps[axis]
            t.ndim += 1
        runs = x.size // t.columns
        run = max(<int64_t>1, SHARE_RUN // t.columns)
    else:
        t.columns = x.dims[x.ndim - 1]
        t.out_row = out_steps[x.ndim - 1]
        t.rows = dims[x.ndim - 1]
        t.x_row = x_steps[order[x.ndim - 1]]
        for axis in range(x.ndim - 1):
            if axis != order[x.ndim - 1]:
                t.dims[t.ndim] = x.dims[axis]
                t.x_steps[t.ndim] = x_steps[axis]
                t.out_steps[t.ndim] = out_steps[axis]
                t.ndim += 1
        runs = (t.columns + TILE - 1) // TILE * ((t.rows + TILE - 1) // TILE) * (x.size // t.columns // t.rows)
        run = 4 if x.size // runs > 512 else 64
    if x.size < SHARE_LIGHT:
        run = runs
    with nogil:
        pool_share(_move_rows if whole else _turn_tiles, &t, runs, run)
    return out


cdef EagerTensor _expand_dims(EagerTensor x, object axes):
    """The same memory with axes of 1, counted in the result."""
    cdef int64_t dims[MAX_RANK]
    cdef int ndim, i, at = 0
    cdef int64_t axis
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
    if kind == SHORT_ARGMAX or kind == SHORT_ARGMIN:
        return _position(kind, x, attrs["axis"], attrs["output_type"])
    if kind == SHORT_SOFTMAX:
        return _softmax(prim, x)
    if kind == SHORT_SQUEEZE:
        return _squeeze(x, attrs["axes"])
    if kind == SHORT_FILL:
        return _fill(x, attrs["shape"])
    if kind == SHORT_LIKE:
        return filled(x.dtype_code, x.ndim, &x.dims[0], prim.name == "ones_like")
    if kind == SHORT_ONE_HOT:
        if type(<object>inputs[1]) is not EagerTensor or type(<object>inputs[2]) is not EagerTensor:
            return None
        return _one_hot(x, <EagerTensor>inputs[1], <EagerTensor>inputs[2], attrs["depth"], attrs["axis"])
    return _reduce_axes(kind, x, attrs["axes"], attrs["keepdims"])
