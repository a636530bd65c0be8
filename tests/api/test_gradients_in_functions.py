"""The same tape in a trace: gradients inside Functions, through Functions, and of what Functions read."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import testing
from fastgraph.core.base import flags
from fastgraph.graph.passes import optimize


def derivative(f, x, order):
    if order == 0:
        return f(x)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = derivative(f, x, order - 1)
    return tape.gradient(y, x)


def test_a_variable_as_argument_is_watched_inside():
    @fg.function
    def compute_gradient(x):
        with fg.GradientTape() as tape:
            y = x * x * x
        return tape.gradient(y, x)

    x = fg.Variable(3.0)
    assert str(compute_gradient(x).numpy()) == "27.0"
    x.assign(2.0)
    assert compute_gradient(x).numpy() == 12.0


@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_orders_inside_through_and_across_a_function(order):
    def f(x):
        return x * x * x * x + fg.exp(2.0 * x)

    staged = fg.function(f)
    x = fg.constant(0.5, fg.float64)
    expected = float(derivative(f, x, order))
    assert float(derivative(staged, x, order)) == pytest.approx(expected, rel=1e-12)
    assert float(fg.function(lambda x: derivative(f, x, order))(x)) == pytest.approx(expected, rel=1e-12)
    assert float(fg.function(lambda x: derivative(staged, x, order))(x)) == pytest.approx(expected, rel=1e-12)


def test_captured_variables_and_tensors_get_gradients():
    v, w, c = fg.Variable(2.0), fg.Variable(3.0, trainable=False), fg.constant(5.0)

    @fg.function
    def f(x):
        return x * v * w * c

    x = fg.constant(7.0)
    with fg.GradientTape() as tape:
        tape.watch([x, c])
        y = f(x)
    assert tape.watched_variables() and tape.watched_variables()[0] is v
    dx, dv, dw, dc = tape.gradient(y, [x, v, w, c])
    assert (dx.numpy(), dv.numpy(), dw, dc.numpy()) == (30.0, 105.0, None, 42.0)


def test_a_persistent_tape_over_a_function_keeps_the_old_values():
    v = fg.Variable([2.0, 3.0])

    @fg.function
    def f():
        return v * v

    with fg.GradientTape(persistent=True) as tape:
        y = f()
    assert tape.gradient(y, v).numpy().tolist() == [4.0, 6.0]
    v.assign([10.0, 10.0])
    assert tape.gradient(y, v).numpy().tolist() == [4.0, 6.0]


def test_assigns_inside_do_not_change_what_was_read_before():
    v = fg.Variable(2.0)

    @fg.function
    def f(x):
        with fg.GradientTape(persistent=True) as tape:
            y = v * v * x
            v.assign(10.0)
            z = v * x
        v.assign_add(1.0)
        return tape.gradient(y, v), tape.gradient(z, v), tape.gradient([y, z], v), v + 0.0

    assert [float(t) for t in f(fg.constant(3.0))] == [12.0, 3.0, 15.0, 11.0]
    assert float(v) == 11.0


def test_a_training_step_is_one_graph():
    x = np.random.default_rng(0).normal(size=(16, 3)).astype(np.float32)
    y = x @ np.float32([[1.0], [-2.0], [0.5]]) + 3.0

    def make():
        return fg.Variable(np.zeros((3, 1), np.float32)), fg.Variable(np.zeros(1, np.float32))

    def step(w, b, x, y):
        with fg.GradientTape() as tape:
            error = fg.matmul(x, w) + b - y
            loss = fg.reduce_mean(error * error)
        for v, dv in zip((w, b), tape.gradient(loss, [w, b]), strict=True):
            v.assign_sub(0.1 * dv)
        return loss

    eager, staged = make(), make()
    compiled = fg.function(lambda x, y: step(*staged, x, y))
    for _ in range(20):
        a = step(*eager, fg.constant(x), fg.constant(y))
        b = compiled(fg.constant(x), fg.constant(y))
    testing.assert_close(b, a, rtol=1e-4)
    testing.assert_close(list(staged), list(eager), rtol=1e-4)
    assert float(b) < 1.0


def test_unknown_batch_and_a_bias():
    w, b = fg.Variable([[1.0, 2.0], [3.0, 4.0]]), fg.Variable([1.0, -1.0])

    @fg.function(input_signature=[fg.TensorSpec([None, 2], fg.float32)])
    def gradients(x):
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.tanh(fg.matmul(x, w) + b) * x
        return tape.gradient(y, [x, w, b])

    def eagerly(x):
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.tanh(fg.matmul(x, w) + b) * x
        return tape.gradient(y, [x, w, b])

    for n in (0, 1, 2, 5):
        x = fg.constant(np.random.default_rng(n).normal(size=(n, 2)).astype(np.float32))
        testing.assert_close(gradients(x), eagerly(x), rtol=1e-5, message=f"batch of {n}")


def test_structures_and_unconnected_inside():
    v, c = fg.Variable(2.0), fg.Variable(1.0)

    @fg.function
    def f(x):
        with fg.GradientTape(persistent=True) as tape:
            y = v * v * x
        zero = tape.gradient(y, {"v": v, "c": c}, unconnected_gradients="zero")
        scaled = tape.gradient([y, v * 1.0], v, output_gradients=[2.0, None])
        assert tape.gradient(y, c) is None
        return zero, scaled

    zero, scaled = f(fg.constant(3.0))
    assert zero["v"].numpy() == 12.0 and zero["c"].numpy() == 0.0 and scaled.numpy() == 24.0


def test_custom_gradient_inside_and_through():
    @fg.custom_gradient
    def log1pexp(x):
        e = fg.exp(x)

        def grad(upstream):
            return upstream * (1 - 1 / (1 + e))

        return fg.math.log(1 + e), grad

    staged = fg.function(log1pexp)
    inside = fg.function(lambda x: derivative(log1pexp, x, 1))
    for x, value in ((0.0, 0.5), (100.0, 1.0)):
        assert inside(fg.constant(x)).numpy() == value
        assert derivative(staged, fg.constant(x), 1).numpy() == value
    naive = fg.function(lambda x: derivative(lambda x: fg.math.log(1 + fg.exp(x)), x, 1))
    assert np.isnan(naive(fg.constant(100.0)).numpy())
    assert derivative(staged, fg.constant(0.0), 2).numpy() == pytest.approx(0.25)


def test_custom_gradient_with_variables_inside():
    w = fg.Variable(5.0)

    @fg.custom_gradient
    def f(x):
        def grad(dy, variables=None):
            return dy * 3.0, [dy * 7.0 for _ in variables]

        return x * w, grad

    @fg.function
    def inside(x):
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, [x, w])

    assert [float(g) for g in inside(fg.constant(2.0))] == [3.0, 7.0]
    staged = fg.function(f)
    x = fg.constant(2.0)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = staged(x)
    assert [float(g) for g in tape.gradient(y, [x, w])] == [3.0, 7.0]


def test_gradient_through_cond_and_while_loop():
    @fg.function
    def f(x):
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.cond(fg.reduce_sum(x) > 0, lambda: x * x, lambda: x * x * x)
            _, z = fg.while_loop(lambda i, z: i < 3, lambda i, z: (i + 1, z * x), (fg.constant(0), y))
        return tape.gradient(z, x)

    np.testing.assert_allclose(f(fg.constant([1.0, 2.0])).numpy(), [5.0, 80.0])
    np.testing.assert_allclose(f(fg.constant([-2.0, 1.0])).numpy(), [6 * -32.0, 6.0])


def test_indexed_slices_through_arguments_cond_and_tape():
    v = fg.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])

    @fg.function
    def sparse(i):
        with fg.GradientTape() as tape:
            y = fg.reduce_sum(fg.gather(v, i))
        return tape.gradient(y, v)

    got = sparse(fg.constant([1, 1]))
    assert isinstance(got, fg.IndexedSlices)
    assert fg.convert_to_tensor(got).numpy().tolist() == [[0.0, 0.0], [2.0, 2.0], [0.0, 0.0]]

    @fg.function
    def dense(s, flag):
        chosen = fg.cond(flag, lambda: s, lambda: -s)
        assert isinstance(chosen, fg.IndexedSlices)
        return fg.convert_to_tensor(chosen) * 2.0

    assert dense(got, fg.constant(True)).numpy().tolist() == [[0.0, 0.0], [4.0, 4.0], [0.0, 0.0]]
    assert dense(got, fg.constant(False)).numpy().tolist() == [[0.0, 0.0], [-4.0, -4.0], [0.0, 0.0]]

    values = fg.constant([[1.0, 1.0], [2.0, 2.0]])
    with fg.GradientTape() as tape:
        tape.watch(values)
        y = dense(fg.IndexedSlices(values, fg.constant([2, 0]), fg.constant([3, 2])), fg.constant(True))
    assert tape.gradient(y, values).numpy().tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_assign_returns_what_reads_as_the_variable():
    count = fg.Variable(0)

    @fg.function
    def increase():
        return count.assign_add(1)

    assert [int(increase()) for _ in range(3)] == [1, 2, 3]
    assert str(increase()) == "tf.Tensor(4, shape=(), dtype=int32)"

    @fg.function
    def in_order(x):
        count.assign(5)
        a = count + 0
        count.assign_add(x)
        b = count.value()
        count.assign_sub(1)
        return a, b, count

    assert [int(t) for t in in_order(3)] == [5, 8, 7] and int(count) == 7


external_variable = None


def test_a_freed_variable_fails():
    global external_variable
    external_variable = fg.Variable(3)

    @fg.function
    def f(x):
        return x * external_variable

    assert str(f(4)) == "tf.Tensor(12, shape=(), dtype=int32)"
    external_variable = fg.Variable(5)  # the traced graph refers to the first one, weakly
    gc.collect()
    with pytest.raises(fg.errors.FailedPreconditionError, match=r"^Error while reading resource variable .*Variable"):
        f(4)


def test_an_eager_tape_does_not_note_what_is_traced():
    @fg.function
    def f(x):
        for _ in range(10):
            x = x * 2.0
        return x

    x = fg.constant(1.0)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.n_operations == 1
    assert tape.gradient(y, x).numpy() == 1024.0


def test_compare_modes():
    def f(x, y):
        return {"a": fg.tanh(x) * y, "b": fg.reduce_sum(fg.matmul(x, y))}

    x, y = np.random.default_rng(0).normal(size=(2, 3, 3)).astype(np.float32)
    testing.compare_modes(f, x, y)
    calls = []

    def differs(x):
        calls.append(1)
        return x * float(len(calls))

    with pytest.raises(AssertionError, match="as a Function"):
        testing.compare_modes(differs, x)


@pytest.mark.parametrize("tier", ["first", "last"])
def test_gradients_of_loops_that_keep_values_of_unknown_rank(tier):
    def squared(x, n):
        for _ in fg.range(n):
            x = x * fg.sin(x)
        return x

    def longer(x, n):
        for _ in fg.range(n):
            fg.autograph.experimental.set_loop_options(shape_invariants=[(x, fg.TensorShape(None))])
            x = fg.expand_dims(fg.sin(x) * x, 0)
        return x

    def derivatives(function, x, n):
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as inner:
                inner.watch(x)
                y = fg.reduce_sum(function(x, n) ** 2)
            first = inner.gradient(y, x)
        return [np.asarray(first), np.asarray(outer.gradient(first, x))]

    specs = [fg.TensorSpec(None, fg.float32), fg.TensorSpec([], fg.int32)]
    with flags.override(tier=tier, worker=False):
        for function in (squared, longer):
            staged = fg.function(function, input_signature=specs)
            for x in (fg.constant([[0.5, 1.2]]), fg.constant(0.7), fg.ones([2, 1, 3])):
                for n in (0, 3):
                    got, wanted = (derivatives(each, x, fg.constant(n)) for each in (staged, function))
                    np.testing.assert_allclose(got[0], wanted[0], rtol=1e-5)
                    np.testing.assert_allclose(got[1], wanted[1], rtol=1e-4)


def test_rows_without_elements_taken_by_a_number_of_indices_that_is_data():
    """How many rows were taken does not follow from the gradient's number of elements, which is 0."""

    @fg.function(input_signature=[fg.TensorSpec([None, 5, 0]), fg.TensorSpec([None], fg.int32)])
    def repeated(x, times):
        with fg.GradientTape() as tape:
            tape.watch(x)
            loss = fg.reduce_sum(fg.repeat(x, times, 0))
        return fg.convert_to_tensor(tape.gradient(loss, x))

    assert repeated(fg.zeros([3, 5, 0]), [2, 0, 4]).shape == (3, 5, 0)


