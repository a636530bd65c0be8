"""Files of Examples that something has damaged: each is read and parsed, or refused by an error.

    python -m tests.fuzz.records --seconds 600 --seed 1

Some have other bytes, compressed or not; in others the records are whole, and the Examples in them are damaged. Exit
status 1 where reading or parsing raised what is no answer, or took memory that the file does not justify, which is
printed with its seed.
"""

from __future__ import annotations

import gzip
import random
import sys
import tempfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import fastgraph as fg
from fastgraph.records.record_files import framed
from tests.fuzz import damage

#: What reading and parsing may raise: ValueError for the two parts of a sparse feature that do not belong together.
ANSWERS = (fg.errors.OpError, ValueError)
BESIDES = 2 << 20
KINDS = ("", "GZIP", "ZLIB")


@cache
def originals() -> tuple[list[bytes], list[bytes]]:
    """Serialized Examples and SequenceExamples."""
    train = fg.train

    def feature(*values: Any) -> Any:
        if isinstance(values[0], bytes):
            return train.Feature(bytes_list=train.BytesList(value=values))
        if isinstance(values[0], float):
            return train.Feature(float_list=train.FloatList(value=values))
        return train.Feature(int64_list=train.Int64List(value=values))

    examples, sequences = [], []
    for i in range(5):
        features = train.Features(
            feature={
                "x": feature(float(i), -1.5),
                "n": feature(*range(i + 1)),
                "m": feature(*range(i)) if i else feature(7),
                "s": feature(b"text" * i),
                "i": feature(0, 2),
                "v": feature(0.5, 2.5),
            }
        )
        examples.append(train.Example(features=features).SerializeToString())
        steps = train.FeatureList(feature=[feature(float(k)) for k in range(i)])
        lists = train.FeatureLists(feature_list={"steps": steps})
        sequences.append(train.SequenceExample(context=features, feature_lists=lists).SerializeToString())
    return examples, sequences


def _parsed(batch: Any, sequences: bool) -> None:
    io = fg.io
    features = {
        "x": io.FixedLenFeature([2], fg.float32),
        "n": io.VarLenFeature(fg.int64),
        "s": io.FixedLenFeature([], fg.string, default_value=b"none"),
    }
    if sequences:
        io.parse_sequence_example(batch, features, {"steps": io.FixedLenSequenceFeature([1], fg.float32)})
        return
    more = {"r": io.RaggedFeature(fg.int64, "m"), "f": io.SparseFeature("i", "v", fg.float32, 3)}
    io.parse_example(batch, {**features, **more})


def answer(seed: int) -> str:
    """What comes of the file of a seed: "read", or the name of the error. Raises what is no answer."""
    rng = random.Random(seed)
    of_sequences, kind, inside = rng.random() < 0.3, rng.choice(KINDS), rng.random() < 0.5
    records = list(originals()[of_sequences])
    if inside:
        for _ in range(rng.randint(1, 3)):
            i = rng.randrange(len(records))
            records[i] = damage.other_bytes(rng, records[i])
    content = b"".join(map(framed, records))
    if kind:
        content = gzip.compress(content, mtime=0) if kind == "GZIP" else zlib.compress(content)
    if not inside:
        content = damage.other_bytes(rng, content)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "records"
        path.write_bytes(content)
        with damage.little_memory(len(content), besides=BESIDES):
            try:
                for batch in fg.data.TFRecordDataset(str(path), kind).batch(2):
                    _parsed(batch, of_sequences)
                return "read"
            except ANSWERS as error:
                return type(error).__name__


if __name__ == "__main__":
    fg.get_logger().setLevel("CRITICAL")
    sys.exit(damage.main("files of records", answer, __doc__))
