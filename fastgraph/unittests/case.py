"""tf.test.TestCase: asserts of tensors, arrays and nested structures of them, and what a test runs in.

Rule: tensors are compared as arrays; what a message says is where two sides differ, by how much, and their shapes.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import math
import os
import pathlib
import random
import re
import shutil
import tempfile
import threading
import types
import unittest
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from fastgraph.composites.composite_values import RaggedTensorValue, evaluated
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.core import op_errors
from fastgraph.core.base import nesting
from fastgraph.core.base.missing_methods import without
from fastgraph.core.conversion import TensorLike
from fastgraph.core.device_spec import DeviceSpec
from fastgraph.core.tensor import EagerTensor, Tensor, current_trace
from fastgraph.errors import InvalidArgumentError, NotBuiltError, OpError
from fastgraph.graphdef.messages import Message
from fastgraph.ops.python_functions import py_function
from fastgraph.ops.random_ops import set_seed

#: The seed of every test: Python's, NumPy's and the ops' random numbers begin with it.
SEED = 87654321


def _is_symbolic(value: object) -> bool:
    return isinstance(value, Tensor) and not isinstance(value, EagerTensor)


def _at_run_time(method: Callable[..., None]) -> Callable[..., None]:
    """An assert that waits, where it is given tensors of a graph, until the graph runs."""

    @functools.wraps(method)
    def check(self: TestCase, *args: Any, **kwargs: Any) -> None:
        trace = current_trace()
        leaves = [] if trace is None else nesting.flatten((args, kwargs), expand_composites=True)
        places = [i for i, leaf in enumerate(leaves) if _is_symbolic(leaf)]
        if not places:
            method(self, *args, **kwargs)
            return

        def run(*values: Any) -> None:
            known = list(leaves)
            for i, value in zip(places, values, strict=True):
                known[i] = value
            given, named = nesting.pack_sequence_as((args, kwargs), known, expand_composites=True)
            method(self, *given, **named)

        py_function(run, [leaves[i] for i in places], [])

    return check


def as_array(value: Any) -> Any:
    """Return a tensor, a nested sequence of numbers and tensors, or an array as an array."""
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, list | tuple) and callable(getattr(value, "numpy", None)):
        return np.asarray(value.numpy())
    try:
        return np.array(value)
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        return np.array(value, dtype=object)


def _places(where: Any, values: Any) -> str:
    """Lines of positions and the elements there."""
    values = np.atleast_1d(values)
    found = np.argwhere(np.atleast_1d(where))
    lines = [f"  {at} : {values[tuple(at)]}" for at in found[:10]]
    return "\n".join([*lines, "  ..."] if len(found) > 10 else lines)


def _extreme(which: str, check: str) -> Callable[..., None]:
    """An assert about all elements that is one about the least or the greatest."""

    def method(self: TestCase, a: Any, comparison_target: TensorLike) -> None:
        getattr(self, check)(getattr(np, which)(as_array(a)), comparison_target)

    return _at_run_time(method)


class _Session:
    """A stand-in for a session: `run` gives the values of tensors."""

    def __init__(self, case: TestCase) -> None:
        self._case = case

    def run(self, fetches: Any, feed_dict: Any = None) -> Any:
        if feed_dict:
            raise RuntimeError("feed_dict is not supported when eager execution is enabled")
        return self._case.evaluate(fetches)


class _Thread(threading.Thread):
    """A thread whose error fails the test where it is joined."""

    def __init__(self, case: TestCase, *call: Any) -> None:
        super().__init__(target=call[0], args=call[1] or (), kwargs=call[2])
        self._case, self._joined = case, False
        self._error: Exception | None = None

    def run(self) -> None:
        try:
            super().run()
        except Exception as error:
            self._error = error

    def join(self, timeout: float | None = None) -> None:
        self._joined = True
        super().join(timeout)
        if self._error is not None:
            self._case.fail(f"Error in checkedThread: {self._error}")

    def check_termination(self) -> None:
        if not self._joined:
            self._case.fail("A checked thread was not joined.")


class _Path(pathlib.PosixPath):
    """A file or folder of a test, with absl's names."""

    @property
    def full_path(self) -> str:
        return str(self)

    def create_file(self, file_path: str = "file", content: str | bytes = "", mode: str = "w") -> _Path:
        found = self / file_path
        found.parent.mkdir(parents=True, exist_ok=True)
        found.write_bytes(content if isinstance(content, bytes) else content.encode())
        return found


