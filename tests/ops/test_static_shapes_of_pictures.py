"""What is known of pictures' shapes while a Function is traced, and what is drawn where it is not known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

ANY = fg.TensorSpec([None] * 4, fg.float32)
WORD = fg.TensorSpec([], fg.string)

#: name -> (function, the specs of its arguments, the static shape of its result)
SHAPES: dict[str, tuple[Callable[..., Any], list[Any], list[int | None]]] = {
    "crop": (lambda x: fg.image.crop_to_bounding_box(x, 1, 1, 2, 3), [ANY], [None, 2, 3, None]),
    "crop at a tensor": (
        lambda x, i: fg.image.crop_to_bounding_box(x, i, i, i, 3),
        [ANY, fg.TensorSpec([], fg.int32)],
        [None, None, 3, None],
    ),
    "grey": (fg.image.grayscale_to_rgb, [ANY], [None, None, None, 3]),
    "animation": (fg.io.decode_gif, [WORD], [None, None, None, 3]),
    "part of a file": (lambda s: fg.io.decode_and_crop_jpeg(s, [0, 0, 3, 4], 3), [WORD], [3, 4, 3]),
    "boxes": (
        lambda b, s: fg.image.non_max_suppression_padded(b, s, 5, pad_to_max_output_size=True)[0],
        [fg.TensorSpec([None, None, 4], fg.float32), fg.TensorSpec([None, None], fg.float32)],
        [None, 5],
    ),
    "segments of words": (
        lambda s: fg.strings.unsorted_segment_join(s, [0, 1], 3),
        [fg.TensorSpec([2], fg.string)],
        [3],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_static_shape(name: str) -> None:
    function, specs, wanted = SHAPES[name]
    assert fg.function(function).get_concrete_function(*specs).output_shapes.as_list() == wanted


def test_boxes_of_unknown_number_are_drawn(rng: np.random.Generator) -> None:
    images = rng.random((2, 6, 7, 3), dtype=np.float32)
    boxes = np.array([[[0.1, 0.1, 0.8, 0.9]], [[0.2, 0.3, 0.8, 0.9]]], np.float32)
    unknown = fg.TensorSpec(None, fg.float32)
    for image, corners in ((ANY, fg.TensorSpec([None, None, 4], fg.float32)), (unknown, unknown)):
        drawn = fg.function(fg.image.draw_bounding_boxes, input_signature=[image, corners])(images, boxes)
        np.testing.assert_array_equal(drawn, fg.image.draw_bounding_boxes(images, boxes))


def test_a_batch_of_unknown_size_is_suppressed_row_by_row() -> None:
    boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 0.9], [2, 2, 3, 3]]] * 2, np.float32)
    scores = np.array([[0.9, 0.8, 0.7], [0.1, 0.8, 0.7]], np.float32)
    f = fg.function(lambda b, s: fg.image.non_max_suppression_padded(b, s, 4, pad_to_max_output_size=True))
    for shape in ([None, 3], [None, None], None):
        kind = [fg.TensorSpec(None if shape is None else [*shape, 4], fg.float32), fg.TensorSpec(shape, fg.float32)]
        places, counts = f.get_concrete_function(*kind)(fg.constant(boxes), fg.constant(scores))
        np.testing.assert_array_equal(places, [[0, 2, 0, 0], [1, 2, 0, 0]])
        np.testing.assert_array_equal(counts, [2, 2])


def test_a_blank_counted_from_classes_that_only_a_run_knows(rng: np.random.Generator) -> None:
    scores = rng.normal(size=(4, 2, 3)).astype(np.float32)
    unknown = [fg.TensorSpec(None, fg.float32), fg.TensorSpec(None, fg.int32)]
    for blank in (None, -2, 1):
        decode = lambda x, n, blank=blank: fg.nn.ctc_greedy_decoder(x, n, blank_index=blank)[0][0].values
        got = fg.function(decode, input_signature=unknown)(scores, [4, 3])
        np.testing.assert_array_equal(got, decode(fg.constant(scores), [4, 3]))
    with pytest.raises(fg.errors.InvalidArgumentError, match="between 0 and 2"):
        fg.function(lambda x: fg.nn.ctc_greedy_decoder(x, [4, 3], blank_index=5)[1], input_signature=unknown[:1])(
            scores
        )


def test_words_of_unknown_rank_are_a_vector() -> None:
    f = fg.function(lambda s: fg.strings.split(s), input_signature=[fg.TensorSpec(None, fg.string)])
    assert f(["a b", "c"]).to_list() == [[b"a", b"b"], [b"c"]]


def test_ragged_words_and_files_are_asked_one_by_one() -> None:
    words = fg.ragged.constant([["a", "b"], [b"\xff\xd8\xff"]])
    assert fg.io.is_jpeg(words).to_list() == [[False, False], [True]]
    flat = fg.strings.to_hash_bucket(words.flat_values, 7)
    assert fg.strings.to_hash_bucket(words, 7).flat_values.numpy().tolist() == flat.numpy().tolist()


def test_what_sparse_tensors_and_counts_refuse() -> None:
    empty = fg.SparseTensor(np.zeros([0, 2], np.int64), np.zeros([0], np.float32), [0, 5])
    with pytest.raises(fg.errors.InvalidArgumentError, match="cannot infer the missing"):
        fg.sparse.reshape(empty, [-1, 0])
    outside = fg.SparseTensor([[-1, 0], [3, 1]], [1.0, 2.0], [4, 4])
    with pytest.raises(fg.errors.InvalidArgumentError, match="not valid"):
        fg.sparse.split(outside, 2, axis=0)
    with pytest.raises(fg.errors.InvalidArgumentError, match="1 or 2-dimensional"):
        fg.sparse.bincount(fg.ones([2, 2, 2], fg.int32), axis=-1)
