"""Signatures of traces: the kind of call that a trace was made for."""

from __future__ import annotations

import inspect
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.staging.signature.cache_keys import Held
from fastgraph.staging.signature.dataclass_arguments import together
from fastgraph.staging.signature.trace_types import TraceType


class Signature:
    """The kind of call a trace was made for: its parameters in order with their specs or values (see described)."""

    def __init__(self, name: str, parameters: list[inspect.Parameter], structure: dict[str, Any]) -> None:
        self.name = name
        self.parameters = parameters  # of `structure`'s keys, in order; varargs stand as single positional ones
        self.structure = structure

    def has_tensors(self, name: str) -> bool:
        """Return whether the parameter takes tensors (or a Variable)."""
        value = self.structure[name]
        return any(
            isinstance(leaf, TensorSpec)
            or (isinstance(leaf, Held) and leaf.is_variable)
            or (isinstance(leaf, TraceType) and leaf.flatten() != [])
            for leaf in nesting.flatten(value, expand_composites=True)
        )

    @property
    def structured_inputs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(positional arguments, keyword-only arguments) with TensorSpecs for tensors."""
        args, kwargs = [], {}
        for parameter in self.parameters:
            value = together(self.structure[parameter.name])
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = value
            else:
                args.append(value)
        return tuple(args), kwargs


def only_variables(value: object) -> bool:
    """Return whether a part of a trace's signature takes no tensors."""
    return all(not isinstance(leaf, TensorSpec) for leaf in nesting.flatten(value, expand_composites=True))


def has_parts(value: object) -> bool:
    """Return whether there are values inside of this one."""
    return nesting.is_nested(value) or nesting.flatten(value, expand_composites=True) != [value]


def is_same(a: object, b: object) -> bool:
    """Return whether two Python values are of one type and equal."""
    if type(a) is not type(b):
        return False
    try:
        return bool(a == b)
    except Exception:
        return False
