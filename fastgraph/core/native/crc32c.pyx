"""CRC-32C, the checksum of TensorFlow's files: of all that lends its bytes, without the GIL where they are many."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport int64_t, uint8_t, uint32_t

cdef extern from "core/native/crc32c.h" nogil:
    int fg_crc_by_instruction
    void fg_crc_begin()
    uint32_t fg_crc32c(uint32_t crc, const uint8_t* p, int64_t n)
    uint32_t fg_crc_by_tables(uint32_t crc, const uint8_t* p, int64_t n)

cdef enum:
    FEW = 4096  # bytes, half a microsecond: less than giving up the GIL may cost

fg_crc_begin()


def crc32c(content, uint32_t crc=0) -> int:
    """The CRC-32C of bytes that follow those of which `crc` is the checksum."""
    cdef Py_buffer view
    PyObject_GetBuffer(content, &view, PyBUF_SIMPLE)
    try:
        if view.len <= FEW:
            crc = fg_crc32c(crc, <const uint8_t*>view.buf, view.len)
        else:
            with nogil:
                crc = fg_crc32c(crc, <const uint8_t*>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)
    return crc


def by_tables(content not None) -> int:
    """The CRC-32C as CPUs without the instruction compute it: for tests."""
    cdef Py_buffer view  # a typed memoryview would be half of this extension
    PyObject_GetBuffer(content, &view, PyBUF_SIMPLE)
    try:
        return 0xFFFFFFFF ^ fg_crc_by_tables(0xFFFFFFFF, <const uint8_t*>view.buf, view.len)
    finally:
        PyBuffer_Release(&view)


def masked(uint32_t crc) -> int:
    """A checksum as files keep it: turned and moved on, so that checksums of checksums stay good ones."""
    return <uint32_t>((crc >> 15 | crc << 17) + <uint32_t>0xA282EAD8)
