"""Values of which each of several replicas has its own: PerReplica, and Variables with a copy for each.

Rule: on a replica such a Variable is that replica's copy, Cell and all; between replicas it is what all copies are
(those kept alike by writes), or what they come to together (those brought together by reads).
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from fastgraph.core import replicas
from fastgraph.core.base import nesting
from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.type_specs import NoneTensorSpec, TypeSpec, type_spec_from_value
from fastgraph.core.conversion import TensorLike
from fastgraph.core.devices import device
from fastgraph.core.registry import Primitive, public_function
from fastgraph.core.replicas import Replica, acting, current
from fastgraph.core.tensor import Tensor, convert, current_trace, executing_eagerly
from fastgraph.core.tensor_type import TensorType
from fastgraph.state.resource_handles import ResourceHandle
from fastgraph.state.variable import UnreadVariable, Variable, VariableAggregation, VariableSynchronization
from fastgraph.state.variable_ops import ASSIGN_ADD


class DistributedValues:
    """Values of which each replica has its own. Source: tf.distribute.DistributedValues."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = tuple(values)

    values = ReadOnly[tuple[Any, ...]]("_values", "The values, in the order of the replicas.")


class PerReplica(DistributedValues, CompositeTensor):
    """A value for each replica, as `Strategy.run` gives and takes them. Source: tf.types.experimental.distributed."""

    @property
    def _type_spec(self) -> PerReplicaSpec:
        specs = (NoneTensorSpec() if value is None else type_spec_from_value(value) for value in self._values)
        return PerReplicaSpec(*specs)

    def __repr__(self) -> str:
        return "PerReplica:{\n" + ",\n".join(f"  {i}: {value!r}" for i, value in enumerate(self._values)) + "\n}"

    def __str__(self) -> str:
        return "PerReplica:{\n" + ",\n".join(f"  {i}: {value!s}" for i, value in enumerate(self._values)) + "\n}"


class PerReplicaSpec(TypeSpec):
    """The spec of a PerReplica: those of its values."""

    __slots__ = ("_value_specs",)

    def __init__(self, *value_specs: Any) -> None:
        self._value_specs = value_specs

    @property
    def value_type(self) -> type:
        return PerReplica

    def _serialize(self) -> tuple[Any, ...]:
        return self._value_specs

    @property
    def _component_specs(self) -> Any:
        return tuple(spec for spec in self._value_specs if not isinstance(spec, NoneTensorSpec))

    def _to_components(self, value: PerReplica) -> Any:
        return tuple(as_tensor(each) for each in value.values if each is not None)

    def _from_components(self, components: Any) -> PerReplica:
        given = iter(components)
        return PerReplica(
            tuple(None if isinstance(spec, NoneTensorSpec) else next(given) for spec in self._value_specs)
        )


def select(structure: Any, index: int) -> Any:
    """Return a structure with what replica `index` has for each DistributedValues in it."""

    def own(leaf: Any) -> Any:
        differs = isinstance(leaf, DistributedValues) and not isinstance(leaf, DistributedVariable)
        return leaf.values[index] if differs else leaf

    return nesting.map_structure(own, structure)


#: Classes of values that become a tensor where the replicas of a graph differ; an update becomes its copy's value.
_OF_A_GRAPH = (bool, int, float, str, bytes, UnreadVariable, np.ndarray, np.generic)


def as_tensor(value: Any) -> Any:
    """Return what one replica's value is in a graph: numbers and texts are tensors there."""
    return convert(value) if isinstance(value, _OF_A_GRAPH) else value


def assert_alike(values: Sequence[Any]) -> None:
    """Raise AssertionError where the structures that the replicas gave differ."""
    try:
        for value in values[1:]:
            nesting.assert_same_structure(values[0], value)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"Replicas gave different structures: {error}") from None


