"""Rewriting: a graph is rebuilt node by node, and on the way rules replace applications by simpler ones.

Rule: a rule gives values of the same types that compute the same results; `Fuel` counts every change, so that a wrong
one is found by bisecting FASTGRAPH_FUEL.

Because nodes are rebuilt in program order, the inputs of a node are in their final form before the node itself is
looked at, and what a rule builds goes through the rules again.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fastgraph.core.base import flags
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.locks import parsing
from fastgraph.core.base.shapes import Aval
from fastgraph.core.primitive import Primitive
from fastgraph.core.registry import get
from fastgraph.core.tensor import as_array, from_array
from fastgraph.graph import ir
from fastgraph.graph.ir import Graph, Node, SourceLine, Value

# Applications that the rules build from one node at most: a rule that undoes another would go on for ever.
_DEPTH = 32
# A constant that a rule makes has up to this many elements; a larger one is a broadcast, which costs no memory.
_SMALL = 64


_NOTHING: frozenset[str] = frozenset()
# Ops that no rule for every op can make simpler.
_LEAVES = frozenset({"const", "placeholder"})


class Fuel:
    """The number of changes that may still be made; None: any. `spent` counts, and `log` names them."""

    def __init__(self, amount: int | None = None) -> None:
        self.left = amount
        self.spent = 0
        self.log: list[str] = []

    def spend(self, what: str) -> bool:
        """Return whether one more change may be made, and if so count it."""
        if self.left is not None:
            if self.left <= 0:
                return False
            self.left -= 1
        self.spent += 1
        if len(self.log) < 10_000:
            self.log.append(what)
        return True


_fuel: Fuel | None = None
_fuel_flag: int | None = None


def fuel() -> Fuel:
    """Return the process's fuel: FASTGRAPH_FUEL changes over all graphs, filled again when the flag changes."""
    global _fuel, _fuel_flag
    amount = flags.get("fuel")
    if _fuel is None or amount != _fuel_flag:
        _fuel, _fuel_flag = Fuel(amount), amount
    return _fuel


@dataclass(slots=True)
class Application:
    """A primitive about to be applied to values of the new graph: what rules look at."""

    op: Primitive
    inputs: tuple[Value, ...]
    attrs: dict[str, Any]
    avals: tuple[Aval, ...]


Rule = Callable[["Rebuild", Application], "Value | tuple[Value, ...] | None"]


