"""tf.data.experimental: older names of what tf.data has."""

from __future__ import annotations

from typing import Any

from fastgraph.api.namespaces import lookup
from fastgraph.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from fastgraph.data.optionals import Optional, get_next_as_optional

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Optional", "cardinality", "get_next_as_optional"]


def cardinality(dataset: Dataset) -> Any:
    """Return how many elements there are, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY. -> i64[]."""
    return dataset.cardinality()


__getattr__, __dir__ = lookup("data.experimental")
