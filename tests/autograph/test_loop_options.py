"""set_loop_options: shape invariants, the most iterations, options of nested and of peeled loops."""

from __future__ import annotations

from typing import Any

import pytest

import fastgraph as fg

set_loop_options = fg.autograph.experimental.set_loop_options


def test_shape_invariants_let_a_tensor_grow() -> None:
    @fg.function
    def grown(n: Any) -> Any:
        x = fg.zeros([1])
        for _ in fg.range(n):
            set_loop_options(shape_invariants=[(x, fg.TensorShape([None]))], parallel_iterations=4, swap_memory=True)
            x = fg.concat([x, x], 0)
        return x

    assert grown(fg.constant(3)).shape == [8]
    assert grown(fg.constant(0)).shape == [1]


def test_maximum_iterations() -> None:
    @fg.function
    def counted(n: Any) -> Any:
        total = 0
        while total < n:
            set_loop_options(maximum_iterations=3, back_prop=False)
            total += 1
        return total

    @fg.function
    def counted_for(n: Any) -> Any:
        total = 0
        for i in fg.range(n):
            set_loop_options(maximum_iterations=2)
            total += i + 1
        return total

    assert [int(counted(fg.constant(n))) for n in (0, 2, 9)] == [0, 2, 3]
    assert [int(counted_for(fg.constant(n))) for n in (0, 1, 9)] == [0, 1, 3]


def test_options_belong_to_the_innermost_loop() -> None:
    @fg.function
    def counted(n: Any) -> Any:
        total = 0
        for _ in fg.range(n):
            for _ in fg.range(n):
                set_loop_options(maximum_iterations=2)
                total += 1
            for _ in range(2):
                set_loop_options(maximum_iterations=1)
                total += 100
        return total

    assert int(counted(fg.constant(3))) == 606


def test_options_of_what_is_no_variable_of_the_loop() -> None:
    @fg.function
    def wrong(n: Any) -> Any:
        x, y = fg.zeros([1]), fg.zeros([1])
        for _ in fg.range(n):
            set_loop_options(shape_invariants=[(y, fg.TensorShape([None]))])
            x = fg.concat([x, x], 0)
        return x

    @fg.function
    def unfit(n: Any) -> Any:
        x = fg.zeros([1])
        for _ in fg.range(n):
            set_loop_options(shape_invariants=[(x, fg.TensorShape([2]))])
            x = fg.concat([x, x], 0)
        return x

    with pytest.raises(ValueError, match="not the value of a variable that this loop changes"):
        wrong(fg.constant(3))
    with pytest.raises(ValueError, match="'x' does not allow the shape"):
        unfit(fg.constant(3))


def test_options_change_nothing_in_python_loops() -> None:
    total = 0
    for i in range(4):
        set_loop_options(maximum_iterations=1)
        total += i
    assert total == 6


def test_options_hold_where_the_first_iteration_stands_before_the_loop() -> None:
    """It does where a name is None first. A list that the body appends to has the loop begin anew, too."""

    @fg.function
    def limited(x: Any, n: Any, most: Any) -> Any:
        b, k = None, 0
        for _ in fg.range(n):
            set_loop_options(maximum_iterations=most)
            if b is None:
                b = fg.zeros([2])
            b = b + x
            k += 1
        return k

    for n, most in ((5, 0), (5, 1), (5, 3), (2, 3), (0, 3)):
        assert int(limited(1.0, fg.constant(n), fg.constant(most))) == min(n, most)

    @fg.function
    def longer(x: Any, n: Any) -> Any:
        total, b, c = fg.zeros([0]), None, []
        for _ in fg.range(n):
            set_loop_options(shape_invariants=[(total, fg.TensorShape([None]))])
            total = fg.concat([total, [x]], 0)
            if b is None:
                b = fg.zeros([2])
            b = b + x
            c.append(b)
        return total, b, fg.stack(c)

    total, b, c = longer(fg.constant(1.0), fg.constant(3))
    assert (total.numpy().tolist(), b.numpy().tolist()) == ([1.0] * 3, [3.0, 3.0])
    assert c.numpy().tolist() == [[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]


def test_the_most_iterations_are_computed_once_before_the_loop() -> None:
    @fg.function
    def limited(x: Any, n: Any) -> Any:
        total, k = 0, 0
        for i in fg.range(5):
            most = i + 1
            for _ in fg.range(10):
                fg.autograph.experimental.set_loop_options(maximum_iterations=fg.minimum(most, n))
                total += 1
        while k < 4 * n:
            set_loop_options(1, False, fg.shape(x)[0] + 1)
            k += 1
        for _ in fg.range(10):
            set_loop_options(maximum_iterations=fg.constant(2))
            k += 10
        return total, k

    assert [int(each) for each in limited(fg.zeros([3]), fg.constant(3))] == [12, 24]

    @fg.function
    def badly(most: Any) -> Any:
        total = 0
        for i in fg.range(10):
            set_loop_options(maximum_iterations=most)
            total += i
        return total

    with pytest.raises(ValueError, match="maximum_iterations: Tensor conversion requested dtype int32 .* dtype int64"):
        badly(fg.constant(3, fg.int64))
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"maximum_iterations must be a scalar, got shape \(2,\)"):
        badly(fg.constant([3, 3]))


def test_a_shape_that_breaks_a_given_invariant_is_said_to() -> None:
    @fg.function
    def grows() -> Any:
        t = fg.constant([1])
        for _ in fg.range(3):
            fg.autograph.experimental.set_loop_options(shape_invariants=[(t, fg.TensorShape([1]))])
            t = fg.range(fg.random.uniform((), 2, 3, fg.int32))
        return t

    with pytest.raises(ValueError, match=r"'t' has shape \(None,\) after one iteration, which does not conform"):
        grows()


def test_objects_that_a_loop_alone_gives_must_be_defined_before_it() -> None:
    @fg.function
    def made() -> Any:
        while fg.constant(True):
            v = object()
        return v

    with pytest.raises(ValueError, match="'v' must be defined before the loop"):
        made()


def test_a_condition_that_is_no_scalar_when_the_graph_runs() -> None:
    @fg.function(input_signature=[fg.TensorSpec([None], fg.bool)])
    def decided(x: Any) -> Any:
        y = 1
        if x:
            y = 2
        return y

    with pytest.raises(fg.errors.InvalidArgumentError):
        decided(fg.constant([True, False]))


def test_a_loop_over_an_iterator_keeps_declared_shapes_and_one_over_a_dataset_does_not() -> None:
    @fg.function
    def grows(elements: Any) -> Any:
        t = fg.constant([1])
        for _ in elements:
            fg.autograph.experimental.set_loop_options(shape_invariants=[(t, fg.TensorShape([1]))])
            t = fg.concat([t, t], 0)
        return t

    assert grows(fg.data.Dataset.range(2)).shape == (4,)
    with pytest.raises(ValueError, match=r"'t' has shape \(2,\) after one iteration, which does not conform"):
        grows(iter(fg.data.Dataset.range(2)))