@pytest.mark.slow
@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gradients_of_concat_and_scan_of_unknown_rank(tier, axis):
    def joined(x, y):
        return fg.concat([x, x * y, y], axis)

    def scanned(x, y):
        return fg.scan(lambda total, row: total * row, x) * y

    def derivatives(function, x, y):
        with fg.GradientTape() as outer:
            outer.watch([x, y])
            with fg.GradientTape() as inner:
                inner.watch([x, y])
                z = fg.reduce_sum(function(x, y) ** 3)
            first = inner.gradient(z, [x, y])
            second = fg.add_n([fg.reduce_sum(each**2) for each in first])
        return [*first, *outer.gradient(second, [x, y])]

    with flags.override(tier=tier, worker=False):
        for function in (joined, scanned):
            staged = fg.function(function, input_signature=[fg.TensorSpec(None, fg.float64)] * 2)
            for shape in ([2, 3], [3, 1, 2]):
                x = fg.constant(np.random.default_rng(1).normal(size=shape))
                got, wanted = (derivatives(each, x, fg.cos(x)) for each in (staged, function))
                for a, b in zip(got, wanted, strict=True):
                    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_a_constant_that_is_watched_reaches_what_is_traced_inside():

    @fg.function
    def gradients():
        x, start = fg.constant(2.0), fg.constant(2.0)
        inner = fg.function(lambda a: a * x)
        with fg.GradientTape(persistent=True) as outer:
            outer.watch([x, start])
            with fg.GradientTape(persistent=True) as tape:
                tape.watch([x, start])
                looped, same = start, x
                for _ in fg.range(3):
                    looped, same = looped * x, same * x
                branched = fg.cond(x > 0, lambda: x * x * x, lambda: x)
                called = inner(x)
            first = tape.gradient(branched, x)
        return (
            tape.gradient(looped, [x, start]),
            tape.gradient(same, x),
            outer.gradient(first, x),
            tape.gradient(called, x),
        )

    looped, same, second, called = gradients()
    assert [float(each) for each in looped] == [24, 8]
    assert [float(each) for each in (same, second, called)] == [32, 12, 4]

    @fg.function
    def tangent():
        x = fg.constant(2.0)
        with fg.autodiff.ForwardAccumulator(x, 1.0) as forward:
            y = fg.cond(x > 0, lambda: x * x, lambda: x)
        return forward.jvp(y)

    assert float(tangent()) == 4


