# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
"""Products of float32 and float64 matrices by our own blocks where those are faster, else by scipy's BLAS; of int32.

Rule: a call always uses one thread (`blas_threads.pxi`); products are cut along M or N by shape alone, so that their
bits do not depend on the number of threads. Only the library in scipy's wheel is loaded, or one extension file
(importing scipy takes 40 ms, scipy.linalg 0.1 s and more), and only for a product that needs it.
"""

import ctypes
import glob
import importlib.machinery
import importlib.util
import os
import sys
import threading

from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.stdint cimport int64_t, uint32_t
from libc.string cimport memset

from fastgraph import errors
from fastgraph.core.base import flags
from fastgraph.core.native.thread_pool cimport pool_share, pool_threads

cdef extern from "core/native/matmul_blocks.h" nogil:
    int fg_block_bits()
    int fg_pair_products()
    int fg_blocks_pay(int bits, int is_double, int64_t m, int64_t n, int64_t k, int64_t a_col, int64_t b_col)
    void fg_block_product(
        int bits, const float* a, const float* b, float* c, int64_t m, int64_t n, int64_t k,
        int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col, int64_t c_row,
    )
    void fg_block_product_double(
        int bits, const double* a, const double* b, double* c, int64_t m, int64_t n, int64_t k,
        int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col, int64_t c_row,
    )
    void fg_block_product_int(
        int bits, const uint32_t* a, const uint32_t* b, uint32_t* c, int64_t m, int64_t n, int64_t k,
        int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col, int64_t c_row,
    )
    void fg_brain_pairs_product(
        int bits, const uint32_t* a, const uint32_t* b, uint32_t* c, int64_t m, int64_t n, int64_t k,
        int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col, int64_t c_row,
    )
    void fg_short_pairs_product(
        int bits, const uint32_t* a, const uint32_t* b, uint32_t* c, int64_t m, int64_t n, int64_t k,
        int64_t a_row, int64_t a_col, int64_t b_row, int64_t b_col, int64_t c_row,
    )

ctypedef void (*sgemm_t)(
    char*, char*, int*, int*, int*, float*, float*, int*, float*, int*, float*, float*, int*
) noexcept nogil
ctypedef void (*dgemm_t)(
    char*, char*, int*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*
) noexcept nogil
ctypedef void (*sgemv_t)(char*, int*, int*, float*, float*, int*, float*, int*, float*, float*, int*) noexcept nogil
ctypedef void (*dgemv_t)(
    char*, int*, int*, double*, double*, int*, double*, int*, double*, double*, int*
) noexcept nogil

cdef enum:                      # in floating-point operations of float32; those of float64 count twice
    SHARED = 6000000            # from here on an eager product is shared among threads: waking one takes 5 to 10 us
    PIECE = 4000000             # about what a thread takes at a time

cdef sgemm_t _sgemm = NULL
cdef dgemm_t _dgemm = NULL
cdef sgemv_t _sgemv = NULL
cdef dgemv_t _dgemv = NULL


def _bundled() -> object:
    """The OpenBLAS with 32-bit sizes that scipy's wheels bring, loaded; None where scipy was built in another way."""
    paths = _libraries_beside("scipy", "libscipy_openblas[-.]*")
    if len(paths) != 1:
        return None
    try:
        library = ctypes.CDLL(paths[0])
    except OSError:
        return None
    named = [hasattr(library, f"scipy_{name}_") for name in ("sgemm", "dgemm", "sgemv", "dgemv")]
    return library if all(named) else None


def _cython_blas() -> object:
    """scipy.linalg.cython_blas as a module, without importing scipy.linalg."""
    module = sys.modules.get("scipy.linalg.cython_blas")
    if module is not None:
        return module
    scipy = importlib.util.find_spec("scipy")
    if scipy is None or not scipy.submodule_search_locations:
        raise ImportError("fastgraph takes its matrix products from scipy, which is not installed: pip install scipy")
    folder = os.path.join(scipy.submodule_search_locations[0], "linalg")
    for suffix in importlib.machinery.EXTENSION_SUFFIXES:
        path = os.path.join(folder, "cython_blas" + suffix)
        if os.path.exists(path):
            name = "scipy.linalg.cython_blas"
            loader = importlib.machinery.ExtensionFileLoader(name, path)
            spec = importlib.util.spec_from_file_location(name, path, loader=loader)
            module = importlib.util.module_from_spec(spec)
            loader.exec_module(module)
            return module
    import scipy.linalg.cython_blas as module  # built in another way: the long road
    return module


