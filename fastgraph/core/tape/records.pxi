# Part of _tape.pyx: the records of a tape, and the map from tensors to their numbers in it.

@cython.binding(False)
cdef class Records(Recorder):
    """Records of what ops did with followed tensors, in program order, in C arrays that live as long as this object.

    Tensors and Cells that are followed are numbered in the order in which they came; a record names them by number. Of
    the tensors themselves only those are kept that a rule asks for.
    """

    cdef readonly bint watch_accessed_variables
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
    cdef bint busy                   # a record is being written; ops of a finalizer that runs meanwhile are not noted
    cdef int walkers                 # walks that go on: the records must stay
    cdef dict blocked                # ops without a gradient that followed tensors went through: name -> where

    def __cinit__(self, *args, **kwargs):
        self.watch_accessed_variables = True
        self.kept = []
        self.variables = []

    def __dealloc__(self):
        free(self.records)
        free(self.entries)
        free(self.extents)
        free(self.born)
        free(self.keys)
        free(self.values)

    cdef int clear(self) except -1:
        """Forget every record; keeps its memory for the next ones unless it is much."""
        if self.walkers:
            raise RuntimeError("A GradientTape cannot be reset or used up by a gradient function that it calls itself")
        self.kept = []
        self.blocked = None
        self.n_records = self.n_entries = self.n_extents = self.n_tensors = self.map_used = 0
        if self.records_room > 1024 or self.map_mask > 4096:
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

    # Following tensors: the hash map.

    @cython.final
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

    @cython.final
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
        """Return whether the tape follows this Tensor, Variable or Cell."""
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
        if self.busy or (self.n_tensors == 0 and prim.effect is None) or n_outputs == 0:
            return 0  # nothing is followed yet, and no Variable is read; or nothing is made
        self.busy = True
        try:
            return self._note(prim, inputs, n_inputs, attrs, outputs, n_outputs)
        finally:
            self.busy = False

    cdef int _note(self, Primitive prim, PyObject** inputs, Py_ssize_t n_inputs, dict attrs,
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
        if not followed:
            return 0
        for i in range(n_outputs):
            if _is_differentiable(<object>outputs[i]):
                differentiable = True
                break
        rules = _rules_of(prim)
        if rules.empty or not differentiable:
            self._block(prim.name)
            return 0
        # Ask the rules for those inputs what they need.
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
        if self.busy:
            return 0
        self.busy = True
        try:
            return self._note_custom(custom, inputs, outputs)
        finally:
            self.busy = False

    cdef int _note_custom(self, Custom custom, list inputs, list outputs) except -1:
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

    @cython.final
    cdef int _block(self, str name) except -1:
        if self.blocked is None:
            self.blocked = {}
        if name not in self.blocked:
            self.blocked[name] = user_place()
        return 0

    @cython.final
    cdef Entry* _reserve(self, int64_t n) except NULL:
        """Room for n entries after those in use; they count only once their record is made."""
        if self.n_entries + n > self.entries_room:
            self.entries = <Entry*>_grown(self.entries, &self.entries_room, sizeof(Entry), n)
        return self.entries + self.n_entries

    @cython.final
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

    @cython.final
    cdef int _describe(self, Entry* entry, item, bint keep) except -1:
        """Fill in dtype and shape of `item`, and keep it if a rule wants it (a symbolic one costs nothing to keep)."""
        cdef EagerTensor tensor
        if isinstance(item, EagerTensor):
            tensor = <EagerTensor>item
            entry.dtype = <int16_t>tensor.dtype_code
            entry.ndim = <int16_t>tensor.ndim
            if keep:
                entry.kept = <int32_t>len(self.kept)
                self.kept.append(item)
            # Neighbours have the same shape more often than not, or share its end.
            entry.extents = <int32_t>(self.n_extents - tensor.ndim)
            if tensor.ndim <= self.n_extents and memcmp(
                    self.extents + entry.extents, &tensor.dims[0], tensor.ndim * sizeof(int64_t)) == 0:
                return 0
            entry.extents = <int32_t>self.n_extents
            if self.n_extents + tensor.ndim > self.extents_room:
                self.extents = <int64_t*>_grown(self.extents, &self.extents_room, sizeof(int64_t), tensor.ndim)
            if tensor.ndim:
                memcpy(self.extents + self.n_extents, &tensor.dims[0], tensor.ndim * sizeof(int64_t))
                self.n_extents += tensor.ndim
        else:
            entry.ndim = -1
            entry.dtype = 0
            entry.kept = <int32_t>len(self.kept)
            self.kept.append(item)
        return 0

    @cython.final
    cdef int _made(self, Entry* entry, item, bint keep, bint describe) except -1:
        """An output: follow it from here on if it can have a gradient."""
        entry.kept = -1
        entry.tensor = -1
        entry.ndim = 0
        if keep or describe or not isinstance(item, EagerTensor):  # the node of a symbolic one has the record's name
            self._describe(entry, item, keep)
        if _is_differentiable(item):
            entry.tensor = self.follow((<Tensor>item).id)
        return 0

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
        if (<Primitive>record.primitive).family == "list":
            return made  # the list may have been without a known element shape, so without elements
        if (<Primitive>record.primitive).name in ("while", "cond", "call"):
            return made  # nothing is broadcast by passing it in; lists without elements as above
        if record.n_inputs == 1 and (shape is None or wanted is None or len(shape) == len(wanted)):
            return made  # one input cannot have been broadcast against another
        return _slot("sum_to", (made, like))