def test_a_function_that_was_traced_before_its_constant_was_watched():
    @fg.function
    def gradient(twice):
        x = fg.constant(2.0)
        inner = fg.function(lambda a: fg.cond(a > 0, lambda: a * x, lambda: x))
        y = inner(x)
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = inner(x)
            if twice:
                y = inner(y)
        return tape.gradient(y, x)

    assert float(gradient(False)) == 4 and float(gradient(True)) == 12


def _looped(x, y):
    return fg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x), (0, y))[1]


def _branched(x, y):
    return fg.cond(y > 0, lambda: fg.cond(y > 1, lambda: x * x * x, lambda: x), lambda: y)


def _called(x, y):
    return fg.function(lambda a: a * x * x)(y)


def _all(x, y):
    inner = fg.function(lambda a: fg.cond(a > 0, lambda: _looped(x, a) * x, lambda: x))
    return fg.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, inner(y)), (0, y))[1]


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("eager", [False, True])
def test_gradients_by_constants_that_only_graphs_inside_use(tier, eager):
    """By tf.gradients and by tapes, of both orders: 2 ** k has the slopes k 2 ** (k - 1) and k (k - 1) 2 ** (k - 2)."""
    makes = {_looped: 3, _branched: 3, _called: 2, _all: 8}
    outer = fg.constant(2.0)

    @fg.function
    def asked(make):
        x, y = outer if eager else fg.constant(2.0), fg.constant(1.5)
        z = make(x, y)
        first = fg.gradients(z, x)[0]
        return first, fg.gradients(first, x)[0], fg.gradients(make(x, y), [y, x], stop_gradients=[x])[0]

    @fg.function
    def taped(make):
        x, y = outer if eager else fg.constant(2.0), fg.constant(1.5)
        with fg.GradientTape(persistent=True) as second, fg.GradientTape() as tape:
            second.watch([x, y])
            tape.watch(x)
            z = make(x, y)
        with second:
            first = tape.gradient(z, x)
        return first, second.gradient(first, x), second.gradient(z, y, unconnected_gradients="zero")

    with flags.override(tier=tier, worker=False):
        for make, k in makes.items():
            factor = 1.0 if make is _branched else 1.5
            slope = 0.0 if make is _branched else 2.0**k
            for gradients in (asked, taped):
                first, second, of_y = gradients(make)
                assert float(first) == factor * k * 2 ** (k - 1), make
                assert float(second) == factor * k * (k - 1) * 2 ** (k - 2), make
                assert (0.0 if of_y is None else float(of_y)) == slope, make