cdef void* _pointer(dict table, str name, str scalar) except NULL:
    capsule = table[name]
    cdef const char* signature = PyCapsule_GetName(capsule)
    text = (<bytes>signature).decode()
    if text.count("int *") != (6 if name.endswith("gemm") else 5) or "char *" not in text:
        raise ImportError(f"scipy's {name} has a signature that fastgraph does not know: {text}")
    return PyCapsule_GetPointer(capsule, signature)


cdef int load_blas() except -1:
    """Find the products once; later calls cost nothing. Raises ImportError without scipy."""
    if _sgemm == NULL:
        with _loading:  # a module may be loaded once only, whichever thread comes first
            if _sgemm == NULL:
                _find_products()
    return 0


def _find_products() -> None:
    global _sgemm, _dgemm, _sgemv, _dgemv
    cdef size_t address[4]
    library = _bundled()
    table = None if library is not None else _cython_blas().__pyx_capi__
    wanted = ("dgemm", "double"), ("sgemv", "float"), ("dgemv", "double"), ("sgemm", "float")
    for i, (name, scalar) in enumerate(wanted):
        if library is not None:
            address[i] = ctypes.cast(getattr(library, f"scipy_{name}_"), ctypes.c_void_p).value
        else:
            address[i] = <size_t>_pointer(table, name, scalar)
    know_scipy()
    _dgemm, _sgemv, _dgemv = <dgemm_t>address[0], <sgemv_t>address[1], <dgemv_t>address[2]
    _sgemm = <sgemm_t>address[3]  # last: it says that all are there


def _after_fork_in_child() -> None:
    global _loading
    _loading = threading.RLock()  # another thread of the parent may have held it
    _limits_of_child()


_loading = threading.RLock()
os.register_at_fork(after_in_child=_after_fork_in_child)

include "blas_threads.pxi"


_bits = fg_block_bits()


def vector_bits() -> int:
    """The bits of the vectors that products by blocks use; 0 where BLAS computes every product."""
    return _bits


def pair_products() -> int:
    """Kinds of pairs of which this CPU multiplies both numbers in one instruction: 1 bfloat16, 2 int16, 3 both."""
    return fg_pair_products() if _bits == 512 else 0


cdef int64_t _whole_panels(int64_t columns, int kind) noexcept nogil:
    """Return so many columns or a few more: no piece but the last then ends in a panel that is partly empty."""
    cdef int64_t wide = _bits // (32 if kind == DOUBLE else 16)
    return (columns + wide - 1) // wide * wide if wide else columns


cdef int choose_way(Gemm* g) except -1:
    """Set whether blocks compute the pieces of a product; load BLAS if not. Raises ImportError without scipy."""
    cdef int64_t m = g.m if g.along_n else g.piece
    cdef int64_t n = g.piece if g.along_n else g.n
    g.blocks = 0
    cdef int64_t a_col = g.m if g.transpose_a else 1, b_col = g.k if g.transpose_b else 1
    if g.kind >= INTEGER or fg_blocks_pay(_bits, g.kind == DOUBLE, m, n, g.k, a_col, b_col):
        g.blocks = _bits
        if g.along_n:
            g.piece = _whole_panels(g.piece, g.kind)
        return 0
    if max(g.m, g.n, g.k) > 0x7fffffff:
        raise errors.InvalidArgumentError(
            None, None, f"A matrix product of {g.m}x{g.k}x{g.n} is too large for BLAS"
        )
    return load_blas()


