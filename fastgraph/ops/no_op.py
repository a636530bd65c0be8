"""Operations without results, for control dependencies: nothing at all, and one for several.

Rule: eagerly there are none, since what an op does is done when it returns.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.devices import device
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.registry import get
from fastgraph.core.tensor import current_trace
from fastgraph.ops.control_dependencies import control_dependencies
from fastgraph.ops.families import bind_effect, public


@public("no_op")
def no_op(name: str | None = None) -> Any:
    """An Operation that does nothing, None where nothing is traced. Source: tf.no_op."""
    return None if current_trace() is None else bind_effect(name, get("no_op"), (), {})


@public("group")
def group(*inputs: Any, **kwargs: Any) -> Any:
    """An Operation that is done when all of `inputs` are, None where nothing is traced.

    `inputs` are tensors, Operations, Variables and nests of them; keyword `name`. Operations on several devices are
    grouped by device first. Raises: TypeError for other inputs, ValueError for other keywords. Source: tf.group.
    """
    if current_trace() is None:
        return None
    name = kwargs.pop("name", None)
    if kwargs:
        raise ValueError("Unknown keyword arguments: " + ", ".join(sorted(kwargs)))
    with name_scope(name or "group_deps") as scope:
        by_device: dict[str, list[Any]] = {}
        for given in nesting.flatten(inputs, expand_composites=True):
            if not hasattr(given, "device"):
                raise TypeError(
                    f"'inputs' should be zero or more (nested) Tensors. Received '{given}' with type '{type(given)}'."
                )
            by_device.setdefault(given.device or "", []).append(given)
        if len(by_device) < 2:
            return _after([given for each in by_device.values() for given in each], next(iter(by_device), ""), scope)
        return _after([_after(each, place) for place, each in sorted(by_device.items())], "", scope)


def _after(inputs: list[Any], place: str, name: str | None = None) -> Any:
    with control_dependencies(inputs):
        if not place:
            return no_op(name)
        with device(place):
            return no_op(name)
