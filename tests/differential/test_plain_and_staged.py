"""Each function plain, by Python's own control flow, and staged: the same values, first and second derivatives."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import closure_functions
import effect_functions
import float_functions
import flow_functions
import integer_functions
import iteration_functions
import left_functions
import list_functions
import named_list_functions
import pytest
import scope_functions
import state_functions
import table_functions
import written_functions
from differential_cases import ALL, Case, shape_of
from differential_checks import assert_same, check, derivatives, has_derivatives, leaves, outcome, tensors
from test_nestings import programs

import fastgraph as fg
from fastgraph.core.base import flags

MODULES = (
    closure_functions,
    effect_functions,
    float_functions,
    flow_functions,
    integer_functions,
    iteration_functions,
    left_functions,
    list_functions,
    named_list_functions,
    scope_functions,
    state_functions,
    table_functions,
    written_functions,
)
#: Of how many functions one is run by its kernels too, for a kernel takes the worker a while.
EVERY = 8


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


@pytest.mark.soak
@pytest.mark.parametrize("case", [case for k, case in enumerate(ALL) if k % EVERY], ids=repr)
def test_the_others_by_kernels(case: Case) -> None:
    with flags.override(tier="last"):
        check(case)


@pytest.mark.parametrize("case", [case for case in ALL if has_derivatives(case)][::2], ids=repr)
def test_derivatives_inside_of_a_graph(case: Case) -> None:
    second = not case.no_second
    plain, made = case.make(), case.make()
    staged = fg.function(lambda *arguments: derivatives(made, arguments, second))
    with flags.override(tier="first"):
        for arguments in case.arguments:
            xs = tensors(arguments)
            assert_same(leaves(staged(*xs)), leaves(derivatives(plain, xs, second)), case, arguments)


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


@pytest.mark.slow
def test_unknown_dimensions() -> None:
    with flags.override(tier="first"):
        of_vectors = [case for case in ALL if any(x.shape.rank for x in tensors(case.arguments[0]))]
        permitted = [case.name for case in of_vectors if with_less_known(case, lambda shape: [None] * shape.rank)]
    assert len(permitted) > 0.8 * len(of_vectors), {case.name for case in of_vectors} - set(permitted)


@pytest.mark.slow
def test_unknown_ranks() -> None:
    with flags.override(tier="first"):
        permitted = [case.name for case in ALL if with_less_known(case, lambda _: None)]
    assert len(permitted) > 0.5 * len(ALL), {case.name for case in ALL} - set(permitted)


def test_there_are_enough_and_none_twice() -> None:
    assert len(ALL) + len(programs()) >= 320
    assert len({(case.module, case.name) for case in ALL}) == len(ALL)
    shapes: dict[str, str] = {}
    for case in ALL:
        shape = shape_of(case.source)
        assert shape not in shapes, (case.name, shapes[shape])
        shapes[shape] = case.name
