"""Reads and updates of Cells at C speed: what a Variable does in eager mode.

Rule: an update is atomic. It is computed from the value it replaces, or not at all.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int64_t
from fastgraph._buffer cimport Block, Cell, block_release, block_retain, fg_spin_lock, fg_spin_unlock
from fastgraph._primitive cimport Primitive
from fastgraph._tensor cimport EagerTensor, TapeBase, ThreadState, bind, cell_read, thread_state


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
