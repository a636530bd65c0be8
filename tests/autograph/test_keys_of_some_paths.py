"""Keys and attributes that only a staged loop, or a branch in one, sets: read, counted and looked for as in Python."""

from __future__ import annotations

import gc
import linecache
import weakref
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


class Holder:
    """An object whose attributes come to be in a loop."""


def made(reading: str) -> Any:
    """Return a function that sets a key and an attribute in a loop, and then runs a statement."""
    text = f"""
def f(n, range):
    g, o = {{'k': 5}}, Holder()
    for i in range(n):
        g['n'] = i + 1
        o.w = i + 1
    {reading}
"""
    name = f"<{reading}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    scope: dict[str, Any] = {"Holder": Holder, "__name__": __name__}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


ALWAYS = (
    "return len(g)", "return 'n' in g", "return 'n' not in g", "return hasattr(o, 'w')", "return getattr(o, 'w', 7)",
    "return g.get('n', 7)", "return g.pop('n', 7)", "return g['n'] + o.w if n > 0 else 7",
    "g.update(m=1)\n    return len(g)", "del g['k']\n    return len(g)", "return len(vars(o))", "return len(o.__dict__)",
)  # fmt: skip
WHERE_THERE = (
    "return g['n']", "return g['n'] * 2", "return o.w", "return o.w * 2", "return getattr(o, 'w')", "return g", "return o.w, g['n']",
    "return g.pop('n')", "return sum(g.values())", "return len(sorted(g))", "return len(set(g))", "return len(dict(g))",
    "return len({**g})", "return len(g.copy())", "return len(list(g))", "return sum([v for k, v in g.items()])",
    "h = {}\n    h.update(g)\n    return len(h)", "r = n * 0\n    for k in g:\n        r += g[k]\n    return r",
    "return g != {'k': 5}", "return len(g | {'z': 1})", "return len({'z': 1} | g)", "h = {}\n    h |= g\n    return len(h)",
    "return len([*g])", "return len((lambda *a: a)(*g))", "return len((lambda *a: a)(1, *g))",
    "return (lambda k, n=70: k + n)(**g)", "return len((lambda **k: k)(z=1, **g))", "return vars(o)['w']",
    "a, b = g\n    return len(b)", "a, *b = g\n    return len(b)", "*a, = g\n    return len(a)",
    "match g:\n        case {'k': v, **rest}:\n            return len(rest)", "return g.__len__()",
    "return g.__contains__('n')", "return len(list(g.__iter__()))", "h = [1]\n    h += g\n    return len(h)",
    "h = [1]\n    h[:] = g\n    return len(h)", "return g, 1", "return {'a': [g]}",
    "s = 0\n    if n > -1:\n        s = sum(g.values())\n    return s",
    "s = 0\n    if n > -1:\n        s = len((lambda *a: a)(*g.items()))\n    return s",
    "del g['n']\n    return len(g)", "del o.w\n    return hasattr(o, 'w')", "for k in g: pass\n    return len(g)",
)  # fmt: skip


def numbers(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: numbers(each) for key, each in value.items()}
    return [numbers(each) for each in value] if isinstance(value, (tuple, list)) else np.asarray(value).tolist()


@pytest.mark.parametrize("reading", [*ALWAYS, *WHERE_THERE])
def test_as_python_has_it_or_stopped(reading: str) -> None:
    f = made(reading)
    staged = fg.function(f)
    assert numbers(staged(fg.constant(3), fg.range)) == numbers(f(3, range))
    if reading in ALWAYS:
        assert numbers(staged(fg.constant(0), fg.range)) == numbers(f(0, range))
    else:
        with pytest.raises(fg.errors.InvalidArgumentError, match="at least once to initialize"):
            staged(fg.constant(0), fg.range)


@pytest.mark.parametrize("text", [
    "f'{g}'", "f'{g!r}'", "f'{[g]}'", "str(g)", "repr([g])", "'%s' % g", "'%s %s' % (n, (g,))", "'{}'.format(g)",
    "f'{vars(o)}'", "'%(n)s' % g",
])  # fmt: skip
@pytest.mark.parametrize("within", ["{}", "if n > -1:\n        told({0})\n    else:\n        told({0})\n    {0}"])
def test_what_text_shows_must_be_there(text: str, within: str) -> None:
    told: list[str] = []
    f = made(within.format(f"told({text})") + "\n    return 1")
    f.__globals__["told"] = fg.autograph.experimental.do_not_convert(told.append)
    staged = fg.function(f)
    staged(fg.constant(3), fg.range)
    assert "Tensor" in told[0]
    assert "Perhaps" not in told[0]
    with pytest.raises(fg.errors.InvalidArgumentError, match="at least once to initialize"):
        staged(fg.constant(0), fg.range)


def test_printing_while_tracing_says_that_it_may_not_be_there(capsys: Any) -> None:
    f = made("print(g)\n    return 1")
    assert int(fg.function(f)(fg.constant(0), fg.range)) == 1
    assert "if it is set}" in capsys.readouterr().out


@pytest.mark.parametrize("comparison", ["g == {'k': 5, 'n': 3}", "{'k': 5, 'n': 3} == g"])
def test_dicts_of_tensors_do_not_say_whether_they_are_equal(comparison: str) -> None:
    with pytest.raises(fg.errors.OperatorNotAllowedInGraphError, match="as a Python `bool`"):
        fg.function(made(f"return {comparison}"))(fg.constant(3), fg.range)


def test_a_branch_reads_the_whole_of_it() -> None:
    @fg.function
    def f(n: Any, more: Any) -> Any:
        g = {"k": 5}
        for i in fg.range(n):
            g["n"] = i
        size = 0
        if more:
            h = g | {"z": 1}
            size = len(h) + h["n"]
        return size + len(g)

    assert int(f(fg.constant(3), fg.constant(True))) == 7
    assert [int(f(fg.constant(n), fg.constant(False))) for n in (0, 3)] == [1, 2]
    with pytest.raises(fg.errors.InvalidArgumentError, match="at least once to initialize"):
        f(fg.constant(0), fg.constant(True))


def test_what_other_functions_read_of_it() -> None:
    o = Holder()

    def read(owner: Any) -> Any:
        if owner is None:
            return 0
        return owner.w

    @fg.function
    def f(n: Any) -> Any:
        o = Holder()
        for i in fg.range(n):
            o.w = i
        return read(o)

    assert int(f(fg.constant(3))) == 2
    with pytest.raises(fg.errors.InvalidArgumentError, match="at least once"):
        f(fg.constant(0))
    assert not hasattr(o, "w")


def test_the_objects_of_a_trace_are_not_kept() -> None:
    alive = []

    @fg.function
    def f(n: Any) -> Any:
        o = Holder()
        alive.append(weakref.ref(o))
        g = {"o": o}
        for i in fg.range(n):
            g["n"] = i
        return len(g)

    assert int(f(fg.constant(2))) == 2
    gc.collect()
    assert alive[0]() is None
