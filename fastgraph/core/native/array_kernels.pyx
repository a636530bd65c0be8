"""Loops that NumPy has not: rows combined by their numbers, different and greatest elements, small systems, boxes that
overlap, alignments, checksums of bytes, colors of JPEGs, fingerprints and parts of strings.

Rule: sizes are checked here before C touches memory, which it does without the GIL where there is much of it.
"""

cimport numpy as cnp
from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_ITEM
from cpython.mem cimport PyMem_Free, PyMem_RawFree, PyMem_RawMalloc, PyMem_RawRealloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF, Py_INCREF
from libc.stdint cimport int16_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

import os

import numpy as np

from fastgraph.core.native.thread_pool cimport pool_share

cdef extern from "core/native/crc32c.h" nogil:
    int fg_crc_by_instruction
    void fg_crc_begin()
    uint32_t fg_crc32c(uint32_t crc, const uint8_t* p, int64_t n)
    uint32_t fg_crc_joined(uint32_t first, uint32_t second, int64_t n)
    int64_t fg_crc_of_file(int file, int64_t at, int64_t n, uint8_t* to, int64_t piece, int keep, uint32_t* crc)

cdef extern from "Python.h":
    double PyOS_string_to_double(const char* text, char** end, PyObject* overflow) except? -1.0
    char* PyOS_double_to_string(double x, char code, int precision, int flags, int* kind)

cdef extern from "core/native/segments_and_unique.h" nogil:
    ctypedef int64_t (*fg_combine)(void*, const void*, const int64_t*, int64_t, int64_t, int64_t)
    fg_combine fg_combine_of(int how, char kind, int bytes)
    int64_t fg_unique_32(const uint32_t* x, int64_t n, int real, int32_t* where, int32_t* first, int32_t* count)
    int64_t fg_unique_64(const uint64_t* x, int64_t n, int real, int32_t* where, int32_t* first, int32_t* count)

cdef extern from "core/native/non_max_suppression.h" nogil:
    int64_t fg_suppress(const float* boxes, int64_t n, int64_t room, float above, float* lines, int32_t* numbers)

cdef extern from "core/native/greatest.h" nogil:
    void fg_greatest_f32(const void* x, int32_t* place, void* room, int64_t rows, int64_t n, int64_t k)
    void fg_greatest_f64(const void* x, int32_t* place, void* room, int64_t rows, int64_t n, int64_t k)
    void fg_greatest_i32(const void* x, int32_t* place, void* room, int64_t rows, int64_t n, int64_t k)
    void fg_greatest_i64(const void* x, int32_t* place, void* room, int64_t rows, int64_t n, int64_t k)

cdef extern from "core/native/half_floats.h" nogil:
    int fg_widen_float16(char** operands, const int64_t* steps, char* result, int64_t n)
    int fg_narrow_float16(char** operands, const int64_t* steps, char* result, int64_t n)

cdef extern from "core/native/ctc_alignments.h" nogil:
    double fg_align(const double* sure, int64_t frames, int64_t stride, const int64_t* states, const uint8_t* skips,
                    int64_t m, const double* ends, double never, long double* ahead, long double* back,
                    double* gradient)

cdef extern from "core/native/jpeg_colors.h" nogil:
    void fg_jpeg_colors(uint8_t* pixels, const uint8_t* cb, const uint8_t* cr, int64_t h, int64_t w, int across,
                        int down, int16_t* work)

cdef extern from "core/native/fourier.h" nogil:
    int fg_has_fourier()
    void** fg_fourier_kernels

cnp.import_array()

cdef tuple _hows = ("add", "sub", "mul", "max", "min", "segmax", "segmin")  # as in segments_and_unique.h

cdef enum:
    FEW = 4096  # elements: less than giving up the GIL may cost
    SHARED = 16384       # elements that a thread takes at a time
    MOST_GREATEST = 128  # of a row: more are sorted


