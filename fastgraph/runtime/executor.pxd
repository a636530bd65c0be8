"""Plans as C structs and the calls that other extensions make. See executor.pyx."""

from libc.stdint cimport int32_t, int64_t, uint64_t

from fastgraph.core.native.matmul cimport Gemm
from fastgraph.core.native.buffer cimport MAX_RANK, Block
from fastgraph.core.native.thread_pool cimport Region, fg_event
from fastgraph.core.tensor cimport EagerTensor

ctypedef int32_t (*kernel_fn)(
    int64_t* status, void** excinfo, void** buffers, int64_t* sizes, int64_t begin, int64_t end
) noexcept nogil

# A host step in C: of operands, then results, which it fills in; gives a number of executor.pyx's.
ctypedef int32_t (*native_fn)(void* state, char** data, Block** blocks) noexcept nogil

cdef struct Dims:
    int32_t ndim
    int32_t known           # 0: data, see the frame
    int64_t[MAX_RANK] size

cdef struct Value:          # an Operand of the PlanSpec
    int32_t slot
    int32_t dtype_code
    int32_t last            # of a plan's outputs, the last one in this slot: it may take the Block over
    Dims dims

cdef struct CopySpec:
    int32_t origin
    int32_t target
    int64_t nbytes

# An in-place update of a Variable (with cell -1: of what a loop carries): what was read, the result in its place.
cdef struct Update:
    int32_t cell
    int32_t read
    int32_t target

cdef struct Counted:        # an output whose rows are counted when its step begins
    Value output
    Dims row
    int32_t counts          # slot of the counts, and how many of them there are
    int32_t n_counts
    int64_t row_bytes

cdef struct CSlot:
    int32_t place
    int32_t index
    int32_t dynamic         # index into the frame's run-time shapes, or -1
    int32_t device
    int64_t nbytes
    int64_t offset

cdef struct SubPlans:       # of a Branch (then, else), a Loop (cond, body) or a Rest (none yet)
    CPlan* first
    CPlan* second
    int32_t n_inputs
    int32_t n_carried
    int32_t n_outputs
    int32_t varying         # Loop: the body may change a carried shape
    int32_t latest          # Loop: how many iterations it had the last time: for as many rows there is room at once
    uint64_t handed         # Loop: bit k: carried value k is what a loop around carries, and nobody takes it later
    CPlan* burst            # Loop: does many iterations, and tells how many; may be NULL
    int32_t* inputs         # slots
    Value* outputs
    Dims* rows              # Loop: extents of a row of what is stacked, 0 where they are not known

cdef struct CStep:
    int32_t kind
    int32_t pinned
    int32_t n_buffers
    int32_t n_shards
    int32_t n_allocate
    int32_t n_release
    int32_t n_copies
    int32_t n_operands
    int32_t n_successors
    int32_t rank            # place in the order of urgency: 0 first
    int32_t long_enough     # to call a thread for even where cores are crowded
    double alone            # nanoseconds of a shard, and of what then waits for nothing else, one after another
    kernel_fn fn
    native_fn native        # of a HostCall, or NULL
    void* state
    int32_t* buffers
    int64_t* sizes
    int64_t extent
    int64_t chunk
    double cost
    int32_t* allocate
    int32_t* release
    int32_t* successors
    CopySpec* copies
    Value* operands
    Update* updates
    int32_t n_updates
    Counted* counted
    Gemm* gemm
    Value* values           # outputs of a HostCall; the output of a ReadCell; the value of an AssignCell
    int32_t n_values
    SubPlans* sub
    void* spec              # the Python StepSpec, held by the Plan

cdef struct Pace:           # whether a short plan gains by threads
    int32_t tried           # 0: it is long, or as long as data says
    int32_t lock
    int32_t alone           # it runs on one thread now
    int32_t left            # runs on several threads until one is tried; while it runs on one, those of a trial
    int32_t worse           # runs on several threads, one after another, that took longer than on one
    int64_t alone_ns        # what a run takes on one thread
    int64_t lost            # nanoseconds, by a trial of several
    int64_t until           # the next trial of several, or since when they are worse

