"""How the rows of test_tensors_*.py are checked: an expression over a few tensors, and the value or error it gives."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import fastgraph as tf


def names() -> dict[str, Any]:
    """The names that the rows use, made anew for each row."""
    return {
        "tf": tf,
        "np": np,
        "f": tf.constant(1.5),
        "f2": tf.constant([1.0, 2.0]),
        "f3": tf.constant([1.0, 2.0, 3.0]),
        "d": tf.constant(1.0, tf.float64),
        "i": tf.constant(3),
        "i2": tf.constant([1, 2]),
        "l": tf.constant(3, tf.int64),
        "b": tf.constant(True),
        "s": tf.constant("a"),
        "c": tf.constant(1 + 2j),
        "u8": tf.constant(200, tf.uint8),
        "v": tf.Variable(1.0),
    }


def kernel(op: str, text: str, name: str = "") -> str:
    """The text of an error inside the kernel of `op`."""
    where = f"{{{{function_node __wrapped__{op}_device_/job:localhost/replica:0/task:0/device:CPU:0}}}}"
    return f"{where} {text} [Op:{op}] name: {name}"


def check_value(expression: str, expected: str) -> None:
    """Assert that `expression` prints as `expected`."""
    assert repr(eval(expression, names())) == expected


def check_error(expression: str, kind: type[Exception], message: str) -> None:
    """Assert that `expression` raises `kind` with exactly this text."""
    with pytest.raises(kind, match="^" + re.escape(message) + "$"):
        eval(expression, names())
