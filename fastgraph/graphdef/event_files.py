"""Event files: the events that summaries are, read again.

Rule: a file is a row of records (length, content, their checksums), its first the format's version, and may grow while
it is read. Source: tf.compat.v1.train.summary_iterator.
"""

from __future__ import annotations

import os
import struct
from typing import Any, Self

from fastgraph.core.base.file_errors import raising_for
from fastgraph.core.base.paths import local_path
from fastgraph.errors import DataLossError
from fastgraph.graphdef.messages import Message
from fastgraph.graphdef.wire_format import parsed
from fastgraph.records.record_files import checked

# ---- Reading --------------------------------------------------------------------------------------------------------

_HEAD = 12  # bytes: the length and its checksum
_PART = 1 << 20  # read at once: what a damaged length asks for is not there


class RecordIterator:
    """The records of a file, one after the other. Where the file has grown since its end, `next` goes on.

    Source: TensorFlow's tf_record_iterator.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        with raising_for(path):
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
        """Read so many bytes, or fewer at the end of the file."""
        parts = []
        with raising_for(self.path):
            while size and (part := self._file.read(min(size, _PART))):
                parts.append(part)
                size -= len(part)
        return b"".join(parts)

    def _verified(self, part: bytes, size: int, at: int) -> bytes:
        """`size` bytes without the checksum at their end. Raises DataLossError if it is another, or they are fewer."""
        if len(part) != size:
            text = f"truncated record at {self._at}' failed with Read less bytes than requested"
            raise DataLossError(None, None, text)
        if checked(part[:-4]) != part:
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


def summary_iterator(path: str | os.PathLike[str]) -> SummaryIterator:
    """Return an iterator over the events of a file: messages with the fields of TensorFlow's protocol buffers.

    `event.summary.value[i]` has tag, simple_value, tensor (see make_ndarray), metadata. Raises NotFoundError if there
    is no such file; the iterator raises DataLossError where a record is damaged or cut off, and says at which byte it
    begins. Source: tf.compat.v1.train.summary_iterator.
    """
    return SummaryIterator(local_path(path))
