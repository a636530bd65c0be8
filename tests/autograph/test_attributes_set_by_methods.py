"""What methods set in staged statements: lists, tuples, dicts and text are carried as tensors are, or refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


class Holder:
    """An object whose methods give its attributes other values, and change them in place."""

    def __init__(self, v: Any) -> None:
        self.v = v
        self.pair = (v[0], 1)
        self.table = {"k": v[0]}
        self.mode = "old"
        self.child: Any = None

    def reset(self, e: Any) -> None:
        self.v = [e, e]

    def plus(self, e: Any) -> None:
        self.v = self.v + [e]

    def turn(self) -> None:
        self.v = self.v[::-1]

    def put(self, e: Any) -> None:
        self.pair = (e, 2)
        self.table = {"k": e}

    def named(self) -> None:
        self.mode = "new"

    def exchange(self) -> None:
        self.child, self.table["k"] = self.table["k"], self.child
        self.v.append(self.v.pop(0))

    def if_(self, chosen: Any, method: str) -> None:
        if chosen:
            getattr(self, method)()

    def times(self, n: Any, method: str) -> None:
        for _ in fg.range(n):
            getattr(self, method)()

    def swap(self, other: Holder) -> None:
        self.v, other.v = other.v, self.v

    def grow(self, e: Any) -> None:
        self.table = {"k": e, "l": e}

    def born(self, e: Any) -> None:
        self.child = Holder([e])


def reset_in_a_branch(n: Any, x: Any) -> Any:
    o = Holder([x[0], x[1]])
    if n > 1:
        o.reset(n)
    return o.v


def reset_in_a_loop(n: Any, x: Any) -> Any:
    o = Holder([x[0], x[1]])
    for i in fg.range(n):
        o.reset(i)
    return o.v


def turned(n: Any, x: Any) -> Any:
    o = Holder([x[0], x[1]])
    for _ in fg.range(n):
        o.turn()
    return o.v


def exchanged_where_a_parameter_holds_the_object(n: Any, x: Any) -> Any:
    """A method's `self`: what it holds is exchanged, so that no tensor is new."""
    o, p = Holder([x[0], x[1]]), Holder([x[1], x[0]])
    o.child, p.child = x[1], x[2]
    o.if_(n > 1, "exchange")
    p.times(n, "exchange")
    return o.child, o.table["k"], o.v, p.child, p.table["k"], p.v


def tuples_and_dicts(n: Any, x: Any) -> Any:
    o = Holder([x[0], x[1]])
    if n > 1:
        o.put(n)
    for i in fg.range(n):
        o.put(x[i])
    return o.pair, o.table["k"]


@pytest.mark.parametrize("f", [
    reset_in_a_branch, reset_in_a_loop, turned, tuples_and_dicts, exchanged_where_a_parameter_holds_the_object,
    ])  # fmt: skip
def test_as_python_has_it(f: Callable[..., Any]) -> None:
    def flat(value: Any) -> Any:
        return [flat(each) for each in value] if isinstance(value, (list, tuple)) else np.asarray(value).tolist()

    x = [3, 11, 20]
    staged = fg.function(f)
    for n in (0, 1, 3):
        assert flat(staged(fg.constant(n), fg.constant(x))) == flat(f(n, x))


def test_text_is_a_string_tensor() -> None:
    @fg.function
    def f(n: Any) -> Any:
        o = Holder([n])
        if n > 1:
            o.named()
        return o.mode

    assert [f(fg.constant(n)).numpy() for n in (0, 2)] == [b"old", b"new"]


@pytest.mark.parametrize(("method", "text"), [("born", "'child'|'o.child'")])
def test_what_a_graph_cannot_choose_is_refused(method: str, text: str) -> None:
    @fg.function
    def branch(n: Any) -> Any:
        o = Holder([n])
        if n > 1:
            getattr(o, method)(n)
        return o.v

    @fg.function
    def loop(n: Any) -> Any:
        o = Holder([n])
        for _ in fg.range(n):
            getattr(o, method)(n)
        return o.v

    for f in (branch, loop):
        with pytest.raises((TypeError, ValueError), match=text):
            f(fg.constant(2))


def test_a_key_that_a_loop_takes_away() -> None:
    @fg.function
    def f(n: Any) -> Any:
        table = {"k": n, "l": n}
        for _ in fg.range(n):
            table.pop("k")
        return table["l"]

    with pytest.raises(ValueError, match=r"it has the keys \['k', 'l'\] before and the keys \['l'\] after"):
        f(fg.constant(2))
