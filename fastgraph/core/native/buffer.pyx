"""Memory: reference-counted Blocks from one process-wide pool, and the Cells in which Variables keep them.

Rule: a Block is released by whoever holds a reference, from any thread, with or without the GIL; nothing here knows
what a tensor is.
"""

cimport cython
from cpython.ref cimport PyObject, Py_INCREF
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memset

cdef extern from "Python.h" nogil:
    int PyGILState_Check()
    void Py_DecRef(PyObject* o)

cdef extern from "Python.h":
    int Py_AddPendingCall(int (*func)(void*) noexcept, void* arg) nogil

cdef extern from * nogil:
    """
    #include <stdlib.h>
    #include <pthread.h>
    #include <time.h>
    #include <unistd.h>
    #if defined(__linux__)
    #include <sys/mman.h>
    #endif
    #if defined(__GLIBC__)
    #include <malloc.h>
    #endif

    #define FG_HEADER 64                 /* a Block, and the distance from it to its data */
    #define FG_LINEAR 16                 /* classes of 64, 128, ... 1024 bytes, then four to each power of two */
    #define FG_CLASSES (FG_LINEAR + 4 * 28)
    #define FG_HUGE (1 << 22)            /* from here on ask for huge pages: a fresh page costs a fault */
    #define FG_PAGE ((int64_t)1 << 21)   /* one of them */
    #define FG_SLOW_NS 1500000           /* for one of them: 512 small ones take half of that */
    #define FG_RETRIED (256 << 20)
    #define FG_SPARE (1 << 16)           /* from here on free Blocks make room for a large one, */
    #define FG_LARGE (64 << 20)          /* as large as this */
    #define FG_PLENTY (256 << 20)
    #if defined(__linux__) && defined(MADV_HUGEPAGE) && defined(MREMAP_FIXED)
    #define FG_MAPS 1
    #else
    #define FG_MAPS 0
    #endif

    static int fg_size_class(int64_t total) {
        if (total <= 64 * FG_LINEAR) return (int)((total + 63) / 64) - 1;
        int power = 63 - __builtin_clzll((unsigned long long)(total - 1));      /* 2^power < total <= 2^(power+1) */
        int quarter = (int)(((total - 1) >> (power - 2)) & 3);
        int size_class = FG_LINEAR + 4 * (power - 10) + quarter;
        return size_class < FG_CLASSES ? size_class : -1;
    }
    static int64_t fg_class_bytes(int size_class) {
        if (size_class < FG_LINEAR) return 64 * (int64_t)(size_class + 1);
        int power = (size_class - FG_LINEAR) / 4 + 10, quarter = (size_class - FG_LINEAR) % 4;
        return ((int64_t)(5 + quarter)) << (power - 2);
    }
    #if FG_MAPS
    static int64_t fg_small_bytes = 0;   /* to be mapped in small pages before a huge one is tried again */
    static int64_t fg_thread_ns(void) {
        struct timespec now;
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
        return now.tv_sec * 1000000000LL + now.tv_nsec;
    }
    /* Ask for huge pages, of which the first is had at once: the Block lies in it. Where that takes longer than small
       pages of the same size (a virtual machine whose host has yet to find it), small ones do: the system has some of
       those that were in use before. Not in programs of less memory than FG_PLENTY: the first calls of large ones lose
       a second by GB, but what only adds numbers takes a tenth longer with small pages. */
    static void fg_ask_for_huge(char *begin, int64_t bytes, int64_t taken) {
        if (taken < FG_PLENTY) {
            madvise(begin, (size_t)bytes, MADV_HUGEPAGE);
            return;
        }
        if (fg_atomic_load(&fg_small_bytes) > 0) {
            fg_atomic_add(&fg_small_bytes, -bytes);
            return;
        }
        int64_t asked = fg_thread_ns();
        madvise(begin, (size_t)FG_PAGE, MADV_HUGEPAGE);
        *(volatile char *)begin = 0;
        if (fg_thread_ns() - asked > FG_SLOW_NS) fg_atomic_add(&fg_small_bytes, FG_RETRIED);
        else madvise(begin, (size_t)bytes, MADV_HUGEPAGE);
    }
    #endif
    /* Large Blocks are mapped for themselves and begin with a huge page: pages can move from one to another. */
    static void *fg_alloc(int64_t bytes, int64_t taken) {
        void *p = NULL;
    #if FG_MAPS
        if (bytes >= FG_HUGE) {
            const int64_t page = FG_PAGE;
            char *room = (char *)mmap(NULL, (size_t)(bytes + page), PROT_READ | PROT_WRITE,
                                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (room == MAP_FAILED) return NULL;
            char *begin = (char *)(((uintptr_t)room + page - 1) / page * page);
            if (begin > room) munmap(room, (size_t)(begin - room));
            if (begin < room + page) munmap(begin + bytes, (size_t)(room + page - begin));
            fg_ask_for_huge(begin, bytes, taken);
            return begin;
        }
    #endif
        return posix_memalign(&p, bytes >= FG_HUGE ? 4096 : 64, (size_t)bytes) ? NULL : p;
    }
    static void fg_give_back(void *p, int64_t bytes) {
    #if FG_MAPS
        if (bytes >= FG_HUGE) {
            munmap(p, (size_t)bytes);
            return;
        }
    #endif
        free(p);
    }
    /* Give a free Block's whole huge pages to the memory at `to`, as many as fit, the rest to the system: bytes given.
       A page that the system gives anew has to be cleared, and on a virtual machine perhaps be had from its host. They
       move one by one: Linux before 6.17 moves no several mappings at once, as a Block of others' pages is, but has
       unmapped what was there by then. Where there are too many mappings, all is left as it was. */
    static int64_t fg_move_pages(char *to, int64_t room, void *from, int64_t bytes) {
        int64_t moved = 0;
    #if FG_MAPS
        char *begin = (char *)from;
        while (moved + FG_PAGE <= bytes && moved + FG_PAGE <= room
               && mremap(begin + moved, (size_t)FG_PAGE, (size_t)FG_PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to + moved)
                  == (void *)(to + moved)) moved += FG_PAGE;
        if (moved < bytes) munmap(begin + moved, (size_t)(bytes - moved));
    #endif
        return moved;
    }
    /* Memory of the system's that is zero and takes no room before it is written; NULL where there is none such. */
    static void *fg_map_zeros(int64_t bytes) {
    #if defined(__linux__)
        char *p = (char *)mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) return NULL;
        *p = 0;                          /* the Block's own page, a small one: a huge one would be cleared at once */
    #if defined(MADV_HUGEPAGE)
        madvise(p + 4096, (size_t)bytes - 4096, MADV_HUGEPAGE);
    #endif
        return p;
    #else
        return NULL;
    #endif
    }
    /* Of a build with FASTGRAPH_GUARD: memory that ends, but for what 64 does not divide, at a page none may touch. */
    #if defined(FASTGRAPH_GUARD) && defined(__linux__)
    #define FG_GUARD 1
    static void *fg_guarded(int64_t bytes) {
        int64_t room = (bytes + 4095) / 4096 * 4096;
        char *p = (char *)mmap(NULL, (size_t)room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED || mprotect(p + room, 4096, PROT_NONE)) return NULL;
        memset(p, 0xA5, (size_t)room);   /* what is read before it is written is not zero by accident */
        return p + room - bytes;
    }
    #else
    #define FG_GUARD 0
    static void *fg_guarded(int64_t bytes) { return NULL; }
    #endif
    /* The system may take the memory of a Block that waits for its next owner: it does when it is short of memory, and
       what it left is written without a fault. Whole huge pages alone, none with the Block itself. */
    static void fg_offer(void *p, int64_t bytes) {
    #if defined(__linux__) && defined(MADV_FREE)
        const uintptr_t page = (uintptr_t)1 << 21;
        uintptr_t begin = ((uintptr_t)p + page) / page * page, end = ((uintptr_t)p + (uintptr_t)bytes) / page * page;
        if (begin < end) madvise((void *)begin, end - begin, MADV_FREE);
    #endif
    }
    static int64_t fg_physical_bytes(void) {
    #if defined(_SC_PHYS_PAGES)
        return (int64_t)sysconf(_SC_PHYS_PAGES) * (int64_t)sysconf(_SC_PAGESIZE);
    #else
        return 0;
    #endif
    }
    /* Have the system take whole pages of what was freed in the heap, which keeps them otherwise. */
    static void fg_trim_heap(void) {
    #if defined(__GLIBC__)
        malloc_trim(0);
    #endif
    }
    static void fg_unmap(void *p, int64_t bytes) {
    #if defined(__linux__)
        munmap(p, (size_t)bytes);
    #endif
    }
    """
    enum: FG_HUGE
    enum: FG_SPARE
    enum: FG_LARGE
    void fg_trim_heap()
    enum: FG_GUARD
    void* fg_guarded(int64_t bytes)
    void* fg_map_zeros(int64_t bytes)
    void fg_offer(void* p, int64_t bytes)
    int64_t fg_physical_bytes()
    void fg_unmap(void* p, int64_t bytes)
    enum: FG_HEADER
    enum: FG_CLASSES
    int fg_size_class(int64_t total)
    int64_t fg_class_bytes(int size_class)
    enum: FG_MAPS
    enum: FG_PAGE
    void* fg_alloc(int64_t bytes, int64_t taken)
    void fg_give_back(void* p, int64_t bytes)
    int64_t fg_move_pages(char* to, int64_t room, void* from_, int64_t bytes)
    int pthread_atfork(void (*prepare)() noexcept, void (*parent)() noexcept, void (*child)() noexcept)

