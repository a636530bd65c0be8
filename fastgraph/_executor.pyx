# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The executor: runs Plans, which are C arrays of steps over a table of memory slots, on the thread pool.

Rule: between the first step of a call and the last there is no Python, except in steps that are Python themselves:
those run on the calling thread, in program order, and take the GIL just for themselves. It knows no op by name, and
decides nothing: order, memory, shards and what is worth a thread are in the PlanSpec.

A *frame* is one run of one plan: where its slots are now and which steps are done. Frames are kept by their plan for
the next call, so that several threads may run one plan at once and a call allocates next to nothing.
"""

from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint8_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from fastgraph._blas cimport Gemm, gemm_units, load_blas
from fastgraph._buffer cimport (
    BLOCK_MEMORY, MAX_RANK, Block, Cell, block_drain, block_new, block_release, block_retain, fg_atomic_load,
    fg_spin_lock, fg_spin_unlock,
)
from fastgraph._pool cimport (
    Region, fg_event, fg_event_destroy, fg_event_init, fg_event_raise, fg_event_wait, fg_load32, fg_lock, fg_now_ns,
    fg_pause, fg_store32, fg_unlock, pool_threads, region_close, region_init, region_invite, region_open,
    region_orphaned,
)
from fastgraph._tensor cimport EagerTensor, wrap_slice

import os

from fastgraph import errors, flags
from fastgraph.compiler import plan as plan_module
from fastgraph.dtype import as_dtype

cdef extern from "Python.h":
    int PyErr_CheckSignals() except -1

cdef enum:  # Place
    INPUT, CONSTANT, ARENA, BLOCK, GIVEN, CELL

cdef enum:  # kinds of step
    KERNEL, GEMM, HOST, READ, ASSIGN, BRANCH, LOOP, TRANSFER, REST

cdef enum:  # codes of a Fault
    FAULT_NONE, FAULT_STATUS, FAULT_NATIVE, FAULT_MEMORY, FAULT_PYTHON, FAULT_SHAPE, FAULT_EMPTY, FAULT_CANCELLED, FAULT_ROWS

cdef enum:
    MAX_IDLE = 8              # frames a plan keeps
    SMALL_ARENA = 1 << 16     # arenas up to this size stay with their frame
    STACK_BUFFERS = 48
    SPIN_NS = 20000
    SIGNAL_NS = 50000000      # Ctrl-C is looked at this often

cdef double CLOCK_NS = 2e6    # estimated work between two looks at the clock
cdef double QUICK_NS = 2000.0
cdef double WORTH_NS = 8000.0 # work on the longest way to the end for which a sleeping thread is woken

cdef CPlan* _all_plans = NULL


# Frames

cdef size_t _padded(size_t nbytes) noexcept nogil:
    return (nbytes + 63) & ~<size_t>63


cdef Frame* _frame_make(CPlan* p) noexcept nogil:
    """A new frame of plan p in one piece of memory, constants filled in; NULL when memory is exhausted."""
    cdef size_t n = p.n_slots, m = p.n_steps
    cdef size_t at = _padded(sizeof(Frame))
    cdef size_t total = (at + 3 * _padded(n * sizeof(void*)) + _padded(p.n_cells * sizeof(CellRef))
                         + _padded(p.n_dynamic * sizeof(Dims)) + 6 * _padded(m * sizeof(int32_t)))
    cdef char* memory = <char*>calloc(1, total)
    cdef Frame* f = <Frame*>memory
    cdef size_t i
    if memory == NULL:
        return NULL
    f.plan = p
    f.data = <char**>(memory + at); at += _padded(n * sizeof(void*))
    f.block = <Block**>(memory + at); at += _padded(n * sizeof(void*))
    f.spare = <Block**>(memory + at); at += _padded(n * sizeof(void*))
    f.cells = <CellRef*>(memory + at); at += _padded(p.n_cells * sizeof(CellRef))
    f.dims = <Dims*>(memory + at); at += _padded(p.n_dynamic * sizeof(Dims))
    f.waiting_for = <int32_t*>(memory + at); at += _padded(m * sizeof(int32_t))
    f.next_shard = <int32_t*>(memory + at); at += _padded(m * sizeof(int32_t))
    f.shards_left = <int32_t*>(memory + at); at += _padded(m * sizeof(int32_t))
    f.prepared = <int32_t*>(memory + at); at += _padded(m * sizeof(int32_t))
    f.heap = <int32_t*>(memory + at); at += _padded(m * sizeof(int32_t))
    f.ready_pinned = <int32_t*>(memory + at)
    for i in range(n):
        if p.slots[i].place == CONSTANT:
            f.block[i] = <Block*>p.constants[i]
            f.data[i] = p.constant_data[i]
    fg_event_init(&f.event)
    return f


cdef void _frame_free(Frame* f) noexcept nogil:
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


cdef void _frame_clear(Frame* f) noexcept nogil:
    """Let go of the Blocks that the run holds."""
    cdef int32_t i, slot
    for i in range(f.plan.n_owned):
        slot = f.plan.owned[i]
        if f.block[slot] != NULL:
            block_release(f.block[slot])
            f.block[slot] = NULL


cdef void _frame_give(Frame* f) noexcept nogil:
    """Return a frame to its plan."""
    cdef CPlan* p = f.plan
    cdef int32_t i, slot
    _frame_clear(f)
    for i in range(p.n_owned):
        slot = p.owned[i]
        if f.spare[slot] != NULL:
            block_release(f.spare[slot])
            f.spare[slot] = NULL
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


cdef bint _same_dims(Dims* a, Dims* b) noexcept nogil:
    cdef int32_t k
    if a.ndim != b.ndim:
        return False
    for k in range(a.ndim):
        if a.size[k] != b.size[k]:
            return False
    return True


# Faults

cdef void _drop_fault(Frame* f) noexcept nogil:
    cdef int32_t k
    for k in range(f.fault.n_operands):
        block_release(f.fault.operands[k])
    free(f.fault.operands)
    f.fault.operands = NULL
    f.fault.n_operands = 0
    if f.fault.exception != NULL:
        f.discarded = f.fault.exception  # at most one: steps with the GIL are ordered, and end after the first fault
        f.fault.exception = NULL
    f.fault.code = FAULT_NONE


cdef int _fail(Frame* f, int32_t order, Fault* fault) noexcept nogil:
    """Record a fault of step `order`, unless an earlier step (or part of the step) failed as well. Takes over what the fault holds."""
    cdef Fault loser
    cdef int32_t k
    fg_lock(&f.lock)
    fault.order = order
    if f.fault.code == FAULT_NONE:
        f.fault = fault[0]
    elif order < f.fault.order or (order == f.fault.order and fault.begin < f.fault.begin):
        _drop_fault(f)
        f.fault = fault[0]
    else:
        for k in range(fault.n_operands):
            block_release(fault.operands[k])
        free(fault.operands)
        if fault.exception != NULL:
            f.discarded = fault.exception
    fg_unlock(&f.lock)
    return -1


cdef int _fail_code(Frame* f, int32_t i, int32_t code, int64_t status, int64_t begin=0) noexcept nogil:
    """Record a fault; one of a kernel keeps copies of what it read, as the memory is used again."""
    cdef Fault fault
    cdef CStep* s
    cdef int32_t k
    cdef int64_t nbytes
    memset(&fault, 0, sizeof(Fault))
    fault.code = code
    fault.plan = f.plan
    fault.step = i
    fault.status = status
    fault.begin = begin
    if code == FAULT_STATUS and i >= 0:
        s = &f.plan.steps[i]
        fault.operands = <Block**>calloc(max(s.n_operands, 1), sizeof(Block*))
        if fault.operands != NULL:
            fault.n_operands = s.n_operands
            for k in range(s.n_operands):
                nbytes = f.plan.slots[s.operands[k].slot].nbytes
                fault.operands[k] = block_new(nbytes)
                if fault.operands[k] != NULL:
                    memcpy(fault.operands[k].data, f.data[s.operands[k].slot], nbytes)
    return _fail(f, i, &fault)


cdef int _fail_from(Frame* f, int32_t i, Frame* child) noexcept nogil:
    """A step failed inside its sub-plan: the fault moves up and takes the step's own place in the order."""
    cdef Fault fault = child.fault
    memset(&child.fault, 0, sizeof(Fault))
    if child.discarded != NULL:
        f.discarded = child.discarded
        child.discarded = NULL
    return _fail(f, -1 if fault.order < 0 else i, &fault)


