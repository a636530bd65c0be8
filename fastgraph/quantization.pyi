# Written by tools/stubs.py from the ops' definitions; do not edit.
from collections.abc import Sequence
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.quantize_dequantize import QuantizeOutput
import builtins

def dequantize(input: TensorLike, min_range: TensorLike, max_range: TensorLike, mode: builtins.str = 'MIN_COMBINED', name: builtins.str | None = None, axis: builtins.int | None = None, narrow_range: builtins.bool = False, dtype: DTypeLike = ...) -> Tensor:
    """The numbers that steps of a range stand for: `quantize` the other way. T[*s], f32[], f32[] -> dtype[*s].

    mode, axis and narrow_range as in `quantize`; dtype: float32 or bfloat16. Raises: InvalidArgumentError.
    Source: tf.quantization.dequantize."""
def fake_quant_with_min_max_args(inputs: TensorLike, min: builtins.float = -6, max: builtins.float = 6, num_bits: TensorLike = 8, narrow_range: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """`fake_quant_with_min_max_vars` for a range of two numbers. Source: same name."""
def fake_quant_with_min_max_args_gradient(gradients: TensorLike, inputs: TensorLike, min: builtins.float = -6, max: builtins.float = 6, num_bits: TensorLike = 8, narrow_range: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """The gradient to `inputs` of fake_quant_with_min_max_args. Source: same name."""
def fake_quant_with_min_max_vars(inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: TensorLike = 8, narrow_range: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Numbers rounded to the steps of a range in 2**num_bits - 1, or with narrow_range one less. f32[*s] -> f32[*s].

    min, max: scalars, the ends of the range, which is moved a little so that 0 is a step.
    Raises: InvalidArgumentError for ends that are no scalars, and bits that are not 2 to 16.
    Source: tf.quantization.fake_quant_with_min_max_vars."""
def fake_quant_with_min_max_vars_gradient(gradients: TensorLike, inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: TensorLike = 8, narrow_range: builtins.bool = False, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """The gradients to inputs, min and max of fake_quant_with_min_max_vars. Source: same name."""
def fake_quant_with_min_max_vars_per_channel(inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: TensorLike = 8, narrow_range: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """`fake_quant_with_min_max_vars` with a range for each channel. f32[*s, c], f32[c], f32[c] -> f32[*s, c].

    Raises: InvalidArgumentError for other shapes. Source: tf.quantization.fake_quant_with_min_max_vars_per_channel."""
def fake_quant_with_min_max_vars_per_channel_gradient(gradients: TensorLike, inputs: TensorLike, min: TensorLike, max: TensorLike, num_bits: TensorLike = 8, narrow_range: builtins.bool = False, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """The gradients to inputs, min and max of fake_quant_with_min_max_vars_per_channel. Source: same name."""
def quantize(input: TensorLike, min_range: TensorLike, max_range: TensorLike, T: DTypeLike, mode: builtins.str = 'MIN_COMBINED', round_mode: builtins.str = 'HALF_AWAY_FROM_ZERO', name: builtins.str | None = None, narrow_range: builtins.bool = False, axis: builtins.int | None = None, ensure_minimum_range: builtins.float = 0.01) -> QuantizeOutput:
    """The steps of a range that are next to numbers. f32[*s], f32[], f32[] -> (T[*s], f32[], f32[]).

    min_range, max_range: the ends of the range, or with `axis` those of each slice along it, f32[s[axis]]; the range is
    widened to hold 0 and to be `ensure_minimum_range` wide at least. What is beyond it is its end. Returned are the
    ends that the steps are of. mode: MIN_COMBINED and MIN_FIRST have the least step at min_range (the second keeps 0 a
    step), SCALED has 0 at 0; narrow_range leaves the least step out there. round_mode: HALF_AWAY_FROM_ZERO, or
    HALF_TO_EVEN for SCALED. Raises: InvalidArgumentError. Source: tf.quantization.quantize."""
def quantize_and_dequantize(input: TensorLike, input_min: TensorLike, input_max: TensorLike, signed_input: builtins.bool = True, num_bits: TensorLike = 8, range_given: builtins.bool = False, round_mode: builtins.str = 'HALF_TO_EVEN', name: builtins.str | None = None, narrow_range: builtins.bool = False, axis: builtins.int | None = None) -> Tensor:
    """`quantize_and_dequantize_v2`, through which the gradient passes everywhere. Source: same name."""
def quantize_and_dequantize_v2(input: TensorLike, input_min: TensorLike, input_max: TensorLike, signed_input: builtins.bool = True, num_bits: TensorLike = 8, range_given: builtins.bool = False, round_mode: builtins.str = 'HALF_TO_EVEN', name: builtins.str | None = None, narrow_range: builtins.bool = False, axis: builtins.int | None = None) -> Tensor:
    """Numbers rounded to 2**num_bits steps, 0 one of them, the largest that do not exceed the range. f[*s] -> f[*s].

    range_given: the range is from input_min to input_max (numbers, or of each slice along `axis`), else that of the
    input. The gradient passes where a number lies from input_min to input_max.
    Raises: InvalidArgumentError for ranges and bits that are none. Source: tf.quantization.quantize_and_dequantize_v2."""
def quantized_concat(concat_dim: TensorLike, values: Sequence[TensorLike], input_mins: Sequence[TensorLike], input_maxes: Sequence[TensorLike], name: builtins.str | None = None) -> QuantizeOutput:
    """Steps of several ranges, joined along an axis as those of one range.

    [T[*s]], [f32[]], [f32[]] -> (T[*r], f32[], f32[]). Returned are the joined steps and the ends of their range, which
    holds all of the others and, of signed steps, is as wide on both sides of 0. Raises: InvalidArgumentError.
    Source: tf.quantization.quantized_concat."""
