"""SparseTensor and tf.sparse against dense NumPy: values, gradients of both orders, Functions, errors, specs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastgraph as fg
from fastgraph.composites.sparse_matrices import CSRSparseMatrix
from fastgraph.errors import InvalidArgumentError

settings.register_profile("sparse", max_examples=25, deadline=None)
SPARSE = settings.get_profile("sparse")


def dense(sp: Any) -> np.ndarray[Any, Any]:
    """The dense array of a SparseTensor, made without tf.sparse; repeated indices add up."""
    made = np.zeros(sp.dense_shape.numpy(), sp.values.numpy().dtype)
    np.add.at(made, tuple(sp.indices.numpy().T), sp.values.numpy())
    return made


def drawn(rng: np.random.Generator, shape: tuple[int, ...], dtype: str = "float32") -> Any:
    array = rng.integers(-4, 5, shape).astype(dtype)
    array[rng.random(shape) < 0.5] = 0
    indices = np.argwhere(array)
    return fg.SparseTensor(indices.reshape(-1, len(shape)), array[array != 0], shape)


SHAPES = st.lists(st.integers(1, 4), min_size=2, max_size=3).map(tuple)
SEEDS = st.integers(0, 2**32 - 1)

A = fg.SparseTensor([[0, 1], [1, 0], [1, 2]], [1.0, 2.0, 3.0], [2, 3])
B = fg.SparseTensor([[0, 0], [0, 1]], [-1.0, 0.5], [2, 3])
OTHER = fg.SparseTensor([[0, 0], [1, 0], [1, 2]], [1.0, 2.0, 3.0], [2, 3])
DENSE = np.array([[1, 2, 3], [4, 5, 6]], np.float32)

#: Name -> (what it does, what NumPy does to the dense array); the result is a SparseTensor.
TO_SPARSE: dict[str, Any] = {
    "reorder": (fg.sparse.reorder, lambda x: x),
    "reshape": (lambda s: fg.sparse.reshape(s, [-1, 2]), lambda x: x.reshape(-1, 2)),
    "flat": (lambda s: fg.sparse.reshape(s, [-1]), lambda x: x.reshape(-1)),
    "transpose": (fg.sparse.transpose, lambda x: x.T),
    "slice": (lambda s: fg.sparse.slice(s, [0, 1], [2, 5]), lambda x: x[0:2, 1:6]),
    "split": (lambda s: fg.sparse.split(s, 2, 1)[0], lambda x: np.array_split(x, 2, 1)[0]),
    "split_end": (lambda s: fg.sparse.split(s, 2, -1)[1], lambda x: np.array_split(x, 2, 1)[1]),
    "concat_0": (lambda s: fg.sparse.concat(0, [s, s]), lambda x: np.concatenate([x, x], 0)),
    "concat_1": (lambda s: fg.sparse.concat(-1, [s, s]), lambda x: np.concatenate([x, x], 1)),
    "expand_dims": (lambda s: fg.sparse.expand_dims(s, 1), lambda x: x[:, None]),
    "expand_end": (fg.sparse.expand_dims, lambda x: x[..., None]),
    "map_values": (lambda s: fg.sparse.map_values(fg.multiply, s, 2.0), lambda x: x * 2),
    "add": (lambda s: fg.sparse.add(s, fg.sparse.map_values(fg.square, s)), lambda x: x + x * x),
    "maximum": (lambda s: fg.sparse.maximum(s, s.with_values(-s.values)), np.abs),
    "minimum": (lambda s: fg.sparse.minimum(s, s.with_values(-s.values)), lambda x: -np.abs(x)),
    "sum_sparse": (lambda s: fg.sparse.reduce_sum(s, 1, output_is_sparse=True), lambda x: x.sum(1)),
    "sum_sparse_kept": (lambda s: fg.sparse.reduce_sum(s, 0, True, True), lambda x: x.sum(0, keepdims=True)),
    "times": (lambda s: s * fg.constant([[2.0], [3.0]]), lambda x: x * np.array([[2], [3]], np.float32)),
    "over": (lambda s: s / 4.0, lambda x: x / 4),
    "tanh": (fg.tanh, np.tanh),
    "filled": (lambda s: fg.sparse.fill_empty_rows(s, 7.0)[0], lambda x: x),
}
TO_DENSE: dict[str, Any] = {
    "to_dense": (fg.sparse.to_dense, lambda x: x),
    "sum": (fg.sparse.reduce_sum, lambda x: x.sum()),
    "sum_0": (lambda s: fg.sparse.reduce_sum(s, 0), lambda x: x.sum(0)),
    "sum_kept": (lambda s: fg.sparse.reduce_sum(s, -1, keepdims=True), lambda x: x.sum(-1, keepdims=True)),
    "sum_none": (lambda s: fg.sparse.reduce_sum(s, []), lambda x: x),
    "max_1": (lambda s: fg.sparse.reduce_max(s, 1), lambda x: x.max(1)),
    "add_dense": (lambda s: fg.sparse.add(s, DENSE), lambda x: x + DENSE),
    "add_to_dense": (lambda s: fg.sparse.add(fg.constant(DENSE), s), lambda x: x + DENSE),
    "matmul": (lambda s: fg.sparse.sparse_dense_matmul(s, DENSE.T), lambda x: x @ DENSE.T),
    "matmul_a": (lambda s: fg.sparse.sparse_dense_matmul(s, DENSE, adjoint_a=True), lambda x: x.T @ DENSE),
    "matmul_b": (lambda s: fg.sparse.sparse_dense_matmul(s, DENSE, adjoint_b=True), lambda x: x @ DENSE.T),
    "matmul_right": (lambda s: fg.sparse.sparse_dense_matmul(DENSE.T, s), lambda x: DENSE.T @ x),
}
EVERY = {**TO_SPARSE, **TO_DENSE}
SPECS = {"known": fg.SparseTensorSpec([2, 3]), "unknown": fg.SparseTensorSpec([None, None])}


def outcome(result: Any) -> np.ndarray[Any, Any]:
    return dense(result) if isinstance(result, fg.SparseTensor) else np.asarray(result)


@pytest.mark.parametrize("name", EVERY)
def test_values_are_those_of_the_dense_array(name: str) -> None:
    function, expected = EVERY[name]
    np.testing.assert_allclose(outcome(function(A)), expected(dense(A)), rtol=1e-6)


@pytest.mark.parametrize("sizes", SPECS)
@pytest.mark.parametrize("name", EVERY)
def test_a_function_gives_what_eager_gives(name: str, sizes: str) -> None:
    function, _ = EVERY[name]
    compiled = fg.function(function, input_signature=[SPECS[sizes]])
    for sp in (A, fg.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 3])):
        result, eager = compiled(sp), function(sp)
        assert type(result) is type(eager)
        np.testing.assert_allclose(outcome(result), outcome(eager), rtol=1e-6)
        if isinstance(eager, fg.SparseTensor):
            np.testing.assert_array_equal(result.indices, eager.indices)
    assert compiled.experimental_get_tracing_count() == 1


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("name", EVERY)
def test_gradients_of_both_orders_with_respect_to_the_values(name: str, staged: bool) -> None:
    function, _ = EVERY[name]

    def loss(values: Any) -> Any:
        result = function(A.with_values(values))
        result = result.values if isinstance(result, fg.SparseTensor) else result
        weights = fg.reshape(fg.range(1, fg.size(result) + 1), fg.shape(result))
        return fg.reduce_sum(result * result * result * fg.cast(weights, result.dtype))

    def both(values: Any) -> Any:
        with fg.GradientTape() as outer:
            outer.watch(values)
            with fg.GradientTape() as inner:
                inner.watch(values)
                total = loss(values)
            first = inner.gradient(total, values)
        return first, outer.gradient(first, values)

    x = A.values.numpy().astype(np.float64)

    def at(x: np.ndarray[Any, Any]) -> float:
        return float(loss(fg.constant(x, "float32")))

    first, second = (fg.function(both) if staged else both)(fg.constant(x, "float32"))
    step = 2.0**-6
    numeric = [(at(x + step * e) - at(x - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(first, numeric, rtol=2e-2, atol=2e-2)

    def slope(x: np.ndarray[Any, Any]) -> float:
        with fg.GradientTape() as tape:
            values = fg.constant(x, "float32")
            tape.watch(values)
            total = loss(values)
        return float(np.sum(tape.gradient(total, values)))

    numeric = [(slope(x + step * e) - slope(x - step * e)) / (2 * step) for e in np.eye(3)]
    np.testing.assert_allclose(second, numeric, rtol=2e-2, atol=2e-2)


@SPARSE
@given(SHAPES, SEEDS)
def test_drawn_sparse_tensors(shape: tuple[int, ...], seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = drawn(rng, shape), drawn(rng, shape)
    x, y = dense(a), dense(b)
    np.testing.assert_array_equal(fg.sparse.to_dense(a), x)
    np.testing.assert_array_equal(dense(fg.sparse.from_dense(x)), x)
    np.testing.assert_array_equal(fg.sparse.to_dense(a, -9.0), np.where(x == 0, -9, x))
    np.testing.assert_array_equal(fg.sparse.to_dense(fg.sparse.add(a, b)), x + y)
    np.testing.assert_array_equal(fg.sparse.to_dense(fg.sparse.maximum(a, b)), np.maximum(x, y))
    np.testing.assert_array_equal(fg.sparse.to_dense(fg.sparse.minimum(a, b)), np.minimum(x, y))
    np.testing.assert_array_equal(dense(a * fg.constant(y)), x * y)
    order = rng.permutation(len(shape))
    np.testing.assert_array_equal(fg.sparse.to_dense(fg.sparse.transpose(a, order)), x.transpose(order))
    axes = [int(i) for i in range(len(shape)) if rng.random() < 0.5]
    np.testing.assert_array_equal(fg.sparse.reduce_sum(a, axes), x.sum(tuple(axes)))
    np.testing.assert_array_equal(
        fg.sparse.to_dense(fg.sparse.reduce_sum(a, axes, True, True)), x.sum(tuple(axes), keepdims=True)
    )
    axis = int(rng.integers(-len(shape), len(shape)))
    joined = fg.sparse.concat(axis, [a, b, a])
    np.testing.assert_array_equal(fg.sparse.to_dense(joined), np.concatenate([x, y, x], axis))
    parts = fg.sparse.split(joined, 3, axis)
    for part, expected in zip(parts, (x, y, x), strict=True):
        np.testing.assert_array_equal(fg.sparse.to_dense(part), expected)
    start = [int(rng.integers(0, n + 1)) for n in shape]
    block = fg.sparse.slice(a, start, [2] * len(shape))
    np.testing.assert_array_equal(fg.sparse.to_dense(block), x[tuple(slice(i, i + 2) for i in start)])


@SPARSE
@given(SEEDS, st.sampled_from(["float32", "float64", "complex64", "int32", "float16"]), st.booleans(), st.booleans())
def test_products(seed: int, dtype: str, adjoint_a: bool, adjoint_b: bool) -> None:
    rng = np.random.default_rng(seed)
    sp = drawn(rng, (3, 4), dtype)
    if dtype == "complex64":
        sp = sp.with_values(sp.values * (1 + 2j))
    x = dense(sp)
    a = x.conj().T if adjoint_a else x
    b = rng.integers(-3, 4, (a.shape[1], 2)).astype(dtype)
    given_b = b.conj().T if adjoint_b else b
    result = fg.sparse.sparse_dense_matmul(sp, given_b, adjoint_a, adjoint_b)
    assert result.dtype == sp.dtype
    np.testing.assert_allclose(result, a @ b, rtol=1e-3)
    left = rng.integers(-3, 4, (2, a.shape[0])).astype(dtype)
    result = fg.sparse.sparse_dense_matmul(left, sp, adjoint_b=adjoint_a)
    np.testing.assert_allclose(result, left @ a, rtol=1e-3)


def test_softmax_is_over_the_values_there_are() -> None:
    sp = fg.SparseTensor([[0, 0, 0], [0, 0, 1], [1, 1, 0]], [1.0, 2.0, 3.0], [2, 2, 2])
    e = np.exp([1.0, 2.0])
    np.testing.assert_allclose(fg.sparse.softmax(sp).values, [*(e / e.sum()), 1.0], rtol=1e-6)
    with pytest.raises(InvalidArgumentError, match="Input should have rank >= 2"):
        fg.sparse.softmax(fg.SparseTensor([[0]], [1.0], [2]))
    with pytest.raises(InvalidArgumentError, match="int32 is not in the list"):
        fg.sparse.softmax(fg.SparseTensor([[0, 0]], [1], [2, 2]))


def test_reduce_max_leaves_out_what_is_not_there() -> None:
    negative = A.with_values([-1.0, -2.0, -3.0])
    np.testing.assert_array_equal(fg.sparse.reduce_max(negative, 0), [-2, -1, -3])
    np.testing.assert_array_equal(fg.sparse.reduce_max(B, 1), [0.5, 0])
    assert fg.sparse.reduce_max(fg.SparseTensor(np.zeros([0, 1], int), np.zeros(0, np.int32), [3])).numpy() == 0


def test_fill_empty_rows() -> None:
    sp, empty = fg.sparse.fill_empty_rows(fg.SparseTensor([[0, 1], [2, 0]], [1.0, 2.0], [4, 3]), 9.0)
    np.testing.assert_array_equal(sp.indices, [[0, 1], [1, 0], [2, 0], [3, 0]])
    np.testing.assert_array_equal(sp.values, [1, 9, 2, 9])
    np.testing.assert_array_equal(empty, [False, True, False, True])
    with pytest.raises(InvalidArgumentError, match="default_value must be a scalar"):
        fg.sparse.fill_empty_rows(A, [9.0])


def test_small_ones() -> None:
    np.testing.assert_array_equal(dense(fg.sparse.eye(2, 3)), np.eye(2, 3))
    np.testing.assert_array_equal(fg.sparse.reset_shape(B).dense_shape, [1, 2])
    np.testing.assert_array_equal(fg.sparse.reset_shape(B, [4, 5]).dense_shape, [4, 5])
    kept = fg.sparse.retain(A, [True, False, True])
    np.testing.assert_array_equal(dense(kept), [[0, 1, 0], [0, 0, 3]])
    ids = fg.SparseTensor([[0, 0], [1, 1]], [3, 1], [2, 2])
    np.testing.assert_array_equal(np.argwhere(fg.sparse.to_indicator(ids, 5)), [[0, 3], [1, 1]])
    slices = fg.IndexedSlices(fg.constant([[1.0], [2.0], [3.0]]), fg.constant([1, 4, 7]), fg.constant([10, 1]))
    np.testing.assert_array_equal(fg.sparse.mask(slices, [4]).indices, [1, 7])
    assert len(fg.sparse.add(A, A.with_values([-1.0, 5.0, 0.0]), 0.5).values) == 2
    np.testing.assert_array_equal(fg.size(A), 6)
    np.testing.assert_array_equal(fg.shape(A), [2, 3])
    wide = fg.sparse.concat(0, [A, fg.SparseTensor([[0, 0]], [1.0], [2, 4])], expand_nonconcat_dims=True)
    assert wide.shape == [4, 4]
    _, made, _ = fg.sparse.sampled_addmm([[0, 1], [1, 0]], [1.0, 2.0], [2, 3], np.ones([2, 4]), np.ones([4, 3]), 2.0)
    np.testing.assert_array_equal(made, [6, 8])
    text = fg.SparseTensor([[1]], ["a"], [2])
    assert fg.sparse.to_dense(text).numpy().tolist() == [b"", b"a"]


def test_segments() -> None:
    data, ids = np.arange(8.0, dtype=np.float32).reshape(4, 2), [0, 0, 2]
    np.testing.assert_array_equal(fg.sparse.segment_sum(data, [0, 1, 3], ids), [[2, 4], [0, 0], [6, 7]])
    np.testing.assert_array_equal(fg.sparse.segment_mean(data, [0, 1, 3], ids, 4), [[1, 2], [0, 0], [6, 7], [0, 0]])
    np.testing.assert_allclose(fg.sparse.segment_sqrt_n(data, [0, 1, 3], ids)[0], [2**0.5, 8**0.5], rtol=1e-6)
    for wrong in ([0, 1, 3], [0, 0, 9]), ([0, 1, 9], ids):
        with pytest.raises(InvalidArgumentError):
            fg.sparse.segment_sum(data, *wrong, num_segments=3)
    with pytest.raises(InvalidArgumentError, match="segment_ids and indices should have same size"):
        fg.sparse.segment_sum(data, [0, 1], ids)


def test_bincount() -> None:
    np.testing.assert_array_equal(dense(fg.sparse.bincount([1, 2, 2, 4])), [0, 1, 2, 0, 1])
    rows = fg.sparse.bincount([[1, 2, 2], [0, 0, 5]], axis=-1)
    np.testing.assert_array_equal(dense(rows), [[0, 1, 2, 0, 0, 0], [2, 0, 0, 0, 0, 1]])
    weighted = fg.sparse.bincount([1, 2, 2], weights=[1.0, 2.0, 3.0])
    np.testing.assert_array_equal(dense(weighted), [0, 1, 5])
    short = fg.sparse.bincount([[1, 2, 2, 4]], binary_output=True, axis=-1, minlength=9, maxlength=4)
    np.testing.assert_array_equal(dense(short), [[0, 1, 1, 0]])
    assert fg.sparse.bincount([1], minlength=6).shape == [6]
    with pytest.raises(InvalidArgumentError, match="non-negative"):
        fg.sparse.bincount([-1])


def test_weights_of_other_places_are_refused() -> None:
    sparse = fg.sparse.from_dense
    values, longer = sparse([[3, 0, 1], [0, 5, 4]]), sparse([[3, 0, 1], [0, 5, 4], [0, 0, 0]])
    rows = fg.ragged.constant([[3, 0, 1], [], [5, 4]])
    cases = [
        (values, longer, "same dense shape"),
        (values, sparse([[3, 0, 1], [5, 0, 4]]), "same indices"),
        (rows, fg.ragged.constant([[3, 0, 1], [2], [5]]), "same row splits"),
        (rows, fg.ragged.constant([[[3, 0, 1], [5, 4]]]), "same row splits"),
    ]
    for count in fg.sparse.bincount, fg.math.bincount:
        for axis in (-1, None):
            for ids, weights, text in cases:
                with pytest.raises(InvalidArgumentError, match=text):
                    count(ids, weights=weights, axis=axis)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("weighted", [False, True])
def test_embedding_lookup_sparse(combiner: str, weighted: bool) -> None:
    table = np.array([[1.0, 2], [3, 4], [5, 6]], np.float32)
    ids = fg.SparseTensor([[0, 0], [0, 1], [2, 0]], [0, 2, 1], [4, 2])
    w = np.array([1.0, 3, 2], np.float32) if weighted else np.ones(3, np.float32)
    weights = ids.with_values(w) if weighted else None
    rows = np.zeros([3, 2], np.float32)
    for row, members in {0: [0, 1], 2: [2]}.items():
        total = sum(w[i] * table[[0, 2, 1][i]] for i in members)
        by = {"sum": 1.0, "mean": w[members].sum(), "sqrtn": np.sqrt((w[members] ** 2).sum())}[combiner]
        rows[row] = total / by
    found = np.asarray(fg.nn.embedding_lookup_sparse(table, ids, weights, combiner))
    np.testing.assert_allclose(found[[0, 2]], rows[[0, 2]], rtol=1e-6)
    safe = fg.nn.safe_embedding_lookup_sparse(table, ids, weights, combiner)
    np.testing.assert_allclose(safe, np.concatenate([rows, np.zeros([1, 2])]), rtol=1e-6)
    filled = fg.nn.safe_embedding_lookup_sparse(table, ids, weights, combiner, default_id=1)
    np.testing.assert_allclose(np.asarray(filled)[[1, 3]], [[3, 4], [3, 4]])
    with fg.GradientTape() as tape:
        variable = fg.Variable(table)
        total = fg.reduce_sum(fg.nn.safe_embedding_lookup_sparse(variable, ids, weights, combiner))
    assert fg.convert_to_tensor(tape.gradient(total, variable)).shape == [3, 2]


def test_what_it_is() -> None:
    assert A.shape == [2, 3] and A.get_shape() == [2, 3] and A.dtype == fg.float32 and A.rank == 2
    assert repr(A).startswith("SparseTensor(indices=tf.Tensor(\n[[0 1]\n [1 0]")
    assert fg.is_tensor(A) and A.consumers() == []
    assert A.with_values([1, 2, 3]).dtype == fg.int32
    for attribute in ("op", "graph"):
        with pytest.raises(AttributeError, match="undefined when eager execution"):
            getattr(A, attribute)
    with pytest.raises(TypeError, match="not iterable"):
        iter(A)  # type: ignore[call-overload]
    with pytest.raises(ValueError, match="with an unsupported type"):
        fg.convert_to_tensor(A)
    for wrong in (lambda: fg.add(A, 1.0), lambda: fg.matmul(A, DENSE.T), lambda: fg.ones([2, 3]) + A, lambda: A * A):
        with pytest.raises(ValueError, match="with an unsupported type"):
            wrong()
    with pytest.raises(TypeError, match="neither a SparseTensor"):
        fg.SparseTensor.from_value([1])


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (([0, 1], [1.0, 2.0], [2]), "must have rank 2"),
        (([[0], [1]], [1.0], [2]), "Dimensions 2 and 1 are not compatible"),
        (([[0], [1]], [1.0, 2.0], [2, 2]), "Dimensions 1 and 2 are not compatible"),
        (([[0]], [[1.0]], [2]), "must have rank 1"),
        ((None, [1.0], [2]), "unsupported type"),
    ],
)
def test_parts_that_do_not_fit(given: Any, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        fg.SparseTensor(*given)


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize(
    ("indices", "text"),
    [
        ([[1, 0], [0, 1]], r"indices\[1\] = \[0,1\] is out of order"),
        ([[0, 1], [0, 1]], r"indices\[1\] = \[0,1\] is repeated"),
        ([[0, 1], [5, 0]], r"indices\[1\] = \[5,0\] is out of bounds: need 0 <= index < \[2,3\]"),
        ([[0, 1], [0, -1]], r"indices\[1\] = \[0,-1\] is out of bounds"),
    ],
)
def test_wrong_indices(indices: Any, text: str, staged: bool) -> None:
    sp = fg.SparseTensor(indices, [1.0, 2.0], [2, 3])
    make = fg.function(fg.sparse.to_dense) if staged else fg.sparse.to_dense
    with pytest.raises(InvalidArgumentError, match=text):
        make(sp)
    loose = fg.function(lambda s: fg.sparse.to_dense(s, validate_indices=False))
    if "bounds" in text:
        for function in (loose, loose.python_function):
            with pytest.raises(InvalidArgumentError, match="Indices are not valid"):
                function(sp)
        with pytest.raises(InvalidArgumentError):
            fg.sparse.reduce_sum(sp, [])
        with pytest.raises(InvalidArgumentError):
            fg.sparse.sparse_dense_matmul(sp, DENSE.T)
    else:
        last = np.zeros([2, 3])
        for at, value in zip(indices, [1, 2], strict=True):
            last[tuple(at)] = value
        np.testing.assert_array_equal(loose(sp), last)


def test_reshape_to_a_shape_of_any_length():
    dense = fg.sparse.to_dense
    shapes = [[3, 2], [6], [-1], [1, -1, 3], [2, 3]]
    signature = [fg.TensorSpec([None, None]), fg.TensorSpec([None], fg.int64)]
    call = fg.function(lambda x, s: dense(fg.sparse.reshape(fg.sparse.from_dense(x), s)), input_signature=signature)
    for shape in shapes:
        np.testing.assert_array_equal(call(DENSE, fg.constant(shape, fg.int64)), np.reshape(DENSE, shape))
        x = fg.constant(DENSE)
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = call(x, fg.constant(shape, fg.int64)) ** 2
        np.testing.assert_array_equal(tape.gradient(y, x), 2 * DENSE)
    with pytest.raises(InvalidArgumentError):
        call(DENSE, fg.constant([4], fg.int64))


@pytest.mark.parametrize(
    ("function", "error", "text"),
    [
        (lambda: fg.sparse.to_dense(fg.ones([2])), TypeError, "Input must be a SparseTensor"),
        (lambda: fg.sparse.to_dense(A, [1.0, 2.0]), InvalidArgumentError, "default_value should be a scalar"),
        (lambda: fg.sparse.sparse_dense_matmul(A, DENSE), InvalidArgumentError, "inner dimension does not match: 3 vs. 2"),
        (lambda: fg.sparse.sparse_dense_matmul(A, [1.0]), InvalidArgumentError, "not a matrix"),
        (lambda: fg.sparse.reshape(A, [4]), InvalidArgumentError, "6 dense values, but the requested shape has 4"),
        (lambda: fg.sparse.reshape(A, [-1, -1]), InvalidArgumentError, "only one output dimension may be -1"),
        (lambda: fg.sparse.reshape(A, [-1, 4]), InvalidArgumentError, "requires a multiple of 4"),
        (lambda: fg.sparse.reset_shape(A, [1, 5]), ValueError, "dimension sizes >="),
        (lambda: fg.sparse.transpose(A, [0]), ValueError, "Dimensions 1 and 2 are not compatible"),
        (lambda: fg.sparse.slice(A, [0], [2]), InvalidArgumentError, "Expected start to be a vector of length 2"),
        (lambda: fg.sparse.split(A, 4, 1), InvalidArgumentError, r"between 1 and the splitting dimension size \(3\), got 4"),
        (lambda: fg.sparse.split(A, 2, 2), InvalidArgumentError, r"range \[-2, 2\), got 2"),
        (lambda: fg.sparse.split(sp_input=A), ValueError, "num_split is required"),
        (lambda: fg.sparse.concat(0, A), TypeError, "Inputs must be a list or tuple"),
        (lambda: fg.sparse.concat(0, [A, fg.sparse.eye(2, 4)]), InvalidArgumentError, "expected 3 for dimension 1 but got 4"),
        (lambda: fg.sparse.concat(3, [A, A]), InvalidArgumentError, r"range \[-2, 2\), got 3"),
        (lambda: fg.sparse.expand_dims(A, 9), InvalidArgumentError, r"in \[0, 2\], but got 9"),
        (lambda: fg.sparse.retain(A, [True]), ValueError, "Dimensions 3 and 1 are not compatible"),
        (lambda: fg.sparse.map_values(fg.add, A, OTHER), InvalidArgumentError, "Mismatched indices"),
        (lambda: fg.sparse.map_values(fg.add, 1, 2), ValueError, "No SparseTensor in argument list"),
        (lambda: fg.sparse.map_values(lambda v: v[:1], A), ValueError, "Dimensions 3 and 1 are not compatible"),
        (lambda: fg.sparse.add(A, fg.sparse.eye(2, 4)), InvalidArgumentError, "got 3 and 4 for dimension 1"),
        (lambda: fg.sparse.add(A, [1.0]), InvalidArgumentError, "different ranks; received: 2 and 1"),
        (lambda: fg.sparse.add(fg.ones([2]), fg.ones([2])), TypeError, "At least one input should be SparseTensor"),
        (lambda: fg.sparse.reduce_sum(A, 2), InvalidArgumentError, "Invalid reduction dimension 2"),
        (lambda: A * fg.ones([3, 3]), InvalidArgumentError, "broadcasts dense to sparse only"),
        (lambda: fg.sparse.eye([2, 3]), TypeError, "num_rows must be an integer value"),
        (lambda: fg.sparse.from_dense(5), InvalidArgumentError, "Unhandled input dimensions: 0"),
    ],
)  # fmt: skip
def test_errors(function: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        function()


def test_specs_and_nesting() -> None:
    spec = fg.SparseTensorSpec([None, 3])
    assert repr(spec) == "SparseTensorSpec(TensorShape([None, 3]), tf.float32)"
    assert spec.is_compatible_with(A) and not fg.SparseTensorSpec([3, 3]).is_compatible_with(A)
    assert not fg.SparseTensorSpec([None, 3], fg.int32).is_compatible_with(A)
    assert fg.type_spec_from_value(A) == fg.SparseTensorSpec.from_value(A) == fg.SparseTensorSpec([2, 3])
    assert spec.value_type is fg.SparseTensor and spec.shape == [None, 3] and spec.dtype == fg.float32
    parts = fg.nest.flatten({"a": A}, expand_composites=True)
    assert [part.shape for part in parts] == [[3, 2], [3], [2]]
    again = fg.nest.pack_sequence_as({"a": A}, parts, expand_composites=True)["a"]
    np.testing.assert_array_equal(dense(again), dense(A))
    doubled = fg.nest.map_structure(lambda t: t * 2, A, expand_composites=True)
    np.testing.assert_array_equal(doubled.values, A.values * 2)


def test_in_functions_one_trace_per_shape_not_per_number_of_values() -> None:
    seen = []

    @fg.function
    def total(sp: Any) -> Any:
        seen.append(sp.shape)
        return fg.reduce_sum(sp.values), sp

    assert total(A)[0].numpy() == 6 and total(B)[0].numpy() == -0.5
    assert seen == [[2, 3]]
    assert total(fg.sparse.eye(4))[0].numpy() == 4
    assert seen == [[2, 3], [4, 4]]
    returned = total(B)[1]
    np.testing.assert_array_equal(dense(returned), dense(B))
    assert returned.shape == [2, 3]


def test_a_signature_and_relaxed_traces() -> None:
    shapes = []

    def double(sp: Any) -> Any:
        shapes.append(sp.shape)
        return sp.with_values(sp.values * 2)

    signed = fg.function(double, input_signature=[fg.SparseTensorSpec([None, 3])])
    assert dense(signed(A)).sum() == 12
    assert signed(fg.sparse.eye(5, 3)).shape == [5, 3]
    assert shapes == [[None, 3]]
    with pytest.raises(TypeError):
        signed(fg.sparse.eye(2, 4))
    shapes.clear()
    relaxed = fg.function(double, reduce_retracing=True)
    for n in (2, 3, 4):
        assert dense(relaxed(fg.sparse.eye(n))).sum() == 2 * n
    assert shapes == [[2, 2], [None, None]]


def test_gradients_of_a_sparse_source_and_through_branches() -> None:
    with fg.GradientTape() as tape:
        tape.watch(A)
        loss = fg.reduce_sum(fg.square(fg.sparse.to_dense(A)))
    found = tape.gradient(loss, A)
    assert isinstance(found, fg.SparseTensor)
    np.testing.assert_array_equal(found.values, A.values * 2)

    @fg.function
    def choose(flag: Any, sp: Any) -> Any:
        return fg.cond(flag, lambda: sp, lambda: sp.with_values(-sp.values))

    np.testing.assert_array_equal(choose(fg.constant(False), A).values, -A.values)
    np.testing.assert_array_equal(choose(fg.constant(True), A).values, A.values)


def test_the_shape_is_what_is_known_of_each_extent() -> None:
    seen = []

    @fg.function(input_signature=[fg.TensorSpec([None, 3])])
    def f(x: object) -> object:
        rows = fg.shape(x)[0]
        sparse = fg.SparseTensor([[0, 1, 1]], [2.0], (rows, 3, 3))
        seen.append(sparse.shape.as_list())
        return fg.sparse.to_dense(sparse)

    assert f(fg.ones([2, 3])).shape == [2, 3, 3] and seen == [[None, 3, 3]]


def test_a_mask_of_slices_whose_indices_are_a_list() -> None:
    left = fg.sparse.mask(fg.IndexedSlices(fg.ones([2, 2]), [0, 3]), [3])
    assert left.indices.numpy().tolist() == [0] and left.values.shape == [1, 2]


def test_the_extents_of_distances_are_known_where_those_of_the_sequences_are() -> None:
    @fg.function
    def distances() -> Any:
        one = fg.SparseTensor([[0, 0, 0], [1, 0, 1]], ["a", "b"], [2, 1, 2])
        found = fg.edit_distance(one, fg.SparseTensor([[0, 0, 0], [0, 1, 0]], ["a", "a"], [1, 2, 3]), normalize=False)
        assert found.shape.as_list() == [2, 2]
        return found

    assert distances().numpy().tolist() == [[0.0, 1.0], [1.0, 0.0]]


DENSE = np.array([[1, 0, 2], [0, 0, 3]], "f")
BATCH = np.array([[[1, 0], [0, 2]], [[0, 3], [4, 5]]], "f")


def by_rows(array: np.ndarray) -> Any:
    return fg.raw_ops.DenseToCSRSparseMatrix(dense_input=array, indices=np.argwhere(array))


def test_raw_operations_on_matrices_by_rows() -> None:
    raw, one, many = fg.raw_ops, by_rows(DENSE), by_rows(BATCH)

    def dense(matrix: Any) -> Any:
        return raw.CSRSparseMatrixToDense(sparse_input=matrix, type=fg.float32).numpy()

    def components(matrix: Any, index: int) -> list[Any]:
        return [part.numpy().tolist() for part in raw.CSRSparseMatrixComponents(
            csr_sparse_matrix=matrix, index=index, type=fg.float32)]  # fmt: skip

    turned = raw.SparseMatrixTranspose(input=one, type=fg.float32)
    assert (dense(one) == DENSE).all() and (dense(many) == BATCH).all() and (dense(turned) == DENSE.T).all()
    assert components(one, 0) == [[0, 2, 3], [0, 2, 2], [1, 2, 3]]
    assert components(many, 1) == [[0, 1, 3], [1, 0, 1], [3, 4, 5]]
    assert (dense(raw.SparseMatrixAdd(a=one, b=one, alpha=2.0, beta=0.5)) == 2.5 * DENSE).all()
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    product = raw.SparseMatrixMatMul(a=one, b=x, transpose_a=True, transpose_output=True)
    assert (product.numpy() == (DENSE.T @ x).T).all()
    assert (dense(raw.SparseMatrixMul(a=many, b=[[[2.0]], [[3.0]]])) == BATCH * [[[2]], [[3]]]).all()
    assert raw.SparseMatrixNNZ(sparse_matrix=many).numpy().tolist() == [2, 3]
    found = raw.SparseMatrixSparseMatMul(a=one, b=one, type=fg.float32, transpose_b=True)
    assert (dense(found) == DENSE @ DENSE.T).all()
    assert dense(raw.SparseMatrixZeros(dense_shape=[2, 3], type=fg.float32)).tolist() == [[0] * 3] * 2
    assert dense(raw.SparseMatrixSoftmax(logits=one, type=fg.float32))[1].tolist() == [0, 0, 1]
    mixed = raw.SparseTensorToCSRSparseMatrix(indices=[[1, 0], [0, 1]], values=[1.0, 2.0], dense_shape=[2, 2])
    assert components(mixed, 0) == [[0, 1, 2], [1, 0], [2, 1]]
    parts = raw.CSRSparseMatrixToSparseTensor(sparse_matrix=mixed, type=fg.float32)
    assert parts.indices.numpy().tolist() == [[0, 1], [1, 0]] and parts.values.numpy().tolist() == [2, 1]
    for refused in (
        lambda: raw.CSRSparseMatrixToDense(sparse_input=one, type=fg.float64),
        lambda: raw.SparseMatrixNNZ(sparse_matrix=fg.constant(1.0)),
        lambda: raw.SparseMatrixAdd(a=one, b=many, alpha=1.0, beta=1.0),
        lambda: raw.SparseMatrixMul(a=one, b=DENSE),
    ):
        with pytest.raises(fg.errors.InvalidArgumentError):
            refused()


def test_sorted_indices_of_a_matrix_by_rows() -> None:
    mixed = CSRSparseMatrix(fg.SparseTensor([[1, 0], [0, 1]], [1.0, 2.0], [2, 2]))
    assert mixed.sorted_indices().to_sparse_tensor().values.numpy().tolist() == [2.0, 1.0]
