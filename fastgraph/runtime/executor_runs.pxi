# Runs: a frame's steps one after another, or on the pool. Part of executor.pyx.

cdef inline int _after_step(Frame* f, int32_t i, CStep* s, bint caller) noexcept nogil:
    """Let go of what the step was the last to use, and look at signals."""
    cdef int32_t k
    for k in range(s.n_release):
        block_release(f.block[s.release[k]])
        f.block[s.release[k]] = NULL
    if caller:
        return _breathe(f, s.cost)
    if fg_load32(&f.call.cancelled):
        return _fail_code(f, i, FAULT_CANCELLED, 0)
    return 0


cdef inline int _run_step(Frame* f, int32_t i, CStep* s, bint caller) noexcept nogil:
    """A whole step, in program order on this thread."""
    cdef int32_t k
    cdef int failed
    if s.n_updates:
        failed = _prepare(f, i, s)
        for k in range(s.n_shards if not failed else 0):
            failed = failed or _run_shard(f, i, s, k, caller)
        _release_claims(f, i, s)
        if failed:
            return -1
        return _after_step(f, i, s, caller)
    if s.n_allocate or s.n_copies or s.counted != NULL:
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
    return _after_step(f, i, s, caller)


cdef int _run_timed(Frame* f, int64_t* times) noexcept nogil:
    """Do as _run on one thread, keeping the least nanoseconds that each step took."""
    cdef int32_t i
    cdef int64_t begin = fg_now_ns(), end
    for i in range(f.plan.n_steps):
        if _run_step(f, i, &f.plan.steps[i], True):
            return -1
        end = fg_now_ns()
        if times[i] == 0 or end - begin < times[i]:
            times[i] = end - begin
        begin = end
    return 0


cdef int _run(Frame* f, bint caller) noexcept nogil:
    """Run a frame's steps: one after another, or on the pool where the plan is worth it. -1: see f.fault."""
    if f.plan.parallel == 0 or pool_threads() < 2:
        return _run_alone(f, caller)
    return _run_quicker(f, caller) if f.plan.pace.tried else _run_parallel(f, caller)


cdef int _run_alone(Frame* f, bint caller) noexcept nogil:
    cdef CPlan* p = f.plan
    cdef int32_t i
    for i in range(p.n_steps):
        if _run_step(f, i, &p.steps[i], caller):
            return -1
    return 0