cdef void _call(Gemm* g, char* a, char* b, char* c, int64_t m, int64_t n) noexcept nogil:
    """One call on a part of C with m rows and n columns. BLAS is column-major: it is asked for C's transpose."""
    cdef int64_t a_row = 1 if g.transpose_a else g.k, a_col = g.m if g.transpose_a else 1
    cdef int64_t b_row = 1 if g.transpose_b else g.n, b_col = g.k if g.transpose_b else 1
    if g.kind == INTEGER:
        fg_block_product_int(
            g.blocks, <uint32_t*>a, <uint32_t*>b, <uint32_t*>c, m, n, g.k, a_row, a_col, b_row, b_col, g.n
        )
        return
    if g.kind == BRAIN_PAIRS:
        fg_brain_pairs_product(
            g.blocks, <uint32_t*>a, <uint32_t*>b, <uint32_t*>c, m, n, g.k, a_row, a_col, b_row, b_col, g.n
        )
        return
    if g.kind == SHORT_PAIRS:
        fg_short_pairs_product(
            g.blocks, <uint32_t*>a, <uint32_t*>b, <uint32_t*>c, m, n, g.k, a_row, a_col, b_row, b_col, g.n
        )
        return
    if g.blocks and g.kind == DOUBLE:
        fg_block_product_double(
            g.blocks, <double*>a, <double*>b, <double*>c, m, n, g.k, a_row, a_col, b_row, b_col, g.n
        )
        return
    if g.blocks:
        fg_block_product(g.blocks, <float*>a, <float*>b, <float*>c, m, n, g.k, a_row, a_col, b_row, b_col, g.n)
        return
    cdef int im = <int>m, in_ = <int>n, ik = <int>g.k
    cdef int lda = <int>max(g.m if g.transpose_a else g.k, 1)
    cdef int ldb = <int>max(g.k if g.transpose_b else g.n, 1)
    cdef int ldc = <int>max(g.n, 1)
    cdef float one = 1, zero = 0
    cdef double done = 1, dzero = 0
    cdef char ta = c"T" if g.transpose_a else c"N"
    cdef char tb = c"T" if g.transpose_b else c"N"
    cdef int near, far
    cdef char* matrix = b if m == 1 else a
    cdef char* vector = a if m == 1 else b
    cdef int64_t i, step = 1 if m == 1 else g.n
    if m == 1 or n == 1:  # a matrix by a vector: as products of matrices they would be copied into panels first
        near = ldb if m == 1 else lda  # of the matrix as BLAS sees it, which lies turned
        tb = (c"T" if g.transpose_b else c"N") if m == 1 else (c"N" if g.transpose_a else c"T")
        im = <int>(n if m == 1 else m)
        in_, far = <int>(a_col if m == 1 else b_row), <int>step
        if tb == c"T":
            im, ik = ik, im
        for i in range(n if m == 1 else m):  # beta 0 would keep what is no number there
            if g.kind == DOUBLE:
                (<double*>c)[i * step] = 0
            else:
                (<float*>c)[i * step] = 0
        if g.kind == DOUBLE:
            _dgemv(&tb, &im, &ik, &done, <double*>matrix, &near, <double*>vector, &in_, &done, <double*>c, &far)
        else:
            _sgemv(&tb, &im, &ik, &one, <float*>matrix, &near, <float*>vector, &in_, &one, <float*>c, &far)
        return
    if g.kind == DOUBLE:
        _dgemm(&tb, &ta, &in_, &im, &ik, &done, <double*>b, &ldb, <double*>a, &lda, &dzero, <double*>c, &ldc)
    else:
        _sgemm(&tb, &ta, &in_, &im, &ik, &one, <float*>b, &ldb, <float*>a, &lda, &zero, <float*>c, &ldc)


cdef void gemm_units(Gemm* g, char* a, char* b, char* c, int64_t begin, int64_t end) noexcept nogil:
    """Compute units [begin, end); unit u is piece u % pieces of batch u // pieces."""
    cdef int64_t unit, i, first, count
    cdef int64_t size = 8 if g.kind == DOUBLE else 4
    cdef char* a_i
    cdef char* b_i
    cdef char* c_i
    cdef bint by_blas = g.kind < INTEGER and g.blocks == 0
    if g.m == 0 or g.n == 0:
        return
    if by_blas:
        blas_begin_again()
    for unit in range(begin, end):
        i = unit // g.pieces
        first = (unit % g.pieces) * g.piece
        a_i = a + g.a_offsets[i] * size
        b_i = b + g.b_offsets[i] * size
        c_i = c + i * g.m * g.n * size
        if g.k == 0:
            memset(c_i, 0, g.m * g.n * size)
        elif g.along_n:
            count = min(g.piece, g.n - first)
            if count > 0:
                _call(g, a_i, b_i + first * (g.k if g.transpose_b else 1) * size, c_i + first * size, g.m, count)
        else:
            count = min(g.piece, g.m - first)
            if count > 0:
                _call(g, a_i + first * (1 if g.transpose_a else g.k) * size, b_i, c_i + first * g.n * size, count, g.n)
    if by_blas:
        blas_end()


