"""set_loop_options: options of the staged loop whose body is being traced; and the optional features that are on."""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Iterable, Iterator
from typing import Any

_loops = threading.local()


class LoopOptions:
    """The options that set_loop_options gives a loop; `given` is false where nothing was said."""

    def __init__(self, maximum_iterations: Any = None, shape_invariants: Any = (), *, given: bool = False) -> None:
        self.maximum_iterations = maximum_iterations
        self.shape_invariants = list(shape_invariants or ())
        self.given = given


class Feature(enum.Enum):
    """Parts of AutoGraph that are optional in TensorFlow; here all but BUILTIN_FUNCTIONS are always on.

    With BUILTIN_FUNCTIONS (or ALL) print(...) writes tensors at every run of a graph; without, while it is traced.
    Source: tf.autograph.experimental.Feature.
    """

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """Return all features."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Feature | Iterable[Feature]) -> tuple[Feature, ...]:
        """Return all features but some."""
        excluded = {exclude} if isinstance(exclude, Feature) else set(exclude)
        return tuple(feature for feature in cls if feature not in {*excluded, cls.ALL})


_features = threading.local()


@contextlib.contextmanager
def with_features(features: Any) -> Iterator[None]:
    """A context in which optional features are on: a Feature, several of them, or None. Raises TypeError for others.

    Only whether `print` is one of the graph's ops depends on them (BUILTIN_FUNCTIONS): all else is always on.
    """
    before = prints_in_graphs()
    _features.prints = features is not None and _prints(features)
    try:
        yield
    finally:
        _features.prints = before


def _prints(features: Any) -> bool:
    listed = isinstance(features, Iterable) and not isinstance(features, (Feature, str))
    each = list(features) if listed else [features]
    for feature in each:
        if not isinstance(feature, Feature):
            raise TypeError(f"Optional features of AutoGraph are of tf.autograph.experimental.Feature, not {feature!r}")
    return Feature.ALL in each or Feature.BUILTIN_FUNCTIONS in each


def prints_in_graphs() -> bool:
    """Say whether print(...) of symbolic tensors writes at every run of the graph, not while it is traced."""
    return getattr(_features, "prints", False)


def _stack() -> list[Any]:
    if not hasattr(_loops, "stack"):
        _loops.stack = []
    found: list[Any] = _loops.stack
    return found


def in_loop() -> bool:
    """Say whether the body of a loop is being traced, staged or not."""
    return bool(_stack())


@contextlib.contextmanager
def staged_loop(loop: object) -> Iterator[None]:
    """A context in which options that are set are those of `loop`."""
    _stack().append(loop)
    try:
        yield
    finally:
        _stack().pop()


@contextlib.contextmanager
def unstaged_loop() -> Iterator[None]:
    """A context in which options that are set are those of a loop that Python runs: they change nothing."""
    _stack().append(None)
    try:
        yield
    finally:
        _stack().pop()


def set_loop_options(
    parallel_iterations: object = None,
    swap_memory: object = None,
    maximum_iterations: object = None,
    shape_invariants: object = None,
    back_prop: object = None,
) -> None:
    """Set options of the loop whose body calls this: they have an effect where a tensor decides the loop.

    `maximum_iterations` is the most iterations it runs; `shape_invariants` is a list of pairs (variable, shape), the
    shapes with None where a dimension may change. The others change no result here. Raises ValueError for a value that
    is no variable of the loop, or a shape that its first value does not fit. Source:
    tf.autograph.experimental.set_loop_options.
    """
    stack = _stack()
    if stack and stack[-1] is not None:
        stack[-1].set_options(LoopOptions(maximum_iterations, shape_invariants, given=True))
