"""Softmax, cross entropies and layer normalisation with their gradients: one kernel, each row once, eager mode's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.assemble import assemble
from fastgraph.compiler.program.program import KernelStep
from fastgraph.compiler.program.symbolic_extents import witness_shapes
from fastgraph.core.base import flags
from fastgraph.runtime.executable import compile_graph

F = Callable[..., Any]


def with_gradient(f: F, n: int = 1) -> F:
    """f and its gradient in the first n arguments, as one function."""

    def both(*args: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(args[:n])
            y = f(*args)
        return [y, *tape.gradient(y, args[:n])]

    return both


def cross_entropy(x: Any, p: Any) -> Any:
    return fg.nn.softmax_cross_entropy_with_logits(p, x)


def labelled(x: Any, p: Any, labels: Any) -> Any:
    return fg.nn.sparse_softmax_cross_entropy_with_logits(labels, x)


def layer_normalization(x: Any, scale: Any, offset: Any) -> Any:
    apart = x - fg.reduce_mean(x, -1, keepdims=True)
    result = apart * fg.math.rsqrt(fg.reduce_mean(fg.square(apart), -1, keepdims=True) + 1e-3)
    return result if scale is None else result * scale + offset


#: name -> (function of x: f32[n, c], p: f32[n, c], labels: i64[n], kernels)
CASES: dict[str, tuple[F, int]] = {
    "softmax": (lambda x, p, n: fg.nn.softmax(x), 1),
    "log_softmax": (lambda x, p, n: fg.nn.log_softmax(x), 1),
    "softmax and gradient": (lambda x, p, n: with_gradient(lambda t: fg.nn.softmax(t) * p)(x), 1),
    "log_softmax and gradient": (lambda x, p, n: with_gradient(lambda t: fg.nn.log_softmax(t) * p)(x), 1),
    "cross entropy and gradients": (lambda x, p, n: with_gradient(cross_entropy, 2)(x, p), 1),
    "sparse cross entropy and gradient": (lambda x, p, n: with_gradient(labelled)(x, p, n), 1),
    "logsumexp and gradient": (lambda x, p, n: with_gradient(lambda t: fg.reduce_logsumexp(t, -1))(x), 1),
    "moments": (lambda x, p, n: fg.nn.moments(x, [-1]), 1),
    "layer normalisation": (lambda x, p, n: layer_normalization(x, p[0], p[1]), 1),
    "layer normalisation and gradient": (
        lambda x, p, n: with_gradient(lambda t: layer_normalization(t, None, None) * p)(x),
        1,
    ),
    "l2_normalize": (lambda x, p, n: fg.nn.l2_normalize(x, -1), 1),
}


def arguments(rows: int, columns: int, dtype: str = "float32") -> list[Any]:
    random = np.random.default_rng(rows + columns)
    p = random.uniform(0.1, 1.0, (rows, columns))
    labels = random.integers(0, max(columns, 1), rows)
    return [
        fg.constant(random.normal(size=(rows, columns)).astype(dtype)),
        fg.constant((p / p.sum(-1, keepdims=True)).astype(dtype)),
        fg.constant(labels),
    ]


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.parametrize("name", CASES)
def test_one_kernel_and_eager_values(name: str) -> None:
    f, kernels = CASES[name]
    function = fg.function(f)
    given = arguments(40, 96)
    with flags.override(tier="last"):
        got = flat(function(*given))
        steps = function.get_concrete_function(*given).steps()
    for a, b in zip(got, flat(f(*given)), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    assert [s.kind for s in steps] == ["kernel"] * kernels


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", CASES)
def test_any_number_of_rows_and_columns(name: str, dtype: str) -> None:
    f, _ = CASES[name]
    signature = [fg.TensorSpec([None, None], dtype), fg.TensorSpec([None, None], dtype), fg.TensorSpec([None], "int64")]
    function = fg.function(f, input_signature=signature)
    with flags.override(tier="last"):
        for rows, columns in ((3, 5), (2, 1), (5, 64), (3, 130), (2000, 70)):
            given = arguments(rows, columns, dtype)
            for a, b in zip(flat(function(*given)), flat(f(*given)), strict=True):
                np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=2e-6, err_msg=f"{rows} x {columns}")


@pytest.mark.parametrize("columns", [7, 64])
def test_infinities_and_nan_in_rows(columns: int) -> None:
    x = np.random.default_rng(0).normal(size=(6, columns)).astype(np.float32)
    x[0, 2], x[1, 3], x[2, 4], x[3], x[4, :3] = np.nan, np.inf, -np.inf, -np.inf, (1e30, -1e30, 0)
    for f in (fg.nn.softmax, fg.nn.log_softmax):
        with flags.override(tier="last"):
            got = fg.function(f)(fg.constant(x))
        np.testing.assert_allclose(got.numpy(), f(x).numpy(), rtol=1e-5, atol=1e-6)


def test_a_label_out_of_range_is_named() -> None:
    x, p, labels = arguments(4, 5)
    bad = fg.constant([0, 9, 1, 2], "int64")
    for tier in ("first", "last"):
        with flags.override(tier=tier):
            function = fg.function(with_gradient(labelled))
            function(x, p, labels)
            with pytest.raises(fg.errors.InvalidArgumentError, match=r"Received a label value of 9 which is outside"):
                function(x, p, bad)
    with pytest.raises(fg.errors.InvalidArgumentError, match=r"Received a label value of 9 which is outside"):
        labelled(x, p, bad)


def test_what_is_read_back_in_a_guarded_branch_was_written_before() -> None:
    """A diagonal is computed behind an `if`: its rows' numbers are also a result, which the branch reads."""

    def diagonals(a: Any) -> Any:
        x = fg.cast(a, fg.float32)
        t = fg.nn.log_softmax(x)
        return x, fg.linalg.diag_part(fg.abs(fg.stack([t, t], 2) - t), k=(1, 1))

    staged = fg.function(diagonals)
    random = np.random.default_rng(5)
    with flags.override(tier="last"):
        for _ in range(3):
            a = fg.constant(random.standard_normal((2, 2, 2)), fg.float16)
            for expected, came in zip(diagonals(a), staged(a), strict=True):
                np.testing.assert_allclose(came, expected, atol=1e-6)


