"""Pooling of arrays by vectors of channels; None where NumPy must do it. See poolings.pyx."""

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

def pooled(
    what: str,
    dims: tuple[int, ...],
    out: tuple[int, ...],
    x: ndarray | None,
    given: ndarray | None,
    window: Sequence[int],
    strides: Sequence[int],
    pads: Any,
    low: float = 0,
) -> ndarray | None:
    """A result of windows over an array of shape `dims`: see poolings.pyx. ValueError where sizes do not fit."""
