"""Staged loops: a while node over the names that the loop may assign, whatever these held before.

Rule: the body is traced with what is known of the state; where an iteration shows that it was wrong (a name it defines,
a list it appends to, an option it sets) the trace is dropped, the plan mended, and the body traced again.
"""

from __future__ import annotations

import contextlib
import reprlib
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from fastgraph import dtype as dtypes
from fastgraph import nesting
from fastgraph._tensor import convert, current_trace
from fastgraph.graph.branches import closed, make_while, subgraph_name
from fastgraph.graph.differentiate import entering
from fastgraph.graph.recursion import Unknown
from fastgraph.graph.trace import GraphTrace, reserved
from fastgraph.ops import elementwise
from fastgraph.shapes import Aval, TensorShape, common_shape, generalises, shape_of
from fastgraph.staging.autograph import options
from fastgraph.staging.autograph.builtins import decisive
from fastgraph.staging.autograph.containers import Containers, Found, alike, changed_in_loop, contents, replace
from fastgraph.staging.autograph.elements import one_of_several
from fastgraph.staging.autograph.growing import MOST_LISTS, Grow, added, grow, grown, owner_of, owning
from fastgraph.staging.autograph.lists import StagedList, as_list, lists_differ, may_be_rows
from fastgraph.staging.autograph.moved import Moved
from fastgraph.staging.autograph.state import (
    Perhaps,
    both,
    condition,
    is_tensor,
    is_text,
    is_undefined,
    is_variable,
    leaves_of,
    longer,
    named,
    not_begun,
    of_state,
    packed,
    results_instead,
    same_leaf,
    same_structure,
    stand_in,
    told,
    user_place,
    without,
)  # fmt: skip

_MOST_REVISIONS = 50


class _Revise(BaseException):
    """The plan of a loop was mended while its body was traced: trace it again. No handler of the user's stops it."""


