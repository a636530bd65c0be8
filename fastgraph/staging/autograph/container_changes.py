"""Lists, dicts and sets that a staged block changes in place: found by comparing what they hold before and after.

Rule: what a graph runs or not must not change a Python container once and for all while it is traced. Where the two
paths leave as many elements the elements are carried like other values; else the error names the container and the
line. Counters and logs of outer functions may be changed, as they may by print, unless they get a symbolic tensor; an
attribute that cannot be carried is left as tracing has left it, as in TensorFlow.
"""

from __future__ import annotations

import ast
import contextlib
import re
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.tensor import convert, current_trace
from fastgraph.graph.differentiate import entering
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graph.trace import GraphTrace
from fastgraph.ops import elementwise
from fastgraph.staging import autograph
from fastgraph.staging.autograph import source_code
from fastgraph.staging.autograph.block_state import (
    at_line,
    is_tensor,
    is_variable,
    leaves_of,
    packed,
    same_structure,
    was_made_here,
)
from fastgraph.staging.autograph.staged_lists import StagedList

_KINDS = (list, dict, set, StagedList)
_MOST_ELEMENTS = 4096
_DEPTH = 3


def in_reach(leaf: object) -> bool:
    """Say whether a tensor may be used here: a statement may have left one of a graph that is out of scope."""
    trace = current_trace()
    return not isinstance(leaf, SymbolicTensor) or (isinstance(trace, GraphTrace) and trace.reaches(leaf))


class Attributes:
    """An object's attributes as a container, but for tensors that were out of scope and what is no data.

    An object or a function is there if it has taken the place of something else.
    """

    def __init__(self, owner: Any) -> None:
        self.owner = owner
        self.others = {key: item for key, item in vars(owner).items() if not _is_carried(item)}

    def copy(self) -> dict[str, Any]:
        """Return the attributes by name."""
        now = vars(self.owner)
        return {key: item for key, item in now.items() if _is_carried(item) or self._is_in_place(key, item)}

    def _is_in_place(self, key: str, item: object) -> bool:
        """Say whether an attribute has another value than one that is not carried."""
        return item is not self.others.get(key) and (_is_data(item) or key in self.others)

    def update(self, held: dict[str, Any]) -> None:
        """Set the attributes; those that `held` has not hold what they have held besides, or are deleted."""
        now = vars(self.owner)
        for key in [key for key, item in now.items() if key not in held and (key in self.others or _is_data(item))]:
            if key in self.others:
                now[key] = self.others[key]
            else:
                del now[key]
        now.update(held)


def _is_data(item: object) -> bool:
    return item is None or isinstance(item, (str, bytes, list, tuple, dict, StagedList)) or _holds_tensor(item)


def _holds_tensor(item: object) -> bool:
    return is_tensor(item) and not is_variable(item)


def _is_carried(item: object) -> bool:
    return _is_data(item) and (not isinstance(item, SymbolicTensor) or in_reach(item))


class Variable:
    """A variable of an outer function that an inner one sets by nonlocal, as a container."""

    def __init__(self, name: str, cell: Any) -> None:
        self.name = name
        self.cell = cell

    def copy(self) -> dict[str, Any]:
        """Return the variable's value, by its name, if it has one."""
        try:
            return {self.name: self.cell.cell_contents}
        except ValueError:
            return {}

    def update(self, held: dict[str, Any]) -> None:
        """Set the variable."""
        if held:
            self.cell.cell_contents = held[self.name]
        elif self.copy():
            del self.cell.cell_contents


_stores: weakref.WeakKeyDictionary[types.CodeType, set[str]] = weakref.WeakKeyDictionary()


def _stored(function: types.FunctionType) -> set[str]:
    """Return the variables of outer functions that a function, or one inside of it, declares nonlocal."""
    code = function.__code__
    known = _stores.get(code)
    if known is None:
        tree = source_code.definition(function) if code.co_freevars else None
        names = {name for node in ast.walk(tree or ast.Pass()) if isinstance(node, ast.Nonlocal) for name in node.names}
        known = _stores[code] = names.intersection(code.co_freevars)
    return known


