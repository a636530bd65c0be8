"""The kinds of summaries: numbers, histograms, pictures, sounds and texts, each for a tab of TensorBoard."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import float32, float64, int32, string, uint8
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import current_scope, name_scope
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import convert, current_trace
from fastgraph.errors import InvalidArgumentError
from fastgraph.graphdef.node_bytes import field, varint
from fastgraph.ops.families import Array
from fastgraph.summaries.media import picture_file, wav
from fastgraph.summaries.writers import value_message, written


@contextmanager
def summary_scope(name: str | None, default_name: str = "summary", values: object = None) -> Iterator[tuple[str, str]]:
    """A context for a summary of this name; gives its tag and the name scope.

    Source: tf.summary.experimental.summary_scope.
    """
    name = name or default_name
    tag = current_scope() + name
    with name_scope(re.sub(r"[^-_/.A-Za-z0-9]", "", name) or default_name) as scope:
        yield tag, scope


def described(plugin: str, description: str | None = None, content: bytes = b"") -> bytes:
    """A SummaryMetadata for one of TensorBoard's plugins; `content` is what that one is told."""
    about = field(3, description.encode()) if description else b""
    return field(1, field(1, plugin.encode()) + (field(2, content) if content else b"")) + about


def _kind(
    tag: str, step: TensorLike | None, metadata: bytes, inputs: Callable[[], Sequence[Any]], made: Any, dtype: Any
) -> Any:
    """Write what `made` makes of arrays as one tensor of this dtype."""
    return written(step, inputs, lambda *arrays: value_message(tag.encode(), made(*arrays), dtype, metadata))


def scalar(name: str, data: TensorLike, step: TensorLike | None = None, description: str | None = None) -> Any:
    """Write a number for TensorBoard's scalars tab; return whether a writer is the default.

    In a Function it is written in every call, to the writer that is the default while tracing. `step` may be a tensor
    or Variable. Raises ValueError without a step and for other ranks. Source: tf.summary.scalar.
    """
    with summary_scope(name, "scalar_summary") as (tag, _):
        data = convert(data)
        if data.shape.rank not in (None, 0):
            raise ValueError(f"Expected scalar shape, saw shape: {data.shape}.")
        number = public_function("cast")(data, float32)
        return _kind(tag, step, described("scalars", description), lambda: [number], _scalar, float32)


def _scalar(number: Array) -> Array:
    if number.ndim:
        raise InvalidArgumentError(None, None, f"Expected scalar shape, saw shape: {number.shape}.")
    return number


def histogram(
    name: str, data: TensorLike, step: TensorLike | None = None, buckets: TensorLike | None = None,
    description: str | None = None,
) -> Any:  # fmt: skip
    """Write how the elements of a tensor are spread, for TensorBoard's histograms tab; return whether it was written.

    Each of `buckets` (30) rows is a bucket's begin, end and count. Raises ValueError without a step, TypeError for
    buckets that are no int32. Source: tf.summary.histogram.
    """

    def inputs() -> list[Any]:
        count = convert(30 if buckets is None else buckets)
        if count.dtype is not int32:
            raise TypeError(f"buckets must be of type tf.int32; got tf.{count.dtype.name}")
        return [public_function("cast")(data, float64), count]

    with summary_scope(name, "histogram_summary") as (tag, _):
        return _kind(tag, step, described("histograms", description), inputs, _buckets, float64)


def _buckets(values: Array, number: Array) -> Any:
    """Rows (begin, end, number of values) of so many buckets of one width; of one value alone the last has it all."""
    values, count = values.ravel(), max(int(number), 0)
    rows = np.zeros((count, 3))
    if not count or not values.size:
        return rows
    with np.errstate(invalid="ignore", over="ignore"):  # NaN and infinities
        least, most = values.min(), values.max()
        edges = np.linspace(least, most, count + 1)
        edges[0] = least  # of infinite ends too
        width = most - least
        places = np.floor((values - least) / (width / count)) if width else values
    rows[:, 0], rows[:, 1] = edges[:-1], edges[1:]
    if not width:
        rows[-1, 2] = values.size
    else:
        counted = places[places >= 0]  # NaN is in no bucket
        rows[:, 2] = np.bincount(np.minimum(counted, count - 1).astype(np.int64), minlength=count)
    return rows


