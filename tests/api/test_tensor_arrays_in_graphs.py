"""TensorArrays in graphs: in staged loops and branches, as arguments and results, with gradients, and what they cost."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from tests.proportion import grows_in_proportion

Invalid = fg.errors.InvalidArgumentError


def compiled(f: Any, *args: Any) -> Any:
    """Call `f` until kernels run it; return its concrete function."""
    f(*args)
    concrete = f.get_concrete_function(*args)
    assert concrete.wait(60)
    return concrete


def listed(value: Any) -> Any:
    return fg.nest.map_structure(lambda t: np.asarray(t).tolist(), value)


def agree(f: Callable[..., Any], *args: Any) -> Any:
    """The result of f: the same plain, staged, staged and compiled, and with unknown dimensions."""
    plain = listed(f(*args))
    staged = fg.function(f)
    assert listed(staged(*args)) == plain
    compiled(staged, *args)
    assert listed(staged(*args)) == plain
    specs = [fg.TensorSpec([None] * len(a.shape), a.dtype) for a in args]
    unknown = fg.function(f, input_signature=specs)
    assert listed(unknown(*args)) == plain
    assert unknown.get_concrete_function().wait(60)
    assert listed(unknown(*args)) == plain
    return plain


def second_order(f: Callable[[Any], Any], x: Any) -> tuple[Any, Any, Any]:
    with fg.GradientTape() as outer:
        outer.watch(x)
        with fg.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        g = inner.gradient(y, x)
    return listed((y, g, outer.gradient(g, x)))


def squares(n: Any) -> Any:
    ta = fg.TensorArray(fg.float32, size=n)
    for i in fg.range(n):
        ta = ta.write(i, fg.cast(i, fg.float32) ** 2)
    return ta.stack()


def growing(n: Any) -> Any:
    ta = fg.TensorArray(fg.int32, size=0, dynamic_size=True)
    i = fg.constant(0)
    while i < n:
        ta = ta.write(i, i * i)
        i += 1
    return ta.stack(), ta.size()


def rows(x: Any) -> Any:
    ta = fg.TensorArray(fg.float32, size=fg.shape(x)[0])
    h = fg.zeros_like(x[0])
    for i in fg.range(fg.shape(x)[0]):
        h = h * 0.5 + x[i] * x[i]
        ta = ta.write(i, h)
    return ta.stack()


def some(x: Any) -> Any:
    ta = fg.TensorArray(fg.float32, size=2).unstack([1.0, 2.0])
    if x > 0:
        ta = ta.write(0, x)
    return ta.stack()


def nested(n: Any) -> Any:
    ta = fg.TensorArray(fg.int32, n * n)
    for i in fg.range(n):
        for j in fg.range(n):
            if i != j:
                ta = ta.write(i * n + j, i * 10 + j)
    return ta.stack()


def fibonacci(n: Any) -> Any:
    ta = fg.TensorArray(fg.int32, n, clear_after_read=False, element_shape=[]).write(0, 1).write(1, 1)
    for i in fg.range(2, n):
        ta = ta.write(i, ta.read(i - 1) + ta.read(i - 2))
    return ta.stack()


def test_loops_write() -> None:
    for n in (0, 1, 3):
        if n:
            assert agree(squares, fg.constant(n)) == [float(i * i) for i in range(n)]
        assert listed(fg.function(squares)(fg.constant(n))) == [float(i * i) for i in range(n)]
    assert agree(nested, fg.constant(3)) == [0, 1, 2, 10, 0, 12, 20, 21, 0]
    assert agree(fibonacci, fg.constant(8)) == [1, 1, 2, 3, 5, 8, 13, 21]
    assert agree(rows, fg.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])) == [[1, 4], [9.5, 18], [29.75, 45]]


def test_arrays_grow_in_loops() -> None:
    staged = fg.function(growing)
    for n in (0, 1, 4, 9, 40):
        assert listed(staged(fg.constant(n))) == ([i * i for i in range(n)], n)
    compiled(staged, fg.constant(4))
    for n in (0, 1, 4, 9, 40):
        assert listed(staged(fg.constant(n))) == ([i * i for i in range(n)], n)
    assert agree(growing, fg.constant(5)) == ([0, 1, 4, 9, 16], 5)


def test_a_branch_that_is_not_taken_writes_nothing() -> None:
    assert agree(some, fg.constant(3.0)) == [3, 2]
    assert agree(some, fg.constant(-3.0)) == [1, 2]

    @fg.function
    def first_in_a_branch(x: Any) -> Any:
        ta = fg.TensorArray(fg.float32, size=2)
        if x > 0:
            ta = ta.write(0, [x, 1.0])
        ta = fg.cond(x > 1, lambda: ta.write(1, [2.0, 2.0]), lambda: ta)
        return ta.stack()

    for _ in range(2):
        assert listed(first_in_a_branch(fg.constant(2.0))) == [[2, 1], [2, 2]]
        assert listed(first_in_a_branch(fg.constant(0.5))) == [[0.5, 1], [0, 0]]
        assert listed(first_in_a_branch(fg.constant(-1.0))) == [[0, 0], [0, 0]]
        compiled(first_in_a_branch, fg.constant(2.0))


def test_while_loop_carries_them() -> None:
    @fg.function
    def f(n: Any) -> Any:
        def body(i: Any, ta: Any) -> Any:
            return i + 1, ta.write(i, fg.ones([2]) * fg.cast(i, fg.float32))

        return fg.while_loop(lambda i, ta: i < n, body, [fg.constant(0), fg.TensorArray(fg.float32, n)])[1].stack()

    assert listed(f(fg.constant(3))) == [[0, 0], [1, 1], [2, 2]]


def test_all_methods() -> None:
    @fg.function
    def f(x: Any, i: Any) -> Any:
        ta = fg.TensorArray(fg.float32, size=0, dynamic_size=True, clear_after_read=False, element_shape=[2])
        ta = ta.unstack(x)
        pieces = fg.TensorArray(fg.float32, size=2, infer_shape=False).split(fg.reshape(x, [-1]), [1, 3])
        scattered = fg.TensorArray(fg.float32, 3).scatter([2, 0, 1], fg.constant([1.0, 2.0, 3.0]))
        more = fg.TensorArray(fg.float32, fg.reduce_max(i) + 1).scatter(i, x)
        return (
            (ta.gather([0, 1]), ta.gather(i), ta.read(1), ta.read(i[0]), ta.size(), ta.concat(), ta.identity().stack()),
            (pieces.concat(), scattered.stack(), more.stack(), more.concat(), more.size()),
        )

    x = fg.constant([[1.0, 2.0], [3.0, 4.0]])
    want = (
        ([[1, 2], [3, 4]], [[3, 4], [1, 2]], [3, 4], [3, 4], 2, [1, 2, 3, 4], [[1, 2], [3, 4]]),
        ([1, 2, 3, 4], [2, 3, 1], [[3, 4], [1, 2]], [3, 4, 1, 2], 2),
    )
    assert listed(f(x, fg.constant([1, 0]))) == want
    compiled(f, x, fg.constant([1, 0]))
    assert listed(f(x, fg.constant([1, 0]))) == want


def test_arguments_results_and_closures() -> None:
    @fg.function
    def put(ta: Any, i: Any) -> Any:
        return ta.write(i, fg.cast(i, fg.float32))

    @fg.function
    def f(n: Any) -> Any:
        ta = fg.TensorArray(fg.float32, size=n)
        for i in fg.range(n):
            ta = put(ta, i)
        return ta.stack()

    assert listed(f(fg.constant(3))) == [0, 1, 2]
    eager = fg.TensorArray(fg.float32, 2).write(0, 5.0)
    result = put(eager, fg.constant(1))
    assert isinstance(result, fg.TensorArray) and listed(result.write(0, 7.0).stack()) == [7, 1]
    assert listed(eager.stack()) == [5, 0]  # what a graph does to an argument or to a captured one stays in the graph
    assert listed(fg.function(lambda: eager.write(1, 4.0).stack())()) == [5, 4] and listed(eager.stack()) == [5, 0]
    assert put.get_concrete_function(fg.TensorArraySpec([], fg.float32), fg.TensorSpec([], fg.int32)) is not None


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_gradients_to_second_order(staged: bool) -> None:
    def polynomials(x: Any) -> Any:
        ta = fg.TensorArray(fg.float32, size=3)
        for i in fg.range(3):
            ta = ta.write(i, x * fg.cast(i, fg.float32) ** 2)
        return fg.reduce_sum(ta.stack() ** 2)

    def read_back(x: Any) -> Any:
        ta = fg.TensorArray(fg.float32, 4, clear_after_read=False, element_shape=[]).write(0, x)
        for i in fg.range(1, 4):
            ta = ta.write(i, ta.read(i - 1) * x)
        return fg.reduce_sum(ta.stack())

    def overwritten(x: Any) -> Any:
        ta = fg.TensorArray(fg.float32, 2, element_shape=[]).write(0, x**3).write(1, x)
        for i in fg.range(2):
            ta = ta.write(0, x * fg.cast(i, fg.float32))
        return fg.reduce_sum(ta.stack() ** 2)

    def grown(x: Any) -> Any:
        ta = fg.TensorArray(fg.float32, 0, dynamic_size=True, element_shape=[])
        for i in fg.range(9):
            ta = ta.write(i, x**2)
        return fg.reduce_sum(ta.stack())

    x = fg.constant(2.0)
    for f, want in (
        (polynomials, (68.0, 68.0, 34.0)),
        (read_back, (30.0, 1 + 4 + 12 + 32.0, 2 + 12 + 48.0)),
        (overwritten, (8.0, 8.0, 4.0)),
        (grown, (36.0, 36.0, 18.0)),
    ):
        g = fg.function(f) if staged else f
        assert second_order(g, x) == want, f
    if staged:
        unknown = fg.function(lambda x: fg.reduce_sum(rows(x)), input_signature=[fg.TensorSpec([None, None])])
        value = fg.constant([[1.0, 2.0], [3.0, 4.0]])
        assert second_order(unknown, value) == second_order(lambda x: fg.reduce_sum(rows(x)), value)


def test_places_that_are_not_there() -> None:
    write = fg.function(lambda i: fg.TensorArray(fg.float32, size=2).write(i, 1.0).stack())
    read = fg.function(lambda i: fg.TensorArray(fg.float32, size=2, element_shape=[]).write(0, 1.0).read(i))
    for _ in range(2):
        for i in (2, -1):
            with pytest.raises(Invalid, match=f"Trying to modify element {i} in a list with 2 elements"):
                write(fg.constant(i))
            with pytest.raises(Invalid, match=f"Trying to access element {i} in a list with 2 elements"):
                read(fg.constant(i))
        assert compiled(write, fg.constant(0)) and compiled(read, fg.constant(0))
    empty = fg.function(lambda n: fg.TensorArray(fg.float32, size=n, element_shape=[]).write(n, 1.0).stack())
    with pytest.raises(Invalid, match="Trying to modify element 0 in a list with 0 elements"):
        empty(fg.constant(0))
    compiled(fg.function(lambda n: n), fg.constant(0))
    assert empty.get_concrete_function(fg.constant(0)).wait(60)
    with pytest.raises(Invalid, match="Trying to modify element 0 in a list with 0 elements"):
        empty(fg.constant(0))
    negative = fg.function(lambda n: fg.TensorArray(fg.float32, size=n, element_shape=[]).stack())
    with pytest.raises(Invalid, match="must be a non negative number, but got -1"):
        negative(fg.constant(-1))


def test_entries_that_do_not_fit() -> None:
    @fg.function
    def shapes(i: Any) -> Any:
        return fg.TensorArray(fg.float32, size=2).write(i, [1.0, 2.0]).write(i, [1.0, 2.0, 3.0]).stack()

    with pytest.raises(ValueError, match=r"Incompatible shape for value \(\(3,\)\), expected \(\(2,\)\)"):
        shapes(fg.constant(0))

    @fg.function(input_signature=[fg.TensorSpec([None]), fg.TensorSpec([None])])
    def late(x: Any, y: Any) -> Any:
        ta = fg.TensorArray(fg.float32, size=fg.size(x))
        return ta.write(0, x).write(1, y).stack()

    assert listed(late([1.0, 2.0], [3.0, 4.0])) == [[1, 2], [3, 4]]
    assert late.get_concrete_function().wait(60)
    assert listed(late([1.0, 2.0], [3.0, 4.0])) == [[1, 2], [3, 4]]
    with pytest.raises(Invalid, match="incompatible shape at a list index"):
        late([1.0, 2.0], [3.0, 4.0, 5.0])
    with pytest.raises(Invalid, match="TensorArray dtype is float32 but Op is trying to write dtype int32"):
        fg.function(lambda: fg.TensorArray(fg.float32, 1).write(0, fg.constant(1)).stack())()
    with pytest.raises(ValueError, match="non-fully-defined element_shape: <unknown>"):
        fg.function(lambda n: fg.TensorArray(fg.float32, n).stack())(fg.constant(2))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int64", "uint8", "bool", "complex64", "string"])
def test_every_dtype(dtype: str) -> None:
    values = fg.constant(["a", "b", "c"]) if dtype == "string" else fg.cast([1, 0, 1], dtype)

    def f(x: Any) -> Any:
        ta = fg.TensorArray(dtype, fg.size(x))
        for i in fg.range(fg.size(x)):
            ta = ta.write(i, x[i])
        return ta.stack(), ta.read(1)

    agree(f, values)


def test_what_was_given_is_not_written_over() -> None:
    """A loop writes in place what it alone refers to: never its caller's tensor, a constant, or what it still needs."""

    @fg.function
    def f(x: Any, n: Any) -> Any:
        ta = fg.TensorArray(fg.float32, 4).unstack(x)
        before = ta.stack()
        seen = fg.zeros([4])
        for i in fg.range(n):
            old = ta
            ta = ta.write(i, -1.0)
            seen += old.stack()
        return before, ta.stack(), seen

    x = fg.constant([1.0, 2.0, 3.0, 4.0])
    want = ([1, 2, 3, 4], [-1, -1, 3, 4], [0, 4, 6, 8])
    assert listed(f(x, fg.constant(2))) == want
    compiled(f, x, fg.constant(2))
    for _ in range(2):
        assert listed(f(x, fg.constant(2))) == want
        assert listed(x) == [1, 2, 3, 4]

    @fg.function
    def two(n: Any) -> Any:
        a = b = fg.TensorArray(fg.float32, 3).unstack([1.0, 2.0, 3.0])
        for i in fg.range(n):
            a = a.write(i, 0.0)
            a, b = a.write(2, 9.0), a
        return a.stack(), b.stack()

    compiled(two, fg.constant(1))
    assert listed(two(fg.constant(1))) == ([0, 2, 9], [0, 2, 3])
    assert listed(two(fg.constant(2))) == ([0, 0, 9], [0, 0, 9])
    assert listed(two(fg.constant(1))) == ([0, 2, 9], [0, 2, 3])


