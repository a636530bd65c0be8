"""The tape: notes which ops followed tensors went through, and walks back over them to make gradients.

Rule: it knows no op by name. What an op's gradient is stands in its Primitive; what the tape itself must compute
(adding two cotangents, undoing a broadcast, a first cotangent of ones) it asks of the operator slots. Because those are
ordinary ops, other tapes record the walk (higher order) and a trace traces it, with nothing done for that here.
"""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int16_t, int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcmp, memcpy, memset
from fastgraph.core.native.buffer cimport Block, Cell, block_new
from fastgraph.core.primitive cimport Primitive
from fastgraph.core.tensor cimport EagerTensor, TapeBase, Tensor, ThreadState, bind, item_size, thread_state, wrap_block

cdef extern from "Python.h":
    ctypedef struct PyTupleObject:
        PyObject** ob_item

import inspect
import os
import sys
import weakref

import numpy as np

from fastgraph.core import tensor as _tensor
from fastgraph.core.base import dtype as _dtype

# Codes of the dtypes that have gradients: float16/32/64, bfloat16, complex64/128.
cdef uint64_t _DIFFERENTIABLE = ((<uint64_t>1 << 1) | (<uint64_t>1 << 2) | (<uint64_t>1 << 8) | (<uint64_t>1 << 14)
                                 | (<uint64_t>1 << 18) | (<uint64_t>1 << 19))

cdef enum:
    LAST_BIT = 63           # of a mask: "and all the inputs (outputs) from here on"

cdef enum:                  # what the walk knows of a tensor
    FOLLOWED = 1            # it depends on a source
    SOURCE = 2

cdef enum Kind:             # what one parameter of a rule asks for
    DY, DYS, INPUT, INPUTS, OUTPUT, OUTPUTS, SHAPE, SHAPES, DTYPE, DTYPES, ATTR, NEEDS


cdef str _PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(_dtype.__file__)))) + os.sep


def user_place() -> str:
    """Return the place in the user's program where this thread is, as "file:line"; "" where that is nowhere."""
    cdef object frame = sys._getframe()
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_PACKAGE, "<fastgraph", "<frozen")) and not file.endswith((".pyx", ".pxi")):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return ""


include "core/tape/rules.pxi"
include "core/tape/listeners.pxi"
include "core/tape/records.pxi"
include "core/tape/walk.pxi"
include "core/tape/forward.pxi"


cdef object _tensor_of(item):
    """A Tensor itself; of a Cell the value now."""
    return item if isinstance(item, Tensor) else _variable_of(<Cell>item).__fg_tensor__()


cdef inline int64_t _hash(int64_t key) noexcept nogil:
    return <int64_t>((<uint64_t>key * <uint64_t>0x9E3779B97F4A7C15) >> 24)


cdef inline int64_t _key(item) except -1:
    if isinstance(item, Tensor):
        return (<Tensor>item).id
    return (<Cell>item).id


cdef inline bint _has_none(list items) noexcept:
    for item in items:
        if item is None:
            return True
    return False


cdef inline bint _is_differentiable(item) except -1:
    if type(item) is EagerTensor:
        return (_DIFFERENTIABLE >> (<EagerTensor>item).dtype_code) & 1
    if isinstance(item, Cell):
        return (_DIFFERENTIABLE >> (<Cell>item).dtype_code) & 1
    if isinstance(item, Tensor):
        return (_DIFFERENTIABLE >> <int>item.aval.dtype.code) & 1
    return False


cdef void* _grown(void* memory, int64_t* room, size_t size, int64_t more) except NULL:
    """`memory` with room for at least `more` items more."""
    cdef int64_t wanted = 2 * room[0] + more + 8
    cdef void* grown = realloc(memory, wanted * size)
    if grown == NULL:
        raise MemoryError()
    room[0] = wanted
    return grown
