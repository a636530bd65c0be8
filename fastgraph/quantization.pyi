# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.conversion import Data
from fastgraph.core.tensor import Tensor
import builtins

def fake_quant_with_min_max_vars(inputs: Data, min: Data, max: Data, num_bits: Data = 8, narrow_range: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Numbers rounded to the steps of a range in 2**num_bits - 1, or with narrow_range one less. f32[*s] -> f32[*s].

    min, max: scalars, the ends of the range, which is moved a little so that 0 is a step.
    Raises: InvalidArgumentError for ends that are no scalars, and bits that are not 2 to 16.
    Source: tf.quantization.fake_quant_with_min_max_vars."""
def fake_quant_with_min_max_vars_per_channel(inputs: Data, min: Data, max: Data, num_bits: Data = 8, narrow_range: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """`fake_quant_with_min_max_vars` with a range for each channel. f32[*s, c], f32[c], f32[c] -> f32[*s, c].

    Raises: InvalidArgumentError for other shapes. Source: tf.quantization.fake_quant_with_min_max_vars_per_channel."""
