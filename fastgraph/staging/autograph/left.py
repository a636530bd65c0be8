"""What a staged statement leaves in objects, dicts and lists that it cannot carry: as tracing it has left them, once.

Rule: a tensor that is left so belongs to the graph of the branch or the body, and is out of scope everywhere else. What
every iteration finds there must not matter: a loop leaves something only if an iteration that finds it does the same.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fastgraph import dtype as dtypes
from fastgraph._tensor import Tensor, convert, current_trace
from fastgraph.graph.differentiate import entering
from fastgraph.graph.trace import GraphTrace, SymbolicTensor
from fastgraph.ops import elementwise
from fastgraph.shapes import generalises
from fastgraph.staging.autograph.containers import Attributes, Found, Variable, in_reach, replace
from fastgraph.staging.autograph.growing import owner_of
from fastgraph.staging.autograph.state import (
    Perhaps,
    is_tensor,
    is_text,
    is_variable,
    leaves_of,
    packed,
    same_structure,
)

_DEPTH = 3
_MOST_ITEMS = 4096


class Left:
    """What a statement leaves in a container: keys and values, or all elements of a list."""

    def __init__(self, found: Found, held: Any, refused: Exception) -> None:
        self.found = found
        self.held = held
        self.refused = refused

    def put(self, mapped: Callable[[Any], Any] = lambda leaf: leaf) -> None:
        """Let the container hold it, its leaves as `mapped` gives them."""
        container = self.found.container
        if isinstance(self.held, list):
            replace(container, [_mapped(mapped, each) for each in self.held])
            _note(self, container)
            return
        held = {key: _mapped(mapped, each) for key, each in self.held.items()}
        if isinstance(container, Attributes):
            vars(container.owner).update(held)
            return
        container.update(held)
        if isinstance(container, dict):
            _note(self, container)

    def symbolic(self) -> list[SymbolicTensor]:
        """Return the tensors of graphs in it."""
        values = self.held if isinstance(self.held, list) else self.held.values()
        return [leaf for each in values for leaf in _symbolic(each)]


class _Unsure:
    """A dict of which only some paths have set a key, in a trace."""

    def __init__(self, container: dict[Any, Any], trace: Any) -> None:
        self.container = container
        self.trace = trace

    def perhaps(self) -> dict[Any, Perhaps]:
        """Return what it holds under such keys."""
        return {key: item for key, item in self.container.items() if type(item) is Perhaps}


def note_unsure(container: dict[Any, Any]) -> None:
    """Have `settle`, `check` and `n_items` know that a dict holds a Perhaps."""
    trace = _function_traced()
    if trace is not None:
        if trace.unsure is None:
            trace.unsure = {}
        trace.unsure[id(container)] = _Unsure(container, current_trace())


def any_unsure() -> bool:
    """Say whether there may be a dict of which only some paths have set a key."""
    trace = _function_traced()
    return trace is not None and trace.unsure is not None


def _unsure(value: Any) -> _Unsure | None:
    if type(value) is not dict or not any_unsure():
        return None
    noted: _Unsure | None = _function_traced().unsure.get(id(value))
    return noted if noted is not None and noted.container is value else None


def settle(value: Any) -> Any:
    """Return `value`, which is read as a whole: the graph stops where no path was taken that has set a key of it."""
    noted = _unsure(value)
    for key, item in noted.perhaps().items() if noted is not None else ():
        found = item.read()
        if noted is not None and noted.trace is current_trace():
            value[key] = found
    return value


def whole(value: Any) -> Any:
    """As `settle`, for what changes nothing: what is in `value` may be a copy's."""
    noted = _unsure(value)
    if noted is None:
        return value
    found = {key: item.read() for key, item in noted.perhaps().items()}
    return settle(value) if noted.trace is current_trace() else {**value, **found}


def wholes(value: Any, depth: int = _DEPTH) -> Any:
    """As `whole`, for what shows or returns all that is in lists, tuples and dicts as well."""
    if not any_unsure() or type(value) not in (list, tuple, dict):
        return value
    value = whole(value)
    items = list(value.values()) if isinstance(value, dict) else value
    if not depth or len(items) > _MOST_ITEMS:
        return value
    new = [wholes(item, depth - 1) for item in items]
    if all(a is b for a, b in zip(new, items, strict=True)):
        return value
    return dict(zip(value, new, strict=True)) if isinstance(value, dict) else type(value)(new)


