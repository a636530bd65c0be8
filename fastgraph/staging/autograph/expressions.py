"""The meaning of Python's expressions in converted code: reading a name, `and`, a conditional expression, an item.

Rule: as in statements.py, Python's own meaning unless a tensor decides.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.tensor import Tensor, convert, current_trace
from fastgraph.graph import control_flow
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.ops import comparison, elementwise, gathering, python_functions, runtime_assertions
from fastgraph.staging import autograph
from fastgraph.staging.autograph.block_state import (
    Hidden,
    Perhaps,
    Undefined,
    check_not_left,
    condition,
    in_state,
    is_tensor,
    is_undefined,
    leaves_of,
    named,
    results_instead,
    user_place,
)
from fastgraph.staging.autograph.conditional_lists import chosen
from fastgraph.staging.autograph.conditionals import staged_if
from fastgraph.staging.autograph.container_changes import Containers
from fastgraph.staging.autograph.list_growth import Grow
from fastgraph.staging.autograph.loop_options import prints_in_graphs
from fastgraph.staging.autograph.stacking import as_rows
from fastgraph.staging.autograph.staged_lists import StagedList

#: Builtin -> its call in converted code; filled by builtins.py.
BUILTINS: dict[Any, Callable[..., Any]] = {}


def converted(function: Any) -> Any:
    """Return what converted code calls where a builtin calls the `function` that it was given (None stays None)."""
    if function is None:
        return None
    is_builtin = isinstance(function, type(len) | type) and function in BUILTINS
    return BUILTINS[function] if is_builtin else autograph.convert(function)


def decides(value: object) -> bool:
    """Say whether `value` is known only when the graph runs."""
    return isinstance(value, SymbolicTensor)


def decisive(value: object) -> Any:
    """Return `value` as what decides a statement: in a trace a Variable is its value there."""
    if hasattr(value, "__fg_cell__") and current_trace() is not None:
        return convert(value)
    check_not_left(value)
    return value.truth() if isinstance(value, StagedList) else value


def stacked(value: object) -> Any:
    """Return a list that staged statements have changed as the tensor of its elements, a Variable as its value."""
    return convert(value) if isinstance(value, StagedList) else decisive(value)


def ld(value: Any) -> Any:
    """Return what a name holds where the user's code reads it. Raises UnboundLocalError for one that is not defined."""
    if type(value) is Perhaps and in_state():
        return value.value
    if type(value) in (Perhaps, Undefined):
        return value.read()
    if value is print and prints_in_graphs():
        return print_in_graphs
    if type(value) is list and value and not in_state():
        check_not_left(value)
    return value


def print_in_graphs(*values: Any, **options: Any) -> None:
    """print(...) with the feature BUILTIN_FUNCTIONS: of symbolic tensors their values, at every run of the graph."""
    symbolic = [value for value in values if decides(value)]
    if not symbolic:
        builtins.print(*values, **options)
        return
    places = [decides(value) for value in values]

    def write(*arrays: Any) -> None:
        left = iter(arrays)
        shown = [next(left) if place else value for place, value in zip(places, values, strict=True)]
        builtins.print(*shown, **{**options, "flush": True})

    python_functions.numpy_function(write, symbolic, [])


def if_exp(cond: Any, if_true: Callable[..., Any], if_false: Callable[..., Any], expr_repr: str) -> Any:
    """a if cond else b. Raises TypeError, naming the expression, where the two differ in structure or dtype."""
    cond = decisive(cond)
    if not decides(cond):
        return if_true() if cond else if_false()
    pred = condition(cond, "conditional expression")
    expression = f"the conditional expression `... if {expr_repr.strip()} else ...`"
    values: dict[str, Any] = {}

    def noted(branch: str, part: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            values[branch] = part()
            return values[branch]

        return run

    containers = Containers([if_true, if_false], ())
    try:
        result = _chosen(pred, noted("main", if_true), noted("else", if_false), if_true, if_false)
        return chosen(result) if any(containers.has_other_names(value, "") for value in values.values()) else result
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError) and "true_fn and false_fn" in str(error):
            details = str(error).rpartition("Error details:\n")[2]
            raise TypeError(
                f"the two values of {expression} must have the same structure and dtypes, for a tensor decides between "
                f"them: {details}"
            ) from None
        told = _no_tensor(expression, values, error)
        if told is None:
            raise
        raise told from None


