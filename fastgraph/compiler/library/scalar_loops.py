"""A loop whose test and body compute a few numbers, as one kernel that iterates by itself.

Rule: the kernel goes on while the test holds, and returns after BURST iterations at the latest: the executor, which
looks for signals in between, tests again and calls it anew. So a loop without end can be interrupted.

Conditions inside the body become selections: numbers cost nothing to compute, and an op that might fail is not taken.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

import numpy as np

from fastgraph.compiler.cpu import op_renderer as render
from fastgraph.compiler.cpu.emit import Block, Emitter
from fastgraph.compiler.nest.build_nests import Lowering
from fastgraph.compiler.nest.canonicalize import FlatNest, arrange
from fastgraph.compiler.nest.cost_model import cost
from fastgraph.compiler.nest.fusion import MAX_NODES, lowerable
from fastgraph.compiler.nest.loop_nest import LoopNest, Store
from fastgraph.compiler.nest.scalar_ir import Index, Scalar, Table, walk
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.compiler.program.program import KernelStep, Program, Size
from fastgraph.core.base import flags
from fastgraph.core.registry import get
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.passes.prune import checks

#: Iterations of one call: some hundred microseconds of a small body.
BURST = 1 << 16
_PASSED_OVER = frozenset({"placeholder", "const"})


def body_program(loop: Node, refused: Collection[Node] = ()) -> Program | None:
    """The Program of a while's body that runs up to BURST iterations, the tests between them too; None where the loop
    computes other things than a few numbers."""
    if "fuse" not in flags.get("passes") or len(loop.outputs) != loop.attrs["n_carried"]:
        return None
    test, body = loop.attrs["cond_graph"], loop.attrs["body_graph"]
    if any(node in refused or checks(node) for graph in (test, body) for node in graph.nodes):
        return None
    joint = Graph(body.name)
    operands = [_placeholder(joint, value) for value in body.inputs]
    joint.inputs = operands
    after = _joined(joint, body, operands)
    again = _joined(joint, test, operands)
    if after is None or again is None:
        return None
    computed = [node for node in joint.nodes if node.op.name not in _PASSED_OVER]
    if not computed or len(computed) > MAX_NODES:
        return None
    # Each result is a value of its own: what is carried through, or twice, or is a constant, too.
    identity = get("identity")
    joint.outputs = [joint.add(identity, (value,), {}, avals=(value.aval,)).outputs[0] for value in after]
    n_carried = loop.attrs["n_carried"]
    nest = _nest(joint, [*after, again[0]])
    terms = walk([store.scalar for store in nest.stores])
    if any(term.op in ("check", "reduce") or term.risky for term in terms):
        return None
    return _program(joint, nest, operands[:n_carried], (loop,))


def _placeholder(into: Graph, like: Value) -> Value:
    attrs = {"dtype": like.aval.dtype, "shape": like.aval.shape, "name": like.node.name}
    return into.add(get("placeholder"), (), attrs, avals=(like.aval.without_value(),), name=like.node.name).outputs[0]


def _joined(into: Graph, graph: Graph, arguments: list[Value]) -> list[Value] | None:
    """Append the nodes of `graph`; return its outputs there, None where it computes other things than numbers."""
    mapping = dict(zip(graph.parameters, arguments, strict=True))
    if any(value.aval.shape != () or value.aval.dtype.name in _UNFIT for value in mapping):
        return None
    for node in graph.nodes:
        if node.op.name == "placeholder":
            continue
        if any(value.aval.shape != () or value.aval.dtype.name in _UNFIT for value in node.outputs):
            return None
        inputs = tuple([mapping[value] for value in node.inputs])
        if node.op.name == "cond":
            branches = [_joined(into, node.attrs[key], list(inputs[1:])) for key in ("then_graph", "else_graph")]
            if branches[0] is None or branches[1] is None:
                return None
            select = get("select")
            made = [
                into.add(select, (inputs[0], a, b), {}, avals=(a.aval.without_value(),)).outputs[0]
                for a, b in zip(branches[0], branches[1], strict=True)
            ]
        elif node.op.name == "const" or (len(node.outputs) == 1 and lowerable(node)):
            avals = tuple([value.aval for value in node.outputs])
            made = list(into.add(node.op, inputs, node.attrs, avals=avals, source=node.source).outputs)
        else:
            return None
        mapping.update(zip(node.outputs, made, strict=True))
    return [mapping[value] for value in graph.outputs]


#: Half floats are rounded where they are stored: the kernel keeps what is carried in registers.
_UNFIT = frozenset({"resource", "string", "variant", *render.HALVES})


class _Numbers(Lowering):
    """Lowers the joint graph. A number that integers are divided by is written out: it is known not to be zero."""

    def __init__(self, table: Table, graph: Graph, divisors: Collection[Value]) -> None:
        computed = {node for node in graph.nodes if node.op.name not in _PASSED_OVER}
        avals = {value: value.aval for node in graph.nodes for value in node.outputs}
        super().__init__(table, avals, lambda value: value.node in computed)
        self.divisors = divisors

    def element(self, value: Value, index: Index) -> Scalar:
        if value in self.divisors:
            return self.table.const(np.asarray(value.node.attrs["value"]).item(), value.aval.dtype.name)
        return super().element(value, index)


def _nest(joint: Graph, roots: list[Value]) -> FlatNest:
    """The nest that computes `roots`; its stores' keys are their places in the list."""
    table = Table()
    divisors = {
        node.inputs[1]
        for node in joint.nodes
        if len(node.inputs) == 2 and node.inputs[1].node.op.name == "const" and node.inputs[1].aval.dtype.is_integer
        if node.op.name in ("floordiv", "floormod", "truncatediv", "truncatemod")
    }
    lowering = _Numbers(table, joint, divisors)
    stores = [Store(i, root.aval.dtype.name, (), (), (), lowering.element(root, ())) for i, root in enumerate(roots)]
    shapes: dict[object, Index] = dict.fromkeys(lowering.loaded, ())
    shapes.update((i, ()) for i in range(len(roots)))
    return arrange(LoopNest((), stores, shapes))


