"""Table that higher rooms fill with how graphs are written, so that none of them is imported here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Makes the writer of datasets, with `here`, `enter(graph)`, `inner` and `is_written(held)`; there is one once
#: graphs may have datasets.
DATASETS: list[Callable[[], Any]] = []
