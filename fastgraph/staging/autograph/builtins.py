"""What Python's expressions and builtins mean in converted code: Python's own meaning unless a tensor decides.

Rule: as in statements.py; nothing here knows of blocks and their state.
"""

from __future__ import annotations

import builtins
import reprlib
from collections.abc import Callable
from typing import Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.tensor import convert, current_trace
from fastgraph.graph import control_flow, map_and_scan
from fastgraph.graph.trace import SymbolicTensor
from fastgraph.ops import (
    comparison,
    creation,
    elementwise,
    gathering,
    movement,
    print_op,
    python_functions,
    reduction,
    runtime_assertions,
    sorting,
)
from fastgraph.staging import autograph
from fastgraph.staging.autograph.block_state import (
    Hidden,
    check_not_left,
    condition,
    in_state,
    is_undefined,
    leaves_of,
    named,
    of_tensors,
    results_instead,
    user_place,
)
from fastgraph.staging.autograph.conditional_lists import chosen
from fastgraph.staging.autograph.container_changes import Containers
from fastgraph.staging.autograph.iterables import (
    enumerate_,
    filter_,
    map_,
    reversed_,
    source_of,
    staged,
    zip_,
)
from fastgraph.staging.autograph.list_growth import Grow
from fastgraph.staging.autograph.stacking import as_rows
from fastgraph.staging.autograph.staged_lists import StagedList


def decides(value: Any) -> bool:
    """Say whether `value` is known only when the graph runs."""
    return isinstance(value, SymbolicTensor)


def decisive(value: Any) -> Any:
    """Return `value` as what decides a statement: in a trace a Variable is its value there."""
    if hasattr(value, "__fg_cell__") and current_trace() is not None:
        return convert(value)
    check_not_left(value)
    return value.truth() if isinstance(value, StagedList) else value


def stacked(value: Any) -> Any:
    """Return a list that staged statements have changed as the tensor of its elements, a Variable as its value."""
    return convert(value) if isinstance(value, StagedList) else decisive(value)


def if_exp(cond: Any, if_true: Any, if_false: Any, expr_repr: str) -> Any:
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
    if "Failed to convert elements of" not in str(error) or all(of_tensors(leaf) for leaf in leaves):
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
    """What an expression gives, as the state of its branches."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value: Any = None

    def put(self, value: Any) -> None:
        self.value = value


def _chosen(pred: Any, if_true: Any, if_false: Any, *parts: Any) -> Any:
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


def _staged_choice(pred: Any, if_true: Any, if_false: Any, *parts: Any) -> Any:
    """Return what one of two functions gives, as an if statement that assigns it."""
    from fastgraph.staging.autograph.statements import staged_if

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


def and_(a: Any, b: Any) -> Any:
    """a and b; b is not evaluated where a is false."""
    left = _operand(a(), "and")
    if not decides(left):
        return left and b()
    return _chosen(condition(left, "`and`"), lambda: convert(b()), lambda: left, b)


def _operand(value: Any, what: str) -> Any:
    """Return what decides an `and` or `or`. Raises NotImplementedError for a list whose length is a tensor."""
    if isinstance(value, StagedList):
        raise NotImplementedError(
            f"`{what}` of the list '{value.name}' ({user_place()}), whose length is a tensor, would be a list or "
            f"something else: write `len({value.name}) > 0`, or an if statement"
        )
    return decisive(value)


def or_(a: Any, b: Any) -> Any:
    """a or b; b is not evaluated where a is true."""
    left = _operand(a(), "or")
    if not decides(left):
        return left or b()
    return _chosen(condition(left, "`or`"), lambda: left, lambda: convert(b()), b)


def not_(a: Any) -> Any:
    """not a."""
    a = decisive(a)
    return comparison.logical_not(a) if decides(a) else not a


def not_eq(a: Any, b: Any) -> Any:
    """a != b."""
    return a != b


def assert_stmt(expression1: Any, expression2: Any) -> None:
    """assert expression1, expression2()."""
    if not decides(expression1):
        assert expression1, expression2()
        return
    message = expression2()
    runtime_assertions.Assert(expression1, list(message) if isinstance(message, (list, tuple)) else [message])


def range_(*limits: Any) -> Any:
    """range(...), of tensors tf.range; by a step that is a tensor, empty as Python's if the limit is behind it."""
    if not any(map(decides, limits)):
        return range(*limits)
    if len(limits) == 3 and decides(limits[2]):
        start, limit, step = creation.bounds(*limits)
        limit = gathering.where(step > 0, elementwise.maximum(start, limit), elementwise.minimum(start, limit))
        return creation.range_(start, limit, step)
    return creation.range_(*limits)


def len_(value: Any) -> Any:
    """len(value); a tensor's may be known only when the graph runs."""
    if isinstance(value, StagedList):
        return value.length()
    value = decisive(value)
    if not decides(value):
        return len(value)
    if value.shape.rank == 0:
        raise ValueError("len requires a non-scalar tensor")
    known = None if value.shape.rank is None else value.shape[0]
    return known if known is not None else movement.shape(value)[0]


