"""What staged statements leave in objects, dicts and lists that a graph cannot hold: as in TensorFlow, once, symbolic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import fastgraph as fg
from fastgraph.graph.trace import SymbolicTensor

OUT = (fg.errors.InaccessibleTensorError, "is out of scope")


class Layer:
    """Keeps what it has given, counts, and is built in its first call."""

    def __init__(self) -> None:
        self.last: Any = None
        self.built = False
        self.calls = 0
        self.outputs: list[Any] = []

    def __call__(self, x: Any) -> Any:
        if not self.built:
            with fg.init_scope():
                self.weight = fg.Variable(2.0)
            self.built = True
        self.calls += 1
        self.last = x * self.weight
        self.outputs.append(self.last)
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
    assert isinstance(layer.outputs, list) and all(isinstance(each, SymbolicTensor) for each in layer.outputs)
    with pytest.raises(OUT[0], match=OUT[1]) as raised:
        layer.last + 1.0
    assert "from __call__, " in str(raised.value) and "test_left.py" in str(raised.value)
    assert float(f(fg.constant(1.0))) == result  # the same trace
    n = len(layer.outputs)
    f(fg.constant([1.0]))  # another one finds what that has left
    assert len(layer.outputs) == n + 1


def test_a_body_that_is_traced_again_leaves_an_element_once() -> None:
    seen: list[Any] = []

    @fg.function
    def f(n: Any) -> Any:
        values = []
        y = None
        for i in fg.range(n):
            seen.append(i)
            values.append(i)
            y = i
        return fg.stack(values), y

    f(fg.constant(3))
    assert len(seen) <= 2  # the iteration before the loop, for y is None, and that in it


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

    @fg.function
    def element(x: Any) -> Any:
        called(x)
        return fg.add_n(layer.outputs)

    for f, line in ((attribute, "return x + layer.last"), (element, "return fg.add_n(layer.outputs)")):
        with pytest.raises(OUT[0], match=OUT[1]) as raised:
            f(fg.constant(1.0))
        assert line in str(raised.value)


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

    def drawn(self, x: Any) -> Any:
        if self.value is None:
            self.value = fg.random.normal([])
        return x * self.value

    def told(self, x: Any) -> Any:
        y = x + 1.0 if self.value is None else x + 2.0
        self.value = x
        return y


@pytest.mark.parametrize("method", ["none", "missing", "smoothed", "drawn", "told"])
def test_what_a_later_iteration_would_do_otherwise_is_refused(method: str) -> None:
    cache = Cache()
    step = getattr(cache, method)

    @fg.function
    def looped(x: Any) -> Any:
        for _ in fg.range(3):
            x = step(x)
        return x

    name = "found" if method == "missing" else "value"
    with pytest.raises(
        ValueError, match=rf"object 'step.__self__' is changed in a loop .* Let 'step.__self__.{name}' hold a tensor"
    ):
        looped(fg.constant(1.0))
    assert vars(cache) == {"value": None}


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


def test_numbers_that_are_used_in_the_graph_do_not_count_once() -> None:
    class Scaled:
        def __init__(self) -> None:
            self.n = 0

        def __call__(self, x: Any) -> Any:
            self.n += 1
            self.last = x
            return x * float(self.n)

    scaled = Scaled()
    with pytest.raises(ValueError, match="object 'layer' is changed in a loop"):
        in_a_loop(scaled)(fg.constant(2.0))
    assert vars(scaled) == {"n": 0}


def test_the_test_of_a_loop_that_finds_something_else_is_refused() -> None:
    class Steps:
        def __init__(self) -> None:
            self.error: Any = None

        def __call__(self, x: Any) -> Any:
            self.error = x
            return x * 2.0

        def go_on(self, x: Any) -> Any:
            return x < (100.0 if self.error is None else 5.0)

    steps = Steps()

    @fg.function
    def f(x: Any) -> Any:
        while steps.go_on(x):
            x = steps(x)
        return x

    with pytest.raises(ValueError, match="object 'steps' is changed in a loop"):
        f(fg.constant(1.0))


@pytest.mark.parametrize(
    "read",
    [
        len,
        lambda seen: 1.0 if seen else 0.0,
        sum,
        lambda seen: float(len(seen.copy())),
        lambda seen: sum([1.0 for _ in seen]),
        lambda seen: 1.0 if list(seen) else 0.0,
    ],
)
@pytest.mark.parametrize("kind", ["loop", "branch", "body"])
def test_how_many_elements_were_left_is_not_told(read: Callable[[Any], Any], kind: str) -> None:
    seen: list[Any] = []

    @fg.function
    def f(x: Any) -> Any:
        if kind == "branch":
            if x > 0.0:
                seen.append(x)
        else:
            for _ in fg.range(3):
                seen.append(x)
                if kind == "body":
                    x = x + fg.cast(read(seen), fg.float32)
        return x + fg.cast(read(seen), fg.float32)

    with pytest.raises(ValueError, match=r"The list 'seen' is changed in .*test_left\.py:\d+"):
        f(fg.constant(1.0))


def test_a_list_that_is_cleared_is_one_again() -> None:
    seen: list[Any] = []

    @fg.function
    def f(x: Any) -> Any:
        for _ in fg.range(3):
            seen.append(x)
        seen.clear()
        seen.append(x)
        return x + float(len(seen)) + seen[0]

    assert float(f(fg.constant(1.0))) == 3.0


def test_a_value_from_outside_of_a_branch_is_not_left_as_if_it_had_run() -> None:
    layer = Layer()
    seen: list[Any] = []

    def put(y: Any) -> None:
        layer.last = y

    @fg.function
    def attribute(x: Any) -> Any:
        y = x + 1.0
        if x > 0.0:
            put(y)
        return x + layer.last

    @fg.function
    def element(x: Any) -> Any:
        y = x + 1.0
        if x > 0.0:
            seen.append(y)
        return x + seen[0]

    for f in (attribute, element):
        with pytest.raises(OUT[0], match=OUT[1]):
            f(fg.constant(-1.0))


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
