"""Table that higher rooms fill with how graphs are written, so that none of them is imported here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Returns the class of the writer of datasets, once graphs may have some. It is made with `Copies`, and has
#: `enter(graph)`, `inner` and `is_written(held)`.
DATASETS: list[Callable[[], Any]] = []