class _Carried:
    """One value that a loop carries: where it comes from, which of its leaves are tensors, and their shapes."""

    def __init__(self, name: str, value: Any, get: Callable[[], Any], put: Callable[[Any], None]) -> None:
        self.name = name
        self.sure = False  # whether every iteration defines it
        self.of_several = False  # whether it may be a list or dict that other names hold too
        self.get = get
        self.put = put
        self.begin(value)

    def begin(self, value: Any, shapes: list[Any] | None = None) -> None:
        """Enter the loop with `value`."""
        self.value = value
        inner = value.value if isinstance(value, Perhaps) else value
        self.undefined = is_undefined(inner)
        self.leaves = [] if self.undefined else leaves_of(inner)
        self.dynamic = [is_tensor(leaf) and not is_variable(leaf) for leaf in self.leaves]
        self.shapes = shapes
        self._tensors: list[Any] | None = None

    def tensors(self) -> list[Any]:
        """Return what enters the loop; made once, in the trace round it."""
        if self._tensors is None:
            found = [convert(leaf) for leaf, dynamic in zip(self.leaves, self.dynamic, strict=True) if dynamic]
            self._tensors = [convert(self.value.defined), *found] if isinstance(self.value, Perhaps) else found
        return self._tensors

    def avals(self) -> list[Aval]:
        """Return the types of the tensors in the loop."""
        avals = [Aval(tensor.dtype, tensor.aval.shape) for tensor in self.tensors()]
        if self.shapes is not None:
            shapes = [(), *self.shapes] if isinstance(self.value, Perhaps) else self.shapes
            avals = [Aval(aval.dtype, shape) for aval, shape in zip(avals, shapes, strict=True)]
        return avals

    def filled(self, tensors: Sequence[Any]) -> Any:
        """Return the value with `tensors` in the place of its own."""
        if self.undefined:
            return self.value
        rest = iter(tensors)
        defined = next(rest) if isinstance(self.value, Perhaps) else None
        leaves = [next(rest) if dynamic else leaf for leaf, dynamic in zip(self.leaves, self.dynamic, strict=True)]
        inner = packed(self.value.value if isinstance(self.value, Perhaps) else self.value, leaves)
        return Perhaps(inner, defined, self.value.why) if isinstance(self.value, Perhaps) else inner

    # -- after an iteration

    def after(self, value: Any, relax: bool) -> list[Any]:
        """Return the tensors that an iteration leaves, `value` being what the name holds then.

        Raises _Revise after mending what the loop enters with, TypeError or ValueError, naming the variable, where
        the iteration cannot be followed by another.
        """
        if self.undefined:
            if is_undefined(value):
                return []
            self._define(value)
        defined = []
        if isinstance(self.value, Perhaps):
            flag: Any = True
            if isinstance(value, Perhaps):
                value, flag = value.value, value.defined
            self.sure = flag is True
            defined = [convert(flag)]
        elif isinstance(value, Perhaps):
            value = value.value
        if may_be_rows(self.value, value) and lists_differ(self.value, value):
            raise _AsRows(self, value)
        if is_undefined(value):
            raise ValueError(f"{told(self.name)} is defined before the loop and deleted in it")
        start = self.value.value if isinstance(self.value, Perhaps) else self.value
        if start is None and value is not None:
            raise _Peel
        if start is not None and value is None:
            raise ValueError(f"{told(self.name)} is a value before the loop and None at the end of an iteration")
        difference = same_structure(start, value)
        if difference is not None:
            raise TypeError(
                f"{told(self.name)} must have the same nested structure before the loop and after an iteration: it is "
                f"{reprlib.repr(start)} before the loop and {reprlib.repr(value)} after one iteration."
                f"{longer(start, value)}\n\n{difference}"
            )
        return defined + self._leaves(leaves_of(value), relax)

    def _define(self, value: Any) -> None:
        """Enter with zeros that count as not defined, like what the first iteration leaves."""
        why = value.why if isinstance(value, Perhaps) else not_begun(self.name)
        inner = value.value if isinstance(value, Perhaps) else value
        shapes = [convert(leaf).aval.shape for leaf in leaves_of(inner) if is_tensor(leaf) and not is_variable(leaf)]
        self._pending = (inner, why, shapes)
        raise _Define(self)

    def define(self) -> None:
        """Make the stand-ins, in the trace round the loop."""
        inner, why, shapes = self._pending
        self.begin(Perhaps(stand_in(inner), False, why), shapes)

    def _leaves(self, values: Sequence[Any], relax: bool) -> list[Any]:
        found: list[Any] = []
        avals = self.avals()[isinstance(self.value, Perhaps) :]
        shapes = iter(avals)
        for k, (leaf, value, dynamic) in enumerate(zip(self.leaves, values, self.dynamic, strict=True)):
            if not dynamic:
                if (is_variable(leaf) or is_text(leaf)) and value is not leaf and is_tensor(value):
                    self.dynamic[k] = True
                    self._tensors = None
                    raise _Revise
                if not same_leaf(leaf, value):
                    raise TypeError(
                        f"{told(self.name)} must have the same non-tensor values before the loop and after an "
                        f"iteration: it holds {named(leaf)} before and {named(value)} after one. Only tensors "
                        f"and numbers can change in a loop that a tensor decides.{results_instead(leaf, value)}"
                    )
                continue
            found.append(self._checked(value, next(shapes), relax))
        if relax:
            wider = [common_shape(aval.shape, tensor.aval.shape) for aval, tensor in zip(avals, found, strict=True)]
            if wider != [aval.shape for aval in avals]:
                self.shapes = wider
                raise _Revise
        return found

    def _checked(self, value: Any, aval: Aval, relax: bool) -> Any:
        if not hasattr(value, "dtype"):
            with contextlib.suppress(TypeError, ValueError):
                value = convert(value, aval.dtype)
        if not is_tensor(value):
            raise TypeError(f"{told(self.name)} is a tensor before the loop and {reprlib.repr(value)} after one "
                            "iteration")  # fmt: skip
        tensor = convert(value)
        if tensor.dtype != aval.dtype:
            raise TypeError(
                f"{told(self.name)} has dtype {aval.dtype.name} before the loop, but dtype {tensor.dtype.name} after "
                f"one iteration: begin with a value of dtype {tensor.dtype.name}, or tf.cast it in the loop"
            )
        if not relax and not generalises(aval.shape, tensor.aval.shape):
            raise ValueError(
                f"{told(self.name)} has shape {shape_of(aval.shape)} before the loop, but shape {tensor.shape} after "
                "one iteration. Use tf.autograph.experimental.set_loop_options to set shape invariants."
            )
        return tensor


class _CarriedList(_Carried):
    """A list that the loop assigns, as rows."""

    def __init__(self, of: _Carried, value: Any) -> None:
        self.staged = as_list(of.value, value, of.name)
        held = self.staged.held()
        super().__init__(of.name, held, of.get, of.put)
        self.of_several = of.of_several
        self.begin(held, self.staged.shapes_of(held))

    def filled(self, tensors: Sequence[Any]) -> Any:
        """Return the list with `tensors` for its rows."""
        rows = list(super().filled(tensors).values())
        return type(self.staged)(self.name, self.staged.structure, rows)

    def after(self, value: Any, relax: bool) -> list[Any]:
        """Return the rows that an iteration leaves."""
        if not may_be_rows(self.staged, value):
            raise TypeError(
                f"{told(self.name)} is a list or tuple before the loop and {reprlib.repr(value)} after one iteration"
            )
        after = as_list(value, self.staged, self.name)
        difference = same_structure(self.staged.structure, after.structure)
        if difference is not None:
            raise TypeError(f"the elements of the list {told(self.name)} differ before and after an iteration: "
                            f"{difference}")  # fmt: skip
        return super().after(after.held(), relax)


