"""The passes over graphs: prune, inline, own_constants, fold, cse, algebra; and `optimise`, which is all of them.

Rule: a pass is a function `Graph -> Graph` that leaves its argument alone, and subgraphs are passed through it too.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base import flags
from fastgraph.core.base.dtype import DType
from fastgraph.core.tensor import EagerTensor, run
from fastgraph.errors import OpError
from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, SourceLine, Value, copy_node
from fastgraph.graph.passes import prune as pruning
from fastgraph.graph.passes.independent_effects import Inlining, counted_first, takes_elements
from fastgraph.graph.passes.iteration_sums import product_at_once, shape_of_rows, sum_at_once
from fastgraph.graph.passes.loop_accumulators import accumulate
from fastgraph.graph.passes.loop_duplicates import merge_duplicates
from fastgraph.graph.passes.loop_invariants import hoist, move_out
from fastgraph.graph.passes.part_lookups import InOne, lookups_of_parts
from fastgraph.graph.passes.rewriter import Application, Rebuild, Row, Rule, compile_row, exactly
from fastgraph.graph.passes.scalar_replacement import take_apart
from fastgraph.graph.passes.transforms import short_cosine_transform, transform_of_real
from fastgraph.graph.passes.transposed_reductions import reduces_transposed, sunk
from fastgraph.graph.passes.unread_parts import OnePart, read_once
from fastgraph.graph.structural_ops import CONST

Pass = Callable[[Graph], Graph]

# ---- The algebra table ----------------------------------------------------------------------------------------------


ALGEBRA = (
    Row("identity(x)", "x"),
    Row("stop_gradient(x)", "x"),
    Row("zeros_like(x)", "0", when="number"),
    Row("ones_like(x)", "1"),
    # sums
    Row("negative(negative(x))", "x"),
    Row("add(x, 0)", "x", when="integer"),
    Row("add(x, -0.0)", "x", when="floating"),  # x + 0.0 is not x where x is -0.0
    Row("subtract(x, 0)", "x"),
    Row("subtract(0, x)", "negative(x)", when="integer"),
    Row("subtract(x, x)", "0", when="integer"),
    Row("add(x, negative(y))", "subtract(x, y)"),
    Row("subtract(x, negative(y))", "add(x, y)"),
    # products
    Row("multiply(x, 1)", "x"),
    Row("multiply(x, 0)", "0", when="integer"),
    Row("multiply(x, -1)", "negative(x)", when="real"),
    Row("multiply(negative(x), negative(y))", "multiply(x, y)"),
    Row("realdiv(x, 1)", "x"),
    Row("realdiv(negative(x), negative(y))", "realdiv(x, y)"),
    Row("floordiv(x, 1)", "x", when="integer"),
    Row("floormod(x, 1)", "0", when="integer"),
    # powers
    Row("pow(x, 0)", "1", when="real"),
    Row("pow(x, 1)", "x", when="real"),
    Row("pow(x, 2)", "multiply(x, x)", when="real", close=True),
    Row("pow(x, 3)", "multiply(multiply(x, x), x)", when="real", close=True),
    Row("pow(x, 4)", "multiply(multiply(x, x), multiply(x, x))", when="real", close=True),
    Row("pow(x, -1)", "reciprocal(x)", when="floating", close=True),
    Row("square(negative(x))", "square(x)"),
    Row("square(abs(x))", "square(x)", when="real"),
    # signs and extremes
    Row("abs(abs(x))", "abs(x)", when="real"),
    Row("abs(negative(x))", "abs(x)", when="real"),
    Row("maximum(x, x)", "x"),
    Row("minimum(x, x)", "x"),
    Row("relu(relu(x))", "relu(x)"),
    Row("cos(negative(x))", "cos(x)", when="floating", close=True),
    # logic
    Row("logical_not(logical_not(x))", "x"),
    Row("logical_and(x, x)", "x"),
    Row("logical_or(x, x)", "x"),
    Row("logical_and(x, 1)", "x"),
    Row("logical_or(x, 0)", "x"),
    Row("logical_and(x, 0)", "0"),
    Row("logical_or(x, 1)", "1"),
    Row("logical_not(equal(x, y))", "not_equal(x, y)"),
    Row("logical_not(not_equal(x, y))", "equal(x, y)"),
    Row("invert(invert(x))", "x"),
    Row("bitwise_and(x, x)", "x"),
    Row("bitwise_or(x, x)", "x"),
    Row("select(c, x, x)", "x"),
    Row("select(logical_not(c), x, y)", "select(c, y, x)"),
)

# ---- Rules that look at attributes ----------------------------------------------------------------------------------


def _unchanged(build: Rebuild, applied: Application) -> Value | None:
    """A movement or cast that changes neither type nor order gives its input."""
    value = applied.inputs[0]
    if exactly(value.aval, applied.avals[0]) and build.spend(f"{applied.op.name} of the same type"):
        return value
    return None


def _cast_cast(build: Rebuild, applied: Application) -> Value | None:
    """cast(cast(x)) is one cast where the one in between loses nothing."""
    inner = applied.inputs[0].node
    if inner.op.name != "cast":
        return None
    source, between = inner.inputs[0], applied.inputs[0].aval.dtype
    if not _holds(between, source.aval.dtype) or not build.spend("cast(cast(x)) -> cast(x)"):
        return None
    return build.emit(applied.op, (source,), applied.attrs, applied.avals)[0]


def _holds(wide: DType, narrow: DType) -> bool:
    """Return whether every value of `narrow` is a value of `wide`."""
    numpy_types = (narrow.as_numpy_dtype, wide.as_numpy_dtype)
    if narrow.is_integer and narrow.size == 8 and not wide.is_integer:
        return False  # NumPy calls this safe, but float64 has 53 bits
    if "bfloat16" in (wide.name, narrow.name):
        return narrow == wide or (narrow.name == "bfloat16" and wide.name in ("float32", "float64"))
    return bool(np.can_cast(*numpy_types, casting="safe"))


def _cast_same(build: Rebuild, applied: Application) -> Value | None:
    value = applied.inputs[0]
    if value.aval.dtype == applied.avals[0].dtype and build.spend("cast to the same dtype"):
        return value
    return None


def _transpose(build: Rebuild, applied: Application) -> Value | None:
    """transpose(transpose(x)) is one transpose, or none."""
    perm = applied.attrs.get("perm")
    if not isinstance(perm, tuple):
        return None
    if perm == tuple(range(len(perm))) and build.spend("transpose that moves nothing"):
        return applied.inputs[0]
    inner = applied.inputs[0].node
    if inner.op.name != applied.op.name or not isinstance(inner.attrs.get("perm"), tuple):
        return None
    if not build.spend("transpose(transpose(x)) -> transpose(x)"):
        return None
    both = tuple([inner.attrs["perm"][i] for i in perm])
    return build.emit(applied.op, (inner.inputs[0],), {**applied.attrs, "perm": both}, applied.avals)[0]


def _reshape_reshape(build: Rebuild, applied: Application) -> Value | None:
    """reshape(reshape(x)) is one reshape, where it fails for as many sizes of x as the two."""
    inner = applied.inputs[0].node
    if inner.op.name != applied.op.name:
        return None
    attrs, (aval,) = applied.attrs, applied.avals
    if not inner.inputs[0].aval.is_static:  # whether x has so many elements is seen when this runs
        if aval.is_static:
            attrs = {**attrs, "shape": aval.shape}
        first, last = inner.attrs["shape"], attrs["shape"]
        each, every = [math.prod([n for n in shape if n != -1]) for shape in (first, last)]
        if not each or not every or every % each or (-1 in last and -1 not in first):
            return None
    if not build.spend("reshape(reshape(x)) -> reshape(x)"):
        return None
    return build.emit(applied.op, (inner.inputs[0],), attrs, applied.avals)[0]


def _unchecked(build: Rebuild, applied: Application) -> Value | None:
    """check_numerics(x) gives x, without the check."""
    return applied.inputs[0] if build.spend("check_numerics(x) -> x") else None


def _sum_nothing(build: Rebuild, applied: Application) -> Value | None:
    """A reduction over no axes gives its input."""
    if applied.attrs.get("axes") == () and build.spend(f"{applied.op.name} over no axes"):
        return applied.inputs[0]
    return None


def _single(build: Rebuild, applied: Application) -> Value | None:
    """concat of one thing is that thing."""
    if len(applied.inputs) == 1 and build.spend(f"{applied.op.name} of one value"):
        return applied.inputs[0]
    return None


#: Multiplications up to which a product of complex matrices is one kernel.
_SMALL_PRODUCT = 4096


def _complex_product(build: Rebuild, applied: Application) -> Value | None:
    """A product of complex matrices is four of real ones, which BLAS computes."""
    dtype, (a, b) = applied.avals[0].dtype, [value.aval for value in applied.inputs]
    if not dtype.is_complex:
        return None
    if a.is_static and b.is_static and applied.avals[0].is_static:
        rows = (a.shape or ())[-1 if applied.attrs["transpose_a"] else -2]
        if (applied.avals[0].size or 0) * (a.size or 0) <= _SMALL_PRODUCT * (rows or 1):
            return None
    if not build.spend("a product of complex matrices as real ones"):
        return None
    (p, q), (r, s) = [[build.emit(part, (v,), {})[0] for part in ("real", "imag")] for v in applied.inputs]

    def product(x: Value, y: Value) -> Value:
        return build.emit(applied.op, (x, y), applied.attrs)[0]

    real = build.emit("subtract", (product(p, r), product(q, s)), {})[0]
    imag = build.emit("add", (product(p, s), product(q, r)), {})[0]
    return build.emit("complex", (real, imag), {"dtype": dtype})[0]


def _transposed_operand(build: Rebuild, applied: Application) -> Value | None:
    """A product of a transposed matrix reads the matrix itself the other way, where that is as fast: of floats."""
    if not applied.avals[0].dtype.is_floating:
        return None
    inputs, attrs = list(applied.inputs), dict(applied.attrs)
    for i, flag in enumerate(("transpose_a", "transpose_b")):
        inner = inputs[i].node
        perm = inner.attrs.get("perm") if inner.op.name == "transpose" else None
        if not isinstance(perm, tuple) or len(perm) < 2:
            continue
        turned = (*range(len(perm) - 2), len(perm) - 1, len(perm) - 2)
        if tuple([int(axis) % len(perm) for axis in perm]) == turned and build.spend(
            f"transposed operand of {applied.op.name}"
        ):
            inputs[i], attrs[flag] = inner.inputs[0], not attrs[flag]
    if attrs == applied.attrs:
        return None
    return build.emit(applied.op, tuple(inputs), attrs, applied.avals)[0]


def _custom_identity(build: Rebuild, applied: Application) -> tuple[Value, ...] | None:
    """A custom gradient has had its say: its values stay."""
    if build.spend("custom_gradient_identity -> its values"):
        return applied.inputs[: applied.attrs["n_outputs"]]
    return None


def _cond_known(build: Rebuild, applied: Application) -> tuple[Value, ...] | None:
    """A cond whose predicate is a constant is the branch that it takes."""
    pred = applied.inputs[0]
    if pred.node.op.name != "const" or pred.aval.value is None or pred.aval.size != 1:
        return None
    if not build.spend("cond of a constant"):
        return None
    branch = applied.attrs["then_graph" if bool(pred.aval.value.reshape(())) else "else_graph"]
    return splice(build, branch, applied.inputs[1:])


#: Lines of calls round a node that are remembered: of Functions that call Functions, the innermost.
_MOST_CALLERS = 12


def inlined(build: Rebuild, graph: Graph, arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    """Splice in the graph that the node being rebuilt calls: its nodes know the line of the call as well."""
    before = build.callers
    build.callers = build.source[:_MOST_CALLERS]
    outputs = splice(build, graph, arguments)
    build.callers = before
    return outputs


def splice(build: Rebuild, graph: Graph, arguments: tuple[Value, ...]) -> tuple[Value, ...]:
    """Rebuild the nodes of `graph` with `arguments` for its parameters; return its outputs."""
    before = build.source, build.device, build.name
    saved = build.mapping
    build.mapping = dict(zip(graph.parameters, arguments, strict=True))
    # The depth of rewriting at the call's own position does not count for the nodes inside.
    depth, build._depth = build._depth, 0
    for node in graph.nodes:
        if node.op.name != "placeholder":
            build.node(node)
    outputs = tuple([build.mapping[value] for value in graph.outputs])
    build.mapping, build._depth = saved, depth
    build.source, build.device, build.name = before
    return outputs


# ---- Constants ------------------------------------------------------------------------------------------------------

# A folded constant may be this large, or as large as the constants it is made of.
_FOLD_BYTES = 4096
_UNFOLDED = frozenset({"const", "placeholder", "cond", "while", "call", "recursive_call", "custom_gradient_identity"})


def _pending(node: Node) -> bool:
    """Return whether a value that is known is so only if a check says so, which a run of the graph has yet to make."""
    seen, left = {node}, [node]
    while left:
        node = left.pop()
        if node.op.name in ir.CHECKS:
            return True
        more = {value.node for value in node.inputs if value.aval.value is not None} - seen
        seen |= more
        left += more
    return False


def _fold(build: Rebuild, applied: Application) -> tuple[Value, ...] | None:
    """An application of constants, or one that static shapes decide, is a constant."""
    op = applied.op
    if op.name in _UNFOLDED or op.effect is not None or not applied.avals:
        return None
    for aval in applied.avals:
        if aval.value is None or not aval.is_static or op.name in ir.CHECKS:
            break
    else:
        if any(map(_pending, {value.node for value in applied.inputs if value.aval.value is not None})):
            return None
        if not build.spend(f"fold {op.name}"):
            return None
        return tuple([build.constant(np.asarray(aval.value)) for aval in applied.avals])
    if not applied.inputs:
        return None
    for value in applied.inputs:
        if value.node.op.name != "const":
            return None
    largest = max(_FOLD_BYTES, sum(value.aval.nbytes or 0 for value in applied.inputs))
    if any(aval.nbytes is None or aval.nbytes > largest for aval in applied.avals):
        return None

    try:
        results = run(op, tuple([value.node.attrs["value"] for value in applied.inputs]), applied.attrs)
    except (OpError, ValueError, TypeError, ArithmeticError):
        return None  # it fails when it is run, if it is run
    if not build.spend(f"fold {op.name}"):
        return None
    if op.n_outputs == 1:
        results = (results,)
    return tuple([build.emit("const", (), {"value": result})[0] for result in results])


# ---- The passes -----------------------------------------------------------------------------------------------------


def _table(*pairs: tuple[str, Rule]) -> dict[str, list[Rule]]:
    table: dict[str, list[Rule]] = {}
    for name, rule in pairs:
        table.setdefault(name, []).append(rule)
    return table


_algebra_rules: dict[str, list[Rule]] | None = None


def algebra_rules() -> dict[str, list[Rule]]:
    """Return the rules of ALGEBRA and those that look at attributes, by the op they start from."""
    global _algebra_rules
    if _algebra_rules is None:
        _algebra_rules = _table(
            *[compile_row(row) for row in ALGEBRA],
            ("cast", _cast_same),
            ("cast", _cast_cast),
            ("transpose", _transpose),
            ("reshape", _reshape_reshape),
            *[(name, _unchanged) for name in ("reshape", "broadcast_to", "sum_to_like", "slice", "tile", "pad")],
            ("concat", _single),
            ("matmul", _transposed_operand),
            ("matmul", _complex_product),
            *[(name, _sum_nothing) for name in ("sum", "mean", "max", "min", "prod")],
            ("custom_gradient_identity", _custom_identity),
            ("cond", _cond_known),
            ("shape", shape_of_rows),
            ("fft", transform_of_real),
            ("dct", short_cosine_transform),
        )
    return _algebra_rules


def _with_subgraphs(graph: Graph, apply: Callable[..., Graph], about: dict[Node, Any] | None = None) -> Graph:
    """Return `graph` with every subgraph replaced by what `apply` makes of it and of what is told `about` its node."""
    done: dict[tuple[Any, ...], Graph] = {}
    for node in graph.nodes:
        if node.op.step not in ir.WITH_SUBGRAPHS:
            continue
        told = () if not about or node not in about else (about[node],)
        for name, attr in node.attrs.items():
            if isinstance(attr, Graph):
                key = (attr, *told)
                if key not in done:
                    done[key] = apply(*key)
                node.attrs = {**node.attrs, name: done[key]}
    return graph


def _has_subgraphs(graph: Graph) -> bool:
    return not ir.WITH_SUBGRAPHS.isdisjoint([node.op.step for node in graph.nodes])


def prune(graph: Graph) -> Graph:
    """Drop what neither an output nor an effect needs: non-strict execution. Placeholders of parameters stay."""
    enabled = flags.get("passes")
    return pruning.prune(graph) if "prune" in enabled or flags.STRIP in enabled else graph


def inline(graph: Graph, callers: tuple[SourceLine, ...] = ()) -> Graph:
    """Replace every call by the nodes of what it calls; `callers`: where the function of a subgraph is called."""
    plain = "custom_gradient_identity" not in [node.op.name for node in graph.nodes]
    if plain and not callers and not _has_subgraphs(graph):
        return graph
    calls = _inline_by(_flattened(graph))
    rules: dict[str, list[Rule]] = {"call": [calls], "custom_gradient_identity": [_custom_identity]}
    build = Rebuild(graph, rules=rules)
    build.callers = callers
    return _with_subgraphs(build.run(), inline, build.called_from)


def _inline_by(flat: dict[Graph, Graph]) -> Rule:
    """Return the rule that a call is the nodes of what it calls, or of what `flat` says in the place of that.

    It is no matter of fuel: what follows knows no calls.
    """

    def rule(build: Rebuild, applied: Application) -> tuple[Value, ...] | None:
        graph = applied.attrs["graph"]
        return inlined(build, flat.get(graph, graph), applied.inputs)

    return rule


def counted(graph: Graph) -> Graph:
    """Let what is counted without an element of an iterator be counted before it is taken; calls are inlined for it.

    What a call of a Function of XLA does, it does at once: its graph is looked at as one node.
    """
    if not takes_elements(graph):
        return graph
    inline_call = _inline_by(_flattened(graph))

    def rule(build: Rebuild, applied: Application) -> tuple[Value, ...] | None:
        return None if applied.attrs["graph"].at_once else inline_call(build, applied)  # type: ignore[return-value]

    build = Inlining(graph, rule)
    within = lambda inner, callers=(): inline(counted(inner), callers)
    return _with_subgraphs(counted_first(build.run()), within, build.called_from)


#: Calls in calls that are spliced into each other at once: Python's stack allows a few hundred.
_NESTED = 32


def _flattened(graph: Graph) -> dict[Graph, Graph]:
    """Return what stands for some of the graphs called from `graph`, so that none of them has many calls in calls."""
    flat: dict[Graph, Graph] = {}
    heights: dict[Graph, int] = {}
    stack = [(graph, False)]
    while stack:
        each, called_are_known = stack.pop()
        called = [node.attrs["graph"] for node in each.nodes if node.op.name == "call"]
        if not called_are_known:
            if each not in heights:
                stack.append((each, True))
                stack += [(other, False) for other in called if other not in heights]
            continue
        if each in heights:
            continue
        heights[each] = 1 + max([heights[other] for other in called], default=-1)
        if heights[each] == _NESTED and each is not graph:
            flat[each] = Rebuild(each, rules={"call": [_inline_by(flat)]}).run()
            heights[each] = 0
    return flat


def fold(graph: Graph) -> Graph:
    """Compute what follows from constants and static shapes."""
    return _with_subgraphs(Rebuild(_bind_captures(graph), rules={"*": [_fold]}).run(), fold)


def cse(graph: Graph) -> Graph:
    """Merge nodes that apply the same op to the same values; a read after an assign is what was assigned."""
    return _with_subgraphs(Rebuild(graph, intern=True).run(), cse)


def algebra(graph: Graph) -> Graph:
    """Apply the algebra table."""
    return _with_subgraphs(Rebuild(graph, rules=algebra_rules()).run(), algebra)


def simplify(graph: Graph) -> Graph:
    """Fold, merge and apply the algebra table in one sweep, so that each sees what the others make.

    Of these, those that the flag `passes` names.
    """
    enabled = flags.get("passes")
    rules: dict[str, list[Rule]] = {"call": [_inline_by({})], "custom_gradient_identity": [_custom_identity]}
    if "algebra" in enabled:
        rules |= algebra_rules()
    if "fold" in enabled:
        rules["*"] = [_fold]
        graph = _bind_captures(graph)
    if flags.STRIP in enabled:
        rules["check_numerics"] = [_unchecked]
    return _with_subgraphs(Rebuild(graph, rules=rules, intern="cse" in enabled).run(), simplify)


def _bind_captures(graph: Graph) -> Graph:
    """Replace the uses of captured eager tensors, which never change, by constants."""
    return _bound(graph, {value: tensor for tensor, value in graph.captures if isinstance(tensor, EagerTensor)})


def _bound(graph: Graph, held: dict[Value, Any]) -> Graph:
    """Return a graph that uses constants in the place of these of its parameters, and has the parameters still."""
    if not held:
        return graph
    result = Graph(graph.name)
    result._names = dict(graph._names)
    mapping: dict[Value, Value] = {}
    constants: list[tuple[Value, Value]] = []
    for node in graph.nodes:
        new = copy_node(node, result, mapping)
        if node.outputs and node.outputs[0] in held:
            const = result.add(CONST, (), {"value": held[node.outputs[0]]}, source=node.source)
            constants.append((node.outputs[0], new.outputs[0]))
            mapping[node.outputs[0]] = const.outputs[0]
    result.outputs = [mapping[value] for value in graph.outputs]
    mapping.update(constants)  # the parameters are still the placeholders
    result.inputs = [mapping[value] for value in graph.inputs]
    result.captures = [(tensor, mapping[value]) for tensor, value in graph.captures]
    return result


def own_constants(graph: Graph) -> Graph:
    """Give branches and bodies constants of their own for those that they take from around them."""
    if "fold" not in flags.get("passes") or not _has_subgraphs(graph):
        return graph
    taking = {node: places for node in graph.nodes if (places := _constant_places(node))}
    if not taking and not any(_has_subgraphs(inner) for node in graph.nodes for inner, _ in ir.subgraphs(node)):
        return graph
    result, _ = ir.copy(graph)
    for node, before in zip(result.nodes, graph.nodes, strict=True):
        places = taking.get(before, {})
        for name, attr in node.attrs.items():
            if isinstance(attr, Graph):
                inner = _bound(attr, {attr.inputs[i]: tensor for i, tensor in places.items()})
                node.attrs = {**node.attrs, name: own_constants(inner)}
    return result


def _constant_places(node: Node) -> dict[int, Any]:
    """Return the inputs of a branch's or loop's subgraphs that are one constant in every run of them, and its value."""
    if node.op.name not in ("cond", "while"):
        return {}
    first = 1 if node.op.name == "cond" else 0
    own: int = node.attrs.get("n_carried", 0)
    given = enumerate(node.inputs[first + own :], start=own)
    return {i: value.node.attrs["value"] for i, value in given if value.node.op is CONST}


def accumulated(graph: Graph) -> Graph:
    """Let loops that add parts of a tensor to a sum do so in place."""
    return accumulate(graph) if "algebra" in flags.get("passes") else graph


def summed(graph: Graph) -> Graph:
    """Let gradients' loops that only add up be ops on all iterations."""
    made = sum_at_once(graph) if "algebra" in flags.get("passes") else graph
    return graph if made is graph else simplify(made)


