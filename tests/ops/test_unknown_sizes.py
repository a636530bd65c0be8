"""Ops on tensors whose sizes are unknown while tracing: one trace serves all sizes, with eager mode's values and gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.ops import convolution_primitives

F = Callable[..., Any]

#: name -> function of x: f32[None, 3]
CASES: dict[str, F] = {
    "reshape to its own shape": lambda x: fg.reshape(x, fg.shape(x)),
    "reshape with a size in a list": lambda x: fg.reshape(x, [fg.shape(x)[0] * 3, 1]),
    "reshape with -1": lambda x: fg.reshape(x, [-1, 1, 3]),
    "flatten": lambda x: fg.reshape(x, [-1]),
    "transpose": lambda x: fg.transpose(x) * 2.0,
    "expand and squeeze": lambda x: fg.squeeze(fg.expand_dims(x, 1) * 3.0, [1]),
    "broadcast_to": lambda x: fg.broadcast_to(x, [2, fg.shape(x)[0], 3]),
    "broadcast of a row": lambda x: x + fg.reduce_mean(x, 1, keepdims=True) * fg.constant([1.0, 2.0, 3.0]),
    "sum of all": lambda x: fg.reduce_sum(x * x),
    "sum along the unknown": lambda x: fg.reduce_sum(x * x, 0),
    "sum along the known": lambda x: fg.reduce_sum(x * x, 1, keepdims=True),
    "mean of all": lambda x: fg.reduce_mean(x * x),
    "mean along the known": lambda x: fg.reduce_mean(x, -1),
    "max": lambda x: fg.reduce_max(x, 1),
    "prod": lambda x: fg.reduce_prod(x, 1),
    "logsumexp": lambda x: fg.reduce_logsumexp(x, 1),
    "cumsum": lambda x: fg.cumsum(x, 0, reverse=True),
    "concat": lambda x: fg.concat([x, x * 2.0, fg.ones([2, 3])], 0),
    "concat along the known": lambda x: fg.concat([x, x], 1),
    "stack": lambda x: fg.stack([x, x * 3.0], 1),
    "unstack": lambda x: fg.add_n(fg.unstack(x, axis=1)),
    "split": lambda x: fg.split(x, [1, 2], axis=1)[1] * 2.0,
    "slice": lambda x: fg.slice(x, [0, 1], [-1, 2]),
    "slice up to a size": lambda x: fg.slice(x, [0, 0], [fg.shape(x)[0], 2]),
    "getitem": lambda x: x[:, 1:] * 2.0,
    "getitem backwards": lambda x: x[::-1, ::2],
    "gather columns": lambda x: fg.gather(x, [2, 0, 2], axis=1),
    "pad": lambda x: fg.pad(x, [[1, 2], [0, 1]], constant_values=3.0),
    "mirror pad": lambda x: fg.pad(x, [[0, 0], [2, 1]], "REFLECT"),
    "tile": lambda x: fg.tile(x, [2, 3]),
    "tile by tensors": lambda x: fg.tile(x, fg.stack([fg.constant(2), fg.constant(1)])),
    "reverse": lambda x: fg.reverse(x, [0]),
    "roll": lambda x: fg.roll(x, 1, 1),
    "roll along the unknown": lambda x: fg.roll(x, 1, 0) * x,
    "repeat": lambda x: fg.repeat(x, 2, axis=1),
    "zeros of the shape": lambda x: x + fg.zeros(fg.shape(x)),
    "fill of the shape": lambda x: x * fg.fill(fg.shape(x), 2.0),
    "ones_like": lambda x: x * fg.ones_like(x),
    "range of the size": lambda x: x * fg.cast(fg.range(fg.shape(x)[0])[:, None], fg.float32),
    "eye of the size": lambda x: fg.matmul(fg.eye(fg.shape(x)[0]), x),
    "one_hot of positions": lambda x: fg.one_hot(fg.argmax(x, 1), 3) * x,
    "matmul": lambda x: fg.matmul(x, fg.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])),
    "matmul with itself": lambda x: fg.matmul(x, x, transpose_a=True),
    "outer product": lambda x: fg.matmul(x, x, transpose_b=True),
    "tensordot": lambda x: fg.tensordot(x, fg.constant([[1.0], [2.0], [3.0]]), [[1], [0]]),
    "softmax": lambda x: fg.nn.softmax(x) * x,
    "log_softmax": lambda x: fg.nn.log_softmax(x)[:, 0],
    "sparse cross entropy": lambda x: fg.nn.sparse_softmax_cross_entropy_with_logits(fg.range(fg.shape(x)[0]) % 3, x),
    "select": lambda x: fg.where(x > 0.0, x, x * x),
    "l2_normalize": lambda x: fg.nn.l2_normalize(x, 1),
    "moments": lambda x: fg.nn.moments(x, [1])[1],
    "clip_by_norm": lambda x: fg.clip_by_norm(x, 1.5),
    "size": lambda x: x * fg.cast(fg.size(x), fg.float32),
    "boolean_mask": lambda x: fg.boolean_mask(x, x[:, 0] > 0.0) * 2.0,
    "where": lambda x: fg.gather(x, fg.where(x[:, 0] > 0.0)[:, 0]),
}
#: Undefined, or an error, without rows.
NEED_ROWS = {"mean of all", "mirror pad"}
SIZES = (4, 1, 0, 5)


def value_and_gradient(f: F, x: Any) -> tuple[Any, Any]:
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        loss = fg.reduce_sum(fg.sin(y))
    return y, fg.convert_to_tensor(tape.gradient(loss, x))


@pytest.mark.parametrize("name", CASES)
def test_one_trace_for_all_sizes(name: str) -> None:
    traces = []

    def both(x: Any) -> Any:
        traces.append(x)
        return value_and_gradient(CASES[name], x)

    function = fg.function(both, input_signature=[fg.TensorSpec([None, 3], fg.float32)])
    for n in SIZES:
        if n == 0 and name in NEED_ROWS:
            continue
        x = fg.constant(np.random.default_rng(n).uniform(-2, 2, (n, 3)).astype(np.float32))
        wanted = value_and_gradient(CASES[name], x)
        got = function(x)
        for g, w in zip(got, wanted, strict=True):
            assert g.shape == w.shape, n
            np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=2e-5, atol=1e-5, err_msg=f"{name}, {n} rows")
    assert len(traces) == 1


STATIC = {
    "reshape with -1": (None, 1, 3),
    "concat": (None, 3),
    "concat along the known": (None, 6),
    "stack": (None, 2, 3),
    "sum along the known": (None, 1),
    "sum along the unknown": (3,),
    "pad": (None, 4),
    "broadcast_to": (2, None, 3),
    "matmul": (None, 2),
    "matmul with itself": (3, 3),
    "getitem": (None, 2),
    "boolean_mask": (None, 3),
    "tile": (None, 9),
    "reshape with a size in a list": (None, 1),
}


@pytest.mark.parametrize("name", STATIC)
def test_known_sizes_stay_known_while_tracing(name: str) -> None:
    shapes = []
    fg.function(lambda x: shapes.append(CASES[name](x).shape)).get_concrete_function(
        fg.TensorSpec([None, 3], fg.float32)
    )
    assert tuple(shapes[0].as_list()) == STATIC[name]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_lowerings_do_not_need_the_length_of_index_vectors() -> None:
    """With an unknown one the whole function ran uncompiled."""
    x = fg.reshape(fg.range(12.0), [3, 4])
    with flags.override(tier="last"):
        gather = fg.function(
            lambda x, i: fg.gather_nd(x, i),
            input_signature=[fg.TensorSpec([None, None]), fg.TensorSpec([None, None], fg.int32)],
        )
        for i in ([[1, 2], [2, 3]], [[1], [0], [2]]):
            assert np.array_equal(gather(x, fg.constant(i)).numpy(), fg.gather_nd(x, i).numpy())
            assert gather.get_concrete_function().executable.is_compiled
        unravel = fg.function(fg.unravel_index, input_signature=[fg.TensorSpec([None], fg.int64)] * 2)
        for dims in ([5, 4], [2, 5, 2], [20]):
            given = fg.constant([3, 19, 7], fg.int64), fg.constant(dims, fg.int64)
            assert np.array_equal(unravel(*given).numpy(), fg.unravel_index(*given).numpy())
            assert unravel.get_concrete_function().executable.is_compiled
        with pytest.raises(fg.errors.InvalidArgumentError, match="out of bound"):
            unravel(fg.constant([20], fg.int64), fg.constant([5, 4], fg.int64))


def test_index_vectors_of_a_length_that_only_a_call_knows() -> None:
    """Even the rank of the result is open: each length has kernels of its own."""
    specs = [fg.TensorSpec([None, None], fg.float32), fg.TensorSpec([None, None], fg.int32)]

    def both(x: Any, at: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.gather_nd(x, at)
        return y, fg.convert_to_tensor(tape.gradient(y, x))

    function = fg.function(both, input_signature=specs)
    x = fg.constant(np.arange(12, dtype=np.float32).reshape(3, 4))
    with flags.override(tier="last"), warnings.catch_warnings():
        warnings.simplefilter("error")
        for at in ([[0, 1], [2, 3]], [[2], [0]], [[1, 1]], [[1]], np.zeros([2, 0], np.int32)):
            at = fg.constant(np.array(at, np.int32))
            for got, wanted in zip(function(x, at), both(x, at), strict=True):
                np.testing.assert_array_equal(got.numpy(), wanted.numpy())
        with pytest.raises(fg.errors.InvalidArgumentError, match=r"indices\[0\] = \[0, 4\] does not index into param"):
            function(x, fg.constant([[0, 4]]))


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (lambda a, b: fg.einsum("bij,bjk->bik", a, b), [(4, 2, 3), (1, 3, 5)]),
        (lambda a, b: fg.einsum("ij,ij->ij", a, b), [(3, 2), (1, 2)]),
        (lambda a, b: fg.einsum("ijk,jkl->il", a, b), [(2, 2, 3), (3, 2, 4)]),
        (lambda a: fg.einsum("ii->i", a), [(2, 3)]),
        (lambda a: fg.einsum("iji->j", a), [(3, 2, 1)]),
        (lambda a, b: fg.nn.bias_add(a, b), [(3, 2), (1,)]),
        (lambda a, b: fg.nn.bias_add(a, b, "NCHW"), [(1, 3, 2, 2), (1,)]),
        (lambda a, b: fg.linalg.cross(a, b), [(2, 3), (1, 3)]),
        (lambda a, b: fg.linalg.tridiagonal_matmul(a, b), [(3, 4), (1, 2)]),
        (lambda a, b: fg.linalg.tridiagonal_matmul(a, b), [(2, 3, 4), (1, 4, 2)]),
        (lambda a: fg.reshape(fg.reshape(a, [2, -1]), [-1]), [(3, 3)]),
        (lambda a: fg.reshape(fg.reshape(a, [2, 3]), [-1]) * 2.0, [(3, 3)]),
    ],
)
def test_sizes_that_do_not_fit_are_an_error_of_the_call(tier: str, function: F, shapes: list[tuple[int, ...]]) -> None:
    """A product would broadcast a 1; a sum over two axes, and a reshape, compare the products of sizes alone."""
    given = [fg.constant(np.arange(float(np.prod(s)), dtype=np.float32).reshape(s)) for s in shapes]
    with pytest.raises(fg.errors.InvalidArgumentError):
        function(*given)
    staged = fg.function(function, input_signature=[fg.TensorSpec([None] * len(s), fg.float32) for s in shapes])
    with flags.override(tier=tier), pytest.raises(fg.errors.InvalidArgumentError):
        staged(*given)


def test_the_rest_of_a_split_is_not_negative() -> None:
    specs = [fg.TensorSpec([None], fg.float32), fg.TensorSpec([3], fg.int32)]
    staged = fg.function(lambda x, sizes: fg.split(x, sizes), input_signature=specs)
    assert [part.shape[0] for part in staged(fg.ones([4]), fg.constant([2, -1, 1]))] == [2, 1, 1]
    with pytest.raises(fg.errors.InvalidArgumentError):
        staged(fg.ones([2]), fg.constant([2, -1, 1]))


@pytest.mark.parametrize("mode", ["REFLECT", "SYMMETRIC"])
def test_amounts_of_a_call_to_mirror_are_not_negative(mode: str) -> None:
    specs = [fg.TensorSpec([None, None], fg.float32), fg.TensorSpec([2, 2], fg.int32)]
    staged = fg.function(lambda x, amounts: fg.pad(x, amounts, mode), input_signature=specs)
    x = fg.ones([5, 5])
    assert staged(x, fg.constant([[1, 0], [2, 1]])).shape == (6, 8)
    with pytest.raises(fg.errors.InvalidArgumentError, match="Paddings must be non-negative"):
        staged(x, fg.constant([[0, -1], [0, 0]]))


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("method", ["assign_add", "assign_sub"])
@pytest.mark.parametrize(
    ("own", "other", "spec", "shape"),
    [
        ([3, 2], [1, 2], [None, None], [3, 2]),
        ([1, 2], [3, 2], [None, 2], [1, 2]),
        ([3, 2], [2], None, [3, 2]),
        ([3, 2], [], None, [3, 2]),
        ([1], [3], [None], [1]),
        ([3, 2], [1, 2], [None, None], [None, None]),
        ([3, 2], [1, 2], [1, 2], [None, 2]),
        ([2], [1], [None], None),
    ],
)
def test_updates_of_variables_are_not_broadcast(
    tier: str, method: str, own: Any, other: Any, spec: Any, shape: Any
) -> None:
    """A Variable of one row even took all the rows of the sum, and could not be read again."""
    variable = fg.Variable(fg.zeros(own), shape=fg.TensorShape(shape))
    staged = fg.function(
        lambda x: getattr(variable, method)(x), input_signature=[fg.TensorSpec(fg.TensorShape(spec), fg.float32)]
    )
    with flags.override(tier=tier):
        with pytest.raises(fg.errors.InvalidArgumentError):
            staged(fg.ones(other))
        np.testing.assert_array_equal(variable.numpy(), np.zeros(own))
        if spec is None or None in spec:
            np.testing.assert_array_equal(abs(staged(fg.ones(own)).numpy()), np.ones(own))


def test_tracing_makes_no_arrays_of_the_size_of_shapes() -> None:
    n = 10**10
    rows = [fg.TensorSpec([n, 3]), fg.TensorSpec([n, 2])]
    assert fg.function(fg.searchsorted).get_concrete_function(*rows).output_shapes == [n, 2]

    def traced(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.math.top_k(x, 3).values
        return (
            tape.gradient(y, x),
            fg.repeat(x, 2),
            fg.TensorArray(fg.float32, n).size(),
            fg.map_fn(lambda each: each + 1, x),
        )

    assert fg.function(traced).get_concrete_function(fg.TensorSpec([n])).output_shapes[0].rank == 1


@pytest.mark.parametrize("channels", [(0, 3), (0, 0), (2, 3), (2, 0)])
def test_convolutions_of_no_channels_are_an_error_of_the_call(channels: tuple[int, int]) -> None:
    specs = [fg.TensorSpec([None] * 4, fg.float32), fg.TensorSpec([2, 2, channels[1], 3], fg.float32)]
    with flags.override(tier="last"), warnings.catch_warnings():
        warnings.simplefilter("error")  # of a program that could not be compiled
        staged = fg.function(lambda x, w: fg.nn.conv2d(x, w, 1, "SAME"), input_signature=specs)
        with pytest.raises(fg.errors.InvalidArgumentError):
            staged(fg.ones([1, 4, 4, channels[0]]), fg.ones([2, 2, channels[1], 3]))


#: What takes operands whose extents must agree, shapes that do not, and shapes that do: nothing has elements.
UNFIT: dict[str, tuple[Callable[..., Any], list[tuple[tuple[int, ...], ...]], tuple[tuple[int, ...], ...]]] = {
    "bij,bjk->bik": (
        lambda a, b: fg.einsum("bij,bjk->bik", a, b),
        [((0, 2, 3), (0, 4, 5)), ((2, 0, 3), (2, 4, 5)), ((2, 2, 3), (2, 4, 0)), ((2, 0, 3), (3, 3, 5))],
        ((0, 2, 3), (0, 3, 5)),
    ),
    "ii->i": (lambda a: fg.einsum("ii->i", a), [((0, 3),), ((3, 0),)], ((0, 0),)),
    "ij,ij->ij": (
        lambda a, b: fg.einsum("ij,ij->ij", a, b),
        [((0, 3), (0, 4)), ((0, 3), (5, 3)), ((0, 3), (1, 3)), ((3, 0), (3, 1))],
        ((0, 3), (0, 3)),
    ),
    "cross": (
        fg.linalg.cross,
        [((0, 2, 3), (1, 2, 3)), ((0, 2, 3), (0, 5, 3)), ((0, 2, 3), (2, 0, 3))],
        ((0, 2, 3), (0, 2, 3)),
    ),
    "bias_add": (fg.nn.bias_add, [((0, 3), (4,)), ((0, 3), (1,)), ((2, 0), (1,))], ((0, 3), (3,))),
    "tridiagonal_matmul": (
        fg.linalg.tridiagonal_matmul,
        [((0, 3, 4), (0, 5, 2)), ((0, 3, 4), (2, 4, 2)), ((2, 3, 4), (2, 5, 0))],
        ((0, 3, 4), (0, 4, 2)),
    ),
}


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("case", UNFIT)
def test_extents_that_do_not_fit_are_seen_where_nothing_has_elements(case: str, tier: str) -> None:
    function, wrong, right = UNFIT[case]
    with flags.override(tier=tier, worker=False):
        staged = fg.function(function, input_signature=[fg.TensorSpec([None] * len(s)) for s in right])
        wanted = function(*[fg.zeros(s) for s in right])
        assert staged(*[fg.zeros(s) for s in right]).shape == wanted.shape
        for shapes in wrong:
            for each in (function, staged):
                with pytest.raises(fg.errors.InvalidArgumentError):
                    each(*[fg.zeros(s) for s in shapes])


@pytest.mark.parametrize("tier", ["first", "last"])
def test_one_extent_that_is_not_known(tier: str) -> None:
    with flags.override(tier=tier, worker=False):
        product = fg.function(
            lambda a, b: fg.einsum("ij,jk->ik", a, b), input_signature=[fg.TensorSpec([0, None]), fg.TensorSpec([3, 4])]
        )
        assert product(fg.zeros([0, 3]), fg.zeros([3, 4])).shape == (0, 4)
        with pytest.raises(fg.errors.InvalidArgumentError):
            product(fg.zeros([0, 2]), fg.zeros([3, 4]))


@pytest.mark.parametrize("tier", ["first", "last"])
def test_what_is_added_to_a_variable_of_unknown_shape_has_its_shape(tier: str) -> None:
    with flags.override(tier=tier, worker=False):
        for shape in (None, [None, None]):
            variable = fg.Variable(fg.ones([0, 3]), shape=fg.TensorShape(shape))
            add = fg.function(variable.assign_add, input_signature=[fg.TensorSpec(None)])
            for wrong in ([0, 4], [0], [3, 0], [0, 1]):
                with pytest.raises(fg.errors.InvalidArgumentError):
                    add(fg.zeros(wrong))
            variable.assign(fg.ones([2, 3]))
            with pytest.raises(fg.errors.InvalidArgumentError):
                add(fg.ones([6]))
            add(fg.ones([2, 3]))
            assert np.array_equal(variable, np.full([2, 3], 2.0))


OF_ANY_RANK: dict[str, F] = {
    "roll": lambda x: fg.roll(x, [1, -2], [0, -1]),
    "top_k": lambda x: fg.math.top_k(x, 1)[0],
    "segment_sum": lambda x: fg.math.segment_sum(x, [0, 0, 1]),
    "segment_mean": lambda x: fg.math.segment_mean(x, [0, 0, 1]),
    "segment_max": lambda x: fg.math.segment_max(x, [0, 0, 1]),
    "unsorted_segment_sum": lambda x: fg.math.unsorted_segment_sum(x, [1, -1, 0], 2),
    "unsorted_segment_mean": lambda x: fg.math.unsorted_segment_mean(x, [1, 0, 0], 3),
    "unsorted_segment_sqrt_n": lambda x: fg.math.unsorted_segment_sqrt_n(x, [1, 0, 0], 3),
    "unsorted_segment_min": lambda x: fg.math.unsorted_segment_min(x, [1, 0, 0], 2),
    "unsorted_segment_prod": lambda x: fg.math.unsorted_segment_prod(x, [1, 0, 0], 2),
}


@pytest.mark.parametrize("tier", ["first", pytest.param("last", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", OF_ANY_RANK)
def test_gradients_where_the_rank_is_unknown(name: str, tier: str) -> None:
    def both(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = OF_ANY_RANK[name](x)
            total = fg.reduce_sum(y * y)
        return y, tape.gradient(total, x)

    with flags.override(tier=tier):
        traced = fg.function(both, input_signature=[fg.TensorSpec(None)])
        for shape in ((3, 2, 2), (3, 4)):
            x = fg.constant(np.random.default_rng(0).normal(size=shape).astype("f"))
            for found, wanted in zip(traced(x), both(x), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-5)


@pytest.mark.parametrize("image", [(None, None, None, 2), (None, None, None, None)])
@pytest.mark.parametrize("window", [(2, 2, 2, None), (2, 2, None, 3), (None, None, None, None)])
def test_how_many_results_a_channel_has_is_the_calls(
    image: tuple[int | None, ...], window: tuple[int | None, ...]
) -> None:
    """Groups of channels whose size a graph does not know: no number of the plan may stand in a kernel."""

    def step(x: Any, w: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch([x, w])
            y = fg.nn.depthwise_conv2d(x, w, [1, 2, 2, 1], "VALID")
            loss = fg.reduce_sum(y * y)
        return y, fg.reduce_max(y), *tape.gradient(loss, [x, w])

    rng = np.random.default_rng(5)
    f = fg.function(step, input_signature=[fg.TensorSpec(image), fg.TensorSpec(window)])
    with flags.override(verify=True):
        f.get_concrete_function().wait()
    for several in (3, 3, 1) if window[-1] is None else (3, 3):
        x = fg.constant(rng.standard_normal((1, 5, 7, 2)).astype(np.float32))
        w = fg.constant(rng.standard_normal((2, 2, 2, several)).astype(np.float32))
        for came, wanted in zip(f(x, w), step(x, w), strict=True):
            np.testing.assert_allclose(came.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-4)


def test_a_kernel_with_a_size_of_the_plans_own_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """What wrote beyond memory once: asked to verify, the assembler sees it."""
    made = convolution_primitives._Geometry.__init__

    def faulty(self: Any, b: Any, x: Any, filter: Any, *rest: Any) -> None:
        made(self, b, x, filter, *rest)
        self.f_group = b.const(filter[-1].witness // (x[-1].witness // filter[-2].witness))

    monkeypatch.setattr(convolution_primitives._Geometry, "__init__", faulty)
    signature = [fg.TensorSpec((1, None, None, 2)), fg.TensorSpec((2, 2, 2, None))]
    f = fg.function(lambda x, w: fg.nn.depthwise_conv2d(x, w, [1, 1, 1, 1], "VALID"), input_signature=signature)
    with flags.override(verify=True), pytest.warns(RuntimeWarning, match="of the plan's own in a kernel"):
        f.get_concrete_function().wait()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_products_of_one_size_in_loops_of_their_own(seed: int) -> None:
    """A product over scattered elements: asked for beside one in another loop, where its variables are not."""

    def step(image: Any, x: Any, places: Any, new: Any) -> Any:
        whole = fg.nn.conv2d_transpose(image, x, [1, 9, 3, 1], [3, 3], "SAME")
        y = fg.tensor_scatter_nd_add(x, places, new)
        total = fg.add_n([x, x]) + fg.reduce_prod(1 + fg.tanh(y) / 64, axis=[-2, -3, -4, 3])
        return fg.math.cumprod(fg.tanh(whole), 3, exclusive=True), total

    rng = np.random.default_rng(seed)
    image = fg.constant(rng.standard_normal((1, 3, 1, 8)).astype(np.float16))
    x = fg.constant(rng.standard_normal((1, 1, 1, 8)).astype(np.float16))
    places = fg.constant([[0, 0, 0, k] for k in (4, 2, 7, 4, 4, 1, 1, 4)], fg.int64)
    new = fg.constant(rng.standard_normal(8).astype(np.float16))
    given, draw = (image, x, places, new), np.random.default_rng(seed)
    unknown = [fg.TensorSpec([None if draw.random() < 0.67 else n for n in v.shape], v.dtype) for v in given]
    f = fg.function(step, input_signature=unknown)
    with warnings.catch_warnings(record=True) as told, flags.override(tier="last"):
        warnings.simplefilter("always")
        results = f(*given)
    assert not [each for each in told if "uncompiled" in str(each.message)]
    for came, wanted in zip(results, step(*given), strict=True):
        np.testing.assert_allclose(came.numpy(), wanted.numpy(), rtol=5e-3, atol=5e-3)
