"""Event files: graphs and scalars for TensorBoard, written, and their events read again.

Rule: a file is a row of records (length, content, their checksums), its first the format's version, and is whole after
every record. Source: tf.summary.
"""

from __future__ import annotations

import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np

from fastgraph.core.base.dtype import bool_, float32, int64
from fastgraph.core.base.locks import Lock
from fastgraph.core.name_scopes import current_scope
from fastgraph.core.native.crc32c import crc32c, masked
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import convert, current_state, from_array
from fastgraph.errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnknownError,
)
from fastgraph.graphdef import exporter
from fastgraph.graphdef.graph_view import Graph
from fastgraph.graphdef.messages import Message
from fastgraph.graphdef.wire_format import field, parsed, serialized, varint

_VERSION = b"brain.Event:2"
_FILE_ERRORS: tuple[tuple[Any, type[OpError]], ...] = (
    (FileNotFoundError, NotFoundError),
    ((FileExistsError, NotADirectoryError, IsADirectoryError), FailedPreconditionError),
    (PermissionError, PermissionDeniedError),
)
_KEY, _STEP = "summary_writer", "summary_step"
RECORDS = "summary_recorded"  #: What record_if was given: a bool, a tensor, or a function of nothing that gives one.


def record(content: bytes) -> bytes:
    """Return a record: the length and the content, each with its checksum (turned, as the format wants)."""
    return _checked(struct.pack("<Q", len(content))) + _checked(content)


def _checked(part: bytes) -> bytes:
    """Bytes and their checksum."""
    return part + struct.pack("<I", masked(crc32c(part)))


def _event(number: int, content: bytes, step: int = 0) -> bytes:
    """An Event: the time in seconds since 1970, the step, and what it holds."""
    when = varint(1 << 3 | 1) + struct.pack("<d", time.time())
    return when + (varint(2 << 3) + varint(step) if step else b"") + field(number, content)


@contextmanager
def _opening(path: str) -> Iterator[None]:
    """Raise what goes wrong with a file as TensorFlow's errors."""
    try:
        yield
    except OSError as error:
        kind = next((kind for classes, kind in _FILE_ERRORS if isinstance(error, classes)), UnknownError)
        raise kind(None, None, f"{path}; {error.strerror}") from None


class SummaryWriter:
    """Writes events to one file in a folder. Source: tf.summary.SummaryWriter."""

    def __init__(self, logdir: Any, filename_suffix: str | None = None) -> None:
        folder = os.fspath(logdir)
        with _opening(folder):
            os.makedirs(folder, exist_ok=True)
        suffix = ".v2" if filename_suffix is None else filename_suffix
        name = f"events.out.tfevents.{int(time.time())}.{socket.gethostname()}.{os.getpid()}.{next(_numbers)}{suffix}"
        self.path = os.path.join(folder, name)
        self._lock = Lock()
        self._closed = False
        with _opening(self.path), open(self.path, "wb") as file:
            file.write(record(_event(3, _VERSION)))

    def write(self, number: int, content: bytes, step: int = 0) -> None:
        """Append an event whose field `number` holds `content`. Raises RuntimeError if the writer is closed."""
        if self._closed:
            raise RuntimeError("SummaryWriter is already closed")
        with self._lock, _opening(self.path), open(self.path, "ab") as file:
            file.write(record(_event(number, content, step)))

    @contextmanager
    def as_default(self, step: object = None) -> Iterator[SummaryWriter]:
        """A context in which this thread's summaries go to this writer."""
        state = current_state()
        before = {key: state.extra.get(key) for key in (_KEY, _STEP)}
        self.set_as_default(step)
        try:
            yield self
        finally:
            state.extra.update(before)

    def set_as_default(self, step: object = None) -> None:
        """Let this thread's summaries go to this writer, of `step` if that is given."""
        if self._closed:
            raise RuntimeError("SummaryWriter is already closed")
        current_state().extra[_KEY] = self
        if step is not None:
            set_step(step)

    def flush(self) -> None:
        """Do nothing: each event is in the file when it is written."""

    def close(self) -> None:
        """Let nothing more be written."""
        self._closed = True


_numbers = iter(range(1 << 62))


def create_file_writer(
    logdir: object, max_queue: object = None, flush_millis: object = None, filename_suffix: str | None = None,
    name: str | None = None, experimental_trackable: bool = False,
) -> SummaryWriter:  # fmt: skip
    """Return a writer of events to a new file in the folder `logdir`. Source: tf.summary.create_file_writer."""
    return SummaryWriter(logdir, filename_suffix)


def default_writer() -> SummaryWriter | None:
    """Return the writer that this thread's summaries go to, if there is one."""
    return current_state().extra.get(_KEY)


def set_step(step: object) -> None:
    """Let `step`, an int or a Variable, be that of summaries. Source: tf.summary.experimental.set_step."""
    current_state().extra[_STEP] = step


def get_step() -> Any:
    """Return the step of this thread's summaries, or None. Source: tf.summary.experimental.get_step."""
    return current_state().extra.get(_STEP)


def step_of(step: object) -> Any:
    """Return the step that is given, or this thread's. Raises ValueError if there is none."""
    found = get_step() if step is None else step
    if found is None:
        raise ValueError("No step set. Please specify one either through the `step` argument or through "
                         "tf.summary.experimental.set_step()")  # fmt: skip
    return found


