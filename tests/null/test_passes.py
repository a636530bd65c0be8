"""prune, inline, fold, cse and optimise: the exact graph, and equal values apart from it."""

from __future__ import annotations

import numpy as np
import pytest
from graphs import Build, expression, ops, run

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.graph import ir
from fastgraph.graph.interpreter import deref, interpret
from fastgraph.graph.passes import optimize


def graph_of(function, *specs):
    return fg.function(function).get_concrete_function(*specs).graph.ir


F = fg.TensorSpec([], fg.float32)
V3 = fg.TensorSpec([3], fg.float32)


# prune


def test_prune_is_non_strict():
    b = Build()
    x = b.input(shape=(1,))
    b.gather(x, b.const([1], "int32"), axis=0, batch_dims=0)  # fails if it is run
    graph = b.done(b.exp(x))
    assert ops(optimize.prune(graph)) == ["placeholder", "exp"]


def test_prune_keeps_effects_and_parameters():
    v = fg.Variable(1.0)

    def f(x, unused):
        v.read_value()
        v.assign(x * 2.0)
        fg.exp(x)
        return x

    new = optimize.prune(graph_of(f, F, F))
    assert [n for n in ops(new) if n != "placeholder"] == ["const", "multiply", "assign_variable", "identity"]
    assert len(new.inputs) == 2 and len(new.captures) == 1


def test_prune_goes_into_subgraphs():
    def f(x):
        def branch():
            fg.exp(x)
            return x * 2.0

        return fg.cond(x > 0.0, branch, lambda: x)

    new = optimize.prune(graph_of(f, F))
    cond = next(n for n in new.nodes if n.op.name == "cond")
    assert "exp" not in ops(cond.attrs["then_graph"])


def test_prune_goes_into_subgraphs_of_subgraphs():
    """Also where nothing else becomes smaller on the way there."""

    def f(x):
        def branch():
            fg.exp(x)
            return x * 2.0

        def body(i, y):
            return i + 1, y + fg.cond(x > 0.0, lambda: fg.cond(x > 1.0, branch, lambda: x), lambda: x)

        return fg.while_loop(lambda i, y: i < 3, body, [0, x])

    def all_ops(graph):
        inner = [attr for node in graph.nodes for attr in node.attrs.values() if hasattr(attr, "nodes")]
        return {*ops(graph), *[name for each in inner for name in all_ops(each)]}

    graph = graph_of(f, F)
    assert "exp" in all_ops(graph) and "exp" not in all_ops(optimize.prune(graph))


# inline


def test_inline_leaves_no_call():
    @fg.function
    def inner(x):
        return fg.exp(x) + 1.0

    def f(x):
        return inner(inner(x))

    graph = graph_of(f, V3)
    assert ops(graph).count("call") == 2
    new = ir.verify(optimize.inline(graph))
    assert "call" not in ops(new)
    x = np.arange(3, dtype=np.float32)
    np.testing.assert_array_equal(run(new, x)[0], run(graph, x)[0])


# fold


def test_fold_constants():
    b = Build()
    x = b.input()
    graph = b.done(b.add(x, b.exp(b.multiply(b.const(2.0), b.const(0.0)))))
    assert expression(optimize.fold(graph).outputs[0]) == "add(x, 1.0)"


def test_fold_what_follows_from_static_shapes():
    def f(x):
        return fg.cast(fg.shape(x)[0], fg.float32) * x

    new = optimize.prune(optimize.fold(graph_of(f, V3)))
    assert expression(new.outputs[0]) == "identity(multiply(3.0, x))"
    dynamic = optimize.prune(optimize.fold(graph_of(f, fg.TensorSpec([None], fg.float32))))
    assert "shape" in ops(dynamic)


def test_fold_leaves_what_fails_and_what_grows():
    b = Build()
    bad = b.gather(b.const([1.0]), b.const([5], "int32"), axis=0, batch_dims=0)
    big = b.broadcast_to(b.const(1.0), shape=(100_000,))
    new = optimize.fold(b.done(bad, big))
    assert "gather" in ops(new) and "broadcast_to" in ops(new)


