"""Python's builtins on tensors in converted code: plain against staged."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


def enumerated(x: Any) -> Any:
    total = 0
    for i, v in enumerate(x):
        total += i * v
    return total


def enumerated_from(x: Any) -> Any:
    total = 0
    for i, v in enumerate(x, start=2):
        if v == 1:
            continue
        total += i * v
    return total


def zipped(x: Any) -> Any:
    total = 0
    for a, b, c in zip(x, x * 2, [5, 6, 7, 8, 9]):
        total += a * b + c
    return total


def zipped_with_texts(x: Any) -> Any:
    total = 0
    for v, name in zip(x, ["a", "bb", "ccc"]):
        total += v * len(name)
    return total


def enumerated_zip(x: Any) -> Any:
    total = 0
    for i, (a, b) in enumerate(zip(x, reversed(x))):
        total += (i + 1) * a - b
    return total


def mapped(x: Any) -> Any:
    total = 0
    for v in map(lambda v: v * 2 if v > 1 else -v, x):
        total += v
    return total


def mapped_two(x: Any) -> Any:
    total = 0
    for v in map(lambda a, b: a * b, x, x + 1):
        total += v
    return total


def mapped_list(x: Any) -> Any:
    return fg.add_n(list(map(lambda v: v if v > 1 else -v, fg.unstack(x))))


def filtered(x: Any) -> Any:
    total = 0
    for v in filter(lambda v: v > 1, x):
        total += v
    return total


def filtered_list(x: Any) -> Any:
    total = 0
    for v in filter(lambda v: v % 2 == 1, fg.unstack(x)):
        total = total * 10 + v
        if total > 50:
            break
    return total


def filtered_map(x: Any) -> Any:
    total = 0
    for v in filter(lambda v: v > 2, map(lambda v: v * 2, x)):
        total += v
    return total


def turned(x: Any) -> Any:
    total = 0
    for v in reversed(x):
        total = total * 10 + v
    return total


def any_all(x: Any) -> Any:
    result = 0
    if any(x > 2):
        result += 1
    if all(x > 0):
        result += 10
    if any([v == 2 for v in fg.unstack(x)]):
        result += 100
    if all(v < 9 for v in x):
        result += 1000
    return result


def any_with_python(x: Any) -> Any:
    if any([False, x[0] > 1]) or all([]):
        return x[0]
    return -x[0]


def extremes(x: Any) -> Any:
    return max(x), min(x), max(x[0], x[1], 2), min(x[0], 2), max([x[0], x[2]])


def extremes_by_key(x: Any) -> Any:
    return max(x[0], x[1], x[2], key=lambda v: -v), min(fg.unstack(x), key=abs)


def numbers(x: Any) -> Any:
    y = fg.cast(x, fg.float32) / 4
    return abs(-x[0]), sum(x), sum(fg.unstack(x), 5), round(y[1]), int(y[2]), float(x[0]), len(x), bool(x[0])


def truths(x: Any) -> Any:
    if bool(x[0]):
        return x[1]
    return x[2]


def ordered(x: Any) -> Any:
    return fg.stack(sorted(x)), fg.stack(sorted(x, reverse=True))


def ordered_by_key(x: Any) -> Any:
    return fg.stack(sorted(x, key=lambda v: -v if v > 1 else v))


def comprehensions(x: Any) -> Any:
    return fg.stack([v * 2 for v in x]), {i: v for i, v in enumerate(x)}, sum(v * v for v in x)


def comprehension_with_choice(x: Any) -> Any:
    return fg.stack([v if v > 1 else -v for v in x])


def listed(x: Any) -> Any:
    first, *rest = list(x)
    return first, fg.stack(rest), tuple(x)[2], dict(enumerate(x))[1]


FUNCTIONS: list[Callable[[Any], Any]] = [
    enumerated, enumerated_from, zipped, zipped_with_texts, enumerated_zip, mapped, mapped_two, mapped_list, filtered,
    filtered_list, filtered_map, turned, any_all, any_with_python, extremes, extremes_by_key, numbers, truths, ordered,
    ordered_by_key, comprehensions, comprehension_with_choice, listed,
]  # fmt: skip

#: Those that need to know, while tracing, how many rows there are.
NEED_THE_NUMBER = {
    zipped_with_texts, mapped_list, filtered_list, any_all, comprehensions, comprehension_with_choice, listed,
    numbers, extremes_by_key,
}  # fmt: skip


def values_of(result: Any) -> list[Any]:
    return [np.asarray(leaf).tolist() for leaf in fg.nest.flatten(result)]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("value", [[1, 2, 3], [3, 1, 2], [0, -5, 0]])
def test_staged_equals_plain(function: Callable[[Any], Any], value: list[int]) -> None:
    x = fg.constant(value)
    staged = fg.function(function)
    assert values_of(staged(x)) == values_of(function(x))


@pytest.mark.parametrize("function", [f for f in FUNCTIONS if f not in NEED_THE_NUMBER], ids=lambda f: f.__name__)
def test_unknown_number_of_rows(function: Callable[[Any], Any]) -> None:
    staged = fg.function(function, input_signature=[fg.TensorSpec([None], fg.int32)])
    for value in ([1, 2, 3], [3, 1, 2, 7, -1][: 3 if function in (extremes,) else 5]):
        x = fg.constant(value)
        assert values_of(staged(x)) == values_of(function(x))


def test_a_loop_over_enumerate_is_staged() -> None:
    staged = fg.function(enumerated).get_concrete_function(fg.TensorSpec([None], fg.int32))
    assert "while" in [node.op.name for node in staged.graph]


def test_what_needs_the_number_of_rows_says_so() -> None:
    staged = fg.function(comprehensions, input_signature=[fg.TensorSpec([None], fg.int32)])
    with pytest.raises(ValueError, match=r"first dimension is unknown.*tf\.map_fn"):
        staged(fg.constant([1, 2]))


def test_a_filter_by_a_tensor_cannot_be_listed() -> None:
    @fg.function
    def chosen(x: Any) -> Any:
        return fg.stack(list(filter(lambda v: v > 1, x)))

    with pytest.raises(ValueError, match=r"tf\.boolean_mask"):
        chosen(fg.constant([1, 2, 3]))


def test_the_truth_of_a_vector_is_refused() -> None:
    @fg.function
    def truth(x: Any) -> Any:
        return bool(x)

    with pytest.raises(ValueError, match="ambiguous"):
        truth(fg.constant([1, 2, 3]))


def test_zip_strict() -> None:
    @fg.function
    def paired(x: Any) -> Any:
        total = 0
        for a, b in zip(x, [1, 2], strict=True):
            total += a * b
        return total

    assert int(paired(fg.constant([3, 4]))) == 11
    with pytest.raises(ValueError, match="different lengths"):
        paired(fg.constant([3, 4, 5]))


def test_the_gradient_of_max_goes_where_python_takes_it() -> None:
    def largest(x: Any) -> Any:
        return max(x) + 2.0 * min(x[0], x[1])

    for value in ([1.0, 2.0, 3.0], [2.0, 2.0, 2.0]):
        x = fg.constant(value)

        def taped(f: Callable[[Any], Any], x: Any = x) -> Any:
            with fg.GradientTape() as tape:
                tape.watch(x)
                y = f(x)
            return np.asarray(fg.convert_to_tensor(tape.gradient(y, x)))

        assert np.array_equal(taped(fg.function(largest)), taped(largest))


def count_of(n: Any) -> Any:
    return len(fg.TensorArray(fg.int32, size=n))


def absolutes(_: Any) -> Any:
    total = fg.constant(0)
    pairs = fg.data.Dataset.from_tensor_slices(([-1, 2], {"a": [3, -4]}))
    for x, y in abs(pairs):
        total = total * 100 + 10 * x + y["a"]
    return total


@pytest.mark.parametrize(
    ("function", "given", "wanted"),
    [
        (lambda x: int(x), "12", np.int32(12)),
        (lambda x: int(x, base=10), "12", np.int32(12)),
        (lambda x: int("11", base=2) + x, 1, np.int32(4)),
        (lambda x: float(x), ["1.5", "2"], np.float32([1.5, 2])),
        (lambda x: range(x), -3, np.int32([])),
        (lambda x: range(5, x), 2, np.int32([])),
        (lambda x: range(2, x, -2), 5, np.int32([])),
        (lambda _: len(fg.data.Dataset.range(3)), 0, np.int64(3)),
        (count_of, 4, np.int32(4)),
        (absolutes, 0, np.int32(1324)),
    ],
)
def test_builtins_of_strings_ranges_and_containers(function: Any, given: Any, wanted: Any) -> None:
    result = fg.function(function)(fg.constant(given)).numpy()
    np.testing.assert_array_equal(result, wanted)
    assert result.dtype == wanted.dtype


def test_numbers_of_variables() -> None:
    value = fg.Variable(3.7)
    assert fg.function(lambda: (int(value), float(value)))()[0].numpy() == 3


@pytest.mark.parametrize(
    ("function", "given", "error", "text"),
    [
        (lambda x: int(x, 2), "11", NotImplementedError, "base 2"),
        (lambda x: int(x), "x", fg.errors.InvalidArgumentError, "x"),
        (lambda x: sorted(x, key=lambda row: -row), [[4, 3], [2, 1]], ValueError, "key must be a scalar"),
        (lambda _: len(fg.data.Dataset.range(2).repeat()), 0, fg.errors.InvalidArgumentError, "definitive cardinality"),
    ],
)
def test_builtins_that_refuse(function: Any, given: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        fg.function(function)(fg.constant(given))
