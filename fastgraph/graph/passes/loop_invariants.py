"""The passes over values that are the same in every iteration of a loop: stacked for its gradient, or computed anew.

Rule: nothing moves that may fail, or whose operands are not known to be the same. A Variable that nothing in the loop
assigns is read once, before it; what only follows from such reads is computed there too. A gradient's loop takes that
value in the place of a row of the stack; `prune` drops what nobody takes then.

    rows = while(..., body stacks read(v)), while(..., f(gather(rows, i)))  ->  r = read(v), while(..., f(r))
    while(..., matmul(x, w^T))  ->  t = transpose(w), while(..., matmul(x, t))
"""

from __future__ import annotations

from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import get
from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.passes.prune import CHECKING
from fastgraph.graph.passes.rewriter import fuel, is_pure
from fastgraph.graph.structural_ops import known_trips

#: Elements from which on a value is computed before its loop: fewer are computed by the kernels that take them.
LEAST = 1024
#: Rows of a product up to which to turn the other matrix, as its blocks of columns do, takes a tenth of it or more.
FEW_ROWS = 64
_LAID_OUT = frozenset({"bitcast", "expand_dims", "reshape", "squeeze"})  # the same memory


def hoist(graph: Graph) -> Graph:
    """Return `graph` with such values, and those of the graphs inside, out of their loops; itself without any."""
    changed: dict[int, dict[str, Graph]] = {}
    for place, node in enumerate(graph.nodes):
        graphs = {name: value for name, value in node.attrs.items() if isinstance(value, Graph)}
        made = {name: hoist(value) for name, value in graphs.items()}
        if any(made[name] is not graphs[name] for name in made):
            changed[place] = made
    stacks = {value for node in graph.nodes if node.op.name == "while" for value in _same_rows(node)}
    takers = [
        (place, i)
        for place, node in enumerate(graph.nodes)
        if node.op.name == "while"
        for i, value in enumerate(node.inputs)
        if value in stacks and i >= node.attrs["n_carried"] and _takes_rows(node, i)
    ]
    if not changed and not takers:
        return graph
    result, mapping = ir.copy(graph)
    nodes = list(result.nodes)
    for place, made in changed.items():
        nodes[place].attrs = {**nodes[place].attrs, **made}
    outside: dict[Value, Value] = {}
    for place, i in takers:
        stack = graph.nodes[place].inputs[i]
        if stack in outside or fuel().spend("a value that a loop stacks and that is the same in all iterations"):
            if stack not in outside:
                made_by = mapping[stack].node
                outside[stack] = _before(result, made_by, made_by.attrs["body_graph"].outputs[stack.index])
            _give(nodes[place], i, outside[stack])
    return result


def _same_rows(node: Node) -> list[Value]:
    """The stacks of a loop whose rows are all the same."""
    body, n, joined = node.attrs["body_graph"], node.attrs["n_carried"], node.attrs.get("joined", ())
    parameters = {value: i for i, value in enumerate(body.parameters)}
    written = {effect.resource for effect in ir.effects(node) if effect.kind != "read"}
    known: dict[Value, bool] = {}

    def same(value: Value) -> bool:
        found = known.get(value)
        if found is None:
            made = value.node
            if value in parameters:
                i = parameters[value]
                found = i >= n and None not in written and node.inputs[i] not in written
            elif made.op.name in ("const", "read_variable"):
                found = all(map(same, made.inputs))
            else:
                found = _never_fails(made) and all(map(same, made.inputs))
            known[value] = found
        return found

    apart = {*joined, *[k + 1 for k in joined]}
    return [node.outputs[k] for k in range(n, len(node.outputs)) if k not in apart and same(body.outputs[k])]


def _never_fails(node: Node) -> bool:
    """Return whether a node may run though its loop has no iterations."""
    plain = node.op.family == "elementwise" and is_pure(node.op, node.attrs) and node.op.name not in CHECKING
    return plain and all(value.aval.dtype.is_floating for value in node.outputs)


def _takes_rows(node: Node, i: int) -> bool:
    """Return whether a loop takes of operand `i` single rows only."""
    test, body = node.attrs["cond_graph"], node.attrs["body_graph"]
    if test.captures or body.captures or any(test.parameters[i] in other.inputs for other in test.nodes):
        return False
    value = body.parameters[i]
    takers = [other for other in body.nodes if value in other.inputs]
    gathers = [each for each in takers if each.op.name == "gather" and each.inputs[0] is value]
    rows = [each for each in gathers if each.attrs == {"axis": 0, "batch_dims": 0}]
    single = all(each.inputs[1] is not value and each.inputs[1].aval.shape == () for each in rows)
    return bool(takers) and len(rows) == len(takers) and single and value not in body.outputs


def move_out(graph: Graph) -> Graph:
    """Return `graph` with what its loops, and those inside, compute of values that stay in front of them, once.

    Itself without any. What is left in the loops is pruned.
    """
    result, moved = ir.copy(graph)[0], False
    for node in list(result.nodes):
        graphs = {name: value for name, value in node.attrs.items() if isinstance(value, Graph)}
        made = {name: move_out(value) for name, value in graphs.items()}
        if any(made[name] is not graphs[name] for name in made):
            node.attrs, moved = {**node.attrs, **made}, True
        if node.op.name == "while":
            _turn(node)
        while node.op.name == "while" and (value := _computed_anew(node)) is not None:
            if not fuel().spend("what a loop computes anew of values that stay"):
                break
            row, moved = _before(result, node, value), True
            body, mapping, own = _with_operand(node, row)["body_graph"]
            for each in body.nodes:
                each.inputs = tuple([own if v is mapping[value] else v for v in each.inputs])
    return result if moved else graph


