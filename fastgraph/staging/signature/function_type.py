"""FunctionType: the signature of a Function or of one of its traces, with what each parameter takes.

Rule: it only describes; arguments are matched by parameters.py.
"""

from __future__ import annotations

import inspect
from typing import Any, Literal

from fastgraph.core.base import nesting
from fastgraph.core.base.type_specs import TypeSpec


class FunctionType(inspect.Signature):
    """A signature whose annotations are specs of tensors and Literals. Source: tf.types.experimental.FunctionType."""


def of_function(python_function: Any, skip_first: bool) -> FunctionType:
    """Return the signature of a Python function; of a method without the instance."""
    signature = inspect.signature(python_function)
    parameters = list(signature.parameters.values())[1 if skip_first else 0 :]
    return FunctionType(parameters, return_annotation=signature.return_annotation)


def of_trace(parameters: list[inspect.Parameter], structure: dict[str, Any], result: object) -> FunctionType:
    """Return the signature of a trace: parameters with the specs and values that they had, and the specs of results."""
    typed = [
        inspect.Parameter(parameter.name, parameter.kind, annotation=_annotation(structure[parameter.name]))
        for parameter in parameters
    ]
    return FunctionType(typed, return_annotation=_annotation(result))


def _annotation(value: object) -> Any:
    if isinstance(value, TypeSpec) or nesting.is_nested(value):
        return value
    if value is None or isinstance(value, int | str | bytes):
        return Literal[value]
    return value