def _is_object(value: object) -> bool:
    """Say whether `value` is an object of a class of the user's, which may hold lists."""
    cls = type(value)
    return isinstance(getattr(value, "__dict__", None), dict) and not (
        isinstance(value, (type, types.ModuleType, types.FunctionType, types.MethodType, SymbolicTensor))
        or autograph.is_library(cls)
        or cls.__module__ == "builtins"
    )


def contents(container: Any) -> Any:
    """Return a copy of what a container holds."""
    return container.held() if isinstance(container, StagedList) else container.copy()


def replace(container: Any, held: Any) -> None:
    """Make `container` hold `held`."""
    if isinstance(container, list):
        list.__setitem__(container, slice(None), held)
    elif isinstance(container, (StagedList, Attributes, Variable)):
        container.update(held)
    else:
        container.clear()
        container.update(held)


def _same(a: Any, b: Any, written: frozenset[Any]) -> bool:
    """Say whether a container holds what it held, but for the elements that are written by name."""
    if len(a) != len(b) and not isinstance(a, dict):  # which elements have those names is another matter then
        return False
    if written and not isinstance(a, set):
        a, b = (
            [(key, item) for key, item in (held.items() if isinstance(held, dict) else enumerate(held))
             if key not in written]
            for held in (a, b)
        )  # fmt: skip
        return len(a) == len(b) and all(x[0] == y[0] and x[1] is y[1] for x, y in zip(a, b, strict=True))
    if len(a) != len(b):
        return False
    if isinstance(a, set):
        return bool(a == b)
    if isinstance(a, dict):
        return list(a) == list(b) and all(x is y for x, y in zip(a.values(), b.values(), strict=True))
    return all(x is y for x, y in zip(a, b, strict=True))


class Item:
    """The place of a container: a key of a dict, a place in a list or an attribute, as a cell has it."""

    def __init__(self, owner: Any, key: Any) -> None:
        self._owner = owner
        self._key = key

    @property
    def cell_contents(self) -> Any:
        """The container that is there."""
        return self._owner[self._key]

    @cell_contents.setter
    def cell_contents(self, value: object) -> None:
        if not isinstance(self._owner, list) or self._key < len(self._owner):
            self._owner[self._key] = value


class Found:
    """A container that a block reaches: by which name, from which cells and items, and what it held before."""

    def __init__(
        self, name: str, container: Any, *, direct: bool, own: bool, place: Any, written: frozenset[Any] = frozenset()
    ) -> None:
        self.name = name
        self.written = written
        self.container = container
        self.direct = direct
        self.own = own  # whether a variable of a function that is being traced holds it
        self.is_of_made = False  # whether an object that was made in this trace holds it
        self.places = [place]  # None: where nothing else can take its place
        self.before = contents(container)

    def put(self, value: Any) -> None:
        """Let the block reach `value` where it has reached the container."""
        for place in filter(None, self.places):
            place.cell_contents = value

    def held_at(self) -> list[Any]:
        """Return the places that still reach the container; what has been assigned since holds something else."""
        found = []
        for place in filter(None, self.places):
            with contextlib.suppress(ValueError, LookupError):  # nothing is there any more
                if place.cell_contents is self.container:
                    found.append(place)
        return found

    @property
    def root(self) -> str:
        """The name in the user's function by which the container is reached."""
        return re.split(r"[.\[]", self.name, maxsplit=1)[0]


