# Part of tensor.pyx: Python's operators on tensors. Each has a slot; a Primitive in it is applied without Python code.

@cython.final
cdef class _Operators:
    """The record of what fills the operators' slots, where C finds it."""
    cdef public object add, sub, mul, truediv, floordiv, mod, pow, matmul, realdiv, abs_real, neg, abs, invert
    cdef public object and_, or_, xor, lt, le, gt, ge, eq, ne

cdef _Operators ops = _Operators()
cdef tuple _operators = tuple([name for name in dir(ops) if not name.startswith("__")])


cdef _cache_slots():
    """Keep what the operators use in C variables."""
    global _promotion
    _promotion = slots.get("promotion")
    for name in _operators:
        setattr(ops, name, slots.get(name.rstrip("_")))


_cache_slots()


cdef object _fast_binary(Primitive prim, EagerTensor x, EagerTensor y):
    """x op y by the C loop; None where there is none."""
    cdef ThreadState state = thread_state()
    cdef EagerTensor out
    cdef PyObject* given[2]
    cdef PyObject* made
    cdef Py_ssize_t i
    if x.dtype_code != y.dtype_code or state.trace is not None:
        return None
    out = _loop_binary(prim, x, y)
    if out is not None and state.tapes:
        given[0] = <PyObject*>x
        given[1] = <PyObject*>y
        made = <PyObject*>out
        for i in range(len(state.tapes)):
            (<TapeBase>state.tapes[i]).note(prim, &given[0], 2, _no_attrs, &made, 1)
    return out


def quick_clip(x, high, low, /) -> EagerTensor | None:
    """maximum(minimum(x, high), low) of two numbers in one pass; None where those ops must do it."""
    cdef EagerTensor t
    cdef EagerTensor out
    cdef ThreadState state
    cdef Loop loop
    cdef char places[16]
    cdef char* operands[3]
    cdef int64_t steps[3]
    cdef int64_t item
    cdef int i
    cdef object limit
    if type(x) is not EagerTensor:
        return None
    t = <EagerTensor>x
    state = thread_state()
    loop = clip_loop(t.dtype_code)
    if loop == NULL or t.block == NULL or state.trace is not None or state.tapes:
        return None
    for i in range(2):
        limit = low if i else high
        steps[1 + i] = 0
        operands[1 + i] = &places[8 * i]
        if type(limit) is EagerTensor:
            if (<EagerTensor>limit).dtype_code != t.dtype_code or (<EagerTensor>limit).ndim != 0:
                return None
            operands[1 + i] = (<EagerTensor>limit).data
        elif not _place_number(operands[1 + i], t.dtype_code, limit):
            return None
        if t.dtype_code == FLOAT32 and (<float*>operands[1 + i])[0] != (<float*>operands[1 + i])[0]:
            return None
        if t.dtype_code == FLOAT64 and (<double*>operands[1 + i])[0] != (<double*>operands[1 + i])[0]:
            return None
    operands[0] = t.data
    steps[0] = 1
    item = _item_sizes[t.dtype_code]
    out = wrap_block(block_new(t.size * item), t.dtype_code, t.ndim, &t.dims[0])
    _run_shared(loop, 3, &operands[0], &steps[0], item, out.data, item, out.size, SHARE_LIGHT)
    return out


cdef EagerTensor _with_number(Primitive prim, EagerTensor x, object number, bint reflected):
    """x op number, or number op x, by the C loop, the number on the C stack; None where a tensor of it is needed."""
    cdef ThreadState state = thread_state()
    cdef Loop loop = _loop_for(prim, x.dtype_code, x.size)
    cdef int code = x.dtype_code, failed
    cdef char place[8]
    cdef char* operands[2]
    cdef int64_t steps[2]
    cdef EagerTensor out
    if loop == NULL or state.trace is not None or state.tapes or not _place_number(&place[0], code, number):
        return None
    operands[reflected] = x.data
    operands[not reflected] = &place[0]
    steps[reflected] = 1
    steps[not reflected] = 0
    code = prim.loop_out[code]
    out = wrap_block(block_new(x.size * _item_sizes[code]), code, x.ndim, &x.dims[0])
    failed = _run_shared(loop, 2, &operands[0], &steps[0], _item_sizes[x.dtype_code], out.data, _item_sizes[code],
                         out.size, prim.loop_share[x.dtype_code])
    return None if failed else out


cdef bint _uneven(object tensor, object other):
    """Return whether an operator that promotes dtypes is to see two operands."""
    return not isinstance(other, Tensor) or other.dtype is not tensor.dtype


cdef object _operate(object slot, str name, object tensor, object other, bint reflected):
    """tensor op other, or other op tensor where `reflected`: `other` is converted to the tensor's dtype if it can."""
    cdef object result
    if slot is None:
        slot = get_slot(name)
    if type(other) is not EagerTensor:
        if type(slot) is Primitive and type(tensor) is EagerTensor and (<Primitive>slot).n_inputs == 2:
            result = _with_number(<Primitive>slot, <EagerTensor>tensor, other, reflected)
            if result is not None:
                return result
    if _promotion is not None and _uneven(tensor, other):
        result = _promotion(name, other, tensor) if reflected else _promotion(name, tensor, other)
        if result is not None:
            return result
    if type(other) is not EagerTensor:
        if not isinstance(other, Tensor):
            # As in TensorFlow: a sum leaves a number that does not fit to the op, a quotient has its own words.
            other = _operand(tensor, other, reflected, slot is not ops.truediv and (reflected or slot is not ops.add))
            if other is NotImplemented:
                return NotImplemented
    if type(slot) is Primitive:
        if type(tensor) is EagerTensor and type(other) is EagerTensor:
            result = (_fast_binary(<Primitive>slot, <EagerTensor>other, <EagerTensor>tensor) if reflected
                      else _fast_binary(<Primitive>slot, <EagerTensor>tensor, <EagerTensor>other))
            if result is not None:
                return result
        return bind(<Primitive>slot, (other, tensor) if reflected else (tensor, other), _no_attrs)
    return slot(other, tensor) if reflected else slot(tensor, other)


