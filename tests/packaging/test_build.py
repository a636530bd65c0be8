"""The build: what it says where it cannot work, and that its products run on any CPU of the family."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SETUP = ROOT / "setup.py"

pytestmark = pytest.mark.skipif(not SETUP.exists(), reason="no source tree around the tests")


def test_missing_compiler_is_named(tmp_path: Path) -> None:
    environment = {**os.environ, "CC": "no-such-compiler"}
    done = subprocess.run(
        [sys.executable, str(SETUP), "build_ext", "--build-lib", str(tmp_path), "--build-temp", str(tmp_path)],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode != 0
    assert "needs a C compiler" in done.stderr and "'no-such-compiler' was not found" in done.stderr
    assert "apt install gcc" in done.stderr and "Traceback" not in done.stderr


def test_missing_headers_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = runpy.run_path(str(SETUP), run_name="setup")
    monkeypatch.setattr("sysconfig.get_path", lambda name: str(tmp_path))
    monkeypatch.setenv("CC", sys.executable)  # any program will do: it is not run
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    with pytest.raises(SystemExit, match=f"C headers of Python {version}.*apt install python{version}-dev"):
        module["check_tools"]()


def test_an_extension_depends_on_the_headers_that_it_includes_and_on_no_others() -> None:
    headers_of = runpy.run_path(str(SETUP), run_name="setup")["headers_of"]
    core = ROOT / "fastgraph" / "core"
    found = {
        name: set(headers_of(core / f"{name}.pyx")) for name in ("primitive", "tensor", "native/poolings", "cells")
    }
    assert {"fastgraph/core/native/movement.h", "fastgraph/core/native/matmul_blocks_of_width.h"} <= found["tensor"]
    assert "fastgraph/core/native/convolutions_of_width.h" in found["native/poolings"] and found["cells"] == set()
    if (ROOT / "fastgraph" / "_generated" / "eager_loops.h").exists():  # else it is installed, and not built here
        assert [name for name, headers in found.items() if "fastgraph/_generated/eager_loops.h" in headers] == [
            "primitive"
        ]


@pytest.mark.parametrize("debug", ["0", "1"])
def test_no_flag_ties_the_build_to_this_cpu(monkeypatch: pytest.MonkeyPatch, debug: str) -> None:
    monkeypatch.setenv("FASTGRAPH_CYTHON_DEBUG", debug)
    module = runpy.run_path(str(SETUP), run_name="setup")
    flags = module["COMPILE_ARGS"]
    assert not any(flag.startswith(("-march", "-mcpu", "-mavx", "-ffast-math", "-Ofast")) for flag in flags)
    assert module["DIRECTIVES"]["boundscheck"] is (debug == "1")
