"""What a differential case is: a function, the arguments it is run with, and what is known of its derivatives."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

#: Vectors that take either branch of most conditions.
VECTORS = ([0.3, 1.5, 0.7], [1.2, -0.4, 2.0], [-0.6, 0.2, -1.0], [2.0, 2.0, 0.1])


@dataclass
class Case:
    """`make()` gives the function, with state of its own; each of `arguments` is what one call gets."""

    name: str
    module: str
    make: Callable[[], Callable[..., Any]]
    arguments: list[tuple[Any, ...]]
    source: Callable[..., Any]
    #: Why this one has no second derivatives, or none of either order; "" where it has.
    no_second: str = ""
    no_gradient: str = ""
    rtol: float = 2e-5
    options: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self.name


ALL: list[Case] = []


def _noted(function: Any, make: Callable[[], Callable[..., Any]], values: tuple[Any, ...], options: Any) -> None:
    arguments = [value if isinstance(value, tuple) else (value,) for value in values]
    kept = {name: options.pop(name) for name in ("no_second", "no_gradient", "rtol") if name in options}
    ALL.append(Case(function.__name__, function.__module__, make, arguments, function, options=options, **kept))


def case(*values: Any, **options: Any) -> Callable[[Any], Any]:
    """Note a function with the arguments of each of its calls: a value, or a tuple of several.

    `no_gradient` and `no_second` say why derivatives are not compared; other options are those of tf.function.
    """

    def noted(function: Any) -> Any:
        _noted(function, lambda: function, values, options)
        return function

    return noted


def made(*values: Any, **options: Any) -> Callable[[Any], Any]:
    """Note what a function without parameters returns: a function with state of its own (Variables, datasets)."""

    def noted(make: Any) -> Any:
        _noted(make, make, values, options)
        return make

    return noted


class _Shape(ast.NodeTransformer):
    """Leaves of a function's text what it does: names are numbered, constants are their types."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}

    def _numbered(self, name: str) -> str:
        return self.names.setdefault(name, f"n{len(self.names)}")

    def visit_Name(self, node: ast.Name) -> Any:
        return ast.Name(self._numbered(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> Any:
        return ast.arg(self._numbered(node.arg))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        self.generic_visit(node)
        node.name, node.decorator_list = self._numbered(node.name), []
        return node

    def visit_Constant(self, node: ast.Constant) -> Any:
        return ast.Constant(type(node.value).__name__)


def shape_of(source: Any) -> str:
    """Return what two functions have in common that differ in names and constants alone."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(source)))
    return ast.dump(_Shape().visit(tree))


def of_modules(*modules: Any) -> Iterator[Case]:
    """The cases of some modules."""
    names = {module.__name__ for module in modules}
    return (each for each in ALL if each.module in names)
