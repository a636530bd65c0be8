# Steps that touch Variables: reads, assigns, updates, draws. Part of executor.pyx.
#
# An update in a plan is a read, a kernel and an assign. The read holds its Block, so nobody writes over that meanwhile;
# an assign that finds another Block in the Cell adds its change to what is there. So no update gets lost.

cdef extern from *:
    """
    #include <math.h>
    #include <string.h>
    static inline float fg_from_bfloat16(uint16_t h) {
        uint32_t bits = (uint32_t)h << 16; float x; memcpy(&x, &bits, 4); return x;
    }
    static inline uint16_t fg_to_bfloat16(float x) {
        uint32_t bits; memcpy(&bits, &x, 4);
        if (x != x) return 0x7fc0;
        return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
    }
    static inline float fg_from_float16(uint16_t h) {
        uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = (h >> 10) & 31, rest = h & 1023, bits; float x;
        if (!exponent) { x = ldexpf((float)rest, -24); return sign ? -x : x; }
        bits = sign | (exponent == 31 ? 0x7f800000u : (exponent + 112) << 23) | rest << 13;
        memcpy(&x, &bits, 4); return x;
    }
    static inline uint16_t fg_to_float16(float x) {
        uint32_t bits, sign; float size = fabsf(x);
        memcpy(&bits, &x, 4); sign = (bits >> 16) & 0x8000;
        if (x != x) return 0x7e00;
        if (size >= 65520.0f) return (uint16_t)(sign | 0x7c00);
        if (size < 0x1p-14f) return (uint16_t)(sign | (uint32_t)rintf(ldexpf(size, 24)));
        bits &= 0x7fffffff;
        return (uint16_t)(sign | ((bits + 0xfff + ((bits >> 13) & 1)) >> 13) - (112u << 10));
    }
    /* now + (after - before); where that is no number, after */
    #define FG_MERGED(now, after, before) (isfinite((after) - (before)) ? (now) + ((after) - (before)) : (after))
    #define FG_MERGE(type) { \
        const type *n = (const type *)now, *a = (const type *)after, *b = (const type *)before; type *o = (type *)out; \
        for (int64_t k = 0; k < size; k++) o[k] = FG_MERGED(n[k], a[k], b[k]); break; }
    #define FG_MERGE_WHOLE(type) { \
        const type *n = (const type *)now, *a = (const type *)after, *b = (const type *)before; type *o = (type *)out; \
        for (int64_t k = 0; k < size; k++) o[k] = (type)(n[k] + (a[k] - b[k])); break; }
    #define FG_MERGE_HALF(from, to) { \
        const uint16_t *n = (const uint16_t *)now, *a = (const uint16_t *)after, *b = (const uint16_t *)before; \
        uint16_t *o = (uint16_t *)out; \
        for (int64_t k = 0; k < size; k++) o[k] = to(FG_MERGED(from(n[k]), from(a[k]), from(b[k]))); break; }
    /* Bytes of an element, by TensorFlow's number of its type; 0 if such elements are not added. */
    static int fg_addend_size(int code) {
        switch (code) {
        case 4: case 6: return 1;
        case 5: case 17: case 14: case 19: return 2;
        case 1: case 3: case 22: return 4;
        case 2: case 9: case 23: case 8: return 8;
        case 18: return 16;
        default: return 0;
        }
    }
    static void fg_merge(int code, int64_t size, char *out, const char *now, const char *after, const char *before) {
        switch (code) {
        case 8: size *= 2;  /* complex64 */
        case 1: FG_MERGE(float)
        case 18: size *= 2;
        case 2: FG_MERGE(double)
        case 3: case 22: FG_MERGE_WHOLE(uint32_t)
        case 4: case 6: FG_MERGE_WHOLE(uint8_t)
        case 5: case 17: FG_MERGE_WHOLE(uint16_t)
        case 9: case 23: FG_MERGE_WHOLE(uint64_t)
        case 14: FG_MERGE_HALF(fg_from_bfloat16, fg_to_bfloat16)
        case 19: FG_MERGE_HALF(fg_from_float16, fg_to_float16)
        }
    }
    """
    int fg_addend_size(int code) nogil
    void fg_merge(int code, int64_t size, char* out, const char* now, const char* after, const char* before) nogil


