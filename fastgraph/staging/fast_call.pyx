"""FastCall: a call that was made before, found and run again without entering a Python function.

Rule: it knows nothing but which arguments were given and which Plan runs for them; everything else takes the slow way,
`_call_slow`, which is also what makes the entries.
"""

cimport cython
cimport numpy as cnp
from cpython.dict cimport PyDict_GetItem, PyDict_Size
from cpython.float cimport PyFloat_AS_DOUBLE
from cpython.list cimport PyList_GET_ITEM, PyList_GET_SIZE
from cpython.object cimport PyObject
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from libc.stdint cimport int64_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp

from fastgraph.core.native.buffer cimport Cell, block_retain
from fastgraph.runtime.executor cimport Plan
from fastgraph.core.tensor cimport EagerTensor, ThreadState, from_array, thread_state, wrap_slice

import weakref

from fastgraph._tape import Records, record_operation, watch_accessed

cnp.import_array()

cdef extern from "Python.h":
    PyObject* PyWeakref_GetObject(object reference)
    object PyWeakref_NewRef(object held, object callback)

cdef enum:
    MOST_ENTRIES = 32      # that are compared one after the other
    MOST_SIZES = 224       # more that are found by the sizes of their tensors: in all no more than Plans are kept

cdef uint64_t PRIME = 0x100000001B3, SALT = 0x1E3779B97F4A7C15  # of Fowler, Noll and Vo; of the golden ratio

cdef enum ArgumentKind:
    TENSOR, ARRAY, SCALAR, VALUE, OBJECT, WEAK, HANDLED, TUPLE_OF, LIST_OF, DICT_OF

cdef enum ResultKind:      # how the flat results become what the function returns
    SINGLE, CONSTANT, TUPLE, LIST, NESTED, PACKED

cdef str _LETTERS = "tanvowh([{"   # of the ArgumentKinds, in their order

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


@cython.binding(False)
cdef class Backward:
    """The gradient of one recorded call; what it takes is made when it is asked for."""

    cdef object make
    cdef list operands
    cdef list results

    def __call__(self, *dys):
        return self.make(self.operands, self.results)(*dys)


@cython.binding(False)
cdef class Recording:
    """Recording of a call by tapes: the sources that they follow, what runs, and what of it goes onto the tapes.

    `noted` are the outputs of the record: numbers of results, -1 - i for parameter i. `backward_of` makes a function of
    the cotangents from (operands, results). `again`: its gradient can be differentiated.
    """

    cdef readonly tuple sources
    cdef readonly bint again
    cdef readonly object derivative
    cdef str name
    cdef tuple noted
    cdef Py_ssize_t n_outputs
    cdef object backward_of

    def __init__(self, str name, tuple sources, bint again, derivative, Py_ssize_t n_outputs, tuple noted, backward_of):
        self.name = name
        self.sources = sources
        self.again = again
        self.derivative = derivative
        self.n_outputs = n_outputs
        self.noted = noted
        self.backward_of = backward_of

    cpdef list note(self, list operands, list results):
        """Tell this thread's tapes of a call that gave `results`; return those that the caller gets."""
        cdef Backward backward = Backward.__new__(Backward)
        cdef set seen = {operand.id for operand in operands}
        cdef Py_ssize_t i
        cdef int64_t number
        cdef EagerTensor tensor
        results = list(results)
        for i in range(len(results)):  # tapes go by ids: no result is an operand, or another result
            tensor = <EagerTensor?>results[i]
            if tensor.id in seen:
                block_retain(tensor.block)
                tensor = wrap_slice(tensor.block, tensor.data, tensor.dtype_code, tensor.ndim, &tensor.dims[0])
                results[i] = tensor
            seen.add(tensor.id)
        backward.make = self.backward_of
        backward.operands = operands
        backward.results = results
        inputs = [operands[i] for i in self.sources]
        outputs = [results[number] if number >= 0 else operands[-1 - number] for number in self.noted]
        record_operation(self.name, inputs, outputs, backward, pass_none=True)
        return results[:self.n_outputs]


