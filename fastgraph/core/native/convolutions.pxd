"""The part of convolutions.pyx that windows of other kinds take."""

cimport numpy as cnp
from libc.stdint cimport int64_t

ctypedef void (*part_t)(void*, int64_t, int64_t) noexcept nogil

cdef int _bits            # of the vectors that are used; 0 where NumPy does it all
cdef bint _tiles          # whether this CPU's registers of tiles are used
cdef double _tiled        # floating-point operations from which on they are

cdef int bits() noexcept nogil
cdef object made(tuple dims, cnp.dtype descr)
cdef int kind_of(cnp.dtype descr, int* is_double) except -2
cdef int share(part_t part, void* context, int64_t units, double work) except -1
