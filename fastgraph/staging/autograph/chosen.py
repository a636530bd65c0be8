"""A list of several, of which a tensor has decided: what is done to it is done to the one that it is.

Rule: the choice holds where what decides can be read, in the trace of the statement and inside of it. What leaves that
is a copy, which `identity` tells to be one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph import nesting
from fastgraph._tensor import Tensor, convert, current_trace
from fastgraph.graph import control_flow
from fastgraph.graph.trace import SymbolicTensor, boundaries, is_internal
from fastgraph.ops import checks
from fastgraph.staging.autograph import calls, identity
from fastgraph.staging.autograph.list_rows import at_line
from fastgraph.staging.autograph.lists import StagedList, as_list
from fastgraph.staging.autograph.moved import Moved, current
from fastgraph.staging.autograph.state import in_state, stand_in

_DEPTH = 3
_MOST_ELEMENTS = 64


class Choice:
    """Which of two lists a name holds: `sides[0]` where `pred` is true, else `sides[1]`."""

    def __init__(self, pred: SymbolicTensor, sides: Sequence[Any]) -> None:
        self.pred = pred
        self.sides = list(sides)
        found = [_found(side) for side in sides]
        self.is_followed = None not in found  # whether the program can tell what is done to them
        self.names = [("values" if each is None else each[0]) for each in found]
        self.owners = [(None if each is None else each[1]) for each in found]
        self.seen = self.held()

    def is_known(self) -> bool:
        """Say whether what decides can be read here."""
        trace: Any = current_trace()
        while trace is not None and trace is not self.pred.trace:
            trace = trace.outer
        return trace is not None

    def held(self) -> dict[str, Any]:
        """Return what both lists hold now."""
        found = {}
        for k, side in enumerate(map(current, self.sides)):
            held = identity.contents(side)
            items = held.items() if isinstance(held, dict) else enumerate(held)
            found.update({f"{k}/{key}": item for key, item in items})
        return found

    def is_as_seen(self) -> bool:
        """Say whether neither list has been changed since the choice was made."""
        return _same(self.held(), self.seen)

    def follower(self, value: Any) -> Any:
        """Return the copy that a name holds as a list that follows the two, if it can."""
        return followed(value) if self.is_known() else value

    def changed(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the one that it is, in a branch, and return what it gives."""
        from fastgraph.staging.autograph.statements import staged_if

        result: list[Any] = [None]
        main, other = [_block(self, k, method, args, kwargs, result) for k in (0, 1)]
        gives = [0] if method == "pop" else []
        staged_if(
            self.pred, main, other, lambda: tuple(result), lambda state: result.__setitem__(0, state[0]),
            ("the value of the expression",), gives, lenient=False,
        )  # fmt: skip
        self.sides = [current(side) for side in self.sides]
        return result[0]


