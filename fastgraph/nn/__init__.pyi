# Written by tools/stubs.py from the ops' definitions; do not edit.
from collections.abc import Callable
from collections.abc import Sequence
from fastgraph import sigmoid as sigmoid
from fastgraph import space_to_batch as space_to_batch
from fastgraph import tanh as tanh
from fastgraph.composites.ctc_decoders import ctc_beam_search_decoder as ctc_beam_search_decoder
from fastgraph.composites.ctc_decoders import ctc_greedy_decoder as ctc_greedy_decoder
from fastgraph.composites.sparse_lookups import embedding_lookup_sparse as embedding_lookup_sparse
from fastgraph.composites.sparse_lookups import safe_embedding_lookup_sparse as safe_embedding_lookup_sparse
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import SizeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.nn import experimental as experimental
from fastgraph.nn import lrn as _local_response_normalization
from fastgraph.nn import silu as _swish
from fastgraph.ops.fractional_pooling import FractionalAvgPool
from fastgraph.ops.fractional_pooling import FractionalMaxPool
from fastgraph.ops.isotonic_regression import IsotonicRegression
from fastgraph.ops.patches import MaxPoolWithArgmax
from fastgraph.ops.top_k import ApproxTopK
from fastgraph.ops.top_k import TopKV2
from fastgraph.ops.window_arguments import PadLike
from typing import Any
import builtins

def all_candidate_sampler(true_classes: TensorLike, num_true: TensorLike, num_sampled: TensorLike, unique: builtins.bool, seed: builtins.int | None = None, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """Every class below num_sampled once, each expected once: for tests. Source: tf.random.all_candidate_sampler."""
def approx_max_k(operand: TensorLike, k: TensorLike, reduction_dimension: builtins.int = -1, recall_target: builtins.float = 0.95, reduction_input_size_override: builtins.int = -1, aggregate_to_topk: builtins.bool = True, name: builtins.str | None = None) -> ApproxTopK:
    """The k greatest elements along an axis, falling, and where they stand; exact here. f[*s] -> f[*r], i32[*r].

    Source: tf.math.approx_max_k."""
def approx_min_k(operand: TensorLike, k: TensorLike, reduction_dimension: builtins.int = -1, recall_target: builtins.float = 0.95, reduction_input_size_override: builtins.int = -1, aggregate_to_topk: builtins.bool = True, name: builtins.str | None = None) -> ApproxTopK:
    """The k least elements along an axis, rising, and where they stand; exact here. f[*s] -> f[*r], i32[*r].

    Source: tf.math.approx_min_k."""
def atrous_conv2d(value: TensorLike, filters: TensorLike, rate: TensorLike, padding: PadLike, name: builtins.str | None = None) -> Tensor:
    """Correlation with a filter whose elements are `rate` places apart. t[n, h, w, c], t[kh, kw, c, f] -> t[n, *o, f].

    Raises: ValueError for a rate below 1 and shapes that do not fit. Source: tf.nn.atrous_conv2d; Chen et al. 2016."""
def atrous_conv2d_transpose(value: TensorLike, filters: TensorLike, output_shape: SizeLike, rate: TensorLike, padding: PadLike, name: builtins.str | None = None) -> Tensor:
    """The gradient of atrous_conv2d to its input, as an op of its own. t[n, h, w, f], t[kh, kw, c, f] -> t[*shape].

    Raises: ValueError for a rate below 1 or depths that differ, InvalidArgumentError for a filter of another rank.
    Source: tf.nn.atrous_conv2d_transpose."""
def avg_pool(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str | None = None, name: builtins.str | None = None) -> Tensor:
    """The mean of each window, of what is inside, over one to three spatial axes. f[n, *s, c] -> f[n, *o, c].

    Raises: InvalidArgumentError for windows that do not fit; ValueError for other arguments. Source: tf.nn.avg_pool."""
def avg_pool1d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str | None = 'NWC', name: builtins.str | None = None) -> Tensor:
    """The mean of each window of one spatial axis. f[n, w, c] -> f[n, ow, c]. Source: tf.nn.avg_pool1d."""
