"""The thread pool's C interface: regions of work that idle threads are invited to. See thread_pool.pyx."""

from libc.stdint cimport int32_t, int64_t

cdef extern from * nogil:
    """
    #ifndef FG_POOL_ATOMICS
    #define FG_POOL_ATOMICS
    #include <stdint.h>
    #include <time.h>
    #include <sched.h>
    #include <errno.h>
    #include <pthread.h>
    static inline int32_t fg_add32(int32_t *p, int32_t n) { return __atomic_add_fetch(p, n, __ATOMIC_ACQ_REL); }
    static inline int32_t fg_load32(int32_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
    static inline void fg_store32(int32_t *p, int32_t v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
    static inline int fg_cas32(int32_t *p, int32_t old, int32_t value) {
        return __atomic_compare_exchange_n(p, &old, value, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
    }
    static inline void fg_lock(int32_t *lock) {
        int spins = 0;
        while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
            do {
                if (++spins > 64) { sched_yield(); spins = 0; }
            } while (__atomic_load_n(lock, __ATOMIC_RELAXED));
        }
    }
    static inline void fg_unlock(int32_t *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }
    #if defined(__x86_64__) || defined(__i386__)
    static inline void fg_pause(void) { __builtin_ia32_pause(); }
    #elif defined(__aarch64__)
    static inline void fg_pause(void) { __asm__ __volatile__("yield"); }
    #else
    static inline void fg_pause(void) { }
    #endif
    static inline int64_t fg_now_ns(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    static inline int64_t fg_cpu_ns(void) {
        struct timespec t;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    }
    /* A flag that one thread sleeps on. */
    typedef struct { pthread_mutex_t mutex; pthread_cond_t cond; int32_t raised; } fg_event;
    static inline void fg_event_init(fg_event *e) {
        pthread_condattr_t attr;
        pthread_mutex_init(&e->mutex, NULL);
        pthread_condattr_init(&attr);
        #ifndef __APPLE__
        pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        #endif
        pthread_cond_init(&e->cond, &attr);
        pthread_condattr_destroy(&attr);
        e->raised = 0;
    }
    static inline void fg_event_destroy(fg_event *e) {
        pthread_cond_destroy(&e->cond);
        pthread_mutex_destroy(&e->mutex);
    }
    static inline int fg_cond_wait_ns(pthread_cond_t *cond, pthread_mutex_t *mutex, int64_t ns) {
        struct timespec t;
        #ifdef __APPLE__
        clock_gettime(CLOCK_REALTIME, &t);
        #else
        clock_gettime(CLOCK_MONOTONIC, &t);
        #endif
        ns += t.tv_nsec;
        t.tv_sec += ns / 1000000000;
        t.tv_nsec = ns % 1000000000;
        return pthread_cond_timedwait(cond, mutex, &t) == ETIMEDOUT;
    }
    /* Wait until the event is raised, at most `ns`; lowers it. Gives whether it had been raised. */
    static inline int fg_event_wait(fg_event *e, int64_t ns) {
        int raised;
        pthread_mutex_lock(&e->mutex);
        while (!e->raised) {
            if (fg_cond_wait_ns(&e->cond, &e->mutex, ns)) break;
        }
        raised = e->raised;
        __atomic_store_n(&e->raised, 0, __ATOMIC_RELEASE);
        pthread_mutex_unlock(&e->mutex);
        return raised;
    }
    static inline void fg_event_raise(fg_event *e) {
        pthread_mutex_lock(&e->mutex);
        __atomic_store_n(&e->raised, 1, __ATOMIC_RELEASE);
        pthread_cond_signal(&e->cond);
        pthread_mutex_unlock(&e->mutex);
    }
    #endif
    """
    ctypedef struct pthread_mutex_t:
        pass
    ctypedef struct pthread_cond_t:
        pass
    ctypedef unsigned long pthread_t
    int pthread_mutex_init(pthread_mutex_t*, void*)
    int pthread_mutex_lock(pthread_mutex_t*)
    int pthread_mutex_unlock(pthread_mutex_t*)
    int pthread_cond_init(pthread_cond_t*, void*)
    int pthread_cond_wait(pthread_cond_t*, pthread_mutex_t*)
    int pthread_cond_signal(pthread_cond_t*)
    int pthread_cond_broadcast(pthread_cond_t*)
    int pthread_create(pthread_t*, void*, void* (*)(void*) noexcept nogil, void*)
    int pthread_detach(pthread_t)
    int32_t fg_add32(int32_t* p, int32_t n)  # gives the new value
    int32_t fg_load32(int32_t* p)
    void fg_store32(int32_t* p, int32_t value)
    int fg_cas32(int32_t* p, int32_t old, int32_t value)
    void fg_lock(int32_t* lock)
    void fg_unlock(int32_t* lock)
    void fg_pause()
    int64_t fg_now_ns()
    int64_t fg_cpu_ns()  # what this thread has used
    ctypedef struct fg_event:
        int32_t raised
    void fg_event_init(fg_event*)
    void fg_event_destroy(fg_event*)
    int fg_event_wait(fg_event*, int64_t ns)
    void fg_event_raise(fg_event*)
    int fg_cond_wait_ns(pthread_cond_t*, pthread_mutex_t*, int64_t ns)

cdef struct Region:
    # Work that any thread may join while it is open. `work` runs what is ready and returns when nothing is.
    void (*work)(Region*) noexcept nogil
    int32_t invited   # threads that would still find something to do
    int32_t joined    # threads inside work()
    int32_t linked
    int32_t generation
    int32_t core      # where cores are crowded: the caller's, to which who joins comes; else -1
    Region* next
    Region* previous

cdef enum:
    TURN_NS = 3000000   # about as long as the system lets another program have a core

cdef bint pool_crowded() noexcept nogil
cdef void region_init(Region* region, void (*work)(Region*) noexcept nogil) noexcept nogil
cdef void region_open(Region* region, bint long_work) noexcept nogil
cdef void region_invite(Region* region, int32_t threads) noexcept nogil
cdef void region_close(Region* region) noexcept nogil
cdef bint region_orphaned(Region* region) noexcept nogil
cdef int32_t pool_threads() noexcept nogil

# part(context, first, last) for the runs of `chunk` of 0 .. n - 1, on the threads that are free and this one. Where a
# run begins depends on n and chunk alone, so results do not depend on the number of threads.
ctypedef void (*part_t)(void*, int64_t, int64_t) noexcept nogil
cdef void pool_share(part_t part, void* context, int64_t n, int64_t chunk) noexcept nogil