def _same(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return list(a) == list(b) and all(x is y for x, y in zip(a.values(), b.values(), strict=True))


def _block(choice: Choice, k: int, method: str, args: Any, kwargs: Any, result: list[Any]) -> Callable[[], None]:
    values = current(choice.sides[k])
    name, like = choice.names[k], _first(current(choice.sides[1 - k])) if method == "pop" else None

    def block() -> None:
        try:
            found = calls.callee(getattr(values, method))(*args, **kwargs)
        except (IndexError, ValueError) as error:
            if not isinstance(values, list):
                raise
            checks.Assert(False, [f"{error}: the list '{name}'{at_line()}"])
            found = stand_in(like)
        result[0] = found if method == "pop" else None

    block.__fg_names__ = {"values": (name, choice.owners[k])}  # type: ignore[attr-defined]
    return block


def _found(value: Any) -> tuple[str, Any] | None:
    """Return how the function that is traced calls a list, by a name or a path from one, and what that name holds.

    None where no variable of a function that is being traced leads to it.
    """
    frame: Any = sys._getframe(1)
    best: tuple[str, Any] | None = None
    while frame is not None and frame.f_code not in boundaries:
        code = frame.f_code
        if not is_internal(code):
            own = {*code.co_varnames, *code.co_cellvars}
            held = {name: each for name, each in frame.f_locals.items() if name in own}
            paths = ((_path_in(name, each, value, _DEPTH), each) for name, each in held.items())
            found = [(path, each) for path, each in paths if path]
            best = min(found, key=lambda each: len(each[0])) if found else best
        frame = frame.f_back
    return best


def _path_in(name: str, held: Any, value: Any, depth: int) -> str:
    if held is value or (isinstance(held, list) and current(held) is value):
        return name
    if not depth or isinstance(held, Tensor):
        return ""
    if isinstance(held, dict):
        steps = [(f"[{key!r}]", item) for key, item in held.items()]
    elif isinstance(held, (list, tuple)):
        steps = [(f"[{k}]", item) for k, item in enumerate(held[:_MOST_ELEMENTS])]
    elif type(held).__module__.startswith(("fastgraph", "builtins", "numpy")):
        return ""
    else:
        attributes = getattr(held, "__dict__", None)
        steps = [(f".{key}", item) for key, item in attributes.items()] if isinstance(attributes, dict) else []
    return next(filter(None, (_path_in(name + step, item, value, depth - 1) for step, item in steps)), "")


class ChosenList(StagedList):
    """The list that a choice gives: its elements are read anew where one of the two lists has been changed."""

    def __init__(self, name: str, choice: Choice) -> None:
        self.choice = choice
        self._made: tuple[Any, dict[str, Any], StagedList] | None = None
        super().__init__(name, None, ())

    # -- what it holds

    def _now(self) -> StagedList:
        """Return the list's elements here."""
        trace: Any = current_trace()
        if not self.choice.is_known():
            raise self.refused()
        held = self.choice.held()
        if self._made is not None and _same(held, self._made[1]):
            while trace is not None and trace is not self._made[0]:
                trace = trace.outer
            if trace is not None:
                return self._made[2]
        lists = [current(side) for side in self.choice.sides]
        one, two = (as_list(each, other, self.name) for each, other in (lists, reversed(lists)))
        rows = control_flow.cond(self.choice.pred, lambda: _outputs(one), lambda: _outputs(two))
        made = StagedList(self.name, one.structure, nesting.flatten(rows))
        self._made = current_trace(), held, made
        return made

    @property
    def structure(self) -> Any:
        """What an element is like."""
        return self._now().structure

    @structure.setter
    def structure(self, _: Any) -> None: ...

    @property
    def rows(self) -> Any:
        """The elements as rows."""
        return self._now().rows

    @rows.setter
    def rows(self, _: Any) -> None: ...

    def held(self) -> Any:
        """Return what both lists hold, by their places."""
        return self.choice.held()

    def refused(self) -> Exception:
        """The error for what is done where the choice cannot be made any more."""
        from fastgraph.staging.autograph.elements import of_several

        return of_several(self.name, "list")

    def _like(self, rows: Sequence[Any]) -> Any:
        return StagedList(self.name, self.structure, rows)

    # -- changed

    def _change(self, method: str, *args: Any, **kwargs: Any) -> Any:
        if not self.choice.is_known():
            raise self.refused()
        return self.choice.changed(method, *args, **kwargs)

    def append(self, value: Any) -> None:
        """As a list's."""
        self._change("append", value)

    def extend(self, values: Any) -> None:
        """As a list's."""
        self._change("extend", values)

    def insert(self, index: Any, value: Any) -> None:
        """As a list's."""
        self._change("insert", index, value)

    def pop(self, index: Any = -1) -> Any:
        """As a list's."""
        return self._change("pop", index)

    def clear(self) -> None:
        """As a list's."""
        self._change("clear")

    def reverse(self) -> None:
        """As a list's."""
        self._change("reverse")

    def sort(self, *, key: Any = None, reverse: bool = False) -> None:
        """Not of a list of several. Raises NotImplementedError."""
        raise self.refused()

    def remove(self, value: Any) -> None:
        """As a list's."""
        self._change("remove", value)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not in_state():
            self._change("__setitem__", index, value)

    def __delitem__(self, index: Any) -> None:
        if not in_state():
            self._change("__delitem__", index)

    def __iadd__(self, values: Any) -> Any:
        self._change("extend", values)
        return self

    def __imul__(self, n: Any) -> Any:
        raise self.refused()

    def __len__(self) -> int:
        return len(self._now())


def _outputs(values: StagedList) -> list[Any]:
    return [convert(row) for row in values._known()]


def followed(value: Any) -> Any:
    """Return a list of several that is to be changed, or of which one has been, as one that follows these.

    `value` is the copy that a name holds; it stands for what is returned from now on.
    """
    found = ChosenList(value.name_of_several, value.choice)
    identity.is_exactly(value, value.choice.sides)
    identity.stands_for(found, value, value.name_of_several)
    list.__setitem__(value, slice(None), [Moved(value.name_of_several, found)])
    return found


def settled(value: Any) -> Any:
    """Return what a name holds at the end of a block as what may leave it: of a list that follows others a copy."""
    now = current(value)
    if not isinstance(now, ChosenList):
        return value
    copy = now.copy()
    identity.may_be(copy, now.choice.sides, now.name)
    identity.stands_for(copy, now, now.name)
    return copy


def _first(values: Any) -> Any:
    """Return an element, None where none is known."""
    if isinstance(values, StagedList):
        return values.row(0) if values._rows_anywhere() else None
    return values[0] if values else None