class Deleting:
    """An object as what deletes from it sees it: a key or attribute that only some paths have set must be there."""

    def __init__(self, owner: Any) -> None:
        object.__setattr__(self, "_owner", owner)

    def __delitem__(self, key: Any) -> None:
        owner = object.__getattribute__(self, "_owner")
        if type(owner) is dict and type(item := owner.get(key)) is Perhaps:
            item.read()
        del owner[key]

    def __delattr__(self, name: str) -> None:
        owner = object.__getattribute__(self, "_owner")
        if type(item := getattr(owner, "__dict__", {}).get(name)) is Perhaps:
            item.read()
        delattr(owner, name)


def n_items(value: Any) -> Any:
    """Return how many items a dict has of which only some paths have set one; None where all are there."""
    noted = _unsure(value)
    perhaps = [] if noted is None else list(noted.perhaps().values())
    if not perhaps:
        return None
    flags = [elementwise.cast(convert(each.defined), dtypes.int32) for each in perhaps]
    return functools.reduce(elementwise.add, flags, convert(len(value) - len(perhaps)))


class _Noted:
    """A list or dict that a statement has left, and what is new in it."""

    def __init__(self, left: Left, container: Any) -> None:
        before = {id(element) for element in left.found.before}
        self.container = container
        self.refused = left.refused
        self.keys: Any = ()
        if type(container) is list:
            self.new = [element for element in container if id(element) not in before]
        else:
            self.new = [container[key] for key in left.held if key not in left.found.before]
            self.keys = left.held.keys() - left.found.before.keys()

    def is_there(self) -> bool:
        """Say whether something of it is still in it."""
        held = self.container if type(self.container) is list else list(self.container.values())
        return any(a is b for a in self.new for b in held)


def _function_traced() -> Any:
    trace: Any = current_trace()
    return None if trace is None else trace.root


def _note(left: Left, container: Any) -> None:
    """Have `check` know of what a statement has left in a list or dict."""
    trace = _function_traced()
    if trace.left is None:
        trace.left = {}
    trace.left[id(container)] = _Noted(left, container)


def check(value: Any, *key: Any) -> None:
    """Raise where a list or dict is asked how much, or what, is in it, and a staged statement has left more than was.

    A dict may be asked for one `key`. The tensors themselves are out of scope where they are used. Where only some
    paths have set a key of a dict the graph stops if none was taken.
    """
    if not key:
        settle(value)
    trace = _function_traced() if type(value) in (list, dict) else None
    noted = None if trace is None or trace.left is None else trace.left.get(id(value))
    if noted is not None and noted.container is value and noted.is_there() and (not key or key[0] in noted.keys):
        raise noted.refused


def _symbolic(value: Any) -> list[SymbolicTensor]:
    return [leaf for leaf in leaves_of(value) if isinstance(leaf, SymbolicTensor)]


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    leaves = leaves_of(value)
    new = [function(leaf) for leaf in leaves]
    return value if all(a is b for a, b in zip(leaves, new, strict=True)) else packed(value, new)


def is_keyed(found: Found) -> bool:
    """Say whether a container has its elements by name: the attributes of an object, a dict, a variable."""
    return isinstance(found.container, (Attributes, Variable)) or type(found.container) is dict


def divided(found: Found, after: dict[Any, Any]) -> tuple[dict[Any, Any], dict[Any, Any]] | None:
    """Return what a block leaves in a container by name: what can be carried, and what can only be left.

    None where neither can be.
    """
    before = found.before
    if not before.keys() <= after.keys():
        return None
    left = {key: item for key, item in after.items() if key not in before or _only_left(found, before[key], item)}
    if found.own and not all(_is_telling(item) for item in left.values()):
        return None
    return {key: item if key in left else after[key] for key, item in before.items()}, left


def _is_telling(item: Any) -> bool:
    """Say whether a value, left as tensors that are out of scope, does not pass for another one where it is read."""
    leaves = leaves_of(item)
    return bool(leaves) and all((is_tensor(leaf) or is_text(leaf)) and not is_variable(leaf) for leaf in leaves)