cdef enum:
    DROP_AFTER = 16

cdef struct SizeClass:
    int32_t lock
    int32_t n_free
    int32_t n_unused                  # the fewest that were free since `_drop_unused`
    int64_t n_live
    int64_t n_made
    Block* free

cdef SizeClass[FG_CLASSES] _classes
cdef int64_t _cached_bytes = 0        # in free lists, all classes together
cdef int64_t _taken_bytes = 0         # from the system: in free lists or in use
cdef int64_t _most_bytes = 0          # that were in use when the system was asked for more
cdef int64_t _mapped_bytes = 0        # of zeros mapped for themselves
cdef int64_t _mapped_blocks = 0
cdef int64_t _mapped_made = 0         # ever
cdef int64_t _mapped_made_bytes = 0
cdef int64_t _cache_limit = 512 << 20  # above it as much is kept as was in use at once
cdef int64_t _dropped_at = 0          # what Blocks had been handed out when `_drop_unused` ran
cdef int64_t _offer_limit = max(_cache_limit, fg_physical_bytes() // 4)  # above it as long as the system lets us
cdef Block* _deferred = NULL          # Blocks whose owner waits for a thread that holds the GIL
cdef int32_t _deferred_lock = 0
cdef int64_t _last_id = 0

memset(&_classes[0], 0, sizeof(_classes))


cdef int64_t new_id() noexcept nogil:
    """A number never given before in this process: the identity of a tensor or a Cell."""
    return fg_atomic_add(&_last_id, 1)


cdef inline Block* _begun(Block* block, int64_t nbytes) noexcept nogil:
    """A Block of memory with its one reference."""
    block.refs = 1
    block.data = <char*>block + FG_HEADER
    block.nbytes = nbytes
    block.device = 0
    block.kind = BLOCK_MEMORY
    block.owner = NULL
    block.next = NULL
    return block


cdef inline Block* _pop(SizeClass* pool) noexcept nogil:
    """Take a free Block, NULL if there is none. The pool's lock is held."""
    cdef Block* block = pool.free
    if block != NULL:
        pool.free = block.next
        pool.n_free -= 1
        pool.n_unused = min(pool.n_unused, pool.n_free)
    return block


cdef Block* block_new(int64_t nbytes) noexcept nogil:
    """A Block of pool memory with one reference, contents undefined; NULL when memory is exhausted."""
    cdef int size_class
    cdef int64_t used
    cdef Block* block
    cdef SizeClass* pool
    if nbytes < 0 or nbytes > (<int64_t>1 << 46):
        return NULL
    if FG_GUARD:
        return _block_guarded(nbytes)
    size_class = fg_size_class(nbytes + FG_HEADER)
    if size_class < 0:
        return NULL
    pool = &_classes[size_class]
    fg_spin_lock(&pool.lock)
    block = _pop(pool)
    pool.n_live += 1
    pool.n_made += 1
    fg_spin_unlock(&pool.lock)
    if block != NULL:
        if size_class >= 16:
            fg_atomic_add(&_cached_bytes, -fg_class_bytes(size_class))
    else:
        block = <Block*>fg_alloc(fg_class_bytes(size_class), fg_atomic_load(&_taken_bytes))
        if block != NULL and FG_MAPS and fg_class_bytes(size_class) >= 2 * FG_HUGE:
            _take_pages(block, size_class)
        if block == NULL and block_trim(0) > 0:
            block = <Block*>fg_alloc(fg_class_bytes(size_class), fg_atomic_load(&_taken_bytes))
        if block == NULL:
            fg_spin_lock(&pool.lock)
            pool.n_live -= 1
            fg_spin_unlock(&pool.lock)
            return NULL
        block.size_class = size_class
        if size_class >= 16:
            used = fg_atomic_add(&_taken_bytes, fg_class_bytes(size_class)) - fg_atomic_load(&_cached_bytes)
            if used > _most_bytes:  # by two threads at once: the next ask mends it
                (&_most_bytes)[0] = used
    return _begun(block, nbytes)


cdef void _take_pages(Block* to, int size_class) noexcept nogil:
    """Have a new large Block made of the pages of smaller ones that lie free.

    A plan's arena, say, of what the first calls left: they would wait for the next Block of their own size in vain.
    Beside a very large one those go back to the system, too, that are no pages of their own.
    """
    cdef int64_t room = fg_class_bytes(size_class), nbytes, at = 0
    cdef bint spare = False
    cdef int i
    cdef Block* block
    cdef SizeClass* pool
    for i in range(size_class - 1, 15, -1):
        nbytes = fg_class_bytes(i)
        if nbytes < FG_HUGE and (room < FG_LARGE or nbytes < FG_SPARE):
            break
        pool = &_classes[i]
        while nbytes < FG_HUGE or room - at >= FG_PAGE:
            fg_spin_lock(&pool.lock)
            block = _pop(pool)
            fg_spin_unlock(&pool.lock)
            if block == NULL:
                break
            if nbytes >= FG_HUGE:
                at += fg_move_pages(<char*>to + at, room - at, block, nbytes)
            else:
                fg_give_back(block, nbytes)
                spare = True
            fg_atomic_add(&_cached_bytes, -nbytes)
            fg_atomic_add(&_taken_bytes, -nbytes)
    if spare:
        fg_trim_heap()


cdef Block* _block_guarded(int64_t nbytes) noexcept nogil:
    """`block_new` of a build that finds what is read or written beyond the end: every Block is mapped for itself."""
    cdef int64_t total = FG_HEADER + (nbytes + 63) // 64 * 64
    cdef Block* block = <Block*>fg_guarded(total)
    if block == NULL:
        return NULL
    block.size_class = -2
    block.pages = (total + 4095) // 4096
    return _begun(block, nbytes)


cdef Block* block_zeros(int64_t nbytes) noexcept nogil:
    """A Block of zeros. Large ones are the system's, which gives pages when they are first written: they are mapped
    for themselves and never kept, since clearing them again would cost what they save."""
    cdef Block* block = NULL
    cdef int64_t mapped = (nbytes + FG_HEADER + 4095) // 4096 * 4096
    if nbytes >= FG_HUGE and mapped // 4096 < (<int64_t>1 << 31):
        block = <Block*>fg_map_zeros(mapped)
    if block == NULL:
        block = block_new(nbytes)
        if block != NULL:
            memset(block.data, 0, nbytes)
        return block
    fg_atomic_add(&_mapped_blocks, 1)
    fg_atomic_add(&_mapped_bytes, mapped)
    fg_atomic_add(&_mapped_made, 1)
    fg_atomic_add(&_mapped_made_bytes, mapped)
    block.size_class = -1
    block.pages = mapped // 4096
    return _begun(block, nbytes)


cdef void _drop_unused() noexcept nogil:
    """Give back to the system what lay free all the while that DROP_AFTER times what was ever in use was handed out.

    Blocks of sizes that are used no more (another model's) would take the place of those that are. A step of training
    hands out six to ten times what it uses at once, and what it keeps for its gradients lies free for half of it.
    """
    cdef int64_t handed = 0
    cdef int32_t count
    cdef int i
    cdef Block* block
    cdef SizeClass* pool
    for i in range(16, FG_CLASSES):
        handed += _classes[i].n_made * fg_class_bytes(i)
    if handed - fg_atomic_load(&_dropped_at) < DROP_AFTER * max(_most_bytes, _cache_limit):
        return
    fg_atomic_add(&_dropped_at, handed - fg_atomic_load(&_dropped_at))
    for i in range(16, FG_CLASSES):
        pool = &_classes[i]
        fg_spin_lock(&pool.lock)
        count = min(pool.n_unused, pool.n_free)
        fg_spin_unlock(&pool.lock)
        while count > 0:
            count -= 1
            fg_spin_lock(&pool.lock)
            block = _pop(pool)
            fg_spin_unlock(&pool.lock)
            if block == NULL:
                break
            fg_give_back(block, fg_class_bytes(i))
            fg_atomic_add(&_cached_bytes, -fg_class_bytes(i))
            fg_atomic_add(&_taken_bytes, -fg_class_bytes(i))
        pool.n_unused = pool.n_free


cdef void _pool_return(Block* block) noexcept nogil:
    """Put a Block that nobody refers to back: into its free list, or to the system when enough is kept.

    Enough are 512 MB. A program that used more at once will again in its next step, and would have all of it mapped
    and cleared anew: as much as that waits too; what is more than a quarter of the machine's memory, the system may
    take. It does so long before it is short of memory where it looks for pages that nobody reads, and each of them
    costs a fault and its clearing: half a second of a step that uses 1 GB.
    """
    cdef SizeClass* pool
    cdef int64_t nbytes, cached
    cdef bint keep
    if FG_GUARD and block.size_class == -2:
        fg_unmap(<void*>(<int64_t><void*>block // 4096 * 4096), 4096 * (<int64_t>block.pages + 1))
        return
    if block.size_class < 0:
        fg_atomic_add(&_mapped_blocks, -1)
        fg_atomic_add(&_mapped_bytes, -4096 * <int64_t>block.pages)
        fg_unmap(block, 4096 * <int64_t>block.pages)
        return
    pool = &_classes[block.size_class]
    nbytes = fg_class_bytes(block.size_class)
    keep = True
    if block.size_class >= 16:
        cached = fg_atomic_add(&_cached_bytes, nbytes)
        if cached > _cache_limit:
            _drop_unused()
            keep = nbytes >= FG_HUGE and cached <= _most_bytes
            if keep:
                if cached > _offer_limit:
                    fg_offer(block, nbytes)
            else:
                fg_atomic_add(&_cached_bytes, -nbytes)
                fg_atomic_add(&_taken_bytes, -nbytes)
    fg_spin_lock(&pool.lock)
    pool.n_live -= 1
    if block.size_class < 16:
        keep = pool.n_free < 4096
    if keep:
        block.next = pool.free
        pool.free = block
        pool.n_free += 1
    fg_spin_unlock(&pool.lock)
    if not keep:
        fg_give_back(block, fg_class_bytes(block.size_class))


cdef void block_free(Block* block) noexcept nogil:
    """Free a Block whose last reference is gone. An owner is let go at once with the GIL, else by its next holder."""
    cdef bint first
    if block.owner != NULL:
        if PyGILState_Check():
            Py_DecRef(<PyObject*>block.owner)
            block.owner = NULL
        else:
            fg_spin_lock(&_deferred_lock)
            first = _deferred == NULL
            block.next = _deferred
            (&_deferred)[0] = block
            fg_spin_unlock(&_deferred_lock)
            if first:
                Py_AddPendingCall(&_drain_pending, NULL)  # full queue: the next block_drain() does it
            return
    _pool_return(block)


cdef int _drain_pending(void* arg) noexcept:
    block_drain()
    return 0


cdef void block_drain() noexcept:
    """Let go of owners whose Blocks were freed without the GIL. The caller holds the GIL."""
    global _deferred
    cdef Block* block
    cdef Block* following
    if _deferred == NULL:
        return
    fg_spin_lock(&_deferred_lock)
    block = _deferred
    _deferred = NULL
    fg_spin_unlock(&_deferred_lock)
    while block != NULL:
        following = block.next
        Py_DecRef(<PyObject*>block.owner)
        block.owner = NULL
        _pool_return(block)
        block = following


cdef int64_t block_trim(int64_t keep) noexcept nogil:
    """Give free Blocks back to the system, largest first, until at most `keep` bytes stay cached; bytes given back."""
    cdef int64_t given = 0
    cdef int size_class
    cdef Block* block
    cdef Block* following
    for size_class in range(FG_CLASSES - 1, -1, -1):
        if size_class >= 16 and fg_atomic_load(&_cached_bytes) <= keep:
            continue
        if size_class < 16 and keep > 0:
            break
        fg_spin_lock(&_classes[size_class].lock)
        block = _classes[size_class].free
        _classes[size_class].free = NULL
        _classes[size_class].n_free = 0
        fg_spin_unlock(&_classes[size_class].lock)
        while block != NULL:
            following = block.next
            fg_give_back(block, fg_class_bytes(size_class))
            given += fg_class_bytes(size_class)
            if size_class >= 16:
                fg_atomic_add(&_cached_bytes, -fg_class_bytes(size_class))
                fg_atomic_add(&_taken_bytes, -fg_class_bytes(size_class))
            block = following
    return given


cdef Block* block_of_object(object owner, char* data, int64_t nbytes, int32_t kind) except NULL:
    """A Block for memory that `owner` keeps alive (BLOCK_FOREIGN, BLOCK_OBJECT)."""
    cdef Block* block = block_new(0)
    if block == NULL:
        raise MemoryError()
    block_drain()
    Py_INCREF(owner)
    block.owner = <void*>owner
    block.data = data
    block.nbytes = nbytes
    block.kind = kind
    return block


@cython.binding(False)
cdef class Buffer:
    """Python's view of a Block: what a read-only NumPy view of a tensor holds as its base."""

    def __init__(self):
        raise TypeError("Buffers are made by tensors")

    @staticmethod
    cdef Buffer of(Block* block):
        """A Buffer that takes a reference of its own."""
        cdef Buffer buffer = Buffer.__new__(Buffer)
        block_retain(block)
        buffer.block = block
        return buffer

    def __dealloc__(self):
        block_release(self.block)

    cdef Block* _held(self) except NULL:
        if self.block == NULL:
            raise TypeError("This Buffer was never made: tensors make them")
        return self.block

    @property
    def device(self) -> int:
        return self._held().device

    @property
    def pointer(self) -> int:
        return <int64_t>self._held().data

    @property
    def nbytes(self) -> int:
        return self._held().nbytes

    @property
    def refs(self) -> int:
        return fg_atomic_load(&self._held().refs)

    def __repr__(self) -> str:
        return f"<Buffer of {self.nbytes} bytes at {self.pointer:#x}, device {self.device}>"


@cython.binding(False)
cdef class Cell:
    """A Variable's storage: the Block it holds now, under a spin lock of its own.

    `aval` says what may be assigned (a None dimension admits any size). `version` counts assignments.
    """

    def __cinit__(self, aval, str name="Variable"):
        self.id = new_id()
        self.aval = aval
        self.name = name
        self.dtype_code = aval.dtype.code

    def __dealloc__(self):
        block_release(self.block)

    @property
    def initialized(self) -> bool:
        return self.block != NULL

    @property
    def assignments(self) -> int:
        return self.version

    def __repr__(self) -> str:
        return f"<Cell {self.id} of {self.name!r}: {self.aval}>"


cdef void _before_fork() noexcept nogil:
    cdef int size_class
    for size_class in range(FG_CLASSES):
        fg_spin_lock(&_classes[size_class].lock)
    fg_spin_lock(&_deferred_lock)


cdef void _after_fork() noexcept nogil:
    cdef int size_class
    fg_spin_unlock(&_deferred_lock)
    for size_class in range(FG_CLASSES):
        fg_spin_unlock(&_classes[size_class].lock)


pthread_atfork(&_before_fork, &_after_fork, &_after_fork)


def pool_statistics() -> dict:
    """Bytes and Blocks of the pool: in use (`live`), kept for reuse (`free`), handed out since the start (`made`)."""
    cdef int64_t live = _mapped_bytes, free_bytes = 0, n_live = _mapped_blocks, n_free = 0
    cdef int64_t made = _mapped_made_bytes, n_made = _mapped_made
    cdef int i
    for i in range(FG_CLASSES):
        n_live += _classes[i].n_live
        n_free += _classes[i].n_free
        n_made += _classes[i].n_made
        made += _classes[i].n_made * fg_class_bytes(i)
        live += _classes[i].n_live * fg_class_bytes(i)
        free_bytes += _classes[i].n_free * fg_class_bytes(i)
    return {
        "live_bytes": live, "live_blocks": n_live, "free_bytes": free_bytes, "free_blocks": n_free,
        "made_bytes": made, "made_blocks": n_made,
    }
