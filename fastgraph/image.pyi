# Written by tools/stubs.py from the ops' definitions; do not edit.
from collections.abc import Sequence
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.data.image_encoding import adjust_jpeg_quality as adjust_jpeg_quality
from fastgraph.data.image_encoding import decode_and_crop_jpeg as decode_and_crop_jpeg
from fastgraph.data.image_encoding import encode_jpeg as encode_jpeg
from fastgraph.data.image_encoding import encode_png as encode_png
from fastgraph.data.image_encoding import extract_jpeg_shape as extract_jpeg_shape
from fastgraph.data.image_encoding import is_jpeg as is_jpeg
from fastgraph.data.image_encoding import random_jpeg_quality as random_jpeg_quality
from fastgraph.data.image_encoding import stateless_random_jpeg_quality as stateless_random_jpeg_quality
from fastgraph.data.media_decoding import decode_bmp as decode_bmp
from fastgraph.data.media_decoding import decode_gif as decode_gif
from fastgraph.data.media_decoding import decode_image as decode_image
from fastgraph.data.media_decoding import decode_jpeg as decode_jpeg
from fastgraph.data.media_decoding import decode_png as decode_png
from fastgraph.data.media_decoding import decode_webp as decode_webp
from fastgraph.ops.image_boxes import CombinedNonMaxSuppression
from fastgraph.ops.image_resizing import ResizeMethod as ResizeMethod
from typing import Any
import builtins

def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Add a number, of floats from 0 to 1, to all pixels. t[*s], f[] -> t[*s]. Source: tf.image.adjust_brightness."""
def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Move pixels away from the mean of their channel in their image: (x - mean) factor + mean. t[*s, h, w, c] -> t.

    Raises: InvalidArgumentError for ranks below 3. Source: tf.image.adjust_contrast."""
def adjust_gamma(image: TensorLike, gamma: TensorLike = 1, gain: TensorLike = 1) -> Tensor:
    """gain * x ** gamma of pixels from 0 to 1. t[*s] -> t[*s].

    Raises: ValueError, for tensors InvalidArgumentError, for a gamma below 0. Source: tf.image.adjust_gamma."""
