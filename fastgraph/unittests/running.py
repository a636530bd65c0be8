"""Tests and benchmarks run: tf.test.main, tf.test.Benchmark, and the small functions of tf.test.

Rule: what a benchmark reports is a line of text and, in `reports`, a dict.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import re
import sys
import unittest
from collections.abc import Callable
from typing import Any

from fastgraph.composites.composite_values import evaluated
from fastgraph.core.base import nesting
from fastgraph.core.base.missing_methods import without

#: Benchmarks by class, in the order of their definition.
classes: list[type[Benchmark]] = []


@without({"time.perf_counter around calls of a tf.function": "run_op_benchmark"})
class Benchmark:
    """Base class of benchmarks; each subclass with methods named benchmark... is kept. Source: tf.test.Benchmark."""

    def __init__(self) -> None:
        self.reports: list[dict[str, Any]] = []

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if not cls.is_abstract():
            classes.append(cls)

    @classmethod
    def is_abstract(cls) -> bool:
        """Return whether there are no benchmarks in it."""
        return not any(name.startswith("benchmark") for name in dir(cls))

    def report_benchmark(self, iters: int | None = None, cpu_time: float | None = None, wall_time: float | None = None,
                         throughput: float | None = None, extras: Any = None, name: str | None = None,
                         metrics: Any = None) -> None:  # fmt: skip
        """Report the times of a benchmark, by the name of the method that calls unless there is another."""
        report = {"name": f"{type(self).__name__}.{name or sys._getframe(1).f_code.co_name}", "iters": iters,
                  "cpu_time": cpu_time, "wall_time": wall_time, "throughput": throughput, "extras": extras or {},
                  "metrics": metrics or []}  # fmt: skip
        self.reports.append({key: value for key, value in report.items() if value is not None})
        sys.stdout.write(f"entry {self.reports[-1]}\n")

    def evaluate(self, tensors: Any) -> Any:
        """Return tensors, in structures, as arrays."""
        return None if tensors is None else nesting.map_structure(evaluated, tensors)


def benchmark_config() -> None:
    """Return None: there are no sessions to set up. Source: tf.test.benchmark_config."""


def run_benchmarks(pattern: str) -> None:
    """Run the benchmarks whose "Class.method" a pattern finds ("all", "." : every one)."""
    pattern = "." if pattern == "all" else pattern
    for cls in classes:
        for name in sorted(n for n in dir(cls) if n.startswith("benchmark")):
            if re.search(pattern, f"{cls.__module__}.{cls.__name__}.{name}"):
                getattr(cls(), name)()


# ---- the functions of tf.test ---------------------------------------------------------------------------------------


def main(argv: list[str] | None = None) -> None:
    """Run the tests of the program's main module; with --benchmarks=PATTERN its benchmarks. Source: tf.test.main."""
    words = sys.argv if argv is None else argv
    for word in words[1:]:
        if word.startswith(("--benchmarks=", "--benchmark_filter=")):
            run_benchmarks(word.partition("=")[2])
            return
    if importlib.util.find_spec("absl") is not None:
        importlib.import_module("absl.testing.absltest").main(argv=words)
    else:
        unittest.main(argv=words)


def assert_equal_graph_def(expected: Any, actual: Any) -> None:
    """Check that two GraphDefs are equal. Raises AssertionError, TypeError. Source: tf.test.assert_equal_graph_def."""
    for which, value in (("actual", actual), ("expected", expected)):
        if not hasattr(value, "node"):
            raise TypeError(f"Expected tf.GraphDef for {which}, got {type(value).__name__}")
    ours, theirs = [sorted(map(str, value.node)) for value in (actual, expected)]
    if ours != theirs:
        lacking, extra = [x for x in theirs if x not in ours], [x for x in ours if x not in theirs]
        raise AssertionError(f"GraphDefs differ. Expected, but absent:\n{''.join(lacking)}\nNot expected:\n"
                             f"{''.join(extra)}")  # fmt: skip


def disable_with_predicate(pred: Callable[[], bool], skip_message: str) -> Callable[[Any], Any]:
    """Decorator: a test that is skipped where `pred()` is true. Source: tf.test.disable_with_predicate."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            if pred():
                self.skipTest(skip_message)
            return method(self, *args, **kwargs)

        return run

    return decorate


def with_eager_op_as_function(cls: Any = None, only_as_function: bool = False) -> Any:
    """Decorator that changes nothing: there is one way in which eager ops run."""
    return (lambda given: given) if cls is None else cls


def sync_devices() -> None:
    """Do nothing: eager ops have been computed when they return. Source: tf.test.experimental.sync_devices."""


def is_cpu_target_available(target: str) -> bool:
    """Return whether there is a target "x86" or "aarch64". Source: tf.test.is_cpu_target_available."""
    import platform  # its answers are asked for here alone

    known = {"x86": ("x86_64", "AMD64"), "aarch64": ("aarch64", "arm64")}
    return platform.machine() in known.get(target, ())
