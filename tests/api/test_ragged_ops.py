"""Ops that take RaggedTensors beside dense tensors: products, squeeze, dropout, deviations, gradients of one's own."""

import numpy as np
import pytest

import fastgraph as fg
from fastgraph import errors

INVALID = errors.InvalidArgumentError
R = fg.ragged.constant
A = R([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]])
B = R([[[1.0, 2.0], [3.0, 4.0]], [[5.0], [7.0]]])


def both(f, *arguments):
    """What f gives, eagerly and in a Function, which must agree."""
    eager, traced = f(*arguments), fg.function(f)(*arguments)
    left, right = ((x.to_list() if isinstance(x, fg.RaggedTensor) else x.numpy().tolist()) for x in (eager, traced))
    assert left == right
    return eager


@pytest.mark.parametrize(
    ("values", "axis", "shape", "rank"),
    [
        ([[1, 2], [3, 4, 5]], 0, (2, None), 1),
        ([[1, 2]], 0, (1, None), 1),
        ([[[1, 2]], [[3, 4, 5], [1, 2, 3]]], 0, (2, None, None), 2),
        ([np.ones([1, 2, 3]), np.ones([2, 1, 3])], 0, (2, None, None, 3), 2),
        ([np.ones([2, 3]), np.ones([2, 3])], 1, (2, 2, 3), None),
        ([np.ones([2, 3])], 2, (2, 3, 1), None),
    ],
)
def test_stack_of_dense_tensors(values, axis, shape, rank):
    tensors = [fg.constant(value) for value in values]
    found = both(lambda *x: fg.ragged.stack(x, axis), *tensors)
    assert tuple(found.shape) == shape and getattr(found, "ragged_rank", None) == rank
    if rank:
        assert found.to_list() == [np.asarray(value).tolist() for value in values]


def test_stack_of_tensors_of_other_ranks():
    for axis in (0, 1):
        with pytest.raises(ValueError, match="must have rank 2"):
            fg.ragged.stack([fg.ones([2, 3]), fg.ones([1])], axis)


@pytest.mark.parametrize(
    ("axis", "expected"),
    [(0, [[2.25, 0.0], [0.0]]), (1, [[1.0, 0.0], [0.0]]), (2, [[0.25, 0.0], [0.0]]), ([0, 2], [14 / 9, 0.0])],
)
def test_variance(axis, expected):
    x = R([[[1.0, 2.0], [3.0]], [[4.0]]])
    for offset in (0.0, 1000.0):  # little cancels
        found = both(lambda x: fg.math.reduce_variance(x, axis), x + offset)
        np.testing.assert_allclose(fg.nest.flatten(found.to_list() if hasattr(found, "to_list") else list(found)),
                                   fg.nest.flatten(expected), atol=1e-4)  # fmt: skip
    np.testing.assert_allclose(float(fg.math.reduce_std(x)), np.std([1, 2, 3, 4]), rtol=1e-6)


def test_deviations_of_rows():
    np.testing.assert_array_equal(fg.math.reduce_std(R([[1.0, 3.0], [], [5.0]]), 1), [1.0, np.nan, 0.0])
    assert fg.math.reduce_variance(R([[1, 2], [3]]), 1).dtype == fg.float64
    assert fg.math.reduce_variance(R([[1.0, 2.0], [3.0]]), 1, keepdims=True).shape == (2, 1)
    with pytest.raises(ValueError, match="complex"):
        fg.math.reduce_variance(R([[1 + 2j]]), 1)
    x = fg.constant([1.0, 3.0, 5.0])
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = fg.math.reduce_variance(fg.RaggedTensor.from_row_lengths(x, [2, 1]), 1)
    np.testing.assert_allclose(tape.gradient(y, x), [-1.0, 1.0, 0.0], atol=1e-6)


def test_one_hot_along_ragged_axes():
    x = R([[1, 2], [0]])
    for axis in (None, -1, 2):
        assert fg.one_hot(x, 3, axis=axis).to_list() == [[[0, 1, 0], [0, 0, 1]], [[1, 0, 0]]]
    for axis in (0, 1):
        with pytest.raises(ValueError, match=rf"axis \({axis}\) must be greater than indices.ragged_rank \(1\)"):
            fg.one_hot(x, 3, axis=axis)
    inner = R([[[1, 2], [0, 0]]], ragged_rank=1)
    assert tuple(fg.one_hot(inner, 3, axis=2).shape) == (1, None, 3, 2)