def print_(*values: Any, **options: Any) -> None:
    """print(...), where a symbolic tensor is among the values at every run of the graph."""
    if any(map(decides, nesting.flatten(list(values)))) and not options:
        print_op.print_(*values)
    else:
        builtins.print(*values, **options)


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


def int_(value: Any = 0, *base: Any) -> Any:
    """int(...), of a symbolic tensor a cast."""
    return elementwise.cast(value, dtypes.int32) if decides(value) else int(value, *base)


def float_(value: Any = 0.0) -> Any:
    """float(...), of a symbolic tensor a cast."""
    return elementwise.cast(value, dtypes.float32) if decides(value) else float(value)


def bool_(value: Any = False) -> Any:
    """bool(...), of a symbolic scalar whether it is not zero."""
    value = decisive(value)
    if not decides(value):
        return bool(value)
    if value.shape.rank:
        raise ValueError(f"the truth value of {value} is ambiguous: use tf.reduce_any or tf.reduce_all")
    return value if value.dtype == dtypes.bool_ else comparison.not_equal(value, elementwise.zeros_like(value))


def _row_truths(values: Any) -> Any:
    if values.shape.rank is not None and values.shape.rank != 1:
        raise ValueError(f"any and all of {values}: its rows must be scalars; use tf.reduce_any or tf.reduce_all")
    return values if values.dtype == dtypes.bool_ else comparison.not_equal(values, elementwise.zeros_like(values))


def any_(values: Any) -> Any:
    """any(...)."""
    values = stacked(values)
    if decides(values):
        return reduction.reduce_any(_row_truths(values))
    return _first_of(values, True, comparison.logical_or)


def all_(values: Any) -> Any:
    """all(...)."""
    values = stacked(values)
    if decides(values):
        return reduction.reduce_all(_row_truths(values))
    return _first_of(values, False, comparison.logical_and)


def _first_of(values: Any, deciding: bool, joined: Callable[[Any, Any], Any]) -> Any:
    """Whether a value is `deciding`: Python's answer as soon as a Python value gives it, else that of the tensors."""
    found = None
    for value in values:
        truth = bool_(value)
        if decides(truth):
            found = truth if found is None else joined(found, truth)
        elif truth is deciding:
            return deciding
    return not deciding if found is None else found


def max_(*values: Any, **options: Any) -> Any:
    """max(...)."""
    return _extreme("max", values, options, reduction.argmax, comparison.greater)


def min_(*values: Any, **options: Any) -> Any:
    """min(...)."""
    return _extreme("min", values, options, reduction.argmin, comparison.less)


def _extreme(what: str, values: tuple[Any, ...], options: dict[str, Any], place: Any, beats: Any) -> Any:
    """The first of the greatest (or least) values, as Python finds it."""
    python = getattr(builtins, what)
    if len(values) == 1:
        single = stacked(values[0])
        if decides(single) and not options:
            if single.shape.rank is not None and single.shape.rank != 1:
                raise ValueError(f"{what} of {single}: its rows must be scalars; use tf.reduce_{what}")
            return gathering.gather(single, place(single, 0))
        elements: Any = list(source_of(single)) if staged(single) else list(single)
    else:
        elements = [decisive(value) for value in values]
    key = _converted_key(options.get("key"))
    keys = [key(element) for element in elements] if key else elements
    if not any(map(decides, keys)):
        return python(*values, **options) if len(values) > 1 else python(elements, **options)
    best, best_key = elements[0], keys[0]
    for element, its_key in zip(elements[1:], keys[1:], strict=True):
        better = condition(beats(its_key, best_key), what)
        best_key = control_flow.cond(better, lambda k=its_key: convert(k), lambda k=best_key: convert(k))
        best = best_key if key is None else control_flow.cond(better, lambda e=element: e, lambda e=best: e)
    return best


def _converted_key(key: Any) -> Any:

    return None if key is None else BUILTINS.get(key) or autograph.convert(key)


def sum_(values: Any, start: Any = 0) -> Any:
    """sum(...)."""
    values = stacked(values)
    if decides(values):
        total = reduction.reduce_sum(values, 0)
        return total if isinstance(start, int) and start == 0 else start + total
    return builtins.sum(values, start)


def sorted_(values: Any, *, key: Any = None, reverse: bool = False) -> Any:
    """sorted(...), of a symbolic tensor as a tensor: its elements, or its rows by a key, equal ones in their order."""
    values = stacked(values)
    if not decides(values):
        return builtins.sorted(values, key=key, reverse=reverse)
    if key is None and values.shape.rank not in (None, 1):
        raise ValueError(f"sorted of {values}: its rows must be scalars, or a key must say by what to sort")
    direction = "DESCENDING" if reverse else "ASCENDING"
    if key is None:
        return sorting.sort(values, direction=direction)
    keys = map_and_scan.map_fn(_converted_key(key), values, fn_output_signature=None)
    return gathering.gather(values, sorting.argsort(keys, direction=direction, stable=True))


