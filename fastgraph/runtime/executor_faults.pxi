# Faults: what went wrong in a step, which of several counts, and what it means to the user. Part of executor.pyx.

cdef void _drop_fault(Frame* f) noexcept nogil:
    cdef int32_t k
    for k in range(f.fault.n_operands):
        block_release(f.fault.operands[k])
    free(f.fault.operands)
    f.fault.operands = NULL
    f.fault.n_operands = 0
    if f.fault.exception != NULL:
        f.discarded = f.fault.exception  # at most one: steps with the GIL are ordered, and end after the first fault
        f.fault.exception = NULL
    f.fault.code = FAULT_NONE


cdef int _fail(Frame* f, int32_t order, Fault* fault) noexcept nogil:
    """Record a fault of step `order`, unless an earlier step (or part of the step) failed as well.

    Takes over what the fault holds.
    """
    cdef int32_t k
    fg_lock(&f.lock)
    fault.order = order
    if f.fault.code == FAULT_NONE:
        f.fault = fault[0]
    elif order < f.fault.order or (order == f.fault.order and fault.begin < f.fault.begin):
        _drop_fault(f)
        f.fault = fault[0]
    else:
        for k in range(fault.n_operands):
            block_release(fault.operands[k])
        free(fault.operands)
        if fault.exception != NULL:
            f.discarded = fault.exception
    fg_unlock(&f.lock)
    return -1


cdef int _fail_code(Frame* f, int32_t i, int32_t code, int64_t status, int64_t begin=0) noexcept nogil:
    """Record a fault; one of a kernel keeps copies of what it read, as the memory is used again."""
    cdef Fault fault
    cdef CStep* s
    cdef int32_t k
    cdef int64_t nbytes
    memset(&fault, 0, sizeof(Fault))
    fault.code = code
    fault.plan = f.plan
    fault.step = i
    fault.status = status
    fault.begin = begin
    if code == FAULT_STATUS and i >= 0:
        s = &f.plan.steps[i]
        fault.operands = <Block**>calloc(max(s.n_operands, 1), sizeof(Block*))
        if fault.operands != NULL:
            fault.n_operands = s.n_operands
            for k in range(s.n_operands):
                nbytes = f.plan.slots[s.operands[k].slot].nbytes
                fault.operands[k] = block_new(nbytes)
                if fault.operands[k] != NULL:
                    memcpy(fault.operands[k].data, f.data[s.operands[k].slot], nbytes)
    return _fail(f, i, &fault)


cdef int _fail_from(Frame* f, int32_t i, Frame* child) noexcept nogil:
    """A step failed inside its sub-plan: the fault moves up and takes the step's own place in the order."""
    cdef Fault fault = child.fault
    memset(&child.fault, 0, sizeof(Fault))
    if child.discarded != NULL:
        f.discarded = child.discarded
        child.discarded = NULL
    return _fail(f, -1 if fault.order < 0 else i, &fault)


cdef int _fail_python(Frame* f, int32_t i, object error) except 0 with gil:
    """Record an exception that Python raised in step i (-1: an interrupt). Always gives -1."""
    cdef Fault fault
    memset(&fault, 0, sizeof(Fault))
    fault.code = FAULT_PYTHON
    fault.plan = f.plan
    fault.step = i
    Py_INCREF(error)
    fault.exception = <void*>error
    return _fail(f, i, &fault)


cdef int _look_at_signals(Frame* f) noexcept nogil:
    """Run Python's signal handlers; what they raise ends the call."""
    cdef int failed = 0
    f.call.checked = fg_now_ns()
    with gil:
        try:
            PyErr_CheckSignals()
        except BaseException as error:
            fg_store32(&f.call.cancelled, 1)
            failed = _fail_python(f, -1, error)
    return failed


cdef inline int _breathe(Frame* f, double cost) noexcept nogil:
    """Look at signals from time to time, on the calling thread, after `cost` nanoseconds of work by estimate."""
    f.call.spent += cost
    if f.call.spent < CLOCK_NS:
        return 0
    f.call.spent = 0
    if fg_now_ns() - f.call.checked < SIGNAL_NS:
        return 0
    return _look_at_signals(f)


