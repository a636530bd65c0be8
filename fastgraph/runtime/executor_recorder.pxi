# The recorder of steps and their times, for the profiler. Part of executor.pyx.
#
# While nobody records, a step pays for one look at `recorder.on`. Events go to one table, a place in it is taken with
# an atomic addition, so threads do not wait for each other; when the table is full, later events are counted only.

cdef extern from *:
    """
    #include <sys/syscall.h>
    #include <unistd.h>
    static __thread int32_t fg_thread;
    static inline int32_t fg_thread_id(void) {
    #ifdef SYS_gettid
        if (!fg_thread) fg_thread = (int32_t)syscall(SYS_gettid);
    #else
        static int32_t threads;
        if (!fg_thread) fg_thread = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    #endif
        return fg_thread;
    }
    static inline int64_t fg_take_place(int64_t *n) { return __atomic_fetch_add(n, 1, __ATOMIC_RELAXED); }
    """
    int32_t fg_thread_id() nogil
    int64_t fg_take_place(int64_t*) nogil

cdef packed struct Event:   # same layout as _EVENT
    int64_t begin           # nanoseconds of the monotonic clock
    int64_t end
    int64_t plan            # address of the Python Plan, which _recorded holds
    int64_t first           # units [first, last) of the step
    int64_t last
    int32_t step            # -1: the whole call
    int32_t thread

cdef struct Recorder:
    int32_t on
    int32_t writing         # threads between taking a place and filling it
    int64_t n_events
    int64_t capacity
    Event* events

cdef Recorder recorder
memset(&recorder, 0, sizeof(Recorder))

_EVENT = [("begin", "i8"), ("end", "i8"), ("plan", "i8"), ("first", "i8"), ("last", "i8"), ("step", "i4"),
          ("thread", "i4")]
_recorded = {}  # address -> Plan


cdef void _note(CPlan* p, int32_t step, int64_t begin, int64_t first, int64_t last) noexcept nogil:
    """Record that the units of a step ran on this thread from `begin` until now."""
    cdef int64_t end = fg_now_ns(), place
    cdef Event* event
    fg_add32(&recorder.writing, 1)
    if fg_load32(&recorder.on):
        place = fg_take_place(&recorder.n_events)
        if place < recorder.capacity:
            event = &recorder.events[place]
            event.begin = begin
            event.end = end
            event.plan = <int64_t>p.plan
            event.first = first
            event.last = last
            event.step = step
            event.thread = fg_thread_id()
    fg_add32(&recorder.writing, -1)


cdef int _hold_recorded(plan) except -1:
    """Keep a plan that may run from now on for as long as events may name it."""
    if recorder.on:
        _recorded[id(plan)] = plan
    return 0


def start_recording(int64_t capacity) -> None:
    """Record every step that runs, on whatever thread, up to `capacity` events (48 bytes each).

    Raises RuntimeError if a recording is under way.
    """
    if recorder.events != NULL:
        raise RuntimeError("A recording is under way")
    recorder.events = <Event*>malloc(max(capacity, 1) * sizeof(Event))
    if recorder.events == NULL:
        raise _exhausted(capacity * sizeof(Event))
    recorder.capacity = capacity
    recorder.n_events = 0
    fg_store32(&recorder.on, 1)


def stop_recording() -> tuple:
    """End the recording; gives (events as a structured array, {address: Plan}, the number that found no place)."""
    global _recorded
    if recorder.events == NULL:
        raise RuntimeError("No recording is under way")
    fg_store32(&recorder.on, 0)
    with nogil:
        while fg_load32(&recorder.writing) > 0:
            fg_pause()
    cdef int64_t n = min(recorder.n_events, recorder.capacity)
    found = bytes((<char*>recorder.events)[:n * sizeof(Event)])
    cdef int64_t lost = recorder.n_events - n
    free(recorder.events)
    recorder.events = NULL
    plans, _recorded = _recorded, {}
    import numpy

    return numpy.frombuffer(found, _EVENT), plans, lost


def thread_id() -> int:
    """The number by which events name the current thread."""
    return fg_thread_id()


def clock() -> int:
    """The time that events are given in."""
    return fg_now_ns()
