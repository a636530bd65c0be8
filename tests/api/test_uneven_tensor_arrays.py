"""TensorArrays in Functions whose entries differ in shape (infer_shape=False), and entries that were never written."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags

TIERS = pytest.mark.parametrize("tier", ["first", "last"])


def array(**options: Any) -> Any:
    return fg.TensorArray(fg.float32, **{"infer_shape": False, **options})


def run(function: Any, tier: str, *arguments: Any) -> Any:
    with flags.override(tier=tier, worker=False), warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # of what could not be compiled
        return fg.function(function)(*arguments)


def filled(n: Any, ta: Any, *rest: int) -> Any:
    for i in fg.range(n):
        ta = ta.write(i, fg.ones([i + 1, *rest]) * fg.cast(i, fg.float32))
    return ta


WANTED = np.repeat(np.arange(4), np.arange(1, 5)).astype("float32")


@TIERS
@pytest.mark.parametrize(
    "options", [{"size": 4}, {"size": 0, "dynamic_size": True}, {"size": 4, "element_shape": [None]}]
)
def test_rows_of_different_lengths_are_joined_and_read(tier: str, options: Any) -> None:
    def f(n: Any) -> Any:
        ta = filled(n, array(**options))
        return ta.concat(), ta.read(1), ta.read(n - 1), ta.size(), ta.gather([2])

    whole, first, last, size, gathered = run(f, tier, fg.constant(4))
    assert np.array_equal(whole, WANTED) and int(size) == 4
    assert first.numpy().tolist() == [1, 1] and last.numpy().tolist() == [3] * 4
    assert gathered.numpy().tolist() == [[2, 2, 2]]


@TIERS
def test_rows_of_matrices_and_a_size_that_only_the_graph_knows(tier: str) -> None:
    def f(n: Any) -> Any:
        ta = filled(n, array(size=n), 2).write(1, [[7.0, 8.0]])
        return ta.concat(), ta.size()

    whole, size = run(f, tier, fg.constant(4))
    wanted = np.repeat(WANTED[:, None], 2, 1)
    assert int(size) == 4 and np.array_equal(whole, np.concatenate([wanted[:1], [[7, 8]], wanted[3:]]))


@TIERS
def test_in_branches_as_arguments_and_results(tier: str) -> None:
    def f(n: Any, given: Any) -> Any:
        ta = array(size=2)
        if n > 2:
            ta = ta.write(0, fg.ones([n])).write(1, [2.0])
        else:
            ta = ta.write(0, [2.0]).write(1, [3.0, 4.0])
        return ta, ta.concat(), given.write(1, [5.0, 6.0]).concat()

    given = array(size=2).write(0, [1.0]).write(1, [2.0, 3.0, 4.0])
    for n, wanted in ((3, [1, 1, 1, 2]), (1, [2, 3, 4])):
        ta, whole, other = run(f, tier, fg.constant(n), given)
        assert whole.numpy().tolist() == wanted == ta.concat().numpy().tolist()
        assert other.numpy().tolist() == [1, 5, 6]


@TIERS
def test_taken_from_tensors(tier: str) -> None:
    def f(x: Any, n: Any) -> Any:
        ta = array(size=3).split(x, fg.stack([n, 1, 5 - n]))
        rows = array(size=0, dynamic_size=True).unstack(x[: n + 1])
        more = array(size=n).unstack(x[:n]).scatter(fg.stack([n - 1]), x[-1:])
        return ta.concat(), ta.read(0), rows.size(), rows.stack(), more.stack()

    x = np.arange(12.0, dtype="float32").reshape(6, 2)
    whole, first, size, rows, more = run(f, tier, fg.constant(x), fg.constant(2))
    assert np.array_equal(whole, x) and np.array_equal(first, x[:2])
    assert int(size) == 3 and np.array_equal(rows, x[:3]) and np.array_equal(more, x[[0, 5]])


@TIERS
def test_pieces_whose_number_and_lengths_only_a_run_knows(tier: str) -> None:
    def f(x: Any, lengths: Any, n: Any) -> Any:
        grown = fg.TensorArray(fg.float32, 0, dynamic_size=True, infer_shape=False).split(x, lengths)
        alike = fg.TensorArray(fg.float32, n).split(x, lengths)
        return grown.read(1), grown.concat(), grown.size(), alike.read(0)

    x = np.arange(8.0, dtype="float32").reshape(4, 2)
    last, whole, size, first = run(f, tier, fg.constant(x), fg.constant([3, 1]), fg.constant(2))
    assert np.array_equal(last, x[3:]) and np.array_equal(whole, x) and int(size) == 2 and np.array_equal(first, x[:3])
    with pytest.raises(fg.errors.InvalidArgumentError, match="dynamically resizeable"):
        run(f, tier, fg.constant(x), fg.constant([1, 2, 1]), fg.constant(2))
    with pytest.raises(fg.errors.InvalidArgumentError, match="sum of lengths"):
        run(f, tier, fg.constant(x), fg.constant([3, 2]), fg.constant(2))


@TIERS
@pytest.mark.slow
def test_derivatives_of_rows_of_different_lengths(tier: str) -> None:
    def f(x: Any) -> Any:
        ta = array(size=3)
        for i in fg.range(3):
            ta = ta.write(i, x[: i + 1] ** 2 * fg.cast(i + 1, fg.float32))
        return fg.reduce_sum(ta.concat() ** 2) + fg.reduce_sum(ta.read(1) ** 3)

    x = fg.constant([1.0, 2.0, 3.0])
    staged = fg.function(f)
    with flags.override(tier=tier, worker=False):
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as inner:
                inner.watch(x)
                y = staged(x)
            dy = inner.gradient(y, x)
        found = [y, dy, outer.gradient(dy, x)]
    for a, b in zip(found, [1471.0, [104.0, 1952.0, 972.0], [408.0, 4464.0, 972.0]], strict=True):
        np.testing.assert_allclose(a, b)


def never_written(n: Any) -> Any:
    return fg.TensorArray(fg.float32, size=n).read(1)


def never_written_of_dynamic_size(n: Any) -> Any:
    return fg.TensorArray(fg.float32, size=n, dynamic_size=True).read(1) + 1.0


def never_written_among_others(n: Any) -> Any:
    return filled(n - 1, array(size=n)).read(n - 1)


def joined_with_one_never_written(n: Any) -> Any:
    return filled(n - 1, array(size=n)).concat()


def stacked_though_they_differ(n: Any) -> Any:
    return filled(n, array(size=n)).stack()


def joined_scalars(n: Any) -> Any:
    ta = array(size=n)
    for i in fg.range(n):
        ta = ta.write(i, 1.0)
    return ta.concat()


def read_beyond(n: Any) -> Any:
    return filled(n, array(size=n)).read(n)


@TIERS
@pytest.mark.parametrize(
    ("function", "text"),
    [
        (never_written, r"uninitialized tensor .*no list element is set, at index 1"),
        (never_written_of_dynamic_size, r"uninitialized tensor .*no list element is set, at index 1"),
        (never_written_among_others, r"uninitialized tensor .*at index\] \[2\]"),
        (joined_with_one_never_written, "List contains uninitialized tensor"),
        (stacked_though_they_differ, "differ in shape"),
        (joined_scalars, "at least vectors, found scalars"),
        (read_beyond, "Trying to access element 3 in a list with 3 elements"),
    ],
)
def test_errors(tier: str, function: Any, text: str) -> None:
    with pytest.raises(fg.errors.InvalidArgumentError, match=text) as raised:
        run(function, tier, fg.constant(3))
    assert "test_uneven_tensor_arrays.py" in str(raised.value)


def test_zeros_for_rows_that_were_not_written_where_the_others_are_alike() -> None:
    def f(n: Any) -> Any:
        ta = array(size=n)
        for i in fg.range(n - 1):
            ta = ta.write(i, fg.ones([2]))
        return ta.stack()

    assert run(f, "first", fg.constant(3)).numpy().tolist() == [[1, 1], [1, 1], [0, 0]]


PARTLY = pytest.mark.parametrize("options", [{"element_shape": [None]}, {}])


@TIERS
@PARTLY
def test_entries_that_were_not_written_are_zeros_of_the_shape_of_those_that_were(
    tier: str, options: dict[str, Any]
) -> None:
    def one(n: Any) -> Any:
        return array(size=3, infer_shape=True, **options).write(0, fg.ones([n]))

    def in_a_branch(n: Any) -> Any:
        ta = array(size=3, infer_shape=True, **options)
        if n > 5:
            ta = ta.write(0, [1.0, 2.0])
        return ta

    def f(n: Any) -> Any:
        taken = in_a_branch(n)
        return (
            one(n).stack(),
            one(n).gather([0, 1]),
            one(n).concat(),
            one(n).read(1),
            one(n).read(n),
            taken.read(1),
            taken.stack(),
        )

    stacked, gathered, joined, *read, whole = run(f, tier, fg.constant(2))
    assert stacked.numpy().tolist() == [[1, 1], [0, 0], [0, 0]] and gathered.numpy().tolist() == [[1, 1], [0, 0]]
    assert joined.numpy().tolist() == [1, 1, 0, 0, 0, 0]
    assert [each.numpy().tolist() for each in read] == [[0, 0]] * 3
    assert whole.numpy().tolist() == [[0, 0]] * 3


@TIERS
@PARTLY
def test_an_array_that_nothing_was_written_to_has_no_entries_to_read(tier: str, options: dict[str, Any]) -> None:
    def f(i: Any) -> Any:
        return array(size=3, infer_shape=True, **options).read(i)

    with pytest.raises(fg.errors.InvalidArgumentError, match="Trying to read an uninitialized tensor"):
        run(f, tier, fg.constant(1))


@TIERS
@pytest.mark.parametrize("infer_shape", [True, False])
@pytest.mark.parametrize("options", [{"element_shape": [None]}, {}, {"dynamic_size": True}])
def test_an_array_that_nothing_was_written_to_is_an_argument(
    tier: str, options: dict[str, Any], infer_shape: bool
) -> None:
    def f(given: Any) -> Any:
        written = given.write(0, fg.ones([3])).write(1, fg.zeros([3]))
        return given.size(), written.stack(), given

    given = array(size=2, **{"infer_shape": infer_shape, **options})
    size, whole, back = run(f, tier, given)
    assert int(size) == 2 and whole.numpy().tolist() == [[1, 1, 1], [0, 0, 0]]
    assert back.write(1, [5.0, 6.0, 7.0]).read(1).numpy().tolist() == [5, 6, 7]


@PARTLY
def test_the_first_entry_says_the_shape_of_all_unless_it_is_not_to_be_inferred(options: dict[str, Any]) -> None:
    def f(infer_shape: bool) -> Any:
        ta = array(size=2, infer_shape=infer_shape, **options).write(0, [1.0]).write(1, [1.0, 2.0])
        return ta.read(0), ta.read(1)

    with pytest.raises(ValueError, match="Incompatible shape"):
        fg.function(f)(True)
    assert [each.numpy().tolist() for each in fg.function(f)(False)] == [[1], [1, 2]]


@TIERS
def test_entries_of_different_ranks_and_of_one_that_is_known_where_the_array_was_made(tier: str) -> None:
    def of_one_rank(n: Any) -> Any:
        ta = array(size=n)
        for i in fg.range(n):
            ta = ta.write(i, fg.ones([i, 2]))
        assert ta.concat().shape.rank == 2
        return ta.concat()

    def of_different_ranks(n: Any) -> Any:
        ta = array(size=n + 1).write(n, fg.ones([2, 2]))
        for i in fg.range(n):
            ta = ta.write(i, fg.ones([i]))
        assert ta.read(n).shape.rank is None
        return ta.read(n), ta.read(n - 1)

    assert run(of_one_rank, tier, fg.constant(3)).numpy().tolist() == [[1, 1]] * 3
    assert [each.numpy().tolist() for each in run(of_different_ranks, tier, fg.constant(3))] == [[[1, 1]] * 2, [1, 1]]


@TIERS
def test_entries_without_elements_can_be_read(tier: str) -> None:
    def f(n: Any) -> Any:
        ta = array(size=2, infer_shape=True, element_shape=[None])
        for i in fg.range(2):
            ta = ta.write(i, fg.ones([n]))
        return ta.read(1), ta.stack()

    for n in (0, 2):
        entry, whole = run(f, tier, fg.constant(n))
        assert entry.shape == (n,) and whole.shape == (2, n)
