"""cond, while_loop, case, switch_case as ops: values, structures, effects, gradients against eager Python, errors. Row 92."""

from __future__ import annotations

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.errors import InvalidArgumentError

MODES = ["eager", "graph"]


def staged(f, mode):
    return fg.function(f) if mode == "graph" else f


def leaves(result):
    return [np.asarray(t.numpy()).tolist() for t in fg.nest.flatten(result)]


# cond


@pytest.mark.parametrize("mode", MODES)
def test_cond_takes_one_branch(mode):
    f = staged(lambda x: fg.cond(x > 0, lambda: x * 2, lambda: 0), mode)
    assert [int(f(fg.constant(v))) for v in (3, -3, 0)] == [6, 0, 0]


@pytest.mark.parametrize("mode", MODES)
def test_cond_structures(mode):
    def f(p, x):
        return fg.cond(p, lambda: {"a": (x, [x + 1.0]), "b": None}, lambda: {"a": (-x, [x * 5.0]), "b": None})

    f = staged(f, mode)
    for p, expected in ((True, [2.0, 3.0]), (False, [-2.0, 10.0])):
        result = f(fg.constant(p), fg.constant(2.0))
        assert result["b"] is None and isinstance(result["a"], tuple)
        assert leaves(result["a"]) == expected


def test_cond_without_results():
    v = fg.Variable(0)

    @fg.function
    def f(p):
        assert fg.cond(p, lambda: (v.assign_add(1), None)[1], lambda: None) is None

    f(fg.constant(True))
    f(fg.constant(False))
    assert v.numpy() == 1


@pytest.mark.parametrize("mode", MODES)
def test_cond_effects_happen_in_the_branch_taken(mode):
    v = fg.Variable(1.0)

    def f(p, x):
        fg.cond(p, lambda: v.assign_add(x), lambda: v.assign(v * x))
        return v.read_value()

    f = staged(f, mode)
    assert float(f(fg.constant(True), fg.constant(3.0))) == 4.0
    assert float(f(fg.constant(False), fg.constant(3.0))) == 12.0


def test_the_branch_not_taken_does_not_fail():
    @fg.function
    def f(i):
        x = fg.constant([1.0, 2.0])
        return fg.cond(i < 2, lambda: fg.gather(x, i), lambda: 0.0)

    assert [float(f(fg.constant(i))) for i in (0, 1, 7)] == [1.0, 2.0, 0.0]


def test_cond_with_different_shapes():
    @fg.function
    def f(p, x):
        return fg.cond(p, lambda: x, lambda: fg.concat([x, x], 0))

    assert f(fg.constant(True), fg.ones([2])).shape == (2,) and f(fg.constant(False), fg.ones([2])).shape == (4,)
    out = f.get_concrete_function(fg.TensorSpec([], fg.bool), fg.TensorSpec([2], fg.float32)).structured_outputs
    assert str(out.shape) == "(None,)"


def test_nested_conds_and_captures():
    k = fg.constant(10.0)
    v = fg.Variable(100.0)

    @fg.function
    def f(x):
        y = x + 1.0
        return fg.cond(
            x > 0.0,
            lambda: fg.cond(x > 5.0, lambda: y * k, lambda: y + v),
            lambda: fg.cond(y > 0.0, lambda: y, lambda: -k),
        )

    assert [float(f(fg.constant(x))) for x in (9.0, 1.0, -0.5, -3.0)] == [100.0, 102.0, 0.5, -10.0]


@pytest.mark.parametrize(
    "f, kind, text",
    [
        (lambda p, x: fg.cond(p, x, x), TypeError, "'true_fn' must be callable"),
        (lambda p, x: fg.cond(True, lambda: x, lambda: x), TypeError, "pred must not be a Python bool"),
        (lambda p, x: fg.cond(p, lambda: x, lambda: 1), TypeError, "different types"),
        (lambda p, x: fg.cond(p, lambda: (x, x), lambda: x), TypeError, "same number, type, and overall structure"),
        (lambda p, x: fg.cond(p, lambda: None, lambda: x), ValueError, "Lengths of branch outputs of cond must match"),
        (lambda p, x: fg.cond(x[0], lambda: x, lambda: x), InvalidArgumentError, "expected bool"),
        (lambda p, x: fg.cond(x > 0.0, lambda: x, lambda: x), ValueError, "must be a scalar"),
    ],
)
def test_cond_errors(f, kind, text):
    with pytest.raises(kind, match=text):
        fg.function(f, autograph=False)(fg.constant(True), fg.constant([1.0, 2.0]))
    assert fg.executing_eagerly()


