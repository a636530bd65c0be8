"""FastCall: a call that was made before, found and run again without entering a Python function.

Rule: it knows nothing but which arguments were given and which Plan runs for them; everything else takes the slow way,
`_call_slow`, which is also what makes the entries.
"""

from cpython.list cimport PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t
from libc.stdlib cimport free, malloc

from fastgraph._executor cimport Plan
from fastgraph._tensor cimport EagerTensor, ThreadState, thread_state

import weakref

cdef extern from "Python.h":
    PyObject* PyWeakref_GetObject(object reference)

cdef enum:
    MOST_ENTRIES = 32

cdef enum ArgumentKind:
    TENSOR, OBJECT, WEAK

cdef enum ResultKind:      # how the flat results become what the function returns
    SINGLE, CONSTANT, TUPLE, LIST, PACKED

cdef int64_t epoch = 0     # entries of an earlier epoch are void: a flag has changed since
cdef bint run_eagerly = False


def forget_all(*_) -> None:
    """Make all entries void."""
    global epoch
    epoch += 1


def set_run_eagerly(bint value) -> None:
    """Say whether every call takes the slow way, which then runs plain Python."""
    global run_eagerly
    run_eagerly = value


cdef class Entry:
    """One kind of call: what its arguments are like, and the Plan with what it captures."""

    cdef Py_ssize_t n
    cdef tuple keywords        # names of the last arguments, in the order in which they were given
    cdef int64_t epoch
    cdef char* kinds
    cdef int64_t* tokens       # of each tensor: dtype code, rank, sizes
    cdef list objects          # what the other arguments are: the object, or a weak reference to it
    cdef list captures         # tensors, and weak references to Cells
    cdef Plan plan
    cdef int result
    cdef object structure      # CONSTANT: the result; PACKED: the function that packs

    def __cinit__(self, tuple args, tuple keywords, str kinds, list captures, Plan plan, int result, structure):
        cdef Py_ssize_t i, size = 1
        cdef int k
        cdef int64_t* token
        cdef EagerTensor tensor
        self.n = len(args)
        self.keywords = keywords
        self.epoch = epoch
        self.objects = []
        for i in range(self.n):
            if kinds[i] == "t":
                size += 2 + (<EagerTensor?>args[i]).ndim
        self.kinds = <char*>malloc(self.n + 1)
        self.tokens = <int64_t*>malloc(size * sizeof(int64_t))
        if self.kinds == NULL or self.tokens == NULL:
            raise MemoryError()
        token = self.tokens
        for i in range(self.n):
            if kinds[i] == "t":
                tensor = <EagerTensor>args[i]
                self.kinds[i] = TENSOR
                self.objects.append(None)
                token[0] = tensor.dtype_code
                token[1] = tensor.ndim
                for k in range(tensor.ndim):
                    token[2 + k] = tensor.dims[k]
                token += 2 + tensor.ndim
            else:
                self.kinds[i] = WEAK if kinds[i] == "w" else OBJECT
                self.objects.append(weakref.ref(args[i]) if kinds[i] == "w" else args[i])
        self.captures = captures
        self.plan = plan
        self.result = result
        self.structure = structure

    def __dealloc__(self):
        free(self.kinds)
        free(self.tokens)

    cdef bint fits(self, tuple args):
        """Whether a call with these arguments is of this kind."""
        cdef Py_ssize_t i
        cdef int k
        cdef int64_t* token = self.tokens
        cdef PyObject* given
        cdef EagerTensor tensor
        for i in range(self.n):
            given = <PyObject*>PyTuple_GET_ITEM(args, i)
            if self.kinds[i] == TENSOR:
                if type(<object>given) is not EagerTensor:
                    return False
                tensor = <EagerTensor>given
                if tensor.dtype_code != token[0] or tensor.ndim != token[1]:
                    return False
                for k in range(tensor.ndim):
                    if tensor.dims[k] != token[2 + k]:
                        return False
                token += 2 + tensor.ndim
            elif self.kinds[i] == OBJECT:
                if given != <PyObject*>self.objects[i]:
                    return False
            elif given != PyWeakref_GetObject(self.objects[i]):
                return False
        return True

    cdef list operands(self, tuple args):
        """The inputs of the Plan; None if a captured Variable is gone."""
        cdef list found = []
        cdef Py_ssize_t i
        cdef PyObject* cell
        for i in range(self.n):
            if self.kinds[i] == TENSOR:
                found.append(args[i])
        for held in self.captures:
            if type(held) is EagerTensor:
                found.append(held)
            else:
                cell = PyWeakref_GetObject(held)
                if <object>cell is None:
                    return None
                found.append(<object>cell)
        return found


