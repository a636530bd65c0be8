"""Files of records, lines and pieces: tf.io.TFRecordWriter, tf.data.TFRecordDataset and their kin."""

from __future__ import annotations

import contextlib
import gzip
import sys
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors

RECORDS = [b"one", b"", b"three" * 20]
#: What TensorFlow 2.21 writes for them.
WRITTEN = bytes.fromhex(
    "0300000000000000b099490e6f6e6501405508000000000000000029039807d8ea82a26400000000000000435f1cdf"
    + (b"three" * 20).hex() + "0281af3b"
)  # fmt: skip
PACKED = {
    "GZIP": "1f8b0800000000000003636680800d333df9f2f352191d4239a0220c9acc33d86fbc6a5a9402e53bc7cbdc2fc9284a4da531c1d4b8de"
    "1a00c7d77d3297000000",
    "ZLIB": "789c636680800d333df9f2f352191d4239a0220c9acc33d86fbc6a5a9402e53bc7cbdc2fc9284a4da531c1d4b8de1a006bfe3483",
}


def write(path: Path, records: list[bytes], options: Any = None) -> str:
    with tf.io.TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return str(path)


def read(*args: Any, **kwargs: Any) -> list[bytes]:
    return [record.numpy() for record in tf.data.TFRecordDataset(*args, **kwargs)]


def test_records_are_written_and_read_as_tensorflow_does(tmp_path: Path) -> None:
    path = write(tmp_path / "plain", RECORDS)
    assert Path(path).read_bytes() == WRITTEN and read(path) == RECORDS
    for kind, content in PACKED.items():
        (tmp_path / "theirs").write_bytes(bytes.fromhex(content))
        assert read(str(tmp_path / "theirs"), kind) == RECORDS
        packed = Path(write(tmp_path / kind, RECORDS, tf.io.TFRecordOptions(kind, compression_level=9))).read_bytes()
        assert zlib.decompress(packed, 47) == WRITTEN and len(packed) < len(WRITTEN)
        assert read([tmp_path / kind] * 2, kind, buffer_size=1) == RECORDS * 2
    assert read(str(tmp_path / "GZIP"), "GZIP") == RECORDS
    (tmp_path / "two").write_bytes((tmp_path / "GZIP").read_bytes() * 2)
    assert len(read(str(tmp_path / "two"), "GZIP")) == 6


def test_several_files(tmp_path: Path) -> None:
    one, two = write(tmp_path / "1", [b"1", b"2", b"3", b"4"]), write(tmp_path / "2", [b"x", b"y"])
    assert read([one, two]) == [b"1", b"2", b"3", b"4", b"x", b"y"] == read([[one, two]])
    assert read(tf.data.Dataset.from_tensor_slices([two, one])) == [b"x", b"y", b"1", b"2", b"3", b"4"]
    assert read([one, two, one], num_parallel_reads=2) == [b"1", b"x", b"2", b"y", b"3", b"4", b"1", b"2", b"3", b"4"]
    assert read([one, two, one], num_parallel_reads=3) == [b"1", b"x", b"1", b"2", b"y", b"2", b"3", b"3", b"4", b"4"]
    assert sorted(read([one, two] * 5, num_parallel_reads=tf.data.AUTOTUNE)) == sorted(read([one, two] * 5))
    assert read([]) == [] == read([], num_parallel_reads=2)
    dataset = tf.data.TFRecordDataset(one)
    assert dataset.element_spec == tf.TensorSpec((), tf.string) and dataset.cardinality() == tf.data.UNKNOWN_CARDINALITY
    assert isinstance(dataset, tf.data.Dataset) and repr(dataset).startswith("<TFRecordDatasetV2 element_spec=")
    count = tf.function(lambda names: tf.data.TFRecordDataset(names).reduce(0, lambda n, _: n + 1))
    assert [int(count(tf.constant(names))) for names in ([one], [one, two])] == [4, 6]
    with pytest.raises(TypeError):
        tf.data.TFRecordDataset(3)


@pytest.mark.parametrize("n", [0, 1, 11, 12, 18, 19, 30, 36, 100, len(WRITTEN) - 1])
def test_files_that_end_too_early(tmp_path: Path, n: int) -> None:
    (tmp_path / "t").write_bytes(WRITTEN[:n])
    begin = max(at for at in (0, 19, 35) if at <= n)
    if n < begin + 12:  # somebody may be writing
        assert read(tmp_path / "t") == RECORDS[: (0, 19, 35).index(begin)]
    else:
        with pytest.raises(errors.DataLossError, match=f"truncated record at {begin}' failed with Read less bytes"):
            read(tmp_path / "t")


