"""docs/api.md is true: it counts the names that are there now."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "api.py"


@pytest.mark.skipif(not TOOL.exists(), reason="no source tree around the tests")
def test_the_page_counts_the_names_that_are_there() -> None:
    tool = runpy.run_path(str(TOOL))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["page"](), "run: python tools/api.py"
    assert tool["is_there"]("tf.nn", "relu") and not tool["is_there"]("tf.nn", "reluu")
