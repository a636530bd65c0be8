"""Staged conditionals: a cond node over the names that two blocks may assign, and the containers that they change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.conversion import constant
from fastgraph.core.tensor import current_trace
from fastgraph.graph.differentiate import entering
from fastgraph.graph.recursive_calls import Unknown
from fastgraph.graph.subgraphs import closed, make_cond, opened, subgraph_name
from fastgraph.graph.trace import GraphTrace, reserved
from fastgraph.graphdef.graph_view import Operation
from fastgraph.ops.arguments import known_value
from fastgraph.staging.autograph.block_state import (
    Join,
    at_line,
    begun,
    is_part,
    is_undefined,
    of_states,
    output_of,
    told,
    without,
)
from fastgraph.staging.autograph.conditional_lists import chosen
from fastgraph.staging.autograph.container_changes import (
    Containers,
    Found,
    alike,
    contents,
    divided,
    replace,
    unlike_branches,
)
from fastgraph.staging.autograph.list_growth import MOST_LISTS, Grow, Owner, elements_added, grow, grown, owning
from fastgraph.staging.autograph.staged_lists import StagedList
from fastgraph.staging.signature import recursive_tracing


def staged_if(
    pred: object,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    get_state: Any,
    set_state: Any,
    names: Sequence[str],
    kept: Sequence[int],
    *,
    lenient: bool,
    blocks: Sequence[Callable[..., Any]] = (),
) -> None:
    """A cond node of two blocks that gives the names that are `kept`, by their places.

    `lenient` lets a name be set in one of them alone, to be checked when it is read.
    """
    outer = current_trace()
    assert isinstance(outer, GraphTrace)
    get_state, set_state = of_states(get_state, set_state, names)
    scope = reserved(outer, "cond")
    for _ in range(MOST_LISTS):
        containers = Containers([body, orelse, *blocks], names)
        state = without(get_state, containers.hidden(names), names)
        start = state()
        with owning(containers) as owner:
            try:
                _branches(outer, scope, pred, body, orelse, start, state, set_state, names, kept, lenient, owner)
            except Grow as revision:
                wanted = revision
            else:
                return
        set_state(start)
        grown(wanted, owner)
    raise wanted.refused


def _check_owners(names: Sequence[str], start: Sequence[Any], ends: Sequence[Sequence[Any]]) -> None:
    """Raise ValueError where one branch sets an attribute of an object, and the other gives its name another object.

    After the statement the attribute would be looked up in the one or the other, whichever was assigned.
    """
    place = {name: k for k, name in enumerate(names)}
    for k, name in enumerate(names):
        root = place.get(name.rpartition(".")[0])
        if root is None or is_undefined(start[root]):
            continue
        stays = [end[root] is start[root] for end in ends]
        if stays[0] != stays[1] and ends[stays.index(True)][k] is not start[k]:
            raise ValueError(
                f"'{name}' is set in the {'main' if stays[0] else 'else'} branch, and the other branch gives "
                f"'{names[root]}' another object: a graph cannot tell afterwards whose attribute has changed. Give the "
                f"objects names of their own."
            )


def _check_left(names: Sequence[str], start: Sequence[Any], ends: Sequence[Sequence[Any]], kept: Sequence[int]) -> None:
    """Raise ValueError where both branches delete what a later line may read, as TensorFlow does."""
    for k in kept:
        if all(is_undefined(end[k]) for end in ends) and not is_undefined(start[k]) and not is_part(names[k]):
            raise ValueError(f"{told(names[k])} must also be initialized in the main branch{at_line()}: both delete it")


def _branches(
    outer: GraphTrace,
    scope: str,
    pred: Any,
    body: Callable[[], Any],
    orelse: Callable[[], Any],
    start: Any,
    get_state: Any,
    set_state: Any,
    names: Sequence[str],
    kept: Sequence[int],
    lenient: bool,
    owner: Owner,
) -> None:
    """Trace the two blocks once, and put the cond node into the graph."""
    containers = owner.containers
    changed: dict[int, Found] = {}
    whole: list[Any] = []  # what all names hold at the end of each branch

    def run(block: Callable[[], Any]) -> tuple[tuple[Any, ...], dict[int, Any]]:
        set_state(start)
        values: tuple[Any, ...] = ()
        try:
            block()
            state = get_state()
            whole.append(state)
            ends = [pred if isinstance(state[k], Operation) and state[k] is not start[k] else state[k] for k in kept]
            values = tuple(map(begun, ends))  # in TensorFlow, too, an Operation is the predicate
        finally:
            held = {id(found.container): contents(found.container) for found in containers.all if found.written}
            for found in containers.changed():
                changed[id(found.container)] = found
                held[id(found.container)] = contents(found.container)
                replace(found.container, found.before)
        return values, held

    decided = known_value(pred)
    idle, other_idle = (False, False) if decided is None else (not decided, bool(decided))
    known = orelse  # the block that is left where the other calls what is being traced
    try:
        then_trace, (main, held_main) = opened(outer, lambda: run(body), subgraph_name(f"{scope}_true"), scope, idle)
        known = body
        else_trace, (other, held_other) = opened(
            outer, lambda: run(orelse), subgraph_name(f"{scope}_false"), scope, other_idle
        )
    except (Unknown, Exception) as error:
        if isinstance(error, Unknown):
            error.left_out()
        elif not recursive_tracing.leaves_out():
            raise
        set_state(start)
        known()
        return
    _check_owners(names, start, whole)
    if not lenient:
        _check_left(names, start, whole, kept)
    helds = held_main, held_other
    carried: list[tuple[Found, list[Any], Any]] = []  # with what a container holds besides
    left = []
    for key, found in changed.items():
        ends = [held.get(key, found.before) for held in helds]
        parts = divided(found, ends, (then_trace, else_trace))
        if parts is not None:
            ends = parts[0]
            left.append(parts[1])
        if not alike(*ends):
            refused = unlike_branches(found, *ends)
            new = [elements_added(found, end) for end in ends]
            if None in new:
                raise refused
            grow(found, next(element for more in new for element in more), refused)
        if isinstance(found.before, dict) and not isinstance(found.container, StagedList):
            keys = [key for key, item in found.before.items() if any(end.get(key) is not item for end in ends)]
            keys += [key for key in ends[0] if key not in found.before]
            ends = [{key: end[key] for key in keys} for end in ends]
        if not isinstance(found.container, StagedList):
            ends = [_as_left(end, held) for end, held in zip(ends, helds, strict=True)]
        rest = found.before
        if isinstance(found.container, list):
            differ = [k for k, (one, two) in enumerate(zip(*ends, strict=True)) if one is not two]
            rest, ends = ends[0], [{k: end[k] for k in differ} for end in ends]
        carried.append((found, ends, rest))
    same = [one is two and isinstance(one, (list, dict, StagedList)) for one, two in zip(main, other, strict=True)]
    values_met = [
        (names[k], *(((), ()) if stays else map(_as_left, (one, two), helds)), lenient and not is_part(names[k]))
        for k, one, two, stays in zip(kept, main, other, same, strict=True)
    ]
    with entering(else_trace):
        _compare([one for _, one, _, _ in values_met], [two for _, _, two, _ in values_met])
    values_met += [(found.name, *ends, False) for found, ends, _ in carried]
    joins = [Join(name, one, two, lenient=may_be_unset) for name, one, two, may_be_unset in values_met]
    # A cond has an output, if only to be waited for.
    pairs = [pair for join in joins for pair in join.pairs] or [(0, 0)]
    closed(then_trace, lambda: (output_of(pair[0]) for pair in pairs))
    closed(else_trace, lambda: (output_of(pair[1]) for pair in pairs))
    outputs = iter(make_cond(then_trace, else_trace, pred, name=scope))
    values = [join.result(outputs) for join in joins]
    after = list(start)
    for k, value, one, two, stays in zip(kept, values, main, other, same, strict=False):
        after[k] = one if stays else value
        if one is not two and any(containers.has_other_names(side, names[k]) for side in (one, two)):
            after[k] = chosen(value)
    set_state(tuple(after))
    for (found, _, rest), value in zip(carried, values[len(kept) :], strict=True):
        if isinstance(found.container, list):
            value = [value.get(k, item) for k, item in enumerate(rest)]
        replace(found.container, {**rest, **value} if isinstance(value, dict) else value)
    for each in left:
        each.put()


def _as_left(value: object, held: dict[int, Any]) -> Any:
    """Return a list, tuple or dict with what a branch has left in it, and in those inside of it."""
    left = held.get(id(value), value)
    if isinstance(value, StagedList):
        return value if left is value else value.of(list(left.values()))
    if type(value) not in (list, tuple, dict):
        return value
    items = left if isinstance(left, dict) else dict(enumerate(left))
    inside = {key: _as_left(item, held) for key, item in items.items()}
    if left is value and all(item is items[key] for key, item in inside.items()):
        return value
    return inside if isinstance(left, dict) else type(left)(inside.values())


def _compare(mine: Sequence[Any], other: Sequence[Any]) -> None:
    """Convert the numbers of both branches: TensorFlow does so to compare them, and its graphs have the constants."""
    for values in zip(mine, other, strict=True):
        for value in values:
            if isinstance(value, bool | int | float | str):
                constant(value)
