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
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcpy

from fastgraph.core.native.buffer cimport (
    MAX_RANK, Block, block_new, block_release, block_retain, block_zeros, fg_atomic_load, fg_spin_lock, fg_spin_try,
    fg_spin_unlock
)
from fastgraph.core.native.thread_pool cimport fg_load32, fg_now_ns
from fastgraph.core.tensor cimport tensor_array, wrap_slice

import ctypes
import math

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
    /* MPI's functions; handles are ints where `narrow` (MPICH), else pointers (Open MPI). */
    static int fg_message(void *function, int narrow, uint64_t comm, void *at, int64_t n, uint64_t type, int other,
                          int tag, void *request) {
        return narrow ? ((int (*)(void *, int, int, int, int, int, void *))function)(
                            at, (int)n, (int)type, other, tag, (int)comm, request)
                      : ((int (*)(void *, int, void *, int, int, void *, void *))function)(
                            at, (int)n, (void *)type, other, tag, (void *)comm, request);
    }
    static int fg_iallreduce(void *function, int narrow, uint64_t comm, void *own, void *total, int64_t n,
                             uint64_t type, uint64_t op, void *request) {
        return narrow ? ((int (*)(void *, void *, int, int, int, int, void *))function)(
                            own, total, (int)n, (int)type, (int)op, (int)comm, request)
                      : ((int (*)(void *, void *, int, void *, void *, void *, void *))function)(
                            own, total, (int)n, (void *)type, (void *)op, (void *)comm, request);
    }
    static int fg_test(void *function, void *request, int *flag) {
        char status[256];                /* MPI's, of 20 or 24 bytes */
        return ((int (*)(void *, int *, void *))function)(request, flag, status);
    }
    static void fg_sleep_ns(int64_t ns) {
        struct timespec t = {0, ns};
        nanosleep(&t, NULL);
    }
    """
    int fg_message(void* function, int narrow, uint64_t comm, void* at, int64_t n, uint64_t type, int other, int tag,
                   void* request)
    int fg_iallreduce(void* function, int narrow, uint64_t comm, void* own, void* total, int64_t n, uint64_t type,
                      uint64_t op, void* request)
    int fg_test(void* function, void* request, int* flag)
    void fg_sleep_ns(int64_t ns)
    int sched_yield()

ctypedef void (*add_fn)(char**, cnp.npy_intp*, cnp.npy_intp*, void*) noexcept nogil

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

cdef double PATIENT = 2.0  # seconds after which it is looked at now and then


cdef struct Flight:           # a sum that is under way
    void* kind                # a SumKind
    Flight* next
    Flight* before            # of those under way
    int64_t number
    int32_t ended             # requests
    int32_t stage             # of bfloat16: 1 once sums are sent
    int32_t error             # MPI's
    int32_t waited            # for the program itself
    Block* ticket             # int64[]: this address, as the program has it; once that has let go of it nobody asks
    Block* held               # what is sent from where it lies, or NULL
    void* kept                # the same of Python's
    char* sent
    char* into                # what comes
    Block* packed
    Block* theirs
    Block* total              # that holds it, or NULL: it lies on a GPU, and is added up there
    uint64_t* requests        # ints or pointers


cdef class Journal:
    """Record of what this process has begun with others, and how it is: steps in C write it, signs of life tell it.

    begun: how many; awaited: which it waits for (0: none), since when; waits: it waits for one; limit: seconds
    that it does; asked: Python is asked before anything is begun or waited for; under_way, large: large sums now, and
    how many there have been. failed: what this process would have brought together with others has failed since the
    last exchange (2: in a run which that one is of), so the next one is compared; compared, caught: the last one that
    was for that, and what `failed` was.
    To begin or end an exchange is done `with` it: one thread after the other.
    """

    cdef int32_t turn, spin       # spin: of what follows, but for the limit
    cdef public int32_t asked, waits, failed, caught
    cdef int32_t forked_off       # this is a child of the process: MPI is not its own
    cdef public int64_t begun, awaited, under_way, large, compared
    cdef public double limit, since
    cdef int64_t latest           # that was awaited
    cdef Flight* flights
    cdef uint64_t way
    cdef uint64_t[REMEMBERED] ways, digests
    cdef dict words

    def __cinit__(self):
        self.words = {}

    cdef int64_t note(self, uint64_t digest) noexcept nogil:
        cdef int64_t number
        fg_spin_lock(&self.spin)
        self.begun += 1
        number = self.begun
        self.way = ((self.way << 7 | self.way >> 57) ^ digest) * <uint64_t>0x9E3779B97F4A7C15
        self.ways[number % REMEMBERED] = self.way
        self.digests[number % REMEMBERED] = digest
        fg_spin_unlock(&self.spin)
        return number

    def go(self, uint64_t digest, words: str) -> tuple[int, int]:
        """Note the beginning of an exchange; return its number, and a digest of it and of all that were before it."""
        self.words[digest] = words
        fg_spin_lock(&self.spin)
        if self.failed:
            self.compared, self.caught = self.begun + 1, self.failed
            self.way = ~(self.way + self.failed)
            self.failed = 0
        fg_spin_unlock(&self.spin)
        return self.note(digest), self.way

    cdef bint asks(self) noexcept nogil:
        """Return whether Python is asked before a sum begins."""
        return fg_load32(&self.asked) or fg_load32(&self.failed)

    def fail(self, bint behind=False) -> None:
        """Note that something failed which was to bring together values of processes; nobody waits for it now.

        behind: it had begun an exchange. Processes with errors of other steps differ in that between two exchanges.
        """
        self.failed = max(self.failed, 1 + behind)
        self.await_(0)

    def place_of_begun(self) -> int:
        """Return the address of `begun`."""
        return <size_t>&self.begun

    def recent(self) -> tuple[int, int, tuple[tuple[int, int, str], ...]]:
        """Return how many exchanges were begun, which was compared, and the last of them: number, way, words."""
        cdef int64_t n, begun, compared
        cdef uint64_t[REMEMBERED] ways, digests
        fg_spin_lock(&self.spin)  # no object is made meanwhile: that may let another thread run
        begun, compared, ways, digests = self.begun, self.compared, self.ways, self.digests
        fg_spin_unlock(&self.spin)
        found = []
        for n in range(max(1, begun - REMEMBERED + 1), begun + 1):
            found.append((n, ways[n % REMEMBERED], self.words[digests[n % REMEMBERED]]))
        return begun, compared, tuple(found)

    cdef void await_(self, int64_t number) noexcept nogil:
        if number and number != self.latest:
            self.since, self.latest = fg_now_ns() / 1e9, number
        self.waits, self.awaited = number != 0, number

    def wait(self, int64_t number) -> float:
        """Note that an exchange is waited for, 0: no more; return for how long, in seconds."""
        self.await_(number)
        return fg_now_ns() / 1e9 - self.since

    def forked(self) -> None:
        """Have every thread of a forked child ask Python."""
        self.turn, self.spin, self.asked, self.forked_off = 0, 0, 1, 1

    cdef bint enter(self) noexcept nogil:
        """Take the turn; False: not yet, and signals are to be looked at."""
        cdef int64_t until
        if fg_spin_try(&self.turn):
            return True
        until = fg_now_ns() + SIGNAL_NS
        while fg_now_ns() < until:
            if fg_spin_try(&self.turn):
                return True
            sched_yield()
        return False

    def __enter__(self) -> None:
        cdef bint mine = False
        while not mine:
            PyErr_CheckSignals()
            with nogil:
                mine = self.enter()

    def __exit__(self, kind, *_) -> None:
        fg_spin_unlock(&self.turn)
        if kind is not None:
            self.fail()

    def go_on(self) -> int:
        """Go on with sums that nobody asks for, unless another thread has the turn; return how many are left."""
        cdef int64_t left = 0
        if self.flights != NULL and fg_spin_try(&self.turn):
            with nogil:
                left = _go_on(self.flights)
            fg_spin_unlock(&self.turn)
        return left


cdef class SumKind:
    """Sums of arrays of one dtype and of given shapes over processes, t[*s]...: what does not change between them.

    mpi: mpi4py's module; comm: a communicator that nothing else uses. digest: of what is brought together, as the
    processes compare it. short: float32 is sent as bfloat16, and added up in float32. Lives as long as the process.
    """

    cdef void* isend
    cdef void* irecv
    cdef void* iallreduce
    cdef void* test
    cdef uint64_t comm, op, type, digest
    cdef int32_t narrow, rank, size
    cdef Journal journal
    cdef int32_t known        # all processes have begun the same
    cdef int32_t short        # sent in bfloat16
    cdef int32_t alone        # one array, sent from where it lies
    cdef int32_t n, n_pieces, n_requests
    cdef int64_t share        # elements that each process adds up, of bfloat16
    cdef int64_t nbytes       # of a message, with gaps
    cdef int64_t width        # of an element
    cdef int64_t piece        # elements sent, or added up, at once
    cdef int64_t* at          # per array: where it begins
    cdef int64_t* sizes       # and its bytes
    cdef add_fn add           # NumPy's
    cdef void* add_data
    cdef Flight* idle
    cdef list shapes
    cdef int code
    cdef object error

    def __init__(self, mpi, comm, Journal journal, uint64_t digest, layout, bint short) -> None:
        dtype, library = layout[0][0], ctypes.CDLL(mpi.__file__)
        self.isend, self.irecv = _address(library.MPI_Isend), _address(library.MPI_Irecv)
        self.iallreduce, self.test = _address(library.MPI_Iallreduce), _address(library.MPI_Test)
        self.comm, self.op, self.narrow = comm.handle, mpi.SUM.handle, mpi._sizeof(mpi.Comm) == 4
        self.rank, self.size, self.error, self.journal = comm.rank, comm.size, mpi.Exception, journal
        self.type = (mpi.UINT16_T if short else mpi.Datatype.fromcode(dtype.char)).handle
        self.code, self.shapes, self.n = as_dtype(dtype).code, [shape for _, shape in layout], len(layout)
        self.digest, self.short, self.width, self.alone = digest, short, dtype.itemsize, self.n == 1 and not short
        self.at = <int64_t*>calloc(2 * self.n, sizeof(int64_t))
        if self.at == NULL:
            raise MemoryError()
        self.sizes = self.at + self.n
        for j, shape in enumerate(self.shapes):
            self.at[<int>j], self.sizes[<int>j] = self.nbytes, self.width * math.prod(shape)
            self.nbytes += self.sizes[<int>j] if self.alone else (self.sizes[<int>j] + GAP - 1) // GAP * GAP
        count = self.nbytes // self.width
        self.share = (count + self.size - 1) // self.size
        self.piece = (PIECE if short or self.size == 2 else WHOLE) // self.width
        self.n_pieces = <int32_t>(((self.share if short else count) + self.piece - 1) // self.piece)
        self.n_requests = self.n_pieces * (2 * (self.size - 1) if short else 2 if self.size == 2 else 1)
        self.find_loop(np.add, dtype)

    cdef int find_loop(self, cnp.ufunc add, dtype) except -1:
        cdef int i, number = dtype.num
        for i in range(add.ntypes):
            if add.types[3 * i] == number and add.types[3 * i + 1] == number:
                self.add, self.add_data = <add_fn><void*>add.functions[i], add.data[i] if add.data != NULL else NULL
                return 0
        raise TypeError(f"Arrays of {dtype} are not added up")

    cdef int message(self, void* function, char* at, int64_t n, int other, int tag, uint64_t* request) noexcept nogil:
        return fg_message(function, self.narrow, self.comm, at, n, self.type, other, tag, request)

    cdef void post(self, Flight* f) noexcept nogil:
        """Ask MPI for what has to come and to go; of its errors the first is kept."""
        cdef int32_t i, other, last, tag = <int32_t>(f.number % TAGS) * 2 + f.stage, code = 0
        cdef int64_t at, n, count = self.nbytes // self.width
        cdef char* own
        cdef char* theirs
        cdef char* mine
        f.ended = 0
        if self.short:
            last = self.n_pieces * (self.size - 1)
            for i in range(last):
                other = i // self.n_pieces
                at = i % self.n_pieces * self.piece
                n = min(self.piece, self.share - at)
                theirs = f.theirs.data + 2 * (other * self.share + at)
                other += other >= self.rank
                own = f.packed.data + 2 * (other * self.share + at)
                mine = f.packed.data + 2 * (self.rank * self.share + at)
                if f.stage == 0:  # each gets its share, else gives the sum of it
                    mine, own = own, theirs
                code = code or self.message(self.irecv, own, n, other, tag, &f.requests[i])
                code = code or self.message(self.isend, mine, n, other, tag, &f.requests[last + i])
        else:
            for i in range(self.n_requests):
                at = i % max(1, self.n_pieces) * self.piece
                n = min(self.piece, count - at)
                own, theirs = f.sent + at * self.width, f.into + at * self.width
                if self.size != 2:
                    code = code or fg_iallreduce(
                        self.iallreduce, self.narrow, self.comm, own, theirs, n, self.type, self.op, &f.requests[i])
                elif i < self.n_pieces:
                    code = code or self.message(self.irecv, theirs, n, 1 - self.rank, tag, &f.requests[i])
                else:
                    code = code or self.message(self.isend, own, n, 1 - self.rank, tag, &f.requests[i])
        f.error = code

    cdef void add_piece(self, Flight* f, int64_t i) noexcept nogil:
        """Add what has come of the other of two to what was sent: as NumPy does."""
        cdef cnp.npy_intp n = min(self.piece, self.nbytes // self.width - i * self.piece)
        cdef char* own = f.sent + i * self.piece * self.width
        cdef char* total = f.into + i * self.piece * self.width
        cdef char* operands[3]
        cdef cnp.npy_intp steps[3]
        operands[0], operands[1], operands[2] = own, total, total
        if self.rank:
            operands[0], operands[1] = total, own
        steps[0] = steps[1] = steps[2] = self.width
        self.add(operands, &n, steps, self.add_data)

    cdef void add_shares(self, Flight* f) noexcept nogil:
        """Add up this process's share of all in float32, and keep the sum in bfloat16 in its place."""
        cdef int64_t j, n = self.share, rank = self.rank
        cdef int32_t other
        cdef char* own = f.packed.data + 2 * n * rank
        cdef char* sum = f.total.data  # float32[n], not used before the end
        cdef char* wide = sum + 4 * n  # float32[n]
        cdef char* part
        for other in range(self.size):
            part = own if other == rank else f.theirs.data + 2 * n * (other - (other > rank))
            fg_widen_bfloat16(&part, NULL, wide if other else sum, n)
            for j in range(n if other else 0):
                (<float*>sum)[j] += (<float*>wide)[j]
        fg_narrow_bfloat16(&sum, NULL, own, n)

    cdef int advance(self, Flight* f) noexcept nogil:
        """Look at MPI, and add up what has come; 1: all has, and all has left, -1: MPI's error, else 0."""
        cdef int flag
        while not f.error:
            while f.ended < self.n_requests:
                flag = 0
                f.error = fg_test(self.test, &f.requests[f.ended], &flag)
                if f.error or not flag:
                    return -1 if f.error else 0
                if self.size == 2 and not self.short and f.total != NULL and f.ended < self.n_pieces:
                    self.add_piece(f, f.ended)
                f.ended += 1
            if not self.short or f.stage:
                return 1
            self.add_shares(f)
            f.stage = 1
            self.post(f)
        return -1

    cdef Flight* flight(self) noexcept nogil:
        """Return the first one that is idle, which stays so; the turn is held. NULL: there is no memory."""
        cdef Flight* f
        _go_on(self.journal.flights)
        f = self.idle
        if f == NULL:
            f = <Flight*>calloc(1, sizeof(Flight) + self.n_requests * sizeof(void*))
            if f == NULL:
                return NULL
            f.kind, f.requests = <void*>self, <uint64_t*>(f + 1)
            self.idle = f
        if f.ticket == NULL:
            f.ticket = block_new(sizeof(int64_t))
        return f if f.ticket != NULL else NULL

    cdef bint reserve(self) noexcept nogil:
        """Have all memory of the next sum; the turn is held. False: there is none, and nothing was begun."""
        cdef Flight* f = self.flight()
        if f == NULL:
            return False
        if f.packed == NULL and not self.alone:  # what is between arrays stays zero
            f.packed = block_zeros(2 * self.share * self.size if self.short else self.nbytes)
        if f.theirs == NULL and self.short:
            f.theirs = block_new(2 * self.share * self.size)
        if f.total == NULL:
            f.total = block_new(max(self.nbytes, 8 * self.share) if self.short else self.nbytes)
        return (f.total != NULL and (f.packed != NULL or self.alone)
                and (f.theirs != NULL or not self.short))

    cdef Flight* begin(self, char** data, Block** blocks, int64_t number) noexcept nogil:
        """Begin a sum, of which all is reserved, as exchange `number` (0: the next one); the turn is held."""
        cdef Flight* f = self.idle
        cdef int32_t j
        f.sent, f.into = data[0] if self.alone else f.packed.data, f.total.data
        for j in range(self.n):
            if self.short:
                fg_narrow_bfloat16(&data[j], NULL, f.sent + self.at[j] // 2, self.sizes[j] // 4)
            elif not self.alone:
                memcpy(f.sent + self.at[j], data[j], self.sizes[j])
        f.held = blocks[0] if self.alone else NULL
        if f.held != NULL:
            block_retain(f.held)
        self.leave(f, number)
        return f

    cdef void leave(self, Flight* f, int64_t number) noexcept nogil:
        """Send what is ready to be, as exchange `number` (0: the next one); the turn is held."""
        self.idle = f.next
        block_retain(f.ticket)
        (<int64_t*>f.ticket.data)[0] = <int64_t>f
        f.number = number or self.journal.note(self.digest)
        f.stage = f.waited = 0
        f.before, f.next = NULL, self.journal.flights
        if f.next != NULL:
            f.next.before = f
        self.journal.flights = f
        if self.nbytes > LARGE:
            self.journal.under_way += 1
            self.journal.large += 1
        self.post(f)

    cdef void land(self, Flight* f) noexcept nogil:
        """Let go of a sum that has ended, and of all it holds; the turn is held."""
        if f.before != NULL:
            f.before.next = f.next
        else:
            self.journal.flights = f.next
        if f.next != NULL:
            f.next.before = f.before
        if self.nbytes > LARGE and not f.waited:
            self.journal.under_way -= 1
        block_release(f.ticket)
        block_release(f.held)
        block_release(f.total)
        f.ticket = f.held = f.total = NULL
        if f.kept != NULL:
            with gil:
                Py_DECREF(<object>f.kept)
            f.kept = NULL
        f.next = self.idle
        self.idle = f

    cdef int32_t await_(self, Flight* f) noexcept nogil:
        """Wait for a sum, with the turn; ASK: the limit has passed, or something is wrong."""
        cdef int64_t now, until = 0
        cdef int32_t _look, done
        cdef double waited
        if self.nbytes > LARGE and not f.waited:
            self.journal.under_way -= 1  # from here on the program itself has MPI go on
        f.waited = 1
        while not self.journal.forked_off:
            for _look in range(LOOKS):
                done = self.advance(f)
                if done:
                    if done > 0:
                        self.journal.await_(0)
                    return DONE if done > 0 else ASK
            if fg_load32(&self.journal.asked):
                return ASK
            now = fg_now_ns()
            self.journal.await_(f.number)
            waited = now / 1e9 - self.journal.since
            if waited > self.journal.limit:
                return ASK
            until = until or now + SIGNAL_NS
            if now > until:
                return AGAIN
            if waited > PATIENT:
                fg_sleep_ns(200000)
            else:
                sched_yield()
        return ASK

    cdef void give(self, Flight* f, char** data, Block** blocks) noexcept nogil:
        """Hand the sums out, and let go of what was sent; the turn is held."""
        cdef int32_t j
        if self.short:
            fg_widen_bfloat16(&f.packed.data, NULL, f.total.data, self.nbytes // 4)
        for j in range(self.n if f.total != NULL else 0):
            block_retain(f.total)
            blocks[j] = f.total
            data[j] = f.total.data + self.at[j]
        self.land(f)

    cdef int32_t end(self, Flight* f, char** data, Block** blocks) noexcept nogil:
        cdef int32_t code
        if not self.journal.enter():
            return AGAIN
        code = self.await_(f)
        if code == DONE:
            self.give(f, data, blocks)
        fg_spin_unlock(&self.journal.turn)
        return code

    def steps(self) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the steps in C that begin such sums and end them: the addresses of function and state of each."""
        state = <size_t><void*>self
        return (<size_t><void*>start_step, state), (<size_t><void*>end_step, state)

    def start(self, arrays, numbered=None) -> np.ndarray | None:
        """Begin to add arrays up; return what `results` takes, int64[]: let go of, nobody asks for the sum.

        numbered: gives the number of the exchange, compared; None: it is the next one's, and None is returned where
        Python is asked. Raises what that does, and ResourceExhaustedError before.
        """
        cdef Flight* f = NULL
        cdef int32_t j
        cdef int64_t number = 0
        if numbered is None and (not self.known or self.journal.asks()):
            return None
        kept = [np.ascontiguousarray(array) for array in arrays]
        cdef char** data = <char**>calloc(self.n + 1, sizeof(void*))
        if data == NULL:
            raise MemoryError()
        for j in range(self.n):
            data[j] = <char*>cnp.PyArray_DATA(<cnp.ndarray>kept[j])
        try:
            with self.journal:
                if self.reserve():
                    number = 0 if numbered is None else numbered()
                    f = self.begin(data, <Block**>(data + self.n), number)
                    self.known = 1
                    if self.alone:
                        Py_INCREF(kept)
                        f.kept = <void*>kept
        finally:
            free(data)
        if f == NULL:
            raise errors.ResourceExhaustedError(None, None, f"OOM when allocating {self.nbytes} bytes on /device:CPU:0")
        return _ticket(f)

    def start_on_device(self, kept, numbered) -> np.ndarray:
        """Begin a sum of what lies on a GPU; return what `results` takes, which gives `kept` back.

        kept: the addresses of what is sent, and of where the sums come to lie (of two processes: what the other has
        sent). numbered: as of `start`. Raises what that does, and ResourceExhaustedError before.
        """
        cdef Flight* f = NULL
        with self.journal:
            f = self.flight()
            if f == NULL:
                raise errors.ResourceExhaustedError(None, None, "OOM when beginning a sum of a GPU's memory")
            number = numbered()
            block_release(f.total)
            f.total, self.known = NULL, 1
            f.sent, f.into = <char*><size_t>kept[0], <char*><size_t>kept[1]
            Py_INCREF(kept)
            f.kept = <void*>kept
            self.leave(f, number)
        return _ticket(f)

    @property
    def places(self) -> list[int]:
        """The bytes at which each array begins in what is sent."""
        return [self.at[i] for i in range(self.n)]

    @property
    def size_in_bytes(self) -> int:
        """The bytes that are sent."""
        return self.nbytes

    cdef list results(self, Flight* f):
        cdef char** data = <char**>calloc(2 * self.n, sizeof(void*))
        cdef Block** blocks = <Block**>(data + self.n)
        cdef int32_t j, code = AGAIN
        cdef int64_t[MAX_RANK] dims
        found = [<object>f.kept] if f.total == NULL else []
        if data == NULL:
            raise MemoryError()
        try:
            while code == AGAIN:
                PyErr_CheckSignals()
                with nogil:
                    code = self.end(f, data, blocks)
            if found or code != DONE:
                return found if code == DONE else []
            for j in range(self.n):
                for i, n in enumerate(self.shapes[j]):
                    dims[<int>i] = n
                found.append(tensor_array(wrap_slice(blocks[j], data[j], self.code, len(self.shapes[j]), dims)))
            return found
        except BaseException:
            self.journal.fail()
            raise
        finally:
            free(data)


cdef object _ticket(Flight* f):
    return tensor_array(wrap_slice(f.ticket, f.ticket.data, as_dtype("int64").code, 0, NULL))


cdef void* _address(function) except NULL:
    return <void*><size_t>ctypes.cast(function, ctypes.c_void_p).value


cdef int32_t start_step(void* state, char** data, Block** blocks) noexcept nogil:
    """Arrays -> the number of the sum, as int64[]: a step in C (see runtime/plan.py)."""
    cdef int32_t n = (<SumKind>state).n
    cdef Flight* f = NULL
    if not (<SumKind>state).known or (<SumKind>state).journal.asks():
        return ASK
    if not (<SumKind>state).journal.enter():
        return AGAIN
    if (<SumKind>state).reserve():
        f = (<SumKind>state).begin(data, blocks, 0)
        blocks[n], data[n] = f.ticket, f.ticket.data
    fg_spin_unlock(&(<SumKind>state).journal.turn)
    return DONE if f != NULL else ASK


cdef int32_t end_step(void* state, char** data, Block** blocks) noexcept nogil:
    """The number of a sum, and its arrays, -> the sums: a step in C."""
    cdef int32_t n = 1 + (<SumKind>state).n
    return (<SumKind>state).end(<Flight*>(<int64_t*>data[0])[0], data + n, blocks + n)


cdef int64_t _go_on(Flight* f) noexcept nogil:
    """Go on with those sums under way that nobody asks for; the turn is held. Gives how many of them are left."""
    cdef int64_t left = 0
    cdef Flight* next
    while f != NULL:
        next = f.next
        if fg_atomic_load(&f.ticket.refs) == 1:
            if (<SumKind>f.kind).advance(f):
                (<SumKind>f.kind).land(f)
            else:
                left += 1
        f = next
    return left


def results(int64_t number) -> list:
    """Wait for a sum; return arrays (of one on a GPU what was kept), or none where Python is asked."""
    return (<SumKind>(<Flight*>number).kind).results(<Flight*>number)


def exchange_of(int64_t number) -> int:
    """Return the number of the exchange that a sum under way is."""
    return (<Flight*>number).number


def advance(int64_t number) -> bool:
    """Look at a sum under way, whose turn this thread has; return whether it has ended. Raises MPI's error."""
    cdef Flight* f = <Flight*>number
    cdef int done = (<SumKind>f.kind).advance(f)
    if done < 0:
        raise (<SumKind>f.kind).error(f.error)
    return done > 0
