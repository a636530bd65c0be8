"""Text of the signature of a concrete function: specs of tensors, values, and structures of them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.graph.ir import Value


def spec_of(value: Value) -> TensorSpec:
    return TensorSpec(value.aval.shape, value.aval.dtype, value.node.attrs.get("name") or value.node.name)


def type_of_result(leaf: Any) -> Any:
    spec = leaf if isinstance(leaf, TypeSpec) else getattr(leaf, "_type_spec", None)
    return spec if isinstance(spec, TypeSpec) else TensorSpec(leaf.aval.shape, leaf.dtype)


def shown(value: object, path: str = "") -> str:
    """Return the text of what a parameter takes, or of a result: specs, values and structures of such.

    `path` is what a tensor there is called if nobody gives it a name; such a name is not shown.
    """
    if nesting.is_nested(value):
        if isinstance(value, Mapping):
            return f"Dict[{_pairs(value.items(), path)}]"
        if hasattr(value, "_fields"):
            return f"{type(value).__name__}[{_pairs(zip(value._fields, value, strict=True), path)}]"  # type: ignore[call-overload]
        if isinstance(value, list | tuple):
            kind = "List" if isinstance(value, list) else "Tuple"
            return f"{kind}[{', '.join([shown(each, f'{path}_{i}') for i, each in enumerate(value)])}]"
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return f"Literal[{value!r}]"
    return repr(TensorSpec(value.shape, value.dtype) if type(value) is TensorSpec and value.name == path else value)


def _pairs(items: Iterable[tuple[Any, Any]], path: str) -> str:
    return ", ".join([f"[{key!r}, {shown(each, f'{path}_{key}')}]" for key, each in items])


def one_line(parameters: Sequence[inspect.Parameter], structure: Mapping[str, Any], result: object) -> str:
    """Return a signature as Python writes it: `(x: TensorSpec(...), *, n: Literal[2]) -> TensorSpec(...)`."""
    typed = [
        inspect.Parameter(p.name, p.kind, annotation=Annotation(shown(structure[p.name], p.name))) for p in parameters
    ]
    return str(inspect.Signature(typed, return_annotation=Annotation(shown(result))))


def lines(
    parameters: Sequence[inspect.Parameter], structure: Mapping[str, Any], result: object, captures: Sequence[Any]
) -> str:
    """Return a signature over several lines: parameters, results, and what the graph takes from outside."""
    given = [f"  {p.name} ({p.kind.name}): {shown(structure[p.name], p.name)}" for p in parameters]
    taken = [f"  {id(held)}: {TensorSpec(value.aval.shape, value.aval.dtype)!r}" for held, value in captures]
    return "\n".join(
        ["Input Parameters:", *given, "Output Type:", f"  {shown(result)}", "Captures:", *(taken or ["  None"])]
    )


class Annotation:
    """A text that `inspect` writes as it is."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text
