# Part of tensor.pyx: conversion of an op's inputs, the C loops, bodies, tapes.

cdef dict _no_attrs = {}       # the attributes of ops that have none; never written
cdef object _quiet = None      # NumPy's error state with every floating warning off, and the variable it is set in
cdef object _error_state = None

cdef extern from "Python.h":
    object PyContextVar_Set(object var, object value)
    int PyContextVar_Reset(object var, object token) except -1

try:  # one C call each way; np.errstate costs a microsecond
    from numpy._core.umath import _extobj_contextvar as _error_state, _make_extobj
    _quiet = _make_extobj(all="ignore")
except ImportError:
    _error_state = None


# Conversion.

cdef double inf = float("inf")


cdef bint _fits_float32(double x) noexcept nogil:
    """Return whether a Python float may become a float32: TensorFlow refuses finite ones that would become infinite."""
    return not (3.4028235677973366e38 <= x < inf or -inf < x <= -3.4028235677973366e38)


cdef bint _place_number(char* place, int code, object number) noexcept:
    """Write a Python float, int or bool as an element of a dtype; False, nothing written, where the rules decide."""
    cdef int overflow = 0
    cdef long long integer
    cdef double real
    if type(number) is float:
        real = PyFloat_AS_DOUBLE(number)
        if code == FLOAT32:
            if not _fits_float32(real):
                return False
            (<float*>place)[0] = <float>real
        elif code == FLOAT64:
            (<double*>place)[0] = real
        else:
            return False
    elif type(number) is int:
        integer = PyLong_AsLongLongAndOverflow(number, &overflow)
        if overflow:
            return False
        if code == FLOAT32:
            (<float*>place)[0] = <float>integer
        elif code == INT32 and -2147483648 <= integer <= 2147483647:
            (<int32_t*>place)[0] = <int32_t>integer
        elif code == INT64:
            (<int64_t*>place)[0] = integer
        elif code == FLOAT64:
            (<double*>place)[0] = <double>integer
        else:
            return False
    elif type(number) is bool and code == BOOL:
        place[0] = number is True
    else:
        return False
    return True


cdef EagerTensor _scalar(object value, int code):
    """A 0-d tensor of a Python float, int or bool, of dtype `code` (-1: its default); None where the rules decide."""
    cdef int64_t place = 0
    cdef Block* block
    cdef bint by_default = code == -1
    if by_default:
        code = FLOAT32 if type(value) is float else BOOL if type(value) is bool else INT32
    if not _place_number(<char*>&place, code, value):
        code = INT64
        if not by_default or not _place_number(<char*>&place, code, value):
            return None
    block = block_new(_item_sizes[code])
    if block != NULL:
        (<int64_t*>block.data)[0] = place  # every Block has room for that
    return wrap_block(block, code, 0, NULL)


cdef bint _is_lazy_tensor(object value):
    """Return whether `value` stands for a tensor that it gives when asked: a Variable, IndexedSlices.

    A composite that no one tensor can stand for (RaggedTensor) gives itself; ops then ask it what they do to it.
    """
    return class_has(value, "__fg_tensor__")


cpdef object convert(object value, object dtype=None):
    """The Tensor that `value` stands for; a Tensor as it is. Python values by the rules of conversion.py.

    In a trace, Python values become constants of the trace. TypeError or ValueError as TensorFlow raises them.
    """
    cdef EagerTensor scalar
    cdef object trace, found
    if isinstance(value, Tensor):
        if dtype is not None and (<Tensor>value).dtype is not dtype:
            raise op_errors.wrong_dtype(value, dtype)
        return value
    if _is_lazy_tensor(value):
        found = value.__fg_tensor__(dtype)
        return found if isinstance(found, Tensor) else slots["convert"](value, dtype)
    scalar = _scalar(value, -1 if dtype is None else dtype.code)
    if scalar is None and (type(value) is list or type(value) is tuple):
        scalar = _plain_sequence(value, -1 if dtype is None else dtype.code)
    if scalar is None:
        return slots["convert"](value, dtype)
    trace = thread_state().trace
    return scalar if trace is None else trace.constant(scalar)