cdef int _pace(Frame* f, int64_t* looked, int32_t* pause) noexcept nogil:
    """Look at signals, on the calling thread in a loop, and set after how many iterations to look at the clock again.

    What an iteration takes is not known: one of a kernel that iterates by itself takes as long as 65,536 others.
    """
    cdef int64_t now = fg_now_ns(), passed = now - looked[0]
    looked[0] = now
    if f.call.checked == 0:  # a quick call's time counts from here
        f.call.checked = now
    if passed < CLOCK_NS / 2:
        pause[0] = min(2 * pause[0], 256)
    elif passed > CLOCK_NS:
        pause[0] = max(pause[0] // 2, 1)
    return _look_at_signals(f) if now - f.call.checked >= SIGNAL_NS else 0


cdef object _exhausted(int64_t nbytes):
    return errors.ResourceExhaustedError(None, None, f"OOM when allocating {nbytes} bytes on /device:CPU:0")


cdef int _tell(spec, int64_t begun) except -1:
    """Note that a run of a plan has failed: other processes may go on with it."""
    if spec.explain is not None:
        spec.explain.run_failed(begun)
    return 0


cdef int _raise_fault(Frame* f) except -1:
    """Raise what a fault means to the user."""
    cdef Fault* fault = &f.fault
    cdef CStep* s
    cdef Value* value
    cdef int32_t k
    if fault.exception != NULL:
        error = <object>fault.exception
        Py_DECREF(error)
        fault.exception = NULL
        raise error
    plan = <Plan>fault.plan.plan
    s = &fault.plan.steps[fault.step]
    step = <object>s.spec
    if fault.code == FAULT_MEMORY:
        raise _exhausted(fault.status)
    if fault.code == FAULT_CANCELLED:
        raise errors.CancelledError(
            None, None, "The process forked inside this call" if fault.status else "The call was cancelled"
        )
    if fault.code == FAULT_EMPTY:  # status: the Cell, which the caller still holds
        cell_read(<Cell><void*>fault.status)
        raise errors.FailedPreconditionError(None, None, f"Variable {(<Cell><void*>fault.status).name} was empty")
    if fault.code == FAULT_COUNT:
        promised = list(_shape_tuple(&s.counted.output.dims))
        raise errors.InvalidArgumentError(None, None, f"{step.name} gave {fault.status} rows, not those of {promised}")
    if fault.code == FAULT_ROWS:
        if plan.spec.explain is not None:
            raise plan.spec.explain.unlike_rows(step, fault.status)
        raise errors.InvalidArgumentError(None, None, f"A result of the body of {step.name} cannot be stacked")
    if fault.code == FAULT_SHAPE:
        cell = <Cell><void*>fault.status
        shape, expected = list(cell_read(cell).shape), list(_shape_tuple(&s.values.dims))
        raise errors.InvalidArgumentError(
            None, None, f"Variable {cell.name} has shape {shape} now; expected {expected}"
        )
    if fault.code == FAULT_NATIVE:
        raise errors.InternalError(None, None, f"Kernel {step.name!r} ended with {fault.status}:\n{_source_of(step)}")
    operands = []
    for k in range(fault.n_operands):
        value = &s.operands[k]
        if fault.operands[k] != NULL:
            block_retain(fault.operands[k])
            operands.append(wrap_slice(
                fault.operands[k], fault.operands[k].data, value.dtype_code, value.dims.ndim, &value.dims.size[0]
            ))
    ordinal = (fault.status >> 48) - 1
    position = fault.status & ((<int64_t>1 << 48) - 1)
    if plan.spec.explain is not None:
        raise plan.spec.explain(step, ordinal, position, operands)
    raise errors.InternalError(None, None, f"Kernel {step.name!r}: check {ordinal} failed at position {position}")


def _source_of(step) -> str:
    kernel = getattr(step.source, "kernel", None)
    return kernel.source if kernel is not None else ""


cdef void _settle(Frame* f) noexcept nogil:
    """Turn a fault into the exception that it will be. No other thread has the frame."""
    if f.fault.code == FAULT_PYTHON:
        return
    with gil:
        try:
            _raise_fault(f)
        except BaseException as error:
            Py_INCREF(error)
            f.fault.code = FAULT_PYTHON
            f.fault.exception = <void*>error
