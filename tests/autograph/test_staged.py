"""Each function plain (eager, Python's own control flow) against staged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.staging import autograph


def absolute(x: Any) -> Any:
    if x < 0:
        return -x
    return x


def collatz_steps(n: Any) -> Any:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def sum_until_large(n: Any) -> Any:
    total = 0
    for i in fg.range(n):
        if i % 3 == 1:
            continue
        total += i
        if total > 20:
            break
    return total


def last_defined_inside(n: Any) -> Any:
    for i in fg.range(n):
        last = i * 2
    return last


def chosen(x: Any) -> Any:
    return x * 2 if (x > 1 and x < 5) or x == 7 else -x


def nested_call(x: Any) -> Any:
    return absolute(x) + absolute(x - 4)


def not_small(x: Any) -> Any:
    if not x < 3:
        return x
    return x - 100


def in_a_dict(x: Any) -> Any:
    state = {"a": x, "b": (x, x + 1)}
    while state["a"] < 10:
        state = {"a": state["a"] + 3, "b": (state["b"][1], state["b"][0])}
    return state["b"][0] + state["a"]


CASES = [
    *((absolute, v) for v in (-3, 0, 3)),
    *((collatz_steps, v) for v in (1, 2, 27)),
    *((sum_until_large, v) for v in (0, 1, 5, 50)),
    *((last_defined_inside, v) for v in (1, 4)),
    *((chosen, v) for v in (0, 1, 3, 5, 7, 9)),
    *((nested_call, v) for v in (-2, 3, 9)),
    *((not_small, v) for v in (1, 5)),
    *((in_a_dict, v) for v in (0, 4, 12)),
]


@pytest.mark.parametrize(("function", "value"), CASES)
def test_staged_equals_plain(function: Callable[[Any], Any], value: int) -> None:
    plain = np.asarray(function(fg.constant(value)))
    staged = fg.function(function)
    assert np.array_equal(staged(fg.constant(value)), plain)
    assert staged.experimental_get_tracing_count() == 1


def test_one_trace_for_both_branches_and_any_count() -> None:
    staged = fg.function(collatz_steps)
    assert [int(staged(fg.constant(n))) for n in (1, 6, 7)] == [0, 8, 16]
    assert staged.experimental_get_tracing_count() == 1


def test_gradient_through_a_condition() -> None:
    @fg.function
    def gradient(x: Any) -> Any:
        with fg.GradientTape() as tape:
            if fg.reduce_sum(x) > 0:
                y = x * x
            else:
                y = x * x * x
        return tape.gradient(y, x)

    assert np.array_equal(gradient(fg.Variable([-2.0, 2.0])), [12.0, 12.0])
    assert np.array_equal(gradient(fg.Variable([1.0, 2.0])), [2.0, 4.0])


def test_python_conditions_stay_python() -> None:
    @fg.function
    def doubled(x: Any, twice: bool) -> Any:
        if twice:
            x = x * 2
        for _ in range(3):
            x = x + 1
        return x

    assert int(doubled(fg.constant(1), True)) == 5
    concrete = doubled.get_concrete_function(fg.constant(1), False)
    assert not any(node.op.name in ("cond", "while") for node in concrete.graph)


def test_a_variable_missing_in_one_branch_is_named() -> None:
    @fg.function
    def half_defined(x: Any) -> Any:
        if x > 0:
            y = x
        return y

    with pytest.raises(ValueError, match="'y' must also be initialized in the else branch"):
        half_defined(fg.constant(1))


def test_a_return_missing_in_one_branch_is_said() -> None:
    @fg.function
    def half_returned(x: Any) -> Any:
        if x > 0:
            return x

    with pytest.raises(ValueError, match="A value must also be returned from the else branch"):
        half_returned(fg.constant(1))


def test_without_autograph_a_tensor_decides_nothing() -> None:
    with pytest.raises(TypeError, match="symbolic"):
        fg.function(absolute, autograph=False)(fg.constant(1))


class Doubler:
    def __call__(self, x: Any) -> Any:
        return x * 2


class Chooser:
    def __call__(self, x: Any) -> Any:
        return x * 2 if x > 0 else x


def calls(target: Any) -> Callable[[Any], Any]:
    return lambda x: target(x)


def straight(x: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = fg.exp(x) * 2
    return tape.gradient(y, x)


def given_as_rest(*values: Any) -> Any:
    return fg.add_n(list(values)) * len(values)


def given_as_rest_and_bound_again(*values: Any) -> Any:
    values = fg.stack(list(values))
    return list(values)


def given_as_rest_and_hidden(*values: Any) -> Any:
    return (lambda values: list(values))(fg.stack(values))


@pytest.mark.parametrize(
    ("function", "needs"),
    [
        *((absolute, True), (nested_call, True), (straight, False)),
        *((calls(Doubler()), False), (calls(Chooser()), True), (given_as_rest, False)),
        *((given_as_rest_and_bound_again, True), (given_as_rest_and_hidden, True)),
    ],
)
def test_only_what_needs_it_is_converted(function: Any, needs: bool) -> None:
    assert autograph.needs_conversion(function) is needs


def test_builtins_are_known_after_a_conversion_too() -> None:
    assert autograph.convert(absolute) is not absolute
    assert not autograph.needs_conversion(lambda x: fg.add(x, isinstance(x, str)))


def test_methods_callable_objects_and_lambdas() -> None:
    class Model:
        limit = 3

        @fg.function
        def clip(self, x: Any) -> Any:
            if x > self.limit:
                x = fg.constant(self.limit)
            return x

    assert [int(Model().clip(fg.constant(v))) for v in (1, 9)] == [1, 3]
    assert int(fg.function(Chooser())(fg.constant(4))) == 8
    assert int(fg.function(lambda x: x if x > 0 else -x)(fg.constant(-4))) == 4


def test_do_not_convert() -> None:
    marked = fg.autograph.experimental.do_not_convert(lambda x: x if x > 0 else 0)
    with pytest.raises(TypeError, match="symbolic"):
        fg.function(marked)(fg.constant(1))


def test_to_code() -> None:
    code = fg.autograph.to_code(absolute)
    assert code.startswith("def tf__absolute(x") and "ag__.if_stmt(" in code


def number_or_length(text: Any) -> float:
    try:
        return float(text)
    except ValueError as error:
        if len(str(error)) > 3:
            return -1.0
        raise
    except (TypeError, KeyError) as error:
        raise RuntimeError("none") from error


@pytest.mark.parametrize(("text", "expected"), [("3", 5.0), ("oops", -1.0), (None, 5.0)])
@pytest.mark.filterwarnings("error")
def test_exceptions_with_a_name(text: Any, expected: float) -> None:
    """`except ... as name` is converted, with the statements that a tensor decides inside and around it."""

    @fg.function
    def staged(x: Any) -> Any:
        try:
            y = x * number_or_length(text)
            if y > 0:
                y = y + 1
        except RuntimeError as error:
            y = x
            if x > 0:
                y = x * len(str(error))
        return y + x if y > 0 else y

    assert float(staged(fg.constant(1.0))) == expected


@pytest.mark.parametrize("dtype", [fg.int32, fg.int64])
@pytest.mark.parametrize("step", [1, 2, -1, -3, 7])
def test_a_range_is_counted_without_an_array(dtype: Any, step: int) -> None:
    @fg.function
    def count(a: Any, b: Any) -> Any:
        n, last = 0, fg.constant(-100, dtype)
        for i in fg.range(a, b, fg.constant(step, dtype)):
            n += 1
            last = i
        return n, last

    for a, b in [(0, 0), (0, 5), (5, 0), (-3, 8), (10, -10), (2**31 - 4, 2**31 - 1), (-(2**31), 3 - 2**31)]:
        numbers = range(a, b, step)
        n, last = count(fg.constant(a, dtype), fg.constant(b, dtype))
        assert (int(n), int(last)) == (len(numbers), numbers[-1] if numbers else -100)
    (concrete,) = count._list_all_concrete_functions()
    assert concrete.wait(60) and concrete.host_steps == 0


def test_text_that_a_tensor_chooses_is_a_tensor() -> None:
    """Where all paths have the same it stays Python's."""

    @fg.function
    def chosen(x: Any) -> Any:
        kept = "key"
        if x > 0:
            sign, kept = "positive", "key"
        else:
            sign = "negative"
        if sign == "positive":
            x = x * 10
        return sign, fg.strings.join([sign, "!"]), {"key": x}[kept]

    for x, sign in ((2, b"positive"), (-3, b"negative")):
        text, joined, value = chosen(fg.constant(x))
        assert (text.numpy(), joined.numpy(), int(value)) == (sign, sign + b"!", 20 if x > 0 else x)

    @fg.function
    def last(n: Any) -> Any:
        text = "none"
        for i in fg.range(n):
            text = "even" if i % 2 == 0 else "odd"
        return text

    assert [last(fg.constant(n)).numpy() for n in (0, 1, 2)] == [b"none", b"even", b"odd"]