def test_an_iteration_costs_the_same_however_long_the_array_is() -> None:
    for f in (fg.function(squares), fg.function(every_other)):
        compiled(f, fg.constant(10))
        # Copies of the array at each iteration would make 10,000 times as much of 100 times as many.
        assert grows_in_proportion(partial(f, fg.constant(1_000)), partial(f, fg.constant(100_000)), 100 * 10)


def every_other(n: Any) -> Any:
    ta = fg.TensorArray(fg.float32, size=n)
    for i in fg.range(n):
        if i % 2 == 0:
            ta = ta.write(i, 1.0)
    return ta.stack()


def test_branches_in_loops_leave_what_others_hold() -> None:
    assert agree(every_other, fg.constant(5)) == [1, 0, 1, 0, 1]

    @fg.function
    def f(x: Any, n: Any) -> Any:
        ta = fg.TensorArray(fg.float32, 4).unstack(x)
        last = ta
        for i in fg.range(n):
            last = ta
            if i != 1:
                ta = ta.write(i, -1.0)
                if i == 2:
                    ta = ta.write(3, -2.0)
        return last.stack(), ta.stack()

    x = fg.constant([1.0, 2.0, 3.0, 4.0])
    compiled(f, x, fg.constant(3))
    for _ in range(2):
        assert listed(f(x, fg.constant(1))) == ([1, 2, 3, 4], [-1, 2, 3, 4])
        assert listed(f(x, fg.constant(3))) == ([-1, 2, 3, 4], [-1, 2, -1, -2])
        assert listed(x) == [1, 2, 3, 4]


