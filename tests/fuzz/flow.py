"""Programs with control flow, as source text: what is run as plain Python and staged by AutoGraph.

A program is a tree of statements over a few variables of fixed dtypes, which are the function's arguments and its
results. Rule: a program is fully determined by its text and its inputs, so that the printed form repeats a failure.
"""

from __future__ import annotations

import contextlib
import itertools
import linecache
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import fastgraph as fg
from tests.fuzz.check import Difference, Mode, Results, compare

#: The variables: name -> dtype and shape. `e` is where a loop's element is cast to.
STATE = {
    "a": ("float32", (3,)),
    "s": ("float32", ()),
    "d": ("float64", ()),
    "k": ("int32", ()),
    "n": ("int64", ()),
    "p": ("bool", ()),
}
SOURCES = ("a", "s", "d")  # what gradients are taken to, with the Variable `v`
#: What cannot be staged yet says one of these; such a program is counted, not reported.
LIMITS = (
    "was a Python value at first and is a tensor now",
    "cannot depend on a tensor: iterate over a tensor",
    "A value must also be returned from the",
    "must also be initialized in the",
)
_numbers = itertools.count()


@dataclass(frozen=True)
class Statement:
    """A line, or a line with blocks: `if c:` with its body, `else:` with another."""

    text: str
    body: tuple[Statement, ...] = ()
    otherwise: tuple[Statement, ...] = ()

    def lines(self, indent: str) -> Iterator[str]:
        """Yield the source."""
        yield indent + self.text
        if not self.text.endswith(":"):
            return
        yield from block(self.body, indent + "    ")
        if self.otherwise:
            yield indent + "else:"
            yield from block(self.otherwise, indent + "    ")

    @property
    def size(self) -> int:
        """How many lines it has."""
        return 1 + sum(each.size for each in (*self.body, *self.otherwise))

    @property
    def depth(self) -> int:
        """How many blocks lie in one another."""
        return max([0, *[1 + each.depth for each in (*self.body, *self.otherwise)]])


def block(statements: Sequence[Statement], indent: str) -> Iterator[str]:
    """Yield the source of statements one after the other."""
    for statement in statements:
        yield from statement.lines(indent)
    if not statements:
        yield indent + "pass"


@dataclass(frozen=True)
class FlowProgram:
    """Statements between the arguments and the results; `gradient` is the order of the gradients it returns too."""

    seed: int
    statements: tuple[Statement, ...]
    inputs: tuple[dict[str, np.ndarray], ...]
    gradient: int = 0
    n_elements: int = 0  # as other programs have it, for the choice of modes: small

    def source(self) -> str:
        """Return the text of the functions `flow` and `program`."""
        names = ", ".join(STATE)
        lines = [f"def flow({names}):", *block(self.statements, "    "), f"    return {names}", ""]
        lines.append(f"def program({names}):")
        if not self.gradient:
            return "\n".join([*lines, f"    return [*flow({names})]", ""])
        watched, sources = ", ".join(SOURCES), ", ".join([*SOURCES, "v"])
        loss = "fg.reduce_sum(a1) + s1 + fg.cast(d1, fg.float32)"
        first = [
            "with fg.GradientTape() as tape:",
            f"    tape.watch([{watched}])",
            f"    {', '.join(f'{name}1' for name in STATE)} = flow({names})",
            f"    loss = {loss}",
            f"gradients = tape.gradient(loss, [{sources}], unconnected_gradients='zero')",
        ]
        if self.gradient > 1:
            first.append("squares = [fg.reduce_sum(fg.square(fg.cast(g, fg.float32))) for g in gradients]")
            first.append("total = fg.add_n(squares)")
            first = ["with fg.GradientTape() as outer:", f"    outer.watch([{watched}])", *[f"    {x}" for x in first]]
            first.append(f"gradients += outer.gradient(total, [{sources}], unconnected_gradients='zero')")
        lines += [f"    {line}" for line in first]
        return "\n".join([*lines, f"    return [{', '.join(f'{name}1' for name in STATE)}, *gradients]", ""])

    def namespace(self) -> dict[str, Any]:
        """Return a fresh Variable and the functions, whose source can be found."""
        name = f"<flow program {next(_numbers)}>"
        text = self.source()
        linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
        names: dict[str, Any] = {"fg": fg, "np": np, "v": fg.Variable(0.5), "__name__": "flow_program"}
        exec(compile(text, name, "exec"), names)
        return names

    def script(self) -> str:
        """Return a script that anyone can run to see what differs."""
        lines = ["import numpy as np", "import fastgraph as fg", "", self.source()]
        for values in self.inputs:
            given = [f"fg.constant({values[name].tolist()!r}, fg.{STATE[name][0]})" for name in STATE]
            for way in ("program", "fg.function(program)"):
                lines += ["v = fg.Variable(0.5)", f"print({way}({', '.join(given)}), v)"]
        return "\n".join(lines)


# ---------------------------------------------------------------------------------------------------------------------
# Running


def _arguments(values: dict[str, np.ndarray]) -> list[Any]:
    return [fg.constant(values[name], fg.as_dtype(STATE[name][0])) for name in STATE]


def _forget(names: dict[str, Any]) -> None:
    linecache.cache.pop(names["flow"].__code__.co_filename, None)


