# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""The thread pool: persistent threads without Python that join open regions of work.

Rule: pool threads never touch Python, and a thread that opens a region works in it itself, so every region finishes
even when no other thread is free. An idle pool sleeps: threads spin for a few microseconds after work and then wait on
a condition variable; a little longer where regions follow each other so fast that they would be woken again at once,
which costs an op as much, and nobody else wants the core. A forked child begins with an empty pool of its own.

A helper whose core the system gives to another program holds back the piece that it had begun for that program's whole
turn, milliseconds. So where that has happened to one, the pool counts as *crowded* for a while. Until then short work
has one helper, which comes to the core of the thread that calls. The two are never at work at once there, but nor does
one wait for the turn of a program beside the other; and where each core has two threads to run, the system soon leaves
this one to these two, so that they have a core's time where the calling thread alone had half of it. Only work that
takes longer than a turn calls for all threads, wherever they are.
"""

import atexit
import os
import warnings

from libc.stdint cimport int32_t, int64_t
from posix.unistd cimport usleep

from fastgraph.core.base import flags

cdef extern from * nogil:
    """
    #ifdef __linux__
    static inline int fg_core(void) { return sched_getcpu(); }
    static __thread cpu_set_t fg_cores;  /* where a thread that is bound may be otherwise */
    /* 1 if this thread is where it was bound to; 0 if somebody else (`taskset -a`) said since where it may be. */
    static int fg_is_bound(int core) {
        cpu_set_t now;
        if (core < 0 || sched_getaffinity(0, sizeof now, &now) != 0) return 0;
        return CPU_COUNT(&now) == 1 && CPU_ISSET(core, &now);
    }
    /* Bind this thread, bound to a core before or not (-1), to another one; -1 where it may not be there. */
    static int fg_bind(int core, int bound) {
        cpu_set_t one;
        if (!fg_is_bound(bound) && sched_getaffinity(0, sizeof fg_cores, &fg_cores) != 0) return -1;
        if (!CPU_ISSET(core, &fg_cores)) return -1;
        CPU_ZERO(&one);
        CPU_SET(core, &one);
        return sched_setaffinity(0, sizeof one, &one);
    }
    static void fg_unbind(int bound) {
        if (fg_is_bound(bound)) sched_setaffinity(0, sizeof fg_cores, &fg_cores);
    }
    #else  /* no such calls: helpers stay away */
    static inline int fg_core(void) { return 0; }
    static int fg_bind(int core, int bound) { (void)core; (void)bound; return -1; }
    static void fg_unbind(int bound) { (void)bound; }
    #endif
    """
    int fg_core()
    int fg_bind(int core, int bound)
    void fg_unbind(int bound)

cdef enum:
    MAX_THREADS = 256
    SPIN_NS = 20000   # a wake-up through the kernel costs 5-10 us: spin a little longer than that
    LONG_NS = 100000  # of a core that sleeps, up to 50: spin so long where the work before came so soon
    TAKEN_NS = 50000  # a gap between two looks at the clock: somebody else had the core
    WARY = 100        # how many times no longer spin follows that
    STALL_NS = 500000           # a helper at work was without a core for so long: other programs want them
    CROWD_NS = 10000000         # how long the pool is crowded then; twice as long as before if that was not long ago
    CROWD_MOST_NS = 640000000   # at most, and how long "not long ago" is

cdef struct Pool:
    pthread_mutex_t mutex
    pthread_cond_t work      # threads sleep here
    pthread_cond_t left      # who closes a region sleeps here until the last thread has left it
    int32_t closing          # how many do
    Region* regions          # circular list of the open regions, or NULL
    int32_t epoch            # changes with every invitation
    int32_t wanted           # workers that should exist
    int32_t alive            # workers that do
    int32_t sleeping
    int32_t generation       # counts forks: regions of the parent are void in the child
    int32_t stopped
    int32_t cores            # this process may use: of more threads some always wait for the others
    int64_t crowded_until    # 0: never yet
    int64_t crowd            # for how long it was

cdef Pool pool


cdef Region* _choose() noexcept nogil:
    """The next open region with an open invitation; the pool's mutex is held."""
    cdef Region* region = pool.regions
    if region == NULL:
        return NULL
    while True:
        # On the caller's core one helps: who does so now looks again as it leaves.
        if region.invited > 0 and (fg_load32(&region.core) < 0 or fg_load32(&region.joined) == 0):
            pool.regions = region.next  # the next one to ask is another one
            return region
        region = region.next
        if region == pool.regions:
            return NULL


