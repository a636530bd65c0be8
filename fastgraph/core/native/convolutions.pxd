"""Parts of convolutions.pyx that other windows than those of convolutions share."""

cimport numpy as cnp
from libc.stdint cimport int64_t

from fastgraph.core.native.thread_pool cimport part_t

cdef int _bits            # of the vectors that are used; 0 where NumPy does it all
cdef int _tiles           # how bfloat16 is multiplied: 2 by registers of tiles, 1 by vectors of pairs, 0 widened
cdef double _tiled        # floating-point operations from which on they are

cdef object made(tuple dims, cnp.dtype descr)
cdef int kind_of(cnp.dtype descr, int* is_double) except -2
cdef int share(part_t part, void* context, int64_t units, double work) except -1