class Rebuild:
    """Copies a graph with rules applied.

    `rules` maps an op's name to what is tried on its applications; `intern` merges equal pure nodes; `fold` is asked
    for the value of a pure application whose inputs are all constants.
    """

    def __init__(
        self,
        graph: Graph,
        *,
        rules: dict[str, list[Rule]] | None = None,
        intern: bool = False,
        keep: Callable[[Node], bool] | None = None,
        fuel: Fuel | None = None,
    ) -> None:
        self.old = graph
        self.new = Graph(graph.name)
        self.rules = rules or {}
        self.always = self.rules.get("*", [])
        self.intern = intern
        self.keep = keep
        self.fuel = fuel or globals()["fuel"]()
        self.mapping: dict[Value, Value] = {}
        self.source: tuple[SourceLine, ...] = ()
        self.callers: tuple[SourceLine, ...] = ()  # where what is spliced in now was called
        self.called_from: dict[Node, tuple[SourceLine, ...]] = {}  # of nodes with subgraphs that were spliced in
        self.device: str | None = None
        self.name: str | None = None
        self._tried: dict[str, list[tuple[frozenset[Any], Rule]]] = {}  # an op's rules, then those for every op
        self._known: dict[Any, Node] = {}
        self._versions: dict[Value, int] = {}  # writes so far of each resource
        self._calls = 0  # so far of what may write any resource
        self._stored: dict[Value, Value] = {}  # what a resource holds, where the graph itself assigned it
        self._depth = 0

    def run(self) -> Graph:
        """Rebuild the whole graph and return the copy."""
        for node in self.old.nodes:
            if self.keep is None or self.keep(node):
                self.node(node)
        mapping = self.mapping
        return self.new.with_ends_of(self.old, mapping)

    def node(self, node: Node) -> None:
        """Rebuild one node of the old graph."""
        mapping = self.mapping
        self.source, self.device, self.name = node.source + self.callers, node.device, node.name
        inputs, outputs = tuple([mapping[value] for value in node.inputs]), node.outputs
        if len(outputs) == 1:  # what most nodes are, on the shortest way
            (mapping[outputs[0]],) = self.emit(node.op, inputs, node.attrs, (outputs[0].aval,))
            return
        values = self.emit(node.op, inputs, node.attrs, tuple([value.aval for value in outputs]))
        for old, new in zip(outputs, values, strict=True):
            mapping[old] = new

    def emit(
        self,
        op: Primitive | str,
        inputs: tuple[Value, ...],
        attrs: dict[str, Any],
        avals: tuple[Aval, ...] | None = None,
    ) -> tuple[Value, ...]:
        """Apply `op` in the new graph, by the rules, and return its results.

        `op` may be a primitive's name. New nodes take the source line and device of the node being rebuilt.
        """
        if isinstance(op, str):
            op = get(op)
        if avals is None:
            avals = ir.infer(op, [value.aval for value in inputs], attrs)
        key: Any = None
        if self.intern and op.name != "placeholder" and (op.effect == "read" or is_pure(op, attrs)):
            key = (op.name, inputs, self.device, attrs_key(attrs) if attrs else ())
            if op.effect == "read":  # the same value until the resource is written
                key = (*key, self._versions.get(inputs[0], 0), self._calls)
                stored = self._stored.get(inputs[0])
                if (
                    stored is not None
                    and exactly(stored.aval, avals[0])
                    and self.fuel.spend("read of what was assigned")
                ):
                    return (stored,)
            known = self._known.get(key)
            if known is not None and self.fuel.spend(f"merge {op.name}"):
                known.source += tuple([line for line in self.source if line not in known.source])
                return known.outputs
        found = self._tried.get(op.name)
        if found is None:
            always = () if op.name in _LEAVES else self.always
            rules = [*self.rules.get(op.name, ()), *always]
            found = self._tried[op.name] = [(getattr(rule, "needs", _NOTHING), rule) for rule in rules]
        if found and self._depth < _DEPTH:
            makers = set(map(_maker, inputs))
            rules = [rule for needs, rule in found if needs <= makers]  # for most rows it is not so, and costs no call
            result = self._first(rules, Application(op, inputs, attrs, avals)) if rules else None
            if result is not None:
                return result if type(result) is tuple else (result,)  # type: ignore[return-value]
        name, self.name = self.name, None  # what a rule builds besides has a name of its own
        node = self.new.add(op, inputs, attrs, avals=avals, name=name, source=self.source, device=self.device)
        if self.callers and op.step in ir.WITH_SUBGRAPHS:
            self.called_from[node] = self.callers
        if key is not None:
            self._known[key] = node
        elif self.intern:
            self._note_writes(node)
        return node.outputs

    def _first(self, rules: list[Rule], application: Application) -> Value | tuple[Value, ...] | None:
        """Return what the first rule that applies makes of an application."""
        self._depth += 1
        try:
            for rule in rules:
                result = rule(self, application)
                if result is not None:
                    return result
            return None
        finally:
            self._depth -= 1

    def _note_writes(self, node: Node) -> None:
        """Remember that resources have new values."""
        for kind, resource in ir.effects(node):
            if kind == "write" and resource is None:
                self._calls += 1
                self._stored.clear()
            elif kind == "write" and resource is not None:
                self._versions[resource] = self._versions.get(resource, 0) + 1
                self._stored.pop(resource, None)
        if node.op.name in ("assign_variable", "take_variable"):
            self._stored[node.inputs[0]] = node.inputs[1]

    def emit1(self, op: Primitive | str, *inputs: Value, **attrs: object) -> Value:
        """Apply `op` and return its first result."""
        return self.emit(op, inputs, attrs)[0]

    def constant(self, array: np.ndarray[Any, Any]) -> Value:
        """Return a constant of the new graph."""
        return self.emit("const", (), {"value": from_array(array)})[0]

    def spend(self, what: str) -> bool:
        """Return whether the rule named `what` may be applied; it must be, then."""
        return self.fuel.spend(what)


def exactly(aval: Aval, other: Aval) -> bool:
    """Return whether two values certainly have the same type: every dimension known and equal."""
    return aval.dtype == other.dtype and aval.is_static and aval.shape == other.shape


def is_pure(op: Primitive, attrs: dict[str, Any]) -> bool:
    """Return whether an application only computes."""
    if op.effect is not None:
        return False
    if not attrs:
        return True
    if attrs.get("effects"):  # of a recursive call
        return False
    for value in attrs.values():
        if isinstance(value, Graph) and not all(ir.is_pure(node) for node in value.nodes):
            return False
    return True


def attrs_key(attrs: dict[str, Any]) -> tuple[Any, ...]:
    """Return a hashable key of attributes: equal keys mean the same application."""
    return tuple([(name, attr_key(value)) for name, value in attrs.items()])