def test_captured_tensors_are_constants_for_the_optimiser():
    c = fg.constant([1.0, 2.0, 3.0])

    def f(x):
        return x + c * 2.0

    graph = graph_of(f, V3)
    assert len(graph.captures) == 1
    new = optimize.optimise(graph)
    assert ops(new) == ["placeholder", "placeholder", "const", "add"]
    assert len(new.captures) == 1  # the calling convention stays


# cse


def test_equal_nodes_are_one_and_keep_all_lines():
    def f(x):
        a = fg.exp(x)
        b = fg.exp(x)
        return a * b

    new = optimize.cse(graph_of(f, V3))
    assert ops(new).count("exp") == 1
    lines = next(n for n in new.nodes if n.op.name == "exp").source
    assert len({line.line for line in lines if line.function == "f"}) == 2


def test_attributes_tell_nodes_apart():
    b = Build()
    x = b.input(shape=(2, 2))
    graph = b.done(b.sum(x, axes=(0,), keepdims=False), b.sum(x, axes=(1,), keepdims=False), b.const(0.0), b.const(-0.0),
                   b.const(1), b.const(1, "int32"), b.const(1))  # fmt: skip
    new = optimize.cse(graph)
    assert ops(new).count("sum") == 2 and ops(new).count("const") == 4


def test_reads_merge_until_a_write():
    v = fg.Variable(1.0)

    def f(x):
        a = v.read_value() + v.read_value()
        v.assign_add(x)
        return a, v.read_value(), v.read_value()

    new = optimize.cse(graph_of(f, F))
    assert ops(new).count("read_variable") == 2


def test_a_read_after_an_assign_is_what_was_assigned():
    v = fg.Variable(1.0)

    def f(x):
        v.assign(x * 2.0)
        return v.read_value() + 1.0

    graph = graph_of(f, F)
    new = optimize.optimise(graph)
    assert "read_variable" not in ops(new) and "assign_variable" in ops(new)
    assert float(fg.function(f)(fg.constant(3.0))) == 7.0 and v.numpy() == 6.0


def test_writes_and_draws_are_never_merged():
    v = fg.Variable(1.0)

    def f(x):
        v.assign_add(x)
        v.assign_add(x)
        return v.read_value()

    assert ops(optimize.optimise(graph_of(f, F))).count("assign_add_variable") == 2


def test_a_cond_that_writes_ends_what_was_read():
    v = fg.Variable(1.0)

    def f(p):
        a = v.read_value()
        fg.cond(p, lambda: v.assign(5.0), lambda: v.read_value())
        return a, v.read_value()

    new = optimize.optimise(graph_of(f, fg.TensorSpec([], fg.bool)))
    assert [n for n in ops(new) if n in ("read_variable", "cond")] == ["read_variable", "cond", "read_variable"]


def test_cond_of_a_constant_is_its_branch():
    def f(x):
        return fg.cond(fg.constant(True), lambda: fg.exp(x), lambda: fg.tanh(x))

    assert expression(optimize.optimise(graph_of(f, F)).outputs[0]) == "exp(x)"


# optimise


def program(x, y):
    v = x * 1.0 + fg.exp(y - y * 0.0)
    w = fg.cond(fg.reduce_sum(x) > 0.0, lambda: v * v, lambda: fg.where(x > y, v, -v))
    n = fg.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, fg.tanh(s + w)), (0, w))[1]
    return n, fg.concat([v, w], 0), fg.reduce_mean(n * n)


@pytest.mark.parametrize("chosen", [{"inline"}, {"inline", "prune"}, {"inline", "fold"}, {"inline", "algebra"},
                                    {"inline", "cse"}, set(flags.PASSES)])  # fmt: skip
def test_each_pass_alone_and_all_keep_the_values(chosen):
    graph = graph_of(program, V3, V3)
    rng = np.random.default_rng(0)
    for _ in range(3):
        given = [fg.constant(rng.normal(size=3).astype(np.float32)) for _ in range(2)]
        expected = program(*given)
        with flags.override(passes=frozenset(chosen), verify=True):
            new = optimize.optimise(graph)
        ir.verify(new)
        for got, want in zip(interpret(new, [*given, *deref([c for c, _ in new.captures])]), expected, strict=True):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-6)


