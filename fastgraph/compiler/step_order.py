"""The order of steps: each after what it waits for, and after what would else make it copy what it changes."""

from __future__ import annotations

import heapq
from collections.abc import Collection, Mapping
from typing import Any

from fastgraph.graph.ir import Node

#: The kinds of steps that write rows of lists, make them longer or cut them.
LIST_STEPS = frozenset({"dynamic.push", "dynamic.extend", "dynamic.grow", "dynamic.trim"})


def in_order(waits: Mapping[Any, Collection[Any]], rank: Mapping[Any, int]) -> list[Any]:
    """The keys of `waits`, each after what it waits for, else by rank."""
    followers: dict[Any, list[Any]] = {}
    for unit, needed in waits.items():
        for u in needed:
            followers.setdefault(u, []).append(unit)
    missing = {unit: len(needed) for unit, needed in waits.items()}
    ready = [(rank[u], i, u) for i, u in enumerate(waits) if not missing[u]]
    heapq.heapify(ready)
    order: list[Any] = []
    count = len(waits)
    while ready:
        _, _, unit = heapq.heappop(ready)
        order.append(unit)
        for follower in followers.get(unit, ()):
            missing[follower] -= 1
            if not missing[follower]:
                count += 1
                heapq.heappush(ready, (rank[follower], count, follower))
    assert len(order) == len(waits), "fusion made a cycle"
    return order


def changes_rows(node: Node) -> bool:
    """Return whether a node's step changes a part of its first operand, copied where that is taken later."""
    step = node.op.step or ""
    return step in LIST_STEPS or step.partition(".")[0] in ("list_set", "slice_add", "gather_add")


def depends(unit: Any, other: Any, waits: Mapping[Any, Collection[Any]]) -> bool:
    """Return whether `unit` must come after `other`."""
    seen: set[Any] = set()
    stack = [unit]
    while stack:
        at = stack.pop()
        if at is other:
            return True
        if at not in seen:
            seen.add(at)
            stack += waits.get(at, ())
    return False