# case and switch_case


@pytest.mark.parametrize("mode", MODES)
def test_case(mode):
    def f(x):
        return fg.case([(x > 10, lambda: 1), (x > 5, lambda: 2)], default=lambda: 3)

    f = staged(f, mode)
    assert [int(f(fg.constant(x))) for x in (20, 7, 1)] == [1, 2, 3]


def test_case_without_strict_unpacks_what_is_alone():
    def seven():
        return [[fg.constant(7)]]

    yes, no = (fg.constant(True), seven), (fg.constant(False), seven)
    for pairs, default, depth in (
        ([yes], None, 2), ([yes], seven, 1), ([no], seven, 1), ([no, yes], seven, 0), ([no, yes], None, 1),
        ([no, no], seven, 0),
    ):  # fmt: skip
        for strict in (False, True):
            result, lists = fg.case(pairs, default=default, strict=strict), 0
            while isinstance(result, list):
                result, lists = result[0], lists + 1
            assert (lists, int(result)) == (2 if strict else depth, 7)
    assert fg.case([(fg.constant(True), lambda: (1, 2))], default=lambda: ()) == (1, 2)


@pytest.mark.parametrize("mode", MODES)
def test_switch_case(mode):
    f = staged(lambda i: fg.switch_case(i, [lambda: 10, lambda: 11], default=lambda: 99), mode)
    assert [int(f(fg.constant(i))) for i in (0, 1, 2, -1)] == [10, 11, 99, 99]
    g = staged(lambda i: fg.switch_case(i, {1: lambda: 30, 0: lambda: 50}), mode)
    assert [int(g(fg.constant(i))) for i in (0, 1, 4)] == [50, 30, 30]
    h = staged(lambda i: fg.switch_case(i, [(1, lambda: 30), (0, lambda: 50)]), mode)
    assert [int(h(fg.constant(i))) for i in (0, 1, 4)] == [50, 30, 30]


@pytest.mark.parametrize("with_default", [False, True])
@pytest.mark.parametrize("n", [1, 3])
def test_switch_case_traces_each_function_once(n, with_default):
    traced = []

    def branch(k):
        return lambda: (traced.append(k), fg.constant(k))[1]

    default = branch(n) if with_default else None
    f = fg.function(lambda i: fg.switch_case(i, [branch(k) for k in range(n)], default))
    last = n if with_default else n - 1
    assert [int(f(fg.constant(i))) for i in (-1, *range(n), n)] == [last, *range(n), last]
    assert traced == list(range(last + 1))


@pytest.mark.parametrize("mode", MODES)
def test_case_when_no_predicate_or_more_than_one_is_true(mode):
    two = staged(lambda x: fg.case([(x < 1, lambda: x), (x < 3, lambda: x * 2)]), mode)
    alone = staged(lambda x: fg.case([(x < 1, lambda: x)]), mode)
    one = staged(lambda x: fg.case([(x > 1, lambda: x), (x > 3, lambda: -x)], exclusive=True, default=lambda: x), mode)
    last = staged(lambda x: fg.case([(x > 1, lambda: x), (x > 3, lambda: -x)], exclusive=True), mode)
    for _ in range(2):
        assert [int(two(fg.constant(x))) for x in (0, 2)] == [0, 4]
        assert int(alone(fg.constant(0))) == 0
        assert [int(one(fg.constant(x))) for x in (0, 2)] == [0, 2]
        for f in (two, alone):
            with pytest.raises(InvalidArgumentError, match="None of conditions evaluated as True"):
                f(fg.constant(5))
        for f in (one, last):
            with pytest.raises(InvalidArgumentError, match="exclusive=True: more than 1 conditions"):
                f(fg.constant(5))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("keys", [(0, 5), (-1, 0), (0, 0)])
def test_switch_case_keys_are_the_numbers_from_0_on(mode, keys):
    f = staged(lambda i: fg.switch_case(i, [(key, lambda: 1) for key in keys], default=lambda: 2), mode)
    found = ",".join(map(str, keys))
    with pytest.raises(ValueError, match=rf"contiguous range of \[0 to 2\) but found \{{{found}\}}"):
        f(fg.constant(1))
    with pytest.raises(ValueError, match="Must provide at least one item in 'branch_fns'"):
        staged(lambda i: fg.switch_case(i, []), mode)(fg.constant(1))
    with pytest.raises(TypeError, match="'branch_index' must be an integer Tensor"):
        staged(lambda i: fg.switch_case(i, [lambda: 1]), mode)(fg.constant(1.0))


