"""python -m fastgraph: info, store, doctor; and show_config."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastgraph as fg
from fastgraph.core.base import flags


def command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `python -m fastgraph` with the words."""
    return subprocess.run(
        [sys.executable, "-m", "fastgraph", *words],
        env={**os.environ, **environment}, capture_output=True, text=True, timeout=280,
    )  # fmt: skip


def test_info() -> None:
    done = command("info", FASTGRAPH_THREADS="nonsense")
    assert done.returncode == 0, done.stderr
    rows = dict(line.split(None, 1) for line in done.stdout.splitlines())
    assert rows["fastgraph"] == fg.__version__ and rows["numpy"][0].isdigit()
    assert set(rows) >= {flag.variable for flag in flags.FLAGS.values()}
    assert rows["FASTGRAPH_THREADS"].startswith("unusable: FASTGRAPH_THREADS='nonsense' cannot be used")


def test_show_config_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    fg.show_config()
    assert fg.__version__ in capsys.readouterr().out


def test_store_and_clear(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir(mode=0o700)
    kernel, other = folder / "abc.kernel", folder / "notes.txt"
    kernel.write_bytes(b"x" * 2048)
    other.write_text("mine")
    shown = command("store", FASTGRAPH_STORE=str(folder))
    assert shown.returncode == 0 and f"{folder}: 1 kernels, 2 of" in shown.stdout
    cleared = command("store", "clear", FASTGRAPH_STORE=str(folder))
    assert cleared.returncode == 0 and cleared.stdout == f"1 kernels deleted from {folder}\n"
    assert not kernel.exists() and other.exists()


def test_store_that_others_can_write_to_is_left_alone(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    folder.chmod(0o777)
    (folder / "abc.kernel").write_bytes(b"x")
    done = command("store", "clear", FASTGRAPH_STORE=str(folder))
    assert done.returncode == 1 and "Nothing deleted" in done.stderr and (folder / "abc.kernel").exists()
    assert command("store", FASTGRAPH_STORE=str(folder)).returncode == 1


def test_doctor_is_content(tmp_path: Path) -> None:
    done = command("doctor", FASTGRAPH_STORE=str(tmp_path / "store"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert [line[:2] for line in done.stdout.splitlines()] == ["ok"] * 5


def test_doctor_names_what_is_wrong(tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    folder.mkdir()
    folder.chmod(0o777)
    done = command("doctor", FASTGRAPH_STORE=str(folder), FASTGRAPH_THREDS="2")
    assert done.returncode >= 2
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert any("FASTGRAPH_THREDS: no flag has this name" in line for line in failed)
    assert any(str(folder) in line and "FASTGRAPH_STORE" in line for line in failed)


def test_doctor_sees_that_nothing_can_be_compiled(tmp_path: Path) -> None:
    """Numba is installed but broken: results are right all the same, by NumPy."""
    (tmp_path / "numba.py").write_text("raise ImportError('broken on purpose')")
    path = os.pathsep.join([str(tmp_path), str(Path(fg.__file__).parents[1])])
    done = command("doctor", FASTGRAPH_STORE=str(tmp_path / "store"), PYTHONPATH=path)
    failed = [line for line in done.stdout.splitlines() if line.startswith("FAIL")]
    assert done.returncode == 2 and len(failed) == 2
    assert "numba is installed, but cannot be imported (broken on purpose)" in failed[0]
    assert "no kernel could be compiled" in failed[1]


def test_unknown_command() -> None:
    done = command("fly")
    assert done.returncode == 2 and "invalid choice: 'fly'" in done.stderr


def test_configuration() -> None:
    from fastgraph import config

    assert config.list_physical_devices("GPU") == [] == config.experimental.list_physical_devices("GPU")
    assert repr(config.list_physical_devices()) == "[PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]"
    assert config.list_logical_devices("CPU")[0].name == "/device:CPU:0"
    config.set_visible_devices([], "GPU")
    with pytest.raises(ValueError, match="Unrecognized device"):
        config.set_visible_devices([config.PhysicalDevice("/physical_device:GPU:7", "GPU")], "GPU")
    with pytest.raises(ValueError, match="non-GPU"):
        config.experimental.set_memory_growth(config.list_physical_devices()[0], True)
    before = flags.get("threads")
    with flags.override(threads=before):
        config.threading.set_inter_op_parallelism_threads(before + 1)
        assert config.threading.get_intra_op_parallelism_threads() == before + 1
        config.threading.set_inter_op_parallelism_threads(before)
    with flags.override(tier="auto"):
        config.experimental.enable_op_determinism()
        assert flags.get("tier") == "last"
    assert fg.sysconfig.get_build_info()["is_cuda_build"] is False