cdef void* _worker(void* argument) noexcept nogil:
    cdef Region* region
    cdef int32_t epoch, spins, wary = 0, bound = -1
    cdef int64_t idle, now, before, spin = SPIN_NS
    pthread_mutex_lock(&pool.mutex)
    while True:
        if pool.stopped or pool.alive > pool.wanted:
            break
        region = _choose()
        if region != NULL:
            fg_store32(&region.invited, region.invited - 1)
            fg_add32(&region.joined, 1)
            pthread_mutex_unlock(&pool.mutex)
            if _go_to(fg_load32(&region.core), &bound):
                _work(region, bound < 0)
            fg_add32(&region.joined, -1)  # the region may be gone from here on
            pthread_mutex_lock(&pool.mutex)
            if pool.closing > 0:
                pthread_cond_broadcast(&pool.left)
            continue
        epoch = pool.epoch
        pthread_mutex_unlock(&pool.mutex)
        idle = now = fg_now_ns()
        spins = 0
        while fg_load32(&pool.epoch) == epoch:
            fg_pause()
            spins += 1
            if spins & 63 == 0:
                before, now = now, fg_now_ns()
                if now - before > TAKEN_NS:
                    wary = WARY
                if now - idle > (SPIN_NS if wary > 0 else spin) or bound >= 0:
                    break
        pthread_mutex_lock(&pool.mutex)
        while pool.epoch == epoch and not pool.stopped and pool.alive <= pool.wanted:
            fg_store32(&pool.sleeping, pool.sleeping + 1)
            pthread_cond_wait(&pool.work, &pool.mutex)
            fg_store32(&pool.sleeping, pool.sleeping - 1)
        wary -= wary > 0
        spin = LONG_NS if fg_now_ns() - idle < LONG_NS else SPIN_NS
    fg_store32(&pool.alive, pool.alive - 1)
    pthread_mutex_unlock(&pool.mutex)
    return NULL


cdef bint _go_to(int32_t core, int32_t* bound) noexcept nogil:
    """Move this thread, `bound` to a core or not (-1), to a core or anywhere (-1). False: it may not be there."""
    if core == bound[0]:
        return 1
    if core < 0:
        fg_unbind(bound[0])
    elif fg_bind(core, bound[0]) != 0:
        return 0
    bound[0] = core
    return 1


cdef void _start() noexcept nogil:
    """Bring the number of workers up to what is wanted; the pool's mutex is held."""
    cdef pthread_t thread
    while pool.alive < pool.wanted and not pool.stopped:
        if pthread_create(&thread, NULL, _worker, NULL) != 0:
            pool.wanted = pool.alive  # the system gives no more threads: go on with those there are
            return
        pthread_detach(thread)
        fg_store32(&pool.alive, pool.alive + 1)


cdef void region_init(Region* region, void (*work)(Region*) noexcept nogil) noexcept nogil:
    region.work = work
    region.invited = region.joined = region.linked = 0
    region.core = -1
    region.next = region.previous = NULL


cdef void region_open(Region* region, bint long_work) noexcept nogil:
    """Let threads join; nobody is called before an invitation. `long_work`: some piece takes longer than a turn."""
    region.core = fg_core() if pool_crowded() and not long_work else -1
    pthread_mutex_lock(&pool.mutex)
    if pool.alive < pool.wanted:
        _start()
    region.generation = pool.generation
    region.invited = 0
    region.joined = 0
    if pool.regions == NULL:
        region.next = region.previous = region
        pool.regions = region
    else:
        region.next = pool.regions
        region.previous = pool.regions.previous
        region.previous.next = region
        region.next.previous = region
    region.linked = 1
    pthread_mutex_unlock(&pool.mutex)


cdef void region_invite(Region* region, int32_t threads) noexcept nogil:
    """Say that `threads` more threads would find work in the region now; wakes as many sleepers."""
    cdef int32_t _k
    cdef int32_t alive = fg_load32(&pool.alive)
    if threads > alive:
        threads = alive
    if threads > 1 and fg_load32(&region.core) >= 0:
        threads = 1
    if threads <= fg_load32(&region.invited):
        return
    pthread_mutex_lock(&pool.mutex)
    if threads > pool.alive:
        threads = pool.alive
    if region.linked and threads > region.invited:
        fg_store32(&region.invited, threads)
        fg_store32(&pool.epoch, pool.epoch + 1)
        for _k in range(threads if threads < pool.sleeping else pool.sleeping):
            pthread_cond_signal(&pool.work)
    pthread_mutex_unlock(&pool.mutex)


