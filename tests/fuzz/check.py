"""Running one program in every mode and comparing the results; shrinking what differs.

Rule: eager mode is the reference, and a program must be compiled; integers and booleans must be equal, floats within a tolerance that grows with the
largest value of the program, for cancellation is not an error of the compiler.
"""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import fastgraph as fg
from tests.fuzz.programs import Program

EPSILON = {"float64": 1e-12, "float32": 3e-5, "float16": 2e-2, "bfloat16": 0.15}
Results = list[np.ndarray]
Mode = Callable[[], contextlib.AbstractContextManager[None]]


@dataclass
class Difference:
    """A mode in which a program does not do what it does eagerly."""

    mode: str
    text: str


def run_eagerly(program: Program) -> Results:
    """Return the outputs, then the Variables' values after the call."""
    names = program.namespace()
    return _call(program, names, names["program"])


class CannotTrace(Exception):
    """The program needs to know the sizes that are kept from it."""


def run_function(
    program: Program, compiled: bool, counts: Counter[str] | None = None, unknown_sizes: bool = False
) -> Results:
    """Return the same as `run_eagerly`, from one call of a Function. With `compiled`, wait for the kernels first.

    With `unknown_sizes`, the Function is traced for None in the place of some dimensions. Raises CannotTrace where
    an op must know one of them while tracing.
    """
    names = program.namespace()
    function = fg.function(names["program"], input_signature=_signature(program) if unknown_sizes else None)
    try:
        concrete = function.get_concrete_function(*([] if unknown_sizes else constants(program)))
    except NotImplementedError as error:  # a gradient that needs to know the rank, say
        raise CannotTrace(str(error)) from error
    except (ValueError, TypeError) as error:
        # Sizes, and with squeeze ranks, may be data even where all arguments' sizes are known.
        needed = unknown_sizes or "unknown rank" in str(error) or "Cannot infer argument `num`" in str(error)
        if needed and not isinstance(error, fg.errors.OpError):
            raise CannotTrace(str(error)) from error
        raise
    if counts is not None:
        counts.update({node.op.name for node in concrete.graph})
    if compiled:
        concrete.wait()
    return _call(program, names, function)


def _signature(program: Program) -> list[fg.TensorSpec]:
    """Return specs of the arguments in which two of three dimensions are None."""
    specs = []
    for name, value in program.arguments.items():
        random = np.random.default_rng([program.seed, int(name[1:])])  # shrinking keeps the others' dimensions
        shape = [None if random.random() < 0.67 else n for n in value.shape]
        specs.append(fg.TensorSpec(shape, fg.as_dtype(value.dtype)))
    return specs


def constants(program: Program) -> list[fg.Tensor]:
    """Return the program's arguments as tensors."""
    return [fg.constant(value) for value in program.arguments.values()]


def _call(program: Program, names: dict[str, Any], function: Callable[..., Any]) -> Results:
    with np.errstate(all="ignore"):
        outputs = function(*constants(program))
    return [np.array(value) for value in outputs] + [names[name].numpy() for name in program.variables]


def compare(expected: Results, came: Results) -> str | None:
    """Return what differs, or None."""
    if len(expected) != len(came):
        return f"{len(expected)} results expected, {len(came)} came"
    # Cancellation: an intermediate as large as the largest result may have been rounded.
    floats = [np.abs(a.astype(np.float64)) for a in expected if a.dtype.kind not in "biu" and a.size]
    scale = max((float(np.nanmax(np.where(np.isfinite(a), a, 0))) for a in floats), default=1.0)
    for i, (a, b) in enumerate(zip(expected, came)):
        if a.shape != b.shape or a.dtype != b.dtype:
            return f"result {i}: {a.dtype}{list(a.shape)} expected, {b.dtype}{list(b.shape)} came"
        if a.dtype.kind in "biu":
            if not np.array_equal(a, b):
                return f"result {i}: {_first_difference(a, b, a != b)}"
            continue
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        worst = max((EPSILON[e.dtype.name] for e in expected if e.dtype.name in EPSILON), default=0.0)
        tolerance = worst * max(1.0, scale)
        close = np.isclose(wide_a, wide_b, rtol=worst, atol=tolerance, equal_nan=True)
        if not close.all():
            return f"result {i}: {_first_difference(wide_a, wide_b, ~close)}"
    return None


def _first_difference(a: np.ndarray, b: np.ndarray, differs: np.ndarray) -> str:
    place = tuple(int(i) for i in np.argwhere(differs)[0]) if a.ndim else ()
    return f"{int(differs.sum())} of {a.size} elements differ, first at {place}: {a[place]} expected, {b[place]} came"


def check(program: Program, modes: dict[str, Mode], counts: Counter[str] | None = None) -> Difference | None:
    """Run `program` in each of `modes` and return the first difference from eager mode."""
    try:
        expected = run_eagerly(program)
    except (fg.errors.OpError, ValueError, TypeError):
        return None  # a shrunk program that no longer makes sense
    labels = counts
    for name, mode in modes.items():
        try:
            with warnings.catch_warnings(record=True) as told, mode():
                warnings.simplefilter("always")
                came = run_function(program, "first tier" not in name, counts, "unknown sizes" in name)
            counts = None  # an op is counted once a program
            problem = next((str(w.message) for w in told if "uncompiled" in str(w.message)), None)
            problem = problem or compare(expected, came)
        except CannotTrace:
            if labels is not None:
                labels["(not to be traced)"] += 1
            continue
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        if problem:
            return Difference(name, problem)
    return None


def shrink(program: Program, fails: Callable[[Program], bool]) -> Program:
    """Return the smallest program found by leaving out lines and outputs that still `fails`."""
    changed = True
    while changed:
        changed = False
        for candidate in _smaller(program):
            if candidate.outputs and fails(candidate):
                program, changed = candidate, True
                break
    return program


def _smaller(program: Program) -> Iterator[Program]:
    from dataclasses import replace

    if program.gradient:
        yield replace(program, gradient=program.gradient - 1)
    for name in program.outputs:
        if len(program.outputs) > 1:
            yield _without_dead_lines(replace(program, outputs=(name,)))
    for index in reversed(range(len(program.lines))):
        yield program.without(index).trimmed()


def _without_dead_lines(program: Program) -> Program:
    """Return the program without the lines that no output needs; assigns stay."""
    from dataclasses import replace

    needed = set(program.outputs)
    kept = []
    for line in reversed(program.lines):
        if line.target in needed or ".assign" in line.text:
            needed |= line.uses
            kept.append(line)
    return replace(program, lines=tuple(reversed(kept))).trimmed()


def counted(labels: Iterable[str]) -> str:
    """Return 'op n, op n, ...' in order of frequency."""
    return ", ".join(f"{name} {n}" for name, n in Counter(labels).most_common())
