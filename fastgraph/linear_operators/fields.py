"""Operators that are made of named fields: how they are constructed, and how nests, Functions and slices see them.

Rule: a class states its fields, in the order of the constructor's arguments, and which hints always hold; tensors are
kept as tensors, Variables as Variables, which are read anew each time.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np

from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import TensorShape, broadcast_shapes, shape_of
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.linear_operators.base import HINTS, Hints, LinearOperator
from fastgraph.linear_operators.batches import (
    Batch,
    batch_dims,
    batch_of,
    common,
    extent,
    full,
    known,
    spread,
    turned_if,
)
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.creation import ones, zeros
from fastgraph.ops.no_op import no_op

_REQUIRED = object()
OPERATORS = -1  # in the place of a number of axes


class Field(property):
    """An argument of the constructor that is kept, as a property: a tensor with `own` axes besides the batch's,
    operators (OPERATORS), or a setting, for which `own` is None. Without `doc` there is no property; the
    field `instead` stands for one that is None.
    """

    def __init__(self, doc: str = "", own: int | None = None, default: Any = _REQUIRED, instead: str = "") -> None:
        def kept(A: Any) -> Any:
            found = A.__dict__[self.key]
            return getattr(A, instead) if found is None and instead else found

        super().__init__(kept, doc=doc)
        self.own, self.default, self.key, self.is_public = own, default, "", bool(doc)

    def __set_name__(self, owner: type, name: str) -> None:
        self.key = f"_{name}"


def kept(value: TensorLike) -> Any:
    """A Variable as it is, a tensor of anything else."""
    return value if hasattr(value, "__fg_cell__") else as_tensor(value)


class OperatorOfFields(LinearOperator):
    """The base of this package's operators: their fields, and shapes that follow from those."""

    _fields: ClassVar[dict[str, Field]] = {}
    _defaults: ClassVar[Hints] = {}  # of the hints, in the constructor
    _always: ClassVar[Hints] = {}  # what always holds, or never
    _kind: ClassVar[str] = ""  # what it is called where a hint says otherwise, or what is said then
    _real: ClassVar[str] = ""  # what is said of is_self_adjoint=False where the field that comes first is real
    _more: ClassVar[str] = ""  # of the constructor's arguments, behind the hints
    _label: ClassVar[str | None] = ""  # the name, unless another is given

    def __init_subclass__(cls, defaults: Any = None, kind: str = "", always: Any = None, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._defaults, cls._kind = defaults or cls._defaults, kind or cls._kind
        cls._always = always or ({"is_square": True} if kind else cls._always)
        if not cls.__module__.startswith(__package__):
            return  # a user's class, with a constructor of its own
        own = {name: field for name, field in vars(cls).items() if isinstance(field, Field)}
        for name in [name for name, field in own.items() if not field.is_public]:
            delattr(cls, name)
        cls._fields = {**cls._fields, **own}
        given = [
            name if field.default is _REQUIRED else f"{name}={field.default!r}" for name, field in cls._fields.items()
        ]
        given += [f"{hint}={cls._defaults.get(hint)}" for hint in HINTS] + [cls._more] * bool(cls._more)
        label = cls.__name__ if cls._label == "" else cls._label
        names = [*cls._fields, *HINTS, *[cls._more.partition("=")[0]] * bool(cls._more), "name"]
        text = f"def __init__(self, {', '.join(given)}, name={label!r}):\n"
        text += f"    self._start(dict({', '.join(f'{name}={name}' for name in names)}))\n"
        scope: dict[str, Any] = {"__name__": cls.__module__}
        exec(text, scope)  # so that the signature is TensorFlow's
        cls.__init__ = scope["__init__"]  # type: ignore[method-assign]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise NotImplementedError("a constructor is made for each class")

    def _start(self, given: dict[str, Any]) -> None:
        for name, field in self._fields.items():
            value = given[name]
            if field.own == OPERATORS:
                value = list(value) if isinstance(value, (list, tuple)) else value
            elif field.own is not None and value is not None:
                value = self._tensor_field(name, value)
            setattr(self, field.key, value)
        hints: Hints = {hint: given[hint] for hint in HINTS}
        if self._real and not self._first().dtype.is_complex:
            if hints["is_self_adjoint"] is False:
                raise ValueError(self._real)
            hints["is_self_adjoint"] = True
        for hint, holds in self._always.items():
            if hints[hint] is (not holds):
                words = "non-" * (not holds) + hint[3:].replace("non_", "non-").replace("_", " ")
                raise ValueError(self._kind if self._kind.endswith(".") else f"{self._kind} is always {words}.")
            hints[hint] = holds
        dtype, hints = self._checked(given, hints)
        said: dict[str, Any] = {**hints, "name": given["name"] or self._composed_name(), "parameters": given}
        LinearOperator.__init__(self, dtype, **said)

    def _tensor_field(self, name: str, value: Any) -> Any:
        found, own = kept(value), self._own(name)
        if (rank := found.shape.rank) is not None and rank < own:
            plural = "s" if own > 1 else ""
            raise ValueError(f"Argument `{name}` must have at least {own} dimension{plural}. Received: {found}.")
        return found

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        """The dtype, and the hints with what follows from the fields. Raises: ValueError, TypeError."""
        return self._first().dtype, hints

    def _first(self) -> Any:
        """The first field that is a tensor or an operator."""
        return next(getattr(self, field.key) for field in self._fields.values() if field.own is not None)

    _composed_name: Any = lambda A: type(A).__name__
    # -- shapes

    def _own(self, name: str) -> int:
        """Return how many axes a field has besides the batch's."""
        return self._fields[name].own or 0

    def _parts(self) -> list[tuple[Any, int]]:
        """The fields that the batch follows from: tensors and operators, with their numbers of own axes."""
        found: list[tuple[Any, int]] = []
        for name, field in self._fields.items():
            if field.own is not None:
                values = [value for value in nesting.flatten(getattr(self, field.key)) if value is not None]
                found += [(x, 2 if isinstance(x, LinearOperator) else self._own(name)) for x in values]
        return found

    def _dims(self, extent: Any) -> tuple[Any, Any]:
        """Rows and columns, where `extent` tells the extents of tensors and operators."""
        n = extent(self._first(), -1)
        return n, n

    def _known_batch(self) -> Any:
        batch: Any = ()
        for x, own in self._parts():
            batch = broadcast_shapes(batch, batch_dims(x, own))
        return batch

    _batch: Any = lambda A: common((), *(batch_of(x, own) for x, own in A._parts()))

    def _shape(self) -> TensorShape:
        batch = self._known_batch()
        if batch is None:
            return TensorShape(None)
        return shape_of((*batch, *(n if isinstance(n, int) else None for n in self._dims(known))))

    _shape_tensor: Any = lambda A: as_tensor(full(A._batch(), *A._dims(extent)))

    def _filled(self, value: int, *dims: Any) -> Any:
        """Ones or zeros for all matrices of the batch."""
        return (ones if value else zeros)(full(self._batch(), *dims), self.dtype)

    # -- products and solutions, of tensors that are turned already

    _matmul: Any = lambda A, x, adjoint=False, adjoint_arg=False: A._times(turned_if(x, adjoint_arg), adjoint)
    _solve: Any = lambda A, rhs, adjoint=False, adjoint_arg=False: A._over(turned_if(rhs, adjoint_arg), adjoint)

    def _times(self, x: Any, adjoint: bool) -> Any:
        raise NotImplementedError

    _over: Any = lambda A, rhs, adjoint: super()._solve(rhs, adjoint)

    def _holds(self) -> Any:
        """A check that never fails."""
        return no_op()

    # -- nests and Functions

    @property
    def _composite_tensor_fields(self) -> tuple[str, ...]:
        return tuple(self._fields)

    @property
    def _type_spec(self) -> Any:
        """The spec that takes it apart; None where it holds Variables, by which it is an object and no value."""
        values = {name: _frozen(getattr(self, field.key)) for name, field in self._fields.items()}
        specs = {name: _spec_of(value) for name, value in values.items()}
        flat = {name: nesting.flatten(spec) for name, spec in specs.items()}
        if any(part is _REQUIRED for parts in flat.values() for part in parts):
            return None
        of_parts = {name: specs[name] for name in specs if any(isinstance(part, TypeSpec) for part in flat[name])}
        rest = {name: value for name, value in values.items() if name not in of_parts}
        rest |= {hint: getattr(self, f"_{hint}") for hint in HINTS[:3]}
        rest["is_square"] = self._is_square_set_or_implied_by_hints
        return LinearOperatorSpec(_class_of(self), tuple(of_parts.items()), tuple(rest.items()))

    # -- slices of the batch

    def __getitem__(self, slices: Any) -> Any:
        """Return the operators that `slices` of the batch axes choose."""
        return self._sliced(slices if isinstance(slices, tuple) else (slices,), batch_of(self))

    def _sliced(self, slices: tuple[Any, ...], batch: Batch) -> Any:
        made = self.parameters
        for name, field in self._fields.items():
            if field.own is not None:
                slice_ = partial(_slice, own=self._own(name), slices=slices, batch=batch)
                made[name] = nesting.map_structure(slice_, getattr(self, field.key))
        return _class_of(self)(**made)


def _class_of(operator: OperatorOfFields) -> Any:
    """The class whose constructor takes the fields: a user's subclass may take what it likes."""
    return next(cls for cls in type(operator).__mro__ if "_fields" in vars(cls))


def _slice(value: Any, own: int, slices: tuple[Any, ...], batch: Batch) -> Any:
    if isinstance(value, OperatorOfFields):
        return value._sliced(slices, batch)
    if isinstance(value, LinearOperator):
        raise NotImplementedError(f"{type(value).__name__} says nothing of its fields: its batch has no slices")
    if value is None:
        return None
    rest = () if any(item is Ellipsis for item in slices) else (Ellipsis,)
    return spread(value, batch, own)[(*slices, *rest, *[slice(None)] * own)]


def _frozen(value: Any) -> Any:
    """A field as a spec keeps it: tuples for lists."""
    if isinstance(value, (list, tuple)):
        return tuple(_frozen(item) for item in value)
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


def _spec_of(value: Any) -> Any:
    """The spec of a field; what is no tensor or operator as it is; _REQUIRED for what holds Variables."""
    if isinstance(value, tuple):
        return tuple(_spec_of(item) for item in value)
    if isinstance(value, LinearOperator):
        return getattr(value, "_type_spec", None) or _REQUIRED
    if isinstance(value, Tensor):
        return TensorSpec(value.shape, value.dtype)
    return _REQUIRED if hasattr(value, "__fg_cell__") else value


class LinearOperatorSpec(TypeSpec):
    """The spec of a linear operator: its class, the specs of what it is made of, what else its constructor takes."""

    __slots__ = ("_class", "_rest", "_specs")

    def __init__(self, cls: Any, specs: tuple[tuple[str, Any], ...], rest: tuple[tuple[str, Any], ...]) -> None:
        self._class, self._specs, self._rest = cls, specs, rest

    value_type: Any = property(lambda A: A._class)

    _serialize: Any = lambda A: (A._class, A._specs, A._rest)

    @property
    def _component_specs(self) -> dict[str, Any]:
        return dict(self._specs)

    _to_components: Any = lambda A, value: {name: _frozen(getattr(value, f"_{name}")) for name, _ in A._specs}

    def _from_components(self, components: Mapping[str, Any]) -> Any:
        if all(isinstance(leaf, (Tensor, LinearOperator)) for leaf in nesting.flatten(dict(components))):
            return self._class(**dict(self._rest), **components)
        made = self._class.__new__(self._class)  # parts of another kind: specs, numbers, a gradient that is None
        for name, value in (*self._rest, *components.items()):
            object.__setattr__(made, f"_{name}", value)
        return made