def products(a, b):
    return [(np.array(x) @ np.array(y)).tolist() for x, y in zip(a, b, strict=True)]


def test_matmul():
    assert both(fg.matmul, A, B).to_list() == products(A.to_list(), B.to_list())
    dense = fg.ones([2, 2, 3])
    rows = R(A.to_list(), ragged_rank=1)
    found = both(fg.matmul, rows, dense)
    assert tuple(found.shape) == (2, None, 3) and found.to_list() == products(A.to_list(), dense.numpy())
    found = both(fg.matmul, fg.ones([2, 1, 2]), R([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0], [1.0, 1.0]]], ragged_rank=1))
    assert tuple(found.shape) == (2, 1, 2) and found.to_list() == [[[4.0, 6.0]], [[6.0, 7.0]]]
    assert both(lambda a: fg.matmul(a, a, transpose_b=True), A).to_list() == [[[5, 11], [11, 25]], [[61]]]
    assert both(lambda a: fg.matmul(a, a, transpose_a=True), A).to_list() == [
        [[10, 14], [14, 20]], [[25, 30], [30, 36]]
    ]  # fmt: skip
    deeper = fg.matmul(R([[[[1.0, 2.0]]], [[[1.0], [2.0]]]]), R([[[[1.0], [2.0]]], [[[1.0, 2.0]]]]))
    assert deeper.to_list() == [[[[5.0]]], [[[1.0, 2.0], [2.0, 4.0]]]]
    np.testing.assert_array_equal(fg.matmul(R([[1.0, 2.0], [3.0, 4.0]]), [[1.0], [2.0]]), [[5.0], [11.0]])


def test_matmul_has_gradients():
    with fg.GradientTape(persistent=True) as tape:
        tape.watch([A.flat_values, B.flat_values])
        y = fg.matmul(A, B)
    np.testing.assert_array_equal(tape.gradient(y.flat_values, A.flat_values), [3, 7, 3, 7, 5, 7])
    np.testing.assert_array_equal(tape.gradient(y.flat_values, B.flat_values), [4, 4, 6, 6, 5, 6])


@pytest.mark.parametrize(
    ("a", "b", "kind", "text"),
    [
        (R([[1.0, 2.0], [3.0]]), [[1.0], [2.0]], INVALID, "ragged in their innermost dimension"),
        (R([[[1.0, 2.0], [3.0]]]), fg.ones([1, 2, 1]), INVALID, "ragged in their innermost dimension"),
        (A, [[1.0], [2.0]], ValueError, "must have the same rank"),
        (R([[1.0, 2.0]]), R([[1], [2]]), ValueError, "must have the same dtype"),
        (R([[[1.0, 2.0]], [[3.0]]]), R([[[1.0]], [[3.0]]]), INVALID, "Matrix size-incompatible"),
    ],
)
def test_matrices_that_do_not_fit(a, b, kind, text):
    with pytest.raises(kind, match=text):
        fg.matmul(a, b)


@pytest.mark.parametrize(
    ("value", "axis", "expected"),
    [
        (R([[[1], [2]], [[3]]], ragged_rank=1), 2, [[1, 2], [3]]),
        (R([[[1], [2]], [[3]]]), -1, [[1, 2], [3]]),
        (R([[[1, 2], [2]]]), 0, [[1, 2], [2]]),
        (R([[[[1], [2]]], [[[3]]]]), [1, 3], [[1, 2], [3]]),
        (R([[[[1], [2]]]]), [0, 1], [[1], [2]]),
        (R([[1, 2]]), [0], [1, 2]),
        (R([[1, 2], [3]]), [], [[1, 2], [3]]),
    ],
)
def test_squeeze(value, axis, expected):
    found = both(lambda x: fg.squeeze(x, axis), value)
    assert (found.to_list() if isinstance(found, fg.RaggedTensor) else found.numpy().tolist()) == expected


