"""The order in which malt's analyses walk a function's control flow, and the hashes of the names that they ask about.

malt takes nodes in the order in which they were found, and puts each successor in the queue once for every way to it:
after n `if` statements in a row its queue holds 2**n times the same node. Here a node waits once, behind those that
come before it. What an analysis ends with is the same: it stops when no node changes any more.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import Any

from malt.pyct import cfg, qual_names


def walk(visitor: Any, starts: Iterable[Any], after: Callable[[Any], Iterable[Any]]) -> None:
    """Let an analysis visit every node at least once, and again those behind a node that has changed."""
    order = _order(list(starts), after)
    place = {node: number for number, node in enumerate(order)}
    waiting = list(range(len(order)))
    is_waiting = [True] * len(order)
    while waiting:
        number = heapq.heappop(waiting)
        is_waiting[number] = False
        if visitor.visit_node(order[number]):
            for each in map(place.__getitem__, after(order[number])):
                if not is_waiting[each]:
                    is_waiting[each] = True
                    heapq.heappush(waiting, each)


def _order(starts: list[Any], after: Callable[[Any], Iterable[Any]]) -> list[Any]:
    """The nodes that can be reached, each before those that follow it; where there is a circle, its entry first."""
    done, seen = [], set()
    for start in starts:
        if start in seen:
            continue
        seen.add(start)
        path = [(start, iter(after(start)))]
        while path:
            node, rest = path[-1]
            for each in rest:
                if each not in seen:
                    seen.add(each)
                    path.append((each, iter(after(each))))
                    break
            else:
                done.append(node)
                path.pop()
    return done[::-1]


def _hash(name: Any) -> int:
    """The hash of a qualified name, computed once: it never changes, and sets of names ask for it all the time."""
    try:
        known: int = name._hash
    except AttributeError:
        known = name._hash = hash((*name.qn, name._has_attr, name._has_subscript))
    return known


def install() -> None:
    """Let malt's visitors walk so, in the whole process: it is the same result, sooner."""
    cfg.GraphVisitor.visit_forward = lambda visitor: walk(visitor, [visitor.graph.entry], lambda node: node.next)
    cfg.GraphVisitor.visit_reverse = lambda visitor: walk(visitor, visitor.graph.exit, lambda node: node.prev)
    qual_names.QN.__hash__ = _hash
