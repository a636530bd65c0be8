"""The order of a body's steps in a loop's kernel, and what they may do to what the iteration began with.

Rule: an iteration that stops is done again by the executor, so whatever is needed for that is changed last.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastgraph.compiler.program import AliasStep, CountedStep, GemmStep, KernelStep, Program, Step
from fastgraph.shapes import Aval


def writes_row(step: Step) -> bool:
    """Whether it puts a row into a list."""
    return isinstance(step, KernelStep) and [node.op.step for node in step.nodes] == ["list_set"]


def checks(step: Step) -> bool:
    """Whether a kernel looks, where it computes an element, at what the element is made of: an index, a divisor."""
    return (
        isinstance(step, KernelStep)
        and bool(step.fallible)
        and not isinstance(step, CountedStep)
        and not writes_row(step)
    )


def looks_in_vain(step: KernelStep, avals: Sequence[Aval | None]) -> bool:
    """Whether a step that checks has empty arrays: what is wrong may have no element that it would be seen by."""
    return checks(step) and any(
        aval is not None and aval.size == 0 for aval in [avals[number] for number in (*step.inputs, *step.outputs)]
    )


def list_of(step: KernelStep) -> int:
    """The list that a row is written to."""
    return step.inputs[step.in_place[0][0]]


def only_written(program: Program, lists: set[int]) -> bool:
    """Whether rows are all that steps do to these names of a list: an iteration done again then writes the same."""
    takers = [step for step in program.steps if not lists.isdisjoint(step.inputs)]
    return all(isinstance(s, KernelStep) and writes_row(s) and lists.isdisjoint(s.buffers[:2]) for s in takers)


def _adds_in_place(step: Step) -> bool:
    return isinstance(step, KernelStep) and [node.op.name for node in step.nodes] in _ADDED and bool(step.in_place)


_ADDED = [["strided_slice_add"], ["gather_add"]]


def writes_last(program: Program) -> list[Step]:
    """A program's steps, those at the end that write rows which no step looks at: nothing then fails after them.

    Sums in place, which never fail, come last of all: others of them may look at what they give.
    """
    adds: list[Step] = []
    for step in reversed(program.steps):
        taken = {k for other in program.steps if other not in adds for k in other.inputs}
        if _adds_in_place(step) and taken.isdisjoint(step.outputs):
            adds.insert(0, step)
    looked_at = {k for step in program.steps for k in step.inputs}
    last = [s for s in program.steps if writes_row(s) and looked_at.isdisjoint(s.outputs)]
    return [*[s for s in program.steps if s not in last and s not in adds], *last, *adds]


def may_stop(step: Step) -> bool:
    """Whether an iteration may end in this step."""
    return not isinstance(step, (AliasStep, GemmStep)) and not (isinstance(step, KernelStep) and not step.fallible)


__all__ = ["list_of", "may_stop", "only_written", "writes_last", "writes_row"]