def test_squeeze_of_other_axes():
    x = R([[[1, 2], [2]]])
    for axis, kind, text in (
        (None, ValueError, "must have an axis argument"),
        (1, INVALID, "the given axis .axis = 1. is not squeezable"),
        (2, INVALID, "the given axis .axis = 2. is not squeezable"),
        ([3], ValueError, r"axis\[0\]=3 out of bounds: expected -3<=axis\[0\]<3"),
    ):
        with pytest.raises(kind, match=text):
            fg.squeeze(x, axis)


def test_dropout():
    x = R([[1.0, 2.0], [3.0]])
    found = fg.nn.dropout(x, 0.5)
    assert all(v in (0.0, 2 * given) for v, given in zip(found.flat_values.numpy(), [1, 2, 3], strict=True))
    np.testing.assert_array_equal(fg.function(lambda x: fg.nn.dropout(x, 0.5).row_splits)(x), [0, 2, 3])
    assert fg.nn.experimental.stateless_dropout(x, 0.5, [1, 2]).to_list() == [[2.0, 0.0], [6.0]]
    with pytest.raises(ValueError, match="noise_shape is not supported"):
        fg.nn.dropout(x, 0.5, noise_shape=[2, 1])


def test_gather_in_batches():
    x, deep = R([[1, 2], [3], [4, 5, 6]]), R([[[1, 2], [3, 3]], [[4, 5, 6]]])
    np.testing.assert_array_equal(both(lambda x: fg.gather(x, [[0], [0], [2]], batch_dims=1), x), [[1], [3], [6]])
    np.testing.assert_array_equal(both(lambda x: fg.gather(x, [0, 0, 2], batch_dims=1), x), [1, 3, 6])
    assert fg.gather(x, R([[0, 1], [0], [2, 1, 0]]), batch_dims=-1).to_list() == [[1, 2], [3], [6, 5, 4]]
    assert both(lambda x: fg.gather(x, [[0], [0]], axis=2, batch_dims=1), deep).to_list() == [[[1], [3]], [[4]]]
    with pytest.raises(ValueError, match="does not match params shape"):
        fg.gather(x, [[0], [0]], batch_dims=1)
    with pytest.raises(INVALID, match="out of range"):
        fg.gather(x, [[0], [3], [2]], batch_dims=1)


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("indices", [1, [1, 0, 1], [[0, 1]], [[[1], [0]]], np.zeros([2, 0], np.int32)])
def test_gather_has_the_axes_of_the_indices(indices, known):
    def walk(i, row):
        """row[i] of lists, in nested lists as i has them."""
        return [walk(j, row) for j in i] if isinstance(i, list) else row[i]

    def gather_in(x, axis):
        return lambda i: fg.gather(x, i, axis=axis)

    where = np.asarray(indices, np.int32)
    spec = fg.TensorSpec(where.shape if known else [None] * where.ndim, fg.int32)
    deep = [[[1, 2], [3, 5, 6]], [[8, 9], [7, 7]], [[4, 5, 9], [0, 1]]]
    wide = [[[1, 2], [3, 5]], [[8, 9], [7, 7]], [[4, 5], [0, 1]]]
    i = where.tolist()
    for x, rows in ((R(deep), deep), (R(wide, ragged_rank=1), wide)):
        by_axis = [
            walk(i, rows),
            [walk(i, row) for row in rows],
            [[walk(i, row) for row in part] for part in rows],
        ]
        for axis, wanted in enumerate(by_axis):
            gather = gather_in(x, axis)
            for found in (gather(where), fg.function(gather_in(x, axis), input_signature=[spec])(where)):
                ragged = isinstance(found, fg.RaggedTensor)
                assert (found.to_list() if ragged else found.numpy().tolist()) == wanted


def test_custom_gradients_of_composites():
    @fg.custom_gradient
    def double(x):
        return x * 2.0, lambda dy: dy * 3.0

    @fg.custom_gradient
    def product(x, y):
        return x * y, lambda dy: (dy * 3.0, fg.reduce_sum(dy) * 5.0)

    x, y = R([[1.0, 2.0], [3.0]]), fg.constant(2.0)

    def gradients(x, y):
        with fg.GradientTape(persistent=True) as tape:
            tape.watch([x.flat_values, y])
            one, two = double(x), product(x, y)
        return tape.gradient(one.flat_values, x.flat_values), tape.gradient(two.flat_values, [x.flat_values, y])

    assert double(x).to_list() == [[2.0, 4.0], [6.0]]
    for run in (gradients, fg.function(gradients)):
        one, (of_x, of_y) = run(x, y)
        np.testing.assert_array_equal(one, [3, 3, 3])
        np.testing.assert_array_equal(of_x, [3, 3, 3])
        assert float(of_y) == 15
    with fg.GradientTape() as tape:
        tape.watch(x)
        z = double(x)
    assert tape.gradient(z, x).to_list() == [[3.0, 3.0], [3.0]]


