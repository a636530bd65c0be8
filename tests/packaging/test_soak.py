"""`make soak` in one run: its parts are there, share its time, and one that hangs is stopped."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def soak(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    spec = importlib.util.spec_from_file_location("soak", ROOT / "tools/soak.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "soak", module)  # dataclasses look there
    spec.loader.exec_module(module)
    return module


def test_what_it_runs_is_there(soak: ModuleType) -> None:
    parts = [*soak.parts(60, 7), *soak.guarded(60)]
    for part in parts:
        if part.command[1:4] == ["-W", "ignore", "-m"]:
            assert importlib.util.find_spec(part.command[4]) is not None, part.title
    assert len(parts[-1].command) > 5 and all((ROOT / test).exists() for test in parts[-1].command[4:])
    assert 45 * 60 < sum(part.share_s for part in parts if part.title != "Build with guard pages") <= 60 * 60


def test_a_part_that_fails_or_hangs_is_told(soak: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(soak, "GRACE_S", 0.5)
    for code, share, verdict in (
        ("print('fine')", 60.0, "clean"),
        ("print('bad'); raise SystemExit(3)", 60.0, "exit status 3"),
        ("import time; print('slow', flush=True); time.sleep(60)", 0.5, "stopped at its end"),
    ):
        part = soak.Part("A part", [sys.executable, "-S", "-c", code], share)
        part.run()
        text = "\n".join(part.text())
        assert f"## A part: {verdict}" in text and part.output in text and part.output, text
