"""The warm call: no Python function is entered, and it is found again only for what it was made for."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags


def entered(call):
    """Names of the Python functions that `call` enters."""
    seen = []

    def profile(frame, event, arg):
        if event == "call" and frame.f_code is not call.__code__:
            seen.append(frame.f_code.co_qualname if hasattr(frame.f_code, "co_qualname") else frame.f_code.co_name)

    gc.disable()
    sys.setprofile(profile)
    try:
        call()
    finally:
        sys.setprofile(None)
        gc.enable()
    return seen


@pytest.fixture
def compiled():
    with flags.override(tier="last"):
        yield


def warm(f, *args):
    for _ in range(3):
        result = f(*args)
    return result


X = fg.constant([1.0, 2.0, 3.0])
W = fg.Variable([1.0, 1.0, 1.0])


class Model(fg.Module):
    def __init__(self):
        self.w = fg.Variable(2.0)

    @fg.function
    def __call__(self, x):
        return x * self.w


@pytest.mark.parametrize(
    "f, args",
    [
        (lambda x: fg.exp(x) * 2.0, (X,)),
        (lambda x, y: (x + y, x - y), (X, X)),
        (lambda x, y: [x * y], (X, X)),
        (lambda x: W.assign_add(x), (X,)),
        (lambda x: None, (X,)),
        (lambda v, x, n: v * x + n, (W, X, 2)),
        (lambda: W * 2.0, ()),
        (lambda x: fg.while_loop(lambda i, s: i < 5, lambda i, s: (i + 1, s * 0.5), (0, x))[1], (X,)),
        (lambda x: fg.cond(fg.reduce_sum(x) > 0.0, lambda: x, lambda: -x), (X,)),
    ],
    ids=["one", "tuple", "list", "assign", "none", "variable and number", "no arguments", "loop", "cond"],
)
def test_no_python_in_a_warm_call(compiled, f, args):
    function = fg.function(f)
    warm(function, *args)
    concrete = function.get_concrete_function(*args)
    assert concrete.host_steps == 0
    assert entered(lambda: function(*args)) == []


def test_no_python_in_methods_signatures_and_concrete_functions(compiled):
    model = Model()
    warm(model, X)
    assert entered(lambda: model(X)) == []
    f = fg.function(lambda x: x + 1.0, input_signature=[fg.TensorSpec([None], fg.float32)])
    warm(f, X)
    assert entered(lambda: f(X)) == []
    concrete = f.get_concrete_function()
    warm(concrete, X)
    assert entered(lambda: concrete(X)) == []


def test_no_python_in_calls_with_names(compiled):
    f = fg.function(lambda x, y, k=1.0: (x - y) * k)
    a, b = fg.constant([1.0, 2.0]), fg.constant([5.0, 7.0])
    for _ in range(3):
        f(a, y=b, k=2.0), f(x=a, y=b)
    assert entered(lambda: f(a, y=b, k=2.0)) == []
    assert entered(lambda: f(x=a, y=b)) == []
    np.testing.assert_array_equal(f(b, y=a, k=2.0), [8.0, 10.0])
    with pytest.raises(TypeError):
        f(a, z=b)


def test_calls_with_names_in_any_order(compiled):
    f = fg.function(lambda x, y: x - y)
    a, b = fg.constant([1.0, 2.0]), fg.constant([5.0, 7.0])
    for _ in range(3):
        np.testing.assert_array_equal(f(y=a, x=a), [0.0, 0.0])  # which of them is x does not show
        np.testing.assert_array_equal(f(y=a, x=b), [4.0, 5.0])
        np.testing.assert_array_equal(f(x=a, y=b), [-4.0, -5.0])
        np.testing.assert_array_equal(f(a, y=b), [-4.0, -5.0])
        np.testing.assert_array_equal(f(b, a), [4.0, 5.0])
    concrete = f.get_concrete_function(a, b)
    for _ in range(3):
        np.testing.assert_array_equal(concrete(y=a, x=a), [0.0, 0.0])
        np.testing.assert_array_equal(concrete(y=a, x=b), [4.0, 5.0])


ROWS = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    "f, args",
    [
        (lambda x: x + 1.0, (ROWS,)),
        (lambda x: x + 1.0, (ROWS.T,)),
        (lambda x, n: x * fg.cast(n, fg.float32), (ROWS, np.int64(3))),
        (lambda x: x["a"] - x["b"], ({"b": X, "a": X + 1.0},)),
        (lambda xs: xs[0] * xs[1][0] + xs[2], ([X, (X, 7), 2.5],)),
        (lambda vs, batch: vs["w"] * batch["x"], ({"w": W}, {"x": np.ones(3, np.float32)})),
        (lambda x: {"b": (x, None), "a": [x + 1.0, {}], "0": x * 2.0}, (X,)),
    ],
    ids=["array", "strided array", "NumPy number", "dict", "list", "Variable and array in dicts", "nested result"],
)
def test_no_python_in_calls_with_arrays_and_containers(compiled, f, args):
    function = fg.function(f)
    expected = warm(function, *args)
    assert entered(lambda: function(*args)) == []
    again = function(*args)
    fg.nest.assert_same_structure(again, expected)
    assert not isinstance(again, dict) or list(again) == list(expected)
    for a, b in zip(fg.nest.flatten(again), fg.nest.flatten(expected), strict=True):
        assert a is b is None or np.array_equal(a, b)


def test_arrays_and_containers_are_found_only_for_their_own_kind(compiled):
    f = fg.function(lambda x: x * 2)
    for _ in range(3):
        assert f(np.ones([2], np.float32)).dtype == fg.float32
        assert f(np.ones([2], np.int32)).dtype == fg.int32
        assert f(np.ones([2], ">f4")).numpy().tolist() == [2.0, 2.0]
        assert f(np.ones([2, 0])).shape == [2, 0]
        assert f(np.float64(1.5)).dtype == fg.float64
        assert f(np.ma.ones([2])).numpy().tolist() == [2.0, 2.0]
    n_traces = f.experimental_get_tracing_count()
    f(fg.ones([2]))
    assert f.experimental_get_tracing_count() == n_traces  # the array's own graph
    g = fg.function(lambda d: sum(d[k] * (i + 1) for i, k in enumerate(sorted(d))))
    for _ in range(3):
        assert float(g({"a": X[0], "b": X[1]})) == 5.0
        assert float(g({"b": X[1], "a": X[0]})) == 5.0
        assert float(g({"a": X[0], "c": X[2]})) == 7.0
        assert float(g({"a": X[0]})) == 1.0
    h = fg.function(lambda x: x[0] + x[1] if isinstance(x, tuple) else x[0] - x[1])
    for _ in range(3):
        assert float(h((X[0], X[1]))) == 3.0 and float(h([X[0], X[1]])) == -1.0
        assert float(h((X[0], 5.0))) == 6.0 and float(h((X[0], 6.0))) == 7.0
    z = fg.function(lambda x, zero: x / zero)
    for _ in range(3):
        assert float(z(X[0], 0.0)) == np.inf and float(z(X[0], -0.0)) == -np.inf


def test_a_warm_call_takes_the_array_as_it_is_now(compiled):
    f = fg.function(lambda x: x + 0.0)
    x = np.zeros(3, np.float32)
    warm(f, x)
    x[1] = 5.0
    came = f(x)
    x[1] = 7.0
    np.testing.assert_array_equal(came, [0.0, 5.0, 0.0])


def test_arrays_by_name_in_any_order(compiled):
    f = fg.function(lambda x, y, *, k=None: x - y if k is None else x - y + k)
    a, b = np.array([1.0, 2.0], np.float32), np.array([5.0, 7.0], np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(f(x=a, y=b), [-4.0, -5.0])
        np.testing.assert_array_equal(f(y=a, x=b), [4.0, 5.0])
        np.testing.assert_array_equal(f(b, y=a, k=a), b)
        np.testing.assert_array_equal(f(k=a, y=a, x=b), b)
    assert entered(lambda: f(x=a, y=b)) == [] and entered(lambda: f(b, y=a, k=a)) == []
    concrete = f.get_concrete_function(a, b)
    for _ in range(3):
        np.testing.assert_array_equal(concrete(x=a, y=b), [-4.0, -5.0])
        np.testing.assert_array_equal(concrete(y=a, x=b), [4.0, 5.0])
    g = fg.function(lambda *xs, k: xs[0] - xs[1] * k)
    for _ in range(3):
        np.testing.assert_array_equal(g(a, b, k=a), a - b * a)
        np.testing.assert_array_equal(g(b, a, k=b), b - a * b)


V = fg.Variable([1.0, 2.0, 3.0])


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize(
    "f, args, sources",
    [
        (lambda x: fg.exp(x) * 2.0, (X,), [X]),
        (lambda x: (x * V, x), (X,), [V, X]),
        (lambda d: {"sum": fg.reduce_sum(d["a"] * d["b"]), "half": d["a"] / 2.0}, ({"a": X, "b": ROWS[0]},), [X]),
        (lambda x: x @ x, (fg.ones([2, 2]),), [X]),
    ],
    ids=["tensor", "Variable and argument", "dicts", "nothing followed"],
)
def test_no_python_in_a_recorded_call(compiled, f, args, sources, persistent):
    function = fg.function(f)
    expected = []
    for warming in (True, True, True, False):
        with fg.GradientTape(persistent=persistent) as tape:
            tape.watch([source for source in sources if source is X])
            if warming:
                y = function(*args)
            else:
                came = []
                assert entered(lambda: came.append(function(*args))) == []  # noqa: B023
                (y,) = came
        got = tape.gradient(y, sources)
        expected = expected or got
        fg.nest.assert_same_structure(y, f(*args))
        for a, b in zip(got, expected, strict=True):
            assert (a is None) == (b is None)
            if a is not None:
                np.testing.assert_array_equal(a, b)
    with fg.GradientTape() as tape:
        tape.watch([source for source in sources if source is X])
        plain = f(*args)
    for a, b in zip(tape.gradient(plain, sources), expected, strict=True):
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_recorded_calls_of_several_shapes_and_tapes(compiled):
    """What is found again under tapes is that of the shapes, of the sources, and of the order of the gradient."""
    f = fg.function(lambda x, y: x * x * y)
    for _ in range(3):
        for n in (1, 2, 5):
            x, y = fg.range(n, dtype=fg.float32) + 1.0, fg.ones([n]) * 3.0
            for sources in ([x], [y], [x, y]):
                with fg.GradientTape() as outer:
                    outer.watch(sources)
                    with fg.GradientTape() as tape:
                        tape.watch(sources)
                        z = f(x, y)
                    first = tape.gradient(z, sources)
                expected = {id(x): 2.0 * x * y, id(y): x * x}
                for source, gradient in zip(sources, first, strict=True):
                    np.testing.assert_allclose(gradient, expected[id(source)], rtol=1e-6)
                second = outer.gradient(first[0], sources[0])
                if sources[0] is x:
                    np.testing.assert_allclose(second, 2.0 * y, rtol=1e-6)
                with fg.GradientTape() as tape:
                    tape.watch(sources)
                    z = f(x, y)
                np.testing.assert_allclose(tape.gradient(z, sources[0]), expected[id(sources[0])], rtol=1e-6)
            np.testing.assert_allclose(f(x, y), x * x * y, rtol=1e-6)


def test_a_recorded_call_that_returns_its_argument(compiled):
    f = fg.function(lambda x: (x, x, x * 1.0))
    for _ in range(4):
        with fg.GradientTape() as tape:
            tape.watch(X)
            a, b, c = f(X)
            loss = fg.reduce_sum(a * 2.0 + b * 3.0 + c * 5.0)
        assert len({X.id, a.id, b.id, c.id}) == 4
        assert tape.gradient(loss, X).numpy().tolist() == [10.0] * 3


def test_a_training_step_enters_no_python(compiled):
    w, b = fg.Variable(fg.random.normal([4, 3])), fg.Variable(fg.zeros([3]))

    @fg.function
    def step(x, y):
        with fg.GradientTape() as tape:
            loss = fg.reduce_mean(fg.nn.sparse_softmax_cross_entropy_with_logits(y, fg.matmul(x, w) + b))
        for v, g in zip([w, b], tape.gradient(loss, [w, b]), strict=True):
            v.assign_sub(0.1 * g)
        return loss

    x, y = fg.random.normal([8, 4]), fg.constant([0, 1, 2, 0, 1, 2, 0, 1])
    first = float(warm(step, x, y))
    assert entered(lambda: step(x, y)) == []
    for _ in range(50):
        step(x, y)
    assert float(step(x, y)) < first


def test_found_again_only_for_its_own_kind(compiled):
    f = fg.function(lambda x, k: x * k)
    warm(f, X, 2.0)
    np.testing.assert_array_equal(f(X, 3.0), [3.0, 6.0, 9.0])
    np.testing.assert_array_equal(f(fg.constant([1.0, 2.0]), 2.0), [2.0, 4.0])
    np.testing.assert_array_equal(f(fg.constant([[1.0]]), 2.0), [[2.0]])
    assert f(fg.constant([1.0], fg.float64), 2.0).dtype == fg.float64
    with pytest.raises(TypeError):
        f(X)
    np.testing.assert_array_equal(f(X, k=2.0), [2.0, 4.0, 6.0])
    g = fg.function(lambda x, flag: x if flag else -x)
    assert float(warm(g, fg.constant(1), True)) == 1 and float(warm(g, fg.constant(1), 1)) == 1
    assert int(g(fg.constant(1), 0)) == -1 and int(g(fg.constant(1), False)) == -1


def test_many_kinds_take_turns(compiled):
    f = fg.function(lambda x: fg.reduce_sum(x), input_signature=[fg.TensorSpec([None], fg.float32)])
    for _ in range(3):
        for n in range(40):
            assert float(f(fg.ones([n]))) == n


def test_a_freed_object_is_not_found(compiled):
    class Scale:
        def __init__(self, k):
            self.k = k

    f = fg.function(lambda s, x: x * s.k)
    for k in range(1, 30):
        s = Scale(float(k))
        assert float(warm(f, s, fg.constant(1.0))) == k
        del s


def test_a_freed_variable_is_an_error_in_a_warm_call(compiled):
    v = fg.Variable(2.0)
    f = fg.function(lambda x: x * v)  # noqa: F821
    warm(f, X)
    del v
    gc.collect()
    with pytest.raises((fg.errors.FailedPreconditionError, NameError), match="reading resource variable|free variable"):
        f(X)


def test_the_tape_and_other_traces_see_a_warm_function(compiled):
    f = fg.function(lambda x: x * x)
    x = fg.constant(3.0)
    warm(f, x)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert float(tape.gradient(y, x)) == 6.0
    assert float(fg.function(lambda x: f(x) + 1.0)(x)) == 10.0


def test_run_eagerly_and_tiers_after_warm_calls():
    log = []

    @fg.function
    def f(x):
        log.append(1)
        return fg.exp(x)

    with flags.override(tier="last"):
        warm(f, X)
    fg.config.run_functions_eagerly(True)
    try:
        f(X)
        assert len(log) == 2
    finally:
        fg.config.run_functions_eagerly(False)
    with flags.override(tier="first"):
        assert entered(lambda: f(X)) != []  # interpreted
    with flags.override(tier="last"):
        warm(f, X)
        assert entered(lambda: f(X)) == []


def test_errors_of_a_warm_call_leave_it_warm(compiled):
    f = fg.function(lambda x, i: fg.gather(x, i))
    warm(f, X, fg.constant([1]))
    for _ in range(2):
        with pytest.raises(fg.errors.InvalidArgumentError, match=r"indices\[0\] = 7 is not in \[0, 3\)"):
            f(X, fg.constant([7]))
        np.testing.assert_array_equal(f(X, fg.constant([2])), [3.0])


@pytest.mark.parametrize("keyword_only", [False, True])
def test_defaults_that_an_input_signature_leaves_out_may_be_tensors(keyword_only: bool) -> None:
    """Tensors, arrays and composites, also before what *args takes."""
    ragged = fg.ragged.constant([[1.0], [2.0, 3.0]])
    array, tensor = np.float32([3.0, 4.0]), fg.constant([1.0, 2.0])

    def f(x: Any, t: Any = tensor, a: Any = array, r: Any = ragged) -> Any:
        return x + t + a + fg.reduce_sum(r, axis=1)

    def g(x: Any, *more: Any, t: Any = tensor, a: Any = array, r: Any = ragged) -> Any:
        return f(x, t, a, r) + fg.reduce_sum(more[0])

    x = fg.constant([10.0, 20.0])
    spec = fg.TensorSpec([None], fg.float32)
    if keyword_only:
        made = fg.function(g, input_signature=[spec, spec])
        np.testing.assert_array_equal(made(x, [1.0, 2.0, 3.0]), [21.0, 37.0])
        np.testing.assert_array_equal(made(x, [1.0]), [16.0, 32.0])
    else:
        made = fg.function(f, input_signature=[spec])
        np.testing.assert_array_equal(made(x), [15.0, 31.0])
        np.testing.assert_array_equal(made(x[:1]), [15.0, 21.0])
    assert made.experimental_get_tracing_count() == 1


def test_no_python_finds_a_call_with_an_iterator(compiled):
    """It is found by what its dataset's elements are like: another pass is the same kind of argument."""
    dataset = fg.data.Dataset.range(20)
    function = fg.function(lambda iterator: iterator.get_next() * 2)
    passes = [iter(dataset), iter(dataset)]
    warm(function, passes[0])
    assert "Function._call_slow" not in entered(lambda: function(passes[0]))
    assert int(function(passes[0])) == 8
    assert int(function(passes[1])) == 0  # its handle is made by the slow way
    assert "Function._call_slow" not in entered(lambda: function(passes[1]))
    assert int(function(passes[1])) == 4 and int(function(passes[0])) == 10
    assert int(function(iter(fg.data.Dataset.range(5, 9)))) == 10
    assert function.experimental_get_tracing_count() == 1
    assert function(iter(fg.data.Dataset.from_tensors([0.5]))).numpy().tolist() == [1.0]  # of another kind
    assert function.experimental_get_tracing_count() == 2
    passes.clear()
    gc.collect()
    assert int(function(iter(dataset))) == 0


