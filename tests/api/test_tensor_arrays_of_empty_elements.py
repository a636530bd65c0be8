"""Elements without numbers in TensorArrays that grow in staged loops: they have a shape, which all others have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg

pytestmark = pytest.mark.usefixtures("tier")


def grown(value: Any, n: Any, first: Any = None) -> Any:
    array = fg.TensorArray(fg.float32, 0, dynamic_size=True)
    if first is not None:
        array = array.write(0, first)
    for i in fg.range(0 if first is None else 1, n):
        array = array.write(i, value(i))
    return array.stack()


def grown_under_if(value: Any, n: Any, first: Any = None) -> Any:
    array = fg.TensorArray(fg.float32, 0, dynamic_size=True)
    if first is not None:
        array = array.write(0, first)
    for i in fg.range(0 if first is None else 1, n):
        if i < 9:
            array = array.write(i, value(i))
    return array.stack()


@pytest.mark.parametrize("size", [1, 2])
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("program", [grown, grown_under_if])
def test_an_element_of_another_shape_than_empty_ones_is_an_error(program: Any, begun: bool, size: int) -> None:
    @fg.function
    def parts(x: Any, n: Any) -> Any:
        return program(lambda i: x[: size * i], n, x[: 0 * n] if begun else None)

    for _ in range(2):
        with pytest.raises(fg.errors.InvalidArgumentError, match="incompatible shape.*infer_shape=False"):
            parts(fg.ones([size]), fg.constant(2))


@pytest.mark.parametrize("size", [0, 1, 2])
@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize("program", [grown, grown_under_if])
def test_elements_of_one_shape_that_is_data(program: Any, begun: bool, size: int) -> None:
    @fg.function(input_signature=[fg.TensorSpec([None]), fg.TensorSpec([], fg.int32)])
    def rows(x: Any, n: Any) -> Any:
        return program(lambda i: x * fg.cast(i, fg.float32), n, 0 * x if begun else None)

    for n in (1, 2, 6):
        expected = np.arange(float(n))[:, None] * np.ones([1, size])
        got = rows(fg.ones([size]), fg.constant(n))
        assert got.shape == (n, size)
        np.testing.assert_array_equal(got, expected)


def test_entries_that_nobody_has_written_have_the_shape_of_what_is_written() -> None:
    @fg.function(input_signature=[fg.TensorSpec([None]), fg.TensorSpec([], fg.int32)])
    def some(x: Any, n: Any) -> Any:
        array = fg.TensorArray(fg.float32, 3, dynamic_size=True)
        last = fg.TensorArray(fg.float32, 0, dynamic_size=True)
        for i in fg.range(n, n + 2):
            array = array.write(i, x)
            last = last.write(i, x)
        return array.stack(), last.stack()

    for got in some(fg.ones([2]), fg.constant(1)):
        np.testing.assert_array_equal(got, [[0, 0], [1, 1], [1, 1]])


# Of one size, and where what comes first, or between, is empty. What TensorFlow stops at the stack stops here at the
# write: never is a row filled up.

LENGTHS = [[0, 1], [0, 2], [1, 0], [2, 0, 0], [0, 0, 1], [2, 3]]
ALIKE = [[0, 0], [1, 1], [2, 2, 2]]
X = np.arange(1.0, 5.0, dtype="float32")
SPECS = [fg.TensorSpec([None]), fg.TensorSpec([None], fg.int32)]


def first(array: Any) -> Any:
    return array.read(0)


def last(array: Any) -> Any:
    return array.read(array.size() - 1)


def gathered(array: Any) -> Any:
    return array.gather(fg.range(array.size()))


def stacked(array: Any) -> Any:
    return array.stack()


def joined(array: Any) -> Any:
    return array.concat()


def vector(x: Any, n: Any) -> Any:
    return x[:n]


def wide(x: Any, n: Any) -> Any:
    return fg.tile(x[None, :n], [2, 1])


def high(x: Any, n: Any) -> Any:
    return fg.tile(x[:n, None], [1, 2])


def written(make: Any, options: dict[str, Any], look: Any) -> Any:
    @fg.function(input_signature=SPECS)
    def rows(x: Any, lengths: Any) -> Any:
        n = fg.size(lengths)
        array = fg.TensorArray(fg.float32, 0 if "dynamic_size" in options else n, **options)
        for i in fg.range(n):
            array = array.write(i, make(x, lengths[i]))
        return look(array)

    return rows


EVERY = pytest.mark.parametrize("look", [stacked, first, last, gathered, joined])
MADE = pytest.mark.parametrize("make", [vector, wide, high])
OPTIONS = pytest.mark.parametrize("options", [{}, {"dynamic_size": True}], ids=["fixed", "growing"])


@EVERY
@MADE
@OPTIONS
def test_rows_of_different_lengths_are_never_filled_up(options: Any, make: Any, look: Any) -> None:
    rows = written(make, options, look)
    for lengths in LENGTHS:
        with pytest.raises(fg.errors.InvalidArgumentError, match="incompatible shape at a list index"):
            rows(X, lengths)
    for lengths in ALIKE:
        elements = [make(fg.constant(X), n).numpy() for n in lengths]
        wanted = {stacked: elements, gathered: elements, first: elements[0], last: elements[-1]}
        wanted[joined] = np.concatenate(elements)
        np.testing.assert_array_equal(rows(X, lengths), wanted[look])


@EVERY
@OPTIONS
def test_nothing_is_read_of_what_nobody_has_written(options: Any, look: Any) -> None:
    options = {"element_shape": [None], **options}

    @fg.function(input_signature=SPECS)
    def some(x: Any, lengths: Any) -> Any:
        array = fg.TensorArray(fg.float32, 2, **options)
        for i in fg.range(fg.size(lengths)):
            array = array.write(i, x[: lengths[i]])
        return look(array)

    with pytest.raises(
        fg.errors.InvalidArgumentError, match="uninitialized tensor.*not fully|uninitialized.*non-fully"
    ):
        some(X, np.zeros([0], "int32"))
    for length in (0, 2):
        both = [X[:length], 0 * X[:length]]
        wanted = {stacked: both, gathered: both, first: both[0], last: both[1], joined: np.concatenate(both)}
        np.testing.assert_array_equal(some(X, [length]), wanted[look])


@OPTIONS
def test_no_rows_cannot_be_stacked_but_joined(options: Any) -> None:
    none = np.zeros([0], "int32")
    with pytest.raises(fg.errors.InvalidArgumentError, match="non-fully-defined element_shape"):
        written(vector, options, stacked)(X, none)
    assert written(vector, options, joined)(X, none).shape == (0,)


def in_a_branch(x: Any, n: Any, i: Any) -> Any:
    array = fg.TensorArray(fg.float32, 2)
    if i == 0:
        array = array.write(0, x[:n])
    return array.write(1, x[:1]).stack()


def over_one_that_was_there(x: Any, n: Any, i: Any) -> Any:
    array = fg.TensorArray(fg.float32, 3).write(2, x[:n])
    for k in fg.range(1):
        array = array.write(k, x[:1])
    return array.gather([0, 2])


def after_unstack(x: Any, n: Any, i: Any) -> Any:
    array = fg.TensorArray(fg.float32, 2).unstack(fg.tile(x[None, :n], [2, 1]))
    return array.write(i, x[:1]).stack()


def after_growing_unstack(x: Any, n: Any, i: Any) -> Any:
    array = fg.TensorArray(fg.float32, 0, dynamic_size=True).unstack(fg.tile(x[None, :n], [i + 1, 1]))
    return array.write(i + 1, x[:1]).stack()


def by_a_function(x: Any, n: Any, i: Any) -> Any:
    put = fg.function(lambda array, at, value: array.write(at, value))
    return put(put(fg.TensorArray(fg.float32, 2), 0, x[:n]), 1, x[:1]).stack()


def by_a_function_growing(x: Any, n: Any, i: Any) -> Any:
    put = fg.function(lambda array, at, value: array.write(at, value))
    return put(put(fg.TensorArray(fg.float32, 0, dynamic_size=True), 0, x[:n]), 1, x[:1]).stack()


def of_two(x: Any, n: Any, i: Any) -> Any:
    array, other = fg.TensorArray(fg.float32, 2), fg.TensorArray(fg.float32, 2)
    if i > 0:
        taken = array.write(0, x[:1])
    else:
        taken = other.write(0, x[:n])
    return taken.write(1, x[:1]).stack()


def in_nested_loops(x: Any, n: Any, i: Any) -> Any:
    array = fg.TensorArray(fg.float32, 4)
    for k in fg.range(2):
        for j in fg.range(2):
            if k + j == 0:
                array = array.write(0, x[:n])
            else:
                array = array.write(2 * k + j, x[:1])
    return array.stack()


PROGRAMS = [in_a_branch, over_one_that_was_there, after_unstack, after_growing_unstack, by_a_function,
            by_a_function_growing, of_two, in_nested_loops]  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS)
def test_an_empty_row_has_a_shape_wherever_it_is_written(program: Any) -> None:
    f = fg.function(program, input_signature=[fg.TensorSpec([None]), *[fg.TensorSpec([], fg.int32)] * 2])
    for n in (0, 2):
        with pytest.raises(fg.errors.InvalidArgumentError, match="incompatible shape at a list index"):
            f(X, n, 0)
    assert set(f(X, 1, 0).numpy().ravel()) <= {0.0, 1.0}


def test_given_by_the_caller_and_given_back() -> None:
    f = fg.function(lambda array, i, value: array.write(i, value))
    for empty in (0, 1):
        array = fg.TensorArray(fg.float32, 2, element_shape=[None])
        result = f(array, 0, X[:empty])
        assert result.read(0).shape == (empty,)
        again = f(fg.TensorArray(fg.float32, 2, element_shape=[None]), 0, X[:empty])
        with pytest.raises((fg.errors.InvalidArgumentError, ValueError), match="(?i)incompatible shape"):
            f(again, 1, X[:2])


def test_derivatives_of_rows_whose_length_is_data() -> None:
    @fg.function(input_signature=[fg.TensorSpec([None]), fg.TensorSpec([], fg.int32)])
    def f(x: Any, n: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            array, longer = fg.TensorArray(fg.float32, 3), fg.TensorArray(fg.float32, 0, dynamic_size=True)
            for i in fg.range(3):
                array = array.write(i, x[:n] ** 2)
                longer = longer.write(i, array.read(i) * x[:n])
            y = fg.reduce_sum(array.stack() ** 2) + fg.reduce_sum(longer.stack())
        return tape.gradient(y, x)

    for n in (0, 1, 3):
        wanted = np.where(np.arange(4) < n, 12 * X**3 + 9 * X**2, 0)
        np.testing.assert_allclose(f(X, n), wanted)


@pytest.mark.parametrize("growing", [False, True])
def test_shape_invariants_have_one_shape_for_an_array(growing: bool) -> None:
    @fg.function(input_signature=[fg.TensorSpec([None])])
    def f(x: Any) -> Any:
        array = fg.TensorArray(fg.float32, 0 if growing else 3, dynamic_size=growing)
        _, array, y = fg.while_loop(
            lambda i, *_: i < 3,
            lambda i, array, y: (i + 1, array.write(i, x), fg.concat([y, x], 0)),
            [fg.constant(0), array, x],
            shape_invariants=[fg.TensorShape([]), fg.TensorShape(None), fg.TensorShape([None])],
        )
        return array.stack(), fg.size(y)

    rows, size = f(X[:2])
    np.testing.assert_array_equal(rows, np.tile(X[:2], [3, 1]))
    assert int(size) == 8


def test_arrays_of_different_shapes_in_two_branches() -> None:
    @fg.function
    def f(b: Any) -> Any:
        if b:
            array = fg.TensorArray(fg.float32, 2).write(0, fg.ones([2]))
        else:
            array = fg.TensorArray(fg.float32, 2).write(0, fg.ones([3]))
        assert array.element_shape == [None] and array.read(0).shape == [None]
        return array.stack(), fg.reduce_sum(array.read(0) + 1)

    @fg.function
    def ranks(b: Any) -> Any:
        if b:
            array = fg.TensorArray(fg.float32, 2).write(0, fg.ones([2]))
        else:
            array = fg.TensorArray(fg.float32, 2).write(0, fg.ones([2, 2]))
        assert array.element_shape.rank is None
        return array.stack()

    for b, n in ((True, 2), (False, 3)):
        rows, total = f(fg.constant(b))
        assert rows.shape == (2, n) and float(total) == 2 * n
        assert ranks(fg.constant(b)).shape == ((2, 2) if b else (2, 2, 2))

    @fg.function
    def kinds(b: Any) -> Any:
        if b:
            array = fg.TensorArray(fg.float32, 1, infer_shape=False).write(0, fg.ones([2]))
        else:
            array = fg.TensorArray(fg.float32, 1).write(0, fg.ones([2]))
        return array.stack()

    with pytest.raises(TypeError, match="No common supertype of TensorArraySpec"):
        kinds(fg.constant(True))


def test_no_place_beyond_the_end_is_read_where_rows_are_empty() -> None:
    @fg.function(input_signature=[fg.TensorSpec([None]), fg.TensorSpec([], fg.int32)])
    def f(x: Any, i: Any) -> Any:
        array = fg.TensorArray(fg.float32, 3, clear_after_read=False).write(0, x)
        total = array.read(i) + 1
        for _ in fg.range(2):
            total += array.read(i) * 2
        return total

    for x in (X[:0], X[:1]):
        np.testing.assert_array_equal(f(x, 0), 5 * x + 1)
        for i in (3, -1):
            with pytest.raises(fg.errors.InvalidArgumentError, match=f"access element {i} in a list with 3 elements"):
                f(x, i)
