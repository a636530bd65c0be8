"""tf.data.experimental: older names of what tf.data has."""

from __future__ import annotations

from typing import Any

from fastgraph.api.namespaces import lookup
from fastgraph.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset
from fastgraph.data.optionals import Optional, get_next_as_optional
from fastgraph.data.options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ThreadingOptions,
)

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "DistributeOptions",
    "ExternalStatePolicy",
    "OptimizationOptions",
    "Optional",
    "ThreadingOptions",
    "cardinality",
    "get_next_as_optional",
]


def cardinality(dataset: Dataset) -> Any:
    """Return how many elements there are, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY. -> i64[]."""
    return dataset.cardinality()


__getattr__, __dir__ = lookup("data.experimental")