def regroup(values: Sequence[Any]) -> Any:
    """Return one structure of those that the replicas gave: what is one object in all of them, else a PerReplica.

    Raises AssertionError where the structures differ.
    """
    first = values[0]
    if all(value is first for value in values):
        return first
    if isinstance(first, (list, tuple, Mapping)) and nesting.is_nested(first):
        assert_alike(values)
        rows = [nesting.children(value) for value in values]
        return nesting.rebuilt(first, [regroup(row) for row in zip(*rows, strict=True)])
    owners = {id(owner) for value in values if (owner := container_of(value)) is not None}
    if len(owners) == 1 and all(container_of(value) is not None for value in values):
        return container_of(first)
    if current_trace() is not None:  # numbers and texts that differ come out of a graph as tensors
        values = [as_tensor(value) for value in values]
    return PerReplica(values)


def wrapped(structure: Any) -> Any:
    """Return what the only replica of this process gave as what several give: a PerReplica for each tensor."""

    def one(leaf: Any) -> Any:
        return PerReplica([convert(leaf)]) if isinstance(leaf, (Tensor, UnreadVariable)) else leaf

    return nesting.map_structure(one, structure)


def container_of(value: object) -> DistributedVariable | None:
    """Return the Variable that a replica's copy belongs to; what its `assign` gave belongs to none: it may differ."""
    owner = None if isinstance(value, UnreadVariable) else getattr(value, "_distributed_container", None)
    return None if owner is None else owner()


_MEAN_OF_WHOLE = (
    "creating distributed tf.Variable with aggregation=MEAN and a non-floating dtype is not supported, please use a "
    "different aggregation or dtype"
)
_NO_SYNCHRONIZATION = (
    "`NONE` variable synchronization mode is not supported with tf.distribute strategy. Please change the "
    "`synchronization` for variable: "
)
_SUM_ON_READ = (
    "SyncOnReadVariable does not support `{}` in cross-replica context when aggregation is set to "
    "`tf.VariableAggregation.SUM`."
)
_NO_SCATTER_ON_READ = (
    "Variable with `synchronization=tf.VariableSynchronization.ON_READ` does not support `scatter_{}`: assign to it."
)
#: Of sums and means of rows there is no least and no last.
_NO_SCATTER_TOGETHER = (
    "scatter_{} is only supported for mirrored variable (variable created within certain `tf.distribute.Strategy` "
    "scope) with NONE or `ONLY_FIRST_REPLICA` aggregation, got: {}."
)
#: Methods that change one copy by a value.
Change = Callable[[Variable, Any], Any]
_OF_ONE = (VariableAggregation.NONE, VariableAggregation.ONLY_FIRST_REPLICA)


