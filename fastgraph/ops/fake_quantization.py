"""Numbers as few bits would hold them, kept as floats: tf.quantization.fake_quant_*.

Rule: the range is moved so that 0 is one of the steps; gradients pass where a number lies in the range, and go to the
end beyond which it lies.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.base.dtype import float32
from fastgraph.core.conversion import TensorLike
from fastgraph.core.op_errors import message_name
from fastgraph.core.tape.gradient_tape import GradientTape
from fastgraph.core.tensor import Tensor
from fastgraph.ops.arguments import as_tensor, known_value, whole
from fastgraph.ops.comparison import equal, greater, greater_equal, less, less_equal, logical_and
from fastgraph.ops.custom_gradients import custom_gradient
from fastgraph.ops.elementwise import clip_by_value, select, stop_gradient, zeros_like_p
from fastgraph.ops.families import invalid, public, shape_text
from fastgraph.ops.movement import reshape
from fastgraph.ops.reduction import reduce_max, reduce_min, reduce_sum
from fastgraph.ops.rounding import floor, rint


def _moved(low: Tensor, high: Tensor, least: float, most: float) -> tuple[Any, Any, Any]:
    """(the lowest number, the highest, a step) of a range in which 0 is a step."""
    scale = (high - low) / (most - least)
    zero = least - low / scale
    zero = select(less(zero, least), zeros_like_p(zero) + least, floor(zero + 0.5))
    zero = select(greater(zero, most), zeros_like_p(zero) + most, zero)
    return (least - zero) * scale, (most - zero) * scale, scale


def _quantized(inputs: Tensor, low: Tensor, high: Tensor, num_bits: TensorLike, narrow_range: bool) -> Any:
    bits = whole(num_bits, "num_bits", 32)
    if not 2 <= bits <= 16:
        raise invalid(f"num_bits must be between 2 and 16, inclusive: {bits}")
    least, most = float(bool(narrow_range)), float(2**bits - 1)
    channels = low.shape.rank == 1

    @custom_gradient
    def apply(x: Any, low: Tensor, high: Tensor) -> Any:
        none = logical_and(equal(low, 0.0), equal(high, 0.0))
        first, last, step = _moved(low, select(none, zeros_like_p(high) + 1.0, high), least, most)
        rate = 1.0 / step
        zero = floor(-first * rate + 0.5)  # taken off before the steps are cut, so that 0 stays 0
        steps = floor((clip_by_value(x, first, last) - first) * rate - zero + 0.5)
        result = select(none, zeros_like_p(x), steps * step)

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
    inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: TensorLike = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
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
    inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: TensorLike = 8, narrow_range: bool = False,
    name: str | None = None,
) -> Any:  # fmt: skip
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


@public("quantization.fake_quant_with_min_max_args")
def fake_quant_with_min_max_args(inputs: TensorLike, min: float = -6, max: float = 6, num_bits: TensorLike = 8,
                                 narrow_range: bool = False, name: str | None = None) -> Tensor:  # fmt: skip
    """`fake_quant_with_min_max_vars` for a range of two numbers. Source: same name."""
    if not min < max:
        raise invalid(f"min has to be smaller than max, was: {min:g} >= {max:g}")
    (x,) = floats("FakeQuantWithMinMaxArgs", inputs)
    return _quantized(x, as_tensor(min, float32), as_tensor(max, float32), num_bits, narrow_range)


def floats(op: str, *values: TensorLike) -> list[Any]:
    """Return the inputs of an op that knows float32 alone. Raises InvalidArgumentError for tensors of other dtypes."""
    for i, value in enumerate(values):
        if isinstance(value, Tensor) and value.dtype is not float32:
            name = message_name(value.dtype)
            expected = f"input #{i}(zero-based) was expected to be a float tensor but is a {name} tensor"
            raise invalid(f"cannot compute {op} as {expected} [Op:{op}] name: ")
    return [as_tensor(value, float32) for value in values]


def _slopes(op: str, function: Any, *values: TensorLike) -> list[Any]:
    """The gradients to all values but the first, which is that of the result; they have no gradients."""
    dy, *sources = floats(op, *values)
    if not dy.shape.is_compatible_with(sources[0].shape):
        raise invalid("gradient and input must be the same size")
    with GradientTape() as tape:
        tape.watch(sources)
        result = function(*sources)
    return [stop_gradient(each) for each in tape.gradient(result, sources, output_gradients=dy)]


@public("quantization.fake_quant_with_min_max_args_gradient")
def fake_quant_with_min_max_args_gradient(gradients: TensorLike, inputs: TensorLike, min: float = -6, max: float = 6,
                                          num_bits: TensorLike = 8, narrow_range: bool = False,
                                          name: str | None = None) -> Tensor:  # fmt: skip
    """The gradient to `inputs` of fake_quant_with_min_max_args. Source: same name."""
    op = "FakeQuantWithMinMaxArgsGradient"
    forward = lambda x: fake_quant_with_min_max_args(x, min, max, num_bits, narrow_range)
    return _slopes(op, forward, gradients, inputs)[0]


@public("quantization.fake_quant_with_min_max_vars_gradient")
def fake_quant_with_min_max_vars_gradient(
    gradients: TensorLike, inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: TensorLike = 8,
    narrow_range: bool = False, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients to inputs, min and max of fake_quant_with_min_max_vars. Source: same name."""
    forward = lambda *xs: fake_quant_with_min_max_vars(*xs, num_bits, narrow_range)
    return tuple(_slopes("FakeQuantWithMinMaxVarsGradient", forward, gradients, inputs, min, max))


