"""tf.data: elements that come one after the other, from tensors and Python generators, made into what a model needs.

Rule: what runs elements is here and in Python; a graph knows a dataset or an iterator as a number (handles.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastgraph.api.namespaces import lookup
from fastgraph.data.dataset import AUTOTUNE, INFINITE_CARDINALITY, UNKNOWN_CARDINALITY, Dataset, DatasetSpec
from fastgraph.data.iterators import IteratorBase as Iterator
from fastgraph.data.iterators import IteratorSpec, NumpyIterator
from fastgraph.data.options import Options, ThreadingOptions
from fastgraph.data.record_datasets import FixedLengthRecordDataset, TextLineDataset, TFRecordDataset

if TYPE_CHECKING:
    from fastgraph.data import experimental as experimental

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "Dataset",
    "DatasetSpec",
    "FixedLengthRecordDataset",
    "Iterator",
    "IteratorSpec",
    "NumpyIterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
]

__getattr__, __dir__ = lookup("data")
