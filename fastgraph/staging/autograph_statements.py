"""What Python's statements mean in converted code: Python's own meaning on Python values, nodes where a tensor decides.

Rule: an operator looks at the one value that decides (a condition, what is iterated); if that is not symbolic, the
statement runs as Python would run it. Only the autograph modules of this package know malt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from malt.operators.variables import Undefined, UndefinedReturnValue

from fastgraph import dtype as dtypes
from fastgraph import nesting
from fastgraph._tensor import Tensor, convert, current_trace
from fastgraph.graph import control_flow
from fastgraph.graph.differentiate import entering
from fastgraph.graph.trace import GraphTrace, SymbolicTensor
from fastgraph.ops import creation, elementwise, gathering, movement
from fastgraph.staging.autograph_builtins import and_, decides

_NUMBERS = (bool, int, float, complex, np.ndarray, np.generic)


# ---------------------------------------------------------------------------------------------------------------------
# A block's state: the values of the names it may assign


class _State:
    """The values of some names, as flat tensors and a mould that holds all else."""

    def __init__(self, values: Sequence[Any], names: Sequence[str]) -> None:
        self.names = names
        self.moulds: list[Any] = []
        self.tensors: list[Any] = []
        for value in values:
            self.moulds.append(nesting.map_structure(self._take, value) if not _is_undefined(value) else value)

    def _take(self, leaf: Any) -> Any:
        if isinstance(leaf, (Tensor, *_NUMBERS)) or hasattr(leaf, "__fg_tensor__"):
            self.tensors.append(convert(leaf))
            return _HOLE
        return leaf

    def filled(self, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values with `tensors` in the place of the state's own."""
        rest = iter(tensors)

        def fill(leaf: Any) -> Any:
            return next(rest) if leaf is _HOLE else leaf

        return tuple(m if _is_undefined(m) else nesting.map_structure(fill, m) for m in self.moulds)

    def check_like(self, other: _State, where: str) -> None:
        """Raise TypeError, naming the variable, unless `other` has the same structure and the same other values."""
        for name, mine, theirs in zip(self.names, self.moulds, other.moulds, strict=True):
            if not _same_mould(mine, theirs):
                raise TypeError(f"'{name}' must have the same nested structure and the same non-tensor values {where}.")


_HOLE = type("_Hole", (), {"__repr__": lambda _: "tensor"})()


def _is_undefined(value: Any) -> bool:
    return type(value) in (Undefined, UndefinedReturnValue)


def _same_mould(a: Any, b: Any) -> bool:
    if _is_undefined(a) or _is_undefined(b):
        return type(a) is type(b)
    try:
        nesting.assert_same_structure(a, b)
    except (TypeError, ValueError):
        return False
    return all(x is y or x == y for x, y in zip(nesting.flatten(a), nesting.flatten(b), strict=True))


def _scratch(block: Callable[[], Any]) -> Any:
    """Return what `block` returns when its ops are traced and thrown away."""
    with entering(GraphTrace("scratch", parent=current_trace(), kind="branch")):
        return block()


# ---------------------------------------------------------------------------------------------------------------------
# Statements


def if_stmt(
    cond: Any, body: Any, orelse: Any, get_state: Any, set_state: Any, symbol_names: Sequence[str], nouts: int
) -> None:
    """An if statement; `nouts` of the names are used afterwards."""
    if not decides(cond):
        (body if cond else orelse)()
        return
    start = get_state()
    states: list[_State] = []

    def branch(block: Callable[[], None], which: str) -> Callable[[], list[Any]]:
        def run() -> list[Any]:
            set_state(start)
            block()
            values = get_state()[:nouts]
            for name, value in zip(symbol_names, values):
                _check_defined(name, value, which)
            states.append(_State(values, symbol_names[:nouts]))
            return states[-1].tensors or [convert(0)]  # a cond has an output, if only to be waited for

        return run

    results = control_flow.cond(cond, branch(body, "main"), branch(orelse, "else"))
    states[0].check_like(states[1], "in both branches of the if statement")
    set_state((*states[0].filled(nesting.flatten(results)), *start[nouts:]))


def _check_defined(name: str, value: Any, which: str) -> None:
    if isinstance(value, UndefinedReturnValue):
        raise ValueError(
            f"A value must also be returned from the {which} branch. If a value is returned from one branch of a "
            "conditional a value must be returned from all branches."
        )
    if isinstance(value, Undefined):
        raise ValueError(f"'{name}' must also be initialized in the {which} branch")


def while_stmt(
    test: Any, body: Any, get_state: Any, set_state: Any, symbol_names: Sequence[str], opts: dict[str, Any]
) -> None:
    """A while statement."""
    start = get_state()
    first = test() if current_trace() is None else _scratch(test)
    if not decides(first):
        while first:
            body()
            first = test()
            if decides(first):
                raise NotImplementedError(
                    "The condition of a while statement was a Python value at first and is a tensor now: make what it "
                    "depends on a tensor before the loop."
                )
        return
    set_state(start)
    _stage_loop(lambda _: test(), lambda _: body(), get_state, set_state, symbol_names, None, opts)


