"""FunctionType: the signature of a Function or of one of its traces, with what each parameter takes.

Rule: it only describes; arguments are matched by parameters.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal

from fastgraph.core.base import nesting
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec


class FunctionType(inspect.Signature):
    """A signature whose annotations are specs of tensors and Literals. Source: tf.types.experimental.FunctionType."""

    captures: Mapping[int, TypeSpec] = {}

    def __repr__(self) -> str:
        rows = [f"  {each.name} ({each.kind.name}): {_written(each.annotation)}" for each in self.parameters.values()]
        held = [f"  {key}: {spec}" for key, spec in self.captures.items()] or ["  None"]
        result = f"  {_written(self.return_annotation)}"
        return "\n".join(["Input Parameters:", *rows, "Output Type:", result, "Captures:", *held])


class Structure:
    """The types of a list, tuple or dict: as text, `List[Literal[1], TensorSpec(...)]`."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        value: Any = self._value
        kind = type(value).__name__
        fields = value if isinstance(value, Mapping) else getattr(value, "_asdict", lambda: None)()
        if fields is not None or not isinstance(value, list | tuple):
            items = (vars(value) if fields is None else fields).items()
            rows = [f"[{key!r}, {_written(_annotation(item))}]" for key, item in items]
        else:
            rows = [_written(_annotation(item)) for item in value]
        return f"{kind.title() if kind.islower() else kind}[{', '.join(rows)}]"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and repr(self) == repr(other)

    __hash__ = None  # type: ignore[assignment]


def of_function(python_function: Any, skip_first: bool) -> FunctionType:
    """Return the signature of a Python function; of a method without the instance."""
    signature = inspect.signature(python_function)
    parameters = list(signature.parameters.values())[1 if skip_first else 0 :]
    return FunctionType(parameters, return_annotation=signature.return_annotation)


def of_trace(
    parameters: list[inspect.Parameter], structure: dict[str, Any], result: object, captures: Mapping[int, TypeSpec],
    named: bool = False,
) -> FunctionType:  # fmt: skip
    """Return the signature of a trace: parameters with the specs and values that they had, and the specs of results.

    named: with the names that specs have of parameters.
    """
    typed = []
    for each in parameters:
        value = structure[each.name] if named else _unnamed(structure[each.name], each.name)
        typed.append(inspect.Parameter(each.name, each.kind, annotation=_annotation(value)))
    made = FunctionType(typed, return_annotation=_annotation(result))
    made.captures = captures
    return made


def _unnamed(value: object, name: str) -> object:
    """The specs of a parameter without names that come from the parameter's own."""

    def one(leaf: Any) -> Any:
        given = isinstance(leaf, TensorSpec) and leaf.name and not f"{leaf.name}_".startswith(f"{name}_")
        return TensorSpec(leaf.shape, leaf.dtype) if isinstance(leaf, TensorSpec) and not given else leaf

    return nesting.map_structure(one, value)


def _annotation(value: object) -> Any:
    if nesting.is_nested(value):
        return Structure(value)
    return Literal[value] if value is None or isinstance(value, int | str | bytes | float) else value


_written = inspect.formatannotation
