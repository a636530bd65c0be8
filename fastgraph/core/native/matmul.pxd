"""Matrix products, one thread per call. See matmul.pyx."""

from libc.stdint cimport int32_t, int64_t

cdef enum Kind:            # of the numbers of a product
    SINGLE = 0
    DOUBLE = 1
    INTEGER = 2            # of 32 bits
    BRAIN_PAIRS = 3        # of bfloat16, two along k side by side in 32 bits: sums are float32
    SHORT_PAIRS = 4        # of int16: sums are int32

cdef struct Gemm:
    # C[i] = op(A[i]) @ op(B[i]), row-major and dense; A[i] begins a_offsets[i] elements into a, and so on
    int32_t kind           # a Kind
    int32_t transpose_a
    int32_t transpose_b
    int32_t along_n        # pieces cut N instead of M
    int32_t blocks         # computed by matmul_blocks.h: set by choose_way
    int64_t m
    int64_t n
    int64_t k
    int64_t batch
    int64_t pieces
    int64_t piece          # rows or columns of one piece
    int64_t* a_offsets
    int64_t* b_offsets

cdef int _bits                      # of the vectors of products by blocks; 0: BLAS computes every product

cdef int blas_begin() except -1     # until blas_end BLAS keeps to the thread that calls it
cdef void blas_end() noexcept nogil
cdef int choose_way(Gemm* g) except -1
cdef void gemm_units(Gemm* g, char* a, char* b, char* c, int64_t begin, int64_t end) noexcept nogil
cdef bint block_product(
    int kind, char* a, char* b, char* c, int64_t m, int64_t n, int64_t k, bint transpose_a, bint transpose_b,
    int64_t batch, int64_t* a_offsets, int64_t* b_offsets, bint small,
) noexcept nogil
cdef bint blas_product(
    int kind, char* a, char* b, char* c, int64_t m, int64_t n, int64_t k, bint transpose_a, bint transpose_b,
    int64_t batch, int64_t* a_offsets, int64_t* b_offsets,
) except -1
