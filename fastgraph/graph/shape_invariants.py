"""Shape invariants of loops: the dtypes and shapes that a while_loop's variables keep, as told or as found.

Rule: a shape invariant is a bound: what enters the loop, and what leaves its body, fits it. Source: tf.while_loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fastgraph.composites.symbolic_tensor_array import unify_all
from fastgraph.composites.tensor_array import TensorArray
from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import Aval, TensorShape, common_shape, generalises, shape_of
from fastgraph.core.base.type_specs import TypeSpec, as_specs
from fastgraph.core.tensor import EagerTensor, Tensor, convert
from fastgraph.graph.ir import Value
from fastgraph.graph.symbolic_tensor import SymbolicTensor


def declared_shapes(
    start: Any, flat: Sequence[Any], loop_vars: object, shape_invariants: object
) -> tuple[Any, list[Any]]:
    """Return the loop variables with composites as their specs, and the static shape of each tensor in the loop."""
    model = as_specs(start)
    if shape_invariants is None:
        return model, in_loop(model, flat)
    shapes = nesting.flatten(_as_shapes(shape_invariants))
    leaves = nesting.flatten(loop_vars)
    if len(shapes) == len(leaves):
        told = [invariant(leaf, shape.given) for leaf, shape in zip(leaves, shapes, strict=True)]
        specs = [spec or known for (spec, _), known in zip(told, nesting.flatten(model), strict=True)]
        model = nesting.pack_sequence_as(model, specs)
        shapes = [part for _, parts in told for part in parts]
    if len(shapes) != len(flat):
        raise ValueError(
            f"shape_invariants must have the structure of loop_vars: {len(shapes)} shapes for {len(flat)} tensors "
            f"({loop_vars!r})"
        )
    bounds = []
    for tensor, shape in zip(flat, shapes, strict=True):
        if shape is None:
            bounds.append(tensor.aval.shape)
            continue
        shape = shape.given if isinstance(shape, _Shape) else shape
        dims = TensorShape(getattr(shape, "shape", shape))
        bound = None if dims.rank is None else tuple(dims)
        if not generalises(bound, tensor.aval.shape):
            raise ValueError(
                f"The shape invariant specified for {_name(tensor)} is not compatible with the initial shape of the "
                f"loop variable. It enters the loop with shape {tensor.shape}, but the specified shape invariant is "
                f"{dims}."
            )
        bounds.append(bound)
    return model, bounds


def in_loop(model: Any, tensors: Sequence[Any]) -> list[Any]:
    """Return the shapes that tensors keep to in a loop: what the specs in `model` say of a composite's parts."""
    parts = nesting.flatten(model, expand_composites=True)
    return [common_shape(part.aval.shape, tensor.aval.shape) for part, tensor in zip(parts, tensors, strict=True)]


def invariant(value: Any, told: Any) -> tuple[TypeSpec | None, list[Any]]:
    """Return the spec of a composite that is a loop's variable, from the one shape or spec that a program tells of it,
    and the shape of each of its tensors: None for a part of a TensorArray, whose shape is its own affair.
    """
    if isinstance(value, TensorArray):
        return None, [None] * len(nesting.flatten(value, expand_composites=True))
    if not hasattr(value, "_shape_invariant_to_type_spec"):
        return None, [told]
    spec = told if isinstance(told, TypeSpec) else value._shape_invariant_to_type_spec(TensorShape(told))
    return spec, [part.shape for part in spec._component_specs]


class _Shape:
    """A shape invariant as a leaf: a TensorShape, or a list of sizes, would be taken apart as a structure."""

    def __init__(self, shape: Any) -> None:
        self.given = shape


def _as_shapes(structure: object) -> Any:
    if isinstance(structure, TensorShape) or hasattr(structure, "dtype"):
        return _Shape(structure)
    if isinstance(structure, list | tuple):
        if structure and all(item is None or isinstance(item, int) for item in structure):
            return _Shape(TensorShape(structure))
        items = [_as_shapes(item) for item in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else type(structure)(items)
    if isinstance(structure, dict):
        return {key: _as_shapes(item) for key, item in structure.items()}
    return _Shape(structure)


def _name(tensor: Tensor) -> str:
    return (
        tensor.name if isinstance(tensor, SymbolicTensor) else "a constant" if isinstance(tensor, EagerTensor) else "?"
    )


def next_values(result: list[Any], start: list[Any], tensors: Sequence[Any], counted: bool) -> Any:
    """Return the flat next values of the loop variables. Raises ValueError for another structure."""
    nesting.assert_same_structure(result, start, check_types=False, expand_composites=True)
    unify_all(start, result)
    dtype_of = [tensor.dtype for tensor in nesting.flatten(start, expand_composites=True)]
    flat = []
    for leaf, dtype in zip(nesting.flatten(result, expand_composites=True), dtype_of, strict=True):
        if not isinstance(leaf, Tensor):
            try:
                leaf = convert(leaf, dtype)
            except (TypeError, ValueError):
                leaf = convert(leaf)
        flat.append(leaf)
    return [tensors[0] + 1, *flat] if counted else flat


def check_invariants(start: Sequence[Any], own: Sequence[tuple[Aval, str]], outputs: Sequence[Value]) -> None:
    """Raise unless each loop variable leaves the body with the dtype and a shape that it enters with."""
    for tensor, (aval, _), value in zip(start, own, outputs, strict=True):
        what = _name(tensor)
        if value.aval.dtype != aval.dtype:
            raise TypeError(
                f"Loop var {what} enters the loop with type {aval.dtype!r} but has type {value.aval.dtype!r} after 1 "
                f"iteration. {what} type should remain constant."
            )
        if not generalises(aval.shape, value.aval.shape):
            raise ValueError(
                f"Input tensor `{what}` enters the loop with shape {shape_of(aval.shape)}, but has shape "
                f"{shape_of(value.aval.shape)} after one iteration. To allow the shape to vary across iterations, use "
                "the `shape_invariants` argument of tf.while_loop to specify a less-specific shape."
            )
