"""Variable: a value that programs may change, kept in a Cell; reads and assigns are effectful ops.

Rule: a Variable is a name, some properties and a Cell; the value is in the Cell and nowhere else.
"""

from __future__ import annotations

import enum
import functools
import inspect
import weakref
from abc import ABCMeta
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fastgraph.core import cells
from fastgraph.core import registry as primitives
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import Aval, ShapeLike, TensorShape, as_dims, compatible, dims_text, shape_of
from fastgraph.core.conversion import TensorLike
from fastgraph.core.devices import device_name, part_of
from fastgraph.core.name_scopes import current_scope
from fastgraph.core.native.buffer import Cell
from fastgraph.core.op_errors import misfit
from fastgraph.core.registry import Primitive
from fastgraph.core.tensor import (
    EagerTensor,
    Reference,
    Tensor,
    cell_assign,
    cell_read,
    convert,
    current_state,
    current_trace,
    executing_eagerly,
    from_array,
    init_scope,
)
from fastgraph.core.tensor_type import TensorType
from fastgraph.state.resource_handles import ResourceHandle
from fastgraph.state.tracking import Trackable
from fastgraph.state.variable_operators import VariableOperators
from fastgraph.state.variable_ops import ASSIGN, ASSIGN_ADD, ASSIGN_SUB, READ
from fastgraph.state.variable_slices import Parts


class VariableSynchronization(enum.Enum):
    """Times at which copies of a distributed Variable are brought together."""

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """Ways in which copies of a distributed Variable are brought together."""

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


# Creation goes through this thread's creators, so that a trace can lift it out of itself.


@contextmanager
def variable_creator_scope(variable_creator: Callable[..., Any]) -> Iterator[None]:
    """A context in which Variable(...) calls variable_creator(next_creator, **kwargs).

    The creator entered last is called first; `next_creator(**kwargs)` goes on to the one before it, or makes the
    Variable. Source: tf.variable_creator_scope.
    """
    extra = current_state().extra
    before = extra.get("variable_creators", ())
    extra["variable_creators"] = (*before, variable_creator)
    try:
        yield
    finally:
        extra["variable_creators"] = before


class _VariableType(ABCMeta):
    """Lets the thread's creators make the Variable that a call of the class asks for.

    Classes of libraries derive from Variable and from abstract ones; what is an instance is Python's plain answer.
    """

    __instancecheck__ = type.__instancecheck__
    __subclasscheck__ = type.__subclasscheck__

    @property
    def __signature__(cls) -> inspect.Signature:
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(cls, *args: object, **kwargs: object) -> Any:
        creators = current_state().extra.get("variable_creators") if cls is Variable else None
        if not creators:
            return super().__call__(*args, **kwargs)
        parameters = list(cls.__signature__.parameters)
        if len(args) > len(parameters):
            raise TypeError(f"Variable() takes at most {len(parameters)} arguments ({len(args)} given)")
        for name, value in zip(parameters, args, strict=False):
            if name in kwargs:
                raise TypeError(f"Variable() got multiple values for argument {name!r}")
            kwargs[name] = value

        create: Any = functools.partial(type.__call__, Variable)
        for creator in creators:
            create = functools.partial(creator, create)
        return create(**kwargs)


