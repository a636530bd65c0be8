"""tf.keras.utils.Progbar: how far a run has come, as text.

Rule: a value is read only when it is shown.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from fastgraph.core.conversion import TensorLike

_WIDTH = 30
_INTERVAL = 0.05


class Progbar:
    """Progress on standard output: a bar on a terminal, a line at the end elsewhere. Source: tf.keras.utils.Progbar.

    target: how many steps there are, None if that is not known. verbose: 0 nothing, 1 a bar, 2 a line at the end.
    stateful_metrics: names of values that are shown as they are; of others the mean is. A value may be a tensor: it is
    read only when it is shown.
    """

    def __init__(
        self, target: int | None, width: int = _WIDTH, verbose: int = 1, interval: float = _INTERVAL,
        stateful_metrics: Iterable[str] | None = None, unit_name: str = "step",
    ) -> None:  # fmt: skip
        self.target = target
        self.width = width
        self.verbose = verbose
        self.interval = interval
        self.stateful_metrics = set(stateful_metrics or ())
        self.unit_name = unit_name
        self._sums: dict[str, list[float]] = {}
        self._begun = time.perf_counter()
        self._shown = float("-inf")
        self._seen = 0
        self._length = 0
        self._moving = verbose == 1 and bool(getattr(sys.stdout, "isatty", bool)())

    def add(self, n: int, values: Iterable[tuple[str, Any]] | None = None) -> None:
        """Go `n` steps on."""
        self.update(self._seen + n, values)

    def update(
        self, current: int, values: Iterable[tuple[str, Any]] | None = None, finalize: bool | None = None
    ) -> None:
        """Say that `current` steps are done; values: [(name, value)]."""
        if finalize is None:
            finalize = self.target is not None and current >= self.target
        steps, self._seen = current - self._seen, current
        values = [self._mean(name, value, steps) for name, value in values or ()]
        if not self.verbose or (not finalize and not self._moving):
            return
        now = time.perf_counter()
        if not finalize and now - self._shown < self.interval:
            return
        self._shown = now
        if finalize and self.target is None:
            self.target = current
        self._write(current, values, now - self._begun, finalize)

    def due(self) -> bool:
        """Return whether a step would be shown now."""
        return self._moving and time.perf_counter() - self._shown >= self.interval

    def _mean(self, name: str, value: Any, steps: int) -> tuple[str, Any]:
        if name in self.stateful_metrics:
            return name, value
        total = self._sums.setdefault(name, [0.0, 0.0])
        weight = max(steps, 1)
        total[0] += float(value) * weight
        total[1] += weight
        return name, total[0] / total[1]

    def _write(self, current: int, values: Iterable[tuple[str, Any]], spent: float, done: bool) -> None:
        per_step = spent / max(current, 1)
        rate = f"{clock(spent)} {small_time(per_step)}/{self.unit_name}"
        shown = "".join(f" - {name}: {number_text(value)}" for name, value in values or ())
        known = self.target
        if self.verbose == 2:
            each = f"{small_time(spent)}/epoch - {small_time(per_step)}/{self.unit_name}"
            sys.stdout.write(f"{current}/{known} - {clock(spent)}{shown} - {each}\n")
            sys.stdout.flush()
            return
        if known is None:
            line = f"{current:>7}/Unknown - {rate}{shown}"
        else:
            count = f"{current:>{len(str(known))}}/{known}"
            filled = min(self.width, self.width * current // known)
            bar = "=" * filled if done else ("=" * max(filled - 1, 0) + ">").ljust(self.width, ".")
            left = rate if done else f"ETA: {clock(per_step * max(known - current, 0))}"
            line = f"{count} [{bar}] - {left}{shown}"
        end = "\n" if done else ""
        sys.stdout.write(("\r" if self._moving else "") + line.ljust(self._length) + end)
        sys.stdout.flush()
        self._length = 0 if done else len(line)


def clock(seconds: float) -> str:
    """Return seconds as text: 5 -> "5s", 65 -> "1:05", 3700 -> "1:01:40"."""
    whole = int(seconds)
    if whole >= 3600:
        return f"{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"
    return f"{whole // 60}:{whole % 60:02d}" if whole >= 60 else f"{whole}s"


def small_time(seconds: float) -> str:
    """Return a step's time as text: "2s", "31ms", "850us"."""
    if seconds >= 1 or not seconds:
        return f"{seconds:.0f}s"
    return f"{seconds * 1e3:.0f}ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f}us"


def number_text(value: TensorLike) -> str:
    """Return a number as progress bars show it: 0.1234, or 1.2340e-05 where that would say nothing."""
    number = float(np.mean(np.asarray(value)))
    return f"{number:.4f}" if abs(number) > 1e-3 else f"{number:.4e}"
