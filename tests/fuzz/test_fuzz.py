"""A short fuzz, and the proof that the fuzzer finds faults: each planted one must be found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import pytest

import fastgraph as fg
from fastgraph import ops
from fastgraph.core.base import flags
from fastgraph.core.registry import all_primitives
from tests.fuzz.__main__ import fuzz, modes
from tests.fuzz.check import check, constants
from tests.fuzz.draw import draw_program
from tests.fuzz.programs import Program
from tests.graph_names import ops_in
from tests.planted import planted


def quick(program: Program) -> bool:
    """Whether plain Python has it soon: convolutions and pooling take most of the time and show nothing more."""
    return "conv" not in program.body() and "pool" not in program.body()


#: Each planted fault, and the programs that can show it.
FAULTS: dict[str, Callable[[Program], bool]] = {
    "algebra": quick,
    "arena": quick,
    "slot": quick,
    "effect": lambda program: program.body().count(".assign") > 1,
    "shard": lambda program: program.n_elements > 50_000,
}


@pytest.mark.slow
def test_random_programs_agree() -> None:
    report, n_failures = fuzz(seconds=45, first_seed=1000, n_programs=60)
    assert n_failures == 0, report


@pytest.mark.slow
def test_a_program_that_differed_once() -> None:
    """Partial sums among what an interpreted rest of a plan takes, sizes being unknown."""
    report, n_failures = fuzz(seconds=60, first_seed=71, n_programs=1)
    assert n_failures == 0, report


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_found(fault: str) -> None:
    with planted(fault), flags.override(verify=True):
        for seed in range(200):
            program = draw_program(seed)
            if FAULTS[fault](program) and check(program, modes(program)) is not None:
                return
    pytest.fail(f"200 programs did not show the planted fault {fault!r}")


#: Lowered ops that no program is written with: they come of another op, by its decomposition, by a pass, where a rank is
#: unknown, or of what programs do not have.
PARTS = {
    "pick_labels": "sparse_cross_entropy", "conv2d_bias": "conv2d", "conv3d_bias": "conv3d", "swap_last": "transpose",
    "apart": "identity", "fit": "pad", "igamma_grad_a": "igamma", "list_get": "TensorArray", "list_reserve": "TensorArray",
    "check_numerics_v2": "enable_check_numerics",
}  # fmt: skip


def test_every_lowered_op_is_drawn() -> None:
    for module in pkgutil.iter_modules(ops.__path__, "fastgraph.ops."):
        importlib.import_module(module.name)
    wanted = {
        p.name
        for p in all_primitives()
        if p.body.__module__.startswith("fastgraph.ops")
        and (p.lower or p.decompose or p.step == "draw" or (p.family == "elementwise" and p.expr is not None))
    }
    missing: set[Any] = wanted - set(PARTS)
    for seed in range(5000, 6500):
        program = draw_program(seed)
        function = fg.function(program.namespace()["program"])
        try:
            missing -= set(ops_in(function.get_concrete_function(*constants(program)).graph.ir))
        except (ValueError, TypeError, NotImplementedError):
            continue  # it needs to know a size that is data: see `check.CannotTrace`
        if not missing:
            return
    pytest.fail(f"1500 programs contained none of {sorted(missing)}")
