"""SavedModels of single operations: each is written as one that TensorFlow has, and gives the same once it is loaded."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

WORDS = tf.constant(["h\u00e9llo w\u00f6rld", "abc", "\u65e5\u672c \u8a9e"])
CODES = tf.constant([[104, 105, 233], [97, 98, 99]])
CLASSES = tf.constant([[1], [2]], tf.int64)


def numbers() -> Any:
    return tf.constant(np.random.default_rng(3).standard_normal((4, 6)).astype(np.float32))


def sparse(x: Any) -> Any:
    return tf.sparse.from_dense(tf.cast(tf.abs(x) * 3, tf.int32))


def slope(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: tf.gradients(function(x), x)[0]


def images(x: Any) -> Any:
    return tf.reshape(x, [1, 4, 6, 1])


def volumes(x: Any) -> Any:
    return tf.reshape(x, [1, 2, 3, 4, 1])


def ctc(x: Any) -> Any:
    logits, labels = tf.stack([x, x * 2], 1), tf.constant([[1, 2], [2, 1]])
    return tf.nn.ctc_loss(labels, logits, [2, 1], [4, 3], blank_index=3)


def hermitian(x: Any) -> Any:
    square = tf.complex(x[:, :4], x[:, 2:])
    return square + tf.linalg.adjoint(square)


def eigenvectors(x: Any) -> list[Any]:
    return list(tf.linalg.eigh_tridiagonal(x[:, 0], x[:3, 1], eigvals_only=False))


#: By the operation that is written: a function of what it is called with.
CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "EditDistance": (lambda x: tf.edit_distance(sparse(x), sparse(x * 0.7)), None),
    "UnicodeDecodeWithOffsets": (lambda w: tf.strings.unicode_decode_with_offsets(w, "UTF-8")[1].to_tensor(), WORDS),
    "UnicodeEncode": (lambda c: tf.strings.unicode_encode(c, "UTF-16-BE"), CODES),
    "UnicodeTranscode": (lambda w: tf.strings.unicode_transcode(w, "UTF-8", "UTF-16-BE"), WORDS),
    "Substr": (lambda w: tf.strings.substr(w, [0, 1, 1], [2, 1, 1], unit="UTF8_CHAR"), WORDS),
    "StringNGrams": (lambda w: tf.strings.ngrams(tf.strings.split(w), 2, pad_values=("<", ">")).to_tensor(), WORDS),
    "StringToHashBucket": (lambda w: tf.strings.to_hash_bucket(w, 100), WORDS),
    "CTCLoss": (lambda x: (ctc(x), slope(ctc)(x)), None),
    "MatMul": (lambda x: [tf.signal.dct(x, kind) for kind in (1, 2, 3, 4)] + [tf.signal.idct(x[0], norm="ortho")], None),
    "LogUniformCandidateSampler": (lambda c: tf.random.log_uniform_candidate_sampler(c, 1, 3, True, 9, seed=3), CLASSES),
    "FixedUnigramCandidateSampler": (
        lambda c: tf.random.fixed_unigram_candidate_sampler(c, 1, 3, True, 9, unigrams=[1.0, 2.0] * 4 + [1.0], seed=3),
        CLASSES,
    ),
    "ComputeAccidentalHits": (lambda c: tf.nn.compute_accidental_hits(c, [1, 2, 3], 1), CLASSES),
    "RandomUniformInt": (lambda x: tf.random.uniform([5], -3, 1000, tf.int32, seed=3) + tf.cast(x[0, 0], tf.int32), None),
    "RandomGamma": (lambda x: tf.random.gamma([3], tf.abs(x[0]), seed=3), None),
    "RandomPoissonV2": (lambda x: tf.random.poisson([3], tf.abs(x[0]) * 9, seed=3), None),
    "StatelessRandomGammaV3": (lambda x: tf.random.stateless_gamma([3, 6], [1, 2], tf.abs(x[0])), None),
    "StatelessRandomPoisson": (lambda x: tf.random.stateless_poisson([3, 6], [1, 2], tf.abs(x[0])), None),
    "StatelessRandomBinomial": (lambda x: tf.random.stateless_binomial([6], [1, 2], 9.0, tf.abs(x[0]) / 9), None),
    "StatelessTruncatedNormalV2": (lambda x: tf.random.stateless_truncated_normal([6], [1, 2]) * x[0], None),
    "StatelessParameterizedTruncatedNormal": (
        lambda x: tf.random.stateless_parameterized_truncated_normal([6], [1, 2], x[0], 1.0, x[0] - 1, x[0] + 2), None
    ),
    "MaxPoolGrad": (slope(lambda x: tf.nn.max_pool2d(images(x), 2, 2, "SAME")), None),
    "MaxPool3DGrad": (slope(lambda x: tf.nn.max_pool3d(volumes(x), 2, 2, "SAME")), None),
    "AvgPool3DGrad": (slope(lambda x: tf.nn.avg_pool3d(volumes(x), 2, 2, "SAME") * 2.0), None),
    "Pad": (slope(lambda x: tf.slice(x, [tf.cast(x[0, 0], tf.int32) * 0, 1], [2, 3])), None),
    "BandedTriangularSolve": (lambda x: tf.linalg.banded_triangular_solve(tf.abs(x[:2, :4]) + 1, x[:, :2]), None),
    "ScatterNd": (lambda x: tf.scatter_nd(tf.cast(tf.where(x > 0), tf.int64), x[x > 0], tf.shape(x)), None),
    "RandomIndexShuffle": (lambda x: tf.random.experimental.index_shuffle(tf.range(9), [1, 2], 8), None),
    "Svd": (lambda x: [tf.linalg.pinv(x), tf.linalg.lstsq(x, x[:, :2], fast=False), tf.linalg.pinv(x, 0.9)], None),
    "MatrixDiagV3": (lambda x: eigenvectors(x), None),
    "Real": (lambda x: [tf.linalg.svd(hermitian(x))[0], tf.linalg.svd(hermitian(x), compute_uv=False)], None),
    "SelfAdjointEigV2": (lambda x: [tf.linalg.eigh(hermitian(x))[0], tf.linalg.eigvalsh(hermitian(x))], None),
    "TridiagonalSolve": (lambda x: tf.linalg.tridiagonal_solve(x[:3], x[3], perturb_singular=True), None),
    "Timestamp": (lambda x: x[0, 0] + tf.cast(tf.timestamp() > 0, tf.float32), None),
}  # fmt: skip


def written_types(folder: Path) -> set[str]:
    from fastgraph.graphdef.wire_format import parsed

    meta = parsed((folder / "saved_model.pb").read_bytes(), "SavedModel").meta_graphs[0]
    return {node.op for function in meta.graph_def.library.function for node in function.node_def}


@pytest.mark.parametrize("op", CASES)
def test_operations_are_written_and_loaded(op: str, tmp_path: Path) -> None:
    function, given = CASES[op]
    given = numbers() if given is None else given
    made = tf.Module()
    made.f = tf.function(function, input_signature=[tf.TensorSpec(given.shape, given.dtype)])
    tf.saved_model.save(made, tmp_path)
    assert op in written_types(tmp_path)
    loaded = tf.saved_model.load(tmp_path)
    for _ in range(2):
        for found, wanted in zip(tf.nest.flatten(loaded.f(given)), tf.nest.flatten(made.f(given)), strict=True):
            if wanted.dtype.is_floating:
                np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)
            else:
                np.testing.assert_array_equal(found, wanted)


def test_scatters_into_variables_are_written_and_loaded(tmp_path: Path) -> None:
    made = tf.Module()
    made.v = tf.Variable(np.arange(1.0, 25, dtype=np.float32).reshape(4, 6))
    kinds = ("add", "sub", "mul", "div", "max", "min", "update")

    @tf.function(input_signature=[tf.TensorSpec([2, 6])])
    def f(x: Any) -> Any:
        for kind in kinds:
            getattr(made.v, f"scatter_{kind}")(tf.IndexedSlices(x, tf.constant([0, 2])))
        return made.v.read_value()

    made.f = f
    tf.saved_model.save(made, tmp_path)
    assert {f"ResourceScatter{kind.capitalize()}" for kind in kinds} <= written_types(tmp_path)
    x = tf.abs(numbers()[:2]) + 1
    np.testing.assert_allclose(tf.saved_model.load(tmp_path).f(x), made.f(x), 1e-6)


def test_a_cosine_transform_of_a_long_or_unknown_axis_is_refused(tmp_path: Path) -> None:
    made = tf.Module()
    made.f = tf.function(tf.signal.dct, input_signature=[tf.TensorSpec([2, None])])
    with pytest.raises(ValueError, match="DCT"):
        tf.saved_model.save(made, tmp_path)
