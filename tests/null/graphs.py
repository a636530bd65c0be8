"""Making small graphs for the tests of the IR and the passes, without tracing."""

from __future__ import annotations

import numpy as np

import fastgraph.ops  # noqa: F401  registers the primitives
from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.registry import get
from fastgraph.core.tensor import from_array
from fastgraph.graph.interpreter import interpret
from fastgraph.graph.ir import Graph, Value
from fastgraph.graph.structural_ops import CONST, PLACEHOLDER


class Build:
    """Builds a graph line by line: `b.input("float32", (2,))`, `b.add(x, y)`, `b.const(1)`, `b.done(out)`."""

    def __init__(self, name="f"):
        self.graph = Graph(name)

    def input(self, dtype="float32", shape=(2, 3), name="x"):
        attrs = {"dtype": as_dtype(dtype), "shape": shape, "name": name}
        value = self.graph.add(PLACEHOLDER, (), attrs, name=name).outputs[0]
        self.graph.inputs.append(value)
        return value

    def const(self, value, dtype="float32"):
        tensor = from_array(np.asarray(value, as_dtype(dtype).as_numpy_dtype))
        return self.graph.add(CONST, (), {"value": tensor}).outputs[0]

    def apply(self, op, *inputs, **attrs):
        outputs = self.graph.add(get(op), inputs, attrs).outputs
        return outputs[0] if len(outputs) == 1 else outputs

    def __getattr__(self, op):
        return lambda *inputs, **attrs: self.apply(op, *inputs, **attrs)

    def done(self, *outputs):
        self.graph.outputs = list(outputs)
        return self.graph


def expression(value: Value) -> str:
    """A value as nested calls of op names: what a graph computes, whatever its nodes are called."""
    node = value.node
    if node.op.name == "placeholder":
        return node.name
    if node.op.name == "const":
        array = np.asarray(node.attrs["value"].numpy())
        return (
            repr(array.reshape(-1)[0].item()) if array.size and (array == array.reshape(-1)[0]).all() else repr(array)
        )
    arguments = [expression(each) for each in node.inputs]
    arguments += [f"{name}={attr!r}" for name, attr in node.attrs.items()]
    suffix = f"[{value.index}]" if len(node.outputs) > 1 else ""
    return f"{node.op.name}({', '.join(arguments)}){suffix}"


def run(graph, *arrays):
    """The graph's outputs as arrays."""
    return [np.asarray(t.numpy()) for t in interpret(graph, [from_array(np.asarray(a)) for a in arrays])]


def ops(graph):
    """Names of the ops of a graph, in program order."""
    return [node.op.name for node in graph.nodes]
