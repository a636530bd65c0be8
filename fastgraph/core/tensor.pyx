"""Tensor, EagerTensor, the thread's state, and bind: the only place where an op is applied.

Rule: a tensor's memory is never written once the tensor exists; what higher layers supply comes through the slots.
"""

cimport cython
cimport numpy as cnp
from cpython.buffer cimport PyObject_GetBuffer
from cpython.bytes cimport PyBytes_CheckExact
from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from fastgraph.core.native.matmul cimport DOUBLE, INTEGER, SINGLE, blas_begin, blas_end, blas_product, block_product
from fastgraph.core.native.buffer cimport (
    BLOCK_FOREIGN, BLOCK_OBJECT, Block, Buffer, Cell, MAX_RANK, block_new, block_of_object, block_release,
    block_retain, block_zeros, fg_spin_lock, fg_spin_unlock, new_id,
)
from fastgraph.core.native.thread_pool cimport part_t, pool_share
from fastgraph.core.primitive cimport (
    Loop, MAX_CODE, MAX_LOOP_INPUTS, Primitive, SHARE_HEAVY, SHARE_LIGHT, SHARE_RUN, SHORT_ARGMAX, SHORT_ARGMIN,
    SHORT_BROADCAST, SHORT_CAST, SHORT_CONCAT, SHORT_EXPAND, SHORT_FILL, SHORT_GATHER, SHORT_LIKE, SHORT_MAX,
    SHORT_MEAN, SHORT_MIN, SHORT_ONE_HOT, SHORT_PRODUCT, SHORT_RESHAPE, SHORT_SELECT, SHORT_SOFTMAX, SHORT_SQUEEZE,
    SHORT_STACK, SHORT_SUM, SHORT_SUM_TO, SHORT_TRANSPOSE, cast_loop, clip_loop,
)

import functools
import importlib

import numpy as np

import fastgraph.core.base.dtype as _dtype
import fastgraph.core.op_errors as op_errors
from fastgraph.errors import FailedPreconditionError, InvalidArgumentError, OpError, ResourceExhaustedError
from fastgraph.core.base import nesting
from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.deferred_signals import Untraced
from fastgraph.core.base.shapes import Aval, TensorShape

cnp.import_array()

cdef extern from * nogil:
    """
    static __thread PyObject *fg_thread_state = NULL;   /* borrowed: the thread's dict owns it */
    """
    PyObject* fg_thread_state

cdef extern from *:
    """
    /* Without an exception where there is none, unlike PyObject_HasAttr of the class. */
    static int fg_class_has(PyObject *value, PyObject *name) { return _PyType_Lookup(Py_TYPE(value), name) != NULL; }
    """
    bint fg_class_has(object value, object name)

cdef extern from "numpy/arrayobject.h":
    object PyArray_NewFromDescr(void* subtype, void* descr, int nd, const cnp.npy_intp* dims,
                                const cnp.npy_intp* strides, void* data, int flags, object obj)

cdef extern from *:
    """
    /* Dead EagerTensors are kept and made anew: allocating one through the type costs as much as a small addition. */
    #define FG_KEPT 256
    #define FG_NEAR_BYTES (8 * 8)       /* EagerTensor.near, the last field: written before it is read */
    static PyObject *fg_kept[FG_KEPT];
    static int fg_n_kept = 0;
    static PyTypeObject *fg_eager_type = NULL;
    static PyObject *fg_tensor_alloc(PyTypeObject *type, Py_ssize_t n) {
        if (type == fg_eager_type && fg_n_kept > 0) {
            PyObject *t = fg_kept[--fg_n_kept];
            memset((char *)t + sizeof(PyObject), 0, (size_t)type->tp_basicsize - sizeof(PyObject) - FG_NEAR_BYTES);
            return PyObject_Init(t, type);
        }
        return PyType_GenericAlloc(type, n);
    }
    static void fg_tensor_free(void *t) {
        if (Py_TYPE((PyObject *)t) == fg_eager_type && fg_n_kept < FG_KEPT) fg_kept[fg_n_kept++] = (PyObject *)t;
        else PyObject_Free(t);
    }
    static int fg_set_attribute(PyObject *type, PyObject *name, PyObject *value) {
        if (PyDict_SetItem(((PyTypeObject *)type)->tp_dict, name, value) < 0) return -1;
        PyType_Modified((PyTypeObject *)type);
        return 0;
    }
    static void fg_keep_tensors(PyObject *type) {
        fg_eager_type = (PyTypeObject *)type;
        fg_eager_type->tp_alloc = fg_tensor_alloc;
        fg_eager_type->tp_free = fg_tensor_free;
    }
    """
    void fg_keep_tensors(object type)
    int fg_set_attribute(object type, object name, object value) except -1