cdef object _convert_like(object value, object hint, bint strictly=False):
    """`value` as a Tensor of the dtype `hint` if it can be one, else of its own; `strictly`, else an error."""
    try:
        return convert(value, hint)
    except OpError:
        raise
    except (TypeError, ValueError):
        if hint is None or strictly:
            raise
        return convert(value)


cdef tuple _beside_number(Primitive prim, tuple inputs):
    """A tensor and a Python number as two tensors of one dtype; None for anything else."""
    cdef EagerTensor scalar
    cdef int code, at
    for at in range(2):
        if type(<object>inputs[at]) is EagerTensor:
            code = (<EagerTensor>inputs[at]).dtype_code
            if not (prim.code_mask >> code) & 1 or code == 0:
                return None
            scalar = _scalar(<object>inputs[1 - at], code)
            if scalar is None:
                return None
            return (<object>inputs[0], scalar) if at == 0 else (scalar, <object>inputs[1])
    return None


cdef tuple _convert_inputs(Primitive prim, tuple inputs):
    """The inputs as Tensors (Cells stay); None if one is a composite that stays one, or a tensor of no graph.

    A letter's first Tensor, Variable or array gives the others its dtype.
    """
    cdef Py_ssize_t n = len(inputs), i, n_letters = len(prim.groups)
    cdef int code = -1
    cdef object value, letter, found
    cdef list converted
    cdef dict known
    cdef bint strictly
    if n < prim.n_inputs or (n > prim.n_inputs and not prim.variadic):
        raise TypeError(f"{prim.name}() takes {prim.n_inputs} tensors ({', '.join(prim.inputs)}), {n} were given")
    if prim.same_dtype:
        for i in range(n):
            if type(<object>inputs[i]) is not EagerTensor:
                break
            if code == -1:
                code = (<EagerTensor>inputs[i]).dtype_code
            elif code != (<EagerTensor>inputs[i]).dtype_code:
                break
        else:
            if code == 0:
                _alive(<EagerTensor>inputs[0])
            if code >= 0 and not (prim.code_mask >> code) & 1:
                raise op_errors.dtype_not_allowed(prim, prim.groups[0], _dtypes[code], thread_state().trace)
            return inputs
    if n == prim.n_plain:
        for i in range(n):
            if type(<object>inputs[i]) is not EagerTensor:
                break
            code = (<EagerTensor>inputs[i]).dtype_code
            if code == 0 or not (prim.mask_of[i] >> code) & 1:
                break
            if prim.letter_of[i] >= 0 and (<EagerTensor>inputs[prim.letter_of[i]]).dtype_code != code:
                break
        else:
            return inputs
    if prim.same_dtype and n == 2 and n == prim.n_inputs and thread_state().trace is None:
        found = _beside_number(prim, inputs)  # x op 1.5
        if found is not None:
            return <tuple>found
    converted = list(inputs)
    known = {}
    # Tensors say the dtype, arrays before them too become of it; not in tf.add and add_n, which take what comes first.
    if (prim.variadic or thread_state().trace is None) and prim.op_type != "AddV2" and prim.op_type != "AddN":
        for i in range(n):
            letter = prim.groups[i if i < n_letters else n_letters - 1]
            if letter[0].isupper() and letter not in known:
                value = converted[i]
                if isinstance(value, Tensor) or isinstance(getattr(value, "dtype", None), _dtype.DType):
                    known[letter] = value.dtype
    for i in range(n):  # what has a dtype of its own
        value = converted[i]
        letter = prim.groups[i if i < n_letters else n_letters - 1]
        if isinstance(value, Tensor):
            if type(value) is not EagerTensor and class_has(value, "__fg_defer__"):
                return None
        elif isinstance(value, Cell):
            continue
        elif prim.of_parts and isinstance(value, CompositeTensor):
            return None
        elif _is_lazy_tensor(value):
            value = converted[i] = value.__fg_tensor__(None)
            if not isinstance(value, Tensor):
                return None
        elif isinstance(value, np.ndarray) and letter not in known and letter[0].isupper():
            value = converted[i] = convert(value)
        else:
            continue
        if letter[0].isupper():
            known.setdefault(letter, value.dtype)
    for i in range(n):
        value = converted[i]
        letter = prim.groups[i if i < n_letters else n_letters - 1]
        if isinstance(value, (Tensor, Cell)):
            if letter == "resource" and not isinstance(value, Cell) and value.dtype is not _dtype.resource:
                raise TypeError(f"{prim.name}(): input {i} must be a resource, not {value!r}")
        elif letter[0].isupper():
            strictly = thread_state().trace is None and prim.op_type != "AddV2"  # tf.add leaves it to the op
            value = converted[i] = _convert_like(value, known.get(letter), strictly)
            known.setdefault(letter, value.dtype)
        elif letter == "-":
            value = converted[i] = convert(value)
        elif letter == "resource":
            raise TypeError(f"{prim.name}(): input {i} must be a resource, not {type(value).__name__}")
        else:
            value = converted[i] = convert(value, _dtype.as_dtype(letter))
        if letter != "-" and letter != "resource" and not isinstance(value, Cell):
            found = value.dtype
            expected = known.get(letter) if letter[0].isupper() else _dtype.as_dtype(letter)
            if found is not expected:
                raise op_errors.unnamed(
                    op_errors.mismatch(prim, i, expected, found, thread_state().trace, converted), prim, inputs)
    for letter, found in known.items():
        mask = prim.masks.get(letter)
        if mask is not None and not (mask >> <int>found.code) & 1:
            raise op_errors.unnamed(
                op_errors.dtype_not_allowed(prim, letter, found, thread_state().trace), prim, inputs)
    return tuple(converted)


