"""Sparse and ragged tensors as variables of staged loops: the shapes that they keep."""

from __future__ import annotations

import functools
from typing import Any

import pytest

import fastgraph as fg

set_loop_options = fg.autograph.experimental.set_loop_options


def _sparse(shape: Any) -> Any:
    v = fg.SparseTensor([[0, 0], [1, 1]], [1, 2], [3, 3])
    for _ in fg.range(2):
        set_loop_options(shape_invariants=[(v, shape)])
        v = fg.sparse.expand_dims(v)
    return v.dense_shape


def _sparse_by_call(shape: Any) -> Any:
    v = fg.SparseTensor([[0, 0], [1, 1]], [1, 2], [3, 3])
    count = fg.TensorShape([])
    body = lambda i, v: (i + 1, fg.sparse.expand_dims(v))
    return fg.while_loop(lambda i, v: i < 2, body, (fg.constant(0), v), (count, shape))[1].dense_shape


@pytest.mark.parametrize("program", [_sparse, _sparse_by_call])
def test_one_shape_is_told_of_a_sparse_loop_variable(program: Any) -> None:
    """That of `dense_shape`, as in TensorFlow, or a spec."""
    for shape in (fg.TensorShape(None), fg.TensorShape([None]), fg.SparseTensorSpec(None, fg.int32)):
        assert fg.function(functools.partial(program, shape))().numpy().tolist() == [3, 3, 1, 1]
    with pytest.raises(ValueError, match="must have rank 1"):
        fg.function(functools.partial(program, fg.TensorShape([None, None])))()
    with pytest.raises(ValueError):
        fg.function(functools.partial(program, fg.TensorShape([2])))()


def test_one_shape_is_told_of_ragged_loop_variables_and_of_slices() -> None:
    @fg.function
    def grown() -> Any:
        r = fg.ragged.constant([[1], [2, 3]])
        s = fg.IndexedSlices(fg.ones([2, 3]), fg.constant([0, 1]))
        for _ in fg.range(2):
            set_loop_options(shape_invariants=[(r, fg.TensorShape([None, None])), (s, fg.TensorShape([None, 3]))])
            r = fg.concat([r, r], 0)
            s = fg.IndexedSlices(fg.concat([s.values, s.values], 0), fg.concat([s.indices, s.indices], 0))
        return r, s.values

    rows, values = grown()
    assert rows.to_list() == [[1], [2, 3]] * 4 and values.shape == (8, 3)


def test_a_sparse_tensor_that_grew_in_a_loop_is_returned_with_its_shape() -> None:
    @fg.function
    def grown(n: Any) -> Any:
        v = fg.SparseTensor([[0, 0]], [1], [3, 3])
        for _ in fg.range(n):
            v = fg.SparseTensor(v.indices, v.values * 2, v.dense_shape + 1)
        return v

    for n in (0, 2):
        made = grown(fg.constant(n))
        assert made.shape == (3 + n, 3 + n) and fg.sparse.to_dense(made).shape == (3 + n, 3 + n)


def _wide() -> Any:
    return fg.sparse.from_dense([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])


def _square() -> Any:
    return fg.sparse.from_dense([[1.0, 0.0], [0.0, 2.0]])


def test_two_branches_shapes_of_a_sparse_tensor_become_one_that_both_fit() -> None:
    known = []

    @fg.function
    def by_call(c: Any) -> Any:
        made = fg.cond(c, _square, _wide)
        known.append(made.shape.as_list())
        return made

    @fg.function
    def by_if(c: Any) -> Any:
        made = _wide()
        if c:
            made = _square()
        known.append(made.shape.as_list())
        return made

    for program in (by_call, by_if):
        assert [program(fg.constant(c)).shape.as_list() for c in (True, False)] == [[2, 2], [2, 3]]
    assert known == [[2, None]] * 2


def test_a_loop_refuses_a_sparse_tensor_of_another_known_shape_unless_told() -> None:
    def by_call(told: Any) -> Any:
        body = lambda i, s: (i + 1, fg.sparse.concat(0, [s, s]))
        invariants = told and (fg.TensorShape([]), told)
        made = fg.while_loop(lambda i, s: i < 3, body, (0, _square()), shape_invariants=invariants)[1]
        known.append(made.shape.as_list())
        return made

    def by_for(told: Any) -> Any:
        s = _square()
        for _ in fg.range(3):
            if told is not None:
                set_loop_options(shape_invariants=[(s, told)])
            s = fg.sparse.concat(0, [s, s])
        known.append(s.shape.as_list())
        return s

    known: list[Any] = []
    for program, text in ((by_call, "not compatible"), (by_for, r"'s' has shape \(2, 2\) before .* shape \(4, 2\)")):
        with pytest.raises(ValueError, match=text):
            fg.function(functools.partial(program, None))()
        told = fg.SparseTensorSpec([None, 2], fg.float32)
        assert fg.function(functools.partial(program, told))().shape == (16, 2)
    assert known == [[None, 2]] * 2


def test_a_loop_knows_no_more_of_a_sparse_shape_than_its_body_leaves() -> None:
    known = []

    def body(i: Any, s: Any) -> Any:
        known.append(s.shape.as_list())
        return i + 1, fg.SparseTensor(s.indices, s.values, s.dense_shape * 2)

    @fg.function
    def grown() -> Any:
        made = fg.while_loop(lambda i, s: i < 3, body, (0, _square()))[1]
        known.append(made.shape.as_list())
        return made

    assert grown().shape == (16, 16) and known[1:] == [[None, None]] * (len(known) - 1)


def test_rows_may_get_longer_in_a_loop() -> None:
    @fg.function
    def by_for() -> Any:
        r = fg.ragged.constant([[1, 2], [3]])
        for _ in fg.range(2):
            r = fg.concat([r, r], 1)
        return r

    @fg.function
    def by_call() -> Any:
        start = (0, fg.ragged.constant([[1, 2], [3]]))
        return fg.while_loop(lambda i, r: i < 2, lambda i, r: (i + 1, fg.concat([r, r], 1)), start)[1]

    for program in (by_for, by_call):
        assert program().to_list() == [[1, 2] * 4, [3] * 4]
