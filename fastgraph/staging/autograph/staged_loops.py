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

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import Aval, TensorShape, generalises
from fastgraph.core.tensor import convert, current_trace
from fastgraph.errors import InvalidArgumentError
from fastgraph.graph.differentiate import entering
from fastgraph.graph.recursive_calls import Unknown
from fastgraph.graph.shape_invariants import invariant
from fastgraph.graph.subgraphs import closed, make_while, subgraph_name
from fastgraph.graph.trace import GraphTrace, reserved
from fastgraph.ops import comparison, elementwise, joining, movement
from fastgraph.staging.autograph import loop_options
from fastgraph.staging.autograph.block_state import (
    Perhaps,
    at_line,
    both,
    condition,
    inner,
    is_part,
    is_tensor,
    is_undefined,
    leaves_of,
    not_begun,
    of_states,
    told,
    user_place,
    without,
)
from fastgraph.staging.autograph.conditional_lists import chosen
from fastgraph.staging.autograph.conditionals import staged_if
from fastgraph.staging.autograph.container_changes import (
    Containers,
    Found,
    Left,
    alike,
    changed_in_loop,
    contents,
    divided,
    replace,
)
from fastgraph.staging.autograph.expressions import and_, decisive
from fastgraph.staging.autograph.list_growth import (
    MOST_LISTS,
    Grow,
    check_elements,
    elements_added,
    grow,
    grown,
    owner_of,
    owning,
    stand_in,
)
from fastgraph.staging.autograph.loop_state import Carried, Define, Peel, Revise, Together, together
from fastgraph.staging.autograph.staged_lists import StagedList

_MOST_REVISIONS = 50


