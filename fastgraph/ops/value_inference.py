"""Inference of the integers that an op gives: all that follows from its inputs' elements as far as these are known.

Rule: here, and nowhere in the single ops, stands how what is known of values passes through ops (`shape`, `size` and
`rank` begin it in their inference; whatever takes a shape reads `Aval.value` or `Aval.numbers`). An element counts as
known only if every value of the unknown ones gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import UNKNOWN, Aval
from fastgraph.errors import InvalidArgumentError

Array = np.ndarray[Any, Any]
#: Known elements of a result, UNKNOWN among them; for several results a tuple. None: nothing is known.
Found = Any
Rule = Callable[[Callable[..., Any], Sequence[Aval], dict[str, Any]], Found]

#: Values are followed through inference only up to this size: they are shapes and indices, not data.
FOLD_LIMIT = 1024
#: As far as floating-point numbers are followed at all, as in ceil(n / 2): by operations that round in one way only.
_FLOATING_LIMIT = 16
_EXACT = frozenset({
    "cast", "realdiv", "add", "subtract", "multiply", "floordiv", "floormod", "floor", "ceil", "round", "rint",
    "negative", "abs", "maximum", "minimum",
})  # fmt: skip
_ONE_UNKNOWN = np.array(UNKNOWN)


def of_elements(dtype: DType, elements: Array) -> Aval:
    """The aval of a tensor with these elements, integers among which UNKNOWN stands for what is not."""
    numbers = elements.reshape(-1).tolist()  # few: faster than arrays are
    n_missing = numbers.count(UNKNOWN)
    if not n_missing:
        value = elements.astype(dtype.numpy_dtype)  # always a copy
        value.flags.writeable = False
        return Aval(dtype, value.shape, value)
    return Aval(dtype, elements.shape, None, None if n_missing == len(numbers) else elements)


def elements_of(aval: Aval) -> Array | None:
    """The elements of integers or truth values with UNKNOWN for what is not known; None for other and larger ones."""
    if aval.partial is not None:
        return aval.partial
    if not (aval.dtype.is_integer or aval.dtype.is_bool) or aval.shape is None or None in aval.shape:
        return None
    if aval.value is not None:
        return aval.value.astype(np.int64)
    if not aval.shape:
        return _ONE_UNKNOWN
    return np.full(aval.shape, UNKNOWN) if (aval.size or 0) <= FOLD_LIMIT else None


def following(
    infer: Callable[..., Any], body: Callable[..., Any], name: str = "", family: str = ""
) -> Callable[..., Any]:
    """`infer` of an op that also finds what is known of the result's elements, where small integers come out."""
    exact, rule = name in _EXACT, _RULES.get(name) or _FAMILIES.get(family)
    many = name in _SEVERAL

    def infer_and_follow(*avals: Aval, **attrs: Any) -> Any:
        result = infer(*avals, **attrs)
        if type(result) is not Aval:
            if not many or not result or not (result[0].dtype.is_integer or result[0].dtype.is_bool):
                return result
        elif result.value is not None or result.partial is not None:
            return result
        elif not (result.dtype.is_integer or result.dtype.is_bool):
            if not (exact and result.dtype.is_floating):
                return result
            for aval in avals:
                if aval.value is None:
                    return result
        for aval in avals:  # few are: asked before what costs more
            if aval.value is not None or aval.partial is not None:
                return _followed(result, rule, body, avals, attrs)
        return result

    return infer_and_follow


def _followed(
    result: Any, rule: Rule | None, body: Callable[..., Any], avals: Sequence[Aval], attrs: dict[str, Any]
) -> Any:
    several = type(result) is tuple
    results: tuple[Aval, ...] = result if several else (result,)
    for aval in results:
        limit = FOLD_LIMIT if aval.dtype.is_integer or aval.dtype.is_bool else _FLOATING_LIMIT
        if aval.shape is None or None in aval.shape or (aval.size or 0) > limit:
            return result
    found: Found = None
    try:
        for aval in avals:
            if aval.value is None:
                if rule is not None and not results[0].dtype.is_floating:
                    found = rule(body, avals, attrs)
                break
        else:
            with np.errstate(all="ignore"):
                found = body(*[aval.value for aval in avals], **attrs)
            if not several:
                value = np.array(found, dtype=results[0].dtype.numpy_dtype)
                value.flags.writeable = False
                return Aval(results[0].dtype, value.shape, value) if value.shape == results[0].shape else result
    except (InvalidArgumentError, ValueError, IndexError, OverflowError):
        return result  # the op fails when it runs, with its own message
    if found is None:
        return result
    made = [
        of_elements(aval.dtype, np.asarray(e, np.int64))
        for aval, e in zip(results, found if several else [found], strict=True)
    ]
    if any(new.shape != aval.shape for new, aval in zip(made, results, strict=True)):
        return result
    return tuple(made) if several else made[0]


