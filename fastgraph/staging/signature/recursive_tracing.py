"""Functions that call themselves while they are traced: a tensor decides where the calls end.

Rule: a call of what is being traced becomes a node that names it. What the node gives is known from an earlier pass:
the first one leaves out the branches that make such calls, and the others show what the base case gives; passes go on
until one gives what it took for granted.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import common_shape
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import current_trace
from fastgraph.graph import recursive_calls
from fastgraph.graph.recursive_calls import Unknown
from fastgraph.graph.source_lines import source_lines
from fastgraph.graph.trace import GraphTrace
from fastgraph.staging.signature.relaxed_keys import general_key
from fastgraph.staging.signature.retrace_warnings import differences, labels

if TYPE_CHECKING:
    from fastgraph.staging.concrete_function import ConcreteFunction

#: Traces within traces that are told of where they come to no end.
MANY = 15
#: Passes after which a result that still changes is an error.
MOST_PASSES = 20


class _Tracing(threading.local):
    """The traces that this thread is making, each inside the one before."""

    def __init__(self) -> None:
        self.all: list[Pending] = []
        self.deepest: list[Pending] = []  # of those in the outermost one that is made now, where there are many


_tracing = _Tracing()


class Pending:
    """A trace that is being made, as calls of it see it."""

    def __init__(self, function: Any, key: Any, name: str, depth: int, described: Callable[[], dict[str, Any]]) -> None:
        self.function = function
        self.described = described  # the arguments
        self.key = key
        self.depth = depth  # how many traces are around it
        self.callee = recursive_calls.callee(name)
        self.called = False  # in this pass or before
        self.left_out = False  # whether this pass left a branch out
        self.outermost = depth  # the outermost trace that this one calls
        self.concrete: ConcreteFunction | None = None  # of the pass before
        self.specs: recursive_calls.Specs = ()
        self.effects: recursive_calls.Effects = ()
        self.captured: list[Any] = []
        #: Of this pass: the traces that call this one, by their Function and key, and the outermost that each calls.
        self.made: dict[tuple[int, Any], tuple[ConcreteFunction, int, Any]] = {}

    def call_flat(self, leaves: list[Any]) -> Any:
        """Add the node of a call. Raises Unknown as long as it is not known what the call gives."""
        self.called = True
        _note(self.depth)
        if self.concrete is None:
            raise Unknown(self, source_lines())
        captured = [held() if isinstance(held, weakref.ref) else held for held in self.captured]
        results = recursive_calls.apply(self.callee, [*leaves, *captured], self.specs, self.effects)
        return self.concrete.pack(results[: len(self.specs)])

    def agrees(self, concrete: ConcreteFunction, n_passes: int) -> bool:
        """Return whether a pass gives what it took for granted; if not, the next one begins with what it gave.

        Tensors that each pass captures anew (the handle of a dataset that the function makes) no call passes on.
        """
        graph = concrete.graph.ir
        before = self.concrete
        captured = [held for held, _ in graph.captures]
        specs = tuple([(value.aval.dtype, value.aval.shape) for value in graph.outputs])
        effects = recursive_calls.effects_of(graph)
        if before is None:
            same = False
        else:
            nesting.assert_same_structure(before._structure, concrete._structure, expand_composites=True)
            for (dtype, _), (other, _) in zip(self.specs, specs, strict=True):
                if dtype != other:
                    raise TypeError(
                        f"{self.callee} gives {dtype.name} where it does not call itself and {other.name} where it does"
                    )
            pairs = zip(self.specs, specs, strict=True)
            specs = tuple([(dtype, common_shape(shape, other)) for (dtype, shape), (_, other) in pairs])
            more = captured[len(self.captured) :]
            own = not more or (n_passes > 2 and not any(isinstance(held, weakref.ref) for held in more))
            same = specs == self.specs and effects == self.effects and own
            if same:
                self.callee.extra = more
        self.concrete, self.specs, self.effects, self.captured = concrete, specs, effects, captured
        return same

    def no_base_case(self, lines: Sequence[Any]) -> RecursionError:
        """Return the error for a trace that would call itself without end."""
        name = self.function.name
        where = f" at {lines[0]}" if lines else ""
        return RecursionError(
            f"{name} calls itself{where} whichever way its tensors decide, so tracing it would never end. A Function "
            f"that calls itself needs a base case: a branch that a tensor decides on and that returns without the "
            f"call, as in `if n <= 0: return 0`, before `return {name}(n - 1)`."
        )


def _note(depth: int) -> None:
    """Note for the traces inside the one at this depth that they call it."""
    for pending in _tracing.all[depth + 1 :]:
        pending.outermost = min(pending.outermost, depth)


def find(function: object, key: object) -> Any:
    """Return what this thread is tracing, or has traced in this pass, that serves such calls of a Function, or None."""
    if not _tracing.all or current_trace() is None:
        return None
    for pending in reversed(_tracing.all):
        if pending.function is function and (pending.key == key or general_key(key, pending.key) == pending.key):
            return pending
        made = pending.made.get((id(function), key))
        if made is not None:
            _note(made[1])
            return made[0]
    return None


def leaves_out() -> bool:
    """Return whether a branch was left out in this pass: an error may be due to that, and comes again if it is not."""
    return any(pending.left_out for pending in _tracing.all)


def alike(function: object, key: object) -> Any:
    """Return the key of what this thread is tracing of a Function, if it differs from `key` in sizes only, or None."""
    for pending in reversed(_tracing.all):
        if pending.function is function and general_key(key, pending.key) is not None:
            return pending.key
    return None


def begin(trace: GraphTrace, generators: Sequence[Cell]) -> None:
    """Let a new pass capture first what the pass before has captured: its calls pass this on, random ops take it.

    generators: cells of earlier traces of the Function that random ops take likewise.
    """
    trace.spare_generators += generators
    if _tracing.all:
        for held in _tracing.all[-1].captured:
            capture = held() if isinstance(held, weakref.ref) else held
            if capture is not None:
                trace.value_of(capture)
            if isinstance(capture, Cell) and capture.name == "generator":
                trace.spare_generators.append(capture)


def _tell_why(error: RecursionError) -> None:
    """Add to the error what is new in every call, where a Function calls itself with arguments of another kind."""
    deepest = _tracing.deepest
    if not deepest:
        return
    function = deepest[-1].function
    own = [pending for pending in deepest if pending.function is function]
    if len(own) < 3 or not error.args:
        return
    changes = differences(*[labels(pending.described()) for pending in own[-2:]])
    error.args = (
        f"{error.args[0]}\n{function.name} calls itself, {len(own)} times when tracing was given up, with arguments of "
        f"another kind each time, and each kind is a trace of its own: {'; '.join(changes)}. Tracing ends only where "
        "Python values decide that it does. Pass what changes as a tensor, and let a tensor decide on the base case; "
        "where shapes change, use an input_signature with None or reduce_retracing=True.",
        *error.args[1:],
    )


def settled(
    function: object,
    key: object,
    name: str,
    make: Callable[[], ConcreteFunction],
    described: Callable[[], dict[str, Any]],
) -> tuple[ConcreteFunction, bool, int]:
    """Return what `make` traces, made until its calls of itself are known; whether others may use it; and the passes.

    What calls a trace around it is of this pass of that one alone. Raises RecursionError where there is no base case.
    """
    outside = _tracing.all
    if current_trace() is None:
        _tracing.all = []  # what a handler of a signal traces is in none of the traces that it interrupts
    pending = Pending(function, key, name, len(_tracing.all), described)
    _tracing.all.append(pending)
    if len(_tracing.all) > max(MANY, len(_tracing.deepest)):
        _tracing.deepest = list(_tracing.all)
    try:
        n_passes = 0
        while n_passes < MOST_PASSES:
            n_passes += 1
            pending.made.clear()
            pending.left_out = False
            try:
                concrete = make()
            except Unknown as unknown:
                if unknown.whose is not pending:
                    raise
                lines = unknown.lines
                raise pending.no_base_case(lines) from None
            except RecursionError as error:
                if pending.depth == 0:
                    _tell_why(error)
                raise
            if not pending.called or pending.agrees(concrete, n_passes):
                break
        else:
            raise TypeError(
                f"the result of {name}, which calls itself, is of another kind in every pass: {concrete.output_shapes}"
            )
        is_final = pending.outermost >= pending.depth
        if not is_final:
            _tracing.all[pending.outermost].made[id(function), key] = concrete, pending.outermost, function
    finally:
        _tracing.all.pop()
        if pending.depth == 0:
            _tracing.deepest = []
        _tracing.all = outside
    if pending.called:
        pending.callee.become(concrete.graph.ir, lambda: concrete.run_flat)
    return concrete, is_final, n_passes
