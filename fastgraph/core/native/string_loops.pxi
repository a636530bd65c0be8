# Strings, which are bytes in arrays of Python objects: their fingerprints, their parts. The GIL is held.

cdef extern from "core/native/fingerprints.h" nogil:
    uint64_t fg_fingerprint(const uint8_t* p, int64_t n)
    uint64_t fg_keyed(const uint8_t* p, int64_t n, uint64_t first, uint64_t second)
    uint64_t fg_murmur(const uint8_t* p, int64_t n, uint64_t seed)

cdef extern from "core/native/arenas.h":
    void fg_keep_arenas()

cdef enum:
    FARM, SIP, MURMUR

cdef double[18] TENS
for _power in range(18):
    TENS[_power] = 10.0**_power


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


def fingerprints(cnp.ndarray words not None, int kind=FARM, uint64_t first=0, uint64_t second=0, /) -> np.ndarray:
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


cdef bint[256] IS_SPACE
for _power in range(256):
    IS_SPACE[_power] = _power == 32 or 9 <= _power <= 13


cdef inline bint _is_space(char c) noexcept nogil:
    return IS_SPACE[<uint8_t>c]


def objects(list parts not None) -> np.ndarray:
    """Strings as an array; np.fromiter asks an iterator for each. n strings -> string[n]."""
    cdef cnp.npy_intp i, n = len(parts)
    cdef cnp.ndarray found = cnp.PyArray_SimpleNew(1, &n, cnp.NPY_OBJECT)  # of NULL
    cdef PyObject** items = <PyObject**>cnp.PyArray_DATA(found)
    if n > 4096:
        fg_keep_arenas()
    for i in range(n):
        items[i] = PyList_GET_ITEM(parts, i)
        Py_INCREF(<object>items[i])
    return found


cdef class _Parts:
    """Strings as they come, in memory that an array takes over in one piece: a list would count references twice."""
    cdef PyObject** items
    cdef int64_t n, room

    def __dealloc__(self):
        cdef int64_t i
        for i in range(self.n):
            Py_DECREF(<object>self.items[i])
        PyMem_RawFree(self.items)

    cdef int add(self, const char* text, int64_t n) except -1:
        cdef PyObject** more
        if self.n == self.room:
            more = <PyObject**>PyMem_RawRealloc(self.items, (2 * self.room + 64) * sizeof(PyObject*))
            if more == NULL:
                raise MemoryError("no memory for the parts of strings")
            self.items, self.room = more, 2 * self.room + 64
        part = PyBytes_FromStringAndSize(text, n)
        Py_INCREF(part)
        self.items[self.n] = <PyObject*>part
        self.n += 1
        return 0

    cdef cnp.ndarray whole(self):
        """All of them; from now on it has none. -> string[n]."""
        cdef cnp.npy_intp n = self.n
        cdef cnp.ndarray found = cnp.PyArray_SimpleNew(1, &n, cnp.NPY_OBJECT)  # of NULL
        if n > 4096:
            fg_keep_arenas()
        if n:
            memcpy(cnp.PyArray_DATA(found), self.items, n * sizeof(PyObject*))
        self.n = 0
        return found


cdef inline int64_t _next_part(
    const char** at, const char* end, const char* cut, int64_t width, const char** begin
) noexcept nogil:
    """The bytes of a string's next part, which starts at `begin`; -1: there is none. Cut at white space where the
    separator has no width. `at` moves on, to NULL behind the last part of what separators cut.
    """
    cdef const char* p = at[0]
    if width == 0:
        while p < end and _is_space(p[0]):
            p += 1
        if p == end:
            return -1
        begin[0] = p
        while p < end and not _is_space(p[0]):
            p += 1
        at[0] = p
        return p - begin[0]
    if p == NULL:
        return -1
    begin[0] = p
    while p + width <= end and (p[0] != cut[0] or memcmp(p, cut, width)):
        p += 1
    if p + width > end:
        at[0] = NULL
        return end - begin[0]
    at[0] = p + width
    return p - begin[0]


def split(cnp.ndarray words not None, bytes between not None) -> tuple:
    """All parts of strings between separators, between white space where that is empty: which (row, column) they are,
    the parts, and how many each string has. string[n] -> i64[m, 2], string[m], i64[n].
    """
    cdef PyObject** items = _strings_of(words)
    cdef int64_t i, n = cnp.PyArray_SIZE(words), width = len(between), before
    cdef cnp.ndarray counts = np.empty(n, np.int64)
    cdef int64_t* count = <int64_t*>cnp.PyArray_DATA(counts)
    cdef int64_t size
    cdef const char* p
    cdef const char* end
    cdef const char* begin
    cdef const char* cut = PyBytes_AS_STRING(between)
    cdef _Parts parts = _Parts()
    for i in range(n):
        before = parts.n
        p = PyBytes_AS_STRING(<object>items[i])
        end = p + PyBytes_GET_SIZE(<object>items[i])
        while (size := _next_part(&p, end, cut, width, &begin)) >= 0:
            parts.add(begin, size)
        count[i] = parts.n - before
    return places(counts), parts.whole(), counts