def _no_tensor(expression: str, values: dict[str, Any], error: Exception) -> Exception | None:
    """Return the error for a conditional expression of which a value is no tensor; None for another error."""
    nothing = [branch for branch, value in values.items() if value is None]
    if isinstance(error, ValueError) and len(values) == 2 and len(nothing) == 1:
        return ValueError(
            f"{expression} is None in the {nothing[0]} branch, and a tensor in the other: a graph has no None, and a "
            f"tensor decides ({user_place()}). Give a tensor in both"
        )
    leaves = [leaf for value in values.values() for leaf in leaves_of(value)]
    if "Failed to convert elements of" not in str(error) or all(is_tensor(leaf) for leaf in leaves):
        return None
    found = " or ".join(named(value) for value in values.values())
    return TypeError(
        f"{expression} gives {found} ({user_place()}): a tensor decides, so both values must be tensors or numbers."
        f"{results_instead(*leaves)}"
    )


class _Changed(BaseException):
    """A part of an expression changes a container or a variable, or is a list that a graph knows the length of.

    No handler of the user's stops it.
    """


class _Result:
    """The value of an expression, as the state of its branches."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def put(self, value: Any) -> None:
        self.value = value


def _chosen(pred: Tensor, if_true: Callable[..., Any], if_false: Callable[..., Any], *parts: Any) -> Any:
    """Return what one of two functions gives; what `parts`, the user's expressions, change is carried."""
    containers = Containers(parts, ())

    def unchanged(part: Callable[[], Any]) -> Callable[[], Any]:
        def run() -> Any:
            value = part()
            if isinstance(value, StagedList) or (containers.all and containers.changed()):
                raise _Changed
            return value

        return run

    try:
        return control_flow.cond(pred, unchanged(if_true), unchanged(if_false))
    except (_Changed, Grow) as reason:
        containers.restore()
        if isinstance(reason, Grow):
            raise
    return _staged_choice(pred, if_true, if_false, *parts)


def _staged_choice(pred: object, if_true: Any, if_false: Any, *parts: Any) -> Any:
    """Return what one of two functions gives, as an if statement that assigns it."""
    result = _Result()
    staged_if(
        pred,
        lambda: result.put(if_true()),
        lambda: result.put(if_false()),
        lambda: (result.value,),
        lambda state: result.put(state[0]),
        ("the value of the expression",),
        [0],
        lenient=False,
        blocks=parts,
    )
    return result.value


def and_(a: Callable[..., Any], b: Callable[..., Any]) -> Any:
    """a and b; b is not evaluated where a is false."""
    left = _operand(a(), "and")
    if not decides(left):
        return left and b()
    return _chosen(condition(left, "`and`"), lambda: convert(b()), lambda: left, b)


def _operand(value: object, what: str) -> Any:
    """Return what decides an `and` or `or`. Raises NotImplementedError for a list whose length is a tensor."""
    if isinstance(value, StagedList):
        raise NotImplementedError(
            f"`{what}` of the list '{value.name}' ({user_place()}), whose length is a tensor, would be a list or "
            f"something else: write `len({value.name}) > 0`, or an if statement"
        )
    return decisive(value)


def or_(a: Callable[..., Any], b: Callable[..., Any]) -> Any:
    """a or b; b is not evaluated where a is true."""
    left = _operand(a(), "or")
    if not decides(left):
        return left or b()
    return _chosen(condition(left, "`or`"), lambda: left, lambda: convert(b()), b)


