"""The pass over loops that add parts of a tensor to a whole: each iteration touches only the part.

Rule: the gradient of x[i] is zeros with one row; a loop that adds one an iteration to a sum it carries would take time
in proportion to iterations times rows. Written as `strided_slice_add(sum, row, i)` the sum stays where it is. What is
summed keeps its value; the order of the additions may differ.

    sum = add(sum, strided_slice_grad(dy, x, i))       ->  sum = strided_slice_add(sum, dy, i)
    sum = add(sum, gather_grad(dy, i, shape(x)))       ->  sum = gather_add(sum, dy, i)
    sum = add(sum, while(..., zeros, ...))             ->  sum = while(..., sum, ...), where that loop does one of these
    sum = add(sum, cond(p, a, b))                      ->  sum = cond(p, the sum with a, the sum with b), likewise
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from fastgraph.core.registry import get
from fastgraph.graph.ir import Graph, Node, Value
from fastgraph.graph.passes.rewriter import Rebuild, fuel, is_constant

#: Ops that give zeros with something at places, and those that add it there.
_PLACED = {"strided_slice_grad": "strided_slice_add", "gather_grad": "gather_add"}
_ADDED = frozenset(_PLACED.values())


def accumulate(graph: Graph) -> Graph:
    """Return `graph` with the sums of its loops, and of those inside them, written as sums in place."""
    if not any(_worth_it(node) for node in graph.nodes):
        return graph
    copy = Rebuild(graph).run()
    for node in copy.nodes:
        graphs = {name: accumulate(value) for name, value in node.attrs.items() if isinstance(value, Graph)}
        if graphs:
            node.attrs = {**node.attrs, **graphs}
        if node.op.name == "while":
            _loop(node)
    return copy


def _worth_it(node: Node) -> bool:
    """Return whether there is a loop at or below this node with zeros that have something at places."""
    return any(_places(value) for value in node.attrs.values() if isinstance(value, Graph))


def _places(graph: Graph) -> bool:
    return any(node.op.name in _PLACED or _worth_it(node) for node in graph.nodes)


def _loop(node: Node) -> None:
    """Rewrite the sums that a loop carries."""
    n, operands = node.attrs["n_carried"], node.inputs
    body = Rebuild(node.attrs["body_graph"]).run()
    changed = False
    for k in range(n):
        total, begin = body.inputs[k], operands[k].node
        likes = {total}
        if begin.op.name == "zeros_like":  # of an unknown extent only this tells that it is the sum's
            likes |= {body.parameters[i] for i in range(n, len(operands)) if operands[i] is begin.inputs[0]}
        found = _Sum(body, total, body.outputs[k], likes).rewritten()
        if found is not None and fuel().spend("a sum in place"):
            body.outputs[k] = found()
            _without_dead(body)
            changed = True
    if changed:
        node.attrs = {**node.attrs, "body_graph": body}


class _Sum:
    """A value of a graph that is `total` and other terms, each used nowhere else; `likes` have the shape of total."""

    def __init__(self, graph: Graph, total: Value, result: Value, likes: set[Value]) -> None:
        self.graph, self.total, self.result, self.likes = graph, total, result, likes
        self.uses = Counter([v for node in graph.nodes for v in node.inputs] + graph.outputs)

    def rewritten(self) -> Callable[[], Value] | None:
        """Return what rewrites the sum and gives its new value; None where nothing would be gained."""
        if self.result.node.op.name != "add" or self.uses[self.total] != 1 or self.uses[self.result] != 1:
            return None
        terms = self.terms(self.result)
        if terms.count(self.total) != 1:
            return None
        rest = [term for term in terms if term is not self.total]
        placed = [term for term in rest if self.is_placed(term)]
        loops = [term for term in rest if self.is_loop(term)]
        conds = [term for term in rest if self.is_cond(term)]
        if not (placed or loops or conds):
            return None

        def write() -> Value:
            value = self.total
            order = {node: i for i, node in enumerate(self.graph.nodes)}
            for term in sorted([*loops, *conds], key=lambda term: order[term.node]):
                value = _through_loop(term, value) if term in loops else self.through_cond(term, value)
            for term in rest:
                if term not in placed and term not in loops and term not in conds:
                    value = self.emit("add", (value, term), term.node)
            for term in placed:
                value = self.emit_placed(value, term.node)
            return value

        return write

    def emit(self, op: str, inputs: tuple[Value, ...], like: Node, **attrs: object) -> Value:
        made = self.graph.add(get(op), inputs, attrs, avals=(self.total.aval.without_value(),), source=like.source)
        return made.outputs[0]

    def emit_placed(self, value: Value, node: Node) -> Value:
        """The sum with what a node would have put among zeros."""
        given = node.inputs[0], *(node.inputs[2:] if node.op.name == "strided_slice_grad" else node.inputs[1:2])
        return self.emit(_PLACED[node.op.name], (value, *given), node, **node.attrs)

    def terms(self, value: Value) -> list[Value]:
        """Return the terms that are added up."""
        node = value.node
        if node.op.name != "add" or self.uses[value] != 1 or not all(self.is_like(v) for v in node.inputs):
            return [value]
        return [term for part in node.inputs for term in self.terms(part)]

    def is_like(self, value: Value) -> bool:
        """Return whether a value certainly has the shape of the sum."""
        node, aval, mine = value.node, value.aval, self.total.aval
        if aval.dtype is not mine.dtype:
            return False
        if value in self.likes or (mine.is_static and aval.shape == mine.shape):
            return True
        if node.op.name == "add":
            return all(self.is_like(v) for v in node.inputs)
        if node.op.name == "strided_slice_grad":
            return self.is_like(node.inputs[1])
        if node.op.name == "gather_grad":
            shape = node.inputs[2].node
            return shape.op.name == "shape" and self.is_like(shape.inputs[0])
        if node.op.name == "while":
            i = node.outputs.index(value)
            return i < node.attrs["n_carried"] and self.is_like(node.inputs[i])
        return node.op.name == "zeros_like" and self.is_like(node.inputs[0])

    def is_placed(self, term: Value) -> bool:
        return term.node.op.name in _PLACED and self.uses[term] == 1 and self.is_like(term)

    def is_loop(self, term: Value) -> bool:
        """Return whether a term is the sum in place of a loop that begins with zeros."""
        node = term.node
        if node.op.name != "while" or self.uses[term] != 1 or not self.is_like(term):
            return False
        k = node.outputs.index(term)
        return k < node.attrs["n_carried"] and _is_zeros(node.inputs[k]) and _in_place(node, k)

    def is_cond(self, term: Value) -> bool:
        """Return whether each branch of a cond gives zeros, or zeros with something at places, one at least these."""
        node = term.node
        if node.op.name != "cond" or self.uses[term] != 1 or not self.is_like(term):
            return False
        i = node.outputs.index(term)
        branches = [node.attrs["then_graph"], node.attrs["else_graph"]]
        if any(graph.outputs.count(graph.outputs[i]) != 1 for graph in branches):
            return False
        placed = [self.all_placed(graph, graph.outputs[i]) for graph in branches]
        return any(placed) and all(p or _is_zeros(g.outputs[i]) for p, g in zip(placed, branches, strict=True))

    def all_placed(self, graph: Graph, value: Value) -> bool:
        """Return whether a branch's result has the sum's (known) shape, and is made of things at places alone."""
        inside = _Sum(graph, self.total, value, set())
        return all(inside.is_placed(term) or inside.is_cond(term) for term in inside.terms(value))

    def through_cond(self, term: Value, value: Value) -> Value:
        """The result of a cond whose branches add to the sum, which they are given."""
        node = term.node
        i = node.outputs.index(term)
        made = {}
        for key in ("then_graph", "else_graph"):
            branch = Rebuild(node.attrs[key]).run()
            aval = self.total.aval.without_value()
            attrs = {"dtype": aval.dtype, "shape": aval.shape, "name": "sum"}
            own = branch.add(get("placeholder"), (), attrs, avals=(aval,)).outputs[0]
            # A placeholder comes before all that takes it; the captures of a branch follow its inputs.
            branch.nodes.insert(0, branch.nodes.pop())
            branch.inputs.append(own)
            inside = _Sum(branch, own, branch.outputs[i], set())
            after = own
            if not _is_zeros(branch.outputs[i]):
                parts = inside.terms(branch.outputs[i])
                order = {each: place for place, each in enumerate(branch.nodes)}
                for part in sorted(parts, key=lambda part: (part.node.op.name != "cond", order[part.node])):
                    is_cond = part.node.op.name == "cond"
                    after = inside.through_cond(part, after) if is_cond else inside.emit_placed(after, part.node)
            branch.outputs[i] = after
            _without_dead(branch)
            made[key] = branch
        n_inputs = len(node.attrs["then_graph"].inputs)
        node.attrs = {**node.attrs, **made}
        node.inputs = (*node.inputs[: 1 + n_inputs], value, *node.inputs[1 + n_inputs :])
        return term


def _without_dead(graph: Graph) -> None:
    """Take away what was added up before: a sum that somebody else looks at is not the loop's own."""
    used = {value for node in graph.nodes for value in node.inputs} | set(graph.outputs)
    for node in reversed(list(graph.nodes)):
        if node.op.name in ("add", *_PLACED) and used.isdisjoint(node.outputs):
            graph.nodes.remove(node)
            used = {value for other in graph.nodes for value in other.inputs} | set(graph.outputs)


