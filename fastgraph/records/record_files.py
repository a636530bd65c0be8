"""Files of records: written by tf.io.TFRecordWriter, and read in blocks.

Rule: a record is its length, that number's checksum, its content and that one's checksum; compressed files are such a
file within another. What is read at once is never more than the file has. Source: tf.io.TFRecordWriter.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Self

from fastgraph import errors
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.paths import AnyPath, as_op_errors, opened
from fastgraph.core.native.array_kernels import crc32c, masked
from fastgraph.records.snappy import SnappyReader
from fastgraph.records.wire_scan import records

#: tf.io.TFRecordOptions' names of the ways to compress, and zlib's window for them.
_WINDOWS = {"GZIP": 31, "ZLIB": 15}
_PART = 1 << 20  # bytes read at once where more are wanted: what a damaged length asks for is not there


@without({"`compression_type`": "compression_type_map"})
class TFRecordOptions:
    """Compression of a file of records. Source: tf.io.TFRecordOptions.

    compression_type: "GZIP", "ZLIB", "" or None, or other options. compression_level, mem_level, window_bits,
    compression_strategy are zlib's; the others say how TensorFlow buffers, and change nothing here. Raises ValueError
    for another type.
    """

    def __init__(
        self, compression_type: Any = None, flush_mode: int | None = None, input_buffer_size: int | None = None,
        output_buffer_size: int | None = None, window_bits: int | None = None, compression_level: int | None = None,
        compression_method: int | None = None, mem_level: int | None = None, compression_strategy: int | None = None,
    ) -> None:  # fmt: skip
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode, self.input_buffer_size, self.output_buffer_size = (
            flush_mode, input_buffer_size, output_buffer_size)  # fmt: skip
        self.window_bits, self.compression_level, self.compression_method = (
            window_bits, compression_level, compression_method)  # fmt: skip
        self.mem_level, self.compression_strategy = mem_level, compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return "", "GZIP" or "ZLIB" for options, one of these words, or the number that TensorFlow 1 has for it."""
        if isinstance(options, TFRecordOptions):
            return cls.get_compression_type_string(options.compression_type)
        found = {None: "", "": "", 0: "", "ZLIB": "ZLIB", 1: "ZLIB", "GZIP": "GZIP", 2: "GZIP"}.get(options)
        if found is None:
            raise ValueError(f'Not a valid compression_type: "{options}"')
        return found

    def compressor(self) -> Any:
        """Return what compresses a file, or None."""
        window = _WINDOWS.get(self.get_compression_type_string(self.compression_type))
        if window is None:
            return None
        if self.window_bits:
            window = window - 15 + abs(self.window_bits)
        level, memory = self.compression_level, self.mem_level
        return zlib.compressobj(
            zlib.Z_DEFAULT_COMPRESSION if level is None else level, zlib.DEFLATED, window, memory or 9,
            self.compression_strategy or zlib.Z_DEFAULT_STRATEGY,
        )  # fmt: skip


class TFRecordWriter:
    """Writes records to a file. Source: tf.io.TFRecordWriter.

    Args:
        path: The file, which is made anew.
        options: TFRecordOptions, or how the file is to be compressed: "GZIP" or "ZLIB".

    Raises:
        NotFoundError: There is no such folder.
        ValueError: The type of compression is none.

    Examples:
        >>> import tempfile
        >>> path = tempfile.mkdtemp() + "/numbers"
        >>> with tf.io.TFRecordWriter(path) as writer:
        ...     for i in range(3):
        ...         writer.write(b"%d" % i)
        >>> [record.numpy() for record in tf.data.TFRecordDataset(path)]
        [b'0', b'1', b'2']
    """

    def __init__(self, path: AnyPath, options: TFRecordOptions | str | None = None) -> None:
        options = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        self._path = path
        self._compressor = options.compressor()
        self._file: Any = None
        with as_op_errors(path):
            self._file = opened(path, "wb")

    def write(self, record: bytes | str) -> None:
        """Append a record. Raises TypeError for what is neither bytes nor text."""
        if not isinstance(record, bytes | str):
            raise TypeError(f"write(): a record is bytes, not {type(record).__name__}")
        content = record.encode() if isinstance(record, str) else record
        self._put(framed(content))

    def _put(self, content: bytes) -> None:
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, "Writer is closed.")
        with as_op_errors(self._path):
            self._file.write(content if self._compressor is None else self._compressor.compress(content))

    def flush(self) -> None:
        """Hand all records to the operating system. Raises FailedPreconditionError if the writer is closed."""
        if self._compressor is not None and self._file is not None:
            with as_op_errors(self._path):
                self._file.write(self._compressor.flush(zlib.Z_SYNC_FLUSH))
        self._put(b"")
        with as_op_errors(self._path):
            self._file.flush()

    def close(self) -> None:
        """Write what is left and close the file."""
        if self._file is not None:
            file, self._file = self._file, None
            with as_op_errors(self._path), file:
                if self._compressor is not None:
                    file.write(self._compressor.flush())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_file", None) is not None:
            with suppress(errors.OpError):  # which nobody could catch; `flush` and `close` raise it
                self.close()