# Tapes.

cdef int _note(ThreadState state, Primitive prim, tuple inputs, dict attrs, object outputs) except -1:
    cdef PyObject* out
    cdef tuple many
    cdef list tapes = state.tapes
    cdef Py_ssize_t i, n_outputs = 1
    cdef PyObject** given = NULL
    cdef PyObject** made = &out
    if type(outputs) is tuple or type(outputs) is list:
        many = tuple(outputs)
        n_outputs = len(many)
        made = _items(many)
    else:
        out = <PyObject*>outputs
    given = _items(inputs)
    for i in range(len(tapes)):
        (<TapeBase>tapes[i]).note(prim, given, len(inputs), attrs, made, n_outputs)
    return 0


cdef extern from *:
    """
    #define fg_items(tuple) (((PyTupleObject *)(tuple))->ob_item)
    """
    PyObject** fg_items(object)


cdef inline PyObject** _items(tuple values) noexcept:
    return fg_items(values)


# Running an op on tensors that hold elements.

cdef inline Loop _loop_for(Primitive prim, int code, int64_t n) noexcept:
    """The C loop for n elements; NULL where the body is the faster."""
    return prim.loops[code] if n <= prim.loop_limit[code] else prim.far_loops[code]


cdef EagerTensor _loop_unary(Primitive prim, EagerTensor x):
    """The op on x by its C loop; None where there is none or where it fails: the body then says why."""
    cdef Loop loop = _loop_for(prim, x.dtype_code, x.size)
    cdef int code = prim.loop_out[x.dtype_code], failed
    cdef char* operands[1]
    cdef int64_t steps[1]
    cdef EagerTensor out
    if loop == NULL:
        return _by_float32(prim, x, None)
    out = wrap_block(block_new(x.size * _item_sizes[code]), code, x.ndim, &x.dims[0])
    operands[0] = x.data
    steps[0] = 1
    failed = _run_shared(loop, 1, &operands[0], &steps[0], _item_sizes[x.dtype_code], out.data, _item_sizes[code],
                         out.size, prim.loop_share[x.dtype_code])
    return None if failed else out


