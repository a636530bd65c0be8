"""Examples, records and rows taken apart. See wire_scan.pyx."""

from typing import Any

import numpy as np

class Slices:
    """Places in bytes objects, which it keeps: `rows` rows of `n`."""

    rows: int
    n: int

def located(messages: list[bytes], keys: list[bytes], field: int, /) -> tuple[Slices | None, int]:
    """The features of these keys in the maps in field `field` of messages: (Slices, a row for each key; -1), or where
    the first message is that is none: (None, its index)."""

def counted(slices: Slices, row: int, kind: int, /) -> np.ndarray[Any, Any]:
    """Count the values of `kind` of each feature of a row, i64[n]: -1 of one that is not there, -2 of bytes that are
    none, -3 - k of one of kind k."""

def filled(slices: Slices, row: int, kind: int, total: int, /) -> Any:
    """The values of all features of a row that `counted` has counted, `total` in all, one after the other: an array,
    of bytes a list. Raises ValueError for a number that is none."""

def fixed(slices: Slices, row: int, kind: int, size: int, /) -> Any:
    """The values of all features of a row, as `filled` gives them, if each has just `size` of `kind`; else None."""

def members(slices: Slices, row: int, /) -> tuple[np.ndarray[Any, Any], Slices]:
    """The Features of each FeatureList of a row: how many, i64[n] (-1 of one that is not there, -2 of bytes that are
    none), and where, one row."""

def records(block: bytes, at: int, limit: int, /) -> tuple[list[bytes], int, int]:
    """The whole records of a block of a file, from `at` on, `limit` at most: (a list of bytes, where the next one
    begins, how many bytes this needs; 0: unknown, -1: its head, -2: its content has another checksum)."""

def checksums(block: bytes, at: int, n: int, size: int, stride: int, /) -> np.ndarray[Any, Any]:
    """The masked CRC-32C of n pieces of a block, each of `size` bytes, `stride` apart from `at` on. u32[n]."""

def rows(
    source: bytes | list[bytes],
    at: int,
    most: int,
    places: np.ndarray[Any, Any],
    columns: int,
    enough: int,
    delimiter: int,
    quoted: bool,
    last: bool,
) -> tuple[Slices, int, int, int, int, int]:
    """Find where the fields of rows lie: in a block of a file from `at` on, `most` at most; of a list, each a row."""

def column(slices: Slices, row: int, n: int, kind: str, missing: bytes, default: Any, /) -> tuple[Any, list[int]]:
    """The first n fields of a column: as an array of a kind, as a list where it is "string"; and a list of those that
    are missing without a default (None), or no number that is written plainly."""

def field(slices: Slices, row: int, i: int, /) -> bytes:
    """One field, as bytes."""