def fourier_kernel(int what, bint is_double) -> int:
    """Return the address of a kernel of transforms: complex ones (0), from real numbers (1), to them (2); or 0."""
    if not 0 <= what <= 2:
        raise ValueError("no such transform")
    return <int64_t>fg_fourier_kernels[2 * what + is_double] if fg_has_fourier() else 0


def combine(str how not None, cnp.ndarray rows not None, cnp.ndarray ids not None, cnp.ndarray x not None) -> bool:
    """Combine rows of x with those whose numbers they have, in order; False where NumPy must. t[m, k], i64[n], t[n, k].

    Rows of negative numbers are passed over. Raises: ValueError for sizes that do not fit, IndexError for a number
    that is no row.
    """
    cdef cnp.dtype dtype = rows.dtype
    cdef char kind = <char>dtype.kind
    cdef int64_t n = ids.shape[0] if ids.ndim == 1 else -1, bad, count, inner, bytes = cnp.PyArray_ITEMSIZE(rows)
    cdef int number = _hows.index(how)
    cdef void* out = cnp.PyArray_DATA(rows)
    cdef const void* given = cnp.PyArray_DATA(x)
    cdef const int64_t* at = <const int64_t*>cnp.PyArray_DATA(ids)
    cdef fg_combine loop
    if rows.ndim != 2 or x.ndim != 2 or x.shape[0] != n or x.shape[1] != rows.shape[1] or x.dtype != dtype:
        raise ValueError("rows of other sizes or dtypes than those that they come to")
    if cnp.PyArray_TYPE(ids) != cnp.NPY_INT64 or not rows.flags.writeable:
        raise ValueError("numbers are int64, and rows are written")
    if not (cnp.PyArray_IS_C_CONTIGUOUS(rows) and cnp.PyArray_IS_C_CONTIGUOUS(x) and cnp.PyArray_IS_C_CONTIGUOUS(ids)):
        raise ValueError("what is combined is contiguous")
    count, inner = rows.shape[0], rows.shape[1]
    if kind == b"c" and number <= 1:
        kind, bytes, inner = b"f", bytes // 2, 2 * inner
    loop = fg_combine_of(number, kind, <int>bytes)
    if loop == NULL or not cnp.PyArray_ISNOTSWAPPED(rows) or not cnp.PyArray_ISALIGNED(rows):
        return False
    if n * inner < FEW:
        bad = loop(out, given, at, n, count, inner)
    else:
        with nogil:
            bad = loop(out, given, at, n, count, inner)
    if bad >= 0:
        raise IndexError(f"row {at[bad]} of {count}")
    return True


def jpeg_colors(cnp.ndarray pixels not None, int across, int down, /) -> None:
    """Write over Y, Cb, Cr, of which the latter repeat across and down, what libjpeg shows: interpolated. u8[h, w, 3].

    across, down: 1 or 2, not both 1. Raises: ValueError for other arrays and numbers.
    """
    cdef int64_t h, w
    if pixels.ndim != 3 or pixels.shape[2] != 3 or cnp.PyArray_TYPE(pixels) != cnp.NPY_UINT8:
        raise ValueError("pixels are u8[h, w, 3]")
    if (across, down) not in ((2, 2), (2, 1), (1, 2)) or not pixels.flags.carray:
        raise ValueError("pixels are contiguous, and chroma stands for two of them or four")
    h, w = pixels.shape[0], pixels.shape[1]
    cdef cnp.ndarray cb = np.ascontiguousarray(pixels[::down, ::across, 1])
    cdef cnp.ndarray cr = np.ascontiguousarray(pixels[::down, ::across, 2])
    cdef cnp.ndarray work = np.empty(5 * w, np.int16)
    cdef uint8_t* out = <uint8_t*>cnp.PyArray_DATA(pixels)
    cdef const uint8_t* blue = <const uint8_t*>cnp.PyArray_DATA(cb)
    cdef const uint8_t* red = <const uint8_t*>cnp.PyArray_DATA(cr)
    cdef int16_t* room = <int16_t*>cnp.PyArray_DATA(work)
    with nogil:
        fg_jpeg_colors(out, blue, red, h, w, across, down, room)


