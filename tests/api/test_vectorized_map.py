"""vectorized_map and vectorised jacobians: against a loop over the elements; gradients; Functions; random ops; errors.

Each op's rule by itself: tests/ops/test_batching_rules.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg

A = fg.constant(np.random.default_rng(3).uniform(0.1, 1.0, (3, 4, 5)).astype(np.float32))
B = fg.constant(np.random.default_rng(4).uniform(0.1, 1.0, (3, 5, 2)).astype(np.float32))
W = fg.Variable(np.random.default_rng(5).uniform(0.1, 1.0, (5, 2)).astype(np.float32))
V = fg.Variable([1.0, 2.0, 3.0, 4.0, 5.0])
ROWS = fg.constant([[0, 2], [1, 1], [3, 0]])


@fg.custom_gradient
def thrice(x: Any) -> Any:
    """x², whose gradient is said to be three times as large."""
    return x * x, lambda dy: dy * 6.0 * x


@fg.custom_gradient
def with_variable(x: Any) -> Any:
    """x * V, with a gradient of V ten times as large."""

    def grad(dy: Any, variables: Any = None) -> Any:
        return dy * V, [10.0 * fg.reduce_sum(dy * x, axis=0)]

    return x * V, grad


@fg.function
def staged(x: Any) -> Any:
    """A Function, with a loop in it, that reads a Variable."""
    for _ in fg.range(2):
        x = fg.sin(x) * V
    return x


def slope(x: Any) -> Any:
    """A gradient inside."""
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = fg.reduce_sum(fg.sin(x) * x)
    return tape.gradient(y, x)


FUNCTIONS: dict[str, tuple[Callable[..., Any], Any]] = {
    "elementwise with a Variable": (lambda x: fg.sin(x) * x + V, A),
    "ranks that differ": (lambda x: x[0] * x[0, 0] + x * fg.reduce_sum(x, 0), A),
    "reductions": (lambda x: fg.reduce_mean(x, axis=-1) + fg.reduce_max(x), A),
    "a batch of products": (lambda x: x[0] @ x[1], (A, B)),
    "products with what is fixed": (lambda x: fg.transpose(W) @ fg.transpose(x @ W @ fg.transpose(W)), A),
    "vectors": (lambda x: fg.linalg.matvec(x, V) if hasattr(fg.linalg, "matvec") else fg.reduce_sum(x * V, 1), A),
    "movement": (lambda x: fg.concat([fg.transpose(fg.reshape(x, [2, 10])), fg.ones([10, 1])], -1), A),
    "parts": (lambda x: fg.stack(fg.unstack(x[1:, ::-1], 5, axis=1)[::2], axis=-1), A),
    "rows by number": (lambda x: fg.gather(x[0], x[1]) + fg.gather(W, x[1])[:, :1], (A, ROWS)),
    "one of each row": (lambda x: fg.gather(x[0], x[1][0] + [0, 1, 0, 1], batch_dims=1), (A, ROWS)),
    "rows that axes share": (
        lambda x: fg.gather(x[0], fg.stack([x[1]] * 4), batch_dims=-1) * fg.gather(x[0], [1, 0, 4, 2], batch_dims=1)[:, None],
        (A, ROWS),
    ),
    "blocks that begin elsewhere": (lambda x: fg.slice(x[0], x[1] // 2, [2, 3]), (A, ROWS)),
    "places in sorted rows": (
        lambda x: x * fg.cast(fg.searchsorted(fg.sort(x), x + 0.1, side="right"), fg.float32), A,
    ),
    "scattered": (lambda x: fg.tensor_scatter_nd_add(x[0], x[1][:, None], x[0][:2] ** 2), (A, ROWS)),
    "sizes": (lambda x: fg.reshape(x, [fg.size(x)]) * fg.cast(fg.shape(x)[0], fg.float32), A),
    "where": (lambda x: fg.where(x > 0.5, x**2, fg.zeros_like(x)), A),
    "cond of what is fixed": (lambda x: fg.cond(fg.reduce_sum(V) > 1.0, lambda: x * 2.0, lambda: x), A),
    "cond of the element": (lambda x: fg.cond(fg.reduce_sum(x) > 11.0, lambda: x * 2.0, lambda: x**3), A),
    "the same number of rounds": (
        lambda x: fg.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y * fg.sin(y)), (fg.constant(0), x))[1], A,
    ),
    "numbers of rounds that differ": (
        lambda x: fg.while_loop(lambda y: fg.reduce_sum(y) < 40.0, lambda y: (y * 2.0,), (x,))[0], A,
    ),
    "a custom gradient": (lambda x: thrice(x) * 2.0, A),
    "a custom gradient of a Variable": (with_variable, A),
    "map_fn inside": (lambda x: fg.map_fn(lambda row: fg.reduce_sum(row**2), x), A),
    "scan inside": (lambda x: fg.scan(lambda a, row: a * row + fg.sin(row), x), A),
    "a Function inside": (lambda x: staged(x), A),
    "a gradient inside": (slope, A),
    "vectorized_map inside": (lambda x: fg.vectorized_map(lambda row: row * V, x) * x, A),
    "nothing of the element": (lambda x: V * 2.0, A),
    "a structure": (lambda x: {"a": x["p"] * 2.0, "b": (x["q"] ** 2, fg.constant(1.0))}, {"p": A, "q": B}),
}  # fmt: skip


def one_by_one(function: Callable[..., Any], elems: Any) -> Any:
    rows = [function(fg.nest.map_structure(lambda t, i=i: t[i], elems)) for i in range(3)]
    return fg.nest.map_structure(lambda *each: fg.stack(each), *rows)


def derivatives(evaluate: Callable[..., Any], elems: Any) -> list[Any]:
    """The result, and its gradients of two orders with respect to the floating elements and the Variables."""
    sources = [t for t in fg.nest.flatten(elems) if t.dtype.is_floating] + [V, W]
    with fg.GradientTape() as outer:
        outer.watch(sources)
        with fg.GradientTape() as inner:
            inner.watch(sources)
            result = evaluate(elems)
            total = fg.add_n([fg.reduce_sum(t**2) for t in fg.nest.flatten(result)])
        first = [fg.convert_to_tensor(g) for g in inner.gradient(total, sources, unconnected_gradients="zero")]
        norm = fg.add_n([fg.reduce_sum(g**2) for g in first])
    second = outer.gradient(norm, sources, unconnected_gradients="zero")
    return [*fg.nest.flatten(result), *first, *[fg.convert_to_tensor(g) for g in second]]


def staged_of(elems: Any, known: bool) -> Callable[..., Any]:
    flat = fg.nest.flatten(elems)
    specs = [fg.TensorSpec([3 if known else None, *t.shape[1:]], t.dtype) for t in flat]

    def decorate(f: Callable[..., Any]) -> Callable[..., Any]:
        whole = fg.function(lambda *t: f(fg.nest.pack_sequence_as(elems, t)), input_signature=specs, autograph=False)
        return lambda elems: whole(*fg.nest.flatten(elems))

    return decorate


@pytest.mark.parametrize("name", list(FUNCTIONS))
@pytest.mark.parametrize("where", ["eager", "function", "unknown number"])
def test_values_and_gradients_are_those_of_a_loop(name: str, where: str) -> None:
    function, elems = FUNCTIONS[name]

    def whole(elems: Any) -> Any:
        return derivatives(lambda e: fg.vectorized_map(function, e, warn=False), elems)

    got = whole(elems) if where == "eager" else staged_of(elems, where == "function")(whole)(elems)
    wanted = derivatives(lambda e: one_by_one(function, e), elems)
    for a, b in zip(got, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("where", [lambda f: f, fg.function])
def test_a_gradient_taken_in_a_branch_is_differentiated_outside(where: Callable[..., Any]) -> None:
    def f(x: Any) -> Any:
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as inner:
                inner.watch(x)
                y = staged(x)
            g = fg.cond(fg.reduce_sum(x) > 0.0, lambda: inner.gradient(y, x), lambda: x)
            total = fg.reduce_sum(g**2)
        return outer.gradient(total, x)

    x = A[0]
    with fg.GradientTape() as outer:
        outer.watch(x)
        with fg.GradientTape() as inner:
            inner.watch(x)
            y = fg.sin(fg.sin(x) * V) * V
        total = fg.reduce_sum(inner.gradient(y, x) ** 2)
    np.testing.assert_allclose(where(f)(x), outer.gradient(total, x), rtol=1e-4)


def test_forward_mode_through_it() -> None:
    with fg.autodiff.ForwardAccumulator(A, A) as accumulator:
        y = fg.vectorized_map(lambda x: fg.reduce_sum(x**3), A)
    np.testing.assert_allclose(accumulator.jvp(y), 3 * np.sum(A.numpy() ** 3, (1, 2)), rtol=1e-5)


@pytest.mark.parametrize("mode", [lambda f: f, fg.function])
def test_random_ops_draw_for_each_element(mode: Callable[..., Any]) -> None:
    f = mode(lambda x: fg.vectorized_map(lambda e: e + fg.random.normal([1000]), x))
    x = fg.constant([0.0, 0.0, 5.0])
    first, second = f(x).numpy(), f(x).numpy()
    assert len(np.unique(first[:2])) > 1900 and not np.allclose(first, second)
    np.testing.assert_allclose(first.mean(1), [0, 0, 5], atol=0.2)
    masks = mode(lambda x: fg.vectorized_map(lambda e: fg.nn.dropout(fg.ones([64]), 0.5), x))(x).numpy()
    assert (masks[0] != masks[1]).any()


def test_a_size_of_one_is_the_same_element_each_time() -> None:
    got = fg.vectorized_map(lambda x: x[0] * x[1], (fg.constant([1.0, 2.0, 3.0]), fg.constant([2.0])))
    np.testing.assert_array_equal(got, [2.0, 4.0, 6.0])


def test_no_elements_and_nothing_returned() -> None:
    assert fg.vectorized_map(lambda x: x * 2.0, fg.zeros([0, 2])).shape == (0, 2)
    assert fg.vectorized_map(lambda x: None, fg.zeros([2])) is None


def test_an_op_without_a_rule_is_said_once_or_refused() -> None:
    x = fg.constant([[3, 4], [0, 5]])
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            got = fg.vectorized_map(lambda e: fg.unravel_index(e, [2, 3]), x)
    assert [str(w.message) for w in caught if "UnravelIndex has no batching rule" in str(w.message)][1:] == []
    np.testing.assert_array_equal(got, [np.unravel_index([3, 4], (2, 3)), np.unravel_index([0, 5], (2, 3))])
    with pytest.raises(ValueError, match="No batching rule for the op UnravelIndex"):
        fg.vectorized_map(lambda e: fg.unravel_index(e, [2, 3]), x, fallback_to_while_loop=False)


@pytest.mark.parametrize(
    ("elems", "text"),
    [
        (lambda: fg.constant(1.0), "not scalars"),
        (list, "should contain a tensor"),
        (lambda: (fg.ones(3), fg.ones(2)), "different numbers of elements"),
    ],
)
def test_wrong_elements(elems: Callable[[], Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        fg.vectorized_map(lambda x: x, elems())


def test_a_function_that_is_none() -> None:
    with pytest.raises(TypeError, match="callable"):
        fg.vectorized_map(3, fg.ones(3))


# ---- jacobians ------------------------------------------------------------------------------------------------------


def jacobian_of(f: Callable[..., Any], x: Any, **how: Any) -> Any:
    with fg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    return tape.jacobian(y, x, **how)


SLOPES = {
    "tanh of a product": lambda x: fg.tanh(x @ W),
    "softmax": lambda x: fg.nn.softmax(x),
    "a scalar": lambda x: fg.reduce_sum(x**3),
    "rows": lambda x: fg.gather(x, [1, 1, 0]) ** 2,
    "a Function": staged,
    "a loop": lambda x: fg.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * fg.sin(x)), (0, x))[1],
    "a custom gradient": lambda x: thrice(x),
    "scan": lambda x: fg.scan(lambda a, row: a * row + fg.sin(row), x),
}


@pytest.mark.parametrize("name", list(SLOPES))
@pytest.mark.parametrize("where", ["eager", "function", "unknown size"])
def test_jacobians_of_the_first_and_second_order(name: str, where: str) -> None:
    f, x = SLOPES[name], A[0]

    def both(x: Any) -> Any:
        with fg.GradientTape(persistent=True) as outer:
            outer.watch(x)
            first = jacobian_of(f, x)
            total = fg.reduce_sum(first**2)
        return first, fg.convert_to_tensor(outer.gradient(total, x))

    spec = fg.TensorSpec([None, 5])
    run = {"eager": both, "function": fg.function(both), "unknown size": fg.function(both, input_signature=[spec])}
    first, second = run[where](x)
    wanted = jacobian_of(f, x, experimental_use_pfor=False)
    np.testing.assert_allclose(first, wanted, rtol=1e-4, atol=1e-5)
    with fg.GradientTape() as tape:
        tape.watch(x)
        total = fg.reduce_sum(jacobian_of(f, x, experimental_use_pfor=False) ** 2)
    np.testing.assert_allclose(second, fg.convert_to_tensor(tape.gradient(total, x)), rtol=1e-3, atol=1e-4)


def test_a_jacobian_by_finite_differences() -> None:
    x = A[0].numpy().astype(np.float64)
    w = fg.constant(W.numpy().astype(np.float64))
    got = jacobian_of(lambda x: fg.tanh(x @ w), fg.constant(x)).numpy()
    for at in np.ndindex(*x.shape):
        step = np.zeros_like(x)
        step[at] = 1e-6
        slope = (np.tanh((x + step) @ w.numpy()) - np.tanh((x - step) @ w.numpy())) / 2e-6
        np.testing.assert_allclose(got[(..., *at)], slope, atol=1e-8)


@pytest.mark.parametrize("together", [True, False])
def test_jacobians_of_structures_and_of_what_is_not_connected(together: bool) -> None:
    x, unused = fg.constant([1.0, 2.0]), fg.constant([[1.0, 2.0, 3.0]])
    with fg.GradientTape(persistent=True) as tape:
        tape.watch([x, unused])
        y = x * V[:2]
    how: Any = {"experimental_use_pfor": together, "parallel_iterations": 4}
    got = tape.jacobian(y, {"x": x, "more": [V, unused]}, **how)
    np.testing.assert_allclose(got["x"], np.diag(V.numpy()[:2]))
    np.testing.assert_allclose(got["more"][0], np.eye(2, 5) * x.numpy()[:, None])
    assert got["more"][1] is None
    zero = tape.jacobian(y, unused, unconnected_gradients="zero", **how)
    assert zero.shape == (2, 1, 3) and not np.any(zero)


@pytest.mark.parametrize("together", [True, False])
def test_batch_jacobians(together: bool) -> None:
    with fg.GradientTape(persistent=True) as tape:
        tape.watch(A)
        y = fg.tanh(A @ W)
    got = tape.batch_jacobian(y, A, experimental_use_pfor=together)
    whole = tape.jacobian(y, A).numpy()
    np.testing.assert_allclose(got, np.stack([whole[i, :, :, i] for i in range(3)]), rtol=1e-5)
    none = tape.batch_jacobian(y, B, experimental_use_pfor=together)
    assert none.shape == (3, 4, 2, 5, 2) and not np.any(none)


def test_batch_jacobian_of_an_unknown_number() -> None:
    @fg.function(input_signature=[fg.TensorSpec([None, 4, 5])])
    def f(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.tanh(x @ W)
        return tape.batch_jacobian(y, x)

    with fg.GradientTape() as tape:
        tape.watch(A)
        y = fg.tanh(A @ W)
    np.testing.assert_allclose(f(A), tape.batch_jacobian(y, A), rtol=1e-5)


def test_jacobians_are_refused() -> None:
    x = fg.ones([2, 3])
    with fg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = fg.reshape(x, [3, 2])
        z = fg.reduce_sum(x)
    with pytest.raises(ValueError, match=r"Need first dimension of target shape \(\(3, 2\)\) and source shape"):
        tape.batch_jacobian(y, x)
    with pytest.raises(ValueError, match="Need first dimension of target shape"):
        tape.batch_jacobian(z, x)
    with pytest.raises(ValueError, match="not a valid UnconnectedGradients"):
        tape.jacobian(y, x, unconnected_gradients="all")
    with pytest.raises(TypeError, match="`target` must be a Tensor"):
        tape.jacobian([y], x)
    once = fg.GradientTape()
    with once:
        once.watch(x)
        y = x * 2.0
    once.jacobian(y, x)
    with pytest.raises(RuntimeError, match="can only be used to compute one set of gradients"):
        once.jacobian(y, x)


def test_indexed_slices_become_dense() -> None:
    def row(x: Any) -> fg.IndexedSlices:
        return fg.IndexedSlices(fg.reshape(x, [1, 1]), fg.constant([1]), fg.constant([3, 1]))

    found = fg.vectorized_map(row, fg.constant([1.0, 2.0]))
    assert found.numpy()[:, :, 0].tolist() == [[0, 1, 0], [0, 2, 0]]


@pytest.mark.parametrize("wrapped", [False, True])
def test_loops_of_elements_that_end_apart_or_never_begin(wrapped: bool) -> None:
    @fg.custom_gradient
    def half(x: Any) -> Any:
        return x, lambda dy: dy * 0.5

    def doubled(x: Any) -> Any:
        return fg.while_loop(lambda y: half(fg.reduce_sum(y)) < 10.0, lambda y: (half(y) * 2.0,), (x,))[0]

    x = fg.constant([[1.0, 2.0], [3.0, 4.0], [20.0, 1.0]])
    run = fg.function(fg.vectorized_map) if wrapped else fg.vectorized_map
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = run(doubled, x)
    assert y.numpy().tolist() == [[4.0, 8.0], [6.0, 8.0], [20.0, 1.0]]
    assert fg.convert_to_tensor(tape.gradient(y, x)).numpy().tolist() == [[1.0, 1.0]] * 3


def test_jacobians_of_loops_in_functions_of_which_some_never_begin() -> None:
    @fg.function
    def powers(x: Any) -> Any:
        return fg.while_loop(lambda y: fg.reduce_any(y < 2.0), lambda y: (y * y,), (x,))[0]

    for start, wanted in ([3.0, 5.0], [1.0, 1.0]), ([1.5, 3.0], [3.0, 6.0]):
        x = fg.constant(start)
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = powers(x)
        assert tape.jacobian(y, x).numpy().tolist() == [[wanted[0], 0.0], [0.0, wanted[1]]]