def test_strings_in_rows():
    s, deep = R([["aB", " c "], [], ["3"]]), R([[["a", "b"], ["c"]], [["d"]]])
    assert both(lambda x: fg.strings.regex_replace(x, "a", "Q"), s).to_list() == [[b"QB", b" c "], [], [b"3"]]
    assert both(lambda x: fg.strings.regex_full_match(x, "a."), s).to_list() == [[True, False], [], [False]]
    assert both(lambda x: fg.strings.substr(x, 0, 1), s).to_list() == [[b"a", b" "], [], [b"3"]]
    assert both(lambda x: fg.strings.to_hash_bucket_fast(x, 10), s).to_list() == [[4, 4], [], [1]]
    assert both(lambda x: fg.strings.to_hash_bucket_strong(x, 10, [1, 2]), s).to_list() == [[0, 7], [], [5]]
    assert both(lambda x: fg.strings.join([x, x, "!"], "-"), s).to_list()[0] == [b"aB-aB-!", b" c - c -!"]
    assert both(lambda x: fg.io.decode_base64(fg.io.encode_base64(x)), s).to_list() == s.to_list()
    for axis, wanted in (
        (0, [b"aB3", b" c "]), (1, [b"aB c ", b"", b"3"]), (-1, [b"aB c ", b"", b"3"]),
    ):  # fmt: skip
        found = both(lambda x, a=axis: fg.strings.reduce_join(x, a), s)
        assert found.numpy().tolist() == wanted
    assert both(lambda x: fg.strings.reduce_join(x, 1, True), s).numpy().tolist() == [[b"aB c "], [b""], [b"3"]]
    assert both(lambda x: fg.strings.reduce_join(x, -1, separator="_"), deep).to_list() == [[b"a_b", b"c"], [b"d"]]
    assert both(lambda x: fg.strings.reduce_join(x, 1), deep).to_list() == [[b"ac", b"b"], [b"d"]]
    assert both(lambda x: fg.strings.reduce_join(x, [1, 2], separator=","), deep).numpy().tolist() == [b"a,b,c", b"d"]
    assert fg.function(fg.strings.reduce_join)(s).numpy() == fg.strings.reduce_join(s).numpy() == b"aB c 3"
    shown = fg.function(lambda x: fg.strings.format("{} {}", [x, [1, 2]]))(R([[1.0, -2.0], []]))
    assert shown.numpy() == b"[[1.000000, -2.000000], []] [1 2]"
    assert fg.strings.format("{}", s).numpy() == b"[['aB', ' c '], [], ['3']]"
    assert fg.ones_like(s, dtype=fg.int32).to_list() == [[1, 1], [], [1]]


def test_rows_by_numbers():
    f, deep = R([[1.0, -2.0], [], [3.5]]), R([[[1], [2, 3]], []])
    for n, name in ((4.5, "sum"), (3.5, "prod"), (1.0, "min"), (3.5, "max"), (2.25, "mean")):
        op = getattr(fg.math, f"unsorted_segment_{name}")
        assert both(lambda x, op=op: op(x, [0, 1, 0], 2), f).to_list() == [[n, -2.0], []]
    assert both(lambda x: fg.math.unsorted_segment_sum(x, R([[0, 1], [], [1]]), 2), f).numpy().tolist() == [1.0, 1.5]
    assert both(lambda x: fg.math.unsorted_segment_sum(x, [1, 0], 2), deep).to_list() == [[], [[1], [2, 3]]]
    parts = fg.dynamic_partition(f, [0, 1, 0], 2)
    assert [p.to_list() for p in parts] == [[[1.0, -2.0], [3.5]], [[]]]
    parts = fg.function(lambda x: fg.dynamic_partition(x, R([[1, 0], []]), 2))(deep)
    assert [p.to_list() for p in parts] == [[[2, 3]], [[1]]]
    parts = fg.dynamic_partition(f, R([[0, 1], [], [1]]), 2)
    assert [p.numpy().tolist() for p in parts] == [[1.0], [-2.0, 3.5]]
    with pytest.raises(INVALID, match=r"is not in \[0, 2\)"):
        fg.dynamic_partition(f, [0, 5, 0], 2)
    with fg.GradientTape() as tape:
        tape.watch(f)
        y = fg.reduce_sum(fg.math.unsorted_segment_sum(f, [0, 1, 0], 2) ** 2)
    assert tape.gradient(y, f).to_list() == [[9.0, -4.0], [], [9.0]]


