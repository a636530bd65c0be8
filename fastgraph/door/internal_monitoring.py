"""The counters and gauges of `tensorflow.python.eager.monitoring`, by which libraries note that they are used.

Rule: what is noted stays in this process and can be read; nothing collects it.
"""

from __future__ import annotations

from typing import Any


class Cell:
    """One value of a metric."""

    def __init__(self, value: object) -> None:
        self._value: Any = value

    def set(self, value: object) -> None:
        """Note a value."""
        self._value = value

    def increase_by(self, value: int) -> None:
        """Count."""
        self._value += value

    def value(self) -> Any:
        """Return the value."""
        return self._value


class Metric:
    """A metric by its name; it has a Cell for each tuple of its labels' values, which starts as `zero`."""

    zero: Any = 0

    def __init__(self, name: str, description: str, *labels: str) -> None:
        self.name, self.description, self.labels = name, description, labels
        self._cells: dict[tuple[str, ...], Cell] = {}

    def get_cell(self, *labels: str) -> Cell:
        """Return the Cell of the labels' values. Raises ValueError for another number of them."""
        if len(labels) != len(self.labels):
            raise ValueError(
                f"The metric {self.name} has the labels {', '.join(self.labels)}; got {len(labels)} value(s)."
            )
        return self._cells.setdefault(labels, Cell(self.zero))


class Counter(Metric):
    """A metric that only grows."""


class IntGauge(Metric):
    """A number that was set last."""


class BoolGauge(Metric):
    """A gauge of something that is so or is not."""

    zero = False


class StringGauge(Metric):
    """A text that was set last."""

    zero = ""
