"""tf.test: asserts of tensors, eagerly and in Functions; Jacobians by differences; what else tests ask for."""

from __future__ import annotations

import os
import random
import sys
import unittest
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import fastgraph as fg


@pytest.fixture(autouse=True)
def _filtered_again() -> Iterator[None]:
    """A TestCase shows whole tracebacks, as TensorFlow's does: the tests after these want them filtered."""
    yield
    fg.debugging.enable_traceback_filtering()


def run(body: Any) -> unittest.TestResult:
    """Run a function of a TestCase as a test."""

    class Case(fg.test.TestCase):
        def test_it(self) -> None:
            body(self)

    result = unittest.TestResult()
    Case("test_it").run(result)
    return result


def passes(body: Any) -> None:
    result = run(body)
    assert result.wasSuccessful() and result.testsRun == 1, [text for _, text in [*result.errors, *result.failures]]


def fails(body: Any, word: str, kind: type[Exception] = AssertionError) -> None:
    """The test fails, its message has a word."""
    result = run(body)
    (text,) = [text for _, text in (result.failures if kind is AssertionError else result.errors)]
    assert word in text and kind.__name__ in text, text


RAGGED = fg.ragged.constant([[1, 2], [3]])
GOOD: dict[str, Any] = {
    "close": lambda t: t.assertAllClose({"a": [fg.constant(1.0), (2.0,)]}, {"a": [1.0 + 1e-7, (fg.constant(2.0),)]}),
    "close of a list of tensors": lambda t: t.assertAllClose([fg.ones([2]), fg.zeros([2])], [[1, 1], [0, 0]]),
    "close nan": lambda t: t.assertAllClose([np.nan, np.inf], fg.constant([np.nan, np.inf])),
    "close bfloat16": lambda t: t.assertAllClose(fg.ones([2], fg.bfloat16), [1.0, 1.0]),
    "close of rows": lambda t: t.assertAllClose(fg.ragged.constant([[1.0], []]), [[1.0], []]),
    "half": lambda t: t.assertAllCloseAccordingToType(fg.constant([1.0], fg.float16), [1.0009]),
    "not close": lambda t: t.assertNotAllClose([1.0, 2.0], fg.constant([1.0, 2.1])),
    "equal": lambda t: t.assertAllEqual(fg.constant([[1, 2]]), [[1, 2]]),
    "equal nan": lambda t: t.assertAllEqual([np.nan], fg.constant([np.nan])),
    "equal text": lambda t: t.assertAllEqual(fg.constant(["a", "b"]), ["a", "b"]),
    "equal rows": lambda t: t.assertAllEqual(RAGGED, [[1, 2], [3]]),
    "not equal": lambda t: t.assertNotAllEqual([1, 2], fg.constant([1, 3])),
    "greater": lambda t: (t.assertAllGreater(fg.constant([2, 3]), 1), t.assertAllGreaterEqual([2, 3], 2)),
    "less": lambda t: (t.assertAllLess(fg.constant([2, 3]), 4), t.assertAllLessEqual([2, 3], 3)),
    "range": lambda t: t.assertAllInRange(fg.constant([1.0, 2.0]), 1, 3, open_upper_bound=True),
    "set": lambda t: t.assertAllInSet(fg.constant([1, 2]), {1, 2, 3}),
    "near": lambda t: (t.assertNear(1.0, 1.01, 0.1), t.assertArrayNear([1.0], [1.01], 0.1)),
    "nd near": lambda t: t.assertNDArrayNear(np.zeros(2), np.full(2, 0.01), 0.1),
    "dtype": lambda t: t.assertDTypeEqual(fg.zeros([2]), np.float32),
    "shape": lambda t: t.assertShapeEqual(np.zeros([2, 3]), fg.zeros([2, 3])),
    "dict": lambda t: t.assertDictEqual({"a": fg.constant(1.0)}, {"a": 1.0}),
    "device": lambda t: t.assertDeviceEqual("/cpu:0", "/device:CPU:0"),
    "starts": lambda t: t.assertStartsWith("abc", "ab"),
    "len": lambda t: (t.assertLen([1], 1), t.assertEmpty([]), t.assertNotEmpty([1]), t.assertBetween(2, 1, 3)),
    "elements": lambda t: t.assertSameElements([1, 1, 2], [2, 1]),
    "evaluate": lambda t: t.assertEqual(t.evaluate({"a": fg.constant(3)})["a"], 3),
    "session": lambda t: t.assertEqual(t.session().__enter__().run(fg.constant(3)), 3),
    "thread": lambda t: [(thread.start(), thread.join()) for thread in [t.checkedThread(lambda: None)]],
    "file": lambda t: t.assertEqual(t.create_tempfile("x.txt", "hi").read_text(), "hi"),
}
BAD: dict[str, tuple[Any, str]] = {
    "close": (lambda t: t.assertAllClose(fg.constant([1.0, 2.0]), [1.0, 2.5]), "not close dif = [0.5]"),
    "close place": (lambda t: t.assertAllClose({"a": [1.0]}, {"a": [2.0]}), "a[a] is different from b[a]"),
    "close shape": (lambda t: t.assertAllClose([1.0], [1.0, 2.0]), "Shape mismatch: expected (1,), got (2,)"),
    "not close": (lambda t: t.assertNotAllClose([1.0], [1.0]), "close at all elements"),
    "equal": (lambda t: t.assertAllEqual([1, 2], fg.constant([1, 3])), "not equal where = (array([1])"),
    "equal rows": (lambda t: t.assertAllEqual(RAGGED, [[1, 2], [4]]), "[[1, 2], [3]]"),
    "greater": (lambda t: t.assertAllGreater([1, 2], 1), "1 not greater than 1"),
    "range": (lambda t: t.assertAllInRange([1, 5], 0, 3), "outside the range [0, 3]"),
    "range nan": (lambda t: t.assertAllInRange([np.nan], 0, 3), "are NaN"),
    "range bool": (lambda t: t.assertAllInRange([True], 0, 3), "ordered numeric type"),
    "set": (lambda t: t.assertAllInSet([1, 7], [1]), "1 unique element(s) are not in the set [1]: [7]"),
    "near": (lambda t: t.assertNear(1.0, 2.0, 0.5), "1.000000 != 2.000000 +/- 0.500000"),
    "starts": (lambda t: t.assertStartsWith("abc", "b"), "does not start with"),
    "len": (lambda t: t.assertLen([1], 2), "has length of 1, expected 2"),
    "thread": (lambda t: t.checkedThread(lambda: None).start(), "not joined"),
}


