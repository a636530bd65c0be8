# Part of _tape.pyx: what listens to ops, and what tells it of more than bind does.

cdef struct Entry:           # one input or one output of a record
    int32_t tensor           # number of the tensor among those this tape follows, -1 if it does not
    int32_t kept             # position in `kept` of the tensor itself, -1 if no rule asks for it
    int32_t extents          # position in `extents` of its ndim sizes
    int16_t dtype
    int16_t ndim             # -1: symbolic, `kept` holds the tensor

cdef struct Record:          # one op: entries first .. first + n_inputs + n_outputs
    void* primitive          # the Primitive, which lives for ever; NULL: `attrs` is a Custom
    int64_t first
    int32_t n_inputs
    int32_t n_outputs
    int32_t attrs            # position in `kept` of the attributes, -1 if no rule asks for any


@cython.binding(False)
cdef class Recorder(TapeBase):
    """Something that stands in a thread's list of tapes."""

    cdef int accessed(self, cell) except -1:
        """A Function used the Variable behind `cell`."""
        return 0

    cdef int note_custom(self, Custom custom, list inputs, list outputs) except -1:
        """`outputs` were computed from `inputs` by something that has a gradient of its own."""
        return 0

    cdef int note(self, Primitive prim, PyObject** inputs, Py_ssize_t n_inputs, dict attrs,
                  PyObject** outputs, Py_ssize_t n_outputs) except -1:
        return 0


@cython.binding(False)
cdef class VariableWatcher(Recorder):
    """Collects the Variables, unless told otherwise the trainable ones, read on this thread while the context lasts."""

    cdef dict _found
    cdef bint _trainable_only
    cdef ThreadState _state

    def __cinit__(self, bint trainable_only=True):
        self._found = {}
        self._trainable_only = trainable_only

    def __enter__(self):
        self._state = thread_state()
        self._state.tapes.append(self)
        return self

    def __exit__(self, *exception):
        if self._state is None:
            raise RuntimeError("This VariableWatcher is not watching: use it in a with statement")
        _remove(self._state.tapes, self)
        self._state = None

    cdef int accessed(self, cell) except -1:
        variable = _variable_of(<Cell>cell)
        if variable is not None and ((<Cell>cell).trainable or not self._trainable_only):
            self._found[(<Cell>cell).id] = variable
        return 0

    cdef int note(self, Primitive prim, PyObject** inputs, Py_ssize_t n_inputs, dict attrs,
                  PyObject** outputs, Py_ssize_t n_outputs) except -1:
        if prim.effect == "read" and n_inputs and isinstance(<object>inputs[0], Cell):
            self.accessed(<object>inputs[0])
        return 0

    cdef int note_custom(self, Custom custom, list inputs, list outputs) except -1:
        for given in inputs:
            if isinstance(given, Cell):
                self.accessed(given)
        return 0

    @property
    def variables(self) -> list:
        """The Variables found, in the order of their first use."""
        return list(self._found.values())


@cython.binding(False)
cdef class OpListener(Recorder):
    """Calls `told(primitive, inputs, outputs)` after every op that this thread runs, between start() and stop()."""

    cdef object _told

    def __init__(self, told):
        self._told = told

    def start(self):
        """Listen to this thread's ops."""
        thread_state().tapes.append(self)

    def stop(self):
        """Listen no more."""
        _remove(thread_state().tapes, self)

    cdef int note(self, Primitive prim, PyObject** inputs, Py_ssize_t n_inputs, dict attrs,
                  PyObject** outputs, Py_ssize_t n_outputs) except -1:
        cdef Py_ssize_t i
        self._told(prim, [<object>inputs[i] for i in range(n_inputs)], [<object>outputs[i] for i in range(n_outputs)])
        return 0


@cython.binding(False)
cdef class Custom:
    """A piece of computation with a gradient of its own: custom_gradient, the call of a Function, a loop."""

    cdef readonly str name
    cdef readonly object backward
    cdef readonly bint with_needs
    cdef readonly bint pass_none

    def __cinit__(self, str name, backward, bint with_needs, bint pass_none):
        self.name = name
        self.backward = backward
        self.with_needs = with_needs
        self.pass_none = pass_none


cdef _variable_of(Cell cell):
    """The Variable that owns `cell`, or None when it is gone."""
    return cell.variable() if cell.variable is not None else None


cdef int _remove(list tapes, tape) except -1:
    """Take `tape` out of `tapes`, wherever it stands: tapes may end in any order."""
    cdef Py_ssize_t i
    for i in range(len(tapes) - 1, -1, -1):
        if tapes[i] is tape:
            del tapes[i]
            return 1
    return 0


def record_operation(str name, inputs, outputs, backward, *, bint with_needs=False, bint pass_none=False) -> None:
    """Tell this thread's tapes that `outputs` were computed from `inputs`, with `backward` as the gradient.

    inputs: Tensors, Variables or Cells; outputs: Tensors. backward(*dys) gives one cotangent (or None) per input. A
    differentiable output that nothing flows into gets zeros, with pass_none None; an integer one gets None. With
    with_needs the call is backward(needs, *dys), needs a tuple of bools per input.
    """
    cdef list given, made
    cdef Custom custom
    cdef list tapes = thread_state().tapes
    if not tapes:
        return
    given = [_identity_of(each) for each in inputs]
    made = list(outputs)
    custom = Custom(name, backward, with_needs, pass_none)
    for tape in list(tapes):
        if isinstance(tape, Recorder):
            (<Recorder>tape).note_custom(custom, given, made)


def watch_accessed(variable) -> None:
    """Tell this thread's tapes that a Variable (or its Cell) was used, as a read of it does."""
    for tape in list(thread_state().tapes):
        if isinstance(tape, Recorder):
            (<Recorder>tape).accessed(_identity_of(variable))


def recording() -> bool:
    """True if a tape records on this thread."""
    return bool(thread_state().tapes)


class stop_recording:
    """A context in which no tape of this thread records."""

    def __enter__(self) -> None:
        self._state = thread_state()
        self._tapes = self._state.tapes
        self._state.tapes = []

    def __exit__(self, *exception) -> None:
        self._state.tapes = self._tapes


cdef object _identity_of(item):
    """The Tensor or Cell by which a tape knows `item`, or None if it cannot know it."""
    if isinstance(item, Tensor) or isinstance(item, Cell):
        return item
    return getattr(item, "__fg_cell__", None)
