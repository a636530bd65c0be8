# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Sums of arrays over MPI's processes, begun and waited for in C: by steps of plans without the GIL, or by Python.

Rule: MPI is called by the addresses of its functions in the library that mpi4py has loaded, so no MPI is needed to
build; its handles are ints or pointers, which is all that differs. Nothing is raised, and nothing blocks, in C: what is
new, late or wrong is told by a number, and Python, asked then, compares, waits on or says what happened.

Two processes exchange what they have, and each adds up what comes: as many bytes leave a process as in any other way,
at once instead of half of them after the other half, so there is one latency. Both add up in the same order: a sum of
two NaN is the first of them. More processes leave it to MPI. Sums of bfloat16 are a reduce-scatter by hand.
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uint16_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from fastgraph.core.native.buffer cimport (
    MAX_RANK, Block, block_new, block_release, block_retain, block_zeros, fg_spin_lock, fg_spin_try, fg_spin_unlock
)
from fastgraph.core.native.thread_pool cimport fg_load32, fg_now_ns, fg_store32
from fastgraph.core.tensor cimport tensor_array, wrap_slice

import ctypes

import numpy as np

from fastgraph import errors
from fastgraph.core.base.dtype import as_dtype

cdef extern from "core/native/half_floats.h" nogil:
    int fg_widen_bfloat16(char** operands, const int64_t* steps, char* result, int64_t n)
    int fg_narrow_bfloat16(char** operands, const int64_t* steps, char* result, int64_t n)

cdef extern from * nogil:
    """
    #include <sched.h>
    #include <time.h>
    typedef struct {
        void *isend, *irecv, *iallreduce, *test;
        uint64_t comm, op;
        int32_t narrow, rank, size;      /* narrow: handles are ints (MPICH), else pointers (Open MPI) */
    } fg_mpi;
    static int fg_message(const fg_mpi *m, void *function, void *at, int64_t n, uint64_t type, int other, int tag,
                          void *request) {
        if (m->narrow) return ((int (*)(void *, int, int, int, int, int, void *))function)(
            at, (int)n, (int)type, other, tag, (int)m->comm, request);
        return ((int (*)(void *, int, void *, int, int, void *, void *))function)(
            at, (int)n, (void *)type, other, tag, (void *)m->comm, request);
    }
    static int fg_iallreduce(const fg_mpi *m, void *own, void *total, int64_t n, uint64_t type, void *request) {
        if (m->narrow) return ((int (*)(void *, void *, int, int, int, int, void *))m->iallreduce)(
            own, total, (int)n, (int)type, (int)m->op, (int)m->comm, request);
        return ((int (*)(void *, void *, int, void *, void *, void *, void *))m->iallreduce)(
            own, total, (int)n, (void *)type, (void *)m->op, (void *)m->comm, request);
    }
    static int fg_test(const fg_mpi *m, void *request, int *flag) {
        char status[256];                /* MPI's, of 20 or 24 bytes */
        return ((int (*)(void *, int *, void *))m->test)(request, flag, status);
    }
    static void fg_sleep_ns(int64_t ns) {
        struct timespec t = {0, ns};
        nanosleep(&t, NULL);
    }
    """
    ctypedef struct Mpi "fg_mpi":
        void* isend
        void* irecv
        void* iallreduce
        void* test
        uint64_t comm
        uint64_t op
        int32_t narrow
        int32_t rank
        int32_t size
    int fg_message(Mpi* m, void* function, void* at, int64_t n, uint64_t type, int other, int tag, void* request)
    int fg_iallreduce(Mpi* m, void* own, void* total, int64_t n, uint64_t type, void* request)
    int fg_test(Mpi* m, void* request, int* flag)
    void fg_sleep_ns(int64_t ns)
    int sched_yield()

cdef enum:  # what a step in C gives: see runtime/executor_steps.pxi
    DONE, ASK, AGAIN

cdef enum:
    REMEMBERED = 16       # of what was begun last: a sign of life is small enough to be sent without being asked for
    PIECE = 1 << 20       # bytes that are added up at once: while one piece is, the next ones come
    WHOLE = 1 << 30       # bytes that MPI adds up at once
    GAP = 64              # bytes at whose multiples arrays begin in a message
    TAGS = 16000          # exchanges after which a tag is used again; MPI has 32767 at least
    LARGE = 1 << 15       # bytes from which on MPI has to go on with a sum beside the program
    LOOKS = 40            # at a request before the processor is given to others
    SIGNAL_NS = 50000000  # Ctrl-C is looked at this often

