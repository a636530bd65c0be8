"""What lists, dicts and objects in staged statements do not do: told with the line, and with what to do instead."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import fastgraph as fg

Array = "TensorArray"
OUT = fg.errors.InaccessibleTensorError


def filled(n: Any) -> Any:
    values: Any = []
    for i in fg.range(n):
        values.append(i)
    return values


# ---- changed otherwise than by append


def popped(n: Any) -> Any:
    values = [1, 2, 3]
    for _ in fg.range(n):
        values.pop()
    return fg.stack(values)


def popped_in_a_branch(n: Any) -> Any:
    values = [1, n]
    if n > 1:
        values.pop()
    return fg.stack(values)


def inserted(n: Any) -> Any:
    values = [1]
    for i in fg.range(n):
        values.insert(0, i)
    return fg.stack(values)


def cleared(n: Any) -> Any:
    values = [1, 2]
    for i in fg.range(n):
        values.append(i)
        if i > 1:
            values.clear()
    return len(values)


def deleted(n: Any) -> Any:
    values = [1, 2]
    if n > 1:
        del values[0]
    return fg.stack(values)


def sliced_and_assigned(n: Any) -> Any:
    values = [1, 2, n]
    if n > 1:
        values[:2] = [5]
    return fg.stack(values)


def set_beside_an_append(n: Any) -> Any:
    values = [1]
    for i in fg.range(n):
        if i > 0:
            values.append(i)
        values[0] = i
    return fg.stack(values)


def set_after_the_loop(n: Any) -> Any:
    values = filled(n)
    values[0] = 7
    return values


def popped_after_the_loop(n: Any) -> Any:
    return filled(n).pop()


def sliced(n: Any) -> Any:
    return fg.stack(filled(n)[1:])


def added(n: Any) -> Any:
    return filled(n) + [1]


def compared(n: Any) -> Any:
    return 1 if filled(n) == [1, 2] else 0


def counted(n: Any) -> Any:
    return filled(n).count(1)


def sorted_in_place(n: Any) -> Any:
    values = filled(n)
    values.sort()
    return values


# ---- elements


def of_text(n: Any) -> Any:
    values = []
    for _ in fg.range(n):
        values.append("a")
    return len(values)


def of_two_dtypes(n: Any) -> Any:
    values = [1.5]
    for i in fg.range(n):
        values.append(i)
    return fg.stack(values)


def of_lists(n: Any) -> Any:
    rows = []
    for i in fg.range(n):
        rows.append([i, i])
    return fg.stack(rows)


def of_dicts_under_if(n: Any) -> Any:
    rows = []
    if n > 1:
        rows.append({"k": n})
    return len(rows)


def of_two_shapes(n: Any) -> Any:
    values = [fg.zeros([2])]
    for i in fg.range(n):
        values.append(fg.zeros([3]))
    return fg.stack(values)


def of_two_shapes_under_if(n: Any) -> Any:
    values = [fg.zeros([2])]
    if n > 1:
        values.append(fg.zeros([3]))
    return fg.stack(values)


# ---- assigned


def assigned_longer(n: Any) -> Any:
    values = [n]
    for i in fg.range(n):
        values = values + [i]
    return fg.stack(values)


def of_two_lengths(n: Any) -> Any:
    values = [n, 1]
    if n > 1:
        values = [n]
    return values[0]


# ---- other names


def by_another_name(n: Any) -> Any:
    values: Any = []
    other = values
    for i in fg.range(n):
        values.append(i)
    return other


def how_many_by_another_name(n: Any) -> Any:
    values: Any = []
    other = values
    if n > 1:
        values.append(n)
    return len(other)


def by_a_key(n: Any) -> Any:
    values: Any = []
    table = {"k": values}
    for i in fg.range(n):
        values.append(i)
    return fg.stack(table["k"])


def appended_to_by_a_key_afterwards(n: Any) -> Any:
    values: Any = []
    table = {"k": values}
    for i in fg.range(n):
        values.append(i)
    table["k"].append(7)
    return fg.stack(values)


def chosen_and_appended_to(n: Any) -> Any:
    a, b = [n], [n]
    c = a if n > 1 else b
    c.append(n)
    return fg.stack(a)


def chosen_in_a_statement_and_set(n: Any) -> Any:
    a, b = [n], [n]
    c = a
    if n > 1:
        c = b
    c[0] = n + 1
    return a, b


def chosen_dict_set(n: Any) -> Any:
    a, b = {"k": n}, {"k": 1}
    c = a if n > 1 else b
    c["k"] = 7
    return a, b


def assigned_in_a_loop_and_set(n: Any) -> Any:
    a, b = [n], [1]
    c = a
    for i in fg.range(n):
        c[0] = i
        c = b if i > 1 else a
    return a, b


def chosen_of_staged_ones(n: Any) -> Any:
    a, b = filled(n), filled(n + 1)
    c = a if n > 1 else b
    c.append(n)
    return len(a)


# ---- from outside, and in other containers


def outer_list(kind: str) -> Callable[[Any], Any]:
    seen: list[Any] = []

    def loop(n: Any) -> Any:
        for i in fg.range(n):
            seen.append(i)
        return n

    def branch(n: Any) -> Any:
        if n > 1:
            seen.append(n)
        return n

    return loop if kind == "loop" else branch


class Layer:
    def __init__(self) -> None:
        self.outputs: list[Any] = []

    def __call__(self, x: Any) -> Any:
        self.outputs.append(x * 2)
        return x * 2


def kept_in_a_list_of_a_layer() -> Callable[[Any], Any]:
    layer = Layer()

    def f(n: Any) -> Any:
        x = n
        for _ in fg.range(n):
            x = layer(x)
        return x

    return f


class Trainer:
    def __init__(self) -> None:
        self.losses: list[Any] = []

    def fit(self, n: Any) -> Any:
        for i in fg.range(n):
            self.losses.append(i)
        return n


def kept_in_a_list_of_a_method_s_object() -> Callable[[Any], Any]:
    trainer = Trainer()
    return lambda n: trainer.fit(n)


def updated(n: Any) -> Any:
    table = {"a": n}
    for i in fg.range(n):
        table.update(b=i)
    return table["a"]


def key_of_one_branch(n: Any) -> Any:
    table = {"a": n}
    if n > 1:
        table["b"] = n
    return table["a"]


def attribute_of_one_branch(n: Any) -> Any:
    layer = Layer()
    if n > 1:
        layer.last = n  # type: ignore[attr-defined]
    return n


def set_grows(n: Any) -> Any:
    seen = {1}
    if n > 1:
        seen.add(2)
    return len(seen)


@pytest.mark.parametrize(
    ("f", "kind", "text", "remedy"),
    [
        (popped, ValueError, "list 'values' is changed in a loop", Array),
        (popped_in_a_branch, ValueError, "list 'values' is changed in an if", Array),
        (inserted, ValueError, "list 'values' is changed in a loop", Array),
        (cleared, (ValueError, NotImplementedError), "'values'", Array),
        (deleted, ValueError, "list 'values' is changed in an if", Array),
        (sliced_and_assigned, ValueError, "list 'values' is changed in an if", Array),
        (set_beside_an_append, (ValueError, NotImplementedError), "'values'", Array),
        (set_after_the_loop, NotImplementedError, "setting an element of the list 'values'", r"tf\.stack\(values\)"),
        (popped_after_the_loop, NotImplementedError, r"pop\(\) of the list 'values'", r"tf\.stack\(values\)"),
        (sliced, NotImplementedError, "a slice of the list 'values'", r"tf\.stack\(values\)"),
        (added, NotImplementedError, "of the list 'values'", r"tf\.stack\(values\)"),
        (compared, NotImplementedError, "comparing of the list 'values'", r"tf\.stack\(values\)"),
        (counted, NotImplementedError, r"count\(\) of the list 'values'", r"tf\.stack\(values\)"),
        (sorted_in_place, NotImplementedError, r"sort\(\) of the list 'values'", r"tf\.stack\(values\)"),
        (of_text, ValueError, "list 'values' is changed in a loop", Array),
        (of_two_dtypes, TypeError, "'values' .*have dtypes int32 and float32", "tf.cast"),
        (of_lists, TypeError, "an element of the list 'rows' .*is a list or dict", r"tf\.stack\(element\)"),
        (of_dicts_under_if, TypeError, "an element of the list 'rows' .*is a list or dict", r"tf\.stack\(element\)"),
        (of_two_shapes, ValueError, r"'values' .*have shapes \(2,\) and \(3,\)", Array),
        (of_two_shapes_under_if, ValueError, r"'values' .*have shapes \(2,\) and \(3,\)", Array),
        (assigned_longer, TypeError, "'values' does not have the same nested structure", Array),
        (of_two_lengths, TypeError, "'values' must have the same nested structure", Array),
        (by_another_name, OUT, "appended to by another name", Array),
        (how_many_by_another_name, OUT, "appended to by another name", Array),
        (by_a_key, OUT, "is out of scope", "FuncGraph.name=append to values"),
        (appended_to_by_a_key_afterwards, OUT, "appended to by another name", Array),
        (chosen_and_appended_to, NotImplementedError, "the list that is changed here", "a copy of it"),
        (chosen_in_a_statement_and_set, NotImplementedError, "the list that is changed here", "a copy of it"),
        (chosen_dict_set, NotImplementedError, "the dict that is changed here", "a copy of it"),
        (assigned_in_a_loop_and_set, NotImplementedError, "the list that is changed here", "a copy of it"),
        (chosen_of_staged_ones, NotImplementedError, "the list that is changed here", "a copy of it"),
        (outer_list("loop"), ValueError, "The list 'seen' is appended to in a staged loop", Array),
        (outer_list("branch"), ValueError, "The list 'seen' is changed in an if statement", Array),
        (kept_in_a_list_of_a_method_s_object(), ValueError, "The list 'self.losses' is appended to", Array),
        (kept_in_a_list_of_a_layer(), ValueError, "The list 'layer.outputs' is appended to", Array),
        (updated, ValueError, "The dict 'table' is changed in a loop", Array),
        (key_of_one_branch, ValueError, r"'table\['b'\]' must also be initialized in the else branch", "Set it before"),
        (attribute_of_one_branch, ValueError, "'layer.last' must also be initialized in the else branch", "Set it"),
        (set_grows, ValueError, "The set 'seen' is changed in an if statement", "alike in both"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_it_is_refused_with_the_line_and_a_remedy(f: Callable[[Any], Any], kind: Any, text: str, remedy: str) -> None:
    with pytest.raises(kind, match=f"(?s){text}") as raised:
        fg.function(f)(fg.constant(3))
    said = str(raised.value)
    assert "test_refused_lists.py" in said
    assert re.search(remedy, said), said
