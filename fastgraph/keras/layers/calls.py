"""Calls of layers: how `call` takes its arguments, what a layer hands to those inside, shapes of results.

Rule: shapes of results are found by tracing the layer; no layer has a second description of what it does.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DTypeLike, float32
from fastgraph.core.base.shapes import Aval, TensorShape
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.tensor import Tensor, current_state
from fastgraph.graph.differentiate import entering
from fastgraph.graph.trace import GraphTrace
from fastgraph.state.variable import Variable

#: True for a call of training; None: as the layer around it says.
Training = bool | Tensor | None

CALL = "keras_call"  # this thread's innermost call of a layer


class Call(NamedTuple):
    """The part of a call that a layer hands to the layers inside."""

    training: Any
    outside: str  # the part of the name scope that names of weights leave out


class Parameters(NamedTuple):
    """Parameters of a `call` method."""

    first: str
    training: int | None  # the place of `training` among the arguments after the first
    takes_training: bool
    default: Any
    takes_mask: bool


def traced_specs(layer: Callable[[Any], Any], inputs: Any) -> Any:
    """Return the TensorSpecs of what `layer` makes of inputs with these specs; the layer is built by it."""
    trace = GraphTrace("shapes")
    extra = current_state().extra
    outer = extra.pop(CALL, None)
    try:
        with entering(trace):
            outputs = layer(nesting.map_structure(lambda spec: trace.add_input(_aval(spec), "x"), inputs))
            return nesting.map_structure(lambda t: TensorSpec(t.shape, t.dtype), outputs)
    finally:
        if outer is not None:
            extra[CALL] = outer
        if hasattr(layer, "_clear_losses"):
            layer._clear_losses()


def _aval(spec: TensorSpec) -> Aval:
    return Aval(spec.dtype, None if spec.shape.rank is None else tuple(spec.shape.as_list()))


def specs_of(shapes: Any, dtype: DTypeLike) -> Any:
    """TensorSpecs for a shape or a list or dict of shapes."""
    if isinstance(shapes, dict):
        return {name: specs_of(shape, dtype) for name, shape in shapes.items()}
    if isinstance(shapes, list) and shapes and isinstance(shapes[0], (list, tuple, TensorShape)):
        return [specs_of(shape, dtype) for shape in shapes]
    return TensorSpec(shapes, dtype)


def take_batch_input_shape(kwargs: dict[str, Any]) -> tuple[int | None, ...] | None:
    """The shape that `input_shape`, `input_dim` or `batch_input_shape` asks for, or None."""
    if "input_dim" in kwargs:
        dim = kwargs.pop("input_dim")
        kwargs.setdefault("input_shape", (dim,))
    batch_size = kwargs.pop("batch_size", None)
    inner = kwargs.pop("input_shape", None)
    whole = kwargs.pop("batch_input_shape", None)
    if whole is not None:
        return tuple(TensorShape(whole).as_list())
    return None if inner is None else (batch_size, *TensorShape(inner).as_list())


def shapes_of(values: Any) -> Any:
    shapes = nesting.map_structure(
        lambda leaf: leaf.shape.as_list() if getattr(leaf, "shape", None) is not None and leaf.shape.rank is not None
        else [], values,
    )  # fmt: skip
    return tuple(shapes) if isinstance(shapes, list) and not any(isinstance(s, list) for s in shapes) else shapes


def spec_of(leaf: Any) -> TensorSpec:
    """Return the shape and dtype of an input; of what has none, those of any."""
    return TensorSpec(getattr(leaf, "shape", None), getattr(leaf, "dtype", float32))


@lru_cache(maxsize=4096)
def parameters_of(call: Callable[..., Any]) -> Parameters:
    """Return the parameters of a `call` method, or of a Function made of one."""
    found = list(inspect.signature(getattr(call, "python_function", call)).parameters.values())
    if found and found[0].name == "self":
        found = found[1:]
    names = [p.name for p in found if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    by_name = {p.name: p for p in found}
    swallows = any(p.kind is p.VAR_KEYWORD for p in found)
    default = None
    if "training" in by_name and by_name["training"].default is not inspect.Parameter.empty:
        default = by_name["training"].default
    place = names.index("training") - 1 if "training" in names[1:] else None
    return Parameters(
        names[0] if names else "inputs", place, "training" in by_name or swallows, default, "mask" in by_name
    )


def leaves(value: object) -> Iterator[Any]:
    """The leaves of a value: the items in lists, tuples and dicts (by key, as in Keras) at any depth, or the value."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, dict):
        try:
            keys = sorted(value)
        except TypeError:
            keys = list(value)
        for key in keys:
            yield from leaves(value[key])
    else:
        yield value


def each_once(variables: list[Variable]) -> list[Variable]:
    """Return the Variables in their order, each at its first place only."""
    return list({id(variable): variable for variable in variables}.values())
