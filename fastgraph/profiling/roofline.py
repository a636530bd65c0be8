"""The most that this machine can do, measured: the figures that kernels' rates are compared with.

Rule: measured once per process and number of threads, by the best of a few runs.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np

from fastgraph import ops
from fastgraph.core.base.dtype import float32
from fastgraph.core.native.thread_pool import num_threads
from fastgraph.core.tensor import from_array

_COPIED = 1 << 26  # bytes, more than caches hold
_ORDER = 1024
_RUNS = 5


@dataclass(frozen=True)
class Ceilings:
    """Bytes read and written per nanosecond (GB/s) and operations per nanosecond (GF/s), float32, with all threads."""

    bandwidth: float
    operations: float


def ceilings() -> Ceilings:
    """Measure the machine with as many threads as kernels have now; takes a fraction of a second, the first time."""
    return _measure(num_threads())


@cache
def _measure(threads: int) -> Ceilings:
    origin, target = np.ones(_COPIED // 4, np.float32), np.zeros(_COPIED // 4, np.float32)
    parts = list(zip(np.array_split(target, threads), np.array_split(origin, threads), strict=True))
    with ThreadPoolExecutor(threads) as pool:
        copy_ns = _best(lambda: list(pool.map(lambda part: np.copyto(*part), parts)))
    square = from_array(np.ones((_ORDER, _ORDER), np.float32), float32)
    product_ns = _best(lambda: ops.matmul.matmul(square, square))
    return Ceilings(2 * _COPIED / copy_ns, 2 * _ORDER**3 / product_ns)


def _best(function: Callable[[], object]) -> int:
    least = 1 << 62
    for _ in range(_RUNS):
        begin = time.perf_counter_ns()
        function()
        least = min(least, time.perf_counter_ns() - begin)
    return least
