"""Reads and updates of Cells at C speed: what a Variable does in eager mode.

Rule: an update is atomic. It is computed from the value it replaces, or not at all. It writes into the memory that it
finds only while nothing but the Cell refers to that; otherwise the Cell takes another Block.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t
from fastgraph._buffer cimport (
    BLOCK_MEMORY, Block, Cell, block_release, block_retain, fg_atomic_load, fg_spin_lock, fg_spin_unlock,
)
from fastgraph._primitive cimport Primitive
from fastgraph._tensor cimport EagerTensor, TapeBase, ThreadState, bind, cell_assign, cell_read, thread_state

cdef enum:
    FLOAT32 = 1
    FLOAT64 = 2
    INT32 = 3
    INT64 = 9
    MOST_IN_PLACE = 16384  # elements: others may spin on the Cell's lock meanwhile

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
