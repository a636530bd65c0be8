"""The errors of failed checks inside kernels.

Rule: the message is the op's own: its body runs on the operands again, and raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fastgraph import errors
from fastgraph.compiler.program.program import KernelStep, Program
from fastgraph.core.base.shapes import Aval
from fastgraph.core.tensor import EagerTensor, from_array
from fastgraph.graph.interpreter import note_failure, run_node, unlike_rows
from fastgraph.graph.ir import Value
from fastgraph.runtime.plan import StepSpec


class FailedChecks:
    """Says what a kernel's failed check means: the ops' bodies run on its operands, and raise."""

    def __init__(self, program: Program, table: dict[Value, Aval]) -> None:
        self.program = program
        self.table = table

    def run_failed(self, begun: int) -> None:
        """Note that a run has failed, which began when `begun` exchanges with other processes had."""
        note_failure(self.program.graph, begun)

    def unlike_rows(self, step: StepSpec, k: int) -> Exception:
        """Return the error for the result `k` of a loop's body, which changes its shape from one iteration on."""
        for node in getattr(step.source, "nodes", ()):
            outputs = node.attrs["body_graph"].outputs if node.op.name == "while" else ()
            if k < len(outputs):
                return unlike_rows(outputs[k].node)
        return errors.InvalidArgumentError(None, None, f"Result {k} of the body of {step.name} cannot be stacked")

    def __call__(self, step: StepSpec, ordinal: int, position: int, operands: list[EagerTensor]) -> Exception:
        """Return the error for check `ordinal` of `step`, which failed at the flat position given."""
        source = step.source
        name = step.name
        if isinstance(source, KernelStep):
            try:
                results_of(source, self.program.values, operands, self.table)
            except KeyError as error:  # an operand that the step does not read as such
                name = f"{name} ({error})"
            except Exception as error:
                return error
            if 0 <= ordinal < len(source.fallible):
                name = source.fallible[ordinal].node.name
        return errors.InternalError(None, None, f"{name}: check {ordinal} of the kernel failed at position {position}")


def readable(step: KernelStep, named: Sequence[Value], table: Mapping[Value, Aval]) -> bool:
    """Return whether `results_of` finds what the step's ops take, gives what it does: not where work is cut up."""
    known = {named[number] for number in step.inputs}
    for node in step.nodes:
        if any(v not in known and v.node.op.name != "const" and table[v].value is None for v in node.inputs):
            return False
        known.update(node.outputs)
    return all(named[number] in known for number in step.outputs)


def results_of(
    step: KernelStep, named: Sequence[Value], operands: Sequence[Any], table: Mapping[Value, Aval]
) -> dict[Value, Any]:
    """Return what the bodies of a step's ops give. Raises what they raise, KeyError for what the step does not read."""
    values = {named[number]: tensor for number, tensor in zip(step.inputs, operands, strict=False)}
    for node in step.nodes:
        inputs = tuple([_value(values, value, table) for value in node.inputs])
        for value, result in zip(node.outputs, run_node(node, inputs), strict=True):
            values[value] = result
    return values


def _value(values: Mapping[Value, Any], value: Value, table: Mapping[Value, Aval]) -> Any:
    found = values.get(value)
    if found is None and value.node.op.name == "const":
        found = value.node.attrs["value"]
    if found is None and table[value].value is not None:
        found = from_array(np.asarray(table[value].value), table[value].dtype)
    if found is None:
        raise KeyError(value.name)
    return found
