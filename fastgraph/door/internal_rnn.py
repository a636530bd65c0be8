"""tensorflow.python.ops.rnn_cell_impl: what loops written for TensorFlow 1's recurrent cells ask of sizes and cells."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import fastgraph as tf
from fastgraph.core.tensor import Tensor
from fastgraph.errors import NotBuiltError

#: The cells themselves, which are Keras 2's.
_CELLS = frozenset(
    ["BasicLSTMCell", "BasicRNNCell", "GRUCell", "LSTMCell", "LSTMStateTuple", "MultiRNNCell", "RNNCell"]
)

_NEEDS = {
    "'output_size' property is missing": ("output_size",),
    "'state_size' property is missing": ("state_size",),
    "either 'zero_state' or 'get_initial_state' method is required": ("get_initial_state", "zero_state"),
    "is not callable": ("__call__",),
}


def _sizes(value: Any, what: str) -> tuple[Any, Any]:
    """Sizes as (what is known of them as a list or None, a tensor i32[n] or None if some are unknown)."""
    if isinstance(value, Tensor):
        if value.shape.rank not in (0, 1):
            raise ValueError(f"{what} tensor must be either a scalar or vector, but saw tensor: {value}")
        known = tf.get_static_value(value)
        return known, tf.expand_dims(value, 0) if value.shape.rank == 0 else value
    shape = tf.TensorShape(value)
    known = None if shape.rank is None else shape.as_list()
    return known, tf.constant(known, tf.int32) if shape.is_fully_defined() else None


def concat(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """Join two of: an int, a TensorShape, a tensor of sizes. i32[n], or with `static` a list, unknown sizes as None.

    Raises ValueError for a tensor of another rank than 0 and 1, and, unless `static`, for unknown sizes.
    """
    (before, p), (after, s) = _sizes(prefix, "prefix"), _sizes(suffix, "suffix")
    if static:
        joined = tf.TensorShape(before).concatenate(after)
        return None if joined.rank is None else joined.as_list()
    if p is None or s is None:
        raise ValueError(f"Provided a prefix or suffix of None: {prefix} and {suffix}")
    return tf.concat([p, s], 0)


def zero_state_tensors(state_size: Any, batch_size: Any, dtype: Any) -> Any:
    """Return zeros[batch_size, *size] for each size of a structure."""

    def zeros(size: Any) -> Any:
        return tf.ensure_shape(tf.zeros(concat(batch_size, size), dtype), concat(batch_size, size, static=True))

    return tf.nest.map_structure(zeros, state_size)


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Raise TypeError for what is not a recurrent cell, with what it lacks."""
    lacks = [text for text, names in _NEEDS.items() if not any(hasattr(cell, name) for name in names)]
    if lacks:
        raise TypeError(f"The argument {cell_name!r} ({cell}) is not an RNNCell: {', '.join(lacks)}.")


def __getattr__(name: str) -> Any:
    if name not in _CELLS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if importlib.util.find_spec("tf_keras") is None:
        raise NotBuiltError(f"{name} of TensorFlow 1 is in Keras 2, which is not installed: pip install tf_keras")
    return getattr(importlib.import_module("tf_keras.src.layers.rnn.legacy_cells"), name)
