"""What is known of shapes that follow from shape tensors, while a function is traced.

FACTS are what TensorFlow 2.21 knows: as much is known here, and where more is, that stands behind. `shape_programs` draws programs
of the same kind.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.core.base.shapes import UNKNOWN, Aval
from fastgraph.core.registry import get
from fastgraph.graph.ir import infer
from tests.ops.shape_programs import at_least, draw, holds, known, run

N = None
#: Of x, [None, 4, 3], with s = tf.shape(x): TensorFlow's static shape, and ours where more is known.
FACTS: list[tuple[str, list[int | None], list[int | None] | None]] = [
    ("tf.reshape(x, [s[0], s[1] * s[2]])", [N, 12], None),
    ("tf.reshape(x, s)", [N, 4, 3], None),
    ("tf.reshape(x, tf.concat([s[:1], [12]], 0))", [N, 12], None),
    ("tf.reshape(x, tf.stack([s[0], tf.reduce_prod(s[1:])]))", [N, N], [N, 12]),
    ("tf.reshape(x, tf.stack([s[0] // 2, 2, -1, 3]))", [N, 2, N, 3], None),
    ("tf.reshape(tf.ones([4, 6]), [s[0], 3])", [8, 3], None),
    ("tf.reshape(tf.matmul(tf.reshape(x, [s[0] * s[1], s[2]]), tf.ones([3, 5])), [s[0], s[1], 5])", [N, 4, 5], None),
    ("tf.zeros([s[0], 7])", [N, 7], None),
    ("tf.zeros(s)", [N, 4, 3], None),
    ("tf.ones([s[0], 7, s[2]])", [N, 7, 3], None),
    ("tf.fill([s[0], s[2] + 1], 1.0)", [N, 4], None),
    ("tf.random.normal(s)", [N, 4, 3], None),
    ("tf.random.uniform([s[0], 5])", [N, 5], None),
    ("tf.random.truncated_normal(s)", [N, 4, 3], None),
    ("tf.random.stateless_normal(s, seed=[1, 2])", [N, 4, 3], None),
    ("tf.random.stateless_truncated_normal([s[0], 5], seed=[1, 2])", [N, 5], None),
    ("tf.random.gamma([s[0], 5], 1.0)", [N, 5], None),
    ("tf.random.categorical(x[:, 0], s[1])", [N, 4], None),
    ("tf.broadcast_to(1.0, s)", [N, 4, 3], None),
    ("tf.broadcast_to(x, [2, s[0], s[1], 3])", [2, N, 4, 3], None),
    ("tf.broadcast_to(tf.ones([3]), [s[0], tf.size(tf.unique(tf.range(3))[0])])", [N, 3], None),
    ("tf.range(1, s[1] * 2, 2)", [4], None),
    ("tf.range(s[0])", [N], None),
    ("tf.one_hot(tf.zeros([s[0]], tf.int32), s[1])", [N, 4], None),
    ("tf.eye(s[0], s[1])", [N, 4], None),
    ("tf.eye(s[1], batch_shape=[s[0]])", [N, 4, 4], None),
    ("tf.scatter_nd([[0]], [[1.0, 2.0, 3.0]], [s[0], s[2]])", [N, 3], None),
    ("tf.tile(x, [s[0], 2, 1])", [N, 8, 3], None),
    ("tf.slice(x, [0, 1, 0], [s[0], s[1] - 1, 2])", [N, 3, 2], None),
    ("tf.slice(x, [s[0] - 1, 0, 0], [1, s[1], -1])", [1, 4, 3], None),
    ("x[:, 1:s[1], :s[2] - 1]", [N, 3, 2], None),
    ("x[:s[0] - 1, :2]", [N, N, 3], [N, 2, 3]),
    ("tf.pad(x, [[0, s[0]], [0, 8 - s[1]], [1, 1]])", [N, N, 5], [N, 8, 5]),
    ("tf.split(x, [s[1] - 1, 1], axis=1)[0]", [N, 3, 3], None),
    ("tf.split(x, [s[0] - 1, 1], axis=0)[1]", [N, 4, 3], [1, 4, 3]),
    ("tf.linspace(0.0, 1.0, s[1])", [4], None),
    ("tf.repeat(x, s[1], axis=1)", [N, 16, 3], None),
    ("tf.repeat(x, [1, 2, 3, s[1]], axis=1)", [N, 10, 3], None),
    ("tf.math.unsorted_segment_sum(x[:, 0], tf.zeros([s[0]], tf.int32), s[1])", [4, 3], None),
    ("tf.gather(x, tf.range(s[1] - 1), axis=1)", [N, 3, 3], None),
    ("tf.zeros(tf.gather(s, [1, 0]))", [N, N], [4, N]),
    ("tf.zeros(tf.squeeze(tf.expand_dims(s, 0), 0))", [N, N, N], [N, 4, 3]),
    ("tf.zeros(tf.stack(tf.unstack(s)[::-1]))", [3, 4, N], None),
    ("tf.zeros(tf.cast(s, tf.int64))", [N, 4, 3], None),
    ("tf.zeros([s[0], tf.maximum(s[1], s[2]), s[1] % s[2], s[1] // 2])", [N, 4, 1, 2], None),
    ("tf.zeros(tf.where([True, False, True], s, [9, 9, 9]))", [N, N, N], [N, 9, 3]),
    ("tf.zeros(tf.where(s > 3, s, 9))", [N, N, N], [N, 4, 9]),
    ("tf.zeros(tf.identity(s))", [N, N, N], [N, 4, 3]),
    ("tf.zeros(tf.reverse(s, [0]))", [N, N, N], [3, 4, N]),
    ("tf.zeros(tf.concat([s[:1], x.shape[1:]], 0))", [N, 4, 3], None),
    ("tf.zeros(tf.broadcast_dynamic_shape(s, tf.constant([4, 1])))", [N, N, N], [N, 4, 3]),
    ("tf.zeros([tf.size(x[0]), tf.rank(x)])", [12, 3], None),
    ("tf.zeros(tf.shape_n([x, x])[0])", [N, 4, 3], None),
    ("tf.zeros((s + 1) * [2, 2, 1])", [N, N, N], [N, 10, 4]),
    ("tf.zeros([s[0], tf.cast(s[1] / 2, tf.int32)])", [N, 2], None),
    ("tf.zeros([s[0], tf.cast(tf.math.ceil(tf.cast(s[1], tf.float32) / 3.0), tf.int32)])", [N, 2], None),
    ("tf.math.top_k(x, s[2] - 1).values", [N, 4, 2], None),
    ("tf.signal.rfft(x, [s[1] * 2])", [N, N, 5], [N, 4, 5]),
    ("tf.sequence_mask(tf.ones([s[0]], tf.int32), s[1])", [N, 4], None),
    ("tf.linalg.diag(x[:, :, 0], num_rows=s[1])", [N, 4, 4], None),
    ("tf.nn.conv2d_transpose(x[..., None], tf.ones([3, 3, 2, 1]), [s[0], s[1] * 2, s[2] * 2, 2], 2)", [N, 8, 6, 2], None),
    ("tf.space_to_batch(x, [2], [[0, s[1] - 4]])", [N, 2, 3], None),
    ("tf.meshgrid(tf.range(s[1]), tf.range(s[0]))[0]", [N, 4], None),
    ("tf.cond(s[0] > 2, lambda: tf.zeros([s[0], s[1]]), lambda: tf.ones([s[0], s[1]]))", [N, N], [N, 4]),
    ("tf.cond(s[0] > 2, lambda: tf.zeros(s), lambda: tf.ones(s))", [N, 4, 3], None),
    ("tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.reshape(y, s)), [0, x])[1]", [N, 4, 3], None),
    ("doubled(x[0])", [4, 3], None),
    ("doubled(tf.zeros([s[0], s[1]]))", [N, 4], None),
    ("squared(tf.zeros([5, 3]))", [5, 5], None),
    ("squared(tf.zeros([s[0], s[2]]))", [N, N], None),
    ("squared(tf.zeros([s[0], s[0] // s[0] + 2]))", [N, N], None),
]  # fmt: skip


def _functions() -> dict[str, Any]:
    doubled = fg.function(lambda x: x * 2.0, input_signature=[fg.TensorSpec(None)])
    squared = fg.function(lambda x: fg.matmul(x, x, transpose_b=True), input_signature=[fg.TensorSpec([None, 3])])
    return {"doubled": doubled, "squared": squared}


def _all(functions: dict[str, Any], leave_out: str = "nothing") -> Any:
    def function(x: Any) -> list[Any]:
        scope = {"tf": fg, "x": x, "s": fg.shape(x), **functions}
        return [eval(text, scope) for text, *_ in FACTS if leave_out not in text]

    return fg.function(function, autograph=False)


def test_as_much_is_known_as_in_tensorflow() -> None:
    functions = _functions()
    traced = _all(functions)
    results = traced.get_concrete_function(fg.TensorSpec([None, 4, 3])).structured_outputs
    found = {text: result.shape.as_list() for (text, *_), result in zip(FACTS, results, strict=True)}
    assert found == {text: theirs if ours is None else ours for text, theirs, ours in FACTS}
    for text, theirs, ours in FACTS:
        assert ours is None or (at_least(ours, theirs) and ours != theirs), text


def test_what_is_known_holds() -> None:
    functions, only_for_8 = _functions(), "tf.ones([4, 6])"
    traced = [
        _all(functions, left_out).get_concrete_function(fg.TensorSpec([None, 4, 3]))
        for left_out in ("nothing", only_for_8)
    ]
    for n in (8, 2, 5):
        rows = [row for row in FACTS if n == 8 or only_for_8 not in row[0]]
        _check(rows, traced[n != 8], fg.ones([n, 4, 3]), functions)


def _check(rows: Any, traced: Any, x: Any, functions: dict[str, Any]) -> None:
    for (text, theirs, ours), result in zip(rows, traced(x), strict=True):
        plain = eval(text, {"tf": fg, "x": x, "s": fg.shape(x), **functions})
        assert holds(ours or theirs, result.shape) and result.shape == plain.shape, text
        if "random" not in text:
            np.testing.assert_array_equal(result, plain, err_msg=text)


@pytest.mark.parametrize("seed", range(6))
def test_drawn_programs(seed: int) -> None:
    program = draw(fg, seed)
    said = known(fg, program)
    traced = fg.function(run(fg, program), input_signature=[fg.TensorSpec(program.spec)], autograph=False)
    for size in program.sizes:
        x = fg.reshape(fg.range(float(np.prod(size))), size)
        plain = run(fg, program)(x)
        for name, result in traced(x).items():
            assert holds(said[name], result.shape) and result.shape == plain[name].shape, name
            if not any(f"{name} = tf.random" in line for line in program.lines):
                np.testing.assert_array_equal(result, plain[name], err_msg=name)


def test_signatures_take_what_may_fit_in_a_graph() -> None:
    squared = _functions()["squared"]
    outer = fg.function(lambda x: squared(x), input_signature=[fg.TensorSpec([None, None])])
    concrete = squared.get_concrete_function()
    of_concrete = fg.function(lambda x: concrete(x), input_signature=[fg.TensorSpec([None, None])])
    for each in (outer, of_concrete):
        assert each(fg.ones([2, 3])).shape == [2, 2]
        with pytest.raises(
            fg.errors.InvalidArgumentError, match=r"\[2,4\] is not compatible with expected shape \[\?,3\]"
        ):
            each(fg.ones([2, 4]))
    with pytest.raises(ValueError, match="incompatible with input_signature"):
        fg.function(lambda x: squared(x)).get_concrete_function(fg.TensorSpec([None, 4]))


def test_static_values() -> None:
    def function(x: Any) -> Any:
        s = fg.shape(x)
        some = [
            fg.get_static_value(fg.stack([s[0], 5]), partial=True),
            fg.get_static_value(fg.stack([fg.stack([s[0], 5]), [1, 2]]), partial=True),
        ]
        assert [value.tolist() for value in some] == [[None, 5], [[None, 5], [1, 2]]]
        assert fg.get_static_value(s) is None is fg.get_static_value(fg.stack([s[0], 5]))
        assert fg.get_static_value(s[0], partial=True) is None and fg.get_static_value(s[1] + s[2]) == 7
        return x

    fg.function(function).get_concrete_function(fg.TensorSpec([None, 4, 3]))


def test_variables_are_extents() -> None:
    v = fg.Variable(5)
    f = fg.function(lambda x: (fg.zeros([fg.shape(x)[0], v]), fg.eye(v), fg.fill([v, 2], 1)))
    assert [r.shape for r in f(fg.ones([3, 2]))] == [[3, 5], [5, 5], [5, 2]]


@pytest.mark.parametrize("tier", ["first", "last"])
def test_numbers_that_a_function_is_called_with_say_its_results_shapes(tier: str) -> None:
    inner = fg.function(lambda n: fg.zeros([n, 2]), input_signature=[fg.TensorSpec([], fg.int32)])
    reshaped = fg.function(lambda x, n: fg.reshape(x, fg.concat([n, [-1]], 0)))
    seen = []

    @fg.function(input_signature=[fg.TensorSpec([None, 4])])
    def outer(x: Any) -> Any:
        s = fg.shape(x)
        results = inner(3), inner(s[1] + 1), inner(s[0]), reshaped(x, s[1:]), reshaped(x, s[:1])
        seen[:] = [tuple(result.shape) for result in results]
        return [result + 1.0 for result in results]

    with flags.override(tier=tier):
        for rows in (2, 6):
            got = [tuple(result.shape) for result in outer(fg.ones([rows, 4]))]
            assert got == [(3, 2), (5, 2), (rows, 2), (4, rows), (rows, 4)]
    assert seen == [(3, 2), (5, 2), (None, 2), (4, None), (None, None)]


@pytest.mark.parametrize("tier", ["first", "last"])
def test_sizes_of_a_call_decide_what_runs(tier: str) -> None:
    """What follows from a size that is not known while tracing is that of each call, also where data gives it."""

    @fg.function(input_signature=[fg.TensorSpec([None, None])])
    def f(x: Any) -> Any:
        n = fg.cast(fg.shape(x)[0], fg.float32)
        rows = fg.shape(fg.boolean_mask(x, fg.reduce_sum(x, 1) > 0.0))
        chosen = fg.cond(rows[0] > 3, lambda: fg.ones(rows) * n, lambda: fg.ones(rows + 1))
        return x * (n * 0.5), fg.range(fg.cast(fg.math.ceil(n / 2.0), fg.int32)), fg.zeros(rows) + n, chosen

    with flags.override(tier=tier):
        for size in ((2, 3), (2, 5), (6, 3), (6, 5), (2, 3), (6, 3)):
            x = fg.ones(size)
            for result, plain in zip(f(x), f.python_function(x), strict=True):
                np.testing.assert_array_equal(result, plain)


INTEGERS = ["add", "subtract", "multiply", "floordiv", "floormod", "maximum", "minimum", "less", "equal", "select", "abs",
            "cast", "negative", "sum", "prod", "max", "min", "concat", "stack", "transpose", "gather", "tile", "reverse",
            "broadcast_to", "expand_dims", "broadcast_args"]  # fmt: skip


@pytest.mark.parametrize("name", INTEGERS)
def test_no_element_is_known_that_another_decides(name: str) -> None:
    """Every way of filling in what is not known gives what is said to be known."""
    op, random = get(name), np.random.default_rng(len(name))
    attrs: dict[str, Any] = {
        "cast": {"dtype": fg.int64}, "concat": {"axis": 0}, "stack": {"axis": 0}, "transpose": {"perm": (0,)},
        "tile": {"multiples": (2,)}, "reverse": {"axes": (0,)}, "broadcast_to": {"shape": (2, 4)},
        "expand_dims": {"axes": (0,)}, "gather": {"axis": 0, "batch_dims": 0},
    }.get(name, {"axes": None, "keepdims": False} if op.family == "reduction" else {})  # fmt: skip
    n_known = 0
    for _ in range(20):
        given = [random.integers(1, 5, 4) for _ in range(2 if op.is_variadic else len(op.inputs))]
        masks = [random.random(4) < 0.4 for _ in given]
        if name == "gather":
            given[1], masks[1] = given[1] % 4, np.zeros(4, bool)
        if name == "broadcast_args":
            given[1] = np.where(given[0] == 1, given[1], np.where(given[1] > 2, given[0], 1))
        kinds = [fg.bool if op.groups[min(i, len(op.groups) - 1)] == "bool" else fg.int32 for i in range(len(given))]
        given = [each % 2 if kind is fg.bool else each for each, kind in zip(given, kinds, strict=True)]
        avals = [
            Aval(kind, (4,), None, np.where(mask, UNKNOWN, each)) if mask.any() else Aval(kind, (4,), each.astype(kind.as_numpy_dtype))
            for each, mask, kind in zip(given, masks, kinds, strict=True)
        ]  # fmt: skip
        (aval,) = infer(op, avals, attrs)
        if aval.numbers is None:
            continue
        for _ in range(4):
            filled = [np.where(mask & (kind is fg.int32), random.integers(1, 5, 4), each).astype(kind.as_numpy_dtype)
                      for each, mask, kind in zip(given, masks, kinds, strict=True)]  # fmt: skip
            try:
                result = np.reshape(op.body(*filled, **attrs), -1)
            except fg.errors.InvalidArgumentError:
                continue
            n_known += len([n for n in aval.numbers if n is not None])
            assert all(n is None or n == m for n, m in zip(aval.numbers, result.tolist(), strict=True))
    assert n_known
