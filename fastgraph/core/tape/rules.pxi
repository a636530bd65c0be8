# Part of _tape.pyx: what a vjp function asks for, by the names of its parameters; the ops that the tape itself applies.

@cython.binding(False)
cdef class Rule:
    """One vjp function with its parameters looked up: kinds[i] and places[i] say what argument i is."""

    cdef object function
    cdef tuple names
    cdef int n
    cdef int[16] kinds
    cdef int[16] places
    cdef uint64_t keep_inputs
    cdef uint64_t keep_outputs
    cdef bint keep_attrs

    def __cinit__(self, Primitive primitive, function):
        cdef str name, base
        cdef int kind, place
        cdef list inputs = [given.lstrip("*") for given in primitive.inputs]
        cdef int n_fixed = len(inputs) - (1 if primitive.is_variadic else 0)
        self.function = function
        self.names = _parameters(function, primitive)
        if len(self.names) > 16:
            raise TypeError(f"A gradient of {primitive.name} has more than 16 parameters")
        self.n = 0
        for name in self.names:
            kind = -1
            place = 0
            base = name.rpartition("_")[0]
            if name == "dy":  # the cotangent, even where an input is called so
                kind = DY
            elif name.startswith("dy") and name[2:].isdigit():
                kind = DY
                place = int(name[2:])
            elif name == "dys":
                kind = DYS
            elif name in inputs:
                place = inputs.index(name)
                kind = INPUT if place < n_fixed else INPUTS
                self.keep_inputs |= _bit(place) if kind == INPUT else _bit(LAST_BIT)
            elif name in primitive.attrs:
                kind = ATTR
                self.keep_attrs = True
            elif name == "out":
                kind = OUTPUT
                self.keep_outputs |= _bit(0)
            elif name.startswith("out") and name[3:].isdigit():
                kind = OUTPUT
                place = int(name[3:])
                self.keep_outputs |= _bit(place)
            elif name == "outs":
                kind = OUTPUTS
                self.keep_outputs |= _bit(LAST_BIT)
            elif name == "needs":
                kind = NEEDS
            elif base in inputs and name.endswith(("_shape", "_dtype")):
                place = inputs.index(base)
                kind = SHAPE if name.endswith("_shape") else DTYPE
                if place >= n_fixed:
                    kind += 1
            if kind < 0:
                raise TypeError(
                    f"A gradient of {primitive.name} asks for {name!r}, which is neither dy, an input "
                    f"({', '.join(primitive.inputs)}), an attribute ({', '.join(primitive.attrs)}), out, "
                    "<input>_shape, <input>_dtype nor needs")
            self.kinds[self.n] = kind
            self.places[self.n] = place
            self.n += 1


@cython.binding(False)
cdef class Rules:
    """All the vjp functions of one primitive, kept in its `plan`."""

    cdef tuple by_input          # Rule or None for each input (a variadic one: the last)
    cdef Rule all_inputs         # the rule that serves all inputs at once, or None
    cdef bint empty              # no gradient at all
    cdef bint reads              # passes cotangents through as they are, sparse ones too
    cdef int n_fixed             # inputs before a variadic one
    cdef bint variadic

    def __cinit__(self, Primitive primitive):
        cdef str name
        cdef list names = [given.lstrip("*") for given in primitive.inputs]
        self.variadic = primitive.is_variadic
        self.n_fixed = len(names) - (1 if self.variadic else 0)
        for name in primitive.vjp:
            if name not in names:
                raise TypeError(f"The op {primitive.name} has a gradient for {name!r}, which is not an input of it")
        self.by_input = tuple([Rule(primitive, primitive.vjp[name]) if primitive.vjp.get(name) is not None else None
                               for name in names])
        self.all_inputs = Rule(primitive, primitive.vjp_all) if primitive.vjp_all is not None else None
        self.empty = self.all_inputs is None and all(rule is None for rule in self.by_input)
        self.reads = primitive.effect == "read"

    cdef Rule rule_of(self, int64_t position):
        """The rule that makes the cotangent of the input at `position`, or None."""
        if self.all_inputs is not None:
            return self.all_inputs
        if position >= self.n_fixed:
            position = self.n_fixed
            if not self.variadic:
                return None
        return <Rule>self.by_input[position]


cdef list _recorded = []   # records hold Primitives by their addresses: these must live for ever


cdef Rules _rules_of(Primitive primitive):
    if primitive.plan is None:
        primitive.plan = Rules(primitive)
        _recorded.append(primitive)
    return <Rules>primitive.plan


cdef inline uint64_t _bit(int64_t place) noexcept nogil:
    return (<uint64_t>1) << (place if place < LAST_BIT else LAST_BIT)


cdef tuple _parameters(function, Primitive primitive):
    """Names of the parameters of a rule that the tape fills: all but those that have a default and no meaning here."""
    cdef list names = []
    known = {given.lstrip("*") for given in primitive.inputs} | set(primitive.attrs)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise TypeError(
                f"A gradient of {primitive.name} has the parameter {parameter}; only plain ones can be filled")
        if parameter.default is not parameter.empty and parameter.name not in known:
            break
        names.append(parameter.name)
    return tuple(names)


# Slots: the few ops that the tape itself applies.

cdef object _slot(str name, tuple inputs):
    """The result of the op in the slot `name`."""
    filled = _tensor.get_slot(name)
    if type(filled) is Primitive:
        return bind(<Primitive>filled, inputs, {})
    return filled(*inputs)


cdef object _ones_like(tensor):
    """Ones in the shape of a tensor; in a graph TensorFlow calls them so where the shape is known."""
    cdef ThreadState state = thread_state()
    if state.trace is not None and tensor.shape.is_fully_defined():
        state.trace.node_name = "ones"
    return _slot("ones_like", (tensor,))


cdef object _accumulate_composites = None


def set_composite_accumulator(function) -> None:
    """Say how cotangents of which at least one is no Tensor are added: function(a, b). Set by indexed_slices."""
    global _accumulate_composites
    _accumulate_composites = function


cdef object _accumulate(a, b):
    """The sum of two cotangents of one tensor."""
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return a + b
    return _accumulate_composites(a, b)


cdef object _dense(cotangent):
    """The cotangent as a Tensor: what a rule can compute with."""
    if cotangent is None or isinstance(cotangent, Tensor):
        return cotangent
    return cotangent.__fg_tensor__()
