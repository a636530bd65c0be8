"""Reasons why a Function traced again: what differs from before, and the warning where it traces too often.

Rule: what is kept of earlier traces is their specs and Python values; objects are held weakly.
"""

from __future__ import annotations

import types
import weakref
from collections import deque
from collections.abc import Mapping
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.locks import Lock
from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.staging.signature.cache_keys import Held

# Source: TensorFlow's detector of frequent tracing: it looks at so many calls, warns of so many traces, so many times.
_LATEST_CALLS, _MANY_TRACES, _MOST_WARNINGS = 10, 5, 2

_COMPARED = 16  # with how many of the latest traces a new one is compared
_TOLD = 100  # how many traces are explained
_MOST_FUNCTIONS = 16  # of one Python function: calls of the latest ones are counted


# ---- Differences ----------------------------------------------------------------------------------------------------


class _Container:
    """Stands for a container among the labels: its class, and its keys or its length."""

    def __init__(self, value: Any) -> None:
        self.name = type(value).__name__
        self.content = list(value) if isinstance(value, Mapping) else len(nesting.children(value))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Container) and (self.name, self.content) == (other.name, other.content)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        if isinstance(self.content, list):
            return f"{self.name} with keys {', '.join(map(repr, self.content))}"
        return f"{self.name} of {self.content}"


