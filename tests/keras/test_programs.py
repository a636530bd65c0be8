"""Whole programs of training beside tf-keras: the same losses, metrics, predictions, names and tables."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from tests.keras import named, programs
from tests.keras.programs import plain

PROGRAMS = {**programs.PROGRAMS, **named.PROGRAMS}
EXPECTED = {name: result for part in (programs, named) for name, result in json.loads(part.RESULTS.read_text()).items()}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_keras(name: str) -> None:
    fg.keras.backend.clear_session()
    compare(plain(PROGRAMS[name](fg)), EXPECTED[name], name)


def compare(found: Any, wanted: Any, place: str) -> None:
    """Assert that both are the same, numbers within what float32 and the order of sums leave open."""
    if isinstance(wanted, dict):
        assert list(found) == list(wanted), place
        for key in wanted:
            compare(found[key], wanted[key], f"{place}.{key}")
    elif isinstance(wanted, list) and any(isinstance(item, (list, dict, str)) for item in wanted):
        assert len(found) == len(wanted), place
        for i, (a, b) in enumerate(zip(found, wanted, strict=True)):
            compare(a, b, f"{place}[{i}]")
    elif isinstance(wanted, (list, float)):
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=3e-5, err_msg=place)
    else:
        assert found == wanted, place
