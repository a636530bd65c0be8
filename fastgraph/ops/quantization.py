"""Numbers as few bits would hold them, kept as floats: tf.quantization.fake_quant_*.

Rule: the range is moved so that 0 is one of the steps; gradients pass where a number lies in the range, and go to the
end beyond which it lies.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.dtype import float32
from fastgraph.core.conversion import Data
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, whole
from fastgraph.ops.comparison import equal, greater, greater_equal, less, less_equal, logical_and
from fastgraph.ops.custom_gradients import custom_gradient
from fastgraph.ops.elementwise import clip_by_value, floor, select, zeros_like_p
from fastgraph.ops.families import invalid, public, shape_text
from fastgraph.ops.reduction import reduce_sum


def _moved(low: Tensor, high: Tensor, least: float, most: float) -> tuple[Any, Any, Any]:
    """(the lowest number, the highest, a step) of a range in which 0 is a step."""
    scale = (high - low) / (most - least)
    zero = least - low / scale
    zero = select(less(zero, least), zeros_like_p(zero) + least, floor(zero + 0.5))
    zero = select(greater(zero, most), zeros_like_p(zero) + most, zero)
    return (least - zero) * scale, (most - zero) * scale, scale


def _quantized(inputs: Tensor, low: Tensor, high: Tensor, num_bits: Data, narrow_range: bool) -> Any:
    bits = whole(num_bits, "num_bits", 32)
    if not 2 <= bits <= 16:
        raise invalid(f"num_bits must be between 2 and 16, inclusive: {bits}")
    least, most = float(bool(narrow_range)), float(2**bits - 1)
    channels = low.shape.rank == 1

    @custom_gradient
    def apply(x: Any, low: Tensor, high: Tensor) -> Any:
        none = logical_and(equal(low, 0.0), equal(high, 0.0))
        first, last, step = _moved(low, select(none, zeros_like_p(high) + 1.0, high), least, most)
        steps = floor((clip_by_value(x, first, last) - first) / step + 0.5)
        result = select(none, zeros_like_p(x), steps * step + first)

        def gradients(dy: Any) -> Any:
            # Without a range everything lies in it.
            under, over = (logical_and(c, none == False) for c in (less(x, first), greater(x, last)))  # noqa: E712
            inside = logical_and(less_equal(x, last), greater_equal(x, first))
            zero, axes = zeros_like_p(dy), (range(x.shape.rank - 1) if channels else None)
            ends = [reduce_sum(select(c, dy, zero), axes if axes is None else list(axes)) for c in (under, over)]
            return select(none, dy, select(inside, dy, zero)), *ends

        return result, gradients

    return apply(inputs, low, high)


@public("quantization.fake_quant_with_min_max_vars")
def fake_quant_with_min_max_vars(
    inputs: Data, min: Data, max: Data, num_bits: Data = 8, narrow_range: bool = False, name: str | None = None
) -> Any:
    """Numbers rounded to the steps of a range in 2**num_bits - 1, or with narrow_range one less. f32[*s] -> f32[*s].

    min, max: scalars, the ends of the range, which is moved a little so that 0 is a step.
    Raises: InvalidArgumentError for ends that are no scalars, and bits that are not 2 to 16.
    Source: tf.quantization.fake_quant_with_min_max_vars.
    """
    x, low, high = (as_tensor(v, float32) for v in (inputs, min, max))
    for what, end in (("min", low), ("max", high)):
        if end.shape.rank not in (0, None):
            raise invalid(f"`{what}` must be rank 0 but is rank {end.shape.rank}")
    return _quantized(x, low, high, num_bits, narrow_range)


@public("quantization.fake_quant_with_min_max_vars_per_channel")
def fake_quant_with_min_max_vars_per_channel(
    inputs: Data, min: Data, max: Data, num_bits: Data = 8, narrow_range: bool = False, name: str | None = None
) -> Any:
    """`fake_quant_with_min_max_vars` with a range for each channel. f32[*s, c], f32[c], f32[c] -> f32[*s, c].

    Raises: InvalidArgumentError for other shapes. Source: tf.quantization.fake_quant_with_min_max_vars_per_channel.
    """
    x, low, high = (as_tensor(v, float32) for v in (inputs, min, max))
    if x.shape.rank == 0:
        raise invalid("inputs must be at least 1-D, got shape []")
    for what, end in (("min", low), ("max", high)):
        if end.shape.rank not in (1, None) or not end.shape.is_compatible_with(x.shape[-1:]):
            raise invalid(f"{what} has incorrect size, expected {x.shape[-1]} was {shape_text(end.shape.as_list())}")
    return _quantized(x, low, high, num_bits, narrow_range)
