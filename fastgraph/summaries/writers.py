"""Writers of event files, the default one of each thread, the step, and what is written at all.

Rule: an event is in the file, whole, when the call that writes it returns: there is no queue that an end of the process
could lose. What cannot be written whole is taken back, so that what follows can be read.
"""

from __future__ import annotations

import itertools
import os
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

import numpy as np

from fastgraph.core import replicas
from fastgraph.core.base.dtype import int64, string
from fastgraph.core.base.file_errors import raising_for
from fastgraph.core.base.locks import Lock
from fastgraph.core.base.paths import local_path
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import op_scope
from fastgraph.core.op_errors import enum_name
from fastgraph.core.registry import get, public_function
from fastgraph.core.tensor import Tensor, bind, class_has, convert, current_state, current_trace, init_scope
from fastgraph.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError
from fastgraph.graph.control_flow import smart_cond
from fastgraph.graphdef import exporter
from fastgraph.graphdef.graph_view import Graph
from fastgraph.graphdef.message_types import Enum
from fastgraph.graphdef.messages import Dim, TensorProto, TensorShapeProto
from fastgraph.graphdef.node_bytes import field, varint
from fastgraph.graphdef.wire_format import parsed, serialized
from fastgraph.ops.deferred_calls import Held
from fastgraph.records.record_files import framed

_WRITER, _STEP, _RECORDS = "summary_writer", "summary_step", "summary_recorded"  # in the thread's state
_GRAPH, _SUMMARY = 4, 5  # fields of an Event
_file_numbers, _call_numbers = itertools.count(), itertools.count()
_NO_STEP = (
    "No step set. Please specify one either through the `step` argument or through tf.summary.experimental.set_step()"
)


class EventFile:
    """A new file of events in a folder, which is made. Records of several threads and forked processes stay whole."""

    def __init__(self, folder: str, suffix: str) -> None:
        self._folder, self._suffix = folder, suffix
        self._lock = Lock()
        self._open()

    def _open(self) -> None:
        seconds, number = int(time.time()), next(_file_numbers)
        name = f"events.out.tfevents.{seconds}.{socket.gethostname()}.{os.getpid()}.{number}{self._suffix}"
        self.path = os.path.join(self._folder, name)
        with raising_for(self._folder):
            try:
                os.makedirs(self._folder, exist_ok=True)
            except FileExistsError:
                text = f"{self._folder} exists but is not a directory"
                raise FailedPreconditionError(None, None, text) from None
        with raising_for(self.path):
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self._append(field(3, b"brain.Event:2") + field(10, field(1, b"tensorflow.core.util.events_writer")))

    def event(self, number: int, content: bytes, step: int = 0) -> None:
        """Append an event whose field `number` holds `content`. Where that fails, nothing of it is left."""
        with self._lock:
            if not os.fstat(self._file).st_nlink:  # somebody has removed it
                os.close(self._file)
                self._open()
            self._append((varint(2 << 3) + varint(step) if step else b"") + field(number, content))

    def _append(self, event: bytes) -> None:
        rest = memoryview(framed(varint(1 << 3 | 1) + struct.pack("<d", time.time()) + event))
        size = len(rest)
        with raising_for(self.path):
            try:
                while rest:  # once, unless the disk is full or the record huge
                    rest = rest[os.write(self._file, rest) :]
            except BaseException:
                end = os.lseek(self._file, 0, os.SEEK_CUR)
                if len(rest) < size and os.fstat(self._file).st_size == end:  # and nobody has written since
                    with suppress(OSError):
                        os.ftruncate(self._file, end - (size - len(rest)))
                raise

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            file, self._file = self._file, -1
            if file >= 0:
                os.close(file)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # os may be gone at the end
        if getattr(self, "_file", -1) >= 0:
            close(self._file)


class SummaryWriter:
    """The place summaries go to: by this one, where they went. Source: tf.summary.SummaryWriter, create_noop_writer."""

    def init(self) -> None:
        """Do nothing: the file is there when the writer is. Raises RuntimeError if it is closed."""

    def as_default(self, step: TensorLike | None = None) -> AbstractContextManager[SummaryWriter]:
        """A context in which this thread's summaries go to this writer. Raises RuntimeError if it is closed."""
        return nullcontext(self)

    def set_as_default(self, step: TensorLike | None = None) -> None:
        """Let this thread's summaries go to this writer, of `step` if that is given. Raises as `as_default`."""

    def flush(self) -> None:
        """Do nothing: each event is in the file when it is written."""

    def close(self) -> None:
        """Let nothing more be written; in a Function, when it runs."""


