from libc.stdint cimport uint64_t


cdef class Bytes:
    cdef char* data
    cdef Py_ssize_t size, room

    cdef int reserve(self, Py_ssize_t more) except -1
    cdef int put(self, const char* data, Py_ssize_t n) except -1
    cdef int add(self, Bytes other) except -1
    cdef int number(self, uint64_t number) except -1
    cdef int field(self, uint64_t number, const char* data, Py_ssize_t n) except -1
    cdef int put_text(self, text) except -1
    cdef int text(self, uint64_t number, text) except -1
    cdef bytes whole(self)
