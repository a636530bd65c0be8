"""Lists whose length staged statements decide: as lists of Python's, by every name, and what they refuse."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import flags

TIERS = pytest.mark.parametrize("tier", ["first", "last"])


def numbers(value: Any) -> Any:
    """Return a structure of tensors as one of numbers; a tuple is a list, for a staged list is returned as a tensor."""
    if isinstance(value, dict):
        return {key: numbers(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(each) for each in value]
    return np.asarray(value).tolist()


def filled(n: Any) -> Any:
    values = []
    for i in fg.range(n):
        values.append(i * i - 3)
    return values


def equal_lists(n: Any) -> Any:
    values, others = filled(n), filled(n)
    others.append(0)
    same = [values == filled(n), values == [-3, -2, 1], values == [-3, 2, 1], values == [], values == others]
    return [fg.cast(each, fg.int32) for each in [*same, values != others, values == "no list"]]


def decided_by_comparison(n: Any) -> Any:
    values = [n]
    while values != [n, 1, 2] and len(values) < 9:
        if n > 2:
            values.append(len(values))
    if filled(n) != []:
        values += [n]
    return values


def as_tuples(n: Any) -> Any:
    values = tuple(filled(n))
    return values, len(values), values[0], (7, *values), values + (8,), tuple(reversed(filled(n)))


def starred(n: Any) -> Any:
    values = filled(n)
    return [*values], [n, *values, 8, *values], [*range(3)]


def backwards(n: Any) -> Any:
    total = 0
    for each in reversed(filled(n)):
        total = total * 3 + each
    return total, list(reversed(filled(n)))


def comprehended(n: Any) -> Any:
    values = filled(n)
    return [k * each for k, each in enumerate(values)], [each * 2 for each in values], [i + 1 for i in fg.range(n)]


def listed(n: Any) -> Any:
    values = filled(n)
    pairs = list(zip(values, [each + 1 for each in values], strict=True))
    return [a * b for a, b in pairs], list(map(lambda x: x * 2, values)), [k for k, _ in list(enumerate(values))]


def added_up(n: Any) -> Any:
    values = filled(n)
    return sum(values), sum(each * each for each in values), fg.add_n(values), max(values), min(values)


def looked_for(n: Any) -> Any:
    values = filled(n)
    return 1 in values, n in values, values.count(-2), values.index(1)


def multiplied(n: Any) -> Any:
    values = filled(n)
    values *= 2
    return values, values * 0, 2 * filled(n), filled(n) * -1


def copied(n: Any) -> Any:
    values = filled(n)
    copy, other = values.copy(), list(values)
    copy.append(9)
    other.pop()
    return values, copy, other


def in_order(n: Any) -> Any:
    values = [-each for each in filled(n)]
    values.sort()
    return values, sorted(filled(n), reverse=True), sorted(filled(n), key=lambda each: each * each)


def without_one(n: Any) -> Any:
    values = filled(n)
    values.remove(1)
    return values


def joined_by_plus(n: Any) -> Any:
    more = [1, 2]
    alias = more
    more.extend(filled(n))
    return [5] + filled(n), filled(n) + [6], filled(n) + filled(n), more, len(alias)


def assigned_in_loop(n: Any) -> Any:
    first, last, pairs = [], [], [(n, n)]
    for i in fg.range(n):
        first = [i] + first
        last = last + [i]
        pairs = [*pairs, (i, i + 1)]
    return first, last, sum([a * b for a, b in pairs])


def assigned_by_augmented(n: Any) -> Any:
    values = [0]
    for i in fg.range(n):
        values += [i, i]
    return values


def assigned_under_if(n: Any) -> Any:
    values = [0]
    for i in fg.range(n):
        if i % 2 == 0:
            values = values + [i]
        elif i == 3:
            values = []
    if n > 2:
        values = [*values, n]
    return values, len(values)


def assigned_and_changed(n: Any) -> Any:
    values = [0]
    first = values
    for i in fg.range(n):
        for j in fg.range(i):
            values = values + [i]
            values.append(j)
        values = values[-3:]
    return values, len(first)


def exchanged(n: Any) -> Any:
    a, b = [1, 2], []
    for i in fg.range(n):
        a, b = b, a
        a = a + [i]
    return a, b


def tuples_in_loop(n: Any) -> Any:
    values = ()
    for i in fg.range(n):
        values = (*values, i)
    return values


class Box:
    def __init__(self) -> None:
        self.items: list[Any] = []

    def add(self, x: Any) -> None:
        if x > 1:
            self.items.append(x)

    def top(self) -> Any:
        return self.items[-1]


def of_an_object(n: Any) -> Any:
    box, other = Box(), Box()
    for i in fg.range(n):
        box.items.append(i)
        other.add(i)
    other.add(n)
    return box.items, other.items, other.top(), len(other.items)


def assigned_to_an_object(n: Any) -> Any:
    box = Box()
    for i in fg.range(n):
        box.items = box.items + [i]
    return box.items


def of_objects_inside(n: Any) -> Any:
    outer = Box()
    outer.inner = Box()  # type: ignore[attr-defined]
    boxes = [Box(), outer]
    for i in fg.range(n):
        boxes[0].items.append(i)
        outer.inner.items.append(i + 1)  # type: ignore[attr-defined]
    return boxes[0].items, outer.inner.items  # type: ignore[attr-defined]


def of_a_dict(n: Any) -> Any:
    table = {"a": [], "b": [n], "c": []}
    for i in fg.range(n):
        if i > 1:
            table["a"].append(i)
        else:
            table["b"].append(i)
        table["c"] += [i]
    return table["a"], table["b"], table["c"]


def of_a_list(n: Any) -> Any:
    lists = [[], [n]]
    for i in fg.range(n):
        lists[0].append(i)
        lists[1].append(len(lists[0]))
    return lists[0], lists[1]


def of_another_name(n: Any) -> Any:
    values = [0]
    other = values
    for i in fg.range(n):
        values.append(i)
        other.append(-i)
    third = other
    third.append(100)
    return len(other), other[0], values, other


def _put(values: Any, x: Any) -> None:
    if x > 2:
        values.append(x)


def changed_by_a_called_function(n: Any) -> Any:
    values: Any = []

    def put() -> None:
        if n > 2:
            values.append(1)

    _put(values, n)
    put()
    for i in fg.range(n):
        _put(values, i)
    return values, len(values)


def counted_in_an_object(n: Any) -> Any:
    box = Box()
    if n > 9:
        box.items.append(1)
    return len(box.items)


def of_vectors(n: Any) -> Any:
    values = []
    for i in fg.range(n):
        values.append(fg.ones([2, 3], fg.int32) * i)
    return (
        fg.concat(values, 0), fg.concat(values, 1), fg.concat(values, -1), fg.stack(values, 1), fg.stack(values, -1),
        fg.add_n(values), values == values, values.index(fg.ones([2, 3], fg.int32)),
    )  # fmt: skip


def nested_elements(n: Any) -> Any:
    values = []
    for i in fg.range(n):
        values.append([i, {"a": i + 1}])
    best, total = [0, {"a": 0}], 0
    for each in values:
        best = each
        total += each[1]["a"]
    return best, total, values[1]


FUNCTIONS: list[Callable[[Any], Any]] = [
    equal_lists, decided_by_comparison, as_tuples, starred, backwards, comprehended, listed, added_up, looked_for,
    multiplied, copied, in_order, without_one, joined_by_plus, assigned_in_loop, assigned_by_augmented,
    assigned_under_if, assigned_and_changed, exchanged, tuples_in_loop, of_an_object, assigned_to_an_object,
    of_objects_inside, of_a_dict, of_a_list, of_another_name, changed_by_a_called_function, counted_in_an_object,
    nested_elements,
]  # fmt: skip


@TIERS
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: str(each.__name__))
def test_as_python_has_it(function: Callable[[Any], Any], tier: str) -> None:
    with flags.override(tier=tier, worker=False):
        staged = fg.function(function)
        for n in (3, 5):
            assert numbers(staged(fg.constant(n))) == numbers(function(fg.constant(n)))
        assert staged.experimental_get_tracing_count() == 1


@TIERS
def test_elements_are_joined_and_stacked_along_any_axis(tier: str) -> None:
    rows = [np.full([2, 3], i) for i in range(4)]
    wanted = [np.concatenate(rows, axis) for axis in (0, 1, -1)] + [np.stack(rows, 1), np.stack(rows, -1), sum(rows)]
    with flags.override(tier=tier, worker=False):
        found = fg.function(of_vectors)(fg.constant(4))
    for a, b in zip(found, [*wanted, True, 1], strict=True):
        assert np.array_equal(a, b)


@TIERS
def test_derivatives_of_lists_that_are_assigned_sorted_and_joined(tier: str) -> None:
    def f(x: Any) -> Any:
        values, box = [x], Box()
        for i in fg.range(3):
            values = values + [values[-1] * x]
            if i > 0:
                box.items.append(values[-2] * x)
        values.sort(reverse=True)
        return fg.add_n([*values, *box.items]) + fg.reduce_prod(tuple(reversed(box.items * 2)))

    def derivatives(function: Any, x: Any) -> list[Any]:
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as inner:
                inner.watch(x)
                y = function(x)
            dy = inner.gradient(y, x)
        return [float(y), float(dy), float(outer.gradient(dy, x))]

    def plain(x: Any) -> Any:
        powers = [x**k for k in range(1, 5)]
        return sum(powers) + x**3 + x**4 + x**14

    x = fg.constant(1.25)
    with flags.override(tier=tier, worker=False):
        np.testing.assert_allclose(derivatives(fg.function(f), x), derivatives(plain, x), rtol=1e-4)


def test_lists_of_rows_of_unknown_number() -> None:
    @fg.function(input_signature=[fg.TensorSpec([None], fg.float32)])
    def f(x: Any) -> Any:
        values = [each * 2 for each in x]
        kept = []
        for each in values:
            if each > 2.0:
                kept = kept + [each]
        return kept, len(kept), values == kept

    assert [numbers(each) for each in f(fg.constant([1.0, 2.0, 3.0]))] == [[4.0, 6.0], 2, False]
    assert [numbers(each) for each in f(fg.constant([4.0]))] == [[8.0], 1, True]
    assert [numbers(each) for each in f(fg.zeros([0]))] == [[], 0, True]


def test_a_with_statement_that_ends_an_exception_keeps_what_is_set_in_it() -> None:
    @fg.function
    def f(n: Any) -> Any:
        y, z = fg.constant(1), 0
        with contextlib.suppress(ValueError):
            if n > 2:
                y = fg.constant(2)
            raise ValueError("stop")
        for i in fg.range(n):
            with contextlib.suppress(ValueError):
                if i > 0:
                    z += i
                raise ValueError("stop") from None
        return y, z

    assert [numbers(f(fg.constant(n))) for n in (1, 4)] == [[1, 0], [2, 6]]

    @fg.function
    def raised(n: Any) -> Any:
        with contextlib.suppress(ValueError):
            raise KeyError("other") from RuntimeError("cause")
        return n

    with pytest.raises(KeyError, match="other") as found:
        raised(fg.constant(1))
    assert isinstance(found.value.__cause__, RuntimeError)


# ---------------------------------------------------------------------------------------------------------------------
# What is refused


def ordered_lists(n: Any) -> Any:
    return filled(n) < filled(n)


def elements_as_arguments(n: Any) -> Any:
    values = filled(n)
    return max(*values)


def changed_element(n: Any) -> Any:
    values = []
    for i in fg.range(n):
        values.append([i, i])
    values[0][1] = 7
    return values[0]


def appended_element(n: Any) -> Any:
    values = []
    for i in fg.range(n):
        values.append({"a": i})
    values[0].update(a=7)
    return values[0]


def changed_tuple(n: Any) -> Any:
    tuple(filled(n)).append(1)  # type: ignore[attr-defined]
    return n


def elements_unlike(n: Any) -> Any:
    values = [n]
    for i in fg.range(n):
        values = [*values, fg.stack([i, i])]
    return values


@pytest.mark.parametrize(
    ("function", "kind", "text"),
    [
        (ordered_lists, NotImplementedError, r"<, <=, >, >=\) of the list 'values' \(.*test_staged_lists.py:\d+"),
        (elements_as_arguments, TypeError, r"elements of 'values' one by one \(.*test_staged_lists.py.*tf.stack"),
        (changed_element, NotImplementedError, r"this list is an element of 'values'.*test_staged_lists.py:\d+"),
        (appended_element, NotImplementedError, r"this dict is an element of 'values'.*values\[k\] = element"),
        (changed_tuple, TypeError, r"tuple of the list 'values' cannot be changed \(.*test_staged_lists.py:\d+"),
        (
            elements_unlike,
            ValueError,
            r"elements of 'values' have shape \(\), .*one that is added .*\(2,\) \(.*test_staged_lists.py:\d+",
        ),
    ],
)
def test_what_is_refused_names_the_list_and_the_line(function: Any, kind: Any, text: str) -> None:
    with pytest.raises(kind, match=text):
        fg.function(function)(fg.constant(4))


def test_the_time_for_uneven_elements_is_linear_in_what_they_hold() -> None:
    def parts(x: Any, n: Any) -> Any:
        found = [x[:0]]
        for i in fg.range(n):
            found.append(x[: i % 3])
        return fg.concat(found, 0), found[-1]

    x = fg.range(3.0)
    staged = fg.function(parts)
    n = 3000
    joined, last = staged(x, fg.constant(n))
    assert joined.shape == (n,) and last.shape == (2,)
    graph = staged.get_concrete_function(x, fg.constant(n)).graph
    (loop,) = [node for node in graph if node.op.name == "while"]
    assert len(loop.inputs) <= 4  # nothing that gets longer is carried


def test_elements_of_known_different_shapes_are_told_with_what_to_do() -> None:
    def appended_under_if(n: Any) -> Any:
        values = [fg.zeros([1])]
        for i in fg.range(n):
            if i > 0:
                values.append(fg.ones([2]))
        return fg.concat(values, 0)

    def under_if(n: Any) -> Any:
        values = [fg.zeros([1])]
        if n > 1:
            values.append(fg.ones([2]))
        return fg.concat(values, 0)

    for function, line in ((appended_under_if, 2), (under_if, 2)):
        with pytest.raises(ValueError, match=r"list 'values' \(.*have shapes \(1,\) and \(2,\).*tf.concat") as raised:
            fg.function(function)(fg.constant(4))
        assert f"test_staged_lists.py:{function.__code__.co_firstlineno + line})" in str(raised.value)


def test_what_the_error_of_different_shapes_proposes() -> None:
    @fg.function
    def concatenated(n: Any) -> Any:
        values = fg.zeros([1])
        for _ in fg.range(n):
            fg.autograph.experimental.set_loop_options(shape_invariants=[(values, fg.TensorShape([None]))])
            values = fg.concat([values, fg.ones([2])], 0)
        return values

    @fg.function
    def written(n: Any) -> Any:
        values = fg.TensorArray(fg.float32, 0, dynamic_size=True, infer_shape=False).write(0, fg.zeros([1]))
        for i in fg.range(n):
            values = values.write(i + 1, fg.ones([2]))
        return values.concat()

    for function in (concatenated, written):
        assert numbers(function(fg.constant(2))) == [0.0, 1.0, 1.0, 1.0, 1.0]


@pytest.mark.parametrize("n", [1, 3])
def test_another_number_of_names_than_elements_is_an_error(n: int) -> None:
    @fg.function
    def two(n: Any) -> Any:
        a, b = filled(n)
        return a, b

    @fg.function
    def at_least_two(n: Any) -> Any:
        a, b, *rest = filled(n)
        return a, b, rest

    with pytest.raises(fg.errors.InvalidArgumentError, match=r"unpacking the list 'values' \(.*2 values expected"):
        two(fg.constant(n))
    if n < 2:
        with pytest.raises(fg.errors.InvalidArgumentError, match="at least 2 values expected"):
            at_least_two(fg.constant(n))
    else:
        assert numbers(at_least_two(fg.constant(n))) == [-3, -2, [1]]
    with pytest.raises(ValueError, match="not enough values to unpack"):
        fg.function(too_few_of_python)(fg.constant(n))


def too_few_of_python(n: Any) -> Any:
    a, b, *c = [n]
    if n > 0:
        a = b
    return a, c


@TIERS
def test_elements_of_different_shapes_are_told_with_the_line_that_made_them(tier: str) -> None:
    def appended(n: Any) -> Any:
        values = []
        for i in fg.range(n):
            x = fg.ones([i + 1])
            values.append(x)
        return fg.stack(values)

    def under_if(n: Any) -> Any:
        values = []
        for i in fg.range(n):
            if i > 0:
                values.append(fg.ones([i + 1]))
        return fg.stack(values)

    with flags.override(tier=tier, worker=False):
        for function, text, line in (
            (appended, "differ in shape", 3),
            (under_if, r"have shape \[2\], and one that is added has shape \[3\]", 4),
        ):
            first = function.__code__.co_firstlineno
            with pytest.raises(fg.errors.InvalidArgumentError, match=text) as raised:
                fg.function(function)(fg.constant(4))
            assert f'test_staged_lists.py", line {first + line}, in {function.__name__}' in str(raised.value)


@TIERS
def test_elements_of_a_shape_that_is_known_only_when_the_graph_runs(tier: str) -> None:
    @fg.function
    def f(n: Any) -> Any:
        kept, assigned = [], []
        for i in fg.range(n):
            if i > 0:
                kept.append(fg.ones([n]) * fg.cast(i, fg.float32))
            assigned = assigned + [fg.fill([n], i)]
        return fg.stack(kept), fg.stack(assigned)

    with flags.override(tier=tier, worker=False):
        kept, assigned = f(fg.constant(3))
    assert numbers(kept) == [[1.0] * 3, [2.0] * 3] and numbers(assigned) == [[0] * 3, [1] * 3, [2] * 3]


def grown_until(n: Any) -> Any:
    values, i = [], n - n
    while len(values) < n and i < 20:
        values.append(i * 2)
        i += 1
    return values, i


def taken_back(n: Any) -> Any:
    values = []
    for i in fg.range(n):
        values.append(i)
        if i > 2:
            values.pop()
        if i == 1:
            values.append(n)
    return values


@pytest.mark.parametrize("function", [grown_until, taken_back])
def test_lengths_that_the_test_reads_or_that_shrink_after_growing(function: Callable[..., Any]) -> None:
    for n in (0, 1, 5):
        assert numbers(fg.function(function)(fg.constant(n))) == numbers(function(fg.constant(n)))


def same_in_both(n: Any) -> Any:
    values: list[Any] = []
    if n > 2:
        other, k = values, 1
    else:
        other, k = values, 2
    other.append(n)
    return len(values), len(other), k


def same_and_longer(n: Any) -> Any:
    values = []
    if n > 2:
        other = values
        other.append(n)
    else:
        other = values
        other.append(-n)
    return len(values), len(other), values[0]


def exchanged(n: Any) -> Any:
    one, two = [n], [n + 1]
    if n > 2:
        one, two = two, one
    one.append(n)
    return len(one), len(two), one[0], two[0]


def read_alone(n: Any) -> Any:
    one, two = [n, n], [n + 1, n]
    chosen = one if n > 2 else two
    if n > 3:
        other = one
    else:
        other = two
    return chosen[0] + other[0], list(chosen) + [n], len(other)


def copied(n: Any) -> Any:
    one, two = [n], [n + 1]
    if n > 2:
        chosen = one
    else:
        chosen = two
    chosen = list(chosen)
    chosen.append(n)
    return len(one), len(two), len(chosen)


@pytest.mark.parametrize("function", [same_in_both, same_and_longer, exchanged, read_alone, copied])
def test_names_of_one_list_after_a_branch(function: Callable[..., Any]) -> None:
    for n in (1, 3, 4):
        assert numbers(fg.function(function)(fg.constant(n))) == numbers(function(fg.constant(n)))


def one_or_other(n: Any) -> Any:
    one, two = [], []
    if n > 2:
        chosen = one
    else:
        chosen = two
    chosen.append(n)
    return len(one), len(two)


def one_or_other_in_a_loop(n: Any) -> Any:
    one, two = [], []
    for i in fg.range(n):
        if i % 2 == 0:
            chosen = one
        else:
            chosen = two
        chosen.append(i)
    return len(one), len(two)


def one_or_other_of_dicts(n: Any) -> Any:
    one, two = {"a": n}, {"a": n + 1}
    chosen = one if n > 2 else two
    chosen["a"] = n + 2
    return one["a"], two["a"]


def one_after_a_loop(n: Any) -> Any:
    one, chosen = [n], [n + 1]
    for _ in fg.range(n):
        chosen = one
    chosen.append(n)
    return len(one)


def one_or_other_of_staged(n: Any) -> Any:
    one, two = filled(n), filled(n)
    if n > 2:
        chosen = one
    else:
        chosen = two
    chosen.append(n)
    return len(one), len(two)


@pytest.mark.parametrize("function", [one_or_other, one_or_other_in_a_loop, one_or_other_of_staged])
def test_what_is_done_to_a_list_of_several_is_done_to_the_one_that_it_is(function: Callable[..., Any]) -> None:
    staged = fg.function(function)
    for n in (1, 2, 4, 5):
        assert numbers(staged(fg.constant(n))) == numbers(function(fg.constant(n)))


@pytest.mark.parametrize(
    "function",
    [one_or_other_of_dicts, one_after_a_loop],
)
def test_a_change_that_would_be_lost_to_the_other_names_of_a_list_is_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(NotImplementedError, match="may be one that other names hold too"):
        fg.function(function)(fg.constant(4))


def swapped(x: Any, n: Any) -> Any:
    one, two = [], []
    for i in fg.range(n):
        one.append(x[i])
        one, two = two, one
    one.append(x[0])
    two.extend([x[1]])
    return fg.stack(one), fg.stack(two)


def cut_short(x: Any, n: Any) -> Any:
    values = []
    for i in fg.range(n):
        values.append(x[i])
        if len(values) > 2:
            values = values[1:]
    values = list(values)
    values.insert(0, x[1])
    return fg.stack(values)


@TIERS
@pytest.mark.parametrize("function", [swapped, cut_short])
def test_lists_without_elements_take_the_shape_of_what_is_added(function: Callable[..., Any], tier: str) -> None:
    x = fg.reshape(fg.range(15.0), [5, 3])
    specs = [fg.TensorSpec([None, None], fg.float32), fg.TensorSpec([], fg.int32)]
    with flags.override(tier=tier, worker=False):
        for n in (0, 1, 4):
            found = fg.function(function, input_signature=specs)(x, fg.constant(n))
            assert numbers(found) == numbers(function(x, fg.constant(n)))


def test_gradients_of_lists_that_inner_loops_extend_by_elements_of_unknown_shape() -> None:
    def products(x: Any, n: Any) -> Any:
        found = []
        for i in fg.range(n):
            for j in fg.range(i):
                found.append(x[i] * x[j])
        return fg.stack(found)

    def gradient(x: Any, n: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            total = fg.reduce_sum(products(x, n))
        return tape.gradient(total, x)

    x = fg.constant(np.arange(12.0).reshape(4, 3), fg.float32)
    staged = fg.function(gradient, input_signature=[fg.TensorSpec([None, None]), fg.TensorSpec([], fg.int32)])
    rows = x.numpy()
    for _ in range(2):
        np.testing.assert_allclose(staged(x, 4), rows.sum(0) - rows)
        staged.get_concrete_function().wait(120)
