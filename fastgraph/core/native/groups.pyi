"""Rows combined by their numbers, different elements by hash tables. See groups.pyx."""

from typing import Any

import numpy as np

def combine(how: str, rows: np.ndarray[Any, Any], ids: np.ndarray[Any, Any], x: np.ndarray[Any, Any]) -> bool:
    """Combine each row of x with the row whose number it has, in order; False where NumPy must."""

def unique(x: np.ndarray[Any, Any]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Where the different elements are first, how often each occurs, and its number for each element."""
