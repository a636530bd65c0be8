"""Philox 2x32-10: random bits as a pure function of a key and a counter.

Rule: element i of a draw is the block at counter + i and nothing else, so that any part can be computed anywhere.
"""

# Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), section 5.2.

cimport numpy as cnp
from libc.stdint cimport uint32_t, uint64_t

import numpy as np

cnp.import_array()


cdef inline uint64_t _block(uint32_t left, uint32_t right, uint32_t key) noexcept nogil:
    cdef uint64_t product
    cdef int _
    for _ in range(10):
        product = <uint64_t>left * <uint64_t>0xD256D193
        left = <uint32_t>(product >> 32) ^ key ^ right
        right = <uint32_t>product
        key += <uint32_t>0x9E3779B9
    return (<uint64_t>right << 32) | left


def words32(uint64_t key, uint64_t counter, Py_ssize_t n):
    """The first word of each of n blocks from `counter` on. -> u32[n]."""
    cdef cnp.ndarray out = np.empty(n, np.uint32)
    cdef uint32_t* data = <uint32_t*>cnp.PyArray_DATA(out)
    cdef uint32_t low = <uint32_t>key, high = <uint32_t>(key >> 32)
    cdef uint64_t at
    cdef Py_ssize_t i
    with nogil:
        for i in range(n):
            at = counter + <uint64_t>i
            data[i] = <uint32_t>_block(<uint32_t>at, <uint32_t>(at >> 32) ^ high, low)
    return out


def words64(uint64_t key, uint64_t counter, Py_ssize_t n):
    """n blocks from `counter` on, the first word in the low half. -> u64[n]."""
    cdef cnp.ndarray out = np.empty(n, np.uint64)
    cdef uint64_t* data = <uint64_t*>cnp.PyArray_DATA(out)
    cdef uint32_t low = <uint32_t>key, high = <uint32_t>(key >> 32)
    cdef Py_ssize_t i
    with nogil:
        for i in range(n):
            data[i] = _block(<uint32_t>(counter + <uint64_t>i), <uint32_t>((counter + <uint64_t>i) >> 32) ^ high, low)
    return out
