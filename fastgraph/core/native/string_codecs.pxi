# Strings made of bytes otherwise written: base64 for web addresses, raw bytes, pieces of a text, windows of neighbours.

cdef const uint8_t* CODE = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
cdef uint8_t[256] DIGIT  # of each character, 64 for those that are none
for _power in range(256):
    DIGIT[_power] = 64
for _power in range(64):
    DIGIT[CODE[_power]] = _power


def to_base64(cnp.ndarray words not None, bint pad, /) -> list:
    """Each string in base64 for web addresses, filled up to fours or not. string[n] -> n strings."""
    cdef PyObject** items = _strings_of(words)
    cdef const uint8_t* p
    cdef uint8_t* out
    cdef uint32_t bits
    cdef int64_t i, k, n, rest
    cdef list made = []
    cdef bytes part
    for i in range(cnp.PyArray_SIZE(words)):
        p, n = <const uint8_t*>PyBytes_AS_STRING(<object>items[i]), PyBytes_GET_SIZE(<object>items[i])
        rest = n % 3
        part = PyBytes_FromStringAndSize(NULL, n // 3 * 4 + (0 if rest == 0 else 4 if pad else rest + 1))
        out = <uint8_t*>PyBytes_AS_STRING(part)
        for k in range(0, n - rest, 3):
            bits = <uint32_t>p[k] << 16 | <uint32_t>p[k + 1] << 8 | p[k + 2]
            out[0], out[1] = CODE[bits >> 18], CODE[bits >> 12 & 63]
            out[2], out[3] = CODE[bits >> 6 & 63], CODE[bits & 63]
            out += 4
        if rest:
            bits = <uint32_t>p[n - rest] << 16 | (<uint32_t>p[n - 1] << 8 if rest == 2 else 0)
            out[0], out[1] = CODE[bits >> 18], CODE[bits >> 12 & 63]
            if rest == 2:
                out[2] = CODE[bits >> 6 & 63]
            if pad:
                out[3] = b"="[0]
                if rest == 1:
                    out[2] = b"="[0]
        made.append(part)
    return made


def from_base64(cnp.ndarray words not None) -> list:
    """The bytes that base64 for web addresses stands for, filled up or not. string[n] -> n strings.

    Raises: ValueError for other characters, and for lengths that there are not.
    """
    cdef PyObject** items = _strings_of(words)
    cdef const uint8_t* p
    cdef uint8_t* out
    cdef uint32_t bits
    cdef uint8_t wrong
    cdef int64_t i, k, n, rest
    cdef list made = []
    cdef bytes part
    for i in range(cnp.PyArray_SIZE(words)):
        p, n = <const uint8_t*>PyBytes_AS_STRING(<object>items[i]), PyBytes_GET_SIZE(<object>items[i])
        if n % 4 == 0:
            for k in range(2):
                if n and p[n - 1] == b"="[0]:
                    n -= 1
        wrong = 0
        for k in range(n):
            wrong |= DIGIT[p[k]]
        if wrong & 64:
            raise ValueError("Invalid character found in base64.")
        rest = n % 4
        if rest == 1:
            raise ValueError("Base64 string length cannot be 1 modulo 4.")
        part = PyBytes_FromStringAndSize(NULL, n // 4 * 3 + (rest - 1 if rest else 0))
        out = <uint8_t*>PyBytes_AS_STRING(part)
        for k in range(0, n - rest, 4):
            bits = (<uint32_t>DIGIT[p[k]] << 18 | <uint32_t>DIGIT[p[k + 1]] << 12 | <uint32_t>DIGIT[p[k + 2]] << 6
                    | DIGIT[p[k + 3]])
            out[0], out[1], out[2] = <uint8_t>(bits >> 16), <uint8_t>(bits >> 8), <uint8_t>bits
            out += 3
        if rest:
            bits = (<uint32_t>DIGIT[p[n - rest]] << 18 | <uint32_t>DIGIT[p[n - rest + 1]] << 12
                    | (<uint32_t>DIGIT[p[n - 1]] << 6 if rest == 3 else 0))
            out[0] = <uint8_t>(bits >> 16)
            if rest == 3:
                out[1] = <uint8_t>(bits >> 8)
        made.append(part)
    return made


def raw(cnp.ndarray words not None, int64_t size, /) -> np.ndarray:
    """The bytes of strings, each cut or filled up with zeros to so many. string[n] -> u8[n, size]."""
    cdef PyObject** items = _strings_of(words)
    cdef int64_t i, k, n, count = cnp.PyArray_SIZE(words)
    cdef cnp.ndarray found = np.empty((count, size), np.uint8)
    cdef uint8_t* out = <uint8_t*>cnp.PyArray_DATA(found)
    for i in range(count):
        n = min(size, PyBytes_GET_SIZE(<object>items[i]))
        memcpy(out, PyBytes_AS_STRING(<object>items[i]), n)
        for k in range(n, size):
            out[k] = 0
        out += size
    return found


def pieces(bytes text not None, cnp.ndarray ends not None, /) -> list:
    """A text in pieces that end there. bytes, i64[n] -> n strings. Raises: ValueError for other ends."""
    cdef int64_t i, at = 0, n = len(text)
    cdef const char* p = PyBytes_AS_STRING(text)
    cdef const int64_t* end = <const int64_t*>cnp.PyArray_DATA(ends)
    cdef list made = []
    if cnp.PyArray_TYPE(ends) != cnp.NPY_INT64 or not cnp.PyArray_IS_C_CONTIGUOUS(ends):
        raise ValueError("ends are int64, one after the other")
    for i in range(cnp.PyArray_SIZE(ends)):
        if not at <= end[i] <= n:
            raise ValueError("a piece ends before it begins, or beyond the text")
        made.append(PyBytes_FromStringAndSize(p + at, end[i] - at))
        at = end[i]
    return made


def windows(cnp.ndarray words not None, cnp.ndarray splits not None, tuple widths not None, bytes between not None,
            bytes left not None, bytes right not None, int64_t pads, bint short, /) -> tuple:
    """Neighbours of each row joined, windows of the first width first, and where each row's end: string[n], i64[r + 1].

    Before and behind a row are at most `pads` times `left` and `right`, one less than the width where pads is below 0.
    short: a row that has no window is one. Raises: ValueError for splits that are none of these strings.
    """
    cdef PyObject** items = _strings_of(words)
    cdef int64_t n = cnp.PyArray_SIZE(words), rows = cnp.PyArray_SIZE(splits) - 1
    cdef int64_t row, size, width, widest, count, k, before
    cdef const int64_t* at = <const int64_t*>cnp.PyArray_DATA(splits)
    cdef cnp.ndarray ends = np.zeros(rows + 1, np.int64)
    cdef int64_t* end = <int64_t*>cnp.PyArray_DATA(ends)
    cdef list made = []
    if cnp.PyArray_TYPE(splits) != cnp.NPY_INT64 or not cnp.PyArray_IS_C_CONTIGUOUS(splits):
        raise ValueError("splits are int64, one after the other")
    if min(widths, default=1) < 1:
        raise ValueError("windows are of one string or more")
    widest = max(widths, default=1)
    for row in range(rows):
        size = at[row + 1] - at[row]
        if at[row] < 0 or size < 0 or at[row + 1] > n:
            raise ValueError("a row ends before it begins, or beyond the strings")
        before = len(made)
        for width in widths:
            count = width - 1 if pads < 0 else min(pads, width - 1)
            for k in range(size + 2 * count - width + 1):
                made.append(_window(items + at[row], size, k - count, width, between, left, right))
        if short and size and len(made) == before:
            count = widest - 1 if pads < 0 else min(pads, widest - 1)
            made.append(_window(items + at[row], size, -count, size + 2 * count, between, left, right))
        end[row + 1] = len(made)
    return made, ends


cdef bytes _window(PyObject** row, int64_t size, int64_t first, int64_t width, bytes between, bytes left, bytes right):
    """Join so many strings of a row from its first on; those before it are `left`, those behind it `right`."""
    cdef int64_t gap = PyBytes_GET_SIZE(between), total = gap * (width - 1), k, n
    cdef PyObject* each
    cdef bytes made
    cdef char* p
    for k in range(first, first + width):
        each = <PyObject*>left if k < 0 else <PyObject*>right if k >= size else row[k]
        total += PyBytes_GET_SIZE(<object>each)
    made = PyBytes_FromStringAndSize(NULL, total)
    p = PyBytes_AS_STRING(made)
    for k in range(first, first + width):
        if k > first and gap:
            memcpy(p, PyBytes_AS_STRING(between), gap)
            p += gap
        each = <PyObject*>left if k < 0 else <PyObject*>right if k >= size else row[k]
        n = PyBytes_GET_SIZE(<object>each)
        memcpy(p, PyBytes_AS_STRING(<object>each), n)
        p += n
    return made