@without(
    {
        "numpy() or read_value()": "eval",
        "read_value()": "initialized_value",
        "tf.function's graphs, which take Variables from outside": "graph",
        "`name`": "op",
        "tf.train.Checkpoint": "from_proto to_proto SaveSliceInfo",
    }
)
class Variable(VariableOperators, Parts, Trackable, metaclass=_VariableType):
    """A tensor that can be assigned to. Source: tf.Variable.

    It lives as long as Python refers to it: graphs refer to it weakly.

    Args:
        initial_value: Anything convert_to_tensor takes, or a callable that gives it.
        trainable: Whether tapes follow it by themselves; None: yes, unless `synchronization` is ON_READ.
        dtype: What the value is converted to; None: the value's.
        constraint: A function that optimizers apply to it once they have changed it.
        synchronization, aggregation: How the copies that a strategy of several replicas makes are kept together.
        shape: What may be assigned: None dimensions admit any size; None: the initial value's shape.
        validate_shape, caching_device, variable_def, import_scope,
            experimental_enable_variable_lifting: Taken and without effect.

    Raises:
        ValueError: Shape, dtype and value disagree, or there is no value.

    Examples:
        >>> v = tf.Variable([1.0, 2.0], name="v")
        >>> v.assign_add([10.0, 10.0])
        <tf.Variable 'UnreadVariable' shape=(2,) dtype=float32, numpy=array([11., 12.], dtype=float32)>
        >>> v * 2.0
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([22., 24.], dtype=float32)>
        >>> v[0].assign(0.0).numpy()
        array([ 0., 12.], dtype=float32)
        >>> grows = tf.Variable([1, 2], shape=[None])
        >>> grows.assign([1, 2, 3]).shape, grows.numpy()
        (TensorShape([None]), array([1, 2, 3], dtype=int32))
    """

    __array_priority__ = 100

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Let a subclass that says which tensor it stands for (`__tf_tensor__`) be taken at its word."""
        super().__init_subclass__(**kwargs)
        if "__tf_tensor__" in cls.__dict__ and "__fg_tensor__" not in cls.__dict__:
            cls.__fg_tensor__ = lambda self, dtype=None: self.__tf_tensor__(dtype, None)  # type: ignore[method-assign, attr-defined]
            if hasattr(cls, "__getattr__") and "handle" not in cls.__dict__:  # it leaves the rest to another Variable
                cls.handle = property(lambda self: self.__getattr__("handle"))  # type: ignore[assignment]

    __fg_cell__: Cell
    _copies: tuple[Variable, ...]  # of one of several replicas: each replica's own

    def __init__(
        self,
        initial_value: TensorLike | Callable[[], Any] | None = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: DTypeLike | None = None,
        import_scope: str | None = None,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
        shape: ShapeLike = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> None:
        if initial_value is None:
            raise ValueError(
                "The `initial_value` arg to `tf.Variable` must be specified except when you are not providing a "
                "`variable_def`. You provided neither."
            )
        if variable_def is not None:
            raise ValueError(
                "The variable_def and initial_value args to `tf.Variable` are mutually exclusive, but got both: "
                f"variable_def={variable_def},\ninitial_value={initial_value!s}"
            )
        if constraint is not None and not callable(constraint):
            raise ValueError(
                f"Argument `constraint` must be None or a callable. a callable. Got a {type(constraint)}:  {constraint}"
            )
        if name is not None and not isinstance(name, str):
            raise TypeError(f"The name of a Variable must be a string, got {name!r}")
        aggregation = VariableAggregation.NONE if aggregation is None else aggregation
        for what, given, kind in (
            ("synchronization", synchronization, VariableSynchronization),
            ("aggregation", aggregation, VariableAggregation),
        ):
            if not isinstance(given, kind):
                raise ValueError(f"Invalid variable {what} mode: {given} for variable: {name}")
        if trainable is None:
            trainable = synchronization is not VariableSynchronization.ON_READ
        value = _initial(initial_value, None if dtype is None else as_dtype(dtype))
        dims = value.aval.shape
        if isinstance(shape, TensorShape) or shape is not None:
            dims = as_dims(shape)
            if not compatible(dims, value.aval.shape):
                raise ValueError(
                    f"In this `tf.Variable` creation, the initial value's shape ({value.shape}) is not compatible with "
                    f"the explicitly supplied `shape` argument ({shape})."
                )
        self._begin(Aval(value.dtype, dims), name, bool(trainable), constraint, synchronization, aggregation)
        cell_assign(self.__fg_cell__, value)

    def _begin(
        self,
        aval: Aval,
        name: str | None,
        trainable: bool,
        constraint: Callable[[Any], Any] | None,
        synchronization: VariableSynchronization,
        aggregation: VariableAggregation,
    ) -> None:
        """Have a Cell that holds no value yet."""
        plain = current_scope() + (name or "Variable")
        self.__fg_cell__ = cell = Cell(aval, plain)
        cell.part = part_of(current_state().device)
        cell.variable, cell.trainable = weakref.ref(self), trainable
        self._copies = ()  # not the class's: a wrapper that has it from there would not ask the Variable that it wraps
        self._name = plain + ":0"
        self._trainable = trainable
        self._constraint = constraint
        self._synchronization = synchronization
        self._aggregation = aggregation
        self._read_attrs = {"dtype": cell.aval.dtype, "shape": cell.aval.shape}

    @classmethod
    def _uninitialized(
        cls,
        dtype: DTypeLike,
        shape: ShapeLike,
        name: str | None = None,
        trainable: bool = True,
        constraint: Callable[[Any], Any] | None = None,
        synchronization: VariableSynchronization = VariableSynchronization.AUTO,
        aggregation: VariableAggregation = VariableAggregation.NONE,
    ) -> Variable:
        """Return a Variable that holds no value yet: for creators that assign it later."""
        variable: Variable = cls.__new__(cls)
        aval = Aval(as_dtype(dtype), as_dims(shape))
        variable._begin(aval, name, trainable, constraint, synchronization, aggregation)
        return variable

    # Properties.

    name = ReadOnly[str]("_name", 'The name, ending in ":0".')
    _in_graph_mode = False  # Keras 2 asks for it: none belongs to a graph
    _handle_name = property(lambda self: self._name, lambda self, name: setattr(self, "_name", name))  # that it sets

    @property
    def _shared_name(self) -> str:
        """The name without ":0", as libraries that save Variables ask for it."""
        return self._name.partition(":")[0]

    @property
    def _unique_id(self) -> str:
        """A name that no other Variable of the process has, as optimizers of other libraries ask for it."""
        return f"{self._shared_name}_{self._number}"

    @property
    def _number(self) -> int:
        """A number that no other Variable has, on whichever replica that is asked."""
        return self.__fg_cell__.id

    @property
    def handle(self) -> ResourceHandle:
        """The tensor of dtype resource that stands for it in graphs."""
        return self.__dict__.setdefault("_handle", ResourceHandle(self.__fg_cell__))

    dtype = ReadOnly[DType]("__fg_cell__.aval.dtype", "The dtype of its elements.")

    @property
    def shape(self) -> TensorShape:
        """The shape of what may be assigned."""
        return shape_of(self.__fg_cell__.aval.shape)

    def get_shape(self) -> TensorShape:
        """Return the shape of what may be assigned."""
        return self.shape

    aval = ReadOnly[Aval]("__fg_cell__.aval", "Dtype and shape of what may be assigned.")
    trainable = ReadOnly[bool]("_trainable", "True if tapes follow it by themselves.")
    constraint = ReadOnly["Callable[[Any], Any] | None"](
        "_constraint", "The function that optimisers apply to the value after an update, or None."
    )
    synchronization = ReadOnly[VariableSynchronization](
        "_synchronization", "The times at which distributed copies are brought together."
    )
    aggregation = ReadOnly[VariableAggregation](
        "_aggregation", "The way in which distributed copies are brought together."
    )

    @property
    def device(self) -> str:
        """The device of the value."""
        return device_name(0, self.__fg_cell__.part)

    @property
    def initial_value(self) -> Any:
        """Raise RuntimeError, as TensorFlow does in eager mode: it is not kept."""
        raise RuntimeError("This property is not supported when eager execution is enabled.")

    @property
    def initializer(self) -> None:
        """Nothing: a Variable has its value from the beginning."""
        return None

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return a bool tensor: whether it holds a value."""
        return convert(self.__fg_cell__.initialized)

    def ref(self) -> Reference:
        """Return a hashable reference to it, for use as a key. `.deref()` gives the Variable."""
        return Reference(self)

    experimental_ref = ref

    # Its value.

    def value(self) -> Tensor:
        """Return the value now, as a tensor that later assigns do not change."""
        return cells.read(READ, self.__fg_cell__, self._read_attrs)

    def read_value(self) -> Tensor:
        """Return the value now, as a tensor that later assigns do not change."""
        return cells.read(READ, self.__fg_cell__, self._read_attrs)

    def __fg_tensor__(self, dtype: DType | None = None) -> Any:
        """Return the value as conversion to a tensor does."""
        found = cells.read(READ, self.__fg_cell__, self._read_attrs)
        return found if dtype is None else convert(found, dtype)

    def numpy(self) -> Any:
        """Return a copy of the value as a NumPy array or scalar. Raises NotImplementedError in a trace."""
        if not executing_eagerly():
            raise NotImplementedError("numpy() is only available when eager execution is enabled.")
        return cell_read(self.__fg_cell__).numpy()

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return self.value().__array_namespace__(api_version=api_version)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self.numpy(), dtype=dtype)

    # Assignment.

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable | Any:
        """Replace the value.

        Args:
            value: What convert_to_tensor makes a Tensor of the Variable's dtype and shape of.
            use_locking: Taken and without effect: all assignments are atomic.
            read_value: Whether the Variable's new value is given back.

        Returns:
            What reads as the Variable does; without `read_value` None, in a graph the Operation that assigns.

        Raises:
            ValueError: The shape does not fit.
            TypeError: The dtype does not.

        Examples:
            >>> v = tf.Variable([1.0, 2.0])
            >>> v.assign(v * 3.0).numpy()
            array([3., 6.], dtype=float32)
            >>> v[1].assign(0.0).numpy()
            array([3., 0.], dtype=float32)
        """
        given = convert(value, self.dtype)
        if not self._takes(given):
            raise ValueError(
                f"Cannot assign value to variable ' {self._name}': Shape mismatch.The variable shape "
                f"{dims_text(self.__fg_cell__.aval.shape)}, and the assigned value shape {dims_text(given.aval.shape)} "
                "are incompatible."
            )
        cells.assign(ASSIGN, self.__fg_cell__, given)
        return self._after_assign(read_value)

    def assign_add(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable | Any:
        """Add `delta` to the value, atomically.

        Args:
            delta: What convert_to_tensor makes a Tensor of the Variable's dtype and shape of.
            use_locking, read_value: As of `assign`.

        Returns:
            As `assign` does.

        Raises:
            ValueError: The shape does not fit.
            TypeError: The dtype does not.

        Examples:
            >>> count = tf.Variable(0)
            >>> for _ in range(3):
            ...     now = count.assign_add(2)
            >>> int(count)
            6
        """
        return self._change(ASSIGN_ADD, delta, read_value)

    def assign_sub(
        self, delta: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Variable | Any:
        """Subtract `delta` from the value, atomically.

        Args:
            delta: What convert_to_tensor makes a Tensor of the Variable's dtype and shape of.
            use_locking, read_value: As of `assign`.

        Returns:
            As `assign` does.

        Raises:
            ValueError: The shape does not fit.
            TypeError: The dtype does not.

        Examples:
            >>> w, rate, gradient = tf.Variable([1.0, 2.0]), 0.5, tf.constant([1.0, -1.0])
            >>> w.assign_sub(rate * gradient).numpy()
            array([0.5, 2.5], dtype=float32)
        """
        return self._change(ASSIGN_SUB, delta, read_value)

    def _change(self, primitive: Primitive, delta: TensorLike, read_value: bool) -> Any:
        given = convert(delta, self.dtype)
        if not self._takes(given) and current_trace() is not None:
            what = (
                f"Shapes must be equal rank, but are {len(self.__fg_cell__.aval.shape or ())} and "
                f"{len(given.aval.shape or ())}"
                if len(self.__fg_cell__.aval.shape or ()) != len(given.aval.shape or ())
                else f"Shapes must be equal, but are {self.shape} and {given.shape}"
            )
            op = "AssignAddVariableOp" if primitive is ASSIGN_ADD else "AssignSubVariableOp"
            raise misfit(what, op, self.__fg_cell__.aval.shape, given.aval.shape)
        cells.update(primitive, self.__fg_cell__, given, 1 if primitive is ASSIGN_ADD else -1, self._read_attrs)
        return self._after_assign(read_value)

    def _after_assign(self, read_value: bool = True) -> Any:
        trace: Any = current_trace()
        made = None if trace is None else trace.operation()
        if not read_value:
            return made
        after = UnreadVariable.__new__(UnreadVariable)
        after.__fg_cell__ = self.__fg_cell__
        after._read_attrs = self._read_attrs
        after._owner = self
        if made is not None:
            after.op = made
        return after

    def _takes(self, given: Tensor) -> bool:
        """Return whether a tensor has a shape that may be assigned."""
        dims = given.dims if type(given) is EagerTensor else given.aval.shape
        wanted = self.__fg_cell__.aval.shape
        return bool(dims == wanted) or compatible(wanted, dims)

    def load(self, value: TensorLike, session: object = None) -> None:
        """Replace the value, as `assign` does."""
        self.assign(value)

    def set_shape(self, shape: ShapeLike) -> None:
        """Narrow the shape of what may be assigned. ValueError where `shape` is not compatible with it."""
        merged = self.shape.merge_with(shape)
        self.__fg_cell__.aval = Aval(self.dtype, as_dims(merged))
        self._read_attrs = {"dtype": self.dtype, "shape": self.__fg_cell__.aval.shape}

    # In checkpoints.

    def _serialize_to_tensors(self) -> dict[str, Any]:
        """Return what a checkpoint keeps of it: the value."""
        return {"VARIABLE_VALUE": self.value()}

    def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> Any:
        """Take the value from a checkpoint. Raises ValueError if its shape does not fit."""
        value = convert(restored_tensors["VARIABLE_VALUE"])
        if not self._takes(value):
            raise ValueError(
                f"Received incompatible tensor with shape {value.shape} when attempting to restore variable with shape "
                f"{self.shape} and name {self._shared_name}."
            )
        return self.assign(value)

    # As a tensor.

    def __getitem__(self, key: Any) -> Tensor:
        part = self.value()[key]
        part._origin = (self, key)  # for `variable[key].assign(value)`
        return part

    def __iter__(self) -> Iterator[Tensor]:
        return iter(self.value())

    def __bool__(self) -> bool:
        return bool(self.value())

    def __int__(self) -> int:
        return int(self.value())

    def __float__(self) -> float:
        return float(self.value())

    def __complex__(self) -> complex:
        return complex(self.value())

    def __hash__(self) -> int:
        raise TypeError(f"Variable is unhashable. Instead, use variable.ref() as the key. (Variable: {self!r})")

    def __repr__(self) -> str:
        head = f"<tf.Variable '{self._name}' shape={dims_text(self.__fg_cell__.aval.shape)} dtype={self.dtype.name}"
        if not executing_eagerly():
            return head + ">"
        if not self.__fg_cell__.initialized:
            return head + ", numpy=<unavailable>>"
        return f"{head}, numpy={repr(cell_read(self.__fg_cell__)).partition('numpy=')[2]}"

    def __copy__(self) -> Variable:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        if not executing_eagerly():
            raise NotImplementedError("__deepcopy__() is only available when eager execution is enabled.")
        copied = self._copied(self.numpy())
        memo[id(self)] = copied
        return copied

    def _copied(self, value: object) -> Variable:
        plain = self._name.removesuffix(":0")
        copied: Variable = Variable._uninitialized(
            self.dtype,
            self.__fg_cell__.aval.shape,
            plain,
            self._trainable,
            self._constraint,
            self._synchronization,
            self._aggregation,
        )
        copied._name = copied.__fg_cell__.name = plain
        copied._name += ":0"
        cell_assign(copied.__fg_cell__, from_array(np.asarray(value), self.dtype))
        return copied

    def __reduce__(self) -> tuple[Any, ...]:
        arguments = (self.numpy(), self._trainable, True, None, self._name.removesuffix(":0"), None, self.dtype)
        return Variable, (*arguments, None, self._constraint, self._synchronization, self._aggregation)


class UnreadVariable(Variable):
    """The result of an assign: reads as the Variable does when it is used; for the rest it asks the Variable."""

    _name = "UnreadVariable"
    _copies = ()
    _owner: Variable  # which must outlive what stands for it
    op: Any = None  #: The Operation that assigns, where a graph is traced.

    def __getattr__(self, name: str) -> Any:
        if name == "_owner":
            raise AttributeError(name)
        return getattr(self._owner, name)


def _initial(initial_value: TensorLike | Callable[[], Any], dtype: DType | None) -> EagerTensor:
    """The value a Variable begins with, computed outside any trace. Raises ValueError for a tensor of a trace."""
    with init_scope():
        if callable(initial_value) and not isinstance(initial_value, (Tensor, Variable)):
            initial_value = initial_value()
        try:
            value = convert(initial_value, dtype)
        except ValueError as error:
            if isinstance(initial_value, (Tensor, Variable)):
                raise ValueError(f"initial_value: {error}") from None
            raise
    if not isinstance(value, EagerTensor):
        raise ValueError(
            "Tensor-typed variable initializers must either be wrapped in an init_scope or callable (e.g., "
            "`tf.Variable(lambda : tf.truncated_normal([10, 40]))`) when building functions. Please file a feature "
            "request if this restriction inconveniences you."
        )
    return value


nesting.register_leaf(Variable)
nesting.register_leaf(UnreadVariable)
for _public in (Variable, VariableSynchronization, VariableAggregation, variable_creator_scope):
    primitives.register_public(_public, _public.__name__)
TensorType.register(Variable)
