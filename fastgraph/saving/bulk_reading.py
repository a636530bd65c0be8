"""Tensors of a bundle read in two steps: all are checked, then they are there one by one.

Rule: what is small is read once and kept until it is asked for; what is large is read twice, first for its checksum in
pieces, then straight to where it stays, so that reading takes no memory beside that of the Variables. Both in parts
that threads share, however few the tensors are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from fastgraph.core import cells
from fastgraph.core.base.cpu_count import available
from fastgraph.core.base.dtype import string, variant
from fastgraph.core.base.shapes import compatible
from fastgraph.core.tensor import cell_assign, from_array
from fastgraph.errors import InvalidArgumentError, NotFoundError, UnimplementedError
from fastgraph.saving.tensor_bundle import BundleReader
from fastgraph.state.variable import Variable

_KEPT = 1 << 24  # bytes of all tensors that are read once
_N_THREADS = min(4, available())


class Reading:
    """Values that a restoration reads: `tensor`, `array`, `variable` say which, `run` checks and sets them."""

    def __init__(self, reader: BundleReader) -> None:
        self.reader = reader
        self._keys: dict[str, int] = {}
        self._found: dict[str, np.ndarray] = {}
        self._variables: list[tuple[Variable, str, tuple[int, ...]]] = []

    def array(self, key: str) -> Callable[[], np.ndarray]:
        """Return what gives a tensor's elements, once all is checked."""
        self._note(key)
        return lambda: self._take(key)

    def tensor(self, key: str) -> Callable[[], Any]:
        """Return what gives a tensor, once all is checked."""
        self._note(key)
        dtype, _ = self.reader.dtype_and_shape(key)
        if dtype is variant:
            raise UnimplementedError(None, None, f"{key}: values of dtype variant are TensorFlow's own")
        return lambda: from_array(self._take(key), dtype, copy=dtype is string)

    def variable(self, variable: Variable, key: str) -> None:
        """Let a Variable be set.

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
        self._variables.append((variable, key, dims))

    def _note(self, key: str) -> None:
        if key not in self.reader:
            raise NotFoundError(None, None, f"Key {key} not found in checkpoint")
        if key not in self._keys:
            self._keys[key] = self.reader.n_bytes(key)

    def run(self) -> None:
        """Read all of it, then set the Variables. Raises DataLossError for what is not whole before any is set."""
        room, large = _KEPT, []
        for key, size in self._keys.items():
            if size <= room:
                self._found[key] = self.reader.read(key)
                room -= size
            else:
                large.append(key)
        cut = {key: self.reader.parts(key) for key in sorted(large, key=lambda key: self.reader.entry(key).offset)}
        n_parts = sum(map(len, cut.values()))
        with ThreadPoolExecutor(_N_THREADS) as pool:
            each = pool.map if n_parts > 1 and _N_THREADS > 1 else map
            self._check(cut, each)
            self._assign(cut, each)

    def _check(self, cut: dict[str, list[Any]], each: Callable[..., Any]) -> None:
        """Read the large tensors for their checksums, a part on each thread."""
        crcs = each(self.reader.part_into, [key for key, parts in cut.items() for _ in parts],
                    [part for parts in cut.values() for part in parts], itertools.repeat(None))  # fmt: skip
        for key, parts in cut.items():
            if parts:
                self.reader.expect(key, parts, list(itertools.islice(crcs, len(parts))))
            else:
                self.reader.verify(key)

    def _assign(self, cut: dict[str, list[Any]], each: Callable[..., Any]) -> None:
        """Set the Variables; a large one in the memory that it has, if that is its alone."""
        reading = []
        for variable, key, dims in self._variables:
            cell = variable.__fg_cell__
            if parts := cut.get(key):
                tensor, memory = cells.memory_for(cell, dims)
                into = itertools.repeat(np.frombuffer(memory, np.uint8))
                reading.append((cell, tensor, each(self.reader.part_into, itertools.repeat(key), parts, into)))
            else:
                cell_assign(cell, from_array(self._take(key, keep=False), variable.dtype))
        for cell, tensor, done in reading:
            for _ in done:
                pass
            cell_assign(cell, tensor)

    def _take(self, key: str, keep: bool = True) -> np.ndarray:
        found = self._found.get(key) if keep else self._found.pop(key, None)
        if found is None:
            found = self.reader.read(key)
        return found
