"""Convolutions of arrays by blocks of sums in registers; None where NumPy must do it. See _convolutions.pyx."""

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

def use_vectors(wanted: int) -> int:
    """Let convolutions use vectors of so many bits, as far as this CPU has them (0: NumPy); return what it was."""

def use_tiles(wanted: bool, least: float = 1e6) -> bool:
    """Let convolutions of bfloat16 use a CPU's registers of tiles, if it has them; return whether they do now.

    `least`: the operations from which on they do.
    """

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
    """What the elements of an input of shape `dims` get of dy. Raises: ValueError for sizes that do not fit."""

def filter_gradient(
    x: ndarray, dims: tuple[int, ...], dy: ndarray, strides: Sequence[int], pads: Any, dilations: Sequence[int]
) -> ndarray | None:
    """What the elements of a filter of shape `dims` get of dy. Raises: ValueError for sizes that do not fit."""