cdef EagerTensor _loop_binary(Primitive prim, EagerTensor x, EagerTensor y):
    """The op on x and y, of one dtype, by its C loop, broadcasting; None where the body must do it or say why not."""
    cdef Loop loop
    cdef char* operands[2]
    cdef int64_t steps[2]
    cdef int i, failed, code = prim.loop_out[x.dtype_code]
    cdef bint same
    cdef EagerTensor out, shaped
    if x.dtype_code != y.dtype_code:
        return None
    if prim.loops[x.dtype_code] == NULL:
        return _by_float32(prim, x, y)
    same = x.ndim == y.ndim
    if same:
        for i in range(x.ndim):
            if x.dims[i] != y.dims[i]:
                same = False
                break
    if same or (y.size == 1 and y.ndim <= x.ndim):
        shaped = x
        steps[0] = 1
        steps[1] = same
    elif x.size == 1 and x.ndim <= y.ndim:
        shaped = y
        steps[0] = 0
        steps[1] = 1
    else:
        return _loop_broadcast(prim, x, y)
    loop = _loop_for(prim, x.dtype_code, shaped.size)
    if loop == NULL:
        return None
    operands[0] = x.data
    operands[1] = y.data
    out = wrap_block(block_new(shaped.size * _item_sizes[code]), code, shaped.ndim, &shaped.dims[0])
    failed = _run_shared(loop, 2, &operands[0], &steps[0], _item_sizes[x.dtype_code], out.data, _item_sizes[code],
                         out.size, prim.loop_share[x.dtype_code])
    return None if failed else out


cdef inline bint _is_half(int code) noexcept:
    return code == FLOAT16 or code == BFLOAT16


cdef EagerTensor _by_float32(Primitive prim, EagerTensor x, EagerTensor y):
    """The op on half floats by its loop for float32, rounded once: NumPy converts one by one. None for others."""
    cdef EagerTensor out
    cdef int code = x.dtype_code
    if prim.loops[FLOAT32] == NULL or not _is_half(code) or prim.cuts_quotient:
        return None
    x = _cast_to(x, FLOAT32)
    out = _loop_unary(prim, x) if y is None else _loop_binary(prim, x, _cast_to(y, FLOAT32))
    return _cast_to(out, code) if out is not None and out.dtype_code == FLOAT32 else out


cdef struct Broadcasting:       # a loop called once per run of constant steps
    Loop loop
    char* x
    char* y
    char* out
    int64_t item                # bytes of an operand's element
    int64_t out_item
    int64_t steps[2]
    int n
    int64_t extents[MAX_RANK]   # runs of axes with the same strides taken together, innermost first
    int64_t xs[MAX_RANK]        # strides in elements
    int64_t ys[MAX_RANK]
    int32_t failed


cdef void _broadcast_part(void* context, int64_t first, int64_t last) noexcept nogil:
    """Calls first to last: each is one run along the innermost axis."""
    cdef Broadcasting* b = <Broadcasting*>context
    cdef int64_t at[MAX_RANK]
    cdef char* operands[2]
    cdef char* result = b.out + first * b.extents[0] * b.out_item
    cdef int64_t call, rest = first
    cdef int k, failed = 0
    operands[0] = b.x
    operands[1] = b.y
    for k in range(1, b.n):
        at[k] = rest % b.extents[k]
        rest //= b.extents[k]
        operands[0] += at[k] * b.xs[k] * b.item
        operands[1] += at[k] * b.ys[k] * b.item
    for call in range(first, last):
        failed |= b.loop(&operands[0], &b.steps[0], result, b.extents[0])
        result += b.extents[0] * b.out_item
        for k in range(1, b.n):
            at[k] += 1
            operands[0] += b.xs[k] * b.item
            operands[1] += b.ys[k] * b.item
            if at[k] < b.extents[k]:
                break
            operands[0] -= b.xs[k] * b.item * b.extents[k]
            operands[1] -= b.ys[k] * b.item * b.extents[k]
            at[k] = 0
    if failed:
        b.failed = 1


