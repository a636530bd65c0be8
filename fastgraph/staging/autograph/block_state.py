"""The values of the names that a staged block may assign: taken apart into tensors, joined where two paths meet.

Rule: a name is defined, undefined, or, where only some paths set it, a Perhaps, which is checked when it is read.
"""

from __future__ import annotations

import contextlib
import reprlib
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from fastgraph.composites.tensor_array import TensorArray
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.type_specs import of_both
from fastgraph.core.tensor import Tensor, class_has, convert, current_trace
from fastgraph.errors import InaccessibleTensorError
from fastgraph.graph.ir import SourceLine
from fastgraph.graph.source_lines import source_lines
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graph.trace import GraphTrace
from fastgraph.ops import comparison, creation, runtime_assertions

_NUMBERS = (bool, int, float, complex, np.ndarray, np.generic)
RETURN_VALUE = "retval_"
#: Endings of the names of malt's own variables: they stand for no name of the user's.
_TOLD = {RETURN_VALUE: "the return value", "do_return": "the return flag"}


def told(name: str) -> str:
    """Return how an error calls the variable `name`."""
    for start, text in _TOLD.items():
        if name.startswith(start):
            return text
    return f"'{name}'"


def user_place() -> str:
    """Return "file:line" of the user's statement that is being traced, or "" where there is none."""
    lines: Sequence[SourceLine] = source_lines()
    return f"{lines[0].file}:{lines[0].line}" if lines else ""


def at_line() -> str:
    """Return the user's line that is traced now, as errors have it; "" if there is none."""
    place = user_place()
    return f" ({place})" if place else ""


# ---- Defined, undefined and perhaps ---------------------------------------------------------------------------------


class Undefined:
    """The value of a name that no path has set, in converted code."""

    __slots__ = ("symbol_name",)

    def __init__(self, symbol_name: str) -> None:
        self.symbol_name = symbol_name

    def read(self) -> Any:
        """Raise UnboundLocalError."""
        raise UnboundLocalError(f"'{self.symbol_name}' is used before assignment", name=self.symbol_name)

    def __repr__(self) -> str:
        return self.symbol_name

    def __getattr__(self, name: str) -> Undefined:
        return self

    def __getitem__(self, index: object) -> Undefined:
        return self

    def __setitem__(self, index: object, value: object) -> None:
        self.read()


class Hidden(Undefined):
    """The stand-in, in the state of a block, for an element of what is carried whole: it is neither read nor set."""

    __slots__ = ()


class UndefinedReturnValue:
    """The value that a function returns on a path without a `return`."""


def ldu(load: Callable[[], Any], name: str) -> Any:
    """Return what `load` gives; where a name, key or attribute in it is not there, what stands for that."""
    try:
        return load()
    except (LookupError, AttributeError, NameError):
        return Undefined(name)


def is_undefined(value: object) -> bool:
    """Say whether `value` stands for a name that no path has set."""
    return type(value) in (Undefined, Hidden, UndefinedReturnValue)


class Perhaps:
    """The value of a name that only some paths have set; `defined` is the bool tensor that says whether one was taken.

    `why` is what the error says when the name is read and no such path was taken.
    """

    __slots__ = ("_checked", "defined", "value", "why")

    def __init__(self, value: Any, defined: Any, why: str) -> None:
        self.value = value
        self.defined = defined
        self.why = why
        self._checked: Any = None

    def read(self) -> Any:
        """Return the value; the graph stops with InvalidArgumentError where it was not defined."""
        trace = current_trace()
        if self._checked is not trace:
            runtime_assertions.Assert(self.defined, [self.why])
            self._checked = trace
        return self.value

    def __fg_tensor__(self, dtype: object = None) -> Any:
        raise ValueError(self._unread())

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(self._unread())

    def __repr__(self) -> str:
        return f"{self.value!r} if it is set"

    def _unread(self) -> str:
        return f"{self.why}. It is read where only some paths have set it: set it before them"


def inner(value: object) -> Any:
    """Return what a name holds if it is defined."""
    return value.value if type(value) is Perhaps else value


_local = threading.local()


