# Strings numbered as they appear: the hash table behind tf.unique and the fixed tables of tf.lookup.

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

    cdef int64_t _number(self, bytes word, int64_t code):
        """The number of a string, -1 of one that is not known."""
        cdef int64_t* places = <int64_t*>cnp.PyArray_DATA(self.places)
        cdef int64_t at = code & self.mask, n = PyBytes_GET_SIZE(word)
        cdef PyObject* other
        while places[2 * at + 1]:
            if places[2 * at] == code:
                other = PyList_GET_ITEM(self.known, places[2 * at + 1] - 1)
                if PyBytes_GET_SIZE(<object>other) == n:
                    if not memcmp(PyBytes_AS_STRING(<object>other), PyBytes_AS_STRING(word), n):
                        return places[2 * at + 1] - 1
            at = (at + 1) & self.mask
        return -1

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
            out[i] = self._number(word, code)
            if out[i] < 0 and add:
                out[i] = len(self.known)
                self.known.append(word)
                if 2 * len(self.known) > self.mask:
                    self._make(2 * (self.mask + 1))
                else:
                    self._put(code, out[i])
        return found

    def words(self):
        """The strings, by their numbers. -> string[n]."""
        return objects(self.known)
