# Part of _tape.pyx: the walk back over the records, and the tape as it is used.

def _age(variable):
    """The key that tells a Variable made earlier from one made later."""
    return variable.__fg_cell__.id


@cython.binding(False)
cdef class Tape(Records):
    """Tape(persistent=False, watch_accessed_variables=True)\n--\n
    Records while it is entered; gives gradients by one walk back over the records, for any number of sources."""

    cdef readonly bint persistent
    cdef readonly bint recording
    cdef bint fresh                  # nothing to differentiate: never entered, or used up
    cdef object recorder_of          # the ThreadState whose list this tape stands in while it records
    cdef public bint of_graph        # names of the gradients' nodes: `gradients/MatMul_grad/`, else `gradient_tape/`

    def __cinit__(self, *args, **kwargs):
        self.fresh = True

    def __init__(self, bint persistent=False, bint watch_accessed_variables=True):
        self.persistent = persistent
        self.watch_accessed_variables = watch_accessed_variables

    def __enter__(self):
        cdef ThreadState state
        if self.recording:
            raise ValueError("Tape is still recording, This can happen if you try to re-enter an already-active tape.")
        if self.fresh:
            self.clear()
            self.variables = []
            self.fresh = False
        state = thread_state()
        state.tapes.append(self)
        self.recorder_of = state
        self.recording = True
        return self

    def __exit__(self, typ, value, traceback):
        if self.recording:
            self.pause()
        _remove(thread_state().tapes, self)  # it stands here still if it was paused inside a trace

    cpdef int pause(self) except -1:
        """Stop recording; `with tape` goes on."""
        if not self.recording:
            raise ValueError("Tape is not recording.")
        _remove((<ThreadState>self.recorder_of).tapes, self)
        self.recorder_of = None
        self.recording = False
        return 0

    @property
    def used_up(self) -> bool:
        """True if there is nothing to differentiate: never entered, or its one gradient was taken or is being taken."""
        return self.fresh or (self.walkers > 0 and not self.persistent)

    @property
    def n_operations(self) -> int:
        """Number of records."""
        return self.n_records

    @property
    def n_kept(self) -> int:
        """Number of tensors and attributes kept for the walk backward."""
        return len(self.kept)

    cpdef list watched(self):
        """The Variables that this tape follows, in the order in which they were made."""
        return sorted(self.variables, key=_age)

    def forget(self) -> None:
        """Drop every record and stop following every tensor."""
        self.clear()
        self.variables = []

    # Walking back.

    cpdef list cotangents(self, list targets, list sources, list seeds, bint release=False):
        """The cotangent of each source (None where nothing flows into it), given one seed per target (None: ones).

        targets, sources: Tensors and Cells. With `release` each record is let go as soon as it was used.
        """
        cdef Py_ssize_t i
        cdef int32_t number
        cdef int64_t key, first, last, position
        cdef list found = [], cotangents
        cdef char* live
        source_keys = {_key(source) for source in sources}
        for target in targets:  # a target that is a source has a gradient of ones, watched or not
            key = _key(target)
            if key in source_keys and self.find(key) < 0:
                self.follow(key)
        cotangents = [None] * self.n_tensors
        first = self.n_records
        last = -1
        live = <char*>calloc(self.n_tensors + 1, 1)
        if live == NULL:
            raise MemoryError()
        self.walkers += 1
        try:
            for source in sources:
                number = self.find(_key(source))
                found.append(number)
                if number >= 0:
                    live[number] = FOLLOWED | SOURCE
                    first = min(first, self.born[number])
            for i in range(len(targets)):
                number = self.find(_key(targets[i]))
                if number < 0:
                    continue
                last = max(last, min(self.born[number], self.n_records) - 1)
                seed = seeds[i]
                if seed is None:
                    seed = _tensor_of(targets[i])
                    if not seed.dtype.is_numeric:  # strings have no ones
                        continue
                    seed = _ones_like(seed)
                cotangents[number] = (
                    seed if cotangents[number] is None else _accumulate(cotangents[number], seed))
            self._mark(live, first, last)
            for position in range(last, first - 1, -1):
                self._step_back(position, live, cotangents, release)
        finally:
            self.walkers -= 1
            free(live)
        return [cotangents[number] if number >= 0 else None for number in found]

    cdef int _mark(self, char* live, int64_t first, int64_t last) except -1:
        """Mark every tensor that depends on a marked one by way of the records first .. last."""
        cdef int64_t position
        cdef int32_t i
        cdef Record* record
        cdef Entry* entry
        for position in range(first, last + 1):
            record = self.records + position
            entry = self.entries + record.first
            for i in range(record.n_inputs):
                if entry[i].tensor >= 0 and live[entry[i].tensor]:
                    entry += record.n_inputs
                    for i in range(record.n_outputs):
                        if entry[i].tensor >= 0:
                            live[entry[i].tensor] |= FOLLOWED
                    break
        return 0

    cdef int _step_back(self, int64_t position, char* live, list cotangents, bint release) except -1:
        """Turn the cotangents of one record's outputs into cotangents of its inputs.

        The vjps are ops: when this very tape records, they add records, so nothing here holds a pointer across a call.
        """
        cdef Record record = self.records[position]
        cdef int64_t inputs_at = record.first, outputs_at = record.first + record.n_inputs
        cdef int32_t i, number
        cdef bint reached = False, wanted = False
        cdef list dys = []
        cdef ThreadState state
        for i in range(record.n_outputs):
            number = self.entries[outputs_at + i].tensor
            dy = None
            if number >= 0 and number < len(cotangents):
                dy = cotangents[number]
                if dy is not None:
                    reached = True
                    if not live[number] & SOURCE:  # a source's own cotangent must survive the walk
                        cotangents[number] = None
            dys.append(dy)
        if reached:
            for i in range(record.n_inputs):
                number = self.entries[inputs_at + i].tensor
                if number >= 0 and live[number]:
                    wanted = True
                    break
        if reached and wanted:
            state = thread_state()
            if state.trace is None:
                self._back(record, live, cotangents, dys)
            else:
                scope = state.extra.get("name_scope", "")
                state.extra["name_scope"] = self._scope_of(record, scope)
                try:
                    self._back(record, live, cotangents, dys)
                finally:
                    state.extra["name_scope"] = scope
        if release:
            for i in range(record.n_inputs + record.n_outputs):
                number = self.entries[inputs_at + i].kept
                if number >= 0:
                    self.kept[number] = None
            if record.attrs >= 0:
                self.kept[record.attrs] = None
        return 0

    cdef str _scope_of(self, Record record, str scope):
        """The prefix of the names of what a record's gradient consists of: TensorFlow's, by the forward node's name."""
        cdef int32_t kept = self.entries[record.first + record.n_inputs].kept if record.n_outputs else -1
        node = getattr(getattr(self.kept[kept], "value", None), "node", None) if kept >= 0 else None
        name = "" if node is None else str(node.name)
        if self.of_graph:
            return f"{scope}gradients/{name}_grad/" if name else scope
        last = name.rpartition("/")[2]
        if not last[:1].islower() and not last.startswith("MatMul"):  # operators and matmul are scopes of their own
            name = name[:-len(last) - 1]
        return f"gradient_tape/{name}/" if name else "gradient_tape/"

    cdef int _back(self, Record record, char* live, list cotangents, list dys) except -1:
        """Apply a record's rules to the cotangents of its outputs."""
        cdef Rules rules
        cdef int32_t i
        if record.primitive == NULL:
            self._back_custom(record, live, cotangents, dys)
            return 0
        rules = _rules_of(<Primitive>record.primitive)
        if not rules.reads:
            for i in range(record.n_outputs):
                if dys[i] is not None and not isinstance(dys[i], Tensor):
                    dys[i] = _dense(dys[i])
        if rules.all_inputs is not None:
            self._back_all(record, rules, live, cotangents, dys)
        else:
            self._back_each(record, rules, live, cotangents, dys)
        return 0

    cdef int _back_each(self, Record record, Rules rules, char* live, list cotangents, list dys) except -1:
        cdef int32_t i, number
        cdef Rule rule
        for i in range(record.n_inputs):
            if i >= rules.n_fixed:
                break
            number = self.entries[record.first + i].tensor
            if number < 0 or not live[number]:
                continue
            rule = rules.rule_of(i)
            if rule is not None:
                self._give(record, i, rule.function(*self._arguments(record, rule, rules, live, dys)), cotangents)
        if rules.variadic and record.n_inputs > rules.n_fixed:
            rule = rules.rule_of(rules.n_fixed)
            if rule is None:
                return 0
            for i in range(rules.n_fixed, record.n_inputs):
                number = self.entries[record.first + i].tensor
                if number >= 0 and live[number]:
                    made = rule.function(*self._arguments(record, rule, rules, live, dys))
                    self._give_many(record, rules, made, live, cotangents)
                    break
        return 0

    cdef int _back_all(self, Record record, Rules rules, char* live, list cotangents, list dys) except -1:
        cdef Primitive primitive = <Primitive>record.primitive
        cdef Rule rule = rules.all_inputs
        cdef int32_t i, number
        made = rule.function(*self._arguments(record, rule, rules, live, dys))
        if made is None:
            return 0
        for i in range(min(record.n_inputs, rules.n_fixed)):
            number = self.entries[record.first + i].tensor
            if number >= 0 and live[number]:
                self._give(record, i, made.get(primitive.inputs[i]), cotangents)
        if rules.variadic and record.n_inputs > rules.n_fixed:
            self._give_many(record, rules, made.get(primitive.inputs[rules.n_fixed][1:]), live, cotangents)
        return 0

    cdef int _give_many(self, Record record, Rules rules, made, char* live, list cotangents) except -1:
        """Hand the list of cotangents of a variadic input out."""
        cdef int32_t i, number
        if made is None:
            return 0
        made = list(made)
        if len(made) != record.n_inputs - rules.n_fixed:
            raise ValueError(f"The gradient of {(<Primitive>record.primitive).name} gave {len(made)} cotangents for "
                             f"{record.n_inputs - rules.n_fixed} inputs")
        for i in range(rules.n_fixed, record.n_inputs):
            number = self.entries[record.first + i].tensor
            if number >= 0 and live[number]:
                self._give(record, i, made[i - rules.n_fixed], cotangents)
        return 0

    cdef int _back_custom(self, Record record, char* live, list cotangents, list dys) except -1:
        cdef Custom custom = <Custom>self.kept[record.attrs]
        cdef int32_t i, number
        cdef list arguments = []
        for i in range(record.n_outputs):
            dy = _dense(dys[i])
            if dy is None and not custom.pass_none and self.entries[record.first + record.n_inputs + i].tensor >= 0:
                dy = self._zeros(record.first + record.n_inputs + i)
            arguments.append(dy)
        if custom.with_needs:
            arguments.insert(0, self._needs(record, live))
        made = custom.backward(*arguments)
        if not isinstance(made, (list, tuple)):
            made = [made]
        if len(made) != record.n_inputs:
            raise ValueError(f"The gradient of {custom.name} gave {len(made)} cotangents for {record.n_inputs} inputs")
        for i in range(record.n_inputs):
            number = self.entries[record.first + i].tensor
            if number >= 0 and live[number]:
                self._give(record, i, made[i], cotangents)
        return 0

    cdef int _give(self, Record record, int32_t i, made, list cotangents) except -1:
        """Add the cotangent `made` to what input i of a record has so far."""
        cdef int32_t number = self.entries[record.first + i].tensor
        if made is None:
            return 0
        made = self._fitted(record, i, made)
        before = cotangents[number]
        cotangents[number] = made if before is None else _accumulate(before, made)
        return 0

    cdef tuple _needs(self, Record record, char* live):
        cdef int32_t i
        return tuple([self.entries[record.first + i].tensor >= 0 and live[self.entries[record.first + i].tensor] != 0
                      for i in range(record.n_inputs)])

    cdef list _arguments(self, Record record, Rule rule, Rules rules, char* live, list dys):
        cdef list arguments = []
        cdef int i, kind, place
        cdef int32_t j
        cdef int64_t outputs_at = record.first + record.n_inputs
        for i in range(rule.n):
            kind = rule.kinds[i]
            place = rule.places[i]
            if kind == DY:
                dy = dys[place]
                arguments.append(dy if dy is not None else self._zeros(outputs_at + place))
            elif kind == INPUT:
                arguments.append(self.kept[self.entries[record.first + place].kept])
            elif kind == OUTPUT:
                arguments.append(self.kept[self.entries[outputs_at + place].kept])
            elif kind == ATTR:
                arguments.append((<dict>self.kept[record.attrs])[rule.names[i]])
            elif kind == SHAPE:
                arguments.append(self._shape_of(record.first + place))
            elif kind == DTYPE:
                arguments.append(self._dtype_of(record.first + place))
            elif kind == NEEDS:
                arguments.append(self._needs(record, live))
            elif kind == DYS:
                arguments.append(list(dys))
            elif kind == OUTPUTS:
                arguments.append([self.kept[self.entries[outputs_at + j].kept] for j in range(record.n_outputs)])
            elif kind == INPUTS:
                arguments.append([self.kept[self.entries[record.first + j].kept]
                                  for j in range(rules.n_fixed, record.n_inputs)])
            elif kind == SHAPES:
                arguments.append([self._shape_of(record.first + j) for j in range(rules.n_fixed, record.n_inputs)])
            else:
                arguments.append([self._dtype_of(record.first + j) for j in range(rules.n_fixed, record.n_inputs)])
        return arguments

    def watch(self, tensor):
        """Follow a Tensor or Variable, or every one in a structure, from here on; see GradientTape.

        Args:
            tensor: A Tensor or Variable of floating or complex numbers, or a structure of them.

        Returns:
            Nothing.

        Raises:
            ValueError: There is something else in it. (Of integers there is a warning: they have no gradient.)

        Examples:
            >>> x = tf.constant(3.0)
            >>> with tf.GradientTape() as tape:
            ...     tape.watch(x)
            ...     y = x * x
            >>> float(tape.gradient(y, x))
            6.0
        """
        if type(tensor) is EagerTensor and self.recording and _is_differentiable(tensor):
            if self.find((<Tensor>tensor).id) < 0:
                self.follow((<Tensor>tensor).id)
        else:
            self.watch_nested(tensor)

    # The gradient.

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients="none"):
        """Return the gradient of the sum of target with respect to each source, in the structure of the sources.

        Args:
            target: A Tensor or Variable, or a structure of them, whose gradients are added up.
            sources: Tensors and Variables that the tape has followed, in any structure.
            output_gradients: In the structure of the target: what its elements are multiplied with; None: ones.
            unconnected_gradients: "none": None where target does not depend on the source; "zero": zeros.

        Raises:
            RuntimeError: The tape was asked before and is not persistent.
            LookupError: An op on the way has no gradient.

        Examples:
            >>> a, b = tf.Variable(2.0), tf.Variable(5.0)
            >>> with tf.GradientTape(persistent=True) as tape:
            ...     y = a * a
            >>> tape.gradient(y, [a, b])
            [<tf.Tensor: shape=(), dtype=float32, numpy=4.0>, None]
            >>> float(tape.gradient(y, b, unconnected_gradients="zero"))
            0.0
        """
        # The plain case is here, structures are in differentiate_nested.
        cdef list flat
        cdef bint single
        if self.fresh or self.recording or output_gradients is not None or not isinstance(target, Tensor) or (
                unconnected_gradients != "none"):
            return self.differentiate_nested(target, sources, output_gradients, unconnected_gradients)
        single = type(sources) is not list
        flat = [_identity_of(source) for source in <list>sources] if not single else [_identity_of(sources)]
        for source in flat:
            if source is None:
                return self.differentiate_nested(target, sources, output_gradients, unconnected_gradients)
        found = self.finish([target], flat, [None])
        return found if not single else found[0]

    cpdef list finish(self, list targets, list sources, list seeds, bint report=True):
        """The cotangents of `sources`; a tape that is not persistent has nothing left afterwards."""
        cdef list found
        if not self.persistent and self.walkers:
            raise RuntimeError(
                "A non-persistent GradientTape can only be used to compute one set of gradients (or jacobians)")
        try:
            found = self.cotangents(targets, sources, seeds, not self.persistent)
            if report and _has_none(found):
                self.report_missing(targets, [source for source, made in zip(sources, found) if made is None])
        finally:
            if not self.persistent:
                self.clear()
                self.fresh = True
        return found

    def watch_nested(self, tensor) -> None:
        """`watch` of anything but one floating EagerTensor; see GradientTape."""
        raise NotImplementedError

    def differentiate_nested(self, target, sources, output_gradients, unconnected_gradients):
        """The gradient where target or sources are structures, or something is asked for; see GradientTape."""
        raise NotImplementedError

    def report_missing(self, list targets, list sources) -> None:
        """Called with the sources that got no gradient, while the records are still there; see GradientTape."""

    def why_missing(self, list targets, source) -> str:
        """Return why `source` has no gradient: "dtype", "unwatched", "target" or "unconnected"."""
        if not _is_differentiable(source):
            return "dtype"
        if self.find(_key(source)) < 0:
            return "unwatched"
        if all([self.find(_key(target)) < 0 for target in targets]):
            return "target"
        return "unconnected"

    @property
    def places_without_gradient(self) -> list:
        """Return where the user's program applied each of these ops first: (name, "file:line" or "")."""
        return sorted((self.blocked or {}).items())
