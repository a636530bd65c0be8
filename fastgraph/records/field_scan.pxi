# Part of wire_scan.pyx: rows of comma-separated values as columns.

cdef extern from "records/field_scan.h" nogil:
    enum:
        FG_CUT
        FG_F32
        FG_F64
        FG_I32
        FG_I64
    ctypedef struct fg_rows:
        const int32_t* places
        int64_t n
        uint8_t delimiter, quoted, lines, last
    const uint8_t* fg_row(const fg_rows* how, const uint8_t* p, const uint8_t* end, fg_slice* out, int64_t stride,
                          int* wrong, int64_t* have)
    int fg_number(const uint8_t* p, int64_t n, int kind, char* out)

cdef dict _NUMBERS = {"float32": FG_F32, "float64": FG_F64, "int32": FG_I32, "int64": FG_I64}


def rows(source not None, int64_t at, int64_t most, places not None, int64_t columns, int64_t enough, int delimiter,
         bint quoted, bint last, /):
    """Find where the fields of rows lie: in a block of a file from `at` on, `most` at most; of a list, each a row.

    places: the column of each field, i32[k], -1 of none. enough: how many fields with columns, or behind the last
    place, a row must have; ~n: n or more. Returns (Slices, a row for each column; how many rows; where the next begins;
    what is wrong with the row behind them, 0: nothing, -1: how many fields; how many it has; where the one behind it
    begins).
    """
    cdef bint lines = type(source) is bytes
    cdef list records = [source] if lines else source
    cdef int64_t i, n = 0, have = 0, total = most if lines else len(records)
    for each in records:
        if type(each) is not bytes:
            raise TypeError(f"bytes are wanted, not {type(each).__name__}")
    if places.dtype != np.int32:
        raise TypeError(f"places are of int32, not {places.dtype}")
    cdef bytes numbers = places.tobytes()  # a typed memoryview's machinery would be half of this extension
    cdef fg_rows how
    how.places, how.n = <const int32_t*> PyBytes_AS_STRING(numbers), PyBytes_GET_SIZE(numbers) // sizeof(int32_t)
    for i in range(how.n):
        if how.places[i] >= columns:
            raise ValueError(f"there is no column {how.places[i]}")
    if columns < 0 or most < 0 or (lines and not 0 <= at <= len(source)):
        raise ValueError("columns, rows and the place where they begin are within what is given")
    cdef Slices given = Slices(1, len(records), records), found = Slices(columns, total, records)
    for i in range(given.n):
        given.at[i].p, given.at[i].n = <const uint8_t*> PyBytes_AS_STRING(records[i]), PyBytes_GET_SIZE(records[i])
    cdef int wrong = 0
    cdef const uint8_t* base = given.at[0].p if given.n else NULL
    cdef const uint8_t* p = base + at if lines else NULL
    cdef const uint8_t* end = base + given.at[0].n if lines else NULL
    cdef const uint8_t* after = p
    how.delimiter, how.quoted, how.lines, how.last = delimiter, quoted, lines, last
    with nogil:
        while n < total:
            if lines:
                if p == end:
                    break
                after = fg_row(&how, p, end, found.at + n, total, &wrong, &have)
            elif given.at[n].n:
                fg_row(&how, given.at[n].p, given.at[n].p + given.at[n].n, found.at + n, total, &wrong, &have)
            else:
                have = 0
            if not wrong and (have < ~enough if enough < 0 else have != enough):
                wrong = -1
            if wrong:
                break
            p = after
            n += 1
    if wrong == FG_CUT:
        wrong, after = 0, p
    return found, n, p - base if lines else n, wrong, have, after - base if lines else n


cdef inline bytes _text(const uint8_t* p, int64_t n):
    return PyBytes_FromStringAndSize(<const char*> p, n) if n >= 0 else p[:~n].replace(b'""', b'"')


def column(Slices slices not None, int64_t row, int64_t n, str kind not None, bytes missing not None, default, /):
    """The first n fields of a column: as an array of a kind, as a list where it is "string"; and a list of those that
    are missing without a default (None), or no number that is written plainly."""
    cdef const uint8_t* no = <const uint8_t*> PyBytes_AS_STRING(missing)
    cdef int64_t i, length, n_no = PyBytes_GET_SIZE(missing)
    cdef fg_slice* at = slices.at + row * slices.n
    cdef bint filled = default is not None, gap
    cdef list texts, odd = []
    cdef int number, size
    cdef char* out
    cdef Py_buffer view
    if not (0 <= n <= slices.n and 0 <= row < slices.rows):
        raise ValueError("there are fewer fields")
    if kind == "string":
        texts = []
        for i in range(n):
            length = at[i].n
            gap = length == 0 or (length == n_no and memcmp(at[i].p, no, n_no) == 0)
            if gap and not filled:
                odd.append(i)
            texts.append(default if gap else _text(at[i].p, length))
        return texts, odd
    number = _NUMBERS[kind]
    values = np.full(n, default if filled else 0, kind)
    size = values.itemsize
    out = _memory(values, &view)
    with nogil:
        for i in range(n):
            length = at[i].n
            gap = length == 0 or (length == n_no and memcmp(at[i].p, no, n_no) == 0)
            if gap and filled:
                continue
            if gap or length < 0 or not fg_number(at[i].p, length, number, out + i * size):
                with gil:
                    odd.append(i)
    PyBuffer_Release(&view)
    return values, odd


def field(Slices slices not None, int64_t row, int64_t i, /):
    """One field, as bytes."""
    if not (0 <= i < slices.n and 0 <= row < slices.rows):
        raise IndexError("there are fewer fields")
    return _text(slices.at[row * slices.n + i].p, slices.at[row * slices.n + i].n)
