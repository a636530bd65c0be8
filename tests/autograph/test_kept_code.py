"""Converted code is kept beside the kernels: a second process runs it without malt, and only where it fits."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fastgraph as fg

PROGRAM = """
import sys, traceback
import fastgraph as tf
{before}

def outer(offset):
    @tf.function
    def f(x):
        total = tf.constant(0.0)
        for i in tf.range(3):
            if x > 0:
                y = x * {factor}
            else:
                y = x + offset
            total += y
        while total < 0:
            total += 1.0
        return total
    return f

f = outer(10.0)
print(float(f(tf.constant(1.0))), float(f(tf.constant(-1.0))))

@tf.function
def fails(x):
    if x > 0:
        z = x
    return z + tf.constant([1, 2]) @ tf.constant([3])

try:
    fails(tf.constant(1.0))
except Exception as error:
    print(type(error).__name__, [(each.name, each.lineno) for each in traceback.extract_tb(error.__traceback__)])
print(sorted(name for name in sys.modules if name == "malt"))
"""


def run(place: Path, factor: str = "2.0", before: str = "", **environment: str) -> list[str]:
    """What the program prints; it lies in a file, with its store beside it."""
    file = place / "program.py"
    file.write_text(PROGRAM.format(factor=factor, before=before))
    done = subprocess.run(
        [sys.executable, str(file)],
        env={
            **os.environ, "PYTHONPATH": str(Path(fg.__file__).parents[1]), "FASTGRAPH_STORE": str(place / "store"),
            "FASTGRAPH_WORKER": "0", "FASTGRAPH_TIER": "auto", **environment,
        },
        capture_output=True,
        text=True,
        timeout=100,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.splitlines()


def kept(place: Path) -> set[str]:
    return {each.name for each in (place / "store").glob("*.code")}


def test_a_second_process_takes_what_the_first_has_converted(tmp_path: Path) -> None:
    first = run(tmp_path)
    assert first[0] == "6.0 27.0" and first[-1] == "['malt']" and len(kept(tmp_path)) == 2
    second = run(tmp_path)
    assert second[:-1] == first[:-1] and second[-1] == "[]"  # the same lines in a traceback, too


def test_another_text_is_converted_anew(tmp_path: Path) -> None:
    run(tmp_path)
    changed = run(tmp_path, factor="3.0")
    assert changed[0] == "9.0 27.0" and changed[-1] == "['malt']"


def test_names_that_are_taken_meanwhile_are_left_alone(tmp_path: Path) -> None:
    run(tmp_path)
    taken = run(tmp_path, before="if_body = get_state = loop_body = 7")
    assert taken[0] == "6.0 27.0" and taken[-1] == "['malt']"


@pytest.mark.slow
@pytest.mark.parametrize("data", [b"", b"something else"])
def test_files_that_are_torn_are_made_again(tmp_path: Path, data: bytes) -> None:
    first = run(tmp_path)
    for name in kept(tmp_path):
        (tmp_path / "store" / name).write_bytes(data)
    with pytest.raises(AssertionError, match="is not used and is made again"):
        run(tmp_path)
    assert run(tmp_path)[:-1] == first[:-1]


def test_where_kernels_are_never_wanted_nothing_is_kept(tmp_path: Path) -> None:
    run(tmp_path, FASTGRAPH_TIER="first")
    assert not (tmp_path / "store").exists()