def joined(
    cnp.ndarray words not None, cnp.ndarray numbers not None, int64_t n, bytes between not None, /
) -> np.ndarray:
    """Strings with the same number from 0 to n - 1, one after the other with what is between. string[m], i64[m] ->
    string[n]. Raises: IndexError for another number."""
    cdef PyObject** items = _strings_of(words)
    cdef int64_t i, k, m = cnp.PyArray_SIZE(words), width = len(between), size
    cdef const int64_t* number = <const int64_t*>cnp.PyArray_DATA(numbers)
    cdef const char* cut = PyBytes_AS_STRING(between)
    cdef cnp.ndarray lengths = np.full(n, -width, np.int64)
    cdef int64_t* length = <int64_t*>cnp.PyArray_DATA(lengths)
    cdef cnp.npy_intp dims = n
    cdef cnp.ndarray found
    cdef PyObject** out
    cdef char** at
    if cnp.PyArray_TYPE(numbers) != cnp.NPY_INT64 or not cnp.PyArray_IS_C_CONTIGUOUS(numbers) or numbers.size != m:
        raise ValueError("there is a number for each string")
    for i in range(m):
        if not 0 <= number[i] < n:
            raise IndexError(f"{number[i]} is no number from 0 to {n - 1}")
        length[number[i]] += width + PyBytes_GET_SIZE(<object>items[i])
    found = cnp.PyArray_SimpleNew(1, &dims, cnp.NPY_OBJECT)  # of NULL
    out = <PyObject**>cnp.PyArray_DATA(found)
    at = <char**>PyMem_RawMalloc((n + 1) * sizeof(char*))
    if at == NULL:
        raise MemoryError("no memory for places in strings")
    try:
        for k in range(n):
            text = PyBytes_FromStringAndSize(NULL, max(length[k], 0))
            Py_INCREF(text)
            out[k] = <PyObject*>text
            at[k] = PyBytes_AS_STRING(text)
            length[k] = -1  # no string yet
        for i in range(m):
            k = number[i]
            if length[k] >= 0 and width:
                memcpy(at[k], cut, width)
                at[k] += width
            length[k] = 0
            size = PyBytes_GET_SIZE(<object>items[i])
            memcpy(at[k], PyBytes_AS_STRING(<object>items[i]), size)
            at[k] += size
    finally:
        PyMem_RawFree(at)
    return found


def places(cnp.ndarray counts not None) -> np.ndarray:
    """The row and the column of each part of rows of so many. i64[n] -> i64[m, 2]."""
    if counts.dtype != np.int64 or not counts.flags.c_contiguous or (counts < 0).any():
        raise ValueError("counts are int64, one after the other, none negative")
    cdef int64_t* count = <int64_t*>cnp.PyArray_DATA(counts)
    cdef cnp.ndarray found = np.empty((counts.sum(), 2), np.int64)
    cdef int64_t* out = <int64_t*>cnp.PyArray_DATA(found)
    cdef int64_t i, k
    with nogil:
        for i in range(cnp.PyArray_SIZE(counts)):
            for k in range(count[i]):
                out[0], out[1] = i, k
                out += 2
    return found


def cut(cnp.ndarray words not None, int64_t pos, int64_t most, /) -> np.ndarray | None:
    """Return at most so many bytes of strings from a place on; None if one ends before it. string[*s] -> string[n]."""
    cdef PyObject** items = _strings_of(words)
    cdef int64_t i, n
    cdef list parts = []
    for i in range(cnp.PyArray_SIZE(words)):
        n = PyBytes_GET_SIZE(<object>items[i]) - pos
        if n < 0:
            return None
        parts.append(PyBytes_FromStringAndSize(PyBytes_AS_STRING(<object>items[i]) + pos, min(n, most)))
    return objects(parts)


def printed(cnp.ndarray x not None, str letter not None, int precision, /) -> list:
    """Numbers as printf writes them ("f", "e", "g"; "d") in any locale. f64[n], i64[n], u64[n] -> n strings."""
    cdef int64_t i, whole
    cdef uint64_t left
    cdef char digits[24]
    cdef char* p
    cdef char code = ord(letter)
    cdef bint real = x.dtype == np.float64, signed = x.dtype == np.int64
    cdef const double* floats = <const double*>cnp.PyArray_DATA(x)
    cdef const int64_t* ints = <const int64_t*>cnp.PyArray_DATA(x)
    cdef list parts = []
    if not (real or signed or x.dtype == np.uint64) or not cnp.PyArray_IS_C_CONTIGUOUS(x):
        raise ValueError("numbers are of 64 bits, one after the other")
    for i in range(cnp.PyArray_SIZE(x)):
        if real:
            p = PyOS_double_to_string(floats[i], code, precision, 0, NULL)
            if p == NULL:
                raise MemoryError
            parts.append(<bytes>p)
            PyMem_Free(p)
            continue
        whole = ints[i]
        left = -<uint64_t>whole if signed and whole < 0 else <uint64_t>whole
        p = digits + 24
        while True:
            p -= 1
            p[0] = <char>(b"0"[0] + left % 10)
            left //= 10
            if left == 0:
                break
        if signed and whole < 0:
            p -= 1
            p[0] = b"-"[0]
        parts.append(PyBytes_FromStringAndSize(p, digits + 24 - p))
    return parts


