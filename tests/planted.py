"""Faults planted in the compiler's modules from outside, to show that tests and the fuzzer find them.

    with planted("arena"):
        ...

Each takes the place of one function of a module for a while; nothing in fastgraph knows of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from fastgraph.graph import ir
from fastgraph.graph.passes import optimize
from fastgraph.graph.passes.rewriter import Row, compile_row
from fastgraph.runtime import schedule
from fastgraph.runtime.buffer_assignment import Placement
from fastgraph.runtime.plan import Place, PlanSpec
from fastgraph.runtime.step_specs import StepSpecs


def _algebra() -> Any:
    """A wrong row: a difference is a sum."""
    wrong = optimize._table(compile_row(Row("subtract(x, y)", "add(x, y)")))
    return patch.object(optimize, "algebra_rules", lambda: wrong)


def _effect() -> Any:
    """Reads of a Variable do not wait for writes, nor writes for reads."""
    effects, control_inputs = ir.effects, ir.control_inputs

    def faulty(nodes: Sequence[ir.Node], apart: bool = False) -> list[tuple[int, ...]]:
        with patch.object(ir, "effects", lambda node: [each for each in effects(node) if each[0] != "read"]):
            return control_inputs(nodes, apart)

    return patch.object(ir, "control_inputs", faulty)


def _arena() -> Any:
    """Memory in a plan's arena is given to others as soon as the first step that uses it has ended."""
    lives = schedule._lives

    def faulty(spec: PlanSpec) -> list[Any]:
        in_arena = [slot.place == Place.ARENA for slot in spec.slots]
        return [each._replace(last=each.first) if in_arena[each.slot] else each for each in lives(spec)]

    return patch.object(schedule, "_lives", faulty)


def _slot() -> Any:
    """A result takes its operand's place though others read that afterwards."""
    share = Placement._share

    def faulty(self: Any, new: int, step: Any, source: int, target: int) -> None:
        slot = self.slot_of[source]
        if self.slots[slot].place != Place.ARENA:
            return share(self, new, step, source, target)
        self.slot_of[target] = slot
        self.groups[slot].append(target)
        self.names[slot] = [target]
        return None

    return patch.object(Placement, "_share", faulty)


def _shard() -> Any:
    """Of a kernel that threads share the last unit is left out."""
    kernel_sizes = StepSpecs._kernel_sizes

    def faulty(self: Any, step: Any) -> dict[str, Any]:
        sized = kernel_sizes(self, step)
        return sized | {"extent": sized["extent"] - (sized["extent"] > sized["chunk"])}

    return patch.object(StepSpecs, "_kernel_sizes", faulty)


FAULTS: dict[str, Callable[[], Any]] = {
    "algebra": _algebra, "effect": _effect, "arena": _arena, "slot": _slot, "shard": _shard,
}  # fmt: skip


@contextmanager
def planted(fault: str) -> Iterator[None]:
    """Plant the named fault within a `with` block."""
    with FAULTS[fault]():
        yield