cdef int64_t PATIENT_NS = 2000000000  # after which it is looked at now and then

_PHASES = ("runs", "waits", "late", "ended", "failed")


cdef struct Record:
    int32_t turn              # of the thread that begins an exchange, or ends one: the others' come after it
    int32_t spin              # of what follows
    int32_t asked             # there is a verdict, or a process without threads: Python is asked before anything
    int32_t phase
    int64_t begun
    int64_t awaited
    int64_t since             # nanoseconds of the clock
    int64_t limit
    int64_t under_way         # large sums
    int64_t large             # how many there were
    uint64_t way
    uint64_t[REMEMBERED] ways
    uint64_t[REMEMBERED] digests


cdef int64_t _go(Record* r, uint64_t digest) noexcept nogil:
    """Note the beginning of an exchange, and a digest of it and of all that were before it; give its number."""
    cdef int64_t number
    fg_spin_lock(&r.spin)
    r.begun += 1
    number = r.begun
    r.way = ((r.way << 7 | r.way >> 57) ^ digest) * <uint64_t>0x9E3779B97F4A7C15
    r.ways[number % REMEMBERED] = r.way
    r.digests[number % REMEMBERED] = digest
    fg_spin_unlock(&r.spin)
    return number


cdef bint _enter(Record* r) noexcept nogil:
    """Take the turn; False: not yet, and signals are to be looked at."""
    cdef int64_t until
    if fg_spin_try(&r.turn):
        return True
    until = fg_now_ns() + SIGNAL_NS
    while fg_now_ns() < until:
        if fg_spin_try(&r.turn):
            return True
        sched_yield()
    return False


cdef class Journal:
    """What this process has begun with others, and how it is: for the signs of life, in memory that steps in C write.

    begun: how many exchanges; awaited: which it waits for (0: none), since the time `since`, of `limit` seconds; phase:
    what it is at; asked: Python is asked before anything is begun or waited for. To begin or end an exchange is done
    `with` it: one thread after the other.
    """

    cdef Record r
    cdef dict _words

    def __cinit__(self):
        self._words = {}

    def go(self, uint64_t digest, words: str) -> tuple[int, int]:
        """Note the beginning of an exchange; return its number, and a digest of it and of all that were before it."""
        self._words[digest] = words
        number = _go(&self.r, digest)
        return number, self.r.way

    def recent(self) -> tuple[int, tuple[tuple[int, int, str], ...]]:
        """Return how many exchanges were begun, and the last of them: number, way, words."""
        cdef Record r
        fg_spin_lock(&self.r.spin)
        r = self.r
        fg_spin_unlock(&self.r.spin)
        numbers = range(max(1, r.begun - REMEMBERED + 1), r.begun + 1)
        return r.begun, tuple([
            (n, r.ways[<int>(n % REMEMBERED)], self._words[r.digests[<int>(n % REMEMBERED)]]) for n in numbers
        ])

    def wait(self, int64_t number) -> float:
        """Note that an exchange is waited for, 0: no more; return since when, in seconds."""
        _waits(&self.r, number)
        return self.r.since / 1e9

    def forked(self) -> None:
        """Have every thread of a forked child ask Python."""
        self.r.turn = self.r.spin = 0
        self.r.asked = 1

    def __enter__(self) -> None:
        cdef bint mine = False
        while not mine:
            with nogil:
                mine = _enter(&self.r)
            PyErr_CheckSignals()

    def __exit__(self, *_) -> None:
        fg_spin_unlock(&self.r.turn)

    @property
    def begun(self) -> int:
        return self.r.begun

    @property
    def awaited(self) -> int:
        return self.r.awaited

    @property
    def phase(self) -> str:
        return _PHASES[self.r.phase]

    @phase.setter
    def phase(self, name: str) -> None:
        self.r.phase = _PHASES.index(name)

    @property
    def asked(self) -> bool:
        return self.r.asked != 0

    @asked.setter
    def asked(self, bint asked) -> None:
        fg_store32(&self.r.asked, asked)

    @property
    def limit(self) -> float:
        return self.r.limit / 1e9

    @limit.setter
    def limit(self, double seconds) -> None:
        self.r.limit = <int64_t>min(seconds * 1e9, 4e18)

    @property
    def large(self) -> tuple[int, int]:
        """How many large sums are under way, and how many have been begun."""
        return self.r.under_way, self.r.large


