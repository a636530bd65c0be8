"""Tensors, thread state and bind. See tensor.pyx."""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t
from fastgraph.core.native.buffer cimport MAX_RANK, Block, Cell
from fastgraph.core.primitive cimport Primitive

cdef enum:
    NEAR_RANK = 8

cdef class Tensor:
    cdef readonly int64_t id           # unique in the process, never given twice
    cdef dict __dict__                 # what programs set on it; made with the first; cycles in it are not collected
    cdef object __weakref__

cdef class EagerTensor(Tensor):
    cdef Block* block
    cdef char* data                    # block.data, or inside it where a dense slice shares its Block
    cdef int dtype_code
    cdef short ndim
    cdef short part                    # of the CPU that it is said to lie on: "CPU:<part>"
    cdef int64_t size
    cdef object array                  # the read-only ndarray view, once somebody asked for it (tensor_array)
    cdef int64_t* dims                 # `near` or, of more axes than that has room for, memory of its own
    cdef int64_t[NEAR_RANK] near       # last: what lies before it is cleared when a tensor is made

cdef class ThreadState:
    cdef public object trace           # the Trace that ops are bound to, or None: eager
    cdef public list tapes             # TapeBase objects that record now, outermost first
    cdef public object device          # name of the device asked for by fg.device, or None
    cdef public object replica         # the one of several replicas that runs here (core/replicas.py), or None
    cdef public dict extra             # per-thread state of higher layers, by their own keys

cdef class TapeBase:
    # Called after every op while this tape is in ThreadState.tapes: inputs (Tensors; Cells for "resource") after
    # conversion, outputs Tensors. Borrowed references.
    cdef int note(self, Primitive prim, PyObject** inputs, Py_ssize_t n_inputs, dict attrs,
                  PyObject** outputs, Py_ssize_t n_outputs) except -1

cdef ThreadState thread_state()
# Both steal the reference; NULL: ResourceExhaustedError. The data of wrap_slice lies inside the block.
cdef EagerTensor wrap_block(Block* block, int dtype_code, int ndim, const int64_t* dims)
cdef EagerTensor wrap_slice(Block* block, char* data, int dtype_code, int ndim, const int64_t* dims)
cdef object tensor_array(EagerTensor t)   # the read-only ndarray view
cpdef EagerTensor from_array(array, dtype=*, bint copy=*)
cpdef object bind(Primitive prim, tuple inputs, dict attrs)
cdef int64_t item_size(int dtype_code) noexcept nogil    # bytes of one element; 8 for strings
cpdef EagerTensor cell_read(Cell cell)                 # FailedPreconditionError if it holds nothing
cpdef object cell_assign(Cell cell, EagerTensor value)  # dtype and shape are checked; shares the value's Block
cpdef object convert(object value, object dtype=*)  # a Tensor (symbolic: unchanged), by TensorFlow's rules