def followed(list tapes, tuple candidates, list operands, /):
    """Return the candidates (numbers of operands) that tapes follow, and whether a gradient may be differentiated.

    Only where it may do the residuals count as outputs of the record.
    """
    cdef set sources = set()
    cdef int n_followers = 0
    cdef bint persistent = False, follows
    for tape in tapes:
        if isinstance(tape, Records):
            follows = False
            for i in candidates:
                if tape.follows(operands[i]):
                    sources.add(i)
                    follows = True
            if follows:
                n_followers += 1
                persistent = tape.persistent
    return tuple(sorted(sources)), n_followers > 1 or persistent


cdef struct Place:            # where in an Entry's pattern a comparison stands
    Py_ssize_t part
    int64_t* token


@cython.binding(False)
cdef class Entry:
    """One kind of call: what its arguments are like, and the Plan with what it captures.

    The pattern of the arguments has one part for each of them, and after a tuple, list or dict parts for what is in it.
    """

    cdef Py_ssize_t n
    cdef object sizes          # the number `_mixed` of the arguments
    cdef tuple keywords        # names of the last arguments, in the order in which they were given
    cdef int64_t epoch
    cdef char* kinds
    cdef int64_t* tokens       # of a tensor: dtype code, rank, sizes; an array: rank, sizes; a container: its length
    cdef list objects          # of an array: its dtype; a NumPy number: its class; a dict: its keys in order; a Python
    #                            value: that; an iterator: (its class, what it says its kind is); another object: that,
    #                            or a weak reference to it
    cdef bint has_arrays
    cdef list captures         # tensors, and weak references to Cells
    cdef Plan plan             # None where only calls under tapes were seen
    cdef tuple candidates      # numbers of the operands that tapes may follow
    cdef list recordings       # for sources that they do follow: (Recording, the Plan that gives the residuals besides)
    cdef object owner          # weak reference to what the Plan is of
    cdef int result
    cdef object structure      # CONSTANT: the result; NESTED: see _filled; PACKED: the function that packs

    def __cinit__(
        self, Py_ssize_t n, tuple keywords, list pattern, list captures, tuple candidates, int result, structure, owner
    ):
        cdef Py_ssize_t i, n_parts = len(pattern), size = 1
        cdef int64_t* token
        self.n = n
        self.keywords = keywords
        self.epoch = epoch
        self.objects = []
        for _, numbers, _ in pattern:
            size += len(numbers)
        self.kinds = <char*>malloc(n_parts + 1)
        self.tokens = <int64_t*>malloc(size * sizeof(int64_t))
        if self.kinds == NULL or self.tokens == NULL:
            raise MemoryError()
        token = self.tokens
        for i in range(n_parts):
            letter, numbers, held = pattern[i]
            self.kinds[i] = <char>_LETTERS.index(letter)
            for number in numbers:
                token[0] = number
                token += 1
            self.objects.append(held)
            if self.kinds[i] == ARRAY or self.kinds[i] == SCALAR:
                self.has_arrays = True
        self.captures = captures
        self.candidates = candidates
        self.recordings = []
        self.result = result
        self.structure = structure
        self.owner = owner

    def __dealloc__(self):
        free(self.kinds)
        free(self.tokens)

    cdef list operands(self, tuple args):
        """The inputs of the Plan; None if a call with these arguments is not of this kind.

        Comparing runs no Python code, so that nothing changes meanwhile; arrays are copied only when all fits.
        """
        cdef list found = []
        cdef Py_ssize_t i, n_given
        cdef PyObject* cell
        cdef Place place
        place.part = 0
        place.token = self.tokens
        for i in range(self.n):
            if not self.fits(<object>PyTuple_GET_ITEM(args, i), &place, found):
                return None
        if self.has_arrays:
            n_given = len(found)
            for i in range(n_given):
                if type(found[i]) is not EagerTensor:
                    found[i] = from_array(found[i])
        for held in self.captures:
            if type(held) is EagerTensor:
                found.append(held)
            else:
                cell = PyWeakref_GetObject(held)
                if <object>cell is None:
                    return None
                found.append(<object>cell)
        return found

    cdef object packed(self, list results):
        """The results in the structure that the function returns."""
        if self.result == SINGLE:
            return results[0]
        if self.result == CONSTANT:
            return self.structure
        if self.result == TUPLE:
            return tuple(results)
        if self.result == LIST:
            return results
        if self.result == NESTED:
            return _filled(self.structure, results)
        return self.structure(results)

    cdef tuple recorded(self, tuple sources, bint again):
        """The program that runs where tapes follow these sources; None if it is not known."""
        cdef Recording recording
        for known in self.recordings:
            recording = <Recording>(<tuple>known)[0]
            if recording.again == again and recording.sources == sources:
                return known
        return None

    cdef bint fits(self, object given, Place* place, list found) except -1:
        """Return whether an argument is like the part of the pattern at `place`, and go on; append its tensors."""
        cdef int kind = self.kinds[place.part], k
        cdef EagerTensor tensor
        cdef object held
        cdef PyObject* item
        cdef Py_ssize_t i, n
        cdef int64_t* token = place.token
        if kind == TENSOR:
            place.part += 1
            if type(given) is not EagerTensor:
                return False
            tensor = <EagerTensor>given
            if tensor.dtype_code != token[0] or tensor.ndim != token[1]:
                return False
            for k in range(tensor.ndim):
                if tensor.dims[k] != token[2 + k]:
                    return False
            place.token += 2 + tensor.ndim
            found.append(tensor)
            return True
        held = <object>PyList_GET_ITEM(self.objects, place.part)
        place.part += 1
        if kind == OBJECT:
            return given is held
        if kind == WEAK:
            return <PyObject*>given == PyWeakref_GetObject(held)
        if kind == HANDLED:
            if type(given) is not <object>PyTuple_GET_ITEM(held, 0):
                return False
            known = given.__fg_handled__
            if known is None or <object>PyTuple_GET_ITEM(known, 0) is not <object>PyTuple_GET_ITEM(held, 1):
                return False
            found.append(<object>PyTuple_GET_ITEM(known, 1))
            return True
        if kind == VALUE:
            return given is held or (type(given) is type(held) and _same_value(given, held))
        if kind == ARRAY:
            if not cnp.PyArray_CheckExact(given) or <PyObject*>cnp.PyArray_DESCR(<cnp.ndarray>given) != <PyObject*>held:
                return False
            if cnp.PyArray_NDIM(<cnp.ndarray>given) != token[0]:
                return False
            for k in range(<int>token[0]):
                if cnp.PyArray_DIM(<cnp.ndarray>given, k) != token[1 + k]:
                    return False
            place.token += 1 + token[0]
            found.append(given)
            return True
        if kind == SCALAR:
            if type(given) is not held:
                return False
            found.append(given)
            return True
        place.token += 1
        n = <Py_ssize_t>token[0]
        if kind == TUPLE_OF:
            if type(given) is not tuple or PyTuple_GET_SIZE(given) != n:
                return False
            for i in range(n):
                if not self.fits(<object>PyTuple_GET_ITEM(given, i), place, found):
                    return False
        elif kind == LIST_OF:
            if type(given) is not list or PyList_GET_SIZE(given) != n:
                return False
            for i in range(n):
                if not self.fits(<object>PyList_GET_ITEM(given, i), place, found):
                    return False
        else:
            if type(given) is not dict or PyDict_Size(given) != n:
                return False
            for key in <tuple>held:
                item = PyDict_GetItem(given, key)
                if item == NULL or not self.fits(<object>item, place, found):
                    return False
        return True


