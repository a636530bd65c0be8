"""The state of a staged loop: a value of a name, its tensors in the graph, and what an iteration must leave.

Rule: where an iteration shows that the loop must enter with something else, that is raised as a Revise, and the body is
traced again.
"""

from __future__ import annotations

import contextlib
import operator
import reprlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import Aval, common_shape, generalises, shape_of
from fastgraph.core.base.type_specs import as_specs, not_both, of_both
from fastgraph.core.tensor import convert
from fastgraph.graph.shape_invariants import in_loop
from fastgraph.staging.autograph.block_state import (
    RETURN_VALUE,
    Perhaps,
    inner,
    is_part,
    is_staged_list,
    is_tensor,
    is_text,
    is_undefined,
    is_variable,
    leaves_of,
    longer,
    named,
    not_begun,
    packed,
    results_instead,
    same_leaf,
    same_structure,
    stand_in,
    told,
)

_T = TypeVar("_T")


class Revise(BaseException):
    """The plan of a loop was mended while its body was traced: trace it again. No handler of the user's stops it."""


class Together(Revise):
    """Several mendings that one trace of the body has shown."""

    def __init__(self, revisions: Sequence[Revise]) -> None:
        super().__init__()
        self.revisions = revisions


def together(steps: Iterable[Callable[[], _T]]) -> list[_T]:
    """Take every step and return what they give. Raises what they mend as one, so that the body is traced again once
    for all of them; what goes wrong after a mending may be for its want, and shows again if it is not."""
    results: list[_T] = []
    revisions: list[Revise] = []
    for step in steps:
        try:
            results.append(step())
        except Peel:  # the loop carries something else then: the rest is another's
            raise
        except Revise as revision:
            revisions.append(revision)
        except Exception:
            if not revisions:
                raise
            break
    if revisions:
        raise Together(revisions)
    return results


