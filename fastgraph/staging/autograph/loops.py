"""Staged loops: a while node over the names that the loop may assign, whatever these held before.

Rule: the body is traced with what is known of the state; where an iteration shows that it was wrong (a name it defines,
a list it appends to, an option it sets) the trace is dropped, the plan mended, and the body traced again.
"""

from __future__ import annotations

import reprlib
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NoReturn

from fastgraph import dtype as dtypes
from fastgraph import nesting
from fastgraph._tensor import convert, current_trace
from fastgraph.errors import InvalidArgumentError
from fastgraph.graph.branches import closed, make_while, subgraph_name
from fastgraph.graph.differentiate import entering
from fastgraph.graph.recursion import Unknown
from fastgraph.graph.trace import GraphTrace, reserved
from fastgraph.ops import comparison, elementwise
from fastgraph.shapes import Aval, TensorShape, generalises
from fastgraph.staging.autograph import identity, options
from fastgraph.staging.autograph.again import check_left
from fastgraph.staging.autograph.builtins import decisive
from fastgraph.staging.autograph.carried import AsRows, Carried, CarriedLists, Define, Peel, Revise, Together, together
from fastgraph.staging.autograph.chosen import settled
from fastgraph.staging.autograph.containers import (
    Containers,
    Found,
    alike,
    changed_in_loop,
    contents,
    replace,
)
from fastgraph.staging.autograph.elements import one_of_several
from fastgraph.staging.autograph.growing import MOST_LISTS, UNLIKE, Grow, added, grow, grown, owner_of, owning
from fastgraph.staging.autograph.identity import LoopLists
from fastgraph.staging.autograph.left import Left, divided, is_keyed, leaked, leaked_elements
from fastgraph.staging.autograph.lists import StagedList
from fastgraph.staging.autograph.moved import Moved
from fastgraph.staging.autograph.rows import check_dtypes, check_shapes
from fastgraph.staging.autograph.state import (
    Perhaps,
    both,
    condition,
    inner,
    is_tensor,
    is_undefined,
    leaves_of,
    not_begun,
    of_states,
    same_structure,
    told,
    user_place,
    without,
)  # fmt: skip
from fastgraph.staging.autograph.uneven_lists import PIECES, Numbers, UnevenList, can_be_rows, end_to_end, may_differ

_MOST_REVISIONS = 50


