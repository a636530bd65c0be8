"""Strings that hold numbers, records, tensors: tf.io.decode_*, serialize_*, parse_tensor. Values are TensorFlow 2.21's."""

from __future__ import annotations

import contextlib
import gzip
import os
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors

io = tf.io


def plain(found: Any) -> Any:
    return [plain(each) for each in found] if isinstance(found, list | tuple) else found.numpy().tolist()


def both_ways(function: Any, given: Any) -> Any:
    """What a function gives, eagerly and in a Function."""
    eager = plain(function(given))
    assert plain(tf.function(function)(tf.constant(given, tf.string))) == eager
    return eager


RAW: list[tuple[Any, dict[str, Any], Any]] = [
    ([b"\1\2\3\4", b"\5\6\7\x08"], {"out_type": tf.uint16}, [[513, 1027], [1541, 2055]]),
    (b"\1\2\3\4", {"out_type": tf.uint16, "little_endian": False}, [258, 772]),
    ([b"\1\2", b"\1"], {"out_type": tf.uint8, "fixed_length": 4}, [[1, 2, 0, 0], [1, 0, 0, 0]]),
    ([b"\1\2\3\4\5", b"\1"], {"out_type": tf.uint16, "fixed_length": 4}, [[513, 1027], [1, 0]]),
    (b"\1\0", {"out_type": tf.bool}, [True, False]),
    ([b"", b""], {"out_type": tf.int32}, [[], []]),
    ([[b"ab"], [b"cd"]], {"out_type": tf.int8}, [[[97, 98]], [[99, 100]]]),
]


@pytest.mark.parametrize(("given", "arguments", "expected"), RAW)
def test_decode_raw(given: Any, arguments: dict[str, Any], expected: Any) -> None:
    assert both_ways(lambda x: io.decode_raw(x, **arguments), given) == expected


