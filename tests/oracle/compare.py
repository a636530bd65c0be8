"""Says where two results of a case differ: values, dtypes, shapes, gradients of both orders, the class of the error."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.oracle.runner import unpacked

RELATIVE = {
    "bfloat16": 3e-2,
    "float16": 4e-3,
    "float32": 2e-5,
    "complex64": 2e-5,
    "float64": 1e-10,
    "complex128": 1e-10,
}


def arrays_differ(got: Any, wanted: Any, dtype: str, slack: float) -> str:
    """How two arrays of one dtype and shape differ, or ""."""
    if dtype not in RELATIVE:
        return "" if np.array_equal(got, wanted) else "values"
    wide = np.complex128 if dtype.startswith("complex") else np.float64
    got, wanted = got.astype(wide), wanted.astype(wide)
    limit = RELATIVE[dtype] * slack
    finite = wanted[np.isfinite(wanted)]
    scale = min(float(np.abs(finite).max()) if finite.size else 0.0, 1e30)
    close = np.isclose(got, wanted, rtol=limit, atol=limit * max(scale, 1e-3), equal_nan=True)
    if close.all():
        return ""
    at = tuple(np.argwhere(~close)[0].tolist())
    return f"values: {got[at]:.9g} is not {wanted[at]:.9g}"


def one(got: Any, wanted: Any, how: str, slack: float) -> str:
    """How two results (arrays, None, texts) differ, or ""."""
    if got is None or wanted is None or isinstance(got, str) or isinstance(wanted, str):
        return "" if got == wanted else f"values: {str(got)[:40]} is not {str(wanted)[:40]}"
    if got[0] != wanted[0]:
        return f"dtype: {got[0]} is not {wanted[0]}"
    if tuple(got[1]) != tuple(wanted[1]):
        return f"shape: {got[1]} is not {wanted[1]}"
    a, b = unpacked(got), unpacked(wanted)
    if how == "statistics":
        return moments_differ(a, b)
    if how in ("absolute", "unordered") and got[0] in RELATIVE:
        a, b = np.abs(a), np.abs(b)
    if how == "unordered":
        a, b = np.sort(a, axis=None), np.sort(b, axis=None)
    return arrays_differ(a, b, got[0], slack)


def moments_differ(a: Any, b: Any) -> str:
    """How two large samples differ: their means and spreads by more than chance allows, or ""."""
    if a.size < 1000 or a.dtype.kind in "OSU":
        return ""
    a, b = a.astype(np.float64), b.astype(np.float64)
    spread = max(a.std(), b.std(), 1e-12)
    if abs(a.mean() - b.mean()) > 6 * spread * np.sqrt(2 / a.size):
        return f"mean: {a.mean():.4g} is not {b.mean():.4g}"
    if not 0.8 < a.std() / max(b.std(), 1e-12) < 1.25:
        return f"deviation: {a.std():.4g} is not {b.std():.4g}"
    return ""


def is_zero(record: Any) -> bool:
    return record is None or (not isinstance(record, str) and not np.any(unpacked(record)))


def undefined(record: Any) -> bool:
    """Whether a record of gradients says that the op has none defined."""
    return (
        isinstance(record, tuple) and record[:1] == ("error",) and record[1] in ("LookupError", "NotImplementedError")
    )


def gradients(got: Any, wanted: Any, slack: float) -> str:
    """How gradients differ, or "". None where TensorFlow has zeros, or the other way round, is the same slope."""
    if undefined(wanted):
        return ""
    if isinstance(wanted, tuple) and wanted[:1] == ("error",):
        if isinstance(got, tuple):
            return "" if got[1] == wanted[1] else f"{got[1]} is not {wanted[1]}"
        return f"no {wanted[1]}: {wanted[2][:80]}"
    if isinstance(got, tuple) and got[:1] == ("error",):
        return f"{got[1]}: {got[2][:80]}"
    if wanted is None or got is None:
        return "" if wanted == got or all(map(is_zero, wanted or got)) else "only one has a gradient"
    for a, b in zip(got, wanted, strict=True):
        if a is None or b is None:
            if not (is_zero(a) and is_zero(b)):
                return "None" if a is None else "not None"
            continue
        different = one(a, b, "values", slack)
        if different:
            return different
    return ""


def telling(text: str) -> str:
    """The part of an error's text that says what is wrong: without the names of op, node and device, and values."""
    text = re.sub(r"\{\{function_node [^}]*\}\} ?|\{\{node [^}]*\}\} ?", "", text)
    text = re.split(r"\n?\t; NodeDef|\s*\[Op:", text)[0]
    text = re.sub(r"<tf.Tensor.*|tf\.Tensor\(.*", "", text, flags=re.S)
    return " ".join(re.sub(r"fastgraph|tensorflow", "tf", text).split()).rstrip(". ")[:200]


def difference(got: dict[str, Any], wanted: dict[str, Any], how: str) -> str:
    """Where two results of a case differ, in words that begin with the kind of the difference; "" if nowhere."""
    if "warnings" in got:
        return f"warning: {got['warnings'][0]}"
    if "error" in wanted or "error" in got:
        a, b = got.get("error", ("a result", ""))[0], wanted.get("error", ("a result", ""))[0]
        if a == b and how == "text":
            ours, theirs = telling(got["error"][1]), telling(wanted["error"][1])
            return "" if ours == theirs else f"text: {ours[:120]!r}, TensorFlow: {theirs[:120]!r}"
        return "" if a == b else f"error: {a}, TensorFlow: {b}: {(wanted.get('error') or got['error'])[1][:160]}"
    if len(got["values"]) != len(wanted["values"]):
        return f"values: {len(got['values'])} results, not {len(wanted['values'])}"
    for a, b in zip(got["values"], wanted["values"], strict=True):
        different = one(a, b, how, 1.0)
        if different:
            return different
    if how != "values":
        return ""
    for order, slack in (("first", 5.0), ("second", 50.0)):
        if undefined(wanted.get("first")):
            return ""
        different = gradients(got.get(order), wanted.get(order), slack)
        if different:
            return f"{order} gradient: {different}"
    return ""
