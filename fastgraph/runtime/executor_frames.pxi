# Frames: one run of one plan, kept for the next. Part of executor.pyx.

cdef size_t _padded(size_t nbytes) noexcept nogil:
    return (nbytes + 63) & ~<size_t>63


cdef char* _carve(char** memory, size_t nbytes) noexcept nogil:
    """The next piece of a frame's memory."""
    memory[0] += _padded(nbytes)
    return memory[0] - _padded(nbytes)


cdef Frame* _frame_make(CPlan* p) noexcept nogil:
    """A new frame of plan p in one piece of memory, constants filled in; NULL when memory is exhausted."""
    cdef size_t n = p.n_slots, m = p.n_steps
    cdef size_t at = _padded(sizeof(Frame))
    cdef size_t total = (at + 3 * _padded(n * sizeof(void*)) + _padded(n * sizeof(int32_t))
                         + _padded(m * sizeof(void*)) + _padded(p.n_cells * sizeof(CellRef))
                         + _padded(p.n_dynamic * sizeof(Dims)) + 8 * _padded(m * sizeof(int32_t)))
    cdef char* memory = <char*>calloc(1, total)
    cdef Frame* f = <Frame*>memory
    cdef size_t i
    if memory == NULL:
        return NULL
    f.plan = p
    memory += at
    f.data = <char**>_carve(&memory, n * sizeof(void*))
    f.block = <Block**>_carve(&memory, n * sizeof(void*))
    f.spare = <Block**>_carve(&memory, n * sizeof(void*))
    f.rest = <void**>_carve(&memory, m * sizeof(void*))
    f.dead = <int32_t*>_carve(&memory, n * sizeof(int32_t))
    f.cells = <CellRef*>_carve(&memory, p.n_cells * sizeof(CellRef))
    f.dims = <Dims*>_carve(&memory, p.n_dynamic * sizeof(Dims))
    f.waiting_for = <int32_t*>_carve(&memory, m * sizeof(int32_t))
    f.next_shard = <int32_t*>_carve(&memory, m * sizeof(int32_t))
    f.from_front = <int32_t*>_carve(&memory, m * sizeof(int32_t))
    f.shards_left = <int32_t*>_carve(&memory, m * sizeof(int32_t))
    f.prepared = <int32_t*>_carve(&memory, m * sizeof(int32_t))
    f.claimed = <int32_t*>_carve(&memory, m * sizeof(int32_t))
    f.heap = <int32_t*>_carve(&memory, m * sizeof(int32_t))
    f.ready_pinned = <int32_t*>_carve(&memory, m * sizeof(int32_t))
    for i in range(n):
        if p.slots[i].place == CONSTANT:
            f.block[i] = <Block*>p.constants[i]
            f.data[i] = p.constant_data[i]
    fg_event_init(&f.event)
    return f


cdef void _frame_free(Frame* f) noexcept nogil:
    cdef int32_t i
    for i in range(f.plan.n_steps):
        if f.rest[i] != NULL:
            _let_go(f.rest[i])
    block_release(f.arena)
    fg_event_destroy(&f.event)
    free(f)


cdef Frame* _frame_take(CPlan* p, Call* call) noexcept nogil:
    """A frame ready to run, with its arena; NULL when memory is exhausted."""
    cdef Frame* f
    cdef int32_t i
    fg_lock(&p.lock)
    f = p.idle
    if f != NULL:
        p.idle = f.next
        p.n_idle -= 1
    fg_unlock(&p.lock)
    if f == NULL:
        f = _frame_make(p)
        if f == NULL:
            return NULL
    f.call = call
    f.fault.code = FAULT_NONE
    if p.arena_bytes > 0 and f.arena == NULL:
        f.arena = block_new(p.arena_bytes)
        if f.arena == NULL:
            _frame_free(f)
            return NULL
        for i in range(p.n_slots):
            if p.slots[i].place == ARENA:
                f.data[i] = f.arena.data + p.slots[i].offset
    return f


cdef void _frame_give(Frame* f) noexcept nogil:
    """Return a frame, if it is one, to its plan, and let go of the Blocks that it holds."""
    cdef CPlan* p
    cdef int32_t i, slot
    if f == NULL:
        return
    p = f.plan
    for i in range(p.n_owned):
        slot = p.owned[i]
        block_release(f.block[slot])
        block_release(f.spare[slot])
        f.block[slot] = f.spare[slot] = NULL
    if p.arena_bytes > SMALL_ARENA:
        block_release(f.arena)
        f.arena = NULL
    f.call = NULL
    fg_lock(&p.lock)
    if p.n_idle < MAX_IDLE:
        f.next = p.idle
        p.idle = f
        p.n_idle += 1
        f = NULL
    fg_unlock(&p.lock)
    if f != NULL:
        _frame_free(f)


cdef void _bind_inputs(Frame* f, char** data, Block** blocks) noexcept nogil:
    cdef int32_t j, slot
    for j in range(f.plan.n_inputs):
        slot = f.plan.inputs[j].slot
        f.data[slot] = data[j]
        f.block[slot] = blocks[j]
        f.dead[slot] = 0


cdef Block* _take_output(Frame* f, int32_t k, char** data) noexcept nogil:
    """A reference to output k's Block, and where its data begins."""
    cdef Value* value = &f.plan.outputs[k]
    cdef Block* block = f.block[value.slot]
    cdef int32_t place = f.plan.slots[value.slot].place
    data[0] = f.data[value.slot]
    if value.last and (place == BLOCK or place == GIVEN):
        f.block[value.slot] = NULL
    else:
        block_retain(block)
    return block


cdef Dims* _dims_of(Frame* f, Value* value) noexcept nogil:
    if value.dims.known:
        return &value.dims
    return &f.dims[f.plan.slots[value.slot].dynamic]


cdef inline void _set_dims(Dims* dims, int32_t ndim, const int64_t* size) noexcept nogil:
    """Set the extents; whether they are known stays. Copies the axes that there are: of 64 the most are none."""
    cdef int32_t k
    dims.ndim = ndim
    for k in range(ndim):
        dims.size[k] = size[k]


cdef bint _same_dims(Dims* a, Dims* b) noexcept nogil:
    cdef int32_t k
    if a.ndim != b.ndim:
        return False
    for k in range(a.ndim):
        if a.size[k] != b.size[k]:
            return False
    return True


cdef void _bind_cell(Frame* f, int32_t k, int32_t slot, Cell cell) noexcept:
    cdef CellRef* ref = &f.cells[k]
    ref.cell = <void*>cell
    ref.lock = &cell.lock
    ref.block = &cell.block
    ref.data = &cell.data
    ref.version = &cell.version
    ref.ndim = &cell.ndim
    ref.dims = &cell.dims[0]
    f.data[slot] = <char*>ref
