"""The pass over stacks of a few values of which parts are taken again: the arithmetic between is of the parts.

Rule: no element is computed that was not, and none twice. Systems of equations are written so: dx, dy, dz are stacked,
the stack is multiplied by a step and added, and x, y, z are taken from the sum.

    y = stack(a, b) * h; f(y[0], y[1])    ->    f(a * h, b * h)
"""

from __future__ import annotations

from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.passes.rewriter import Rebuild, is_pure

#: Parts of a stack at most: each is one more op.
_MOST = 8


Taken = tuple[int, list[int]]  # an axis, and the places along it


def take_apart(graph: Graph) -> Graph:
    """Return `graph` with such parts computed by themselves; itself without any. `prune` drops the stacks."""
    if "stack" not in [node.op.name for node in graph.nodes]:
        return graph
    taken = {node: found for node in graph.nodes if (found := _taken(node)) is not None}
    if not taken:
        return graph
    apart = _apart(graph, taken)
    if not apart and not any(_is_stack(node.inputs[0], axis) for node, (axis, _) in taken.items()):
        return graph
    return _Components(graph, taken, apart).run()


def _taken(node: Node) -> Taken | None:
    """The parts that a node takes of its operand, along one axis."""
    if node.op.name not in ("strided_slice", "unstack") or len(node.inputs) > 1 or not node.inputs[0].aval.is_static:
        return None
    shape = node.inputs[0].aval.shape or ()
    if node.op.name == "unstack":
        axis, which = node.attrs["axis"] % max(1, len(shape)), list(range(len(node.outputs)))
    else:
        spec = node.attrs["spec"]
        at = [i for i, entry in enumerate(spec) if entry[0] == "i"]
        whole = all(entry[0] in "ei" or entry == ("s", None, None, None) for entry in spec)
        if not whole or len(at) != 1 or not isinstance(spec[at[0]][1], int):
            return None
        behind = "e" in [entry[0] for entry in spec[: at[0]]]
        axis, which = len(shape) - len(spec) + at[0] if behind else at[0], [spec[at[0]][1]]
    n = shape[axis] if axis < len(shape) else None
    if n is None or n > _MOST or not all(-n <= k < n for k in which):
        return None
    return axis, [k % n for k in which]


def _is_stack(value: Value, axis: int) -> bool:
    """Return whether a value is made of its parts along an axis."""
    node = value.node
    return node.op.name == "stack" and node.attrs["axis"] % len(value.aval.shape or (0,)) == axis


def _apart(graph: Graph, taken: dict[Node, Taken]) -> dict[Value, Taken]:
    """The results of arithmetic of which only parts are used, and which come of a stack; with those parts."""
    uses, kept = ir.uses(graph), set(graph.outputs)
    found: dict[Value, Taken] = {}
    for node in reversed(graph.nodes):
        if node.op.family == "elementwise" and len(node.outputs) == 1 and is_pure(node.op, node.attrs):
            (value,) = node.outputs
            asked = [_asked(value, user, taken, found) for user in uses.get(value, ())]
            axes = {each[0] if each else -1 for each in asked}
            if value.aval.is_static and value not in kept and len(axes) == 1 and min(axes) >= 0:
                found[value] = axes.pop(), sorted({k for each in asked if each for k in each[1]})
    # From the stacks on; what was counted on and is not taken apart after all spoils what it is made of.
    comes: set[Value] = set()
    for value, (axis, _) in reversed(found.items()):
        if any(each in comes or _is_stack(each, _axis(each, value, axis)) for each in value.node.inputs):
            comes.add(value)
    apart: dict[Value, Taken] = {}
    for value, each in found.items():
        if value in comes and all(user in taken or user.outputs[0] in apart for user in uses[value]):
            apart[value] = each
    return apart


def _asked(value: Value, user: Node, taken: dict[Node, Taken], found: dict[Value, Taken]) -> Taken | None:
    """The parts of a value that a node uses; None: all of it."""
    if user in taken:
        return taken[user]
    result = user.outputs[0] if len(user.outputs) == 1 else None
    if result is None or result not in found:
        return None
    axis, which = _axis(value, result, found[result][0]), found[result][1]
    if axis < 0:
        return None
    return axis, which if (value.aval.shape or ())[axis] != 1 else [0]


def _axis(operand: Value, result: Value, axis: int) -> int:
    """The axis of an operand that becomes `axis` of a result, to which it is broadcast; below 0: it has none."""
    return axis - (len(result.aval.shape or ()) - len(operand.aval.shape or ()))


class _Components(Rebuild):
    """Copies a graph with parts in the place of what is taken apart."""

    def __init__(self, graph: Graph, taken: dict[Node, Taken], apart: dict[Value, Taken]) -> None:
        super().__init__(graph)
        self.taken = taken
        self.apart = apart
        self.parts: dict[tuple[Value, int, int], Value] = {}

    def node(self, node: Node) -> None:
        """Rebuild one node, or give its parts."""
        axis, which = self.taken.get(node, (0, []))
        if (
            which
            and (node.inputs[0] in self.apart or _is_stack(node.inputs[0], axis))
            and self.spend("part of a stack")
        ):
            for out, k in zip(node.outputs, which, strict=True):
                self.mapping[out] = self.part(node.inputs[0], axis, k)
            return
        super().node(node)
        for value in node.outputs:
            axis, which = self.apart.get(value, (0, []))
            for k in which:
                inputs = [self.part(each, _axis(each, value, axis), k) for each in node.inputs]
                (self.parts[value, axis, k],) = self.emit(node.op, tuple(inputs), node.attrs)

    def part(self, value: Value, axis: int, k: int) -> Value:
        """The k-th part of an old value along an axis, in the new graph; all of one that has no such axis."""
        if axis < 0:
            return self.mapping[value]
        k = k if (value.aval.shape or ())[axis] != 1 else 0
        if _is_stack(value, axis):
            return self.mapping[value.node.inputs[k]]
        if (value, axis, k) not in self.parts:
            spec = (*[("s", None, None, None)] * axis, ("i", k))
            (self.parts[value, axis, k],) = self.emit("strided_slice", (self.mapping[value],), {"spec": spec})
        return self.parts[value, axis, k]