class _Appended:
    """A list that every iteration appends as many elements to."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.structure: Any = None
        self.per_iteration = 0
        self.uneven: list[bool] = []  # whether the elements' tensors in a place may differ in shape
        self.as_rows: list[bool] = []  # whether they may have one shape
        self.recorder: Any = None  # what the body reaches in its place
        self.start = contents(found.container)
        self.held_at: list[Any] = []  # where an iteration leaves the list itself

    def look(self, elements: Sequence[Any]) -> None:
        """Note what is known of the shapes of the elements."""
        columns = list(zip(*map(nesting.flatten, elements), strict=True))
        self.as_rows = [can_be_rows(column) for column in columns]
        self.uneven = [may_differ(column) for column in columns]

    def taken_back(self) -> None:
        """Let what reaches the recorder reach the list again."""
        for place in self.found.places:
            if place.cell_contents is self.recorder:
                place.cell_contents = self.found.container


class Loop:
    """One loop that a tensor decides: `test(counter)` and `body(counter)` read and write the user's names."""

    _local = threading.local()

    def __init__(
        self,
        test: Callable[[Any], Any],
        body: Callable[[Any], Any],
        blocks: Sequence[Callable[..., Any]],
        get_state: Any,
        set_state: Any,
        names: Sequence[str],
        kind: str,
    ) -> None:
        self.test = test
        self.body = body
        self.blocks = blocks
        self.get_state, self.set_state = of_states(get_state, set_state)
        self._all_state = self.get_state
        self.names = names
        self.kind = kind
        self.options = options.LoopOptions()
        self.peeled = 0  # iterations that stand before the loop

    @classmethod
    def depth(cls) -> int:
        """Return how many staged loops this thread is tracing the body of."""
        return getattr(cls._local, "depth", 0)

    def stage(self, counter: Any, *, at_least_once: bool = False, relax: bool = False) -> None:
        """Trace the loop as a while node and give the names what it leaves; `counter` is where a for begins.

        `relax` lets shapes vary from one iteration to the next as they do.
        """
        self.relax = relax
        self.at_least_once = at_least_once
        for _ in range(MOST_LISTS):
            self.known = identity.mark()
            containers = Containers(self.blocks, self.names)
            self.hidden = containers.hidden(self.names)
            self.options = options.LoopOptions()  # shape invariants are of what the loop carries
            self._begin()
            self.carried = [self._carried(k) for k in range(len(self.names))]
            for carried, value in zip(self.carried, self.start, strict=True):
                carried.of_several = containers.others(value, [carried.name])
            self.appended: list[_Appended] = []
            self.same: set[Any] = set()
            self.outer: dict[Any, Any] = {}
            with owning(containers) as self.owner:
                try:
                    self._revised(counter)
                except Grow as revision:
                    wanted = revision
                else:
                    return
            self._reset()
            grown(wanted, self.owner)
        raise wanted.refused

    def _begin(self) -> None:
        """Take what the names hold before the loop, but for elements of lists that are carried as a whole."""
        self.get_state = without(self._all_state, self.hidden, self.names)
        self.start = tuple(self.get_state())

    def _carried(self, k: int) -> Carried:
        return Carried(self.names[k], self.start[k], lambda: self.get_state()[k], lambda _: None)

    def _as_rows(self, revision: AsRows) -> None:
        """Carry lists as rows, and their elements no more as names of their own."""
        place = self.carried.index(revision.carried)
        made = self.carried[place] = CarriedLists(revision.carried, revision.value, revision.paths)
        inside = [k for k, name in enumerate(self.names) if made.rows.has_element(name) and k not in self.hidden]
        self.hidden |= frozenset(inside)
        self._begin()
        for k in inside:
            self.carried[k] = self._carried(k)

    def _revised(self, counter: Any) -> None:
        """Trace the loop until it is as an iteration leaves it."""
        for _ in range(_MOST_REVISIONS + len(self.names)):
            self.containers = Containers(self.blocks, self.names)
            try:
                self._stage(counter)
            except Together as revision:
                self._reset()
                for each in revision.revisions:
                    if isinstance(each, Define):
                        each.carried.define()
            except AsRows as revision:
                self._reset()
                self._as_rows(revision)
            except Peel:
                self._reset()
                self._peel(counter)
                return
            except Revise:
                self._reset()
            except (
                Unknown
            ) as unknown:  # the body calls what is being traced: what is known is the loop that has no iteration
                unknown.left_out()
                self._reset()
                return
            else:
                return
        raise TypeError(f"the state of this {self.kind} loop changes its structure in every iteration")

    def _reset(self) -> None:
        identity.forget(self.known)
        self.set_state(self.start)
        self.containers.restore()

    # -- one attempt

    def _put(self, tensors: Sequence[Any]) -> None:
        """Give the names, and the containers that are carried, the values that are in these tensors."""
        self._place(self._values(tensors))

    def _values(self, tensors: Sequence[Any]) -> list[Any]:
        """Return what the names, and then the containers that are carried, hold with these tensors."""
        rest = list(tensors)
        values = []
        for carried in self.carried:
            n = len(carried.tensors())
            value = carried.filled(rest[:n])
            if carried.of_several:
                value = one_of_several(value, carried.name)
            del rest[:n]
            values.append(value)
        return values

    def _place(self, values: Sequence[Any]) -> None:
        self._placed = values
        self.set_state(tuple(values[: len(self.names)]))
        for carried, value in zip(self.carried[len(self.names) :], values[len(self.names) :], strict=True):
            carried.put(value)

    def _stage(self, counter: Any) -> None:
        outer = current_trace()
        assert isinstance(outer, GraphTrace)
        limit = self._limit()
        own = [] if counter is None else [counter]
        if limit is not None:
            own = [*own, convert(0, dtypes.int64)]
        n_own = len(own)
        flat = [*own, *(tensor for carried in self.carried for tensor in carried.tensors())]
        avals = [*(Aval(t.dtype, t.aval.shape) for t in own), *(a for carried in self.carried for a in carried.avals())]
        if not flat:  # a loop of effects alone carries a number, for a while node carries something
            flat, avals, n_own = [convert(0)], [Aval(dtypes.int32, ())], 1

        def arguments(trace: GraphTrace) -> list[Any]:
            inputs = [trace.add_input(aval, "Placeholder") for aval in avals]
            self._put(inputs[n_own:])
            return inputs

        scope = reserved(outer, "while")
        test_trace = GraphTrace(subgraph_name(f"{scope}_cond"), parent=outer, kind="branch")
        test_trace.scope = f"{scope}/"
        with entering(test_trace):
            inputs = arguments(test_trace)
            goes_on = self._goes_on(inputs, n_own, limit)
        closed(test_trace, lambda: [goes_on])

        body_trace = GraphTrace(subgraph_name(f"{scope}_body"), parent=outer, kind="branch")
        body_trace.scope = f"{scope}/"
        with entering(body_trace):
            inputs = arguments(body_trace)
            lists = self._names_of_lists()
            after, rows = self._iteration(inputs, n_own, counter is not None, lists)
            wholes, pieces = self._pieces()
        closed(body_trace, lambda: [*after, *rows, *pieces])
        if self.left:
            recorders = [appended.recorder for appended in self.appended]

            def test(inputs: list[Any]) -> list[Any]:
                return [self._goes_on(inputs, n_own, limit)]

            def body(inputs: list[Any]) -> list[Any]:
                again = self._run(None if counter is None else inputs[0])
                values = self._after(inputs, n_own)[1]
                pairs = zip(self.appended, again, strict=True)
                return [*values, *(row for appended, new in pairs for row in _rows(appended, new)), *self._pieces()[1]]

            blocks = [(test_trace, test), (body_trace, body)]
            check_left(self.left, blocks, avals, lambda inputs: self._put(inputs[n_own:]), self.containers)
            for appended, recorder in zip(self.appended, recorders, strict=True):
                appended.recorder = recorder
        results = body_trace.graph.outputs
        vectors = tuple(range(len(after) + len(rows), len(results), PIECES))
        for whole, k in zip(wholes, vectors, strict=True):
            body_trace.flattened[whole.value] = results[k], results[k + 1]
        outputs = make_while(test_trace, body_trace, flat, name=scope, joined=vectors)
        values = self._values(outputs[n_own : len(flat)])
        held = lists.after(list(map(inner, values)))
        for k, value in enumerate(values):
            if isinstance(value, Perhaps):
                value.value = held[k]
            else:
                values[k] = held[k]
        self._place(values)
        self._fill(list(outputs[len(flat) :]))
        for left in self.left:
            left.put()
        lists.finish(held)
        if self.at_least_once:
            self.set_state(tuple(
                value.value if isinstance(value, Perhaps) and carried.sure else value
                for value, carried in zip(self.get_state(), self.carried, strict=False)
            ))  # fmt: skip

    def _names_of_lists(self) -> LoopLists:
        """Return what tells of the lists that the names, and the containers that are carried, hold."""
        starts = [*self.start, *(carried.before for carried in self.carried[len(self.names) :])]
        names = [carried.name for carried in self.carried]
        return LoopLists(
            names, list(map(inner, starts)), list(map(inner, self._placed)), self.same, self.outer, len(self.names)
        )

    def _read_again(self) -> None:
        """Read what the names hold, and what blocks reach otherwise, as the next iteration does."""
        for value in self.get_state():
            identity.check(inner(value))
        for found in self.containers.all:
            if self.containers.others(found.container, self.names):
                identity.check(found.container)

    def _goes_on(self, inputs: list[Any], n_own: int, limit: Any) -> Any:
        """Return what the test gives, as long as there are iterations left."""
        for appended in self.appended:  # a test that reads the list needs its length
            self._append_to(appended)
        try:
            goes_on = condition(decisive(self.test(inputs[0])), f"{self.kind} statement")
        finally:
            for appended in self.appended:
                appended.taken_back()
        return goes_on if limit is None else both(comparison.less(inputs[n_own - 1], limit), goes_on)

    def _run(self, counter: Any, lists: LoopLists | None = None) -> list[StagedList]:
        """Run the body; return what it has appended to."""
        recorders = [self._append_to(appended) for appended in self.appended]
        local = self._local
        local.depth = self.depth() + 1
        try:
            with options.staged_loop(self):
                self.body(counter)
                state = self.get_state()
                left = tuple(map(settled, state))
                if any(new is not value for new, value in zip(left, state, strict=True)):
                    self.set_state(left)
                if lists is not None and identity.in_use():
                    self._read_again()
                    lists.body_ends()
        finally:
            local.depth -= 1
            for appended in self.appended:
                appended.taken_back()
                appended.held_at = appended.found.held_at()
        return recorders

    def _iteration(
        self, inputs: list[Any], n_own: int, is_counted: bool, lists: LoopLists
    ) -> tuple[list[Any], list[Any]]:
        try:
            recorders = self._run(inputs[0] if is_counted else None, lists)
        finally:
            changed = self.containers.changed()
            held = {id(found.container): contents(found.container) for found in changed}
            for found in changed:
                if not any(c.name == found.name for c in self.carried[len(self.names) :]):
                    replace(found.container, found.before)
        self.left: list[Left] = []
        together(partial(self._left_or_followed, found, held[id(found.container)]) for found in changed)
        self._grow_lists()
        for carried, value in zip(self.carried, self.get_state(), strict=False):
            if not carried.of_several and self.containers.others(value, self.names):
                carried.of_several = True
                raise Revise
        values, after = self._after(inputs, n_own)
        reached = [found.container for found in self.containers.all]
        reached = [each for each in reached if self.containers.others(each, self.names)]
        if lists.iterated(list(map(inner, values)), reached):
            raise Revise
        return after, [
            row for appended, new in zip(self.appended, recorders, strict=True) for row in _rows(appended, new)
        ]

    def _after(self, inputs: list[Any], n_own: int) -> tuple[list[Any], list[Any]]:
        """Return what names and containers hold after an iteration, and that as tensors, after the loop's own."""
        after = [elementwise.add(inputs[k], 1) for k in range(n_own)]
        values = [*self.get_state(), *(carried.get() for carried in self.carried[len(self.names) :])]
        for tensors in together(
            partial(carried.after, value, self.relax) for carried, value in zip(self.carried, values, strict=True)
        ):
            after += tensors
        return values, after

    # -- what is left as it is

    def _left_or_followed(self, found: Found, after: Any) -> None:
        """Leave what an iteration did to a container, or carry it."""
        rest = self._leave(found, after)
        if rest is not None:
            self._follow(found, rest)

    def _leave(self, found: Found, after: Any) -> Any:
        """Note what an iteration leaves that cannot be carried; return what can be, None where that is nothing."""
        trace = current_trace()
        assert isinstance(trace, GraphTrace)
        refused = changed_in_loop(found, after)
        if type(found.container) is list:
            if alike(found.before, after) or owner_of(found) is not None or found.name in self.names:
                return after
            if any(isinstance(each, (StagedList, Moved)) for each in after):
                return after
            self.left.append(Left(found, leaked_elements(found, after, trace), refused))
            return None
        parts = divided(found, after) if is_keyed(found) else None
        if parts is None or not parts[1]:
            return after
        kept, held = parts
        held = {key: leaked(item, trace, own=found.own) for key, item in held.items()}
        self.left.append(Left(found, held, refused))
        carried = any(carried.name == found.name for carried in self.carried[len(self.names) :])
        return kept if carried or any(item is not found.before[key] for key, item in kept.items()) else None

    def _pieces(self) -> tuple[list[Any], list[Any]]:
        """Return an iteration's elements whose shapes may differ, end to end, and what it gives of each of these."""
        wholes, found = [], []
        for appended in self.appended:
            for k, uneven in enumerate(appended.uneven):
                if uneven:
                    whole, pieces = end_to_end([nesting.flatten(each)[k] for each in appended.recorder.new])
                    wholes.append(whole)
                    found += pieces
        return wholes, found

    # -- containers

    def _grow_lists(self) -> None:
        """Have the length of a list be a tensor that an iteration assigns and makes longer in place (by +=)."""
        for placed, start, value in zip(self._placed, self.start, self.get_state(), strict=False):
            if value is placed and type(start) is list and type(value) is list and len(value) != len(start):
                found = self.owner.containers.of(start)
                if found is not None:
                    grow(found, added(found, value[len(start) :]), changed_in_loop(found, value))

    def _follow(self, found: Found, after: Any) -> None:
        """Carry a container that an iteration has changed. Raises ValueError where that cannot be."""
        if type(found.container) is list and any(isinstance(each, Moved) for each in after):
            grow(found, added(found, after), changed_in_loop(found, after))
        known = next((each for each in self.carried[len(self.names) :] if each.name == found.name), None)
        if (known is not None or is_keyed(found)) and not alike(found.before, after):
            raise changed_in_loop(found, after)
        before = self._changed_in(found, after, known) if is_keyed(found) else None
        if known is not None:
            if before is None or before.keys() == known.value.keys():
                return
            self.carried.remove(known)
        if alike(found.before, after) and not isinstance(found.before, set):
            container = found.container
            carried = Carried(found.name, found.before, lambda: _carried_of(found),
                               lambda held: replace(container, held))  # fmt: skip
            if before is not None:
                carried = Carried(found.name, before, lambda: {key: _carried_of(found)[key] for key in before},
                                   lambda held: replace(container, {**found.before, **held}))  # fmt: skip
            if isinstance(container, StagedList) and not container.tracing:
                carried.begin(found.before, container.shapes_of(found.before))
            self.carried.append(carried)
            raise Revise
        refused = changed_in_loop(found, after)
        if not isinstance(found.container, (list, StagedList)):
            raise refused
        new = after[len(found.before) :]
        if any(isinstance(each, StagedList) for each in new):
            raise ValueError(
                f"The list '{found.name}' gets an element ({user_place()}) that is a list itself, of a length that is "
                "unknown while tracing: stack its elements, if they are as many in every iteration, tf.stack(element)"
            )
        owned = owner_of(found)
        grows = isinstance(found.container, list) and new and all(
            a is b for a, b in zip(found.before, after, strict=False)
        )  # fmt: skip
        if not grows or not found.places or found.name in self.names or (owned and owned[0] is not self.owner):
            grow(found, added(found, after), refused)
        if owned is None:  # it would keep tensors of this graph when the graph is made
            raise ValueError(
                f"The list '{found.name}' is appended to in a staged loop, and is none of this function's own: make it "
                "in the function that is traced, and return it or tf.stack of it."
            )
        appended = _Appended(found)
        appended.structure, appended.per_iteration = new[0], len(new)
        for element in [*found.before, *new]:
            if same_structure(new[0], element) is not None or not all(map(is_tensor, nesting.flatten(element))):
                grow(found, UNLIKE, refused)
        appended.look([*found.before, *new])
        try:
            check_dtypes([*found.before, *new], found.name)
            if not all(a or b for a, b in zip(appended.as_rows, appended.uneven, strict=True)):
                check_shapes([*found.before, *new], found.name)
        except (TypeError, ValueError) as error:
            grow(found, UNLIKE, error)
        self.appended.append(appended)
        raise Revise

    @staticmethod
    def _changed_in(found: Found, after: Any, known: Carried | None) -> dict[str, Any]:
        """Return what of a container by name is to be carried, as it is before the loop."""
        return {
            key: item for key, item in found.before.items()
            if after[key] is not item or (known is not None and key in known.value)
        }  # fmt: skip

    def _append_to(self, appended: _Appended) -> StagedList:
        found = appended.found

        def read() -> NoReturn:
            grow(found, appended.structure, ValueError(
                f"The list '{found.name}' is read in the staged loop that appends to it, whose body is traced once: "
                "use a tf.TensorArray, or carry what you read in a variable of its own."
            ))  # fmt: skip

        recorder = StagedList(found.name, on_read=read, origin=found.container)
        identity.stands_for(recorder, found.container, found.name)
        found.put(recorder)
        appended.recorder = recorder
        return recorder

    def _fill(self, stacks: list[Any]) -> None:
        """Give the names of the lists that were appended to what the loop has appended."""
        from fastgraph.ops import joining, movement

        n_rows = sum(sum(appended.as_rows) for appended in self.appended)
        pieces = stacks[n_rows:]
        for appended in self.appended:
            leaves = nesting.flatten(appended.structure)
            rows = []
            numbers: list[Numbers | None] = []
            for k, _ in enumerate(leaves):
                numbers.append(None)
                if appended.uneven[k]:
                    vector, _, shapes = pieces[:PIECES]
                    del pieces[:PIECES]
                    first = [nesting.flatten(element)[k] for element in appended.start]
                    new = [nesting.flatten(element)[k] for element in appended.recorder.new]
                    numbers[-1] = of_leaf = Numbers.of_loop(first, vector, shapes, new)
                    if not appended.as_rows[k]:
                        rows.append(of_leaf.whole())
                        continue
                stack = stacks.pop(0)
                if appended.per_iteration > 1:  # [iterations, per iteration, ...]
                    shape = movement.shape(stack)
                    stack = movement.reshape(stack, joining.concat([[-1], shape[2:]], 0))
                if appended.start:
                    first = joining.stack([nesting.flatten(element)[k] for element in appended.start])
                    stack = joining.concat([convert(first, stack.dtype), stack], 0)
                rows.append(stack)
            found = appended.found
            staged: StagedList
            if any(appended.uneven):
                staged = UnevenList(found.name, appended.structure, rows, numbers)
            else:
                staged = StagedList(found.name, appended.structure, rows)
            for place in appended.held_at:
                place.cell_contents = staged
            identity.stands_for(staged, found.container, found.name)
            list.__setitem__(found.container, slice(None), [Moved(found.name, staged)])

    # -- the first iteration before the loop

    def _peel(self, counter: Any) -> None:
        """Run the first iteration under a condition, and the loop after it if it ran."""
        from fastgraph.staging.autograph.statements import staged_if

        goes_on = condition(decisive(self.test(counter)), f"{self.kind} statement")
        limit = self._limit()
        if limit is not None:
            goes_on = both(comparison.less(0, limit), goes_on)

        sure = set()

        def first() -> None:
            self._local.depth = self.depth() + 1
            try:
                with options.unstaged_loop():
                    self.body(counter)
            finally:
                self._local.depth -= 1
            for k, value in enumerate(self.get_state()):
                if not isinstance(value, Perhaps):
                    sure.add(k)

        staged_if(goes_on, first, lambda: None, self.get_state, self.set_state, self.names, range(len(self.names)),
                  lenient=True, blocks=self.blocks)  # fmt: skip
        before = self.start
        values = list(self.get_state())
        whys = {}
        for k, value in enumerate(values):
            if isinstance(value, Perhaps) and k in sure and (before[k] is None or is_undefined(before[k])):
                whys[k] = not_begun(self.names[k])
                values[k] = value.value  # defined in the loop, which runs only after the first iteration
        self.set_state(tuple(values))
        test = self.test

        def next_test(i: Any) -> Any:
            from fastgraph.staging.autograph.builtins import and_

            return and_(lambda: goes_on, lambda: test(i))

        rest = Loop(next_test, self.body, self.blocks, self.get_state, self.set_state, self.names, self.kind)
        rest.peeled = self.peeled + 1  # its body sets the options again
        rest.stage(None if counter is None else elementwise.add(counter, 1), relax=self.relax)
        self.set_state(tuple(
            Perhaps(value, goes_on, whys[k]) if k in whys else value for k, value in enumerate(self.get_state())
        ))  # fmt: skip

    # -- options

    def _limit(self) -> Any:
        """Return how many iterations may run at most, an int64 scalar; None where nothing was said."""
        limit = self.options.maximum_iterations
        if limit is None:
            return None
        try:
            limit = convert(limit, dtypes.int32)
        except (TypeError, ValueError) as error:
            raise type(error)(f"maximum_iterations: {error}") from None
        if limit.shape.rank:
            raise InvalidArgumentError(None, None, f"maximum_iterations must be a scalar, got shape {limit.shape}")
        whole = elementwise.cast(limit, dtypes.int64)
        return elementwise.subtract(whole, self.peeled) if self.peeled else whole

    def set_options(self, new: options.LoopOptions) -> None:
        """Take the options that the body sets; raises Revise where they are not those it is traced with."""
        if self.options.given:
            return
        self.options = new
        for value, shape in new.shape_invariants:
            self._invariant(value, shape)
        raise Revise

    def _invariant(self, value: Any, shape: Any) -> None:
        current = self.get_state()
        for carried, held in zip(self.carried, current, strict=False):
            if held is value or (isinstance(held, Perhaps) and held.value is value):
                leaves = carried.leaves
                given = leaves_of(shape) if nesting.is_nested(value) else [shape]
                if len(given) != len(leaves):
                    raise ValueError(f"shape_invariants: {told(carried.name)} has {len(leaves)} tensors, and "
                                     f"{len(given)} shapes are given")  # fmt: skip
                wanted = [TensorShape(getattr(each, "shape", each)) for each in given]
                for leaf, dims in zip(leaves, wanted, strict=True):
                    tensor = convert(leaf)
                    if not generalises(_dims(dims), tensor.aval.shape):
                        raise ValueError(
                            f"The shape invariant {dims} given for {told(carried.name)} does not allow the shape "
                            f"{tensor.shape} with which it enters the loop."
                        )
                carried.shapes = [_dims(dims) for dims in wanted]
                return
        raise ValueError(
            f"shape_invariants: {reprlib.repr(value)} is not the value of a variable that this loop changes; the "
            f"loop's variables are {', '.join(self.names)}"
        )


def _carried_of(found: Found) -> Any:
    """Return what a container holds, but for what is only left there."""
    held = contents(found.container)
    parts = divided(found, held) if is_keyed(found) else None
    return held if parts is None else parts[0]


def _dims(shape: TensorShape) -> Any:
    return None if shape.rank is None else tuple(shape)


def _rows(appended: _Appended, recorder: StagedList) -> list[Any]:
    """Return what an iteration appends, one tensor per leaf of an element. Raises ValueError for another number."""
    from fastgraph.ops import joining

    if len(recorder.new) != appended.per_iteration:
        refused = changed_in_loop(appended.found, [*appended.start, *recorder.new])
        grow(appended.found, appended.structure, refused)
    for element in recorder.new:
        identity.element(element, appended.found.name)
    appended.look([*appended.start, *recorder.new])
    columns = list(zip(*(nesting.flatten(element) for element in recorder.new), strict=True))
    columns = [column for column, as_rows in zip(columns, appended.as_rows, strict=True) if as_rows]
    if appended.per_iteration == 1:
        return [convert(column[0]) for column in columns]
    return [joining.stack(list(column)) for column in columns]