@pytest.mark.parametrize("form", ["tensor", "array", "keyword", "inside"])
def test_calls_of_many_sizes_are_found_by_them(compiled, form):
    spec = fg.TensorSpec([None, 2])
    signature = [[spec]] if form == "inside" else [spec]
    function = fg.function(lambda x: fg.reduce_sum(x[0] if form == "inside" else x), input_signature=signature)

    def call(n):
        x = np.ones([n, 2], np.float32) if form == "array" else fg.ones([n, 2])
        return function(x=x) if form == "keyword" else function([x] if form == "inside" else x)

    for _ in range(3):
        assert [int(call(n)) for n in range(90)] == [2 * n for n in range(90)]
    assert "Function._call_slow" not in entered(lambda: [call(n) for n in (3, 88, 41, 0, 3)])
    fg.config.optimizer.set_experimental_options({})  # what was found before is void
    assert [int(call(n)) for n in range(90)] == [2 * n for n in range(90)]
    with fg.GradientTape() as tape:
        x = fg.ones([57, 2])
        tape.watch(x)
        y = function([x] if form == "inside" else x)
    assert tape.gradient(y, x).shape == [57, 2]


@pytest.mark.parametrize(
    "f",
    [
        lambda x: {"b": x * 2.0, "a": (x, None)},
        lambda x: fg.data.experimental.Optional.from_value({"b": x * 2.0, "a": x}),
        lambda x: [fg.RaggedTensor.from_row_splits(x * 2.0, [0, 1, 3]), x],
        lambda x: (fg.IndexedSlices(x, fg.constant([0, 1, 2])), {"n": None}),
    ],
    ids=["dict", "optional", "ragged", "slices"],
)
def test_a_warm_call_gives_structures_as_the_first_did(compiled, f):
    function = fg.function(f)
    first = function(X)
    again = warm(function, X)
    assert "Function._call_slow" not in entered(lambda: function(X))
    fg.nest.assert_same_structure(first, again, expand_composites=True)
    for a, b in zip(fg.nest.flatten(first, True), fg.nest.flatten(again, True), strict=True):
        assert a is b is None or np.array_equal(a, b)