def attr_key(value: Any) -> Any:
    """Return the key of one attribute: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    kind = type(value)
    if kind is float:
        return (kind, value.hex())
    if kind is tuple:
        return (kind, tuple([attr_key(item) for item in value]))
    if kind is int or kind is bool or kind is str or kind is bytes or value is None:
        return (kind, value)
    if isinstance(value, DType):
        return value
    aval = getattr(value, "aval", None)
    if aval is not None:  # an eager tensor: small ones by their bytes
        if aval.dtype.name == "string":
            return (kind, aval.shape, repr(value.numpy()))
        if not aval.shape or (aval.size or 0) <= 64:
            return (kind, aval.dtype, aval.shape, as_array(value).tobytes())
        return (kind, value.id)
    return (kind, id(value))  # graphs


# ---- Rules as data --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """A rewrite: wherever `lhs` stands, `rhs` may stand.

    Both are written as Python calls of primitives over variables: `add(negative(x), y)` -> `subtract(y, x)`. A number
    is a constant all of whose elements have that value, and which does not widen the result's shape. `when` restricts
    the result's dtype: "any", "integer", "floating", "real" (integer or floating), ... A row holds bit for bit, unless
    `close` says that floats may differ in the last places.
    """

    lhs: str
    rhs: str
    when: str = "any"
    close: bool = False

    @property
    def title(self) -> str:
        """The row as text."""
        return f"{self.lhs} -> {self.rhs}"


_COMMUTATIVE = frozenset(
    {
        *("add", "multiply", "maximum", "minimum", "equal", "not_equal"),
        *("logical_and", "logical_or", "bitwise_and", "bitwise_or", "bitwise_xor"),
    }
)


def compile_row(row: Row) -> tuple[str, Rule]:
    """Return the name of the op that the row's left side applies, and the row as a rule.

    Raises ValueError for a row that cannot be read, KeyError for an op that does not exist.
    """
    lhs, rhs = _parse(row.lhs), _parse(row.rhs)
    if not isinstance(lhs, ast.Call):
        raise ValueError(f"rewrite {row.title}: the left side applies no op")
    root = _op_name(lhs)
    for call in (node for side in (lhs, rhs) for node in ast.walk(side) if isinstance(node, ast.Call)):
        get(_op_name(call))
    allowed = _dtype_check(row.when)
    title = row.title
    # Where a variable is dropped, or the result is a constant, nothing else tells how far the result was broadcast.
    static = isinstance(rhs, ast.Constant | ast.UnaryOp) or not _variables(lhs) <= _variables(rhs)

    match, needs = _arguments(lhs), _needs(lhs)
    # A pattern such as add(x, x): its one variable stands for both.
    same = not needs and len({argument.id for argument in lhs.args if isinstance(argument, ast.Name)}) < len(lhs.args)

    def rule(build: Rebuild, applied: Application) -> Value | None:
        inputs, aval = applied.inputs, applied.avals[0]
        if same and len(inputs) == 2 and inputs[0] is not inputs[1]:
            return None
        if not allowed(aval.dtype) or (static and not aval.is_static):
            return None
        if applied.attrs or len(inputs) != len(lhs.args):
            return None
        for found in match(inputs, {}):
            result = _build(rhs, found, build, aval, dry=True)
            if not _same_type(result, aval) or not build.spend(title):
                continue
            value = _build(rhs, found, build, aval, dry=False)
            assert isinstance(value, Value)
            return value
        return None

    rule.__name__ = title
    rule.needs = needs  # type: ignore[attr-defined]
    return root, rule


def _parse(text: str) -> ast.expr:
    with parsing:
        return ast.parse(text, mode="eval").body


def _op_name(call: ast.Call) -> str:
    if not isinstance(call.func, ast.Name) or call.keywords:
        raise ValueError(f"rewrite: {ast.unparse(call)} is no application of a primitive to patterns")
    return call.func.id


def _variables(pattern: ast.expr) -> set[str]:
    calls = {node.func for node in ast.walk(pattern) if isinstance(node, ast.Call)}
    return {node.id for node in ast.walk(pattern) if isinstance(node, ast.Name) and node not in calls}


def _number(pattern: ast.expr) -> float | None:
    if isinstance(pattern, ast.UnaryOp) and isinstance(pattern.op, ast.USub):
        inner = _number(pattern.operand)
        return None if inner is None else -inner
    if isinstance(pattern, ast.Constant) and isinstance(pattern.value, int | float):
        return pattern.value
    return None


def _dtype_check(when: str) -> Callable[[DType], bool]:
    checks: dict[str, Callable[[DType], bool]] = {
        "any": lambda dtype: True,
        "integer": lambda dtype: dtype.is_integer,
        "floating": lambda dtype: dtype.is_floating,
        "real": lambda dtype: dtype.is_integer or dtype.is_floating,
        "bool": lambda dtype: dtype.is_bool,
        "number": lambda dtype: dtype.is_numeric or dtype.is_bool,
    }
    return checks[when]


Found = dict[str, Value]


# The ways in which values match a pattern: variables bound to values.
Match = Callable[[Value, Found], list[Found]]


def _matching(pattern: ast.expr) -> Match:
    """Return what gives the ways in which a value matches `pattern`."""
    number = _number(pattern)
    if isinstance(pattern, ast.Name):
        name = pattern.id

        def variable(value: Value, found: Found) -> list[Found]:
            known = found.get(name)
            if known is None:
                return [{**found, name: value}]
            return [found] if known is value else []

        return variable
    if number is not None:
        key, wanted = f"#{number!r}", number

        def constant(value: Value, found: Found) -> list[Found]:
            return [{**found, key: value}] if is_constant(value, wanted) else []

        return constant
    assert isinstance(pattern, ast.Call)
    op, n_inputs, arguments = _op_name(pattern), len(pattern.args), _arguments(pattern)

    def application(value: Value, found: Found) -> list[Found]:
        node = value.node
        if node.op.name != op or node.attrs or len(node.inputs) != n_inputs or len(node.outputs) != 1:
            return []
        return arguments(node.inputs, found)

    return application


def _arguments(pattern: ast.Call) -> Callable[[tuple[Value, ...], Found], list[Found]]:
    """Return what gives the ways in which the inputs of an application match those of `pattern`."""
    # Conditions that can fail without a binding are asked first.
    places = sorted(range(len(pattern.args)), key=lambda i: isinstance(pattern.args[i], ast.Name))
    each = [(i, _matching(pattern.args[i])) for i in places]
    commutes = _op_name(pattern) in _COMMUTATIVE

    def match(inputs: tuple[Value, ...], found: Found) -> list[Found]:
        all_ways: list[Found] = []
        for order in (inputs, inputs[::-1]) if commutes else (inputs,):
            ways = [found]
            for i, one in each:
                ways = [way for before in ways for way in one(order[i], before)]
                if not ways:
                    break
            all_ways += ways
        return all_ways

    return match


def _needs(pattern: ast.Call) -> frozenset[Any]:
    """Return the ops that inputs of a match come from, and the numbers that they are: most applications lack one."""
    return frozenset(
        _op_name(argument) if isinstance(argument, ast.Call) else _number(argument)
        for argument in pattern.args
        if not isinstance(argument, ast.Name)
    )


def _maker(value: Value) -> Any:
    """Return the op that a value comes from; of a constant of one element the number."""
    name = value.node.op.name
    return _element(value) if name == "const" else name


def _build(pattern: ast.expr, found: Found, build: Rebuild, aval: Aval, *, dry: bool) -> Value | Aval:
    """Build the right side (dry: only the type of what it would be)."""
    if isinstance(pattern, ast.Name):
        value = found[pattern.id]
        return value.aval if dry else value
    number = _number(pattern)
    if number is not None:
        if dry:
            return Aval(aval.dtype, aval.shape)
        shape = aval.shape
        if shape is None or None in shape:
            raise AssertionError("a constant needs a static shape")
        dtype = aval.dtype.as_numpy_dtype
        if (aval.size or 0) <= _SMALL:
            return build.constant(np.full(shape, number, dtype))
        return build.emit1("broadcast_to", build.constant(np.asarray(number, dtype)), shape=shape)
    assert isinstance(pattern, ast.Call)
    arguments = [_build(argument, found, build, aval, dry=dry) for argument in pattern.args]
    op = get(_op_name(pattern))
    if dry:
        try:
            return ir.infer(op, arguments, {})[0]  # type: ignore[arg-type]
        except (TypeError, ValueError):
            return Aval(aval.dtype, None)
    return build.emit(op, tuple(arguments), {})[0]  # type: ignore[arg-type]


def _same_type(result: Value | Aval, aval: Aval) -> bool:
    """Return whether a replacement certainly has the type of what it replaces.

    Unknown dimensions that stand in the same places are equal: constants in a pattern have one element, and both sides
    broadcast the same variables.
    """
    found = result if isinstance(result, Aval) else result.aval
    return found.dtype == aval.dtype and found.shape is not None and found.shape == aval.shape


def _element(value: Value) -> Any:
    """Return the element of a constant that has one, None of others and of strings."""
    array = value.aval.value
    return None if array is None or array.size != 1 or array.dtype.hasobject else array.item()


def is_constant(value: Value, number: float) -> bool:
    """Return whether `value` is a constant with one element that equals `number`, the sign of zero included."""
    if value.node.op.name != "const":
        return False
    item = _element(value)
    if item is None or item != number:
        return False
    if number != 0 or value.aval.dtype.is_bool:
        return True
    return not isinstance(item, complex) and math.copysign(1.0, item) == math.copysign(1.0, number)