def test_sums_down_columns_stay_in_tiles_beside_a_copy_of_what_they_read() -> None:
    """Joined with the copy they would have loops of their own, and read an element of a row at a time."""

    def function(c: Any, u: Any) -> list[Any]:
        turned = fg.transpose(c, [0, 2, 1])  # [4, 10, 128]
        sums = fg.squeeze(turned[:, :, None] @ fg.transpose(u, [1, 2, 0, 3]), 2)  # [4, 10, 16]
        return [turned, sums]

    given = fg.random.stateless_normal([4, 128, 10], [1, 2]), fg.random.stateless_normal([128, 4, 10, 16], [3, 4])
    staged = fg.function(function)
    graph = compile_graph(staged.get_concrete_function(*given).graph.ir)
    program = assemble(graph, witness_shapes(graph, [x.shape.as_list() for x in given]))
    assert any("local_float32" in s.kernel.source for s in program.steps if isinstance(s, KernelStep))
    with flags.override(tier="last"):
        for got, value in zip(staged(*given), function(*given), strict=True):
            np.testing.assert_allclose(got, value, rtol=1e-5, atol=1e-5)


def test_sums_cut_into_chunks_of_rows_are_the_same_kernels_for_other_columns() -> None:
    def sources(columns: int) -> list[str]:
        function = fg.function(lambda x: fg.reduce_sum(x * x, 0) / 2)
        executable = function.get_concrete_function(fg.TensorSpec([4096, columns])).executable
        return [s.kernel.source for s in executable.program.steps if isinstance(s, KernelStep)]

    assert len(sources(64)) == 2
    assert sources(64) == sources(128) == sources(320)


@pytest.mark.parametrize("columns", [9, 16, 24, 31, 64])
def test_rows_of_a_known_length_are_combined_as_vectors(columns: int) -> None:
    x = fg.random.stateless_normal([50, columns], [1, 2])
    for body in (
        lambda x: fg.reduce_sum(x * 2, 1),
        lambda x: fg.reduce_max(x - 1, 1),
        lambda x: fg.reduce_any(x > 1, 1),
    ):
        concrete = fg.function(body).get_concrete_function(x)
        assert f"tile_int64({columns}, {columns})" in concrete.explain()
        with flags.override(tier="last"):
            np.testing.assert_allclose(concrete(x), body(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64"])
def test_known_divisors_and_shifts_are_written_into_kernels(dtype: str, rng: Any) -> None:
    limits = np.iinfo(dtype)
    x = fg.constant(rng.integers(limits.min, limits.max, 100, dtype, endpoint=True))
    for number in {97, 1, max(-1, limits.min), limits.min, limits.max} - {0}:
        by = fg.constant(number, dtype)
        for op in (fg.math.floordiv, fg.math.floormod, fg.truncatediv, fg.truncatemod, fg.bitwise.right_shift):
            staged = fg.function(lambda x, op=op, by=by: op(x, by))
            with flags.override(tier="last"):
                np.testing.assert_array_equal(staged(x), op(x, by))
    assert "97)" in fg.function(lambda x: x % 97).get_concrete_function(x).explain().split("# program")[1]
    with flags.override(tier="last"), pytest.raises(fg.errors.InvalidArgumentError):
        fg.function(lambda x: x // fg.constant(0, dtype))(x)