def for_stmt(
    iter_: Any,
    extra_test: Any,
    body: Any,
    get_state: Any,
    set_state: Any,
    symbol_names: Sequence[str],
    opts: dict[str, Any],
) -> None:
    """A for statement: over the rows of a symbolic tensor staged, over all else unrolled."""
    if not decides(iter_):
        _python_for(iter_, extra_test, body)
        return
    if iter_.shape.rank == 0:
        raise TypeError("cannot iterate over a scalar tensor")
    counted = _counted(iter_)
    n_rows, row = counted or (movement.shape(iter_)[0], lambda i: gathering.gather(iter_, i))

    def goes_on(i: Any) -> Any:
        in_range = elementwise.less(i, n_rows)
        return in_range if extra_test is None else and_(lambda: in_range, extra_test)

    first = convert(0, n_rows.dtype)
    _stage_loop(goes_on, lambda i: body(row(i)), get_state, set_state, symbol_names, first, opts)


def _counted(iter_: Any) -> tuple[Any, Callable[[Any], Any]] | None:
    """(how many, the i-th) of a tf.range of integers with a known step: its numbers need no memory. Else None."""
    node = iter_.op
    if node.op.name != "range" or not iter_.dtype.is_integer or not node.inputs[2].aval.value:
        return None
    step = int(node.inputs[2].aval.value)
    start, limit = (elementwise.cast(SymbolicTensor(x, iter_.trace), dtypes.int64) for x in node.inputs[:2])
    n = elementwise.subtract(limit, start)
    if step != 1:  # in int64, so that what is added does not overflow
        n = elementwise.floordiv(elementwise.add(n, step - (1 if step > 0 else -1)), step)

    def row(i: Any) -> Any:
        return elementwise.cast(elementwise.add(start, elementwise.multiply(i, step)), iter_.dtype)

    return n, row


def _python_for(iterable: Any, extra_test: Any, body: Any) -> None:
    for target in iterable if extra_test is None or _holds(extra_test) else ():
        body(target)
        if extra_test is not None and not _holds(extra_test):
            break


def _holds(test: Callable[[], Any]) -> bool:
    result = test()
    if decides(result):
        raise NotImplementedError(
            "break and return in a for loop over a Python iterable cannot depend on a tensor: iterate over a tensor "
            "instead, for example tf.range(n) instead of range(n)."
        )
    return bool(result)


def _stage_loop(
    test: Callable[[Any], Any],
    body: Callable[[Any], Any],
    get_state: Any,
    set_state: Any,
    names: Sequence[str],
    counter: Any,
    opts: dict[str, Any],
) -> None:
    """A while node over the state, and over `counter` where there is one."""
    before = get_state()
    before = _with_placeholders(before, body, get_state, set_state, counter)
    state = _State(before, names)
    n_counters = counter is not None

    def put(tensors: Sequence[Any]) -> Any:
        set_state(state.filled(tensors[n_counters:]))
        return tensors[0] if n_counters else None

    def goes_on(*tensors: Any) -> Any:
        return test(put(tensors))

    def step(*tensors: Any) -> list[Any]:
        i = put(tensors)
        body(i)
        after = _State(get_state(), names)
        state.check_like(after, "before the loop and after an iteration")
        return [elementwise.add(i, 1), *after.tensors] if n_counters else after.tensors

    start = [counter, *state.tensors] if n_counters else state.tensors
    limit = opts.get("maximum_iterations")
    results = control_flow.while_loop(goes_on, step, list(start), maximum_iterations=limit)
    set_state(state.filled(list(results)[n_counters:]))


def _with_placeholders(
    before: tuple[Any, ...], body: Callable[[Any], Any], get_state: Any, set_state: Any, counter: Any
) -> tuple[Any, ...]:
    """Return the state with zeros for names that only the body defines: Python would raise if no iteration ran."""
    if not any(map(_is_undefined, before)):
        return before

    def one_iteration() -> tuple[Any, ...]:
        body(counter)
        return tuple(get_state())

    after = _scratch(one_iteration)
    set_state(before)

    def zeros(leaf: Any) -> Any:
        if not isinstance(leaf, (Tensor, *_NUMBERS)):
            return leaf
        like = leaf if isinstance(leaf, SymbolicTensor) else convert(leaf)
        return creation.zeros([size or 0 for size in like.shape.as_list()], like.dtype)

    return tuple(
        nesting.map_structure(zeros, new) if _is_undefined(old) and not _is_undefined(new) else old
        for old, new in zip(before, after, strict=True)
    )
