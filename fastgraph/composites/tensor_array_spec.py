"""TensorArraySpec: the type of a TensorArray, and the tensors that one is taken apart into and made of."""

from __future__ import annotations

from typing import Any

from fastgraph.composites.eager_tensor_array import TensorArray
from fastgraph.composites.tensor_list_shape import ListShape
from fastgraph.composites.variable_shape_entries import WIDTH, entries_of
from fastgraph.core.base.dtype import DTypeLike, as_dtype, bool_, int32
from fastgraph.core.base.shapes import Shape, ShapeLike, TensorShape, as_dims
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.tensor import Tensor, convert, current_trace


class TensorArraySpec(TypeSpec):
    """The type of a TensorArray, as it is known before there is one. Source: tf.TensorArraySpec."""

    __slots__ = ("_dtype", "_dynamic_size", "_element_shape", "_infer_shape", "_shape")

    def __init__(
        self,
        element_shape: ShapeLike = None,
        dtype: DTypeLike = "float32",
        dynamic_size: bool = False,
        infer_shape: bool = True,
    ) -> None:
        self._element_shape = TensorShape(element_shape)
        self._dtype = as_dtype(dtype)
        self._dynamic_size = bool(dynamic_size)
        self._infer_shape = bool(infer_shape)
        self._shape: ListShape | None = None

    @property
    def value_type(self) -> type:
        """The class of the values that this describes."""
        return TensorArray

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_shape, self._dtype, self._dynamic_size, self._infer_shape)

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        dims = as_dims(self._element_shape)
        if is_uneven(self._infer_shape, dims):
            pieces = (TensorSpec((None,), self._dtype), TensorSpec((None, WIDTH), int32), TensorSpec((), int32))
            return (*pieces, TensorSpec((), int32)) if self._dynamic_size else pieces
        buffer, begun = TensorSpec(None if dims is None else (None, *dims), self._dtype), TensorSpec((), bool_)
        return (buffer, TensorSpec((), int32), begun) if self._dynamic_size else (buffer, begun)

    def _to_components(self, value: Any) -> tuple[Any, ...]:
        if not isinstance(value, TensorArray.traced):
            if current_trace() is None:
                return value._parts()
            value = value._now(True)
        if is_uneven(self._infer_shape, as_dims(self._element_shape)):
            return value.pieces()
        buffer, begun = value._buffer_here(), convert(value._begun)
        return (buffer, value._count, begun) if self._dynamic_size else (buffer, begun)

    def _from_components(self, components: Any) -> TensorArray:
        buffer = components[0]
        if not isinstance(buffer, Tensor):
            return components
        if is_uneven(self._infer_shape, as_dims(self._element_shape)):
            return _of_pieces(self, components[:3], components[3] if self._dynamic_size else None)
        count, begun = components[1] if self._dynamic_size else None, components[-1]
        if current_trace() is None and not hasattr(buffer, "trace"):
            return _eager(self, buffer, count, begun)
        made = TensorArray.traced.__new__(TensorArray.traced)
        made._become(self, buffer, count)
        made._begun = begun
        return made

    @classmethod
    def from_value(cls, value: TensorArray) -> TensorArraySpec:
        """Return the spec of a TensorArray. Raises TypeError for anything else."""
        if not isinstance(value, TensorArray):
            raise TypeError(f"Expected value to be a TensorArray, but got: '{type(value)}'")
        return value._type_spec

    def __repr__(self) -> str:
        return f"TensorArraySpec({self._element_shape!r}, {self._dtype!r}, {self._dynamic_size}, {self._infer_shape})"


def is_uneven(infer_shape: bool, element: Shape) -> bool:
    """Return whether entries of a TensorArray may differ in shape."""
    return not infer_shape and (element is None or None in element)


def _of_pieces(spec: TensorArraySpec, pieces: Any, count: Any) -> TensorArray:
    """The TensorArray of these numbers and places (see variable_shape_tensor_array)."""
    if current_trace() is None and not hasattr(pieces[0], "trace"):
        n = int(pieces[1].shape[0]) if count is None else int(count)
        array = TensorArray(spec._dtype, n, spec._dynamic_size, infer_shape=False, element_shape=spec._element_shape)
        array._entries[:] = entries_of(*pieces[:2])[:n]
        return array
    made = TensorArray.traced.uneven.__new__(TensorArray.traced.uneven)
    made._become(spec, pieces, count)
    return made


def _eager(spec: TensorArraySpec, buffer: Tensor, count: Tensor | None, begun: Tensor) -> TensorArray:
    """The TensorArray whose entries are the rows of a buffer that a graph gave, if something was written to it."""
    n = int(buffer.shape[0]) if count is None else int(count)
    made = TensorArray(
        spec._dtype, n, spec._dynamic_size, infer_shape=spec._infer_shape, element_shape=spec._element_shape
    )
    return made.unstack(buffer[:n]) if n and bool(begun) else made
