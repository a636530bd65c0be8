# Small and moderate systems of linear equations, of batches: factors, solutions, determinants. LAPACK does the others.

cdef extern from "core/native/linear_systems.h" nogil:
    int fg_system_bits()
    int fg_solve_by_vectors(int bits, int is_double, const void* a, void* x, void* w, int64_t* order, int64_t n,
                            int64_t k, int turned)
    void fg_substitute_by_vectors(int bits, int is_double, const void* a, void* x, int64_t n, int64_t k, int lower,
                                  int turned)

cdef extern from *:
    """
    #include <math.h>
    #define T float
    #include "core/native/small_systems.h"
    #undef T
    #define T double
    #include "core/native/small_systems.h"
    #undef T
    """
    int64_t fg_cholesky_float(const float* a, float* out, int64_t p, int64_t n) nogil
    int64_t fg_cholesky_double(const double* a, double* out, int64_t p, int64_t n) nogil
    int64_t fg_solve_float(const float* a, float* x, float* w, int64_t p, int64_t n, int64_t k, int turned) nogil
    int64_t fg_solve_double(const double* a, double* x, double* w, int64_t p, int64_t n, int64_t k, int turned) nogil
    void fg_substitute_float(const float* a, float* x, int64_t n, int64_t k, int lower, int turned) nogil
    void fg_substitute_double(const double* a, double* x, int64_t n, int64_t k, int lower, int turned) nogil
    int64_t fg_det_float(const float* a, float* out, float* w, int64_t p, int64_t n) nogil
    int64_t fg_det_double(const double* a, double* out, double* w, int64_t p, int64_t n) nogil

cdef enum:
    SMALL = 32  # rows of a matrix that is factored here
    MODERATE = 256  # and by vectors, of one that is solved for: larger ones leave the second cache


cdef int _bits = fg_system_bits()


cdef bint _are_small(cnp.ndarray a, cnp.ndarray x, int64_t most=SMALL) except -1:
    """Return whether these are [p, n, n] and [p, n, k] of one float type, contiguous, of at most so many rows."""
    if a.ndim != 3 or x.ndim != 3 or a.shape[1] != a.shape[2] or x.shape[0] != a.shape[0] or x.shape[1] != a.shape[1]:
        raise ValueError("systems of other sizes")
    return (a.shape[1] <= most and cnp.PyArray_TYPE(a) == cnp.PyArray_TYPE(x)
            and (cnp.PyArray_TYPE(a) == cnp.NPY_FLOAT32 or cnp.PyArray_TYPE(a) == cnp.NPY_FLOAT64)
            and cnp.PyArray_ISBEHAVED_RO(a) and cnp.PyArray_ISBEHAVED_RO(x)
            and cnp.PyArray_IS_C_CONTIGUOUS(a) and cnp.PyArray_IS_C_CONTIGUOUS(x))


def factored(cnp.ndarray a not None):
    """L with L L^T = a, or None where LAPACK must find it. f[p, n, n] -> f[p, n, n]."""
    if not _are_small(a, a):
        return None
    cdef cnp.ndarray out = np.empty_like(a)
    cdef int64_t p = a.shape[0], n = a.shape[1], bad
    cdef const void* given = cnp.PyArray_DATA(a)
    cdef void* found = cnp.PyArray_DATA(out)
    cdef bint single = cnp.PyArray_TYPE(a) == cnp.NPY_FLOAT32
    with nogil:
        if single:
            bad = fg_cholesky_float(<const float*>given, <float*>found, p, n)
        else:
            bad = fg_cholesky_double(<const double*>given, <double*>found, p, n)
    return out if bad < 0 else None


def solved(cnp.ndarray a not None, cnp.ndarray x not None, bint turned, /) -> bool:
    """Make x what solves a x' = x, or a's transpose; False, and x spoilt, where LAPACK must. f[p, n, n], f[p, n, k].

    Raises: ZeroDivisionError, and x is spoilt, where a pivot is 0.
    """
    cdef double[SMALL * SMALL] room
    cdef int64_t[MODERATE] order
    cdef void* w = <void*>room
    if not _are_small(a, x, MODERATE if _bits else SMALL) or not cnp.PyArray_ISWRITEABLE(x):
        return False
    cdef int64_t p = a.shape[0], n = a.shape[1], k = x.shape[2], bad = -1, m, size = a.itemsize
    if n * size > 512 and 2 * k < n:  # most is elimination then, which LAPACK does by products of blocks
        return False
    cdef const void* given = cnp.PyArray_DATA(a)
    cdef void* found = cnp.PyArray_DATA(x)
    cdef bint single = cnp.PyArray_TYPE(a) == cnp.NPY_FLOAT32
    cdef cnp.ndarray wide = np.empty((n, n)) if n > SMALL else None
    cdef int done
    if n > SMALL:
        w = cnp.PyArray_DATA(wide)
    with nogil:
        if n > SMALL:
            for m in range(p):
                done = fg_solve_by_vectors(_bits, not single, <char*>given + m * n * n * size,
                                           <char*>found + m * n * k * size, w, order, n, k, turned)
                if done < 1:
                    bad = m if done == 0 else p + m
                    break
        elif single:
            bad = fg_solve_float(<const float*>given, <float*>found, <float*>w, p, n, k, turned)
        else:
            bad = fg_solve_double(<const double*>given, <double*>found, <double*>w, p, n, k, turned)
    if bad >= p:
        raise ZeroDivisionError("a pivot is 0")
    return bad < 0


def substituted(cnp.ndarray a not None, cnp.ndarray x not None, bint lower, bint turned, /) -> bool:
    """Make x what solves a x' = x for triangular a, or its transpose; False where BLAS must. f[p, n, n], f[p, n, k]."""
    if not _are_small(a, x, MODERATE if _bits else SMALL) or not cnp.PyArray_ISWRITEABLE(x):
        return False
    cdef int64_t p = a.shape[0], n = a.shape[1], k = x.shape[2], m, size = a.itemsize
    cdef const void* given = cnp.PyArray_DATA(a)
    cdef void* found = cnp.PyArray_DATA(x)
    cdef bint single = cnp.PyArray_TYPE(a) == cnp.NPY_FLOAT32
    with nogil:
        for m in range(p):
            if n > SMALL:
                fg_substitute_by_vectors(_bits, not single, <char*>given + m * n * n * size,
                                         <char*>found + m * n * k * size, n, k, lower, turned)
            elif single:
                fg_substitute_float(<const float*>given + m * n * n, <float*>found + m * n * k, n, k, lower, turned)
            else:
                fg_substitute_double(<const double*>given + m * n * n, <double*>found + m * n * k, n, k, lower, turned)
    return True


def determinants(cnp.ndarray a not None):
    """Determinants, or None where LAPACK must find them. f[p, n, n] -> f[p]."""
    cdef double[SMALL * SMALL] room
    cdef void* w = <void*>room
    if not _are_small(a, a):
        return None
    cdef cnp.ndarray out = np.empty(a.shape[0], a.dtype)
    cdef int64_t p = a.shape[0], n = a.shape[1], bad
    cdef const void* given = cnp.PyArray_DATA(a)
    cdef void* found = cnp.PyArray_DATA(out)
    cdef bint single = cnp.PyArray_TYPE(a) == cnp.NPY_FLOAT32
    with nogil:
        if single:
            bad = fg_det_float(<const float*>given, <float*>found, <float*>w, p, n)
        else:
            bad = fg_det_double(<const double*>given, <double*>found, <double*>w, p, n)
    return out if bad < 0 else None