def test_constants_from_around_are_constants_inside_when_compiled():
    """In the graph as traced a branch or loop takes them, as in TensorFlow; its kernels have them written in."""

    @fg.function
    def looped(y):
        x, rows = fg.constant(2.0), fg.constant([1.0, 2.0])
        return fg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * x + fg.reduce_sum(rows)), (0, y))[1]

    graph = looped.get_concrete_function(fg.TensorSpec([])).graph.ir
    (traced,) = [node for node in graph.nodes if node.op.name == "while"]
    (node,) = [node for node in optimize.optimise(graph).nodes if node.op.name == "while"]
    assert len(traced.inputs) == 4 and len(node.inputs) == 2
    assert "sum" not in [inner.op.name for inner in node.attrs["body_graph"].nodes]
    assert float(looped(1.0)) == 29


def test_gradients_of_complex_ys_want_their_grad_ys():
    v = fg.constant([1.0 + 2j, 3.0])
    with pytest.raises(
        TypeError, match=r"Gradients of complex tensors \(.*\) must set grad_ys \(y.dtype = complex128\)"
    ):
        fg.function(lambda: fg.gradients(v * v, [v]))()
    (got,) = fg.function(lambda: fg.gradients(v * v, [v], grad_ys=[fg.ones_like(v)]))()
    np.testing.assert_allclose(got, [2 - 4j, 6])


