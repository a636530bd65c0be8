"""Tensor, EagerTensor, the thread's state, and bind: the only place where an op is applied."""

from collections.abc import Callable, Iterator
from types import ModuleType, TracebackType
from typing import Any, Final, Self, final

import numpy as np

from fastgraph.core.native.buffer import Buffer, Cell
from fastgraph.core.primitive import Primitive
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Aval, TensorShape

class Tensor:
    """A value with a dtype and a shape: an EagerTensor holds its elements, a symbolic one is an edge of a graph."""

    id: Final[int]
    _origin: tuple[Any, Any] | None
    __array_priority__: int
    OVERLOADABLE_OPERATORS: Final[frozenset[str]]
    @property
    def assign(self) -> Callable[..., Any]:
        """A function that assigns to a part of a Variable, of variable[key]. AttributeError of any other."""
    @property
    def aval(self) -> Aval:
        """Dtype and shape as the inference rules see them."""
    @property
    def dtype(self) -> DType:
        """The DType of the elements."""
    @property
    def shape(self) -> TensorShape:
        """The static shape."""
    @property
    def ndim(self) -> int:
        """The number of dimensions. ValueError if it is unknown."""
    @property
    def rank(self) -> int | None:
        """The number of dimensions, or None."""
    def get_shape(self) -> TensorShape:
        """The static shape."""
    def set_shape(self, shape: Any) -> None:
        """Note what is known besides about the shape. ValueError if it contradicts what is known."""
    @property
    def device(self) -> str:
        """The device that it is on, or asked for."""
    # Of tensors in graphs.
    @property
    def name(self) -> str: ...
    @property
    def op(self) -> Any: ...
    @property
    def graph(self) -> Any: ...
    @property
    def value_index(self) -> int: ...
    def consumers(self) -> list[Any]: ...
    # Where `experimental.numpy.experimental_enable_numpy_behavior` was called.
    @property
    def T(self) -> Tensor: ...
    @property
    def data(self) -> Any: ...
    def astype(self, dtype: Any) -> Tensor: ...
    def clip(self, a_min: Any, a_max: Any) -> Tensor: ...
    def max(self, axis: Any = None, keepdims: Any = None) -> Tensor: ...
    def mean(self, axis: Any = None, dtype: Any = None, out: None = None, keepdims: Any = None) -> Tensor: ...
    def min(self, axis: Any = None, keepdims: Any = None) -> Tensor: ...
    def ravel(self) -> Tensor: ...
    def reshape(self, *newshape: Any, order: str = "C") -> Tensor: ...
    def transpose(self, axes: Any = None) -> Tensor: ...
    def ref(self) -> Reference:
        """A hashable reference to this tensor, for keys of dicts and sets."""
    def experimental_ref(self) -> Reference:
        """ref() by its earlier name."""
    def numpy(self) -> Any:
        """The elements as a writable copy; of a 0-d tensor a NumPy scalar (bytes of a string)."""
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]: ...
    def __array_namespace__(self, *, api_version: str | None = None) -> ModuleType:
        """The module of the array API standard's functions. ValueError for a version that it has not."""
    @property
    def mT(self) -> Tensor:
        """The matrices with rows and columns changed. ValueError below rank 2."""
    def to_device(self, device: Any, *, stream: None = None) -> Tensor:
        """This tensor on a device. ValueError for a stream."""
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex: ...
    def __index__(self) -> int: ...
    def __getitem__(self, key: Any) -> Tensor: ...
    def __round__(self, ndigits: int | None = None) -> Tensor: ...
    def __add__(self, other: Any) -> Tensor: ...
    def __radd__(self, other: Any) -> Tensor: ...
    def __sub__(self, other: Any) -> Tensor: ...
    def __rsub__(self, other: Any) -> Tensor: ...
    def __mul__(self, other: Any) -> Tensor: ...
    def __rmul__(self, other: Any) -> Tensor: ...
    def __truediv__(self, other: Any) -> Tensor: ...
    def __rtruediv__(self, other: Any) -> Tensor: ...
    def __floordiv__(self, other: Any) -> Tensor: ...
    def __rfloordiv__(self, other: Any) -> Tensor: ...
    def __mod__(self, other: Any) -> Tensor: ...
    def __rmod__(self, other: Any) -> Tensor: ...
    def __pow__(self, other: Any, modulo: None = None) -> Tensor: ...
    def __rpow__(self, other: Any, modulo: None = None) -> Tensor: ...
    def __matmul__(self, other: Any) -> Tensor: ...
    def __rmatmul__(self, other: Any) -> Tensor: ...
    def __and__(self, other: Any) -> Tensor: ...
    def __rand__(self, other: Any) -> Tensor: ...
    def __or__(self, other: Any) -> Tensor: ...
    def __ror__(self, other: Any) -> Tensor: ...
    def __xor__(self, other: Any) -> Tensor: ...
    def __rxor__(self, other: Any) -> Tensor: ...
    def __lshift__(self, other: Any) -> Tensor: ...
    def __rlshift__(self, other: Any) -> Tensor: ...
    def __rshift__(self, other: Any) -> Tensor: ...
    def __rrshift__(self, other: Any) -> Tensor: ...
    def __lt__(self, other: Any) -> Tensor: ...
    def __le__(self, other: Any) -> Tensor: ...
    def __gt__(self, other: Any) -> Tensor: ...
    def __ge__(self, other: Any) -> Tensor: ...
    def __eq__(self, other: object) -> Any: ...
    def __ne__(self, other: object) -> Any: ...
    def __hash__(self) -> int: ...
    def __neg__(self) -> Tensor: ...
    def __abs__(self) -> Tensor: ...
    def __invert__(self) -> Tensor: ...