class FileWriter(SummaryWriter):
    """A writer of events to one file in a folder."""

    def __init__(self, folder: str, suffix: str) -> None:
        self._file: EventFile | None = EventFile(folder, suffix)

    def event(self, number: int, content: bytes, step: int = 0) -> None:
        """Append an event. Raises NotFoundError if the writer is closed, and what the file system says."""
        file = self._file
        if file is None:
            raise NotFoundError(None, None, f"{self!r} is closed: the resource of a writer does not exist.")
        file.event(number, content, step)

    def init(self) -> None:
        """Do nothing: the file is there when the writer is. Raises RuntimeError if it is closed."""
        if self._file is None:
            raise RuntimeError(f"SummaryWriter {self!r} is already closed")

    @contextmanager
    def _default(self, step: TensorLike | None) -> Iterator[SummaryWriter]:
        extra = current_state().extra
        before = extra.get(_WRITER), extra.get(_STEP)
        self.set_as_default(step)
        try:
            yield self
        finally:
            extra[_WRITER] = before[0]
            if step is not None:
                extra[_STEP] = before[1]

    def as_default(self, step: TensorLike | None = None) -> AbstractContextManager[SummaryWriter]:
        """A context in which this thread's summaries go to this writer. Raises RuntimeError if it is closed."""
        return self._default(step)

    def set_as_default(self, step: TensorLike | None = None) -> None:
        """Let this thread's summaries go to this writer, of `step` if that is given. Raises as `as_default`."""
        self.init()
        extra = current_state().extra
        extra[_WRITER] = self
        if step is not None:
            extra[_STEP] = step

    def close(self) -> None:
        """Let nothing more be written; in a Function, when it runs."""

        def close() -> Any:
            file, self._file = self._file, None
            if file is not None:
                file.close()
            return np.True_

        if current_trace() is None:
            close()
        else:
            _applied(close, [])


def create_file_writer(
    logdir: str | bytes | os.PathLike[str] | Tensor,
    max_queue: TensorLike | None = None,
    flush_millis: TensorLike | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: None = None,
) -> SummaryWriter:
    """Return a writer of events to a new file in the folder `logdir`, which is made.

    Events wait in no queue: `max_queue`, `flush_millis` and the others change nothing. Raises ValueError for None,
    TypeError for what is no path, and what the file system says: FailedPreconditionError where a file is in the way,
    PermissionDeniedError, ResourceExhaustedError for a full disk. Source: tf.summary.create_file_writer.
    """
    if logdir is None:
        raise ValueError("Argument `logdir` cannot be None")
    with init_scope():
        folder, suffix = (
            convert(text, string).numpy()
            for text in (
                os.fspath(logdir) if isinstance(logdir, os.PathLike) else logdir,
                ".v2" if filename_suffix is None else filename_suffix,
            )
        )
    return FileWriter(local_path(folder), os.fsdecode(suffix))


def create_noop_writer() -> SummaryWriter:
    """Return a writer that writes nothing. Source: tf.summary.create_noop_writer."""
    return SummaryWriter()


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Do nothing: each event is in its file when it is written. Raises ValueError for what is no writer.

    Source: tf.summary.flush.
    """
    if writer is not None and not isinstance(writer, SummaryWriter):
        raise ValueError(f"Invalid argument to flush(): {writer!r}")


def default_writer() -> FileWriter | None:
    """Return the writer that this thread's summaries go to, if there is one."""
    return current_state().extra.get(_WRITER)


def set_step(step: TensorLike | None) -> None:
    """Let `step`, an int, tensor or Variable, be that of this thread's summaries.

    Source: tf.summary.experimental.set_step.
    """
    current_state().extra[_STEP] = step


def get_step() -> Any:
    """Return the step of this thread's summaries, or None. Source: tf.summary.experimental.get_step."""
    return current_state().extra.get(_STEP)


@contextmanager
def record_if(condition: TensorLike | Callable[[], Any] | None) -> Iterator[None]:
    """A context in which summaries are written only if `condition`, a bool or a function of nothing, is true.

    Source: tf.summary.record_if.
    """
    extra = current_state().extra
    before = extra.get(_RECORDS)
    extra[_RECORDS] = condition
    try:
        yield
    finally:
        extra[_RECORDS] = before


def should_record_summaries() -> Any:
    """Return whether summaries are written: there is a writer, and no `record_if` is against it. -> bool[].

    Of a strategy's replicas the first alone writes.
    """
    if default_writer() is None or not replicas.is_first():
        return convert(False)
    condition = current_state().extra.get(_RECORDS)
    condition = condition() if callable(condition) else condition
    if condition is None or condition is True:
        return convert(True)
    if not class_has(condition, "__fg_tensor__") and not isinstance(condition, Tensor) and not condition:
        return convert(False)
    return public_function("logical_and")(convert(True), condition)


# ---- what all kinds share -------------------------------------------------------------------------------------------


def _applied(call: Callable[..., Any], inputs: Sequence[Any]) -> Any:
    """Call a function of arrays now, or in each run of the graph that is traced. -> bool[]."""
    if current_trace() is None:
        return convert(bool(call(*[np.asarray(tensor) for tensor in inputs])))
    attrs = {"key": Held(f"summary_{next(_call_numbers)}", call)}
    return bind(get("write_summary"), tuple(inputs), attrs)


