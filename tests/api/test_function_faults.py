"""What a traced function must not do: change its arguments, make Variables again and again."""

from __future__ import annotations

import inspect
from collections import OrderedDict, namedtuple
from typing import Any

import pytest

import fastgraph as fg

Pair = namedtuple("Pair", "a b")

CHANGES = {
    "a new key": (lambda d: d.update(new=d["a"]), {"a": 1.0}),
    "a key less": (lambda d: d.pop("a"), {"a": 1.0, "b": 2.0}),
    "another value": (lambda d: d.update(a=d["a"] + 1.0), {"a": 1.0}),
    "appended": (lambda d: d.append(d[0]), [1.0]),
    "reversed": (lambda d: d.reverse(), [1.0, 2.0]),
    "deep inside": (lambda d: d[0]["k"].b.clear(), ({"k": Pair(1.0, [2.0])},)),
    "a Python value": (lambda d: d.update(n=2), {"n": 1, "x": 1.0}),
    "ordered": (lambda d: d.update(z=1), OrderedDict(y=1.0, x=2.0)),
}


@pytest.mark.parametrize("autograph", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_changed_arguments(name: str, autograph: bool) -> None:
    change, given = CHANGES[name]

    def f(first: Any, x: Any) -> Any:
        change(x)
        return fg.constant(1.0)

    staged = fg.function(f, autograph=autograph)
    tensors = fg.nest.map_structure(lambda leaf: fg.constant(leaf) if isinstance(leaf, float) else leaf, given)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"f\(first, x\) should not modify its Python input arguments") as caught:
            staged(1, tensors)
        assert str(caught.value).rstrip().endswith("The following parameter(s) were modified: x")
    fg.nest.assert_same_structure(given, tensors)  # what the caller has is as it was


def test_keyword_dicts_and_copies_are_the_functions_own() -> None:
    @fg.function
    def f(*args: Any, **options: Any) -> Any:
        options.pop("scale")
        options["more"] = 1
        d = dict(args[0])
        d["b"] = d.pop("a")
        return d["b"]

    assert float(f({"a": fg.constant(2.0)}, scale=3)) == 2.0


def test_a_failed_trace_is_not_said_to_change_its_arguments() -> None:
    @fg.function
    def f(d: Any) -> Any:
        d.clear()
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        f({"a": fg.constant(1.0)})


def test_a_variable_made_on_each_trace_is_named_with_line_and_remedies() -> None:
    def make(x: Any) -> Any:
        return fg.Variable(x, name="weights")

    line = inspect.getsourcelines(make)[1] + 1

    @fg.function
    def f(x: Any) -> Any:
        return make(x) * 2.0

    with pytest.raises(ValueError, match="tried to create variables on non-first call") as caught:
        f(fg.constant(1.0))
    text = str(caught.value)
    assert f"The Variable 'weights' is made at {__file__}:{line}, in make" in text
    assert "in __init__" in text and "if self.v is None: self.v = tf.Variable(...)" in text


def test_a_variable_made_in_a_later_trace_is_named() -> None:
    made = []

    @fg.function(autograph=False)
    def f(x: Any, again: bool) -> Any:
        if again or not made:
            made.append(fg.Variable(1.0, name=f"v{len(made)}"))
        return made[-1] + x

    assert float(f(fg.constant(1.0), False)) == 2.0
    with pytest.raises(ValueError, match=r"The Variable 'v1' is made at .*test_function_faults.py:\d+, in f, each"):
        f(fg.constant(1.0), True)
    assert float(f(fg.constant(1.0), False)) == 2.0


# ---------------------------------------------------------------------------------------------------------------------
# Variables made in later traces, on request


def test_lifted_variables() -> None:
    slots: dict[str, Any] = {}

    def step(x: Any, name: str) -> Any:
        if name not in slots:
            slots[name] = fg.Variable(fg.zeros_like(x), name=name)
        return slots[name].assign_add(x)

    f = fg.function(step, autograph=False, experimental_lift_variables=True)
    x = fg.constant(1.5)
    assert [float(f(x, name)) for name in ("a", "b", "a", "b", "c")] == [1.5, 1.5, 3.0, 3.0, 1.5]
    assert sorted(slots) == ["a", "b", "c"]
    plain = fg.function(step, autograph=False)
    slots.clear()
    plain(x, "a")
    with pytest.raises(ValueError, match="The Variable 'b' is made at"):
        plain(x, "b")


def test_variables_made_first_in_a_staged_loop_or_branch_start_from_what_is_around_it() -> None:
    slots: list[Any] = []
    factor = fg.Variable(10.0)

    def slot(start: Any) -> Any:
        if not slots:
            slots.append(fg.Variable(start()))
        return slots[0]

    @fg.function
    def f(x: Any, n: Any) -> Any:
        doubled = x * 2.0
        for i in fg.range(n):
            if i > 0:
                slot(lambda: fg.ones_like(doubled) + doubled * factor).assign_add(x)
        return doubled

    x = fg.constant([1.0, 2.0])
    for expected in ([23.0, 45.0], [25.0, 49.0]):
        f(x, 3)
        assert slots[0].numpy().tolist() == expected

    slots.clear()

    @fg.function
    def g(n: Any) -> Any:
        for i in fg.range(n):
            slot(lambda: i * 2).assign_add(1)  # noqa: B023
        return n

    with pytest.raises(ValueError, match="made inside a condition or loop"):
        g(fg.constant(3))


def test_variables_made_each_time_are_not_lifted() -> None:
    f = fg.function(lambda x: fg.Variable(1.0) + x, autograph=False, experimental_lift_variables=True)
    for _ in range(2):
        with pytest.raises(ValueError, match="tried to create variables on non-first call"):
            f(fg.constant(1.0))