@final
class EagerTensor(Tensor):
    """A tensor that holds its elements: dense, row-major, immutable."""

    def __init__(self) -> None: ...
    @property
    def ndim(self) -> int: ...
    @property
    def rank(self) -> int: ...
    @property
    def dims(self) -> tuple[int, ...]:
        """The shape as a tuple of ints."""
    @property
    def num_elements(self) -> int:
        """The number of elements."""
    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
    @property
    def itemsize(self) -> int:
        """The bytes of one element."""
    @property
    def buffer(self) -> Buffer:
        """A Python view of the Block that holds the elements."""
    @property
    def device(self) -> str:
        """The full name of the device that holds the elements."""
    @property
    def backing_device(self) -> str:
        """The full name of the device that holds the elements."""
    @property
    def is_packed(self) -> bool:
        """False: a tensor is on one device."""
    def set_shape(self, shape: Any) -> None:
        """Check that `shape` is compatible with this tensor's. ValueError if not."""
    def cpu(self) -> Tensor:
        """This tensor in main memory."""
    def gpu(self, gpu_index: int = 0) -> Tensor:
        """A copy of this tensor on a GPU. InvalidArgumentError if there is none."""
    def __dlpack__(
        self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
    ) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...

class Reference:
    """A hashable reference to a tensor or a Variable."""

    def __init__(self, target: Any) -> None: ...
    def deref(self) -> Any:
        """The tensor or Variable."""

class ThreadState:
    """The state of a Python thread: the trace its ops are bound to, the tapes that record them, its device."""

    trace: Trace | None
    tapes: list[TapeBase]
    device: str | None
    replica: Any
    extra: dict[Any, Any]

class TapeBase:
    """The base of tapes: bind tells them of every op."""

