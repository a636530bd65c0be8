"""Ops on tensors whose rank, or whose axes, only a call knows: eager mode's values and gradients of both orders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

X = np.random.RandomState(0).uniform(0.1, 1.0, [2, 3, 4]).astype(np.float32)

sparse, dense = fg.sparse.from_dense, fg.sparse.to_dense

#: name -> function of x [2, 3, 4], whose rank is not known while tracing
RANKS: dict[str, Callable[[Any], Any]] = {
    "transpose": lambda x: fg.transpose(x),
    "tensordot": lambda x: fg.tensordot(x, x, 3) + fg.reduce_sum(fg.tensordot(x, x, [[2, -2], [2, 1]])),
    "einsum": lambda x: fg.einsum("ijk,ljk->il", x, x),
    "einsum of any axes": lambda x: fg.einsum("...ij->...ji", x),
    "sort": lambda x: fg.sort(x, axis=1, direction="DESCENDING"),
    "argsort": lambda x: fg.argsort(x, axis=0),
    "split": lambda x: fg.split(x, 2, axis=-1),
    "split into sizes": lambda x: fg.split(x, [1, -1], axis=1),
    "tile": lambda x: fg.tile(x, fg.range(fg.rank(x)) + 1),
    "pad": lambda x: fg.pad(x, fg.ones([fg.rank(x), 2], fg.int32), constant_values=3.0),
    "mirror pad": lambda x: fg.pad(x, fg.ones([fg.rank(x), 2], fg.int32), "REFLECT"),
    "repeat": lambda x: fg.repeat(x, [1, 2, 0], axis=-2),
    "reverse_sequence": lambda x: fg.reverse_sequence(x, [1, 2, 3], seq_axis=2, batch_axis=1),
    "dynamic_stitch": lambda x: fg.dynamic_stitch([[2, 0]], [x]),
    "space_to_batch": lambda x: fg.space_to_batch(x, [1, 2], [[0, 0], [0, 0]]),
    "batch_to_space": lambda x: fg.batch_to_space(x, [1, 2], [[0, 0], [0, 1]]),
    "rfft": lambda x: fg.abs(fg.signal.rfft(x)),
    "irfft": lambda x: fg.signal.irfft(fg.cast(x, fg.complex64), [5]),
    "fftshift": lambda x: fg.signal.fftshift(x, axes=[1]),
    "frame": lambda x: fg.signal.frame(x, 2, 1, axis=1),
    "overlap_and_add": lambda x: fg.signal.overlap_and_add(x, 2),
    "softmax": lambda x: fg.nn.softmax(x, axis=1),
    "log_softmax": lambda x: fg.nn.log_softmax(x, axis=0),
    "cross entropy": lambda x: fg.nn.softmax_cross_entropy_with_logits(x, x, axis=1),
    "reduce_prod": lambda x: fg.reduce_prod(x, [0, 2]),
    "boolean_mask": lambda x: fg.boolean_mask(x, [True, False, True], axis=1),
    "linspace": lambda x: fg.linspace(x, x + 1, 3),
    "gather_nd": lambda x: fg.gather_nd(x, [[0], [2]], batch_dims=1),
    "norm": lambda x: fg.norm(x, 2, axis=[-2, -1]),
    "approx_max_k": lambda x: fg.math.approx_max_k(x, 2),
    "isotonic_regression": lambda x: fg.nn.isotonic_regression(x, axis=1)[0],
    "embedding_lookup": lambda x: fg.nn.embedding_lookup(x * 1.0, [1, 0], max_norm=0.5),
    "tensor_diag": lambda x: fg.linalg.tensor_diag(x[0]),
    "bias_add, channels first": lambda x: fg.nn.bias_add(x[:, :, None, :3], [1.0, 2.0, 3.0], "NCHW"),
    "depthwise_conv2d": lambda x: fg.nn.depthwise_conv2d(x[None], x[:, :2, :, None], [1] * 4, "SAME"),
    "max_pool_with_argmax": lambda x: fg.nn.max_pool_with_argmax(x[None], 2, 1, "VALID"),
    "dilation2d": lambda x: fg.nn.dilation2d(x[None], fg.constant(X[:2, :2]), [1] * 4, "SAME", "NHWC", [1] * 4),
    "local_response_normalization": lambda x: fg.nn.local_response_normalization(x[None], 2),
    "crop_and_resize": lambda x: fg.image.crop_and_resize(x[None], [[0.0, 0.2, 1.0, 0.9]], [0], [3, 2]),
    "collapse_repeated": lambda x: fg.nn.collapse_repeated(fg.cast(x[0] * 2.0, fg.int32), [4, 2, 3]),
    "mfccs": lambda x: fg.signal.mfccs_from_log_mel_spectrograms(x),
    "tridiagonal_matmul": lambda x: fg.linalg.tridiagonal_matmul(x, x[:, 0, :, None], "compact"),
    "tridiagonal_solve": lambda x: fg.linalg.tridiagonal_solve(x + [[0.0], [3.0], [0.0]], x[:, 0, :, None]),
    "diagonals in turn": lambda x: fg.linalg.tridiagonal_matmul(fg.unstack(x, 3, 1), x[:, 0, :, None], "sequence"),
    "grayscale_to_rgb": lambda x: fg.image.grayscale_to_rgb(x[..., :1]),
    "per_image_standardization": lambda x: fg.image.per_image_standardization(x),
    "sobel_edges": lambda x: fg.image.sobel_edges(x[None]),
    "extract_patches": lambda x: fg.image.extract_patches(x[None], [1, 2, 2, 1], [1] * 4, [1] * 4, "VALID"),
    "resize_with_crop_or_pad": lambda x: fg.image.resize_with_crop_or_pad(x, 3, fg.constant(2)),
    "resize_with_pad": lambda x: fg.image.resize_with_pad(x, 5, 4),
    "pad_to_bounding_box": lambda x: fg.image.pad_to_bounding_box(x, 1, 0, 4, 5),
    "crop_to_bounding_box": lambda x: fg.image.crop_to_bounding_box(x, 1, 0, target_height=1, target_width=2),
    "sparse_categorical_crossentropy": lambda x: fg.keras.losses.sparse_categorical_crossentropy([[0, 1, 2]] * 2, x),
    "ragged from_tensor": lambda x: fg.RaggedTensor.from_tensor(x, lengths=[1, 3]).flat_values,
    "ragged from_tensor twice": lambda x: fg.RaggedTensor.from_tensor(x, ([1, 2], [1, 4, 2])).flat_values,
    "ragged to_tensor": lambda x: fg.RaggedTensor.from_row_splits(x, [0, 0, 2]).to_tensor(2.0),
    "ragged reduce_sum": lambda x: fg.reduce_sum(fg.RaggedTensor.from_row_splits(x, [0, 0, 2]), 1),
    "sparse transpose": lambda x: dense(fg.sparse.transpose(sparse(x), [2, 0, 1])),
    "sparse reorder": lambda x: fg.sparse.reorder(fg.sparse.transpose(sparse(x))).values,
    "sparse expand_dims": lambda x: dense(fg.sparse.expand_dims(sparse(x), -2)),
    "sparse softmax": lambda x: fg.sparse.softmax(sparse(x)).values,
    "sparse reduce_sum": lambda x: fg.sparse.reduce_sum(sparse(x), [0, 2], keepdims=True),
    "sparse sums, sparse": lambda x: dense(fg.sparse.reduce_sum(sparse(x), fg.constant([1]), output_is_sparse=True)),
    "sparse reduce_max": lambda x: fg.sparse.reduce_max(sparse(x)),
    "sparse concat": lambda x: dense(fg.sparse.concat(-1, [sparse(x), sparse(x * 2.0)])),
    "sparse split": lambda x: [dense(part) for part in fg.sparse.split(sparse(x), 2, 2)],
    "sparse add": lambda x: dense(fg.sparse.add(sparse(x), sparse(x * x), 0.5)),
    "sparse maximum": lambda x: dense(fg.sparse.maximum(sparse(x), sparse(1.0 - x))),
    "sparse times dense": lambda x: dense(sparse(x) * x[:1]),
    "sparse fill_empty_rows": lambda x: fg.sparse.fill_empty_rows(sparse(x * [[[1.0]], [[0.0]]]), 3.0)[0].values,
    "sparse product": lambda x: fg.sparse.sparse_dense_matmul(sparse(fg.reshape(x, [6, 4])), x[0], adjoint_b=True),
}

#: name -> function of x and an axis that only a call knows
AXES: dict[str, Callable[[Any, Any], Any]] = {
    "transpose": lambda x, axis: fg.transpose(x, fg.stack([axis, (axis + 1) % 3, (axis + 2) % 3])),
    "reduce_sum": lambda x, axis: fg.reduce_sum(x, [axis], keepdims=True),
    "reduce_any": lambda x, axis: fg.reduce_any(x > 0.5, axis),
    "argmax": lambda x, axis: fg.argmax(x, axis, output_type=fg.int32),
    "cumsum": lambda x, axis: fg.cumsum(x, axis, exclusive=True),
    "softmax": lambda x, axis: fg.nn.softmax(x, axis),
    "concat": lambda x, axis: fg.concat([x, x * 2.0], axis),
    "split": lambda x, axis: fg.split(x, 1, axis),
    "expand_dims": lambda x, axis: fg.expand_dims(x, axis),
    "reverse": lambda x, axis: fg.reverse(x, [axis]),
    "top_k": lambda x, axis: fg.math.top_k(x, axis + 1),
    "space_to_batch": lambda x, axis: fg.space_to_batch(x, [1, axis + 1], [[0, 0], [0, 2 * axis]]),
}


def arrays(result: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in fg.nest.flatten(result) if x is not None]


def slopes(function: Callable[..., Any], x: Any, *rest: Any) -> list[Any]:
    """Gradients of both orders of the cubes of what a function gives; nothing for integers."""
    with fg.GradientTape() as second:
        second.watch(x)
        with fg.GradientTape() as first:
            first.watch(x)
            made = [y for y in fg.nest.flatten(function(x, *rest)) if y.dtype.is_floating]
            total = fg.add_n([fg.reduce_sum(y**3) for y in made]) if made else None
        slope = None if total is None else fg.convert_to_tensor(first.gradient(total, x))
        bent = None if slope is None else fg.reduce_sum(slope**2)
    return [] if slope is None else [slope, second.gradient(bent, x)]


def agree(function: Callable[..., Any], signature: list[Any], *arguments: Any) -> None:
    for f in (function, lambda *given: slopes(function, *given)):
        traced = fg.function(f, input_signature=signature, autograph=False)
        got, wanted = arrays(traced(*arguments)), arrays(f(*arguments))
        assert [(a.shape, a.dtype) for a in got] == [(a.shape, a.dtype) for a in wanted]
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", RANKS)
def test_of_unknown_rank(name: str) -> None:
    agree(RANKS[name], [fg.TensorSpec(None, fg.float32)], fg.constant(X))


@pytest.mark.parametrize("shape", [None, [None, 3, None]], ids=["unknown rank", "known rank"])
@pytest.mark.parametrize("name", AXES)
def test_along_an_axis_that_is_a_tensor(name: str, shape: Any) -> None:
    signature = [fg.TensorSpec(shape, fg.float32), fg.TensorSpec([], fg.int32)]
    for axis in (0, 2) if name != "space_to_batch" else (1,):
        agree(AXES[name], signature, fg.constant(X), fg.constant(axis))


def test_ranks_of_what_waits() -> None:
    known, unknown = fg.TensorSpec([2, None, 4], fg.float32), fg.TensorSpec(None, fg.float32)
    order, axis = fg.TensorSpec([3], fg.int32), fg.TensorSpec([], fg.int32)
    assert fg.function(fg.transpose).get_concrete_function(known, order).output_shapes.rank == 3
    assert fg.function(fg.transpose).get_concrete_function(unknown, order).output_shapes.rank == 3
    assert fg.function(fg.cumsum).get_concrete_function(known, axis).output_shapes.as_list() == [2, None, 4]
    assert fg.function(fg.expand_dims).get_concrete_function(known, axis).output_shapes.rank == 4
    assert (
        fg.function(fg.transpose).get_concrete_function(known, fg.TensorSpec([None], fg.int32)).output_shapes.rank == 3
    )
    top = fg.function(fg.math.top_k).get_concrete_function(fg.TensorSpec([2, None], fg.float32), axis)
    assert [shape.as_list() for shape in top.output_shapes] == [[2, None]] * 2
    rolled = fg.function(lambda x, by: fg.roll(x, by, 0)).get_concrete_function(known, axis)
    assert rolled.output_shapes.as_list() == [2, None, 4]
    product = fg.function(lambda a, b: fg.einsum("ij,jk->ik", a, b)).get_concrete_function(unknown, unknown)
    assert product.output_shapes.rank == 2


def test_ellipses_that_turn_out_to_broadcast() -> None:
    unknown = fg.TensorSpec([None, None, None], fg.float32)
    f = lambda a, b: fg.einsum("i...,i...->...", a, b)
    agree(f, [unknown, unknown], fg.constant(X[:, :, :1]), fg.constant(X[:, :1]))


def test_biases_of_another_number_than_channels() -> None:
    unknown = fg.TensorSpec(None, fg.float32)
    f = fg.function(fg.nn.bias_add, input_signature=[unknown, unknown])
    for value, bias in ((X, X[0, 0, :1]), (X[..., :1], X[0, 0])):
        with pytest.raises(fg.errors.InvalidArgumentError):
            f(value, bias)


def test_what_waits_says_what_is_wrong() -> None:
    f = fg.function(fg.transpose, input_signature=[fg.TensorSpec(None, fg.float32), fg.TensorSpec(None, fg.int32)])
    with pytest.raises(fg.errors.InvalidArgumentError, match="2 is missing from"):
        f(X, [0, 0, 1])
    g = fg.function(lambda x: fg.split(x, 5, 1), input_signature=[fg.TensorSpec(None, fg.float32)])
    with pytest.raises(fg.errors.InvalidArgumentError, match="evenly divide"):
        g(X)


def test_the_axis_by_which_numpy_means_none_is_no_axis() -> None:
    for least in (-(2**31), fg.constant(-(2**31))):
        for f in (lambda x, axis: fg.concat([x, x], axis), fg.cumsum, fg.argmax, fg.repeat, fg.gather, fg.reverse):
            with pytest.raises((fg.errors.InvalidArgumentError, ValueError, TypeError)):
                f(fg.ones([2, 2]), least) if f not in (fg.repeat, fg.gather) else f(fg.ones([2, 2]), [0, 1], axis=least)