cdef int _run_read(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """Take a reference to what a Cell holds, under its lock."""
    cdef CellRef* cell = <CellRef*>f.data[s.buffers[0]]
    cdef Value* value = s.values
    cdef Dims* dims
    cdef Block* block
    cdef bint same = True
    cdef int32_t k
    fg_spin_lock(cell.lock)
    block = cell.block[0]
    if block != NULL:
        block_retain(block)
        f.data[value.slot] = cell.data[0]
        if value.dims.known:
            same = value.dims.ndim == cell.ndim[0]
            for k in range(value.dims.ndim if same else 0):
                same = same and value.dims.size[k] == cell.dims[k]
        else:
            dims = &f.dims[f.plan.slots[value.slot].dynamic]
            _set_dims(dims, cell.ndim[0], cell.dims)
    fg_spin_unlock(cell.lock)
    if block == NULL:
        return _fail_code(f, i, FAULT_EMPTY, <int64_t>cell.cell)
    f.block[value.slot] = block
    if not same:
        return _fail_code(f, i, FAULT_SHAPE, <int64_t>cell.cell)
    return 0


cdef int _run_assign(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """Let a Cell hold another Block; the one it held goes when its last reader does."""
    cdef CellRef* cell = <CellRef*>f.data[s.buffers[0]]
    cdef Value* value = s.values
    cdef Dims* dims = _dims_of(f, value)
    cdef Block* block = f.block[value.slot]
    cdef char* data = f.data[value.slot]
    cdef Block* before = f.block[s.buffers[1]] if s.n_buffers > 1 else NULL
    cdef Block* merged = NULL
    cdef Block* old
    cdef int64_t size = 1, nbytes
    cdef bint late          # an update, and another thread has assigned since the read
    cdef int32_t k
    if before != NULL and before == block:  # written over what was read: the Cell has changed already
        return 0
    while True:
        fg_spin_lock(cell.lock)
        old = cell.block[0]
        late = before != NULL and old != before and old != NULL and cell.ndim[0] == dims.ndim
        for k in range(dims.ndim if late else 0):
            late = late and cell.dims[k] == dims.size[k]
        if not late or merged != NULL:
            break
        fg_spin_unlock(cell.lock)
        for k in range(dims.ndim):
            size *= dims.size[k]
        nbytes = size * fg_addend_size(value.dtype_code)
        merged = block_new(nbytes)
        if merged == NULL:
            return _fail_code(f, i, FAULT_MEMORY, nbytes)
    if late:
        fg_merge(value.dtype_code, size, merged.data, cell.data[0], data, f.data[s.buffers[1]])
        block, data = merged, merged.data
        merged = NULL
    else:
        block_retain(block)
    cell.block[0] = block
    cell.data[0] = data
    cell.ndim[0] = dims.ndim
    memcpy(cell.dims, &dims.size[0], dims.ndim * sizeof(int64_t))
    cell.version[0] += 1
    fg_spin_unlock(cell.lock)
    block_release(old)
    block_release(merged)
    return 0


cdef int _run_draw(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """Take a generator's state and let its counter go on, in one moment: nobody is given the same numbers."""
    cdef CellRef* cell = <CellRef*>f.data[s.buffers[0]]
    cdef uint64_t count = (<uint64_t*>f.data[s.buffers[1]])[0]
    cdef uint64_t* state
    cdef uint64_t* new
    cdef Block* after = block_new(24)  # the counter's low and high half, the key
    cdef Block* block
    cdef char* data
    if after == NULL:
        return _fail_code(f, i, FAULT_MEMORY, 24)
    fg_spin_lock(cell.lock)
    block = cell.block[0]
    data = cell.data[0]
    if block != NULL:
        state = <uint64_t*>data
        new = <uint64_t*>after.data
        new[0] = state[0] + count
        new[1] = state[1] + (new[0] < count)
        new[2] = state[2]
        cell.block[0] = after
        cell.data[0] = after.data
        cell.version[0] += 1
    fg_spin_unlock(cell.lock)
    if block == NULL:
        block_release(after)
        return _fail_code(f, i, FAULT_EMPTY, <int64_t>cell.cell)
    f.block[s.values.slot] = block
    f.data[s.values.slot] = data
    return 0
