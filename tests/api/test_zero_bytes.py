"""Strings that end in zero bytes keep them wherever they go: NumPy's own texts lose them."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

WORD = b"\x93NUMPY\0\0"


class State(tf.train.experimental.PythonState):
    """A text."""

    def __init__(self, text: Any) -> None:
        self.text = text

    def serialize(self) -> Any:
        return self.text

    def deserialize(self, string_value: Any) -> None:
        self.text = string_value


@pytest.mark.parametrize("text", [WORD, b"\0", b"", "k\u00fcrzer"])
def test_a_state_of_python_is_restored_whole(text: Any, tmp_path: Path) -> None:
    state = State(text)
    checkpoint = tf.train.Checkpoint(state=state)
    path = checkpoint.save(str(tmp_path / "c"))
    state.text = None
    checkpoint.restore(path)
    assert state.text == (text if isinstance(text, bytes) else text.encode())


def test_constants_of_a_saved_model_are_whole(tmp_path: Path) -> None:
    module = tf.Module()
    one, row = tf.constant(WORD), tf.constant([b"a\0", b""])
    module.f = tf.function(
        lambda x: (tf.strings.join([x, b"q\0"]), one + b"\0", row), input_signature=[tf.TensorSpec([], tf.string)]
    )
    tf.saved_model.save(module, str(tmp_path))
    joined, kept, several = tf.saved_model.load(str(tmp_path)).f(b"z\0")
    assert joined.numpy() == b"z\0q\0" and kept.numpy() == WORD + b"\0" and several.numpy().tolist() == [b"a\0", b""]


def test_protocol_buffers_of_texts_are_whole() -> None:
    for value in (WORD, [WORD], [[b"a", b"\0"]]):
        assert tf.make_ndarray(tf.make_tensor_proto(value)).tolist() == value
    assert tf.make_ndarray(tf.make_tensor_proto(b"a\0", shape=[2])).tolist() == [b"a\0", b"a\0"]
    assert tf.io.parse_tensor(tf.io.serialize_tensor(tf.constant(WORD)), tf.string).numpy() == WORD


@pytest.mark.parametrize("staged", [False, True])
@pytest.mark.parametrize("call", [tf.numpy_function, tf.py_function])
@pytest.mark.parametrize("value", [WORD, np.array([WORD, b"a"], object)])
def test_what_functions_of_python_return_is_whole(value: Any, call: Any, staged: bool) -> None:
    run = functools.partial(call, lambda: value, [], tf.string)
    found = (tf.function(run) if staged else run)()
    assert found.numpy().tolist() == [WORD, b"a"] if np.ndim(value) else found.numpy() == WORD