cdef void _waits(Record* r, int64_t number) noexcept nogil:
    if r.awaited != number:
        r.since = fg_now_ns() if number else 0
        r.phase = 1 if number else 0
        r.awaited = number


ctypedef void (*add_fn)(char**, cnp.npy_intp*, cnp.npy_intp*, void*) noexcept nogil

cdef struct Kind:             # of sums: arrays of one dtype and these shapes
    Mpi* mpi
    Record* record
    uint64_t digest
    uint64_t type
    int32_t known             # all processes have begun the same
    int32_t short             # sent in bfloat16
    int32_t alone             # one array, sent from where it lies
    int32_t n                 # arrays
    int32_t n_pieces
    int32_t n_requests
    int64_t nbytes            # of a message, with gaps
    int64_t width             # of an element
    int64_t piece             # elements added up at once; of bfloat16 each process's share
    int64_t* at               # per array: where it begins
    int64_t* sizes            # and its bytes
    add_fn add                # NumPy's
    void* add_data
    Flight* idle
    void* owner               # the SumKind, which holds all this


cdef struct Flight:           # a sum that is under way
    Kind* kind
    Flight* next
    int64_t number
    int32_t ended             # requests
    int32_t stage             # of bfloat16: 1 once sums are sent
    int32_t error             # MPI's
    int32_t waited            # for the program itself
    Block** held              # per array: what is sent, or NULL
    void* kept                # the same of Python's
    char* sent
    Block* packed
    Block* theirs
    Block* total
    uint64_t* requests        # ints or pointers


cdef void _post(Flight* f) noexcept nogil:
    """Ask MPI for what has to come and to go; of its errors the first is kept."""
    cdef Kind* k = f.kind
    cdef Mpi* m = k.mpi
    cdef int32_t i, j, other, tag = <int32_t>(f.number % TAGS) * 2 + f.stage, code = 0
    cdef int64_t at, n, count = k.nbytes // k.width
    cdef char* own
    cdef char* theirs
    f.ended = 0
    if k.short:
        own, theirs, n = f.packed.data, f.theirs.data, 2 * k.piece
        for i in range(m.size - 1):
            other = i + (i >= m.rank)
            at = i + m.size - 1
            if f.stage == 0:  # each gets its share
                code = code or fg_message(m, m.irecv, theirs + i * n, k.piece, k.type, other, tag, &f.requests[i])
                code = code or fg_message(m, m.isend, own + other * n, k.piece, k.type, other, tag, &f.requests[at])
            else:  # and gives the sum of it
                code = code or fg_message(m, m.irecv, own + other * n, k.piece, k.type, other, tag, &f.requests[i])
                code = code or fg_message(m, m.isend, own + m.rank * n, k.piece, k.type, other, tag, &f.requests[at])
    else:
        for j in range(2 if m.size == 2 else 1):
            for i in range(k.n_pieces):
                at = i * k.piece
                n = min(k.piece, count - at)
                own, theirs = f.sent + at * k.width, f.total.data + at * k.width
                if m.size != 2:
                    code = code or fg_iallreduce(m, own, theirs, n, k.type, &f.requests[i])
                elif j == 0:
                    code = code or fg_message(m, m.irecv, theirs, n, k.type, 1 - m.rank, tag, &f.requests[i])
                else:
                    at = i + k.n_pieces
                    code = code or fg_message(m, m.isend, own, n, k.type, 1 - m.rank, tag, &f.requests[at])
    f.error = code