cdef void region_widen(Region* region, int32_t threads) noexcept nogil:
    """Invite so many threads, each to wherever it may be: the region's work is long.

    Who helps on the caller's core should leave and may come again.
    """
    fg_store32(&region.core, -1)
    region_invite(region, threads)


cdef bint region_orphaned(Region* region) noexcept nogil:
    """Return whether the process forked since the region was opened: its helpers stayed in the parent."""
    return region.generation != pool.generation


cdef void _work(Region* region, bint own_core) noexcept nogil:
    """Help with a region, and note whether the core, its own, was taken away meanwhile.

    On a core that is not its own the thread that calls may have had it. A thread asks for its own time: what another
    one on another core has used is known to the tick only.
    """
    cdef int64_t began = fg_now_ns(), used = fg_cpu_ns(), now
    region.work(region)
    now = fg_now_ns()
    if not own_core or pool.wanted > pool.cores or now - began < STALL_NS:
        return
    if now - began - (fg_cpu_ns() - used) >= STALL_NS:
        _crowd(now)


cdef void _crowd(int64_t now) noexcept nogil:
    cdef bint again = now - pool.crowded_until < CROWD_MOST_NS
    pool.crowd = min(2 * pool.crowd, CROWD_MOST_NS) if again else CROWD_NS
    pool.crowded_until = now + pool.crowd


cdef bint pool_crowded() noexcept nogil:
    """Return whether other programs want the cores, so that a helper may lose its own in the middle of a piece."""
    return pool.crowded_until != 0 and fg_now_ns() < pool.crowded_until


cdef void region_close(Region* region) noexcept nogil:
    """Let nobody else in and wait until the last thread has left. The region's work must be done.

    It sleeps rather than yields: where other programs want the core, who yields waits for their whole turn, and who is
    woken has the core back at once.
    """
    pthread_mutex_lock(&pool.mutex)
    if region.linked and not region_orphaned(region):
        if region.next == region:
            pool.regions = NULL
        else:
            region.previous.next = region.next
            region.next.previous = region.previous
            if pool.regions == region:
                pool.regions = region.next
    region.linked = 0
    region.invited = 0
    pthread_mutex_unlock(&pool.mutex)
    cdef int32_t spins = 0
    cdef int64_t until = 0
    while fg_load32(&region.joined) > 0 and region.core < 0 and not region_orphaned(region):
        fg_pause()
        spins += 1
        if spins & 63 == 0:
            if until == 0:
                until = fg_now_ns() + SPIN_NS
            elif fg_now_ns() > until:
                break
    if fg_load32(&region.joined) == 0 or region_orphaned(region):
        return
    pthread_mutex_lock(&pool.mutex)
    pool.closing += 1
    while fg_load32(&region.joined) > 0:
        pthread_cond_wait(&pool.left, &pool.mutex)
    pool.closing -= 1
    pthread_mutex_unlock(&pool.mutex)


cdef int32_t pool_threads() noexcept nogil:
    """Threads that can run at once, the caller included."""
    return pool.wanted + 1


cdef enum:
    MAX_RANGES = 64

cdef struct Range:
    int32_t taken        # runs handed out
    int32_t[15] unused   # a cache line of its own

cdef struct Share:
    Region region    # first: threads are handed its address
    part_t part
    void* context
    int64_t n
    int64_t chunk
    int64_t runs
    int64_t until    # where cores are crowded: by then work is long and all threads are called; else 0
    int32_t came     # threads that have joined, the one that opened the region first
    int32_t n_ranges
    Range[MAX_RANGES] ranges


cdef void _share_from(Share* share, int32_t own) noexcept nogil:
    """Take the runs of a range of one's own, then what is left of the others'.

    The thread that calls has the same range every time, and so, of two threads, has the other: what an op left of its
    result in the cache of a core is what that core is handed in the next op.
    """
    cdef int32_t k, r
    cdef int64_t run, last, first
    cdef int64_t until = share.until if own == 0 else 0
    cdef bint near = own != 0 and fg_load32(&share.region.core) >= 0  # on the caller's core
    for k in range(share.n_ranges):
        r = (own + k) % share.n_ranges
        last = share.runs * (r + 1) // share.n_ranges
        while True:
            if near and fg_load32(&share.region.core) < 0:
                return
            run = share.runs * r // share.n_ranges + fg_add32(&share.ranges[r].taken, 1) - 1
            if run >= last:
                break
            first = run * share.chunk
            share.part(share.context, first, min(first + share.chunk, share.n))
            if until != 0 and fg_now_ns() > until:
                until = 0
                region_widen(&share.region, share.n_ranges - 1)