def written(
    step: TensorLike | None, inputs: Callable[[], Sequence[Any]], content: Callable[..., bytes], name: str | None = None
) -> Any:
    """Write the Summary that `content` makes of arrays, if summaries are recorded; return whether. -> bool[].

    `inputs` gives the arrays' tensors; called where there is something to write. Raises ValueError without a step.
    """
    writer = default_writer()
    if writer is None:
        return convert(False)

    def record_it() -> Any:
        when = get_step() if step is None else step
        if when is None:
            raise ValueError(_NO_STEP)

        def write(number: Any, *arrays: Any) -> Any:
            writer.event(_SUMMARY, content(*arrays), int(number.reshape(-1)[0]))
            return np.True_

        return _applied(write, [convert(when, int64), *inputs()])

    with op_scope(name, "write_summary"):
        return smart_cond(should_record_summaries(), record_it, lambda: convert(False), name="summary_cond")


def tensor_message(array: Any, dtype: Any) -> bytes:
    """A TensorProto, as TensorFlow's writers make it: numbers are bytes, however few they are."""
    held = {"string_val": array.reshape(-1).tolist()} if dtype is string else {"tensor_content": array.tobytes()}
    shape = TensorShapeProto(dim=[Dim(size=size) for size in array.shape])
    return serialized(TensorProto(dtype=Enum(enum_name(dtype)), tensor_shape=shape, **(held if array.size else {})))


def value_message(tag: bytes, array: Any, dtype: Any, metadata: bytes = b"") -> bytes:
    """A Summary of one tensor under a tag. Metadata that is none is left out."""
    value = field(1, tag) + field(8, tensor_message(array, dtype))
    with suppress(ValueError):
        parsed(metadata, "SummaryMetadata")
        value += field(9, metadata) if metadata else b""
    return field(1, value)


def write(
    tag: str, tensor: TensorLike | Callable[[], Any], step: TensorLike | None = None, metadata: Any = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Write a tensor under a tag, with a SummaryMetadata that names the plugin which shows it; return whether it was.

    `tensor` may be a function of nothing, called if there is something to write; `metadata` a message or its bytes.
    Raises ValueError without a step. Source: tf.summary.write.
    """
    described = metadata.SerializeToString() if hasattr(metadata, "SerializeToString") else metadata

    def inputs() -> list[Any]:
        data.append(convert(tensor() if callable(tensor) else tensor))
        return [*data, convert(tag, string), convert(b"" if described is None else described, string)]

    data: list[Any] = []
    return written(
        step, inputs, lambda array, name, about: value_message(name.item(), array, data[0].dtype, about.item()), name
    )


def write_raw_pb(tensor: TensorLike, step: TensorLike | None = None, name: str | None = None) -> Tensor:
    """Write Summaries that are bytes already: string[*s]; return whether they were.

    Raises ValueError without a step, InvalidArgumentError for other dtypes, DataLossError for what is no Summary.
    Source: tf.summary.experimental.write_raw_pb.
    """

    def inputs() -> list[Any]:
        data = convert(tensor)
        if data.dtype is not string:
            kind = InvalidArgumentError if current_trace() is None else None
            text = f"write_raw_pb: a string tensor was expected, got {data.dtype.name}"
            raise TypeError(text) if kind is None else kind(None, None, text)
        return [data]

    def content(array: Any) -> bytes:
        parts = array.reshape(-1).tolist()
        for i, part in enumerate(parts):
            try:
                parsed(part, "Summary")
            except ValueError:
                text = f"Bad tf.compat.v1.Summary binary proto tensor string at index {i}"
                raise DataLossError(None, None, text) from None
        return b"".join(parts)

    return written(step, inputs, content, name or "write_raw_pb")


def graph(graph_data: Graph | Any) -> Any:
    """Write a graph, or a GraphDef, for TensorBoard's graph tab; return whether it was. -> bool[].

    Raises ValueError inside of a Function, and for what is no graph. Source: tf.summary.graph.
    """
    if current_trace() is not None:
        raise ValueError("graph() cannot be invoked inside a graph context.")
    writer = default_writer()
    if writer is None or not should_record_summaries():
        return convert(False)
    if isinstance(graph_data, Graph):
        content = exporter.graph_bytes(graph_data.ir)
    elif hasattr(graph_data, "SerializeToString") and hasattr(graph_data, "versions"):
        content = graph_data.SerializeToString()
    else:
        raise ValueError(
            "Argument 'graph_data' is not tf.Graph or tf.compat.v1.GraphDef. "
            f"Received graph_data={graph_data} of type {type(graph_data).__name__}."
        )
    writer.event(_GRAPH, content)
    return convert(True)