def avg_pool2d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str | None = 'NHWC', name: builtins.str | None = None) -> Tensor:
    """The mean of each window of two spatial axes. f[n, h, w, c] -> f[n, oh, ow, c]. Source: tf.nn.avg_pool2d."""
def avg_pool3d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str | None = 'NDHWC', name: builtins.str | None = None) -> Tensor:
    """The mean of each window of three spatial axes. f[n, d, h, w, c] -> f[n, od, oh, ow, c]. Source: tf.nn.avg_pool3d."""
def batch_norm_with_global_normalization(input: TensorLike, mean: TensorLike, variance: TensorLike, beta: TensorLike, gamma: TensorLike, variance_epsilon: TensorLike, scale_after_normalization: builtins.bool, name: builtins.str | None = None) -> Tensor:
    """(input - mean) / sqrt(variance + epsilon), times gamma if it is to be scaled, plus beta. f[n, h, w, c] -> same.

    Source: tf.nn.batch_norm_with_global_normalization; Ioffe and Szegedy 2015."""
def batch_normalization(x: TensorLike, mean: TensorLike, variance: TensorLike, offset: TensorLike | None, scale: TensorLike | None, variance_epsilon: TensorLike, name: builtins.str | None = None) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon), times scale and plus offset where given; all broadcast. f[*s] -> f[*s].

    Source: Ioffe and Szegedy 2015; tf.nn.batch_normalization."""
def bias_add(value: TensorLike, bias: TensorLike, data_format: builtins.str | None = None, name: builtins.str | None = None) -> Tensor:
    """value plus a bias per channel (the last axis; the second of "NC..."). t[*s, c], t[c] -> t[*s, c].

    Raises: InvalidArgumentError if the channels do not fit; ValueError for another format. Source: tf.nn.bias_add."""
def collapse_repeated(labels: TensorLike, seq_length: TensorLike, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Labels without those equal to the one before, zeros after them, and how many are left.

    i[n, t], i[n] -> i[n, m], i[n].
    Raises: InvalidArgumentError for labels of another rank, ValueError for such lengths.
    Source: tf.nn.collapse_repeated."""
