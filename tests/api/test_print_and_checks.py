"""print and assertions: their texts, and that graphs keep them, in order."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.errors import InvalidArgumentError

# Written down from TensorFlow 2.21.
TEXTS: list[tuple[Callable[[], Any], dict[str, Any], str]] = [
    (lambda: ("a", 1, 2.5, True, None), {}, "a 1 2.5 True None\n"),
    (lambda: (fg.constant(1.5), fg.constant([1, 2, 3])), {}, "1.5 [1 2 3]\n"),
    (lambda: (fg.constant([[1.0, 2.0], [3.0, 4.0]]),), {}, "[[1 2]\n [3 4]]\n"),
    (lambda: (fg.range(10),), {}, "[0 1 2 ... 7 8 9]\n"),
    (lambda: (fg.range(10),), {"summarize": -1}, "[0 1 2 3 4 5 6 7 8 9]\n"),
    (lambda: (fg.range(1), fg.zeros([0]), fg.constant(5)), {"summarize": 0}, "[ ...] [] ...\n"),
    (lambda: (fg.zeros([1, 3]), fg.zeros([0, 2]), fg.zeros([2, 1, 1])), {"summarize": 0}, "[\n ...] [] [\n\n ...]\n"),
    (lambda: (fg.zeros([2, 0]),), {}, "[\n ...]\n"),
    (lambda: ({"a": fg.constant(1), "b": [fg.constant(2.0), (3, "x")]},), {}, "{'a': 1, 'b': [2, (3, 'x')]}\n"),
    (lambda: (fg.constant("hi"), fg.constant(["a", "b"]), "s"), {}, '"hi" ["a" "b"] s\n'),
    (lambda: (fg.constant('hi "you"\n'),), {"end": "!"}, 'hi "you"\n!'),
    (lambda: ([fg.constant("hi")],), {}, '["hi"]\n'),
    (lambda: (fg.constant([0.150836706, 0.575092077, 1e-10]),), {}, "[0.150836706 0.575092077 1e-10]\n"),
    (lambda: (fg.constant([1 / 3, np.nan, np.inf]),), {}, "[0.333333343 nan inf]\n"),
    (lambda: (fg.constant(1 / 3, fg.float64), fg.constant(1 / 3, fg.float16)), {}, "0.33333333333333331 0.333251953\n"),
    (lambda: (fg.constant([True, False]), fg.constant(True)), {}, "[1 0] 1\n"),
    (lambda: (fg.constant(1e6), fg.constant(123456789.0), fg.constant(1e-5)), {}, "1e+06 123456792 1e-05\n"),
    (lambda: ("x", "y", 1), {"sep": "-", "end": "!"}, "x-y-1!"),
    (lambda: (fg.zeros([2, 2, 2]),), {}, "[[[0 0]\n  [0 0]]\n\n [[0 0]\n  [0 0]]]\n"),
    (lambda: ("{} %s", fg.constant("a{}")), {}, '{} %s "a{}"\n'),
    (lambda: ([1, 2], np.array([1, 2])), {}, "[1, 2] array([1, 2])\n"),
]


@pytest.mark.parametrize("row", TEXTS, ids=[repr(t[2])[:40] for t in TEXTS])
def test_print_writes_tensorflows_text(row: Any, capsys: Any) -> None:
    make, options, text = row
    fg.print(*make(), **options)
    assert capsys.readouterr().err == text
    fg.function(lambda: fg.print(*make(), **options))()
    assert capsys.readouterr().err == text


def test_a_printed_string_tensor_is_in_the_graph_as_it_is(capsys: Any) -> None:
    concrete = fg.function(lambda x: fg.print(x)).get_concrete_function(fg.TensorSpec([], fg.string))
    definition = concrete.graph.as_graph_def()
    (node,) = [node for node in definition.node if node.op == "PrintV2"]
    assert list(node.input) == ["x"]
    fg.function(lambda x: fg.import_graph_def(definition, input_map={"x": x}))(fg.constant("as it is"))
    assert capsys.readouterr().err == "as it is\n"


def test_print_goes_where_it_is_told(capsys: Any, tmp_path: Any) -> None:
    fg.print("out", output_stream=sys.stdout)
    assert capsys.readouterr().out == "out\n"
    file = io.StringIO()
    fg.print("file", output_stream=file)
    assert file.getvalue() == "file\n"
    path = tmp_path / "log"
    fg.print(1, output_stream=f"file://{path}")
    fg.print(2, output_stream=f"file://{path}")
    assert path.read_text() == "1\n2\n"
    with pytest.raises(ValueError, match="Unknown output stream"):
        fg.print(1, output_stream=3)


RAGGED = [  # a ragged tensor, and what tf.print shows of it: all, and with summarize=1
    ([[1], []], "[[1], []]", "[[1], []]"),
    ([[1.5, 2.0], [3.0]], "[[1.500000, 2.000000], [3.000000]]", "[[1.500000, 2.000000], [3.000000]]"),
    ([["a", "b's"], []], r"[['a', 'b\'s'], []]", r"[['a', 'b\'s'], []]"),
    ([[True], [False, True]], "[[true], [false, true]]", "[[true], [false, true]]"),
    ([[[1], [2, 3]], [], []], "[[[1], [2, 3]], [], []]", "[[[1], [2, 3]], ..., []]"),
    ([[0, 1, 2, 3, 4, 5, 6], [1]], "[[0, 1, 2, ..., 4, 5, 6], [1]]", "[[0, ..., 6], [1]]"),
]


@pytest.mark.parametrize("row", RAGGED, ids=lambda row: row[1])
def test_print_of_ragged_tensors(row: Any, capsys: Any) -> None:
    rows, text, short = row
    taken = fg.ragged.constant(rows)

    def show(value: Any) -> None:
        fg.print("it is", {"k": [value, value]}, fg.constant(1), value, sep="|")
        fg.print(value, summarize=1)

    wanted = f"it is|{{'k': [{text}, {text}]}}|1|{text}\n{short}\n"
    show(taken)
    assert capsys.readouterr().err == wanted
    staged = fg.function(show, input_signature=[taken._type_spec])
    for _ in range(2):
        staged(taken)
        assert capsys.readouterr().err == wanted
    assert "PrintV2" in {node.op for node in staged.get_concrete_function().graph.as_graph_def().node}


def test_print_of_sparse_tensors_and_of_dimensions_within_rows(capsys: Any) -> None:
    sparse = fg.sparse.from_dense([["", "a"], ["", ""]])
    deep = fg.RaggedTensor.from_row_splits(fg.ones([3, 1]), [0, 1, 3])
    f = fg.function(
        lambda s, r: fg.print([s], r), input_signature=[fg.SparseTensorSpec(None, fg.string), deep._type_spec]
    )
    for show in (f, f.python_function):
        show(sparse, deep)
        assert capsys.readouterr().err == (
            "['SparseTensor(indices=[[0 1]], values=[\"a\"], shape=[2 2])'] [[[1.000000]], [[1.000000], [1.000000]]]\n"
        )


def test_letters_that_are_not_to_be_seen_and_bytes_that_are_no_text(tmp_path: Any) -> None:
    words = fg.constant([b"a\0b", b"\n\t\"'\\", b"\xff\x01\x7f", "é".encode()])
    shown = b'["a\\000b" "\\n\\t\\"\\\'\\\\" "\xff\\001\\177" "\xc3\xa9"]'
    assert fg.strings.format("{}", words).numpy() == shown
    fg.print(words, output_stream=f"file://{tmp_path}/text")
    fg.print(words[2], output_stream=f"file://{tmp_path}/text")
    assert (tmp_path / "text").read_bytes() == shown + b"\n\xff\x01\x7f\n"


def test_graphs_print_on_every_call_in_order(capsys: Any) -> None:
    @fg.function
    def f(x: Any) -> Any:
        fg.print("before", x)
        y = x + 1
        fg.print("after", y)
        return y

    for i in range(3):
        f(fg.constant(i))
    assert capsys.readouterr().err == "".join(f"before {i}\nafter {i + 1}\n" for i in range(3))


def test_an_assertion_in_a_graph_is_kept_and_names_itself() -> None:
    @fg.function
    def f(x: Any) -> Any:
        fg.debugging.assert_greater(x, 0, message="must be positive")
        return fg.constant(1)

    assert int(f(fg.constant([1, 2]))) == 1
    with pytest.raises(InvalidArgumentError) as caught:
        f(fg.constant([1, -2]))
    text = str(caught.value)
    assert "assertion failed: [must be positive] [Condition x > y did not hold element-wise:]" in text
    assert "[1 -2]" in text
    assert "test_print_and_checks.py" in text


def test_nothing_after_a_failed_assertion_happens() -> None:
    v = fg.Variable(0)

    @fg.function
    def f(ok: Any) -> None:
        fg.debugging.Assert(ok, ["no"])
        v.assign_add(1)

    f(fg.constant(True))
    with pytest.raises(InvalidArgumentError):
        f(fg.constant(False))
    assert int(v) == 1


def test_check_numerics_in_a_graph() -> None:
    f = fg.function(lambda x: fg.debugging.check_numerics(fg.math.log(x), "log"))
    assert float(f(fg.constant(1.0))) == 0.0
    with pytest.raises(InvalidArgumentError, match="log : Tensor had NaN values"):
        f(fg.constant(-1.0))


def test_shapes_compare_with_tuples() -> None:
    fg.debugging.assert_equal(fg.zeros([32, 10]).shape, (32, 10))
    with pytest.raises(InvalidArgumentError):
        fg.debugging.assert_equal(fg.zeros([32, 10]).shape, (32, 11))


def test_other_checks() -> None:
    fg.debugging.assert_near([1.0], [1.0 + 1e-7])
    with pytest.raises(InvalidArgumentError):
        fg.debugging.assert_near([1.0], [1.1])
    with pytest.raises(TypeError, match="must be of type"):
        fg.debugging.assert_type(1, fg.float32)
    with pytest.raises(ValueError, match="Expected scalar shape"):
        fg.debugging.assert_scalar([1])
    with pytest.raises(TypeError, match="integer type"):
        fg.debugging.assert_integer(1.0)
    with pytest.raises(ValueError, match="rank at least 2"):
        fg.debugging.assert_rank_at_least([1], 2)


@pytest.mark.parametrize(
    ("check", "wanted"),
    [
        (lambda x: fg.debugging.assert_rank(x, 2), "must have rank 2"),
        (lambda x: fg.debugging.assert_rank_at_least(x, 2), "must have rank at least 2"),
        (lambda x: fg.debugging.assert_rank_in(x, [2, 3]), r"must have rank in \(2, 3\)"),
    ],
)
def test_ranks_that_tracing_does_not_know_are_checked_at_run_time(check: Any, wanted: str) -> None:
    @fg.function(input_signature=[fg.TensorSpec(None)])
    def checked(x: Any) -> Any:
        check(x)
        return x * 2.0

    assert checked(fg.ones([2, 3])).shape == [2, 3]
    with pytest.raises(fg.errors.InvalidArgumentError, match=wanted):
        checked(fg.ones([2]))


@pytest.mark.parametrize(
    "check",
    [
        lambda x: fg.debugging.assert_rank(x, 2),
        lambda x: fg.debugging.assert_rank_at_least(x, 2),
        lambda x: fg.debugging.assert_rank_in(x, [0, 2]),
    ],
)
def test_ranks_of_eager_tensors_are_checked_in_functions(check: Any) -> None:
    x = fg.constant([1.0])
    with pytest.raises(ValueError, match="Received rank 1"):
        fg.function(lambda: check(x))()


@pytest.mark.parametrize("check", ["assert_rank", "assert_rank_at_least", "assert_rank_in"])
@pytest.mark.parametrize("shape", [None, [None, None]])
def test_ranks_that_are_tensors_are_compared_at_run_time(check: str, shape: Any) -> None:
    @fg.function(input_signature=[fg.TensorSpec(shape), fg.TensorSpec([], "int32")])
    def checked(x: Any, rank: Any) -> Any:
        getattr(fg.debugging, check)(x, (rank, 7) if check == "assert_rank_in" else rank)
        return x * 2.0

    assert checked(fg.ones([2, 3]), fg.constant(2)).shape == [2, 3]
    with pytest.raises(fg.errors.InvalidArgumentError, match="must have rank"):
        checked(fg.ones([2, 3]), fg.constant(3))


def test_shapes_of_sparse_tensors() -> None:
    wide, single = fg.sparse.from_dense(np.eye(3, 4)), fg.SparseTensor(np.zeros([1, 0], np.int64), [4.0], [])
    fg.debugging.assert_shapes([(wide, ("N", "M")), (fg.zeros([3]), ("N",)), (single, (1,)), (wide, [..., 4])])
    for shape in (("N", 5), ("N",), ("N", "N"), (4, 4)):
        with pytest.raises(ValueError, match="must have"):
            fg.debugging.assert_shapes([(wide, shape)])

    @fg.function(input_signature=[fg.SparseTensorSpec([None, None]), fg.SparseTensorSpec(None)])
    def checked(x: Any, y: Any) -> Any:
        fg.debugging.assert_shapes([(x, ("N", 4)), (y, ("N", 4, 2))])
        return fg.reduce_sum(x.values)

    ones = fg.sparse.from_dense(np.ones([3, 4], np.float32))
    assert checked(ones, fg.sparse.from_dense(np.ones([3, 4, 2], np.float32))) == 12.0
    for dims in ([2, 4, 2], [3, 4]):
        with pytest.raises(InvalidArgumentError):
            checked(ones, fg.sparse.from_dense(np.ones(dims, np.float32)))


def test_a_rank_that_is_a_vector() -> None:
    with pytest.raises(ValueError, match="Rank must be a scalar"):
        fg.debugging.assert_rank_in([1.0], [1, np.array([1, 2])])


def test_a_scalar_of_unknown_rank_is_refused_while_tracing() -> None:
    with pytest.raises(ValueError, match="Expected scalar shape, saw shape: <unknown>"):
        fg.function(
            lambda x: fg.debugging.assert_scalar(x), input_signature=[fg.TensorSpec(None)]
        ).get_concrete_function()


@pytest.mark.parametrize("tier", ["first", "last"])
def test_checks_run_though_nothing_needs_their_results(tier: str) -> None:
    def once(x: Any) -> Any:
        fg.debugging.check_numerics(x * 2.0, "checked")
        return x + 1.0

    def in_a_loop(x: Any) -> Any:
        for _ in fg.range(2):
            fg.debugging.check_numerics(x, "checked")
        return x + 1.0

    def in_a_branch(x: Any) -> Any:
        if fg.size(x) > 0:
            fg.debugging.assert_all_finite(x, "checked")
        return fg.exp(x)

    with flags.override(tier=tier, worker=False):
        for function in (once, in_a_loop, in_a_branch):
            staged = fg.function(function)
            for value in (1.0, [1.0, 2.0]):
                staged(fg.constant(value))
                with pytest.raises(fg.errors.InvalidArgumentError, match="checked : Tensor had NaN values"):
                    staged(fg.constant(value) * float("nan"))


@pytest.mark.parametrize(
    ("specs", "wanted", "good", "bad"),
    [
        ([[None, None]], ["NN"], [[2, 2]], [[2, 3]]),
        ([[None, None]], [(4, "N")], [[4, 2]], [[2, 3]]),
        ([None], ["NN"], [[2, 2]], [[2, 3]]),
        ([None], ["NN"], [[3, 3]], [[3]]),
        ([None], [("*", 3)], [[3]], [[2, 2]]),
        ([[None], [2, None]], ["N", "MN"], [[2], [2, 2]], [[2], [2, 3]]),
    ],
)
def test_shapes_that_tracing_does_not_know_are_checked_at_run_time(
    specs: Any, wanted: Any, good: Any, bad: Any
) -> None:
    @fg.function(input_signature=[fg.TensorSpec(shape) for shape in specs])
    def checked(*xs: Any) -> Any:
        fg.debugging.assert_shapes(list(zip(xs, wanted, strict=True)))
        return xs[0] * 2.0

    assert checked(*map(fg.ones, good)).shape == good[0]
    with pytest.raises(InvalidArgumentError, match="must have"):
        checked(*map(fg.ones, bad))