def _first(name: str, data: Any, rank: int, most: Any) -> list[Any]:
    """The first `most` elements of a tensor, and how many there may be."""
    if data.shape.rank not in (None, rank):
        raise ValueError(f"summary {name!r}: the tensor must have rank {rank}. Received shape {data.shape}")
    most = convert(most)
    if not most.dtype.is_integer:
        raise TypeError(f"summary {name!r}: max_outputs must be an integer, got {most.dtype.name}")
    return [data, most]


def _number(most: Array) -> int:
    """Return the number of outputs there may be. Raises InvalidArgumentError for a negative number."""
    if most < 0:
        raise InvalidArgumentError(None, None, f"Condition x >= 0 did not hold element-wise: max_outputs = {most}")
    return int(most)


def _rank(array: Array, rank: int) -> None:
    if array.ndim != rank:
        raise InvalidArgumentError(None, None, f"the tensor must have rank {rank}. Received shape {array.shape}")


def image(
    name: str, data: TensorLike, step: TensorLike | None = None, max_outputs: TensorLike = 3,
    description: str | None = None,
) -> Any:  # fmt: skip
    """Write the first `max_outputs` of images t[k, h, w, 1 to 4], for TensorBoard's images tab; return whether it was.

    Floats are from 0 to 1, uint8 as they are, wider integers are scaled. Raises ValueError without a step and for other
    ranks, InvalidArgumentError for other channels and pictures without pixels. Source: tf.summary.image.
    """

    def inputs() -> list[Any]:
        converted = convert(data)
        shown = _first(name, converted, 4, max_outputs)
        return [public_function("image.convert_image_dtype")(converted, uint8, saturate=True), shown[1]]

    def files(array: Array, most: Array) -> Any:
        _rank(array, 4)
        texts = [str(array.shape[2]).encode(), str(array.shape[1]).encode(), *map(picture_file, array[: _number(most)])]
        return np.array(texts, object)

    with summary_scope(name, "image_summary") as (tag, _):
        return _kind(tag, step, described("images", description), inputs, files, string)


def audio(
    name: str,
    data: TensorLike,
    sample_rate: TensorLike,
    step: TensorLike | None = None,
    max_outputs: TensorLike = 3,
    encoding: str | None = None,
    description: str | None = None,
) -> Any:
    """Write the first `max_outputs` of sounds f32[k, n, channels] from -1 to 1, as WAV files for the audio tab.

    Returns whether they were written. Raises ValueError without a step, for other ranks and for an `encoding` that is
    not "wav", TypeError or InvalidArgumentError for other dtypes. Source: tf.summary.audio.
    """
    if encoding not in (None, "wav"):
        raise ValueError(f"Unknown encoding: {encoding!r}")

    def inputs() -> list[Any]:
        converted = convert(data)
        shown = _first(name, converted, 3, max_outputs)
        if converted.dtype is not float32:
            text = f"audio: a float tensor was expected, got {converted.dtype.name}"
            raise InvalidArgumentError(None, None, text) if current_trace() is None else TypeError(text)
        return [*shown, convert(sample_rate, int32)]

    def files(array: Array, most: Array, rate: Array) -> Any:
        _rank(array, 3)
        sounds = [wav(each, int(rate)) for each in array[: _number(most)]]
        rows = np.full((len(sounds), 2), b"", object)  # files, labels
        rows[:, 0] = sounds
        return rows

    about = described("audio", description, varint(2 << 3) + varint(11))
    with summary_scope(name, "audio_summary") as (tag, _):
        return _kind(tag, step, about, inputs, files, string)


def text(name: str, data: TensorLike, step: TensorLike | None = None, description: str | None = None) -> Any:
    """Write strings t[*s], Markdown, for TensorBoard's text tab (a table up to rank 2); return whether they were.

    Raises ValueError without a step, TypeError for other dtypes. Source: tf.summary.text.
    """
    with summary_scope(name, "text_summary") as (tag, _):
        data = convert(data)
        if data.dtype is not string:
            raise TypeError(f"text must be of type tf.string; got tf.{data.dtype.name}")
        return _kind(tag, step, described("text", description), lambda: [data], np.asarray, string)