cdef EagerTensor _loop_broadcast(Primitive prim, EagerTensor x, EagerTensor y):
    """x op y where neither has the shape of the result."""
    cdef Broadcasting all
    cdef int64_t dims[MAX_RANK]       # of the result
    cdef int64_t a, b, x_count = 1, y_count = 1, x_stride, y_stride, calls
    cdef int ndim = max(x.ndim, y.ndim), i, n = 0, code = prim.loop_out[x.dtype_code]
    cdef EagerTensor out
    for i in range(ndim):
        a = x.dims[x.ndim - 1 - i] if i < x.ndim else 1
        b = y.dims[y.ndim - 1 - i] if i < y.ndim else 1
        if a != b and a != 1 and b != 1:
            return None
        dims[ndim - 1 - i] = b if a == 1 else a
        if a == 1 and b == 1:
            continue
        x_stride = 0 if a == 1 else x_count
        y_stride = 0 if b == 1 else y_count
        if n and (all.xs[n - 1] == 0) == (x_stride == 0) and (all.ys[n - 1] == 0) == (y_stride == 0):
            all.extents[n - 1] *= dims[ndim - 1 - i]
        else:
            all.extents[n] = dims[ndim - 1 - i]
            all.xs[n] = x_stride
            all.ys[n] = y_stride
            n += 1
        x_count *= a
        y_count *= b
    a = _count(ndim, &dims[0])
    if a < 0:
        return None
    all.loop = _loop_for(prim, x.dtype_code, a)
    if all.loop == NULL:
        return None
    out = wrap_block(block_new(a * _item_sizes[code]), code, ndim, &dims[0])
    if out.size == 0:
        return out
    all.x = x.data
    all.y = y.data
    all.out = out.data
    all.item = _item_sizes[x.dtype_code]
    all.out_item = _item_sizes[code]
    all.steps[0] = all.xs[0] != 0
    all.steps[1] = all.ys[0] != 0
    all.n = n
    all.failed = 0
    calls = out.size // all.extents[0]
    if out.size <= RELEASE_GIL:
        _broadcast_part(&all, 0, calls)
    else:
        with nogil:
            if out.size < prim.loop_share[x.dtype_code]:
                _broadcast_part(&all, 0, calls)
            else:
                pool_share(_broadcast_part, &all, calls, max(<int64_t>1, SHARE_RUN // all.extents[0]))
    return None if all.failed else out


cdef tuple _adopt_all(object values):
    """Tensors of a body's results. An axis of millions makes as many: now and then it is asked for signals."""
    cdef list tensors = []
    for value in values:
        tensors.append(_adopt(value))
        if not len(tensors) % MANY_RESULTS:
            PyErr_CheckSignals()
    return tuple(tensors)


cdef object run_body(Primitive prim, tuple inputs, dict attrs):
    """The op's NumPy body on eager tensors (and Cells); its results as tensors. BLAS keeps to this thread meanwhile."""
    cdef list arrays = []
    cdef bint users = prim.effect == "host"  # what it calls may be the user's Python
    cdef object value, result, token
    for value in inputs:
        if type(value) is EagerTensor:
            arrays.append(tensor_array(<EagerTensor>value))
        elif isinstance(value, Tensor):
            raise op_errors.out_of_scope(value)
        else:
            arrays.append(value)
    if not users:
        blas_begin()
    try:
        if _error_state is not None:
            token = PyContextVar_Set(_error_state, _quiet)
            try:
                result = prim.body(*arrays, **attrs)
            finally:
                PyContextVar_Reset(_error_state, token)
        else:
            with np.errstate(all="ignore"):
                result = prim.body(*arrays, **attrs)
        if prim.returns_many:
            return _adopt_all(result)
        return _adopt(result) if result is not None else None
    except (OpError, ValueError, TypeError, ArithmeticError, IndexError, MemoryError) as error:
        raise op_errors.failed(prim, inputs, attrs, error) from (error if op_errors.TRACEBACKS else None)
    finally:
        if not users:
            blas_end()


cdef EagerTensor _run_ufunc(Primitive prim, EagerTensor x):
    """The op where its body is one ufunc: straight into pool memory; None where that is not to be had."""
    cdef int code = prim.ufunc_out[x.dtype_code]
    cdef EagerTensor out
    cdef cnp.ndarray target
    cdef object token
    if code == 0:
        code = -1
        if x.dtype_code in (FLOAT32, FLOAT64):
            try:
                given = prim.ufunc.resolve_dtypes((_descr(x.dtype_code), None))
                if given[0] == _descr(x.dtype_code):
                    code = _code_of_num[<int>given[1].num]
            except (TypeError, AttributeError):
                code = -1
        prim.ufunc_out[x.dtype_code] = code
    if code < 0 or _error_state is None:
        return None
    out = wrap_block(block_new(x.size * _item_sizes[code]), code, x.ndim, &x.dims[0])
    target = <cnp.ndarray>tensor_array(out)
    cnp.PyArray_ENABLEFLAGS(target, cnp.NPY_ARRAY_WRITEABLE)
    token = PyContextVar_Set(_error_state, _quiet)
    try:
        prim.ufunc(tensor_array(x), target)
    finally:
        PyContextVar_Reset(_error_state, token)
        cnp.PyArray_CLEARFLAGS(target, cnp.NPY_ARRAY_WRITEABLE)
    return out


cdef EagerTensor _run_loop(Primitive prim, tuple inputs):
    """The op by its C loop on eager tensors of one dtype, or None."""
    if not prim.elementwise or not prim.same_dtype:
        return None
    if prim.n_inputs == 1:
        return _loop_unary(prim, <EagerTensor>inputs[0])
    if prim.n_inputs == 2 and type(<object>inputs[1]) is EagerTensor:
        return _loop_binary(prim, <EagerTensor>inputs[0], <EagerTensor>inputs[1])
    return None


cpdef object run(Primitive prim, tuple inputs, dict attrs):
    """Apply `prim` to eager tensors of the right dtypes: no conversion, no trace, no tape. For host steps and tests."""
    cdef EagerTensor out
    cdef object value
    if len(inputs) < prim.n_inputs:
        raise TypeError(f"{prim.name} takes {prim.n_inputs} inputs, {len(inputs)} were given")
    if not attrs and prim.elementwise and inputs and type(<object>inputs[0]) is EagerTensor:
        out = _run_loop(prim, inputs)
        if out is None and prim.ufunc is not None:
            out = _run_ufunc(prim, <EagerTensor>inputs[0])
        if out is not None:
            return out
    if prim.shortcut:
        try:
            out = _shortcut(prim, inputs, attrs)
        except OverflowError:  # a number that no int64 holds: the body has the words for it
            out = None
        if out is not None:
            # A result is a tensor of its own, also where it is what went in: tapes tell values apart by it.
            for value in inputs:
                if value is out:
                    return _part(out, 0, out.ndim, &out.dims[0])
            return out
    return run_body(prim, inputs, attrs)


cdef object _run_converted(Primitive prim, tuple given, tuple inputs, dict attrs):
    """`run`, but an error ends as TensorFlow's of these arguments: without a name where one of them is a list."""
    try:
        return run(prim, inputs, attrs)
    except OpError as error:
        raise op_errors.unnamed(error, prim, given)


def _bind_parts(Primitive prim, value, dict attrs, /):
    """Apply an op that gives what it is given to each part of a composite that says nothing of ops itself."""

    def of_part(part):
        return bind(prim, (convert(part) if part is value else part,), attrs)  # what cannot be taken apart is refused

    return nesting.map_structure(of_part, value, expand_composites=True)


cpdef object bind(Primitive prim, tuple inputs, dict attrs):
    """Apply the op `prim` to `inputs`: the only place where that is done.

    In a trace the trace applies it; else the result is computed. Tapes of this thread that record are told of it. What
    an op does to a composite, the composite says (`__fg_bind__`), in other ops; what becomes of an op on a tensor
    that is neither eager nor of a trace, that tensor (`__fg_defer__`).
    """
    cdef ThreadState state = thread_state()
    cdef object outputs, value
    cdef tuple given = inputs
    inputs = _convert_inputs(prim, given)
    if inputs is None:
        for value in given:
            if class_has(value, "__fg_bind__"):
                return value.__fg_bind__(prim, given, attrs)
            if class_has(value, "__fg_defer__"):
                return value.__fg_defer__(prim, given, attrs)
            if prim.of_parts and isinstance(value, CompositeTensor):
                return _bind_parts(prim, value, attrs)
    if state.trace is not None:
        outputs = state.trace.bind(prim, inputs, attrs)
    elif inputs is given:
        outputs = run(prim, inputs, attrs)
    else:
        outputs = _run_converted(prim, given, inputs, attrs)
    if state.tapes and outputs is not None:
        _note(state, prim, inputs, attrs, outputs)
    return outputs
