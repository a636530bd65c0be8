"""Boxes in images: cut out, drawn, thinned out; TensorFlow's numbers, and the rule box by box."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastgraph as tf

image: Any = tf.image
BOXES = np.float32([[0, 0, 0.5, 0.5], [0.1, 0, 0.6, 0.5], [0.5, 0.5, 1, 1], [0.9, 0.9, 0.6, 0.5], [0, 0, 0, 1]])
SCORES = np.float32([0.6, 0.9, 0.3, 0.5, 0.4])


def share(a: np.ndarray, b: np.ndarray) -> float:
    """The intersection of two boxes over their union."""
    (ay, ax), (by, bx) = (np.sort(box.reshape(2, 2), axis=0).T for box in (a, b))
    sides = [max(min(m[1], n[1]) - max(m[0], n[0]), 0) for m, n in ((ay, by), (ax, bx))]
    areas = [float(np.prod([np.ptp(m), np.ptp(n)])) for m, n in ((ay, ax), (by, bx))]
    return 0.0 if not all(area > 0 for area in areas) else float(np.prod(sides) / (sum(areas) - np.prod(sides)))


def plainly(boxes: np.ndarray, scores: np.ndarray, most: int, above: float, score_above: float) -> list[int]:
    found: list[int] = []
    for i in sorted(range(len(scores)), key=lambda i: (-scores[i], i)):
        if scores[i] > score_above and len(found) < most and all(share(boxes[i], boxes[j]) <= above for j in found):
            found.append(i)
    return found


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 12), st.integers(0, 8), st.floats(0.05, 0.95), st.integers(0, 10**6))
def test_the_best_boxes_stay(n: int, most: int, above: float, seed: int) -> None:
    rng = np.random.default_rng(seed)
    boxes, scores = rng.random((n, 4), np.float32), np.round(rng.random(n, np.float32), 1)
    wanted = plainly(boxes, scores, most, above, 0.2)
    assert image.non_max_suppression(boxes, scores, most, above, 0.2).numpy().tolist() == wanted
    places, count = image.non_max_suppression_padded(boxes, scores, most, above, 0.2, pad_to_max_output_size=True)
    assert places.numpy().tolist() == wanted + [0] * (most - len(wanted)) and int(count) == len(wanted)
    overlaps = np.float32([[share(a, b) for b in boxes] for a in boxes]).reshape(n, n)
    if not any(abs(o - above) < 1e-5 for o in overlaps.ravel()):
        assert image.non_max_suppression_overlaps(overlaps, scores, most, above, 0.2).numpy().tolist() == wanted


@pytest.mark.parametrize("n", [64, 65, 150])
def test_among_many_boxes_those_without_an_area_overlap_nothing(n: int) -> None:
    rng = np.random.default_rng(n)
    corner = rng.random((n, 2), np.float32)
    boxes = np.concatenate([corner, corner + rng.random((n, 2), np.float32) * 0.2], 1)[:, rng.permutation([0, 1, 2, 3])]
    boxes[rng.integers(0, n, 5), rng.integers(0, 4, 5)] = np.nan
    boxes[rng.integers(0, n, 5), 2] = boxes[rng.integers(0, n, 5), 0]
    scores = rng.random(n, np.float32)
    wanted = plainly(boxes, scores, n, 0.3, 0.0)
    assert image.non_max_suppression(boxes, scores, n, 0.3, 0.0).numpy().tolist() == wanted


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        (lambda: image.non_max_suppression(BOXES, SCORES, 5, 0.3), [1, 3, 4]),
        (lambda: image.non_max_suppression_with_scores(BOXES, SCORES, 5, 1.0, 0.2, 0.5)[0], [1, 3, 4, 0, 2]),
        (
            lambda: image.non_max_suppression_with_scores(BOXES, SCORES, 5, 1.0, 0.2, 0.5)[1],
            [0.9, 0.5, 0.4, 0.3847, 0.2383],
        ),
        (
            lambda: image.combined_non_max_suppression(BOXES[None, :, None], SCORES[None, :, None], 2, 3)[1],
            [[0.9, 0.5, 0]],
        ),
        (
            lambda: image.crop_and_resize(RAMP, BOXES[1:3], [0, 1], [2, 2])[:, :, :, 0],
            [[[2, 4], [12, 14]], [[37, 39], [47, 49]]],
        ),
    ],
)
def test_numbers_are_tensorflows(call: Callable[[], Any], wanted: Any) -> None:
    for found in (call(), tf.function(call)()):
        np.testing.assert_allclose(found, wanted, atol=1e-4)


RAMP = np.arange(2 * 5 * 5, dtype=np.float32).reshape(2, 5, 5, 1)


def test_a_crop_of_the_whole_image_is_the_image() -> None:
    for method in ("bilinear", "nearest"):
        found = image.crop_and_resize(RAMP, [[0, 0, 1, 1], [1, 1, 0, 0]], [1, 0], [5, 5], method)
        np.testing.assert_allclose(found[0], RAMP[1])
        np.testing.assert_allclose(found[1], RAMP[0, ::-1, ::-1])
    beyond = image.crop_and_resize(RAMP, [[-1, 0, 1, 1]], [0], [3, 1], extrapolation_value=7.0)
    np.testing.assert_allclose(beyond[0, :, 0, 0], [7.0, 2.0, 22.0])


def test_boxes_are_drawn() -> None:
    blank = np.zeros([1, 4, 5, 1], np.float32)
    found = image.draw_bounding_boxes(blank, [[[0, 0, 1, 0.5], [0.9, 0.9, 0.1, 0.1]]], [[0.5]])
    assert (found[0, :, :, 0].numpy() * 2).astype(int).tolist() == [
        [1, 1, 1, 0, 0], [1, 0, 1, 0, 0], [1, 0, 1, 0, 0], [1, 1, 1, 0, 0],
    ]  # fmt: skip
    coloured = image.draw_bounding_boxes(np.zeros([1, 4, 5, 3], np.float32), [[[0, 0, 1, 1]]], None)
    assert coloured[0, 0, 0].numpy().tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: image.non_max_suppression(BOXES[None], SCORES, 3), "boxes must be 2-D"),
        (lambda: image.non_max_suppression(BOXES, SCORES[:2], 3), "scores has incompatible shape"),
        (lambda: image.non_max_suppression(BOXES, SCORES, -1), "must be non-negative"),
        (lambda: image.non_max_suppression(BOXES, SCORES, 3, 1.5), r"iou_threshold must be in \[0, 1\]"),
        (lambda: image.non_max_suppression_overlaps(BOXES, SCORES, 3), "must be square"),
        (lambda: image.crop_and_resize(RAMP, BOXES, [0] * 5, [0, 1]), "crop dimensions must be positive"),
        (lambda: image.crop_and_resize(RAMP, [[0, 0, np.nan, 1.0]], [0], [2, 2]), "element that is not finite"),
        (lambda: tf.function(image.crop_and_resize)(RAMP, [[0, 0, np.inf, 1.0]], [0], [2, 2], "nearest"), "not finite"),
        (lambda: image.crop_and_resize(RAMP[0], BOXES, [0] * 5, [1, 1]), "must be 4-D"),
        (lambda: image.draw_bounding_boxes(RAMP, BOXES[None], None), "batch sizes should be the same"),
        (lambda: image.draw_bounding_boxes(np.zeros([1, 3, 3, 2], np.float32), BOXES[None], None), "Channel depth"),
    ],
)
def test_what_is_wrong_is_said(call: Callable[[], Any], error: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=error):
        call()
    with pytest.raises(tf.errors.OutOfRangeError):
        image.crop_and_resize(RAMP, BOXES[:1], [2], [1, 1])


@pytest.mark.parametrize("most", [3, 64, 300])
@pytest.mark.slow
def test_boxes_of_several_blocks(most: int, rng: np.random.Generator) -> None:
    corners, sizes = rng.random((300, 2), np.float32), rng.random((300, 2), np.float32)
    boxes, scores = np.concatenate([corners, corners + sizes], 1), np.round(rng.random(300, np.float32), 1)
    wanted = plainly(boxes, scores, most, 0.3, 0.1)
    assert image.non_max_suppression(boxes, scores, most, 0.3, 0.1).numpy().tolist() == wanted
    assert tf.function(image.non_max_suppression)(boxes, scores, most, 0.3, 0.1).numpy().tolist() == wanted
    overlaps = np.float32([[share(a, b) for b in boxes] for a in boxes])
    assert image.non_max_suppression_overlaps(overlaps, scores, most, 0.3, 0.1).numpy().tolist() == wanted