cdef object _operand(object tensor, object other, bint reflected, bint strictly):
    """`other` as a Tensor of the tensor's dtype if it can be one; NotImplemented if `other` has the operator itself.

    `strictly`, in eager mode, a Python value that cannot be one is an error here and not the op's.
    """
    cdef EagerTensor scalar
    cdef bint eager = thread_state().trace is None
    if type(tensor) is EagerTensor and eager:
        scalar = _scalar(other, (<EagerTensor>tensor).dtype_code)
        if scalar is not None:
            return scalar
    if _is_lazy_tensor(other):
        if class_has(tensor, "__fg_defer__"):
            return other  # a Variable is read when the op is done
        return other.__fg_tensor__(None)  # a composite gives itself: `bind` asks it
    try:
        strictly = strictly and eager and not isinstance(other, (np.ndarray, np.generic))
        return _convert_like(other, tensor.dtype, strictly)
    except (TypeError, ValueError):
        if not reflected and other is not None and _handles_tensors(type(other)):
            return NotImplemented
        raise


cdef bint _handles_tensors(kind):
    """Return whether a type that tensors know nothing of has operators of its own that could take one."""
    return kind.__module__ not in ("builtins", "numpy") and any(
        [hasattr(kind, name) for name in ("__radd__", "__rmul__", "__rsub__", "__rmatmul__", "__rtruediv__")])


cdef object _equality(object slot, str name, object tensor, object other, bint negated):
    """tensor == other, elementwise; shapes that do not fit are unequal as a whole. Source: tf.Tensor.__eq__."""
    cdef EagerTensor scalar
    cdef bint own
    if other is None:
        return negated
    if _promotion is not None and _uneven(tensor, other):
        promoted = _promotion(name, tensor, other)
        if promoted is not None:
            return promoted
    if not isinstance(other, Tensor):
        scalar = None
        if type(tensor) is EagerTensor and thread_state().trace is None:
            scalar = _scalar(other, (<EagerTensor>tensor).dtype_code)
        if scalar is not None:
            other = scalar
        elif class_has(other, "__fg_bind__"):
            return NotImplemented
        else:
            own = not _is_lazy_tensor(other) and _handles_comparison(type(other))
            if own and not hasattr(type(other), "__array__"):
                return NotImplemented
            try:
                other = convert(other, tensor.dtype)
            except TypeError:
                if own:
                    return NotImplemented
                raise
    try:
        return _operate(slot, name, tensor, other, 0)
    except (InvalidArgumentError, ValueError) as error:
        if thread_state().trace is not None:
            if "Dimensions must be equal" in str(error):
                return convert(negated)
        elif "Incompatible shapes" in str(error):
            return from_array(np.array(negated))
        raise


cdef object _multiply(object tensor, object other, bint reflected):
    """The product; of bools it is `and`. Source: tf.Tensor.__mul__."""
    if ((<EagerTensor>tensor).dtype_code == BOOL if type(tensor) is EagerTensor else tensor.dtype.is_bool) and (
            _promotion is None or not _uneven(tensor, other)):
        return _operate(ops.and_, "and", tensor, other, reflected)
    return _operate(ops.mul, "mul", tensor, other, reflected)


cdef object _divide(object tensor, object other, bint reflected):
    """The quotient; of integers in floats, which is the slot's business. Source: tf.Tensor.__truediv__."""
    if type(tensor) is EagerTensor and ops.realdiv is not None and (
            (<EagerTensor>tensor).dtype_code == FLOAT32 or (<EagerTensor>tensor).dtype_code == FLOAT64):
        if type(other) is float or type(other) is int or (
                type(other) is EagerTensor and (<EagerTensor>other).dtype_code == (<EagerTensor>tensor).dtype_code):
            return _operate(ops.realdiv, "realdiv", tensor, other, reflected)
    return _operate(ops.truediv, "truediv", tensor, other, reflected)


cdef bint _handles_comparison(kind):
    """Return whether a type, or one that it inherits from, has an `__eq__` of its own that may know tensors."""
    for base in kind.__mro__:
        if "__eq__" in base.__dict__:  # that of sequences and numbers of Python's own does not
            return base.__module__ not in ("builtins", "numpy", "array", "collections")
    return False


cdef object _operate_unary(object slot, str name, object tensor):
    cdef ThreadState state
    cdef EagerTensor out
    if slot is None:
        slot = get_slot(name)
    if type(slot) is Primitive:
        state = thread_state()
        if type(tensor) is EagerTensor and state.trace is None and not state.tapes:
            out = _loop_unary(<Primitive>slot, <EagerTensor>tensor)
            if out is not None:
                return out
        return bind(<Primitive>slot, (tensor,), _no_attrs)
    return slot(tensor)