def test_passes_leave_their_argument_alone():
    graph = graph_of(program, V3, V3)
    before = str(graph)
    for each in (
        optimize.prune,
        optimize.inline,
        optimize.fold,
        optimize.cse,
        optimize.algebra,
        optimize.simplify,
        optimize.optimise,
    ):
        each(graph)
        assert str(graph) == before


def test_optimise_is_done_after_once():
    new = optimize.optimise(graph_of(program, V3, V3))
    again = optimize.optimise(new)
    assert ops(again) == ops(new)


def test_optimise_observed():
    seen = []
    optimize.optimise(graph_of(program, V3, V3), lambda name, graph: seen.append(name))
    assert seen == [each.__name__ for each in optimize.PASSES]


# prune, in branches and loops


def flow(graph, op):
    return next(n for n in graph.nodes if n.op.name == op)


def test_unused_results_and_operands_of_a_cond_go():
    def f(p, x, y):
        a, _ = fg.cond(p, lambda: (x * 2.0, fg.exp(y)), lambda: (-x, fg.tanh(y)))
        return a

    spec = [fg.TensorSpec([], fg.bool), F, F]
    new = ir.verify(optimize.prune(graph_of(f, *spec)))
    node = flow(new, "cond")
    assert len(node.outputs) == 1 and len(node.inputs) == 2
    assert "exp" not in ops(node.attrs["then_graph"]) and "tanh" not in ops(node.attrs["else_graph"])
    assert run(new, True, np.float32(3), np.float32(1)) == [6.0] and run(new, False, np.float32(3), np.float32(1)) == [
        -3.0
    ]


def test_a_cond_without_used_results_goes_unless_it_writes():
    v = fg.Variable(1.0)

    def f(p, x):
        fg.cond(p, lambda: fg.exp(x), lambda: x)
        fg.cond(p, lambda: v.assign(x * 2.0), lambda: v.read_value())
        return x

    new = ir.verify(optimize.prune(graph_of(f, fg.TensorSpec([], fg.bool), F)))
    assert ops(new).count("cond") == 1
    node = flow(new, "cond")
    assert node.outputs == () and "assign_variable" in ops(node.attrs["then_graph"])


def test_unused_loop_variables_go():
    def f(x, y):
        return fg.while_loop(
            lambda i, a, b, c: i < 4, lambda i, a, b, c: (i + 1, a + b, b * x, fg.exp(c) + y), (0, x, x, y)
        )[1]

    graph = graph_of(f, F, F)
    new = ir.verify(optimize.prune(graph))
    node = flow(new, "while")
    assert node.attrs["n_carried"] == 3 and len(node.outputs) == 3  # c is gone, b is needed by a
    assert "exp" not in ops(node.attrs["body_graph"])
    given = [np.float32(1.5), np.float32(2.0)]
    assert run(new, *given) == run(graph, *given)


