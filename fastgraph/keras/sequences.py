"""tf.keras.utils of arrays: padded sequences, images as arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.keras import backend
from fastgraph.keras.layers.core import checked_data_format


def pad_sequences(
    sequences: Any, maxlen: int | None = None, dtype: Any = "int32", padding: str = "pre", truncating: str = "pre",
    value: Any = 0.0,
) -> np.ndarray:  # fmt: skip
    """Return lists as rows of one length: cut, or padded with `value`, at the beginning or ("post") the end.

    maxlen: the length; None: that of the longest. Source: tf.keras.utils.pad_sequences.
    """
    if not hasattr(sequences, "__len__"):
        raise ValueError("`sequences` must be iterable.")
    lengths = []
    for row in sequences:
        if not hasattr(row, "__len__"):
            raise ValueError(f"`sequences` must be a list of iterables. Found non-iterable: {row!s}")
        lengths.append(len(row))
    n = max(lengths, default=0) if maxlen is None else maxlen
    dims = next((np.asarray(row).shape[1:] for row in sequences if len(row)), ())
    if isinstance(value, str) and dtype is not object and not np.issubdtype(np.dtype(dtype), np.str_):
        raise ValueError(
            f"`dtype` {dtype} is not compatible with `value`'s type: {type(value)}\nYou should set `dtype=object` for "
            "variable length strings."
        )
    for name, given in (("Truncating", truncating), ("Padding", padding)):
        if given not in ("pre", "post"):
            raise ValueError(f'{name} type "{given}" not understood')
    rows = np.full((len(lengths), n, *dims), value, dtype=dtype)
    for i, row in enumerate(sequences):
        kept = np.asarray(row[max(len(row) - n, 0) :] if truncating == "pre" else row[:n], dtype=dtype)
        if len(kept):
            if kept.shape[1:] != dims:
                raise ValueError(
                    f"Shape of sample {kept.shape[1:]} of sequence at position {i} is different from expected shape "
                    f"{dims}"
                )
            rows[i, n - len(kept) if padding == "pre" else 0 :][: len(kept)] = kept
    return rows


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> np.ndarray:
    """Return a Pillow image as f32[h, w, c]. Source: tf.keras.utils.img_to_array."""
    x = np.asarray(img, dtype=dtype or backend.floatx())
    if x.ndim not in (2, 3):
        raise ValueError(f"Unsupported image shape: {x.shape}")
    x = x[..., None] if x.ndim == 2 else x
    return x.transpose(2, 0, 1) if checked_data_format(data_format) == "channels_first" else x
