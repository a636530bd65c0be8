"""What staged statements leave on objects that a graph cannot hold: as in TensorFlow, once, symbolic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fastgraph as fg
from fastgraph.graph.symbolic_tensor import SymbolicTensor

OUT = (fg.errors.InaccessibleTensorError, "is out of scope")


class Layer:
    """Keeps what it has given, counts, and is built in its first call."""

    def __init__(self) -> None:
        self.last: Any = None
        self.built = False
        self.calls = 0

    def __call__(self, x: Any) -> Any:
        if not self.built:
            with fg.init_scope():
                self.weight = fg.Variable(2.0)
            self.built = True
        self.calls += 1
        self.last = x * self.weight
        return self.last


def in_a_loop(layer: Any) -> Any:
    @fg.function
    def f(x: Any) -> Any:
        for _ in fg.range(3):
            x = layer(x)
        return x

    return f


def in_a_branch(layer: Any) -> Any:
    @fg.function
    def f(x: Any) -> Any:
        if x > 0.0:
            x = layer(x)
        return x

    return f


@pytest.mark.parametrize(("made", "result"), [(in_a_loop, 8.0), (in_a_branch, 2.0)])
def test_a_layer_that_keeps_its_output(made: Callable[[Any], Any], result: float) -> None:
    layer = Layer()
    f = made(layer)
    assert float(f(fg.constant(1.0))) == result
    assert layer.built is True and type(layer.calls) is int
    assert isinstance(layer.last, SymbolicTensor)
    with pytest.raises(OUT[0], match=OUT[1]) as raised:
        layer.last + 1.0
    assert "from __call__, " in str(raised.value) and "test_left.py" in str(raised.value)
    assert float(f(fg.constant(1.0))) == result  # the same trace


@pytest.mark.parametrize("kind", ["loop", "branch"])
def test_what_is_left_is_out_of_scope_in_its_function(kind: str) -> None:
    layer = Layer()

    def called(x: Any) -> Any:
        if kind == "loop":
            for _ in fg.range(3):
                x = layer(x)
        elif x > 0.0:
            x = layer(x)
        return x

    @fg.function
    def attribute(x: Any) -> Any:
        x = called(x)
        return x + layer.last

    with pytest.raises(OUT[0], match=OUT[1]) as raised:
        attribute(fg.constant(1.0))
    assert "return x + layer.last" in str(raised.value)


class Cache:
    def __init__(self) -> None:
        self.value: Any = None

    def none(self, x: Any) -> Any:
        if self.value is None:
            self.value = x * 10.0
        return self.value

    def missing(self, x: Any) -> Any:
        if not hasattr(self, "found"):
            self.found = x * 10.0
        return self.found

    def smoothed(self, x: Any) -> Any:
        self.value = x if self.value is None else self.value * 0.5 + x
        return self.value

    def told(self, x: Any) -> Any:
        y = x + 1.0 if self.value is None else x + 2.0
        self.value = x
        return y


@pytest.mark.parametrize(
    ("method", "result"), [("none", 1000.0), ("missing", 1000.0), ("smoothed", 1.0), ("told", 4.0)]
)
def test_an_iteration_is_traced_once_and_finds_what_the_first_one_finds(method: str, result: float) -> None:
    cache = Cache()
    step = getattr(cache, method)

    @fg.function
    def looped(x: Any) -> Any:
        for _ in fg.range(3):
            x = step(x)
        return x

    assert float(looped(fg.constant(1.0))) == result
    held = cache.found if method == "missing" else cache.value
    with pytest.raises(OUT[0], match=OUT[1]):
        held + 1.0


def test_what_every_iteration_makes_alike_may_be_made_in_the_first() -> None:
    class Lazy:
        def __init__(self) -> None:
            self.kernel: Any = None

        def __call__(self, x: Any) -> Any:
            if self.kernel is None:
                self.kernel = fg.ones([]) * 3.0
            return x * self.kernel

    lazy = Lazy()
    assert float(in_a_loop(lazy)(fg.constant(1.0))) == 27.0
    assert isinstance(lazy.kernel, SymbolicTensor)


def test_numbers_of_an_object_from_outside_are_as_tracing_leaves_them() -> None:
    layer = Layer()
    in_a_loop(layer)(fg.constant(2.0))
    assert type(layer.calls) is int and layer.calls >= 1


def test_a_value_from_outside_of_a_branch_is_not_left_as_if_it_had_run() -> None:
    layer = Layer()

    def put(y: Any) -> None:
        layer.last = y

    @fg.function
    def attribute(x: Any) -> Any:
        y = x + 1.0
        if x > 0.0:
            put(y)
        return x + layer.last

    with pytest.raises(OUT[0], match=OUT[1]):
        attribute(fg.constant(-1.0))


def test_gradients_and_graphs_are_those_without_keeping() -> None:
    layer = Layer()
    layer(fg.constant(1.0))
    x = fg.constant(1.0)
    f = in_a_loop(layer)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(tape.gradient(y, x)) == 8.0
    f = in_a_loop(layer)
    (node,) = (op for op in f.get_concrete_function(x).graph.get_operations() if op.type in ("While", "StatelessWhile"))
    plain = in_a_loop(lambda x: x * layer.weight).get_concrete_function(x).graph
    (other,) = (op for op in plain.get_operations() if op.type == node.type)
    assert len(node.outputs) == len(other.outputs)