class _Appended:
    """A list that every iteration appends as many elements to."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.structure: Any = None
        self.per_iteration = 0
        self.recorder: Any = None  # what the body reaches in its place
        self.start = contents(found.container)
        self.held_at: list[Any] = []  # where an iteration leaves the list itself

    def taken_back(self) -> None:
        """Let what reaches the recorder reach the list again."""
        for place in filter(None, self.found.places):
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
        get_state: Callable[..., Any],
        set_state: Callable[..., Any],
        names: Sequence[str],
        kind: str,
    ) -> None:
        self.test = test
        self.body = body
        self.blocks = blocks
        self.get_state, self.set_state = of_states(get_state, set_state, names)
        self._all_state = self.get_state
        self.names = names
        self.kind = kind
        self.options = loop_options.LoopOptions()
        self.peeled = 0  # iterations that stand before the loop

    @classmethod
    def depth(cls) -> int:
        """Return how many staged loops this thread is tracing the body of."""
        return getattr(cls._local, "depth", 0)

    def stage(
        self, counter: object, *, at_least_once: bool = False, relax: bool = False, keep_invariants: bool = False
    ) -> None:
        """Trace the loop as a while node and give the names what it leaves; `counter` is where a for begins.

        `relax` lets shapes vary from one iteration to the next as they do, unless `keep_invariants` holds and the
        user has declared them.
        """
        self.relax = relax
        self.keep_invariants = keep_invariants
        self.at_least_once = at_least_once
        for _ in range(MOST_LISTS):
            containers = Containers(self.blocks, self.names)
            self.hidden = containers.hidden(self.names)
            self.options = loop_options.LoopOptions()  # shape invariants are of what the loop carries
            self._begin()
            self.carried = [self._carried(k) for k in range(len(self.names))]
            self.appended: list[_Appended] = []
            named = zip(self.names, self.start, strict=True)
            self.shared = [containers.has_other_names(inner(value), name) for name, value in named]
            with owning(containers) as self.owner:
                try:
                    self._revised(counter)
                except Grow as revision:
                    wanted = revision
                except (UnboundLocalError, AttributeError, LookupError) as error:
                    name = self._missing(error)
                    if name is None:
                        raise
                    told_all = ValueError(f"'{name}' must be defined before the loop{at_line()}: {error}")
                    raise told_all.with_traceback(error.__traceback__) from error
                else:
                    return
            self._reset()
            grown(wanted, self.owner)
        raise wanted.refused

    def _missing(self, error: Exception) -> str | None:
        """Return the name that the loop sets, that holds nothing before it, and whose use is this error; else None."""
        if isinstance(error, LookupError):
            end = "]"
        else:
            end = f".{error.name}" if isinstance(error, AttributeError) else str(getattr(error, "name", None))
        undefined = [name for name, value in zip(self.names, self.start, strict=True) if is_undefined(value)]
        exact = isinstance(error, UnboundLocalError)
        return next((name for name in undefined if (name == end if exact else name.endswith(end))), None)

    def _begin(self) -> None:
        """Take what the names hold before the loop, but for elements of lists that are carried as a whole."""
        self.get_state = without(self._all_state, self.hidden, self.names)
        self.start = tuple(self.get_state())

    def _carried(self, k: int) -> Carried:
        return Carried(self.names[k], self.start[k], lambda: self.get_state()[k], lambda _: None)

    def _revised(self, counter: object) -> None:
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
        self.set_state(self.start)
        self.containers.restore()

    # -- one attempt

    def _put(self, tensors: Sequence[Any]) -> None:
        """Give the names, and the containers that are carried, the values that are in these tensors.

        A part of an object that the loop alone sets is not there yet: no iteration reads what it has not set.
        """
        values = self._values(tensors)
        for k, (carried, value) in enumerate(zip(self.carried, values, strict=True)):
            if type(value) is Perhaps and is_part(carried.name):
                values[k] = carried.before
        self._place(values)

    def _values(self, tensors: Sequence[Any]) -> list[Any]:
        """Return what the names, and then the containers that are carried, hold with these tensors."""
        rest = list(tensors)
        values = []
        for carried in self.carried:
            n = len(carried.tensors())
            values.append(carried.filled(rest[:n]))
            del rest[:n]
        for k, _ in filter(lambda each: each[1], enumerate(self.shared)):
            values[k] = chosen(values[k])
        return values

    def _place(self, values: Sequence[Any]) -> None:
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
            after, rows = self._iteration(inputs, n_own, counter is not None)
        closed(body_trace, lambda: [*after, *rows])
        outputs = make_while(test_trace, body_trace, flat, name=scope)
        self._place(self._values(outputs[n_own : len(flat)]))
        self._fill(list(outputs[len(flat) :]))
        for left in self.left:
            left.put()
        if self.at_least_once:
            self.set_state(tuple(
                value.value if isinstance(value, Perhaps) and carried.sure else value
                for value, carried in zip(self.get_state(), self.carried, strict=False)
            ))  # fmt: skip

    def _goes_on(self, inputs: list[Any], n_own: int, limit: object) -> Any:
        """Return what the test gives, as long as there are iterations left."""
        for appended in self.appended:  # a test that reads the list needs its length
            self._append_to(appended)
        try:
            goes_on = condition(decisive(self.test(inputs[0])), f"{self.kind} loop")
        finally:
            for appended in self.appended:
                appended.taken_back()
        return goes_on if limit is None else both(comparison.less(inputs[n_own - 1], limit), goes_on)

    def _run(self, counter: object) -> list[StagedList]:
        """Run the body; return what it has appended to."""
        recorders = [self._append_to(appended) for appended in self.appended]
        local = self._local
        local.depth = self.depth() + 1
        try:
            with loop_options.staged_loop(self):
                self.body(counter)
        finally:
            local.depth -= 1
            for appended in self.appended:
                appended.taken_back()
                appended.held_at = appended.found.held_at()
        return recorders

    def _iteration(self, inputs: list[Any], n_own: int, is_counted: bool) -> tuple[list[Any], list[Any]]:
        try:
            recorders = self._run(inputs[0] if is_counted else None)
        finally:
            changed = self.containers.changed()
            held = {id(found.container): contents(found.container) for found in changed}
            for found in changed:
                if not any(c.name == found.name for c in self.carried[len(self.names) :]):
                    replace(found.container, found.before)
        self.left: list[Left] = []
        together(partial(self._follow, found, held[id(found.container)]) for found in changed)
        for k, value in enumerate(self.get_state()):
            if not self.shared[k] and self.containers.has_other_names(inner(value), self.names[k]):
                self.shared[k] = True
                raise Revise
        after = [elementwise.add(inputs[k], 1) for k in range(n_own)]
        values = [*self.get_state(), *(carried.get() for carried in self.carried[len(self.names) :])]
        for tensors in together(
            partial(carried.after, value, self.relax and not (self.keep_invariants and carried.has_invariant))
            for carried, value in zip(self.carried, values, strict=True)
        ):
            after += tensors
        return after, [
            row for appended, new in zip(self.appended, recorders, strict=True) for row in _rows(appended, new)
        ]

    # -- containers

    def _follow(self, found: Found, after: Any) -> None:
        """Carry a container that an iteration has changed. Raises ValueError where that cannot be."""
        known = next((each for each in self.carried[len(self.names) :] if each.name == found.name), None)
        trace = current_trace()
        assert isinstance(trace, GraphTrace)
        parts = divided(found, [after], [trace])
        if parts is not None:
            self.left.append(parts[1])
            (after,) = parts[0]
        container, before = found.container, found.before
        if not alike(before, after) or isinstance(before, set):
            self._append(found, after)
        if isinstance(before, dict) and not isinstance(container, StagedList):
            before = self._changed_in(found, after, known)
            if not before:
                return
        if known is not None:
            if not isinstance(before, dict) or before.keys() == known.value.keys():
                return
            self.carried.remove(known)

        def get() -> Any:
            held = contents(container)
            return {key: held[key] for key in before} if isinstance(before, dict) else held

        def put(held: object) -> None:
            replace(container, {**found.before, **held} if isinstance(held, dict) else held)

        carried = Carried(found.name, before, get, put)
        if isinstance(container, StagedList):
            container.full = False  # there may be room in its rows in a later iteration
            carried.begin(before, container.shapes())
        self.carried.append(carried)
        raise Revise

    def _append(self, found: Found, after: object) -> None:
        """Stack what an iteration appends to a list. Raises ValueError where it changes a container otherwise."""
        refused = changed_in_loop(found, after)
        new = elements_added(found, after)
        if new is None:
            raise refused
        owned = owner_of(found)
        if owned is None:  # it would keep tensors of this graph when the graph is made
            raise ValueError(
                f"The list '{found.name}' is appended to in a staged loop{at_line()}, and is none of this function's "
                "own, or is held where no variable leads to it: make it in the function that is traced, and return it "
                "or tf.stack of it, or use a tf.TensorArray."
            )
        if any(isinstance(each, StagedList) for each in new):
            raise ValueError(
                f"The list '{found.name}' gets an element ({user_place()}) that is a list itself, of a length that is "
                "unknown while tracing: stack its elements, if they are as many in every iteration, tf.stack(element)"
            )
        check_elements([*found.before, *new], found.name)
        if not all(is_tensor(leaf) for element in [*found.before, *new] for leaf in nesting.flatten(element)):
            raise refused
        if found.name in self.names or owned[0] is not self.owner:
            grow(found, new[0], refused)
        recorded = _Appended(found)
        recorded.structure, recorded.per_iteration = new[0], len(new)
        self.appended.append(recorded)
        raise Revise

    @staticmethod
    def _changed_in(found: Found, after: dict[Any, Any], known: Carried | None) -> dict[str, Any]:
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
        found.put(recorder)
        appended.recorder = recorder
        return recorder

    def _fill(self, stacks: list[Any]) -> None:
        """Give the names of the lists that were appended to what the loop has appended."""
        for appended in self.appended:
            rows = []
            for k, _ in enumerate(nesting.flatten(appended.structure)):
                stack = stacks.pop(0)
                if appended.per_iteration > 1:  # [iterations, per iteration, ...]
                    shape = movement.shape(stack)
                    stack = movement.reshape(stack, joining.concat([[-1], shape[2:]], 0))
                if appended.start:
                    first = joining.stack([nesting.flatten(element)[k] for element in appended.start])
                    stack = joining.concat([convert(first, stack.dtype), stack], 0)
                rows.append(stack)
            found = appended.found
            staged = StagedList(found.name, appended.structure, rows, movement.shape(rows[0])[0], full=True)
            for place in appended.held_at:
                place.cell_contents = staged
            stand_in(found, staged)

    # -- the first iteration before the loop

    def _peel(self, counter: object) -> None:
        """Run the first iteration under a condition, and the loop after it if it ran."""
        goes_on = condition(decisive(self.test(counter)), f"{self.kind} loop")
        limit = self._limit()
        if limit is not None:
            goes_on = both(comparison.less(0, limit), goes_on)

        sure = set()

        def first() -> None:
            self._local.depth = self.depth() + 1
            try:
                with loop_options.unstaged_loop():
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

        def next_test(i: object) -> Any:
            return and_(lambda: goes_on, lambda: test(i))

        rest = Loop(next_test, self.body, self.blocks, self.get_state, self.set_state, self.names, self.kind)
        rest.peeled = self.peeled + 1  # its body sets the options again
        rest.stage(None if counter is None else elementwise.add(counter, 1), relax=self.relax,
                   keep_invariants=self.keep_invariants)  # fmt: skip
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

    def set_options(self, new: loop_options.LoopOptions) -> None:
        """Take the options that the body sets; raises Revise where they are not those it is traced with."""
        if self.options.given:
            return
        self.options = new
        for value, shape in new.shape_invariants:
            self._invariant(value, shape)
        raise Revise

    def _invariant(self, value: object, shape: TensorShape) -> None:
        current = self.get_state()
        for carried, held in zip(self.carried, current, strict=False):
            if held is value or (isinstance(held, Perhaps) and held.value is value):
                leaves = carried.leaves
                spec, given = (None, leaves_of(shape)) if nesting.is_nested(value) else invariant(value, shape)
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
                carried.has_invariant = True
                carried.model = spec or carried.model
                return
        raise ValueError(
            f"shape_invariants: {reprlib.repr(value)} is not the value of a variable that this loop changes; the "
            f"loop's variables are {', '.join(self.names)}"
        )


def _dims(shape: TensorShape) -> Any:
    return None if shape.rank is None else tuple(shape)


def _rows(appended: _Appended, recorder: StagedList) -> list[Any]:
    """Return what an iteration appends, one tensor per leaf of an element. Raises ValueError for another number."""
    if len(recorder.new) != appended.per_iteration:
        refused = changed_in_loop(appended.found, [*appended.start, *recorder.new])
        grow(appended.found, appended.structure, refused)
    check_elements([*appended.start, *recorder.new], appended.found.name)
    columns = list(zip(*(nesting.flatten(element) for element in recorder.new), strict=True))
    if appended.per_iteration == 1:
        return [convert(column[0]) for column in columns]
    return [joining.stack(list(column)) for column in columns]
