"""The order of a body's steps in a loop's kernel, and what they may do to what the iteration began with.

Rule: an iteration that stops is done again by the executor, so whatever is needed for that is changed last.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastgraph.compiler.program.program import (
    AliasStep,
    CondStep,
    CountedStep,
    GemmStep,
    KernelStep,
    ListStep,
    Program,
    Step,
    WhileStep,
)
from fastgraph.core.base.shapes import Aval


def writes_row(step: Step) -> bool:
    """Return whether a step puts a row into a list."""
    if isinstance(step, ListStep):
        return bool(step.node.op.step == "dynamic.push")
    return isinstance(step, KernelStep) and [node.op.step for node in step.nodes] == ["list_set"]


def makes_room(step: Step) -> bool:
    """Return whether a step only sees to it that a list has room for an element."""
    return isinstance(step, ListStep) and step.node.op.step == "dynamic.grow"


def checks(step: Step) -> bool:
    """Return whether a kernel looks, where it computes an element, at what that is made of: an index, a divisor."""
    return (
        isinstance(step, KernelStep)
        and bool(step.fallible)
        and not isinstance(step, CountedStep)
        and not writes_row(step)
    )


def looks_in_vain(step: KernelStep, avals: Sequence[Aval | None]) -> bool:
    """Return whether a step that checks has empty arrays: what is wrong may have no element to be seen by."""
    return checks(step) and any(
        aval is not None and aval.size == 0 for aval in [avals[number] for number in (*step.inputs, *step.outputs)]
    )


def row_of(step: Step) -> tuple[int, int, int]:
    """The list, the place and the row of a step that writes one."""
    if isinstance(step, KernelStep):
        return step.inputs[step.in_place[0][0]], step.buffers[1], step.buffers[0]
    return step.inputs[0], step.inputs[1], step.inputs[2]


def only_written(program: Program, lists: set[int]) -> bool:
    """Return whether rows are all that steps do to these names of a list: an iteration done again then writes the same.

    What is written has another name, by which it may be read: the iteration done again writes it first.
    """
    names = set(lists)
    for step in program.steps:
        if names.isdisjoint(step.inputs):
            continue
        if writes_row(step):
            if not names.isdisjoint(row_of(step)[1:]):
                return False
        elif makes_room(step) or isinstance(step, AliasStep):
            if not names.isdisjoint(step.inputs[1:]):
                return False
            names.update(step.outputs)
        elif isinstance(step, CondStep):
            inside = (step.then_program, step.else_program)
            if step.inputs[0] in names or not all(_only_written_in(each, step.inputs[1:], names) for each in inside):
                return False
        elif isinstance(step, WhileStep):
            if not all(_only_written_in(each, step.inputs, names) for each in (step.cond_program, step.body_program)):
                return False
        else:
            return False
    return True


def _only_written_in(program: Program, given: Sequence[int], names: set[int]) -> bool:
    parameters = (*program.inputs, *program.captures)
    return only_written(program, {own for own, outer in zip(parameters, given, strict=True) if outer in names})


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
    """Return whether an iteration may end in this step."""
    return not isinstance(step, (AliasStep, GemmStep)) and not (isinstance(step, KernelStep) and not step.fallible)