def unique(cnp.ndarray x not None) -> tuple:
    """Find where the different elements are first, how often each is there, and each one's number, by appearance.

    t[n], contiguous, of 4 or 8 bytes, -> i32[m], i32[m], i32[n]. Zeros of floats are one, no NaN is like another.
    Raises: ValueError for other arrays, MemoryError.
    """
    cdef int64_t n = x.shape[0] if x.ndim == 1 else -1, found
    cdef cnp.dtype dtype = x.dtype
    cdef char kind = <char>dtype.kind
    cdef int real = kind == b"f"
    cdef int bytes = <int>cnp.PyArray_ITEMSIZE(x)
    if n < 0 or n >= 1 << 31 or bytes not in (4, 8) or not (real or kind == b"i" or kind == b"u"):
        raise ValueError("what is not a vector of elements of 4 or 8 bytes")
    if not cnp.PyArray_IS_C_CONTIGUOUS(x) or not cnp.PyArray_ISALIGNED(x) or not cnp.PyArray_ISNOTSWAPPED(x):
        raise ValueError("what is counted is contiguous")
    cdef cnp.ndarray first = np.empty(n, np.int32), count = np.empty(n, np.int32), where = np.empty(n, np.int32)
    cdef const void* given = cnp.PyArray_DATA(x)
    cdef int32_t* w = <int32_t*>cnp.PyArray_DATA(where)
    cdef int32_t* f = <int32_t*>cnp.PyArray_DATA(first)
    cdef int32_t* c = <int32_t*>cnp.PyArray_DATA(count)
    with nogil:
        if bytes == 4:
            found = fg_unique_32(<const uint32_t*>given, n, real, w, f, c)
        else:
            found = fg_unique_64(<const uint64_t*>given, n, real, w, f, c)
    if found < 0:
        raise MemoryError
    return first[:found], count[:found], where


ctypedef void (*Greatest)(const void*, int32_t*, void*, int64_t, int64_t, int64_t) noexcept nogil

cdef struct Choosing:  # the greatest of rows, shared among threads
    Greatest loop
    const char* x
    int32_t* place
    int64_t item, n, k


cdef void _greatest_rows(void* context, int64_t first, int64_t last) noexcept nogil:
    cdef Choosing* c = <Choosing*>context
    cdef double[MOST_GREATEST] room
    c.loop(c.x + first * c.n * c.item, c.place + first * c.k, &room[0], last - first, c.n, c.k)


