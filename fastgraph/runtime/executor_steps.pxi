# Steps: what each kind does. Part of executor.pyx.

cdef inline Block* _fresh(Frame* f, int32_t i, int32_t slot) noexcept nogil:
    """A Block for a slot: the one kept for it, else a new one; NULL, and a fault, where there is no memory."""
    cdef Block* block = f.spare[slot]
    f.spare[slot] = NULL
    if block == NULL:
        block = block_new(f.plan.slots[slot].nbytes)
        if block == NULL:
            _fail_code(f, i, FAULT_MEMORY, f.plan.slots[slot].nbytes)
    return block


cdef int _prepare(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """Make the Blocks that the step writes, and the copies that its in-place operands need."""
    cdef int32_t k, slot
    cdef Block* block
    for k in range(s.n_allocate):
        slot = s.allocate[k]
        block = _fresh(f, i, slot)
        if block == NULL:
            return -1
        f.block[slot] = block
        f.data[slot] = block.data
    for k in range(s.n_copies):
        memcpy(f.data[s.copies[k].target], f.data[s.copies[k].origin], s.copies[k].nbytes)
    if s.counted != NULL and _prepare_counted(f, i, s):
        return -1
    if s.n_updates:
        return _prepare_updates(f, i, s)
    return 0


cdef int _prepare_counted(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """Make the Block of a result that has as many rows as were counted."""
    cdef Counted* c = s.counted
    cdef int64_t* counts = <int64_t*>f.data[c.counts]
    cdef int64_t total = 0, most = <int64_t>1 << 62
    cdef int32_t k, slot = c.output.slot
    cdef Block* block
    cdef Dims* dims
    for k in range(c.n_counts):
        total += counts[k]
    if c.output.dims.known:
        if c.output.dims.size[0] != total:
            return _fail_code(f, i, FAULT_COUNT, total)
    else:
        dims = &f.dims[f.plan.slots[slot].dynamic]
        dims.ndim = c.row.ndim + 1
        dims.size[0] = total
        memcpy(&dims.size[1], &c.row.size[0], c.row.ndim * sizeof(int64_t))
    if total < 0 or (c.row_bytes > 0 and total > most // c.row_bytes):
        return _fail_code(f, i, FAULT_MEMORY, most)
    block = block_new(total * c.row_bytes)
    if block == NULL:
        return _fail_code(f, i, FAULT_MEMORY, total * c.row_bytes)
    f.block[slot] = block
    f.data[slot] = block.data
    return 0


cdef bint _claim(Frame* f, Update* update) noexcept nogil:
    """Return whether the step may write over the value it read; then it holds the Cell's lock until the step is done.

    Without a Cell the value is one that a loop carries: the loop alone may refer to its Block, and what it was before.

    Only the Cell and this run may refer to the Block: whoever else read it keeps what was read. The lock is taken only
    if it is free, and nothing waits for anything while it is held, so no two runs can wait for each other.
    """
    cdef CellRef* cell
    cdef Block* block = f.block[update.read]
    if update.cell < 0:
        return (block.kind == BLOCK_MEMORY and block.data == f.data[update.read]
                and block.nbytes == f.plan.slots[update.target].nbytes
                and fg_atomic_load(&block.refs) == 1 + f.dead[update.read])
    cell = <CellRef*>f.data[update.cell]
    if (block.kind != BLOCK_MEMORY or block.data != f.data[update.read]
            or block.nbytes != f.plan.slots[update.target].nbytes or not fg_spin_try(cell.lock)):
        return False
    if cell.block[0] == block and cell.data[0] == block.data and fg_atomic_load(&block.refs) == 2:
        return True
    fg_spin_unlock(cell.lock)
    return False


cdef int _prepare_updates(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """Let the results of in-place updates be the Variables' own Blocks, or new ones with copies of what was read."""
    cdef int32_t k
    cdef Update* update
    cdef Block* block
    for k in range(s.n_updates):
        update = &s.updates[k]
        if _claim(f, update):
            f.claimed[i] |= 1 << k
            block = f.block[update.read]
            block_retain(block)
            f.dead[update.target] = f.dead[update.read] + 1  # of what the loop, or the plan around this, holds
        else:
            f.dead[update.target] = 0
            block = _fresh(f, i, update.target)
            if block == NULL:
                return -1
            memcpy(block.data, f.data[update.read], block.nbytes)
        f.block[update.target] = block
        f.data[update.target] = block.data
    return 0


cdef void _release_claims(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """The step is done: others may read its Variables again."""
    cdef int32_t k
    for k in range(s.n_updates):
        if f.claimed[i] & (1 << k) and s.updates[k].cell >= 0:
            fg_spin_unlock((<CellRef*>f.data[s.updates[k].cell]).lock)
    f.claimed[i] = 0


cdef inline int _run_range(Frame* f, int32_t i, CStep* s, int64_t begin, int64_t end) noexcept nogil:
    """Units [begin, end) of a kernel or a product."""
    cdef int64_t started
    cdef int failed
    if not recorder.on:
        return _call_range(f, i, s, begin, end)
    started = fg_now_ns()
    failed = _call_range(f, i, s, begin, end)
    _note(f.plan, i, started, begin, end)
    return failed


cdef int _call_range(Frame* f, int32_t i, CStep* s, int64_t begin, int64_t end) noexcept nogil:
    cdef void* few[STACK_BUFFERS]
    cdef void** buffers = &few[0]
    cdef int64_t status = 0
    cdef void* excinfo = NULL
    cdef int32_t k, code
    if begin >= end:
        return 0  # nothing to compute, so nothing to check either
    if s.kind == GEMM:
        gemm_units(s.gemm, f.data[s.buffers[0]], f.data[s.buffers[1]], f.data[s.buffers[2]], begin, end)
        return 0
    if s.n_buffers > STACK_BUFFERS:
        buffers = <void**>malloc(s.n_buffers * sizeof(void*))
        if buffers == NULL:
            return _fail_code(f, i, FAULT_MEMORY, 0)
    for k in range(s.n_buffers):
        buffers[k] = f.data[s.buffers[k]]
    code = s.fn(&status, &excinfo, buffers, s.sizes, begin, end)
    if buffers != &few[0]:
        free(buffers)
    if code != 0:
        return _fail_code(f, i, FAULT_NATIVE, code, begin)
    if status != 0:
        return _fail_code(f, i, FAULT_STATUS, status, begin)
    return 0


cdef int _run_shard(Frame* f, int32_t i, CStep* s, int32_t shard, bint caller) noexcept nogil:
    """One shard of a prepared step; steps of other kinds have one."""
    cdef int64_t begin, end
    cdef int failed
    if s.kind <= GEMM:
        begin = shard * s.chunk
        end = begin + s.chunk
        if end > s.extent:
            end = s.extent
        return _run_range(f, i, s, begin, end)
    if not recorder.on or s.kind == READ or s.kind == ASSIGN:  # those two take less time than noting it
        return _run_other(f, i, s, caller)
    begin = fg_now_ns()
    failed = _run_other(f, i, s, caller)
    _note(f.plan, i, begin, 0, 1)
    return failed


cdef int _run_other(Frame* f, int32_t i, CStep* s, bint caller) noexcept nogil:
    """A step that is no kernel and no product."""
    if s.kind == READ:
        return _run_read(f, i, s)
    if s.kind == ASSIGN:
        return _run_assign(f, i, s)
    if s.kind == DRAW:
        return _run_draw(f, i, s)
    if s.kind == BRANCH:
        return _run_branch(f, i, s, caller)
    if s.kind == LOOP:
        return _run_loop(f, i, s, caller)
    if s.kind == HOST:
        if s.extent and f.data[s.operands[0].slot][0]:  # a check that holds
            _drop(f, s)
            return 0
        return _run_host(f, i, s) if s.native == NULL else _run_native(f, i, s)
    if s.kind == LIST:
        return _run_list(f, i, s)
    if s.kind == REST:
        return _run_rest(f, i, s)
    memcpy(f.data[s.buffers[1]], f.data[s.buffers[0]], s.extent)  # TRANSFER between places the CPU can reach
    return 0


cdef int _run_native(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """A host step in C: where that gives no results, as when something is to be raised, Python does it."""
    cdef int32_t k, slot, code = NATIVE_AGAIN, n = s.n_operands + s.n_values
    cdef int failed = 0
    cdef void* few[STACK_BUFFERS]
    cdef void** memory = &few[0] if 2 * n <= STACK_BUFFERS else <void**>malloc(2 * n * sizeof(void*))
    cdef char** data = <char**>memory
    cdef Block** blocks = <Block**>(memory + n)
    if memory == NULL:
        return _fail_code(f, i, FAULT_MEMORY, 0)
    for k in range(s.n_operands):
        data[k], blocks[k] = f.data[s.operands[k].slot], f.block[s.operands[k].slot]
    while code == NATIVE_AGAIN and not failed:
        code = s.native(s.state, data, blocks)
        if code == NATIVE_AGAIN:
            failed = _look_at_signals(f)
    if code == NATIVE_DONE:
        for k in range(s.n_values):
            slot = s.values[k].slot
            f.data[slot], f.block[slot] = data[s.n_operands + k], blocks[s.n_operands + k]
        _drop(f, s)
    if memory != &few[0]:
        free(memory)
    return _run_host(f, i, s) if code == NATIVE_ASK else failed


cdef int _run_list(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """Write rows of a list, which grows to twice its length where there is no room for them; or cut it."""
    cdef int64_t rows = s.sizes[2], row_bytes = s.sizes[3], written = s.sizes[6], n, at, needed
    cdef int32_t slot = s.operands[0].slot, out = s.values[0].slot
    cdef Block* block = f.block[slot]
    cdef Block* grown = NULL
    cdef char* data = f.data[slot]
    cdef char* index = f.data[s.operands[1].slot]
    cdef Dims* dims
    at = (<int64_t*>index)[0] if s.sizes[4] else (<int32_t*>index)[0]
    if at < 0 or at > (<int64_t>1 << 40) or (not s.sizes[5] and at > rows):
        return _run_host(f, i, s)  # which says so
    n = rows
    needed = at + (written if s.sizes[0] else 1)
    f.dead[out] = 0
    if not s.sizes[5]:
        n = at
    elif (needed > rows or (s.sizes[0] and written and not (
            s.sizes[1] and block.kind == BLOCK_MEMORY and block.data == data
            and fg_atomic_load(&block.refs) == 1 + f.dead[slot]))):
        if needed > rows:
            n = rows + max(rows, needed - rows, 4)
        grown = block_new(n * row_bytes) if row_bytes == 0 or n < (<int64_t>1 << 62) // row_bytes else NULL
        if grown == NULL:
            return _fail_code(f, i, FAULT_MEMORY, n * row_bytes)
        memcpy(grown.data, data, rows * row_bytes)
        memset(grown.data + rows * row_bytes, 0, (n - rows) * row_bytes)
        block = grown
        data = grown.data
    if grown == NULL and s.sizes[1] and f.plan.slots[slot].place != INPUT:
        f.block[slot] = NULL  # nobody takes it as what it was: the reference goes on
        f.dead[out] = f.dead[slot]
    elif grown == NULL:
        block_retain(block)
        if s.sizes[1]:
            f.dead[out] = f.dead[slot] + 1
    if s.sizes[0]:
        memcpy(data + at * row_bytes, f.data[s.operands[2].slot], written * row_bytes)
    f.block[out] = block
    f.data[out] = data
    if not s.values[0].dims.known:
        dims = &f.dims[f.plan.slots[out].dynamic]
        _set_dims(dims, s.operands[0].dims.ndim, &s.operands[0].dims.size[0])
        dims.size[0] = n
    return 0


cdef void _receive(Frame* f, Value* value, Block* block, char* data, Dims* dims) noexcept nogil:
    """Put what a sub-plan made into a slot of the plan around it. Takes over the reference."""
    cdef int32_t dynamic = f.plan.slots[value.slot].dynamic
    f.block[value.slot] = block
    f.data[value.slot] = data
    f.dead[value.slot] = 0
    if dynamic >= 0:
        _set_dims(&f.dims[dynamic], dims.ndim, &dims.size[0])


cdef int _run_sub(Frame* f, int32_t i, CStep* s, CPlan* chosen, bint caller) noexcept nogil:
    """Run a plan on the step's inputs and receive its outputs."""
    cdef SubPlans* sub = s.sub
    cdef Frame* child = _frame_take(chosen, f.call)
    cdef int32_t j, slot, failed
    cdef Block* block
    cdef char* data
    if child == NULL:
        return _fail_code(f, i, FAULT_MEMORY, chosen.arena_bytes)
    for j in range(sub.n_inputs):
        slot = chosen.inputs[j].slot
        child.data[slot] = f.data[sub.inputs[j]]
        child.block[slot] = f.block[sub.inputs[j]]
        child.dead[slot] = f.dead[sub.inputs[j]]
    failed = _run(child, caller)
    if failed:
        if s.kind == REST:
            _settle(child)  # its plan may go away before the fault is raised
        _fail_from(f, i, child)
    else:
        for j in range(sub.n_outputs):
            block = _take_output(child, j, &data)
            _receive(f, &sub.outputs[j], block, data, _dims_of(child, &chosen.outputs[j]))
            slot = chosen.outputs[j].slot
            if chosen.slots[slot].place != INPUT and child.block[slot] == NULL:  # not as it came, and nobody else's
                f.dead[sub.outputs[j].slot] = child.dead[slot]
    _frame_give(child)
    return failed


cdef int _run_branch(Frame* f, int32_t i, CStep* s, bint caller) noexcept nogil:
    cdef bint taken = (<uint8_t*>f.data[s.buffers[0]])[0] != 0
    return _run_sub(f, i, s, s.sub.first if taken else s.sub.second, caller)


cdef inline int64_t _bytes_of(Dims* row, int32_t dtype_code) noexcept nogil:
    cdef int64_t nbytes = item_size(dtype_code)
    cdef int32_t axis
    for axis in range(row.ndim):
        nbytes *= row.size[axis]
    return nbytes


cdef int _add_rows(Frame* f, int32_t i, Block** rows, Dims* row, Frame* body, int32_t k, int64_t trips, char* data,
                   int64_t count, int64_t expected) noexcept nogil:
    """Append `count` of output k of a loop's body, of the extents `row`, to those so far; memory doubles when full."""
    cdef Value* value = &body.plan.outputs[k]
    cdef Dims* dims = _dims_of(body, value)
    cdef int64_t nbytes
    cdef Block* grown
    if trips == 0:
        _set_dims(row, dims.ndim, &dims.size[0])
    if dims.ndim == MAX_RANK or not _same_dims(row, dims):
        return _fail_code(f, i, FAULT_ROWS, k)
    if value.dtype_code == STRING:
        return _add_strings(f, i, rows, body, value)
    nbytes = _bytes_of(row, value.dtype_code)
    if rows[0] == NULL or (trips + count) * nbytes > rows[0].nbytes:
        grown = block_new(max(2 * trips, trips + count, 4 if trips else expected) * nbytes)
        if grown == NULL:
            return _fail_code(f, i, FAULT_MEMORY, 2 * trips * nbytes)
        if rows[0] != NULL:
            memcpy(grown.data, rows[0].data, trips * nbytes)
            block_release(rows[0])
        rows[0] = grown
    memcpy(rows[0].data + trips * nbytes, data, count * nbytes)
    return 0


cdef void _tell_dead(Frame* body, Frame* f, SubPlans* sub, uint64_t lent) noexcept nogil:
    """Mark in a loop's frame what was dead around it, of what is lent to the loop."""
    cdef int32_t j
    if lent:
        for j in range(min(sub.n_carried, 64)):
            if lent >> j & 1:
                body.dead[body.plan.inputs[j].slot] = f.dead[sub.inputs[j]]


cdef int _fail_of_loop(Frame* f, int32_t i, Frame* child, void* plans) noexcept nogil:
    """A plan of a loop failed; one of `plans`, made for other shapes, may go away before the fault is raised."""
    if plans != NULL:
        _settle(child)
    return _fail_from(f, i, child)


cdef int _run_loop(Frame* f, int32_t i, CStep* s, bint caller) noexcept nogil:
    """A while loop. The carried Blocks are the loop's own; one that the body replaced is what it writes to next.

    A Block that is handed over by a loop around this one, and that nobody else holds, is shared without a reference
    (`lent`) until the body replaces it: so it counts as the loop's own, and is written over.
    """
    cdef SubPlans* sub = s.sub
    cdef CPlan* cond_plan = sub.first
    cdef CPlan* body_plan = sub.second
    cdef CPlan* burst_plan = sub.burst
    cdef int32_t n = sub.n_inputs, m = sub.n_carried, j, slot
    cdef int failed = 0
    cdef int32_t n_rows = sub.n_outputs - m  # results that are stacked: one row an iteration
    cdef size_t pointers = _padded((2 * n + m + n_rows + 1) * sizeof(void*))
    cdef char* memory = <char*>calloc(1, pointers + (m + n_rows + 1) * sizeof(Dims))
    cdef char** data = <char**>memory
    cdef Block** block = <Block**>(data + n)
    cdef Block** old = block + n
    cdef Block** rows = old + m
    cdef int64_t trips = 0
    cdef Dims row_dims
    cdef Dims* dims = <Dims*>(memory + pointers)
    cdef Dims* row = dims + m
    cdef Dims* now
    cdef Frame* cond = _frame_take(cond_plan, f.call)
    cdef Frame* body = _frame_take(body_plan, f.call)
    cdef Frame* burst = NULL
    cdef Frame* made  # what did the last iteration, or many
    cdef Block* kept
    cdef int64_t count
    cdef void* plans = NULL
    cdef bint changed
    cdef uint64_t lent = 0
    cdef int32_t due = 1, pause = 1
    cdef int64_t looked = 0
    if burst_plan != NULL:
        burst = _frame_take(burst_plan, f.call)  # without memory for it the loop goes step by step
    if memory == NULL or cond == NULL or body == NULL:
        failed = _fail_code(f, i, FAULT_MEMORY, body_plan.arena_bytes)
        n = m = n_rows = 0
    for j in range(n):
        data[j] = f.data[sub.inputs[j]]
        block[j] = f.block[sub.inputs[j]]
    for j in range(m):
        if (j < 64 and sub.handed >> j & 1 and block[j].kind == BLOCK_MEMORY and block[j].data == data[j]
                and fg_atomic_load(&block[j].refs) == 1 + f.dead[sub.inputs[j]]):
            lent |= <uint64_t>1 << j
        else:
            block_retain(block[j])
        dims[j] = body_plan.inputs[j].dims
    for j in range(n_rows):  # of no iteration: an extent that is not known is 0
        row[j] = body_plan.outputs[m + j].dims if body_plan.outputs[m + j].dims.known else sub.rows[j]
    while not failed:
        if fg_load32(&f.call.cancelled):
            failed = _fail_code(f, i, FAULT_CANCELLED, 0)
            break
        _bind_inputs(cond, data, block)
        if _run(cond, caller):
            failed = _fail_of_loop(f, i, cond, plans)
            break
        slot = cond_plan.outputs[0].slot
        if not (<uint8_t*>cond.data[slot])[0]:
            break
        _clear_to_spare(cond)
        count = 0
        if burst != NULL:
            made = burst
            _bind_inputs(burst, data, block)
            _tell_dead(burst, f, sub, lent)
            if _run(burst, caller):
                failed = _fail_of_loop(f, i, burst, plans)
                break
            count = (<int64_t*>burst.data[burst_plan.outputs[m].slot])[0]
            if count == 0:  # this iteration fails, takes long, or finds no room in a list
                _frame_give(burst)
                burst = NULL
        if count == 0:
            made = body
            count = 1
            _bind_inputs(body, data, block)
            _tell_dead(body, f, sub, lent)
            if _run(body, caller):
                failed = _fail_of_loop(f, i, body, plans)
                break
        for j in range(n_rows):
            slot = made.plan.outputs[m + j + (made == burst)].slot
            failed = _add_rows(f, i, &rows[j], &row[j], body, m + j, trips, made.data[slot], count,
                               max(4, fg_load32(&sub.latest)))
            if failed:
                break
        if failed:
            break
        trips += count
        changed = False
        for j in range(m):
            old[j] = block[j]
            block[j] = _take_output(made, j, &data[j])
            if sub.varying and made == body:
                now = _dims_of(body, &body_plan.outputs[j])
                changed = changed or not _same_dims(&dims[j], now)
                _set_dims(&dims[j], now.ndim, &now.size[0])
        for j in range(m):
            slot = made.plan.outputs[j].slot
            if j < 64 and lent >> j & 1:
                if block[j] == old[j]:
                    block_release(old[j])  # the reference to what the body gives: one is left, that of the loop around
                else:
                    lent &= ~(<uint64_t>1 << j)
            elif (made.plan.slots[slot].place == BLOCK and made.spare[slot] == NULL and old[j].kind == BLOCK_MEMORY
                    and old[j].nbytes == made.plan.slots[slot].nbytes and fg_atomic_load(&old[j].refs) == 1):
                made.spare[slot] = old[j]
            else:
                block_release(old[j])
        _clear_to_spare(made)
        if changed:
            _frame_give(cond)
            _frame_give(body)
            _frame_give(burst)
            cond = body = burst = NULL
            failed = _plans_again(f, i, s, dims, &plans)
            if failed:
                break
            cond_plan = _pair_plan(plans, 0)
            body_plan = _pair_plan(plans, 1)
            burst_plan = _pair_plan(plans, 2)
            cond = _frame_take(cond_plan, f.call)
            body = _frame_take(body_plan, f.call)
            if cond == NULL or body == NULL:
                failed = _fail_code(f, i, FAULT_MEMORY, body_plan.arena_bytes)
                break
            if burst_plan != NULL:
                burst = _frame_take(burst_plan, f.call)
        if caller:
            due -= 1
            if due == 0:
                if _pace(f, &looked, &pause):
                    failed = -1
                due = pause
    for j in range(m):
        if j < 64 and lent >> j & 1 and not failed:
            block_retain(block[j])
        if failed:
            if not (j < 64 and lent >> j & 1):
                block_release(block[j])
        else:
            _receive(f, &sub.outputs[j], block[j], data[j], &dims[j])
            if j < 64 and lent >> j & 1:
                f.dead[sub.outputs[j].slot] = f.dead[sub.inputs[j]] + 1
    if not failed:
        fg_store32(&sub.latest, <int32_t>min(trips, <int64_t>1 << 20))
    for j in range(n_rows):
        if not failed and body_plan.outputs[m + j].dtype_code == STRING:
            failed = _stack_strings(f, i, &rows[j], &row[j])
        elif not failed and (rows[j] == NULL or rows[j].nbytes > 2 * max(trips, 4) * _bytes_of(
                &row[j], body_plan.outputs[m + j].dtype_code)):
            kept = block_new(trips * _bytes_of(&row[j], body_plan.outputs[m + j].dtype_code))
            if kept == NULL:
                failed = _fail_code(f, i, FAULT_MEMORY, 0)
            elif rows[j] != NULL:
                memcpy(kept.data, rows[j].data, kept.nbytes)
                block_release(rows[j])
            if kept != NULL:
                rows[j] = kept
        if failed:
            block_release(rows[j])
            continue
        row_dims.ndim = row[j].ndim + 1
        row_dims.size[0] = trips
        memcpy(&row_dims.size[1], &row[j].size[0], row[j].ndim * sizeof(int64_t))
        _receive(f, &sub.outputs[m + j], rows[j], rows[j].data, &row_dims)
    _frame_give(cond)
    _frame_give(body)
    _frame_give(burst)
    free(memory)
    if plans != NULL:
        _let_go(plans)
    return failed


cdef void _clear_to_spare(Frame* f) noexcept nogil:
    """End of an iteration: Blocks that nobody else holds are kept for the next one."""
    cdef int32_t i, slot
    cdef Block* block
    for i in range(f.plan.n_owned):
        slot = f.plan.owned[i]
        block = f.block[slot]
        if block == NULL:
            continue
        f.block[slot] = NULL
        if f.plan.slots[slot].place == BLOCK and f.spare[slot] == NULL and fg_atomic_load(&block.refs) == 1:
            f.spare[slot] = block
        else:
            block_release(block)