def recorded() -> Any:
    """Return whether this thread's summaries are written where there is a writer: a bool, or a tensor."""
    condition = current_state().extra.get(RECORDS)
    return True if condition is None else condition() if callable(condition) else condition


def summary(
    tag: str, plugin: str, tensor: object, *, content: bytes = b"", description: str = "", data_class: int = 0
) -> bytes:
    """Return a Summary of one tensor, which the plugin of TensorBoard so named shows; `content` is for the plugin."""
    metadata = field(1, field(1, plugin.encode()) + (field(2, content) if content else b""))
    if description:
        metadata += field(3, description.encode())
    if data_class:
        metadata += varint(4 << 3) + varint(data_class)
    value = serialized(exporter.tensor_message(tensor))
    return field(1, field(1, tag.encode()) + field(8, value) + field(9, metadata))


def scalar(name: str, data: Any, step: Any = None, description: str | None = None) -> Any:
    """Write a number for TensorBoard's scalars tab; return whether a writer is the default.

    In a Function it is written in every call, to the writer that is the default while tracing. `step` may be a tensor
    or Variable. Raises ValueError without a step, InvalidArgumentError for other ranks. Source: tf.summary.scalar.
    """
    writer = default_writer()
    if writer is None:
        return convert(False)
    number, when, tag = public_function("cast")(data, float32), step_of(step), current_scope() + name
    if number.shape.rank not in (None, 0):
        raise InvalidArgumentError(None, None, f"summary.scalar {name!r}: shape {number.shape}, and a scalar is wanted")

    def write(number: Any, step: Any, records: Any) -> Any:
        if not records:
            return np.False_
        content = summary(tag, "scalars", from_array(np.float32(number)), description=description or "", data_class=1)
        writer.write(5, content, int(step))
        return np.True_

    if current_state().trace is not None:
        return public_function("numpy_function")(
            write, [number, public_function("cast")(when, int64), convert(recorded())], bool_
        )
    return convert(bool(write(number.numpy(), int(when), recorded())))


def graph(graph_data: object) -> bool:
    """Write a graph, or a GraphDef, for TensorBoard's graph tab; return False if no writer is the default.

    Raises ValueError inside of a Function, and for what is no graph. Source: tf.summary.graph.
    """
    if current_state().trace is not None:
        raise ValueError("graph() cannot be invoked inside a graph context.")
    writer = default_writer()
    if writer is None:
        return False
    if isinstance(graph_data, Graph):
        content = serialized(exporter.message(graph_data.ir))
    elif hasattr(graph_data, "SerializeToString") and hasattr(graph_data, "versions"):
        content = graph_data.SerializeToString()
    else:
        raise ValueError(f"'graph_data' is not tf.Graph or tf.compat.v1.GraphDef: {graph_data!r}")
    writer.write(4, content)
    return True


# ---------------------------------------------------------------------------------------------------------------------
# Reading

_HEAD = 12  # bytes: the length and its checksum
_PART = 1 << 20  # read at once: what a damaged length asks for is not there


class RecordIterator:
    """The records of a file, one after the other. Where the file has grown since its end, `next` goes on.

    Source: TensorFlow's tf_record_iterator.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        with _opening(path):
            self._file = open(path, "rb")  # noqa: SIM115  it is closed with the iterator
        self._at = 0  # where the next record begins

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        begin = self._at
        self._file.seek(begin)
        head = self._read(_HEAD)
        if len(head) < _HEAD:  # as much as TensorFlow takes for the end: somebody is writing there
            raise StopIteration
        (size,) = struct.unpack("<Q", self._verified(head, _HEAD, begin))
        content = self._verified(self._read(size + 4), size + 4, begin + _HEAD)
        self._at = begin + _HEAD + size + 4
        return content

    def _read(self, size: int) -> bytes:
        """So many bytes, or fewer at the end of the file."""
        parts = []
        with _opening(self.path):
            while size and (part := self._file.read(min(size, _PART))):
                parts.append(part)
                size -= len(part)
        return b"".join(parts)

    def _verified(self, part: bytes, size: int, at: int) -> bytes:
        """`size` bytes without the checksum at their end. Raises DataLossError if it is another, or they are fewer."""
        if len(part) != size:
            text = f"truncated record at {self._at}' failed with Read less bytes than requested"
            raise DataLossError(None, None, text)
        if _checked(part[:-4]) != part:
            text = f"corrupted record at {at}" + ("" if at else " (Is this even a TFRecord file?)")
            raise DataLossError(None, None, text)
        return part[:-4]


class SummaryIterator(RecordIterator):
    """The events of a file."""

    def __next__(self) -> Message:
        begin = self._at
        content = super().__next__()
        try:
            return parsed(content, "Event")
        except ValueError as error:
            raise DataLossError(None, None, f"corrupted record at {begin}: {error}") from None


def summary_iterator(path: Any) -> SummaryIterator:
    """Return an iterator over the events of a file: messages with the fields of TensorFlow's protocol buffers.

    `event.summary.value[i]` has tag, simple_value, tensor (see make_ndarray), metadata. Raises NotFoundError if there
    is no such file; the iterator raises DataLossError where a record is damaged or cut off, and says at which byte it
    begins. Source: tf.compat.v1.train.summary_iterator.
    """
    return SummaryIterator(os.fspath(path))
