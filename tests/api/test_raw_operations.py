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


OPTIMIZERS = json.loads((Path(__file__).parent / "optimizer_operations.json").read_text())


@pytest.mark.parametrize("wrapped", [lambda f: f, tf.function], ids=["eager", "function"])
@pytest.mark.parametrize("row", OPTIMIZERS, ids=lambda row: row["op"])
def test_an_update_of_variables(row: dict[str, Any], wrapped: Any) -> None:
    variables = {name: tf.Variable(value, dtype=tf.float32) for name, value in row["variables"].items()}
    given = {name: np.array(value, None if name == "indices" else np.float32) for name, value in row["inputs"].items()}

    def update() -> None:
        handles = {name: each.handle for name, each in variables.items()}
        getattr(tf.raw_ops, row["op"])(**handles, **given, **row["attrs"])

    wrapped(update)()
    for name, each in variables.items():
        np.testing.assert_allclose(np.ravel(each.numpy()), row["after"][name], atol=2e-5)


def test_an_update_of_rows_names_each_once() -> None:
    v, a = tf.Variable(tf.ones([3, 1])), tf.Variable(tf.ones([3, 1]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="names one twice"):
        tf.raw_ops.ResourceSparseApplyAdagradV2(
            var=v.handle, accum=a.handle, lr=0.1, epsilon=0.0, grad=tf.ones([2, 1]), indices=[1, 1]
        )


@pytest.mark.parametrize(
    "of", [tf.constant, tf.ragged.constant, tf.sparse.from_dense], ids=["dense", "ragged", "sparse"]
)
def test_counts_are_as_many_as_their_most(of: Any) -> None:
    values = of([[1, 1], [4, 2]])
    assert tf.sparse.bincount(values, maxlength=6).dense_shape.numpy().tolist() == [6]
    assert tf.sparse.bincount(values, axis=-1, maxlength=3).dense_shape.numpy().tolist() == [2, 3]


def test_the_module_lists_what_it_serves() -> None:
    listed = dir(tf.raw_ops)
    assert {"Add", "MatMul", "ResourceGather"} <= set(listed)
    assert all(callable(getattr(tf.raw_ops, name)) for name in listed)