def compute_accidental_hits(true_classes: TensorLike, sampled_candidates: TensorLike, num_true: TensorLike, seed: builtins.int | None = None, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """Find where sampled classes are true ones. i64[b, num_true], i64[n] -> rows i32[k], places i64[k], weights f32[k].

    The weights are the least float32. Source: tf.nn.compute_accidental_hits."""
def compute_average_loss(per_example_loss: TensorLike, sample_weight: TensorLike | None = None, global_batch_size: TensorLike | None = None) -> Tensor:
    """The sum of losses, weighted, over the size of the batch: global_batch_size, or the loss's first extent.

    That of a replica is the extent times their number. f[n, *s] -> f[]. Raises: ValueError for a scalar loss or a size
    that is no scalar; TypeError for a size that is no integer; InvalidArgumentError for a negative one and losses that
    are no numbers; RuntimeError between replicas. Source: tf.nn.compute_average_loss."""
def conv1d(input: TensorLike, filters: TensorLike, stride: TensorLike, padding: PadLike, data_format: builtins.str = 'NWC', dilations: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Correlation over one spatial axis. t[*b, w, c], t[k, c/groups, f] -> t[*b, ow, f].

    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.nn.conv1d."""
def conv1d_transpose(input: TensorLike, filters: TensorLike, output_shape: SizeLike, strides: TensorLike, padding: PadLike = 'SAME', data_format: builtins.str | None = 'NWC', dilations: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """conv1d's gradient to its input, as an op. t[n, w, f], t[k, c, f] -> t[*output_shape].

    Raises: InvalidArgumentError if conv1d would not make input of a tensor of output_shape.
    Source: tf.nn.conv1d_transpose."""
def conv2d(input: TensorLike, filters: TensorLike, strides: TensorLike | None, padding: PadLike, data_format: builtins.str | None = 'NHWC', dilations: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Correlation over two spatial axes. t[*b, h, w, c], t[kh, kw, c/groups, f] -> t[*b, oh, ow, f].

    The channels of input fall into groups where a filter has fewer. Raises: InvalidArgumentError for shapes that do not
    fit; ValueError for other arguments. Source: tf.nn.conv2d."""
def conv2d_transpose(input: TensorLike, filters: TensorLike, output_shape: SizeLike, strides: TensorLike, padding: PadLike = 'SAME', data_format: builtins.str | None = 'NHWC', dilations: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """conv2d's gradient to its input, as an op. t[n, h, w, f], t[kh, kw, c, f] -> t[*output_shape].

    Raises: InvalidArgumentError if conv2d would not make input of a tensor of output_shape.
    Source: tf.nn.conv2d_transpose."""
def conv3d(input: TensorLike, filters: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str | None = 'NDHWC', dilations: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Correlation over three spatial axes. t[*b, d, h, w, c], t[kd, kh, kw, c/groups, f] -> t[*b, od, oh, ow, f].

    Raises: InvalidArgumentError for shapes that do not fit; TypeError for strides or padding of another type.
    Source: tf.nn.conv3d."""
def conv3d_transpose(input: TensorLike, filters: TensorLike, output_shape: SizeLike, strides: TensorLike, padding: PadLike = 'SAME', data_format: builtins.str | None = 'NDHWC', dilations: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """conv3d's gradient to its input, as an op. t[n, d, h, w, f], t[kd, kh, kw, c, f] -> t[*output_shape].

    Raises: InvalidArgumentError if conv3d would not make input of a tensor of output_shape.
    Source: tf.nn.conv3d_transpose."""
def conv_transpose(input: TensorLike, filters: TensorLike, output_shape: SizeLike, strides: TensorLike, padding: PadLike = 'SAME', data_format: builtins.str | None = None, dilations: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """convNd_transpose for as many spatial axes as output_shape has. Source: tf.nn.conv_transpose.

    t[n, *s, f], t[*k, c, f] -> t[*output_shape]. Raises: ValueError for another rank."""
def convolution(input: TensorLike, filters: TensorLike, strides: TensorLike | None = None, padding: PadLike = 'VALID', data_format: builtins.str | None = None, dilations: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Correlation over one, two or three spatial axes, as many as the filter has. Source: tf.nn.convolution.

    t[*b, *s, c], t[*k, c/groups, f] -> t[*b, *o, f]. Raises: ValueError for strides and dilations together, or ranks
    that do not fit."""
def crelu(features: TensorLike, axis: TensorLike | None = -1, name: builtins.str | None = None) -> Tensor:
    """relu of features and of minus features, joined along `axis`. f[*s, n] -> f[*s, 2n]. Source: tf.nn.crelu."""
def ctc_loss(labels: TensorLike, logits: TensorLike, label_length: TensorLike | None, logit_length: TensorLike | None, logits_time_major: builtins.bool = True, unique: TensorLike | None = None, blank_index: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Minus the logarithm of the probability of each row of labels, over all alignments with blanks between.

    i[n, l], f[t, n, c] (f[n, t, c] if not logits_time_major), i[n], i[n] -> f[n]. The blank is class 0, or blank_index.
    `unique` is what `ctc_unique_labels` gives of the labels, and checked alone. Labels may be a SparseTensor [n, l]:
    those of each row follow each other, `label_length` says nothing, `blank_index` must be given, and what no alignment
    has costs infinity.
    Raises: ValueError for lengths left out or a blank that is no class; InvalidArgumentError for shapes that do not
    fit and labels that are no classes or no integers, of sparse ones for rows without labels, for blanks among them and
    for more of them than frames. Source: Graves et al. 2006; tf.nn.ctc_loss."""
def ctc_unique_labels(labels: TensorLike, name: builtins.str | None = None) -> builtins.list[Tensor]:
    """The different labels of each row in the order in which they come, 0 after them; and which each label is.

    t[n, l] -> i64[n, l], i32[n, l]. Raises: InvalidArgumentError, in a graph ValueError, for another rank.
    Source: tf.nn.ctc_unique_labels."""
def depth_to_space(input: TensorLike, block_size: TensorLike, data_format: builtins.str = 'NHWC', name: builtins.str | None = None) -> Tensor:
    """Channels as blocks of block_size x block_size pixels. t[n, h, w, b * b * c] -> t[n, h * b, w * b, c].

    Raises: InvalidArgumentError for channels that b * b does not divide. Source: tf.nn.depth_to_space."""
def depthwise_conv2d(input: TensorLike, filter: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str | None = None, dilations: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Correlation of each channel with m filters of its own. t[n, h, w, c], t[kh, kw, c, m] -> t[n, oh, ow, c * m].

    Raises: InvalidArgumentError for shapes that do not fit, or strides that differ. Source: tf.nn.depthwise_conv2d."""
def depthwise_conv2d_backprop_filter(input: TensorLike, filter_sizes: TensorLike, out_backprop: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str = 'NHWC', dilations: TensorLike = ..., name: builtins.str | None = None) -> Tensor:
    """depthwise_conv2d's gradient to its filter. t[n, h, w, c], i[4], t[n, oh, ow, c * m] -> t[kh, kw, c, m].

    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.nn.depthwise_conv2d_backprop_filter."""
def depthwise_conv2d_backprop_input(input_sizes: TensorLike, filter: TensorLike, out_backprop: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str = 'NHWC', dilations: TensorLike = ..., name: builtins.str | None = None) -> Tensor:
    """depthwise_conv2d's gradient to its input. i[4], t[kh, kw, c, m], t[n, oh, ow, c * m] -> t[n, h, w, c].

    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.nn.depthwise_conv2d_backprop_input."""
def dilation2d(input: TensorLike, filters: TensorLike, strides: TensorLike, padding: builtins.str, data_format: builtins.str, dilations: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The largest sum of each window's elements and the filter's, per channel.

    t[n, h, w, c], t[kh, kw, c] -> t[n, *o, c].
    Raises: ValueError for another data_format; InvalidArgumentError for shapes that do not fit. Source: Serra 1982;
    tf.nn.dilation2d."""
def dropout(x: TensorLike, rate: TensorLike, noise_shape: SizeLike = None, seed: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """x with a share `rate` of the elements 0, the others scaled up by 1 / (1 - rate). f[*s] -> f[*s].

    `noise_shape`, which broadcasts to x's, says which elements fall together; None in it is x's own extent.
    Raises: ValueError for integers or a rate outside [0, 1). Source: tf.nn.dropout; Srivastava et al. 2014."""
def elu(features: Any, name: str | None = None) -> Tensor:
    """exp(features) - 1 where negative, else features. f[*s] -> f[*s]. Source: tf.nn.elu."""
def embedding_lookup(params: TensorLike | None, ids: TensorLike, max_norm: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """The rows of params that ids name, shortened to norm max_norm if given. f[n, *r], i[*q] -> f[*q, *r].

    Raises: InvalidArgumentError for an id out of range. Source: tf.nn.embedding_lookup."""
def erosion2d(value: TensorLike, filters: TensorLike, strides: TensorLike, padding: builtins.str, data_format: builtins.str, dilations: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The least difference of each window's elements and the filter's, turned round. t[n, h, w, c] -> t[n, *o, c].

    Raises: as dilation2d. Source: Serra 1982; tf.nn.erosion2d."""
def fixed_unigram_candidate_sampler(true_classes: TensorLike, num_true: TensorLike, num_sampled: TensorLike, unique: builtins.bool, range_max: TensorLike, vocab_file: builtins.str = '', distortion: builtins.float = 1.0, num_reserved_ids: TensorLike = 0, num_shards: TensorLike = 1, shard: TensorLike = 0, unigrams: Sequence[builtins.float] = ..., seed: builtins.int | None = None, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """`uniform_candidate_sampler` by weights: `unigrams`, or the last column of a CSV file, to the power `distortion`.

    num_reserved_ids: so many classes come first and are never drawn. Numbers follow the weights, and are not
    TensorFlow's. Source: tf.random.fixed_unigram_candidate_sampler."""
def fractional_avg_pool(value: TensorLike, pooling_ratio: builtins.float | Sequence[builtins.float], pseudo_random: builtins.bool = False, overlapping: builtins.bool = False, seed: TensorLike | None = 0, name: builtins.str | None = None) -> FractionalAvgPool:
    """The mean of each of extent / pooling_ratio random regions. t[n, h, w, c] -> t[n, *o, c], i64[o + 1] x2.

    Raises: ValueError for ratios below 1, or over batch or channels; InvalidArgumentError for other dtypes or ranks.
    Source: Graham 2014; tf.nn.fractional_avg_pool."""
def fractional_max_pool(value: TensorLike, pooling_ratio: builtins.float | Sequence[builtins.float], pseudo_random: builtins.bool = False, overlapping: builtins.bool = False, seed: TensorLike = 0, name: builtins.str | None = None) -> FractionalMaxPool:
    """The largest element of each of extent / pooling_ratio random regions.

    t[n, h, w, c] -> t[n, *o, c], i64[o + 1] x2.
    Raises: ValueError for ratios below 1, or over batch or channels; InvalidArgumentError for other dtypes or ranks.
    Source: Graham 2014; tf.nn.fractional_max_pool."""
def gelu(features: TensorLike, approximate: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Gaussian error linear unit, or its tanh form. f[*s] -> f[*s].

    Raises: ValueError for other dtypes. Source: Hendrycks and Gimpel 2016; tf.nn.gelu."""
def in_top_k(targets: TensorLike, predictions: TensorLike, k: TensorLike, name: builtins.str | None = None) -> Tensor:
    """True where the target of a row is among its k greatest predictions. i[n], f32[n, c] -> bool[n].

    Never for a target out of range or where something is not finite.
    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.math.in_top_k."""
def isotonic_regression(inputs: TensorLike, decreasing: builtins.bool = True, axis: TensorLike = -1) -> IsotonicRegression:
    """The falling (or rising) numbers along `axis` nearest to inputs, and each element's level. f[*s] -> f, i32[*s].

    Raises: InvalidArgumentError for other dtypes than real ones.
    Source: Best, Chakravarti and Ubhaya 2000; tf.nn.isotonic_regression."""
def l2_loss(t: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Half the sum of squares. f[*s] -> f[]. Source: tf.nn.l2_loss."""
def l2_normalize(x: TensorLike, axis: TensorLike | None = None, epsilon: TensorLike = 1e-12, name: builtins.str | None = None, dim: TensorLike | None = None) -> Tensor:
    """x over its Euclidean norm along `axis`, once `dim`. t[*s] -> t[*s]. Source: tf.nn.l2_normalize."""
def leaky_relu(features: TensorLike, alpha: TensorLike = 0.2, name: builtins.str | None = None) -> Tensor:
    """features where positive, else alpha * features; integers as float32. t[*s] -> f[*s]. Source: tf.nn.leaky_relu."""
local_response_normalization = _local_response_normalization
def log_poisson_loss(targets: TensorLike, log_input: TensorLike, compute_full_loss: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """exp(c) - z * c for a Poisson count z and the log c of its rate. f[*s], f[*s] -> f[*s].

    With compute_full_loss Stirling's approximation of log(z!) is added where z > 1.
    Raises: ValueError if shapes differ. Source: tf.nn.log_poisson_loss."""
def log_softmax(logits: TensorLike, axis: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """log(softmax(logits)) along `axis` (-1), without overflow. f[*s] -> f[*s]. Source: tf.nn.log_softmax."""
def lrn(input: TensorLike, depth_radius: TensorLike = 5, bias: TensorLike = 1, alpha: TensorLike = 1, beta: TensorLike = 0.5, name: builtins.str | None = None) -> Tensor:
    """Each element over (bias + alpha * the squares of its channel's neighbours)**beta. f[n, h, w, c] -> same.

    Raises: InvalidArgumentError for another rank, another dtype or a negative radius. Source: Krizhevsky et al. 2012;
    tf.nn.local_response_normalization."""
def max_pool(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str | None = None, name: builtins.str | None = None) -> Tensor:
    """The largest element of each window, over one to three spatial axes. t[n, *s, c] -> t[n, *o, c].

    NaN is passed over. Raises: InvalidArgumentError for windows that do not fit; ValueError for other arguments. Source: tf.nn.max_pool."""
def max_pool1d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str | None = 'NWC', name: builtins.str | None = None) -> Tensor:
    """The largest element of each window of one spatial axis. t[n, w, c] -> t[n, ow, c]. Source: tf.nn.max_pool1d."""
def max_pool2d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str | None = 'NHWC', name: builtins.str | None = None) -> Tensor:
    """The largest element of each window of two spatial axes. t[n, h, w, c] -> t[n, oh, ow, c]. Source: tf.nn.max_pool2d."""
def max_pool3d(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str | None = 'NDHWC', name: builtins.str | None = None) -> Tensor:
    """The largest element of each window of three spatial axes. t[n, d, h, w, c] -> t[n, od, oh, ow, c]. Source: tf.nn.max_pool3d."""
def max_pool_with_argmax(input: TensorLike, ksize: TensorLike, strides: TensorLike, padding: PadLike, data_format: builtins.str = 'NHWC', output_dtype: DTypeLike = ..., include_batch_in_index: builtins.bool = False, name: builtins.str | None = None) -> MaxPoolWithArgmax:
    """The largest element of each window, and where it stands: (row * width + column) * channels + channel.

    t[n, h, w, c] -> t[n, *o, c], i[n, *o, c].
    Raises: ValueError for another data_format; InvalidArgumentError for windows that do not fit. Source:
    tf.nn.max_pool_with_argmax."""
def moments(x: TensorLike, axes: TensorLike, shift: TensorLike | None = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Mean and variance along `axes`. f[*s] -> f[*r], f[*r]. Source: tf.nn.moments."""
def nce_loss(weights: Any, biases: Any, labels: TensorLike, inputs: TensorLike, num_sampled: TensorLike, num_classes: TensorLike, num_true: builtins.int = 1, sampled_values: Any = None, remove_accidental_hits: builtins.bool = False, name: builtins.str = 'nce_loss') -> Tensor:
    """Noise-contrastive loss of each row. f[n, d], f[n], i64[b, k], f[b, d] -> f[b].

    sampled_values: what a candidate sampler gave; None: that of log_uniform_candidate_sampler.
    Source: tf.nn.nce_loss."""
def normalize_moments(counts: TensorLike, mean_ss: TensorLike, variance_ss: TensorLike, shift: TensorLike | None, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Mean and variance from what `sufficient_statistics` gives. f[], f[*r], f[*r] -> f[*r], f[*r].

    Source: tf.nn.normalize_moments."""
def pool(input: TensorLike, window_shape: Any, pooling_type: builtins.str, strides: TensorLike | None = None, padding: PadLike = 'VALID', data_format: builtins.str | None = None, dilations: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """The maximum ("MAX") or mean ("AVG") of windows over len(window_shape) axes. t[n, *s, c] -> t[n, *o, c].

    Args:
        input: A tensor with the spatial axes *s between the batch's and the channels'.
        window_shape: The window's extents, one for each spatial axis.
        pooling_type: "MAX" or "AVG".
        strides: How far the window moves along each; None: 1.
        padding: "VALID": windows inside only; "SAME": as many as there are positions; or explicit pairs.
        data_format: "NWC", "NHWC", "NDHWC" (None), or with the channels second, "NCHW".
        dilations: A window takes every d-th element (padding "VALID" only); None: 1.

    Raises:
        ValueError: These do not go together.

    Examples:
        >>> signal = tf.constant([1.0, 3.0, 2.0, 5.0])[None, :, None]
        >>> tf.nn.pool(signal, [2], "MAX", strides=[2])[0, :, 0]
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([3., 5.], dtype=float32)>

    Source: tf.nn.pool."""
def relu(features: Any, name: str | None = None) -> Tensor:
    """features where positive, else 0; NaN stays. t[*s] -> t[*s]. Source: tf.nn.relu.

    Args:
        features: A tensor of real numbers.

    Raises:
        InvalidArgumentError: features are no real numbers.

    Examples:
        >>> tf.nn.relu([-1.5, 0.0, 2.0])
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([0., 0., 2.], dtype=float32)>"""
def relu6(features: Any, name: str | None = None) -> Tensor:
    """features limited to [0, 6]. t[*s] -> t[*s]. Source: tf.nn.relu6."""
def sampled_softmax_loss(weights: Any, biases: Any, labels: TensorLike, inputs: TensorLike, num_sampled: TensorLike, num_classes: TensorLike, num_true: builtins.int = 1, sampled_values: Any = None, remove_accidental_hits: builtins.bool = True, seed: builtins.int | None = None, name: builtins.str = 'sampled_softmax_loss') -> Tensor:
    """Cross-entropy over the true and some sampled classes. f[n, d], f[n], i64[b, k], f[b, d] -> f[b].

    sampled_values: what a candidate sampler gave; None: that of log_uniform_candidate_sampler.
    Source: tf.nn.sampled_softmax_loss."""
def scale_regularization_loss(regularization_loss: TensorLike) -> Tensor:
    """The sum of a regularisation loss over the number of replicas; of integers a float. f[*s] -> f[].

    Raises: RuntimeError between replicas. Source: tf.nn.scale_regularization_loss."""
def selu(features: Any, name: str | None = None) -> Tensor:
    """Scaled exponential linear unit. f[*s] -> f[*s]. Source: Klambauer et al. 2017, eq. 2; tf.nn.selu."""
def separable_conv2d(input: TensorLike, depthwise_filter: TensorLike, pointwise_filter: TensorLike, strides: TensorLike, padding: PadLike, data_format: TensorLike | None = None, dilations: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """depthwise_conv2d, then conv2d of window 1x1. t[n, h, w, c], t[kh, kw, c, m], t[1, 1, c*m, f] -> t[n, oh, ow, f].

    Raises: ValueError if the second window is not 1x1. Source: tf.nn.separable_conv2d."""
def sigmoid_cross_entropy_with_logits(labels: TensorLike | None = None, logits: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Cross entropy of independent yes/no labels: max(x, 0) - x * z + log(1 + exp(-|x|)). f[*s], f[*s] -> f[*s].

    Raises: ValueError if shapes differ. Source: tf.nn.sigmoid_cross_entropy_with_logits."""
def silu(features: TensorLike, beta: TensorLike = 1.0) -> Tensor:
    """features * sigmoid(beta * features). f[*s] -> f[*s]. Source: tf.nn.silu."""
def softmax(logits: TensorLike, axis: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """exp(logits) / sum(exp(logits)) along `axis` (-1). f[*s] -> f[*s].

    Args:
        logits: Floating, of rank 1 or more.
        axis: The axis along which the results sum to 1; None: the last.

    Raises:
        InvalidArgumentError: The dtype is no floating one, or the axis is out of range.

    Examples:
        >>> tf.nn.softmax([[0.0, 0.0], [0.0, 1000.0]])
        <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
        array([[0.5, 0.5],
               [0. , 1. ]], dtype=float32)>

    Source: tf.nn.softmax."""
def softmax_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, axis: TensorLike = -1, name: builtins.str | None = None) -> Tensor:
    """-sum(labels * log(softmax(logits))) along `axis`. f[*s], f[*s] -> f[*r].

    Raises: InvalidArgumentError for shapes that do not broadcast. Source: tf.nn.softmax_cross_entropy_with_logits."""
def softplus(features: Any, name: str | None = None) -> Tensor:
    """log(1 + exp(features)), without overflow. f[*s] -> f[*s]. Source: tf.math.softplus.

    Args:
        features: A floating tensor.

    Raises:
        InvalidArgumentError: features are of another dtype.

    Examples:
        >>> tf.math.softplus([-1000.0, 1000.0])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([   0., 1000.], dtype=float32)>"""
def softsign(features: Any, name: str | None = None) -> Tensor:
    """features / (1 + |features|). f[*s] -> f[*s]. Source: tf.nn.softsign."""
def space_to_depth(input: TensorLike, block_size: TensorLike, data_format: builtins.str = 'NHWC', name: builtins.str | None = None) -> Tensor:
    """Blocks of block_size x block_size pixels as channels. t[n, h, w, c] -> t[n, h / b, w / b, b * b * c].

    Raises: InvalidArgumentError for extents that b does not divide. Source: tf.nn.space_to_depth."""
def sparse_softmax_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, name: builtins.str | None = None) -> Tensor:
    """-log(softmax(logits)) at the label of each row. i[*s], f[*s, n] -> f[*s].

    Raises: InvalidArgumentError for a label out of range; ValueError for shapes that do not fit.
    Source: tf.nn.sparse_softmax_cross_entropy_with_logits."""
def sufficient_statistics(x: TensorLike, axes: TensorLike, shift: TensorLike | None = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Number of elements, sum, sum of squares along `axes`, and the shift. f[*s] -> f[], f[*r], f[*r], shift.

    Source: tf.nn.sufficient_statistics."""
swish = _swish
def top_k(input: TensorLike, k: TensorLike = 1, sorted: builtins.bool = True, index_type: DTypeLike = ..., name: builtins.str | None = None) -> TopKV2:
    """The k greatest elements along the last axis, falling, and where they stand. t[*s, n] -> t[*s, k], i[*s, k].

    Raises: InvalidArgumentError for more than there are. Source: tf.math.top_k."""
def weighted_cross_entropy_with_logits(labels: TensorLike, logits: TensorLike, pos_weight: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Cross entropy of yes/no labels z where a yes counts pos_weight times. f[*s], f[*s] -> f[*s].

    (1 - z) * x + (1 + (q - 1) * z) * log(1 + exp(-x)), without overflow.
    Raises: ValueError if shapes differ. Source: tf.nn.weighted_cross_entropy_with_logits."""
def weighted_moments(x: TensorLike, axes: TensorLike, frequency_weights: TensorLike, keepdims: builtins.bool = False, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Mean and variance along `axes` of elements that count as often as their weights say. f[*s] -> f[*r], f[*r].

    Source: tf.nn.weighted_moments."""
def with_space_to_batch(input: TensorLike, dilation_rate: TensorLike, padding: builtins.str, op: Callable[..., Any], filter_shape: TensorLike | None = None, spatial_dims: TensorLike | None = None, data_format: builtins.str | None = None) -> Any:
    """`op(x, spatial_dims_in_use, padding)` on every dilation_rate-th element of the spatial axes: an op with gaps.

    t[n, *s, c] -> what op gives. Raises: ValueError for rates below 1, a padding that is neither "SAME" nor "VALID",
    or "SAME" without a filter_shape. Source: tf.nn.with_space_to_batch."""
def zero_fraction(value: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The share of elements that are 0; NaN of none. t[*s] -> f32[]. Source: tf.math.zero_fraction."""
