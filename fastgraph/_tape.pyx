"""The tape: notes which ops followed tensors went through, and walks back over them to make gradients.

Rule: it knows no op by name. What an op's gradient is stands in its Primitive; what the tape itself must compute (adding
two cotangents, undoing a broadcast, a first cotangent of ones) it asks of the operator slots. Because those are ordinary
ops, the walk is recorded by other tapes (higher order) and traced by a trace (graph mode) with nothing done for it here.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset
from fastgraph._buffer cimport Block, Cell, block_new
from fastgraph._primitive cimport Primitive
from fastgraph._tensor cimport EagerTensor, TapeBase, Tensor, ThreadState, bind, item_size, thread_state, wrap_block

cdef extern from "Python.h":
    ctypedef struct PyTupleObject:
        PyObject** ob_item

import inspect

import numpy as np

from fastgraph import _tensor, dtype as _dtype

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


# ---------------------------------------------------------------------------------------------------------------------
# Rules: what a vjp function asks for, by the names of its parameters.


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
            if name in inputs:
                place = inputs.index(name)
                kind = INPUT if place < n_fixed else INPUTS
                self.keep_inputs |= _bit(place) if kind == INPUT else _bit(LAST_BIT)
            elif name in primitive.attrs:
                kind = ATTR
                self.keep_attrs = True
            elif name == "dy":
                kind = DY
            elif name.startswith("dy") and name[2:].isdigit():
                kind = DY
                place = int(name[2:])
            elif name == "dys":
                kind = DYS
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


cdef class Rules:
    """All the vjp functions of one primitive, kept in its `tape_plan`."""

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


cdef Rules _rules_of(Primitive primitive):
    if primitive.tape_plan is None:
        primitive.tape_plan = Rules(primitive)
    return <Rules>primitive.tape_plan


cdef inline uint64_t _bit(int64_t place) noexcept nogil:
    return (<uint64_t>1) << (place if place < LAST_BIT else LAST_BIT)


cdef tuple _parameters(function, Primitive primitive):
    """Names of the parameters of a rule that the tape fills: all but those that have a default and no meaning here."""
    cdef list names = []
    known = {given.lstrip("*") for given in primitive.inputs} | set(primitive.attrs)
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise TypeError(f"A gradient of {primitive.name} has the parameter {parameter}; only plain ones can be filled")
        if parameter.default is not parameter.empty and parameter.name not in known:
            break
        names.append(parameter.name)
    return tuple(names)


# ---------------------------------------------------------------------------------------------------------------------
# Slots: the few ops that the tape itself applies.

cdef object _slot(str name, tuple inputs):
    """The result of the op in the slot `name`."""
    filled = _tensor.get_slot(name)
    if type(filled) is Primitive:
        return bind(<Primitive>filled, inputs, {})
    return filled(*inputs)


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


# ---------------------------------------------------------------------------------------------------------------------
# What listens to ops.

cdef struct Entry:           # one input or one output of a record
    int32_t tensor           # number of the tensor among those this tape follows, -1 if it does not
    int32_t kept             # position in Tape.kept of the tensor itself, -1 if no rule asks for it
    int32_t dtype
    int32_t ndim             # -1: symbolic, `kept` holds the tensor
    int64_t extents          # position in Tape.extents of its ndim sizes

cdef struct Record:          # one op: entries first .. first + n_inputs + n_outputs
    void* primitive          # Primitive, owned by the registry or by Tape.kept; NULL: `attrs` is a Custom
    int64_t first
    int32_t n_inputs
    int32_t n_outputs
    int32_t attrs            # position in Tape.kept of the attributes, -1 if no rule asks for any


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


cdef class VariableWatcher(Recorder):
    """Collects the trainable Variables read on this thread while the context lasts."""

    cdef dict _found
    cdef ThreadState _state

    def __cinit__(self):
        self._found = {}

    def __enter__(self):
        self._state = thread_state()
        self._state.tapes.append(self)
        return self

    def __exit__(self, *exception):
        _remove(self._state.tapes, self)
        self._state = None

    cdef int accessed(self, cell) except -1:
        variable = _variable_of(<Cell>cell)
        if variable is not None and (<Cell>cell).trainable:
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
    """Whether a tape records on this thread."""
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


# ---------------------------------------------------------------------------------------------------------------------
# The tape.


cdef class Tape(Recorder):
    """Records what followed tensors go through; memory for it is freed with the tape.

    Tensors and Cells that the tape follows are numbered in the order in which it met them. Records are in program order,
    so walking them backward once is enough for any number of targets and sources.
    """

    cdef readonly bint persistent
    cdef readonly bint watch_accessed_variables
    cdef readonly bint recording
    cdef bint fresh                  # nothing to differentiate: never entered, or used up
    cdef object recorder_of          # the ThreadState whose list this tape stands in while it records
    cdef Record* records
    cdef int64_t n_records, records_room
    cdef Entry* entries
    cdef int64_t n_entries, entries_room
    cdef int64_t* extents
    cdef int64_t n_extents, extents_room
    cdef int64_t* born               # for each followed tensor: the first record that may use it
    cdef int64_t n_tensors, born_room
    cdef int64_t* keys               # hash map, open addressing: id of a tensor or Cell (0: free) ...
    cdef int32_t* values             # ... to its number
    cdef int64_t map_mask, map_used
    cdef list kept                   # tensors and attributes that rules ask for
    cdef list variables              # watched Variables, in the order in which they were watched
    cdef set blocked                 # ops without a gradient that followed tensors went through

    def __cinit__(self, persistent=False, watch_accessed_variables=True, *args, **kwargs):
        self.persistent = persistent
        self.watch_accessed_variables = watch_accessed_variables
        self.fresh = True
        self.kept = []
        self.variables = []

    def __dealloc__(self):
        free(self.records)
        free(self.entries)
        free(self.extents)
        free(self.born)
        free(self.keys)
        free(self.values)

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

    cpdef int pause(self) except -1:
        """Stop recording; `with tape` or resume() goes on."""
        if not self.recording:
            raise ValueError("Tape is not recording.")
        _remove((<ThreadState>self.recorder_of).tapes, self)
        self.recorder_of = None
        self.recording = False
        return 0

    @property
    def used_up(self) -> bool:
        """Whether there is nothing to differentiate: never entered, or its one gradient was taken."""
        return self.fresh

    @property
    def n_operations(self) -> int:
        """Number of records."""
        return self.n_records

    @property
    def n_kept(self) -> int:
        """Number of tensors and attributes kept for the walk backward."""
        return len(self.kept)

    cpdef list watched(self):
        """The Variables that this tape follows, in the order in which it met them."""
        return list(self.variables)

    cdef int clear(self) except -1:
        """Forget every record; keeps its memory for the next ones unless it is much."""
        self.kept = []
        self.blocked = None
        self.n_records = self.n_entries = self.n_extents = self.n_tensors = self.map_used = 0
        if self.records_room > 1024:
            free(self.records)
            free(self.entries)
            free(self.extents)
            free(self.born)
            free(self.keys)
            free(self.values)
            self.records = NULL
            self.entries = NULL
            self.extents = NULL
            self.born = NULL
            self.keys = NULL
            self.values = NULL
            self.records_room = self.entries_room = self.extents_room = self.born_room = 0
        elif self.keys != NULL:
            memset(self.keys, 0, (self.map_mask + 1) * sizeof(int64_t))
        return 0

    def forget(self) -> None:
        """Drop every record and stop following every tensor."""
        self.clear()
        self.variables = []

    # Following tensors: the hash map.

    cdef int32_t find(self, int64_t key) noexcept:
        """The number of the tensor or Cell with this id, -1 if it is not followed."""
        cdef int64_t at
        if self.keys == NULL:
            return -1
        at = _hash(key) & self.map_mask
        while self.keys[at] != 0:
            if self.keys[at] == key:
                return self.values[at]
            at = (at + 1) & self.map_mask
        return -1

    cdef int32_t follow(self, int64_t key) except -1:
        """Give the tensor with this id a new number (it is made, or made anew, by the record that is being written)."""
        cdef int64_t at
        if self.keys == NULL or 2 * (self.map_used + 1) > self.map_mask:
            self._grow_map()
        if self.n_tensors == self.born_room:
            self.born = <int64_t*>_grown(self.born, &self.born_room, sizeof(int64_t), 1)
        at = _hash(key) & self.map_mask
        while self.keys[at] != 0 and self.keys[at] != key:
            at = (at + 1) & self.map_mask
        if self.keys[at] == 0:
            self.keys[at] = key
            self.map_used += 1
        self.values[at] = <int32_t>self.n_tensors
        self.born[self.n_tensors] = self.n_records
        self.n_tensors += 1
        return self.values[at]

    cdef int _grow_map(self) except -1:
        cdef int64_t room = 2 * (self.map_mask + 1) if self.keys != NULL else 32
        cdef int64_t* keys = <int64_t*>calloc(room, sizeof(int64_t))
        cdef int32_t* values = <int32_t*>malloc(room * sizeof(int32_t))
        cdef int64_t i, at
        if keys == NULL or values == NULL:
            free(keys)
            free(values)
            raise MemoryError()
        if self.keys != NULL:
            for i in range(self.map_mask + 1):
                if self.keys[i] != 0:
                    at = _hash(self.keys[i]) & (room - 1)
                    while keys[at] != 0:
                        at = (at + 1) & (room - 1)
                    keys[at] = self.keys[i]
                    values[at] = self.values[i]
        free(self.keys)
        free(self.values)
        self.keys = keys
        self.values = values
        self.map_mask = room - 1
        return 0

    cpdef int watch_one(self, item) except -1:
        """Follow a Tensor, Variable or Cell from here on. Raises TypeError for anything else."""
        known = _identity_of(item)
        if known is None:
            raise TypeError(f"{type(item).__name__} is neither a Tensor nor a Variable")
        if isinstance(known, Cell):
            self._watch_cell(<Cell>known)
        elif self.find((<Tensor>known).id) < 0:
            self.follow((<Tensor>known).id)
        return 0

    cdef int32_t _watch_cell(self, Cell cell) except -1:
        cdef int32_t number = self.find(cell.id)
        if number >= 0:
            return number
        variable = _variable_of(cell)
        if variable is not None:
            self.variables.append(variable)
        return self.follow(cell.id)

    cdef int accessed(self, cell) except -1:
        if self.watch_accessed_variables and (<Cell>cell).trainable:
            self._watch_cell(<Cell>cell)
        return 0

    cpdef bint follows(self, item) except -1:
        """Whether the tape follows this Tensor, Variable or Cell."""
        known = _identity_of(item)
        if known is None:
            return False
        return self.find(_key(known)) >= 0

    # Recording.

    def note_python(self, Primitive prim, tuple inputs, dict attrs, outputs) -> None:
        """Record one op that was applied elsewhere: what `bind` does for the tapes of its thread."""
        cdef tuple made = outputs if type(outputs) is tuple else (outputs,)
        self.note(prim, (<PyTupleObject*>inputs).ob_item, len(inputs), attrs, (<PyTupleObject*>made).ob_item, len(made))

    cdef int note(self, Primitive prim, PyObject** inputs, Py_ssize_t n_inputs, dict attrs,
                  PyObject** outputs, Py_ssize_t n_outputs) except -1:
        cdef Rules rules
        cdef Rule rule
        cdef Py_ssize_t i
        cdef uint64_t keep_inputs = 0, keep_outputs = 0
        cdef bint keep_attrs = False, followed = False, differentiable = False
        cdef PyObject* item
        cdef Entry* entry
        cdef Record* record
        cdef Entry* start
        if self.n_tensors == 0 and prim.effect is None:
            return 0  # nothing is followed yet, and no Variable is read
        start = self._reserve(n_inputs + n_outputs)
        # Which inputs does this tape follow?
        for i in range(n_inputs):
            item = inputs[i]
            entry = start + i
            entry.kept = -1
            entry.tensor = -1
            if isinstance(<object>item, Tensor):
                entry.tensor = self.find((<Tensor>item).id)
                if entry.tensor >= 0 and not _is_differentiable(<object>item):
                    entry.tensor = -1
            elif isinstance(<object>item, Cell):
                if prim.effect == "read":
                    self.accessed(<object>item)
                if _is_differentiable(<object>item):
                    entry.tensor = self.find((<Cell>item).id)
            if entry.tensor >= 0:
                followed = True
        if not followed or n_outputs == 0:
            return 0
        for i in range(n_outputs):
            if _is_differentiable(<object>outputs[i]):
                differentiable = True
                break
        rules = _rules_of(prim)
        if rules.empty or not differentiable:
            self._block(prim.name)
            return 0
        # What do the rules for those inputs ask for?
        followed = False
        for i in range(n_inputs):
            entry = start + i
            if entry.tensor < 0:
                continue
            rule = rules.rule_of(i)
            if rule is None:
                entry.tensor = -1
                continue
            followed = True
            keep_inputs |= rule.keep_inputs
            keep_outputs |= rule.keep_outputs
            keep_attrs |= rule.keep_attrs
        if not followed:
            self._block(prim.name)
            return 0
        if keep_inputs >> LAST_BIT:
            keep_inputs |= ~(_bit(rules.n_fixed) - 1)
        if keep_outputs >> LAST_BIT:
            keep_outputs = ~<uint64_t>0
        for i in range(n_inputs):
            self._describe(start + i, <object>inputs[i], keep_inputs & _bit(i) != 0)
        record = self._new_record(<void*>prim, n_inputs, n_outputs)
        if keep_attrs:
            record.attrs = <int32_t>len(self.kept)
            self.kept.append(attrs)
        for i in range(n_outputs):
            self._made(start + n_inputs + i, <object>outputs[i], keep_outputs & _bit(i) != 0, n_outputs > 1)
        return 0

    cdef int note_custom(self, Custom custom, list inputs, list outputs) except -1:
        cdef Py_ssize_t i, n_inputs = len(inputs), n_outputs = len(outputs)
        cdef Entry* start
        cdef Entry* entry
        cdef Record* record
        cdef bint followed = False
        for given in inputs:
            if isinstance(given, Cell):
                self.accessed(given)
        start = self._reserve(n_inputs + n_outputs)
        for i in range(n_inputs):
            entry = start + i
            entry.kept = -1
            entry.tensor = -1
            given = inputs[i]
            if isinstance(given, Cell):
                entry.tensor = self.find((<Cell>given).id)
            elif isinstance(given, Tensor) and _is_differentiable(given):
                entry.tensor = self.find((<Tensor>given).id)
            if entry.tensor >= 0:
                followed = True
        if not followed:
            return 0
        if not any([_is_differentiable(made) for made in outputs]):
            self._block(custom.name)
            return 0
        for i in range(n_inputs):
            self._describe(start + i, inputs[i], False)
        record = self._new_record(NULL, n_inputs, n_outputs)
        record.attrs = <int32_t>len(self.kept)
        self.kept.append(custom)
        for i in range(n_outputs):
            self._made(start + n_inputs + i, outputs[i], False, True)
        return 0

    cdef int _block(self, str name) except -1:
        if self.blocked is None:
            self.blocked = set()
        self.blocked.add(name)
        return 0

    cdef Entry* _reserve(self, int64_t n) except NULL:
        """Room for n entries after those in use; they count only once their record is made."""
        if self.n_entries + n > self.entries_room:
            self.entries = <Entry*>_grown(self.entries, &self.entries_room, sizeof(Entry), n)
        return self.entries + self.n_entries

    cdef Record* _new_record(self, void* primitive, int64_t n_inputs, int64_t n_outputs) except NULL:
        cdef Record* record
        if self.n_records == self.records_room:
            self.records = <Record*>_grown(self.records, &self.records_room, sizeof(Record), 1)
        record = self.records + self.n_records
        record.primitive = primitive
        record.first = self.n_entries
        record.n_inputs = <int32_t>n_inputs
        record.n_outputs = <int32_t>n_outputs
        record.attrs = -1
        self.n_records += 1
        self.n_entries += n_inputs + n_outputs
        return record

    cdef int _describe(self, Entry* entry, item, bint keep) except -1:
        """Fill in dtype and shape of `item`, and keep it if a rule wants it (a symbolic one costs nothing to keep)."""
        cdef EagerTensor tensor
        if isinstance(item, EagerTensor):
            tensor = <EagerTensor>item
            entry.dtype = tensor.dtype_code
            entry.ndim = tensor.ndim
            entry.extents = self.n_extents
            if self.n_extents + tensor.ndim > self.extents_room:
                self.extents = <int64_t*>_grown(self.extents, &self.extents_room, sizeof(int64_t), tensor.ndim)
            if tensor.ndim:
                memcpy(self.extents + self.n_extents, &tensor.dims[0], tensor.ndim * sizeof(int64_t))
                self.n_extents += tensor.ndim
            if keep:
                entry.kept = <int32_t>len(self.kept)
                self.kept.append(item)
        else:
            entry.ndim = -1
            entry.dtype = 0
            entry.kept = <int32_t>len(self.kept)
            self.kept.append(item)
        return 0

    cdef int _made(self, Entry* entry, item, bint keep, bint describe) except -1:
        """An output: follow it from here on if it can have a gradient."""
        entry.kept = -1
        entry.tensor = -1
        entry.ndim = 0
        if keep or describe:
            self._describe(entry, item, keep)
        if _is_differentiable(item):
            entry.tensor = self.follow((<Tensor>item).id)
        return 0

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
                    seed = _slot("ones_like", (_tensor_of(targets[i]),))
                cotangents[number] = (
                    seed if cotangents[number] is None else _accumulate(cotangents[number], seed))
            self._mark(live, first, last)
            for position in range(last, first - 1, -1):
                self._step_back(position, live, cotangents, release)
        finally:
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
        cdef Rules rules
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
            if record.primitive == NULL:
                self._back_custom(record, live, cotangents, dys)
            else:
                rules = _rules_of(<Primitive>record.primitive)
                if not rules.reads:
                    for i in range(record.n_outputs):
                        if dys[i] is not None and not isinstance(dys[i], Tensor):
                            dys[i] = _dense(dys[i])
                if rules.all_inputs is not None:
                    self._back_all(record, rules, live, cotangents, dys)
                else:
                    self._back_each(record, rules, live, cotangents, dys)
        if release:
            for i in range(record.n_inputs + record.n_outputs):
                number = self.entries[inputs_at + i].kept
                if number >= 0:
                    self.kept[number] = None
            if record.attrs >= 0:
                self.kept[record.attrs] = None
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

    # Shapes and dtypes of tensors that may be gone.

    cdef object _shape_of(self, int64_t at):
        """The shape of an entry: a tuple of ints, or a 1-D int32 tensor where it is not fully known."""
        cdef Entry* entry = self.entries + at
        cdef int32_t i
        if entry.ndim >= 0:
            return tuple([self.extents[entry.extents + i] for i in range(entry.ndim)])
        tensor = self.kept[entry.kept]
        shape = tensor.aval.shape
        if shape is not None and None not in shape:
            return tuple(shape)
        return _slot("shape", (tensor,))

    cdef object _dtype_of(self, int64_t at):
        cdef Entry* entry = self.entries + at
        if entry.ndim >= 0:
            return _dtype.as_dtype(entry.dtype)
        return self.kept[entry.kept].aval.dtype

    cdef object _zeros(self, int64_t at):
        """Zeros of the dtype and shape of an entry."""
        cdef Entry* entry = self.entries + at
        if entry.ndim >= 0:
            return _tensor.from_array(np.zeros(self._shape_of(at), self._dtype_of(at).as_numpy_dtype), None, False)
        return _slot("zeros_like", (self.kept[entry.kept],))

    cdef object _like(self, int64_t at):
        """A tensor with the shape of an entry; its contents are undefined."""
        cdef Entry* entry = self.entries + at
        cdef int64_t nbytes
        cdef int32_t i
        cdef Block* block
        if entry.kept >= 0:
            return self.kept[entry.kept]
        nbytes = item_size(entry.dtype)
        for i in range(entry.ndim):
            nbytes *= self.extents[entry.extents + i]
        block = block_new(nbytes)
        return wrap_block(block, entry.dtype, entry.ndim, self.extents + entry.extents)

    cdef object _fitted(self, Record record, int32_t i, made):
        """The cotangent of input i as a Tensor (or sparse) of that input's shape: undoes what broadcasting did."""
        cdef int64_t at = record.first + i
        cdef Entry* entry = self.entries + at
        cdef EagerTensor tensor
        cdef int32_t j
        if isinstance(made, EagerTensor) and entry.ndim >= 0:
            tensor = <EagerTensor>made
            if tensor.ndim == entry.ndim:
                for j in range(entry.ndim):
                    if tensor.dims[j] != self.extents[entry.extents + j]:
                        break
                else:
                    return made
            return _slot("sum_to", (made, self._like(at))) if record.primitive != NULL else made
        if not isinstance(made, Tensor):
            if hasattr(made, "__fg_cell__"):
                return self._fitted(record, i, made.__fg_tensor__())
            if hasattr(made, "__fg_tensor__"):
                return made  # sparse: added up as it is, made dense where a rule computes with it
            return _tensor.convert(made, self._dtype_of(at))
        if record.primitive == NULL:
            return made
        like = self._like(at)
        if isinstance(like, Cell):
            return made
        shape, wanted = made.aval.shape, like.aval.shape
        if shape is not None and wanted is not None and None not in wanted and tuple(shape) == tuple(wanted):
            return made
        if record.n_inputs == 1 and (shape is None or wanted is None or len(shape) == len(wanted)):
            return made  # one input cannot have been broadcast against another
        return _slot("sum_to", (made, like))

    # The gradient.

    def gradient(self, target, sources, output_gradients=None, unconnected_gradients="none"):
        """The gradient of target with respect to sources: the plain case here, structures in differentiate_nested."""
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
        try:
            found = self.cotangents(targets, sources, seeds, not self.persistent)
            if report and _has_none(found):
                self.report_missing(targets, [source for source, made in zip(sources, found) if made is None])
        finally:
            if not self.persistent:
                self.clear()
                self.fresh = True
        return found

    def differentiate_nested(self, target, sources, output_gradients, unconnected_gradients):
        """The gradient where target or sources are structures, or something is asked for; see GradientTape."""
        raise NotImplementedError

    def report_missing(self, list targets, list sources) -> None:
        """Called with the sources that got no gradient, while the records are still there; see GradientTape."""

    def why_missing(self, list targets, source) -> str:
        """Why `source` has no gradient: "dtype", "unwatched", "target" or "unconnected"."""
        if not _is_differentiable(source):
            return "dtype"
        if self.find(_key(source)) < 0:
            return "unwatched"
        if all([self.find(_key(target)) < 0 for target in targets]):
            return "target"
        return "unconnected"

    @property
    def ops_without_gradient(self) -> list:
        """Names of ops without a gradient that followed tensors went through."""
        return sorted(self.blocked or ())


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
    if isinstance(item, EagerTensor):
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