def isinstance_(value: Any, kinds: Any) -> bool:
    """isinstance(...): a list that a staged statement has appended to is one."""
    return builtins.isinstance([] if isinstance(value, StagedList) else value, kinds)


def abs_(value: Any) -> Any:
    """abs(...)."""
    return builtins.abs(decisive(value))


def round_(value: Any, *digits: Any) -> Any:
    """round(...), of a symbolic tensor element by element, halves to even."""
    value = decisive(value)
    if not decides(value):
        return builtins.round(value, *digits)
    if not digits or digits[0] is None:
        return elementwise.round(value)
    scale = 10.0 ** digits[0]
    return elementwise.round(value * scale) / scale


def list_(*values: Any) -> Any:
    """list(...), of a symbolic tensor its rows."""
    if len(values) == 1 and isinstance(values[0], StagedList):
        return values[0].of(values[0].parts())
    return list(*map(_elements, values))


def tuple_(*values: Any) -> Any:
    """tuple(...), of a symbolic tensor its rows."""
    return tuple(*map(_elements, values))


def _elements(value: Any) -> Any:
    if isinstance(value, StagedList):
        raise value.unsupported("tuple()")
    value = decisive(value)
    return source_of(value) if staged(value) else value


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


def _is_mutable(element: Any) -> bool:
    """Say whether what is done to an element could change the list that it is from."""
    return any(map(_is_mutable, element)) if isinstance(element, tuple) else not of_tensors(element)


def slots(owner: Any) -> Any:
    """Return what items of `owner` are set in: `owner` itself, or what lets a tensor be the index of a list."""
    kind = getattr(owner, "__fg_like__", type(owner))
    if not in_state():
        check_not_left(owner)
    return _Slots(owner, kind is list) if kind in (list, dict) else owner


class _Slots:
    def __init__(self, owner: Any, is_list: bool) -> None:
        self._owner = owner
        self._is_list = is_list

    def __getitem__(self, index: Any) -> Any:
        return item(self._owner, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        owner = self._owner
        if type(value) is Hidden:
            return
        if is_undefined(value):  # of a block's state: there is no such item
            if isinstance(owner, dict):
                owner.pop(index, None)
        elif self._is_list and decides(index):
            if not in_state():
                self._put(index, value)
        elif in_state() and self._is_list and isinstance(index, int) and index >= len(owner):
            raise NotImplementedError(
                f"element {index} of a list is set or deleted in a staged statement ({user_place()}) that also changes "
                f"how many elements the list has: set it after that, or use a tf.TensorArray"
            )
        else:
            owner[index] = value

    def _put(self, index: Any, value: Any) -> None:
        """Have each element be `value` or what it was, whichever `index` says."""
        owner, n = self._owner, len(self._owner)
        made = as_rows([*owner, value])
        if made is None:
            raise TypeError(
                f"the elements of a list that a tensor is the index of must be alike: {reprlib.repr(value)} cannot be "
                f"put into {reprlib.repr(owner)} ({user_place()})"
            )
        *elements, new = [nesting.pack_sequence_as(made[0], [row[k] for row in made[1]]) for k in range(n + 1)]
        at = elementwise.cast(index, dtypes.int64)
        at = elementwise.add(at, elementwise.cast(at < 0, dtypes.int64) * n)
        inside = comparison.logical_and(comparison.greater_equal(at, 0), comparison.less(at, n))
        runtime_assertions.Assert(inside, ["list assignment index out of range:", index])
        for k, old in enumerate(elements):
            here = comparison.equal(at, k)
            owner[k] = nesting.map_structure(lambda a, b, here=here: gathering.where(here, a, b), new, old)


class Attributes:
    """What attributes of an object are set in from a block's state: one that is not defined is deleted."""

    def __init__(self, owner: Any) -> None:
        object.__setattr__(self, "_owner", owner)

    def __setattr__(self, name: str, value: Any) -> None:
        owner = object.__getattribute__(self, "_owner")
        if type(value) is Hidden:
            return
        if not is_undefined(value):
            setattr(owner, name, value)
        elif name in getattr(owner, "__dict__", ()):
            delattr(owner, name)


#: What a call of a builtin, or of what takes a list of tensors, means in converted code.
BUILTINS: dict[Any, Callable[..., Any]] = {
    print: print_, range: range_, len: len_, int: int_, float: float_, bool: bool_, any: any_, all: all_, max: max_,
    min: min_, sum: sum_, sorted: sorted_, abs: abs_, round: round_, list: list_, tuple: tuple_, enumerate: enumerate_,
    zip: zip_, map: map_, filter: filter_, reversed: reversed_, isinstance: isinstance_,
}  # fmt: skip