class Trace:
    """The base of traces, which ops are bound to while Python code is traced."""

    node_name: str | None
    def bind(self, prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        """Apply `prim` to Tensors and Cells."""
    def constant(self, tensor: EagerTensor) -> Tensor:
        """The stand-in, in the trace, for an eager tensor that conversion made of a Python value."""

class use_trace:
    """Context manager: inside it this thread's ops are bound to `trace` (None: eager)."""

    def __init__(self, trace: Trace | None) -> None: ...
    def __enter__(self) -> Trace | None: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool: ...

class init_scope:
    """Context manager: leaves every trace and pauses every tape of this thread. Source: tf.init_scope."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool: ...

class Leaves:
    """A nested sequence taken apart: its numbers in order, the sizes of its levels, the kinds found."""

    values: list[Any]
    dims: list[int]
    kinds: int
    first: int
    ragged: bool
    mixed_depth: bool

# What gives a Tensor gives Any to the type checker: a rule may be applied to tensors, Cells and tuples of them.
def bind(prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Apply the op `prim` to `inputs`: the only place where that is done."""

def run(prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """Apply `prim` to eager tensors of the right dtypes: no conversion, no trace, no tape."""

def convert(value: Any, dtype: DType | None = None) -> Tensor:
    """The Tensor that `value` stands for; a Tensor as it is."""

def bfloat16_as_uint16(capsule: Any) -> bool: ...
def from_array(array: Any, dtype: DType | None = None, copy: bool = True) -> EagerTensor:
    """A tensor of the elements of `array`, cast to `dtype` (None: its own)."""

def new_array(shape: tuple[int, ...], dtype: DType) -> np.ndarray[Any, Any]:
    """An ndarray of memory that the pool has kept, to be written by a body that returns it: its tensor shares it."""

def as_array(t: EagerTensor) -> np.ndarray[Any, Any]:
    """The elements of `t` as a read-only ndarray that shares them."""

def cell_read(cell: Cell) -> EagerTensor:
    """The value that `cell` holds, sharing its Block. FailedPreconditionError if it holds none."""

def cell_assign(cell: Cell, value: EagerTensor) -> None:
    """Make `cell` hold `value`, sharing its Block."""

def take_apart(value: Any) -> Leaves:
    """The numbers in a nested sequence (lists, tuples, ranges, bytearrays) and its shape."""

def current_state() -> ThreadState:
    """This thread's state."""

def current_trace() -> Any:
    """The Trace that this thread's ops are bound to, or None in eager mode."""

def class_has(value: object, name: str) -> bool:
    """Return whether the class of `value`, or one that it inherits from, defines `name`."""

def push_trace(trace: Trace | None) -> Trace | None:
    """Bind this thread's ops to `trace` (None: eager); gives the one before, for `pop_trace`."""

def pop_trace(previous: Trace | None) -> None:
    """Undo `push_trace`."""

def executing_eagerly() -> bool:
    """True if ops run at once in this thread (no trace is active)."""

def place_by(parts: dict[str | None, int] | None) -> None:
    """Let new tensors lie on the part of the CPU that `parts` has for the thread's device; None: there is one part."""

def set_tensor_attribute(name: str, value: Any, /) -> None:
    """Give all tensors an attribute."""

def register_slot(name: str, value: Callable[..., Any] | Primitive | None, /) -> None:
    """Fill the slot `name`."""

def get_slot(name: str) -> Any:
    """The content of the slot `name`. Raises NotImplementedError if nothing does."""

def zeros_or_ones(shape: object, dtype: object, one: int, /) -> EagerTensor | None:
    """Zeros or ones of a shape, or None where NumPy must make them or say why not."""

def quick_clip(x: Any, high: Any, low: Any, /) -> EagerTensor | None:
    """maximum(minimum(x, high), low) of two numbers in one pass; None where those ops must do it."""

def quick_cast(x: Any, dtype: Any, /) -> EagerTensor | None:
    """x cast to `dtype` where nothing but the elements is concerned, else None."""

def equal_parts(x: EagerTensor, number: int, axis: Any, /) -> list[EagerTensor] | None:
    """x in so many equal pieces, or None where that cannot be, or tapes must know of it."""
