# Strings numbered as they appear: the hash table behind tf.unique and the fixed tables of tf.lookup.

cdef extern from *:
    """
    #if PY_VERSION_HEX >= 0x030E0000
    #define fg_hash_bytes Py_HashBuffer
    #else
    #define fg_hash_bytes _Py_HashBytes
    #endif
    #define fg_text(string) PyBytes_AS_STRING(string)
    #define fg_size(string) PyBytes_GET_SIZE(string)
    """
    int64_t fg_hash_bytes(const void* text, Py_ssize_t n) nogil
    const char* fg_text(PyObject* string) nogil
    int64_t fg_size(PyObject* string) nogil
    ctypedef struct _List "PyListObject":
        PyObject** ob_item

cdef enum:
    ROWS_SHARED = 256  # strings cut up by one thread at a time

cdef struct _Cutting:
    PyObject** items
    const char* cut
    int64_t width
    int64_t* ends  # of each string: first its number of parts, then where they end
    int64_t* out  # NULL: parts are counted only
    const int64_t* places
    int64_t mask
    PyObject** known


cdef void _number_parts(void* context, int64_t first, int64_t last) noexcept nogil:
    """Count the parts of strings `first` to `last`, or write their numbers."""
    cdef _Cutting* c = <_Cutting*>context
    cdef int64_t i, n, size
    cdef const char* p
    cdef const char* end
    cdef const char* begin
    for i in range(first, last):
        p = fg_text(c.items[i])
        end = p + fg_size(c.items[i])
        n = 0 if c.out == NULL or i == 0 else c.ends[i - 1]
        while (size := _next_part(&p, end, c.cut, c.width, &begin)) >= 0:
            if c.out != NULL:
                c.out[n] = _number_of(c.places, c.mask, c.known, begin, size, fg_hash_bytes(begin, size))
            n += 1
        if c.out == NULL:
            c.ends[i] = n


cdef inline int64_t _number_of(
    const int64_t* places, int64_t mask, PyObject** known, const char* text, int64_t n, int64_t code
) noexcept nogil:
    """The number of a string, -1 of one that is not known."""
    cdef int64_t at = code & mask
    cdef PyObject* other
    while places[2 * at + 1]:
        if places[2 * at] == code:
            other = known[places[2 * at + 1] - 1]
            if fg_size(other) == n and not memcmp(fg_text(other), text, n):
                return places[2 * at + 1] - 1
        at = (at + 1) & mask
    return -1


cdef class StringNumbers:
    """Different strings and their numbers, from 0 in order of appearance.

    Open addressing over pairs of a hash and a number + 1; at most half of the places are taken. The hash is Python's:
    it is keyed, so that nobody can choose strings that meet, and a string keeps it.
    """

    cdef list known
    cdef cnp.ndarray places
    cdef int64_t mask

    def __cinit__(self):
        self.known = []
        self._make(64)

    cdef int _make(self, int64_t size) except -1:
        """Have so many places, a power of two, and put the strings there are in them."""
        cdef int64_t number
        self.places, self.mask = np.zeros(2 * size, np.int64), size - 1
        for number in range(len(self.known)):
            self._put(hash(self.known[number]), number)
        return 0

    cdef void _put(self, int64_t code, int64_t number) noexcept:
        cdef int64_t* places = <int64_t*>cnp.PyArray_DATA(self.places)
        cdef int64_t at = code & self.mask
        while places[2 * at + 1]:
            at = (at + 1) & self.mask
        places[2 * at], places[2 * at + 1] = code, number + 1

    cdef PyObject** _words(self):
        """The strings there are, as long as none is added."""
        return (<_List*>self.known).ob_item

    def numbers(self, cnp.ndarray words not None, bint add):
        """The number of each string; new ones get the next ones, or, without `add`, -1. string[*s] -> i64[*s]."""
        cdef PyObject** items = _strings_of(words)
        cdef cnp.ndarray found = np.empty((<object>words).shape, np.int64)
        cdef int64_t* out = <int64_t*>cnp.PyArray_DATA(found)
        cdef int64_t i, code
        cdef bytes word
        for i in range(cnp.PyArray_SIZE(words)):
            word = <bytes>items[i]
            code = hash(word)
            out[i] = _number_of(
                <int64_t*>cnp.PyArray_DATA(self.places), self.mask, self._words(), PyBytes_AS_STRING(word),
                PyBytes_GET_SIZE(word), code,
            )
            if out[i] < 0 and add:
                out[i] = len(self.known)
                self.known.append(word)
                if 2 * len(self.known) > self.mask:
                    self._make(2 * (self.mask + 1))
                else:
                    self._put(code, out[i])
        return found

    def of_parts(self, cnp.ndarray words not None, bytes between not None) -> tuple:
        """The numbers of all parts of strings, as `split` cuts them, -1 of those that are not known; how many parts
        each string has. string[n] -> i64[m], i64[n]. No part becomes a string: threads share the rows.
        """
        cdef int64_t n = cnp.PyArray_SIZE(words)
        cdef cnp.ndarray counts = np.empty(n, np.int64), found
        cdef _Cutting c
        c.items, c.cut, c.width = _strings_of(words), PyBytes_AS_STRING(between), len(between)
        c.ends, c.out = <int64_t*>cnp.PyArray_DATA(counts), NULL
        c.places, c.mask, c.known = <int64_t*>cnp.PyArray_DATA(self.places), self.mask, self._words()
        with nogil:
            pool_share(_number_parts, &c, n, ROWS_SHARED)
        ends = counts.cumsum()
        found = np.empty(ends[n - 1] if n else 0, np.int64)
        c.ends, c.out = <int64_t*>cnp.PyArray_DATA(ends), <int64_t*>cnp.PyArray_DATA(found)
        with nogil:
            pool_share(_number_parts, &c, n, ROWS_SHARED)
        return found, counts

    def words(self):
        """The strings, by their numbers. -> string[n]."""
        return objects(self.known)