def test_damaged_files(tmp_path: Path, rng: np.random.Generator) -> None:
    path = tmp_path / "t"
    for at, place in ((0, 0), (8, 0), (12, 12), (15, 12), (30, 19), (40, 35), (100, 47)):
        content = bytearray(WRITTEN)
        content[at] ^= 1
        path.write_bytes(content)
        with pytest.raises(errors.DataLossError, match=f"corrupted record at {place}( |$)"):
            read(path)
    whole = {"": WRITTEN} | {kind: bytes.fromhex(content) for kind, content in PACKED.items()}
    tracemalloc.start()
    refused = 0
    for kind, content in whole.items():
        for _ in range(300):
            damaged = bytearray(content)
            for place in rng.integers(0, len(damaged), rng.integers(1, 4)):
                damaged[place] = rng.integers(0, 256)
            if rng.random() < 0.3:
                del damaged[rng.integers(0, len(damaged)) :]
            path.write_bytes(damaged)
            try:
                assert read(path, kind) == RECORDS[: len(read(path, kind))]
            except errors.DataLossError:
                refused += 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert refused > 600 and peak < 4e6


@pytest.mark.parametrize("n", [3, 3000])
def test_what_follows_a_compressed_file_takes_no_record_before_it(tmp_path: Path, n: int) -> None:
    """As TensorFlow reads it: another file of GZIP is read on, and behind one of ZLIB's nothing is."""
    records = [b"%d" % i * 100 for i in range(n)]
    for kind, more, twice in (("GZIP", errors.DataLossError, records + records), ("ZLIB", None, records)):
        path = tmp_path / kind
        content = Path(write(path, records, kind)).read_bytes()
        for begin, end, expected, error in (
            (content, b"garbage!!", records, more), (content, b"\0" * 30, records, more),
            (content, content, twice, None), (content, content + b"\0" * 30, twice, more),
        ):  # fmt: skip
            path.write_bytes(begin + end)
            found = []
            with pytest.raises(error, match="incorrect header check") if error else contextlib.nullcontext():
                found.extend(record.numpy() for record in tf.data.TFRecordDataset(path, kind))
            assert found == expected, (kind, end)


def test_a_writer_that_goes_raises_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    raised: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", raised.append)
    for kind in ("", "GZIP"):
        writer = tf.io.TFRecordWriter("/dev/full", kind)
        writer.write(b"x")
        with pytest.raises(errors.ResourceExhaustedError, match="/dev/full; No space left"):
            writer.flush()
        del writer
    assert not raised


def test_a_length_with_its_checksum_is_no_reason_to_allocate(tmp_path: Path) -> None:
    from fastgraph.core.native.array_kernels import crc32c, masked

    size = (1 << 40).to_bytes(8, "little")
    (tmp_path / "t").write_bytes(size + masked(crc32c(size)).to_bytes(4, "little") + b"little")
    tracemalloc.start()
    with pytest.raises(errors.DataLossError, match="truncated record at 0"):
        read(tmp_path / "t")
    assert tracemalloc.get_traced_memory()[1] < 4e6
    tracemalloc.stop()


def test_what_cannot_be_read_or_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a", RECORDS)
    with pytest.raises(errors.NotFoundError, match="No such file or directory"):
        read(tmp_path / "none")
    with pytest.raises(errors.FailedPreconditionError):
        read(tmp_path)
    with pytest.raises(errors.DataLossError, match=r"inflate\(\) failed with error -3: incorrect header check"):
        read(path, "GZIP")
    with pytest.raises(errors.NotFoundError):
        tf.io.TFRecordWriter(tmp_path / "no" / "file")
    with pytest.raises(ValueError, match='Not a valid compression_type: "LZ"'):
        tf.io.TFRecordWriter(path, "LZ")
    iterator = iter(tf.data.TFRecordDataset([tmp_path / "none", path]))
    with pytest.raises(errors.NotFoundError):
        next(iterator)
    assert next(iterator).numpy() == b"one"  # the next file
    writer = tf.io.TFRecordWriter(path)
    writer.write("text")
    writer.flush()
    assert read(path) == [b"text"]
    with pytest.raises(TypeError):
        writer.write(3)
    writer.close()
    writer.close()
    for late in (lambda: writer.write(b"x"), writer.flush):
        with pytest.raises(errors.FailedPreconditionError, match="Writer is closed"):
            late()


def test_lines(tmp_path: Path) -> None:
    path = tmp_path / "t"

    def lines(content: bytes, *rest: Any, **more: Any) -> list[bytes]:
        path.write_bytes(content)
        return [line.numpy() for line in tf.data.TextLineDataset(path, *rest, **more)]

    assert lines(b"a\nb\r\n\nc\rd\n\r\nlast") == [b"a", b"b", b"", b"cd", b"", b"last"]
    assert lines(b"a\n") == [b"a"] and lines(b"") == [] and lines(gzip.compress(b"a\nb"), "GZIP") == [b"a", b"b"]
    long = [b"x" * n for n in (5000, 1, 9000, 4096, 0, 3)]
    assert lines(b"\n".join(long), buffer_size=1) == long