def adjust_hue(image: TensorLike, delta: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Turn the hue by `delta`, from -1 to 1. t[*s, 3] -> t[*s, 3].

    Raises: ValueError in eager mode for another delta; InvalidArgumentError for other channels, ranks below 3 (in a
    graph ValueError) and several deltas. Source: tf.image.adjust_hue."""
def adjust_saturation(image: TensorLike, saturation_factor: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Multiply the saturation, up to 1. t[*s, 3] -> t[*s, 3].

    Raises: InvalidArgumentError as adjust_hue. Source: tf.image.adjust_saturation."""
def central_crop(image: TensorLike, central_fraction: TensorLike) -> Tensor:
    """The middle of images: a fraction of each side. t[(b,) h, w, c], number in (0, 1] -> t.

    Raises: ValueError for other fractions and ranks. Source: tf.image.central_crop."""
def combined_non_max_suppression(boxes: TensorLike, scores: TensorLike, max_output_size_per_class: TensorLike, max_total_size: TensorLike, iou_threshold: TensorLike = 0.5, score_threshold: TensorLike = ..., pad_per_class: builtins.bool = False, clip_boxes: builtins.bool = True, name: builtins.str | None = None) -> CombinedNonMaxSuppression:
    """`non_max_suppression` of each class, and the best of all of them. f32[b, n, q, 4], f32[b, n, c] -> 4 tensors.

    boxes: With q = 1 the same for all classes, else one for each. Results, filled with zeros, are boxes f32[b, k, 4],
    scores f32[b, k], classes f32[b, k] and how many there are i32[b]; k is max_total_size, or with `pad_per_class` at
    most the number of classes times max_output_size_per_class. clip_boxes: boxes end at 0 and 1.
    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.image.combined_non_max_suppression."""
def convert_image_dtype(image: TensorLike, dtype: DTypeLike, saturate: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Images of another dtype, scaled: integers count to their greatest, floats from 0 to 1. t[*s] -> dtype[*s].

    saturate: numbers out of range go to its ends before they become integers. Raises: AttributeError for other dtypes.
    Source: tf.image.convert_image_dtype."""
def crop_and_resize(image: TensorLike, boxes: TensorLike, box_indices: TensorLike, crop_size: TensorLike, method: builtins.str = 'bilinear', extrapolation_value: builtins.float = 0.0, name: builtins.str | None = None) -> Tensor:
    """Parts of images, cut out by boxes, of one size. t[b, h, w, c], f32[n, 4], i32[n], i32[2] -> f32[n, *k, c].

    box_indices: Which image a box is of. method: bilinear or nearest. extrapolation_value: What lies outside of images.
    Raises: InvalidArgumentError for shapes and methods, OutOfRangeError for images that are not there.
    Source: tf.image.crop_and_resize."""
def crop_to_bounding_box(image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any, name: builtins.str | None = None) -> Tensor:
    """The part of images that begins at an offset and has a size. t[(b,) h, w, c] -> t[(b,) target, c].

    Raises: ValueError for a part that does not lie in the image. Source: tf.image.crop_to_bounding_box."""
def draw_bounding_boxes(images: TensorLike, boxes: TensorLike, colors: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Images with boxes drawn on them, the last on top. f[b, h, w, c], f32[b, n, 4] -> f[b, h, w, c].

    colors: f32[k, c], taken in turn; None: yellow, blue, red and more, of grey images white.
    Raises: InvalidArgumentError for other shapes. Source: tf.image.draw_bounding_boxes."""
def extract_glimpse(input: TensorLike, size: TensorLike, offsets: TensorLike, centered: builtins.bool = True, normalized: builtins.bool = True, noise: builtins.str = 'uniform', name: builtins.str | None = None) -> Tensor:
    """Windows of images around given places, noise beyond the edges. f32[b, h, w, c], i32[2], f32[b, 2] -> f32.

    offsets: rows and columns of the middles; centered: from the image's middle; normalized: the image counts 1 (from
    the middle 2: -1 to 1). noise: "uniform", "gaussian" or "zero". Raises: InvalidArgumentError for other shapes.
    Source: tf.image.extract_glimpse."""
def extract_patches(images: TensorLike, sizes: TensorLike, strides: TensorLike, rates: TensorLike, padding: builtins.str, name: builtins.str | None = None) -> Tensor:
    """The elements of each window of images as channels, 0 outside. t[b, h, w, c] -> t[b, *o, kh * kw * c].

    sizes, strides, rates: [1, rows, columns, 1]. Raises: InvalidArgumentError for another rank, ValueError for sizes
    that are not of this form. Source: tf.image.extract_patches."""
def flip_left_right(image: TensorLike) -> Tensor:
    """Images mirrored: their columns from the last to the first. t[(b,) h, w, c] -> the same.

    Raises: ValueError for another rank. Source: tf.image.flip_left_right."""
def flip_up_down(image: TensorLike) -> Tensor:
    """Images upside down: their rows from the last to the first. t[(b,) h, w, c] -> the same.

    Raises: ValueError for another rank. Source: tf.image.flip_up_down."""
def grayscale_to_rgb(images: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Grey pixels as three equal colours. t[*s, 1] -> t[*s, 3].

    Raises: ValueError if the last axis is not 1. Source: tf.image.grayscale_to_rgb."""
def hsv_to_rgb(images: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Red, green and blue of hue, saturation and value from 0 to 1. f[*s, 3] -> f[*s, 3].

    Raises: FailedPreconditionError (in a graph ValueError) if the last axis is not 3. Source: tf.image.hsv_to_rgb."""
def image_gradients(image: TensorLike) -> builtins.tuple[Tensor, Tensor]:
    """(what a pixel lacks to the one below, to the one on its right), 0 at the edge. t[b, h, w, c] -> two of the same.

    Raises: ValueError for another rank. Source: tf.image.image_gradients."""
def non_max_suppression(boxes: TensorLike, scores: TensorLike, max_output_size: TensorLike, iou_threshold: TensorLike = 0.5, score_threshold: TensorLike = ..., name: builtins.str | None = None) -> Tensor:
    """The best boxes, none of which has more than a share in common with a better one. f[n, 4], f[n] -> i32[k].

    max_output_size: The most boxes. iou_threshold: The share of the union. score_threshold: What scores must be above.
    Raises: InvalidArgumentError for shapes or numbers that do not fit. Source: tf.image.non_max_suppression."""
def non_max_suppression_overlaps(overlaps: TensorLike, scores: TensorLike, max_output_size: TensorLike, overlap_threshold: TensorLike = 0.5, score_threshold: TensorLike = ..., name: builtins.str | None = None) -> Tensor:
    """`non_max_suppression` of boxes whose overlaps are known. f[n, n], f[n] -> i32[k].

    Raises: InvalidArgumentError as that. Source: tf.image.non_max_suppression_overlaps."""
def non_max_suppression_padded(boxes: TensorLike, scores: TensorLike, max_output_size: TensorLike, iou_threshold: TensorLike = 0.5, score_threshold: TensorLike = ..., pad_to_max_output_size: builtins.bool = False, name: builtins.str | None = None, sorted_input: builtins.bool = False, canonicalized_coordinates: builtins.bool = False, tile_size: builtins.int = 512) -> builtins.tuple[Tensor, Tensor]:
    """`non_max_suppression`, with zeros up to the most boxes if wanted, and their number. -> i32[(b,) k], i32[(b)].

    boxes and scores with a batch need `pad_to_max_output_size`. sorted_input, canonicalized_coordinates, tile_size say
    what is known of the boxes, and how TensorFlow computes; nothing here depends on them.
    Raises: ValueError for a batch without it. Source: tf.image.non_max_suppression_padded."""
def non_max_suppression_with_scores(boxes: TensorLike, scores: TensorLike, max_output_size: TensorLike, iou_threshold: TensorLike = 0.5, score_threshold: TensorLike = ..., soft_nms_sigma: TensorLike = 0.0, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor]:
    """`non_max_suppression` and the scores; with a sigma, boxes that overlap get lower scores instead. -> i32[k], f[k].

    Raises: InvalidArgumentError as that. Source: tf.image.non_max_suppression_with_scores."""
def pad_to_bounding_box(image: TensorLike, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any, name: builtins.str | None = None) -> Tensor:
    """Images with zeros around them, so that they stand at an offset in a larger one. t[(b,) h, w, c] -> t.

    Raises: ValueError for offsets below 0 and a target that is too small. Source: tf.image.pad_to_bounding_box."""
def per_image_standardization(image: TensorLike) -> Tensor:
    """(x - mean) / max(stddev, 1 / sqrt(numbers in it)) of each image. t[*b, h, w, c] -> f32 of that shape.

    Raises: ValueError for ranks below 3. Source: tf.image.per_image_standardization."""
def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The ratio of the greatest pixel to the noise between images, in decibels. t[*s, h, w, c], same -> f32[*s].

    Raises: ValueError, InvalidArgumentError too, for shapes that do not fit. Source: tf.image.psnr."""
def random_brightness(image: TensorLike, max_delta: builtins.float, seed: builtins.int | None = None) -> Tensor:
    """`adjust_brightness` by a number from -max_delta to max_delta. t[*s] -> t[*s].

    Raises: ValueError for a max_delta below 0. Source: tf.image.random_brightness."""
def random_contrast(image: TensorLike, lower: builtins.float, upper: builtins.float, seed: builtins.int | None = None) -> Tensor:
    """`adjust_contrast` by a factor from lower to upper. t[*s, h, w, c] -> t.

    Raises: ValueError unless 0 <= lower < upper. Source: tf.image.random_contrast."""
def random_crop(value: TensorLike, size: TensorLike, seed: builtins.int | None = None, name: builtins.str | None = None) -> Tensor:
    """A part of a tensor, as large as `size`, at a random place. t[*s], i[rank] -> t[*size].

    Raises: InvalidArgumentError for a size that is larger than the tensor. Source: tf.image.random_crop."""
def random_flip_left_right(image: TensorLike, seed: builtins.int | None = None) -> Tensor:
    """Each image mirrored with a probability of a half. t[(b,) h, w, c] -> the same.

    Raises: ValueError for another rank. Source: tf.image.random_flip_left_right."""
def random_flip_up_down(image: TensorLike, seed: builtins.int | None = None) -> Tensor:
    """Each image upside down with a probability of a half. t[(b,) h, w, c] -> the same.

    Raises: ValueError for another rank. Source: tf.image.random_flip_up_down."""
def random_hue(image: TensorLike, max_delta: builtins.float, seed: builtins.int | None = None) -> Tensor:
    """`adjust_hue` by a number from -max_delta to max_delta. t[*s, 3] -> t[*s, 3].

    Raises: ValueError unless 0 <= max_delta <= 0.5. Source: tf.image.random_hue."""
def random_saturation(image: TensorLike, lower: builtins.float, upper: builtins.float, seed: builtins.int | None = None) -> Tensor:
    """`adjust_saturation` by a factor from lower to upper. t[*s, 3] -> t[*s, 3].

    Raises: ValueError unless 0 <= lower < upper. Source: tf.image.random_saturation."""
def resize(images: TensorLike, size: TensorLike, method: builtins.str | builtins.int = 'bilinear', preserve_aspect_ratio: builtins.bool = False, antialias: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Images of another height and width. t[b, h, w, c] or t[h, w, c], i32[2] -> f32 of that size.

    Images that have the size already are converted all the same, and smoothed by the methods that smooth.

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
def resize_with_crop_or_pad(image: TensorLike, target_height: TensorLike, target_width: TensorLike) -> Tensor:
    """Images cut at their edges, or with zeros around them, to have a size. t[(b,) h, w, c] -> t[(b,) target, c].

    Raises: ValueError for sizes that are not above 0 and other ranks. Source: tf.image.resize_with_crop_or_pad."""
def resize_with_pad(image: TensorLike, target_height: TensorLike, target_width: TensorLike, method: builtins.str = 'bilinear', antialias: builtins.bool = False) -> Tensor:
    """Images as large as fits a size, with zeros where their sides have another ratio. -> t[(b,) target, c].

    method, antialias: As in `image.resize`. Raises: ValueError as that. Source: tf.image.resize_with_pad."""
def rgb_to_grayscale(images: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Brightness of each pixel, as it looks. t[*s, 3] -> t[*s, 1]. Source: tf.image.rgb_to_grayscale."""
def rgb_to_hsv(images: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Hue, saturation and value of red, green and blue from 0 to 1. f[*s, 3] -> f[*s, 3].

    Raises: FailedPreconditionError (in a graph ValueError) if the last axis is not 3. Source: tf.image.rgb_to_hsv."""
def rgb_to_yiq(images: TensorLike) -> Tensor:
    """Brightness and two differences of red, green and blue. f[*s, 3] -> f[*s, 3]. Source: tf.image.rgb_to_yiq."""
def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Brightness and two differences of red, green and blue. f[*s, 3] -> f[*s, 3]. Source: tf.image.rgb_to_yuv."""
def rot90(image: TensorLike, k: TensorLike = 1, name: builtins.str | None = None) -> Tensor:
    """Images turned k times by a quarter, against the clock. t[(b,) h, w, c] -> t.

    k: An int, or a tensor of one. Raises: ValueError for another rank, or several k. Source: tf.image.rot90."""
def sample_distorted_bounding_box(image_size: TensorLike, bounding_boxes: TensorLike, seed: builtins.int = 0, min_object_covered: TensorLike = 0.1, aspect_ratio_range: Sequence[builtins.float] | None = None, area_range: Sequence[builtins.float] | None = None, max_attempts: builtins.int | None = None, use_image_if_no_bounding_boxes: builtins.bool | None = None, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """A box by chance that holds enough of some given one: where it begins i[3], its size i[3], it itself f32[1, 1, 4].

    image_size: i[3]. bounding_boxes: f32[b, n, 4], of rows and columns from 0 to 1. The box has an aspect of the range
    (0.75 to 1.33) and an area of the range (0.05 to 1 of the image); after max_attempts (100) it is the image.
    Raises: InvalidArgumentError for no boxes, unless the image counts as one. Source: same name."""
def sobel_edges(image: TensorLike) -> Tensor:
    """Change of pixels downwards and to the right, by Sobel's filter. t[b, h, w, c] -> t[b, h, w, c, 2].

    Source: tf.image.sobel_edges."""
def ssim(img1: TensorLike, img2: TensorLike, max_val: TensorLike, filter_size: builtins.int = 11, filter_sigma: builtins.float = 1.5, k1: builtins.float = 0.01, k2: builtins.float = 0.03, return_index_map: builtins.bool = False) -> Tensor:
    """The structural similarity of images, up to 1, or of each place in them. t[*s, h, w, c], same -> f32[*s].

    max_val: The greatest number a pixel can be less the least. filter_size, filter_sigma: of the Gaussian window.
    k1, k2: What keeps quotients finite, as shares of max_val. Raises: InvalidArgumentError (in a graph
    ValueError) for shapes that do not fit and images smaller than the window. Source: tf.image.ssim."""
def ssim_multiscale(img1: TensorLike, img2: TensorLike, max_val: TensorLike, power_factors: Sequence[builtins.float] = ..., filter_size: builtins.int = 11, filter_sigma: builtins.float = 1.5, k1: builtins.float = 0.01, k2: builtins.float = 0.03) -> Tensor:
    """The product of the similarities of images at half, a quarter ... their size, each to a power. -> f32[*s].

    power_factors: One for each scale, the whole images first. Else as `image.ssim`. Source: tf.image.ssim_multiscale."""
def stateless_random_brightness(image: TensorLike, max_delta: builtins.float, seed: TensorLike) -> Tensor:
    """`random_brightness`, the same for the same seed i[2]. Source: tf.image.stateless_random_brightness."""
def stateless_random_contrast(image: TensorLike, lower: builtins.float, upper: builtins.float, seed: TensorLike) -> Tensor:
    """`random_contrast`, the same for the same seed i[2]. Source: tf.image.stateless_random_contrast."""
def stateless_random_crop(value: TensorLike, size: TensorLike, seed: TensorLike, name: builtins.str | None = None) -> Tensor:
    """`random_crop`, the same for the same seed i[2]. Source: tf.image.stateless_random_crop."""
def stateless_random_flip_left_right(image: TensorLike, seed: TensorLike) -> Tensor:
    """`random_flip_left_right`, the same for the same seed i[2]. Source: tf.image.stateless_random_flip_left_right."""
def stateless_random_flip_up_down(image: TensorLike, seed: TensorLike) -> Tensor:
    """`random_flip_up_down`, the same for the same seed i[2]. Source: tf.image.stateless_random_flip_up_down."""
def stateless_random_hue(image: TensorLike, max_delta: builtins.float, seed: TensorLike) -> Tensor:
    """`random_hue`, the same for the same seed i[2]. Source: tf.image.stateless_random_hue."""
def stateless_random_saturation(image: TensorLike, lower: builtins.float, upper: builtins.float, seed: TensorLike | None = None) -> Tensor:
    """`random_saturation`, the same for the same seed i[2]. Source: tf.image.stateless_random_saturation."""
def stateless_sample_distorted_bounding_box(image_size: TensorLike, bounding_boxes: TensorLike, seed: TensorLike, min_object_covered: TensorLike = 0.1, aspect_ratio_range: Sequence[builtins.float] | None = None, area_range: Sequence[builtins.float] | None = None, max_attempts: builtins.int | None = None, use_image_if_no_bounding_boxes: builtins.bool | None = None, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """`sample_distorted_bounding_box`, the same for the same seed i[2]. Source: same name."""
def total_variation(images: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The sum of the differences between neighbours. t[(b,) h, w, c] -> t[(b)].

    Raises: ValueError for another rank. Source: tf.image.total_variation."""
def transpose(image: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Images with rows and columns exchanged. t[(b,) h, w, c] -> t[(b,) w, h, c].

    Raises: ValueError for another rank. Source: tf.image.transpose."""
def yiq_to_rgb(images: TensorLike) -> Tensor:
    """Red, green and blue of what `rgb_to_yiq` gives. f[*s, 3] -> f[*s, 3]. Source: tf.image.yiq_to_rgb."""
def yuv_to_rgb(images: TensorLike) -> Tensor:
    """Red, green and blue of what `rgb_to_yuv` gives. f[*s, 3] -> f[*s, 3]. Source: tf.image.yuv_to_rgb."""
