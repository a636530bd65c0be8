# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
import builtins

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
def quantize_and_dequantize(input: TensorLike, input_min: TensorLike, input_max: TensorLike, signed_input: builtins.bool = True, num_bits: TensorLike = 8, range_given: builtins.bool = False, round_mode: builtins.str = 'HALF_TO_EVEN', name: builtins.str | None = None, narrow_range: builtins.bool = False, axis: builtins.int | None = None) -> Tensor:
    """`quantize_and_dequantize_v2`, through which the gradient passes everywhere. Source: same name."""
def quantize_and_dequantize_v2(input: TensorLike, input_min: TensorLike, input_max: TensorLike, signed_input: builtins.bool = True, num_bits: TensorLike = 8, range_given: builtins.bool = False, round_mode: builtins.str = 'HALF_TO_EVEN', name: builtins.str | None = None, narrow_range: builtins.bool = False, axis: builtins.int | None = None) -> Tensor:
    """Numbers rounded to 2**num_bits steps, 0 one of them, the largest that do not exceed the range. f[*s] -> f[*s].

    range_given: the range is from input_min to input_max (numbers, or of each slice along `axis`), else that of the
    input. The gradient passes where a number lies from input_min to input_max.
    Raises: InvalidArgumentError for ranges and bits that are none. Source: tf.quantization.quantize_and_dequantize_v2."""
