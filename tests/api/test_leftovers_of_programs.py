"""Words that programs see at their edges: names that are imported in vain, pipes that close, profilers left running."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.keras import dataset_files


def run(text: str, **kwargs: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", text], capture_output=True, text=True, timeout=120, check=False, **kwargs
    )


def test_names_imported_in_vain_say_what_to_use() -> None:
    with pytest.raises(ImportError, match="cannot import name 'Session' from 'fastgraph'.*use calls of a tf.function"):
        exec("from fastgraph import Session")
    with pytest.raises(ImportError, match="cannot import name 'dynamic_rnn' from 'fastgraph.nn'.*RNN"):
        exec("from fastgraph.nn import dynamic_rnn")
    with pytest.raises(ModuleNotFoundError, match="No module named 'fastgraph.Session'"):
        exec("import fastgraph.Session")
    done = run("import fastgraph; fastgraph.install_as_tensorflow()\nfrom tensorflow import Session")
    assert "cannot import name 'Session' from 'tensorflow'. If it is TensorFlow 1's" in done.stderr
    assert "namespaces.py" not in done.stderr


def test_a_profiler_left_running_ends_with_the_program(tmp_path: Path) -> None:
    done = run("import sys, fastgraph as tf\ntf.profiler.experimental.start(sys.argv[0] and 'logs')", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr == ""
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_closed_pipe_is_no_traceback() -> None:
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "fastgraph", "info"], stdout=write, stderr=subprocess.PIPE, text=True, timeout=120,
        check=False,
    )  # fmt: skip
    os.close(write)
    assert done.returncode == 1 and done.stderr == ""


@pytest.mark.parametrize("content", [b"", b"no archive at all", b"PK\x03\x04 half of one"])
def test_a_damaged_file_of_the_cache_is_fetched_again(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "datasets" / "mnist.npz"
    place.parent.mkdir()
    place.write_bytes(content)
    x, y = np.zeros((2, 28, 28), "uint8"), np.arange(2, dtype="uint8")

    def fetched(name: str, origin: str, **kwargs: Any) -> str:
        assert kwargs["file_hash"] == dataset_files._HASHES["mnist.npz"]
        np.savez(place, x_train=x, y_train=y, x_test=x, y_test=y)
        return str(place)

    monkeypatch.setattr(dataset_files, "get_file", fetched)
    assert dataset_files.mnist(cache_dir=str(tmp_path))[0][1].tolist() == [0, 1]


def test_errors_below_a_function_that_is_left_as_it_is_keep_their_words() -> None:
    @fg.autograph.experimental.do_not_convert
    def left(x: Any) -> Any:
        raise ValueError("in its own words")

    with pytest.raises(ValueError, match=r"^in its own words$"):
        fg.function(left)(fg.constant(1.0))

    def converted(x: Any) -> Any:
        return left(x)

    with pytest.raises(ValueError, match=r"^in user code:"):
        fg.function(converted)(fg.constant(1.0))
