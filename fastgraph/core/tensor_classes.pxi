# Part of tensor.pyx: the Tensor classes.

_TWO_SIDED = "add and div floordiv matmul mod mul or pow sub truediv xor".split()
OPERATOR_NAMES = frozenset(  # methods by which operators of Python's compute
    f"__{name}__"
    for name in [*"abs eq ge getitem gt invert le lt ne neg".split(), *_TWO_SIDED, *[f"r{each}" for each in _TWO_SIDED]]
)
cdef dict _shapes = {}     # dims -> TensorShape: making one costs more than an addition


@cython.no_gc  # what it refers to does not refer back, and the memory that EagerTensors keep has no collector's header
@cython.binding(False)
cdef class Tensor:
    """Tensor()\n--\n
    A value with a dtype and a shape: an EagerTensor holds its elements, a symbolic one is an edge of a graph.

    Tensors do not change. Programs make them with `tf.constant` and ops, never by this class. Source: tf.Tensor.

    Examples:
        >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
        >>> x.shape, x.dtype, x.device
        (TensorShape([2, 2]), tf.float32, '/job:localhost/replica:0/task:0/device:CPU:0')
        >>> (x @ x + 1.0)[0].numpy()
        array([ 8., 11.], dtype=float32)
        >>> float(x[1, 0]), [int(row[1]) for row in x], isinstance(x, tf.Tensor)
        (3.0, [2, 4], True)
    """

    __array_priority__ = 100
    OVERLOADABLE_OPERATORS = OPERATOR_NAMES

    def __cinit__(self):
        self.id = new_id()

    def __init__(self, *args, **kwargs):
        if type(self) is Tensor:
            raise TypeError("Tensor() takes no arguments: tensors are made by constant(), convert_to_tensor() and ops")

    @property
    def aval(self):
        """Dtype and shape as the inference rules see them."""
        raise NotImplementedError

    @property
    def dtype(self):
        """The DType of the elements."""
        return self.aval.dtype

    @property
    def shape(self):
        """The static shape, a TensorShape."""
        return TensorShape(self.aval.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions. ValueError if it is unknown."""
        rank = self.shape.rank
        if rank is None:
            raise ValueError("The rank of this tensor is unknown")
        return rank

    @property
    def rank(self):
        return self.shape.rank

    def get_shape(self):
        """The static shape, a TensorShape."""
        return self.shape

    def ref(self):
        """A hashable reference to this tensor, for keys of dicts and sets."""
        return Reference(self)

    def experimental_ref(self):
        """ref() by its earlier name."""
        return Reference(self)

    @property
    def assign(self):
        """A function that assigns to a part of a Variable, of variable[key]. AttributeError of any other."""
        if self._origin is None:
            raise AttributeError(op_errors.no_attribute(self, "assign"))
        variable, key = self._origin
        return functools.partial(variable._assign_part, key)

    def __hash__(self):
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __len__(self):
        raise TypeError(f"len is not well defined for the symbolic {self!r}; use shape()")

    def __iter__(self):
        raise TypeError(f"Cannot iterate over the symbolic {self!r}")

    def __bool__(self):
        raise TypeError(f"Using the symbolic {self!r} as a Python bool is not allowed")

    def __array__(self, dtype=None, copy=None):
        raise NotImplementedError(f"Cannot convert the symbolic {self!r} to a NumPy array")

    def numpy(self):
        """Return the elements as a writable copy; of a 0-d tensor a NumPy scalar (bytes of a string).

        Raises:
            NotImplementedError: The tensor is symbolic: it stands for a value that there is not yet.

        Examples:
            >>> x = tf.constant([1.0, 2.0])
            >>> copy = x.numpy()
            >>> copy[0] = 9.0
            >>> copy, x[0].numpy()
            (array([9., 2.], dtype=float32), np.float32(1.0))
        """
        raise NotImplementedError(f"numpy() is only available when eager execution is enabled, not on {self!r}")

    def __getitem__(self, key):
        if type(self) is EagerTensor:
            part = _fast_getitem(<EagerTensor>self, key)
            if part is not None:
                return part
        return get_slot("getitem")(self, key)

    def __round__(self, ndigits=None):
        return get_slot("round")(self, ndigits) if ndigits else get_slot("round")(self)

    def __add__(self, other):
        return _operate(ops.add, "add", self, other, 0)

    def __radd__(self, other):
        return _operate(ops.add, "add", self, other, 1)

    def __sub__(self, other):
        return _operate(ops.sub, "sub", self, other, 0)

    def __rsub__(self, other):
        return _operate(ops.sub, "sub", self, other, 1)

    def __mul__(self, other):
        return _multiply(self, other, 0)

    def __rmul__(self, other):
        return _multiply(self, other, 1)

    def __truediv__(self, other):
        return _divide(self, other, 0)

    def __rtruediv__(self, other):
        return _divide(self, other, 1)

    def __floordiv__(self, other):
        return _operate(ops.floordiv, "floordiv", self, other, 0)

    def __rfloordiv__(self, other):
        return _operate(ops.floordiv, "floordiv", self, other, 1)

    def __mod__(self, other):
        return _operate(ops.mod, "mod", self, other, 0)

    def __rmod__(self, other):
        return _operate(ops.mod, "mod", self, other, 1)

    def __pow__(self, other, modulo):
        if modulo is not None:
            raise TypeError("pow() of tensors takes no modulus")
        return _operate(ops.pow, "pow", self, other, 0)

    def __rpow__(self, other, modulo):
        if modulo is not None:
            raise TypeError("pow() of tensors takes no modulus")
        return _operate(ops.pow, "pow", self, other, 1)

    def __matmul__(self, other):
        return _matmul(self, other, 0)

    def __rmatmul__(self, other):
        return _matmul(self, other, 1)

    def __and__(self, other):
        return _operate(ops.and_, "and", self, other, 0)

    def __rand__(self, other):
        return _operate(ops.and_, "and", self, other, 1)

    def __or__(self, other):
        return _operate(ops.or_, "or", self, other, 0)

    def __ror__(self, other):
        return _operate(ops.or_, "or", self, other, 1)

    def __xor__(self, other):
        return _operate(ops.xor, "xor", self, other, 0)

    def __rxor__(self, other):
        return _operate(ops.xor, "xor", self, other, 1)

    def __lshift__(self, other):
        return _operate(get_slot("lshift"), "lshift", self, other, 0)

    def __rlshift__(self, other):
        return _operate(get_slot("lshift"), "lshift", self, other, 1)

    def __rshift__(self, other):
        return _operate(get_slot("rshift"), "rshift", self, other, 0)

    def __rrshift__(self, other):
        return _operate(get_slot("rshift"), "rshift", self, other, 1)

    def __lt__(self, other):
        return _operate(ops.lt, "lt", self, other, 0)

    def __le__(self, other):
        return _operate(ops.le, "le", self, other, 0)

    def __gt__(self, other):
        return _operate(ops.gt, "gt", self, other, 0)

    def __ge__(self, other):
        return _operate(ops.ge, "ge", self, other, 0)

    def __eq__(self, other):
        return _equality(ops.eq, "eq", self, other, False)

    def __ne__(self, other):
        return _equality(ops.ne, "ne", self, other, True)

    def __neg__(self):
        return _operate_unary(ops.neg, "neg", self)

    def __abs__(self):
        real = ops.abs_real is not None and not self.dtype.is_complex
        return _operate_unary(ops.abs_real if real else ops.abs, "abs", self)

    def __invert__(self):
        return _operate_unary(ops.invert, "invert", self)

    def __pos__(self):
        if "pos" in slots:
            return slots["pos"](self)
        raise TypeError("bad operand type for unary +: " + repr(type(self).__name__))

    def __setitem__(self, key, value):
        raise TypeError(f"'{type(self).__name__}' object does not support item assignment")

    def __array_namespace__(self, *, api_version=None):
        """The module of the array API standard's functions."""
        return get_slot("array_namespace")(self, api_version)

    @property
    def mT(self):
        """The matrices with rows and columns changed."""
        return get_slot("mT")(self)

    def to_device(self, device, *, stream=None):
        """This tensor on a device."""
        return get_slot("to_device")(self, device, stream)

    def __delitem__(self, key):
        raise TypeError(f"'{type(self).__name__}' object doesn't support item deletion")


class Reference:
    """A hashable reference to a tensor or a Variable. Source: what Tensor.ref() gives."""

    __slots__ = ("__weakref__", "_target")

    def __init__(self, target) -> None:
        self._target = target

    def deref(self):
        """The tensor or Variable."""
        return self._target

    def __hash__(self) -> int:
        return id(self._target)

    def __eq__(self, other) -> bool:
        return self._target is _referred(other)

    def __lt__(self, other) -> bool:
        return id(self._target) < id(_referred(other))

    def __gt__(self, other) -> bool:
        return id(self._target) > id(_referred(other))

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._target!r}>"


