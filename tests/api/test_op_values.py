"""Public ops give TensorFlow's values, dtypes, error classes and texts: the rows of op_rows.py,
op_rows_wide.py and op_rows_arguments.py, and in graphs as well."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import op_rows
import op_rows_arguments
import op_rows_wide
import pytest

import fastgraph as fg

VALUES = [*op_rows.VALUES, *op_rows_wide.VALUES, *op_rows_arguments.VALUES]
ERRORS = [*op_rows.ERRORS, *op_rows_wide.ERRORS, *op_rows_arguments.ERRORS]


def call(text: str) -> Any:
    return eval(text, {"tf": fg, "np": np, "nan": math.nan, "inf": math.inf})


def assert_value(got: Any, wanted: Any) -> None:
    if isinstance(wanted, list):
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            assert_value(g, w)
    elif isinstance(wanted, tuple) and wanted[0] == "shape":
        assert got.as_list() == wanted[1]
    elif isinstance(wanted, tuple):
        dtype, elements = wanted
        assert got.dtype.name == dtype
        array, expected = np.asarray(got.numpy()), np.array(elements)
        assert array.shape == expected.shape
        if dtype == "string":
            assert array.tolist() == elements
        elif got.dtype.is_floating or got.dtype.is_complex:
            rtol = {"bfloat16": 1e-2, "float16": 1e-3, "float64": 1e-14}.get(dtype, 2e-6)
            np.testing.assert_allclose(array.astype(expected.dtype), expected, rtol=rtol, atol=rtol / 10)
        else:
            assert array.tolist() == elements
    else:
        assert got == wanted


@pytest.mark.parametrize(("text", "wanted"), VALUES, ids=[v[0] for v in VALUES])
def test_value(text: str, wanted: Any) -> None:
    assert_value(call(text), wanted)


def bare(message: str) -> str:
    """An error's text without the names of op and device."""
    message = re.sub(r"^\{\{function_node [^}]*\}\} ", "", message)
    message = re.sub(r" \[Op:.*$", "", message, flags=re.S) if "[Op:" in message else message
    return message.split("\n\t; NodeDef")[0][:300]


@pytest.mark.parametrize(("text", "error", "message"), ERRORS, ids=[e[0] for e in ERRORS])
def test_error(text: str, error: str, message: str) -> None:
    with pytest.raises(Exception) as caught:
        call(text)
    assert (type(caught.value).__name__, bare(str(caught.value))) == (error, message)


def is_tensors(wanted: Any) -> bool:
    return (
        all(map(is_tensors, wanted)) if isinstance(wanted, list) else isinstance(wanted, tuple) and wanted[0] != "shape"
    )


IN_GRAPHS = [v for v in VALUES if is_tensors(v[1])]


@pytest.mark.parametrize(("text", "wanted"), IN_GRAPHS, ids=[v[0] for v in IN_GRAPHS])
def test_value_in_a_graph(text: str, wanted: Any) -> None:
    assert_value(fg.function(lambda: call(text))(), wanted)