cdef extern from "Python.h":
    PyObject* PyThreadState_GetDict()
    double PyFloat_AS_DOUBLE(object)
    long long PyLong_AsLongLongAndOverflow(object, int*) except? -1
    int PyErr_CheckSignals() except -1

# Facts about dtypes for C code, by TensorFlow's code.

cdef int64_t[MAX_CODE] _item_sizes
cdef list _dtypes = [None] * MAX_CODE      # DType
cdef list _descrs = [None] * MAX_CODE      # np.dtype; those of ml_dtypes when first needed
cdef int[64] _code_of_num                  # NumPy's type number -> code, -1: none
cdef enum:
    FLOAT32 = 1
    FLOAT64 = 2
    INT32 = 3
    UINT8 = 4
    STRING = 7
    INT64 = 9
    BOOL = 10
    BFLOAT16 = 14
    FLOAT16 = 19
    MANY_RESULTS = 4096  # tensors made in one go between looks for signals


cdef _fill_dtypes():
    cdef int i
    for i in range(64):
        _code_of_num[i] = -1
    for i in range(MAX_CODE):
        _item_sizes[i] = 0
    for known in (*_dtype.ALL, *_dtype.STORED):
        _dtypes[<int>known.code] = known
        _item_sizes[<int>known.code] = known.size if known.size else 8
        if known._numpy is not None:
            _descrs[<int>known.code] = known.numpy_dtype
            if not known.is_quantized:  # whose NumPy dtypes have no number of their own
                _code_of_num[<int>known.numpy_dtype.num] = known.code
    for name in ("longlong", "ulonglong", "long", "ulong", "intc", "uintc"):
        found = np.dtype(name)
        _code_of_num[<int>found.num] = _dtype.as_dtype(found.name).code


_fill_dtypes()


cdef object _DType = _dtype.DType


cdef int64_t item_size(int dtype_code) noexcept nogil:
    return _item_sizes[dtype_code]


cdef cnp.dtype _descr(int dtype_code):
    found = _descrs[dtype_code]
    if found is None:
        found = _descrs[dtype_code] = _dtypes[dtype_code].numpy_dtype
    return <cnp.dtype>found


cdef int _code_of(cnp.ndarray array) except -2:
    """The dtype code of an array's elements, -1 if tensors have no such elements."""
    cdef int num = cnp.PyArray_TYPE(array)
    if num == cnp.NPY_VOID:
        for known in _dtype.QUANTIZED:
            if known.numpy_dtype == (<object>array).dtype:
                return known.code
    if 0 <= num < 64:
        return _code_of_num[num]
    name = (<object>array).dtype.name
    if name == "bfloat16":
        return BFLOAT16
    for known in _dtype.STORED:
        if known.name == name:
            return known.code
    return -1


# Slots: supplied by higher layers.

cdef dict slots = {}
cdef object _promotion = None  # (operator, x, y) -> what it gives of several dtypes, where a program asked for it


def set_tensor_attribute(str name, value, /) -> None:
    """Give all tensors an attribute."""
    fg_set_attribute(Tensor, name, value)
    fg_set_attribute(EagerTensor, name, value)


def register_slot(str name, value, /) -> None:
    """Fill the slot `name`: an operator by its Python name ("add", "getitem"), or "convert", "sum_to", ..."""
    slots[name] = value
    _cache_slots()


cdef tuple _STANDARD = ("array_namespace", "mT", "to_device")


cdef _load_ops(str name):
    """Have ops fill a slot: a program's first act may be an operator. They lie above: by name, when needed."""
    home = "ops.indexing" if name in ("getitem", "strided_slice") else "ops.python_operators"
    importlib.import_module(f"fastgraph.{'array_api.methods' if name in _STANDARD else home}")


def get_slot(str name):
    """The object that fills the slot `name`. Raises NotImplementedError if nothing does."""
    if name not in slots:
        _load_ops(name)
    try:
        return slots[name]
    except KeyError:
        raise NotImplementedError(f"fastgraph: nothing fills the slot {name!r}") from None


# The thread's state.

@cython.binding(False)
cdef class ThreadState:
    """The state of this Python thread: the trace its ops are bound to, the tapes that record them, its device."""

    def __cinit__(self):
        self.trace = None
        self.tapes = []
        self.device = None
        self.replica = None
        self.extra = {}

    def __dealloc__(self):
        global fg_thread_state
        if fg_thread_state == <PyObject*>self:
            fg_thread_state = NULL