cdef void _share_work(Region* region) noexcept nogil:
    cdef Share* share = <Share*>region
    _share_from(share, min(fg_add32(&share.came, 1), share.n_ranges) - 1)


cdef void pool_share(part_t part, void* context, int64_t n, int64_t chunk) noexcept nogil:
    cdef Share share
    cdef int64_t first, runs, others = pool.wanted
    cdef int32_t k
    while n // chunk > 1000000:  # runs are counted in 32 bits
        chunk *= 2
    runs = (n + chunk - 1) // chunk
    if others == 0 or runs < 2 or pool.stopped:
        first = 0
        while first < n:
            part(context, first, min(first + chunk, n))
            first += chunk
        return
    region_init(&share.region, _share_work)
    share.part = part
    share.context = context
    share.n = n
    share.chunk = chunk
    share.runs = runs
    share.came = 1
    share.n_ranges = <int32_t>min(min(others + 1, runs), MAX_RANGES)
    for k in range(share.n_ranges):
        share.ranges[k].taken = 0
    region_open(&share.region, False)
    share.until = fg_now_ns() + TURN_NS if share.region.core >= 0 else 0
    region_invite(&share.region, <int32_t>min(others, runs - 1))
    _share_from(&share, 0)
    region_close(&share.region)


def num_threads() -> int:
    """Threads that run steps at once, the calling thread included."""
    return pool_threads()


def set_num_threads(count: int | None) -> None:
    """Use `count` threads from now on, the calling one included (None: as the flag `threads` says)."""
    if count is None:
        count = min(flags.get("threads"), MAX_THREADS)
    if not 1 <= count <= MAX_THREADS:
        raise ValueError(f"The number of threads must be from 1 to {MAX_THREADS}, got {count}")
    cdef int32_t wanted = count - 1
    with nogil:
        pthread_mutex_lock(&pool.mutex)
        pool.wanted = wanted
        fg_store32(&pool.epoch, pool.epoch + 1)
        pthread_cond_broadcast(&pool.work)  # those too many leave
        pthread_mutex_unlock(&pool.mutex)


def is_crowded() -> bool:
    """Return whether short work has one helper at most, on the caller's core, because other programs want the cores."""
    return pool_crowded()


def set_crowded(seconds: float) -> None:
    """Let the pool count as crowded for so long from now (0: no longer)."""
    pool.crowded_until = fg_now_ns() + <int64_t>(seconds * 1e9) if seconds > 0 else 0


def alive_threads() -> int:
    """Worker threads that exist now; none before the first parallel call."""
    return fg_load32(&pool.alive)


def sleeping_threads() -> int:
    """Worker threads that wait for work without using the CPU."""
    return fg_load32(&pool.sleeping)


cdef void _init() noexcept nogil:
    pthread_mutex_init(&pool.mutex, NULL)
    pthread_cond_init(&pool.work, NULL)
    pthread_cond_init(&pool.left, NULL)
    pool.regions = NULL
    pool.alive = pool.sleeping = pool.closing = 0


def _after_fork_in_child() -> None:
    # The parent's threads are not in this process, and its mutex may have been held by one of them.
    _init()
    pool.generation += 1


def _stop() -> None:
    """End the workers; later work runs on the threads that call. Waits at most a second for those busy."""
    cdef int64_t until = fg_now_ns() + 1000000000
    cdef int64_t left
    with nogil:
        pthread_mutex_lock(&pool.mutex)
        pool.stopped = 1
        pool.wanted = 0
        fg_store32(&pool.epoch, pool.epoch + 1)
        pthread_cond_broadcast(&pool.work)
        while pool.alive > 0:
            left = until - fg_now_ns()
            if left <= 0:
                break
            pthread_mutex_unlock(&pool.mutex)
            usleep(200)
            pthread_mutex_lock(&pool.mutex)
        pthread_mutex_unlock(&pool.mutex)


_init()
pool.generation = pool.stopped = pool.epoch = 0
pool.crowded_until = pool.crowd = 0
pool.cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
try:
    set_num_threads(None)
except ValueError as error:  # the pool is there for whatever imports it, `python -m fastgraph info` for one
    warnings.warn(f"{error} One thread is used.", RuntimeWarning, stacklevel=1)
    set_num_threads(1)
os.register_at_fork(after_in_child=_after_fork_in_child)
atexit.register(_stop)