class DistributedVariable(Variable, DistributedValues):
    """A Variable with a copy for each replica of a strategy, as `tf.Variable` gives in its scope."""

    _is_mirrored = True

    def __init__(self, copies: Sequence[Variable], strategy: Any) -> None:
        first = copies[0]
        if first.aggregation is VariableAggregation.MEAN and not (first.dtype.is_floating or first.dtype.is_complex):
            raise ValueError(_MEAN_OF_WHOLE)
        if first._synchronization is VariableSynchronization.NONE:
            raise ValueError(_NO_SYNCHRONIZATION + first._name)
        if first._synchronization is VariableSynchronization.AUTO:
            for copy in copies:
                copy._synchronization = VariableSynchronization.ON_WRITE
        self._copies = tuple(copies)
        self.distribute_strategy = strategy
        self._name, self._trainable, self._constraint = first._name, first._trainable, first._constraint
        self._synchronization, self._aggregation = first._synchronization, first._aggregation
        self._read_attrs = first._read_attrs
        own = weakref.ref(self)
        for index, copy in enumerate(copies):
            copy.__fg_cell__.variable = own
            copy._distributed_container = own  # type: ignore[attr-defined]
            if index:
                copy._name = f"{first._shared_name}/replica_{index}:0"

    # Properties here.

    @property
    def _here(self) -> Variable:
        replica = current()
        return self._copies[0 if replica is None else replica.index]

    @property
    def __fg_cell__(self) -> Any:  # type: ignore[override]
        return self._here.__fg_cell__

    @property
    def handle(self) -> ResourceHandle:
        """The tensor of dtype resource that stands for this replica's copy."""
        return self._here.handle

    @property
    def _number(self) -> int:
        return self._copies[0]._number

    _values = ReadOnly[tuple[Variable, ...]]("_copies", "The replicas' copies.")

    @property
    def _devices(self) -> tuple[str, ...]:
        """The copies' devices, as Keras 2's earlier optimizers ask for them."""
        return tuple(copy.device for copy in self._copies)

    @property
    def _primary(self) -> Variable:
        return self._copies[0]

    # Its value.

    def value(self) -> Tensor:
        """Return this replica's value; between replicas, what the copies come to."""
        if self._is_mirrored or current() is not None or replicas.scopes.saving:
            return self._here.value()
        if self._aggregation is VariableAggregation.NONE:
            raise ValueError(
                f"Could not convert from `tf.VariableAggregation` {VariableAggregation.NONE} to a value of "
                f"{self._name!r}: its copies differ, and it has no aggregation. Read `values`, or read it on a replica."
            )
        extended = self.distribute_strategy.extended
        if self._aggregation is VariableAggregation.ONLY_FIRST_REPLICA:
            return extended.of_first(self._copies[0].value())
        total = extended.total([copy.value() for copy in self._copies])
        return total if self._aggregation is VariableAggregation.SUM else _over(total, extended.count)

    read_value = value

    def __fg_tensor__(self, dtype: DType | None = None) -> Any:
        """Return the value as conversion to a tensor does."""
        found = self.value()
        return found if dtype is None else convert(found, dtype)

    def numpy(self) -> Any:
        """Return a copy of the value as a NumPy array or scalar. Raises NotImplementedError in a trace."""
        if not executing_eagerly():
            raise NotImplementedError("numpy() is only available when eager execution is enabled.")
        return self.value().numpy()

    def __repr__(self) -> str:
        copies = ",\n".join(f"  {i}: {copy!r}" for i, copy in enumerate(self._copies))
        return f"{type(self).__name__}:{{\n{copies}\n}}"

    # Assignment.

    def assign(
        self, value: TensorLike, use_locking: bool = False, name: str | None = None, read_value: bool = True
    ) -> Any:
        """Replace the value: of a replica's copy, or of all as the aggregation says. As `Variable.assign`."""
        return self._write("assign", value, read_value)

    def _change(self, primitive: Primitive, delta: TensorLike, read_value: bool) -> Any:
        return self._write("assign_add" if primitive is ASSIGN_ADD else "assign_sub", delta, read_value)

    def _write(self, method: str, value: TensorLike, read_value: bool = True) -> Any:
        return self._change_copies(
            lambda copy, own: getattr(copy, method)(own, read_value=read_value), method, value, read_value
        )

    def _scatter(self, how: str, slices: Any) -> Any:
        if not self._is_mirrored:
            raise NotImplementedError(_NO_SCATTER_ON_READ.format(how))
        if how in ("min", "max", "update") and self._aggregation not in _OF_ONE:
            raise NotImplementedError(_NO_SCATTER_TOGETHER.format(how, self._aggregation))
        return self._change_copies(lambda copy, own: copy._scatter(how, own), f"scatter_{how}", slices)

    def batch_scatter_update(self, sparse_delta: Any, use_locking: bool = False, name: str | None = None) -> NoReturn:
        """Raise NotImplementedError: no such update is brought together."""
        raise NotImplementedError("batch_scatter_update is not built for Variables of several replicas: assign to it.")

    def _change_copies(self, change: Change, method: str, value: TensorLike, read_value: bool = True) -> Any:
        """Change this replica's copy, or all: by what is given, or on a replica by what all of them give together."""
        replica, strategy = current(), replicas.strategy()
        if strategy is not None and strategy is not self.distribute_strategy:
            raise RuntimeError(
                f"Mixing different tf.distribute.Strategy objects: {strategy!r} is not {self.distribute_strategy!r}"
            )
        if replica is None:
            return self._change_all(change, method, value, read_value)
        alone = replica.updates or replica.context is None or not self._is_mirrored
        if alone or self._aggregation is VariableAggregation.NONE:
            return change(self._here, value)

        def together(strategy: Any, value: TensorLike) -> Any:
            value = strategy.extended.aggregated(self._aggregation, value, self)
            self._change_all(change, method, value, read_value=False)
            return self._values_now() if read_value else None

        return replica.context.merge_call(together, (value,))

    def _change_all(self, change: Change, method: str, value: TensorLike, read_value: bool) -> Any:
        if not self._is_mirrored and self._aggregation is VariableAggregation.SUM:
            if method != "assign":
                raise ValueError(_SUM_ON_READ.format(method))
            value = _over(convert(value, self.dtype), self.distribute_strategy.extended.count)
        self._each(change, value)
        return self._after_assign(read_value)

    def _values_now(self) -> Any:
        return PerReplica([copy.value() for copy in self._copies])

    def _each(self, function: Callable[[Variable, Any], Any], value: TensorLike) -> None:
        for index, copy in enumerate(self._copies):
            with acting(Replica(index, len(self._copies), updates=True)):
                function(copy, select(value, index))

    def _after_assign(self, read_value: bool = True) -> Any:
        if self._is_mirrored or not read_value:
            return super()._after_assign(read_value)
        return self.value() if self._aggregation is VariableAggregation.NONE else self  # as reading it: refused

    def __deepcopy__(self, memo: dict[int, Any]) -> DistributedVariable:
        copies = []
        for copy in self._copies:
            with device(copy.device):
                copies.append(copy.__deepcopy__({}))
        memo[id(self)] = copied = type(self)(copies, self.distribute_strategy)
        return copied

    def set_shape(self, shape: Any) -> None:
        """Narrow the shape of what may be assigned. ValueError where `shape` is not compatible with it."""
        for copy in self._copies:
            copy.set_shape(shape)
        self._read_attrs = self._copies[0]._read_attrs


