"""Types of operations on arrays that are a public function each: partitions, diagonals, pictures, counts.

Rule: as in import_ops.py: a function takes the node's name, its inputs and its attributes, and returns the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.composites import sparse_math
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import DType
from fastgraph.core.conversion import constant
from fastgraph.core.registry import public_function
from fastgraph.errors import NotFoundError
from fastgraph.graphdef.import_values import fixed
from fastgraph.ops.families import invalid

Make = Callable[[str, list[Any], dict[str, Any]], Any]


def public(function: str, *names: str, order: tuple[int, ...] | None = None, **renamed: str) -> Make:
    """A public function of the inputs (in another `order`), and of attributes as keywords: `keyword="attribute"`."""
    keywords = {**{name: name for name in names}, **renamed}

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        given = inputs if order is None else [inputs[i] for i in order]
        said = {key: attrs[attr] for key, attr in keywords.items() if attr in attrs}
        return public_function(function)(*given, **said, name=name)

    return make


def _stitch(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    n = len(inputs) // 2
    return public_function("dynamic_stitch")(inputs[:n], inputs[n:], name=name)


def _diagonal(function: str, align: str = "LEFT_LEFT") -> Make:
    """A part of matrices between the diagonals k: the inputs of the older types leave out the last ones."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        n = 2 if function == "linalg.set_diag" else 1
        said: dict[str, Any] = {}
        if len(inputs) > n:
            said["k"] = fixed(inputs[n], f"Node '{name}': which diagonals are meant").tolist()
        if len(inputs) > n + 1:
            said["padding_value"] = inputs[n + 1]
        if "k" in said:
            said["align"] = attrs.get("align", align)
        return public_function(function)(*inputs[:n], **said, name=name)

    return make


