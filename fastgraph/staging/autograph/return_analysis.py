"""Returns of a function that was staged, on every path: what their flags must be at its end.

Rule: three values, true, false and unknown; a flag that one cannot tell is unknown.
"""

from __future__ import annotations

import numpy as np

from fastgraph.graph.ir import Value
from fastgraph.graph.symbolic_tensor import SymbolicTensor

_DEEPEST = 200


def surely_true(flag: object) -> bool:
    """Say whether a bool, or the bool tensor of a graph, is true whatever the graph's inputs are."""
    if not isinstance(flag, SymbolicTensor):
        return bool(flag)
    return _truth(flag.value, {}, 0) is True


def _truth(value: Value, facts: dict[Value, bool], depth: int) -> bool | None:
    """Return what `value` is where `facts` hold, None if they do not tell."""
    if value in facts:
        return facts[value]
    node = value.node
    if depth > _DEEPEST:
        return None
    name = node.op.name
    if name == "const":
        return bool(np.all(node.attrs["value"].numpy()))
    if name == "identity":
        return _truth(node.inputs[0], facts, depth + 1)
    if name == "logical_not":
        inner = _truth(node.inputs[0], facts, depth + 1)
        return None if inner is None else not inner
    if name == "cond":
        return _of_cond(value, facts, depth)
    if name == "while":
        return _of_while(value, facts, depth)
    return None


def _of_cond(value: Value, facts: dict[Value, bool], depth: int) -> bool | None:
    node = value.node
    known = _truth(node.inputs[0], facts, depth + 1)
    found: list[bool | None] = []
    for taken, graph in ((True, node.attrs["then_graph"]), (False, node.attrs["else_graph"])):
        if known is not None and known is not taken:
            continue
        assumed = {**facts, **_implied(node.inputs[0], taken)}
        inner = {
            placeholder: truth
            for placeholder, operand in zip(graph.inputs, node.inputs[1:], strict=True)
            if (truth := _truth(operand, assumed, depth + 1)) is not None
        }
        found.append(_truth(graph.outputs[value.index], inner, depth + 1))
    return found[0] if all(each is found[0] for each in found) else None


def _implied(pred: Value, truth: bool) -> dict[Value, bool]:
    """Return the facts that follow from `pred` being `truth`."""
    facts = {pred: truth}
    while pred.node.op.name in ("logical_not", "identity"):
        truth = truth != (pred.node.op.name == "logical_not")
        pred = pred.node.inputs[0]
        facts[pred] = truth
    return facts


def _of_while(value: Value, facts: dict[Value, bool], depth: int) -> bool | None:
    """A loop ends when its test fails: if a false flag makes the test true, the flag was true at the end."""
    node = value.node
    if value.index >= node.attrs["n_carried"]:
        return None
    test = node.attrs["cond_graph"]
    inner = {
        placeholder: truth
        for placeholder, operand in zip(
            test.inputs[node.attrs["n_carried"] :], node.inputs[node.attrs["n_carried"] :], strict=True
        )
        if (truth := _truth(operand, facts, depth + 1)) is not None
    }
    inner[test.inputs[value.index]] = False
    return True if _truth(test.outputs[0], inner, depth + 1) is True else None