cdef class FastCall:
    """Something that is called again and again with arguments of few kinds."""

    cdef list entries
    cdef public int64_t _calls

    def __cinit__(self, *args, **kwargs):
        self.entries = []

    def __call__(self, *args, **kwargs):
        cdef ThreadState state = thread_state()
        cdef Entry entry
        cdef Py_ssize_t i, n
        cdef list inputs, results
        cdef tuple given = args, keywords = ()
        self._calls += 1
        if kwargs:
            keywords = tuple(kwargs)
            given = args + tuple(kwargs.values())
        n = PyTuple_GET_SIZE(given)
        if run_eagerly or state.trace is not None or PyList_GET_SIZE(state.tapes):
            return self._call_slow(args, kwargs)
        for i in range(len(self.entries)):
            entry = <Entry>self.entries[i]
            if entry.n == n and entry.epoch == epoch and entry.fits(given) and (
                entry.keywords is keywords or entry.keywords == keywords  # no names: the one empty tuple
            ):
                break
        else:
            return self._call_slow(args, kwargs)
        if i > 0:
            self.entries[i] = self.entries[i - 1]
            self.entries[i - 1] = entry
        inputs = entry.operands(given)
        if inputs is None:
            return self._call_slow(args, kwargs)
        results = entry.plan.run(inputs)
        if entry.result == SINGLE:
            return results[0]
        if entry.result == CONSTANT:
            return entry.structure
        if entry.result == TUPLE:
            return tuple(results)
        if entry.result == LIST:
            return results
        return entry.structure(results)

    def remember(
        self, tuple args, tuple keywords, str kinds, list captures, Plan plan, str result, structure
    ) -> None:
        """Enter a kind of call. The last of `args` are given by the names `keywords`; `kinds` has one letter for each
        argument: t(ensor), o(bject), w(eakly held object).
        """
        cdef int how = ("single", "constant", "tuple", "list", "packed").index(result)
        self.entries = [entry for entry in self.entries if (<Entry>entry).epoch == epoch]
        self.entries.insert(0, Entry(args, keywords, kinds, captures, plan, how, structure))
        del self.entries[MOST_ENTRIES:]

    def _call_slow(self, args, kwargs):
        raise NotImplementedError


cdef class MethodCall(FastCall):
    """A FastCall that, found in a class, is a method: it is found again without entering a Python function."""

    cdef readonly dict _instances  # id of an instance -> (weak reference to it, the FastCall of that instance)

    def __cinit__(self, *args, **kwargs):
        self._instances = {}

    def __get__(self, instance, owner):
        """As a method: a FastCall of its own for each instance. `_bind_to` makes it in the first call."""
        cdef tuple found
        if instance is None:
            return self
        found = self._instances.get(id(instance))
        if found is None or type(found[0]) is not weakref.ref or (
            PyWeakref_GetObject(found[0]) != <PyObject*>instance  # the id of an object that is gone
        ):
            return self._bind_to(instance)
        return self._bound_class(instance, found[1])

    def _bind_to(self, instance):
        raise NotImplementedError


cdef class BoundCall:
    """A FastCall as a method of an object that it holds."""

    cdef readonly object __self__
    cdef readonly FastCall function
    cdef object __weakref__

    def __init__(self, instance, FastCall function):
        self.__self__ = instance
        self.function = function

    def __call__(self, *args, **kwargs):
        return self.function(*args, **kwargs)