class MirroredVariable(DistributedVariable):
    """One whose copies are kept alike."""


class SyncOnReadVariable(DistributedVariable):
    """One whose copies are brought together when it is read."""

    _is_mirrored = False


_NO_AGGREGATION = (
    "You must specify an aggregation method to update a AggregatingVariable in Replica Context. You can do so by "
    "passing an explicit value for argument `aggregation` to tf.Variable(..)."
)


class AggregatingVariable(DistributedVariable):
    """A Variable in one place for all replicas. What they assign to it comes together as the aggregation says."""

    @property
    def _here(self) -> Variable:
        return self._copies[0]

    def _change_copies(self, change: Change, method: str, value: TensorLike, read_value: bool = True) -> Any:
        replica = current()
        if replica is not None and replica.updates:  # all make the same changes: the first one's are enough
            return self.value() if replica.index else change(self._here, value)
        if replica is not None and self._aggregation is VariableAggregation.NONE:
            raise ValueError(_NO_AGGREGATION)
        return super()._change_copies(change, method, value, read_value)

    def _values_now(self) -> Any:
        return self.value()


def distributed(copies: Sequence[Variable], strategy: Any) -> DistributedVariable:
    """Return the Variable that these copies make."""
    on_read = copies[0].synchronization is VariableSynchronization.ON_READ
    return (SyncOnReadVariable if on_read else MirroredVariable)(copies, strategy)


def _over(total: Any, count: int) -> Any:
    """A sum over a number of replicas, in its dtype."""
    return public_function("cast")(total / public_function("cast")(count, total.dtype), total.dtype)


for _class in (MirroredVariable, SyncOnReadVariable, AggregatingVariable):
    nesting.register_leaf(_class)
TensorType.register(DistributedVariable)
