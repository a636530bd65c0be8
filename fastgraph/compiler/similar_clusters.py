"""Steps of a cluster copied from a similar one, so that a pattern that the graph repeats is lowered and written once.

Rule: two clusters are similar if their loop nests are, value by value, and if the same operands may be written over.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from fastgraph.compiler.program.program import Fallible, KernelStep, Size, Step
from fastgraph.graph.ir import Node


@dataclass
class Pattern:
    """The steps of one cluster, and the numbers of the values and the nodes that a cluster like it has others for."""

    steps: Sequence[Step]
    values: Sequence[int]
    nodes: Sequence[Node]
    scratch: Sequence[int]  # values that the steps alone know

    def is_whole(self) -> bool:
        """Return whether the steps know no other values than these."""
        found = {number for step in self.steps for number in (*step.inputs, *step.outputs)}
        for step in self.steps:
            if isinstance(step, KernelStep):
                found.update(step.buffers)
                found.update(n for size in (*step.sizes, step.extent, *step.cost_dims) for n, _ in size.dims)
        return found <= {*self.values, *self.scratch}

    def again(self, values: Sequence[int], nodes: Sequence[Node], scratch: Callable[[int], int]) -> list[Step]:
        """The steps of a cluster with these values and nodes; `scratch(n)` makes a value like n."""
        number = dict(zip(self.values, values, strict=True)) | {n: scratch(n) for n in self.scratch}
        node = dict(zip(self.nodes, nodes, strict=True))

        def size(each: Size) -> Size:
            return Size(each.constant, tuple([(number[n], axis) for n, axis in each.dims])) if each.dims else each

        made: list[Step] = []
        for step in self.steps:
            new = copy.copy(step)
            new.inputs = tuple([number[n] for n in step.inputs])
            new.outputs = tuple([number[n] for n in step.outputs])
            new.nodes = tuple([node[n] for n in step.nodes])
            if isinstance(new, KernelStep):
                new.buffers = tuple([number[n] for n in new.buffers])
                new.sizes = tuple([size(each) for each in new.sizes])
                new.extent = size(new.extent)
                new.cost_dims = tuple([size(each) for each in new.cost_dims])
                new.fallible = tuple([Fallible(node[each.node], each.message) for each in new.fallible])
            made.append(new)
        return made
