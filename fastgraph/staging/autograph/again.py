"""Whether an iteration that finds what one before it has left does the same.

Rule: test and body are traced once more, with placeholders for the tensors that an iteration leaves, and dropped. Where
these compute something else, the loop is refused: its body is in the graph once, as the first iteration runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.graph.branches import closed, subgraph_name
from fastgraph.graph.differentiate import entering
from fastgraph.graph.ir import Value
from fastgraph.graph.trace import GraphTrace, SymbolicTensor
from fastgraph.shapes import Aval
from fastgraph.staging.autograph import identity
from fastgraph.staging.autograph.carried import Revise
from fastgraph.staging.autograph.containers import Containers, contents, replace, stand_ins
from fastgraph.staging.autograph.growing import Grow
from fastgraph.staging.autograph.left import Left
from fastgraph.staging.autograph.same_graph import Expressions

#: A part of a loop, from its inputs to its outputs.
Block = Callable[[list[Any]], list[Any]]


def check_left(
    left: Sequence[Left],
    blocks: Sequence[tuple[GraphTrace, Block]],
    avals: Sequence[Aval],
    put: Callable[[list[Any]], None],
    containers: Containers,
) -> None:
    """Raise ValueError where the test or the body, given with their traces, do otherwise in a later iteration.

    `put` gives the names the loop's inputs, which are of the types `avals`.
    """
    body_trace = blocks[-1][0]
    root = body_trace.root
    expressions = Expressions()
    n_random_ops, known = root.n_random_ops, identity.mark()
    held = [(found, contents(found.container)) for found in containers.all]
    computed = [expressions.traced(trace, trace.graph.inputs[: len(avals)], {}) for trace, _ in blocks]
    of_body = computed[-1]
    numbers: dict[Value, int] = {}
    for leaf in (leaf for each in left for leaf in each.symbolic()):
        fixed = leaf.trace is body_trace and leaf.value in of_body.invariant
        numbers.setdefault(leaf.value, of_body.numbers[leaf.value] if fixed else expressions.new())
    refused = left[0].refused
    try:
        for (trace, block), first in zip(blocks, computed, strict=True):
            again = GraphTrace(subgraph_name(trace.graph.name), parent=trace.parent, kind="branch")
            places = _traced(again, block, avals, put, left, numbers)
            second = expressions.traced(again, again.graph.inputs[: len(avals)], places)
            if first.of(trace.graph.outputs) != second.of(again.graph.outputs):
                raise refused
    except (Revise, Grow, TypeError, ValueError, AttributeError, LookupError) as error:
        if error is refused:
            raise
        raise refused from (error if isinstance(error, Exception) else None)
    finally:
        root.n_random_ops = n_random_ops
        identity.forget(known)
        for found, before in held:
            replace(found.container, before)


def _traced(
    trace: GraphTrace,
    block: Block,
    avals: Sequence[Aval],
    put: Callable[[list[Any]], None],
    left: Sequence[Left],
    numbers: dict[Value, int],
) -> dict[Value, int]:
    """Trace a block where it finds what an iteration leaves; return what its placeholders for that stand for."""
    tensors: dict[Value, Any] = {}

    def found_again(leaf: Any) -> Any:
        if not isinstance(leaf, SymbolicTensor):
            return leaf
        if leaf.value not in tensors:
            tensors[leaf.value] = trace.tensor(trace.placeholder(leaf.aval, "Placeholder"))
        return tensors[leaf.value]

    with entering(trace):
        inputs = [trace.add_input(aval, "Placeholder") for aval in avals]
        put(inputs)
        for each in left:
            each.put(found_again)
        with stand_ins([tensor.value for tensor in tensors.values()]):
            outputs = block(inputs)
    closed(trace, lambda: outputs)
    return {tensor.value: numbers[value] for value, tensor in tensors.items()}