def test_images_of_different_sizes():
    images = fg.ragged.stack([fg.ones([4, 4, 3]), fg.zeros([2, 6, 3])])
    small = both(lambda x: fg.image.resize(x, [2, 2]), images)
    assert small.shape == [2, 2, 2, 3] and small[0, 0, 0, 0] == 1.0 and small[1, 1, 1, 1] == 0.0


def test_products_without_nan_of_rows():
    x = R([[np.inf, 2.0], [3.0]])
    assert both(lambda x: fg.math.multiply_no_nan(x, x * 0.0), R([[1.0], []])).to_list() == [[0.0], []]
    assert both(lambda x: fg.math.multiply_no_nan(x, 0.0), x).to_list() == [[0.0, 0.0], [0.0]]


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("transposed", [(False, False), (True, False), (False, True), (True, True)])
def test_products_of_matrices_know_the_sizes_that_operands_know(staged, transposed):
    ragged = fg.ragged.constant([[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]], ragged_rank=1)  # (2, None, 2)
    square = fg.RaggedTensor.from_uniform_row_length(fg.ragged.constant([[1.0, 2.0], [3.0, 4.0]] * 2), 2)
    t_a, t_b = transposed
    n_fit = 0
    for a, b in ((ragged, ragged), (ragged, square), (square, ragged), (square, fg.ones([2, 2, 3]))):
        pairs = [[np.array(m) for m in (x.to_list() if hasattr(x, "to_list") else x.numpy())] for x in (a, b)]
        try:
            wanted = [(m.T if t_a else m) @ (n.T if t_b else n) for m, n in zip(*pairs, strict=True)]
        except ValueError:  # they do not fit
            continue
        n_fit += 1
        args = {"transpose_a": t_a, "transpose_b": t_b}
        found = fg.function(fg.matmul)(a, b, **args) if staged else fg.matmul(a, b, **args)
        assert found.to_list() == [m.tolist() for m in wanted]
        assert found.shape.as_list() == [2, a.shape[-1 if t_a else -2], b.shape[-2 if t_b else -1]]
    assert n_fit


def test_the_values_say_how_many_numbers_of_rows_there_are():
    @fg.function
    def f(x, splits):
        rt = fg.RaggedTensor.from_row_splits(x, splits)
        return fg.reduce_sum(fg.exp(rt - fg.reduce_max(rt, 1)[:, None]), 1), rt.to_tensor(-1.0, shape=[3, 2])

    x, splits = fg.constant([1.0, 1.0, 2.0, 2.0, 2.0]), fg.constant([0, 2, 2, 5], fg.int64)
    for _ in range(2):
        sums, dense = f(x, splits)
        assert sums.numpy().tolist() == [2, 0, 3]
        assert dense.numpy().tolist() == [[1, 1], [-1, -1], [2, 2]]
        f.get_concrete_function(x, splits).wait()
    assert "dynamic" not in f.get_concrete_function(x, splits).explain().split("unsorted_segment_sum")[0]


@pytest.mark.parametrize("kind", ["sum", "max", "prod"])
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64"])
def test_segments_in_any_order(kind, dtype):
    ids = np.random.default_rng(1).integers(-1, 5, 60)
    for order in (np.sort(ids), ids, np.full(60, 3)):
        x, i = fg.constant((np.arange(60) % 3 + 1).astype(dtype)), fg.constant(order)
        both(lambda x, i: getattr(fg.math, f"unsorted_segment_{kind}")(x, i, 6), x, i)
