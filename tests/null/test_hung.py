"""A hung test fails by name, with what it started; the tests after it run."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import hung
import pytest

ROOT = Path(__file__).parents[2]

TESTS = """
import itertools, subprocess, threading, time
import pytest

@pytest.mark.timeout(0.5)
def test_waits_for_a_process():
    shell = ["sh", "-c", "setsid sleep 987 & echo $!; exec sleep 986"]
    with subprocess.Popen(shell, stdout=subprocess.PIPE, text=True) as process:
        open("pids", "w").write(f"{process.pid} {process.stdout.readline()}")
        process.wait()

@pytest.mark.timeout(0.5)
def test_waits_for_a_thread():
    thread = threading.Thread(target=time.sleep, args=(1,))
    thread.start()
    thread.join()

@pytest.mark.timeout(0.5)
def test_stays_in_c():
    if WITH_THE_GIL:
        sum(itertools.repeat(0))

def test_after_these():
    pass
"""


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def outcome(folder: Path, with_the_gil: bool, *arguments: str) -> tuple[list[str], str]:
    """Return the summary's lines of a run of TESTS, and all it said."""
    (folder / "test_some.py").write_text(TESTS.replace("WITH_THE_GIL", str(with_the_gil)))
    (folder / "conftest.py").write_text(
        f"import tests.hung\n\ntests.hung.GRACE = {0.5 if with_the_gil else 30}\n\n\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(tests.hung)\n"
    )
    environment = {
        **os.environ,
        "COLUMNS": "200",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    command = [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "no:cacheprovider", "-o", "timeout_method=signal"]
    done = subprocess.run(
        [*command, *arguments, "test_some.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith(("PASSED", "FAILED", "ERROR"))]
    return lines, done.stdout + done.stderr


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_a_hung_test_ends_with_its_processes_and_the_others_run(tmp_path: Path) -> None:
    lines, output = outcome(tmp_path, False)
    assert "FAILED test_some.py::test_waits_for_a_process - Failed: Timeout (>0.5s) from pytest-timeout." in lines, (
        output
    )
    assert "FAILED test_some.py::test_waits_for_a_thread - Failed: Timeout (>0.5s) from pytest-timeout." in lines, (
        output
    )
    assert {"PASSED test_some.py::test_stays_in_c", "PASSED test_some.py::test_after_these"} <= set(lines), output
    pids = [int(word) for word in (tmp_path / "pids").read_text().split()]
    deadline = time.monotonic() + 10
    while not all(map(ended, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert len(pids) == 2 and all(map(ended, pids))


@pytest.mark.slow
def test_what_nothing_interrupts_ends_its_worker_alone(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    lines, output = outcome(tmp_path, True, "-n", "1", "-k", "stays or after")
    assert "PASSED test_some.py::test_after_these" in lines, output
    assert "crashed while running 'test_some.py::test_stays_in_c'" in output


@pytest.mark.skipif(sys.platform != "linux", reason="processes are found in /proc")
def test_processes_that_end_while_they_are_looked_for_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    read = Path.read_bytes

    def ends(path: Path) -> bytes:
        if path.parent.name == str(os.getpid()):
            raise ProcessLookupError(3, "No such process")
        return read(path)

    with subprocess.Popen(["sleep", "60"]) as process:
        assert process.pid in hung.descendants(os.getpid())
        monkeypatch.setattr(Path, "read_bytes", ends)
        monkeypatch.setattr(Path, "stat", ends)  # what a glob does
        assert os.getpid() not in hung._running() and process.pid in hung._running()
        process.kill()