def _results(program: FlowProgram, names: dict[str, Any], function: Callable[..., Any]) -> Results:
    """Return what each of the inputs gives, and the Variable's value after it."""
    found: Results = []
    with np.errstate(all="ignore"):
        for values in program.inputs:
            names["v"].assign(0.5)
            found += [np.asarray(value) for value in function(*_arguments(values))]
            found.append(names["v"].numpy())
    return found


def run_plain(program: FlowProgram) -> Results:
    """Return the results of the program as Python runs it."""
    names = program.namespace()
    try:
        return _results(program, names, names["program"])
    finally:
        _forget(names)


def run_staged(program: FlowProgram, wait: bool, unknown_sizes: bool) -> Results:
    """Return the results of the program as a Function; with `wait`, of its kernels."""
    names = program.namespace()
    signature = None
    if unknown_sizes:
        signature = [fg.TensorSpec([None] * len(shape), fg.as_dtype(dtype)) for dtype, shape in STATE.values()]
    try:
        function = fg.function(names["program"], input_signature=signature)
        concrete = function.get_concrete_function(*([] if unknown_sizes else _arguments(program.inputs[0])))
        if wait:
            concrete.wait()
        results = _results(program, names, function)
        assert function.experimental_get_tracing_count() == 1
        return results
    finally:
        _forget(names)


def check_flow(program: FlowProgram, modes: dict[str, Mode]) -> Difference | None:
    """Run the program in each of `modes`; return the first difference from plain Python.

    Raises NotImplementedError for a program that cannot be staged yet.
    """
    try:
        expected = run_plain(program)
    except Exception:
        return None  # a shrunk program that no longer makes sense
    for name, mode in modes.items():
        try:
            with warnings.catch_warnings(), mode():
                warnings.simplefilter("error", UserWarning)
                came = run_staged(program, "first tier" not in name, "unknown sizes" in name)
            problem = compare(expected, came)
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
            if any(limit in problem for limit in LIMITS):
                raise NotImplementedError(problem) from error
        if problem:
            return Difference(name, problem)
    return None


# ---------------------------------------------------------------------------------------------------------------------
# Shrinking


def shrink_flow(program: FlowProgram, fails: Callable[[FlowProgram], bool]) -> FlowProgram:
    """Return the smallest program found that still `fails`."""
    changed = True
    while changed:
        changed = False
        for candidate in _smaller(program):
            if fails(candidate):
                program, changed = candidate, True
                break
    return program


def _smaller(program: FlowProgram) -> Iterator[FlowProgram]:
    if program.gradient:
        yield replace(program, gradient=program.gradient - 1)
    if len(program.inputs) > 1:
        for values in program.inputs:
            yield replace(program, inputs=(values,))
    for statements in _smaller_block(program.statements):
        yield replace(program, statements=statements)


def _smaller_block(statements: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    for i, statement in enumerate(statements):
        before, after = statements[:i], statements[i + 1 :]
        yield (*before, *after)
        if statement.body and not statement.text.startswith(("while", "for", "def")):
            yield (*before, *statement.body, *after)
        if statement.otherwise:
            yield (*before, *statement.otherwise, *after)
            yield (*before, replace(statement, otherwise=()), *after)
        for body in _smaller_block(statement.body):
            yield (*before, replace(statement, body=body), *after)
        for otherwise in _smaller_block(statement.otherwise):
            if otherwise:
                yield (*before, replace(statement, otherwise=otherwise), *after)


def fails_in(difference: Difference, modes: dict[str, Mode]) -> Callable[[FlowProgram], bool]:
    """Return what says whether a program differs in this mode in the same way: the same error, or other values."""
    kind = difference.text.partition(":")[0].partition(" ")[0]

    def fails(program: FlowProgram) -> bool:
        with contextlib.suppress(NotImplementedError):
            found = check_flow(program, {difference.mode: modes[difference.mode]})
            return found is not None and found.text.startswith(kind) and "is not defined" not in found.text
        return False

    return fails


def fuzz_flow(
    seconds: float, first_seed: int, n_programs: int | None, modes_of: Callable[[FlowProgram], dict[str, Mode]]
) -> tuple[list[str], dict[str, int]]:
    """Run drawn programs; return what differed, each with a script that shows it, and how many there were of each kind."""
    from tests.fuzz.draw_flow import draw_flow

    failures: list[str] = []
    counts = {"run": 0, "not to be staged yet": 0, "differed": 0}
    started = time.perf_counter()
    for seed in itertools.count(first_seed):
        if time.perf_counter() - started > seconds or seed - first_seed == n_programs:
            return failures, counts
        program = draw_flow(seed)
        modes = modes_of(program)
        try:
            difference = check_flow(program, modes)
        except NotImplementedError:
            counts["not to be staged yet"] += 1
            continue
        counts["run"] += 1
        if difference is not None:
            small = shrink_flow(program, fails_in(difference, modes))
            again = check_flow(small, {difference.mode: modes[difference.mode]}) or difference
            failures.append(f"seed {seed}, {difference.mode}: {again.text}\n{small.script()}\n")
            counts["differed"] += 1
            print(failures[-1], flush=True)
    raise AssertionError("seeds do not end")
