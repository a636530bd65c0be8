# Part of tensor.pyx: C loops over many elements, without the GIL and shared among threads where that pays.

cdef enum:
    RELEASE_GIL = 16384   # elements from which other Python threads may run meanwhile


cdef inline void _share(part_t part, void* how, int64_t n, int64_t run, bint alone) noexcept:
    """part(how, first, last) for n units: all at once if `alone`, else without the GIL, threads taking runs of them."""
    if alone:
        part(how, 0, n)
    else:
        with nogil:
            pool_share(part, how, n, max(<int64_t>1, run))


cdef struct Loops:              # a loop and what it works on; steps in bytes for one element
    Loop loop
    int n_operands
    char* operands[MAX_LOOP_INPUTS]
    int64_t steps[MAX_LOOP_INPUTS]
    int64_t item
    char* out
    int64_t out_item
    int32_t failed


cdef void _loops_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Loops* all = <Loops*>context
    cdef char* operands[MAX_LOOP_INPUTS]
    cdef int i
    for i in range(all.n_operands):
        operands[i] = all.operands[i] + first * all.steps[i] * all.item
    if all.loop(&operands[0], &all.steps[0], all.out + first * all.out_item, last - first):
        all.failed = 1


cdef int _run_shared(Loop loop, int n_operands, char** operands, const int64_t* steps, int64_t item, char* out,
                     int64_t out_item, int64_t n, int64_t share) noexcept:
    """The loop over n elements; not 0 if it refused one. Each element is computed alone: no split shows in results."""
    cdef Loops all
    cdef int i, failed
    if n <= RELEASE_GIL:
        return loop(operands, steps, out, n)
    if n < share:
        with nogil:
            failed = loop(operands, steps, out, n)
        return failed
    all.loop = loop
    all.n_operands = n_operands
    for i in range(n_operands):
        all.operands[i] = operands[i]
        all.steps[i] = steps[i]
    all.item = item
    all.out = out
    all.out_item = out_item
    all.failed = 0
    with nogil:
        pool_share(_loops_part, &all, n, SHARE_RUN if n < 64 * SHARE_RUN else 4 * SHARE_RUN)
    return all.failed


cdef struct Copies:             # `n` rows of `row` bytes, each strides apart
    const char* source
    char* target
    int64_t row
    int64_t source_row
    int64_t target_row


cdef void _copies_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Copies* all = <Copies*>context
    cdef int64_t k
    for k in range(first, last):
        memcpy(all.target + k * all.target_row, all.source + k * all.source_row, all.row)


cdef void _copy_bytes(char* target, const char* source, int64_t n) noexcept nogil:
    """memcpy, of much memory by several threads."""
    cdef Copies all
    cdef int64_t runs
    if n < 8 * SHARE_LIGHT:
        memcpy(target, source, n)
        return
    all.source = source
    all.target = target
    all.row = all.source_row = all.target_row = 1 << 16
    runs = n >> 16
    pool_share(_copies_part, &all, runs, 4)
    memcpy(target + (runs << 16), source + (runs << 16), n - (runs << 16))
