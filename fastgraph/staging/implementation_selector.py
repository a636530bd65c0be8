"""Functions that implement the same API for different devices: which of them a graph calls.

Rule: a function that was added to a graph and prefers the CPU stands in for those of its API that do not, where it
takes and gives the same; what they capture from outside must be the same too.
"""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any

from fastgraph.graph.ir import Graph
from fastgraph.graph.structural_ops import CALL

API, DEVICE = "api_implements", "api_preferred_device"


def named(attributes: Mapping[str, Any] | None) -> tuple[str, str] | None:
    """Return the API that a Function's attributes name and the device that it prefers ("" if none); None without API.

    Both may be given as text or bytes.
    """
    words = [(attributes or {}).get(key, "") for key in (API, DEVICE)]
    api, device = [each.decode() if isinstance(each, bytes) else str(each) for each in words]
    return (api, device) if api else None


def choose(graph: Graph, function: Graph) -> None:
    """Let `graph` call `function`, if it prefers the CPU, in the place of others of the same API."""
    if function.choice is None or function.choice[1] != "CPU":
        return
    for node in graph.nodes:
        if node.op is CALL:
            api, device = node.attrs["graph"].choice or ("", "")
            if api == function.choice[0] and device != "CPU" and _fits(function, node.attrs["graph"]):
                node.attrs = {**node.attrs, "graph": function}


def _fits(function: Graph, other: Graph) -> bool:
    """Return whether a call of `other` is one of `function` as it stands."""
    taken, given = ([value.aval.dtype for value in graph.parameters] for graph in (function, other))
    captured = [held for held, _ in function.captures], [held for held, _ in other.captures]
    results = [[value.aval.dtype for value in graph.outputs] for graph in (function, other)]
    return (
        taken == given
        and results[0] == results[1]
        and len(function.inputs) == len(other.inputs)
        and len(captured[0]) == len(captured[1])
        and all(one is two or _same_cell(one, two) for one, two in zip(*captured, strict=True))
    )


def _same_cell(one: object, two: object) -> bool:
    """Return whether two weak references are to one Cell."""
    return type(one) is type(two) is weakref.ref and one() is two() is not None
