"""Reads and updates of Cells at C speed: what a Variable does in eager mode.

Rule: an update is atomic. It is computed from the value it replaces, or not at all. It writes into the memory that it
finds only while nothing but the Cell refers to that; otherwise the Cell takes another Block.
"""

from cpython.buffer cimport PyBUF_WRITE
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy
from fastgraph.core.native.buffer cimport (
    BLOCK_MEMORY, MAX_RANK, Block, Cell, block_new, block_release, block_retain, fg_atomic_load, fg_spin_lock,
    fg_spin_unlock,
)
from fastgraph.core.primitive cimport Primitive
from fastgraph.core.tensor cimport (
    EagerTensor, TapeBase, ThreadState, bind, cell_assign, cell_read, item_size, thread_state, wrap_block,
)

cdef enum:
    FLOAT32 = 1
    FLOAT64 = 2
    INT32 = 3
    INT64 = 9
    MOST_IN_PLACE = 1 << 20  # elements, 0.3 ms: others wait for the Cell's lock meanwhile, yielding
    MOST_SCATTERED = 1 << 23  # else the whole table is copied, which takes longer

cdef enum:  # what scatter does with a row, in the order of variable_parts.KINDS
    UPDATE = 0
    ADD = 1
    SUB = 2
    MUL = 3
    DIV = 4
    MIN = 5
    MAX = 6

ctypedef fused number:
    float
    double
    int32_t
    int64_t


cpdef object read(Primitive primitive, Cell cell, dict attrs):
    """The value of `cell` by the op `primitive`: what bind does, without its conversion of inputs."""
    cdef ThreadState state = thread_state()
    cdef PyObject* given
    cdef PyObject* made
    cdef EagerTensor value
    cdef Py_ssize_t i
    if state.trace is not None:
        return bind(primitive, (cell,), attrs)
    value = cell_read(cell)
    if state.tapes:
        given = <PyObject*>cell
        made = <PyObject*>value
        for i in range(len(state.tapes)):
            (<TapeBase>state.tapes[i]).note(primitive, &given, 1, attrs, &made, 1)
    return value


cpdef object assign(Primitive primitive, Cell cell, value):
    """Make `cell` hold the Tensor `value` by the op `primitive`."""
    if thread_state().trace is None and type(value) is EagerTensor:
        cell_assign(cell, <EagerTensor>value)
    else:
        bind(primitive, (cell, value), {})


cpdef object update(Primitive primitive, Cell cell, change, int sign, dict attrs):
    """cell += sign * change by the op `primitive`; at once, and in place, where that is possible."""
    cdef bint eager = thread_state().trace is None and type(change) is EagerTensor
    if not (eager and _in_place(cell, <EagerTensor>change, sign)):
        bind(primitive, (cell, change), attrs)


cdef bint _in_place(Cell cell, EagerTensor change, int sign):
    """Add to the elements that `cell` holds, if nothing else refers to their memory; whether that was done."""
    cdef bint done = False
    cdef int i
    if change.size > MOST_IN_PLACE:
        return False
    fg_spin_lock(&cell.lock)
    if (cell.block != NULL and cell.block.kind == BLOCK_MEMORY and fg_atomic_load(&cell.block.refs) == 1
            and cell.dtype_code == change.dtype_code and cell.ndim == change.ndim):
        done = True
        for i in range(cell.ndim):
            if cell.dims[i] != change.dims[i]:
                done = False
        if not done:
            pass
        elif cell.dtype_code == FLOAT32:
            _add(<float*>cell.data, <float*>change.data, change.size, sign)
        elif cell.dtype_code == FLOAT64:
            _add(<double*>cell.data, <double*>change.data, change.size, sign)
        elif cell.dtype_code == INT32:
            _add(<int32_t*>cell.data, <int32_t*>change.data, change.size, sign)
        elif cell.dtype_code == INT64:
            _add(<int64_t*>cell.data, <int64_t*>change.data, change.size, sign)
        else:
            done = False
        if done:
            cell.version += 1
    fg_spin_unlock(&cell.lock)
    return done


cdef void _add(number* elements, const number* change, int64_t n, int sign) noexcept nogil:
    cdef int64_t k
    if sign > 0:
        for k in range(n):
            elements[k] = elements[k] + change[k]
    else:
        for k in range(n):
            elements[k] = elements[k] - change[k]


