"""A short fuzz, and the proof that the fuzzer finds faults: each planted one must be found."""

from __future__ import annotations

import pytest

from fastgraph import flags
from tests.fuzz.__main__ import fuzz

FAULTS = ("algebra", "arena", "slot", "effect", "shard")


def test_random_programs_agree() -> None:
    report, n_failures = fuzz(seconds=45, first_seed=1000, n_programs=60)
    assert n_failures == 0, report


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_fault_is_found(fault: str) -> None:
    for first_seed in range(0, 200, 10):
        with flags.override(fault=fault):
            _, n_failures = fuzz(seconds=120, first_seed=first_seed, n_programs=10)
        if n_failures:
            return
    pytest.fail(f"200 programs did not show the planted fault {fault!r}")
