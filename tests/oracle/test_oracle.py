"""The comparison with TensorFlow: a share of it where there is TensorFlow, and that it would find what differs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.oracle import graph_defs, graph_letters, processes
from tests.oracle.__main__ import compare, report
from tests.oracle.compare import difference
from tests.oracle.draw import Case, draw, drawn, op_functions
from tests.oracle.reasons import NOT_COMPARED
from tests.oracle.runner import Runner, packed, unpacked
from tests.oracle.sections import section, with_section


def test_every_name_has_a_case_that_gives_a_value() -> None:
    runner = Runner("fastgraph")
    missing = set(op_functions()) - set(NOT_COMPARED)
    for case in draw():
        if case.name in missing and not case.wrong and "values" in runner.run((case.text, case.arrays, False)):
            missing.remove(case.name)
    assert missing == set()


@pytest.mark.slow
def test_what_is_drawn_is_fixed() -> None:
    assert draw() == draw()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("tf.sin(x) * 1.001", "values"),
        ("tf.cast(tf.sin(x), 'float64')", "dtype"),
        ("tf.expand_dims(tf.sin(x), 0)", "shape"),
        ("tf.sin(x) + tf.stop_gradient(x - x) + 0 * x * 0 + (x - tf.stop_gradient(x))", "first gradient"),
        ("tf.sin(tf.concat([x, x], 0), 1, 2, 3)", "error"),
    ],
)
def test_planted_differences_are_found(text: str, kind: str) -> None:
    runner = Runner("fastgraph")
    arrays = {"x": packed(np.array([0.5, 1.5], np.float32))}
    got, wanted = runner.run((text, arrays, True)), runner.run(("tf.sin(x)", arrays, True))
    assert difference(wanted, wanted, "values") == ""
    assert difference(got, wanted, "values").startswith(kind)


def test_a_report_keeps_the_part_of_the_other_table() -> None:
    plain = "# all\n\n## Names\n\n| x |\n"
    once = with_section(plain, "one\ntwo\n")
    assert section(once) == "one\ntwo\n"
    assert section(plain) == ""
    assert with_section(plain, section(once)) == once
    assert with_section(with_section(once, "three\n"), "one\ntwo\n") == once
    assert with_section(plain, "") == plain


def test_what_has_an_order_or_sign_of_its_own_is_compared_without() -> None:
    runner = Runner("fastgraph")
    arrays = {"x": packed(np.array([2.0, -1.0], np.float32))}
    plain = runner.run(("x + 0", arrays, False))
    for text, how, same in (
        ("-x", "absolute", True),
        ("tf.reverse(-x, [0])", "absolute", False),
        ("tf.reverse(-x, [0])", "unordered", True),
        ("tf.reverse(x, [0]) * 1.001", "unordered", False),
    ):
        assert (difference(runner.run((text, arrays, False)), plain, how) == "") is same


def test_where_tensorflow_defines_no_gradient_none_is_compared() -> None:
    value = packed(np.ones([1], np.float32))
    none: dict[str, Any] = {"values": [value], "first": ("error", "LookupError", "")}
    ours = {"values": [value], "first": [value], "second": [value]}
    assert difference(ours, none, "values") == ""
    assert difference(none, ours, "values").startswith("first gradient: LookupError")


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "complex64", "bool", "string"])
def test_arrays_travel(dtype: str) -> None:
    array = drawn(dtype, (2, 3), "", 1)
    assert np.array_equal(unpacked(packed(array)), array)


@pytest.mark.skipif(processes.tensorflow_python() is None, reason="no TensorFlow")
@pytest.mark.slow
def test_graph_defs_across() -> None:
    assert graph_defs.main([]) == 0


@pytest.mark.skipif(processes.tensorflow_python() is None, reason="no TensorFlow")
@pytest.mark.slow
def test_small_graphs_are_equal_to_the_letter() -> None:
    assert graph_letters.main([]) <= 38  # of 91; docs/graphs.md says what differs


@pytest.mark.skipif(processes.tensorflow_python() is None, reason="no TensorFlow")
@pytest.mark.slow
def test_ops_are_tensorflows() -> None:
    python = processes.tensorflow_python()
    assert python is not None
    made = compare(draw()[::9], python)
    assert made.unexplained == []
    assert f"TensorFlow {made.versions[0]}" in report(made)


@pytest.mark.skipif(processes.tensorflow_python() is None, reason="no TensorFlow")
@pytest.mark.slow
def test_a_wrong_op_is_reported() -> None:
    python = processes.tensorflow_python()
    assert python is not None
    x = packed(np.array([1.0], np.float32))
    made = compare([Case("sin", "tf.sin(x) + float(tf.__name__ == 'fastgraph')", {"x": x})], python)
    assert len(made.unexplained) == 1
    assert "without a reason: 1" in report(made)
