# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import Data
from fastgraph.core.tensor import Tensor
from fastgraph.data.decoding import decode_bmp as decode_bmp
from fastgraph.data.decoding import decode_gif as decode_gif
from fastgraph.data.decoding import decode_image as decode_image
from fastgraph.data.decoding import decode_jpeg as decode_jpeg
from fastgraph.data.decoding import decode_png as decode_png
from fastgraph.data.encoding import decode_and_crop_jpeg as decode_and_crop_jpeg
from fastgraph.data.encoding import encode_jpeg as encode_jpeg
from fastgraph.data.encoding import encode_png as encode_png
from fastgraph.data.encoding import extract_jpeg_shape as extract_jpeg_shape
from fastgraph.data.encoding import is_jpeg as is_jpeg
from fastgraph.ops.image_resizing import ResizeMethod as ResizeMethod
from typing import Any
import builtins

def adjust_hue(image: Data, delta: Data, name: builtins.str | None = None) -> Tensor:
    """Turn the hue by `delta`, from -1 to 1. t[*s, 3] -> t[*s, 3].

    Raises: ValueError in eager mode for another delta; InvalidArgumentError for other channels, ranks below 3 (in a
    graph ValueError) and several deltas. Source: tf.image.adjust_hue."""
def adjust_saturation(image: Data, saturation_factor: Data, name: builtins.str | None = None) -> Tensor:
    """Multiply the saturation, up to 1. t[*s, 3] -> t[*s, 3].

    Raises: InvalidArgumentError as adjust_hue. Source: tf.image.adjust_saturation."""
def convert_image_dtype(image: Data, dtype: DTypeLike, saturate: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Images of another dtype, scaled: integers count to their greatest, floats from 0 to 1. t[*s] -> dtype[*s].

    saturate: numbers out of range go to its ends before they become integers. Raises: TypeError for other dtypes.
    Source: tf.image.convert_image_dtype."""
def crop_to_bounding_box(image: Data, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any, name: builtins.str | None = None) -> Tensor:
    """The part of images that begins at an offset and has a size. t[(b,) h, w, c] -> t[(b,) target, c].

    Raises: ValueError for a part that does not lie in the image. Source: tf.image.crop_to_bounding_box."""
def extract_patches(images: Data, sizes: Data, strides: Data, rates: Data, padding: builtins.str, name: builtins.str | None = None) -> Tensor:
    """The elements of each window of images as channels, 0 outside. t[b, h, w, c] -> t[b, *o, kh * kw * c].

    sizes, strides, rates: [1, rows, columns, 1]. Raises: InvalidArgumentError for another rank, ValueError for sizes
    that are not of this form. Source: tf.image.extract_patches."""
def grayscale_to_rgb(images: Data, name: builtins.str | None = None) -> Tensor:
    """Grey pixels as three equal colours. t[*s, 1] -> t[*s, 3].

    Raises: ValueError if the last axis is not 1. Source: tf.image.grayscale_to_rgb."""
def hsv_to_rgb(images: Data, name: builtins.str | None = None) -> Tensor:
    """Red, green and blue of hue, saturation and value from 0 to 1. f[*s, 3] -> f[*s, 3].

    Raises: FailedPreconditionError (in a graph ValueError) if the last axis is not 3. Source: tf.image.hsv_to_rgb."""
def pad_to_bounding_box(image: Data, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any, name: builtins.str | None = None) -> Any:
    """Images with zeros around them, so that they stand at an offset in a larger one. t[(b,) h, w, c] -> t.

    Raises: ValueError for offsets below 0 and a target that is too small. Source: tf.image.pad_to_bounding_box."""
def resize(images: Data, size: Data, method: builtins.str | builtins.int = 'bilinear', preserve_aspect_ratio: builtins.bool = False, antialias: builtins.bool = False, name: builtins.str | None = None) -> Any:
    """Images of another height and width. t[b, h, w, c] or t[h, w, c], i32[2] -> f32 of that size.

    Images that have the size already come back as they are.

    Args:
        images: Images, or one.
        size: The new height and width.
        method: bilinear, nearest (which keeps the dtype), bicubic, area, lanczos3, lanczos5, gaussian, mitchellcubic.
        preserve_aspect_ratio: Whether the size is the most that either may be, and their ratio stays.
        antialias: Whether kernels are as wide as the new pixels where images shrink.

    Raises:
        ValueError: The rank or the method is another one, or the size is no two numbers.

    Examples:
        >>> tf.image.resize([[[0.0], [1.0]]], [1, 4])[0, :, 0]
        <tf.Tensor: shape=(4,), dtype=float32, numpy=array([0.  , 0.25, 0.75, 1.  ], dtype=float32)>

    Source: tf.image.resize."""
def rgb_to_grayscale(images: Data, name: builtins.str | None = None) -> Tensor:
    """How bright each pixel looks. t[*s, 3] -> t[*s, 1]. Source: tf.image.rgb_to_grayscale."""
def rgb_to_hsv(images: Data, name: builtins.str | None = None) -> Tensor:
    """Hue, saturation and value of red, green and blue from 0 to 1. f[*s, 3] -> f[*s, 3].

    Raises: FailedPreconditionError (in a graph ValueError) if the last axis is not 3. Source: tf.image.rgb_to_hsv."""
def sobel_edges(image: Data) -> Tensor:
    """How much pixels change downwards and to the right, by Sobel's filter. t[b, h, w, c] -> t[b, h, w, c, 2].

    Source: tf.image.sobel_edges."""