class Containers:
    """The containers that some blocks of code can reach by the names they use, and what these held."""

    def __init__(self, blocks: Sequence[Callable[..., Any] | None], names: Sequence[str]) -> None:
        self._names = [name for name in names if "[" in name or "." in name]
        self._simple = frozenset(names)
        self._found: dict[int, Found] = {}
        self._moving: set[str] = set()  # names of lists that may be another's at the end of a block
        self._in_made = False  # while what an object of this trace holds is being noted
        for block in blocks:
            if isinstance(block, types.FunctionType):
                self._closure(block, _DEPTH)
        self.all = list(self._found.values())

    def _closure(self, function: types.FunctionType, depth: int) -> None:
        scope = autograph.scope_of(function.__code__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            try:
                value = cell.cell_contents
            except ValueError:
                continue
            own = scope is not None and name not in scope.outer
            own = own and (isinstance(value, _KINDS) or name not in scope.parameters)
            self._note(name, value, depth, direct=True, own=own, place=cell)

    def _variables(self, function: types.FunctionType) -> None:
        """Note what `function` sets by nonlocal, but for what the block's own state has."""
        written = _stored(function) - self._simple
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name in written and id(cell) not in self._found:
                scope = autograph.scope_of(function.__code__)
                own = scope is not None and name not in scope.outer
                self._found[id(cell)] = Found(name, Variable(name, cell), direct=True, own=own, place=None)

    def _note(self, name: str, value: Any, depth: int, *, direct: bool, own: bool, place: object) -> None:
        if isinstance(value, _KINDS):
            known = self._found.get(id(value))
            # By its end a block may have given the name to another one, which its elements' names would then mean.
            is_moving = name in self._simple and isinstance(value, (list, dict, StagedList))
            if is_moving:
                self._moving.add(name)
            if known is not None:
                known.own = known.own or own
                known.is_of_made = known.is_of_made or self._in_made
                known.written = frozenset() if is_moving else known.written
                if not any(each is place for each in known.places):
                    known.places.append(place)
                return
            if not isinstance(value, StagedList) and len(value) > _MOST_ELEMENTS:
                return
            written = frozenset() if is_moving else self._written(name)
            if written is None:
                if not isinstance(value, (list, StagedList)):
                    return
                written = frozenset()  # by an index that may be a tensor: its elements are carried as they are
            found = Found(name, value, direct=direct, own=own, place=place, written=written)
            found.is_of_made = self._in_made
            self._found[id(value)] = found
            if depth and not isinstance(value, (set, StagedList)):
                items = value.items() if isinstance(value, dict) else enumerate(contents(value))
                for key, item in items:
                    if isinstance(item, (*_KINDS, tuple)) or _is_object(item):
                        self._note(f"{name}[{key!r}]", item, depth - 1, direct=direct, own=own, place=Item(value, key))
        elif not depth:
            return
        elif isinstance(value, tuple):
            if name in self._simple:
                self._moving.add(name)
            for k, item in enumerate(value[:_MOST_ELEMENTS]):
                if isinstance(item, (*_KINDS, tuple)) or _is_object(item):
                    self._note(f"{name}[{k}]", item, depth - 1, direct=direct, own=own, place=None)
        elif isinstance(value, types.MethodType):
            if _is_object(value.__self__):
                self._note(f"{name}.__self__", value.__self__, depth, direct=False, own=own, place=None)
        elif isinstance(value, types.FunctionType):
            if not autograph.is_library(value):
                self._variables(value)
                self._closure(value, depth - 1)
        elif isinstance(attributes := getattr(value, "__dict__", None), dict) and not isinstance(
            value, (type, types.ModuleType, SymbolicTensor)
        ):
            library = autograph.is_library(type(value))
            if id(value) not in self._found and not library:
                names = () if self._is_in_moving(name) else self._names
                written = frozenset(each[len(name) + 1 :] for each in names if each.startswith(name + "."))
                held = Attributes(value)
                self._found[id(value)] = Found(name, held, direct=False, own=own, place=place, written=written)
            outer, self._in_made = self._in_made, self._in_made or was_made_here(value)
            for key, item in list(attributes.items()):
                inner = 1 if isinstance(item, _KINDS) else depth - 1
                if isinstance(item, (*_KINDS, tuple)) or (
                    _is_object(item) and not library and id(item) not in self._found
                ):
                    self._note(f"{name}.{key}", item, inner, direct=False, own=own, place=Item(attributes, key))
            self._in_made = outer

    def _written(self, name: str) -> frozenset[Any] | None:
        """Return the keys that the block's own state has, for they are written as name[key]; None if any may be."""
        keys = set()
        for covered in () if self._is_in_moving(name) else self._names:
            if covered.startswith(name + "["):
                key = covered[len(name) + 1 :].partition("]")[0]
                try:
                    keys.add(ast.literal_eval(key))
                except (ValueError, SyntaxError, TypeError):
                    return None
        return frozenset(keys)

    def _is_in_moving(self, name: str) -> bool:
        """Say whether a name is one of an element of what may move: the state has none of its parts (see `hidden`)."""
        return any(name[:at] in self._moving for at, letter in enumerate(name) if letter == "[")

    def of(self, container: object, places: Sequence[Any] = ()) -> Found | None:
        """Return what is known of a container, or of that which a variable holds, if the blocks can reach it."""
        found = self._found.get(id(container))
        if found is None and places:
            return next((each for each in self.all if each.direct and any(p is q for p in each.places for q in places)),
                        None)  # fmt: skip
        return found

    def has_other_names(self, value: object, name: str) -> bool:
        """Say whether a list or dict was there before, and is reached otherwise than by `name`, too."""
        found = self._found.get(id(value))
        if found is None or found.container is not value or not isinstance(value, (list, dict, StagedList)):
            return False
        return found.name != name or len(found.places) > 1

    def hidden(self, names: Sequence[str]) -> frozenset[int]:
        """Return the places of names that stand for elements of lists which are carried as a whole."""
        found = {each.name: each.container for each in self.all if isinstance(each.container, (list, dict, StagedList))}
        places = set()
        for k, name in enumerate(names):
            owners = [name[:at] for at, letter in enumerate(name) if letter == "["]
            if any(
                each in self._moving
                or isinstance(found.get(each), StagedList)
                or (each in found and self._written(each) is None)
                for each in owners
            ):
                places.add(k)
        return frozenset(places)

    def restore(self) -> None:
        """Let the containers, and the names that hold them, be what they were."""
        for found in self.all:
            if isinstance(found.container, (list, StagedList)):
                found.put(found.container)
            replace(found.container, found.before)

    def changed(self) -> list[Found]:
        """Return the containers whose elements have changed, but for what outer functions may log in."""
        return [
            found for found in self.all
            if not _same(found.before, contents(found.container), found.written) and (found.own or _gets_tensor(found))
        ]  # fmt: skip


def _gets_tensor(found: Found) -> bool:
    """Say whether a container has got a tensor of the graph, or has one in another place."""
    before, after = (_by_place(held) for held in (found.before, contents(found.container)))
    return any(
        isinstance(leaf, SymbolicTensor)
        for place, item in after.items()
        if place not in before or before[place] is not item
        for leaf in leaves_of(item)
    )


def _by_place(held: Any) -> dict[Any, Any]:
    """Return what a container holds by its keys, by its places in order, or for a set by what they are."""
    if isinstance(held, dict):
        return held
    return {id(item): item for item in held} if isinstance(held, set) else dict(enumerate(held))


class Left:
    """The values that tracing a statement leaves on an object, or in a variable: a graph cannot carry them."""

    def __init__(self, found: Found, held: dict[str, Any]) -> None:
        self.found = found
        self.held = held

    def put(self) -> None:
        """Let it be there."""
        container = self.found.container
        if isinstance(container, Attributes):
            vars(container.owner).update(self.held)
        else:
            container.update(self.held)


def divided(
    found: Found, ends: Sequence[dict[str, Any]], traces: Sequence[GraphTrace]
) -> tuple[list[dict[str, Any]], Left] | None:
    """Return what one iteration, or either branch, leaves by name but for what can only be left, and that.

    None where all can be carried. A tensor that is left is one of the iteration's or the branch's trace.
    """
    if not isinstance(found.container, (Attributes, Variable)):
        return None
    before = found.before
    held: dict[str, Any] = {}
    for key in dict.fromkeys(key for end in ends for key in end if key not in before or end[key] is not before[key]):
        if key in found.written:
            continue
        now = [end.get(key) for end in ends]
        either = now if len(now) > 1 else [before.get(key), *now]
        symbolic = any(isinstance(leaf, SymbolicTensor) for each in now for leaf in leaves_of(each))
        if _go_together(either[0], either[-1], [traces[0], traces[-1]]) if symbolic else found.own:
            continue
        value, trace = next((each, trace) for each, trace in reversed(list(zip(now, traces, strict=True)))
                            if each is not before.get(key))  # fmt: skip
        with entering(trace):
            held[key] = packed(value, [_leaked(leaf, trace, found.own) for leaf in leaves_of(value)])
    if not held:
        return None
    kept = [
        {**{key: item if key in held else end[key] for key, item in before.items() if key in held or key in end},
         **{key: item for key, item in end.items() if key not in before and key not in held}}
        for end in ends
    ]  # fmt: skip
    return kept, Left(found, held)


def _leaked(leaf: object, trace: GraphTrace, own: bool) -> Any:
    """Return a tensor of `trace` for one of a trace round it; of what is `own` for a number, too."""
    if isinstance(leaf, SymbolicTensor):
        return elementwise.identity(leaf) if leaf.trace is not trace and trace.reaches(leaf) else leaf
    return elementwise.identity(convert(leaf)) if own and is_tensor(leaf) and not is_variable(leaf) else leaf


def _go_together(one: object, two: object, traces: Sequence[GraphTrace]) -> bool:
    """Say whether two values can be those of one name, and can be used."""
    if one is None or two is None or same_structure(one, two) is not None:
        return False
    pairs = list(zip(leaves_of(one), leaves_of(two), strict=True))
    return all(
        is_tensor(a) and is_tensor(b) and convert(a).dtype == convert(b).dtype for a, b in pairs
    ) and all(
        trace.reaches(leaf) for pair in pairs for leaf, trace in zip(pair, traces, strict=True)
        if isinstance(leaf, SymbolicTensor)
    )  # fmt: skip


def _count(found: Found, held: Any) -> str:
    if isinstance(found.container, Variable):
        return "a value" if held else "no value"
    if isinstance(held, dict):
        return f"the {'attributes' if isinstance(found.container, Attributes) else 'keys'} {list(held)}"
    return f"{len(held)} element{'s' * (len(held) != 1)}"


def _kind(found: Found) -> str:
    if isinstance(found.container, Variable):
        return "variable"
    return "object" if isinstance(found.container, Attributes) else type(found.container).__name__


def alike(a: Any, b: Any) -> bool:
    """Say whether two states of a container have their elements in the same places."""
    if isinstance(a, set):
        return bool(a == b)
    return list(a) == list(b) if isinstance(a, dict) else len(a) == len(b)


def unlike_branches(found: Found, main: object, other: object) -> ValueError:
    """The error for a container that the branches leave with different numbers of elements."""
    kind = _kind(found)
    return ValueError(
        f"The {kind} '{found.name}' is changed in an if statement that a tensor decides{at_line()}: it has "
        f"{_count(found, main)} after the main branch and {_count(found, other)} after the else branch, and a Python "
        f"{kind} cannot depend on what the graph will run. Change it alike in "
        "both branches, or use a tensor (tf.where, tf.concat) or a tf.TensorArray."
    )


def changed_in_loop(found: Found, after: object) -> ValueError:
    """The error for a container that an iteration of a staged loop leaves with another number of elements."""
    kind = _kind(found)
    remedy = (
        f"Use a tf.TensorArray: {found.root} = tf.TensorArray(dtype, size=0, dynamic_size=True) before the loop, "
        f"{found.root} = {found.root}.write({found.root}.size(), value) in it, {found.root}.stack() after it. "
        f"(Elements appended to a list of the function itself, as many in every iteration, need no rewriting.)"
    )
    if isinstance(found.container, Attributes) and isinstance(after, dict):
        new = next((key for key in after if key not in found.before), "value")
        remedy = (
            f"Let '{found.name}.{new}' hold a tensor of that shape and dtype before the loop, or return the tensor "
            "instead of keeping it."
        )
    return ValueError(
        f"The {kind} '{found.name}' is changed in a loop that a tensor decides{at_line()}: it has "
        f"{_count(found, found.before)} before and {_count(found, after)} after an iteration, and the loop's body is "
        f"traced once. {remedy}"
    )
