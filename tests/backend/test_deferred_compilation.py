"""Programs that end before anything is compiled: their kernels are stored all the same, and the store says so."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fastgraph.compiler.store import kernel_store

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked")

#: Nothing is made in the background while it runs. At its end it says whether it has forked.
PROGRAM = """
import atexit, os, sys
import fastgraph as tf
from fastgraph.runtime import executable, foreground_threads
from fastgraph.compiler.store import kernel_service
executable.LATEST_S = executable.FIRST_RUN_S = 60.0

@atexit.register
def end():
    open(sys.argv[1], "a").write("ended\\n")

@tf.function
def f(x):
    return tf.reduce_sum(tf.tanh(x) * 3.0 + x)

with foreground_threads.foreground:
    print(f(tf.ones([300])).numpy())
fork = os.fork
def told():
    print("forked", flush=True)
    return fork()
os.fork = told
"""


def run(folder: Path, tail: str = "", **environment: str) -> str:
    """Output of the program, which is over, for whoever reads it, when its first process is."""
    places = {"FASTGRAPH_STORE": str(folder / "kernels"), "FASTGRAPH_STORE_KEY": str(folder / "key")}
    found = subprocess.run(
        [sys.executable, "-c", PROGRAM + tail, str(folder / "ended")],
        env={**os.environ, "FASTGRAPH_LINGER": "60", "FASTGRAPH_TIER": "auto", **places, **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert found.returncode == 0 and found.stderr == "", found.stderr
    return found.stdout


def names(folder: Path, kind: str) -> list[Path]:
    return sorted((folder / "kernels").glob(f"*{kind}"))


def stored(folder: Path, seconds: float = 60.0) -> bool:
    """Whether, before long, the Program and its kernel are stored."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if names(folder, kernel_store.PROGRAM) and names(folder, ".kernel"):
            return True
        time.sleep(0.02)
    return False


@pytest.mark.slow
def test_kernels_of_a_short_program_are_stored_once(tmp_path: Path) -> None:
    """And their Programs, again where one is gone; what a program does at its end happens once."""
    assert run(tmp_path).endswith("forked\n") and stored(tmp_path)
    assert not run(tmp_path).endswith("forked\n")
    for kind in (".kernel", kernel_store.PROGRAM):
        names(tmp_path, kind)[0].unlink()
        assert run(tmp_path).endswith("forked\n") and stored(tmp_path)
    assert len(names(tmp_path, kernel_store.PROGRAM)) == 1 and (tmp_path / "ended").read_text() == "ended\n" * 4
    wait = "\nassert f.get_concrete_function(tf.ones([300])).wait(60); print(kernel_service.statistics())"
    assert "loaded_from_store=1, compiled=0" in run(tmp_path, wait)


def test_the_program_has_no_child_of_it(tmp_path: Path) -> None:
    tail = """
@atexit.register
def wait():
    try:
        print("waits for", os.waitpid(-1, os.WNOHANG))
    except ChildProcessError:
        print("no child")
"""
    found = run(tmp_path, tail)
    assert "forked\n" in found and found.endswith("no child\n") and stored(tmp_path)


@pytest.mark.parametrize("setting", [{"FASTGRAPH_LINGER": "0"}, {"FASTGRAPH_STORE_LIMIT": "0"}])
def test_programs_that_are_to_leave_nothing(tmp_path: Path, setting: dict[str, str]) -> None:
    assert not run(tmp_path, **setting).endswith("forked\n")


def test_a_thread_that_outlives_the_main_one_runs_compiled(tmp_path: Path) -> None:
    tail = """
import threading, time
@tf.function
def g(x):
    return tf.reduce_max(tf.exp(x) * 2.0)

def later():
    time.sleep(0.5)
    executable.LATEST_S = executable.FIRST_RUN_S = 0.0
    g(tf.ones([50]))
    print("compiled" if g.get_concrete_function(tf.ones([50])).wait(60) else "not", signal.getsignal(15) is not None)
import signal
threading.Thread(target=later).start()
"""
    assert "compiled" in run(tmp_path, tail)