cdef void _add_piece(Flight* f, int64_t i) noexcept nogil:
    """Add what has come of the other of two to what was sent: as NumPy does."""
    cdef Kind* k = f.kind
    cdef cnp.npy_intp n = min(k.piece, k.nbytes // k.width - i * k.piece)
    cdef char* own = f.sent + i * k.piece * k.width
    cdef char* total = f.total.data + i * k.piece * k.width
    cdef char* operands[3]
    cdef cnp.npy_intp steps[3]
    operands[0], operands[1], operands[2] = own, total, total
    if k.mpi.rank:
        operands[0], operands[1] = total, own
    steps[0] = steps[1] = steps[2] = k.width
    k.add(operands, &n, steps, k.add_data)


cdef void _add_shares(Flight* f) noexcept nogil:
    """Add up this process's share of all in float32, and keep the sum in bfloat16 in its place."""
    cdef Kind* k = f.kind
    cdef int64_t i, n = k.piece, rank = k.mpi.rank
    cdef int32_t other
    cdef char* own = f.packed.data + 2 * n * rank
    cdef char* sum = f.total.data          # float32[n], not used before the end
    cdef char* wide = sum + 4 * n          # float32[n]
    cdef char* part
    cdef int64_t j
    for other in range(k.mpi.size):
        part = own if other == rank else f.theirs.data + 2 * n * (other - (other > rank))
        fg_widen_bfloat16(&part, NULL, wide if other else sum, n)
        for j in range(n if other else 0):
            (<float*>sum)[j] += (<float*>wide)[j]
    fg_narrow_bfloat16(&sum, NULL, own, n)


cdef int _advance(Flight* f) noexcept nogil:
    """Look at MPI, and add up what has come; 1: all has, and all has left, -1: MPI's error, else 0."""
    cdef Kind* k = f.kind
    cdef int flag
    while not f.error:
        while f.ended < k.n_requests:
            flag = 0
            f.error = fg_test(k.mpi, &f.requests[f.ended], &flag)
            if f.error or not flag:
                return -1 if f.error else 0
            if k.mpi.size == 2 and not k.short and f.ended < k.n_pieces:
                _add_piece(f, f.ended)
            f.ended += 1
        if not k.short or f.stage:
            return 1
        _add_shares(f)
        f.stage = 1
        _post(f)
    return -1


cdef Flight* _begin(Kind* k, char** data, Block** blocks, int64_t number) noexcept nogil:
    """Begin a sum, as exchange `number` (0: the next one); the turn is held. NULL: there is no memory."""
    cdef Flight* f = k.idle
    cdef int32_t j
    cdef Block* total
    if f == NULL:
        f = <Flight*>calloc(1, sizeof(Flight) + (k.n + k.n_requests) * sizeof(void*))
        if f == NULL:
            return NULL
        f.kind, f.held = k, <Block**>(f + 1)
        f.requests = <uint64_t*>(f.held + k.n)
        k.idle = f
    if f.packed == NULL and not k.alone:  # what is between arrays stays zero
        f.packed = block_zeros(2 * k.piece * k.mpi.size if k.short else k.nbytes)
    if f.theirs == NULL and k.short:
        f.theirs = block_new(2 * k.piece * k.mpi.size)
    total = block_new(max(k.nbytes, 8 * k.piece) if k.short else k.nbytes)
    if total == NULL or (f.packed == NULL and not k.alone) or (f.theirs == NULL and k.short):
        block_release(total)
        return NULL
    k.idle, f.total, f.sent = f.next, total, data[0] if k.alone else f.packed.data
    for j in range(k.n):
        if k.short:
            fg_narrow_bfloat16(&data[j], NULL, f.sent + k.at[j] // 2, k.sizes[j] // 4)
        elif not k.alone:
            memcpy(f.sent + k.at[j], data[j], k.sizes[j])
        f.held[j] = blocks[j]
        if blocks[j] != NULL:
            block_retain(blocks[j])
    f.number = number or _go(k.record, k.digest)
    f.stage = f.waited = 0
    if k.nbytes > LARGE:
        k.record.under_way += 1
        k.record.large += 1
    _post(f)
    return f


cdef int32_t _await(Flight* f) noexcept nogil:
    """Wait for a sum, with the turn; ASK: the limit has passed, or something is wrong."""
    cdef Record* r = f.kind.record
    cdef int64_t now, until = 0
    cdef int32_t i, done
    if f.kind.nbytes > LARGE and not f.waited:
        r.under_way -= 1  # from here on the program itself has MPI go on
    f.waited = 1
    while True:
        for i in range(LOOKS):
            done = _advance(f)
            if done:
                if done > 0:
                    _waits(r, 0)
                return DONE if done > 0 else ASK
        if fg_load32(&r.asked):
            return ASK
        now = fg_now_ns()
        _waits(r, f.number)
        if now - r.since > r.limit:
            return ASK
        until = until or now + SIGNAL_NS
        if now > until:
            return AGAIN
        if now - r.since > PATIENT_NS:
            fg_sleep_ns(200000)
        else:
            sched_yield()


cdef void _give(Flight* f, char** data, Block** blocks) noexcept nogil:
    """Hand the sums out, and let go of what was sent; the turn is held."""
    cdef Kind* k = f.kind
    cdef int32_t j
    if k.short:
        fg_widen_bfloat16(&f.packed.data, NULL, f.total.data, k.nbytes // 4)
    for j in range(k.n):
        block_retain(f.total)
        blocks[j] = f.total
        data[j] = f.total.data + k.at[j]
        block_release(f.held[j])
        f.held[j] = NULL
    block_release(f.total)
    if f.kept != NULL:
        with gil:
            Py_DECREF(<object>f.kept)
        f.kept = NULL
    f.next = k.idle
    k.idle = f


cdef int32_t _end(Flight* f, char** data, Block** blocks) noexcept nogil:
    cdef Record* r = f.kind.record
    cdef int32_t code
    if not _enter(r):
        return AGAIN
    code = _await(f)
    if code == DONE:
        _give(f, data, blocks)
    fg_spin_unlock(&r.turn)
    return code


cdef int32_t start_step(void* state, char** data, Block** blocks) noexcept nogil:
    """Arrays -> the number of the sum, as int64[]: a step in C (see runtime/plan.py)."""
    cdef Kind* k = <Kind*>state
    cdef Flight* f = NULL
    cdef Block* result
    if not k.known or fg_load32(&k.record.asked):
        return ASK
    if not _enter(k.record):
        return AGAIN
    result = block_new(sizeof(int64_t))
    if result != NULL:
        f = _begin(k, data, blocks, 0)
    fg_spin_unlock(&k.record.turn)
    if f == NULL:
        block_release(result)
        return ASK
    (<int64_t*>result.data)[0] = <int64_t>f
    blocks[k.n], data[k.n] = result, result.data
    return DONE


cdef int32_t end_step(void* state, char** data, Block** blocks) noexcept nogil:
    """The number of a sum, and its arrays, -> the sums: a step in C."""
    cdef int32_t n = 1 + (<Kind*>state).n
    return _end(<Flight*>(<int64_t*>data[0])[0], data + n, blocks + n)


cdef class SumKind:
    """Sums of arrays of one dtype and of given shapes over processes, t[*s]...: what does not change between them.

    mpi: mpi4py's module; comm: a communicator that nothing else uses. digest: of what is brought together, as the
    processes compare it. short: float32 is sent as bfloat16, and added up in float32.
    """

    cdef Kind k
    cdef Mpi m
    cdef readonly Journal journal
    cdef list _shapes
    cdef int _code
    cdef object _error

    def __init__(self, mpi: object, comm: object, journal: Journal, digest: int, layout: tuple, bint short) -> None:
        cdef Kind* k = &self.k
        cdef Mpi* m = &self.m
        cdef int32_t j
        dtype = layout[0][0]
        library = ctypes.CDLL(mpi.__file__)
        address = {
            name: ctypes.cast(getattr(library, name), ctypes.c_void_p).value
            for name in ("MPI_Isend", "MPI_Irecv", "MPI_Iallreduce", "MPI_Test")
        }
        m.isend, m.irecv = <void*><size_t>address["MPI_Isend"], <void*><size_t>address["MPI_Irecv"]
        m.iallreduce, m.test = <void*><size_t>address["MPI_Iallreduce"], <void*><size_t>address["MPI_Test"]
        m.comm, m.op = comm.handle, mpi.SUM.handle
        m.narrow, m.rank, m.size = mpi._sizeof(mpi.Comm) == 4, comm.rank, comm.size
        self.journal, self._error, self._shapes = journal, mpi.Exception, [shape for _, shape in layout]
        self._code = as_dtype(dtype).code
        k.mpi, k.record, k.owner, k.digest = m, &journal.r, <void*>self, digest
        k.type = (mpi.UINT16_T if short else mpi.Datatype.fromcode(dtype.char)).handle
        k.n, k.short, k.width, k.alone = len(layout), short, dtype.itemsize, len(layout) == 1 and not short
        k.at, k.sizes = <int64_t*>calloc(2 * k.n, sizeof(int64_t)), NULL
        if k.at == NULL:
            raise MemoryError()
        k.sizes = k.at + k.n
        for j in range(k.n):
            k.at[j] = k.nbytes
            k.sizes[j] = k.width * int(np.prod(self._shapes[j], dtype=np.int64))
            k.nbytes += k.sizes[j] if k.alone else (k.sizes[j] + GAP - 1) // GAP * GAP
        if short:
            k.piece = (k.nbytes // k.width + m.size - 1) // m.size
            k.n_requests = 2 * (m.size - 1)
        else:
            k.piece = (PIECE if m.size == 2 else WHOLE) // k.width
            k.n_pieces = <int32_t>((k.nbytes // k.width + k.piece - 1) // k.piece)
            k.n_requests = k.n_pieces * (2 if m.size == 2 else 1)
        self._find_loop(np.add, dtype)

    cdef int _find_loop(self, cnp.ufunc add, dtype) except -1:
        cdef int i, number = dtype.num
        for i in range(add.ntypes):
            if add.types[3 * i] == number and add.types[3 * i + 1] == number:
                self.k.add, self.k.add_data = <add_fn><void*>add.functions[i], add.data[i] if add.data != NULL else NULL
                return 0
        raise TypeError(f"Arrays of {dtype} are not added up")

    def __dealloc__(self):
        cdef Flight* f = self.k.idle
        while f != NULL:
            self.k.idle = f.next
            block_release(f.packed)
            block_release(f.theirs)
            free(f)
            f = self.k.idle
        free(self.k.at)

    @property
    def known(self) -> bool:
        """True once the processes have compared it: it may be begun without Python."""
        return self.k.known != 0

    @known.setter
    def known(self, bint known) -> None:
        self.k.known = known

    @property
    def steps(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """The steps in C that begin such sums and end them: the addresses of function and state of each."""
        state = <size_t><void*>&self.k
        return (<size_t><void*>start_step, state), (<size_t><void*>end_step, state)

    def start(self, arrays, int64_t number=0) -> int:
        """Begin to add arrays up, and return a number for `end`; they are kept until then.

        number: of the exchange, whose turn this thread has; 0: the next one's, and 0 is returned where Python is asked.
        Raises ResourceExhaustedError.
        """
        cdef Kind* k = &self.k
        cdef Flight* f
        cdef int32_t j
        if not number and (not k.known or k.record.asked):
            return 0
        kept = [np.ascontiguousarray(array) for array in arrays]
        cdef char** data = <char**>calloc(2 * k.n, sizeof(void*))
        if data == NULL:
            raise MemoryError()
        for j in range(k.n):
            data[j] = <char*>cnp.PyArray_DATA(<cnp.ndarray>kept[j])
        if not number:
            self.journal.__enter__()
        f = _begin(k, data, <Block**>(data + k.n), number)
        free(data)
        if f != NULL:
            Py_INCREF(kept)
            f.kept = <void*>kept
        if not number:
            fg_spin_unlock(&k.record.turn)
        if f == NULL:
            raise errors.ResourceExhaustedError(None, None, f"OOM when allocating {k.nbytes} bytes on /device:CPU:0")
        return <int64_t>f

    def results(self, int64_t number) -> list | None:
        """Wait for a sum; return arrays, or None where Python is asked."""
        cdef Flight* f = <Flight*>number
        cdef char** data = <char**>calloc(2 * self.k.n, sizeof(void*))
        cdef Block** blocks = <Block**>(data + self.k.n)
        cdef int32_t j, code = AGAIN
        if data == NULL:
            raise MemoryError()
        try:
            while code == AGAIN:
                with nogil:
                    code = _end(f, data, blocks)
                PyErr_CheckSignals()
            return None if code == ASK else [self._array(blocks[j], data[j], j) for j in range(self.k.n)]
        finally:
            free(data)

    cdef object _array(self, Block* block, char* data, int32_t j):
        cdef int64_t[MAX_RANK] dims
        shape = self._shapes[j]
        for i, n in enumerate(shape):
            dims[<int>i] = n
        return tensor_array(wrap_slice(block, data, self._code, len(shape), dims))


def kind_of(int64_t number) -> SumKind:
    """Return the kind of a sum that is under way."""
    return <SumKind>(<Flight*>number).kind.owner


def exchange_of(int64_t number) -> int:
    """Return the number of the exchange that a sum under way is."""
    return (<Flight*>number).number


def advance(int64_t number) -> bool:
    """Look at a sum under way, whose turn this thread has; return whether it has ended. Raises MPI's error."""
    cdef Flight* f = <Flight*>number
    if _advance(f) < 0:
        raise kind_of(number)._error(f.error)
    return f.ended == f.kind.n_requests and (f.stage == 1 or not f.kind.short)
