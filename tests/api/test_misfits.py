"""Shapes that do not fit while a function is traced: TensorFlow's class and words, with the node and its shapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import fastgraph as fg

X = fg.ones([2, 3])
V = fg.Variable([1.0, 2.0])
ROWS = fg.ones([3, 3])
EQUAL = "Dimensions must be equal, but are "
CASES: dict[str, tuple[Callable[[], Any], str]] = {
    "reshape": (lambda: fg.reshape(X, [4]), "Cannot reshape a tensor with 6 elements to shape [4] (4 elements)"),
    "reshape by -1": (lambda: fg.reshape(X, [-1, 4]), "Dimension size must be evenly divisible by 4 but is 6"),
    "concat": (
        lambda: fg.concat([X, fg.ones([2, 4])], 0),
        "Dimension 0 in both shapes must be equal, but are 3 and 4. Shapes are [3] and [4].",
    ),
    "stack": (
        lambda: fg.stack([X, ROWS]),
        "Dimension 0 in both shapes must be equal, but are 2 and 3. Shapes are [2,3] and [3,3]. From merging shape 0 "
        "with other shapes.",
    ),
    "broadcast_to": (lambda: fg.broadcast_to(X, [4, 3]), EQUAL + "2 and 4"),
    "transpose": (lambda: fg.transpose(X, [0]), "Dimension must be 2 but is 1"),
    "transpose beyond": (lambda: fg.transpose(X, [0, 2]), "perm dim 2 is out of range of input rank 2"),
    "pad": (lambda: fg.pad(X, [[1, 1]]), "Shape must be rank 1 but is rank 2"),
    "tile": (lambda: fg.tile(X, [2]), "Shape must be rank 2 but is rank 1"),
    "split": (lambda: fg.split(X, 4, 1), "Dimension size must be evenly divisible by 4 but is 3 Number of ways"),
    "segments": (lambda: fg.math.unsorted_segment_sum(X, [0, 0, 1], 2), EQUAL + "2 and 3"),
    "top_k": (lambda: fg.math.top_k(X, 5), "input must have last dimension >= k = 5 but is 3"),
    "one_hot": (lambda: fg.one_hot([1], -1), "Dimension size, given by scalar input 1, must be non-negative but is -1"),
    "cholesky": (lambda: fg.linalg.cholesky(X), EQUAL + "2 and 3"),
    "solve": (lambda: fg.linalg.solve(fg.eye(2), ROWS), EQUAL + "2 and 3"),
    "triangular_solve": (lambda: fg.linalg.triangular_solve(fg.eye(2), ROWS), EQUAL + "2 and 3"),
    "bias_add": (lambda: fg.nn.bias_add(X, fg.ones([2])), EQUAL + "3 and 2"),
    "einsum": (lambda: fg.einsum("ij,jk->ik", X, X), EQUAL + "3 and 2"),
    "einsum's rank": (lambda: fg.einsum("ijk->i", X), "Shape must be rank 3 but is rank 2 for 0th input"),
    "add": (lambda: fg.ones([2]) + fg.ones([3]), EQUAL + "2 and 3"),
    "assign_add": (lambda: V.assign_add(X), "Shapes must be equal rank, but are 1 and 2 for '{{node AssignAddVar"),
    "assign_sub": (lambda: V.assign_sub(X[0]), "Shapes must be equal, but are (2,) and (3,) for '{{node AssignSubVar"),
    "depthwise_conv2d": (
        lambda: fg.nn.depthwise_conv2d(fg.ones([1, 5, 5, 3]), fg.ones([3, 3, 4, 1]), [1, 1, 1, 1], "SAME"),
        EQUAL + "3 and 4",
    ),
    "space_to_depth": (
        lambda: fg.nn.space_to_depth(fg.ones([1, 4, 5, 1]), 2),
        "Dimension size must be evenly divisible by 2 but is 5",
    ),
}


@pytest.mark.parametrize(("call", "text"), CASES.values(), ids=list(CASES))
def test_words_while_a_graph_is_made(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError) as found:
        fg.function(call)()
    assert text in str(found.value)
    assert re.search(r"for '\{\{node .*' with input shapes: [\[?]|input of einsum", str(found.value))
    with pytest.raises((fg.errors.InvalidArgumentError, ValueError)):
        call()


@pytest.mark.parametrize(
    ("call", "op"),
    [
        (lambda: fg.fill(fg.constant([2.0]), 1.0), "Fill"),
        (lambda: fg.reshape(X, [2.0, 3.0]), "Reshape"),
        (lambda: fg.tile(X, [2.0, 1.0]), "Tile"),
        (lambda: fg.random.stateless_uniform([2], fg.constant([1.0, 2.0])), "StatelessRandomGetKeyCounter"),
    ],
)
def test_an_attribute_that_is_refused_has_its_op(call: Callable[[], Any], op: str) -> None:
    with pytest.raises(
        fg.errors.InvalidArgumentError, match=rf"not in the list of allowed values(?s:.*)node {op}\}}\}}"
    ):
        call()


def test_weights_and_sizes_of_other_shapes_are_refused_by_the_op_that_was_called() -> None:
    with pytest.raises(
        fg.errors.InvalidArgumentError, match=r"`weights` must be the same shape as `arr`(?s:.*)DenseBin"
    ):
        fg.math.bincount([1, 2], weights=[1.0])
    assert fg.math.bincount([1, 1], weights=fg.zeros([0])).numpy().tolist() == [0.0, 2.0]
    with pytest.raises(
        ValueError, match="Rank-0 tensors are not supported as the num_or_size_splits argument to split"
    ):
        fg.split(X, fg.constant(2))


def test_cross_products_of_other_vectors() -> None:
    with pytest.raises(ValueError, match=r"Dimension must be 3 but is 2 for '\{\{node Cross"):
        fg.function(lambda: fg.linalg.cross(X[:, :2], X[:, :2]))()
    with pytest.raises(fg.errors.FailedPreconditionError, match="3-element vectors"):
        fg.linalg.cross(X[:, :2], X[:, :2])
