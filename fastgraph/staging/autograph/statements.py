"""What Python's statements mean in converted code: Python's own meaning on Python values, nodes where a tensor decides.

Rule: an operator looks at the one value that decides (a condition, what is iterated); if that is not symbolic, the
statement runs as Python would run it, until a tensor decides in it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.conversion import constant
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.tensor import convert, current_trace
from fastgraph.graph.differentiate import entering
from fastgraph.graph.recursive_calls import Unknown
from fastgraph.graph.subgraphs import closed, make_cond, opened, subgraph_name
from fastgraph.graph.trace import GraphTrace, SymbolicTensor, reserved
from fastgraph.graphdef.graph_view import Operation
from fastgraph.ops import comparison, elementwise, gathering, joining, movement
from fastgraph.ops.arguments import known_value
from fastgraph.staging import autograph
from fastgraph.staging.autograph import loop_options
from fastgraph.staging.autograph.block_state import (  # fmt: skip
    Join,
    Perhaps,
    UndefinedReturnValue,
    begun,
    condition,
    is_part,
    is_undefined,
    of_states,
    output_of,
    without,
)
from fastgraph.staging.autograph.builtins import and_, decides, decisive
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
from fastgraph.staging.autograph.iterables import FilteredElements, StagedIterable
from fastgraph.staging.autograph.list_growth import MOST_LISTS, Grow, Owner, elements_added, grow, grown, owning
from fastgraph.staging.autograph.return_analysis import surely_true
from fastgraph.staging.autograph.staged_lists import StagedList
from fastgraph.staging.autograph.staged_loops import Loop
from fastgraph.staging.autograph.unroll_warning import Unrolling
from fastgraph.staging.signature import recursive_tracing

# ---------------------------------------------------------------------------------------------------------------------
# if


def if_stmt(
    cond: Any, body: Any, orelse: Any, get_state: Any, set_state: Any, symbol_names: Sequence[str], nouts: int
) -> None:
    """An if statement; `nouts` of the names are used afterwards."""
    cond = decisive(cond)
    if not decides(cond):
        (body if cond else orelse)()
        return
    pred = condition(cond, "if statement")
    kept = list(range(nouts))
    if nouts < len(symbol_names):  # names that no later line reads; outer functions may read those that are theirs
        scope = autograph.scope_of(body.__code__)
        kept += [k for k in range(nouts, len(symbol_names)) if scope is not None and symbol_names[k] in scope.free]
    lenient = Loop.depth() > 0 or loop_options.in_loop()
    staged_if(pred, body, orelse, get_state, set_state, symbol_names, kept, lenient=lenient)


def staged_if(
    pred: Any,
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

    known = orelse  # the block that is left where the other calls what is being traced
    try:
        then_trace, (main, held_main) = opened(outer, lambda: run(body), subgraph_name(f"{scope}_true"), scope)
        known = body
        else_trace, (other, held_other) = opened(outer, lambda: run(orelse), subgraph_name(f"{scope}_false"), scope)
    except (Unknown, Exception) as error:
        if isinstance(error, Unknown):
            error.left_out()
        elif not recursive_tracing.leaves_out():
            raise
        set_state(start)
        known()
        return
    _check_owners(names, start, whole)
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


def _as_left(value: Any, held: dict[int, Any]) -> Any:
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


# ---------------------------------------------------------------------------------------------------------------------
# while


def while_stmt(
    test: Any, body: Any, get_state: Any, set_state: Any, symbol_names: Sequence[str], opts: dict[str, Any]
) -> None:
    """A while statement: unrolled as long as Python values decide, and staged from where a tensor does."""
    if current_trace() is None:
        while test():
            body()
        return
    with Unrolling() as unrolling:
        while True:
            goes_on, changes = _probed(test)
            if decides(goes_on):
                break
            if not goes_on:
                return
            with loop_options.unstaged_loop():
                body()
            unrolling.iterated()
    if not changes:
        Loop(lambda _: test(), lambda _: body(), (test, body), get_state, set_state, symbol_names, "while").stage(None)
        return
    flag = [condition(decisive(test()), "while statement")]  # the test is part of what an iteration does

    def iteration(_: Any) -> None:
        body()
        flag[0] = condition(decisive(test()), "while statement")

    def put(state: Any) -> None:
        set_state(state[:-1])
        flag[0] = state[-1]

    Loop(lambda _: flag[0], iteration, (test, body), lambda: (*get_state(), flag[0]), put,
         (*symbol_names, "the loop's test"), "while").stage(None)  # fmt: skip


def _probed(test: Callable[[], Any]) -> tuple[Any, bool]:
    """Return what `test` gives, and whether it changes containers or variables.

    Where a tensor decides it is traced apart, for the staged loop tests again.
    """
    state = current_trace()
    assert isinstance(state, GraphTrace)
    scratch = GraphTrace("scratch", parent=state, kind="branch")
    containers = Containers([test], ())
    with entering(scratch):
        result = decisive(test())
    changes = bool(containers.all and containers.changed())
    plain = not any(node.op.name not in ("placeholder", "const") for node in scratch.graph)
    if changes and (decides(result) or not plain):
        containers.restore()
    return (result, changes) if decides(result) or plain else (test(), changes)


# ---------------------------------------------------------------------------------------------------------------------
# for


def for_stmt(
    iter_: Any,
    extra_test: Any,
    body: Any,
    get_state: Any,
    set_state: Any,
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """A for statement: over the rows of a symbolic tensor, or what is made of one, staged; over all else unrolled."""
    if current_trace() is not None and hasattr(type(iter_), "__fg_staged_for__"):
        has_next, get_next = iter_.__fg_staged_for__()
        _for_elements(has_next, get_next, extra_test, body, get_state, set_state, symbol_names)
        return
    if not isinstance(iter_, StagedList):
        iter_ = decisive(iter_)
    if isinstance(iter_, StagedList):
        rows: Any = iter_.length(), iter_.row
    elif isinstance(iter_, StagedIterable):
        rows = iter_.count(), iter_.row
    elif decides(iter_):
        if iter_.shape.rank == 0:
            raise TypeError("cannot iterate over a scalar tensor")
        rows = counted(iter_) or (movement.shape(iter_)[0], functools.partial(gathering.gather, iter_))
    else:
        _python_for(iter_, extra_test, body, get_state, set_state, symbol_names)
        return
    n_rows, row = rows
    n_rows = convert(n_rows)
    target = _pattern(opts.get("iterate_names"))
    holds = iter_.holds if isinstance(iter_, StagedIterable) else None

    def goes_on(i: Any) -> Any:
        in_range = comparison.less(i, n_rows)
        if extra_test is None:
            return in_range
        return and_(lambda: in_range, extra_test)

    def iteration(i: Any) -> None:
        item = row(i)
        value = _unpacked(iter_.value(item) if isinstance(iter_, StagedIterable) else item, target)
        if holds is None:
            body(value)
            return
        staged_if(
            condition(decisive(holds(item)), "filter"), lambda: body(value), lambda: None, get_state, set_state,
            symbol_names, range(len(symbol_names)), lenient=True, blocks=(body,),
        )  # fmt: skip

    blocks = (body,) if extra_test is None else (body, extra_test)
    loop = Loop(goes_on, iteration, blocks, get_state, set_state, symbol_names, "for")
    loop.stage(convert(0, n_rows.dtype), at_least_once=_is_positive(n_rows) and extra_test is None and holds is None)


def _for_elements(
    has_next: Any, get_next: Any, extra_test: Any, body: Any, get_state: Any, set_state: Any, names: Sequence[str]
) -> None:
    """A staged loop as long as `has_next()` says so, over `get_next()`; a break reads no element ahead."""

    def goes_on(_: Any) -> Any:
        return has_next() if extra_test is None else and_(extra_test, has_next)

    blocks = (body,) if extra_test is None else (body, extra_test)
    loop = Loop(goes_on, lambda _: body(get_next()), blocks, get_state, set_state, names, "for")
    loop.stage(None, relax=True)


def _is_positive(n: Any) -> bool:
    value = getattr(getattr(n, "aval", None), "value", None)
    return value is not None and int(value) > 0


def counted(iter_: Any) -> tuple[Any, Callable[[Any], Any]] | None:
    """(how many, the i-th) of a tf.range of integers with a known step: its numbers need no memory. Else None."""
    node = iter_.value.node
    if node.op.name != "range" or not iter_.dtype.is_integer or not node.inputs[2].aval.value:
        return None
    step = int(node.inputs[2].aval.value)
    start, limit = (elementwise.cast(SymbolicTensor(x, iter_.trace), dtypes.int64) for x in node.inputs[:2])
    n = elementwise.subtract(limit, start)
    if step != 1:  # in int64, so that what is added does not overflow
        n = elementwise.floordiv(elementwise.add(n, step - (1 if step > 0 else -1)), step)

    def row(i: Any) -> Any:
        with name_scope("iterate"):  # the body's own operations have the names that they would have without these
            steps = i if step == 1 else elementwise.multiply(i, step)
            return elementwise.cast(steps if known_value(start) == 0 else elementwise.add(start, steps), iter_.dtype)

    return n, row


@functools.lru_cache(maxsize=1024)
def _pattern(target: str | None) -> Any:
    """Return how a loop's target takes its values apart: None for a name, a list of such for a tuple of targets."""
    if target is None or (not target.startswith(("(", "[")) and "," not in target):
        return None

    def pattern(node: ast.AST) -> Any:
        return [pattern(item) for item in node.elts] if isinstance(node, (ast.Tuple, ast.List)) else None

    return pattern(ast.parse(target, mode="eval").body)