def test_case_errors():
    with pytest.raises(TypeError):
        fg.case([(fg.constant(True), 1)])


# while_loop


@pytest.mark.parametrize("mode", MODES)
def test_while(mode):
    f = staged(lambda n: fg.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), (0, 0)), mode)
    assert leaves(f(fg.constant(5))) == [5, 10] and leaves(f(fg.constant(0))) == [0, 0]
    assert isinstance(f(fg.constant(1)), tuple)


@pytest.mark.parametrize("mode", MODES)
def test_while_structures_and_captures(mode):
    v = fg.Variable(0.0)
    k = fg.constant(2.0)

    def f(x):
        def body(d, i):
            v.assign_add(d["a"])
            return {"a": d["a"] * k, "b": (d["b"][0] + x,)}, i + 1

        return fg.while_loop(lambda d, i: i < 3, body, [{"a": 1.0, "b": (fg.zeros([2]),)}, 0])

    result = staged(f, mode)(fg.constant([1.0, -1.0]))
    assert isinstance(result, list) and leaves(result) == [8.0, [3.0, -3.0], 3] and v.numpy() == 7.0


@pytest.mark.parametrize("mode", MODES)
def test_single_loop_variable_and_maximum_iterations(mode):
    f = staged(lambda: fg.while_loop(lambda i: i < 10, lambda i: i + 1, [0]), mode)
    assert leaves(f()) == [10]
    g = staged(lambda n: fg.while_loop(lambda i: True, lambda i: [i + 1], [0], maximum_iterations=n), mode)
    assert leaves(g(fg.constant(4))) == [4]


def test_growing_shapes():
    @fg.function
    def f(x, n):
        return fg.while_loop(
            lambda i, x: i < n, lambda i, x: (i + 1, fg.concat([x, x], 0)), (0, x),
            shape_invariants=(fg.TensorShape([]), fg.TensorShape([None])),
        )[1]  # fmt: skip

    np.testing.assert_array_equal(f(fg.constant([1.0]), fg.constant(3)), np.ones(8))
    np.testing.assert_array_equal(f(fg.constant([1.0]), fg.constant(0)), np.ones(1))


def test_nested_loops():
    def f(n):
        def outer(i, s):
            return i + 1, fg.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + j * i), (0, s))[1]

        return fg.while_loop(lambda i, s: i < n, outer, (0, 0))[1]

    assert int(fg.function(f)(fg.constant(6))) == sum(i * j for i in range(6) for j in range(i))


@pytest.mark.parametrize(
    "f, kind, text",
    [
        (lambda x: fg.while_loop(lambda i: i < 3.0, lambda i: (fg.cast(i, fg.int32),), (x,)), TypeError,
         "type should remain constant"),
        (lambda x: fg.while_loop(lambda i: fg.reduce_sum(i) < 9.0, lambda i: (fg.stack([i, i]),), (x,)), ValueError,
         "shape_invariants"),
        (lambda x: fg.while_loop(lambda i: i < 3.0, lambda i: (i, i), (x,)), ValueError, "nested structure"),
        (lambda x: fg.while_loop(lambda i: fg.stack([i, i]) < 3.0, lambda i: i, (x,)), ValueError, "scalar"),
        (lambda x: fg.while_loop(1, lambda i: i, (x,)), TypeError, "'cond' must be callable"),
        (lambda x: fg.while_loop(lambda i: i < 1.0, 1, (x,)), TypeError, "'body' must be callable"),
        (lambda x: fg.while_loop(lambda i: i < 1.0, lambda i: i, x), TypeError, "list or tuple"),
        (lambda x: fg.while_loop(lambda: True, lambda: (), []), ValueError, "must be provided"),
        (lambda x: fg.while_loop(lambda i: i < 1.0, lambda i: i, (x,), shape_invariants=(fg.TensorShape([3]),)), ValueError,
         "not compatible with the initial shape"),
    ],
)  # fmt: skip
def test_while_errors(f, kind, text):
    with pytest.raises(kind, match=text):
        fg.function(f, autograph=False)(fg.constant(1.0))
    assert fg.executing_eagerly()


# Gradients, against eager Python


def derivatives(f, x, variables=(), order=1):
    sources = [x, *variables]
    with fg.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with fg.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        first = inner.gradient(y, sources, unconnected_gradients="zero")
    found = [y, *first]
    if order == 2:
        found += outer.gradient(first[0], sources, unconnected_gradients="zero")
    return [np.asarray(fg.convert_to_tensor(t).numpy()) for t in found]


W = fg.Variable(0.7)
B = fg.Variable([0.1, -0.2, 0.3])
UNUSED = fg.Variable(5.0)