def test_decode_raw_refuses_what_does_not_fit() -> None:
    for given, arguments, message in (
        ([b"abc"], {"out_type": tf.uint16}, "Input to DecodeRaw has length 3 that is not a multiple of 2, the size of"),
        ([b"ab", b"a"], {"out_type": tf.uint8}, "but element 1 has size 2 != 1"),
        ([b"ab"], {"out_type": tf.uint16, "fixed_length": 3}, r"fixed_length \(3\) must be a multiple of the size"),
        ([b"ab"], {"out_type": tf.uint16, "fixed_length": 0}, "must be greater than zero"),
        ([b"ab"], {"out_type": tf.string}, "is not in the list of allowed values"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            io.decode_raw(given, **arguments)  # type: ignore[arg-type]


CSV: list[tuple[Any, list[Any], dict[str, Any], Any]] = [
    (["1,2.5,abc", '4,,"q,""x"'], [[0], [1.5], ["z"]], {}, [[1, 4], [2.5, 1.5], [b"abc", b'q,"x']]),
    ("1,2", [[0], [0]], {}, [1, 2]),
    ([" 1 , 2.5 , a b "], [[0], [0.0], [""]], {}, [[1], [2.5], [b" a b "]]),
    (['1,a"b"'], [[0], [""]], {"use_quote_delim": False}, [[1], [b'a"b"']]),
    (["NA,2", ",3"], [[7], [0]], {"na_value": "NA"}, [[7, 7], [2, 3]]),
    (["1,2,3", "4,5,6"], [[0], [0]], {"select_cols": [0, 2]}, [[1, 4], [3, 6]]),
    (['"",1'], [["x"], [0]], {}, [[b"x"], [1]]),
    (["1|2"], [0, 0], {"field_delim": "|"}, [[1], [2]]),
]


@pytest.mark.parametrize(("records", "defaults", "arguments", "expected"), CSV)
def test_decode_csv(records: Any, defaults: list[Any], arguments: dict[str, Any], expected: Any) -> None:
    assert both_ways(lambda x: io.decode_csv(x, defaults, **arguments), records) == expected


@pytest.mark.parametrize(
    ("record", "defaults", "message"),
    [
        ("1,", [[0], tf.constant([], tf.int32)], "Field 1 is required but missing in record 0!"),
        ("1", [[0], [0]], "Expect 2 fields but have 1 in record 0"),
        ("", [["x"]], "Expect 1 fields but have 0 in record 0"),
        ("1,x", [[0], [0]], "Field 1 in record 0 is not a valid int32: x"),
        ("99999999999", [[0]], "Field 0 in record 0 is not a valid int32: 99999999999"),
        ("1_0", [[0]], "is not a valid int32"),
        ("x", [[0.0]], "is not a valid float: x"),
        ('a"b', [[""]], "Unquoted fields cannot have quotes/CRLFs inside"),
        ('"ab', [[""]], "Quoted field has to end with quote followed by delim or end"),
        ('"ab"c', [[""]], "Quote inside a string has to be escaped by another quote"),
        ("1", [[0, 1]], "There should only be 1 default per field but field 0 has 2"),
        ("1", [tf.constant([0], tf.int8)], "is not in the list of allowed values"),
    ],
)
def test_decode_csv_refuses_what_does_not_fit(record: str, defaults: list[Any], message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        io.decode_csv([record], defaults)


def test_columns_that_cannot_be_selected() -> None:
    for columns in ([2, 0], [-1, 0], [0]):
        with pytest.raises(ValueError, match="select_cols"):
            io.decode_csv(["1,2,3"], [[0], [0]], select_cols=columns)


def test_compressed_strings() -> None:
    assert both_ways(lambda x: io.decode_compressed(x, "ZLIB"), [zlib.compress(b"ab"), zlib.compress(b"")]) == [
        b"ab",
        b"",
    ]
    assert io.decode_compressed(gzip.compress(b"ab"), "GZIP").numpy() == b"ab"
    assert io.decode_compressed([b"ab"]).numpy().tolist() == [b"ab"]
    with pytest.raises(errors.DataLossError, match=r"inflate\(\) failed with error -3: incorrect header check"):
        io.decode_compressed([b"ab"], "ZLIB")
    with pytest.raises(errors.InvalidArgumentError):
        io.decode_compressed([b"ab"], "LZ")


def test_base64() -> None:
    words = [b"ab\xff\xfe", b""]
    assert both_ways(io.encode_base64, words) == [b"YWL__g", b""]
    assert both_ways(lambda x: io.encode_base64(x, pad=True), words) == [b"YWL__g==", b""]
    assert both_ways(io.decode_base64, [b"YWL__g", b"YWL__g==", b"YR"]) == [b"ab\xff\xfe", b"ab\xff\xfe", b"a"]
    for wrong in (b"YWL+/g", b"A", b"YQ=a", b"YQ="):
        with pytest.raises(errors.InvalidArgumentError):
            io.decode_base64([wrong])


SERIALIZED = [
    (tf.constant([[1.0, 2.0]]), b'\x08\x01\x12\x08\x12\x02\x08\x01\x12\x02\x08\x02"\x08\x00\x00\x80?\x00\x00\x00@'),
    (tf.constant(3), b'\x08\x03\x12\x00"\x04\x03\x00\x00\x00'),
    (tf.constant([b"a", b"bcd"]), b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x03bcd"),
    (tf.constant([True]), b'\x08\n\x12\x04\x12\x02\x08\x01"\x01\x01'),
    (tf.constant([1.0], tf.bfloat16), b'\x08\x0e\x12\x04\x12\x02\x08\x01"\x02\x80?'),
    (tf.constant([1 + 2j], tf.complex64), b'\x08\x08\x12\x04\x12\x02\x08\x01"\x08\x00\x00\x80?\x00\x00\x00@'),
    (tf.zeros([0, 3]), b"\x08\x01\x12\x06\x12\x00\x12\x02\x08\x03"),
]


@pytest.mark.parametrize(("tensor", "content"), SERIALIZED, ids=[str(case[0].dtype.name) for case in SERIALIZED])
def test_tensors_as_strings(tensor: Any, content: bytes) -> None:
    assert io.serialize_tensor(tensor).numpy() == content == tf.function(io.serialize_tensor)(tensor).numpy()
    for parse in (io.parse_tensor, tf.function(io.parse_tensor)):
        back = parse(tf.constant(content), tensor.dtype)
        assert (
            back.dtype == tensor.dtype
            and back.shape == tensor.shape
            and back.numpy().tolist() == tensor.numpy().tolist()
        )


def test_strings_that_are_no_tensors(rng: np.random.Generator) -> None:
    for content, message in (
        (b"garbage", "Could not parse `serialized` as TensorProto, base64: Z2FyYmFnZQ=="),
        (b"", "Cannot parse tensor from proto"),
        (b"\x08\x03\x12\x0c\x12\x04\x08\x80\x80\x40\x12\x04\x08\x80\x80\x40", "its shape 1099511627776 elements"),
        (b'\x08\x03\x12\x04\x12\x02\x08\x03"\x04\1\0\0\0', "Cannot parse tensor from proto"),
        (SERIALIZED[0][1], r"Type mismatch between parsed tensor \(float\) and dtype \(int32\)"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            io.parse_tensor(content, tf.int32)
    with pytest.raises(errors.InvalidArgumentError, match="to be a scalar"):
        io.parse_tensor([b"", b""], tf.int32)
    for _ in range(500):
        content = bytearray(SERIALIZED[rng.integers(0, 7)][1])
        content[rng.integers(0, len(content))] = rng.integers(0, 256)
        with contextlib.suppress(errors.InvalidArgumentError):
            io.parse_tensor(bytes(content), tf.float32)


def test_sparse_tensors_as_strings() -> None:
    first = tf.SparseTensor([[0, 1], [1, 0]], [1.0, 2.0], [2, 3])
    second = tf.SparseTensor([[0, 1], [2, 0]], [3.0, 4.0], [3, 2])
    rows = tf.stack([io.serialize_sparse(first), io.serialize_sparse(second)])
    found = io.deserialize_many_sparse(rows, tf.float32, rank=3)
    assert plain([found.indices, found.values, found.dense_shape]) == [
        [[0, 0, 1], [0, 1, 0], [1, 0, 1], [1, 2, 0]], [1, 2, 3, 4], [2, 3, 3]
    ]  # fmt: skip
    back = io.deserialize_many_sparse(io.serialize_many_sparse(first), tf.float32)
    assert plain([back.indices, back.values, back.dense_shape]) == [[[0, 1], [1, 0]], [1, 2], [2, 3]]
    for given, dtype, message in (
        (rows, tf.int32, r"Requested SparseTensor of type int32 but SparseTensor\[0\].values.dtype\(\) == float"),
        ([b"a"], tf.float32, "Serialized sparse should have 3 as the last dimension"),
        ([[b"a", b"b", b"c"]], tf.float32, "Could not parse serialized proto"),
    ):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            io.deserialize_many_sparse(given, dtype)
    with pytest.raises(errors.InvalidArgumentError, match="should be > 1, but saw rank: 1"):
        io.serialize_many_sparse(tf.SparseTensor([[0]], [1.0], [2]))


def test_examples_as_json() -> None:
    text = (
        '{"features":{"feature":{"a":{"int64List":{"value":["1",2]}},"b":{"bytes_list":{"value":["eA=="]}},'
        '"c":{"floatList":{"value":[1.5,"NaN"]}}}}}'
    )
    found = tf.train.Example.FromString(io.decode_json_example(text).numpy()).features.feature
    assert found["a"].int64_list.value == [1, 2] and found["b"].bytes_list.value == [b"x"]
    assert found["c"].float_list.value[0] == 1.5 and np.isnan(found["c"].float_list.value[1])
    assert both_ways(io.decode_json_example, ["{}", "{}"]) == [b"", b""]
    for wrong in ("{x", '{"foo":1}', "[]", '{"features":{"feature":{"a":{"int64List":{"value":["x"]}}}}}'):
        with pytest.raises(errors.InvalidArgumentError, match="Error while parsing JSON"):
            io.decode_json_example(wrong)


def test_matching_files(tmp_path: Any) -> None:
    for name in ("b1", "b2", "c", ".hidden"):
        (tmp_path / name).write_bytes(b"")
    names = lambda *patterns: [
        path.decode().rpartition("/")[2] for path in io.matching_files([f"{tmp_path}/{p}" for p in patterns]).numpy()
    ]
    assert names("b*") == ["b1", "b2"] and names("?") == ["c"] and names("[bc]*", "c") == ["b1", "b2", "c", "c"]
    assert names("none*") == [] and ".hidden" in names("*")


def test_what_is_kept_here_refuses_paths_with_a_scheme(tmp_path: Any, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoint, rows, path = tf.train.Checkpoint(v=tf.Variable(1.0)), tf.data.Dataset.range(3), "s3://bucket/x"
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(2,))])
    for use in (
        checkpoint.save, checkpoint.write, checkpoint.restore, tf.train.latest_checkpoint, tf.train.list_variables,
        lambda path: tf.train.CheckpointManager(checkpoint, path, 2), lambda path: tf.saved_model.save(tf.Module(), path),
        tf.saved_model.load, tf.saved_model.contains_saved_model, tf.summary.create_file_writer, rows.save,
        tf.data.Dataset.load, lambda path: list(rows.cache(path)), lambda path: list(rows.snapshot(path)),
        model.save_weights, model.load_weights, model.save, lambda path: model.save(f"{path}.keras"), model.export,
        tf.keras.models.load_model, tf.keras.callbacks.CSVLogger, tf.keras.callbacks.TensorBoard,
        tf.keras.callbacks.ModelCheckpoint, tf.keras.callbacks.BackupAndRestore, tf.profiler.experimental.start,
        lambda path: tf.io.write_graph(tf.Graph(), path, "g"), tf.compat.v1.train.summary_iterator,
    ):  # fmt: skip
        with pytest.raises(errors.UnimplementedError, match="File system scheme 's3' not implemented"):
            use(path)
    assert int(checkpoint.save_counter) == 0 and list(tmp_path.iterdir()) == []
    with pytest.raises(errors.UnimplementedError, match="File system scheme 'nowhere' not implemented"):
        tf.lookup.TextFileInitializer("nowhere://x", tf.string, -2, tf.int64, -1).columns()
    assert checkpoint.save(f"file://{tmp_path}/x") == f"{tmp_path}/x-1"
    checkpoint.restore(f"file://{tmp_path}/x-1").assert_consumed()


def test_paths_with_a_scheme(tmp_path: Any) -> None:
    with pytest.raises(errors.UnimplementedError, match="File system scheme 'nowhere' not implemented"):
        io.gfile.GFile("nowhere://bucket/file").read()
    assert {"", "file"} <= set(io.gfile.get_registered_schemes())
    pytest.importorskip("fsspec")
    gfile, path = io.gfile, "memory://folder/records"
    gfile.makedirs("memory://folder")
    with io.TFRecordWriter(path) as writer:
        writer.write(b"one")
    assert [record.numpy() for record in tf.data.TFRecordDataset(path)] == [b"one"]
    assert (
        gfile.exists(path) and gfile.listdir("memory://folder") == ["records"] and gfile.stat(path)[::2] == (19, False)
    )
    gfile.copy(path, str(tmp_path / "local"))
    assert (tmp_path / "local").stat().st_size == 19 and io.read_file(path).numpy() == (tmp_path / "local").read_bytes()
    gfile.rename(path, "memory://folder/other")
    assert not gfile.exists(path) and len(gfile.glob("memory://folder/*")) == 1
    gfile.rmtree("memory://folder")
    assert not gfile.isdir("memory://folder")


ROWS = b'x,y\n1,"a""b"\n"2","c\nd"\r\n,NA\n1.5e3,e"f\n4\n5,"g"h"\n6,i'
READ: list[Any] = [
    (1.0, b'a"b'), (2.0, b"c\nd"), "Field 0 is required", "Unquoted fields cannot have quotes", "but have 1 in record",
    "Quote inside a string", (6.0, b"i"),
]  # fmt: skip


@pytest.mark.parametrize("block", [1 << 18, 5])
def test_rows_of_csv_in_pieces(tmp_path: Any, monkeypatch: pytest.MonkeyPatch, block: int) -> None:
    """Fields in quotes, faults and the rows behind them, wherever a block of the file ends; in batches too."""
    monkeypatch.setattr("fastgraph.data.csv_files._BLOCK", block)
    path = tmp_path / "rows"
    path.write_bytes(ROWS)
    rows = tf.data.experimental.CsvDataset(str(path), [tf.float32, tf.string], header=True)
    passing = iter(rows)
    for expected in READ:
        if isinstance(expected, tuple):
            assert tuple(x.numpy() for x in next(passing)) == expected
        else:
            with pytest.raises(errors.InvalidArgumentError, match=expected):
                next(passing)
    assert next(passing, None) is None
    numbers, texts = next(iter(rows.ignore_errors().batch(3)))
    assert numbers.numpy().tolist() == [1, 2, 6]
    assert texts.numpy().tolist() == [b'a"b', b"c\nd", b"i"]


def test_numbers_in_csv_are_rounded_once(rng: np.random.Generator) -> None:
    words = [repr(x) for x in (rng.standard_normal(300) * 10.0 ** rng.integers(-12, 12, 300)).tolist()]
    words += [f"{x}e{e}" for x, e in zip(rng.integers(-(10**17), 10**17, 300), rng.integers(-25, 25, 300), strict=True)]
    words += [f"{x}.5000000001" for x in rng.integers(1 << 24, 1 << 25, 100)]  # beside the middle of two float32
    words += ["-0.0", "1e400", "inf", "nan", ".5", "5.", "00012", "+3", "1" * 40]
    found = tf.io.decode_csv(words, [[0.0]])[0].numpy()
    exact = tf.io.decode_csv(words, [tf.constant([], tf.float64)])[0].numpy()
    np.testing.assert_array_equal(exact, np.array([float(word) for word in words]))
    near = np.stack([np.nextafter(found, np.float32(-np.inf)), np.nextafter(found, np.float32(np.inf))])
    with np.errstate(invalid="ignore", over="ignore"):
        least = np.abs(near.astype(np.longdouble) - exact).min(0) >= np.abs(found.astype(np.longdouble) - exact)
    assert (least | ~np.isfinite(found)).all()


def test_files_go_to_places_counted_from_anywhere(tmp_path: Any) -> None:
    path = tmp_path / "text"
    path.write_text("abcdef")
    for mode, found in (("r", ["c", "e", "f"]), ("rb", [b"c", b"e", b"f"])):
        with io.gfile.GFile(str(path), mode) as file:
            file.seek(2)
            read = [file.read(1)]
            file.seek(1, 1)
            read.append(file.read(1))
            file.seek(-1, whence=2)
            assert [*read, file.read(1)] == found and file.tell() == 6
            file.seek(position=3)
            assert file.tell() == 3
            with pytest.raises(TypeError, match="offset argument required"):
                file.seek()


def test_files_that_are_written_and_read_and_what_is_known_of_them(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    with io.gfile.GFile(path, "w+") as file:
        file.write("one\ntwo\n")
        assert (file.readline(), file.tell()) == ("one\n", 4)
        file.write("three")
        assert file.read() == "two\nthree" and list(file) == []
    with io.gfile.GFile(path, "wb") as file:
        file.write("text")  # as TensorFlow, which takes either
        with pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for reading"):
            file.read()
    found = io.gfile.stat(path)
    assert (found.length, found.is_directory, found.mtime_nsec) == (4, False, os.stat(path).st_mtime_ns)
    assert io.gfile.stat(str(tmp_path)).is_directory
    with io.gfile.GFile(path) as file, pytest.raises(tf.errors.PermissionDeniedError, match="isn't open for writing"):
        file.write("x")


def test_what_is_told_of_files(tmp_path: Any) -> None:
    gfile = io.gfile
    (tmp_path / "file").write_bytes(b"abc")
    told = gfile.stat(str(tmp_path / "file"))
    assert (told.length, told.is_directory) == (3, False) == (told.st_size, gfile.isdir(str(tmp_path / "file")))
    assert told.mtime_nsec == (tmp_path / "file").stat().st_mtime_ns and gfile.stat(str(tmp_path)).is_directory
    gfile.mkdir(str(tmp_path / "folder"))
    gfile.mkdir(str(tmp_path / "folder"))  # it is there: nothing to do
    for make in (gfile.mkdir, gfile.makedirs):
        make("")  # what os.path.dirname says of a file in the current directory
        make(b"")
    with pytest.raises(errors.NotFoundError):
        gfile.mkdir(str(tmp_path / "no" / "folder"))


def test_paths_of_no_folder_begin_as_tensorflows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "one/a.csv").touch()
    (tmp_path / "b.csv").touch()
    monkeypatch.chdir(tmp_path)
    for pattern, path in (("*.csv", "./b.csv"), ("o*/*", "./one/a.csv"), ("one/*", "one/a.csv"), ("b.csv", "b.csv")):
        assert tf.io.gfile.glob(pattern) == [path]
        assert tf.io.matching_files(pattern).numpy().tolist() == [path.encode()]
        assert [each.numpy() for each in tf.data.Dataset.list_files(pattern)] == [path.encode()]
