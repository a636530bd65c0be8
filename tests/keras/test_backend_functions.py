"""tf.keras.backend's functions, windows of time series and pairs of words, against values that tf-keras 2.21 gives."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

K = fg.keras.backend
X = np.array([[-1.5, 2.0, 0.25], [4.0, -0.5, 9.0]], np.float32)
PREDICTED = np.array([[[0.6, 0.1, 0.3], [0.5, 0.2, 0.3], [0.1, 0.7, 0.2], [0.2, 0.1, 0.7]]], np.float32)

CASES: list[tuple[Any, Any]] = [
    (lambda x: K.sum(x, 1), [0.75, 12.5]),
    (lambda x: K.mean(x > 0, axis=-1, keepdims=True), [[2 / 3], [2 / 3]]),
    (lambda x: K.std(x), X.std()),
    (lambda x: K.var(x, axis=[0]), X.var(0)),
    (lambda x: K.all(K.cast(x, "int32"), axis=0), [True, False, False]),
    (lambda x: K.any(x > 5, 1), [False, True]),
    (lambda x: K.max(x) - K.min(x) * K.prod(x[0]), 9 + 1.5 * -0.75),
    (lambda x: K.argmax(x) - K.argmin(x, 0)[:2], [1, 1]),
    (lambda x: K.sqrt(x), np.sqrt(np.maximum(X, 0))),
    (lambda x: K.clip(x, 0, None) + K.clip(x, 2, 1), np.maximum(X, 0) + 2),
    (lambda x: K.concatenate([K.flatten(x), K.batch_flatten(x[None])[0]]), np.tile(X.ravel(), 2)),
    (lambda x: K.permute_dimensions(K.expand_dims(x), (2, 1, 0)), X.T[None]),
    (lambda x: K.repeat(x, 2) + K.repeat_elements(K.expand_dims(x, 1), 2, axis=1), 2 * np.stack([X, X], 1)),
    (lambda x: K.reverse(x, 1), X[:, ::-1]),
    (lambda x: K.dot(x, K.transpose(x)), X @ X.T),
    (lambda x: K.dot(K.stack([x, x], 2), K.stack([x, x], 0)), np.dot(np.stack([X, X], 2), np.stack([X, X], 0))),
    (lambda x: K.switch(K.sum(x) > 0, x, -x) + K.switch(x > 0, x, lambda: -x), X + abs(X)),
    (lambda x: K.switch(x[:, :1] > 0, x, -x), X * np.sign(X[:, :1])),
    (lambda x: K.one_hot(K.argmax(x), 3), [[0, 1, 0], [0, 0, 1]]),
    (lambda x: K.binary_crossentropy(K.sigmoid(x) * 0 + 1, K.sigmoid(x)), np.log1p(np.exp(-X))),
    (lambda x: K.categorical_crossentropy(K.one_hot([0, 2], 3), x, from_logits=True), [3.6856256, 0.0067897]),
    (lambda x: K.map_fn(K.sum, x), [0.75, 12.5]),
    (lambda x: K.arange(1, 5, 2, "float32") + K.cast_to_floatx([1, 2]), [2, 5]),
    (lambda x: K.ctc_batch_cost([[0, 1]], PREDICTED, [[4]], [[2]]), [[0.7878977]]),
    (lambda x: K.ctc_decode(PREDICTED, [4])[0][0], [[0, 1, -1, -1]]),
    (lambda x: K.ctc_decode(PREDICTED, [4], greedy=False, top_paths=2)[0][1], [[0, -1, -1, -1]]),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("staged", [False, True])
def test_functions(case: int, staged: bool) -> None:
    function, wanted = CASES[case]
    found = (fg.function(function) if staged else function)(fg.constant(X))
    np.testing.assert_allclose(found.numpy(), wanted, rtol=2e-5, atol=2e-6)


def test_variables_and_static_values() -> None:
    v = K.variable([[1, 2], [3, 4]])
    assert (K.dtype(v), K.ndim(v), K.int_shape(v)) == ("float32", 2, (2, 2))
    K.set_value(v, [[5, 6], [7, 8]])
    assert K.get_value(v).tolist() == K.eval(v + K.zeros((2, 2))).tolist() == [[5.0, 6.0], [7.0, 8.0]]
    assert K.ones((2,), "int32").dtype == fg.int32
    assert K.random_normal((2, 3), mean=0.0, stddev=2.0).shape == K.random_uniform((2, 3)).shape == (2, 3)


def test_a_loss_of_users_in_fit() -> None:
    def dice(y: Any, p: Any) -> Any:
        y, p = K.flatten(y), K.flatten(p)
        return (2.0 * K.sum(y * p) + 1.0) / (K.sum(y) + K.sum(p) + 1.0)

    model = fg.keras.Sequential([fg.keras.layers.Dense(1, "sigmoid", kernel_initializer="ones", input_shape=(3,))])
    model.compile(fg.keras.optimizers.SGD(1.0), loss=lambda y, p: 1 - dice(y, p), metrics=[dice])
    first, last = model.fit(X, np.array([[1.0], [0.0]]), epochs=2, verbose=0).history["dice"]
    np.testing.assert_allclose([first, last], [0.6410017, 0.6815229], atol=2e-4)


def test_windows_of_time_series() -> None:
    make = fg.keras.utils.timeseries_dataset_from_array
    data = np.arange(10)
    windows, targets = zip(*make(data, data[3:] * 10, 3, sequence_stride=2, batch_size=3), strict=True)
    assert [w.numpy().tolist() for w in windows] == [[[0, 1, 2], [2, 3, 4], [4, 5, 6]], [[6, 7, 8]]]
    assert [t.numpy().tolist() for t in targets] == [[30, 50, 70], [90]]
    assert [w.numpy().tolist() for w in make(data, None, 2, sampling_rate=3, batch_size=None, end_index=5)] == [
        [0, 3], [1, 4],
    ]  # fmt: skip
    fg.random.set_seed(87654321)  # what stands beside a seed of an op where no other was set
    shuffled = [w.numpy().tolist() for w in make(data[:9], None, 2, shuffle=True, seed=1, batch_size=None)]
    assert shuffled == [[7, 8], [2, 3], [6, 7], [3, 4], [4, 5], [1, 2], [5, 6], [0, 1]]
    for wrong in (
        {"sampling_rate": 0},
        {"sequence_stride": 30},
        {"start_index": -1},
        {"start_index": 5, "end_index": 4},
    ):
        with pytest.raises(ValueError, match="must be"):
            make(data, None, 2, **wrong)


def test_pairs_of_words() -> None:
    sequence = fg.keras.preprocessing.sequence
    table = sequence.make_sampling_table(4)
    np.testing.assert_allclose(table, [0.00315225, 0.00315225, 0.00547597, 0.00741556], rtol=1e-5)
    assert sequence.skipgrams([1, 2, 0, 3], 10, window_size=1, negative_samples=0.0, shuffle=False) == (
        [[1, 2], [2, 1]], [1, 1],
    )  # fmt: skip
    random.seed(3)
    assert sequence.skipgrams([1, 2, 3], 10, window_size=1, seed=4) == (
        [[2, 1], [2, 2], [1, 8], [3, 6], [2, 1], [1, 2], [2, 3], [3, 2]], [1, 0, 0, 0, 0, 1, 1, 1],
    )  # fmt: skip
    assert sequence.skipgrams([1, 2], 10, categorical=True, negative_samples=0.0)[1] == [[0, 1], [0, 1]]