cpdef bint scatter_rows(Cell cell, int kind, EagerTensor rows, EagerTensor updates):
    """Change the rows of `cell` that `rows` (int32 or int64) names, one after the other, in place.

    False, and nothing done, where that is not possible: a row is out of range, `updates` is not a row for each element
    of `rows`, something else refers to the memory, or the dtype has no loop.
    """
    cdef bint done, wide = rows.dtype_code == INT64
    cdef int64_t i, row, length = 1
    cdef int d
    if (updates.size > MOST_SCATTERED or updates.dtype_code != cell.dtype_code
            or not (wide or rows.dtype_code == INT32)):
        return False
    if kind != UPDATE and cell.dtype_code not in (FLOAT32, FLOAT64, INT32, INT64):
        return False
    if kind == DIV and cell.dtype_code in (INT32, INT64):  # zeros are the NumPy body's affair
        return False
    fg_spin_lock(&cell.lock)
    done = (cell.block != NULL and cell.block.kind == BLOCK_MEMORY and fg_atomic_load(&cell.block.refs) == 1
            and cell.ndim >= 1 and updates.ndim == rows.ndim + cell.ndim - 1)
    if done:
        for d in range(rows.ndim):
            done = done and updates.dims[d] == rows.dims[d]
        for d in range(1, cell.ndim):
            length *= cell.dims[d]
            done = done and updates.dims[rows.ndim + d - 1] == cell.dims[d]
        for i in range(rows.size if done else 0):
            row = _row(rows.data, wide, i)
            if row < 0 or row >= cell.dims[0]:
                done = False
                break
    if done:
        # With the GIL: who waits for the lock with the GIL in hand would never give it back.
        _scatter(cell.data, cell.dtype_code, kind, rows.data, wide, rows.size, updates.data, length)
        cell.version += 1
    fg_spin_unlock(&cell.lock)
    return done


cdef inline int64_t _row(const char* rows, bint wide, int64_t i) noexcept nogil:
    return (<const int64_t*>rows)[i] if wide else (<const int32_t*>rows)[i]


cdef void _scatter(char* data, int dtype, int kind, const char* rows, bint wide, int64_t n, const char* updates,
                   int64_t length) noexcept nogil:
    cdef int64_t i
    cdef int64_t width = length * item_size(dtype)
    if kind == UPDATE:
        for i in range(n):
            memcpy(data + _row(rows, wide, i) * width, updates + i * width, width)
    elif dtype == FLOAT32:
        _change_rows(<float*>data, kind, rows, wide, n, <const float*>updates, length)
    elif dtype == FLOAT64:
        _change_rows(<double*>data, kind, rows, wide, n, <const double*>updates, length)
    elif dtype == INT32:
        _change_rows(<int32_t*>data, kind, rows, wide, n, <const int32_t*>updates, length)
    else:
        _change_rows(<int64_t*>data, kind, rows, wide, n, <const int64_t*>updates, length)


cdef void _change_rows(number* data, int kind, const char* rows, bint wide, int64_t n, const number* updates,
                       int64_t length) noexcept nogil:
    cdef int64_t i, k
    cdef number* row
    cdef const number* given
    for i in range(n):
        row = data + _row(rows, wide, i) * length
        given = updates + i * length
        if kind == ADD:
            for k in range(length):
                row[k] = row[k] + given[k]
        elif kind == SUB:
            for k in range(length):
                row[k] = row[k] - given[k]
        elif kind == MUL:
            for k in range(length):
                row[k] = row[k] * given[k]
        elif kind == DIV:
            for k in range(length):
                row[k] = row[k] / given[k]
        elif kind == MIN:
            for k in range(length):  # NaN stays, on either side, as in minimum
                row[k] = row[k] if row[k] < given[k] or row[k] != row[k] else given[k]
        else:
            for k in range(length):
                row[k] = row[k] if row[k] > given[k] or row[k] != row[k] else given[k]


cpdef bint replace(Cell cell, EagerTensor before, EagerTensor after):
    """Put `after`, of the same dtype and shape, where `before` is; False if the Cell no longer holds `before`."""
    cdef bint same
    cdef Block* old = NULL
    block_retain(after.block)
    fg_spin_lock(&cell.lock)
    same = cell.block == before.block and cell.data == before.data
    if same:
        old = cell.block
        cell.block = after.block
        cell.data = after.data
        cell.version += 1
    fg_spin_unlock(&cell.lock)
    # `before` holds its Block, so the Block's address cannot have been given to another value meanwhile.
    block_release(old if same else after.block)
    return same


def memory_for(Cell cell, tuple shape, /) -> tuple:
    """(tensor, its bytes, to be written to) of the dtype of `cell`: to be assigned to it once they are written.

    The tensor is the value that the Cell holds if that is of this shape and nothing else refers to it: a large value is
    replaced without room for a second one. Whoever reads the Variable meanwhile finds part of both.
    """
    cdef int64_t[MAX_RANK] dims
    cdef int64_t size = item_size(cell.dtype_code)
    cdef EagerTensor value
    cdef int i
    if len(shape) > MAX_RANK:
        raise ValueError(f"a tensor of {len(shape)} axes")
    for i in range(len(shape)):
        dims[i] = shape[i]
        size *= dims[i]
    if cell.block != NULL:
        value = cell_read(cell)
        if (value.block.kind == BLOCK_MEMORY and fg_atomic_load(&value.block.refs) == 2
                and [value.dims[i] for i in range(value.ndim)] == list(shape)):
            return value, PyMemoryView_FromMemory(value.data, size, PyBUF_WRITE)
    value = wrap_block(block_new(size), cell.dtype_code, len(shape), &dims[0])
    return value, PyMemoryView_FromMemory(value.data, size, PyBUF_WRITE)
