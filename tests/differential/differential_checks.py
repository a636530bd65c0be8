"""Running a differential case, plain and staged: its values, and its first and second derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from differential_cases import Case

import fastgraph as fg


def tensors(arguments: tuple[Any, ...]) -> list[Any]:
    return [value if fg.is_tensor(value) else fg.constant(value) for value in arguments]


def leaves(result: Any) -> list[Any]:
    return [np.asarray(leaf) for leaf in fg.nest.flatten(result, expand_composites=True) if leaf is not None]


def outcome(function: Callable[..., Any], arguments: list[Any]) -> list[Any] | str:
    """Return the values, or that there is an error: a graph's assert has a class of its own."""
    try:
        return leaves(function(*arguments))
    except (AssertionError, fg.errors.InvalidArgumentError, ZeroDivisionError, IndexError):
        return "error"


def assert_same(got: Any, wanted: Any, case: Case, where: Any) -> None:
    if isinstance(wanted, str) or isinstance(got, str):
        assert got == wanted, where
        return
    assert len(got) == len(wanted), where
    for a, b in zip(got, wanted, strict=True):
        assert a.shape == b.shape, where
        if b.dtype.kind in "fc":
            np.testing.assert_allclose(a, b, rtol=case.rtol, atol=1e-6, err_msg=str(where))
        else:
            assert a.tolist() == b.tolist(), where


def scalar(result: Any) -> Any:
    """Return a number into which all floats of a result go, each with a weight of its own."""
    total: Any = 0.0
    for k, leaf in enumerate(fg.nest.flatten(result, expand_composites=True)):
        if leaf is None or (not hasattr(leaf, "dtype") and not isinstance(leaf, float)):
            continue
        leaf = fg.convert_to_tensor(leaf)
        if leaf.dtype.is_complex:
            leaf = fg.math.real(leaf) + 2.0 * fg.math.imag(leaf)
        if leaf.dtype.is_floating:
            weights = fg.cast(fg.range(fg.size(leaf)) % 3 + 1 + k, leaf.dtype)
            total = total + fg.cast(fg.reduce_sum(fg.reshape(leaf, [-1]) * weights), fg.float64)
    return total


def derivatives(function: Callable[..., Any], arguments: list[Any], second: bool) -> list[Any]:
    """Return the first derivatives of a function's floats and, of their sum with weights, the second."""
    xs = [x for x in arguments if x.dtype.is_floating or x.dtype.is_complex]
    zero = fg.UnconnectedGradients.ZERO
    with fg.GradientTape() as outer:
        outer.watch(xs)
        with fg.GradientTape() as inner:
            inner.watch(xs)
            y = scalar(function(*arguments))
        if isinstance(y, float):  # nothing to derive
            return []
        first = [fg.convert_to_tensor(g) for g in inner.gradient(y, xs, unconnected_gradients=zero)]
        again = scalar(first)
    if not second:
        return first
    return first + [fg.convert_to_tensor(g) for g in outer.gradient(again, xs, unconnected_gradients=zero)]


def has_derivatives(case: Case) -> bool:
    return not case.no_gradient and any(x.dtype.is_floating or x.dtype.is_complex for x in tensors(case.arguments[0]))


def check(case: Case) -> Any:
    plain, staged = case.make(), fg.function(case.make(), **case.options)
    for arguments in case.arguments:
        xs = tensors(arguments)
        assert_same(outcome(staged, xs), outcome(plain, xs), case, arguments)
        if has_derivatives(case):
            second = not case.no_second
            got, wanted = (leaves(derivatives(each, xs, second)) for each in (staged, plain))
            assert_same(got, wanted, case, ("derivatives", arguments))
    return staged