class _WithoutAbsl(unittest.TestCase):
    """The asserts of absl's TestCase that programs use most."""

    def assertLen(self, container: Any, expected_len: int, msg: str | None = None) -> None:
        if len(container) != expected_len:
            self.fail(f"{container!r} has length of {len(container)}, expected {expected_len}. {msg or ''}")

    def assertEmpty(self, container: Any, msg: str | None = None) -> None:
        self.assertEqual(len(container), 0, msg or f"{container!r} has length of {len(container)}.")

    def assertNotEmpty(self, container: Any, msg: str | None = None) -> None:
        self.assertNotEqual(len(container), 0, msg or f"{container!r} has length of 0.")

    def assertBetween(self, value: Any, minv: Any, maxv: Any, msg: str | None = None) -> None:
        self.assertTrue(minv <= value <= maxv, msg or f"{value!r} unexpectedly not between {minv!r} and {maxv!r}")

    def assertSameElements(self, expected_seq: Any, actual_seq: Any, msg: str | None = None) -> None:
        expected, actual = list(expected_seq), list(actual_seq)
        lacking, extra = [x for x in expected if x not in actual], [x for x in actual if x not in expected]
        self.assertTrue(not (lacking or extra), msg or f"expected, but absent: {lacking!r}; not expected: {extra!r}")


_Base: Any = _WithoutAbsl
if importlib.util.find_spec("absl") is not None:
    _Base = importlib.import_module("absl.testing.absltest").TestCase


