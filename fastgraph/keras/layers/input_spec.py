"""InputSpec: what a layer can take, and the check of what it is given. Messages of Keras 2.

Rule: a check looks at dtypes and static shapes only, so that it is the same in eager mode and in a trace.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.tensor import Tensor


@without(
    {"InputSpec(...) of the same arguments": "from_config", "the attributes (shape, ndim, dtype, axes)": "get_config"}
)
class InputSpec:
    """Rank, shape and dtype that a layer's input must have. Source: tf.keras.layers.InputSpec.

    axes: {axis: length}. `shape` may have None where any length will do.
    """

    def __init__(
        self, dtype: DTypeLike | None = None, shape: ShapeLike = None, ndim: int | None = None, max_ndim: int |
        None = None, min_ndim: int | None = None, axes: dict[int, int | None] | None = None,
        allow_last_axis_squeeze: bool = False, name: str | None = None,
    ) -> None:  # fmt: skip
        self.dtype = None if dtype is None else str(getattr(dtype, "name", dtype))
        self.shape = None if shape is None else tuple(TensorShape(shape).as_list())
        self.ndim = ndim if self.shape is None else len(self.shape)
        self.max_ndim = max_ndim
        self.min_ndim = min_ndim
        self.axes = {int(axis): length for axis, length in (axes or {}).items()}
        self.allow_last_axis_squeeze = allow_last_axis_squeeze
        self.name = name

    def __repr__(self) -> str:
        parts = [f"dtype={self.dtype}"] if self.dtype else []
        parts += [f"shape={self.shape}"] if self.shape is not None else []
        for name in ("ndim", "max_ndim", "min_ndim", "axes"):
            value = getattr(self, name)
            parts += [f"{name}={value}"] if value and not (name == "ndim" and self.shape is not None) else []
        return f"InputSpec({', '.join(parts)})"


def check(spec: Any, inputs: Any, layer_name: str) -> None:
    """Raise ValueError, naming the layer, if `inputs` are not what the spec (or the list of specs) says."""
    if spec is None:
        return
    if type(spec) is InputSpec and isinstance(inputs, Tensor):  # as most often
        told = _misfit(spec, inputs)
        if told is not None:
            raise ValueError(f'Input 0 of layer "{layer_name}" is incompatible with the layer: {told}')
        return
    specs = nesting.flatten(spec)
    tensors = nesting.flatten(inputs)
    if len(tensors) != len(specs):
        raise ValueError(
            f'Layer "{layer_name}" expects {len(specs)} input(s), but it received {len(tensors)} input tensors. '
            f"Inputs received: {tensors}"
        )
    for index, (tensor, one) in enumerate(zip(tensors, specs, strict=True)):
        if one is not None:
            told = _misfit(one, tensor)
            if told is not None:
                raise ValueError(f'Input {index} of layer "{layer_name}" is incompatible with the layer: {told}')


def _misfit(spec: InputSpec, tensor: Tensor) -> str | None:
    """Say what is wrong with a tensor, or None."""
    shape = tensor.shape
    if shape.rank is None:
        return None
    dims = tuple(shape.as_list())
    full = f"Full shape received: {dims}"
    rank = len(dims)
    if spec.ndim is not None and not spec.allow_last_axis_squeeze and rank != spec.ndim:
        return f"expected ndim={spec.ndim}, found ndim={rank}. {full}"
    if spec.max_ndim is not None and rank > spec.max_ndim:
        return f"expected max_ndim={spec.max_ndim}, found ndim={rank}"
    if spec.min_ndim is not None and rank < spec.min_ndim:
        return f"expected min_ndim={spec.min_ndim}, found ndim={rank}. {full}"
    if spec.dtype is not None and tensor.dtype.name != spec.dtype:
        return f"expected dtype={spec.dtype}, found dtype={tensor.dtype.name}"
    for axis, length in spec.axes.items():
        if length is not None and dims[axis] not in (length, None):
            return f"expected axis {axis} of input shape to have value {length}, but received input with shape {dims}"
    if spec.shape is not None and rank == len(spec.shape):
        for length, found in zip(spec.shape, dims, strict=True):
            if length is not None and found is not None and length != found:
                return f"expected shape={spec.shape}, found shape={dims}"
    return None