class _AsRows(_Revise):
    """A name that an iteration gives a list of another length."""

    def __init__(self, carried: _Carried, value: Any) -> None:
        super().__init__()
        self.carried = carried
        self.value = value


class _Define(_Revise):
    """A name that only the loop defines."""

    def __init__(self, carried: _Carried) -> None:
        super().__init__()
        self.carried = carried


class _Peel(_Revise):
    """A name is None before the first iteration and a tensor after it: the first iteration goes before the loop."""


class _Appended:
    """A list that every iteration appends as many elements to."""

    def __init__(self, found: Found) -> None:
        self.found = found
        self.structure: Any = None
        self.per_iteration = 0
        self.start = contents(found.container)


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
        self._all_state = self.get_state = of_state(get_state)
        self.set_state = of_state(set_state)
        self.names = names
        self.kind = kind
        self.options = options.LoopOptions()

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
            containers = Containers(self.blocks, self.names)
            self.get_state = without(self._all_state, containers.hidden(self.names), self.names)
            self.start = tuple(self.get_state())
            self.carried = [
                _Carried(name, value, lambda k=k: self.get_state()[k], lambda _: None)  # type: ignore[misc]
                for k, (name, value) in enumerate(zip(self.names, self.start, strict=True))
            ]
            for carried, value in zip(self.carried, self.start, strict=True):
                carried.of_several = containers.others(value, [carried.name])
            self.appended: list[_Appended] = []
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

    def _revised(self, counter: Any) -> None:
        """Trace the loop until it is as an iteration leaves it."""
        for _ in range(_MOST_REVISIONS):
            self.containers = Containers(self.blocks, self.names)
            try:
                self._stage(counter)
            except _Define as revision:
                self._reset()
                revision.carried.define()
            except _AsRows as revision:
                self._reset()
                place = self.carried.index(revision.carried)
                self.carried[place] = _CarriedList(revision.carried, revision.value)
            except _Peel:
                self._reset()
                self._peel(counter)
                return
            except _Revise:
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
        """Give the names, and the containers that are carried, the values that are in these tensors."""
        rest = list(tensors)
        values = []
        for carried in self.carried:
            n = len(carried.tensors())
            value = carried.filled(rest[:n])
            if carried.of_several:
                value = one_of_several(value, carried.name)
            del rest[:n]
            values.append(value)
        self._placed = values[: len(self.names)]
        self.set_state(tuple(self._placed))
        for carried, value in zip(self.carried[len(self.names) :], values[len(self.names) :], strict=True):
            carried.put(value)

    def _stage(self, counter: Any) -> None:
        outer = current_trace()
        assert isinstance(outer, GraphTrace)
        limit = self.options.maximum_iterations
        own = [] if counter is None else [counter]
        if limit is not None:
            own = [*own, convert(0, dtypes.int64)]
            limit = elementwise.cast(convert(limit), dtypes.int64)
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
            for appended in self.appended:  # a test that reads the list needs its length
                self._append_to(appended)
            try:
                goes_on = condition(decisive(self.test(inputs[0])), f"{self.kind} statement")
            finally:
                for appended in self.appended:
                    appended.found.put(appended.found.container)
            if limit is not None:
                goes_on = both(elementwise.less(inputs[n_own - 1], limit), goes_on)
        closed(test_trace, lambda: [goes_on])

        body_trace = GraphTrace(subgraph_name(f"{scope}_body"), parent=outer, kind="branch")
        body_trace.scope = f"{scope}/"
        with entering(body_trace):
            inputs = arguments(body_trace)
            after, rows = self._iteration(inputs, n_own, counter is not None)
        closed(body_trace, lambda: [*after, *rows])
        outputs = make_while(test_trace, body_trace, flat, name=scope)
        self._put(outputs[n_own : len(flat)])
        self._fill(list(outputs[len(flat) :]))
        if self.at_least_once:
            self.set_state(tuple(
                value.value if isinstance(value, Perhaps) and carried.sure else value
                for value, carried in zip(self.get_state(), self.carried, strict=False)
            ))  # fmt: skip

    def _iteration(self, inputs: list[Any], n_own: int, is_counted: bool) -> tuple[list[Any], list[Any]]:
        lists = [self._append_to(appended) for appended in self.appended]
        local = self._local
        local.depth = self.depth() + 1
        try:
            with options.staged_loop(self):
                self.body(inputs[0] if is_counted else None)
        finally:
            local.depth -= 1
            changed = self.containers.changed()
            held = {id(found.container): contents(found.container) for found in changed}
            for found in changed:
                if not any(c.name == found.name for c in self.carried[len(self.names) :]):
                    replace(found.container, found.before)
            for appended in self.appended:
                appended.found.put(appended.found.container)
        for found in changed:
            self._follow(found, held[id(found.container)])
        self._grow_lists()
        after = [elementwise.add(inputs[k], 1) for k in range(n_own)]
        for carried, value in zip(self.carried, self.get_state(), strict=False):
            if not carried.of_several and self.containers.others(value, self.names):
                carried.of_several = True
                raise _Revise
        for carried, value in zip(self.carried, [
            *self.get_state(), *(carried.get() for carried in self.carried[len(self.names) :])
        ], strict=True):  # fmt: skip
            after += carried.after(value, self.relax)
        return after, [row for appended, new in zip(self.appended, lists, strict=True) for row in _rows(appended, new)]

    # -- containers

    def _grow_lists(self) -> None:
        """Have the length of a list be a tensor that an iteration assigns and makes longer in place (by +=)."""
        for placed, start, value in zip(self._placed, self.start, self.get_state(), strict=True):
            if value is placed and type(start) is list and type(value) is list and len(value) != len(start):
                found = self.owner.containers.of(start)
                if found is not None:
                    grow(found, added(found, value[len(start) :]), changed_in_loop(found, value))

    def _follow(self, found: Found, after: Any) -> None:
        """Carry a container that an iteration has changed. Raises ValueError where that cannot be."""
        if any(carried.name == found.name for carried in self.carried[len(self.names) :]):
            if not alike(found.before, after):
                raise changed_in_loop(found, after)
            return
        if alike(found.before, after) and not isinstance(found.before, set):
            container = found.container
            carried = _Carried(found.name, found.before, lambda: contents(container),
                               lambda held: replace(container, held))  # fmt: skip
            if isinstance(container, StagedList) and not container.tracing:
                carried.begin(found.before, container.shapes_of(found.before))
            self.carried.append(carried)
            raise _Revise
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
                raise refused
        self.appended.append(appended)
        raise _Revise

    def _append_to(self, appended: _Appended) -> StagedList:
        found = appended.found

        def read() -> NoReturn:
            grow(found, appended.structure, ValueError(
                f"The list '{found.name}' is read in the staged loop that appends to it, whose body is traced once: "
                "use a tf.TensorArray, or carry what you read in a variable of its own."
            ))  # fmt: skip

        recorder = StagedList(found.name, on_read=read, origin=found.container)
        found.put(recorder)
        return recorder

    def _fill(self, stacks: list[Any]) -> None:
        """Give the names of the lists that were appended to what the loop has appended."""
        from fastgraph.ops import joining, movement

        for appended in self.appended:
            leaves = nesting.flatten(appended.structure)
            rows = []
            for k, _ in enumerate(leaves):
                stack = stacks.pop(0)
                if appended.per_iteration > 1:  # [iterations, per iteration, ...]
                    shape = movement.shape(stack)
                    stack = movement.reshape(stack, joining.concat([[-1], shape[2:]], 0))
                if appended.start:
                    first = joining.stack([nesting.flatten(element)[k] for element in appended.start])
                    stack = joining.concat([convert(first, stack.dtype), stack], 0)
                rows.append(stack)
            found = appended.found
            staged = StagedList(found.name, appended.structure, rows)
            found.put(staged)
            found.container[:] = [Moved(found.name, staged)]

    # -- the first iteration before the loop

    def _peel(self, counter: Any) -> None:
        """Run the first iteration under a condition, and the loop after it if it ran."""
        from fastgraph.staging.autograph.statements import staged_if

        goes_on = condition(decisive(self.test(counter)), f"{self.kind} statement")

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
        rest.options = self.options
        rest.stage(None if counter is None else elementwise.add(counter, 1), relax=self.relax)
        self.set_state(tuple(
            Perhaps(value, goes_on, whys[k]) if k in whys else value for k, value in enumerate(self.get_state())
        ))  # fmt: skip

    # -- options

    def set_options(self, new: options.LoopOptions) -> None:
        """Take the options that the body sets; raises _Revise where they are not those it is traced with."""
        if self.options.given:
            return
        self.options = new
        for value, shape in new.shape_invariants:
            self._invariant(value, shape)
        raise _Revise

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


def _dims(shape: TensorShape) -> Any:
    return None if shape.rank is None else tuple(shape)


def _rows(appended: _Appended, recorder: StagedList) -> list[Any]:
    """Return what an iteration appends, one tensor per leaf of an element. Raises ValueError for another number."""
    from fastgraph.ops import joining

    if len(recorder.new) != appended.per_iteration:
        refused = changed_in_loop(appended.found, [*appended.start, *recorder.new])
        grow(appended.found, appended.structure, refused)
    columns = list(zip(*(nesting.flatten(element) for element in recorder.new), strict=True))
    if appended.per_iteration == 1:
        return [convert(column[0]) for column in columns]
    return [joining.stack(list(column)) for column in columns]