@pytest.mark.parametrize(
    "made",
    [
        lambda x, y: (x, {"a": y}),
        lambda x, y: (x, (y,)),
        lambda x, y: [[x], y],
        lambda x, y: ((), (x, y)),
        lambda x, y: ((x, y),),
        lambda x, y: (None, [x, y]),
        lambda x, y: {"a": x, "b": (y,)},
    ],
)
def test_quick_calls_give_the_structure_that_the_first_ones_give(compiled, made):
    """Once its kernels are there, a call packs its results in C; as many parts as leaves is no flat structure."""
    call = fg.function(lambda x: made(x * 2, x + 1))
    x = fg.constant(3)
    wanted = made(6, 4)
    for _ in range(5):
        found = fg.nest.map_structure(lambda leaf: leaf if leaf is None else int(leaf), call(x))
        fg.nest.assert_same_structure(found, wanted)
        assert found == wanted


@pytest.mark.parametrize("device", ["CPU", b"CPU", "GPU"])
def test_of_functions_of_one_api_the_one_for_the_cpu_is_called(device: Any) -> None:
    def called(x: Any) -> Any:
        default = fg.function(lambda x: x * 2.0, experimental_attributes={"api_implements": "scaling"})
        chosen = {"api_implements": "scaling", "api_preferred_device": device}
        for_device = fg.function(lambda x: x * 100.0, experimental_attributes=chosen)
        y = default(x)
        for_device.get_concrete_function(x).add_to_graph()
        return y

    expected = 2.0 if device == "GPU" else 100.0
    x = fg.constant(1.5)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = fg.function(called)(x)
    assert float(y) == expected * 1.5
    assert float(tape.gradient(y, x)) == expected
    assert float(fg.function(lambda x: fg.function(called)(x))(x)) == expected * 1.5


def test_functions_of_one_api_that_take_other_things_are_called_as_written() -> None:
    @fg.function
    def called(x: Any) -> Any:
        default = fg.function(lambda x: x * 2.0, experimental_attributes={"api_implements": "scaling"})
        chosen = {"api_implements": "scaling", "api_preferred_device": "CPU"}
        for_cpu = fg.function(lambda x: fg.cast(x, fg.float64), experimental_attributes=chosen)
        y = default(x)
        for_cpu.get_concrete_function(x).add_to_graph()
        return y

    assert float(called(fg.constant(1.5))) == 3.0