def test_pieces_of_one_length(tmp_path: Path) -> None:
    path = tmp_path / "t"

    def pieces(content: bytes, *rest: Any) -> list[bytes]:
        path.write_bytes(content)
        return [piece.numpy() for piece in tf.data.FixedLengthRecordDataset(path, *rest)]

    assert (
        pieces(b"HHaabbccF", 2, 2, 1)
        == [b"aa", b"bb", b"cc"]
        == pieces(gzip.compress(b"HHaabbccF"), 2, 2, 1, 1, "GZIP")
    )
    assert pieces(bytes(range(250)) * 40, 100, None, None, 1)[-1] == bytes(range(150, 250))
    with pytest.raises(
        errors.InvalidArgumentError, match="has body length 5 bytes, which is not an exact multiple of the"
    ):
        pieces(b"HHaabbcF", 2, 2, 1)
    with pytest.raises(errors.DataLossError):
        pieces(gzip.compress(b"HHaabbcF"), 2, 2, 1, None, "GZIP")
    with pytest.raises(errors.InvalidArgumentError):
        pieces(b"H", 2, 2, 1)
    with pytest.raises(errors.InvalidArgumentError, match="`record_bytes` must be > 0"):
        list(tf.data.FixedLengthRecordDataset("x", 0))


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_batches_of_records_are_those_of_the_elements(tmp_path: Path, size: int) -> None:
    records = [b"%d" % i * (i % 7) for i in range(40)]
    paths = [write(tmp_path / name, records[:n]) for name, n in (("a", 40), ("b", 0), ("c", 17))]
    whole = (tmp_path / "a").read_bytes()
    (tmp_path / "d").write_bytes(whole[:200] + b"?" + whole[201:])

    def batches(dataset: Any) -> list[Any]:
        found: list[Any] = []
        left = iter(dataset)
        while True:
            try:
                found.append(next(left).numpy().tolist())
            except StopIteration:
                return found
            except errors.DataLossError as error:
                found.append(error.message.partition("failed")[0])

    for buffer in (None, 1, 64):
        dataset = tf.data.TFRecordDataset([*paths, str(tmp_path / "d"), paths[2]], buffer_size=buffer)
        for drop in (False, True):
            by_element = dataset.map(lambda record: record).batch(size, drop)
            assert batches(dataset.batch(size, drop)) == batches(by_element)
            assert batches(by_element)


def test_batches_of_parsed_examples(tmp_path: Path) -> None:
    train = tf.train
    for name, numbers in (("a", [0, 1, 2, 3]), ("b", [4, 5, 6])):
        records = []
        for i in numbers:
            held = {"x": train.Feature(float_list=train.FloatList(value=[i, -i])),
                    "y": train.Feature(int64_list=train.Int64List(value=[i]))}  # fmt: skip
            records.append(train.Example(features=train.Features(feature=held)).SerializeToString())
        write(tmp_path / name, records)
    features = {"x": tf.io.FixedLenFeature([2], tf.float32), "y": tf.io.FixedLenFeature([], tf.int64)}
    make = tf.data.experimental.make_batched_features_dataset
    batches = list(make(str(tmp_path / "*"), 3, features, label_key="y", num_epochs=1, shuffle=False))
    assert [y.numpy().tolist() for _, y in batches] == [[0, 1, 2], [3, 4, 5], [6]]
    assert [list(x) for x, _ in batches] == [["x"]] * 3 and batches[1][0]["x"].numpy().tolist() == [
        [3, -3],
        [4, -4],
        [5, -5],
    ]
    two = make(
        [str(tmp_path / "a"), str(tmp_path / "b")], 2, features, num_epochs=2, shuffle_seed=3, reader_num_threads=2
    )
    assert sorted(y for batch in two for y in batch["y"].numpy()) == sorted([*range(7)] * 2)
    endless = make(str(tmp_path / "a"), 3, features)
    assert endless.element_spec["x"].shape == (3, 2) and len(list(endless.take(5))) == 5
    with pytest.raises(ValueError, match="label_key"):
        make(str(tmp_path / "a"), 3, features, label_key="z")


def test_positions_before_a_file_and_trees_of_one(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("abc")
    with tf.io.gfile.GFile(path) as file:
        for place in ((-1,), (-9, 2), (1, 9)):
            with pytest.raises(errors.InvalidArgumentError):
                file.seek(*place)
        assert file.tell() == 0
    tf.io.gfile.rmtree(path)
    assert not path.exists()
    with pytest.raises(errors.NotFoundError):
        tf.io.gfile.rmtree(path)