def _referred(other):
    """The object that another Reference refers to. TypeError for anything else: a tensor is not its reference."""
    if not isinstance(other, Reference):
        raise TypeError("Cannot compare wrapped object with unwrapped object")
    return (<object>other)._target


class _Absent:
    """Stands for an attribute that tensors do not have, and says what to use instead.

    Not a `__getattr__`: NumPy looks for several protocols on what it is given, and each look would cost an exception.
    """

    __slots__ = ("name",)

    def __init__(self, name):
        self.name = name

    def __get__(self, tensor, owner):
        raise AttributeError(op_errors.no_attribute(tensor if tensor is not None else owner, self.name))


class _Undefined(_Absent):
    """One that TensorFlow's tensors have, though not here, and that therefore cannot be set either."""

    __slots__ = ()

    def __set__(self, tensor, value):
        raise AttributeError(f"property {self.name!r} of 'EagerTensor' object has no setter")


@cython.final
@cython.no_gc
@cython.binding(False)
cdef class EagerTensor(Tensor):
    """A tensor that holds its elements: dense, row-major, immutable."""

    def __init__(self):
        raise TypeError("Tensors are made by constant(), convert_to_tensor() and ops")

    def __dealloc__(self):
        block_release(self.block)
        if self.dims != NULL and self.dims != &self.near[0]:
            free(self.dims)

    @property
    def aval(self):
        _alive(self)
        return Aval(_dtypes[self.dtype_code], _dims(self))

    @property
    def dtype(self):
        _alive(self)
        return _dtypes[self.dtype_code]

    @property
    def shape(self):
        cdef tuple dims = _dims(self)
        found = _shapes.get(dims)
        if found is None:
            found = TensorShape(dims)
            if len(_shapes) < 4096:
                _shapes[dims] = found
        return found

    @property
    def ndim(self) -> int:
        return self.ndim

    @property
    def rank(self) -> int:
        return self.ndim

    @property
    def dims(self) -> tuple:
        """The shape as a tuple of ints."""
        return _dims(self)

    @property
    def num_elements(self) -> int:
        return self.size

    @property
    def nbytes(self) -> int:
        return self.size * _item_sizes[self.dtype_code]

    @property
    def itemsize(self) -> int:
        return _item_sizes[self.dtype_code]

    @property
    def buffer(self) -> Buffer:
        """A Python view of the Block that holds the elements."""
        _alive(self)
        return Buffer.of(self.block)

    @property
    def device(self) -> str:
        """The full name of the device that holds the elements."""
        _alive(self)
        return slots["device_name"](self.block.device, self.part)

    @property
    def is_packed(self) -> bool:
        return False

    @property
    def _id(self) -> int:
        return self.id

    @property
    def backing_device(self) -> str:
        return self.device

    def numpy(self):
        """The elements as a writable copy; of a 0-d tensor a NumPy scalar (bytes of a string)."""
        cdef object view = tensor_array(self)
        if (<object>view).dtype.num == cnp.NPY_VOID:
            view = view.view(self.dtype.plain)  # quantised elements: the numbers of the steps
        if self.ndim == 0:
            return view[()]
        return view.copy()

    def _numpy(self):
        return self.numpy()

    def __array__(self, dtype=None, copy=None):
        view = tensor_array(self)
        if dtype is not None and np.dtype(dtype) != view.dtype:
            if copy is False:
                raise ValueError(f"A tensor of dtype {self.dtype.name} is no {np.dtype(dtype)} array without a copy.")
            return view.astype(dtype)
        return view.copy() if copy else view

    def __len__(self):
        if self.ndim == 0:
            raise TypeError("Scalar tensor has no `len()`")
        return self.dims[0]

    def __iter__(self):
        if self.ndim == 0:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return _rows(self)

    def __bool__(self):
        if self.ndim == 0 and self.block != NULL:
            if self.dtype_code == BOOL:
                return self.data[0] != 0
            return bool(tensor_array(self)[()])
        if self.size == 1:
            return bool(tensor_array(self).reshape(())[()])
        if self.size == 0:
            raise ValueError("The truth value of an empty array is ambiguous. "
                             "Use `array.size > 0` to check that an array is not empty.")
        raise ValueError(
            "The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")

    def __int__(self):
        return int(_real_scalar(self))

    def __float__(self):
        return float(_real_scalar(self))

    def __complex__(self):
        return complex(_python_scalar(self))

    def __index__(self):
        value = _python_scalar(self)
        if not isinstance(value, int) or isinstance(value, bool):
            raise TypeError(f"only an integer scalar tensor can be an index, not one of dtype {self.dtype.name}")
        return value

    def __repr__(self):
        return get_slot("repr")(self)

    def __str__(self):
        return get_slot("str")(self)

    def __format__(self, spec):
        return get_slot("format")(self, spec)

    def set_shape(self, shape) -> None:
        """Check that `shape` is compatible with this tensor's. ValueError if not."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {_dims(self)} is not compatible with supplied shape {shape}.")

    def cpu(self):
        """This tensor in main memory."""
        return slots["copy_to"](self, "CPU:0")

    def gpu(self, int gpu_index=0):
        """A copy of this tensor on a GPU. RuntimeError if there is none."""
        return slots["copy_to"](self, f"GPU:{gpu_index}")

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        return self

    def __getbuffer__(self, Py_buffer* buffer, int flags):
        view = tensor_array(self)
        if view.dtype.kind in "OV":
            raise BufferError(f"Elements of dtype {self.dtype.name} have no format that the buffer protocol knows")
        PyObject_GetBuffer(view, buffer, flags)  # read-only, and what is released is the view's

    def __reduce__(self):
        return _unpickle, (self.numpy() if self.ndim else np.asarray(self).copy(), self.dtype.name)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        # Consumers of the protocol's first version know no read-only memory: they promise not to write.
        cdef object array, capsule
        options = dict(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)
        options = {name: value for name, value in options.items() if value is not None}
        if max_version is not None and tuple(max_version) >= (1, 0):
            array = tensor_array(self)
        else:
            array = _view(self, cnp.NPY_ARRAY_WRITEABLE)
        if self.dtype is not _dtype.bfloat16:
            return array.__dlpack__(**options)
        capsule = array.view(np.uint16).__dlpack__(**options)  # NumPy's protocol knows no bfloat16
        _dlpack_type(capsule)[0] = DLPACK_BFLOAT
        return capsule

    def __dlpack_device__(self):
        return tensor_array(self).__dlpack_device__()


cdef enum:
    DLPACK_UINT = 1
    DLPACK_BFLOAT = 4


cdef unsigned char* _dlpack_type(object capsule) except NULL:
    """Return the address of a DLPack capsule's kind of numbers: behind the address, the device and the rank.

    A versioned capsule has its version, owner, deleter and flags before them.
    """
    cdef const char* name = PyCapsule_GetName(capsule)
    cdef unsigned char* start = <unsigned char*>PyCapsule_GetPointer(capsule, name)
    return start + (52 if name == b"dltensor_versioned" else 20)


def bfloat16_as_uint16(capsule):
    """Return whether the elements of a DLPack capsule are bfloat16; they are called uint16 from now on."""
    if not PyCapsule_IsValid(capsule, b"dltensor") and not PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        return False  # used, or no capsule of DLPack: who takes it says so
    if _dlpack_type(capsule)[0] != DLPACK_BFLOAT:
        return False
    _dlpack_type(capsule)[0] = DLPACK_UINT
    return True


cdef object _rows(EagerTensor t):
    """An iterator over the rows, all of which are made at once; now and then it is asked for signals."""
    cdef int64_t i
    cdef list rows = []
    for i in range(t.dims[0]):
        rows.append(t[i])
        if not (i + 1) % MANY_RESULTS:
            PyErr_CheckSignals()
    return iter(rows)


cdef object _python_scalar(EagerTensor t):
    if t.ndim != 0:
        raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
    return tensor_array(t).item()


cdef object _real_scalar(EagerTensor t):
    """A tensor's number; of a complex one NumPy's, which turns into its real part with a warning."""
    value = _python_scalar(t)
    return tensor_array(t)[()] if isinstance(value, complex) else value


def _unpickle(array, str dtype, /):
    return from_array(array, _dtype.as_dtype(dtype), False)


cdef tuple _dims(EagerTensor t):
    cdef int i
    if t.ndim == 0:
        return ()
    if t.ndim == 1:
        return (t.dims[0],)
    if t.ndim == 2:
        return (t.dims[0], t.dims[1])
    return tuple([t.dims[i] for i in range(t.ndim)])


cdef int _alive(EagerTensor t) except -1:
    if t.block == NULL:
        raise TypeError("This tensor was never made: use constant(), convert_to_tensor() and ops")
    return 0