cdef struct Eager:              # a product whose units are shared among threads
    Gemm gemm
    char* a
    char* b
    char* c


cdef void _eager_part(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Eager* all = <Eager*>context
    gemm_units(&all.gemm, all.a, all.b, all.c, first, last)


cdef bint block_product(
    int kind, char* a, char* b, char* c, int64_t m, int64_t n, int64_t k, bint transpose_a, bint transpose_b,
    int64_t batch, int64_t* a_offsets, int64_t* b_offsets, bint small,
) noexcept nogil:
    """C[i] = op(A[i]) @ op(B[i]) by blocks, all dense; False, having done nothing, where BLAS is as good.

    A[i] begins a_offsets[i] elements into a, and so on; threads share what is worth it, which the bits do not show.
    `small`: it competes with no BLAS but with plain loops.
    """
    if small:
        if _bits == 0 or k < 1:
            return False
    elif not fg_blocks_pay(_bits, kind == DOUBLE, m, n, k, m if transpose_a else 1, k if transpose_b else 1):
        return False
    _shared_product(kind, a, b, c, m, n, k, transpose_a, transpose_b, batch, a_offsets, b_offsets, _bits)
    return True


cdef bint blas_product(
    int kind, char* a, char* b, char* c, int64_t m, int64_t n, int64_t k, bint transpose_a, bint transpose_b,
    int64_t batch, int64_t* a_offsets, int64_t* b_offsets,
) except -1:
    """The same by BLAS, for what is so large that threads share it; False, having done nothing, for anything else."""
    if _work(kind, m, n, k) * batch < SHARED or min(m, n) < 2 or max(m, n, k) > 0x7fffffff:
        return False
    load_blas()
    with nogil:
        _shared_product(kind, a, b, c, m, n, k, transpose_a, transpose_b, batch, a_offsets, b_offsets, 0)
    return True


cdef double _work(int kind, int64_t m, int64_t n, int64_t k) noexcept nogil:
    """The work of a product: about 160 of these are a nanosecond."""
    return (1 if kind == SINGLE else 2) * 2.0 * m * n * k


cdef void _shared_product(
    int kind, char* a, char* b, char* c, int64_t m, int64_t n, int64_t k, bint transpose_a, bint transpose_b,
    int64_t batch, int64_t* a_offsets, int64_t* b_offsets, int blocks,
) noexcept nogil:
    cdef Eager all
    cdef Gemm* g = &all.gemm
    cdef double one = _work(kind, m, n, k)
    cdef int64_t least
    all.a = a
    all.b = b
    all.c = c
    g.kind = kind
    g.transpose_a = transpose_a
    g.transpose_b = transpose_b
    g.along_n = n >= m
    g.blocks = blocks
    g.m = m
    g.n = n
    g.k = k
    g.batch = batch
    g.pieces = 1
    g.piece = n if g.along_n else m
    g.a_offsets = a_offsets
    g.b_offsets = b_offsets
    if one * batch < SHARED or (blocks and pool_threads() == 1):  # the bits of blocks do not show how they are cut
        gemm_units(g, a, b, c, 0, batch)
        return
    if batch < (2 * pool_threads() if blocks else 32):
        least = 64 if one < 2e8 else 128
        while g.pieces < 16 and one > 2 * PIECE * g.pieces and g.piece > 2 * least * g.pieces:
            g.pieces *= 2
        g.piece = (g.piece + g.pieces - 1) // g.pieces
        if g.along_n:
            g.piece = _whole_panels(g.piece, kind)
    pool_share(_eager_part, &all, batch * g.pieces, max(<int64_t>1, <int64_t>(PIECE * g.pieces / one)))
