"""Which lists and dicts may be one and the same, where a tensor has decided which of several a name holds.

A staged statement that may give a name another list makes a list of its own of what the name then holds. What that
stands for may have other names, of which the statement knows nothing. Rule: of two that may be one nobody may read the
one after the other has been changed in place, for a graph cannot tell whether the change is to be seen.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from fastgraph import nesting
from fastgraph._tensor import Tensor, current_trace
from fastgraph.graph.trace import GraphTrace, source_lines
from fastgraph.staging.autograph.moved import current

_MOST_ELEMENTS = 4096
_DEPTH = 3
_in_use = False  # whether a program has had lists that may be one

#: Values in which there are no lists to be read.
_NO_LISTS = (Tensor, int, float, str, type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type(None))

Path = tuple[Any, ...]


class Pair:
    """Two lists that may be one, what they held when that was found, and what an error says of them.

    Without `other`, a list that has become an element of a list of rows.
    """

    __slots__ = ("exact", "name", "one", "one_lacks", "other", "other_lacks", "place", "seen_one", "seen_other")

    def __init__(self, one: Any, other: Any, name: str, *, one_lacks: bool = False, other_lacks: bool = False) -> None:
        self.one, self.other, self.name = one, other, name
        self.one_lacks, self.other_lacks = one_lacks, other_lacks  # whether a change of the other one was not seen
        self.exact = False  # whether each shows what is done to the other
        self.place = _place()
        self.seen_one = contents(one)
        self.seen_other = None if other is None else contents(other)

    def stale(self, value: Any) -> bool:
        """Say whether the one that `value` is not has been changed."""
        if self.exact:
            return False
        if value is self.one:
            return self.one_lacks or (self.other is not None and _changed(self.other, self.seen_other))
        return self.other_lacks or _changed(self.one, self.seen_one)

    def any_stale(self) -> bool:
        """Say whether one of the two has been changed."""
        return self.other is not None and (self.stale(self.one) or self.stale(self.other))


class _Pairs:
    """The pairs of a function that is being traced, and those of each list."""

    def __init__(self) -> None:
        self.all: list[Pair] = []
        self.of: dict[int, list[Pair]] = {}

    def add(self, pair: Pair) -> None:
        self.all.append(pair)
        for each in (pair.one, pair.other):
            self.of.setdefault(id(each), []).append(pair)

    def cut(self, n: int) -> list[Pair]:
        """Forget, and return, the pairs from the n-th on."""
        gone = self.all[n:]
        for pair in reversed(gone):
            for each in (pair.other, pair.one):
                self.of[id(each)].pop()
        del self.all[n:]
        return gone


def _place() -> str:
    lines = source_lines()
    return f"{lines[0].file}:{lines[0].line}" if lines else ""


def _table(*, make: bool = False) -> _Pairs | None:
    trace: Any = current_trace()
    while trace is not None and trace.kind == "branch":
        trace = trace.parent
    if not isinstance(trace, GraphTrace):
        return None
    if trace.same_lists is None and make:
        global _in_use
        _in_use = True
        trace.same_lists = _Pairs()
    found: _Pairs | None = trace.same_lists
    return found


def is_list(value: Any) -> bool:
    """Say whether `value` is what can be changed in place and is copied by staged statements: a list or a dict."""
    return isinstance(value, (list, dict)) or hasattr(type(value), "__fg_staged_list__")


def contents(value: Any) -> Any:
    """Return a copy of what a list or dict holds."""
    return value.held() if hasattr(type(value), "__fg_staged_list__") else value.copy()


def _changed(value: Any, seen: Any) -> bool:
    now = value.held() if hasattr(type(value), "__fg_staged_list__") else value
    if len(now) != len(seen):
        return True
    if isinstance(now, dict):
        return list(now) != list(seen) or any(now[key] is not seen[key] for key in now)
    return any(a is not b for a, b in zip(now, seen, strict=True))


def _items(value: Any, held: Mapping[int, Any]) -> list[tuple[Any, Any]]:
    """Return what is directly in a list, tuple or dict, by its place; `held` tells of what has been in some of them."""
    value = held.get(id(value), value)
    if isinstance(value, dict):
        return list(value.items())
    return list(enumerate(value)) if isinstance(value, (list, tuple)) else []


def _parts(value: Any, held: Mapping[int, Any], path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """The lists and dicts that a staged statement would copy, by where they are."""
    value = current(value)
    if is_list(value):
        yield path, value
    if len(path) < _DEPTH:
        for key, item in _items(value, held)[:_MOST_ELEMENTS]:
            if is_list(item) or isinstance(item, tuple):
                yield from _parts(item, held, (*path, key))


# ---------------------------------------------------------------------------------------------------------------------
# What may be one


def mark() -> int:
    """Return what `forget` takes to forget what is found from now on."""
    table = _table() if _in_use else None
    return 0 if table is None else len(table.all)


def forget(n: int) -> list[Pair]:
    """Forget, and return, the pairs that were found after `mark`."""
    table = _table() if _in_use else None
    return [] if table is None else table.cut(n)


def again(pairs: Sequence[Pair]) -> None:
    """Know of pairs that were forgotten."""
    table = _table(make=True) if pairs else None
    for pair in pairs:
        assert table is not None
        table.add(pair)


class _Relation:
    """What `one` may be the same as, and whether either lacks a change of the other."""

    __slots__ = ("lacks", "other", "other_lacks")

    def __init__(self, other: Any, lacks: bool = False, other_lacks: bool = False) -> None:
        self.other, self.lacks, self.other_lacks = other, lacks, other_lacks


def _relations(value: Any) -> list[_Relation]:
    table = _table() if _in_use else None
    if table is None:
        return []
    pairs = [pair for pair in table.of.get(id(value), ()) if pair.other is not None and not pair.exact]
    others = [pair.other if pair.one is value else pair.one for pair in pairs]
    found = [_Relation(other, pair.stale(value), pair.stale(other)) for pair, other in zip(pairs, others, strict=True)]
    for side in _sides(value):
        found += [_Relation(side), *_relations(side)]
    return found


def _sides(value: Any) -> list[Any]:
    """Return the lists of which a list is one, and shows what is done to that."""
    choice = getattr(value, "choice", None) if hasattr(type(value), "__fg_staged_list__") else None
    return [] if choice is None else [current(side) for side in choice.sides]


def _partners(value: Any) -> list[Any]:
    return [each.other for each in _relations(value)]


def may_be_one(a: Any, b: Any) -> bool:
    """Say whether two lists are, or may be, one."""
    return a is b or any(each is b for each in _partners(a)) or any(each is a for each in _sides(b))


def _relate(new: Any, to: _Relation, name: str) -> None:
    """Note that two lists may be one; `name` is what an error calls them by."""
    table = _table(make=True)
    if table is None or new is to.other or any(each is to.other for each in _sides(new)):
        return
    known = any(each.other is to.other for each in _relations(new))
    if not known or to.lacks or to.other_lacks:
        table.add(Pair(new, to.other, name, one_lacks=to.lacks, other_lacks=to.other_lacks))


def stands_for(new: Any, old: Any, name: str) -> None:
    """Note that `new` is what `old` may have been."""
    for each in _relations(old):
        _relate(new, each, name)


def may_be(new: Any, others: Sequence[Any], name: str) -> None:
    """Note that `new` is a copy of what may be one of `others`."""
    for other in map(current, others):
        _relate(new, _Relation(other), name)


def is_exactly(value: Any, others: Sequence[Any]) -> None:
    """Note that a list shows from now on what is done to those that it may be, and they what is done to it."""
    table = _table() if _in_use else None
    for pair in () if table is None else table.of.get(id(value), ()):
        if any(each is other for each in (pair.one, pair.other) for other in others):
            pair.exact = True


def element(value: Any, name: str) -> None:
    """Note that the lists in `value` are now an element of the list of rows `name`, a copy of them."""
    for _, each in _parts(value, {}):
        table = _table(make=True)
        if table is not None and not hasattr(each, "of_list"):
            table.add(Pair(each, None, name))


def changed_element() -> Pair | None:
    """Return what tells of a list that has been changed after it had become an element of a list of rows."""
    table = _table() if _in_use else None
    pairs = [] if table is None else table.of.get(id(None), ())
    return next((pair for pair in pairs if _changed(pair.one, pair.seen_one)), None)


# ---------------------------------------------------------------------------------------------------------------------
# Reading


def check(value: Any) -> None:
    """Raise NotImplementedError where a list that is read may be one that has been changed by another name."""
    table = _table() if _in_use and not isinstance(value, _NO_LISTS) else None
    if table is None or not any(pair.any_stale() for pair in table.all):
        return
    pair = _stale(value, table, _DEPTH, set())
    if pair is not None:
        from fastgraph.staging.autograph.state import shown

        name = shown(pair.name)
        raise NotImplementedError(
            f"the {'dict' if isinstance(value, dict) else 'list'} that is read here ({_place()}) may be the one that "
            f"'{name}' holds, or has held, in the staged statement of {pair.place}, and one of the two has "
            f"been changed in place: a tensor decides whether the change is to be seen here. Give each name a list of "
            f"its own before that statement, other = list({name}), or do not change it in place: "
            f"{name} = {name} + [value]"
        )


def in_use() -> bool:
    """Say whether a program has had lists that may be one."""
    return _in_use


def _stale(value: Any, table: _Pairs, depth: int, seen: set[int]) -> Pair | None:
    value = current(value)
    if id(value) in seen:
        return None
    seen.add(id(value))
    if is_list(value):
        for pair in table.of.get(id(value), ()):
            if pair.stale(value):
                return pair
    for side in _sides(value):  # it is read as one of these
        found = _stale(side, table, depth, seen)
        if found is not None:
            return found
    if depth:
        for each in _inside(value):
            found = _stale(each, table, depth - 1, seen)
            if found is not None:
                return found
    return None


def _inside(value: Any) -> Sequence[Any]:
    """Return what is read with `value`: the elements of lists, tuples and dicts, the attributes of objects."""
    if isinstance(value, (list, tuple)):
        return value[:_MOST_ELEMENTS]
    if isinstance(value, dict):
        return list(value.values())[:_MOST_ELEMENTS]
    if isinstance(value, _NO_LISTS):
        return ()
    attributes = getattr(value, "__dict__", None)
    own = isinstance(attributes, dict) and not type(value).__module__.startswith(("fastgraph", "builtins", "numpy"))
    return list(attributes.values()) if own else ()  # type: ignore[union-attr]


# ---------------------------------------------------------------------------------------------------------------------
# Where two branches meet


def joined(main: Any, other: Any, made: Any, held_main: Mapping[int, Any], held_other: Mapping[int, Any]) -> Any:
    """Return what a name holds after a conditional with the lists that it holds after both branches as they are.

    `made` is a copy of `main` and `other`; what these have left in lists is in `held_main` and `held_other`.
    """
    main, other = current(main), current(other)
    if main is other and is_list(main):
        return main
    if not isinstance(made, (list, tuple, dict)):
        return made
    ends = [dict(_items(side, held)) for side, held in ((main, held_main), (other, held_other))]
    if any(not isinstance(side, (list, tuple, dict)) or len(end) != len(made)
           for side, end in zip((main, other), ends, strict=True)):  # fmt: skip
        return made
    one, two = ends
    items = _items(made, {})
    return _with(made, {key: joined(one.get(key), two.get(key), item, held_main, held_other) for key, item in items})


def _with(made: Any, items: dict[Any, Any]) -> Any:
    """Return a list, tuple or dict with other items in the places of its own; a list or dict gets them itself."""
    if all(item is items[key] for key, item in _items(made, {})):
        return made
    if isinstance(made, tuple):
        return nesting.rebuilt(made, list(items.values()))
    base: Any = list if isinstance(made, list) else dict
    for key, item in items.items():
        base.__setitem__(made, key, item)
    return made


def mapped(value: Any, function: Callable[[Any, Any], Any]) -> Any:
    """Return a list, tuple or dict with function(key, item) for each item; a list or dict gets them itself."""
    return _with(value, {key: function(key, item) for key, item in _items(value, {})})


def decided(results: Sequence[tuple[str, Any, Sequence[Any]]], held: Sequence[Mapping[int, Any]] = ({}, {})) -> None:
    """Note what the lists that a statement has made may be: for each name what it holds now, and at either end."""
    new: list[tuple[Any, _Relation, str]] = []
    made: list[tuple[str, Any, list[Any]]] = []
    for name, value, ends in results:
        lists = [dict(_parts(end, each)) for end, each in zip(ends, held, strict=False)]
        for path, part in _parts(value, {}):
            may_be = [each.get(path) for each in lists]
            if not any(part is each for each in may_be):
                made.append((name, part, may_be))
    for k, (name, part, may_be) in enumerate(made):
        for each in may_be:
            if each is not None:
                new += [(part, one, name) for one in (_Relation(each), *_relations(each))]
        for _, part_2, may_be_2 in made[:k]:
            if any(a is not None and b is not None and may_be_one(a, b) for a, b in zip(may_be, may_be_2, strict=True)):
                new.append((part, _Relation(part_2), name))
    for one, relation, name in new:
        _relate(one, relation, name)


def of_contents(name: str, value: Any, ends: Sequence[Any]) -> list[tuple[str, Any, Sequence[Any]]]:
    """Return what `decided` takes for what is in a list or dict that stays the same one, and its contents change."""
    sides = [dict(_items(end, {})) for end in ends]
    return [(name, item, [side.get(key) for side in sides]) for key, item in _items(value, {})
            if is_list(item) or isinstance(item, tuple)]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Loops

_Slot = tuple[int, Path]


class LoopLists:
    """The lists that a loop's names hold: before the loop, in place of these in its body, and after an iteration.

    `same` are places whose lists may be one in a later iteration: what an earlier trace of the body has found; `outer`
    are places that may then hold lists of before the loop, and which. Of the values those from `n_names` on are the
    contents of lists and dicts, which stay the same lists and dicts.
    """

    def __init__(
        self,
        names: Sequence[str],
        starts: Sequence[Any],
        placed: Sequence[Any],
        same: set[tuple[_Slot, _Slot]],
        outer: dict[tuple[_Slot, int], Any],
        n_names: int,
    ) -> None:
        self.names = names
        self.same = same
        self.n_names = n_names
        self.mark = mark()
        self.starts = self._lists(starts)
        self.placed = self._lists(placed)
        self.seen = {slot: contents(each) for slot, each in self.placed.items()}
        for (slot, _), other in outer.items():
            if slot in self.placed:
                _relate(self.placed[slot], _Relation(other), names[slot[0]])
        self.outer = outer
        self.ends: dict[_Slot, Any] = {}
        self.in_body: list[tuple[Any, Any, bool, bool]] = []
        results = [(name, value, (start,)) for name, value, start in zip(names, placed, starts, strict=True)]
        decided(results[:n_names])
        for result in results[n_names:]:
            decided(of_contents(*result))
        for one, two in same:
            if one in self.placed and two in self.placed:
                _relate(self.placed[one], _Relation(self.placed[two]), names[one[0]])

    def _lists(self, values: Sequence[Any]) -> dict[_Slot, Any]:
        return {(k, path): each for k, value in enumerate(values) for path, each in _parts(value, {})
                if path or k < self.n_names}  # fmt: skip

    def body_ends(self) -> None:
        """Note which lists may be one, and lack changes, at the body's end, before what it changes is put back."""
        table = _table() if _in_use else None
        found = [] if table is None else table.all[self.mark :]
        self.in_body = [(pair.one, pair.other, pair.stale(pair.one), pair.stale(pair.other))
                        for pair in found if pair.other is not None]  # fmt: skip

    def _relations_in_body(self, value: Any) -> list[_Relation]:
        found = [_Relation(other, lacks, lacked) for one, other, lacks, lacked in self.in_body if one is value]
        return found + [_Relation(one, lacked, lacks) for one, other, lacks, lacked in self.in_body if other is value]

    def iterated(self, values: Sequence[Any], reached: Sequence[Any]) -> bool:
        """Note what an iteration leaves; say whether more may be one than the body was traced with.

        `reached` are the lists that were there before and that the blocks reach.
        """
        self.ends = self._lists(values)
        self.came_from = {
            slot: [other for other, each in self.placed.items() if may_be_one(end, each)]
            for slot, end in self.ends.items()
        }
        found: set[tuple[_Slot, _Slot]] = set()
        slots = list(self.ends)
        before = -1
        while len(found) > before:
            before = len(found)
            found |= {(p, q) for k, p in enumerate(slots) for q in slots[:k] if self._may_be_one(p, q, found)}
        new = {pair for pair in found if all(each in self.placed for each in pair)} - self.same
        new = {(p, q) for p, q in new if not may_be_one(self.placed[p], self.placed[q])}
        self.same |= new
        self.found = found
        more = {
            (slot, id(each)): each
            for slot, end in self.ends.items()
            for each in reached
            if slot in self.placed and is_list(each) and may_be_one(end, each)
            and not may_be_one(self.placed[slot], each)
        }  # fmt: skip
        self.outer.update(more)
        return bool(new or more)

    def _may_be_one(self, p: _Slot, q: _Slot, found: set[tuple[_Slot, _Slot]]) -> bool:
        if may_be_one(self.ends[p], self.ends[q]):
            return True
        return any((a, b) in found or (b, a) in found for a in self.came_from[p] for b in self.came_from[q] if a != b)

    def _is_kept(self, slot: _Slot, made: Any) -> bool:
        """Say whether a place holds in every iteration the list that it has held before the loop."""
        start = self.starts.get(slot)
        return (
            slot in self.placed and self.ends.get(slot) is self.placed[slot] and isinstance(start, (list, dict))
            and isinstance(made, (list, dict)) and len(start) == len(made)
        )  # fmt: skip

    def after(self, values: Sequence[Any]) -> list[Any]:
        """Return what the names hold after the loop: lists that stay the same are those from before it."""
        self.kept: set[int] = set()
        return [self._after((k, ()), value) for k, value in enumerate(values)]

    def _after(self, slot: _Slot, made: Any) -> Any:
        if slot in self.starts and self.starts[slot] is made:
            return made
        made = _with(made, {
            key: self._after((slot[0], (*slot[1], key)), item) if is_list(item) or isinstance(item, tuple) else item
            for key, item in _items(made, {})[:_MOST_ELEMENTS]
        }) if isinstance(made, (list, tuple, dict)) else made  # fmt: skip
        if not self._is_kept(slot, made):
            return made
        start, placed = self.starts[slot], self.placed[slot]
        self.kept.add(id(placed))
        if _changed(placed, self.seen[slot]):
            if isinstance(start, list):
                list.__setitem__(start, slice(None), made)
            else:
                dict.clear(start)
                dict.update(start, made)
        return start

    def finish(self, values: Sequence[Any]) -> None:
        """Note what the lists that the names now hold may be."""
        in_body = forget(self.mark)
        now = self._lists(values)
        made = [slot for slot, each in now.items() if each is not self.starts.get(slot)]
        new: list[tuple[Any, _Relation, str]] = []
        for slot in made:
            for origin in self._origins(slot):
                start, end = self.starts.get(origin), self.ends.get(origin)
                relations = [] if start is None else [_Relation(start), *_relations(start)]
                relations += [] if end is None else [_Relation(end), *self._relations_in_body(end)]
                new += [(now[slot], each, self.names[slot[0]]) for each in relations]
        again([pair for pair in in_body if id(pair.one) not in self.kept and id(pair.other) not in self.kept])
        for k, p in enumerate(made):
            for q in made[:k]:
                starts = [self.starts[each] for each in (p, q) if each in self.starts]
                if (p, q) in self.found or (q, p) in self.found or (len(starts) == 2 and may_be_one(*starts)):
                    new.append((now[p], _Relation(now[q]), self.names[p[0]]))
        for slot, placed in self.placed.items():  # what may be any of these lists has been changed
            if id(placed) not in self.kept and self._is_changed(slot):
                starts = [self.starts[origin] for origin in self._origins(slot) if origin in self.starts]
                lacking = [other for start in starts for other in (start, *_partners(start))]
                new += [(placed, _Relation(other, other_lacks=True), self.names[slot[0]]) for other in lacking]
        for one, relation, name in new:
            _relate(one, relation, name)

    def _is_changed(self, slot: _Slot) -> bool:
        """Say whether the body changes the list that a place holds where an iteration begins."""
        placed = self.placed[slot]
        return _changed(placed, self.seen[slot]) or any(each.lacks for each in self._relations_in_body(placed))

    def _origins(self, slot: _Slot) -> set[_Slot]:
        """Return the places of which a place may hold the list after the loop."""
        slots, left = {slot}, [slot]
        while left:
            more = [source for source in self.came_from.get(left.pop(), ()) if source not in slots]
            slots.update(more)
            left += more
        return slots