def not_(a: object) -> Any:
    """not a."""
    a = decisive(a)
    return comparison.logical_not(a) if decides(a) else not a


def not_eq(a: object, b: object) -> Any:
    """a != b."""
    return a != b


def assert_stmt(expression1: Any, expression2: Callable[..., Any]) -> None:
    """assert expression1, expression2()."""
    if not decides(expression1):
        assert expression1, expression2()
        return
    message = expression2()
    runtime_assertions.Assert(expression1, list(message) if isinstance(message, (list, tuple)) else [message])


def bool_(value: Any = False) -> Any:
    """bool(...), of a symbolic scalar whether it is not zero."""
    value = decisive(value)
    if not decides(value):
        return bool(value)
    if value.shape.rank:
        raise ValueError(f"the truth value of {value} is ambiguous: use tf.reduce_any or tf.reduce_all")
    return value if value.dtype == dtypes.bool_ else comparison.not_equal(value, elementwise.zeros_like(value))


def item(owner: Any, index: Any) -> Any:
    """owner[index], of a list or tuple whose elements are alike by a tensor as well."""
    check_not_left(owner)
    if type(owner) not in (list, tuple) or not decides(index):
        return owner[index]
    if in_state():
        return None  # the list is carried as a whole
    made = None if any(map(_is_mutable, owner)) else as_rows(owner)  # an element could be written to
    if made is None:
        return owner[index]
    at = elementwise.cast(index, dtypes.int64)
    at = elementwise.add(at, elementwise.cast(at < 0, dtypes.int64) * len(owner))
    return nesting.pack_sequence_as(made[0], [gathering.gather(row, at) for row in made[1]])


def _is_mutable(element: object) -> bool:
    """Say whether what is done to an element could change the list that it is from."""
    return any(map(_is_mutable, element)) if isinstance(element, tuple) else not is_tensor(element)


def slots(owner: object) -> Any:
    """Return what items of `owner` are set in: `owner` itself, or what lets a tensor be the index of a list."""
    kind = getattr(owner, "__fg_like__", type(owner))
    if not in_state():
        check_not_left(owner)
    return _Slots(owner, kind is list) if kind in (list, dict) else owner


class _Slots:
    def __init__(self, owner: Any, is_list: bool) -> None:
        self._owner = owner
        self._is_list = is_list

    def __getitem__(self, index: object) -> Any:
        return item(self._owner, index)

    def __setitem__(self, index: object, value: object) -> None:
        owner = self._owner
        if type(value) is Hidden:
            return
        if is_undefined(value):  # of a block's state: there is no such item
            if isinstance(owner, dict):
                owner.pop(index, None)
        elif self._is_list and decides(index):
            if not in_state():
                raise TypeError(
                    f"list indices must be integers or slices, and a tensor is the index of an element that is set "
                    f"({user_place()}): a graph cannot change the one or the other element of a list. Hold the "
                    f"elements in a tensor, values = tf.tensor_scatter_nd_update(values, [[i]], [value]), or in a "
                    f"tf.TensorArray, values = values.write(i, value)"
                )
        elif in_state() and self._is_list and isinstance(index, int) and index >= len(owner):
            raise NotImplementedError(
                f"element {index} of a list is set or deleted in a staged statement ({user_place()}) that also changes "
                f"how many elements the list has: set it after that, or use a tf.TensorArray"
            )
        else:
            owner[index] = value


class Attributes:
    """An object whose attributes are set from a block's state: one that is not defined is deleted."""

    def __init__(self, owner: Any) -> None:
        object.__setattr__(self, "_owner", owner)

    def __setattr__(self, name: str, value: object) -> None:
        owner = object.__getattribute__(self, "_owner")
        if type(value) is Hidden:
            return
        if not is_undefined(value):
            setattr(owner, name, value)
        elif name in getattr(owner, "__dict__", ()):
            delattr(owner, name)
