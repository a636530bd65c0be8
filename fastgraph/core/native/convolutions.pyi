"""Convolutions of arrays by blocks of sums in registers; None where NumPy must do it. See convolutions.pyx."""

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

def has_pairs() -> bool:
    """True if this CPU multiplies pairs of bfloat16 and adds both products in one instruction."""

def forward(
    x: ndarray, filter: ndarray, out: tuple[int, ...], strides: Sequence[int], pads: Any, dilations: Sequence[int]
) -> ndarray | None:
    """The convolution [batch, *out, f]. Raises: ValueError for sizes that do not fit."""

def input_gradient(
    dims: tuple[int, ...],
    filter: ndarray,
    dy: ndarray,
    strides: Sequence[int],
    pads: Any,
    dilations: Sequence[int],
) -> ndarray | None:
    """The gradient of an input of shape `dims` for dy. Raises: ValueError for sizes that do not fit."""

def filter_gradient(
    x: ndarray, dims: tuple[int, ...], dy: ndarray, strides: Sequence[int], pads: Any, dilations: Sequence[int]
) -> ndarray | None:
    """The gradient of a filter of shape `dims` for dy. Raises: ValueError for sizes that do not fit."""