def hoisted(graph: Graph) -> Graph:
    """Let loops stack nothing that is the same in every iteration."""
    return hoist(graph) if "algebra" in flags.get("passes") and _has_subgraphs(graph) else graph


def _throughout(flag: str) -> Callable[[Pass], Pass]:
    """Decorate a pass that runs where `flag` is among the passes, in subgraphs first."""

    def decorated(change: Pass) -> Pass:
        @functools.wraps(change)
        def in_all(graph: Graph) -> Graph:
            if flag not in flags.get("passes"):
                return graph
            return change(_with_subgraphs(ir.copy(graph)[0], in_all) if _has_subgraphs(graph) else graph)

        return in_all

    return decorated


@_throughout("algebra")
def multiplied(graph: Graph) -> Graph:
    """Let products that loops add up be one product."""
    made = product_at_once(graph)
    return graph if made is graph else prune(made)


@_throughout("algebra")
def reduced_in_place(graph: Graph) -> Graph:
    """Let reductions take what is transposed where it lies."""
    if not reduces_transposed(graph):
        return graph
    return pruning.prune(Rebuild(graph, rules={"transpose": [_transpose], "*": [sunk]}, intern=True).run())


@_throughout("fuse")
def looked_up(graph: Graph) -> Graph:
    """Let parts of strings that are only looked up be no strings."""
    pairs = lookups_of_parts(graph)
    return InOne(graph, pairs).run() if pairs else graph