@cython.binding(False)
@cython.final
cdef class Composed:
    """A composite in a structure of results: the function that makes it, and the structure of its parts."""

    cdef object make
    cdef object parts

    def __init__(self, make, parts):
        self.make = make
        self.parts = parts


cdef object _filled(object structure, list results):
    """Tuples, lists and dicts as in `structure`, with results where it has their numbers."""
    if type(structure) is int:
        return results[<Py_ssize_t>structure]
    if type(structure) is tuple:
        return tuple([_filled(item, results) for item in <tuple>structure])
    if type(structure) is list:
        return [_filled(item, results) for item in <list>structure]
    if type(structure) is dict:
        return {key: _filled(item, results) for key, item in (<dict>structure).items()}
    if type(structure) is Composed:
        return (<Composed>structure).make(_filled((<Composed>structure).parts, results))
    return structure


cdef bint _same_value(object a, object b) except -1:
    """Return whether two Python values of one class are the same number or text: zeros of different sign are not."""
    cdef double x, y
    if type(a) is float:
        x, y = PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b)
        return memcmp(&x, &y, sizeof(double)) == 0
    if type(a) is complex:
        return _same_value(a.real, b.real) and _same_value(a.imag, b.imag)
    return a == b


cdef uint64_t _mixed(uint64_t number, object given) except? 0:
    """A number that the sizes of tensors and arrays in an argument have changed."""
    cdef EagerTensor tensor
    cdef int i
    number = (number ^ SALT) * PRIME
    if type(given) is EagerTensor:
        tensor = <EagerTensor>given
        for i in range(tensor.ndim):
            number = (number ^ <uint64_t>tensor.dims[i]) * PRIME
    elif cnp.PyArray_Check(given):
        for i in range(cnp.PyArray_NDIM(given)):
            number = (number ^ <uint64_t>cnp.PyArray_DIM(given, i)) * PRIME
    elif type(given) is tuple or type(given) is list:
        for item in given:
            number = _mixed(number, item)
    elif type(given) is dict:
        for item in (<dict>given).values():
            number = _mixed(number, item)
    return number


