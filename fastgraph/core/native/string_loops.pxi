# Strings, which are bytes in arrays of Python objects: their fingerprints, their parts. The GIL is held.

cdef extern from "core/native/fingerprints.h" nogil:
    uint64_t fg_fingerprint(const uint8_t* p, int64_t n)
    uint64_t fg_keyed(const uint8_t* p, int64_t n, uint64_t first, uint64_t second)
    uint64_t fg_murmur(const uint8_t* p, int64_t n, uint64_t seed)

cdef enum:
    FARM, SIP, MURMUR


cdef PyObject** _strings_of(cnp.ndarray words) except? NULL:
    """The objects of a contiguous array, all of them bytes."""
    cdef int64_t i, n = cnp.PyArray_SIZE(words)
    cdef PyObject** items = <PyObject**>cnp.PyArray_DATA(words)
    if cnp.PyArray_TYPE(words) != cnp.NPY_OBJECT or not cnp.PyArray_IS_C_CONTIGUOUS(words):
        raise ValueError("strings are objects, one after the other")
    for i in range(n):
        if items[i] == NULL or not PyBytes_CheckExact(<object>items[i]):
            raise TypeError(f"a string is bytes, not {type(words.flat[i]).__name__}")
    return items


def fingerprints(cnp.ndarray words not None, int kind=FARM, uint64_t first=0, uint64_t second=0) -> np.ndarray:
    """FarmHash's fingerprints (0), SipHash's by two words of key (1), Murmur's by a seed (2). string[*s] -> u64[*s]."""
    cdef PyObject** items = _strings_of(words)
    cdef cnp.ndarray found = np.empty((<object>words).shape, np.uint64)
    cdef uint64_t* out = <uint64_t*>cnp.PyArray_DATA(found)
    cdef const uint8_t* text
    cdef int64_t i, n
    for i in range(cnp.PyArray_SIZE(words)):
        text, n = <const uint8_t*>PyBytes_AS_STRING(<object>items[i]), PyBytes_GET_SIZE(<object>items[i])
        if kind == FARM:
            out[i] = fg_fingerprint(text, n)
        elif kind == SIP:
            out[i] = fg_keyed(text, n, first, second)
        else:
            out[i] = fg_murmur(text, n, first)
    return found


cdef inline bint _is_space(char c) noexcept nogil:
    return c == b" " or 9 <= c <= 13


def split(cnp.ndarray words not None, bytes between not None) -> tuple:
    """All parts of strings between separators, between white space where that is empty, and how many each has.

    string[n] -> string[m], i64[n].
    """
    cdef PyObject** items = _strings_of(words)
    cdef int64_t i, n = cnp.PyArray_SIZE(words), width = len(between), before
    cdef cnp.ndarray counts = np.empty(n, np.int64)
    cdef int64_t* count = <int64_t*>cnp.PyArray_DATA(counts)
    cdef const char* p
    cdef const char* end
    cdef const char* begin
    cdef const char* cut = PyBytes_AS_STRING(between)
    cdef list parts = []
    for i in range(n):
        before = len(parts)
        p = PyBytes_AS_STRING(<object>items[i])
        end = p + PyBytes_GET_SIZE(<object>items[i])
        if width == 0:
            while True:
                while p < end and _is_space(p[0]):
                    p += 1
                if p == end:
                    break
                begin = p
                while p < end and not _is_space(p[0]):
                    p += 1
                parts.append(PyBytes_FromStringAndSize(begin, p - begin))
        else:
            while True:
                begin = p
                while p + width <= end and (p[0] != cut[0] or memcmp(p, cut, width)):
                    p += 1
                if p + width > end:
                    parts.append(PyBytes_FromStringAndSize(begin, end - begin))
                    break
                parts.append(PyBytes_FromStringAndSize(begin, p - begin))
                p += width
        count[i] = len(parts) - before
    return np.fromiter(parts, object, len(parts)), counts
