"""py_function and numpy_function: Python that runs on every call of a graph, its gradients, its errors."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

errors = fg.errors
both = pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])


def made(f: Any, staged: bool) -> Any:
    return fg.function(f) if staged else f


def compiled(f: Any, *args: Any) -> None:
    f(*args)
    assert f.get_concrete_function(*args).wait(60)


@both
def test_values_dtypes_and_structures(staged: bool) -> None:
    x = fg.constant([3.0, 1.0, 2.0])
    seen: list[str] = []

    def note(v: Any) -> Any:
        seen.append(type(v).__name__)
        return v * 2 + len(v.numpy().shape)

    f = made(lambda x: fg.py_function(note, [x], fg.float32), staged)
    for _ in range(2):
        assert f(x).numpy().tolist() == [7, 3, 5]
    assert seen == ["EagerTensor"] * 2
    sort = made(lambda x: fg.numpy_function(lambda v: np.sort(v), [x], fg.float32), staged)
    assert sort(x).numpy().tolist() == [1, 2, 3]
    two = made(lambda x: fg.py_function(lambda v: (v + 1, fg.shape(v)), [x], [fg.float32, fg.int32]), staged)
    assert [t.numpy().tolist() for t in two(x)] == [[4, 2, 3], [3]]
    number = made(lambda: fg.py_function(int, [], fg.float64), staged)
    assert number().dtype == fg.float64 and float(number()) == 0
    text = made(lambda s: fg.numpy_function(lambda v: v + b"!", [s], fg.string), staged)
    assert text(fg.constant(["a", "b"])).numpy().tolist() == [b"a!", b"b!"]
    v = fg.Variable(2.0)
    assert float(made(lambda x: fg.py_function(lambda a, b: a * b, [x, v], fg.float32), staged)(fg.constant(4.0))) == 8
    ragged = fg.ragged.constant([[1.0], [2.0, 3.0]])
    spec = fg.RaggedTensorSpec([None, None], fg.float32, ragged_rank=1)
    double = made(lambda r: fg.py_function(lambda a: a * 2, [r], spec), staged)
    assert double(ragged).to_list() == [[2], [4, 6]]


def test_what_functions_of_arrays_get() -> None:
    given: list[Any] = []

    def note(*values: Any) -> Any:
        given[:] = [
            (type(v), getattr(v, "dtype", None), getattr(v, "flags", None) and v.flags.writeable) for v in values
        ]
        return np.float32(1)

    inputs = [1.0, fg.constant("a"), fg.constant(2), [1, 2], fg.constant(["b"])]
    fg.numpy_function(note, inputs, fg.float32)
    kinds = [np.dtype("float64"), np.dtype(object), np.dtype("int32"), np.dtype("int64"), np.dtype(object)]
    assert given == [(np.ndarray, kind, True) for kind in kinds]
    fg.function(lambda: fg.numpy_function(note, inputs, fg.float32))()
    assert [kind for kind, *_ in given] == [np.float32, bytes, np.int32, np.ndarray, np.ndarray]
    assert given[3] == (np.ndarray, np.dtype("int32"), True)
    upper = fg.data.Dataset.from_tensor_slices(["one", "two"]).map(
        lambda text: fg.numpy_function(lambda t: t.decode("utf-8").upper(), [text], fg.string)
    )
    assert list(upper.as_numpy_iterator()) == [b"ONE", b"TWO"]


def test_lists_of_results_are_flat_and_a_single_one_stands_alone() -> None:
    numbers = lambda made: fg.nest.map_structure(lambda x: x.numpy().tolist(), fg.numpy_function(made, [], fg.float32))
    assert numbers(lambda: [1.0]) == 1.0
    assert numbers(lambda: (1.0, [2.0])) == [1.0, 2.0]
    assert numbers(lambda: [[1.0, 2.0]]) == [1.0, 2.0]
    assert fg.numpy_function(list, [], fg.float32) == []


def test_shapes_of_results() -> None:
    @fg.function
    def f(x: Any) -> Any:
        y = fg.py_function(lambda v: v, [x], fg.float32)
        assert y.shape.rank is None
        y.set_shape([3])
        z = fg.py_function(lambda v: v, [x], fg.TensorSpec([3], fg.float32))
        assert z.shape == [3]
        return y + z

    assert f(fg.ones([3])).numpy().tolist() == [2, 2, 2]


@both
def test_gradients(staged: bool) -> None:
    def cube(x: Any) -> Any:
        return fg.py_function(lambda v: v**3, [x], fg.float32)

    f, x = made(cube, staged), fg.constant(2.0)
    for _ in range(2):
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as inner:
                inner.watch(x)
                y = f(x)
            g = inner.gradient(y, x)
        assert (float(y), float(g), float(outer.gradient(g, x))) == (8, 12, 12)

    def product(a: Any, b: Any) -> Any:
        return a * b, b

    some = made(lambda a, b: fg.py_function(product, [a, b], [fg.float32, fg.float32])[0], staged)
    a, b = fg.constant(3.0), fg.constant(5.0)
    with fg.GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        y = some(a, b) * 2
    assert [float(g) for g in tape.gradient(y, [a, b])] == [10, 6]


def test_a_gradient_does_not_call_the_function_again_and_fits_its_iteration() -> None:
    calls: list[float] = []

    def scaled(v: Any, i: Any) -> Any:
        calls.append(float(v))
        return v * fg.cast(i + 1, fg.float32)

    @fg.function
    def f(x: Any) -> Any:
        for i in fg.range(3):
            x = fg.py_function(scaled, [x, i], fg.TensorSpec([], fg.float32))
        return x

    x = fg.constant(2.0)
    for _ in range(3):
        calls.clear()
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        assert float(tape.gradient(y, x)) == 6 and float(y) == 12
        assert calls == [2, 2, 4]

    @fg.function
    def inside(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.py_function(lambda v: v**2, [x], fg.float32)
        return tape.gradient(y, x)

    assert float(inside(fg.constant(3.0))) == 6


def test_effects_happen_on_every_call_in_program_order() -> None:
    order: list[Any] = []
    v = fg.Variable(0.0)

    @fg.function
    def f(x: Any) -> Any:
        fg.py_function(lambda: order.append("a"), [], [])
        v.assign_add(1.0)
        fg.numpy_function(lambda value: order.append(float(value)), [v], [])
        v.assign_add(1.0)
        for i in fg.range(2):
            fg.py_function(lambda i: order.append(int(i)), [i], [])
        if x > 0:
            fg.py_function(lambda: order.append("positive"), [], [])
        fg.py_function(lambda value: order.append(float(value)), [v], [])
        return x

    f(fg.constant(1.0))
    assert order == ["a", 1, 0, 1, "positive", 2]
    compiled(f, fg.constant(1.0))
    order.clear()
    f(fg.constant(-1.0))
    assert order[0] == "a" and order[2:4] == [0, 1] and "positive" not in order and order[4] == order[1] + 1


@both
@pytest.mark.parametrize(
    ("raised", "kind"),
    [
        (ValueError("v"), errors.InvalidArgumentError),
        (TypeError("v"), errors.InvalidArgumentError),
        (StopIteration("v"), errors.OutOfRangeError),
        (MemoryError("v"), errors.ResourceExhaustedError),
        (NotImplementedError("v"), errors.UnimplementedError),
        (KeyError("v"), errors.UnknownError),
        (ZeroDivisionError("v"), errors.UnknownError),
        (errors.AbortedError(None, None, "v"), errors.UnknownError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_what_the_function_raises(staged: bool, raised: Exception, kind: Any) -> None:
    def fails(v: Any) -> Any:
        raise raised

    f = made(lambda x: fg.py_function(fails, [x], fg.float32), staged)
    with pytest.raises(kind, match=rf"{type(raised).__name__}: [\s\S]*in fails") as caught:
        f(fg.constant(1.0))
    assert type(caught.value) is kind


def test_numpy_functions_that_fail() -> None:
    def fails(v: Any) -> Any:
        raise ValueError("no")

    with pytest.raises(ValueError, match="^no$"):
        fg.numpy_function(fails, [1.0], fg.float32)
    with pytest.raises(errors.InvalidArgumentError, match="ValueError: no"):
        fg.function(lambda: fg.numpy_function(fails, [1.0], fg.float32))()


def test_results_that_do_not_fit() -> None:
    for function, dtype, text in (
        (
            lambda v: v.astype(np.float64),
            fg.float32,
            "0-th value returned by pyfunc_[0-9]+ is double, but expects float",
        ),
        (lambda v: (v, v), fg.float32, "returns 2 values, but expects to see 1 values"),
        (lambda v: None, fg.float32, "returns 0 values, but expects to see 1 values"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=text):
            fg.function(lambda x, f=function, d=dtype: fg.numpy_function(f, [x], d), autograph=False)(fg.constant(1.0))
    for f in (lambda x: fg.py_function(lambda v: v, [x], [fg.float32] * 2),):
        for g in (f, fg.function(f)):
            with pytest.raises(errors.InvalidArgumentError, match="returns 1 values, but expects to see 2 values"):
                g(fg.constant(1.0))
    wrong = fg.function(lambda x: fg.py_function(lambda v: fg.cast(v, fg.float64), [x], fg.float32))
    with pytest.raises(errors.InvalidArgumentError, match="requested dtype float32 for Tensor with dtype float64"):
        wrong(fg.constant(1.0))
    for public in (fg.py_function, fg.numpy_function):
        with pytest.raises(ValueError, match="Expected func to be callable. Received func=3"):
            public(3, [], fg.float32)


def test_functions_inside_from_many_threads() -> None:
    @fg.function
    def inner(v: Any) -> Any:
        return v * 3.0

    @fg.function
    def f(x: Any) -> Any:
        for _ in fg.range(3):
            x = fg.py_function(lambda v: inner(v), [x], fg.TensorSpec([], fg.float32))
        return x

    found: list[float] = []

    def work(k: int) -> None:
        for _ in range(10):
            found.append(float(f(fg.constant(float(k)))) / 27)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 9)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert sorted(found) == sorted([float(k) for k in range(1, 9)] * 10)


def test_the_function_lives_as_long_as_its_graph() -> None:
    class Adder:
        def __call__(self, v: Any) -> Any:
            return v + 1

    def run() -> Any:
        adder = Adder()
        f = fg.function(lambda x: fg.py_function(adder, [x], fg.float32))
        assert float(f(fg.constant(1.0))) == 2
        return weakref.ref(adder)

    alive = run()
    end = time.monotonic() + 30  # its kernels may be on their way
    while alive() is not None and time.monotonic() < end:
        gc.collect()
        time.sleep(0.05)
    assert alive() is None


def test_decorators():
    @fg.py_function(Tout=fg.float32)
    def double(x):
        """Twice x."""
        return x * 2

    @fg.numpy_function(Tout=fg.float64)
    def root(x):
        return np.sqrt(x)

    assert (float(double(2.0)), float(fg.function(double)(3.0)), double.__name__, double.__doc__) == (
        4.0,
        6.0,
        "double",
        "Twice x.",
    )
    assert float(root(np.float64(4.0))) == float(fg.function(root)(np.float64(4.0))) == 2.0
    for wrong, text in (
        (lambda: fg.py_function(lambda x: x, [1.0]), "Missing required argument: 'Tout'"),
        (lambda: fg.numpy_function(lambda x: x, Tout=fg.float32), "Missing argument `inp`"),
        (lambda: fg.py_function(inp=[1.0], Tout=fg.float32), "Don't set the `inp` argument"),
    ):
        with pytest.raises(TypeError, match=text):
            wrong()


# ---- what follows a call of Python is compiled -----------------------------------------------------------------------


def doubled(x: Any) -> Any:
    return fg.numpy_function(lambda v: v * np.float32(2), [x], fg.float32)


def told(shape: Any) -> Any:
    def f(x: Any) -> Any:
        y = doubled(x)
        y.set_shape(shape)
        return fg.exp(-y) * 3.0, fg.reduce_sum(y, 0)

    return f


def branched(x: Any) -> Any:
    y = doubled(x)
    return fg.cond(fg.reduce_sum(y) > 3.0, lambda: fg.exp(-y), lambda: y * 2.0) + 1.0


def looped(x: Any) -> Any:
    y, total = doubled(x), fg.constant(0.0)
    for i in fg.range(3):
        total += fg.reduce_sum(doubled(x)) * fg.cast(i, fg.float32)
        y = fg.tanh(y) + x
    return y, total


def differentiated(x: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = fg.py_function(lambda v: v * v, [x], fg.float32)
        y.set_shape(x.shape)
        loss = fg.reduce_sum(fg.exp(-y) * 3.0)
    return loss, tape.gradient(loss, x)


FOLLOWED = {
    "its shape is told": told([2, 3]),
    "one extent is told": told([None, 3]),
    "its rank is told": told([None, None]),
    "ensure_shape": lambda x: fg.ensure_shape(doubled(x), [2, 3]) @ fg.ones([3, 2]),
    "reshape": lambda x: fg.reshape(doubled(x), [3, 2]) @ x,
    "nothing": lambda x: (fg.tanh(doubled(x)), fg.rank(doubled(x)), doubled(x)[0], fg.concat([x, doubled(x)], 0)),
    "what does not depend on it": lambda x: (doubled(x), fg.reduce_sum(fg.exp(x) * 2.0)),
    "strings": lambda x: fg.strings.length(fg.numpy_function(lambda v: np.array([b"a", b"bc"]), [x], fg.string)),
    "cond": branched,
    "while": looped,
    "gradient": differentiated,
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_what_follows_is_compiled(name: str) -> None:
    x = fg.constant(np.arange(1.0, 7.0, dtype=np.float32).reshape(2, 3))
    f = fg.function(FOLLOWED[name])
    compiled(f, x)
    assert f.get_concrete_function(x).executable.is_compiled
    for found, wanted in zip(fg.nest.flatten(f(x)), fg.nest.flatten(FOLLOWED[name](x)), strict=True):
        assert found.shape == wanted.shape and found.dtype == wanted.dtype
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-5)


@pytest.mark.parametrize("noted", [[2, 3], [None, 3], [None, None], [2, None]])
def test_a_shape_that_was_told_wrongly_is_not_believed(noted: Any) -> None:
    shape: tuple[int, ...] = (2, 3)
    calls = []

    @fg.function
    def f() -> Any:
        y = fg.numpy_function(lambda: calls.append(1) or np.ones(shape, np.float32), [], fg.float32)
        y.set_shape(noted)
        return fg.tanh(y) * 2.0 + 1.0, fg.reduce_sum(y, 0)

    compiled(f)
    assert f.get_concrete_function().executable.is_compiled
    for shape in ((2, 3), (5, 3), (2, 7), (4,), (2, 3, 4), (2, 3)):
        calls.clear()
        each, total = f()
        assert len(calls) == 1
        np.testing.assert_allclose(each.numpy(), np.full(shape, 2 * np.tanh(1.0) + 1), rtol=1e-5)
        np.testing.assert_array_equal(total.numpy(), np.ones(shape).sum(0))