@cython.binding(False)
cdef class FastCall:
    """Something that is called again and again with arguments of few kinds, or of one kind in many sizes."""

    cdef list entries
    cdef dict by_sizes           # what `entries` has no room for, the latest of each `_mixed` number
    cdef public int64_t _calls   # how many calls there were outside of traces

    def __cinit__(self, *args, **kwargs):
        self.entries = []
        self.by_sizes = {}

    cdef Entry _found_by_sizes(self, tuple given, tuple keywords):
        """The entry that `by_sizes` has for arguments of these sizes, or None; it comes first then."""
        cdef Entry entry = self.by_sizes.get(_mixed(0, given))
        if entry is None or entry.n != len(given) or entry.epoch != epoch or entry.keywords != keywords:
            return None
        if entry.operands(given) is None:
            return None
        self._enter(entry, self.entries)
        return entry

    cdef void _enter(self, Entry entry, list entries):
        """Let an entry come first; the last one goes where it is found by its sizes."""
        cdef list new = [entry]
        new += entries
        for last in new[MOST_ENTRIES:]:
            if len(self.by_sizes) >= MOST_SIZES:
                self.by_sizes = {}
            self.by_sizes[(<Entry>last).sizes] = last
        del new[MOST_ENTRIES:]
        self.entries = new

    def __call__(self, *args, **kwargs):
        cdef ThreadState state = thread_state()
        cdef Entry entry
        cdef Plan plan
        cdef Py_ssize_t i, n
        cdef list inputs, entries
        cdef tuple recorded
        cdef tuple given = args, keywords = ()
        if kwargs:
            keywords = tuple(kwargs)
            given = args + tuple(kwargs.values())
        n = PyTuple_GET_SIZE(given)
        if run_eagerly or state.trace is not None or state.replica is not None:
            return self._call_slow(args, kwargs)
        self._calls += 1
        entries = self.entries  # no list that is here is ever changed but for the order
        for i in range(PyList_GET_SIZE(entries)):
            entry = <Entry>PyList_GET_ITEM(entries, i)
            if entry.n == n and entry.epoch == epoch and (
                entry.keywords is keywords or entry.keywords == keywords  # no names: the one empty tuple
            ):
                inputs = entry.operands(given)
                if inputs is not None:
                    break
        else:
            i = 0
            entry = self._found_by_sizes(given, keywords) if self.by_sizes else None
            inputs = None if entry is None else entry.operands(given)
            if inputs is None:
                return self._call_slow(args, kwargs)
        if i > 0:
            entries[i] = entries[i - 1]
            entries[i - 1] = entry
        if PyList_GET_SIZE(state.tapes):
            for held in inputs:
                if type(held) is Cell:
                    watch_accessed(held)
            sources, again = followed(state.tapes, entry.candidates, inputs)
            if sources:
                recorded = entry.recorded(sources, again)
                if recorded is None:
                    return self._call_slow(args, kwargs)
                plan = <Plan>recorded[1]
                return entry.packed((<Recording>recorded[0]).note(inputs, plan.run(inputs)))
        plan = entry.plan  # held here: while it runs another thread may give the entry another
        if plan is None:
            return self._call_slow(args, kwargs)
        return entry.packed(plan.run(inputs))

    def remember(
        self, tuple args, tuple keywords, list pattern, list captures, tuple candidates, str result, structure,
        Plan plan, Recording recording or None, owner,
    ) -> None:
        """Enter a kind of call: what runs without tapes (`plan`), or under tapes that follow something (`recording`).

        The last of `args` were given by the names `keywords`. See keys.pattern for the pattern. The Plan is of `owner`.
        """
        cdef int how = ("single", "constant", "tuple", "list", "nested", "packed").index(result)
        cdef Entry entry
        cdef Entry found = None
        cdef list entries = [entry for entry in self.entries if (<Entry>entry).epoch == epoch]
        for entry in entries:
            if entry.n == len(args) and entry.keywords == keywords and entry.operands(args) is not None:
                found = entry
                break
        if found is None:
            found = Entry(len(args), keywords, pattern, captures, candidates, how, structure, weakref.ref(owner))
            found.sizes = _mixed(0, args)
            self._enter(found, entries)
        else:
            self.entries = entries
        if recording is None:
            found.plan = plan
        else:
            found.recordings.append((recording, plan))

    def _owners(self) -> list:
        """The owners of Plans that are remembered."""
        return [(<Entry>entry).owner() for entry in [*self.entries, *self.by_sizes.values()]]

    def _forget_calls(self) -> None:
        """Forget the calls that were made."""
        self.entries = []
        self.by_sizes = {}

    def _call_slow(self, args, kwargs):
        raise NotImplementedError