def test_what_a_loop_stacks_or_takes_twice_is_merged():
    """x[t] * x[t] has two slices, saved for one operand of the product each; the gradient's loop takes both."""

    def f(x):
        with fg.GradientTape() as tape:
            tape.watch(x)
            total = fg.constant(0.0)
            for t in fg.range(3):
                total = 0.5 * total + fg.reduce_sum(x[t] * x[t])
        return total, tape.gradient(total, x)

    graph = graph_of(fg.autograph.to_graph(f), fg.TensorSpec([3, 2], fg.float32))
    new = ir.verify(optimize.optimise(graph))
    forward, backward = [node for node in new.nodes if node.op.name == "while"]
    assert [value.aval.shape for value in forward.outputs[2:]] == [(3, 2), (3,)]  # rows of x, their numbers
    assert len(set(backward.inputs)) == len(backward.inputs)
    body = ops(backward.attrs["body_graph"])
    assert (body.count("gather"), body.count("multiply"), body.count("strided_slice_add")) == (2, 2, 2)
    x = np.float32([[1, 2], [3, 4], [5, 6]])
    for one, other in zip(run(new, x), run(graph, x), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("assigned", [False, True])
def test_a_variable_that_a_loop_only_reads_is_not_stacked(assigned):
    w = fg.Variable(np.float32([[0.5, -1], [2, 0.25]]))

    def f(x):
        with fg.GradientTape() as tape:
            y = x
            for _ in fg.range(3):
                y = fg.tanh(y @ fg.exp(w))
                if assigned:
                    w.assign(w * 0.5)
        return tape.gradient(y, w)

    graph = graph_of(fg.autograph.to_graph(f), fg.TensorSpec([4, 2], fg.float32))
    new = ir.verify(optimize.optimise(graph))
    forward, backward = [node for node in new.nodes if node.op.name == "while"]
    stacks = [value.aval.shape for value in forward.outputs[forward.attrs["n_carried"] :]]
    assert ((3, 2, 2) in stacks) == assigned
    assert any(value.node.op.name in ("read_variable", "exp") for value in backward.inputs) != assigned
    x = fg.constant(np.float32([[1, 2], [3, 4], [5, 6], [0, 1]]))
    before = w.numpy()
    eager = f(x)
    w.assign(before)
    for tier in ("first", "last"):
        with flags.override(tier=tier):
            np.testing.assert_allclose(fg.function(f)(x), eager, rtol=1e-5)
        w.assign(before)


def test_a_parameter_of_a_loop_may_stand_behind_what_used_another():
    def f(x):
        a, b = x * 2.0, x * 2.0  # one value, when they are merged
        step = lambda i, s: (i + 1, (s + a) * fg.tanh(s) - b)
        return fg.while_loop(lambda i, s: i < 3, step, (0, x))[1]

    graph = graph_of(f, F)
    loop = flow(graph, "while")
    for each in (loop.attrs["body_graph"], loop.attrs["cond_graph"]):
        each.inputs[2:] = reversed(each.inputs[2:])
    loop.inputs = (*loop.inputs[:2], *reversed(loop.inputs[2:]))
    new = ir.verify(optimize.optimise(ir.verify(graph)))
    assert len(flow(new, "while").inputs) == 3
    assert run(new, np.float32(1.5)) == run(graph, np.float32(1.5))


def test_rows_of_different_values_stay_apart():
    def f(x):
        return fg.map_fn(lambda row: (row, row * 2.0, row), x, fn_output_signature=(fg.float32,) * 3)

    graph = graph_of(f, fg.TensorSpec([3, 2], fg.float32))
    new = ir.verify(optimize.optimise(graph))
    a, b, c = new.outputs
    assert a is c and a is not b and len(flow(new, "while").outputs) == 3
    x = np.float32([[1, 2], [3, 4], [5, 6]])
    for one, other in zip(run(new, x), run(graph, x), strict=True):
        assert np.array_equal(one, other)


def test_rows_saved_for_a_gradient_go_from_the_plain_call():
    f = fg.function(lambda x: fg.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, fg.tanh(s * x)), (0, x))[1])
    x = fg.constant(0.5)
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    tape.gradient(y, x)
    graph = f.get_concrete_function(x).graph.ir
    assert len(flow(graph, "while").outputs) > 2
    assert len(flow(optimize.optimise(graph), "while").outputs) == 2
    assert float(f(x)) == float(y)


@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_gradients_that_only_add_up_are_no_loops(shape):
    def f(x, n):
        with fg.GradientTape() as tape:
            tape.watch(x)
            rows = []
            for i in fg.range(n):
                rows.append(fg.sin(x) * x * fg.cast(i, fg.float32))
            total = fg.reduce_sum(fg.stack(rows))
        return tape.gradient(total, x)

    graph = graph_of(fg.autograph.to_graph(f), fg.TensorSpec(shape, fg.float32), fg.TensorSpec([], fg.int32))
    new = ir.verify(optimize.optimise(graph))
    (forward,) = [node for node in new.nodes if node.op.name == "while"]
    assert (None, 0) in [value.aval.shape for value in forward.outputs]  # which tell how many there are
    x = np.full(shape, 0.7, np.float32)
    for n in (0, 1, 7):
        np.testing.assert_allclose(run(new, x, np.int32(n))[0], run(graph, x, np.int32(n))[0], rtol=1e-5)


