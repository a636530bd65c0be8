# cython: binding=False, embedsignature=False
"""Examples, records and rows taken apart: where features and fields lie, their values as arrays, records of a block.

Rule: places are addresses in bytes objects that the caller keeps; loops over numbers run without the GIL.
"""

import numpy as np

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

cdef extern from "records/wire_scan.h" nogil:
    ctypedef struct fg_slice:
        const uint8_t* p
        int64_t n
    enum:
        FG_BYTES
        FG_FLOATS
        FG_INTS
        FG_BAD
    void fg_enter(const fg_slice* keys, int64_t n, int32_t* table, int64_t mask)
    int fg_locate(fg_slice message, uint64_t field, const fg_slice* keys, const int32_t* table, int64_t mask,
                  fg_slice* found, int64_t stride)
    int64_t fg_count(fg_slice feature, int kind, const uint8_t** begin)
    char* fg_fill(fg_slice feature, const uint8_t* begin, int kind, char* out)
    int64_t fg_members(fg_slice list, fg_slice* out)

cdef extern from "core/native/crc32c.h" nogil:
    void fg_crc_begin()
    uint32_t fg_crc32c(uint32_t crc, const uint8_t* p, int64_t n)

fg_crc_begin()


cdef class Slices:
    """Places in bytes objects, which it keeps: `rows` rows of `n`."""
    cdef fg_slice* at
    cdef readonly int64_t rows, n
    cdef object kept

    def __cinit__(self, int64_t rows, int64_t n, kept):
        cdef int64_t i
        self.at = <fg_slice*> malloc(max(rows * n, 1) * sizeof(fg_slice))
        if self.at == NULL:
            raise MemoryError
        for i in range(rows * n):
            self.at[i].p, self.at[i].n = NULL, 0
        self.rows, self.n, self.kept = rows, n, kept

    def __dealloc__(self):
        free(self.at)


def located(list messages, list keys, int field, /):
    """The features of these keys in the maps in field `field` of messages: (Slices, a row for each key; -1), or where
    the first message is that is none: (None, its index)."""
    cdef int64_t n = len(messages), k = len(keys), i, mask = 1
    cdef int bad = 0
    while mask < 2 * k + 1:
        mask *= 2
    mask -= 1
    for group in messages, keys:
        for each in group:
            if type(each) is not bytes:
                raise TypeError(f"bytes are wanted, not {type(each).__name__}")
    cdef Slices found = Slices(k, n, messages), names = Slices(1, k, keys)
    cdef Slices given = Slices(1, n, messages)
    for i in range(k):
        names.at[i].p, names.at[i].n = <const uint8_t*> PyBytes_AS_STRING(keys[i]), PyBytes_GET_SIZE(keys[i])
    for i in range(n):
        given.at[i].p, given.at[i].n = <const uint8_t*> PyBytes_AS_STRING(messages[i]), PyBytes_GET_SIZE(messages[i])
    cdef int32_t* table = <int32_t*> malloc((mask + 1) * sizeof(int32_t))
    if table == NULL:
        raise MemoryError
    with nogil:
        fg_enter(names.at, k, table, mask)
        for i in range(n):
            bad = fg_locate(given.at[i], field, names.at, table, mask, found.at + i, n)
            if bad:
                break
        free(table)
    return (None, i) if bad else (found, -1)


cdef char* _memory(array, Py_buffer* view) except NULL:
    PyObject_GetBuffer(array, view, PyBUF_SIMPLE | PyBUF_WRITABLE)
    return <char*> view.buf


def counted(Slices slices not None, int64_t row, int kind, /):
    """Count the values of `kind` of each feature of a row, i64[n]: -1 of one that is not there, -2 of bytes that are
    none, -3 - k of one of kind k."""
    counts = np.empty(slices.n, np.int64)
    cdef Py_buffer view
    cdef int64_t* out = <int64_t*> _memory(counts, &view)
    cdef const uint8_t* begin = NULL
    cdef int64_t i
    with nogil:
        for i in range(slices.n):
            out[i] = fg_count(slices.at[row * slices.n + i], kind, &begin)
    PyBuffer_Release(&view)
    return counts


def filled(Slices slices not None, int64_t row, int kind, int64_t total, /):
    """The values of all features of a row that `counted` has counted, `total` in all, one after the other: an array,
    of bytes a list. Raises ValueError for a number that is none."""
    cdef Py_buffer view
    cdef fg_slice each
    cdef const uint8_t* begin
    cdef int64_t i, n
    cdef Slices parts
    cdef char* out
    if kind == FG_BYTES:
        parts = Slices(1, total, slices.kept)
        out, values = <char*> parts.at, None
    else:
        values = np.empty(total, np.float32 if kind == FG_FLOATS else np.int64)
        out = _memory(values, &view)
    with nogil:
        for i in range(slices.n):
            each = slices.at[row * slices.n + i]
            begin = NULL
            n = fg_count(each, kind, &begin)
            if n > 0:
                out = fg_fill(each, begin, kind, out)
                if out == NULL:
                    break
    if kind == FG_BYTES:
        return [PyBytes_FromStringAndSize(<const char*> parts.at[i].p, parts.at[i].n) for i in range(total)]
    PyBuffer_Release(&view)
    if out == NULL:
        raise ValueError("a number has more than ten bytes")
    return values