def greatest(cnp.ndarray x not None, int64_t k, /):
    """The places of the k greatest of each row, falling, the first of equals first; None where a sort must find them.

    t[*s, n] -> i32[*s, k]; k from 1 to n.
    """
    cdef Choosing c
    cdef int kind = cnp.PyArray_TYPE(x)
    cdef int64_t rows
    if x.ndim == 0 or not 1 <= k <= min(<int64_t>MOST_GREATEST, x.shape[x.ndim - 1]) or x.shape[x.ndim - 1] >> 31:
        return None
    if not cnp.PyArray_IS_C_CONTIGUOUS(x) or not cnp.PyArray_ISBEHAVED_RO(x) or x.size == 0:
        return None
    c.item, c.n, c.k = cnp.PyArray_ITEMSIZE(x), x.shape[x.ndim - 1], k
    if kind == cnp.NPY_FLOAT32:
        c.loop = fg_greatest_f32
    elif kind == cnp.NPY_FLOAT64:
        c.loop = fg_greatest_f64
    elif kind == cnp.NPY_INT32:
        c.loop = fg_greatest_i32
    elif kind == cnp.NPY_INT64:
        c.loop = fg_greatest_i64
    else:
        return None
    cdef cnp.ndarray places = np.empty((*(<object>x).shape[:x.ndim - 1], k), np.int32)
    rows = x.size // c.n
    c.x = <const char*>cnp.PyArray_DATA(x)
    c.place = <int32_t*>cnp.PyArray_DATA(places)
    if x.size < FEW:
        _greatest_rows(&c, 0, rows)
    else:
        with nogil:
            pool_share(_greatest_rows, &c, rows, max(<int64_t>1, SHARED // c.n))
    return places


def suppressed(cnp.ndarray boxes not None, int64_t most, float above, /) -> cnp.ndarray:
    """The rows of boxes, the best first, that have no more than `above` in common with one before. f32[n, 4] -> i32[k].

    Raises: ValueError for other arrays.
    """
    if (boxes.ndim != 2 or boxes.shape[1] != 4 or boxes.shape[0] >= 1 << 31
            or cnp.PyArray_TYPE(boxes) != cnp.NPY_FLOAT32):
        raise ValueError("boxes are float32 [n, 4]")
    if not cnp.PyArray_IS_C_CONTIGUOUS(boxes) or not cnp.PyArray_ISBEHAVED_RO(boxes):
        raise ValueError("boxes are contiguous")
    cdef int64_t n = boxes.shape[0], room = max(0, min(most, n)), count
    cdef cnp.ndarray numbers = np.empty(room, np.int32), lines = np.empty(5 * room, np.float32)
    cdef const void* given = cnp.PyArray_DATA(boxes)
    cdef void* found = cnp.PyArray_DATA(numbers)
    cdef void* work = cnp.PyArray_DATA(lines)
    with nogil:
        count = fg_suppress(<const float*>given, n, room, above, <float*>work, <int32_t*>found)
    return numbers[:count]


def converted(cnp.ndarray x not None) -> np.ndarray:
    """float16 as float32 or back, rounded to nearest: NumPy converts one by one. f16[*s] -> f32[*s].

    Raises: ValueError for other arrays.
    """
    cdef bint wide = cnp.PyArray_TYPE(x) == cnp.NPY_FLOAT32
    if not (wide or cnp.PyArray_TYPE(x) == cnp.NPY_FLOAT16) or not cnp.PyArray_IS_C_CONTIGUOUS(x):
        raise ValueError("what is converted is float16 or float32, one after the other")
    if not cnp.PyArray_ISBEHAVED_RO(x):
        raise ValueError("what is converted is as the CPU has it")
    cdef cnp.ndarray found = np.empty((<object>x).shape, np.float16 if wide else np.float32)
    cdef char* given = <char*>cnp.PyArray_DATA(x)
    cdef char* out = <char*>cnp.PyArray_DATA(found)
    cdef int64_t n = cnp.PyArray_SIZE(x)
    with nogil:
        if wide:
            fg_narrow_float16(&given, NULL, out, n)
        else:
            fg_widen_float16(&given, NULL, out, n)
    return found


def aligned(cnp.ndarray sure not None, cnp.ndarray lengths not None, cnp.ndarray states not None,
            cnp.ndarray skips not None, cnp.ndarray ends not None, double never, cnp.ndarray gradient not None, /):
    """The logarithm of each sample's probability of going through its states in so many frames; the states' shares of
    each frame are taken from `gradient`, which holds the probabilities.

    f64[t, n, c], i64[n], i64[n, m], bool[n, m], f64[n, m], f64[t, n, c] -> f64[n]. 0 for no frames.
    ends: of ending in a state; never: of beginning where one cannot. Raises: ValueError for other arrays.
    """
    cdef int64_t frames, n, c, m, i, k
    for each, rank, kind in ((sure, 3, cnp.NPY_FLOAT64), (gradient, 3, cnp.NPY_FLOAT64), (lengths, 1, cnp.NPY_INT64),
                             (states, 2, cnp.NPY_INT64), (skips, 2, cnp.NPY_BOOL), (ends, 2, cnp.NPY_FLOAT64)):
        if each.ndim != rank or each.dtype.num != kind or not each.flags.c_contiguous:
            raise ValueError("what is aligned is contiguous, of other dtypes or ranks than these")
    frames, n, c, m = sure.shape[0], sure.shape[1], sure.shape[2], states.shape[1]
    given = {(<object>each).shape for each in (states, skips, ends)}
    given_gradient = (<object>gradient).shape
    if given != {(n, m)} or (<object>lengths).shape != (n,) or given_gradient != (<object>sure).shape or m < 1:
        raise ValueError("what is aligned has other sizes")
    if n and ((<object>lengths).min() < 0 or (<object>lengths).max() > frames or (<object>skips)[:, :2].any()):
        raise ValueError("a sample has more frames than there are, or skips what is before its first state")
    if n and ((<object>states).min() < 0 or (<object>states).max() >= c):
        raise ValueError("a state is no class")
    cdef cnp.ndarray found = np.zeros(n), room = np.empty((frames + 1, m), np.longdouble)
    cdef double* total = <double*>cnp.PyArray_DATA(found)
    cdef long double* ahead = <long double*>cnp.PyArray_DATA(room)
    cdef const double* logs = <const double*>cnp.PyArray_DATA(sure)
    cdef double* shares = <double*>cnp.PyArray_DATA(gradient)
    cdef const int64_t* times = <const int64_t*>cnp.PyArray_DATA(lengths)
    cdef const int64_t* classes = <const int64_t*>cnp.PyArray_DATA(states)
    cdef const uint8_t* skipped = <const uint8_t*>cnp.PyArray_DATA(skips)
    cdef const double* ending = <const double*>cnp.PyArray_DATA(ends)
    with nogil:
        for i in range(n):
            k = i * m
            if times[i]:
                total[i] = fg_align(logs + i * c, times[i], n * c, classes + k, skipped + k, m, ending + k, never,
                                    ahead, ahead + frames * m, shares + i * c)
    return found


# CRC-32C, the checksum of TensorFlow's files: of all that lends its bytes, without the GIL where they are many.

cdef enum:
    FEW_BYTES = 4096  # half a microsecond: less than giving up the GIL may cost

fg_crc_begin()


def crc32c(content, uint32_t crc=0, /) -> int:
    """The CRC-32C of bytes that follow those of which `crc` is the checksum."""
    cdef Py_buffer view
    PyObject_GetBuffer(content, &view, PyBUF_SIMPLE)
    try:
        if view.len <= FEW_BYTES:
            crc = fg_crc32c(crc, <const uint8_t*>view.buf, view.len)
        else:
            with nogil:
                crc = fg_crc32c(crc, <const uint8_t*>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)
    return crc


def joined_crc(uint32_t first, uint32_t second, int64_t n, /) -> int:
    """The CRC-32C of bytes and n more by the checksum of each."""
    return fg_crc_joined(first, second, n)


def crc32c_of_file(int file, int64_t at, int64_t n, memory, int64_t piece, bint checked, /) -> int:
    """The CRC-32C of n bytes of a file that are read into memory, each piece over the last where it holds fewer.

    0 unless `checked`. Raises EOFError if they are not there, OSError as reading does.
    """
    cdef Py_buffer view
    cdef int64_t got
    cdef uint32_t crc = 0
    PyObject_GetBuffer(memory, &view, PyBUF_WRITABLE)
    try:
        if piece <= 0 or view.len < min(n, piece):
            raise ValueError(f"pieces of {piece} bytes in {view.len}")
        with nogil:
            got = fg_crc_of_file(file, at, n, <uint8_t*> view.buf, piece, view.len >= n, &crc if checked else NULL)
    finally:
        PyBuffer_Release(&view)
    if got < 0:
        raise OSError(-got, os.strerror(<int> -got))
    if got < n:
        raise EOFError(f"{got} bytes of {n} are there")
    return crc


def masked(uint32_t crc) -> int:
    """A checksum as files keep it: turned and moved on, so that checksums of checksums stay good ones."""
    return <uint32_t>((crc >> 15 | crc << 17) + <uint32_t>0xA282EAD8)


include "linear_systems.pxi"
include "string_loops.pxi"
include "string_codecs.pxi"
include "string_numbers.pxi"
