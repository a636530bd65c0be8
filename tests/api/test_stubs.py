"""The committed stub files are what the ops' definitions say now."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

TOOL = Path(__file__).resolve().parents[2] / "tools" / "stubs.py"


@pytest.mark.skipif(not TOOL.exists(), reason="no source tree around the tests")
def test_stubs_are_up_to_date() -> None:
    generated: dict[Path, str] = runpy.run_path(str(TOOL))["generate"]()
    old = [path.name for path, text in generated.items() if not path.exists() or path.read_text() != text]
    assert old == [], "run: python tools/stubs.py"
    assert len(generated) > 5 and all(
        "import" in text or "def " in text or path.name == "dtensor.pyi"  # whose names are none yet
        for path, text in generated.items()
    )


def test_package_is_typed() -> None:
    import fastgraph

    assert (Path(fastgraph.__file__).parent / "py.typed").exists()