@pytest.mark.parametrize("shape", [(None, None), (2, None), (None, 3)])
@pytest.mark.parametrize("together", [True, False])
def test_batch_jacobian_of_elements_of_unknown_shape(shape, together):
    @fg.function(input_signature=[fg.TensorSpec(shape), fg.TensorSpec([None, None])])
    def jacobian(x, w):
        with fg.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = fg.matmul(x * x, w)
            z = fg.matmul(fg.stop_gradient(x), w)
        return [tape.batch_jacobian(t, x, experimental_use_pfor=together) for t in (y, z)]

    x, w = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    for n in (4, 1):
        got, nothing = jacobian(fg.constant(x, fg.float32), fg.constant(w[:, :n], fg.float32))
        np.testing.assert_allclose(got, 2 * x[:, None, :] * w[:, :n].T)
        np.testing.assert_array_equal(nothing, np.zeros((2, n, 3)))


def test_what_a_loop_stacks_for_its_gradient_has_room_whatever_it_did_before():
    @fg.function
    def powers(n, x):
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in fg.range(n):
                y = fg.sin(y) * x
        return tape.gradient(y, x)

    given = np.linspace(0.5, 1.5, 1000)
    with flags.override(tier="last", worker=False):
        for n in (3, 0, 30, 3, 50, 1, 1, 12):
            y, slope = given, np.ones(1000)
            for _ in range(n):
                y, slope = np.sin(y) * given, np.cos(y) * slope * given + np.sin(y)
            testing.assert_close(powers(fg.constant(n), fg.constant(given)), fg.constant(slope), rtol=1e-9)