def in_state() -> bool:
    """Say whether the state of a block is being read or written: that is no use of the names by the program."""
    return getattr(_local, "state", False)


def of_state(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that gets or sets the state of a block as one during which `in_state` holds."""

    def run(*values: object) -> Any:
        before, _local.state = in_state(), True
        try:
            return function(*values)
        finally:
            _local.state = before

    return run


def of_states(
    get_state: Callable[[], Any], set_state: Callable[[Any], None], names: Sequence[str]
) -> tuple[Callable[[], Any], Callable[[Any], None]]:
    """Return both as `of_state` does. A part of an object that only some paths set is checked as soon as it is there:
    the user's objects hold no `Perhaps`."""

    def put(values: Sequence[Any]) -> None:
        set_state(tuple([
            value.read() if type(value) is Perhaps and is_part(name) else value
            for name, value in zip(names, values, strict=False)
        ]))  # fmt: skip

    return of_state(get_state), of_state(put)


def is_part(name: str) -> bool:
    """Say whether a name of a block's state stands for an attribute, an element or a key."""
    return "." in name or "[" in name


def without(get_state: Callable[[], Any], hidden: frozenset[int], names: Sequence[str]) -> Callable[[], Any]:
    """Return a `get_state` for which some of the names are not defined."""
    if not hidden:
        return get_state
    return lambda: tuple([Hidden(names[k]) if k in hidden else value for k, value in enumerate(get_state())])


#: Names of the traces of tensors that stand in lists for what has been appended.
STAND_IN = "append to "


def check_not_left(value: object) -> None:
    """Raise InaccessibleTensorError for a list of which only the name that was appended to knows the elements."""
    last = value[-1] if type(value) is list and value else None
    trace = current_trace()
    if not isinstance(last, SymbolicTensor) or not isinstance(trace, GraphTrace) or last.trace.root is not trace.root:
        return
    if last.trace.graph.name.startswith(STAND_IN):
        raise InaccessibleTensorError(
            f"the list that is read here{at_line()} is one that a staged loop or branch has appended to by another "
            "name. Read it by the name that was appended to, use a tf.TensorArray, or return the value."
        )


# ---- Leaves ---------------------------------------------------------------------------------------------------------


def is_variable(leaf: object) -> bool:
    """Say whether `leaf` is a Variable: it stays one as long as no path puts another value in its place."""
    return hasattr(leaf, "__fg_cell__")


def is_tensor(leaf: object) -> bool:
    """Say whether `leaf` can be a tensor of the graph: a tensor, a number, a Variable's value."""
    return isinstance(leaf, (Tensor, *_NUMBERS)) or (hasattr(leaf, "__fg_tensor__") and not is_staged_list(leaf))


def is_text(leaf: object) -> bool:
    """Say whether `leaf` is text of Python's: it stays that until a path puts a tensor in its place."""
    return isinstance(leaf, (str, bytes))


def named(value: object) -> str:
    """Return how an error calls a value: a function or class by its name."""
    name = getattr(value, "__name__", None)
    kind = "class" if isinstance(value, type) else type(value).__name__
    return f"{kind} {name!r}" if callable(value) and isinstance(name, str) else reprlib.repr(value)


def results_instead(*values: object) -> str:
    """Return what to do where a tensor chooses between functions, "" where there is none among these."""
    if not any(callable(value) and not isinstance(value, Tensor) for value in values):
        return ""
    return (
        " A graph cannot hold functions: call each of them in its branch, `tf.cond(pred, lambda: f(x), lambda: g(x))`, "
        "or `tf.switch_case` for more than two, and use the results."
    )


def leaves_of(value: object) -> list[Any]:
    """Return the leaves of a value, composites and lists that are rows taken apart."""
    leaves = nesting.flatten(value, expand_composites=True)
    if not any(map(is_staged_list, leaves)):
        return leaves
    return [part for leaf in leaves for part in (leaf.parts() if is_staged_list(leaf) else (leaf,))]


def is_staged_list(leaf: object) -> bool:
    """Say whether a value is a list whose elements are rows."""
    return class_has(leaf, "__fg_staged_list__")


def packed(structure: object, leaves: Sequence[Any]) -> Any:
    """Return `leaves` in the place of those of `structure`."""
    flat = nesting.flatten(structure, expand_composites=True)
    if any(map(is_staged_list, flat)):
        rest = iter(leaves)
        leaves = [leaf.of([next(rest) for _ in leaf.parts()]) if is_staged_list(leaf) else next(rest) for leaf in flat]
    if not nesting.is_nested(structure) and len(flat) == len(leaves) == 1 and flat[0] is structure:
        return leaves[0]
    return nesting.pack_sequence_as(structure, list(leaves), expand_composites=True)


def begun(value: object) -> Any:
    """Return `value` with its TensorArrays as tensors of the graph under construction."""
    if not any(isinstance(leaf, TensorArray) for leaf in nesting.flatten(value)):
        return value
    return packed(value, leaves_of(value))


def like_zeros(leaf: object) -> Any:
    """Return zeros of the dtype and, as far as it is known, the shape of a tensor."""
    tensor = leaf if isinstance(leaf, Tensor) else convert(leaf)
    rank = tensor.shape.rank
    if tensor.dtype == dtypes.string:
        return creation.fill([size or 0 for size in tensor.shape.as_list()] if rank else [], "")
    return creation.zeros([size or 0 for size in tensor.shape.as_list()] if rank else [], tensor.dtype)


def stand_in(value: object) -> Any:
    """Return zeros of the structure, dtypes and shapes of `value`; what is no tensor in it stays."""
    return packed(value, [like_zeros(leaf) if is_tensor(leaf) and not is_variable(leaf) else leaf
                          for leaf in leaves_of(value)])  # fmt: skip


def same_structure(a: object, b: object) -> str | None:
    """Return None if two values nest alike, else the text of what differs.

    What a class says in `__fg_unify__(a, b)` of two of its values that are to be one is done before.
    """
    try:
        if nesting.is_nested(a) or any(class_has(each, "__fg_unify__") for each in (a, b)):
            nesting.assert_same_structure(a, b, check_types=False)
            for x, y in zip(nesting.flatten(a), nesting.flatten(b), strict=True):
                if is_staged_list(x) != is_staged_list(y):
                    raise TypeError("one is a list that a staged statement has appended to, the other is none")
                if class_has(x, "__fg_unify__") and (isinstance(y, type(x)) or isinstance(x, type(y))):
                    type(x).__fg_unify__(x, y)
        nesting.assert_same_structure(a, b, expand_composites=True)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


def longer(a: Any, b: Any) -> str:
    """Return what to do where a name is to hold lists or tuples of different lengths, "" where that is not so."""
    if type(a) is not type(b) or type(a) not in (list, tuple) or len(a) == len(b):
        return ""
    return " A list gets longer where it is appended to, values.append(value); else use a tf.TensorArray."


def same_leaf(a: object, b: object) -> bool:
    """Say whether two leaves that are no tensors are the same."""
    if a is b:
        return True
    if is_staged_list(a):  # which cannot be compared
        return False
    try:
        return bool(type(a) is type(b) and a == b)
    except Exception:  # a class may compare as it likes
        return False


# ---- Where two branches meet ----------------------------------------------------------------------------------------


class Join:
    """The value of a name after a conditional: pairs of leaves, one of either branch, and how to put results together.

    Raises ValueError or TypeError, naming the variable and the branches, where the two do not go together. `lenient`
    says that a name that one branch alone sets becomes a Perhaps.
    """

    def __init__(self, name: str, main: Any, other: Any, *, lenient: bool) -> None:
        self.name = name
        self.pairs: list[tuple[Any, Any]] = []
        self._rebuild: Callable[[Iterator[Any]], Any]
        if is_undefined(main) and is_undefined(other):
            self._rebuild = lambda _: main
            return
        missing = [is_undefined(value) for value in (main, other)]
        if any(isinstance(value, UndefinedReturnValue) for value in (main, other)):
            if main is None or other is None:  # a return without a value, and none: nothing either way
                self._rebuild = lambda _: None
                return
            lenient = True
        if lenient and (main is None) != (other is None):
            missing = [missing[0] or main is None, missing[1] or other is None]
        if any(missing):
            branch = "main" if missing[0] else "else"
            if not lenient:
                raise ValueError(
                    f"'{name}' must also be initialized in the {branch} branch: it is defined in the "
                    f"{'else' if missing[0] else 'main'} branch alone, and the graph may run either. Set it before "
                    "the if statement, or in both branches."
                )
            self._perhaps(main, other, missing, "" if main is None or other is None else branch)
        elif isinstance(main, Perhaps) or isinstance(other, Perhaps):
            self._perhaps(main, other, missing, "")
        else:
            self._plain(main, other)

    def result(self, outputs: Iterator[Any]) -> Any:
        """Return the name's value after the conditional, from the tensors that it gives."""
        return self._rebuild(outputs)

    def _perhaps(self, main: Any, other: Any, missing: list[bool], branch: str) -> None:
        why = ""
        sides = []
        for value, gone in zip((main, other), missing, strict=True):
            if gone:
                sides.append((None, False))
            elif isinstance(value, Perhaps):
                why = why or value.why
                sides.append((value.value, value.defined))
            else:
                sides.append((value, True))
        if not why:
            why = unset(self.name, branch)
        values = [value for value, _ in sides]
        if missing[0]:
            values[0] = _SAME
        if missing[1]:
            values[1] = _SAME
        self._plain(*values)
        inner = self._rebuild
        self.pairs.append((sides[0][1], sides[1][1]))

        def rebuild(outputs: Iterator[Any]) -> Any:
            value = inner(outputs)
            return Perhaps(value, next(outputs), why)

        self._rebuild = rebuild

    def _plain(self, main: object, other: object) -> None:
        if main is _SAME or other is _SAME:
            model = other if main is _SAME else main
            flat = leaves_of(model)
            columns = [[_SAME] * len(flat) if side is _SAME else flat for side in (main, other)]
        else:
            model = main
            for value, branch in ((main, "main"), (other, "else")):
                if value is None and not (main is None and other is None):
                    raise ValueError(
                        f"{told(self.name)} is None at the end of the {branch} branch, and a tensor at the end of the "
                        f"other: a graph has no None. Set it to a tensor in both, or before the if statement."
                    )
            difference = same_structure(main, other)
            if difference is not None:
                raise TypeError(
                    f"{told(self.name)} must have the same nested structure in the main and else branches: it is "
                    f"{reprlib.repr(main)} in the main branch and {reprlib.repr(other)} in the else branch."
                    f"{longer(main, other)}\n\n{difference}"
                )
            columns = [leaves_of(main), leaves_of(other)]
            model = of_both(main, other)
        plan = [self._leaf(a, b) for a, b in zip(*columns, strict=True)]

        def rebuild(outputs: Iterator[Any]) -> Any:
            return packed(model, [next(outputs) if leaf is _HOLE else leaf for leaf in plan])

        self._rebuild = rebuild

    def _leaf(self, a: Any, b: Any) -> Any:
        """Return the leaf where both branches have the same that is no tensor, else note the pair."""
        if a is _SAME or b is _SAME:
            known = b if a is _SAME else a
            if not is_tensor(known) or is_variable(known):
                return known
            self.pairs.append((_Zeros(known), known) if a is _SAME else (known, _Zeros(known)))
            return _HOLE
        if (is_text(a) or is_text(b)) and all(is_text(x) or is_tensor(x) for x in (a, b)) and not same_leaf(a, b):
            a, b = (convert(x) if is_text(x) else x for x in (a, b))
        if is_tensor(a) and is_tensor(b):
            if a is b and is_variable(a):
                return a
            dtype_a, dtype_b = (_dtype_of(x) for x in (a, b))
            if dtype_a != dtype_b:
                raise TypeError(
                    f"{told(self.name)} has dtype {dtype_a.name} in the main branch, but dtype {dtype_b.name} in the "
                    f"else branch{_as_constants(a, b)}: tf.cast one of them"
                )
            self.pairs.append((a, b))
            return _HOLE
        if not same_leaf(a, b):
            raise TypeError(
                f"{told(self.name)} must have the same non-tensor values in both branches of a conditional that a "
                f"tensor decides: it holds {named(a)} in the main branch and {named(b)} in the else branch. Only "
                f"tensors, numbers and text can differ.{results_instead(a, b)}"
            )
        return a


def _dtype_of(value: object) -> Any:
    """Return the dtype that a number or tensor has in a graph, without putting it there."""
    if hasattr(value, "dtype"):
        return dtypes.as_dtype(value.dtype)
    known = {bool: dtypes.bool_, int: dtypes.int32, float: dtypes.float32}.get(type(value))
    return convert(value).dtype if known is None else known


def _as_constants(*values: object) -> str:
    numbers = [repr(value) for value in values if not hasattr(value, "dtype")]
    return f" (from {' and '.join(numbers)})" if numbers else ""


class _Zeros:
    """Zeros like a tensor of the other branch."""

    def __init__(self, like: Tensor | int) -> None:
        self.like = like


def output_of(leaf: object) -> Any:
    """Return the tensor that a branch gives for one of a pair's leaves."""
    return like_zeros(leaf.like) if isinstance(leaf, _Zeros) else convert(leaf)


def unset(name: str, branch: str) -> str:
    """Return the text for a name that was read where the path taken had not set it; no branch: where it was None."""
    if not branch:
        return (
            f"'{name}' is None where no path that ran sets it{at_line()}, and a graph has no None: begin with a tensor"
        )
    if name.startswith(RETURN_VALUE):
        return (
            f"A value must also be returned from the {branch} branch{at_line()}. If a value is "
            "returned from one branch of a conditional a value must be returned from all branches."
        )
    return f"'{name}' is used before it is assigned: no path that ran sets it{at_line()}"


def not_begun(name: str) -> str:
    """Return the text for a name that a loop alone sets and that was read where the loop had no iteration."""
    place = user_place()
    if name.startswith(RETURN_VALUE):
        return (
            f"A value must also be returned after the loop{at_line()}: it may end, or not begin, without reaching a "
            "return."
        )
    return f"loop must iterate at least once to initialize {name}{f' (the loop of {place})' if place else ''}"


_SAME = type("_Same", (), {"__repr__": lambda _: "as in the other branch"})()
_HOLE = type("_Hole", (), {"__repr__": lambda _: "tensor"})()


# ---- Conditions -----------------------------------------------------------------------------------------------------


def condition(value: object, statement: str) -> Any:
    """Return what decides a statement as a bool scalar. Raises ValueError for another dtype or rank."""
    tensor = value if isinstance(value, SymbolicTensor) else convert(value)
    if tensor.dtype != dtypes.bool_:
        raise ValueError(
            f"condition of {statement} expected to be `tf.bool` scalar, got {tensor}; compare it, or use "
            "`tf.cast(x, tf.bool)`; to check for None, use `is not None`"
        )
    if tensor.shape.rank and any(size not in (1, None) for size in tensor.shape.as_list()):
        raise ValueError(
            f"condition of {statement} expected to be `tf.bool` scalar, got {tensor}; use tf.reduce_all or "
            "tf.reduce_any for all its elements, tf.where to choose element by element; to check for None, use "
            "`is not None`"
        )
    return tensor


def both(a: object, b: object) -> Any:
    """Return a and b of two bool scalars."""
    return comparison.logical_and(a, b)


#: Objects that converted code has made while a function was traced, by their ids.
_made: weakref.WeakKeyDictionary[GraphTrace, dict[int, weakref.ref[Any]]] = weakref.WeakKeyDictionary()


def note_made(value: object) -> None:
    """Remember that what is being traced has made an object: the lists that it holds are no other function's."""
    trace = current_trace()
    if isinstance(trace, GraphTrace):
        with contextlib.suppress(TypeError):  # a class whose objects nothing refers to weakly
            _made.setdefault(trace.root, {})[id(value)] = weakref.ref(value)


def was_made_here(value: object) -> bool:
    """Say whether `note_made` was told of an object in this trace."""
    trace = current_trace()
    known = _made.get(trace.root, {}).get(id(value)) if isinstance(trace, GraphTrace) else None
    return known is not None and known() is value