# ---- the rules ------------------------------------------------------------------------------------------------------


def _moved(n: int) -> Rule:
    """Rule of an op whose elements are its first n inputs' (0: all inputs') at other places, which the others say."""

    def rule(body: Callable[..., Any], avals: Sequence[Aval], attrs: dict[str, Any]) -> Found:
        if n == 1 and avals[0].value is None and avals[0].partial is None:
            return None
        taken = [elements_of(aval) if not n or i < n else aval.value for i, aval in enumerate(avals)]
        return None if any(each is None for each in taken) else body(*taken, **attrs)

    return rule


def _combined(body: Callable[..., Any], avals: Sequence[Aval], attrs: dict[str, Any]) -> Found:
    """Rule of an elementwise op: an element is known where those are that it is made of."""
    for aval in avals:  # most often nothing is known of one of them
        if aval.value is None and aval.partial is None:
            return None
    numbers, missing = [], np.False_
    for aval in avals:
        elements = elements_of(aval)
        if elements is None:
            return None
        unknown = elements == UNKNOWN
        missing = missing | unknown
        numbers.append(np.where(unknown, 1, elements).astype(aval.dtype.numpy_dtype))
    with np.errstate(all="ignore"):
        return np.where(missing, UNKNOWN, np.asarray(body(*numbers, **attrs)).astype(np.int64))


def _reduced(body: Callable[..., Any], avals: Sequence[Aval], attrs: dict[str, Any]) -> Found:
    """Rule of a reduction: an element is known where all are that it is made of."""
    elements = elements_of(avals[0])
    if elements is None:
        return None
    unknown = elements == UNKNOWN
    missing = np.any(unknown, axis=attrs["axes"], keepdims=attrs["keepdims"])
    numbers = np.where(unknown, 1, elements).astype(avals[0].dtype.numpy_dtype)
    with np.errstate(all="ignore"):
        return np.where(missing, UNKNOWN, np.asarray(body(numbers, **attrs)).astype(np.int64))


def _selected(body: Callable[..., Any], avals: Sequence[Aval], attrs: dict[str, Any]) -> Found:
    """The elements that a known condition chooses; where it is not known, what both would give."""
    condition, x, y = map(elements_of, avals)
    if condition is None or x is None or y is None:
        return None
    return np.where(condition == UNKNOWN, np.where(x == y, x, UNKNOWN), np.where(condition, x, y))


def _passed(body: Callable[..., Any], avals: Sequence[Aval], attrs: dict[str, Any]) -> Found:
    """Rule of a check of numbers, which gives them: whatever its bounds, single numbers, are."""
    return elements_of(avals[0]) if all(aval.shape == () for aval in avals[1:]) else None


def _broadcast(body: Callable[..., Any], avals: Sequence[Aval], attrs: dict[str, Any]) -> Found:
    """Extents to which two shapes broadcast: an extent that is not 1 is that of the result."""
    x, y = map(elements_of, avals)
    if x is None or y is None:
        return None
    rank = max(len(x), len(y))
    m, n = (np.concatenate([np.ones(rank - len(each), np.int64), each]) for each in (x, y))
    return np.where((m == 1) | ((m == UNKNOWN) & (n != 1)), n, m)


#: Ops of the family "movement" whose results are elements of so many first inputs (0: all), and nothing else.
_MOVING = {
    1: "reshape reshape_dynamic transpose expand_dims squeeze broadcast_to broadcast_to_dynamic slice slice_dynamic "
    "gather gather_nd strided_slice strided_slice_dynamic ensure_shape ensure_extents split unstack fill fill_dynamic "
    "mirror_pad tile reverse matrix_diag_part mask",
    0: "concat stack pad",
}
_SEVERAL = frozenset({"split", "unstack"})
_RULES: dict[str, Rule] = {name: _moved(n) for n, names in _MOVING.items() for name in names.split()}
_RULES["select"] = _selected
_RULES["broadcast_args"] = _broadcast
_RULES["within"] = _passed
_FAMILIES: dict[str, Rule] = {"elementwise": _combined, "reduction": _reduced}