@_throughout("algebra")
def read_in_part(graph: Graph) -> Graph:
    """Let ops of which one part is read compute that part."""
    smaller = read_once(graph)
    return prune(OnePart(graph, smaller).run()) if smaller else graph


def moved_out(graph: Graph) -> Graph:
    """Let loops compute nothing anew of values that stay, where it is much: what ops were replaced by, too."""
    made = move_out(graph) if "algebra" in flags.get("passes") and _has_subgraphs(graph) else graph
    return graph if made is graph else prune(made)


def merged(graph: Graph) -> Graph:
    """Let loops take and stack every value once."""
    return merge_duplicates(graph) if "cse" in flags.get("passes") and _has_subgraphs(graph) else graph


@_throughout("algebra")
def components(graph: Graph) -> Graph:
    """Let what is stacked and taken apart again be computed part by part."""
    made = take_apart(graph)
    return made if made is graph else simplify(prune(made))


PASSES: tuple[Pass, ...] = (
    counted,
    inline,
    own_constants,
    prune,
    simplify,
    components,
    hoisted,
    summed,
    multiplied,
    accumulated,
    merged,
    looked_up,
    prune,
    read_in_part,
)


def optimise(graph: Graph, observe: Callable[[str, Graph], None] | None = None) -> Graph:
    """Return what the compiler starts from: `graph` after all PASSES. `observe` is told the graph after each."""
    verify = bool(flags.get("verify"))
    for each in PASSES:
        graph = each(graph)
        if verify:
            ir.verify(graph)
        if observe is not None:
            observe(each.__name__, graph)
    return graph
