"""Variables that a Function makes in its first call: what they start from, and what computing that costs.

The numbers are TensorFlow's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.graph import interpreter

X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Model:
    """Three layers, and a Variable that is made after them."""

    def __init__(self, initial: Callable[[Any, Any], Any]) -> None:
        self.initial = initial
        self.v: Any = None
        self.call = fg.function(self.plain)

    def plain(self, x: Any) -> Any:
        h = x
        for _ in range(3):
            h = fg.nn.relu(h * 2.0 + 1.0)
        if self.v is None:
            self.v = fg.Variable(self.initial(h, x))
        return self.v * h


SHAPED: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "zeros_like": (lambda h, x: fg.zeros_like(fg.reduce_mean(h, 0)), [0.0, 0.0, 0.0]),
    "ones_like": (lambda h, x: fg.ones_like(h[0]), [1.0, 1.0, 1.0]),
    "a shape": (lambda h, x: fg.ones(fg.shape(h)[1:]), [1.0, 1.0, 1.0]),
    "a callable": (lambda h, x: lambda: fg.zeros([3]), [0.0, 0.0, 0.0]),
    "a callable of a tensor": (lambda h, x: lambda: fg.zeros_like(h[0]), [0.0, 0.0, 0.0]),
    "a size": (lambda h, x: fg.cast(fg.shape(h)[1], fg.float32), 3.0),
}
COMPUTED: dict[str, tuple[Callable[[Any, Any], Any], Any]] = {
    "a mean": (lambda h, x: fg.reduce_mean(h, 0), [19.0, 27.0, 35.0]),
    "a callable of one": (lambda h, x: lambda: fg.reduce_mean(h, 0), [19.0, 27.0, 35.0]),
    "rows": (lambda h, x: fg.zeros([fg.shape(h)[0], 3]), np.zeros([2, 3])),
}


@pytest.mark.parametrize("initial, value", [*SHAPED.values(), *COMPUTED.values()], ids=[*SHAPED, *COMPUTED])
def test_a_call(initial: Any, value: Any) -> None:
    model = Model(initial)
    first, second = model.call(fg.constant(X)), model.call(fg.constant(X + 1))
    h = X
    for _ in range(3):
        h = h * 2 + 1
    np.testing.assert_array_equal(model.v, value)
    np.testing.assert_array_equal(first, np.asarray(value) * h)
    np.testing.assert_array_equal(second, np.asarray(value) * (h + 8))


@pytest.mark.parametrize("initial, value", [*SHAPED.values(), *COMPUTED.values()], ids=[*SHAPED, *COMPUTED])
def test_a_call_in_another_function(initial: Any, value: Any) -> None:
    model = Model(initial)
    outer = fg.function(lambda x: model.call(x * 1.0))
    np.testing.assert_array_equal(outer(fg.constant(X)), outer(fg.constant(X)))
    np.testing.assert_array_equal(model.v, value)


@pytest.mark.parametrize("shape", [[2, 3], [None, 3]])
@pytest.mark.parametrize("initial, value", SHAPED.values(), ids=list(SHAPED))
def test_a_concrete_function_of_what_shapes_say(initial: Any, value: Any, shape: Any) -> None:
    model = Model(initial)
    concrete = model.call.get_concrete_function(fg.TensorSpec(shape))
    np.testing.assert_array_equal(model.v, value)
    np.testing.assert_array_equal(concrete(fg.constant(X)), np.asarray(value) * (X * 8 + 7))


@pytest.mark.parametrize("initial", [COMPUTED["a mean"][0], COMPUTED["a callable of one"][0]])
def test_a_concrete_function_of_what_arguments_say(initial: Any) -> None:
    with pytest.raises(ValueError, match="depends on its arguments, which have no values here"):
        Model(initial).call.get_concrete_function(fg.TensorSpec([None, 3]))


def test_one_after_the_other() -> None:
    made: list[Any] = []

    @fg.function
    def f(x: Any) -> Any:
        is_first = not made
        for k in range(3):
            x = x + 1.0
            if is_first:
                made.append(fg.Variable(fg.reduce_mean(x)))
            x = x * made[k]
        return x

    result = f(fg.constant(X))
    assert [float(v) for v in made] == [3.5, 13.25, 176.5625]
    np.testing.assert_array_equal(result[0], [10704.1015625, 18892.1875, 27080.2734375])
    np.testing.assert_array_equal(result, f(fg.constant(X)))


def test_in_branches_loops_and_under_a_tape() -> None:
    made: list[Any] = []

    @fg.function
    def f(x: Any) -> Any:
        y = x
        for _ in fg.range(3):
            if fg.reduce_sum(x) > 0:
                if not made:
                    made.append(fg.Variable(fg.reduce_mean(x)))
                y = y + made[0]
        return y

    assert float(f(fg.constant(X))[0, 0]) == 7.5 and float(made[0]) == 2.5

    @fg.function
    def of_the_loop(x: Any) -> Any:
        found: list[Any] = []
        for _ in fg.range(3):
            if not found:
                found.append(fg.Variable(x))
            x = x + 1.0
        return x

    with pytest.raises(ValueError, match="inside a condition or loop of a tf.function starts from"):
        of_the_loop(fg.constant(1.0))
    model = Model(COMPUTED["a mean"][0])

    @fg.function
    def gradient(x: Any) -> Any:
        with fg.GradientTape() as tape:
            y = fg.reduce_sum(model.call(x))
        return tape.gradient(y, model.v)

    np.testing.assert_array_equal(gradient(fg.constant(X)), [38.0, 54.0, 70.0])


def _runs(monkeypatch: Any, n: int, nested: bool, shaped: bool = False) -> int:
    """How many layers are run by a first call of n layers, each with a Variable that starts from its result."""
    count = 0
    plain = interpreter.run

    def counted(op: Any, *args: Any) -> Any:
        nonlocal count
        count += op.name == "tanh"
        return plain(op, *args)

    def layer() -> Any:
        made: list[Any] = []

        def call(x: Any) -> Any:
            x = fg.tanh(x)
            if not made:
                made.append(fg.Variable(fg.zeros_like(fg.reduce_mean(x, 0)) if shaped else fg.reduce_mean(x, 0)))
            return x + made[0]

        return fg.function(call) if nested else call

    layers = [layer() for _ in range(n)]

    @fg.function(autograph=False)
    def model(x: Any) -> Any:
        for each in layers:
            x = each(x)
        return x

    monkeypatch.setattr(interpreter, "run", counted)
    model(fg.constant(X))
    monkeypatch.setattr(interpreter, "run", plain)
    return count


def test_layers_are_run_once_for_all_variables(monkeypatch: Any) -> None:
    # And once more at most by the call itself, while there are no kernels; Functions in it have a trace of their own.
    assert 8 <= _runs(monkeypatch, 8, False) <= 16 and 24 <= _runs(monkeypatch, 24, False) <= 48
    assert 24 <= _runs(monkeypatch, 24, True) <= 72
    assert _runs(monkeypatch, 24, False, shaped=True) <= 24


class Assigned:
    """A Variable that is made after another has been assigned in the same call."""

    def __init__(self, assign: Callable[[Any, Any], Any], initial: Callable[[Any, Any], Any]) -> None:
        self.o = fg.Variable([5.0, 6.0, 7.0])
        self.v: Any = None
        self.assign, self.initial = assign, initial
        self.inner = fg.function(lambda x: self.assign(self.o, x))
        self.staged = fg.function(self.plain)

    def plain(self, x: Any, how: str = "direct") -> Any:
        if how == "branch":
            if x > 0.0:
                self.assign(self.o, x)
        elif how == "loop":
            for _ in fg.range(2):
                self.assign(self.o, x)
        elif how == "call":
            self.inner(x)
        else:
            self.assign(self.o, x)
        if self.v is None:
            self.v = fg.Variable(self.initial(self.o, x))
        self.assign(self.o, x)
        return self.o + 0.0, self.v + 0.0


ASSIGNS: dict[str, Callable[[Any, Any], Any]] = {
    "assign": lambda o, x: o.assign(fg.fill([3], x)),
    "add": lambda o, x: o.assign_add(fg.fill([3], x)),
    "scatter": lambda o, x: o.scatter_add(fg.IndexedSlices(x[None], fg.constant([1]))),
    "slice": lambda o, x: o[1:].assign(fg.fill([2], x)),
}
STARTS: dict[str, Callable[[Any, Any], Any]] = {
    "a read": lambda o, x: o * 2.0 + x,
    "the Variable": lambda o, x: o,
    "a callable": lambda o, x: lambda: o * 2.0,
    "a list": lambda o, x: [o, o + x],
}


@pytest.mark.parametrize("how", ["direct", "branch", "loop", "call"])
@pytest.mark.parametrize("assign", ASSIGNS.values(), ids=list(ASSIGNS))
def test_what_was_assigned_before_in_the_call_is_seen(how: str, assign: Any) -> None:
    for initial in STARTS.values() if how == "direct" else [STARTS["a read"]]:
        eager, staged, within = (Assigned(assign, initial) for _ in range(3))
        outer = fg.function(lambda x, model=within: model.staged(x, how))
        for x in (1.5, 4.0):
            want = eager.plain(fg.constant(x), how)
            for got in (staged.staged(fg.constant(x), how), outer(fg.constant(x))):
                np.testing.assert_array_equal(got[0], want[0])
                np.testing.assert_array_equal(got[1], want[1])
            np.testing.assert_array_equal(staged.o, eager.o)
            np.testing.assert_array_equal(within.o, eager.o)


def test_several_variables_one_after_the_other_see_each_others_assignments() -> None:
    def model() -> Callable[[Any], Any]:
        made: list[Any] = []

        def call(x: Any) -> Any:
            for k in range(3):
                if len(made) == 2 * k:
                    made.append(fg.Variable(x))
                    made[-1].assign_add(10.0 * x)  # in the call that makes it alone
                    made.append(fg.Variable(made[-1] * 2.0))
                made[2 * k].assign_add(x)
                x = x + made[2 * k] + made[2 * k + 1]
            return x

        return call

    eager, staged = model(), fg.function(model(), autograph=False)
    for x in (1.0, 2.0):
        assert float(eager(fg.constant(x))) == float(staged(fg.constant(x)))


def test_a_generator_and_an_iterator_are_not_ahead_of_the_call() -> None:
    made: list[Any] = []
    generator, elements = fg.random.Generator.from_seed(1), iter(fg.data.Dataset.range(10))

    @fg.function
    def f() -> Any:
        first, drawn = next(elements), generator.normal([])
        if not made:
            made.extend([fg.Variable(next(elements) * 10), fg.Variable(drawn)])
        return first, drawn, next(elements)

    same = fg.random.Generator.from_seed(1)
    for call in ([0, 2], [3, 4]):  # the element 1 is taken in the first call alone
        first, drawn, last = f()
        assert [int(first), int(last)] == call and float(drawn) == float(same.normal([]))
    assert int(made[0]) == 10 and float(made[1]) == float(fg.random.Generator.from_seed(1).normal([]))


@pytest.mark.parametrize("draws", [False, True])
def test_what_python_and_random_ops_gave_is_what_the_call_goes_on_with(draws: bool) -> None:
    made, calls = [], []  # type: ignore[var-annotated]

    @fg.function
    def f(x: Any) -> Any:
        y, z = fg.py_function(lambda x: (calls.append(1), (x, x + 1.0))[1], [x], [fg.float32, fg.float32])
        drawn = fg.random.uniform([]) + z if draws else z
        if not made:
            made.append(fg.Variable(drawn))
        return drawn - made[0], y

    first, second = f(fg.constant(1.0)), f(fg.constant(1.0))
    assert len(calls) == 2 and float(first[0]) == 0.0 and (draws or float(second[0]) == 0.0)


@pytest.mark.parametrize("writes", [False, True])
def test_a_branch_that_calls_python_and_touches_a_variable_is_run_once(writes: bool) -> None:
    made, calls = [], []  # type: ignore[var-annotated]
    state = fg.Variable(1.0)

    @fg.function
    def f(x: Any) -> Any:
        def branch() -> Any:
            y = fg.numpy_function(lambda x: (calls.append(1), x * 2)[1], [x], fg.float32)
            if writes:
                state.assign_add(1.0)
            return fg.reshape(y, []) + state

        y = fg.cond(x > 0, branch, lambda: x)
        if not made:
            made.append(fg.Variable(y))
        return made[0] + y, state.read_value()

    for n in (1, 2):
        now = 1.0 + n * writes
        total, read = f(fg.constant(2.0))
        assert (float(total), float(read), float(state), len(calls)) == (10.0 + writes + n * writes, now, now, n)
