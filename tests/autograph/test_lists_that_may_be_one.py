"""Lists that staged statements assign while other names hold them: as Python has it, or an error; never another result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from list_programs import Draw, compared

import fastgraph as fg
from fastgraph import flags

SEEDS = range(40)
MORE = range(40, 1000)


@pytest.fixture(autouse=True)
def tier() -> Any:
    with flags.override(tier="first"):
        yield


def numbers(value: Any) -> Any:
    return [numbers(each) for each in value] if isinstance(value, (list, tuple)) else np.asarray(value).tolist()


# ---------------------------------------------------------------------------------------------------------------------
# What would be another result is refused


def appended_and_assigned(n: Any, x: Any) -> Any:
    a = []
    b = a
    for i in fg.range(n):
        a.append(x[i])
        a = a + [x[0]]
    return len(a), len(b)


def assigned_and_appended_after_the_loop(n: Any, x: Any) -> Any:
    a = []
    b = a
    for i in fg.range(n):
        a = a + [x[i]]
    a.append(x[0])
    return len(a), len(b)


def assigned_under_if(n: Any, x: Any) -> Any:
    a = []
    b = (a, 1)
    if n > 1:
        a = a + [x[0]]
    a.append(x[0])
    return len(a), len(b[0])


def one_list_from_the_second_iteration_on(n: Any, x: Any) -> Any:
    a, c = [x[0]], [x[1]]
    r = 0
    for i in fg.range(n):
        a.append(x[i])
        r += len(c)
        c = a + [x[i]]
        a = c
    return r


def in_a_dict(n: Any, x: Any) -> Any:
    a = [x[0]]
    table = {"a": a}
    for _ in fg.range(n):
        a.reverse()
        a = a[:]
        a.append(x[1])
    return len(table["a"]), len(a)


def in_an_inner_loop(n: Any, x: Any) -> Any:
    a = []
    b = a
    for i in fg.range(n):
        for _ in fg.range(i):
            a.append(x[i])
        a = list(a)
    return len(a), len(b)


def exchanged(n: Any, x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    c = a
    for _ in fg.range(n):
        a, b = b, a
    a.append(x[0])
    return len(a), len(b), len(c)


def dicts(n: Any, x: Any) -> Any:
    a = {"k": x[0]}
    b = a
    if n > 1:
        a = {"k": x[1]}
    a["k"] = x[2]
    return a["k"], b["k"]


def changed_after_it_became_an_element(n: Any, x: Any) -> Any:
    row = [x[0], x[1]]
    rows = []
    for i in fg.range(n):
        row[0] = x[i]
        rows.append(row)
    return len(rows), rows[0][0]


def chosen_and_assigned_in_a_loop(n: Any, x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    c = a if n > 1 else b
    for i in fg.range(n):
        c.append(x[i])
        c = [x[0], *c]
    return c


def changed_before_it_is_chosen(n: Any, x: Any) -> Any:
    a = [x[0], n]
    b = a
    if n > 3:
        b = [x[1]]
    if n > 5:
        b = a
    else:
        a[0] = x[2]
    return a[0], b[0]


REFUSED = [
    chosen_and_assigned_in_a_loop, changed_before_it_is_chosen,
    appended_and_assigned, assigned_and_appended_after_the_loop, assigned_under_if, one_list_from_the_second_iteration_on, in_a_dict, in_an_inner_loop, exchanged, dicts,
    changed_after_it_became_an_element,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED)
def test_a_change_that_another_name_may_have_to_show_is_refused_where_that_is_read(
    function: Callable[..., Any],
) -> None:
    with pytest.raises(NotImplementedError) as raised:
        fg.function(function)(fg.constant(2), fg.constant([3, 4, 5]))
    text = str(raised.value)
    assert __file__ in text and "list(" in text, text


def test_the_error_names_the_list_both_lines_and_what_to_do() -> None:
    with pytest.raises(NotImplementedError) as raised:
        fg.function(appended_and_assigned)(fg.constant(2), fg.constant([3, 4, 5]))
    first = appended_and_assigned.__code__.co_firstlineno
    text = str(raised.value)
    for part in (f"that is read here ({__file__}:{first + 6})", f"that 'a' holds, or has held, in the staged statement "
                 f"of {__file__}:{first + 3}", "other = list(a)", "a = a + [value]"):  # fmt: skip
        assert part in text, text


# ---------------------------------------------------------------------------------------------------------------------
# What is known to be one list stays one


def the_remedy(n: Any, x: Any) -> Any:
    a = []
    b = list(a)
    for i in fg.range(n):
        a.append(x[i])
        a = a + [x[0]]
    return len(a), len(b)


def nobody_else_holds_it(n: Any, x: Any) -> Any:
    a = []
    for i in fg.range(n):
        a.append(x[i])
        a = a[-2:]
    if n > 1:
        a = a + [x[1]]
    a.append(x[0])
    return a, len(a)


def set_in_a_loop_that_might_assign(n: Any, x: Any) -> Any:
    a, again = [x[0], x[1]], False
    b = a
    for i in fg.range(n):
        a[1] = x[i]
        if again:
            a = []
    return b[1], a[1], len(b)


def the_same_in_both_branches(n: Any, x: Any) -> Any:
    a = [x[0]]
    if n > 1:
        c, k = a, 1
    else:
        c, k = a, 2
    c.append(x[1])
    return len(a), k


def within_a_dict_that_is_changed(n: Any, x: Any) -> Any:
    a = [x[0]]
    table = {"a": a, "n": 0}
    key = "n"
    for i in fg.range(n):
        table[key] = i
    if n > 1:
        table[key] = 7
    a.append(x[1])
    return len(table["a"]), table["n"]


def branches_that_change_and_exchange(n: Any, x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    if n > 1:
        a.append(x[2])
        a, b = b, a
    return len(a), len(b), a[0], b[-1]


def chosen_by_an_expression(n: Any, x: Any) -> Any:
    a, b = [], [x[1]]
    for i in fg.range(n):
        a.append(x[i])
    c = a if n > 1 else b
    d = [x[0], x[1]] if n > 1 else [x[2]]
    return len(c), c[0], len(d), d[0]


def chosen_and_the_other_appended_to(n: Any, x: Any) -> Any:
    a, b = [x[0]], [x[1]]
    if n > 1:
        c = a
    else:
        c = b
    a.append(x[2])
    return len(a), len(c)


def assigned_in_a_loop_that_appends_to_what_it_was(n: Any, x: Any) -> Any:
    a, b = [x[0]], [x[1], x[0]]
    c = a
    for _ in fg.range(n):
        c = b
        a.append(x[1])
    return len(c), len(a)


def assigned_again_in_a_loop_that_appends_to_it(n: Any, x: Any) -> Any:
    a = []
    c = a
    for i in fg.range(n):
        c = a
        c.append(x[i])
    return len(c), len(a)


KEPT = [
    assigned_again_in_a_loop_that_appends_to_it,
    chosen_and_the_other_appended_to, assigned_in_a_loop_that_appends_to_what_it_was,
    the_remedy, nobody_else_holds_it, set_in_a_loop_that_might_assign, the_same_in_both_branches,
    within_a_dict_that_is_changed, branches_that_change_and_exchange, chosen_by_an_expression,
]  # fmt: skip


@pytest.mark.parametrize("function", KEPT)
def test_as_python_has_it(function: Callable[..., Any]) -> None:
    staged = fg.function(function)
    for n in (1, 2, 3):
        assert numbers(staged(fg.constant(n), fg.constant([3, 4, 5]))) == numbers(function(n, [3, 4, 5])), n


# ---------------------------------------------------------------------------------------------------------------------
# Changes that keep the length of the list that a tensor chooses


def first_set(c: Any, x: Any) -> None:
    c[0] = x * 10


def last_set(c: Any, x: Any) -> None:
    c[-1] = x * 10


def added_to_an_element(c: Any, x: Any) -> None:
    c[1] += x


def exchanged_elements(c: Any, x: Any) -> None:
    c[0], c[1] = c[1], c[0]


def all_set(c: Any, x: Any) -> None:
    c[:] = [x, x * 5]


def reversed_in_place(c: Any, x: Any) -> None:
    c.reverse()


def set_by_its_method(c: Any, x: Any) -> None:
    c.__setitem__(0, x * 10)


def set_in_a_python_loop(c: Any, x: Any) -> None:
    for k in range(2):
        c[k] = c[k] * 3 + k


def set_by_another_name(c: Any, x: Any) -> None:
    d = c
    d[0] = x * 7


def set_and_appended_to(c: Any, x: Any) -> None:
    c[0] = x * 10
    c.append(x)
    c[1] = x * 4


def set_in_an_if(c: Any, x: Any) -> None:
    if x < 3:
        c[0] = x * 10


def set_in_an_else(c: Any, x: Any) -> None:
    if x < 3:
        x = x + 1
    else:
        c[1] = c[0] + x * 10


def set_in_both_branches_and_after(c: Any, x: Any) -> None:
    if x < 3:
        c[1] = x * 10
    else:
        c[0] += c[1]
    c[0] = c[1] * 2


WAYS = [
    first_set, last_set, added_to_an_element, exchanged_elements, all_set, reversed_in_place, set_by_its_method,
    set_in_a_python_loop, set_by_another_name, set_and_appended_to, set_in_an_if, set_in_an_else,
    set_in_both_branches_and_after,
]  # fmt: skip


class Two:
    """What lists are kept in."""


def by_an_expression(x: Any, way: Any) -> Any:
    a, b = [x, x + 1], [x * 3, x]
    c = a if x > 0 else b
    before = b[0] + c[1]
    way(c, x)
    between = c[0] - b[0]
    way(c, x + 1)
    return before, between, a[0], a[1], b[0], b[1], c[0], c[1], len(a), len(b)


def by_a_statement(x: Any, way: Any) -> Any:
    a, b = [x, x + 1], [x * 3, x]
    if x > 0:
        c = a
    else:
        c = b
    way(c, x)
    between = b[1] * 2 + a[0]
    b[0] = c[1] + 1
    way(c, x + 1)
    return between, a[0], a[1], b[0], b[1], c[0], c[1]


def of_attributes(x: Any, way: Any) -> Any:
    two = Two()
    two.a, two.b = [x, x + 1], [x * 3, x]
    way(two.a if x > 0 else two.b, x)
    between = two.b[0]
    if x > 0:
        c = two.a
    else:
        c = two.b
    way(c, x + 1)
    return between, two.a[0], two.a[1], two.b[0], two.b[1]


def of_a_list_of_lists(x: Any, way: Any) -> Any:
    lists = [[x, x + 1], [x * 3, x]]
    c = lists[0] if x > 0 else lists[1]
    way(c, x)
    return c[0], lists[0][0], lists[0][1], lists[1][0], lists[1][1]


def of_two_lengths(x: Any, way: Any) -> Any:
    a, b = [x, x + 1], [x * 3, x, x * 5]
    c = a if x > 0 else b
    way(c, x)
    between = b[0]
    way(c, x + 1)
    return between, a[0], a[1], b[0], b[1], b[-1], c[0], c[-1], len(c)


CHOSEN = [by_an_expression, by_a_statement, of_attributes, of_a_list_of_lists, of_two_lengths]


def compared_by_both_choices(function: Callable[..., Any], *arguments: Any) -> None:
    staged = fg.function(lambda x: function(x, *arguments))
    for x in (-4, -1, 1, 4):
        assert numbers(staged(fg.constant(x))) == numbers(function(x, *arguments)), x


@pytest.mark.parametrize(
    ("function", "way"),
    [(function, way) for function in CHOSEN for way in WAYS if (function, way) != (of_two_lengths, all_set)],
)
def test_a_change_that_keeps_the_length_is_one_of_the_list_that_it_is(
    function: Callable[..., Any], way: Callable[..., Any]
) -> None:
    compared_by_both_choices(function, way)


def changed_in_the_else_branch_alone(x: Any) -> Any:
    a = [x, x + 1]
    if x > 0:
        r = a[0]
    else:
        a.reverse()
        r = a[1]
    return a[0], a[1], r


def changed_by_a_function_in_the_else_branch_alone(x: Any) -> Any:
    a = [x, x + 1]
    kept = {"a": a}
    if x > 0:
        r = x
    else:
        set_in_a_python_loop(a, x)
        r = kept["a"][1]
    return a[0], kept["a"][1], r


def set_where_the_one_it_may_be_is_set(x: Any) -> Any:
    a, b = [x, x + 1], [x * 3, x]
    if x > 0:
        c = a
    else:
        c = b
    if x < 3:
        c[0] = x * 10
        a[1] = x * 5
        b[0] += 1
    return a[0], a[1], b[0], b[1], c[0], c[1]


def chosen_and_set_in_a_branch(x: Any) -> Any:
    a, b = [x, x + 1], [x * 3, x]
    r = a[0]
    if x < 3:
        c = a if x > 0 else b
        c[0] = x * 10
        r = c[0] + c[1]
    return a[0], a[1], b[0], b[1], r


def turned(z: Any) -> None:
    z.reverse()


def held_by_the_name_before(x: Any) -> Any:
    two = Two()
    two.a, two.b = [x, x + 1], [x * 3, x]
    c = two.b
    c = two.a if x > 0 else two.b
    turned(c)
    between = two.b[0]
    if x < 3:
        c[0] = x * 10
    d = two.b
    if x > 0:
        d = two.a
    turned(d)
    if x > -3:
        d[1] = x * 7
    return between, two.a[0], two.a[1], two.b[0], two.b[1]


def set_in_a_staged_loop(x: Any) -> Any:
    a, b = [x, x + 1], [x * 3, x]
    c = a if x > 0 else b
    for k in fg.range(3):
        c[0] = c[0] + k
        c[1] = a[0] + b[0]
    return a[0], a[1], b[0], b[1], c[0], c[1]


@pytest.mark.parametrize(
    "function",
    [
        changed_in_the_else_branch_alone, changed_by_a_function_in_the_else_branch_alone,
        set_where_the_one_it_may_be_is_set, chosen_and_set_in_a_branch, held_by_the_name_before,
        set_in_a_staged_loop,
    ],
)  # fmt: skip
def test_changes_in_one_branch_that_keep_the_length(function: Callable[..., Any]) -> None:
    compared_by_both_choices(function)


# ---------------------------------------------------------------------------------------------------------------------
# Programs


@pytest.mark.parametrize("seed", SEEDS)
def test_random_programs(seed: int) -> None:
    _check(seed)


@pytest.mark.soak
@pytest.mark.parametrize("seed", MORE)
def test_more_random_programs(seed: int) -> None:
    _check(seed)


def _check(seed: int) -> None:
    text = Draw(seed).program()
    result, why = compared(text, f"<list program {seed}>")
    assert result != "different", f"{why}\n{text}"
