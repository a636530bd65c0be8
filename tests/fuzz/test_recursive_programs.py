"""Random pairs of functions that call themselves and each other: plain Python against Functions, with two gradients."""

from __future__ import annotations

import linecache
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.base import flags
from fastgraph.graph import recursive_calls

SEEDS = range(12)
TESTS = ("s > x", "n > 1", "n % 2 == 0", "x > 0.1 or n == 2", "s < 0.0 and n > 0")


class Draw:
    """Draws the text of one program; it ends, for every call of itself is with a smaller n."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def program(self) -> str:
        return "\n".join(line for name in "ab" for line in self.function(name)) + "\n"

    def function(self, name: str) -> list[str]:
        begin = ["@wrap", f"def {name}(x, n):", f"    if n <= 0: return {self.number(1, False)}", "    s = x * 1.0"]
        return [*begin, *self.block("    ", 2), "    return s"]

    def block(self, indent: str, depth: int) -> list[str]:
        return [line for _ in range(self.random.randint(1, 2)) for line in self.statement(indent, depth)]

    def statement(self, indent: str, depth: int) -> list[str]:
        kind = self.random.randint(0, 5) if depth else 0
        if kind == 2:
            lines = [f"{indent}if {self.random.choice(TESTS)}:", *self.block(indent + "    ", depth - 1)]
            return [*lines, f"{indent}else:", *self.block(indent + "    ", depth - 1)] if self.chance(0.6) else lines
        if kind == 3:
            call = f"{self.random.choice('ab')}(x * 0.8, n - 1 - i)"
            lines = [f"{indent}for i in range_(n - 1):", f"{indent}    s = s * 0.5 + {call} * 0.3"]
            stop = f"{indent}    if s > 1.5: {self.random.choice(('break', 'continue'))}"
            return [*lines, stop] if self.chance(0.3) else lines
        if kind == 4 and self.chance(0.5):
            return [f"{indent}if s > 0.8: return {self.number(1, True)}"]
        return [f"{indent}s = s * 0.5 + {self.number(2, True)}"]

    def number(self, depth: int, calls: bool) -> str:
        kind = self.random.randint(0, 7 if depth else 2)
        if kind == 0:
            return self.random.choice(("x", "v", "(x * 0.9)"))
        if kind == 1:
            return f"tf.constant({self.random.choice((0.5, 1.0, -0.7, 1.3))})"
        if kind in (3, 4):
            return f"({self.number(depth - 1, calls)} {self.random.choice('+-*')} {self.number(depth - 1, calls)})"
        if kind == 5:
            return f"tf.{self.random.choice(('sin', 'tanh', 'cos'))}({self.number(depth - 1, calls)})"
        if kind > 5 and calls:
            return f"{self.random.choice('ab')}({self.number(depth - 1, False)}, n - {self.random.randint(1, 2)})"
        return "x * 1.0"

    def chance(self, share: float) -> bool:
        return self.random.random() < share


def made(text: str, name: str, **names: Any) -> dict[str, Any]:
    """The names that a program defines."""
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    found = {"tf": tf, **names}
    exec(compile(text, name, "exec"), found)
    return found


def results(function: Callable[..., Any], n: Any, v: Any) -> list[float]:
    """The value, its gradients for x and v, and the gradient of these for x."""
    x = tf.constant(0.7)
    with tf.GradientTape() as second:
        second.watch(x)
        with tf.GradientTape() as first:
            first.watch(x)
            y = function(x, n) * 1.0
        gradients = first.gradient(y, [x, v], unconnected_gradients="zero")
        both = gradients[0] + gradients[1]
    return [float(each) for each in (y, *gradients, second.gradient(both, x, unconnected_gradients="zero"))]


@pytest.mark.parametrize("seed", SEEDS)
def test_plain_and_staged_agree(seed: int) -> None:
    text, v = Draw(seed).program(), tf.Variable(0.6)
    plain = made(text, f"<plain {seed}>", v=v, wrap=lambda f: f, range_=lambda n: range(max(n, 0)))
    staged = made(text, f"<staged {seed}>", v=v, wrap=tf.function, range_=tf.range)
    with flags.override(tier="first"):
        for name in "ab":
            for n in (0, 1, 2, 3):
                expected, got = results(plain[name], n, v), results(staged[name], tf.constant(n), v)
                np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-4, err_msg=f"{name}({n}) of\n{text}")


def test_they_call_themselves() -> None:
    texts = [Draw(seed).program() for seed in SEEDS]
    calls = [text.count("a(") + text.count("b(") - 2 for text in texts]
    assert sum(n > 0 for n in calls) >= len(calls) // 2
    assert all(any(word in text for text in texts) for word in ("for i", "else:", "tf.sin"))


def test_a_wrong_gradient_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = recursive_calls._derivative_graph

    def wrong(called: Any, sources: Any, flowing: Any) -> Any:
        graph, more = right(called, sources, flowing)
        graph.outputs[0] = graph.inputs[-1]  # the cotangent itself
        return graph, more

    monkeypatch.setattr(recursive_calls, "_derivative_graph", wrong)
    with pytest.raises(AssertionError):
        for seed in SEEDS:
            test_plain_and_staged_agree(seed)
