"""tf.keras.utils of time series: the Dataset of an array's windows.

Rule: a window is where it begins until it is batched, so that what is shuffled is numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.conversion import convert_to_tensor
from fastgraph.data.dataset import Dataset
from fastgraph.ops.gathering import gather


def timeseries_dataset_from_array(
    data: Any, targets: Any, sequence_length: int, sequence_stride: int = 1, sampling_rate: int = 1,
    batch_size: int | None = 128, shuffle: bool = False, seed: int | None = None, start_index: int | None = None,
    end_index: int | None = None,
) -> Dataset:  # fmt: skip
    """Return a Dataset of windows, t[b, sequence_length, *s], and of the target where each begins, if there are any.

    sequence_stride: how far windows begin from each other. sampling_rate: how far a window's rows are from each other.
    Raises ValueError for numbers that do not fit the data. Source: tf.keras.utils.timeseries_dataset_from_array.
    """
    n = len(data)
    for name, value in (("sampling_rate", sampling_rate), ("sequence_stride", sequence_stride)):
        if not 0 < value < n:
            asked = "higher than 0" if value <= 0 else f"lower than the length of the data, {n}"
            raise ValueError(f"`{name}` must be {asked}. Received: {name}={value}")
    if start_index and not 0 <= start_index < n:
        raise ValueError(f"`start_index` must be 0 or higher and lower than the length of the data, {n}. "
                         f"Received: start_index={start_index}")  # fmt: skip
    if end_index and not (start_index or 0) < end_index < n:
        raise ValueError(f"`end_index` must be higher than `start_index` and lower than the length of the data, {n}. "
                         f"Received: start_index={start_index}, end_index={end_index}")  # fmt: skip
    first, end = start_index or 0, n if end_index is None else end_index
    count = end - first - (sequence_length - 1) * sampling_rate
    begins = np.arange(0, count if targets is None else min(count, len(targets)), sequence_stride)
    if shuffle:
        seed = int(np.random.randint(1_000_000)) if seed is None else seed  # noqa: NPY002  (repeats by np.random.seed)
        np.random.RandomState(seed).shuffle(begins)
    rows = convert_to_tensor(data[first:end])
    wanted = None if targets is None else convert_to_tensor(targets[first:end])
    offsets = np.arange(sequence_length) * sampling_rate

    def windows(at: Any) -> Any:
        found = gather(rows, at[..., None] + offsets)
        return found if wanted is None else (found, gather(wanted, at))

    dataset = Dataset.from_tensor_slices(begins)
    if shuffle:
        dataset = dataset.shuffle((batch_size or 128) * 8, seed=seed)
    return (dataset if batch_size is None else dataset.batch(batch_size)).map(windows)