cdef int _run_quicker(Frame* f, bint caller) noexcept nogil:
    """Run on several threads, or on one while that takes less time.

    How long a core waits for what another one wrote, no cost says: where the cores share no cache, or other programs
    have them, steps may take longer on two threads than on one. That comes and goes: where several threads begin to
    lose they stop, and soon they try again, for at most a 32nd of the time.
    """
    cdef Pace* pace = &f.plan.pace
    cdef bint alone
    cdef int failed
    cdef int64_t begin, now, taken
    if not fg_spin_try(&pace.lock):  # two calls at once: the first is timed
        return _run_parallel(f, caller)
    begin = fg_now_ns()
    alone = begin < pace.until if pace.alone else pace.left == 0
    failed = _run_alone(f, caller) if alone else _run_parallel(f, caller)
    now = fg_now_ns()
    taken = max(now - begin, 1)
    if failed:
        pass
    elif alone and pace.alone:
        pace.alone_ns = min(taken, pace.alone_ns + pace.alone_ns // 64)
    elif alone:
        pace.left = <int32_t>min(64 + 256 * taken // max(pace.lost, 1), 1 << 16)
        pace.alone_ns = taken
    elif pace.alone:  # a trial
        pace.lost += taken - pace.alone_ns
        pace.left += 1
        if taken < 0.9 * pace.alone_ns:
            pace.alone, pace.left, pace.worse = 0, 64, 0
        elif pace.left >= TRIED and now - pace.until >= TRIED_NS:
            pace.until = now + max(AGAIN_NS, 32 * pace.lost)
            pace.left = pace.lost = 0
    else:
        pace.left -= 1
        pace.lost = taken
        pace.worse = pace.worse + 1 if pace.alone_ns and taken > pace.alone_ns else 0
        if pace.worse == 1:
            pace.until = now
        elif pace.worse >= TRIED and now - pace.until >= TRIED_NS:
            pace.alone, pace.until = 1, now + AGAIN_NS
            pace.left = pace.lost = pace.worse = 0
    fg_spin_unlock(&pace.lock)
    return failed


cdef void _push(Frame* f, int32_t i) noexcept nogil:
    """Make step i ready; the frame's lock is held."""
    cdef CPlan* p = f.plan
    cdef int32_t at, up, rank
    if p.steps[i].pinned:
        f.ready_pinned[f.n_ready_pinned] = i
        fg_store32(&f.n_ready_pinned, f.n_ready_pinned + 1)
        return
    rank = p.steps[i].rank
    at = f.n_heap
    fg_store32(&f.n_heap, at + 1)
    while at > 0:
        up = (at - 1) >> 1
        if f.heap[up] <= rank:
            break
        f.heap[at] = f.heap[up]
        at = up
    f.heap[at] = rank


cdef void _pop(Frame* f) noexcept nogil:
    cdef int32_t at = 0, child, rank
    fg_store32(&f.n_heap, f.n_heap - 1)
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
    """Return how many threads would find something, if that is worth the wake-up; the frame's lock is held."""
    cdef int32_t k, i, n, found = 0
    cdef double work = 0
    cdef CStep* s
    for k in range(min(f.n_heap, 32)):
        i = f.plan.order[f.heap[k]]
        s = &f.plan.steps[i]
        if s.long_enough or not f.crowded:
            n = s.n_shards - f.next_shard[i]
            found += n
            work += n * s.alone
    return found if work >= WORTH_NS else 0


cdef void _participate(Frame* f, bint caller, bint helper) noexcept nogil:
    """Run ready steps until there is none. Every thread in a region does just this.

    Where cores are crowded, a helper of a plan with long steps leaves the short ones to the thread that calls.
    """
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
            fg_store32(&f.n_ready_pinned, f.n_ready_pinned - 1)
            f.ready_pinned[k] = f.ready_pinned[f.n_ready_pinned]
            shard = 0
        elif f.n_heap > 0 and not (helper and f.crowded and not p.steps[p.order[f.heap[0]]].long_enough):
            i = p.order[f.heap[0]]
            # The thread that calls takes the first shards, helpers the last: so each goes on with that part of memory
            # that it worked on in the step before, which lies in its core's cache.
            if caller:
                shard = f.from_front[i]
                f.from_front[i] += 1
            else:
                shard = p.steps[i].n_shards - 1 - (f.next_shard[i] - f.from_front[i])
            if f.prepared[i] and f.next_shard[i] + 1 < p.steps[i].n_shards:
                f.next_shard[i] += 1
            else:
                _pop(f)  # the last shard; or nobody else may begin before the step is prepared
        else:
            break
        s = &p.steps[i]
        # Steps after a failed one in program order do not run; those before it still do.
        skipped = fg_load32(&f.call.cancelled) or (f.fault.code != FAULT_NONE and i > f.fault.order)
        if not f.prepared[i]:
            if not skipped and (s.n_allocate or s.n_copies or s.n_updates or s.counted != NULL):
                fg_unlock(&f.lock)
                _prepare(f, i, s)
                fg_lock(&f.lock)
                skipped = fg_load32(&f.call.cancelled) or (f.fault.code != FAULT_NONE and i >= f.fault.order)
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
            if s.n_updates:
                _release_claims(f, i, s)
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
    _participate(<Frame*>region, False, True)


cdef int _run_parallel(Frame* f, bint caller) noexcept nogil:
    """Run a frame's steps with whoever comes to help; gives when all are done or skipped."""
    cdef CPlan* p = f.plan
    cdef int32_t i, spins
    cdef int64_t until
    cdef bint idle, raised
    f.n_heap = f.n_ready_pinned = 0
    f.remaining = p.n_steps
    f.sleeping = 0
    f.crowded = p.parallel > 1 and pool_crowded()
    f.event.raised = 0
    f.lock = 0
    for i in range(p.n_steps):
        f.waiting_for[i] = p.dependencies[i]
        f.next_shard[i] = f.from_front[i] = 0
        f.shards_left[i] = p.steps[i].n_shards
        f.prepared[i] = 0
    region_init(&f.region, _help)
    region_open(&f.region, p.parallel > 1)
    fg_lock(&f.lock)
    for i in range(p.n_steps):
        if p.dependencies[i] == 0:
            _push(f, i)
    fg_unlock(&f.lock)
    while True:
        _participate(f, caller, False)
        if fg_load32(&f.remaining) == 0:
            break
        if region_orphaned(&f.region):
            break
        until = fg_now_ns() + SPIN_NS
        spins = 0
        while f.region.core < 0 and fg_load32(&f.remaining) != 0 and \
                fg_load32(&f.n_heap) == 0 and fg_load32(&f.n_ready_pinned) == 0:
            fg_pause()
            spins += 1
            if spins & 63 == 0 and fg_now_ns() > until:
                break
        fg_lock(&f.lock)
        idle = f.remaining != 0 and f.n_heap == 0 and (f.n_ready_pinned == 0 or not caller)
        f.sleeping = idle
        fg_unlock(&f.lock)
        if idle:
            raised = fg_event_wait(&f.event, SIGNAL_NS)
            f.crowded = p.parallel > 1 and pool_crowded()
            if caller and not raised:
                _look_at_signals(f)
    region_close(&f.region)
    if fg_load32(&f.remaining) != 0:
        return _fail_code(f, 0, FAULT_CANCELLED, 1)
    return -1 if f.fault.code != FAULT_NONE else 0
