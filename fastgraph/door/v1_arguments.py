"""Arguments in the order and by the names of TensorFlow 1.

Rule: what a caller gave and nothing else: defaults are those of the functions that are called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def taken(name: str, parameters: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return {parameter: argument} for parameters in this order. Raises TypeError as a call of a function does."""
    order = parameters.split()
    if len(args) > len(order):
        raise TypeError(f"{name}() takes at most {len(order)} arguments ({len(args)} given)")
    given = dict(zip(order, args, strict=False))
    for key, value in kwargs.items():
        if key not in order:
            raise TypeError(f"{name}() got an unexpected keyword argument {key!r}")
        if key in given:
            raise TypeError(f"{name}() got multiple values for argument {key!r}")
        given[key] = value
    return given