@cython.binding(False)
cdef class MethodCall(FastCall):
    """A FastCall that, found in a class, is a method: it is found again without entering a Python function."""

    cdef readonly dict _instances  # id of an instance -> (weak reference to it, the MethodCall of that instance)
    cdef object _bound             # of an instance's: weak reference to it as a bound method, None before the first

    def __cinit__(self, *args, **kwargs):
        self._instances = {}

    def __get__(self, instance, owner):
        """A method: a MethodCall of its own for each instance. `_for_instance` makes it in the first call.

        It is one object as long as somebody holds it: `a.f is a.f`.
        """
        cdef tuple found
        cdef MethodCall function
        cdef PyObject* held
        if instance is None:
            return self
        found = self._instances.get(id(instance))
        if found is None or type(found[0]) is not weakref.ref or (
            PyWeakref_GetObject(found[0]) != <PyObject*>instance  # the id of an object that is gone
        ):
            function = self._for_instance(instance)
        else:
            function = <MethodCall>found[1]
        if function._bound is not None:
            held = PyWeakref_GetObject(function._bound)
            if held != <PyObject*>None:
                return <object>held
        bound = self._bound_class(instance, function)
        function._bound = PyWeakref_NewRef(bound, None)
        return bound

    def _for_instance(self, instance):
        raise NotImplementedError


@cython.binding(False)
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
