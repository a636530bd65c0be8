"""Statements that malt does not know, in terms of those it knows: else of loops, match, assert, super(), mangled names.

Rule: a rewrite keeps Python's meaning, and every new node stands where what it replaces stood, so that errors and
debuggers still find the user's lines.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from typing import Any

#: Builtins that look at every element of what they are given.
_USING = frozenset({"sum", "min", "max", "sorted", "list", "tuple"})
_Pattern = tuple[list[ast.expr], list[tuple[str, ast.expr]]]  # what must hold, and what it then binds


def rewrite(node: Any, qualname: str, new_name: Callable[[str], str]) -> Any:
    """Return the definition of a function without what malt does not know. `new_name` makes names that are free."""
    _Class(qualname).visit(node)
    statements = _Statements(new_name)
    return statements.visit(node) if isinstance(node, ast.Lambda) else statements.generic_visit(node)


def operator(name: str, *arguments: ast.expr) -> ast.Call:
    """Return a call of one of the operators of converted code."""
    function = ast.Attribute(ast.Name("ag__", ast.Load()), name, ast.Load())
    return ast.Call(function, list(arguments), [])


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _parameters(*names: str) -> ast.arguments:
    return ast.arguments(posonlyargs=[], args=[*map(ast.arg, names)], kwonlyargs=[], kw_defaults=[], defaults=[])


def _placed(new: Any, old: ast.AST) -> Any:
    """Give `new` nodes that have no place yet that of `old`."""
    for each in new if isinstance(new, list) else [new]:
        for node in ast.walk(each):
            if "lineno" in node._attributes and not hasattr(node, "lineno"):
                ast.copy_location(node, old)
    return new


# ---- Bodies of classes ----------------------------------------------------------------------------------------------


class _Class(ast.NodeTransformer):
    """Writes out the names that a method has from its class: self.__x is self._Class__x, super() has arguments."""

    def __init__(self, qualname: str) -> None:
        parts = qualname.split(".")
        owner = parts[-2] if len(parts) > 1 else ""
        self.owner = "" if owner == "<locals>" else owner.lstrip("_")
        self.first: list[str | None] = []

    def _mangled(self, name: str) -> str:
        private = self.owner and name.startswith("__") and not name.endswith("__")
        return f"_{self.owner}{name}" if private else name

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        positional = [*node.args.posonlyargs, *node.args.args]
        self.first.append(positional[0].arg if positional else None)
        self.generic_visit(node)
        self.first.pop()
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        self.generic_visit(node)
        node.attr = self._mangled(node.attr)
        return node

    def visit_Name(self, node: ast.Name) -> Any:
        node.id = self._mangled(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        node.arg = self._mangled(node.arg)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        without = isinstance(node.func, ast.Name) and node.func.id == "super" and not (node.args or node.keywords)
        if without and self.first and self.first[-1] is not None:
            node.args = _placed([_load("__class__"), _load(self.first[-1])], node)
        return node


# ---- Statements -----------------------------------------------------------------------------------------------------


class _Statements(ast.NodeTransformer):
    def __init__(self, new_name: Callable[[str], str]) -> None:
        self.new_name = new_name
        self.before: list[ast.stmt] = []  # what is to be defined before the statement that is visited
        self.depth = 0  # of functions without statements
        self.in_class = False  # whether what is annotated are the fields of a class

    def visit(self, node: ast.AST) -> Any:
        if not isinstance(node, ast.stmt):
            return super().visit(node)
        outer, self.before = self.before, []
        made = super().visit(node)
        defined, self.before = self.before, outer
        return [*defined, *(made if isinstance(made, list) else [made])] if defined else made

    def _function(self, node: Any) -> Any:
        self.depth += 1
        self.generic_visit(node)
        self.depth -= 1
        return node

    visit_Lambda = visit_SetComp = visit_DictComp = visit_GeneratorExp = _function

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        """Make it a loop that appends, for a tensor may decide how many elements the list has, and which.

        What the first loop runs over is an argument: it is evaluated where the names of the loops are other ones.
        """
        if self.depth or _binds(node) or not any(map(_may_be_staged, node.generators)):
            return self._function(node)
        name, result, source = self.new_name("filtered"), self.new_name("kept"), self.new_name("source")
        first, node.generators[0].iter = node.generators[0].iter, _load(source)
        append = ast.Call(ast.Attribute(_load(result), "append", ast.Load()), [node.elt], [])
        body: list[ast.stmt] = [ast.Expr(append)]
        for each in reversed(node.generators):
            for test in reversed(each.ifs):
                body = [_placed(ast.If(test, body, []), test)]
            body = [_placed(ast.For(each.target, operator("known_rows", each.iter), body, []), each.iter)]
        returned = ast.Return(_load(result))
        given = _parameters(source)
        more: dict[str, Any] = {"type_params": []} if "type_params" in ast.FunctionDef._fields else {}
        body = [_assign(result, ast.List([], ast.Load())), *body, returned]
        function = ast.FunctionDef(name=name, args=given, decorator_list=[], body=body, **more)
        self.before.append(self.visit(_placed(function, node)))
        return _placed(ast.Call(_load(name), [self.visit(first)], []), node)

    def visit_Call(self, node: ast.Call) -> Any:
        """Make a list of the elements of a generator that is used up at once."""
        if isinstance(node.func, ast.Name) and node.func.id in _USING and len(node.args) == 1:
            (given,) = node.args
            if isinstance(given, ast.GeneratorExp) and any(map(_may_be_staged, given.generators)):
                node.args = [_placed(ast.ListComp(given.elt, given.generators), given)]
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> Any:
        """Evaluate once what stands between two comparisons of a chain: malt writes it twice."""
        self.generic_visit(node)
        return node if _binds(node) else _placed(self._once(node), node)

    def _once(self, node: ast.Compare) -> Any:
        middle = node.comparators[0]
        if len(node.ops) < 2:
            return node
        if isinstance(middle, ast.Name | ast.Constant):
            rest = self._once(_placed(ast.Compare(_again(middle), node.ops[1:], node.comparators[1:]), node))
            first = ast.Compare(node.left, node.ops[:1], [middle])
            return node if isinstance(rest, ast.Compare) else ast.BoolOp(ast.And(), [first, rest])
        left, value = self.new_name("left"), self.new_name("middle")
        rest = self._once(_placed(ast.Compare(_load(value), node.ops[1:], node.comparators[1:]), node))
        first = ast.Compare(_load(left), node.ops[:1], [_load(value)])
        return ast.Call(
            ast.Lambda(_parameters(left, value), ast.BoolOp(ast.And(), [first, rest])), [node.left, middle], []
        )

    def visit_Starred(self, node: ast.Starred) -> Any:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _placed(operator("unpacked", node.value), node.value)
        return node

    def visit_Assert(self, node: ast.Assert) -> Any:
        """assert is an operator; without a message the text of the test is the message."""
        message = node.msg or ast.Constant(f"assert {ast.unparse(node.test)}")
        self.generic_visit(node)
        told = ast.Lambda(_parameters(), node.msg or message)
        told.of_a_statement = True  # type: ignore[attr-defined]
        call = operator("assert_stmt", node.test, told)
        return _placed(ast.Expr(call), node)

    def _loop(self, node: object) -> Any:
        most = self._most(node)
        made = self._without_else(node)
        return made if most is None else [most, *(made if isinstance(made, list) else [made])]

    def _most(self, node: Any) -> ast.stmt | None:
        """The number of iterations that set_loop_options gives in the body is computed once, before the loop."""
        for each in node.body:
            call = each.value if isinstance(each, ast.Expr) else None
            if not isinstance(call, ast.Call) or _last_name(call.func) != "set_loop_options":
                continue
            word = next((word for word in call.keywords if word.arg == "maximum_iterations"), None)
            given = word.value if word is not None else call.args[2] if len(call.args) > 2 else None
            if given is None or isinstance(given, ast.Constant):
                continue
            name = self.new_name("most")
            said = _placed(_load(name), given)
            if word is not None:
                word.value = said
            else:
                call.args[2] = said
            return _placed(_assign(name, self.visit(given)), given)  # type: ignore[no-any-return]
        return None

    def _without_else(self, node: Any) -> Any:
        self.generic_visit(node)
        if not node.orelse:
            return node
        orelse, node.orelse = node.orelse, []
        broke = self.new_name("broke")
        breaks = _Breaks(broke)
        node.body = [breaks.visit(each) for each in node.body]
        node.body = [each for group in node.body for each in (group if isinstance(group, list) else [group])]
        if not breaks.found:
            return [node, *orelse]
        guard = ast.If(ast.UnaryOp(ast.Not(), _load(broke)), orelse, [])
        return [_placed(_assign(broke, ast.Constant(False)), node), node, _placed(guard, orelse[0])]

    visit_For = _loop

    def visit_While(self, node: ast.While) -> Any:
        """A test that binds names is no function of its own: the loop tests where its body begins."""
        made = self._loop(node)
        if _binds(node.test):
            test, node.test = node.test, _placed(ast.Constant(True), node.test)
            ends = _placed(ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], []), test)
            node.body[:0] = self._lifted(ends, "test")
        return made

    def visit_If(self, node: ast.If) -> Any:
        self.generic_visit(node)
        return self._lifted(node, "test")

    def _value(self, node: Any) -> Any:
        self.generic_visit(node)
        return self._lifted(node, "value")

    visit_Return = visit_Expr = _value

    def visit_Assign(self, node: ast.Assign) -> Any:
        if any(isinstance(each, (ast.Tuple, ast.List)) for each in node.targets) and not isinstance(
            node.value, (ast.Tuple, ast.List)
        ):  # fmt: skip
            node.value = _placed(self._unpacked(node), node.value)
        return self._value(node)

    def _scope(self, node: Any) -> Any:
        outer, self.in_class = self.in_class, isinstance(node, ast.ClassDef)
        self.generic_visit(node)
        self.in_class = outer
        return node

    visit_ClassDef = visit_FunctionDef = _scope

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """An annotation in a function says nothing; a name that has one could not be nonlocal where a block sets it."""
        if self.in_class:
            return self.generic_visit(node)
        plain = ast.Pass() if node.value is None else ast.Assign([node.target], node.value)
        return self.visit(_placed(plain, node))

    def _unpacked(self, node: ast.Assign) -> ast.Call:
        """Return the value that an assignment to several names takes apart; a list for a star is one of its parts."""
        if len(node.targets) > 1:
            return operator("unpacked", node.value)
        names = node.targets[0].elts  # type: ignore[attr-defined]
        star = next((k for k, each in enumerate(names) if isinstance(each, ast.Starred)), None)
        if star is None:
            return operator("unpacked", node.value)
        names[star] = names[star].value
        return operator("unpacked_around", node.value, ast.Constant(star), ast.Constant(len(names) - star - 1))

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        """Visit its value, at which malt does not look: what is read there is read by the operator, as elsewhere."""
        self.generic_visit(node)
        node.value = _placed(_Reads().visit(node.value), node.value)
        return node

    def _lifted(self, node: Any, field: str) -> list[ast.stmt]:
        """Return a statement, after statements for the `and` and `or` in its expression that bind names."""
        expression = getattr(node, field)
        made: list[ast.stmt] = []
        owner, name = node, field
        while isinstance(expression, ast.UnaryOp) and isinstance(expression.op, ast.Not):
            owner, name, expression = expression, "operand", expression.operand
        if isinstance(expression, ast.BoolOp) and _binds(expression):
            result = self.new_name("so_far")
            goes_on: Any = _load(result)
            if isinstance(expression.op, ast.Or):
                goes_on = ast.UnaryOp(ast.Not(), goes_on)
            for value in reversed(expression.values):
                step = _placed(_assign(result, value), value)
                rest = [_placed(ast.If(_again(goes_on), made, []), value)] if made else []
                made = [*self._lifted(step, "value"), *rest]
            setattr(owner, name, _placed(_load(result), expression))
        _refuse_bindings(getattr(node, field))
        return [*made, node]

    def visit_Try(self, node: ast.Try) -> Any:
        """Keep the first statement of an else, which malt takes for the else itself, from being one that branches."""
        self.generic_visit(node)
        if node.orelse:
            node.orelse.insert(0, _placed(ast.Pass(), node.orelse[0]))
        return node

    def visit_With(self, node: ast.With) -> Any:
        """Make raises calls: malt takes a raise for an end, and what it enters may end an exception."""
        self.generic_visit(node)
        _Raises().visit_body(node)
        for item in node.items:
            item.context_expr = _placed(operator("context", item.context_expr), item.context_expr)
        return node

    def visit_Match(self, node: ast.Match) -> Any:
        self.generic_visit(node)
        start: list[ast.stmt] = []
        if isinstance(node.subject, ast.Name):
            name = node.subject.id
        else:
            name = self.new_name("subject")
            start.append(_placed(_assign(name, node.subject), node.subject))
        rest: list[ast.stmt] = []
        for case in reversed(node.cases):
            tests, bound = _pattern(case.pattern, _load(name))
            if case.guard is not None:
                # The guard sees the names that the pattern binds, which it binds only where it matches.
                tests.append(_Bound(dict(bound)).visit(case.guard))
            body = [*(_assign(each, value) for each, value in bound), *case.body]
            rest = [ast.If(_all(tests), body, rest)] if tests else body
            _placed(rest, case.pattern)
        return [*start, *rest]


def _last_name(function: ast.expr) -> str:
    """The name of what is called, without that of its module."""
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _may_be_staged(node: ast.comprehension) -> bool:
    """Say whether only the graph may know how often a part of a comprehension runs."""
    return bool(node.ifs) or not isinstance(node.iter, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.Constant))


def _binds(node: ast.AST) -> bool:
    """Say whether an expression has a := that binds a name of the function it stands in."""
    if isinstance(node, ast.Lambda):
        return False
    return isinstance(node, ast.NamedExpr) or any(map(_binds, ast.iter_child_nodes(node)))


def _refuse_bindings(node: ast.AST | None) -> None:
    """Raise NotImplementedError where := stands in a part of an expression that becomes a function of its own."""
    if node is None or isinstance(node, ast.Lambda):
        return
    parts: Iterable[ast.AST] = ()
    if isinstance(node, ast.IfExp):
        parts = (node.body, node.orelse)
    elif isinstance(node, ast.BoolOp) or (isinstance(node, ast.Compare) and len(node.ops) > 1):
        parts = ast.iter_child_nodes(node)
    if any(map(_binds, parts)):
        raise NotImplementedError(
            f"line {getattr(node, 'lineno', 0)}: := in a part of `{ast.unparse(node)}` that may not be evaluated; "
            "assign the name in a statement of its own"
        )
    for child in ast.iter_child_nodes(node):
        _refuse_bindings(child)


class _Reads(ast.NodeTransformer):
    """Have the names of an expression read by `ld`."""

    def visit_Name(self, node: ast.Name) -> Any:
        return operator("ld", node) if isinstance(node.ctx, ast.Load) and node.id != "ag__" else node


class _Raises(ast.NodeTransformer):
    """Raises by a call."""

    def _other(self, node: object) -> Any:
        return node

    visit_FunctionDef = visit_ClassDef = visit_Lambda = visit_Try = _other

    def visit_body(self, node: ast.With) -> None:
        """Visit what a with statement holds."""
        made = [self.visit(each) for each in node.body]
        node.body = made

    def visit_Raise(self, node: ast.Raise) -> Any:
        if node.exc is None:
            return node
        call = operator("raise_", node.exc, *([] if node.cause is None else [node.cause]))
        return _placed(ast.Expr(call), node)


class _Breaks(ast.NodeTransformer):
    """Sets a flag before each break of one loop."""

    def __init__(self, flag: str) -> None:
        self.flag = flag
        self.found = False

    def _other(self, node: object) -> Any:
        return node

    visit_While = visit_For = visit_FunctionDef = visit_ClassDef = visit_Lambda = _other

    def visit_Break(self, node: ast.Break) -> Any:
        self.found = True
        return [_placed(_assign(self.flag, ast.Constant(True)), node), node]


class _Bound(ast.NodeTransformer):
    """Puts what a pattern binds to names in their place."""

    def __init__(self, values: dict[str, ast.expr]) -> None:
        self.values = values

    def visit_Name(self, node: ast.Name) -> Any:
        return _placed(_again(self.values[node.id]), node) if node.id in self.values else node


# ---- Patterns of match ----------------------------------------------------------------------------------------------


def _again(node: object) -> Any:
    """Return a tree like `node`: a tree has no node twice."""
    if isinstance(node, list):
        return [_again(each) for each in node]
    if not isinstance(node, ast.AST):
        return node
    return type(node)(**{name: _again(getattr(node, name)) for name in type(node)._fields if hasattr(node, name)})


def _all(tests: Sequence[ast.expr]) -> ast.expr:
    return ast.BoolOp(ast.And(), list(tests)) if len(tests) > 1 else tests[0]


def _item(subject: ast.expr, index: int) -> ast.expr:
    return ast.Subscript(_again(subject), ast.Constant(index), ast.Load())


def _pattern(pattern: Any, subject: ast.expr) -> _Pattern:
    """Return the tests that say whether `subject` matches, and what is bound where it does."""
    match pattern:
        case ast.MatchValue():
            return [ast.Compare(_again(subject), [ast.Eq()], [pattern.value])], []
        case ast.MatchSingleton():
            return [ast.Compare(_again(subject), [ast.Is()], [ast.Constant(pattern.value)])], []
        case ast.MatchAs():
            tests, bound = ([], []) if pattern.pattern is None else _pattern(pattern.pattern, subject)
            return tests, bound if pattern.name is None else [*bound, (pattern.name, _again(subject))]
        case ast.MatchOr():
            return _either([_pattern(each, subject) for each in pattern.patterns])
        case ast.MatchSequence():
            return _sequence(pattern.patterns, subject)
        case ast.MatchMapping():
            keys = ast.Tuple(pattern.keys, ast.Load())
            parts = [
                (each, ast.Subscript(_again(subject), _again(key), ast.Load()))
                for key, each in zip(pattern.keys, pattern.patterns, strict=True)
            ]
            tests, bound = _parts(operator("matches_mapping", _again(subject), keys), parts)
            if pattern.rest is not None:
                bound.append((pattern.rest, operator("rest_of_mapping", _again(subject), _again(keys))))
            return tests, bound
        case ast.MatchClass():
            names = ast.Tuple([ast.Constant(name) for name in pattern.kwd_attrs], ast.Load())
            n_positional = ast.Constant(len(pattern.patterns))
            test = operator("matches_class", _again(subject), pattern.cls, n_positional, names)
            places = [*range(len(pattern.patterns)), *pattern.kwd_attrs]
            attributes: list[tuple[Any, ast.expr]] = [
                (each, operator("matched_attribute", _again(subject), _again(pattern.cls), ast.Constant(place)))
                for each, place in zip([*pattern.patterns, *pattern.kwd_patterns], places, strict=True)
            ]
            return _parts(test, attributes)
    raise NotImplementedError(f"the pattern {type(pattern).__name__} of match")


def _parts(test: ast.expr, parts: Iterable[tuple[Any, ast.expr]]) -> _Pattern:
    tests, bound = [test], []
    for pattern, subject in parts:
        more, names = _pattern(pattern, subject)
        tests += more
        bound += names
    return tests, bound


def _sequence(patterns: Sequence[Any], subject: ast.expr) -> _Pattern:
    star = next((i for i, each in enumerate(patterns) if isinstance(each, ast.MatchStar)), None)
    n = len(patterns)
    n_least = ast.Constant(n if star is None else n - 1)
    test = operator("matches_sequence", _again(subject), n_least, ast.Constant(star is None))
    parts = [
        (each, _item(subject, i if star is None or i < star else i - n)) for i, each in enumerate(patterns) if i != star
    ]
    tests, bound = _parts(test, parts)
    if star is not None and patterns[star].name is not None:
        end = ast.Constant(star + 1 - n) if star + 1 < n else None
        rest = ast.Subscript(_again(subject), ast.Slice(ast.Constant(star), end), ast.Load())
        bound.append((patterns[star].name, ast.Call(_load("list"), [rest], [])))
    return tests, bound


def _either(alternatives: list[_Pattern]) -> _Pattern:
    """The first alternative that matches binds the names, which are the same in all."""
    if any(not tests for tests, _ in alternatives):
        tests: list[ast.expr] = []
    else:
        tests = [ast.BoolOp(ast.Or(), [_all(each) for each, _ in alternatives])]
    bound = []
    for name, value in alternatives[-1][1]:
        for other, names in reversed(alternatives[:-1]):
            value = ast.IfExp(_again(_all(other)), _again(dict(names)[name]), value)
        bound.append((name, value))
    return tests, bound
