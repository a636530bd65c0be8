"""tf.keras.utils of arrays: padded sequences, pairs of words, norms of one."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from numpy.typing import ArrayLike


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


def normalize(x: ArrayLike, axis: int = -1, order: int = 2) -> np.ndarray:
    """Return an array over its norms along an axis; what has none stays. Source: tf.keras.utils.normalize."""
    norms = np.atleast_1d(np.linalg.norm(x, order, axis))
    return np.asarray(x) / np.expand_dims(np.where(norms == 0, 1, norms), axis)


def make_sampling_table(size: int, sampling_factor: float = 1e-5) -> np.ndarray:
    """Return how likely a word is kept by its rank, if words are as frequent as Zipf's law says. f64[size].

    Source: tf.keras.preprocessing.sequence.make_sampling_table.
    """
    rank = np.maximum(np.arange(size), 1)
    rarity = rank * (np.log(rank) + 0.577) + 0.5 - 1.0 / (12.0 * rank)
    return np.minimum(1.0, np.sqrt(sampling_factor * rarity))


def skipgrams(
    sequence: Any, vocabulary_size: int, window_size: int = 4, negative_samples: float = 1.0, shuffle: bool = True,
    categorical: bool = False, sampling_table: Any = None, seed: int | None = None,
) -> tuple[list[list[Any]], list[Any]]:  # fmt: skip
    """Return pairs of words of a sequence, and 1 where they are within `window_size`, 0 where one was drawn.

    Word 0 is none. Draws are those of Python's `random`. Source: tf.keras.preprocessing.sequence.skipgrams.
    """
    pairs = []
    for i, word in enumerate(sequence):
        if word and (sampling_table is None or sampling_table[word] >= random.random()):
            around = range(max(0, i - window_size), min(len(sequence), i + window_size + 1))
            pairs += [[word, sequence[j]] for j in around if j != i and sequence[j]]
    n = int(len(pairs) * max(negative_samples, 0))
    labels: list[Any] = [[0, 1]] * len(pairs) + [[1, 0]] * n if categorical else [1] * len(pairs) + [0] * n
    if negative_samples > 0:
        words = [word for word, _ in pairs]
        random.shuffle(words)
        pairs += [[words[i % len(words)], random.randint(1, int(vocabulary_size - 1))] for i in range(n)]
    if shuffle:
        seed = random.randint(0, 10_000_000) if seed is None else seed
        for values in (pairs, labels):
            random.seed(seed)
            random.shuffle(values)
    return pairs, labels