def test_what_a_loop_computes_of_values_that_stay_is_computed_before_it():
    def f(x, w):
        def step(i, s):
            return i + 1, fg.tanh(s @ fg.cast(fg.transpose(w) * 2.0, fg.float32) + fg.reduce_sum(fg.exp(s)))

        return fg.while_loop(lambda i, s: i < 3, step, (0, x))[1]

    def small(x, w):
        return fg.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + fg.exp(w)), (0, x))[1]

    x, w = fg.TensorSpec([4, 40]), fg.TensorSpec([40, 40])
    graph = optimize.optimise(graph_of(f, x, w))
    new = optimize.moved_out(graph)
    body = flow(new, "while").attrs["body_graph"]
    assert "transpose" in ops(new) and "transpose" not in ops(body) and "exp" in ops(body)
    same = optimize.optimise(graph_of(small, V3, V3))
    assert optimize.moved_out(same) is same
    inputs = [np.linspace(-1, 1, n).reshape(s).astype("f4") for n, s in ((160, (4, 40)), (1600, (40, 40)))]
    np.testing.assert_allclose(run(new, *inputs), run(graph, *inputs), rtol=1e-6)


def test_products_of_few_rows_take_a_matrix_that_stays_turned_before_the_loop():
    def loop(w_of, n=3):
        def f(x, w):
            def step(i, s, v):
                return i + 1, fg.tanh(fg.matmul(s, v, transpose_b=True)), w_of(v)

            return fg.while_loop(lambda i, s, v: i < n, step, (0, x, w), maximum_iterations=n)[1]

        return f

    def of(f, rows):
        return optimize.optimise(graph_of(f, fg.TensorSpec([rows, 40]), fg.TensorSpec([40, 40])))

    graph = of(loop(lambda v: v), 4)
    new = ir.verify(optimize.moved_out(graph))
    body = flow(new, "while").attrs["body_graph"]
    assert "transpose" in ops(new) and "transpose" not in ops(body)
    assert [node.attrs["transpose_b"] for node in body.nodes if node.op.name == "matmul"] == [False]
    inputs = [np.linspace(-1, 1, n).reshape(s).astype("f4") for n, s in ((160, (4, 40)), (1600, (40, 40)))]
    np.testing.assert_array_equal(run(new, *inputs), run(graph, *inputs))
    for f, rows in ((loop(lambda v: v * 0.5), 4), (loop(lambda v: v), 1), (loop(lambda v: v), 100)):
        same = optimize.moved_out(of(f, rows))
        assert "transpose" not in ops(same) + ops(flow(same, "while").attrs["body_graph"])


# components

V23 = fg.TensorSpec([2, 3], fg.float32)
APART = {
    "rows": lambda a, b, s: (lambda y: y[0] * y[-1])(fg.stack([a, b]) * 2.0 + s),
    "columns": lambda a, b, s: (lambda y: y[..., 0] * y[:, 1])(fg.exp(fg.stack([a, b], -1) * s[0, 0])),
    "unstacked": lambda a, b, s: fg.add_n(fg.unstack(fg.sin(fg.stack([a, b]) - s))),
    "one row for all": lambda a, b, s: (lambda y: y[0] * y[1])(fg.stack([a]) + s),
    "inside": lambda a, b, s: (lambda y: y[:, 0] * y[:, 1])(fg.stack([s, s * 3.0], 1) * a),
    "twice": lambda a, b, s: (fg.stack([fg.stack([a, b])[1] * 3.0, b]) * s)[0],
    "picked": lambda a, b, s: fg.where(s > 0, fg.stack([a, b]), s)[1],
}
WHOLE = {
    "a result": lambda a, b, s: (lambda y: (y[0], y))(fg.stack([a, b]) * 2.0 + s),
    "summed": lambda a, b, s: (lambda y: y[0] + fg.reduce_sum(y))(fg.stack([a, b]) * 2.0 + s),
    "both ways": lambda a, b, s: (lambda y: (y[0], y[:, 0]))(fg.stack([a, b]) * 2.0 + s),
    "one element": lambda a, b, s: (fg.stack([a, b]) * 2.0 + s)[0, 1],
}


