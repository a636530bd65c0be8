"""tf.raw_ops: calls and TensorFlow's results, of the table raw_operations.json, eagerly and in Functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf

ROWS = json.loads((Path(__file__).parent / "raw_operations.json").read_text())


def plain(result: Any) -> Any:
    """Return the dtypes and elements of tensors in lists."""
    if isinstance(result, list | tuple):
        return [plain(part) for part in result]
    values = result.numpy()
    if result.dtype == tf.string:
        return ["string", [text.decode() for text in np.ravel(values)]]
    return [result.dtype.name, np.asarray(values, np.float64).tolist()]


def assert_alike(found: Any, expected: Any) -> None:
    if isinstance(expected, list) and isinstance(expected[0], str):
        assert found[0] == expected[0]
        if expected[0] == "string":
            assert found[1] == expected[1]
        else:
            np.testing.assert_allclose(found[1], expected[1], atol=2e-5)
        return
    assert len(found) == len(expected)
    for part, wanted in zip(found, expected, strict=True):
        assert_alike(part, wanted)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["call"].partition("(")[0])
def test_a_call(row: dict[str, Any]) -> None:
    def call() -> Any:
        return eval(f"tf.raw_ops.{row['call']}", {"tf": tf, "np": np})

    for run in (call, tf.function(call)):
        assert_alike(plain(run()), row["expected"])