def _unpacked(value: Any, pattern: Any) -> Any:
    """Return a row as its target takes it: a tensor that is unpacked as the list of its own rows.

    Raises ValueError where their number is not known while tracing.
    """
    if pattern is None:
        return value
    if decides(value):
        if not value.shape.rank or value.shape[0] is None:
            raise ValueError(
                f"cannot unpack {len(pattern)} names from {value}: its first dimension must be known while tracing"
            )
        value = joining.unstack(value)
    if isinstance(value, (tuple, list)) and len(value) == len(pattern):
        return tuple(_unpacked(item, part) for item, part in zip(value, pattern, strict=True))
    return value


def _python_for(
    iterable: Any, extra_test: Any, body: Any, get_state: Any, set_state: Any, names: Sequence[str]
) -> None:
    """A for over a Python iterable: unrolled; from where a tensor decides whether it goes on, each round a cond."""
    goes_on = True if extra_test is None else decisive(extra_test())
    if not decides(goes_on) and not goes_on:
        return
    holds = None
    if isinstance(iterable, FilteredElements):
        iterable, holds = iterable.elements, iterable.function

    def chosen(target: Any) -> None:
        wanted = True if holds is None else decisive(holds(target))
        if decides(wanted):
            guarded(wanted, "filter", functools.partial(body, target))
        elif wanted:
            body(target)

    def guarded(pred: Any, what: str, block: Callable[[], Any]) -> None:
        staged_if(
            condition(pred, what), block, lambda: None, get_state, set_state, names, range(len(names)), lenient=True,
            blocks=(body,),
        )  # fmt: skip

    with Unrolling() as unrolling, loop_options.unstaged_loop():
        for target in iterable:
            if decides(goes_on):
                guarded(goes_on, "for statement", functools.partial(chosen, target))
            else:
                chosen(target)
            unrolling.iterated()
            if extra_test is not None:
                goes_on = decisive(extra_test())
                if not decides(goes_on) and not goes_on:
                    break


# ---------------------------------------------------------------------------------------------------------------------
# return


def ret(value: Any, did_return: Any) -> Any:
    """Return a converted function's value. Raises ValueError if a path may end without one."""
    if isinstance(value, UndefinedReturnValue):
        return None
    if isinstance(value, Perhaps):
        if not surely_true(did_return) and not recursive_tracing.leaves_out():
            raise ValueError(value.why)
        return value.value if surely_true(value.defined) or recursive_tracing.leaves_out() else value.read()
    return value
