"""The sdist builds from itself, the wheel works in a new environment and another folder; neither holds generated C."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not (ROOT / "setup.py").exists(), reason="no source tree around the tests"),
]

PROGRAM = """
import numpy as np
import fastgraph as tf

assert "site-packages" in tf.__file__, tf.__file__
x = tf.constant([1.0, 2.0, 3.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = tf.reduce_sum(tf.exp(x) * x)
expected = np.exp([1.0, 2.0, 3.0]) * [2.0, 3.0, 4.0]
np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected, rtol=1e-5)

@tf.function
def f(a):
    return tf.reduce_sum(tf.exp(a) * a)

np.testing.assert_allclose(f(x).numpy(), y.numpy(), rtol=1e-6)
print("works", tf.__version__)
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    """Run a command and return its output; a failure shows all of it."""
    clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    done = subprocess.run(
        [str(c) for c in command], cwd=cwd, env={**clean, **environment}, capture_output=True, text=True, timeout=1000
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def pip(*arguments: str | Path, python: Path | str = sys.executable, cwd: Path) -> str:
    """Run pip, which finds packages at the index it is configured for."""
    return run(python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments, cwd=cwd)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An empty folder; skips where pip reaches no index (a wheel cannot be built without its build requirements)."""
    path = tmp_path_factory.mktemp("dist")
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(path / "reach"), "setuptools"],
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    if asked.returncode != 0:
        pytest.skip(f"pip reaches no index: {asked.stderr.strip().splitlines()[-1:]}")
    return path


@pytest.fixture(scope="module")
def source(folder: Path) -> Path:
    """A copy of the sources as git has them, so that nothing built here comes along."""
    target = folder / "source"
    git = ["git", "ls-files", "-co", "--exclude-standard"]
    listed = subprocess.run(git, cwd=ROOT, capture_output=True, text=True) if shutil.which("git") else None
    if listed is None or listed.returncode != 0:  # an unpacked sdist
        shutil.copytree(
            ROOT, target, ignore=shutil.ignore_patterns(".venv*", "build", "*.so", "_generated", "*.egg-info")
        )
        return target
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)
    return target


@pytest.fixture(scope="module")
def sdist(folder: Path, source: Path) -> Path:
    """The sdist, made as `python -m build --sdist` makes it."""
    run(sys.executable, "-m", "build", "--sdist", "--outdir", folder / "sdist", source, cwd=folder)
    return next((folder / "sdist").glob("*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(folder: Path, sdist: Path) -> Path:
    """The wheel that the sdist builds."""
    pip("wheel", "--no-deps", "--wheel-dir", folder / "wheel", sdist, cwd=folder)
    return next((folder / "wheel").glob("*.whl"))


def extension_names() -> set[str]:
    """Module names of all extensions, from the .pyx files."""
    return {p.relative_to(ROOT).with_suffix("").as_posix() for p in (ROOT / "fastgraph").rglob("*.pyx")}


def test_sdist_holds_sources_only(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    generated = [n for n in names if n.endswith((".c", ".so", ".html", ".pyc")) or "_generated" in n or ".venv" in n]
    assert generated == []
    for needed in ("LICENSE", "README.md", "CHANGELOG.md", "Makefile", "setup.py", "fastgraph/py.typed"):
        assert needed in names
    assert {f"{name}.pyx" for name in extension_names()} <= set(names)
    assert "tests/packaging/test_distribution.py" in names and "docs/architecture.md" in names


def test_wheel_holds_what_runs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        unpacked = sum(info.file_size for info in archive.infolist())
        metadata = archive.read(next(n for n in names if n.endswith("METADATA"))).decode()
    assert [n for n in names if n.endswith((".c", ".html", ".pyc")) or "_generated" in n] == []
    assert not [n for n in names if not n.startswith("fastgraph")]
    built = {name.partition(".")[0] for name in names if name.endswith(".so")}
    assert built == {*extension_names(), "fastgraph/core/native/cython_parts"}  # the one that they share
    for needed in (
        "fastgraph/py.typed",
        "fastgraph/__init__.pyi",
        "fastgraph/math/__init__.pyi",
        "fastgraph/math/special.pyi",
        "fastgraph/api/tensorflow_names.txt.z",
    ):
        assert needed in names
    assert "License-Expression: Apache-2.0" in metadata and "Version: 2.21.0+fastgraph.0.1.0" in metadata
    assert unpacked < 11.2e6, f"{unpacked / 1e6:.2f} MB"  # the aim is 10; 7.0 are Python sources


def test_wheel_works_elsewhere(folder: Path, wheel: Path, tmp_path: Path) -> None:
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / "bin" / "python"
    pip("install", wheel, python=python, cwd=tmp_path)
    output = run(python, "-c", PROGRAM, cwd=tmp_path, FASTGRAPH_STORE=str(tmp_path / "store"))
    assert output == "works 2.21.0+fastgraph.0.1.0\n"
    assert "fastgraph" in run(python, "-m", "fastgraph", "info", cwd=tmp_path)