PROGRAMS = {
    "cond": lambda x: fg.cond(fg.reduce_sum(x) > 0.0, lambda: x * x * W, lambda: fg.exp(x) + B),
    "cond of one use": lambda x: fg.cond(fg.reduce_sum(x) > 0.0, lambda: x * W, lambda: B * 2.0) * x,
    "cond with intermediate values": lambda x: fg.cond(
        x[0] > 0.0, lambda: (fg.tanh(fg.exp(x * W)), x), lambda: (x, fg.sigmoid(x))
    ),
    "nested cond": lambda x: fg.cond(
        x[0] > 0.0, lambda: fg.cond(x[1] > 0.0, lambda: x**3.0, lambda: W * fg.exp(x)), lambda: x * x
    ),
    "while": lambda x: fg.while_loop(lambda i, s: i < 4, lambda i, s: (i + 1, fg.tanh(s * W + x)), (0, x))[1],
    "while of its value": lambda x: fg.while_loop(
        lambda s: fg.reduce_sum(s * s) < 100.0, lambda s: (s * 1.5 + B,), (x,)
    )[0],
    "while that does nothing": lambda x: fg.while_loop(lambda i, s: i < 0, lambda i, s: (i + 1, s * x), (0, x))[1],
    "while with two values": lambda x: fg.while_loop(
        lambda i, a, b: i < 3, lambda i, a, b: (i + 1, b * W, a + b * x), (0, x, fg.ones_like(x))
    )[1:],
    "while in while": lambda x: fg.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, fg.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t * x + W), (0, s))[1]),
        (0, x),
    )[1],
    "cond in while": lambda x: fg.while_loop(
        lambda i, s: i < 4,
        lambda i, s: (i + 1, fg.cond(i % 2 == 0, lambda: s * x, lambda: fg.tanh(s) + W)),
        (0, x),
    )[1],
    "while in cond": lambda x: fg.cond(
        x[2] > 0.0, lambda: fg.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s * x * W), (0, x))[1], lambda: x
    ),
    "while over an invariant": lambda x: fg.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, s + fg.exp(x) * B), (0, fg.zeros_like(x))
    )[1],
    "row by row": lambda x: fg.while_loop(
        lambda i, s: i < 3, lambda i, s: (i + 1, s + x[i] * x[2 - i]), (0, fg.constant(0.0))
    )[1],
}  # fmt: skip


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
@pytest.mark.parametrize("values", [[0.5, -1.0, 1.5], [-2.0, 0.25, -0.5]])
@pytest.mark.parametrize("where", ["tape outside", "tape inside"])
def test_gradients_are_those_of_eager_python(program, values, where):
    x = fg.constant(values)
    expected = derivatives(program, x, [W, B, UNUSED], 2)
    if where == "tape outside":
        found = derivatives(fg.function(program), x, [W, B, UNUSED], 2)
    else:

        def inside(x):
            with fg.GradientTape(persistent=True) as outer:
                outer.watch(x)
                with fg.GradientTape() as inner:
                    inner.watch(x)
                    y = program(x)
                first = inner.gradient(y, [x, W, B, UNUSED], unconnected_gradients="zero")
            return [y, *first, *outer.gradient(first[0], [x, W, B, UNUSED], unconnected_gradients="zero")]

        found = [np.asarray(t.numpy()) for t in fg.nest.flatten(fg.function(inside)(x))]
        expected = [np.asarray(t.numpy()) for t in fg.nest.flatten(inside(x))]
    if isinstance(expected[0], np.ndarray) and len(expected) == len(found):
        for ours, theirs in zip(found, expected, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5)
    else:
        raise AssertionError((found, expected))


def test_gradient_with_unknown_sizes():
    def program(x):
        y = fg.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, fg.tanh(s) * x), (0, x))[1]
        return fg.cond(fg.reduce_sum(y) > 0.0, lambda: fg.exp(y), lambda: y * y)

    f = fg.function(program, input_signature=[fg.TensorSpec([None], fg.float32)])
    for n in (1, 4, 0, 3):
        x = fg.constant(np.linspace(0.5, 1.5, n).astype(np.float32))
        for ours, theirs in zip(derivatives(f, x), derivatives(program, x), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5)
    assert f.experimental_get_tracing_count() == 1


def test_branches_with_different_shapes_have_gradients():
    def program(x):
        return fg.reduce_sum(fg.cond(x[0] > 0.0, lambda: x * x, lambda: fg.concat([x, x * x * x], 0)))

    f = fg.function(program)
    for values in ([1.0, 2.0], [-1.0, 2.0]):
        x = fg.constant(values)
        for ours, theirs in zip(derivatives(f, x), derivatives(program, x), strict=True):
            np.testing.assert_allclose(ours, theirs)