@pytest.mark.parametrize("name", GOOD)
def test_asserts_that_hold(name: str) -> None:
    passes(GOOD[name])


@pytest.mark.parametrize("name", BAD)
def test_asserts_that_do_not_hold(name: str) -> None:
    fails(*BAD[name])


def test_structures_that_differ_are_errors() -> None:
    fails(lambda t: t.assertAllClose({"a": 1.0}, [1.0]), "Can't compare dict to non-dict", ValueError)
    fails(lambda t: t.assertAllClose([[1.0], [1.0, 2.0]], [[1.0]]), "Shape mismatch")
    fails(lambda t: t.assertShapeEqual([1], np.zeros(1)), "input_a must be", TypeError)


def test_errors_are_expected() -> None:
    def body(t: Any) -> None:
        with t.assertRaisesOpError("is not in"):
            fg.gather([1, 2], 7)
        with t.assertRaisesWithPredicateMatch(ValueError, lambda error: "b" in str(error)):
            raise ValueError("abc")
        with t.assertRaisesIncompatibleShapesError():
            fg.ones([2]) + fg.ones([3])
        with t.assertRaises(AssertionError), t.assertRaisesOpError("x"):
            pass

    passes(body)


def test_asserts_in_functions_are_checked_when_they_run() -> None:
    def body(t: Any) -> None:
        @fg.function(input_signature=[fg.TensorSpec([None])])
        def doubled(x: Any) -> Any:
            t.assertAllClose(x * 2, [2.0, 4.0])
            t.assertAllGreater(x, 0)
            return x * 2

        t.assertAllEqual(doubled(fg.constant([1.0, 2.0])), [2, 4])
        with t.assertRaises(fg.errors.OpError):
            doubled(fg.constant([1.0, 3.0]))

    passes(body)


