"""tf.data.experimental: older names of what tf.data has."""

from __future__ import annotations

from typing import Any

from fastgraph._namespaces import lookup
from fastgraph.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "cardinality"]


def cardinality(dataset: Dataset) -> Any:
    """Return how many elements there are, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY. -> i64[]."""
    return dataset.cardinality()


__getattr__ = lookup("data.experimental")
