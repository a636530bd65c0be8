"""Module: a named container of Variables, other Modules and functions. Source: tf.Module.

Rule: what belongs to a Module is found by looking at its attributes, each time anew.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fastgraph.core import registry as primitives
from fastgraph.core.base import nesting
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.name_scopes import name_scope
from fastgraph.state.tracking import AutoTrackable
from fastgraph.state.variable import Variable


class Module(AutoTrackable):
    """Base class of things that own Variables.

    `variables`, `trainable_variables` and `submodules` look through attributes (in the order of their names), lists,
    tuples and dicts in them, and Modules found there. A subclass need not call super().__init__ for that.

    Raises:
        ValueError: The name is no identifier.

    Examples:
        >>> class Affine(tf.Module):
        ...     def __init__(self, n, name=None):
        ...         super().__init__(name)
        ...         with self.name_scope:
        ...             self.weight = tf.Variable(tf.ones([n]), name="weight")
        ...             self.shift = tf.Variable(0.0, name="shift", trainable=False)
        ...
        ...     def __call__(self, x):
        ...         return self.weight * x + self.shift
        >>> module = Affine(2, name="affine")
        >>> [variable.name for variable in module.variables], len(module.trainable_variables)
        (['affine/shift:0', 'affine/weight:0'], 1)
        >>> module(tf.constant([3.0, 4.0]))
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([3., 4.], dtype=float32)>
    """

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _snake_case(type(self).__name__)
        elif not re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_]*", name):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python identifiers (e.g. a valid "
                "class name)."
            )
        self._name = name
        with name_scope(name) as scope:
            self._name_scope = name_scope(scope)

    name = ReadOnly[str]("_name", "The name given, or the class's in snake_case.")

    @property
    def name_scope(self) -> name_scope:
        """A context in which names begin with this Module's."""
        return self._name_scope

    @property
    def variables(self) -> tuple[Any, ...]:
        """The Variables of this Module by attribute name, then those of its submodules, breadth first."""
        return tuple(self._flatten(predicate=_is_variable, expand_composites=True))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The Variables of `variables` that are trainable."""
        return tuple(self._flatten(predicate=lambda v: _is_variable(v) and v.trainable, expand_composites=True))

    @property
    def non_trainable_variables(self) -> tuple[Any, ...]:
        """The Variables of `variables` that are not trainable."""
        return tuple(self._flatten(predicate=lambda v: _is_variable(v) and not v.trainable, expand_composites=True))

    @property
    def submodules(self) -> tuple[Module, ...]:
        """The Modules that are attributes of this one, or of those, and so on."""
        return tuple(self._flatten(predicate=lambda v: isinstance(v, Module)))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], bool] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
        expand_composites: bool = False,
    ) -> Iterator[Any]:
        """Yield the leaves of all attributes for which `predicate` holds; with_path: pairs of path and leaf.

        Without paths each object comes once; with them, once per way to it that does not go round in a circle.
        """
        return _walk(
            self,
            recursive,
            predicate or (lambda leaf: True),
            attribute_traversal_key,
            with_path,
            expand_composites,
            (),
            {id(self)},
            (),
        )

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a method so that it runs inside the Module's name scope."""

        @functools.wraps(method)
        def inside_scope(self: Module, *args: object, **kwargs: object) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return inside_scope


def _is_variable(leaf: object) -> bool:
    return isinstance(leaf, Variable)


def _snake_case(name: str) -> str:
    return re.sub(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))", r"_\1", name).lower()


def _walk(
    module: Module,
    recursive: bool,
    predicate: Callable[[Any], bool],
    key: Callable[[str], Any] | None,
    with_path: bool,
    expand: bool,
    path: tuple[Any, ...],
    seen: set[int],
    above: tuple[int, ...],
) -> Iterator[Any]:
    """The leaves of one Module, then of the Modules among them."""
    if id(module) in above:
        recursive = False
    found: list[tuple[tuple[Any, ...], Module]] = []
    attributes = vars(module)
    for name in sorted(attributes, key=key):
        if name in module._TF_MODULE_IGNORED_PROPERTIES or name == "_self_links":
            continue
        try:
            leaves = list(_leaves(attributes[name], (name,), expand))
        except (TypeError, ValueError) as error:
            raise ValueError(f"Error processing property {name!r} of {attributes[name]!r}") from error
        for leaf_path, leaf in leaves:
            if not with_path:
                if id(leaf) in seen:
                    continue
                seen.add(id(leaf))
            if predicate(leaf):
                yield (path + leaf_path, leaf) if with_path else leaf
            if recursive and isinstance(leaf, Module):
                found.append((path + leaf_path, leaf))
    for leaf_path, leaf in found:
        yield from _walk(leaf, recursive, predicate, key, with_path, expand, leaf_path, seen, (*above, id(module)))


def _leaves(value: object, path: tuple[Any, ...], expand: bool) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if isinstance(value, Module) or not nesting.is_nested(value):
        if expand and not isinstance(value, Variable) and getattr(value, "_type_spec", None) is not None:
            parts = nesting.flatten(value, expand_composites=True)
            if len(parts) != 1 or parts[0] is not value:
                yield from (((*path, i), part) for i, part in enumerate(parts))
                return
        yield path, value
    elif isinstance(value, Mapping):
        for key in sorted(value):
            yield from _leaves(value[key], (*path, key), expand)
    else:
        for i, item in enumerate(nesting.flatten(value) if not isinstance(value, (list, tuple)) else value):
            yield from _leaves(item, (*path, i), expand)


primitives.register_public(Module, "Module")
nesting.register_leaf(Module)