def test_every_test_begins_with_the_same_random_numbers() -> None:
    drawn = []
    for _ in range(2):
        passes(lambda t: drawn.append((random.random(), np.random.random(), float(fg.random.uniform([])))))  # noqa: NPY002
    assert drawn[0] == drawn[1]


def test_cases_of_libraries_ask_for_arrays() -> None:
    passes(lambda case: case.assertEqual(case._GetNdArray([fg.constant(1), 2]).tolist(), [1, 2]))


def test_folders_go_with_the_test() -> None:
    paths: list[str] = []

    def body(t: Any) -> None:
        paths.extend([t.get_temp_dir(), t.get_temp_dir(), str(t.create_tempdir("d").create_file("x", b"1"))])
        t.assertTrue(os.path.exists(paths[2]))
        with t.captureWritesToStream(sys.__stderr__) as kept:
            print("written", file=sys.__stderr__)
        t.assertEqual(kept.contents(), "written\n")

    passes(body)
    assert paths[0] == paths[1] and not os.path.exists(paths[0])


def test_messages() -> None:
    with fg.Graph().as_default() as graph:
        fg.constant(1, name="a")
    node = graph.as_graph_def().node[0]
    passes(lambda t: t.assertProtoEquals(node, graph.as_graph_def().node[0]))
    passes(lambda t: t.assertProtoEquals(str(node).replace('"', "'").replace("\n", " "), node))
    fails(lambda t: t.assertProtoEquals('name: "b"', node), "b")
    fg.test.assert_equal_graph_def(graph.as_graph_def(), graph.as_graph_def())
    with pytest.raises(AssertionError, match="absent"):
        fg.test.assert_equal_graph_def(graph.as_graph_def(), fg.Graph().as_graph_def())


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_jacobians(dtype: str) -> None:
    x = np.array([[1.0, -2.0], [0.5, 3.0]]).astype(dtype)
    y = np.array([2.0, 1.5]).astype(dtype)
    theoretical, numerical = fg.test.compute_gradient(lambda a, b: a * a * b, [x, y], delta=1e-3)
    for a, b in zip(theoretical, numerical, strict=True):
        assert a.dtype == b.dtype and np.allclose(a, b, rtol=1e-2, atol=1e-2)
    parts = 2 if dtype.startswith("complex") else 1
    assert [j.shape for j in theoretical] == [(4 * parts, 4 * parts), (4 * parts, 2 * parts)]


def test_jacobians_of_rows_of_functions_and_of_nothing() -> None:
    table = np.arange(6.0).reshape(3, 2)
    theoretical, numerical = fg.test.compute_gradient(lambda t: fg.gather(t, [2, 2, 0]), [table])
    assert np.allclose(theoretical[0], numerical[0])
    function = fg.function(lambda x: x * x)
    assert fg.test.compute_gradient(function, [[3.0]])[0][0].tolist() == [[6.0]]
    assert fg.test.compute_gradient(lambda x: x, [np.zeros((0, 2))])[0][0].shape == (0, 0)
    with pytest.raises(ValueError, match="`x` must be a list or tuple"):
        fg.test.compute_gradient(fg.square, fg.constant(1.0))


def test_what_else_tests_ask_for() -> None:
    skipped = fg.test.disable_with_predicate(lambda: True, "not today")(lambda t: None)
    assert run(skipped).skipped[0][1] == "not today"
    assert fg.test.with_eager_op_as_function(list) is list
    fg.test.experimental.sync_devices()
    assert fg.test.is_cpu_target_available("x86") in (True, False)

    class Timed(fg.test.Benchmark):
        def benchmark_it(self) -> None:
            self.report_benchmark(iters=2, wall_time=0.5)

    timed = Timed()
    timed.benchmark_it()
    assert timed.reports == [{"name": "Timed.benchmark_it", "iters": 2, "wall_time": 0.5, "extras": {}, "metrics": []}]
