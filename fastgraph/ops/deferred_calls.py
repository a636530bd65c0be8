"""Calls that wait for what only a run knows: the rank of a tensor, or axes that are a tensor.

Rule: what is called is a public op without effects, of tensors alone; where all is known while tracing, nothing waits.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self, TypeVar, cast

import numpy as np

from fastgraph._tape import Tape
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType, as_dtype, int32
from fastgraph.core.base.shapes import Aval
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, Tensor, bind, convert, from_array, get_slot, init_scope
from fastgraph.ops.arguments import are_known, preferred
from fastgraph.ops.families import Array, bind_named, custom

_names = itertools.count()
F = TypeVar("F", bound=Callable[..., Any])


class Held(str):
    """A name among a node's attributes that keeps an object alive for as long as there is such a node.

    `written`: TensorFlow's operation, what its results are called, its attributes; None where it has no equal.
    """

    __slots__ = ("object", "written")

    object: Any
    written: tuple[str, str, dict[str, Any]] | None

    def __new__(cls, name: str, held: object, written: tuple[str, str, dict[str, Any]] | None = None) -> Self:
        made = super().__new__(cls, name)
        made.object, made.written = held, written
        return made


def _named_call(function: Callable[..., Sequence[Tensor]]) -> Held:
    return Held(f"late_call_{next(_names)}", function)


def late(function: Callable[..., Any], inputs: Sequence[Any], *dtypes: DType, name: str | None = None) -> Any:
    """The results of `function`, called when the graph runs: a list of tensors of `dtypes`, or the one.

    Shapes are not known. Gradients flow, to any order, through what it computes.
    """

    def several(*tensors: Tensor) -> list[Tensor]:
        made = function(*tensors)
        return list(made) if isinstance(made, (list, tuple)) else [made]

    attrs = {"call": _named_call(several), "dtypes": tuple([dtype.name for dtype in dtypes])}
    results = list(bind_named(name, get("late_call"), tuple([convert(x) for x in inputs]), attrs))
    return results[0] if len(dtypes) == 1 else results


def late_structure(function: Callable[..., Any], given: Sequence[Any], result: Any) -> Any:
    """`late` for function(*given), of structures and composites too; `result` is a structure of the results' specs."""
    leaves = nesting.flatten(given, expand_composites=True)
    at = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]

    def call(*operands: Tensor) -> Any:
        now = dict(zip(at, operands, strict=True))
        packed = nesting.pack_sequence_as(given, [now.get(i, leaf) for i, leaf in enumerate(leaves)], True)
        return nesting.flatten(function(*packed), expand_composites=True)

    specs = nesting.flatten(result, expand_composites=True)
    made = late(call, [leaves[i] for i in at], *[spec.dtype for spec in specs])
    made = [made] if len(specs) == 1 else made
    for tensor, spec in zip(made, specs, strict=True):
        tensor.set_shape(spec.shape)
    return nesting.pack_sequence_as(result, made, expand_composites=True)


def of_known_ranks(function: F) -> F:
    """Let a function of tensors, which gives one of their dtype, wait for ranks that only a run knows."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        tensors = [leaf for leaf in nesting.flatten((args, kwargs)) if isinstance(leaf, Tensor)]
        if all(tensor.shape.rank is not None for tensor in tensors):
            return function(*args, **kwargs)
        spec = TensorSpec(None, tensors[0].dtype)
        return late_structure(lambda args, kwargs: function(*args, **kwargs), (args, kwargs), spec)

    return cast(F, call)


def late_unless_known(
    function: Callable[..., Any],
    inputs: Sequence[Any],
    integers: Mapping[str, TensorLike | None],
    dtype: DType,
    shape: SizeLike,
    name: str | None = None,
) -> Any:
    """`late` for function(*inputs, **integers) of static `shape`; None where the integers are known now."""
    if are_known(*integers.values()):
        return None
    given = {key: preferred(value, int32) for key, value in integers.items() if value is not None}

    def call(*operands: Tensor) -> Any:
        return function(*operands[: len(inputs)], **dict(zip(given, operands[len(inputs) :], strict=True)))

    made = late(call, [*inputs, *given.values()], dtype, name=name)
    made.set_shape(shape)
    return made


def flows(tensor: Tensor) -> bool:
    """Return whether gradients flow through values of this tensor's dtype."""
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)


def tensors_of(values: Sequence[Any]) -> list[EagerTensor]:
    """Eager tensors of arrays, those of objects as strings; no copies."""
    return [from_array(value, None, value.dtype == object) for value in values]


def differentiated(
    needs: Sequence[bool], dys: Sequence[Any], values: Sequence[Any], outs: Sequence[Any]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The inputs that a call's gradient is asked for, and the results whose cotangents are there."""
    sources = tuple([i for i, value in enumerate(values) if needs[i] and flows(value)])
    return sources, tuple([k for k, dy in enumerate(dys) if dy is not None and flows(outs[k])])


def placed(values: Sequence[Any], sources: Sequence[int], results: Sequence[Any]) -> list[Any]:
    """`results`, the cotangents of the inputs `sources`, each in its place and of its input's static shape."""
    grads: list[Any] = [None] * len(values)
    for i, grad in zip(sources, results, strict=True):
        if hasattr(grad, "set_shape"):
            grad.set_shape(values[i].shape)
        grads[i] = grad
    return grads


def infer_dtypes(*values: Aval, dtypes: tuple[str, ...], **attrs: Any) -> tuple[Aval, ...]:
    """Results of which the dtypes are known and not even the ranks."""
    return tuple([Aval(as_dtype(name), None) for name in dtypes])


def _vjp(
    needs: Sequence[bool], dys: list[Any], values: list[Any], outs: list[Any], call: Held, dtypes: tuple[str, ...]
) -> dict[str, Any]:
    """One more call that waits: for the cotangents of all inputs of floats."""
    sources, flowing = differentiated(needs, dys, values, outs)
    if not sources or not flowing:
        return {"values": [None] * len(values)}

    def backward(*operands: Tensor) -> list[Tensor]:
        inputs, cotangents = operands[: len(values)], list(operands[len(values) :])
        asked = [inputs[i] for i in sources]
        with Tape() as tape:
            for x in asked:
                tape.watch(x)
            made = call.object(*inputs)
        found = tape.finish([made[k] for k in flowing], asked, cotangents, report=False)
        zeros_like = get_slot("zeros_like")
        return [zeros_like(x) if grad is None else convert(grad) for x, grad in zip(asked, found, strict=True)]

    attrs = {"call": _named_call(backward), "dtypes": tuple([values[i].dtype.name for i in sources])}
    results = bind(get("late_call"), (*values, *[dys[k] for k in flowing]), attrs)
    return {"values": placed(values, sources, results)}


@custom(
    op="LateCall",
    infer=infer_dtypes,
    groups=("-",),
    n_outputs=None,
    vjp_all=_vjp,
    reason="it calls an op whose rank or axes only a run knows",
)
def late_call_p(*values: Array, call: Held, dtypes: tuple[str, ...]) -> Any:
    """The results of a function of tensors."""
    with init_scope():
        return tuple([np.asarray(tensor) for tensor in call.object(*tensors_of(values))])
