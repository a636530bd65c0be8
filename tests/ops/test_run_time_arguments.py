"""Arguments that are known only when a Function runs: sizes, paddings, counts; the values are those of eager mode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags

X = np.arange(24.0, dtype=np.float32).reshape(4, 6)
I32 = tf.int32
sparse, dense = tf.sparse.from_dense, tf.sparse.to_dense
ROWS: list[tuple[str, Callable[..., Any], Any]] = [
    ("pad", lambda x, p: tf.pad(x, p, constant_values=7.0), [[1, 0], [2, 3]]),
    ("pad nothing", tf.pad, [[0, 0], [0, 0]]),
    ("pad reflect", lambda x, p: tf.pad(x, p, "REFLECT"), [[3, 1], [0, 5]]),
    ("pad symmetric", lambda x, p: tf.pad(x, p, "SYMMETRIC"), [[4, 1], [0, 6]]),
    ("split sizes", lambda x, s: tf.split(x, s, num=3, axis=1), [1, 0, 5]),
    ("split the rest", lambda x, s: tf.split(x, s, axis=1), [2, -1]),
    ("split one size", lambda x, s: tf.split(x, [2, s, -1], axis=1), 1),
    ("repeat by one number", lambda x, r: tf.repeat(x, r, axis=1), 3),
    ("repeat by many", lambda x, r: tf.repeat(x, r, axis=0), [1, 0, 3, 2]),
    ("repeat flat", lambda x, r: tf.repeat(x, r), 2),
    ("split where the axis is unknown", lambda x, s: tf.split(x, [1, -1, 2], axis=1)[1] * tf.cast(s, tf.float32), 1),
    ("linspace", lambda x, n: tf.linspace(x[0], x[1], n), 5),
    ("linspace of one", lambda x, n: tf.linspace(x[0], x[1], n), 1),
    ("top_k", lambda x, k: tf.math.top_k(tf.ensure_shape(x, [None, 6]), k), 2),
    ("bincount", lambda x, n: tf.math.bincount(tf.cast(x[:, :2], I32), minlength=n, axis=-1), 30),
    ("roll along", lambda x, axis: tf.roll(x, 1, axis), -1),
    ("roll along several", lambda x, axes: tf.roll(x, axes, axes), [1, 0]),
    ("frame of a length", lambda x, n: tf.signal.frame(x, n, 2), 4),
    ("frame by a step", lambda x, n: tf.signal.frame(x, 4, n, pad_end=True, pad_value=5.0), 3),
    ("frame along", lambda x, axis: tf.signal.frame(x, 2, 1, axis=axis), 0),
    ("overlap_and_add", lambda x, n: tf.signal.overlap_and_add(x, n), 4),
    ("stft", lambda x, n: tf.abs(tf.signal.stft(x, n, 2)), 5),
    ("stft there and back", lambda x, n: tf.signal.inverse_stft(tf.signal.stft(x, 4, n, n * 4), 4, n), 2),
    ("window of inverse_stft", lambda x, n: x * tf.signal.inverse_stft_window_fn(n)(6, tf.float32), 3),
    ("mdct there and back", lambda x, n: tf.signal.inverse_mdct(tf.signal.mdct(x, n)), 4),
    ("diag_part", lambda x, k: tf.linalg.diag_part(x, k=k, padding_value=7.0), 1),
    ("diag_part of several", lambda x, k: tf.linalg.diag_part(x, k=k, align="LEFT_RIGHT"), [-1, 1]),
    ("diag", lambda x, k: tf.linalg.diag(x, k=k), -1),
    ("diag of so many rows", lambda x, n: tf.linalg.diag(x, num_rows=n, padding_value=2.0), 7),
    ("set_diag", lambda x, k: tf.linalg.set_diag(x, x[0, :4], k=k), 1),
    ("mel scale", lambda x, n: x[:, :4] @ tf.signal.linear_to_mel_weight_matrix(6, 4, n * 1000), 8),
    ("gather along", lambda x, axis: tf.gather(x, [1, 0, 1], axis=axis), 1),
    ("boolean_mask along", lambda x, axis: tf.boolean_mask(x, [True, False, True, True], axis=axis), 0),
    ("fftshift along", lambda x, axis: tf.signal.fftshift(x, axis) + tf.signal.ifftshift(x, [axis]), 1),
    ("tensordot over", lambda x, axes: tf.tensordot(x, x, axes), [[1], [1]]),
    ("tensordot over axes that are known", lambda x, n: tf.tensordot(x, x, tf.constant([[1], [1]])), 0),
    ("diag_part of an int64 among ints", lambda x, k: tf.linalg.diag_part(x, k=(-1, tf.cast(k, tf.int64))), 1),
    ("diag of an int64 among ints", lambda x, k: tf.linalg.diag(x, k=[tf.cast(k, tf.int64), 3]), 0),
    ("linspace along", lambda x, axis: tf.linspace(x, 2 * x, 3, axis=axis), -1),
    ("linear bins", lambda x, n: x[:, :4] @ tf.signal.linear_to_mel_weight_matrix(6, n), 4),
    ("sparse.expand_dims", lambda x, axis: dense(tf.sparse.expand_dims(sparse(x), axis)), 1),
    ("sparse.transpose", lambda x, perm: dense(tf.sparse.transpose(sparse(x), perm)), [1, 0]),
    ("sparse.split", lambda x, axis: [dense(part) for part in tf.sparse.split(sparse(x), 2, axis)], -1),
    ("sparse.reduce_sum", lambda x, axis: tf.sparse.reduce_sum(sparse(x), axis), 1),
    ("sparse.reduce_max", lambda x, axis: dense(tf.sparse.reduce_max(sparse(x), axis, True, True)), [0]),
    ("sobol_sample", lambda x, n: x * tf.math.sobol_sample(6, n), 4),
]


@pytest.mark.parametrize("tier", ["first", pytest.param("last", marks=pytest.mark.slow)])
@pytest.mark.parametrize(("name", "f", "argument"), ROWS, ids=[r[0] for r in ROWS])
def test_argument_known_at_run_time(name: str, f: Callable[..., Any], argument: Any, tier: str) -> None:
    a = tf.constant(argument, I32)
    x = tf.constant(X)

    def with_gradient(x: Any, a: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x, a)
            floats = [t for t in tf.nest.flatten(y) if t.dtype.is_floating]
            target = [tf.reduce_sum(t * t) for t in floats]
        return [*tf.nest.flatten(y), *([tf.convert_to_tensor(tape.gradient(target, x))] if floats else [])]

    wanted = with_gradient(x, np.array(argument))
    with flags.override(tier=tier):
        function = tf.function(
            with_gradient, input_signature=[tf.TensorSpec([None, None], tf.float32), tf.TensorSpec(a.shape, I32)]
        )
        got = function(x, a)
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-6)


def test_slices_by_several_tensors_of_unknown_rank() -> None:
    anything = tf.TensorSpec(None, I32)

    @tf.function(input_signature=[tf.TensorSpec([None, None]), anything, anything, anything])
    def part(x: Any, a: Any, b: Any, c: Any) -> Any:
        return x[a:b, c]

    assert part(tf.constant(X), 1, 3, 2).numpy().tolist() == X[1:3, 2].tolist()
    with pytest.raises(tf.errors.InvalidArgumentError):
        part(tf.constant(X), [1, 1], 3, 2)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("name", "f", "argument"),
    [
        ("roll", lambda x, n: tf.roll(x, n, 0), 1),
        ("begin", lambda x, n: x[n:], 1),
        ("slice", lambda x, n: tf.slice(x, [n, 0], [2, 3]), 1),
        ("split", lambda x, n: tf.split(x, [n, -1])[1], 1),
        ("pad", lambda x, n: tf.pad(x, [[n, 0], [0, n]]), 1),
        ("concat", lambda x, n: tf.concat([x[n:], x[:n]], 0), 1),
        ("repeat", lambda x, n: tf.repeat(x, n, axis=1), 2),
    ],
)
def test_second_gradients_by_integers_of_either_type(
    name: str, f: Callable[..., Any], argument: int, dtype: str
) -> None:
    def second(x: Any, n: Any) -> Any:
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = tf.reduce_sum(f(x, n) ** 3)
            z = tf.reduce_sum(inner.gradient(y, x) ** 2)
        return outer.gradient(z, x)

    x, n = tf.constant(X), tf.constant(argument, dtype)
    wanted = second(x, n)
    for shape in ([4, 6], [None, None]):
        signature = [tf.TensorSpec(shape), tf.TensorSpec([], dtype)]
        with flags.override(tier="first"):
            np.testing.assert_allclose(tf.function(second, input_signature=signature)(x, n), wanted)


def test_equal_parts_of_an_unknown_dimension() -> None:
    function = tf.function(lambda x: tf.split(x, 2), input_signature=[tf.TensorSpec([None, None], tf.float32)])
    a, b = function(tf.constant(X))
    assert np.array_equal(a.numpy(), X[:2]) and np.array_equal(b.numpy(), X[2:])
    with pytest.raises(tf.errors.InvalidArgumentError):
        function(tf.constant(X[:3]))


def test_sizes_that_do_not_fit() -> None:
    spec = [tf.TensorSpec([None, 6], tf.float32), tf.TensorSpec([2], I32)]
    split = tf.function(lambda x, s: tf.split(x, s, axis=1), input_signature=spec)
    for sizes in ([3, 4], [-2, 8], [7, -1]):
        with pytest.raises(tf.errors.InvalidArgumentError):
            split(tf.constant(X), tf.constant(sizes))
    repeat = tf.function(
        lambda x, r: tf.repeat(x, r, axis=0), input_signature=[tf.TensorSpec([None, 6], tf.float32), spec[1]]
    )
    with pytest.raises(tf.errors.InvalidArgumentError):
        repeat(tf.constant(X), tf.constant([1, 2]))
    pad = tf.function(lambda x, p: tf.pad(x, p), input_signature=[spec[0], tf.TensorSpec([2, 2], I32)])
    with pytest.raises(tf.errors.InvalidArgumentError):
        pad(tf.constant(X), tf.constant([[-1, 0], [0, 0]]))


def test_sizes_of_another_length_than_the_rank_are_refused() -> None:
    """By the op, and not by whatever reads the rank that the sizes give: nothing runs uncompiled for it."""
    x, w = tf.ones([1, 4, 2]), tf.ones([3, 3, 2])
    specs = [tf.TensorSpec([None] * 3), tf.TensorSpec([None] * 3), tf.TensorSpec([None], I32)]
    f = tf.function(lambda x, w, s: tf.nn.conv1d_transpose(x, w, s, 2), specs)
    with flags.override(tier="last"):
        assert f(x, w, tf.constant([1, 8, 3])).shape == [1, 8, 3]
        for sizes in ([1, 8], [1, 8, 3, 3], [1]):
            with pytest.raises(tf.errors.InvalidArgumentError):
                f(x, w, tf.constant(sizes))