@pytest.mark.parametrize("name", [*APART, *WHOLE])
def test_parts_of_stacks_are_computed_by_themselves(name, rng):
    f = {**APART, **WHOLE}[name]
    graph = graph_of(f, V3, V3, V23)
    text = str(graph)
    assert ("stack" in [n.op.name for n in optimize.optimise(graph).nodes]) == (name in WHOLE)
    assert str(graph) == text
    values = [fg.constant(rng.standard_normal(shape), fg.float32) for shape in ((3,), (3,), (2, 3))]
    with flags.override(tier="last"):
        got = fg.function(f)(*values)
    for each, expected in zip(fg.nest.flatten(got), fg.nest.flatten(f(*values)), strict=True):
        np.testing.assert_allclose(each, expected, rtol=1e-6)


def test_equations_that_are_stacked_are_one_kernel_without_choices():
    def f(i, s):
        k = fg.stack([10.0 * (s[1] - s[0]), s[0] * s[1]])
        m = s + 0.1 * k
        return i + 1, s + 0.1 * (k + fg.stack([m[1] - m[0], m[0] * m[1]]))

    loop = fg.function(lambda s: fg.while_loop(lambda i, _: i < 3, f, (0, s))[1])
    text = loop.get_concrete_function(fg.TensorSpec([2, 50])).explain().split("# program")[1]
    assert " if " not in text and text.count("kernel after") == 0


# ops of which one part is read


M16 = fg.TensorSpec([2, 16, 16], fg.float32)
C16 = fg.TensorSpec([2, 16, 16], fg.complex64)


def optimised(function, *specs):
    return ops(optimize.optimise(graph_of(function, *specs)))


def test_decompositions_of_which_one_part_is_read():
    assert "eigvalsh" in optimised(lambda x: fg.linalg.eigh(x)[0], M16)
    assert "singular_values" in optimised(lambda x: fg.linalg.svd(x)[0], M16)
    both = optimised(lambda x: fg.linalg.eigh(x), M16)
    assert "eigh" in both and "eigvalsh" not in both
    assert "svd" in optimised(lambda x: fg.linalg.svd(x)[1], M16)


def test_transforms_of_which_half_is_known(rng):
    def filtered(x, mask):
        return fg.math.real(fg.signal.ifft2d(fg.signal.fft2d(fg.cast(x, fg.complex64)) * mask))

    kinds = optimised(filtered, M16, C16)
    assert "rfft" in kinds and "irfft" in kinds and "fft" not in kinds
    both = optimised(lambda z: (fg.math.real(fg.signal.ifft(z)), fg.math.imag(fg.signal.ifft(z))), C16)
    assert both.count("fft") == 1 and "irfft" not in both


@pytest.mark.parametrize("shape", [(2, 16, 16), (3, 16, 15), (2, 15, 16)])
def test_values_of_transforms_of_which_half_is_known(rng, shape):
    x = rng.normal(size=shape)
    z = rng.normal(size=shape) + 1j * rng.normal(size=shape)
    for function, given, wanted in (
        (lambda v: fg.signal.fft2d(fg.cast(v, fg.complex128)), x, np.fft.fft2(x)),
        (lambda v: fg.signal.ifft3d(fg.cast(v, fg.complex128)), x, np.fft.ifftn(x)),
        (lambda v: fg.math.real(fg.signal.ifft2d(v)), z, np.fft.ifft2(z).real),
        (lambda v: fg.math.real(fg.signal.fft3d(v)), z, np.fft.fftn(z).real),
    ):
        np.testing.assert_allclose(fg.function(function)(fg.constant(given)), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_short_cosine_transforms_are_products(rng, kind):
    x = rng.normal(size=(3, 4, 8))

    def both(v):
        return fg.signal.dct(v, type=kind), fg.signal.idct(v, type=kind)

    kinds = optimised(both, fg.TensorSpec(x.shape, fg.float64))
    assert "dct" not in kinds and "matmul" in kinds
    assert "dct" in optimised(both, fg.TensorSpec([3, 200], fg.float64))
    for got, wanted in zip(fg.function(both)(fg.constant(x)), both(fg.constant(x)), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-12)
