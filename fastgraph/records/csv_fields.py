"""Columns of rows of comma-separated values, as decode_csv and CsvDataset have them.

Rule: numbers that are written plainly are read by the scan, without Python; the others as Python reads numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.ops.families import Array
from fastgraph.records import wire_scan

KINDS = ("float32", "float64", "int32", "int64", "string")
#: The result of a scan for a row that has no other fault than its number of fields.
FIELDS = -1


def number(text: bytes, kind: str) -> Any:
    """Return the number of a kind that a text says. Raises ValueError."""
    parse: Callable[[bytes], Any] = int if kind.startswith("int") else float
    value = parse(text)
    if b"_" in text or (parse is int and not np.iinfo(kind).min <= value <= np.iinfo(kind).max):
        raise ValueError(text)
    return value


def columns_of(
    slices: wire_scan.Slices, n: int, kinds: Sequence[str], defaults: Sequence[Array], missing: bytes
) -> tuple[list[Array], int, str]:
    """Return the columns of the first n rows, how many of these fit, and what is wrong with the one behind them.

    kinds: of KINDS. defaults: t[0] or t[1], what stands for an empty field and for the word `missing`.
    """
    found, fit, wrong = [], n, ""
    for i, (kind, default) in enumerate(zip(kinds, defaults, strict=True)):
        instead = default.item() if default.size else None
        values, odd = wire_scan.column(slices, i, n, kind, missing, instead)
        if kind == "string":
            texts = np.empty(n, object)
            texts[:] = values
            values = texts
        for row in odd:
            if row >= fit:
                break
            text = wire_scan.field(slices, i, row)
            if instead is None and text in (b"", missing):
                fit, wrong = row, f"Field {i} is required but missing in record%s!"
                break
            try:
                with np.errstate(over="ignore"):
                    values[row] = number(text, kind)
            except ValueError:
                named = {"float32": "float", "float64": "double"}.get(kind, kind)
                shown = text.decode(errors="replace").replace("%", "%%")
                fit, wrong = row, f"Field {i} in record%s is not a valid {named}: {shown}"
                break
        found.append(values)
    return found, fit, wrong
