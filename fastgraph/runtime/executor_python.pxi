# Steps that are Python: they hold the GIL, on the calling thread. Part of executor.pyx.

cdef EagerTensor _tensor_of(Frame* f, Value* value):
    """The tensor in a slot; shares its Block."""
    cdef Dims* dims = _dims_of(f, value)
    cdef Block* block = f.block[value.slot]
    block_retain(block)
    return wrap_slice(block, f.data[value.slot], value.dtype_code, dims.ndim, &dims.size[0])


cdef tuple _shape_tuple(Dims* dims):
    return tuple([dims.size[k] for k in range(dims.ndim)])


cdef int _run_host(Frame* f, int32_t i, CStep* s) noexcept nogil:
    cdef int failed = 0
    with gil:
        try:
            _host(f, s)
        except BaseException as error:
            failed = _fail_python(f, i, error)
    return failed


cdef int _host(Frame* f, CStep* s) except -1:
    """Call a host step's function on tensors and take the Blocks of what it gives."""
    cdef int32_t k
    cdef Value* value
    cdef EagerTensor tensor
    cdef Dims* dims
    cdef list operands = []
    cdef bint same
    for k in range(s.n_operands):
        value = &s.operands[k]
        if f.plan.slots[value.slot].place == CELL:
            operands.append(<object>(<CellRef*>f.data[value.slot]).cell)
        else:
            operands.append(_tensor_of(f, value))
    if s.kind == HOST:
        _drop(f, s)
    spec = <object>s.spec
    results = spec.function(*operands)
    if len(results) != s.n_values:
        raise errors.InternalError(None, None, f"Host step {spec.name!r} gave {len(results)} results, not {s.n_values}")
    for k in range(s.n_values):
        value = &s.values[k]
        tensor = results[k]
        same = tensor.dtype_code == value.dtype_code
        if value.dims.known:
            same = same and tensor.ndim == value.dims.ndim
            for axis in range(tensor.ndim if same else 0):
                same = same and tensor.dims[axis] == value.dims.size[axis]
        else:
            dims = &f.dims[f.plan.slots[value.slot].dynamic]
            _set_dims(dims, tensor.ndim, tensor.dims)
        if not same:
            raise errors.InternalError(
                None, None, f"Host step {spec.name!r} gave {tensor.aval} as result {k}, not {_shape_tuple(&value.dims)}"
            )
        block_retain(tensor.block)
        f.block[value.slot] = tensor.block
        f.data[value.slot] = tensor.data
    return 0


cdef int _add_strings(Frame* f, int32_t i, Block** rows, Frame* body, Value* value) noexcept nogil:
    """Append what a loop's body gave to the rows so far: a list, for Python counts who holds a string."""
    cdef int failed = 0
    with gil:
        try:
            if rows[0] == NULL:
                rows[0] = block_of_object([], NULL, 0, BLOCK_OBJECT)
            (<list><object>rows[0].owner).append(tensor_array(_tensor_of(body, value)))
        except BaseException as error:
            failed = _fail_python(f, i, error)
    return failed


cdef int _stack_strings(Frame* f, int32_t i, Block** rows, Dims* row) noexcept nogil:
    """Put one tensor's Block in the place of a list of rows."""
    cdef int failed = 0
    with gil:
        try:
            rows[0] = _strings_in_one(rows[0], row)
        except BaseException as error:
            failed = _fail_python(f, i, error)
    return failed


cdef Block* _strings_in_one(Block* rows, Dims* row) except NULL:
    arrays = <list><object>rows.owner if rows != NULL else []
    cdef EagerTensor tensor = from_array(np.stack(arrays) if arrays else np.empty((0, *_shape_tuple(row)), object))
    block_release(rows)
    block_retain(tensor.block)
    return tensor.block


cdef int _run_rest(Frame* f, int32_t i, CStep* s) noexcept nogil:
    """Run the plan of the sizes that are known now: the last one if they are the same, else ask for it."""
    cdef int failed = 0
    if f.rest[i] == NULL or recorder.on or not _fits_rest(f, s, _c_plan(f.rest[i])):
        with gil:
            try:
                _resolve(f, s, &f.rest[i])
            except BaseException as error:
                failed = _fail_python(f, i, error)
        if failed:
            return failed
    _drop(f, s)
    return _run_sub(f, i, s, _c_plan(f.rest[i]), True)


cdef void _drop(Frame* f, CStep* s) noexcept nogil:
    """Let go of what was read and is not used any more: the step may write over it."""
    cdef int32_t k
    for k in range(s.n_buffers):
        block_release(f.block[s.buffers[k]])
        f.block[s.buffers[k]] = NULL


cdef bint _fits_rest(Frame* f, CStep* s, CPlan* plan) noexcept nogil:
    """Return whether a plan is that of the sizes that are known now."""
    cdef int32_t j, dynamic
    for j in range(s.sub.n_inputs):
        dynamic = f.plan.slots[s.sub.inputs[j]].dynamic
        if dynamic >= 0 and not (plan.inputs[j].dims.known and _same_dims(&plan.inputs[j].dims, &f.dims[dynamic])):
            return False
    return True


cdef int _resolve(Frame* f, CStep* s, void** plan) except -1:
    cdef list shapes = []
    cdef int32_t j, dynamic
    for j in range(s.sub.n_inputs):
        dynamic = f.plan.slots[s.sub.inputs[j]].dynamic
        if dynamic >= 0:
            shapes.append(_shape_tuple(&f.dims[dynamic]))
    found = <Plan?>((<object>s.spec).resolve(tuple(shapes)))
    _hold_recorded(found)
    Py_INCREF(found)
    if plan[0] != NULL:
        Py_DECREF(<object>plan[0])
    plan[0] = <void*>found
    return 0


cdef int _plans_again(Frame* f, int32_t i, CStep* s, Dims* dims, void** plans) noexcept nogil:
    """The plans of a loop for the shapes that its carried values have now."""
    cdef int failed = 0
    with gil:
        try:
            shapes = tuple([_shape_tuple(&dims[j]) for j in range(s.sub.n_carried)])
            pair = (<object>s.spec).again(shapes)
            if len(pair) != 3:
                raise ValueError(f"A loop has three plans, got {len(pair)}")
            for plan in pair:
                if plan is not None:
                    <Plan?>plan
                    _hold_recorded(plan)
            Py_INCREF(pair)
            if plans[0] != NULL:
                Py_DECREF(<object>plans[0])
            plans[0] = <void*>pair
        except BaseException as error:
            failed = _fail_python(f, i, error)
    return failed


cdef CPlan* _c_plan(void* plan) noexcept nogil:
    return &(<Plan>plan).c


cdef CPlan* _pair_plan(void* pair, int32_t k) noexcept nogil:
    """One of the plans of a loop; NULL where it has none that does many iterations."""
    cdef CPlan* found = NULL
    with gil:
        plan = (<tuple><object>pair)[k]
        if plan is not None:
            found = &(<Plan>plan).c
    return found


cdef void _let_go(void* held) noexcept nogil:
    with gil:
        Py_DECREF(<object>held)