def _program(joint: Graph, nest: FlatNest, carried: list[Value], nodes: tuple[Node, ...]) -> Program:
    spec, buffers = _kernel(nest, carried, joint.outputs)
    values = [value for node in joint.nodes for value in node.outputs]
    number = {value: i for i, value in enumerate(values)}
    outputs = tuple([number[value] for value in joint.outputs])
    loaded = [value for value in buffers if value not in set(joint.outputs)]
    step = KernelStep(
        inputs=tuple([number[value] for value in loaded]),
        outputs=outputs,
        nodes=nodes,
        kernel=spec,
        buffers=tuple([number[value] for value in buffers]),
        sizes=(),
        extent=Size(1),
        cost=cost(nest),
        shardable=False,
    )
    return Program(
        graph=joint,
        values=values,
        inputs=tuple([number[value] for value in joint.inputs]),
        captures=(),
        outputs=outputs,
        steps=[step],
        constants={number[n.outputs[0]]: n.attrs["value"] for n in joint.nodes if n.op.name == "const"},
        after=[()],
        witness=[()] * len(values),
    )


def _kernel(nest: FlatNest, carried: list[Value], results: list[Value]) -> tuple[KernelSpec, list[Value]]:
    """The kernel and the values behind its buffers: what is loaded, then the results."""
    emitter = Emitter(nest)
    call: Callable[..., str] = emitter.call
    names: dict[Scalar, str] = {}
    loaded: dict[object, str] = {}
    lines: list[str] = []
    buffers: list[Value] = []
    types: list[str] = []

    def load(value: Value, dtype: str) -> str:
        if value not in loaded:
            loaded[value] = f"s{len(loaded)}"
            lines.append(f"{loaded[value]} = {render.loaded(f'x{len(buffers)}[0]', dtype, call)}")
            buffers.append(value)
            types.append(render.storage(dtype))
        return loaded[value]

    for value in carried:
        load(value, value.aval.dtype.name)
    for term in walk([store.scalar for store in nest.stores]):
        if term.op == "read":
            assert isinstance(term.attr, Value)
            names[term] = load(term.attr, term.dtype)
    blocks = Block(None, frozenset()), Block(None, frozenset())
    for block in blocks:
        block.names.update(names)
    test, body = blocks
    goes_on = emitter.emit(nest.stores[-1].scalar, test)
    new = [emitter.emit(store.scalar, body) for store in nest.stores[:-1]]
    changed = [i for i, text in enumerate(new) if text != f"s{i}"]
    body.lines += [f"t{i} = {new[i]}" for i in changed] + [f"s{i} = t{i}" for i in changed]
    loop = Block(None, frozenset())
    # The executor has tested before the first iteration; what is tested again costs one more.
    loop.lines += [*test.lines, f"if not {goes_on}:", "    break", *body.lines]
    stores: list[str] = []
    for i, result in enumerate(results):
        stores.append(f"x{len(buffers)}[0] = {render.stored(f's{i}', result.aval.dtype.name, call)}")
        buffers.append(result)
        types.append(render.storage(result.aval.dtype.name))
    whole = [*lines, f"for k in range({BURST}):", *["    " + line for line in loop.lines], *stores]
    source = render.kernel([f"x{k}" for k in range(len(buffers))], (), whole)
    return KernelSpec(source, tuple(types), 0, tuple(sorted(emitter.imports))), buffers