def test_a_write_whose_result_is_dropped_warns() -> None:
    @fg.function
    def f(x: Any) -> Any:
        ta = fg.TensorArray(fg.float32, size=2, element_shape=[])
        ta.write(0, x)
        return ta.stack()

    with pytest.warns(UserWarning, match=r"TensorArray.write at .*test_tensor_arrays_in_graphs.py:\d+ was never used"):
        assert listed(f(fg.constant(5.0))) == [0, 0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert listed(fg.function(squares)(fg.constant(2))) == [0, 1]
        assert listed(fg.function(some)(fg.constant(2.0))) == [2, 2]


def test_arrays_of_different_sizes_in_two_branches() -> None:
    @fg.function
    def f(b: Any) -> Any:
        two = fg.TensorArray(fg.float32, 2, element_shape=[2]).write(0, [1.0, 2.0])
        three = fg.TensorArray(fg.float32, 3, element_shape=[2]).write(2, [3.0, 4.0])
        if b:
            taken = two
        else:
            taken = three
        return taken.size(), taken.stack(), taken.read(taken.size() - 1), taken.concat(), two.size()

    for b, rows in ((True, [[1, 2], [0, 0]]), (False, [[0, 0], [0, 0], [3, 4]])):
        wanted = (len(rows), rows, rows[-1], [each for row in rows for each in row], 2)
        assert listed(f(fg.constant(b))) == wanted
    compiled(f, fg.constant(True))
    assert listed(f(fg.constant(False))) == wanted

    @fg.function
    def unwritten(b: Any, n: Any) -> Any:
        if b:
            array = fg.TensorArray(fg.float32, n)
        else:
            array = fg.TensorArray(fg.float32, 3)
        array = array.write(1, [5.0, 6.0])
        return array.size(), array.stack()

    for b, n in ((True, 2), (False, 3)):
        assert listed(unwritten(fg.constant(b), fg.constant(2))) == (n, [[0, 0], [5, 6], [0, 0]][:n])


def test_methods_are_called_by_the_class() -> None:
    one = fg.TensorArray

    def used(x: Any) -> Any:
        ta = one.unstack(one(fg.float32, 3, clear_after_read=False), [[1.0], [2.0], [3.0]])
        ta = one.write(ta, 1, x)
        found = [one.read(ta, 1), one.size(ta), one.gather(ta, [0, 1]), one.concat(ta), one.stack(one.identity(ta))]
        pieces = one.split(one(fg.float32, 2, infer_shape=False), [1.0, 2.0, 3.0], [1, 2])
        rows = one.scatter(one(fg.float32, 2, clear_after_read=False), [1, 0], [[1.0], [2.0]])
        for i in fg.range(2):
            rows = one.write(rows, i, x * fg.cast(i, fg.float32))
        found += [one.concat(pieces), one.read(rows, 1), one.stack(rows)]
        one.close(pieces)
        return found

    wanted = [[7], 3, [[1], [7]], [1, 7, 3], [[1], [7], [3]], [1, 2, 3], [7], [[0], [7]]]
    assert listed(used(fg.constant([7.0]))) == wanted
    assert listed(fg.function(used)(fg.constant([7.0]))) == wanted


def test_scattered_entries_without_elements() -> None:
    def used(x: Any) -> Any:
        ta = fg.TensorArray(fg.float32, 2, dynamic_size=True)
        for i in fg.range(3):
            ta = ta.scatter([i], fg.zeros([1, 0]) + x[:, None])
        return fg.shape(ta.stack()), fg.shape(ta.gather([1, 0]))

    assert listed(fg.function(used)(fg.constant([7.0]))) == ([3, 0], [2, 0])


@pytest.mark.parametrize("width", [0, None])
def test_a_scatters_indices_are_checked_where_entries_have_no_elements(width: int | None) -> None:
    spec = [fg.TensorSpec([None], fg.int32), fg.TensorSpec([None, width])]
    used = fg.function(lambda i, x: fg.TensorArray(fg.float32, 3).scatter(i, x).stack(), input_signature=spec)
    assert used(fg.constant([0, 2]), fg.ones([2, 0])).shape == (3, 0)
    for wrong in (3, -1):
        with pytest.raises(Invalid, match=rf"indices\[1\] = \[{wrong}\] does not index into shape \[3,0\]"):
            used(fg.constant([0, wrong]), fg.ones([2, 0]))
