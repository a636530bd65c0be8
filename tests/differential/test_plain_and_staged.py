"""Each function plain, by Python's own control flow, and staged: the same values, first and second derivatives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import float_functions
import flow_functions
import integer_functions
import iteration_functions
import list_functions
import numpy as np
import pytest
import scope_functions
import state_functions
import written_functions
from differential_cases import ALL, Case, shape_of
from test_nestings import programs

import fastgraph as fg
from fastgraph import flags

MODULES = (
    float_functions,
    flow_functions,
    integer_functions,
    iteration_functions,
    list_functions,
    scope_functions,
    state_functions,
    written_functions,
)
#: Of how many functions one is run by its kernels too, for a kernel takes the worker a while.
EVERY = 8


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


@pytest.mark.parametrize("case", ALL, ids=repr)
def test_values_and_derivatives(case: Case) -> None:
    with flags.override(tier="first"):
        staged = check(case)
    kinds = {tuple((x.dtype, tuple(x.shape)) for x in tensors(arguments)) for arguments in case.arguments}
    assert staged.experimental_get_tracing_count() == len(kinds)


@pytest.mark.parametrize("case", ALL[::EVERY], ids=repr)
def test_by_kernels(case: Case) -> None:
    with flags.override(tier="last"):
        check(case)


#: What is said of a function that needs to know more of its arguments' shapes.
NEEDS_SHAPES = re.compile(
    r"set_loop_options|cannot unpack|must be known while tracing|unknown while tracing|rank|dimension|shape|symbolic"
)


def with_less_known(case: Case, less: Callable[[Any], Any]) -> bool:
    """Compare the values where the arguments' shapes are not known; return whether the function permits that."""
    plain, make = case.make(), case.make()
    xs = tensors(case.arguments[0])
    staged = fg.function(make, input_signature=[fg.TensorSpec(less(x.shape), x.dtype) for x in xs])
    try:
        staged.get_concrete_function()
    except (TypeError, ValueError, NotImplementedError) as error:
        assert NEEDS_SHAPES.search(str(error)), error
        return False
    for arguments in case.arguments:
        xs = tensors(arguments)
        assert_same(outcome(staged, xs), outcome(plain, xs), case, arguments)
    return True


def test_unknown_dimensions() -> None:
    with flags.override(tier="first"):
        of_vectors = [case for case in ALL if any(x.shape.rank for x in tensors(case.arguments[0]))]
        permitted = [case.name for case in of_vectors if with_less_known(case, lambda shape: [None] * shape.rank)]
    assert len(permitted) > 0.8 * len(of_vectors), {case.name for case in of_vectors} - set(permitted)


def test_unknown_ranks() -> None:
    with flags.override(tier="first"):
        permitted = [case.name for case in ALL if with_less_known(case, lambda _: None)]
    assert len(permitted) > 0.5 * len(ALL), {case.name for case in ALL} - set(permitted)


def test_there_are_enough_and_none_twice() -> None:
    assert len(ALL) + len(programs()) >= 320
    assert len({case.name for case in ALL if True}) >= len(ALL) - 20
    shapes: dict[str, str] = {}
    for case in ALL:
        shape = shape_of(case.source)
        assert shape not in shapes, (case.name, shapes[shape])
        shapes[shape] = case.name