def _only_left(found: Found, before: Any, after: Any) -> bool:
    if after is before:
        return False
    if not all(map(in_reach, leaves_of(after))):
        return True
    if before is None or not in_reach(before):
        return bool(_symbolic(after))
    if found.own or not isinstance(found.container, Attributes):
        return False
    if not isinstance(after, Tensor) and not isinstance(before, Tensor):
        return True  # Python's numbers in an object from outside, which code beyond the graph reads as such
    return not _fits(before, after)


def _fits(before: Any, after: Any) -> bool:
    try:
        one, two = (value if isinstance(value, Tensor) else convert(value) for value in (before, after))
    except (TypeError, ValueError):
        return False
    return one.dtype == two.dtype and generalises(one.aval.shape, two.aval.shape)


def leaked(value: Any, trace: GraphTrace, *, own: bool) -> Any:
    """Return a value with its tensors as such of `trace`, which are out of scope when it is finished.

    `own`: numbers and text as well, for a container that the program goes on to read.
    """

    def leaf_of(leaf: Any) -> Any:
        if isinstance(leaf, SymbolicTensor):
            return elementwise.identity(leaf) if leaf.trace is not trace and trace.reaches(leaf) else leaf
        if own and (is_tensor(leaf) or is_text(leaf)) and not is_variable(leaf):
            return elementwise.identity(convert(leaf))
        return leaf

    with entering(trace):
        return _mapped(leaf_of, value)


def leaked_elements(found: Found, end: list[Any], trace: GraphTrace) -> list[Any]:
    """Return the elements that a block leaves in a list, those that it has added as `leaked` has them."""
    before = {id(element) for element in found.before}
    return [each if id(each) in before else leaked(each, trace, own=False) for each in end]


def by_branches(
    found: Found, ends: list[Any], traces: tuple[GraphTrace, GraphTrace], refused: Exception
) -> tuple[list[Any], Left] | None:
    """Return what of a container both branches carry, and what one of them leaves; None where that cannot be."""
    before = found.before
    if type(found.container) is list and owner_of(found) is None:
        n = len(before)
        if len(ends[0]) == len(ends[1]) and all(
            _go_together(one, two, traces, python=True) for one, two in zip(*ends, strict=True)
        ):
            return None
        if any(len(end) < n or any(a is not b for a, b in zip(before, end, strict=False)) for end in ends):
            return None
        new = [leaked(each, trace, own=False) for end, trace in zip(ends, traces, strict=True) for each in end[n:]]
        return [before, before], Left(found, [*before, *new], refused)
    if not is_keyed(found):
        return None
    parts = []
    for end, trace in zip(ends, traces, strict=True):
        with entering(trace):
            parts.append(divided(found, end))
    if parts[0] is None or parts[1] is None:
        return None
    (main, main_left), (other, other_left) = parts[0], parts[1]
    held = {}
    for key in dict.fromkeys((*main_left, *other_left)):
        one, two = main_left.get(key), other_left.get(key)
        if key in main_left and key in other_left and _go_together(one, two, traces):
            main, other = {**main, key: one}, {**other, key: two}
        elif key in other_left:
            held[key] = leaked(two, traces[1], own=found.own)
        else:
            held[key] = leaked(one, traces[0], own=found.own)
    return ([main, other], Left(found, held, refused)) if held else None


def _go_together(one: Any, two: Any, traces: tuple[GraphTrace, GraphTrace], *, python: bool = False) -> bool:
    """Say whether what two branches leave can be joined, and is something of the graph, or one value of Python's."""
    if python and one is two and not _symbolic(one):
        return True
    if one is None or two is None or same_structure(one, two) is not None:
        return False
    pairs = list(zip(leaves_of(one), leaves_of(two), strict=True))
    symbolic = [(leaf, trace) for pair in pairs for leaf, trace in zip(pair, traces, strict=True)
                if isinstance(leaf, SymbolicTensor)]  # fmt: skip
    return (
        bool(symbolic)
        and all(trace.reaches(leaf) for leaf, trace in symbolic)
        and all(is_tensor(a) and is_tensor(b) and convert(a).dtype == convert(b).dtype for a, b in pairs)
    )