@without({"assertProtoEquals": "assertProtoEqualsVersion", "evaluate": "evaluate_if_both_tensors"})
class TestCase(_Base):  # type: ignore[misc]
    """A unittest.TestCase whose asserts take tensors, arrays and structures of them.

    setUp sets the seeds of Python's, NumPy's and the ops' random numbers. Asserts within a Function are checked when it
    runs. There are no sessions: `session()` and its like give an object whose `run` gives the values of tensors.
    Source: tf.test.TestCase.

    Examples:
        >>> class Doubling(tf.test.TestCase):
        ...     def test_it(self):
        ...         self.assertAllEqual(tf.constant([1, 2]) * 2, [2, 4])
    """

    __test__ = False  # pytest: this class has no tests of its own

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__test__" not in cls.__dict__:
            cls.__test__ = True

    def __init__(self, methodName: str = "runTest") -> None:
        super().__init__(methodName)
        op_errors.TRACEBACKS = True
        self._threads: list[_Thread] = []
        self._folder: str | None = None

    def setUp(self) -> None:
        """Set the seeds."""
        super().setUp()
        random.seed(SEED)
        np.random.seed(SEED)  # noqa: NPY002 - that generator is the one that tests use
        set_seed(SEED)
        if self.id().endswith(".test_session"):
            self.skipTest("Not a test.")

    def tearDown(self) -> None:
        """Check that no thread is left, and remove the test's folder."""
        for thread in self._threads:
            thread.check_termination()
        super().tearDown()

    _GetNdArray = staticmethod(as_array)  # TensorFlow's inner name, which libraries' cases call

    # ---- what a test runs in

    def get_temp_dir(self) -> str:
        """Return the path of a folder that is this test's own, the same at every call."""
        if self._folder is None:
            self._folder = tempfile.mkdtemp()
            self.addCleanup(shutil.rmtree, self._folder, ignore_errors=True)
        return self._folder

    def create_tempdir(self, name: str | None = None, cleanup: Any = None) -> Any:
        """Return a new folder of this test."""
        found = _Path(self.get_temp_dir(), name) if name else _Path(tempfile.mkdtemp(dir=self.get_temp_dir()))
        found.mkdir(parents=True, exist_ok=True)
        return found

    def create_tempfile(self, file_path: str | None = None, content: Any = "", *args: Any, **kwargs: Any) -> Any:
        """Return a new file of this test."""
        return _Path(self.get_temp_dir()).create_file(file_path or "file", content or "")

    def evaluate(self, tensors: Any) -> Any:
        """Return tensors, in structures, as arrays; of a function what it returns."""

        def value(leaf: Any) -> Any:
            return self.evaluate(leaf()) if callable(leaf) and not isinstance(leaf, Tensor) else evaluated(leaf)

        if current_trace() is not None:
            raise NotBuiltError(
                "TestCase.evaluate within a graph is not built: there are no sessions. Call a Function."
            )
        return None if tensors is None else nesting.map_structure(value, tensors)

    @contextlib.contextmanager
    def session(
        self, graph: Any = None, config: object = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Any]:
        """A context that gives what stands for a session. Raises NotBuiltError for a graph."""
        if graph is not None:
            raise NotBuiltError("TestCase.session(graph=...) is not built: there are no sessions. Call a Function.")
        yield _Session(self)

    cached_session = session

    @contextlib.contextmanager
    def test_session(
        self, graph: Any = None, config: object = None, use_gpu: bool = True, force_gpu: bool = False
    ) -> Iterator[Any]:
        """A context, which gives None in eager mode; a test of this name is skipped."""
        if self.id().endswith(".test_session"):
            self.skipTest('Tests that have the name "test_session" are skipped: the name is the fixture\'s.')
        with self.session(graph):
            yield None

    def checkedThread(self, target: Callable[..., Any], args: Any = None, kwargs: Any = None) -> _Thread:
        """Return a thread whose error fails the test when it is joined, which it must be."""
        self._threads.append(_Thread(self, target, args, kwargs))
        return self._threads[-1]

    @contextlib.contextmanager
    def captureWritesToStream(self, stream: Any) -> Iterator[Any]:
        """A context in which what is written to a stream's file descriptor is kept: `contents()` of what it gives."""
        stream.flush()
        handle, path = tempfile.mkstemp(dir=self.get_temp_dir())
        kept = os.dup(stream.fileno())
        try:
            os.dup2(handle, stream.fileno())
            yield types.SimpleNamespace(contents=lambda: pathlib.Path(path).read_text(encoding="utf-8"))
        finally:
            stream.flush()
            os.dup2(kept, stream.fileno())
            os.close(kept)
            os.close(handle)

    # ---- near

    @_at_run_time
    def assertNear(self, f1: TensorLike, f2: TensorLike, err: float, msg: object = None) -> None:
        """Check |f1 - f2| <= err."""
        a, b = float(np.squeeze(as_array(f1))), float(np.squeeze(as_array(f2)))
        difference = math.fabs(a - b) if a != b else 0.0
        text = f" ({msg})" if msg is not None else ""
        self.assertTrue(difference <= err, f"{a:f} != {b:f} +/- {err:f} (difference: {difference:g}){text}")

    @_at_run_time
    def assertArrayNear(self, farray1: Any, farray2: Any, err: float, msg: object = None) -> None:
        """Check |f1 - f2| <= err of each pair."""
        self.assertEqual(len(farray1), len(farray2), msg=msg)
        for a, b in zip(farray1, farray2, strict=True):
            self.assertNear(float(a), float(b), err, msg=msg)

    @_at_run_time
    def assertNDArrayNear(self, ndarray1: Any, ndarray2: Any, err: float, msg: object = None) -> None:
        """Check that the norm of the difference is below err."""
        self.assertTrue(np.linalg.norm(as_array(ndarray1) - as_array(ndarray2)) < err, msg=msg)

    @_at_run_time
    def assertAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: str | None = None) -> None:
        """Check |a - b| <= atol + rtol * |b| of all elements of two structures. ValueError if those differ."""
        self._close(a, b, rtol, atol, "", msg or "")

    def _close(self, a: Any, b: Any, rtol: float, atol: float, path: str, msg: str) -> None:
        if isinstance(a, RaggedTensor | RaggedTensorValue) or isinstance(b, RaggedTensor | RaggedTensorValue):
            self._lists_close(_as_list(a), _as_list(b), rtol, atol, path, msg)
            return
        a, b = [side._asdict() if hasattr(side, "_asdict") else side for side in (a, b)]
        if isinstance(a, Mapping) != isinstance(b, Mapping):
            raise ValueError(f"Can't compare dict to non-dict, a{path} vs b{path}. {msg}")
        if isinstance(a, Mapping):
            self.assertCountEqual(a.keys(), b.keys(), f"mismatched keys: a{path}, b{path}. {msg}")
            for key in a:
                self._close(a[key], b[key], rtol, atol, f"{path}[{key}]", msg)
            return
        text = f"Mismatched value: a{path} is different from b{path}. {msg}"
        if not isinstance(a, list | tuple):
            self._arrays_close(a, b, rtol, atol, text)
            return
        try:
            self._arrays_close(as_array(a), as_array(b), rtol, atol, text)
        except (ValueError, TypeError, NotImplementedError):
            if len(a) != len(b):
                raise ValueError(
                    f"Mismatched length: a{path} has {len(a)} items, but b{path} has {len(b)} items. {msg}"
                ) from None
            for i, (left, right) in enumerate(zip(a, b, strict=True)):
                self._close(left, right, rtol, atol, f"{path}[{i}]", msg)

    def _lists_close(self, a: Any, b: Any, rtol: float, atol: float, path: str, msg: str) -> None:
        self.assertEqual(type(a), type(b), msg)
        if not isinstance(a, list):
            self._close(a, b, rtol, atol, path, msg)
            return
        self.assertEqual(len(a), len(b), f"Length differs for value{path}. {msg}")
        for i, (left, right) in enumerate(zip(a, b, strict=True)):
            self._lists_close(left, right, rtol, atol, f"{path}[{i}]", msg)

    def _arrays_close(self, a: Any, b: Any, rtol: float, atol: float, msg: str) -> None:
        a, b = as_array(a), as_array(b)
        shown = f" with contents {b}" if b.ndim <= 3 or b.size < 500 else ""
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}{shown}.")
        dtype = a.dtype
        # NumPy's promotion knows neither bfloat16 nor the floats of 8 bits.
        a, b = [x.astype(np.float32) if x.dtype.kind == "V" or x.dtype.name.startswith(("bf", "float8")) else x
                for x in (a, b)]  # fmt: skip
        if np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True):
            return
        wrong = (np.abs(a - b) > atol + rtol * np.abs(b)) | (np.isnan(a) != np.isnan(b))
        x, y = (a[wrong], b[wrong]) if a.ndim else (a, b)
        self.fail(
            f"{msg}\nnot close where = {np.nonzero(np.atleast_1d(wrong))}\nnot close lhs = {x}\nnot close rhs = {y}\n"
            f"not close dif = {np.abs(x - y)}\nnot close tol = {atol + rtol * np.abs(y)}\n"
            f"dtype = {dtype}, shape = {a.shape}"
        )

    @_at_run_time
    def assertAllCloseAccordingToType(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6,
                                      float_rtol: float = 1e-6, float_atol: float = 1e-6, half_rtol: float = 1e-3,
                                      half_atol: float = 1e-3, bfloat16_rtol: float = 1e-2, bfloat16_atol: float = 1e-2,
                                      msg: str | None = None) -> None:  # fmt: skip
        """Do what assertAllClose does, with wider tolerances where one side is a float32, a float16 or a bfloat16."""
        a, b = as_array(a), as_array(b)
        wider = (("float32", float_rtol, float_atol), ("complex64", float_rtol, float_atol),
                 ("float16", half_rtol, half_atol), ("bfloat16", bfloat16_rtol, bfloat16_atol))  # fmt: skip
        for name, relative, absolute in wider:
            if name in (a.dtype.name, b.dtype.name):
                rtol, atol = max(rtol, relative), max(atol, absolute)
        self.assertAllClose(a, b, rtol=rtol, atol=atol, msg=msg)

    @_at_run_time
    def assertNotAllClose(self, a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-6, msg: object = None) -> None:
        """Check that some element is not close."""
        self._fails("close", lambda: self.assertAllClose(a, b, rtol=rtol, atol=atol), msg)

    def _fails(self, what: str, check: Callable[[], None], msg: object) -> None:
        try:
            check()
        except AssertionError:
            return
        raise AssertionError(f"The two values are {what} at all elements. {msg or ''}")

    # ---- equal, in a range, in a set

    @_at_run_time
    def assertAllEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Check that all elements are equal; NaN is equal to NaN. A shape of () is that of any one number."""
        if isinstance(a, RaggedTensor | RaggedTensorValue) or isinstance(b, RaggedTensor | RaggedTensorValue):
            self.assertEqual(_as_list(a), _as_list(b), msg)
            return
        a, b = as_array(a), as_array(b)
        shown = f" with contents {b}" if b.ndim <= 3 or b.size < 500 else ""
        self.assertEqual(a.shape, b.shape, f"Shape mismatch: expected {a.shape}, got {b.shape}{shown}. \n{msg or ''}")
        same = np.asarray(_bytes(a) == _bytes(b))
        if a.dtype.kind in "fcV" and b.dtype.kind in "fcV":  # bfloat16's kind is V
            same = same | ((a != a) & (b != b))
        if not np.all(same):
            x, y = (a[~same], b[~same]) if a.ndim else (a, b)
            where = np.nonzero(np.atleast_1d(~same))
            self.fail(f"{msg or ''}\nnot equal where = {where}\nnot equal lhs = {x!r}\nnot equal rhs = {y!r}")

    @_at_run_time
    def assertNotAllEqual(self, a: Any, b: Any, msg: object = None) -> None:
        """Check that some element is not equal."""
        self._fails("equal", lambda: self.assertAllEqual(a, b), msg)

    @_at_run_time
    def assertAllInRange(self, target: Any, lower_bound: Any, upper_bound: Any, open_lower_bound: bool =
                         False, open_upper_bound: bool = False) -> None:  # fmt: skip
        """Check that all elements lie between two bounds, which belong to the range if they are not open."""
        x = as_array(target)
        if x.dtype.kind not in "fiuV" and x.dtype.name != "bfloat16":
            raise AssertionError(
                f"The value of {x} does not have an ordered numeric type, instead it has type: {x.dtype}"
            )
        nan = x != x
        if nan.any():
            raise AssertionError(
                f"{nan.sum()} of the {x.size} element(s) are NaN. Subscripts(s) and value(s) of the NaN element(s):\n"
                f"{_places(nan, x)}"
            )
        outside = (x <= lower_bound) if open_lower_bound else (x < lower_bound)
        outside = outside | ((x >= upper_bound) if open_upper_bound else (x > upper_bound))
        if np.any(outside):
            ends = "[("[open_lower_bound], "])"[open_upper_bound]
            raise AssertionError(
                f"{np.sum(outside)} of the {x.size} element(s) are outside the range "
                f"{ends[0]}{lower_bound}, {upper_bound}{ends[1]}. Subscript(s) and value(s) of the offending "
                f"elements:\n{_places(outside, x)}"
            )

    @_at_run_time
    def assertAllInSet(self, target: TensorLike, expected_set: Any) -> None:
        """Check that all elements are in a set."""
        other = np.setdiff1d(as_array(target).reshape(-1), list(expected_set))
        if other.size:
            raise AssertionError(f"{other.size} unique element(s) are not in the set {expected_set}: {other}")

    @_at_run_time
    def assertDTypeEqual(self, target: Any, expected_dtype: Any) -> None:
        """Check the NumPy dtype."""
        wanted = expected_dtype.as_numpy_dtype if hasattr(expected_dtype, "as_numpy_dtype") else expected_dtype
        self.assertEqual(as_array(target).dtype, wanted)

    def assertShapeEqual(self, input_a: Any, input_b: Any, msg: str | None = None) -> None:
        """Check that two arrays or tensors have one shape, as far as it is known now. TypeError for anything else."""
        shapes = []
        for which, value in (("input_a", input_a), ("input_b", input_b)):
            if not isinstance(value, np.ndarray | np.generic | Tensor):
                raise TypeError(
                    f"{which} must be a Numpy ndarray, Numpy scalar, or a Tensor.Instead received {type(value)}"
                )
            shapes.append(list(value.shape))
        self.assertAllEqual(*shapes, msg=msg)

    def assertDictEqual(self, a: Any, b: Any, msg: str | None = None) -> None:
        """Check that two dicts of arrays, tensors or anything else are equal."""
        try:
            super().assertDictEqual(a, b, msg)
        except Exception:
            self.assertSameElements(a.keys(), b.keys())
            for key, value in a.items():
                is_float = as_array(value).dtype.kind == "f"
                (self.assertAllClose if is_float else self.assertAllEqual)(value, b[key], msg=str(key))

    def assertDeviceEqual(self, device1: Any, device2: Any, msg: str | None = None) -> None:
        """Check that two names of devices mean the same."""
        names = [DeviceSpec.from_string(str(d or "")).to_string() for d in (device1, device2)]
        self.assertEqual(*names, f"Devices {names[0]} and {names[1]} are not equal. {msg or ''}")

    # ---- texts, messages, errors

    def assertStartsWith(self, actual: str, expected_start: str, msg: str | None = None) -> None:
        """Check how a text begins."""
        if not actual.startswith(expected_start):
            self.fail(f"{actual!r} does not start with {expected_start!r}" + (f" : {msg}" if msg else ""))

    def assertProtoEquals(self, expected_message_maybe_ascii: Any, validate_message: Any, msg: str | None =
                          None, relative_tolerance: float | None = None) -> None:  # fmt: skip
        """Check that a message is equal to another one, or to its text form."""
        expected, actual = expected_message_maybe_ascii, validate_message
        if isinstance(expected, str) and not isinstance(actual, Message):
            text_format = importlib.import_module("google.protobuf.text_format")
            expected = text_format.Merge(expected, type(actual)())
        if isinstance(expected, str):
            self.assertEqual(_message_text(expected), _message_text(str(actual)), msg)
        elif type(expected) is not type(actual):
            self.fail(f"Can't compare protos of type {type(expected)} and {type(actual)}. {msg or ''}")
        elif expected != actual:
            self.assertMultiLineEqual(str(expected), str(actual), msg)

    @contextlib.contextmanager
    def assertRaisesWithPredicateMatch(
        self, exception_type: type[BaseException], expected_err_re_or_predicate: Any
    ) -> Iterator[None]:
        """A context that must raise an error of a class which a function says yes to, or whose text has a pattern."""

        def matches(error: Exception) -> Any:
            if callable(expected_err_re_or_predicate):
                return expected_err_re_or_predicate(error)
            return re.search(expected_err_re_or_predicate, error.message if isinstance(error, OpError) else str(error))

        try:
            yield
        except Exception as error:
            if not isinstance(error, exception_type) or not matches(error):
                raise AssertionError(f"Exception of type {type(error)}: {error}") from error
        else:
            self.fail(f"{exception_type.__name__} not raised")

    def assertRaisesOpError(self, expected_err_re_or_predicate: Any) -> Any:
        """A context that must raise an OpError like this."""
        return self.assertRaisesWithPredicateMatch(OpError, expected_err_re_or_predicate)

    def assertRaisesIncompatibleShapesError(self, exception_type: type[BaseException] = InvalidArgumentError) -> Any:
        """A context that must raise an error about shapes that do not fit."""
        words = r"Incompatible shapes|Dimensions must be equal|required broadcastable shapes"
        return self.assertRaisesWithPredicateMatch(exception_type, words)

    assertAllGreater, assertAllGreaterEqual = _extreme("min", "assertGreater"), _extreme("min", "assertGreaterEqual")
    assertAllLess, assertAllLessEqual = _extreme("max", "assertLess"), _extreme("max", "assertLessEqual")
    assertRaisesRegexp = unittest.TestCase.assertRaisesRegex
    assertItemsEqual = unittest.TestCase.assertCountEqual


def _bytes(array: Any) -> Any:
    return np.array([x.encode() for x in array.flat], object).reshape(array.shape) if array.dtype.kind == "U" else array


def _as_list(value: Any) -> Any:
    if isinstance(value, RaggedTensor | RaggedTensorValue):
        return value.to_list()
    if isinstance(value, EagerTensor | np.ndarray):
        return np.asarray(value).tolist()
    return [_as_list(item) for item in value] if isinstance(value, list | tuple) else value


def _message_text(text: str) -> list[str]:
    """The words of a message's text form, however it is laid out."""
    words = re.findall(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|[{}<>\[\]]|[^\s{}<>\[\],;:"\']+', text)
    return [f'"{word[1:-1]}"' if word[0] == "'" else {"<": "{", ">": "}"}.get(word, word) for word in words]