def _through_loop(term: Value, value: Value) -> Value:
    """The result of a loop inside that begins with the sum."""
    node = term.node
    k = node.outputs.index(term)
    node.inputs = (*node.inputs[:k], value, *node.inputs[k + 1 :])
    return term


def _is_zeros(value: Value) -> bool:
    node = value.node
    if node.op.name == "const":
        array = value.aval.value
        return array is not None and array.dtype.kind in "fiuc" and not array.any()
    return node.op.name == "zeros_like" or (node.op.name == "broadcast_to" and is_constant(node.inputs[0], 0))


def _in_place(node: Node, k: int) -> bool:
    """Return whether a loop only adds to what it carries as value k, things at places too, and looks at it nowhere."""
    body, test = node.attrs["body_graph"], node.attrs["cond_graph"]
    total = body.inputs[k]
    if any(test.inputs[k] in other.inputs for other in test.nodes) or test.inputs[k] in test.outputs:
        return False
    if sum(other.inputs.count(total) for other in body.nodes) + body.outputs.count(total) != 1:
        return False
    value, found = body.outputs[k], False
    if body.outputs.count(value) != 1:
        return False
    while value is not total:
        maker = value.node
        if maker.op.name in _ADDED:
            found = True
            value = maker.inputs[0]
        elif maker.op.name == "while" and maker.outputs.index(value) < maker.attrs["n_carried"]:
            i = maker.outputs.index(value)
            if not _in_place(maker, i):
                return False
            found = True
            value = maker.inputs[i]
        elif maker.op.name == "cond" and maker.inputs[-1].aval.dtype is total.aval.dtype and _hands_on(maker, value):
            found = True
            value = maker.inputs[-1]
        else:
            return False
        if sum(other.inputs.count(value) for other in body.nodes) != 1 or value in body.outputs:
            return False
    return found


def _hands_on(node: Node, value: Value) -> bool:
    """Return whether both branches of a cond give result `value` by adding to their last operand, or as it is."""
    i = node.outputs.index(value)
    for graph in (node.attrs["then_graph"], node.attrs["else_graph"]):
        if graph.captures or graph.outputs.count(graph.outputs[i]) != 1:
            return False
        total, at = graph.inputs[-1], graph.outputs[i]
        if sum(other.inputs.count(total) for other in graph.nodes) + graph.outputs.count(total) != 1:
            return False
        while at is not total:
            if at.node.op.name not in _ADDED:
                return False
            at = at.node.inputs[0]
    return True
