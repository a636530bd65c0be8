# Written by tools/stubs.py from the ops' definitions; do not edit.
from typing import Any
import builtins

def ImageProjectiveTransformV3(images: Any, transforms: Any, output_shape: Any, fill_value: Any, interpolation: builtins.str, fill_mode: builtins.str = 'CONSTANT', name: builtins.str | None = None) -> Any:
    """Images seen through projective transforms [a0 a1 a2 b0 b1 b2 c0 c1]. t[b, h, w, c], f32[b or 1, 8] -> t.

    The pixel (x, y) of the result comes from ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y + 1.
    Raises: InvalidArgumentError for transforms of another shape, ValueError for unknown modes.
    Source: tf.raw_ops.ImageProjectiveTransformV3."""
