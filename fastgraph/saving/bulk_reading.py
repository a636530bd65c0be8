"""Tensors of a bundle read in two steps: all are checked, then they are there one by one.

Rule: what is small is read once and kept until it is asked for; what is large is read twice, first for its checksum in
pieces, then straight to where it stays, so that reading takes no memory beside that of the Variables.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fastgraph.core import cells
from fastgraph.core.base.cpu_count import available
from fastgraph.core.base.dtype import string
from fastgraph.core.base.shapes import compatible
from fastgraph.core.tensor import cell_assign, from_array
from fastgraph.errors import InvalidArgumentError, NotFoundError
from fastgraph.saving.tensor_bundle import BundleReader
from fastgraph.state.variable import Variable

_KEPT = 1 << 24  # bytes of all tensors that are read once


class Reading:
    """What a restoration reads: `tensor`, `array` and `variable` say what, `check` looks at all of it."""

    def __init__(self, reader: BundleReader) -> None:
        self.reader = reader
        self._keys: dict[str, int] = {}
        self._found: dict[str, np.ndarray] = {}
        self._kept = 0

    def array(self, key: str) -> Callable[[], np.ndarray]:
        """Return what gives a tensor's elements, once all is checked."""
        self._note(key)
        return lambda: self._take(key)

    def tensor(self, key: str) -> Callable[[], Any]:
        """Return what gives a tensor, once all is checked."""
        self._note(key)
        dtype, _ = self.reader.dtype_and_shape(key)
        return lambda: from_array(self._take(key), dtype, copy=dtype is string)

    def variable(self, variable: Variable, key: str) -> Callable[[], Any]:
        """Return what sets a Variable, once all is checked.

        Raises ValueError for a shape that does not fit, InvalidArgumentError for another dtype.
        """
        dtype, dims = self.reader.dtype_and_shape(key)
        if dtype is not variable.dtype:
            raise InvalidArgumentError(
                None, None,
                f"tensor_name = {key}; expected dtype {variable.dtype.name} does not equal original dtype {dtype.name}",
            )  # fmt: skip
        if not compatible(variable.aval.shape, dims):
            raise ValueError(
                f"Received incompatible tensor with shape {dims} when attempting to restore variable with shape "
                f"{variable.shape} and name {key}."
            )
        self._note(key)
        return lambda: self._assign(variable, key, dims)

    def _note(self, key: str) -> None:
        if key not in self.reader:
            raise NotFoundError(None, None, f"Key {key} not found in checkpoint")
        if key not in self._keys:
            self._keys[key] = self.reader.n_bytes(key)

    def check(self) -> None:
        """Read all of it. Raises DataLossError for what is not whole, before anything is changed."""
        room, large = _KEPT, []
        for key, size in self._keys.items():
            if size <= room:
                self._found[key] = self.reader.read(key)
                room -= size
            else:
                large.append(key)
        if len(large) > 1:
            with ThreadPoolExecutor(min(4, available())) as pool:
                list(pool.map(self.reader.verify, sorted(large, key=lambda key: self.reader.entry(key).offset)))
        elif large:
            self.reader.verify(large[0])

    def _take(self, key: str) -> np.ndarray:
        found = self._found.get(key)
        if found is None:
            found = self.reader.read(key)
        return found

    def _assign(self, variable: Variable, key: str, dims: tuple[int, ...]) -> None:
        """Set a Variable; a large one in the memory that it has, if that is its alone."""
        cell = variable.__fg_cell__
        found = self._found.pop(key, None)
        if found is None and variable.dtype is not string:
            tensor, memory = cells.memory_for(cell, dims)
            if self.reader.read_into(key, memory):
                cell_assign(cell, tensor)
                return
        array = self._take(key) if found is None else found
        cell_assign(cell, from_array(array, variable.dtype))