def framed(content: bytes) -> bytes:
    """Return a record: the length and the content, each with its checksum (turned, as the format wants)."""
    return checked(struct.pack("<Q", len(content))) + checked(content)


def checked(part: bytes) -> bytes:
    """Return bytes and their checksum."""
    return part + struct.pack("<I", masked(crc32c(part)))


class Bytes:
    """The bytes of a file, or of what is compressed in it, from the beginning to the end.

    Files of GZIP may follow each other; of ZLIB's the first is all, as TensorFlow has it.
    """

    def __init__(self, path: AnyPath, compression: str, block: int) -> None:
        self.path, self.block = path, max(block, 1 << 12)
        with as_op_errors(path):
            self._file = opened(path, "rb", buffering=0)
        if compression == "SNAPPY":
            self._file = SnappyReader(self._file)
        self._window = _WINDOWS.get(compression)
        self._inflater: Any = None
        self._begun = b""  # compressed bytes that are not inflated yet
        self._error: errors.DataLossError | None = None  # what is wrong with all that follows

    def read(self, size: int) -> bytes:
        """Return the next bytes, `size` at most and fewer only if there are no more for now; b"" at the end."""
        if self._error is not None:
            raise self._error
        try:
            with as_op_errors(self.path):
                return self._file.read(min(size, _PART)) if self._window is None else self._inflated(min(size, _PART))
        except errors.DataLossError as error:
            self._error = error
            raise

    def _inflated(self, size: int) -> bytes:
        while True:
            if self._inflater is None or self._inflater.eof:
                if self._inflater is not None:
                    if self._window == _WINDOWS["ZLIB"]:
                        return b""
                    self._begun = self._inflater.unused_data
                self._begun = self._begun or self._file.read(self.block)
                if not self._begun:
                    return b""
                self._inflater = zlib.decompressobj(self._window or 15)
            self._begun = self._begun or self._file.read(self.block)
            if not self._begun:  # cut off
                return b""
            try:
                found: bytes = self._inflater.decompress(self._begun, size)
            except zlib.error as error:
                text = str(error).partition("while decompressing data: ")[2] or str(error)
                raise errors.DataLossError(None, None, f"inflate() failed with error -3: {text}") from None
            self._begun = self._inflater.unconsumed_tail
            if found:
                return found

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def blocks_of_records(path: AnyPath, compression: str = "", block: int = 1 << 18) -> Iterator[list[bytes]]:
    """Yield the records of a file, some at a time. Raises DataLossError where a record is damaged or cut off."""
    source = Bytes(path, compression, block)
    held, begin = b"", 0  # of the file from `begin` on
    need = 12
    try:
        while True:
            wanted = max(need, 12, block)
            held, ended = _filled(source, held, wanted)
            if not held:
                return
            found, at, need = records(held, 0, len(held))
            if found:
                yield found
            begin += at
            held = held[at:]
            if need in (-1, -2):
                raise errors.DataLossError(None, None, _corrupted(begin if need == -1 else begin + 12))
            if not found and ended:
                if len(held) < 12 and not need:  # somebody is writing there, as TensorFlow takes it
                    return
                reason = "Read less bytes than requested" if not compression else "EOF reached"
                text = f"truncated record at {begin}' failed with {reason}"
                raise errors.DataLossError(None, None, text)
    finally:
        source.close()


def _corrupted(at: int) -> str:
    return f"corrupted record at {at}" + ("" if at else " (Is this even a TFRecord file?)")


def _filled(source: Bytes, held: bytes, size: int) -> tuple[bytes, bool]:
    """Bytes and those that follow them, `size` in all, or as many as there are before the end or damage; is it the end?

    Damage is an error once there is nothing before it.
    """
    parts, have = [held], len(held)
    while have < size:
        try:
            part = source.read(size - have)
        except errors.DataLossError:
            if len(parts) == 1:
                raise
            return b"".join(parts), False
        if not part:
            return b"".join(parts), True
        parts.append(part)
        have += len(part)
    return b"".join(parts), False


def tf_record_iterator(path: AnyPath, options: TFRecordOptions | str | None = None) -> Iterator[bytes]:
    """Yield the records of a file. Source: tf.compat.v1.io.tf_record_iterator."""
    for block in blocks_of_records(path, TFRecordOptions.get_compression_type_string(options)):
        yield from block