def fixed(Slices slices not None, int64_t row, int kind, int64_t size, /):
    """The values of all features of a row, as `filled` gives them, if each has just `size` of `kind`; else None."""
    cdef const uint8_t* begin
    cdef int64_t i
    cdef Slices parts
    cdef Py_buffer view
    cdef char* out
    cdef bint fit = True
    if kind == FG_BYTES:
        parts = Slices(1, slices.n * size, slices.kept)
        out = <char*> parts.at
    else:
        values = np.empty(slices.n * size, np.float32 if kind == FG_FLOATS else np.int64)
        out = _memory(values, &view)
    with nogil:
        for i in range(slices.n):
            begin = NULL
            fit = fg_count(slices.at[row * slices.n + i], kind, &begin) == size
            if fit and size:
                out = fg_fill(slices.at[row * slices.n + i], begin, kind, out)
                fit = out != NULL
            if not fit:
                break
    if kind != FG_BYTES:
        PyBuffer_Release(&view)
        return values if fit else None
    if not fit:
        return None
    return [PyBytes_FromStringAndSize(<const char*> parts.at[i].p, parts.at[i].n) for i in range(slices.n * size)]


def members(Slices slices not None, int64_t row, /):
    """The Features of each FeatureList of a row: how many, i64[n] (-1 of one that is not there, -2 of bytes that are
    none), and where, one row."""
    counts = np.empty(slices.n, np.int64)
    cdef Py_buffer view
    cdef int64_t* out = <int64_t*> _memory(counts, &view)
    cdef int64_t i, total = 0
    for i in range(slices.n):
        out[i] = fg_members(slices.at[row * slices.n + i], NULL)
        total += max(out[i], 0)
    cdef Slices found = Slices(1, total, slices.kept)
    total = 0
    for i in range(slices.n):
        if out[i] > 0:
            fg_members(slices.at[row * slices.n + i], found.at + total)
            total += out[i]
    PyBuffer_Release(&view)
    return counts, found


def records(bytes block not None, int64_t at, int64_t limit, /):
    """The whole records of a block of a file, from `at` on, `limit` at most: (a list of bytes, where the next one
    begins, how many bytes this needs; 0: unknown, -1: its head, -2: its content has another checksum)."""
    cdef list found = []
    cdef int64_t end = PyBytes_GET_SIZE(block), need = 0
    cdef uint64_t size
    cdef uint32_t said
    cdef const uint8_t* p
    while limit > 0 and end - at >= 12:
        p = <const uint8_t*> PyBytes_AS_STRING(block) + at
        memcpy(&size, p, 8)
        memcpy(&said, p + 8, 4)
        if said != _masked(fg_crc32c(0, p, 8)):
            need = -1
            break
        if size > <uint64_t> 1 << 62:
            need = <int64_t> 1 << 62
            break
        need = <int64_t> size + 16
        if end - at < need:
            break
        memcpy(&said, p + 12 + size, 4)
        if said != _masked(fg_crc32c(0, p + 12, <int64_t> size)):
            need = -2
            break
        found.append(PyBytes_FromStringAndSize(<const char*> p + 12, <Py_ssize_t> size))
        at += need
        need = 0
        limit -= 1
    return found, at, need


def checksums(bytes block not None, int64_t at, int64_t n, int64_t size, int64_t stride, /):
    """The masked CRC-32C of n pieces of a block, each of `size` bytes, `stride` apart from `at` on. u32[n]."""
    cdef int64_t i
    cdef Py_buffer view
    if at < 0 or size < 0 or stride < 0 or (n > 0 and at + (n - 1) * stride + size > PyBytes_GET_SIZE(block)):
        raise ValueError("the block ends before")
    found = np.empty(n, np.uint32)
    cdef uint32_t* out = <uint32_t*> _memory(found, &view)
    cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(block) + at
    with nogil:
        for i in range(n):
            out[i] = _masked(fg_crc32c(0, p + i * stride, size))
    PyBuffer_Release(&view)
    return found


cdef inline uint32_t _masked(uint32_t crc) noexcept nogil:
    return <uint32_t> ((crc >> 15 | crc << 17) + <uint32_t> 0xA282EAD8)


include "field_scan.pxi"
