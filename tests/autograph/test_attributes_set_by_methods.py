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


def longer_in_a_branch(n: Any, x: Any) -> Any:
    o = Holder([x[0], x[1]])
    if n > 1:
        o.plus(x[2])
    return o.v, len(o.v)


def longer_in_a_loop(n: Any, x: Any) -> Any:
    o = Holder([x[0]])
    for _ in fg.range(n):
        o.plus(n)
        o.v.append(x[1])
    return o.v, len(o.v)


def turned(n: Any, x: Any) -> Any:
    o = Holder([x[0], x[1]])
    for _ in fg.range(n):
        o.turn()
    return o.v


def tuples_and_dicts(n: Any, x: Any) -> Any:
    o = Holder([x[0], x[1]])
    if n > 1:
        o.put(n)
    for i in fg.range(n):
        o.put(x[i])
    return o.pair, o.table["k"]


def swapped_and_changed(n: Any, x: Any) -> Any:
    o, u = Holder([x[0], x[1]]), Holder([x[2]])
    if n > 1:
        u.v.append(n)
        o.swap(u)
    return o.v, u.v


@pytest.mark.parametrize("f", [
    reset_in_a_branch, reset_in_a_loop, longer_in_a_branch, longer_in_a_loop, turned, tuples_and_dicts,
    swapped_and_changed,
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


def test_a_list_that_may_be_the_one_from_before_the_loop() -> None:
    @fg.function
    def f(n: Any) -> Any:
        values = [n, n, n]
        o = Holder(values)
        for _ in fg.range(n):
            o.reset(n)
        o.v.append(n)
        return len(values)

    with pytest.raises(NotImplementedError, match="may be the one that"):
        f(fg.constant(2))


@pytest.mark.parametrize(("method", "text"), [("born", "'child'"), ("grow", "same nested structure")])
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


def test_objects_from_outside_keep_what_tracing_has_left() -> None:
    o = Holder([1, 2])

    @fg.function
    def f(n: Any) -> Any:
        if n > 1:
            o.born(n)
            o.named()
            o.v = [5]
        return n

    f(fg.constant(0))
    assert o.mode == "new" and isinstance(o.child, Holder)


def test_a_key_that_a_loop_takes_away() -> None:
    @fg.function
    def f(n: Any) -> Any:
        table = {"k": n, "l": n}
        for _ in fg.range(n):
            table.pop("k")
        return table["l"]

    with pytest.raises(ValueError, match=r"it has the keys \['k', 'l'\] before and the keys \['l'\] after"):
        f(fg.constant(2))
