"""Damaged records and SavedModels are refused; the long forms are `python -m tests.fuzz.records` and `.saved_models`."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from tests.fuzz import damage, records, saved_models


@pytest.mark.parametrize(("fuzzer", "n", "whole"), [(records, 150, "read"), (saved_models, 60, "loaded")])
@pytest.mark.slow
def test_damaged_files_are_refused(fuzzer: Any, n: int, whole: str) -> None:
    damage.warm(fuzzer.answer)
    came: Counter[str] = Counter()
    for seed, text in damage.findings(fuzzer.answer, iter(range(n)), came):
        pytest.fail(f"seed {seed}: {text}")
    assert came[whole] > n / 80 and came["DataLossError"] > n / 20
