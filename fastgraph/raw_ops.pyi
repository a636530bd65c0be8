# Written by tools/stubs.py from the ops' definitions; do not edit.
from collections.abc import Iterable
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.broadcast_shapes import SummedAxes
from fastgraph.ops.cudnn_rnn import cudnn_rnn as _CudnnRNNV3
from fastgraph.ops.cudnn_rnn import cudnn_rnn_of_one_length as _CudnnRNN
from fastgraph.ops.sorting import Unique
from fastgraph.ops.sorting import UniqueWithCounts
import builtins

CudnnRNN = _CudnnRNN
CudnnRNNV3 = _CudnnRNNV3
def BroadcastGradientArgs(s0: TensorLike, s1: TensorLike, name: builtins.str | None = None) -> SummedAxes:
    """The axes over which gradients of two tensors of shapes `s0` and `s1`, broadcast together, are summed.

    i[m], i[n] -> i[k], i[l]. Raises: InvalidArgumentError if the shapes do not broadcast.
    Source: tf.raw_ops.BroadcastGradientArgs."""
def Bucketize(input: TensorLike, boundaries: Iterable[builtins.float], name: builtins.str | None = None) -> Tensor:
    """Number of the sorted `boundaries` that are no more than each number: t[*s] -> i32[*s].

    Raises: InvalidArgumentError for boundaries that are not sorted. Source: tf.raw_ops.Bucketize."""
def ImageProjectiveTransformV3(images: TensorLike, transforms: TensorLike, output_shape: TensorLike, fill_value: TensorLike, interpolation: builtins.str, fill_mode: builtins.str = 'CONSTANT', name: builtins.str | None = None) -> Tensor:
    """Images seen through projective transforms [a0 a1 a2 b0 b1 b2 c0 c1]. t[b, h, w, c], f32[b or 1, 8] -> t.

    The pixel (x, y) of the result comes from ((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k), k = c0 x + c1 y + 1.
    Raises: InvalidArgumentError for transforms of another shape, ValueError for unknown modes.
    Source: tf.raw_ops.ImageProjectiveTransformV3."""
def RandomGammaGrad(alpha: TensorLike, sample: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Slope of gamma variates `sample` along their shape `alpha`. f[*s], f[*s] -> f[*s].

    Source: tf.raw_ops.RandomGammaGrad."""
def UniqueV2(x: TensorLike, axis: TensorLike, out_idx: DTypeLike = ..., name: builtins.str | None = None) -> Unique:
    """`raw_ops.UniqueWithCountsV2` without the counts. Source: tf.raw_ops.UniqueV2."""
def UniqueWithCountsV2(x: TensorLike, axis: TensorLike, out_idx: DTypeLike = ..., name: builtins.str | None = None) -> UniqueWithCounts:
    """The different slices along the one axis of `axis`, in order of appearance: t, i[n], i[m]; of a vector if empty.

    Raises: InvalidArgumentError for several axes. Source: tf.raw_ops.UniqueWithCountsV2."""
