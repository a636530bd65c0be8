"""Summaries of other kinds than numbers: histograms, images, tensors with metadata of the caller; when any are written.

Rule: what is written in a Function is written in every call, to the writer that is the default while it is traced.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import bool_, float64, int64
from fastgraph.core.conversion import Data
from fastgraph.core.name_scopes import current_scope, name_scope
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import convert, current_state, from_array
from fastgraph.errors import InvalidArgumentError
from fastgraph.graphdef import exporter
from fastgraph.graphdef.event_files import RECORDS, default_writer, recorded, step_of, summary
from fastgraph.graphdef.wire_format import field, serialized
from fastgraph.ops.families import Array


@contextmanager
def record_if(condition: Data | Callable[[], Any] | None) -> Iterator[None]:
    """A context in which summaries are written only if `condition`, a bool or a function of nothing, is true.

    Source: tf.summary.record_if.
    """
    extra = current_state().extra
    before = extra.get(RECORDS)
    extra[RECORDS] = condition
    try:
        yield
    finally:
        extra[RECORDS] = before


def should_record_summaries() -> Any:
    """Return whether summaries are written: there is a writer, and no `record_if` is against it. -> bool[]."""
    return convert(False) if default_writer() is None else convert(recorded())


@contextmanager
def summary_scope(name: str, default_name: str = "summary", values: object = None) -> Iterator[tuple[str, str]]:
    """A context for a summary of this name; gives its tag and the name scope. Source: tf.summary.experimental."""
    tag = current_scope() + (name or default_name)
    with name_scope(re.sub(r"[^A-Za-z0-9_.\-/]", "", (name or default_name).lstrip("/")) or default_name) as scope:
        yield tag, scope


def _written(data: Any, step: Any, content: Callable[[Any], bytes]) -> Any:
    """Write the summary that `content` makes of an array; return whether it was written. -> bool[]."""
    writer = default_writer()
    if writer is None:
        return convert(False)
    when = step_of(step)

    def write(records: Any, array: Any, number: Any) -> Any:
        if records:
            writer.write(5, content(array), int(number))
        return np.bool_(records)

    if current_state().trace is None:
        return convert(bool(write(recorded(), data.numpy(), int(when))))
    inputs = [convert(recorded()), data, public_function("cast")(when, int64)]
    return public_function("numpy_function")(write, inputs, bool_)


def write(
    tag: str, tensor: Data | Callable[[], Any], step: Data | None = None, metadata: Any = None, name: str | None = None
) -> Any:
    """Write a tensor under a tag, with a SummaryMetadata that names the plugin which shows it; return whether it was.

    `tensor` may be a function of nothing, called if there is something to write. Raises ValueError without a step.
    Source: tf.summary.write.
    """
    if default_writer() is None:
        return convert(False)
    data = convert(tensor() if callable(tensor) else tensor)
    described = b"" if metadata is None else field(9, metadata.SerializeToString())

    def content(array: Array) -> bytes:
        value = serialized(exporter.tensor_message(from_array(np.asarray(array), data.dtype)))
        return field(1, field(1, tag.encode()) + field(8, value) + described)

    return _written(data, step, content)


def histogram(
    name: str, data: Data, step: Data | None = None, buckets: int | None = None, description: str | None = None
) -> Any:
    """Write how the elements of a tensor are spread, for TensorBoard's histograms tab; return whether it was written.

    Each of `buckets` (30) rows is a bucket's begin, end and count. Raises ValueError without a step. Source:
    tf.summary.histogram.
    """
    count = 30 if buckets is None else buckets
    tag = current_scope() + name

    def content(array: Array) -> bytes:
        rows = from_array(_buckets(np.asarray(array, np.float64).ravel(), count), float64)
        return summary(tag, "histograms", rows, description=description or "", data_class=2)

    return _written(public_function("cast")(data, float64), step, content)


def _buckets(values: Array, count: int) -> Any:
    """Rows (begin, end, number of values) of `count` buckets of one width; of one value alone the last has it all."""
    rows = np.zeros((count, 3))
    if not count or not values.size:
        return rows
    with np.errstate(invalid="ignore"):  # NaN and infinities
        least, most = values.min(), values.max()
        edges = np.linspace(least, most, count + 1)
        places = np.floor((values - least) / ((most - least) / count)) if least != most else values
    rows[:, 0], rows[:, 1] = edges[:-1], edges[1:]
    if least == most:
        rows[-1, 2] = values.size
    else:
        counted = places[places >= 0]  # NaN is in no bucket
        rows[:, 2] = np.bincount(np.minimum(counted, count - 1).astype(np.int64), minlength=count)
    return rows


def image(name: str, data: Data, step: Data | None = None, max_outputs: int = 3, description: str | None = None) -> Any:
    """Write the first `max_outputs` of images t[k, h, w, 1 to 4], for TensorBoard's images tab; return whether it was.

    Floats are from 0 to 1, uint8 as they are. Raises ValueError without a step, InvalidArgumentError for other ranks.
    Source: tf.summary.image.
    """
    data = convert(data)
    if data.shape.rank not in (None, 4):
        raise InvalidArgumentError(None, None, f"summary.image {name!r}: shape {data.shape}, and rank 4 is wanted")
    tag = current_scope() + name

    def content(array: Array) -> bytes:
        if array.dtype.kind == "f":
            array = np.clip(array.astype(np.float32) * 255.5, 0, 255)
        pictures = array[:max_outputs].astype(np.uint8)
        texts = [str(pictures.shape[2]).encode(), str(pictures.shape[1]).encode(), *map(_png, pictures)]
        return summary(tag, "images", convert(texts), description=description or "", data_class=3)

    return _written(data, step, content)


def _png(picture: Array) -> bytes:
    """A picture u8[h, w, 1 to 4] as a PNG file."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    height, width, channels = picture.shape
    head = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    rows = b"".join(b"\0" + row.tobytes() for row in np.ascontiguousarray(picture))
    parts = [chunk(b"IHDR", head), chunk(b"IDAT", zlib.compress(rows)), chunk(b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)