def labels(structure: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a trace was made for (see keys.described) leaf by leaf, each by the expression that reaches it."""
    found: dict[str, Any] = {}

    def walk(path: str, value: object) -> None:
        if nesting.is_nested(value):
            found[path] = _Container(value)
            for step, child in nesting.steps(value):
                walk(path + step, child)
        else:
            found[path] = value

    for name, value in structure.items():
        walk(name, value)
    return found


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Say in which arguments two traces differ, old against new, and what helps."""
    found: list[str] = []
    told: list[str] = []
    for path in dict.fromkeys([*old, *new]):
        if any(path.startswith((other + "[", other + ".")) for other in told):
            continue  # it came or went with what it is in
        if path not in old:
            change = f"not given -> {_described(new[path])}"
        elif path not in new:
            change = f"{_described(old[path])} -> not given"
        elif not _alike(old[path], new[path]):
            change = _change(path, old[path], new[path])
        else:
            continue
        told.append(path)
        found.append(f"`{path}`: {change}")
    return found


def _alike(a: object, b: object) -> bool:
    if isinstance(a, Held) and isinstance(b, Held):
        return a is b or (a.get() is not None and a.stands_for(b.get()))
    if isinstance(a, TensorSpec) and isinstance(b, TensorSpec):
        return a.dtype == b.dtype and a.aval.shape == b.aval.shape
    try:
        return type(a) is type(b) and bool(a == b)
    except Exception:
        return False


def _described(value: object) -> str:
    if isinstance(value, TensorSpec):
        return f"{value.dtype.name} tensor of shape {value.shape}"
    if isinstance(value, Held):
        return "a tf.Variable" if value.is_variable else f"an object of class {value.type_name}"
    if isinstance(value, _Container | TypeSpec):
        return str(value)
    text = repr(value)
    return f"{text if len(text) <= 80 else text[:77] + '...'} (Python {type(value).__name__})"


def _change(path: str, a: Any, b: Any) -> str:
    """Say how an argument changed, and what helps against tracing again."""
    name = path.rpartition(".")[2] if path.rpartition(".")[2].isidentifier() else path
    if isinstance(a, TensorSpec) and isinstance(b, TensorSpec):
        if a.dtype != b.dtype:
            return f"{a.dtype.name} -> {b.dtype.name} tensor; cast it before the call (tf.cast)"
        relaxed = a.shape.most_specific_common_supertype([b.shape])
        sizes = "None" if relaxed is None or relaxed.rank is None else str(relaxed.as_list())
        return (
            f"shape {a.shape} -> {b.shape}; pass reduce_retracing=True, or an input_signature with "
            f"tf.TensorSpec({sizes}, tf.{b.dtype.name})"
        )
    if isinstance(a, Held) and isinstance(b, Held):
        if a.is_variable and b.is_variable:
            return "another tf.Variable; pass its value as a tensor, or the same Variable"
        if a.type_name == b.type_name and a.text.startswith("<") and " object at 0x" not in a.text:
            return f"{a.text} -> {b.text}; each has a graph of its own"  # a class, a function, a member of an enum
        if a.type_name == b.type_name:
            return (
                f"another object of class {b.type_name}, and objects count by identity; pass the same one, or tensors, "
                "or give the class a __tf_tracing_type__"
            )
    numbers = (int, float, complex)
    if type(a) in numbers and type(b) in numbers:
        kind = type(b).__name__ if type(a) is type(b) else f"{type(a).__name__}, then {type(b).__name__}"
        return f"{a!r} -> {b!r} (Python {kind}); pass tf.constant({name})"
    if type(a) is type(b) and type(a) in (str, bytes, bool):
        old, new = (text if len(text) <= 80 else text[:77] + "..." for text in (repr(a), repr(b)))
        return f"{old} -> {new} (Python {type(b).__name__}); each value has a graph of its own"
    return f"{_described(a)} -> {_described(b)}"


# ---- The traces of one Function -------------------------------------------------------------------------------------


class History:
    """The traces that a Function made, and why."""

    def __init__(self) -> None:
        self._latest: deque[dict[str, Any]] = deque(maxlen=_COMPARED)
        self._reasons: deque[tuple[int, list[str]]] = deque(maxlen=_TOLD)
        self._n = 0

    def note(self, structure: Mapping[str, Any]) -> None:
        """Note a trace, compared with that of the latest ones which is nearest."""
        new = labels(structure)
        self._n += 1
        if self._latest:
            changes = min((differences(old, new) for old in reversed(list(self._latest))), key=len)
            self._reasons.append((self._n, changes or ["nothing: the trace for such arguments was not kept"]))
        else:
            self._reasons.append((self._n, []))
        self._latest.append(new)

    def latest(self) -> list[str]:
        """Return why the latest trace was made."""
        return self._reasons[-1][1] if self._reasons else []

    def explain(self, name: str) -> str:
        """Return the reasons of the latest traces, one on a line."""
        lines = [f"{name} has {self._n} trace{'s' if self._n != 1 else ''}."]
        lines += [f"  {n}: {'; '.join(changes) if changes else 'the first'}" for n, changes in list(self._reasons)]
        return "\n".join(lines)


# ---- The warning ----------------------------------------------------------------------------------------------------


class Detector:
    """Counts the calls of one Python function, in all Functions made of it, and warns where most of them traced."""

    def __init__(self) -> None:
        self._calls: deque[int] = deque()  # the calls with each trace: that which traced, and those after it
        self._functions: deque[weakref.ref[Any]] = deque(maxlen=_MOST_FUNCTIONS)
        self._n_warnings = 0
        self._left = 0  # calls of Functions that are gone
        self._lock = Lock()

    def freed(self, n_calls: int) -> None:
        """Note that a Function is gone which was called so many times since its calls were counted."""
        self._left += n_calls

    def traced(self, function: Any, code: types.CodeType | None, why: list[str]) -> None:
        """Note that this Function's latest call traced; warn if there are too many of the kind."""
        with self._lock:
            n_traces, n_calls = self._counted(function)
            if n_traces < _MANY_TRACES or self._n_warnings >= _MOST_WARNINGS:
                return
            self._n_warnings += 1
        get_logger().warning(
            "%d out of the last %d calls to %s triggered tf.function retracing. Tracing is expensive and the "
            "excessive number of tracings could be due to (1) creating @tf.function repeatedly in a loop, (2) "
            "passing tensors with different shapes, (3) passing Python objects instead of tensors. For (1), please "
            "define your @tf.function outside of the loop. For (2), @tf.function has reduce_retracing=True option "
            "that can avoid unnecessary retracing. For (3), please refer to "
            "https://www.tensorflow.org/guide/function#controlling_retracing and "
            "https://www.tensorflow.org/api_docs/python/tf/function for  more details.%s",
            n_traces,
            n_calls,
            function.python_function,
            self._reason(code, why),
        )

    def _counted(self, function: object) -> tuple[int, int]:
        """Count this trace; return how many there were among the latest calls, and these."""
        if all(reference() is not function for reference in list(self._functions)):
            self._functions.append(weakref.ref(function))
        if rest := self._unseen() - 1:
            if not self._calls:
                self._calls.append(0)
            self._calls[-1] += rest
        self._calls.append(1)
        while sum(list(self._calls)[1:]) > _LATEST_CALLS:
            self._calls.popleft()
        return len(self._calls), sum(list(self._calls))

    def _unseen(self) -> int:
        """Return how many calls there were since the last time."""
        n, self._left = self._left, 0
        for reference in list(self._functions):
            function = reference()
            if function is not None:
                n += function._calls - function._calls_seen
                function._calls_seen = function._calls
        return max(n, 1)

    def _reason(self, code: types.CodeType | None, why: list[str]) -> str:
        if why:
            return f"\nThe latest trace differs from an earlier one in {'; '.join(why)}."
        if code is None or len(self._functions) < 2:
            return ""
        return (
            f"\nThe latest traces are of different tf.functions made from one Python function, at {code.co_filename}:"
            f"{code.co_firstlineno}: make it once, outside of the loop (1)."
        )


_detectors: weakref.WeakKeyDictionary[types.CodeType, Detector] = weakref.WeakKeyDictionary()


def code_of(python_function: object) -> types.CodeType | None:
    """Return the code behind a callable, None for one without."""
    while hasattr(python_function, "__wrapped__"):
        python_function = python_function.__wrapped__
    python_function = getattr(python_function, "__func__", python_function)
    code = getattr(python_function, "__code__", None)
    return code if isinstance(code, types.CodeType) else None


def detector_of(code: types.CodeType | None) -> Detector:
    """Return what counts the calls of the functions with this code."""
    if code is None:
        return Detector()
    found = _detectors.get(code)
    if found is None:
        found = _detectors[code] = Detector()
    return found