cdef int _fail_python(Frame* f, int32_t i, object error) except 0 with gil:
    """Record an exception that Python raised in step i (-1: an interrupt). Always gives -1."""
    cdef Fault fault
    memset(&fault, 0, sizeof(Fault))
    fault.code = FAULT_PYTHON
    fault.plan = f.plan
    fault.step = i
    Py_INCREF(error)
    fault.exception = <void*>error
    return _fail(f, i, &fault)


cdef int _look_at_signals(Frame* f) noexcept nogil:
    """Run Python's signal handlers; what they raise ends the call."""
    cdef int failed = 0
    f.call.checked = fg_now_ns()
    with gil:
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            f.call.cancelled = 1
            failed = _fail_python(f, -1, error)
    return failed


cdef inline int _breathe(Frame* f, double cost) noexcept nogil:
    """On the calling thread, after `cost` nanoseconds of work by estimate: look at signals from time to time."""
    f.call.spent += cost
    if f.call.spent < CLOCK_NS:
        return 0
    f.call.spent = 0
    if fg_now_ns() - f.call.checked < SIGNAL_NS:
        return 0
    return _look_at_signals(f)


# Steps

cdef int _prepare(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """Make the Blocks that the step writes, and the copies that its in-place operands need."""
    cdef int32_t k, slot
    cdef Block* block
    for k in range(s.n_allocate):
        slot = s.allocate[k]
        block = f.spare[slot]
        if block != NULL:
            f.spare[slot] = NULL
        else:
            block = block_new(f.plan.slots[slot].nbytes)
            if block == NULL:
                return _fail_code(f, i, FAULT_MEMORY, f.plan.slots[slot].nbytes)
        f.block[slot] = block
        f.data[slot] = block.data
    for k in range(s.n_copies):
        memcpy(f.data[s.copies[k].target], f.data[s.copies[k].origin], s.copies[k].nbytes)
    return 0


cdef int _run_range(Frame* f, int32_t i, CStep* s, int64_t begin, int64_t end) noexcept nogil:
    """Units [begin, end) of a kernel or a product."""
    cdef void* few[STACK_BUFFERS]
    cdef void** buffers = &few[0]
    cdef int64_t status = 0
    cdef void* excinfo = NULL
    cdef int32_t k, code
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
    if s.kind <= GEMM:
        begin = shard * s.chunk
        end = begin + s.chunk - f.plan.short_shards
        if end > s.extent:
            end = s.extent
        return _run_range(f, i, s, begin, end)
    if s.kind == READ:
        return _run_read(f, i, s)
    if s.kind == ASSIGN:
        return _run_assign(f, i, s)
    if s.kind == BRANCH:
        return _run_branch(f, i, s, caller)
    if s.kind == LOOP:
        return _run_loop(f, i, s, caller)
    if s.kind == HOST:
        return _run_host(f, i, s)
    if s.kind == REST:
        return _run_rest(f, i, s)
    memcpy(f.data[s.buffers[1]], f.data[s.buffers[0]], s.extent)  # TRANSFER between places the CPU can reach
    return 0


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
            dims.ndim = cell.ndim[0]
            memcpy(&dims.size[0], cell.dims, MAX_RANK * sizeof(int64_t))
    fg_spin_unlock(cell.lock)
    if block == NULL:
        return _fail_code(f, i, FAULT_EMPTY, 0)
    f.block[value.slot] = block
    if not same:
        return _fail_code(f, i, FAULT_SHAPE, 0)
    return 0


cdef int _run_assign(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """Let a Cell hold another Block; the one it held goes when its last reader does."""
    cdef CellRef* cell = <CellRef*>f.data[s.buffers[0]]
    cdef Value* value = s.values
    cdef Dims* dims = _dims_of(f, value)
    cdef Block* block = f.block[value.slot]
    cdef Block* old
    block_retain(block)
    fg_spin_lock(cell.lock)
    old = cell.block[0]
    cell.block[0] = block
    cell.data[0] = f.data[value.slot]
    cell.ndim[0] = dims.ndim
    memcpy(cell.dims, &dims.size[0], MAX_RANK * sizeof(int64_t))
    cell.version[0] += 1
    fg_spin_unlock(cell.lock)
    block_release(old)
    return 0


cdef void _receive(Frame* f, Value* value, Block* block, char* data, Dims* dims) noexcept nogil:
    """Put what a sub-plan made into a slot of the plan around it. Takes over the reference."""
    cdef int32_t dynamic = f.plan.slots[value.slot].dynamic
    f.block[value.slot] = block
    f.data[value.slot] = data
    if dynamic >= 0:
        f.dims[dynamic].ndim = dims.ndim
        memcpy(&f.dims[dynamic].size[0], &dims.size[0], MAX_RANK * sizeof(int64_t))


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
    failed = _run(child, caller)
    if failed:
        if s.kind == REST:
            _settle(child)  # its plan may go away before the fault is raised
        _fail_from(f, i, child)
    else:
        for j in range(sub.n_outputs):
            block = _take_output(child, j, &data)
            _receive(f, &sub.outputs[j], block, data, _dims_of(child, &chosen.outputs[j]))
    _frame_give(child)
    return failed


cdef int _run_branch(Frame* f, int32_t i, CStep* s, bint caller) noexcept nogil:
    cdef bint taken = (<uint8_t*>f.data[s.buffers[0]])[0] != 0
    return _run_sub(f, i, s, s.sub.first if taken else s.sub.second, caller)


cdef int _add_row(Frame* f, int32_t i, Block** rows, Frame* body, int32_t k, int64_t trips) noexcept nogil:
    """Append output k of a loop's body to the rows so far; their memory doubles when it is full."""
    cdef int32_t slot = body.plan.outputs[k].slot
    cdef int64_t nbytes = body.plan.slots[slot].nbytes
    cdef Block* grown
    if not body.plan.outputs[k].dims.known or (trips > 0 and rows[0].capacity != nbytes):
        return _fail_code(f, i, FAULT_ROWS, k)
    if rows[0] == NULL or (trips + 1) * nbytes > rows[0].nbytes:
        grown = block_new(max(2 * trips, 4) * nbytes)
        if grown == NULL:
            return _fail_code(f, i, FAULT_MEMORY, 2 * trips * nbytes)
        if rows[0] != NULL:
            memcpy(grown.data, rows[0].data, trips * nbytes)
            block_release(rows[0])
        grown.capacity = nbytes  # of one row; a plain Block has no use for the field
        rows[0] = grown
    memcpy(rows[0].data + trips * nbytes, body.data[slot], nbytes)
    return 0


cdef int _run_loop(Frame* f, int32_t i, CStep* s, bint caller) noexcept nogil:
    """A while loop. The carried Blocks are the loop's own; one that the body replaced is what it writes to next."""
    cdef SubPlans* sub = s.sub
    cdef CPlan* cond_plan = sub.first
    cdef CPlan* body_plan = sub.second
    cdef int32_t n = sub.n_inputs, m = sub.n_carried, j, slot
    cdef int failed = 0
    cdef int32_t n_rows = sub.n_outputs - m  # results that are stacked: one row an iteration
    cdef size_t pointers = _padded((2 * n + m + n_rows + 1) * sizeof(void*))
    cdef char* memory = <char*>calloc(1, pointers + max(m, 1) * sizeof(Dims))
    cdef char** data = <char**>memory
    cdef Block** block = <Block**>(data + n)
    cdef Block** old = block + n
    cdef Block** rows = old + m
    cdef int64_t trips = 0
    cdef Dims row_dims
    cdef Dims* dims = <Dims*>(memory + pointers)
    cdef Dims* now
    cdef Frame* cond = _frame_take(cond_plan, f.call)
    cdef Frame* body = _frame_take(body_plan, f.call)
    cdef void* plans = NULL
    cdef bint changed
    if memory == NULL or cond == NULL or body == NULL:
        failed = _fail_code(f, i, FAULT_MEMORY, body_plan.arena_bytes)
        n = m = n_rows = 0
    for j in range(n):
        data[j] = f.data[sub.inputs[j]]
        block[j] = f.block[sub.inputs[j]]
    for j in range(m):
        block_retain(block[j])
        dims[j] = body_plan.inputs[j].dims
    while not failed:
        if f.call.cancelled:
            failed = _fail_code(f, i, FAULT_CANCELLED, 0)
            break
        _bind_inputs(cond, data, block)
        if _run(cond, caller):
            if plans != NULL:
                _settle(cond)
            failed = _fail_from(f, i, cond)
            break
        slot = cond_plan.outputs[0].slot
        if not (<uint8_t*>cond.data[slot])[0]:
            break
        _clear_to_spare(cond)
        _bind_inputs(body, data, block)
        if _run(body, caller):
            if plans != NULL:
                _settle(body)
            failed = _fail_from(f, i, body)
            break
        for j in range(n_rows):
            failed = _add_row(f, i, &rows[j], body, m + j, trips)
            if failed:
                break
        if failed:
            break
        trips += 1
        changed = False
        for j in range(m):
            old[j] = block[j]
            block[j] = _take_output(body, j, &data[j])
            if sub.varying:
                now = _dims_of(body, &body_plan.outputs[j])
                changed = changed or not _same_dims(&dims[j], now)
                dims[j] = now[0]
        for j in range(m):
            slot = body_plan.outputs[j].slot
            if (body_plan.slots[slot].place == BLOCK and body.spare[slot] == NULL and old[j].kind == BLOCK_MEMORY
                    and old[j].nbytes == body_plan.slots[slot].nbytes and fg_atomic_load(&old[j].refs) == 1):
                body.spare[slot] = old[j]
            else:
                block_release(old[j])
        _clear_to_spare(body)
        if changed:
            _frame_give(cond)
            _frame_give(body)
            cond = body = NULL
            failed = _plans_again(f, i, s, dims, &plans)
            if failed:
                break
            cond_plan = _pair_plan(plans, 0)
            body_plan = _pair_plan(plans, 1)
            cond = _frame_take(cond_plan, f.call)
            body = _frame_take(body_plan, f.call)
            if cond == NULL or body == NULL:
                failed = _fail_code(f, i, FAULT_MEMORY, body_plan.arena_bytes)
                break
        if caller and _breathe(f, 50.0):
            failed = -1
    for j in range(m):
        if failed:
            block_release(block[j])
        else:
            _receive(f, &sub.outputs[j], block[j], data[j], &dims[j])
    for j in range(n_rows):
        if not failed and rows[j] == NULL:
            rows[j] = block_new(0)
            if rows[j] == NULL:
                failed = _fail_code(f, i, FAULT_MEMORY, 0)
        if failed:
            block_release(rows[j])
            continue
        now = &body_plan.outputs[m + j].dims
        row_dims.ndim = now.ndim + 1
        row_dims.size[0] = trips
        memcpy(&row_dims.size[1], &now.size[0], (MAX_RANK - 1) * sizeof(int64_t))
        _receive(f, &sub.outputs[m + j], rows[j], rows[j].data, &row_dims)
    if cond != NULL:
        _frame_give(cond)
    if body != NULL:
        _frame_give(body)
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


# Steps that are Python

cdef EagerTensor _tensor_of(Frame* f, Value* value):
    """The tensor in a slot; shares its Block."""
    cdef Dims* dims = _dims_of(f, value)
    cdef Block* block = f.block[value.slot]
    block_retain(block)
    return wrap_slice(block, f.data[value.slot], value.dtype_code, dims.ndim, &dims.size[0])


cdef tuple _shape_tuple(Dims* dims):
    return tuple([dims.size[k] for k in range(dims.ndim)])


cdef int _run_host(Frame* f, int32_t i, CStep* s) noexcept nogil:
    cdef int failed = 0
    with gil:
        try:
            _host(f, s)
        except BaseException as error:
            failed = _fail_python(f, i, error)
    return failed


cdef int _host(Frame* f, CStep* s) except -1:
    """Call a host step's function on tensors and take the Blocks of what it gives."""
    cdef int32_t k
    cdef Value* value
    cdef EagerTensor tensor
    cdef Dims* dims
    cdef list operands = []
    cdef bint same
    for k in range(s.n_operands):
        value = &s.operands[k]
        if f.plan.slots[value.slot].place == CELL:
            operands.append(<object>(<CellRef*>f.data[value.slot]).cell)
        else:
            operands.append(_tensor_of(f, value))
    spec = <object>s.spec
    results = spec.function(*operands)
    if len(results) != s.n_values:
        raise errors.InternalError(None, None, f"Host step {spec.name!r} gave {len(results)} results, not {s.n_values}")
    for k in range(s.n_values):
        value = &s.values[k]
        tensor = results[k]
        same = tensor.dtype_code == value.dtype_code
        if value.dims.known:
            same = same and tensor.ndim == value.dims.ndim
            for axis in range(tensor.ndim if same else 0):
                same = same and tensor.dims[axis] == value.dims.size[axis]
        else:
            dims = &f.dims[f.plan.slots[value.slot].dynamic]
            dims.ndim = tensor.ndim
            memcpy(&dims.size[0], &tensor.dims[0], MAX_RANK * sizeof(int64_t))
        if not same:
            raise errors.InternalError(
                None, None, f"Host step {spec.name!r} gave {tensor.aval} as result {k}, not {_shape_tuple(&value.dims)}"
            )
        block_retain(tensor.block)
        f.block[value.slot] = tensor.block
        f.data[value.slot] = tensor.data
    return 0


cdef int _run_rest(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """Ask for the plan of the sizes that are known now, and run it."""
    cdef void* plan = NULL
    cdef int failed = 0
    with gil:
        try:
            _resolve(f, s, &plan)
        except BaseException as error:
            failed = _fail_python(f, i, error)
    if failed:
        return failed
    failed = _run_sub(f, i, s, _c_plan(plan), True)
    _let_go(plan)
    return failed


cdef int _resolve(Frame* f, CStep* s, void** plan) except -1:
    cdef list shapes = []
    cdef int32_t j, dynamic
    for j in range(s.sub.n_inputs):
        dynamic = f.plan.slots[s.sub.inputs[j]].dynamic
        if dynamic >= 0:
            shapes.append(_shape_tuple(&f.dims[dynamic]))
    found = <Plan?>((<object>s.spec).resolve(tuple(shapes)))
    Py_INCREF(found)
    plan[0] = <void*>found
    return 0


cdef int _plans_again(Frame* f, int32_t i, CStep* s, Dims* dims, void** plans) noexcept nogil:
    """The plans of a loop for the shapes that its carried values have now."""
    cdef int failed = 0
    with gil:
        try:
            shapes = tuple([_shape_tuple(&dims[j]) for j in range(s.sub.n_carried)])
            pair = (<object>s.spec).again(shapes)
            for plan in pair:
                <Plan?>plan
            Py_INCREF(pair)
            if plans[0] != NULL:
                Py_DECREF(<object>plans[0])
            plans[0] = <void*>pair
        except BaseException as error:
            failed = _fail_python(f, i, error)
    return failed


cdef CPlan* _c_plan(void* plan) noexcept nogil:
    return &(<Plan>plan).c


cdef CPlan* _pair_plan(void* pair, int32_t k) noexcept nogil:
    cdef CPlan* found
    with gil:
        found = &(<Plan>(<tuple><object>pair)[k]).c
    return found


cdef void _let_go(void* held) noexcept nogil:
    with gil:
        Py_DECREF(<object>held)


cdef void _settle(Frame* f) noexcept nogil:
    """Turn a fault into the exception that it will be. No other thread has the frame."""
    if f.fault.code == FAULT_PYTHON:
        return
    with gil:
        try:
            _raise_fault(f)
        except BaseException as error:
            Py_INCREF(error)
            f.fault.code = FAULT_PYTHON
            f.fault.exception = <void*>error


# Runs

cdef int _run(Frame* f, bint caller) noexcept nogil:
    """Run a frame's steps: one after another, or on the pool where the plan is worth it. -1: see f.fault."""
    cdef CPlan* p = f.plan
    cdef CStep* s
    cdef int32_t i, k
    if p.parallel and pool_threads() > 1:
        return _run_parallel(f, caller)
    for i in range(p.n_steps):
        s = &p.steps[i]
        if s.n_allocate or s.n_copies:
            if _prepare(f, i, s):
                return -1
        if s.n_shards == 1:
            if s.kind <= GEMM:
                if _run_range(f, i, s, 0, s.extent):
                    return -1
            elif _run_shard(f, i, s, 0, caller):
                return -1
        else:
            for k in range(s.n_shards):
                if _run_shard(f, i, s, k, caller):
                    return -1
        for k in range(s.n_release):
            block_release(f.block[s.release[k]])
            f.block[s.release[k]] = NULL
        if caller:
            if _breathe(f, s.cost):
                return -1
        elif f.call.cancelled:
            return _fail_code(f, i, FAULT_CANCELLED, 0)
    return 0


cdef void _push(Frame* f, int32_t i) noexcept nogil:
    """Make step i ready; the frame's lock is held."""
    cdef CPlan* p = f.plan
    cdef int32_t at, up, rank
    if p.steps[i].pinned:
        f.ready_pinned[f.n_ready_pinned] = i
        f.n_ready_pinned += 1
        return
    rank = p.steps[i].rank
    at = f.n_heap
    f.n_heap += 1
    while at > 0:
        up = (at - 1) >> 1
        if f.heap[up] <= rank:
            break
        f.heap[at] = f.heap[up]
        at = up
    f.heap[at] = rank


cdef void _pop(Frame* f) noexcept nogil:
    cdef int32_t at = 0, child, rank
    f.n_heap -= 1
    rank = f.heap[f.n_heap]
    while True:
        child = 2 * at + 1
        if child >= f.n_heap:
            break
        if child + 1 < f.n_heap and f.heap[child + 1] < f.heap[child]:
            child += 1
        if rank <= f.heap[child]:
            break
        f.heap[at] = f.heap[child]
        at = child
    f.heap[at] = rank


cdef int32_t _worth_waking(Frame* f) noexcept nogil:
    """How many threads would find something worth the wake-up; the frame's lock is held."""
    cdef int32_t k, i, found = 0
    for k in range(min(f.n_heap, 32)):
        i = f.plan.order[f.heap[k]]
        if f.plan.steps[i].worth:
            found += f.plan.steps[i].n_shards - f.next_shard[i]
    return found


cdef void _participate(Frame* f, bint caller) noexcept nogil:
    """Run ready steps until there is none. Every thread in a region does just this."""
    cdef CPlan* p = f.plan
    cdef CStep* s
    cdef int32_t i, k, shard, spare, target
    cdef bint skipped, wake
    fg_lock(&f.lock)
    while True:
        if caller and f.n_ready_pinned > 0:
            k = 0
            for i in range(1, f.n_ready_pinned):
                if f.ready_pinned[i] < f.ready_pinned[k]:
                    k = i
            i = f.ready_pinned[k]
            f.n_ready_pinned -= 1
            f.ready_pinned[k] = f.ready_pinned[f.n_ready_pinned]
            shard = 0
        elif f.n_heap > 0:
            i = p.order[f.heap[0]]
            shard = f.next_shard[i]
            if f.prepared[i] and shard + 1 < p.steps[i].n_shards:
                f.next_shard[i] += 1
            else:
                _pop(f)  # the last shard; or nobody else may begin before the step is prepared
        else:
            break
        s = &p.steps[i]
        # What comes after a failed step in program order does not run; what comes before still does.
        skipped = f.call.cancelled or (f.fault.code != FAULT_NONE and i > f.fault.order)
        if not f.prepared[i]:
            if not skipped and (s.n_allocate or s.n_copies):
                fg_unlock(&f.lock)
                _prepare(f, i, s)
                fg_lock(&f.lock)
                skipped = f.call.cancelled or (f.fault.code != FAULT_NONE and i >= f.fault.order)
            f.prepared[i] = 1
            f.next_shard[i] = 1
            if s.n_shards > 1:
                if skipped:
                    f.shards_left[i] = 1
                else:
                    _push(f, i)
        spare = _worth_waking(f)
        fg_unlock(&f.lock)
        if spare > 0:
            region_invite(&f.region, spare)
        if not skipped:
            _run_shard(f, i, s, shard, caller)
            if caller:
                _breathe(f, s.cost / s.n_shards)
        fg_lock(&f.lock)
        f.shards_left[i] -= 1
        if f.shards_left[i] == 0:
            for k in range(s.n_successors):
                target = s.successors[k]
                f.waiting_for[target] -= 1
                if f.waiting_for[target] == 0:
                    _push(f, target)
            fg_store32(&f.remaining, f.remaining - 1)
        wake = f.sleeping and (f.remaining == 0 or f.n_heap > 0 or f.n_ready_pinned > 0)
        if wake:
            f.sleeping = 0
            fg_unlock(&f.lock)
            fg_event_raise(&f.event)
            fg_lock(&f.lock)
    fg_unlock(&f.lock)


cdef void _help(Region* region) noexcept nogil:
    _participate(<Frame*>region, False)


cdef int _run_parallel(Frame* f, bint caller) noexcept nogil:
    """Run a frame's steps with whoever comes to help; gives when all are done or skipped."""
    cdef CPlan* p = f.plan
    cdef int32_t i, spins
    cdef int64_t until
    cdef bint idle
    f.n_heap = f.n_ready_pinned = 0
    f.remaining = p.n_steps
    f.sleeping = 0
    f.event.raised = 0
    f.lock = 0
    for i in range(p.n_steps):
        f.waiting_for[i] = p.dependencies[i]
        f.next_shard[i] = 0
        f.shards_left[i] = p.steps[i].n_shards
        f.prepared[i] = 0
    region_init(&f.region, _help)
    region_open(&f.region)
    fg_lock(&f.lock)
    for i in range(p.n_steps):
        if p.dependencies[i] == 0:
            _push(f, i)
    fg_unlock(&f.lock)
    while True:
        _participate(f, caller)
        if fg_load32(&f.remaining) == 0:
            break
        if region_orphaned(&f.region):
            break
        until = fg_now_ns() + SPIN_NS
        spins = 0
        while fg_load32(&f.remaining) != 0 and fg_load32(&f.n_heap) == 0 and fg_load32(&f.n_ready_pinned) == 0:
            fg_pause()
            spins += 1
            if spins & 63 == 0 and fg_now_ns() > until:
                break
        fg_lock(&f.lock)
        idle = f.remaining != 0 and f.n_heap == 0 and (f.n_ready_pinned == 0 or not caller)
        f.sleeping = idle
        fg_unlock(&f.lock)
        if idle and not fg_event_wait(&f.event, SIGNAL_NS) and caller:
            _look_at_signals(f)
    region_close(&f.region)
    if fg_load32(&f.remaining) != 0:
        return _fail_code(f, 0, FAULT_CANCELLED, 1)
    return -1 if f.fault.code != FAULT_NONE else 0


# Plans

_KINDS = {
    plan_module.KernelCall: KERNEL, plan_module.GemmCall: GEMM, plan_module.HostCall: HOST, plan_module.ReadCell: READ,
    plan_module.AssignCell: ASSIGN, plan_module.Branch: BRANCH, plan_module.Loop: LOOP,
    plan_module.Transfer: TRANSFER, plan_module.Rest: REST,
}


cdef class Plan:
    """A PlanSpec as C structs, ready to run from several threads at once.

    Raises UnimplementedError for a step or a slot that is not on the CPU: the place where CUDA plans will be launched.
    """

    def __cinit__(self, spec):
        self.spec = spec
        self._held = []
        self._n_taken = 0
        self._taken = NULL

    def __init__(self, spec):
        cdef CPlan* p = &self.c
        cdef int32_t k, i
        global _all_plans
        self._held.append(list(spec.keep))
        p.plan = <void*>self
        p.n_slots = len(spec.slots)
        p.n_steps = len(spec.steps)
        p.arena_bytes = spec.arena_bytes
        p.cost = spec.cost
        p.parallel = spec.parallel
        p.short_shards = flags.get("fault") == "shard"  # planted, to show that tests find it
        p.slots = <CSlot*>self.take(p.n_slots * sizeof(CSlot))
        p.constants = <void**>self.take(p.n_slots * sizeof(void*))
        p.constant_data = <char**>self.take(p.n_slots * sizeof(char*))
        p.owned = <int32_t*>self.take(p.n_slots * sizeof(int32_t))
        for k, slot in enumerate(spec.slots):
            self.add_slot(k, slot)
        p.n_inputs = len(spec.inputs)
        p.inputs = self.values(spec.inputs)
        p.n_outputs = len(spec.outputs)
        p.outputs = self.values(spec.outputs)
        last = {p.outputs[k].slot: k for k in range(p.n_outputs)}
        for k in range(p.n_outputs):
            p.outputs[k].last = last[p.outputs[k].slot] == k
            if p.slots[p.outputs[k].slot].place in (ARENA, CELL):
                raise ValueError(f"Output {k} of {spec.name!r} has no Block of its own")
        p.steps = <CStep*>self.take(p.n_steps * sizeof(CStep))
        p.dependencies = <int32_t*>self.take(p.n_steps * sizeof(int32_t))
        p.order = <int32_t*>self.take(p.n_steps * sizeof(int32_t))
        p.quick = spec.cost < QUICK_NS and not spec.parallel
        for i, step in enumerate(spec.steps):
            self.add_step(i, step)
        self.link_steps()
        p.next = _all_plans
        if _all_plans != NULL:
            _all_plans.previous = p
        _all_plans = p
        self._linked = True

    def __dealloc__(self):
        global _all_plans
        cdef Frame* f
        cdef int32_t k
        cdef CPlan* p = &self.c
        if self._linked:
            if p.previous != NULL:
                p.previous.next = p.next
            else:
                _all_plans = p.next
            if p.next != NULL:
                p.next.previous = p.previous
        while p.idle != NULL:
            f = p.idle
            p.idle = f.next
            _frame_free(f)
        if p.constants != NULL:
            for k in range(p.n_slots):
                block_release(<Block*>p.constants[k])
        for k in range(self._n_taken):
            free(self._taken[k])
        free(self._taken)

    cdef void* take(self, int64_t nbytes) except NULL:
        """Zeroed memory that lives as long as the plan."""
        cdef void** grown = <void**>realloc(self._taken, (self._n_taken + 1) * sizeof(void*))
        if grown == NULL:
            raise MemoryError()
        self._taken = grown
        grown[self._n_taken] = calloc(1, max(nbytes, 8))
        if grown[self._n_taken] == NULL:
            raise MemoryError()
        self._n_taken += 1
        return grown[self._n_taken - 1]

    cdef int32_t* slots_of(self, slots) except NULL:
        cdef int32_t* found = <int32_t*>self.take(len(slots) * sizeof(int32_t))
        for k, slot in enumerate(slots):
            if not 0 <= slot < self.c.n_slots:
                raise ValueError(f"There is no slot {slot}")
            found[k] = slot
        return found

    cdef int64_t* numbers(self, numbers) except NULL:
        cdef int64_t* found = <int64_t*>self.take(len(numbers) * sizeof(int64_t))
        for k, number in enumerate(numbers):
            found[k] = number
        return found

    cdef Value* values(self, operands) except NULL:
        cdef Value* found = <Value*>self.take(len(operands) * sizeof(Value))
        for k, operand in enumerate(operands):
            if not 0 <= operand.slot < self.c.n_slots:
                raise ValueError(f"There is no slot {operand.slot}")
            found[k].slot = operand.slot
            found[k].dtype_code = operand.dtype
            if operand.shape is None:
                if self.c.slots[operand.slot].dynamic < 0 and self.c.slots[operand.slot].place != CELL:
                    raise ValueError(f"Slot {operand.slot} has no run-time shape")
                continue
            found[k].dims.known = 1
            found[k].dims.ndim = len(operand.shape)
            for axis, size in enumerate(operand.shape):
                found[k].dims.size[axis] = size
        return found

    cdef int add_slot(self, int32_t k, slot) except -1:
        cdef CPlan* p = &self.c
        cdef CSlot* c = &p.slots[k]
        cdef EagerTensor tensor
        if slot.device != plan_module.CPU:
            raise errors.UnimplementedError(None, None, f"Plans for device {slot.device} are not built yet: only the CPU's are")
        c.place = slot.place
        c.index = slot.index
        c.device = slot.device
        c.nbytes = slot.nbytes
        c.offset = slot.offset
        c.dynamic = -1
        if slot.dynamic:
            c.dynamic = p.n_dynamic
            p.n_dynamic += 1
        if c.place == CONSTANT:
            tensor = slot.tensor
            block_retain(tensor.block)
            p.constants[k] = tensor.block
            p.constant_data[k] = tensor.data
        elif c.place == BLOCK or c.place == GIVEN:
            p.owned[p.n_owned] = k
            p.n_owned += 1
        elif c.place == ARENA and c.offset + c.nbytes > p.arena_bytes:
            raise ValueError(f"Slot {k} ends behind the arena")
        return 0

    cdef int add_step(self, int32_t i, step) except -1:
        cdef CPlan* p = &self.c
        cdef CStep* s = &p.steps[i]
        cdef int32_t k
        s.kind = _KINDS[type(step)]
        if step.launch != plan_module.CPU or step.device != plan_module.CPU:
            raise errors.UnimplementedError(
                None, None, f"Step {step.name!r} is to be launched on device {step.device}: only the CPU's steps are built yet"
            )
        s.spec = <void*>step
        s.pinned = step.pinned or s.kind == HOST or s.kind == REST
        s.cost = step.cost
        s.n_shards = 1
        s.n_allocate = len(step.allocate)
        s.allocate = self.slots_of(step.allocate)
        s.n_release = len(step.release)
        s.release = self.slots_of(step.release)
        s.n_operands = len(step.operands)
        s.operands = self.values(step.operands)
        s.n_copies = len(step.copies)
        s.copies = <CopySpec*>self.take(s.n_copies * sizeof(CopySpec))
        for k, copy in enumerate(step.copies):
            s.copies[k].origin, s.copies[k].target, s.copies[k].nbytes = copy
        for k in range(s.n_allocate):
            if p.slots[s.allocate[k]].place != BLOCK:
                raise ValueError(f"Step {i} would make a Block for slot {s.allocate[k]}")
        if s.kind == KERNEL:
            if not step.address:
                raise ValueError(f"Kernel step {i} has no address")
            s.fn = <kernel_fn><size_t>step.address
            self.set_buffers(s, step.buffers)
            s.sizes = self.numbers(step.sizes)
            s.extent = step.extent
            s.chunk = max(1, step.chunk or step.extent)
        elif s.kind == GEMM:
            self.set_gemm(s, step)
        elif s.kind == HOST:
            s.n_values = len(step.outputs)
            s.values = self.values(step.outputs)
        elif s.kind == READ or s.kind == ASSIGN:
            self.set_buffers(s, (step.cell,))
            s.n_values = 1
            s.values = self.values((step.output if s.kind == READ else step.value,))
            if p.slots[step.cell].place != CELL:
                raise ValueError(f"Slot {step.cell} of step {i} is no Cell")
            if s.kind == ASSIGN and p.slots[s.values.slot].place == ARENA:
                raise ValueError(f"Step {i} assigns memory that the Variable cannot keep")
        elif s.kind == TRANSFER:
            self.set_buffers(s, (step.origin, step.target))
            s.extent = step.nbytes
        else:
            self.set_sub(s, step)
        if s.kind <= GEMM and s.extent > s.chunk:
            s.n_shards = <int32_t>((s.extent + s.chunk - 1) // s.chunk)
        if s.kind > GEMM:
            p.quick = p.quick and s.kind in (READ, ASSIGN, TRANSFER)
        return 0

    cdef int set_buffers(self, CStep* s, slots) except -1:
        s.n_buffers = len(slots)
        s.buffers = self.slots_of(slots)
        return 0

    cdef int set_gemm(self, CStep* s, step) except -1:
        cdef Gemm* g = <Gemm*>self.take(sizeof(Gemm))
        load_blas()
        if max(step.m, step.n, step.k) > 0x7fffffff:
            raise errors.InvalidArgumentError(None, None, f"A matrix product of {step.m}x{step.k}x{step.n} is too large for BLAS")
        self.set_buffers(s, (step.a, step.b, step.c))
        g.is_double = step.double
        g.transpose_a = step.transpose_a
        g.transpose_b = step.transpose_b
        g.along_n = step.along_n
        g.m = step.m
        g.n = step.n
        g.k = step.k
        g.batch = len(step.a_offsets)
        g.pieces = max(1, step.pieces)
        g.piece = ((g.n if g.along_n else g.m) + g.pieces - 1) // g.pieces
        g.a_offsets = self.numbers(step.a_offsets)
        g.b_offsets = self.numbers(step.b_offsets)
        s.gemm = g
        s.extent = g.batch * g.pieces
        s.chunk = max(1, step.chunk)
        return 0

    cdef int set_sub(self, CStep* s, step) except -1:
        cdef SubPlans* sub = <SubPlans*>self.take(sizeof(SubPlans))
        cdef Plan first
        cdef Plan second
        s.sub = sub
        sub.n_inputs = len(step.inputs)
        sub.inputs = self.slots_of(step.inputs)
        sub.n_outputs = len(step.outputs)
        sub.outputs = self.values(step.outputs)
        for slot in step.inputs:
            if self.c.slots[slot].place == ARENA:
                raise ValueError(f"Slot {slot} goes to a sub-plan and has no Block")
        if s.kind == REST:
            return 0
        if s.kind == BRANCH:
            self.set_buffers(s, (step.predicate,))
            first, second = step.then_plan, step.else_plan
        else:
            first, second = step.cond_plan, step.body_plan
            sub.n_carried = step.n_carried
            sub.varying = step.again is not None
            s.pinned = s.pinned or sub.varying
        for plan in (first, second):
            if (<Plan>plan).c.n_inputs != sub.n_inputs:
                raise ValueError(f"A sub-plan takes {(<Plan>plan).c.n_inputs} inputs, {sub.n_inputs} are given")
            s.pinned = s.pinned or (<Plan>plan).needs_python
        self._held.append((first, second))
        sub.first = &first.c
        sub.second = &second.c
        return 0

    cdef int link_steps(self) except -1:
        """Dependencies, successors, and the order of urgency: the longest way to the end first."""
        cdef CPlan* p = &self.c
        cdef CStep* s
        cdef int32_t i, n = p.n_steps
        cdef double tail
        cdef list after = [set(step.after) for step in self.spec.steps]
        cdef int32_t pinned = -1
        for i in range(n):
            if p.steps[i].pinned:  # Python runs in program order
                self.needs_python = True
                if pinned >= 0:
                    after[i].add(pinned)
                pinned = i
        successors = [[] for _ in range(n)]
        for i in range(n):
            p.dependencies[i] = len(after[i])
            for before in after[i]:
                if not 0 <= before < i:
                    raise ValueError(f"Step {i} comes after step {before}")
                successors[before].append(i)
        urgency = [0.0] * n
        for i in range(n - 1, -1, -1):
            s = &p.steps[i]
            s.n_successors = len(successors[i])
            s.successors = <int32_t*>self.take(s.n_successors * sizeof(int32_t))
            tail = 0
            for k, target in enumerate(successors[i]):
                s.successors[k] = target
                tail = max(tail, <double>urgency[target])
            urgency[i] = tail + s.cost / s.n_shards
            s.worth = urgency[i] >= WORTH_NS
        for rank, i in enumerate(sorted(range(n), key=lambda step: (-urgency[step], step))):
            p.order[rank] = i
            p.steps[i].rank = rank
        cells = [slot for slot in self.spec.slots if slot.place == plan_module.Place.CELL]
        p.n_cells = len(cells)
        return 0

    cpdef list run(self, list inputs):
        """Run the plan on EagerTensors (Cells for resources); gives EagerTensors.

        Raises ValueError or TypeError for inputs of another number, dtype or shape, and what the steps raise; of
        several that fail the first in program order.
        """
        cdef CPlan* p = &self.c
        cdef Call call
        cdef Frame* f
        cdef Value* value
        cdef Dims* dims
        cdef EagerTensor tensor
        cdef Block* block
        cdef char* data
        cdef int32_t j, k, n_cells = 0
        cdef int failed
        cdef list outputs
        if len(inputs) != p.n_inputs:
            raise ValueError(f"{self.spec.name!r} takes {p.n_inputs} inputs, got {len(inputs)}")
        call.cancelled = 0
        call.spent = 0
        call.checked = 0
        f = _frame_take(p, &call)
        if f == NULL:
            raise _exhausted(p.arena_bytes)
        try:
            for j in range(p.n_inputs):
                value = &p.inputs[j]
                item = inputs[j]
                if p.slots[value.slot].place == CELL:
                    _bind_cell(f, n_cells, value.slot, <Cell?>item)
                    n_cells += 1
                    continue
                tensor = <EagerTensor?>item
                if tensor.dtype_code != value.dtype_code or tensor.ndim != value.dims.ndim:
                    raise self.mismatch(j, tensor)
                for k in range(tensor.ndim):
                    if tensor.dims[k] != value.dims.size[k]:
                        raise self.mismatch(j, tensor)
                f.data[value.slot] = tensor.data
                f.block[value.slot] = tensor.block
            if p.quick:
                failed = _run(f, True)
            else:
                call.checked = fg_now_ns()
                with nogil:
                    failed = _run(f, True)
            if failed:
                _raise_fault(f)
            outputs = []
            for k in range(p.n_outputs):
                value = &p.outputs[k]
                dims = _dims_of(f, value)
                block = _take_output(f, k, &data)
                outputs.append(wrap_slice(block, data, value.dtype_code, dims.ndim, &dims.size[0]))
            return outputs
        finally:
            if f.fault.code != FAULT_NONE:
                _drop_fault(f)
            if f.discarded != NULL:
                Py_DECREF(<object>f.discarded)
                f.discarded = NULL
            _frame_give(f)
            block_drain()

    cdef object mismatch(self, int32_t j, EagerTensor tensor):
        return ValueError(
            f"Input {j} of {self.spec.name!r} must be {as_dtype(self.c.inputs[j].dtype_code).name}"
            f"{list(_shape_tuple(&self.c.inputs[j].dims))}, got {tensor.aval}"
        )

    @property
    def idle_frames(self) -> int:
        """Frames kept for later calls."""
        return self.c.n_idle

    @property
    def parallel(self) -> bool:
        return bool(self.c.parallel)

    def shards(self) -> list[int]:
        """Into how many parts each step is cut."""
        return [self.c.steps[i].n_shards for i in range(self.c.n_steps)]


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


cdef object _exhausted(int64_t nbytes):
    return errors.ResourceExhaustedError(None, None, f"OOM when allocating {nbytes} bytes on /device:CPU:0")


cdef int _raise_fault(Frame* f) except -1:
    """Raise what a fault means to the user."""
    cdef Fault* fault = &f.fault
    cdef CStep* s
    cdef Value* value
    cdef int32_t k
    if fault.exception != NULL:
        error = <object>fault.exception
        Py_DECREF(error)
        fault.exception = NULL
        raise error
    plan = <Plan>fault.plan.plan
    s = &fault.plan.steps[fault.step]
    step = <object>s.spec
    if fault.code == FAULT_MEMORY:
        raise _exhausted(fault.status)
    if fault.code == FAULT_CANCELLED:
        raise errors.CancelledError(
            None, None, "The process forked inside this call" if fault.status else "The call was cancelled"
        )
    if fault.code == FAULT_EMPTY:
        raise errors.FailedPreconditionError(
            None, None, f"Error while reading resource variable {step.name}: it was uninitialized, or has been freed."
        )
    if fault.code == FAULT_ROWS:
        raise errors.InvalidArgumentError(
            None, None, f"Result {fault.status} of the body of {step.name} has another shape in each iteration: cannot stack"
        )
    if fault.code == FAULT_SHAPE:
        raise errors.InvalidArgumentError(
            None, None, f"Variable {step.name} has changed its shape; expected {list(_shape_tuple(&s.values.dims))}"
        )
    if fault.code == FAULT_NATIVE:
        raise errors.InternalError(None, None, f"Kernel {step.name!r} ended with {fault.status}:\n{_source_of(step)}")
    operands = []
    for k in range(fault.n_operands):
        value = &s.operands[k]
        if fault.operands[k] != NULL:
            block_retain(fault.operands[k])
            operands.append(wrap_slice(
                fault.operands[k], fault.operands[k].data, value.dtype_code, value.dims.ndim, &value.dims.size[0]
            ))
    ordinal = (fault.status >> 48) - 1
    position = fault.status & ((<int64_t>1 << 48) - 1)
    if plan.spec.explain is not None:
        raise plan.spec.explain(step, ordinal, position, operands)
    raise errors.InternalError(None, None, f"Kernel {step.name!r}: check {ordinal} failed at position {position}")


def _source_of(step) -> str:
    kernel = getattr(step.source, "kernel", None)
    return kernel.source if kernel is not None else ""


def _after_fork_in_child() -> None:
    # Another thread may have held a plan's lock when the process forked.
    cdef CPlan* p = _all_plans
    while p != NULL:
        p.lock = 0
        p = p.next


os.register_at_fork(after_in_child=_after_fork_in_child)
