"""Programs as text for people: their steps as rows, with the kernels' sources.

Rule: reading only.
"""

from __future__ import annotations

from dataclasses import dataclass

from fastgraph.compiler.program.program import (
    AliasStep,
    AssignStep,
    CondStep,
    CountedStep,
    DrawStep,
    DynamicStep,
    GemmStep,
    HostStep,
    KernelStep,
    ListStep,
    Program,
    ReadStep,
    Size,
    Step,
    WhileStep,
    programs,
)
from fastgraph.runtime.executor import Plan
from fastgraph.runtime.plan import HostCall, Place

_KINDS: dict[type[Step], str] = {
    KernelStep: "kernel",
    CountedStep: "kernel",
    GemmStep: "gemm",
    AliasStep: "alias",
    HostStep: "host",
    DynamicStep: "dynamic",
    ListStep: "list",
    ReadStep: "read",
    AssignStep: "assign",
    DrawStep: "draw",
    CondStep: "cond",
    WhileStep: "while",
}


@dataclass(frozen=True)
class StepRow:
    """One step: its number, kind, the ops it computes, and the steps it waits for."""

    number: int
    kind: str
    ops: tuple[str, ...]
    waits_for: tuple[int, ...]


def host_steps(program: Program) -> int:
    """Return how many steps run Python, those in branches and loops included."""
    steps = [s for each in programs(program) for s in each.steps if isinstance(s, (HostStep, DynamicStep))]
    return sum(not (isinstance(s, HostStep) and s.native) for s in steps)


def counts(program: Program | None, plan: Plan | None) -> dict[str, int]:
    """Count what a call does, subprograms included, and the memory that a plan takes."""
    steps = [] if program is None else [s for each in programs(program) for s in each.steps]
    made = {
        "steps": len(steps),
        "kernels": sum(isinstance(s, KernelStep) for s in steps),
        "products": sum(isinstance(s, GemmStep) for s in steps),
    }
    if plan is not None:
        made["arena_bytes"] = sum(plan.spec.arenas.values())
        made["blocks"] = sum(slot.place == Place.BLOCK for slot in plan.spec.slots)
    return made


def step_rows(program: Program) -> list[StepRow]:
    """The steps of a program in their order."""
    producer: dict[int, int] = {}
    rows: list[StepRow] = []
    for i, step in enumerate(program.steps):
        before = {producer[n] for n in step.inputs if n in producer}
        before.update(program.after[i] if i < len(program.after) else ())
        kind = "native" if isinstance(step, HostStep) and step.native else _KINDS[type(step)]
        rows.append(StepRow(i, kind, tuple([n.op.name for n in step.nodes]), tuple(sorted(before))))
        producer.update((n, i) for n in step.outputs)
    return rows


def _digits(number: float) -> str:
    """Three digits of a number, without an exponent."""
    text = f"{number:.3g}"
    return f"{float(text):,.0f}" if "e+" in text else text


def describe(program: Program, indent: str = "") -> str:
    """The steps, their kernels' sources and the programs inside them."""
    lines = [
        f"{indent}# program of {program.graph.name}: {len(program.steps)} step{'' if len(program.steps) == 1 else 's'}"
    ]
    numbers: dict[str, int] = {}
    for row, step in zip(step_rows(program), program.steps, strict=True):
        waits = f" after {', '.join(map(str, row.waits_for))}" if row.waits_for else ""
        values = f"{_values(step.inputs)} -> {_values(step.outputs)}"
        lines.append(f"{indent}{row.number:3} {row.kind}{waits}: {values}  [{' '.join(row.ops)}]")
        if isinstance(step, KernelStep):
            source = step.kernel.source or f"in C: {step.kernel.native}"
            known = source in numbers
            number = numbers.setdefault(source, len(numbers))
            lines.append(f"{indent}      kernel {number} over {_size(step.extent)}, {_digits(step.cost)} ns each")
            if not known:
                lines += [f"{indent}      | {line}" for line in source.splitlines()]
        elif isinstance(step, CondStep):
            lines += [describe(step.then_program, indent + "      "), describe(step.else_program, indent + "      ")]
        elif isinstance(step, WhileStep):
            lines += [describe(step.cond_program, indent + "      "), describe(step.body_program, indent + "      ")]
            if step.burst_program is not None:
                lines.append(describe(step.burst_program, indent + "      "))
    return "\n".join(lines)


def describe_plan(plan: Plan) -> str:
    """Tell what a plan does for its shapes: each step with its parts, its estimated time, and where it runs."""
    spec, shards = plan.spec, plan.shards()
    shapes = ", ".join(str(list(operand.shape)) for operand in spec.inputs if operand.shape is not None)
    how = "on several threads" if plan.parallel else "on the calling thread"
    blocks = sum(slot.place == Place.BLOCK for slot in spec.slots)
    cost, arena = _digits(spec.cost / 1000), sum(spec.arenas.values())
    lines = [
        f"# plan of {spec.name} for {shapes or 'no arguments'}: {len(spec.steps)} steps {how}, about "
        f"{cost} us; arena {arena} bytes, {blocks} values with memory of their own"
    ]
    for i, step in enumerate(spec.steps):
        notes = [f"{_digits(step.cost / 1000)} us"]
        if shards[i] > 1:
            notes.append(f"{shards[i]} parts")
        if step.copies:
            notes.append(f"{len(step.copies)} copies before it")
        if step.pinned:
            native = isinstance(step, HostCall) and step.native[0]
            notes.append(f"{'in C' if native else 'Python'}, on the calling thread")
        after = f" after {', '.join(map(str, step.after))}" if step.after else ""
        lines.append(f"{i:3} {type(step).__name__} {step.name}{after}: {', '.join(notes)}")
    return "\n".join(lines)


def _values(numbers: tuple[int, ...]) -> str:
    return ", ".join(f"%{n}" for n in numbers) or "()"


def _size(size: Size) -> str:
    factors = [f"%{n}.shape[{axis}]" for n, axis in size.dims]
    return " * ".join(([str(size.constant)] if size.constant != 1 or not factors else []) + factors)