cdef ThreadState thread_state():
    """This thread's state; the pointer lives in C thread-local storage."""
    global fg_thread_state
    cdef ThreadState state
    cdef PyObject* owner
    if fg_thread_state != NULL:
        return <ThreadState>fg_thread_state
    owner = PyThreadState_GetDict()
    if owner == NULL:
        raise RuntimeError("fastgraph was called from a thread that Python does not know")
    state = ThreadState.__new__(ThreadState)
    (<dict>owner)["fastgraph.ThreadState"] = state
    fg_thread_state = <PyObject*>state
    return state


def current_state() -> ThreadState:
    """This thread's state."""
    return thread_state()


def current_trace():
    """The Trace that this thread's ops are bound to, or None in eager mode."""
    return thread_state().trace


def push_trace(trace):
    """Bind this thread's ops to `trace` (None: eager); gives the one before, for `pop_trace`."""
    cdef ThreadState state = thread_state()
    previous = state.trace
    state.trace = trace
    return previous


def pop_trace(previous) -> None:
    """Undo `push_trace`."""
    thread_state().trace = previous


@cython.binding(False)
cdef class use_trace:
    """Context manager: inside it this thread's ops are bound to `trace` (None: eager). Tapes go on recording."""

    cdef object trace, previous, handlers

    def __cinit__(self, trace):
        self.trace = trace

    def __enter__(self):
        cdef ThreadState state = thread_state()
        if self.trace is not None and state.trace is None:
            self.handlers = Untraced(state)
            self.handlers.__enter__()
        self.previous = push_trace(self.trace)
        return self.trace

    def __exit__(self, *exc):
        pop_trace(self.previous)
        self.previous = None
        if self.handlers is not None:
            self.handlers.__exit__()
        return False


@cython.binding(False)
cdef class init_scope:
    """init_scope()\n--\n
    Context manager: leaves every trace and pauses every tape of this thread. Source: tf.init_scope."""

    cdef object previous
    cdef list tapes

    def __enter__(self):
        cdef ThreadState state = thread_state()
        if self.tapes is not None:
            raise RuntimeError("This init_scope was entered already")
        self.previous, self.tapes = state.trace, state.tapes
        state.trace, state.tapes = None, []

    def __exit__(self, *exc):
        cdef ThreadState state = thread_state()
        if self.tapes is None:
            raise RuntimeError("This init_scope was not entered")
        state.trace, state.tapes = self.previous, self.tapes
        self.previous = self.tapes = None
        return False


def executing_eagerly() -> bool:
    """True if ops run at once in this thread (no trace is active). Source: tf.executing_eagerly.

    Returns:
        A bool: False in what `tf.function` traces and in a `tf.Graph`.

    Examples:
        >>> tf.executing_eagerly()
        True
        >>> bool(tf.function(lambda: tf.executing_eagerly())())
        False
    """
    return thread_state().trace is None


cpdef bint class_has(object value, str name):
    """Return whether the class of `value`, or one that it inherits from, defines `name`.

    hasattr(type(value), name) raises and drops an AttributeError where there is none: up to 1 us, ten times an op.
    """
    return fg_class_has(value, name)


@cython.binding(False)
cdef class TapeBase:
    """A listener that bind tells of every op. Subclass: _tape.Recorder."""

    cdef int note(self, Primitive prim, PyObject** inputs, Py_ssize_t n_inputs, dict attrs,
                  PyObject** outputs, Py_ssize_t n_outputs) except -1:
        return 0


class Trace:
    """The object that ops are bound to while Python code is traced. Subclass: graph.trace.

    `bind` gets inputs that are Tensors (or Cells), after conversion; `constant` gets each eager tensor that conversion
    made from a Python value and gives what stands for it in the trace.
    """

    def bind(self, prim, inputs: tuple, attrs: dict):
        raise NotImplementedError

    def constant(self, tensor):
        return tensor


include "tensor_classes.pxi"
include "tensor_memory.pxi"
include "tensor_parallel_loops.pxi"
include "tensor_bind.pxi"
include "tensor_from_sequence.pxi"
include "tensor_operators.pxi"
include "tensor_indexing.pxi"
include "tensor_matmul.pxi"
include "tensor_fast_ops.pxi"
include "tensor_movement.pxi"

fg_keep_tensors(EagerTensor)
for _name in op_errors.ABSENT:
    fg_set_attribute(EagerTensor, _name, (_Undefined if _name in op_errors.UNDEFINED else _Absent)(_name))
fg_set_attribute(Tensor, "_origin", None)  # of variable[key], which can be assigned to: (variable, key)
