# Part of _tape.pyx: forward mode. A recorder that keeps a tangent for every tensor that depends on the primals.
#
# An op's vjp is linear in the cotangent, so its derivative with respect to the cotangent is the jvp: no op states a
# second rule. An elementwise op on reals is its own transpose: there the vjp takes the tangent itself.

@cython.binding(False)
cdef class _Tangents(list):
    """Tangents by the numbers of their tensors; None once the tensor is gone."""


class _Gone(weakref.ref):
    """A weak reference to a tensor; when the tensor goes, its tangent does."""

    __slots__ = ("number", "tangents")


def _let_go(reference):
    reference.tangents[reference.number] = None


@cython.binding(False)
cdef class ForwardRecorder(Records):
    """Computes, op by op, the tangents of results from those of the inputs, while it is entered."""

    cdef readonly bint recording
    cdef readonly bint persistent       # as tapes have it: what is recorded may be differentiated again
    cdef list tangents                  # by the number of the tensor
    cdef list references                # to the tensors, so that no tangent outlives its tensor
    cdef object recorder_of

    def __cinit__(self, *args, **kwargs):
        self.watch_accessed_variables = False
        self.persistent = True
        self.tangents = _Tangents()
        self.references = []

    def __enter__(self):
        cdef ThreadState state = thread_state()
        if self.recording:
            raise ValueError("Accumulator is already recording.")
        state.tapes.append(self)
        self.recorder_of = state
        self.recording = True
        return self

    def __exit__(self, typ, value, traceback):
        if self.recording:
            _remove((<ThreadState>self.recorder_of).tapes, self)
            self.recorder_of = None
            self.recording = False

    cpdef int hold(self, item, tangent) except -1:
        """Keep `tangent` as that of a Tensor or Cell, as long as the Tensor lives."""
        cdef int32_t number = self.follow(_key(item))
        self.tangents.append(tangent)
        if isinstance(item, EagerTensor):
            reference = _Gone(item, _let_go)
            reference.number = number
            reference.tangents = self.tangents
            self.references.append(reference)
        return 0

    cpdef object tangent_of(self, item):
        """The tangent of a Tensor or Cell, or None."""
        cdef int32_t number = self.find(_key(item))
        return self.tangents[number] if number >= 0 else None

    cdef int accessed(self, cell) except -1:
        return 0

    cdef int note(self, Primitive prim, PyObject** inputs, Py_ssize_t n_inputs, dict attrs,
                  PyObject** outputs, Py_ssize_t n_outputs) except -1:
        cdef Py_ssize_t i
        cdef bint followed = False
        if self.busy:
            return 0
        for i in range(n_inputs):
            if (isinstance(<object>inputs[i], Tensor) or isinstance(<object>inputs[i], Cell)) and (
                    self.find(_key(<object>inputs[i])) >= 0):
                followed = True
                break
        if followed:
            self._advance(prim, None, [<object>inputs[i] for i in range(n_inputs)], attrs,
                          [<object>outputs[i] for i in range(n_outputs)])
        return 0

    cdef int note_custom(self, Custom custom, list inputs, list outputs) except -1:
        if not self.busy:
            self._advance(None, custom, inputs, None, outputs)
        return 0

    cdef int _advance(self, Primitive prim, Custom custom, list inputs, dict attrs, list outputs) except -1:
        """Give the outputs of one op their tangents. Only what was entered before this recorder sees the work."""
        cdef ThreadState state = thread_state()
        cdef list sources = [], tangents = [], tapes = state.tapes, floating, found
        cdef set seen = set()
        cdef Py_ssize_t i
        for item in inputs:
            if (isinstance(item, Tensor) or isinstance(item, Cell)) and _key(item) not in seen:
                tangent = self.tangent_of(item)
                if tangent is not None:
                    seen.add(_key(item))
                    sources.append(item)
                    tangents.append(tangent)
        floating = [made for made in outputs if _is_differentiable(made)]
        if not sources or not floating:
            return 0
        if prim is not None and _rules_of(prim).empty:
            return 0
        for i in range(len(tapes)):
            if tapes[i] is self:
                break
        self.busy = True
        state.tapes = tapes[:i]
        try:
            if prim is not None and _is_own_transpose(prim, sources, outputs):
                found = [_pushed_elementwise(prim, inputs, attrs, outputs[0], sources, tangents)]
            else:
                found = _pushed(prim, custom, inputs, attrs, outputs, floating, sources, tangents)
        finally:
            state.tapes = tapes
            self.busy = False
        for made, tangent in zip(floating, found):
            if tangent is not None:
                self.hold(made, tangent)
        return 0


cdef bint _is_own_transpose(Primitive prim, list sources, list outputs) except -1:
    """Return whether the op's jvp is its vjp: elementwise on reals, nothing broadcast, nothing cast."""
    if not prim.elementwise or len(outputs) != 1:
        return False
    aval = outputs[0].aval
    if not aval.dtype.is_floating or aval.shape is None or None in aval.shape:
        return False
    for source in sources:
        if isinstance(source, Cell) or source.aval.dtype is not aval.dtype or source.aval.shape != aval.shape:
            return False
    return True


cdef object _pushed_elementwise(Primitive prim, list inputs, dict attrs, output, list sources, list tangents):
    cdef Tape tape = Tape(True, False)
    cdef object total = None
    for source in sources:
        tape.watch_one(source)
    tape.note_python(prim, tuple(inputs), attrs, output)
    for source, tangent in zip(sources, tangents):
        made = tape.cotangents([output], [source], [tangent])[0]
        if made is not None:
            total = made if total is None else total + made
    return total


cdef list _pushed(Primitive prim, Custom custom, list inputs, dict attrs, list outputs, list floating, list sources,
                  list tangents):
    """The tangents of the `floating` outputs: the derivative of the vjp with respect to its cotangents."""
    cdef Tape inner = Tape(False, False), outer = Tape(False, False)
    cdef list cotangents, grads, reached = [], seeds = []
    for source in sources:
        inner.watch_one(source)
    inner.fresh = False
    if prim is not None:
        inner.note_python(prim, tuple(inputs), attrs, tuple(outputs))
    else:
        inner.note_custom(custom, inputs, outputs)
    cotangents = [_slot("ones_like", (made,)) for made in floating]
    with outer:
        for cotangent in cotangents:
            outer.watch_one(cotangent)
        grads = [_dense(grad) for grad in inner.finish(floating, sources, list(cotangents), False)]
    for grad, tangent in zip(grads, tangents):
        if grad is not None:
            reached.append(grad)
            seeds.append(tangent)
    if not reached:
        return [None] * len(floating)
    return outer.finish(reached, cotangents, seeds, False)
