"""Tensors of a bundle read in two steps: all are checked, then they are there one by one.

Rule: what is small is read once and kept until it is asked for; what is large is read twice, first for its checksum in
pieces, then straight to where it stays, so that reading takes no memory beside that of the Variables. Both in parts
that threads share, however few the tensors are.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np

from fastgraph.core import cells
from fastgraph.core.base.dtype import string, variant
from fastgraph.core.base.shapes import compatible
from fastgraph.core.tensor import cell_assign, from_array
from fastgraph.errors import InvalidArgumentError, NotFoundError, UnimplementedError
from fastgraph.saving.tensor_bundle import BundleReader, Part
from fastgraph.state.variable import Variable

T = TypeVar("T")

_KEPT = 1 << 24  # bytes of all tensors that are read once
_N_THREADS = 4  # on two cores too: a thread that waits for the disk takes none


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
        room = _KEPT
        large: list[str] = []
        for key, size in self._keys.items():
            if size <= room:
                self._found[key] = self.reader.read(key)
                room -= size
            else:
                large.append(key)
        cut = {key: self.reader.parts(key) for key in sorted(large, key=lambda key: self.reader.entry(key).offset)}
        self._check(cut)
        self._assign(cut)

    def _check(self, cut: dict[str, list[Part]]) -> None:
        """Read the large tensors for their checksums, a part on each thread."""
        buffers = threading.local()

        def check(key: str, part: Part) -> int:
            buffer = getattr(buffers, "buffer", None)
            if buffer is None:
                buffer = buffers.buffer = self.reader.buffer()
            return self.reader.check_part(key, part, buffer)

        done = _shared_out(check, [(key, part) for key, parts in cut.items() for part in parts])
        for key, parts in cut.items():
            if parts:
                self.reader.expect(key, parts, list(itertools.islice(done, len(parts))))
            else:
                self.reader.verify(key)

    def _assign(self, cut: dict[str, list[Part]]) -> None:
        """Set the Variables; a large one in the memory that it has, if that is its alone."""
        reading, work = [], []
        for variable, key, dims in self._variables:
            cell = variable.__fg_cell__
            if parts := cut.get(key):
                tensor, memory = cells.memory_for(cell, dims)
                into = np.frombuffer(memory, np.uint8)
                reading.append((cell, tensor))
                work += [(key, part, into) for part in parts]
            else:
                cell_assign(cell, from_array(self._take(key, keep=False), variable.dtype))
        for _ in _shared_out(self.reader.read_part, work):
            pass
        for cell, tensor in reading:
            cell_assign(cell, tensor)

    def _take(self, key: str, keep: bool = True) -> np.ndarray:
        found = self._found.get(key) if keep else self._found.pop(key, None)
        if found is None:
            found = self.reader.read(key)
        return found


def _shared_out(act: Callable[..., T], work: Sequence[tuple[Any, ...]]) -> Iterator[T]:
    """Give what `act` returns for each of these arguments, in order; threads take turns, this one too.

    Where one raises, those before it are given, then it is raised; none is begun any more.
    """
    found: dict[int, T] = {}
    failed: dict[int, BaseException] = {}
    numbers = iter(range(len(work)))

    def take_turns() -> None:
        for i in numbers:
            try:
                found[i] = act(*work[i])
            except BaseException as error:
                failed[i] = error
            if failed:
                break

    n_threads = min(_N_THREADS, len(work))
    if n_threads > 1:
        with ThreadPoolExecutor(n_threads - 1) as pool:
            for _ in range(n_threads - 1):
                pool.submit(take_turns)
            take_turns()
    else:
        take_turns()
    for i in range(len(work)):
        if i not in found:
            raise failed[min(failed)]
        yield found[i]