cdef struct CPlan:
    CSlot* slots
    CStep* steps
    Value* inputs
    Value* outputs
    int32_t* dependencies   # per step: how many steps it waits for
    int32_t* order          # steps by rank
    int32_t* owned          # slots whose Blocks the frame may hold
    void** constants        # per slot: Block* of a CONSTANT
    char** constant_data
    int32_t n_slots
    int32_t n_steps
    int32_t n_inputs
    int32_t n_outputs
    int32_t n_owned
    int32_t n_dynamic
    int32_t n_cells
    int32_t parallel        # 2: with a step that is long enough where cores are crowded
    Pace pace
    int32_t quick           # so short that giving the GIL away would cost more than it takes
    int32_t lock
    int32_t n_idle
    int64_t arena_bytes
    double cost
    Frame* idle             # frames not in use
    void* plan              # the Python Plan
    CPlan* next             # all plans of the process, for a fork
    CPlan* previous

cdef struct CellRef:        # where the parts of a Cell are, so that no Python object is touched without the GIL
    void* cell
    int32_t* lock
    Block** block
    char** data
    int64_t* version
    int32_t* ndim
    int64_t* dims

cdef struct Fault:
    int32_t code
    int32_t order           # the failing step of this frame's own plan, -1: an interrupt
    CPlan* plan             # where it really happened, and the step there
    int32_t step
    int32_t n_operands
    int64_t status
    int64_t begin           # where the failing shard began
    Block** operands        # what the failing kernel read, for the message
    void* exception         # PyObject*

cdef struct Call:           # what one call from Python shares with the plans inside it
    int32_t cancelled
    double spent            # nanoseconds of work since the clock was last read
    int64_t checked         # when signals were last looked at

cdef struct Frame:          # one run of one plan
    Region region           # must be first
    CPlan* plan
    Call* call
    Frame* next
    char** data             # per slot
    Block** block           # per slot; for inputs and constants borrowed
    Block** spare           # per slot: a Block to use again
    void** rest             # per step: of a Rest, the Plan that ran last, held
    int32_t* dead           # per slot: references to its Block, beside the one it stands for, that nobody will use
    CellRef* cells
    Dims* dims              # run-time shapes
    Block* arena
    int32_t* waiting_for    # per step
    int32_t* next_shard     # how many are handed out
    int32_t* from_front     # and how many of those to the thread that calls
    int32_t* shards_left
    int32_t* prepared
    int32_t* claimed        # per step: which of its updates hold their Cell's lock, as bits
    int32_t* heap           # ranks of the ready steps
    int32_t* ready_pinned
    int32_t n_heap
    int32_t n_ready_pinned
    int32_t remaining
    int32_t sleeping
    int32_t crowded         # helpers take only those steps that are long enough
    int32_t lock
    fg_event event
    Fault fault
    void* discarded         # an exception that an earlier step's failure displaced

cdef class Plan:
    cdef CPlan c
    cdef void** _chunks     # memory of the structs: each chunk begins with the address of the one before it
    cdef char* _free        # in the last one
    cdef int64_t _n_free
    cdef bint _linked
    cdef readonly bint needs_python   # a step of it, or of a plan in it, runs Python
    cdef list _held         # Python objects the structs point to
    cdef readonly object spec
    cdef object __weakref__
    cdef void* take(self, int64_t nbytes) except NULL
    cdef int32_t* slots_of(self, slots) except NULL
    cdef int64_t* numbers(self, numbers) except NULL
    cdef Value* values(self, operands) except NULL
    cdef Dims* extents(self, shapes) except NULL
    cdef int add_slot(self, int32_t k, slot) except -1
    cdef int add_step(self, int32_t i, step) except -1
    cdef int set_buffers(self, CStep* s, slots) except -1
    cdef int set_gemm(self, CStep* s, step) except -1
    cdef tuple product(self, step)
    cdef Gemm* gemm_of(self, step) except NULL
    cdef int set_counted(self, CStep* s, step) except -1
    cdef int set_sub(self, CStep* s, step) except -1
    cdef int link_steps(self) except -1
    cdef object mismatch(self, int32_t j, EagerTensor tensor)
    cpdef list run(self, list inputs)
    cdef list call(self, list inputs, int64_t* times)
