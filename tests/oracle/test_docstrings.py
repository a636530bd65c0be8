"""Examples of docstrings beside TensorFlow's: how they are read, run and compared; and some of them, as theirs say."""

from __future__ import annotations

import types

import pytest

import fastgraph as tf
from tests.oracle import docstring_runner, docstrings, processes


def test_examples_are_read_from_docstrings() -> None:
    def f() -> None:
        """Do nothing.

        >>> x = 1
        >>> x + 1
        2
        """

    class Found:
        @property
        def part(self) -> int:
            """A part: `>>> ` alone is none.

            >>> 3
            3
            """
            return 3

    root = types.ModuleType("tensorflow")
    root.f, root.g, root.Found, root.keras = f, f, Found, f  # type: ignore[attr-defined]
    Found.part.fget.__module__ = "tensorflow.found"  # type: ignore[attr-defined]
    assert docstring_runner.collect(root) == [("Found.part", ["3\n"]), ("f", ["x = 1\n", "x + 1\n"])]


def test_examples_run_in_one_namespace() -> None:
    found = docstring_runner.run(tf, ["x = tf.constant([1, 2])\n", "x\n", "y\n", "print(x[0].numpy())\n"])
    printed = "<tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 2], dtype=int32)>\n"
    assert found[0] == ("out", "") and found[1] == ("out", printed) and found[3] == ("out", "1\n")
    assert found[2][0] == "error" and found[2][1].startswith("NameError\n")


@pytest.mark.parametrize(
    ("wanted", "got", "alike"),
    [
        ("[1.00001 2.]", "[1.       2.]", True),
        ("[1.001 2.]", "[1. 2.]", False),
        ("[[1]\n [2]]", "[[1],[2]]", False),
        ("[1,\n  2]", "[1, 2]", True),
        ("<tensorflow.python.x.Y object at 0x7f>", "<fastgraph.z.Y object at 0x12>", True),
        ("float32", "float64", False),
        ("[1e-9 100.]", "[0. 100.]", True),
    ],
)
def test_what_is_printed_is_compared(wanted: str, got: str, alike: bool) -> None:
    assert docstrings.same(("out", wanted), ("out", got)) is alike
    assert not docstrings.same(("error", "ValueError\nx"), ("out", got))
    assert docstrings.same(("error", "ValueError\nx"), ("error", "ValueError\ny"))


@pytest.mark.slow
@pytest.mark.skipif(processes.tensorflow_python() is None, reason="TensorFlow is not installed")
def test_a_share_of_the_examples() -> None:
    python = processes.tensorflow_python()
    assert python is not None
    _, counts, differences = docstrings.compare(python, r"^(strings|sets)\.")
    assert counts["examples"] > 50
    assert [each for each in differences if docstrings.reason(each[0]) is None] == []