def _stay(node: Node) -> set[Value]:
    """The parameters of a loop's body that are the same numbers in every iteration."""
    body: Graph = node.attrs["body_graph"]
    n = node.attrs["n_carried"]
    return {v for i, v in enumerate(body.parameters) if (i >= n or body.outputs[i] is v) and _is_number(v)}


def _turn(node: Node) -> None:
    """Have a loop's products of few rows by a matrix that stays take it as it is turned, which is then moved out."""
    same = _stay(node)
    products = [
        each
        for each in node.attrs["body_graph"].nodes
        if each.op.name == "matmul" and each.attrs["transpose_b"] and each.inputs[1] in same and _has_few_rows(each)
    ]
    if not products or known_trips(node) in (0, 1) or not fuel().spend("a matrix that a loop's products turn"):
        return
    body, mapping = ir.copy(node.attrs["body_graph"])
    for product in [mapping[each.outputs[0]].node for each in products]:
        a, b = product.inputs
        aval = Aval(b.aval.dtype, (b.aval.shape or ())[::-1])
        turned = body.add(get("transpose"), (b,), {"perm": (1, 0)}, avals=(aval,), source=product.source)
        body.nodes.insert(body.nodes.index(product), body.nodes.pop())
        product.inputs, product.attrs = (a, turned.outputs[0]), {**product.attrs, "transpose_b": False}
    node.attrs = {**node.attrs, "body_graph": body}


def _has_few_rows(product: Node) -> bool:
    a, b = (value.aval for value in product.inputs)
    if not (a.is_static and b.is_static) or (len(a.shape or ()), len(b.shape or ())) != (2, 2):
        return False
    rows = (a.shape or ())[1 if product.attrs["transpose_a"] else 0] or 0
    return 1 < rows <= FEW_ROWS and a.dtype.is_floating and (b.size or 0) >= LEAST


def _computed_anew(node: Node) -> Value | None:
    """The first value of a loop's body that is worth being an operand, and follows from operands that stay."""
    body: Graph = node.attrs["body_graph"]
    same = _stay(node)
    works: set[Value] = set()
    for each in body.nodes:
        if any(v in same for v in each.inputs) and _moves(each, same):
            same.update(each.outputs)
            if each.op.name not in _LAID_OUT or not works.isdisjoint(each.inputs):
                works.update(each.outputs)
    for each in body.nodes:
        for value in each.inputs:
            if value in works and not same.issuperset(each.outputs) and (value.aval.size or 0) >= LEAST:
                return value
    return None


def _is_number(value: Value) -> bool:
    return value.aval.dtype.is_floating or value.aval.dtype.is_integer


def _moves(node: Node, same: set[Value]) -> bool:
    """Return whether a node may run once, before the loop: it cannot fail, and gives no more elements than it takes."""
    if not all(v in same or v.node.op.name == "const" for v in node.inputs):
        return False
    if not all(v.aval.is_static for v in (*node.inputs, *node.outputs)):
        return False
    if node.op.name in _LAID_OUT or node.op.name in ("cast", "transpose") or node.op.family == "contraction":
        return True
    if node.op.name == "strided_slice":
        return len(node.inputs) == 1  # at places that are known, and known to be there
    largest = max([v.aval.size or 0 for v in node.inputs])
    return _never_fails(node) and all((v.aval.size or 0) <= largest for v in node.outputs)


def _before(graph: Graph, node: Node, value: Value) -> Value:
    """Append what makes a value of a loop's body in front of the loop; return it there."""
    body = node.attrs["body_graph"]
    place = graph.nodes.index(node)
    made: dict[Value, Value] = dict(zip(body.parameters, node.inputs, strict=True))

    def new(value: Value) -> Value:
        if value not in made:
            old = value.node
            inputs = tuple([new(each) for each in old.inputs])
            avals = tuple([each.aval for each in old.outputs])
            own = graph.add(old.op, inputs, old.attrs, avals=avals, source=old.source, device=old.device)
            made.update(zip(old.outputs, own.outputs, strict=True))
        return made[value]

    first = len(graph.nodes)
    row = new(value)
    added = graph.nodes[first:]
    del graph.nodes[first:]
    graph.nodes[place:place] = added
    return row


def _give(node: Node, i: int, row: Value) -> None:
    """Have a loop take `row` where it takes a row of operand `i`."""
    before = node.attrs
    for name, (graph, mapping, own) in _with_operand(node, row).items():
        taken = mapping[before[name].parameters[i]]
        same = {each.outputs[0]: own for each in graph.nodes if taken in each.inputs}
        for each in graph.nodes:
            each.inputs = tuple([same.get(value, value) for value in each.inputs])
        graph.outputs = [same.get(value, value) for value in graph.outputs]


def _with_operand(node: Node, row: Value) -> dict[str, tuple[Graph, dict[Value, Value], Value]]:
    """Give a loop one more operand. Of its graphs: the copy, where values are in it, what stands for the operand."""
    attrs = dict(node.attrs)
    found = {}
    for name in ("cond_graph", "body_graph"):
        graph, mapping = ir.copy(attrs[name])
        aval = row.aval.without_value()
        own = graph.add(
            get("placeholder"), (), {"dtype": aval.dtype, "shape": aval.shape, "name": "row"}, avals=(aval,)
        )
        graph.nodes.insert(0, graph.nodes.pop())
        graph.inputs.append(own.outputs[0])
        attrs[name] = graph
        found[name] = graph, mapping, own.outputs[0]
    node.attrs = attrs
    node.inputs = (*node.inputs, row)
    return found
