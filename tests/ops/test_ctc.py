"""The loss of connectionist temporal classification: against all alignments, one by one."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.native import array_kernels

LOGITS = np.random.default_rng(2).standard_normal((5, 3, 3))
LABELS = np.array([[1, 1], [2, 0], [2, 1]])
LABEL_LENGTH, LOGIT_LENGTH = np.array([2, 1, 2]), np.array([5, 3, 4])


def collapsed(path: tuple[int, ...], blank: int) -> list[int]:
    return [c for i, c in enumerate(path) if c != blank and (i == 0 or path[i - 1] != c)]


def loss_of(logits: Any, labels: Any, label_length: Any, logit_length: Any, blank: int = 0) -> Any:
    """Minus the logarithm of the sum over every path of classes that means the labels."""
    sure = logits - np.log(np.exp(logits).sum(-1, keepdims=True))
    found = []
    for n, (k, frames) in enumerate(zip(label_length, logit_length, strict=True)):
        paths = itertools.product(range(logits.shape[2]), repeat=int(frames))
        right = [p for p in paths if collapsed(p, blank) == labels[n, :k].tolist()]
        found.append(-np.log(sum(np.exp(sum(sure[t, n, c] for t, c in enumerate(p))) for p in right)))
    return np.array(found)


UNIQUE = [
    (3, TypeError),
    ("a", ValueError),
    (LABELS, ValueError),
    ((LABELS,), ValueError),
    ((LABELS, LABELS, LABELS), ValueError),
    ((None, None), ValueError),
    ((LABELS[:, :1], LABELS), tf.errors.InvalidArgumentError),
    ((LABELS, LABELS.T), tf.errors.InvalidArgumentError),
    ((LABELS / 2, LABELS), tf.errors.InvalidArgumentError),
    ((LABELS, LABELS / 2), tf.errors.InvalidArgumentError),
]


@pytest.mark.parametrize(("unique", "kind"), UNIQUE, ids=range(len(UNIQUE)))
def test_unique_labels_are_checked(unique: Any, kind: type[Exception]) -> None:
    def loss(unique: Any) -> Any:
        return tf.nn.ctc_loss(LABELS, LOGITS, LABEL_LENGTH, LOGIT_LENGTH, unique=unique, blank_index=0)

    np.testing.assert_array_equal(loss(tf.nn.ctc_unique_labels(tf.constant(LABELS))), loss(None))
    with pytest.raises(kind):
        loss(unique)
    with pytest.raises((ValueError, TypeError)):
        tf.function(lambda: loss(unique))()


@pytest.mark.parametrize("blank", [0, 1, 2, -1])
def test_the_loss_is_the_sum_over_alignments(blank: int) -> None:
    used = blank % 3
    labels = np.array([[(c + used) % 3 for c in row] for row in LABELS])  # no label is the blank
    wanted = loss_of(LOGITS, labels, LABEL_LENGTH, LOGIT_LENGTH, used)

    def loss(x: Any) -> Any:
        return tf.nn.ctc_loss(labels, x, LABEL_LENGTH, LOGIT_LENGTH, blank_index=blank)

    spec = tf.TensorSpec([None, None, 3], tf.float64)
    for way in (loss, tf.function(loss), tf.function(loss, input_signature=[spec])):
        np.testing.assert_allclose(way(tf.constant(LOGITS)), wanted, rtol=1e-10)
    turned = tf.nn.ctc_loss(
        labels, np.swapaxes(LOGITS, 0, 1), LABEL_LENGTH, LOGIT_LENGTH, logits_time_major=False, blank_index=blank
    )
    np.testing.assert_allclose(turned, wanted, rtol=1e-10)


def test_gradient() -> None:
    x = tf.constant(LOGITS)

    def slope(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(
                tf.nn.ctc_loss(LABELS, x, LABEL_LENGTH, LOGIT_LENGTH) * tf.constant([1.0, -2.0, 0.5], tf.float64)
            )
        return tape.gradient(y, x)

    found = slope(x).numpy()
    np.testing.assert_allclose(tf.function(slope)(x), found, rtol=1e-12)
    assert not found[3:, 1].any()  # after the second row's frames
    step, weights = 1e-5, np.array([1.0, -2.0, 0.5])
    for at in np.ndindex(*LOGITS.shape):
        moved = np.zeros(LOGITS.shape)
        moved[at] = step
        above, below = (loss_of(LOGITS + s * moved, LABELS, LABEL_LENGTH, LOGIT_LENGTH) @ weights for s in (1, -1))
        assert found[at] == pytest.approx((above - below) / (2 * step), abs=1e-7)


def test_second_gradient_is_refused() -> None:
    x = tf.constant(LOGITS)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.ctc_loss(LABELS, x, LABEL_LENGTH, LOGIT_LENGTH)
        first = tape.gradient(y, x)
    with pytest.raises(LookupError, match="no second gradient"):
        outer.gradient(first, x)


def test_no_labels_no_frames_and_labels_that_do_not_fit() -> None:
    blanks = np.log(np.exp(LOGITS[:4, :1]).sum(-1)) - LOGITS[:4, :1, 0]
    assert float(tf.nn.ctc_loss([[0]], LOGITS[:4, :1], [0], [4])[0]) == pytest.approx(blanks.sum())
    assert float(tf.nn.ctc_loss([[0]], LOGITS[:, :1], [0], [0])[0]) == pytest.approx(0.0, abs=1e-12)
    tight = float(tf.nn.ctc_loss([[1, 1]], LOGITS[:2, :1], [2], [2])[0])  # a blank must stand between equal labels
    assert 700 < tight < 720
    assert tf.nn.ctc_loss(np.zeros([0, 2], int), np.zeros([4, 0, 3]), np.zeros([0], int), np.zeros([0], int)).shape == (
        0,
    )
    half = tf.nn.ctc_loss(LABELS, tf.cast(LOGITS, tf.float16), LABEL_LENGTH, LOGIT_LENGTH)
    assert half.dtype is tf.float16


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tf.nn.ctc_loss([[7]], LOGITS[:, :1], [1], [5]), tf.errors.InvalidArgumentError, "label 7 is not in"),
        (lambda: tf.nn.ctc_loss([[1]], LOGITS[:, :1], [1], [6]), tf.errors.InvalidArgumentError, "logit_length 6"),
        (lambda: tf.nn.ctc_loss([[1]], LOGITS[:, :1], [2], [5]), tf.errors.InvalidArgumentError, "label_length 2"),
        (lambda: tf.nn.ctc_loss([[1]], LOGITS, [1], [5]), tf.errors.InvalidArgumentError, "labels must have shape"),
        (lambda: tf.nn.ctc_loss([[1]], LOGITS[0], [1], [5]), tf.errors.InvalidArgumentError, "must be 3-dimensional"),
        (lambda: tf.nn.ctc_loss([[1]], LOGITS, None, None), ValueError, "needs label_length"),
        (lambda: tf.nn.ctc_loss([[1]], LOGITS, [1], [5], blank_index=3), ValueError, "one of the 3 classes"),
    ],
)
def test_errors(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize(
    ("labels", "frames", "loss", "gradient"),
    [
        ([1, 2], 1, 707.45197, [-0.06262, 0.21811, -0.15547]),
        ([1, 1], 2, 707.66425, [-0.1289, -0.29898, 0.42786, -0.13591, -0.05536, 0.19127]),
        ([1, 1, 2], 2, 707.66425, [-0.1289, -0.29898, 0.42786, -0.13591, -0.05536, 0.19127]),
        ([1, 2], 0, 706.8936, []),
    ],
)
def test_labels_that_cannot_be(labels: list[int], frames: int, loss: float, gradient: list[float]) -> None:
    """Too few frames for two labels: the numbers are TensorFlow's."""
    x = tf.constant(np.sin(np.arange(12.0)).reshape(4, 1, 3), tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        found = tf.nn.ctc_loss([labels], x, [2], [frames])
    np.testing.assert_allclose(found, [loss], rtol=1e-6)
    slope = tape.gradient(found, x).numpy().ravel()
    np.testing.assert_allclose(slope[: 3 * frames], gradient, atol=3e-5)
    assert not slope[3 * frames :].any()


def test_a_label_that_is_the_blank() -> None:
    """Whatever class the blank is, the loss is the same, and its gradient that of the loss."""
    x = tf.constant(LOGITS)
    losses = []
    for blank in range(3):
        with tf.GradientTape() as tape:
            tape.watch(x)
            turned = tf.roll(x, blank, -1)
            loss = tf.nn.ctc_loss((LABELS * [1, 0] + blank) % 3, turned, [2, 1, 2], LOGIT_LENGTH, blank_index=blank)
        losses.append((loss.numpy(), tape.gradient(loss, x).numpy()))
    for loss, slope in losses[1:]:
        np.testing.assert_allclose(loss, losses[0][0])
        np.testing.assert_allclose(slope, losses[0][1], atol=1e-12)
    step = np.zeros(LOGITS.shape)
    step[1, 0, 0] = 1e-5
    above, below = (tf.nn.ctc_loss([[1, 0]] * 3, x + s * step, [2, 1, 2], LOGIT_LENGTH)[0] for s in (1, -1))
    assert losses[0][1][1, 0, 0] == pytest.approx(float(above - below) / 2e-5, abs=1e-7)


def test_unique_labels() -> None:
    """As TensorFlow gives them: in the order in which they come, and which each label is."""
    labels = np.int32([[1, 2, 2, 0], [3, 3, -1, 0]])
    for function in (tf.nn.ctc_unique_labels, tf.function(tf.nn.ctc_unique_labels)):
        unique, which = function(labels)
        assert unique.dtype == tf.int64 and unique.numpy().tolist() == [[1, 2, 0, 0], [3, -1, 0, 0]]
        assert which.dtype == tf.int32 and which.numpy().tolist() == [[0, 1, 1, 2], [0, 0, 1, 2]]


def test_alignments_of_other_sizes_are_refused() -> None:
    logs, ends, skips = np.zeros((4, 2, 3)), np.zeros((2, 5)), np.zeros((2, 5), bool)
    times, states = np.full(2, 4), np.zeros((2, 5), int)
    for given in (
        (logs, times + 1, states, skips, ends, 0.0, logs.copy()),
        (logs, times, states + 3, skips, ends, 0.0, logs.copy()),
        (logs, times, states, ~skips, ends, 0.0, logs.copy()),
        (logs, times, states, skips, ends[:1], 0.0, logs.copy()),
        (logs, times, states, skips, ends, 0.0, logs[:3].copy()),
        (logs.astype("f"), times, states, skips, ends, 0.0, logs.copy()),
    ):
        with pytest.raises(ValueError, match="aligned|sample|state"):
            array_kernels.aligned(*given)


def test_long_and_improbable_labels_lose_nothing() -> None:
    """Sums of logarithms, one by one, of what no double holds."""
    rng = np.random.default_rng(8)
    frames, classes, labels = 900, 6, rng.integers(1, 6, (2, 40))
    logits = rng.standard_normal((frames, 2, classes)) * 12
    logits[: frames // 2, 0, 0] += 60  # blanks for long, then what makes up for it
    sure = logits - np.logaddexp.reduce(logits, -1, keepdims=True)
    wanted = []
    for n in range(2):
        states = np.zeros(81, int)
        states[1::2] = labels[n]
        skip = np.r_[False, False, (states[2:] != states[:-2]) & (states[2:] != 0)]
        total = np.r_[0.0, 0.0, np.full(79, -np.inf)] + sure[0, n, states]
        for t in range(1, frames):
            one, two = np.r_[-np.inf, total[:-1]], np.where(skip, np.r_[-np.inf, -np.inf, total[:-2]], -np.inf)
            total = np.logaddexp(np.logaddexp(total, one), two) + sure[t, n, states]
        wanted.append(-np.logaddexp(total[-1], total[-2]))
    lengths = np.array([40, 40]), np.array([frames] * 2)
    with tf.GradientTape() as tape:
        tape.watch(x := tf.constant(logits))
        loss = tf.nn.ctc_loss(labels, x, *lengths, blank_index=0)
    np.testing.assert_allclose(loss, wanted, rtol=1e-9)
    gradient = np.asarray(tape.gradient(loss, x))
    np.testing.assert_allclose(gradient.sum(-1), 0, atol=1e-9)  # of each frame the shares are 1


@pytest.mark.parametrize("traced", [False, True])
def test_sparse_labels(traced: bool) -> None:
    # Where they stand in their rows says nothing, and there may be more rows' lengths than frames are used.
    labels = tf.SparseTensor([[0, 0], [0, 3], [1, 1], [2, 0], [2, 2]], tf.constant([1, 1, 2, 2, 1], tf.int64), [3, 5])

    def losses(indices: Any, values: Any, x: Any, lengths: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.nn.ctc_loss(tf.SparseTensor(indices, values, [3, 5]), x, None, lengths, blank_index=0)
        return y, tape.gradient(y, x)

    specs = [tf.TensorSpec([None, 2], tf.int64), tf.TensorSpec([None], tf.int64), tf.TensorSpec(None, tf.float64)]
    run = tf.function(losses, input_signature=[*specs, tf.TensorSpec([None], tf.int64)]) if traced else losses
    loss, slope = run(labels.indices, labels.values, tf.constant(LOGITS), tf.constant(LOGIT_LENGTH))
    np.testing.assert_allclose(loss, loss_of(LOGITS, LABELS, LABEL_LENGTH, LOGIT_LENGTH))
    with tf.GradientTape() as tape:
        tape.watch(x := tf.constant(LOGITS))
        wanted = tf.nn.ctc_loss(LABELS, x, LABEL_LENGTH, LOGIT_LENGTH)
    np.testing.assert_allclose(slope, tape.gradient(wanted, x))


def test_sparse_labels_that_no_alignment_has() -> None:
    sparse = lambda rows, values: tf.SparseTensor(rows, values, [1, 4])
    loss = lambda rows, values, n, **how: tf.nn.ctc_loss(sparse(rows, values), LOGITS[:, :1], None, [n], **how)
    three = [[0, 0], [0, 1], [0, 2]]
    assert float(loss(three, [1, 1, 1], 4, blank_index=0)[0]) == np.inf  # five frames: blanks between equal labels
    for rows, values, n in ((three, [1, 2, 1], 2), (three, [1, 0, 1], 5), (np.zeros([0, 2], int), [], 5)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            loss(rows, tf.constant(values, tf.int32), n, blank_index=0)
    with pytest.raises(ValueError, match="must be provided when"):
        loss(three, [1, 2, 1], 5)