def _bincount(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Count each number below `size` along the last axis, or sum its weights where there are any."""
    values, size, weights = inputs
    rank = values.shape.rank
    if rank is None:
        raise NotFoundError(None, None, f"Node '{name}': counts of a tensor of unknown rank have no equal here")
    if rank > 2:
        raise invalid(f"Shape must be at most rank 2 but is rank {rank}", "DenseBincount")
    binary = attrs.get("binary_output", False)
    has_weights = weights.shape.num_elements() != 0 and not binary  # whether a number is there has none
    return public_function("math.bincount")(
        values, weights=weights if has_weights else None, minlength=size, maxlength=size, dtype=weights.dtype,
        axis=-1 if rank == 2 else None, binary_output=binary, name=name,
    )  # fmt: skip


def _reduced(function: str) -> Make:
    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        axes = fixed(inputs[1], f"Node '{name}': the axes").reshape(-1).tolist()
        return public_function(function)(inputs[0], axes, attrs.get("keep_dims", False), name=name)

    return make


def _reduced_whole(function: str) -> Make:
    """A reduction of a tensor of unknown rank over all of its axes, as range(rank(x)) tells them."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        x, axes = inputs
        maker = axes.value.node
        limit = maker.inputs[1].node if maker.op.name == "range" and len(maker.inputs) > 1 else None
        if limit is None or limit.op.name != "rank" or limit.inputs[0] is not x.value:
            raise NotFoundError(None, None, f"Node '{name}': the axes that a call only knows have no equal here")
        return public_function(function)(x, None, attrs.get("keep_dims", False), name)

    return make


def _top_k(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    k = inputs[1] if len(inputs) > 1 else attrs["k"]
    return public_function("math.top_k")(inputs[0], k, attrs.get("sorted", True), name=name)


def _cumulative(function: str) -> Make:
    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        axis = int(fixed(inputs[1], f"Node '{name}': the axis"))
        return public_function(function)(
            inputs[0], axis, attrs.get("exclusive", False), attrs.get("reverse", False), name=name
        )

    return make


def _seeded(function: str) -> Make:
    """Numbers of a shape and a seed: the older types, whose algorithm is Philox."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        dtype = attrs.get("dtype", dtypes.float32)
        bounds = {"minval": inputs[2], "maxval": inputs[3]} if len(inputs) > 2 else {}
        return public_function(function)(inputs[0], inputs[1], dtype=dtype, **bounds, name=name)

    return make


def _gamma(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return public_function("random.gamma")(inputs[0], inputs[1], dtype=inputs[1].dtype, name=name)


def _poisson(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dtype = attrs.get("dtype", dtypes.int64)
    return public_function("random.poisson")(inputs[0], inputs[1], dtype=dtype, name=name)


def _svd(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Singular values, which are of the matrix's type there, and vectors, none of them where they are not asked for."""
    (x,) = inputs
    if attrs.get("compute_uv", True):
        s, u, v = public_function("linalg.svd")(x, attrs.get("full_matrices", False), name=name)
    else:
        s, u, v = public_function("linalg.svd")(x, compute_uv=False, name=name), *[_none(x.dtype)] * 2
    return public_function("cast")(s, x.dtype), u, v


def _eigh(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Eigenvalues and vectors of Hermitian matrices, as those of `_svd`."""
    if attrs.get("compute_v", True):
        return public_function("linalg.eigh")(inputs[0], name=name)
    return public_function("linalg.eigvalsh")(inputs[0], name=name), _none(inputs[0].dtype)


def _none(dtype: DType) -> Any:
    return public_function("zeros")([0], dtype)


def _segments(kind: str) -> Make:
    """Sums over rows of `data` that are chosen by their numbers first."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        return getattr(sparse_math, f"segment_{kind}")(*inputs, name=name)

    return make


def _patches(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    said = [attrs[key] for key in ("ksizes", "strides", "rates", "padding")]
    return public_function("image.extract_patches")(inputs[0], *said, name=name)


def _split(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Parts of sizes that a call may only know."""
    axis = int(fixed(inputs[2], f"Node '{name}': the axis"))
    return public_function("split")(inputs[0], inputs[1], axis, attrs["num_split"], name)


def _near(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    x, y = inputs
    if not x.shape.is_compatible_with(y.shape):
        raise invalid(f"x and y must be of the same shape. x shape: {x.shape}. y shape: {y.shape}")
    return public_function("less")(public_function("abs")(x - y), attrs.get("tolerance", 1e-5), name=name)


def _layout(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Sizes of axes in one layout as those of another."""
    before, after = attrs.get("src_format", "NHWC"), attrs.get("dst_format", "NCHW")
    order = [before.index(letter) for letter in after]
    if inputs[0].shape.rank is None or inputs[0].shape[0] != len(order):
        raise NotFoundError(None, None, f"Node '{name}': sizes of another number than of axes have no equal here")
    return public_function("gather")(inputs[0], order, name=name)


def _reversed(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    chosen = fixed(inputs[1], f"Node '{name}': the axes")
    return public_function("reverse")(inputs[0], np.flatnonzero(chosen).tolist(), name=name)


def _legacy_blocks(function: str) -> Make:
    """Blocks that are as long along both axes of a picture."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        return public_function(function)(inputs[0], [attrs["block_size"]] * 2, inputs[1], name=name)

    return make


def _nearest(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """The numbers i64[n, k] of the centers nearest to each point, and their squared distances f32[n, k]."""
    points, centers, k = inputs
    squares = public_function("reduce_sum")
    across = public_function("matmul")(points, centers, transpose_b=True)
    away = squares(points * points, 1, keepdims=True) - 2.0 * across + squares(centers * centers, 1)
    most = public_function("minimum")(k, public_function("shape")(centers, k.dtype)[0])
    found = public_function("math.top_k")(-public_function("maximum")(away, 0.0), most)
    return public_function("cast")(found[1], "int64"), -found[0]


def _least_squares(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return public_function("linalg.lstsq")(*inputs, fast=attrs.get("fast", True), name=name)


def _device_index(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return the place of the CPU among kinds of devices, or their number: what Case takes as its last branch."""
    kinds = attrs["device_names"]
    return constant(kinds.index("CPU") if "CPU" in kinds else len(kinds), dtypes.int32)


ARRAYS: dict[str, Make] = {
    "AccumulateNV2": lambda name, inputs, attrs: public_function("add_n")(inputs, name=name),
    "ApproximateEqual": _near,
    "BatchToSpace": _legacy_blocks("batch_to_space"),
    "CheckNumericsV2": public("debugging.check_numerics", "message"),
    "ConjugateTranspose": lambda name, inputs, attrs: public_function("transpose")(*inputs, conjugate=True, name=name),
    "ControlTrigger": lambda name, inputs, attrs: public_function("no_op")(name=name),
    "DataFormatVecPermute": _layout,
    "Diag": public("linalg.tensor_diag"),
    "DiagPart": public("linalg.tensor_diag_part"),
    "GuaranteeConst": public("identity"),
    "MatrixSolveLs": _least_squares,
    "NearestNeighbors": _nearest,
    "Reverse": _reversed,
    "SpaceToBatch": _legacy_blocks("space_to_batch"),
    "TridiagonalMatMul": lambda name, inputs, attrs: public_function("linalg.tridiagonal_matmul")(
        tuple([each[..., 0, :] for each in inputs[:3]]), inputs[3], "sequence", name=name
    ),
    "AdjustHue": public("image.adjust_hue"),
    "AdjustSaturation": public("image.adjust_saturation"),
    "Angle": public("math.angle"),
    "BatchToSpaceND": public("batch_to_space"),
    "Bincount": _bincount,
    "Bucketize": public("raw_ops.Bucketize", "boundaries"),
    "ClipByValue": public("clip_by_value"),
    "Cross": public("linalg.cross"),
    "DenseBincount": _bincount,
    "DepthToSpace": public("nn.depth_to_space", "block_size", "data_format"),
    "DeviceIndex": _device_index,
    "DynamicPartition": public("dynamic_partition", "num_partitions"),
    "DynamicStitch": _stitch,
    "Empty": lambda name, inputs, attrs: public_function("zeros")(inputs[0], attrs["dtype"], name=name),
    "EuclideanNorm": _reduced("math.reduce_euclidean_norm"),
    "ExtractImagePatches": _patches,
    "FakeParam": lambda name, inputs, attrs: public_function("zeros")(
        [n or 0 for n in attrs["shape"].shape or ()], attrs["dtype"], name=name
    ),
    "FakeQuantWithMinMaxVars": public("quantization.fake_quant_with_min_max_vars", "num_bits", "narrow_range"),
    "FakeQuantWithMinMaxVarsPerChannel": public(
        "quantization.fake_quant_with_min_max_vars_per_channel", "num_bits", "narrow_range"
    ),
    "Gather": public("gather"),
    "HSVToRGB": public("image.hsv_to_rgb"),
    "HistogramFixedWidth": public("histogram_fixed_width", "dtype"),
    "ImageProjectiveTransformV3": public("raw_ops.ImageProjectiveTransformV3", "interpolation", "fill_mode"),
    "InTopK": public("nn.in_top_k", "k", order=(1, 0)),
    "InTopKV2": public("nn.in_top_k", order=(1, 0, 2)),
    "L2Loss": public("nn.l2_loss"),
    "LinSpace": public("linspace"),
    "Lu": public("linalg.lu", "output_idx_type"),
    "MatrixDiag": public("linalg.diag"),
    "MatrixDiagPart": _diagonal("linalg.diag_part"),
    "MatrixDiagPartV2": _diagonal("linalg.diag_part"),
    "MatrixDiagPartV3": _diagonal("linalg.diag_part", "RIGHT_LEFT"),
    "MatrixSetDiag": _diagonal("linalg.set_diag"),
    "MatrixSetDiagV2": _diagonal("linalg.set_diag"),
    "MatrixSetDiagV3": _diagonal("linalg.set_diag", "RIGHT_LEFT"),
    "ParallelDynamicStitch": _stitch,
    "Qr": public("linalg.qr", "full_matrices"),
    "RGBToHSV": public("image.rgb_to_hsv"),
    "RandomGamma": _gamma,
    "RandomPoissonV2": _poisson,
    "ReverseSequence": public("reverse_sequence", seq_axis="seq_dim", batch_axis="batch_dim"),
    "Roll": public("roll"),
    "ScatterNdNonAliasingAdd": public("tensor_scatter_nd_add"),
    "SelfAdjointEigV2": _eigh,
    "SpaceToBatchND": public("space_to_batch"),
    "SpaceToDepth": public("nn.space_to_depth", "block_size", "data_format"),
    "SparseSegmentMean": _segments("mean"),
    "SparseSegmentMeanWithNumSegments": _segments("mean"),
    "SparseSegmentSqrtN": _segments("sqrt_n"),
    "SparseSegmentSqrtNWithNumSegments": _segments("sqrt_n"),
    "SparseSegmentSum": _segments("sum"),
    "SparseSegmentSumWithNumSegments": _segments("sum"),
    "StatelessMultinomial": lambda name, inputs, attrs: public_function("random.stateless_categorical")(
        *inputs, dtype=attrs.get("output_dtype", dtypes.int64), name=name
    ),
    "StatelessRandomNormal": _seeded("random.stateless_normal"),
    "StatelessRandomUniform": _seeded("random.stateless_uniform"),
    "StatelessRandomUniformInt": _seeded("random.stateless_uniform"),
    "StatelessTruncatedNormal": _seeded("random.stateless_truncated_normal"),
    "Svd": _svd,
    "TopK": _top_k,
    "UniqueV2": public("raw_ops.UniqueV2", "out_idx"),
    "UniqueWithCountsV2": public("raw_ops.UniqueWithCountsV2", "out_idx"),
}

_REDUCTIONS = {name: f"reduce_{name.lower()}" for name in ("All", "Any", "Max", "Mean", "Min", "Prod", "Sum")}
#: Types that a row has, for arguments that only a call knows.
ARRAY_VARIANTS: dict[str, Make] = {
    **{name: _reduced_whole(function) for name, function in _REDUCTIONS.items()},
    "MatrixBandPart": public("linalg.band_part"),
    "Cumprod": _cumulative("math.cumprod"),
    "Cumsum": _cumulative("cumsum"),
    "SplitV": _split,
    "TopKV2": _top_k,
}
