"""Calls of tf.image, tf.strings, tf.experimental.numpy and linear operators with what arguments seldom are: empty, of
small dtypes, negative, out of range; each beside what TensorFlow 2.21 gives (wide_calls.json), eagerly and in a Function.

A row is a call and its result: ["t", dtype, shape, numbers], or ["!", the error's class]. `arr(shape, dtype, k)` makes
numbers by a rule, "unit" among 0 and 1.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

ROWS = json.loads((Path(__file__).parent / "wide_calls.json").read_text(encoding="utf-8"))
#: So many rows are one test: each alone would take longer to name than to run.
TOGETHER = 12


def arr(shape: Any, dtype: str, k: int = 0) -> Any:
    """Numbers of a shape and dtype, the k-th such ones."""
    numbers = ((np.arange(int(np.prod(shape))) * 7919 + k * 31) % 97).reshape(shape)
    if dtype == "bool":
        return tf.constant(numbers % 3 == 0)
    if dtype == "unit":
        return tf.constant((numbers / 97.0).astype("float32"))
    if dtype.startswith("complex"):
        return tf.constant(((numbers - 48) / 16 + 1j * ((numbers * 5) % 13 - 6) / 4).astype(dtype))
    if "float" in dtype:
        return tf.cast(tf.constant(((numbers - 48) / 32.0).astype("float32" if dtype[0] == "b" else dtype)), dtype)
    return tf.constant((numbers * 2 if dtype[0] == "u" else numbers - 48).astype(dtype))


NAMES = {"tf": tf, "np": np, "arr": arr, "lin": tf.linalg, "tnp": tf.experimental.numpy}


def check(found: Any, wanted: Any, call: str) -> None:
    """Compare a result with a row's."""
    if not isinstance(wanted, list):
        assert repr(found) == wanted, call
    elif wanted and wanted[0] == "ragged":
        assert found.dtype.name == wanted[1], call
        words = json.dumps(found.to_list(), default=lambda word: word.decode("latin1"))
        assert words == wanted[2], call
    elif wanted and wanted[0] == "sparse":
        for part, expected in zip((found.indices, found.values, found.dense_shape), wanted[1:], strict=True):
            check(part, expected, call)
    elif wanted and wanted[0] == "t":
        _, dtype, shape, numbers = wanted
        array = np.asarray(found.numpy() if hasattr(found, "numpy") else found)
        assert getattr(found.dtype, "name", str(found.dtype)) == dtype and list(array.shape) == shape, call
        if dtype == "string":
            assert [word.decode("latin1") for word in array.ravel().tolist()] == numbers, call
            return
        expected = np.array(numbers, "float64")
        if dtype.startswith("complex"):
            array, expected = np.stack([array.real, array.imag], -1), expected.reshape(*shape, 2)
        exact = array.dtype.kind in "biu"
        near = 2e-2 if dtype in ("float16", "bfloat16") else 2e-4
        np.testing.assert_allclose(
            array.astype("float64").ravel(), expected.ravel(), 0 if exact else near, 0 if exact else near, err_msg=call
        )
    else:
        for part, expected in zip(found, wanted, strict=True):
            check(part, expected, call)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, len(ROWS), TOGETHER))
def test_calls_are_tensorflows(first: int) -> None:
    for call, wanted in ROWS[first : first + TOGETHER]:
        run = eval(f"lambda: {call}", dict(NAMES))
        if isinstance(wanted, list) and wanted[:1] == ["!"]:
            with pytest.raises(Exception) as raised:
                run()
            assert raised.type.__name__ == wanted[1], call
            continue
        check(run(), wanted, call)
        check(tf.function(run, autograph=False)(), wanted, f"in a Function: {call}")