@public("quantization.fake_quant_with_min_max_vars_per_channel_gradient")
def fake_quant_with_min_max_vars_per_channel_gradient(
    gradients: TensorLike, inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: TensorLike = 8,
    narrow_range: bool = False, name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """The gradients to inputs, min and max of fake_quant_with_min_max_vars_per_channel. Source: same name."""
    forward = lambda *xs: fake_quant_with_min_max_vars_per_channel(*xs, num_bits, narrow_range)
    return tuple(_slopes("FakeQuantWithMinMaxVarsPerChannelGradient", forward, gradients, inputs, min, max))


@public("quantization.quantize_and_dequantize_v2")
def quantize_and_dequantize_v2(
    input: TensorLike, input_min: TensorLike, input_max: TensorLike, signed_input: bool = True,
    num_bits: TensorLike = 8, range_given: bool = False, round_mode: str = "HALF_TO_EVEN", name: str | None = None,
    narrow_range: bool = False, axis: int | None = None,
) -> Any:  # fmt: skip
    """Numbers rounded to 2**num_bits steps, 0 one of them, the largest that do not exceed the range. f[*s] -> f[*s].

    range_given: the range is from input_min to input_max (numbers, or of each slice along `axis`), else that of the
    input. The gradient passes where a number lies from input_min to input_max.
    Raises: InvalidArgumentError for ranges and bits that are none. Source: tf.quantization.quantize_and_dequantize_v2.
    """
    ends = input_min, input_max
    return _dequantized(input, *ends, signed_input, num_bits, range_given, round_mode, narrow_range, axis, True)


@public("quantization.quantize_and_dequantize")
def quantize_and_dequantize(input: TensorLike, input_min: TensorLike, input_max: TensorLike, signed_input: bool = True,
                            num_bits: TensorLike = 8, range_given: bool = False, round_mode: str = "HALF_TO_EVEN",
                            name: str | None = None, narrow_range: bool = False,
                            axis: int | None = None) -> Tensor:  # fmt: skip
    """`quantize_and_dequantize_v2`, through which the gradient passes everywhere. Source: same name."""
    ends = input_min, input_max
    return _dequantized(input, *ends, signed_input, num_bits, range_given, round_mode, narrow_range, axis, False)


def _dequantized(
    input: TensorLike, input_min: TensorLike, input_max: TensorLike, signed_input: bool, num_bits: TensorLike,
    range_given: bool, round_mode: str, narrow_range: bool, axis: int | None, cut: bool,
) -> Any:  # fmt: skip
    bits, x = whole(num_bits, "num_bits", 32), as_tensor(input)
    if not 1 <= bits <= (61 if signed_input else 62):
        raise invalid(f"num_bits is out of range: {bits} with signed_input {signed_input}")
    if round_mode not in ("HALF_TO_EVEN", "HALF_UP"):
        raise invalid(f"Round mode string must be 'HALF_TO_EVEN' or 'HALF_UP', is '{round_mode}'")
    least = -float(2 ** (bits - 1)) + bool(narrow_range) if signed_input else 0.0
    most = float(2 ** (bits - signed_input) - 1)
    rank = x.shape.rank
    if axis is not None and not -1 <= axis < (rank or 0):
        raise invalid(f"axis must be -1 or below the rank {rank}, is {axis}")
    others = None if axis is None else [i for i in range(rank or 0) if i != axis % (rank or 1)]
    ends = [1] * (rank or 0)
    if axis is not None:
        ends[axis] = -1
    given = [as_tensor(each, x.dtype) for each in (input_min, input_max)]
    if range_given and axis is None:
        for what, end in zip(("input_min", "input_max"), given, strict=True):
            if end.shape.rank:
                raise invalid(f"{what} must be a scalar{shape_text(end.shape.as_list())}")
    below = [known_value(each) for each in given]
    if range_given and below[0] is not None and below[1] is not None and (below[0] > below[1]).any():
        raise invalid(f"Invalid range: input_min {below[0]} > input_max {below[1]}")

    def along(end: Any) -> Any:
        return end if axis is None else reshape(end, ends)

    @custom_gradient
    def apply(x: Any, *given: Any) -> Any:
        low, high = map(along, given if range_given else (reduce_min(x, others), reduce_max(x, others)))
        huge = zeros_like_p(low) + float(np.finfo(x.dtype.as_numpy_dtype).max)
        by_low = select(greater(least * low, 0.0), least / low, huge)
        by_high = select(greater(most * high, 0.0), most / high, huge)
        lower = less(by_low, by_high)
        step = select(lower, low / (least or 1.0), high / most)
        first, last = select(lower, low, least * step), select(lower, most * step, high)
        clipped = clip_by_value(x, first, last) if range_given else x
        scaled = clipped * select(lower, by_low, by_high)
        steps = rint(scaled) if round_mode == "HALF_TO_EVEN" else floor(scaled + 0.5)
        inside = logical_and(less_equal(x, along(given[1])), greater_equal(x, along(given[0]))) if cut else equal(x, x)

        def gradients(dy: Any) -> Any:
            return select(inside, dy, zeros_like_p(dy)), *map(zeros_like_p, given)

        return steps * step, gradients

    return apply(x, *given)