def test_a_training_loop_in_one_graph():
    w = fg.Variable(0.0)

    @fg.function
    def train(n):
        def body(i):
            with fg.GradientTape() as tape:
                loss = (w - 3.0) ** 2.0
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return i + 1

        return fg.while_loop(lambda i: i < n, body, [0])

    train(fg.constant(60))
    assert abs(w.numpy() - 3.0) < 1e-4


def test_indices_of_slices_are_int64_where_one_branch_has_them_so() -> None:
    """As in TensorFlow; the slices that a branch gives are left as they are."""
    values = fg.constant([1.0, 2.0])

    def chosen(flag, swapped):
        narrow = fg.IndexedSlices(values, fg.constant([0, 3]), fg.constant([5]))
        wide = fg.IndexedSlices(values * 2.0, fg.constant([1, 2], fg.int64), fg.constant([5]))
        functions = [lambda: (flag, [narrow]), lambda: (flag, [wide])]
        result = fg.cond(flag, *(functions[::-1] if swapped else functions))
        assert narrow.indices.dtype == fg.int32 and wide.indices.dtype == fg.int64
        return result

    for swapped in (False, True):
        for flag in (True, False):
            _, [slices] = fg.function(chosen, autograph=False)(fg.constant(flag), swapped)
            assert slices.indices.dtype == fg.int64
            expected = [0.0, 2.0, 4.0, 0.0, 0.0] if flag == swapped else [1.0, 0.0, 0.0, 2.0, 0.0]
            assert fg.convert_to_tensor(slices).numpy().tolist() == expected


def test_a_loop_over_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="'loop_vars' must be provided"):
        fg.while_loop(lambda: True, lambda: (), ())


@pytest.mark.parametrize(
    ("pred", "wanted"),
    [
        ([[0]], "else"),
        ([True], "then"),
        ("", "else"),
        (np.bool_(True), "then"),
        ([0, 1], ValueError),
        ([], ValueError),
        (None, ValueError),
        ({"a": 1}, ValueError),
        (object(), ValueError),
    ],
    ids=["zero in lists", "list", "no text", "bool of NumPy", "two", "none", "None", "dict", "object"],
)
def test_an_eager_predicate_is_the_tensor_that_it_stands_for(pred, wanted) -> None:
    """A list is no truth of Python's: [[0]] is false, and what is no tensor is an error."""
    calls = [
        lambda: fg.cond(pred, lambda: "then", lambda: "else"),
        lambda: fg.case([(pred, lambda: "then")], default=lambda: "else"),
    ]
    for call in calls:
        if isinstance(wanted, str):
            assert call() == wanted
        else:
            with pytest.raises(wanted):
                call()


_WIDENED = {
    "pad": lambda x, k, n: fg.pad(x, [[0, k - n], [0, 0]]),
    "zeros": lambda x, k, n: fg.concat([x, fg.zeros([k - n, 2])], 0),
    "fill": lambda x, k, n: fg.concat([x, fg.fill([k - n, 2], 0.0)], 0),
    "tile": lambda x, k, n: fg.concat([x, fg.tile([[0.0, 0.0]], [k - n, 1])], 0),
    "repeat": lambda x, k, n: fg.concat([x, fg.repeat([[0.0, 0.0]], k - n, axis=0)], 0),
    "broadcast": lambda x, k, n: fg.concat([x, fg.broadcast_to([[0.0, 0.0]], [k - n, 2])], 0),
}


@pytest.mark.parametrize("how", _WIDENED)
def test_a_branch_that_will_not_run_need_not_fit(how):
    widen, x = _WIDENED[how], fg.ones((6, 2))

    def by_cond(x, k, n):
        return fg.cond(n < k, lambda: widen(x, k, n), lambda: x[:k])

    def by_case(x, k, n):
        return fg.switch_case(fg.cast(n < k, "int32"), [lambda: x[:k], lambda: widen(x, k, n)])

    def by_if(x, k, n):
        if n < k:
            if n < k + 1:
                x = widen(x, k, n)
        else:
            x = x[:k]
        return x

    for function in (by_cond, by_case, by_if):
        for k, expected in ((4, 8.0), (8, 12.0)):
            whole = fg.function(lambda x, k=k, function=function: function(x, k, fg.shape(x)[0]))(x)
            assert whole.shape == (k, 2) and fg.reduce_sum(whole).numpy() == expected