def lengths(cnp.ndarray words not None, bint characters, /) -> np.ndarray:
    """The bytes of each string, or its characters of UTF-8: the bytes with which one begins. string[*s] -> i32[*s]."""
    cdef PyObject** items = _strings_of(words)
    cdef cnp.ndarray found = np.empty((<object>words).shape, np.int32)
    cdef int32_t* out = <int32_t*>cnp.PyArray_DATA(found)
    cdef const char* p
    cdef int64_t i, k, n
    cdef int32_t count
    for i in range(cnp.PyArray_SIZE(words)):
        n = PyBytes_GET_SIZE(<object>items[i])
        if characters:
            p, count = PyBytes_AS_STRING(<object>items[i]), 0
            for k in range(n):
                count += (p[k] & 0xC0) != 0x80
            n = count
        out[i] = <int32_t>n
    return found


def numbers(cnp.ndarray words not None, bint real, /) -> np.ndarray | None:
    """The number that each string says; None if one is not written as C writes numbers. string[*s] -> f64[*s], i64[*s].

    Of whole numbers at most 16 digits are read.
    """
    cdef PyObject** items = _strings_of(words)
    cdef cnp.ndarray found = np.empty((<object>words).shape, np.float64 if real else np.int64)
    cdef double* floats = <double*>cnp.PyArray_DATA(found)
    cdef int64_t* ints = <int64_t*>cnp.PyArray_DATA(found)
    cdef const char* p
    cdef const char* begin
    cdef const char* end
    cdef const char* point
    cdef char* stopped
    cdef int64_t i, whole
    cdef bint below
    for i in range(cnp.PyArray_SIZE(words)):
        begin = p = PyBytes_AS_STRING(<object>items[i])
        end = p + PyBytes_GET_SIZE(<object>items[i])
        below = p < end and p[0] == b"-"
        if p < end and (p[0] == b"-" or p[0] == b"+"):
            p += 1
        whole, point = 0, NULL
        # Numbers of at most 15 digits and powers of ten up to 22 are exact, and so their quotient is rounded once.
        while p < end and (48 <= p[0] <= 57 or (real and p[0] == 46 and point == NULL)) and p - begin < 17:
            if p[0] == 46:  # the point
                point = p
            else:
                whole = 10 * whole + p[0] - 48
            p += 1
        if p == end and p > begin and 48 <= (p - 1)[0] <= 57 and (not real or whole < 1000000000000000):
            if not real:
                ints[i] = -whole if below else whole
                continue
            floats[i] = <double>whole / TENS[0 if point == NULL else p - point - 1]
            if below:
                floats[i] = -floats[i]
            continue
        if not real or begin == end:
            return None
        stopped = NULL
        try:
            floats[i] = PyOS_string_to_double(begin, &stopped, NULL)
        except ValueError:
            return None
        if stopped != end:
            return None
    return found


def edits(cnp.ndarray a not None, cnp.ndarray b not None, cnp.ndarray ends not None, /) -> np.ndarray:
    """Count the insertions, deletions and exchanges that make each row of a one of b, which end there.

    i64[n], i64[m], i64[2, r] -> i64[r].
    """
    if any([part.dtype != np.int64 or not part.flags.c_contiguous for part in (a, b, ends)]):
        raise ValueError("codes and ends are int64, one after the other")
    if ends.ndim != 2 or ends.shape[0] != 2 or (np.diff(ends, prepend=0) < 0).any():
        raise ValueError("two rows of ends, none before the one before it")
    cdef int64_t rows = ends.shape[1], row, i, j, first = 0, second = 0, before, above, best, n
    cdef const int64_t* x = <const int64_t*>cnp.PyArray_DATA(a)
    cdef const int64_t* y = <const int64_t*>cnp.PyArray_DATA(b)
    cdef const int64_t* end = <const int64_t*>cnp.PyArray_DATA(ends)
    if rows and (end[rows - 1] > cnp.PyArray_SIZE(a) or end[2 * rows - 1] > cnp.PyArray_SIZE(b)):
        raise ValueError("a row ends beyond the codes")
    cdef cnp.ndarray found = np.empty(rows, np.int64), scratch = np.empty(cnp.PyArray_SIZE(b) + 1, np.int64)
    cdef int64_t* out = <int64_t*>cnp.PyArray_DATA(found)
    cdef int64_t* left = <int64_t*>cnp.PyArray_DATA(scratch)  # the row of the table of distances that was last made
    with nogil:
        for row in range(rows):
            n = end[rows + row] - second
            for j in range(n + 1):
                left[j] = j
            for i in range(first, end[row]):
                before = left[0]
                best = left[0] = before + 1
                for j in range(n):
                    above = left[j + 1]
                    best = min(min(above, best) + 1, before + (x[i] != y[second + j]))
                    before, left[j + 1] = above, best
            out[row] = left[n]
            first, second = end[row], end[rows + row]
    return found
