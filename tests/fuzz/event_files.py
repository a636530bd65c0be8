"""Event files that something has damaged: each is read, or refused by an error that says where.

    python -m tests.fuzz.event_files --seconds 600 --seed 1

A third of them have other bytes; the others are files whose records are whole, of a content that is damaged or of
another length. Exit status 1 where reading raised what is no answer (KeyError, struct.error, ...) or took memory that
the size of the file does not justify, which is printed with its seed.
"""

from __future__ import annotations

import os
import random
import struct
import sys
import tempfile
from functools import cache
from typing import Any

import numpy as np

import fastgraph as fg
from fastgraph.records.record_files import framed as record
from tests.fuzz import damage

#: What a damaged tensor may raise; a damaged record is a DataLossError.
OF_TENSORS = (ValueError, fg.errors.OpError)
#: Bytes of memory for each byte of a file, and besides.
BESIDES = 1 << 20


@cache
def originals() -> list[list[bytes]]:
    """The files that are damaged, as the contents of their records."""
    with tempfile.TemporaryDirectory() as folder:
        writer = fg.summary.create_file_writer(folder)
        with writer.as_default():
            for step in range(4):
                fg.summary.scalar("loss", 0.5 * step, step=step, description="of a step")
            fg.summary.histogram("spread", [1.0, 2.0], step=1, buckets=3)
            fg.summary.image("picture", np.zeros([1, 2, 2, 3], np.uint8), step=1)
            fg.summary.audio("sound", np.zeros([1, 4, 1], np.float32), 8000, step=1)
            fg.summary.text("text", [["a", "b"]], step=1)
            fg.summary.graph(fg.function(lambda x: x * 2.0).get_concrete_function(fg.TensorSpec([3])).graph)
        (name,) = os.listdir(folder)
        walked(os.path.join(folder, name))  # so that what reads is imported before memory is counted
        with open(os.path.join(folder, name), "rb") as file:
            whole = contents(file.read())
    simple = struct.pack("<f", 1.5)
    old = b"\x09" + struct.pack("<d", 1.0) + b"\x10\x07" + b"\x2a\x09\x0a\x07\x0a\x00\x15" + simple
    limits = b"\x09" + struct.pack("<d", -1.0) + b"\x32\x08" + struct.pack("<d", 0.5)
    histogram = b"\x2a\x1a\x0a\x18\x0a\x01h\x2a\x13" + limits
    return [whole, whole[:2], [old, histogram], []]


def contents(data: bytes) -> list[bytes]:
    """The contents of the records of a whole file."""
    found, at = [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        found.append(data[at + 12 : at + 12 + size])
        at += 16 + size
    return found


def damaged(seed: int) -> bytes:
    """A file, damaged in one to four places."""
    rng = random.Random(seed)
    parts = list(rng.choice(originals()))
    way = rng.randrange(3)
    if way == 0 or not parts:
        return damage.other_bytes(rng, b"".join(map(record, parts)))
    if way == 1:
        i = rng.randrange(len(parts))
        parts[i] = damage.other_bytes(rng, parts[i])
        return b"".join(map(record, parts))
    whole = [record(part) for part in parts]  # a length that is not the content's, with the right checksum
    i = rng.randrange(len(whole))
    size = rng.choice([0, 1, len(parts[i]) - 1, len(parts[i]) + 1, 2**31, 2**40, 2**63, 2**64 - 1, 2**64 - 4])
    whole[i] = record_head(size) + whole[i][12:]
    return b"".join(whole)


def record_head(size: int) -> bytes:
    """The length of a record, and its checksum."""
    return record(struct.pack("<Q", size))[12:24]


def walked(path: str) -> int:
    """Read all that programs read of a file; return how many events it has."""
    n = 0
    for event in fg.compat.v1.train.summary_iterator(path):
        n += 1
        assert isinstance(event.wall_time, float) and isinstance(event.step, int)
        assert isinstance(event.file_version, str) and isinstance(event.WhichOneof("what"), str | None)
        for value in event.summary.value:
            seen: list[Any] = [value.tag, value.simple_value, value.metadata.plugin_data.plugin_name, str(value)]
            seen += [value.metadata.summary_description, value.metadata.display_name, value.HasField("tensor")]
            dims = [dim.size for dim in value.tensor.tensor_shape.dim]
            if all(0 <= size < 100 for size in dims) and len(dims) < 3:
                try:
                    seen.append(fg.make_ndarray(value.tensor))
                except UnicodeError:
                    raise
                except OF_TENSORS:
                    pass
    return n


def answer(seed: int) -> str:
    """What comes of reading the file of a seed: "read", or the name of the error. Raises what is no answer."""
    content = damaged(seed)
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        with damage.little_memory(len(content), besides=BESIDES):
            try:
                walked(file.name)
                return "read"
            except fg.errors.DataLossError as error:
                assert " at " in error.message
                return error.message.partition(" at ")[0]


if __name__ == "__main__":
    sys.exit(damage.main("event files", answer, __doc__))
