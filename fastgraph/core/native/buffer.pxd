"""Blocks of memory shared by tensors, Variables, plans and NumPy. See buffer.pyx."""

from libc.stdint cimport int32_t, int64_t

cdef extern from * nogil:
    """
    #ifndef FG_ATOMICS
    #define FG_ATOMICS
    #include <stdint.h>
    #include <sched.h>
    static inline int64_t fg_atomic_add(int64_t *p, int64_t n) { return __atomic_add_fetch(p, n, __ATOMIC_ACQ_REL); }
    static inline int64_t fg_atomic_load(int64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
    static inline void fg_spin_lock(int32_t *lock) {
        int spins = 0;
        while (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE)) {
            do {
                if (++spins > 64) { sched_yield(); spins = 0; }
            } while (__atomic_load_n(lock, __ATOMIC_RELAXED));
        }
    }
    static inline int fg_spin_try(int32_t *lock) { return !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE); }
    static inline void fg_spin_unlock(int32_t *lock) { __atomic_store_n(lock, 0, __ATOMIC_RELEASE); }
    #endif
    """
    int64_t fg_atomic_add(int64_t* p, int64_t n)  # gives the new value
    int64_t fg_atomic_load(int64_t* p)
    void fg_spin_lock(int32_t* lock)
    int fg_spin_try(int32_t* lock)
    void fg_spin_unlock(int32_t* lock)

cdef enum:
    MAX_RANK = 64   # as NumPy

cdef enum BlockKind:
    BLOCK_MEMORY = 0   # pool memory, 64-byte aligned, directly behind the Block
    BLOCK_FOREIGN = 1  # memory of the NumPy array `owner`
    BLOCK_OBJECT = 2   # `owner` is an object array (strings); data points at its PyObject pointers

cdef struct Block:
    int64_t refs
    char* data
    int64_t nbytes
    int32_t device
    int32_t kind
    void* owner        # PyObject* held by this Block, or NULL
    Block* next        # link of a free list or of the list of deferred releases
    int32_t size_class
    int32_t pages      # of a mapping of its own (size_class -1)

cdef Block* block_new(int64_t nbytes) noexcept nogil
cdef Block* block_zeros(int64_t nbytes) noexcept nogil   # block_new of zeros
cdef Block* block_of_object(object owner, char* data, int64_t nbytes, int32_t kind) except NULL
cdef void block_free(Block* block) noexcept nogil
cdef void block_drain() noexcept
cdef int64_t block_trim(int64_t keep) noexcept nogil
cdef int64_t new_id() noexcept nogil

cdef inline void block_retain(Block* block) noexcept nogil:
    fg_atomic_add(&block.refs, 1)

cdef inline void block_release(Block* block) noexcept nogil:
    if block != NULL and fg_atomic_add(&block.refs, -1) == 0:
        block_free(block)

cdef class Buffer:
    cdef Block* block

    cdef Block* _held(self) except NULL

    @staticmethod
    cdef Buffer of(Block* block)

cdef class Cell:
    cdef int32_t lock
    cdef int32_t dtype_code
    cdef int32_t ndim
    cdef int64_t dims[MAX_RANK]
    cdef Block* block
    cdef char* data
    cdef readonly int64_t id
    cdef int64_t version
    cdef public object aval        # dtype and static shape: what may be assigned
    cdef public str name           # for messages
    cdef public object variable    # weak reference to the Variable that owns this Cell, or None
    cdef public int part           # of the CPU that it is said to lie on
    cdef public bint trainable     # a tape watches the reads of a trainable one
    cdef object __weakref__
