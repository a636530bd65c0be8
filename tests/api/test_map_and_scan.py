"""map_fn, scan, foldl, foldr: values and two orders of gradients against NumPy-like loops; one loop in the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.graph.ir import subgraphs

X = fg.constant([0.5, -1.25, 2.0])
Y = fg.constant([1.5, 0.25, -0.75])
M = fg.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
W = fg.Variable(1.5)


def step(a: Any, e: Any) -> Any:
    return a * fg.sin(e) + e**2 * W


def pair(a: Any, e: Any) -> Any:
    return (a[0] * e[0] + a[1], a[1] * e[1] * W)


def loop_scan(
    f: Callable[..., Any], n: int, at: Callable[[int], Any], start: Any, *, reverse: bool = False
) -> list[Any]:
    """The accumulators, computed by a Python loop, at the places of their elements."""
    found = {}
    a = start
    for i in reversed(range(n)) if reverse else range(n):
        a = at(i) if a is None else f(a, at(i))
        found[i] = a
    return [found[i] for i in range(n)]


def stacked(rows: list[Any]) -> Any:
    return fg.nest.map_structure(lambda *each: fg.stack(each), *rows)


HALF = fg.constant(0.5)
CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "map": (
        lambda m: fg.map_fn(lambda e: fg.reduce_sum(e**3) * W, m),
        lambda m: fg.stack([fg.reduce_sum(m[i] ** 3) * W for i in range(3)]), (M,),
    ),
    "map to a structure": (
        lambda m: fg.map_fn(lambda e: (e * 2.0, {"s": fg.reduce_sum(e**2)}), m, fn_output_signature=(fg.float32, {"s": fg.float32})),
        lambda m: (m * 2.0, {"s": fg.reduce_sum(m**2, 1)}), (M,),
    ),
    "map of a structure": (
        lambda m, x: fg.map_fn(lambda e: e["p"] * e["q"] ** 2, {"p": m, "q": x}, fn_output_signature=fg.float32),
        lambda m, x: m * x[:, None] ** 2, (M, X),
    ),
    "map in a map": (lambda m: fg.map_fn(lambda e: fg.map_fn(lambda f: f**3, e), m), lambda m: m**3, (M,)),
    "scan": (
        lambda x: fg.scan(step, x), lambda x: stacked(loop_scan(step, 3, lambda i: x[i], None)), (X,),
    ),
    "scan from an initializer": (
        lambda x, a: fg.scan(step, x, initializer=a), lambda x, a: stacked(loop_scan(step, 3, lambda i: x[i], a)), (X, HALF),
    ),
    "scan backwards": (
        lambda x: fg.scan(step, x, reverse=True),
        lambda x: stacked(loop_scan(step, 3, lambda i: x[i], None, reverse=True)), (X,),
    ),
    "scan backwards from an initializer": (
        lambda x, a: fg.scan(step, x, initializer=a, reverse=True),
        lambda x, a: stacked(loop_scan(step, 3, lambda i: x[i], a, reverse=True)), (X, HALF),
    ),
    "scan of structures": (
        lambda x, y, a: fg.scan(pair, (x, y), initializer=(a, a * 3.0)),
        lambda x, y, a: stacked(loop_scan(pair, 3, lambda i: (x[i], y[i]), (a, a * 3.0))), (X, Y, HALF),
    ),
    "foldl": (lambda x: fg.foldl(step, x), lambda x: loop_scan(step, 3, lambda i: x[i], None)[-1], (X,)),
    "foldr": (lambda x: fg.foldr(step, x), lambda x: loop_scan(step, 3, lambda i: x[i], None, reverse=True)[0], (X,)),
    "foldl of rows": (
        lambda m, x: fg.foldl(step, m, initializer=x[:2]),
        lambda m, x: loop_scan(step, 3, lambda i: m[i], x[:2])[-1], (M, X),
    ),
    "foldr of a structure": (
        lambda x, y, a: fg.foldr(pair, (x, y), initializer=(a, a)),
        lambda x, y, a: loop_scan(pair, 3, lambda i: (x[i], y[i]), (a, a), reverse=True)[0], (X, Y, HALF),
    ),
}  # fmt: skip


def derivatives(f: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
    sources = [*args, W]
    with fg.GradientTape() as outer:
        outer.watch(list(args))
        with fg.GradientTape() as inner:
            inner.watch(list(args))
            result = fg.nest.flatten(f(*args))
            total = fg.add_n([fg.reduce_sum(t**2) for t in result])
        first = inner.gradient(total, sources, unconnected_gradients="zero")
        norm = fg.add_n([fg.reduce_sum(g**2) for g in first])
    return [*result, *first, *outer.gradient(norm, sources, unconnected_gradients="zero")]


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("where", ["eager", "function", "unknown sizes"])
def test_values_and_gradients_are_those_of_a_python_loop(name: str, where: str) -> None:
    f, plain, args = CASES[name]
    whole: Any = lambda *args: derivatives(f, args)
    if where != "eager":
        specs = [fg.TensorSpec([None] * len(a.shape) if where == "unknown sizes" else a.shape) for a in args]
        whole = fg.function(whole, input_signature=specs, autograph=False)
    for got, wanted in zip(whole(*args), derivatives(plain, args), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=2e-4, atol=1e-5)


def test_scan_by_finite_differences() -> None:
    x = np.array([0.5, -1.25, 2.0])
    f = fg.function(lambda x: fg.reduce_sum(fg.scan(lambda a, e: a * fg.sin(e) + e**2, x)))
    tensor = fg.constant(x)
    with fg.GradientTape() as tape:
        tape.watch(tensor)
        y = f(tensor)
    got = tape.gradient(y, tensor).numpy()
    for i in range(3):
        h = np.eye(3)[i] * 1e-6
        assert got[i] == pytest.approx((float(f(fg.constant(x + h))) - float(f(fg.constant(x - h)))) / 2e-6, rel=1e-6)


@pytest.mark.parametrize("f", [fg.map_fn, fg.scan, fg.foldl])
def test_the_body_stands_in_the_graph_once(f: Any) -> None:
    body = (lambda e: fg.cos(e)) if f is fg.map_fn else (lambda a, e: a + fg.cos(e))
    graph = fg.function(lambda x: f(body, x), autograph=False).get_concrete_function(fg.TensorSpec([100])).graph

    def count(graph: Any) -> int:
        return sum((n.op.name == "cos") + sum(count(g) for g, _ in subgraphs(n)) for n in graph.nodes)

    assert count(graph) == 1


def test_the_gradient_of_elements_is_linear_in_their_number() -> None:
    """The rows are stacked and added up once: no iteration makes a tensor as large as all elements."""

    @fg.function
    def f(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.map_fn(lambda e: e**2, x)
        return tape.gradient(y, x)

    concrete = f.get_concrete_function(fg.TensorSpec([1000, 7]))
    for node in concrete.graph.nodes:
        for body, _ in subgraphs(node):
            for inner in body.nodes:
                large = [v for v in inner.outputs if v.aval.shape == (1000, 7)]
                assert inner.op.name == "placeholder" or not large, inner
    np.testing.assert_allclose(f(fg.ones([1000, 7])), 2 * np.ones([1000, 7]))


def test_no_elements() -> None:
    empty = fg.zeros([0, 2])

    def all_of(x: Any) -> Any:
        return (
            fg.map_fn(lambda e: e * 2.0, x),
            fg.scan(lambda a, e: a + e, x, initializer=fg.ones(2)),
            fg.foldl(lambda a, e: a + e, x, initializer=fg.ones(2)),
        )

    for f in (all_of, fg.function(all_of)):
        mapped, scanned, folded = f(empty)
        assert mapped.shape[0] == 0 and scanned.shape == (0, 2)
        np.testing.assert_array_equal(folded, [1.0, 1.0])
    with pytest.raises(fg.errors.InvalidArgumentError, match="no elements"):
        fg.foldl(lambda a, e: a + e, empty)


def test_a_fold_may_grow() -> None:
    f = fg.function(lambda x: fg.foldl(lambda a, e: fg.concat([a, [e]], 0), x, initializer=fg.zeros([1])))
    np.testing.assert_array_equal(f(X), [0.0, 0.5, -1.25, 2.0])


def test_back_prop_false_gives_no_gradient() -> None:
    for f in (lambda x: fg.map_fn(lambda e: e * 2.0, x, back_prop=False), lambda x: fg.scan(step, x, back_prop=False)):
        with fg.GradientTape() as tape:
            tape.watch(X)
            y = f(X)
        assert tape.gradient(y, X) is None


def test_dtypes_of_results() -> None:
    got = fg.map_fn(lambda e: (fg.cast(e, fg.int32), e > 0), X, fn_output_signature=(fg.int32, fg.bool))
    np.testing.assert_array_equal(got[0], [0, -1, 2])
    np.testing.assert_array_equal(got[1], [True, False, True])
    spec = fg.TensorSpec([2], fg.int32)
    assert fg.map_fn(lambda e: fg.range(2), X, fn_output_signature=spec).shape == (3, 2)
    assert fg.map_fn(lambda e: fg.range(2), X, dtype=fg.int32).shape == (3, 2)
    np.testing.assert_array_equal(fg.map_fn(lambda e: 1, X, fn_output_signature=fg.int32), [1, 1, 1])


@pytest.mark.parametrize("mode", [lambda f: f, fg.function])
@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (lambda: fg.map_fn(lambda e: e, fg.constant(1.0)), ValueError, "1\\+ dimensional Tensors, not scalars"),
        (lambda: fg.map_fn(3, X), TypeError, "callable"),
        (lambda: fg.map_fn(lambda e: (e, e), X), (ValueError, TypeError), "same nested structure"),
        (lambda: fg.map_fn(lambda e: fg.cast(e, fg.int32), X), fg.errors.InvalidArgumentError, "float32.*int32"),
        (lambda: fg.map_fn(lambda e: e[0], (X, fg.ones(2)), fg.float32), ValueError, "3 and 2 are not compatible"),
        (lambda: fg.map_fn(lambda e: e, {}), ValueError, "does not contain any Tensors"),
        (
            lambda: fg.map_fn(lambda e: fg.range(2), X, fn_output_signature=fg.TensorSpec([3], fg.int32)),
            ValueError, r"Incompatible shape for value \(\(2,\)\), expected \(\(3,\)\)",
        ),
        (lambda: fg.scan(3, X), TypeError, "callable"),
        (lambda: fg.scan(lambda a, e: a, fg.constant(1.0)), ValueError, "not scalars"),
        (lambda: fg.scan(lambda a, e: fg.cast(a, fg.int32), X), (TypeError, fg.errors.InvalidArgumentError), "float32.*int32"),
        (lambda: fg.scan(lambda a, e: (a, a), X), (ValueError, TypeError), "same nested structure"),
        (lambda: fg.foldr(3, X), TypeError, "callable"),
    ],
)  # fmt: skip
def test_errors(mode: Callable[..., Any], f: Callable[..., Any], error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        mode(f)()


def test_shapes_that_differ() -> None:
    with pytest.raises(ValueError, match=r"Incompatible shape for value \(\(2,\)\), expected \(\(1,\)\)"):
        fg.map_fn(lambda e: fg.range(e), fg.constant([1, 2]))
    with pytest.raises(ValueError, match="Incompatible shape for value"):
        fg.scan(lambda a, e: fg.concat([a, [e]], 0), X, initializer=fg.zeros([1]))


def test_nothing_to_map_over() -> None:
    with pytest.raises(ValueError, match="unsupported type"):
        fg.map_fn(lambda x: x, None)


# ---- composites -------------------------------------------------------------------------------------------------------


def test_map_fn_over_ragged_and_sparse_rows() -> None:
    ragged = fg.ragged.constant([[1, 2], [3], []])
    total = fg.map_fn(fg.reduce_sum, ragged, fn_output_signature=fg.int32)
    np.testing.assert_array_equal(total, [3, 3, 0])
    row = fg.RaggedTensorSpec([None], fg.int32)
    for signature in (None, row):
        doubled = fg.map_fn(lambda e: e * 2, ragged, fn_output_signature=signature)
        assert doubled.to_list() == [[2, 4], [6], []]
    assert fg.map_fn(fg.range, fg.constant([1, 0, 2]), fn_output_signature=row).to_list() == [[0], [], [0, 1]]
    deeper = fg.ragged.constant([[[1], [2, 3]], [[4]]])
    assert fg.map_fn(lambda e: e + 1, deeper).to_list() == [[[2], [3, 4]], [[5]]]
    none = fg.map_fn(fg.range, fg.zeros([0], fg.int32), fn_output_signature=row)
    assert none.to_list() == [] and none.dtype == fg.int32
    sparse = fg.sparse.from_dense([[1, 0], [0, 2]])
    np.testing.assert_array_equal(fg.map_fn(fg.sparse.reduce_sum, sparse, fn_output_signature=fg.int32), [1, 2])


def test_map_fn_over_ragged_rows_has_gradients() -> None:
    values = fg.Variable([1.0, 2.0, 3.0])
    with fg.GradientTape() as tape:
        ragged = fg.RaggedTensor.from_row_lengths(values, [2, 0, 1])
        y = fg.reduce_sum(fg.map_fn(lambda e: e**2, ragged).flat_values)
    np.testing.assert_allclose(tape.gradient(y, values), [2.0, 4.0, 6.0])


def test_map_fn_over_composites_that_does_not_fit() -> None:
    ragged = fg.ragged.constant([[1, 2], [3]])
    with pytest.raises(ValueError, match="Dimensions 2 and 3 are not compatible"):
        fg.map_fn(lambda e: e[1], (ragged, fg.zeros([3])), fn_output_signature=fg.float32)
    with pytest.raises(ValueError, match="float32"):
        fg.map_fn(lambda e: e, ragged, fn_output_signature=fg.RaggedTensorSpec([None], fg.float32, 0))
    with pytest.raises(ValueError, match=r"int32, 1, tf.int64"):
        fg.map_fn(lambda e: e, ragged, fn_output_signature=fg.RaggedTensorSpec([None, None], fg.int32))


# Results that differ in size


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_results_that_differ_in_size_are_ragged(staged):
    def result(f, x):
        g = fg.function(f) if staged else f
        found = fg.nest.map_structure(lambda r: r.to_list() if hasattr(r, "to_list") else r.numpy().tolist(), g(x))
        if staged:
            assert g.get_concrete_function(x).wait(60)
            again = g(x)
            assert found == fg.nest.map_structure(
                lambda r: r.to_list() if hasattr(r, "to_list") else r.numpy().tolist(), again
            )
        return found

    spec, x = fg.RaggedTensorSpec([None], fg.int32, 0), fg.constant([1, 3, 0])
    assert result(lambda x: fg.map_fn(fg.range, x, fn_output_signature=spec), x) == [[0], [0, 1, 2], []]
    assert result(lambda x: fg.map_fn(fg.range, x, fn_output_signature=spec), x[:0]) == []
    pair = (fg.int32, fg.RaggedTensorSpec([None, 2], fg.float32, 0))
    both = result(lambda x: fg.map_fn(lambda v: (v * 2, fg.ones([v, 2])), x, fn_output_signature=pair), x)
    assert both == ([2, 6, 0], [[[1, 1]], [[1, 1]] * 3, []])
    deep = fg.RaggedTensorSpec([None, None], fg.int32, 1)

    def rows(v):
        return fg.RaggedTensor.from_row_lengths(fg.range(v * 2), fg.stack([v, v]))

    assert result(lambda x: fg.map_fn(rows, x, fn_output_signature=deep), x[:2]) == [
        [[0], [1]],
        [[0, 1, 2], [3, 4, 5]],
    ]
    with pytest.raises(ValueError, match=r"map_fn: fn was to return RaggedTensorSpec\(.*float32"):
        result(lambda x: fg.map_fn(fg.range, x, fn_output_signature=fg.RaggedTensorSpec([None], fg.float32, 0)), x)


@pytest.mark.parametrize("staged", [False, True], ids=["eager", "function"])
def test_gradients_through_ragged_results(staged):
    spec = fg.RaggedTensorSpec([None], fg.float32, 0)

    def f(x):
        rows = fg.map_fn(lambda v: v**3 * fg.ones([fg.cast(v, fg.int32)]), x, fn_output_signature=spec)
        return fg.reduce_sum(rows**2)

    g, x = fg.function(f) if staged else f, fg.constant([1.0, 2.0])
    for _ in range(2):
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as inner:
                inner.watch(x)
                y = g(x)
            dx = inner.gradient(y, x)
        assert (float(y), dx.numpy().tolist()) == (129, [6, 384])
        assert outer.gradient(dx, x).numpy().tolist() == [30, 960]
        if staged:
            assert g.get_concrete_function(x).wait(60)


def test_scan_without_infer_shape() -> None:
    x = fg.constant([1.0, 2.0])
    start = (fg.zeros([]), fg.zeros([2]))
    first, second = fg.scan(lambda a, v: (a[0] + v, fg.fill([3], v)), x, start, infer_shape=False)
    assert first.numpy().tolist() == [1.0, 3.0] and second.shape == (2, 3)
    for infer, error in ((False, fg.errors.InvalidArgumentError), (True, ValueError)):
        with pytest.raises(error):
            fg.scan(lambda a, v: fg.concat([a, [v]], 0), x, fg.zeros([1]), infer_shape=infer)


@pytest.mark.parametrize("staged", [False, True])
def test_map_fn_gives_sparse_tensors(staged):
    made = fg.function if staged else (lambda f: f)
    spec = fg.SparseTensorSpec([None], fg.int32)
    rows = made(lambda n: fg.map_fn(lambda i: fg.sparse.from_dense(fg.range(i)), n, fn_output_signature=spec))
    found = rows(fg.range(4))
    assert found.indices.numpy().tolist() == [[2, 1], [3, 1], [3, 2]] and found.values.numpy().tolist() == [1, 1, 2]
    assert found.dense_shape.numpy().tolist() == [4, 3]
    twice = made(lambda s: fg.map_fn(lambda r: fg.sparse.map_values(lambda v: v * 2, r), s))
    same = twice(fg.sparse.from_dense([[1, 0, 2], [0, 0, 3]]))
    assert fg.sparse.to_dense(same).numpy().tolist() == [[2, 0, 4], [0, 0, 6]]
    assert rows(fg.range(0)).dense_shape.numpy().tolist()[0] == 0
    of_any_rank = fg.SparseTensorSpec(None, fg.float32)
    eyes = made(lambda n: fg.map_fn(fg.sparse.eye, n, fn_output_signature=of_any_rank))(fg.constant([2, 3]))
    assert fg.sparse.to_dense(eyes).numpy().tolist() == [[[1, 0, 0], [0, 1, 0], [0, 0, 0]], np.eye(3).tolist()]
    with pytest.raises(ValueError, match="of no elements the rank"):
        fg.map_fn(fg.sparse.eye, fg.range(0), fn_output_signature=of_any_rank)
    with pytest.raises(ValueError, match="was to return"):
        fg.map_fn(lambda i: i, fg.range(2), fn_output_signature=spec)
    x = fg.constant([1.0, 2.0])
    with fg.GradientTape() as tape:
        tape.watch(x)
        signature = fg.SparseTensorSpec([3], fg.float32)
        out = made(
            lambda x: fg.map_fn(lambda v: fg.sparse.from_dense([v, 0.0, v * v]), x, fn_output_signature=signature)
        )
        y = fg.reduce_sum(out(x).values)
    assert tape.gradient(y, x).numpy().tolist() == [3.0, 5.0]


def test_a_scan_of_one_element_whose_extents_only_the_call_knows():
    scan = fg.function(
        lambda x: fg.scan(lambda total, row: fg.tanh(total) + row, x),
        input_signature=[fg.TensorSpec([None, None, None])],
    )
    for n in (1, 3):
        x = fg.reshape(fg.range(6.0 * n), [n, 3, 2])
        np.testing.assert_allclose(scan(x), fg.scan(lambda total, row: fg.tanh(total) + row, x), rtol=1e-6)
