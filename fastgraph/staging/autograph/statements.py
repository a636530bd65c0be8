"""The meaning of Python's statements in converted code: Python's own on Python values, nodes where a tensor decides.

Rule: an operator looks at the one value that decides (a condition, what is iterated); if that is not symbolic, the
statement runs as Python would run it, until a tensor decides in it.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.tensor import Tensor, class_has, convert, current_trace
from fastgraph.graph.differentiate import entering
from fastgraph.graph.trace import GraphTrace
from fastgraph.ops import comparison, gathering, joining, movement
from fastgraph.staging import autograph
from fastgraph.staging.autograph import loop_options
from fastgraph.staging.autograph.block_state import (  # fmt: skip
    Perhaps,
    UndefinedReturnValue,
    condition,
    is_undefined,
)
from fastgraph.staging.autograph.conditionals import staged_if
from fastgraph.staging.autograph.container_changes import Containers
from fastgraph.staging.autograph.expressions import and_, decides, decisive
from fastgraph.staging.autograph.iterables import FilteredElements, StagedIterable, counted, start_of
from fastgraph.staging.autograph.return_analysis import surely_true
from fastgraph.staging.autograph.staged_lists import StagedList
from fastgraph.staging.autograph.staged_loops import Loop
from fastgraph.staging.autograph.unroll_warning import Unrolling
from fastgraph.staging.signature import recursive_tracing

# ---- if -------------------------------------------------------------------------------------------------------------


def if_stmt(
    cond: Any,
    body: Callable[..., Any],
    orelse: Callable[..., Any],
    get_state: Callable[..., Any],
    set_state: Callable[..., Any],
    symbol_names: Sequence[str],
    nouts: int,
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


# ---- while ----------------------------------------------------------------------------------------------------------


def while_stmt(
    test: Callable[..., Any],
    body: Callable[..., Any],
    get_state: Callable[..., Any],
    set_state: Callable[..., Any],
    symbol_names: Sequence[str],
    opts: dict[str, Any],
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


# ---- for ------------------------------------------------------------------------------------------------------------


def for_stmt(
    iter_: Any,
    extra_test: Callable[..., Any] | None,
    body: Callable[..., Any],
    get_state: Callable[..., Any],
    set_state: Callable[..., Any],
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """A for statement: over the rows of a symbolic tensor, or what is made of one, staged; over all else unrolled."""
    if current_trace() is not None and class_has(iter_, "__fg_staged_for__"):
        has_next, get_next = iter_.__fg_staged_for__()
        keep_invariants = not class_has(iter_, "__fg_any_shapes__")
        _for_elements(has_next, get_next, extra_test, body, get_state, set_state, symbol_names, keep_invariants)
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
        get_state = _begun(get_state, symbol_names, opts.get("iterate_names"), start_of(iter_))
    else:
        _python_for(iter_, extra_test, body, get_state, set_state, symbol_names)
        return
    n_rows, row = rows
    n_rows = convert(n_rows)
    target = _pattern(opts.get("iterate_names"))
    holds = iter_.holds if isinstance(iter_, StagedIterable) else None

    def goes_on(i: object) -> Any:
        in_range = comparison.less(i, n_rows)
        if extra_test is None:
            return in_range
        return and_(lambda: in_range, extra_test)

    def iteration(i: Tensor) -> None:
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


def _begun(
    get_state: Callable[..., Any], names: Sequence[str], target: str | None, start: Tensor | None
) -> Callable[..., Any]:
    """Return a `get_state` in which a loop's target holds where its tf.range starts, as in TensorFlow, if nothing."""
    if start is None or target not in names:
        return get_state

    def begun() -> tuple[Any, ...]:
        state = get_state()
        return tuple([start if n == target and is_undefined(v) else v for n, v in zip(names, state, strict=True)])

    return begun


def _for_elements(
    has_next: Callable[..., Any],
    get_next: Callable[..., Any],
    extra_test: Callable[..., Any] | None,
    body: Callable[..., Any],
    get_state: Callable[..., Any],
    set_state: Callable[..., Any],
    names: Sequence[str],
    keep_invariants: bool,
) -> None:
    """A staged loop as long as `has_next()` says so, over `get_next()`; a break reads no element ahead."""

    def goes_on(_: Tensor) -> Any:
        return has_next() if extra_test is None else and_(extra_test, has_next)

    blocks = (body,) if extra_test is None else (body, extra_test)
    loop = Loop(goes_on, lambda _: body(get_next()), blocks, get_state, set_state, names, "for")
    loop.stage(None, relax=True, keep_invariants=keep_invariants)


def _is_positive(n: object) -> bool:
    value = getattr(getattr(n, "aval", None), "value", None)
    return value is not None and int(value) > 0


@functools.lru_cache(maxsize=1024)
def _pattern(target: str | None) -> Any:
    """Return how a loop's target takes its values apart: None for a name, a list of such for a tuple of targets."""
    if target is None or (not target.startswith(("(", "[")) and "," not in target):
        return None

    def pattern(node: ast.AST) -> Any:
        return [pattern(item) for item in node.elts] if isinstance(node, (ast.Tuple, ast.List)) else None

    return pattern(ast.parse(target, mode="eval").body)


def _unpacked(value: Any, pattern: list[Any] | None) -> Any:
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


# ---- return ---------------------------------------------------------------------------------------------------------


def ret(value: object, did_return: object) -> Any:
    """Return a converted function's value. Raises ValueError if a path may end without one."""
    if isinstance(value, UndefinedReturnValue):
        return None
    if isinstance(value, Perhaps):
        if not surely_true(did_return) and not recursive_tracing.leaves_out():
            raise ValueError(value.why)
        return value.value if surely_true(value.defined) or recursive_tracing.leaves_out() else value.read()
    return value