class Carried:
    """One value that a loop carries: where it comes from, which of its leaves are tensors, and their shapes."""

    def __init__(self, name: str, value: Any, get: Callable[[], Any], put: Callable[[Any], None]) -> None:
        self.name = name
        self.sure = False  # whether every iteration defines it
        self.has_invariant = False  # whether the user has said what its shapes may be
        self.get = get
        self.put = put
        self.before = value  # before the loop
        self.begin(value)

    def begin(self, value: Any, shapes: list[Any] | None = None) -> None:
        """Enter the loop with `value`."""
        self.value = value
        held = inner(value)
        self.undefined = is_undefined(held)
        self.leaves = [] if self.undefined else leaves_of(held)
        self.dynamic = [is_tensor(leaf) and not is_variable(leaf) for leaf in self.leaves]
        self.model = as_specs(held)  # what the loop knows of composites
        self.shapes = self._shapes_of_parts(held) if shapes is None else shapes
        self._tensors: list[Any] | None = None

    def _shapes_of_parts(self, value: object) -> list[Any] | None:
        """Return the shapes of the tensors of a value with composites or lists whose length may change, else None."""
        flat = nesting.flatten(value, expand_composites=True)
        if not any(map(is_staged_list, flat)):
            return self._shapes_of_composites(value, flat)
        shapes = []
        for leaf in flat:
            if is_staged_list(leaf):
                leaf.full = False  # there may be room in its rows in a later iteration
                shapes += leaf.shapes()
            elif is_tensor(leaf) and not is_variable(leaf):
                shapes.append(convert(leaf).aval.shape)
        return shapes

    def _shapes_of_composites(self, value: object, flat: list[Any]) -> list[Any] | None:
        if len(flat) == len(nesting.flatten(value)) or not all(self.dynamic):
            return None
        return in_loop(self.model, [convert(leaf) for leaf in flat])

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
        held = packed(self.model, leaves)
        return Perhaps(held, defined, self.value.why) if isinstance(self.value, Perhaps) else held

    # -- after an iteration

    def after(self, value: Any, relax: bool) -> list[Any]:
        """Return the tensors that an iteration leaves, `value` being what the name holds then.

        Raises Revise after mending what the loop enters with, TypeError or ValueError, naming the variable, where
        the iteration cannot be followed by another.
        """
        relax = relax or self.name.startswith(RETURN_VALUE)  # for which no one can give a shape invariant
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
        if is_undefined(value):
            raise ValueError(f"{told(self.name)} is defined before the loop and deleted in it")
        start = self.value.value if isinstance(self.value, Perhaps) else self.value
        if start is None and value is not None:
            if is_part(self.name) and all(map(is_tensor, leaves_of(inner(value)))) and not is_variable(value):
                self._define(value)
            raise Peel
        if start is not None and value is None:
            raise ValueError(f"{told(self.name)} is None at the end of an iteration, and a value before the loop")
        difference = same_structure(start, value)
        if difference is not None:
            raise TypeError(
                f"{told(self.name)} does not have the same nested structure before the loop and after an iteration: it "
                f"is {reprlib.repr(start)} before the loop and {reprlib.repr(value)} after one iteration."
                f"{longer(start, value)}\n\n{difference}"
            )
        self._generalise(value, relax)
        return defined + self._leaves(leaves_of(value), relax)

    def _generalise(self, value: Any, relax: bool) -> None:
        """Raise Revise after noting that less is known of a composite, ValueError where its shape changes."""
        excluded = None if relax else not_both(self.model, value)
        if excluded:
            raise self._changes(*excluded)
        wider = of_both(self.model, value)
        if not all(map(operator.is_, nesting.flatten(wider), nesting.flatten(self.model))):
            self.model = wider
            raise Revise

    def _changes(self, before: Any, after: Any) -> ValueError:
        if self.has_invariant:
            return ValueError(
                f"{told(self.name)} has shape {after} after one iteration, which does not conform with the shape "
                f"invariant {before} that tf.autograph.experimental.set_loop_options has given"
            )
        return ValueError(
            f"{told(self.name)} has shape {before} before the loop, but shape {after} after one iteration. Use "
            "tf.autograph.experimental.set_loop_options to set shape invariants."
        )

    def _define(self, value: object) -> None:
        """Enter with zeros that count as not defined, like what the first iteration leaves."""
        why = value.why if isinstance(value, Perhaps) else not_begun(self.name)
        held = inner(value)
        shapes = self._shapes_of_parts(held)
        if shapes is None:
            shapes = [convert(leaf).aval.shape for leaf in leaves_of(held) if is_tensor(leaf) and not is_variable(leaf)]
        self._pending = (held, why, shapes)
        raise Define(self)

    def define(self) -> None:
        """Make the stand-ins, in the trace round the loop."""
        held, why, shapes = self._pending
        self.begin(Perhaps(stand_in(held), False, why), shapes)

    def _leaves(self, values: Sequence[Any], relax: bool) -> list[Any]:
        found: list[Any] = []
        avals = self.avals()[isinstance(self.value, Perhaps) :]
        shapes = iter(avals)
        for k, (leaf, value, dynamic) in enumerate(zip(self.leaves, values, self.dynamic, strict=True)):
            if not dynamic:
                changes = is_tensor(value) or (is_text(leaf) and is_text(value) and value != leaf)
                if (is_variable(leaf) or is_text(leaf)) and value is not leaf and changes:
                    if self.shapes is not None:
                        self.shapes.insert(sum(self.dynamic[:k]), convert(leaf).aval.shape)
                    self.dynamic[k] = True
                    self._tensors = None
                    raise Revise
                if not same_leaf(leaf, value):
                    if is_undefined(inner(self.before)):
                        raise ValueError(
                            f"{told(self.name)} must be defined before the loop: an iteration gives {named(leaf)}, "
                            "which is no tensor, number or text, and the next one another"
                        )
                    raise TypeError(
                        f"{told(self.name)} must have the same non-tensor values before the loop and after an "
                        f"iteration: it holds {named(leaf)} before and {named(value)} after one. Only tensors, "
                        f"numbers and text can change in a loop that a tensor decides.{results_instead(leaf, value)}"
                    )
                continue
            found.append(self._checked(value, next(shapes), relax))
        if relax:
            wider = [common_shape(aval.shape, tensor.aval.shape) for aval, tensor in zip(avals, found, strict=True)]
            if wider != [aval.shape for aval in avals]:
                self.shapes = wider
                raise Revise
        return found

    def _checked(self, value: object, aval: Aval, relax: bool) -> Any:
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
            raise self._changes(shape_of(aval.shape), tensor.shape)
        return tensor


class Define(Revise):
    """A name that only the loop defines."""

    def __init__(self, carried: Carried) -> None:
        super().__init__()
        self.carried = carried


class Peel(Revise):
    """A name is None before the first iteration and a tensor after it: the first iteration goes before the loop."""
