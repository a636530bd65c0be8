"""Elements in files: what TensorFlow wrote is read, what is begun is not, damaged files are errors."""

from __future__ import annotations

import base64
import contextlib
import functools
import itertools
import os
import sqlite3
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph import errors
from fastgraph.data import sources, stored_elements
from fastgraph.records import snappy
from fastgraph.records.record_files import framed
from fastgraph.saving import bundle_writer

Dataset = tf.data.Dataset

#: What TensorFlow 2.21 writes for [["a", "b"], ["", "ccc"]], sliced: saved, and cached.
OF_TENSORFLOW = {
    "cache.data-00000-of-00001": ("AQF6G61sYWIAA+zG6hljY2M="),
    "cache.index": (
        "AAAGCAEaAggBAAkPICAgICAgMF8wCAcSBBICCAIoCDW7piHcBgMRMV8wCAcSBBICCAIgCCgJNX/QyKgAAAAAAQAAAACcZ9h9AAAAAAEA"
        "AAAAwPKhsAABAiEAQwAAAAABAAAAAOdb1w1ICFUOAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAV/uAiyR1R9s="
    ),
    "saved/1283471898765523558/00000000.shard/00000000.snapshot": (
        "DgAAAAAAAADF5Wk/CAcSBBICCAIiBAEBYWJamD7uDwAAAAAAAABtUysJCAcSBBICCAIiBQADY2Njc9srCA=="
    ),
    "packed/9416230422007032840/00000000.shard/00000000.snapshot": (
        "AAAAhoADBA4ACQEkxeVpPwgJEgAiCAkQGAAAiCuV6jINDTQkGVbsCAQSBBICCCgiKA0VggEAENSO3BwQDSYUlfv+GAgHBUIwAiIGAgJhY2JkchlZ"
        "fkaAAAABDTIMoL3fVFaAAAABmgEADCdewhLGgAAAAg2ADBlPEl9WgAAAApoBAAxy7RYRfoAA"
    ),
    "packed/dataset_spec.pb": ("ogMjCgeKAgQSABgJCguKAggSBBICCCgYBAoLigIIEgQSAggCGAc="),
    "packed/snapshot.metadata": ("EhM5NDE2MjMwNDIyMDA3MDMyODQwGPPOlqbTn5gDIAIqAwkEBzADwD4B"),
    "saved/dataset_spec.pb": ("igIIEgQSAggCGAc="),
    "saved/snapshot.metadata": ("EhMxMjgzNDcxODk4NzY1NTIzNTU4GPXD2vKFnpgDIAIqAQcwAsA+AQ=="),
}


@pytest.fixture
def folder(tmp_path):
    for name, content in OF_TENSORFLOW.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(content))
    return tmp_path


def _listed(dataset):
    return [element.numpy().tolist() for element in dataset]


def test_what_tensorflow_saved_is_read(folder):
    dataset = Dataset.load(str(folder / "saved"))
    assert _listed(dataset) == [[b"a", b"b"], [b"", b"ccc"]]
    assert dataset.element_spec == tf.TensorSpec([2], tf.string) and len(dataset) == 2


def test_what_tensorflow_packed_is_read(folder):
    """It packs numbers, 40 of each, and two strings, by Snappy."""
    for i, (x, row, words) in enumerate(Dataset.load(str(folder / "packed"), compression="SNAPPY")):
        assert x.numpy() == i and row.numpy().tolist() == [i] * 40 and words.numpy().tolist() == [b"ac", b"bd"]
    assert i == 2


def test_damaged_blocks_are_errors(folder, rng):
    (path,) = (folder / "packed").glob("*/*/*.snapshot")
    whole = path.read_bytes()
    n_errors = 0
    for _ in range(300):
        content = bytearray(whole)
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
        path.write_bytes(content if rng.integers(2) else content[: rng.integers(1, len(content))])
        try:
            list(Dataset.load(str(folder / "packed"), compression="SNAPPY"))
        except errors.DataLossError:
            n_errors += 1
    assert n_errors > 290  # a copy from elsewhere may say the same bytes
    assert issubclass(errors.DataLossError, errors.OpError)
    for block in (b"", b"\xff\xff\xff\xff\x7f\x00a", b"\x04\x01\x00", b"\x04\xf4", b"\x02\x00a"):
        with pytest.raises(errors.DataLossError, match="Snappy"):
            snappy.decompressed(block)


@pytest.mark.parametrize("kind", [None, "GZIP", "SNAPPY"])
def test_what_is_packed_is_the_same_again(tmp_path, rng, kind):
    rows = rng.standard_normal((7, 30_000)).astype(np.float32)  # several blocks
    dataset = Dataset.from_tensor_slices((rows, [str(i) * i for i in range(7)]))
    dataset.save(str(tmp_path / "s"), kind)
    for loaded in (Dataset.load(str(tmp_path / "s"), compression=kind), *[dataset.snapshot(str(tmp_path / "t"))] * 2):
        found = list(loaded.as_numpy_iterator())
        assert sorted(len(word) for _, word in found) == list(range(7))
        assert all(np.array_equal(row, rows[len(word)]) for row, word in found)


def test_a_pass_that_saves_is_kept_in_checkpoints(tmp_path):
    counter = tf.Variable(0, tf.int64)
    given: list[int] = []

    def breaks(x):
        given.append(int(x))
        if len(given) == 6:
            raise ValueError("an accident")
        return x

    numbers = Dataset.range(10).shuffle(10, seed=3)
    dataset = numbers.map(lambda x: tf.numpy_function(breaks, [x], tf.int64, stateful=False))
    arguments = {"directory": str(tmp_path / "c"), "max_to_keep": 50, "step_counter": counter, "checkpoint_interval": 2}
    with pytest.raises(errors.OpError):
        dataset.save(str(tmp_path / "s"), checkpoint_args=arguments)
    with pytest.raises(errors.NotFoundError):
        Dataset.load(str(tmp_path / "s"))
    first = given[:5]
    dataset.save(str(tmp_path / "s"), checkpoint_args=arguments)
    assert "checkpoint" not in arguments  # the caller's own dict stays as it is
    saved = list(Dataset.load(str(tmp_path / "s")).as_numpy_iterator())
    assert saved[:5] == first and sorted(saved) == list(range(10))
    with pytest.raises(ValueError, match="'checkpoint'"):
        dataset.save(str(tmp_path / "s"), checkpoint_args={**arguments, "checkpoint": None})
    with pytest.raises(TypeError):
        dataset.save(str(tmp_path / "s"), checkpoint_args={**arguments, "such": 1})


def test_what_tensorflow_cached_is_read(folder):
    dataset = Dataset.from_tensors(["no", "such"]).cache(str(folder / "cache"))
    assert _listed(dataset) == [[b"a", b"b"], [b"", b"ccc"]]


def test_damaged_files_are_errors(folder, rng):
    (path,) = (folder / "saved").glob("*/*/*.snapshot")
    whole = path.read_bytes()
    for _ in range(300):
        content = bytearray(whole)
        at = rng.integers(len(content))
        content[at] ^= 1 << rng.integers(8)
        path.write_bytes(content if rng.integers(2) else content[:at])
        try:
            found = _listed(Dataset.load(str(folder / "saved")))
        except errors.DataLossError:
            continue
        assert found == [[b"a", b"b"], [b"", b"ccc"]][: len(found)]  # cut between two elements


def test_a_lost_shard_is_an_error(tmp_path):
    Dataset.range(20).save(str(tmp_path / "saved"), shard_func=lambda x: x % 2)
    sorted((tmp_path / "saved").rglob("*.snapshot"))[1].unlink()
    with pytest.raises(errors.NotFoundError, match="00000001.shard/00000000.snapshot"):
        _listed(Dataset.load(str(tmp_path / "saved")))


def test_damaged_metadata_are_loss_of_data(tmp_path):
    snapshot = Dataset.range(4).snapshot(str(tmp_path / "snapshot"))
    Dataset.range(4).save(str(tmp_path / "saved"))
    assert len(_listed(snapshot)) == 4
    (spec,) = (tmp_path / "saved").glob("*/dataset_spec.pb")
    for path in [*tmp_path.rglob("snapshot.metadata"), spec]:
        whole = path.read_bytes()
        for content in (whole[:-1], b"\xff" * 9 + whole):
            path.write_bytes(content)
            with pytest.raises(errors.DataLossError, match=path.name):
                _listed(Dataset.load(str(tmp_path / "saved")) if "saved" in str(path) else snapshot)
        path.write_bytes(whole)


def test_damage_that_gzip_finds_is_loss_of_data(tmp_path):
    dataset = Dataset.range(400).snapshot(str(tmp_path / "packed"), compression="GZIP")
    assert len(_listed(dataset)) == 400
    path = min((tmp_path / "packed").rglob("*.snapshot"))
    whole = path.read_bytes()
    for at in (0, len(whole) // 2, len(whole) - 2):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with pytest.raises(errors.DataLossError):
            _listed(dataset)


def test_snapshots_of_other_pipelines_are_not_taken_for_each_other(tmp_path):
    def numbers(add):
        return [int(x) for x in Dataset.range(3).map(lambda x: add(x)).snapshot(str(tmp_path / "eager"))]

    assert [numbers(lambda x: x + 1), numbers(lambda x: x + 9), numbers(lambda x: x + 1)] == [
        [1, 2, 3], [9, 10, 11], [1, 2, 3],
    ]  # fmt: skip
    assert len(os.listdir(tmp_path / "eager")) == 2

    @tf.function(input_signature=[tf.TensorSpec([], tf.int64)])
    def total(n):
        doubled = Dataset.range(n).map(lambda x: x * n)
        return doubled.snapshot(str(tmp_path / "staged")).reduce(np.int64(0), lambda a, b: a + b)

    assert [int(total(tf.constant(n, tf.int64))) for n in (3, 4, 3)] == [9, 24, 9]
    assert len(os.listdir(tmp_path / "staged")) == 2


class _Rows:
    def __init__(self, first):
        self.first = first

    def rows(self):
        yield from (self.first, self.first + 1)

    def __call__(self):
        return self.rows()


class _Others(_Rows):
    def __call__(self):
        yield -self.first


class _Slots:
    __slots__ = ("first",)
    __init__, rows = _Rows.__init__, _Rows.rows


def test_snapshots_of_generators_of_other_objects_are_not_taken_for_each_other(tmp_path):
    def rows(generator):
        made = Dataset.from_generator(generator, output_signature=tf.TensorSpec([], tf.int64))
        return [int(x) for x in made.snapshot(str(tmp_path))]

    def closed(given):
        return lambda: given.rows()

    for _ in range(2):
        for first in (1, 5):
            by_class = type("ByClass", (), {"first": first, "rows": classmethod(_Rows.rows)})
            generators = (_Rows(first).rows, _Rows(first), closed(_Rows(first)), _Slots(first).rows, by_class.rows)
            for generator in generators:
                assert rows(generator) == [first, first + 1]
            assert rows(_Others(first)) == [-first]
    assert len(os.listdir(tmp_path)) == 24  # a generator that is given again is another, as in TensorFlow


def test_a_snapshot_counts_once_it_is_whole(tmp_path):
    passes = []

    def elements():
        passes.append(1)
        yield from range(4)

    dataset = Dataset.from_generator(elements, tf.int64).snapshot(str(tmp_path))
    next(iter(dataset))
    assert _listed(dataset) == [0, 1, 2, 3] and len(passes) == 2
    assert sorted(_listed(dataset)) == [0, 1, 2, 3] and len(passes) == 2
    other = Dataset.from_generator(elements, tf.int64).map(lambda x: x + 1).snapshot(str(tmp_path))
    assert _listed(other) == [1, 2, 3, 4] and len(passes) == 3


def test_a_cache_that_another_pass_writes(tmp_path):
    path = str(tmp_path / "c")
    dataset = Dataset.range(3).cache(path)
    first = iter(dataset)
    next(first)
    with pytest.raises(errors.AlreadyExistsError, match="lockfile"):
        next(iter(dataset))
    del first
    assert _listed(dataset) == [0, 1, 2] == _listed(Dataset.range(9, 12).cache(path))
    assert not os.path.exists(path + "_0.lockfile")


def test_ragged_sparse_and_all_dtypes_are_kept(tmp_path):
    def made(x):
        return {
            "ragged": tf.RaggedTensor.from_row_lengths(tf.range(x), [x]),
            "sparse": tf.sparse.from_dense([x, 0]),
            "all": tuple([tf.cast(x, t) for t in (tf.float16, tf.bfloat16, tf.complex128, tf.uint8, tf.bool)]),
        }

    dataset = Dataset.range(3).map(made)
    dataset.save(str(tmp_path / "s"), "GZIP")
    loaded = Dataset.load(str(tmp_path / "s"), compression="GZIP")
    assert loaded.element_spec == dataset.element_spec
    for a, b in zip(dataset, loaded, strict=True):
        for x, y in zip(tf.nest.flatten(a, True), tf.nest.flatten(b, True), strict=True):
            assert x.dtype == y.dtype and np.array_equal(x.numpy(), y.numpy())


def test_the_fingerprint_tells_pipelines_apart():
    def made(n, scale):
        return Dataset.range(n).map(lambda x: x * scale).batch(2)

    assert int(made(3, 2).fingerprint()) == int(made(3, 2).fingerprint())
    assert len({int(made(n, scale).fingerprint()) for n in (3, 4) for scale in (2, 3)}) == 4


def test_the_fingerprint_is_that_of_the_elements():
    numbers = Dataset.range(9)

    def drawn(seed):
        return numbers.map(lambda x: x + tf.random.uniform([], 0, 99, tf.int64, seed=seed))

    assert int(drawn(1).fingerprint()) == int(drawn(1).fingerprint()) != int(drawn(2).fingerprint())
    assert int(Dataset.random(1).fingerprint()) != int(Dataset.random(2).fingerprint())
    shuffled = [numbers.shuffle(size, seed) for size, seed in ((3, 1), (3, None), (4, 1))]
    assert int(shuffled[0].fingerprint()) == int(shuffled[1].fingerprint()) != int(shuffled[2].fingerprint())
    kept = numbers.cache()
    before = int(kept.fingerprint())
    list(kept)
    assert int(kept.fingerprint()) == before


def _multiples(k):
    return iter([0, k])


def test_the_fingerprint_tells_functions_and_files_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "_generators", itertools.repeat(0))  # as if each were the first of a run of its own

    def rows(function):
        return int(Dataset.from_generator(function, output_signature=tf.TensorSpec((), tf.int64)).fingerprint())

    def kept(k):
        return lambda: _multiples(int(k))

    def given(k):
        return lambda n=k: _multiples(n)

    def pieces(size):
        return int(tf.data.FixedLengthRecordDataset(str(tmp_path / "rows"), size).fingerprint())

    assert rows(lambda: (i * 2 for i in range(3))) != rows(lambda: (i * 3 for i in range(3)))
    assert rows(lambda: iter(list(b"ab"))) != rows(lambda: iter(set(b"ab")))
    assert rows(functools.partial(_multiples, 2)) != rows(functools.partial(_multiples, 3))
    assert rows(kept(np.int64(2))) == rows(kept(np.int64(2))) != rows(kept(np.int64(3)))
    assert rows(given(2)) == rows(given(2)) != rows(given(3))
    assert pieces(4) == pieces(4) != pieces(6)


def test_the_fingerprint_has_the_datasets_that_functions_give():
    def nested(n):
        return int(Dataset.range(2).flat_map(lambda x: Dataset.range(n)).fingerprint())

    assert nested(3) == nested(3) != nested(4)


def test_snapshots_of_other_random_numbers_lie_elsewhere(tmp_path):
    def drawn(seed):
        dataset = Dataset.range(9).map(lambda x: x + tf.random.uniform([], 0, 999, tf.int64, seed=seed))
        return [int(x) for x in dataset.snapshot(str(tmp_path))]

    assert drawn(1) == drawn(1) != drawn(2)
    for seed in (1, 2):
        list(Dataset.range(9).shuffle(5, seed).snapshot(str(tmp_path / "shuffled")))
    assert len(list((tmp_path / "shuffled").iterdir())) == 1


def test_a_snapshot_is_whole_with_the_last_of_a_known_number(tmp_path):
    elements = iter(Dataset.range(5).snapshot(str(tmp_path)))
    for _ in range(5):
        next(elements)
    assert [path.name for path in tmp_path.glob("*/snapshot.metadata")] == ["snapshot.metadata"]
    with pytest.raises(StopIteration):
        next(elements)


def test_numbers_of_shards_are_of_64_bits(tmp_path):
    with pytest.raises(errors.InvalidArgumentError, match="must return a scalar int64"):
        list(Dataset.range(3).snapshot(str(tmp_path / "a"), shard_func=lambda _: 0))
    with pytest.raises(errors.InvalidArgumentError, match="must return a scalar int64"):
        Dataset.range(3).save(str(tmp_path / "b"), shard_func=lambda _: 0)
    list(Dataset.range(3).snapshot(str(tmp_path / "a"), shard_func=lambda x: x))
    read = Dataset.range(3).snapshot(str(tmp_path / "a"), shard_func=lambda _: 0)  # which asks for no number
    assert sorted(int(x) for x in read) == [0, 1, 2]
    with pytest.raises(TypeError, match="scalar tensor but its return type is"):
        Dataset.range(3).save(str(tmp_path / "b"), shard_func=lambda _: 0.0)


def test_a_pass_of_numpy_arrays_is_saved_and_restored():
    elements = Dataset.range(9).shuffle(4, seed=1).as_numpy_iterator()
    first = [elements.next() for _ in range(3)]
    state = elements.save()
    assert state.dtype == tf.string and state.shape == ()
    rest = list(elements)
    elements.restore(state.numpy())
    assert list(elements) == rest
    elements.restore(state)
    assert list(elements) == rest and sorted([*first, *rest]) == list(range(9))


def test_rows_of_a_database(tmp_path):
    import sqlite3

    path = str(tmp_path / "d.db")
    connection = sqlite3.connect(path)
    connection.execute("create table t (a integer, b text, c real)")
    connection.executemany("insert into t values (?, ?, ?)", [(1, "x", 0.5), (2, "y", 1.5)])
    connection.commit()
    connection.close()
    kinds = (tf.int64, tf.string, tf.float64)
    dataset = tf.data.experimental.SqlDataset("sqlite", path, "select * from t order by a desc", kinds)
    assert [tuple(row) for row in dataset.as_numpy_iterator()] == [(2, b"y", 1.5), (1, b"x", 0.5)]
    with pytest.raises(errors.UnknownError, match="Failed to execute query: no such table"):
        list(tf.data.experimental.SqlDataset("sqlite", path, "select * from no", kinds))
    with pytest.raises(errors.InvalidArgumentError, match="The number of columns"):
        list(tf.data.experimental.SqlDataset("sqlite", path, "select a from t", kinds))


def test_lookup_tables_from_datasets():
    words = Dataset.from_tensor_slices(["b", "a", "c"])
    table = tf.data.experimental.index_table_from_dataset(words, vocab_size=2)
    assert table.lookup(tf.constant(["a", "b", "c"])).numpy().tolist() == [1, 0, -1]
    pairs = Dataset.zip((words, Dataset.range(10, 13)))
    table = tf.data.experimental.table_from_dataset(pairs, default_value=7)
    assert table.lookup(tf.constant(["c", "z"])).numpy().tolist() == [12, 7]
    counted = tf.data.experimental.index_table_from_dataset(words, key_dtype=tf.int64)
    assert counted.lookup(tf.constant(["c", "z"])).numpy().tolist() == [2, -1]  # the dataset says what keys are
    with pytest.raises(TypeError, match="Invalid `key_dtype`"):
        tf.data.experimental.index_table_from_dataset(words, 2, key_dtype=tf.int64)
    with pytest.raises(ValueError, match="`default_value` must be specified"):
        tf.data.experimental.table_from_dataset(Dataset.zip((Dataset.range(3), words)))


def test_elements_by_an_index_that_only_a_graph_knows():
    """The order of the shuffle is TensorFlow's."""
    tf.random.set_seed(None)  # another test's may be left
    dataset = Dataset.range(10).map(lambda x: (x * 2, {"a": tf.fill([2], x)})).shuffle(10, seed=5)
    by_call = tf.function(lambda i: tf.data.experimental.at(dataset, i))
    for i, wanted in enumerate([2, 6, 4, 14, 12, 18, 0, 10, 16, 8]):
        for first, rest in (tf.data.experimental.at(dataset, i), by_call(tf.constant(i, tf.int64))):
            assert first.numpy() == wanted and rest["a"].numpy().tolist() == [wanted // 2] * 2
    assert [int(x) for x in Dataset.range(3).map(lambda i: tf.data.experimental.at(dataset, i)[0])] == [2, 6, 4]
    for i in (-1, 10):
        with pytest.raises(errors.OutOfRangeError, match="Index out of range"):
            by_call(tf.constant(i, tf.int64))


def test_cached_files_are_read_in_runs(tmp_path: Any, rng: np.random.Generator) -> None:
    """Elements alike, others between them, strings: one by one and in batches; damage is met where it lies."""
    x = rng.standard_normal((40, 3)).astype(np.float32)
    rows = tf.data.Dataset.from_tensor_slices((x, np.arange(40, dtype=np.int8)))
    for i, dataset in enumerate([rows, rows.map(lambda x, i: (x[: tf.cast(i, tf.int32) // 15 + 1], i))]):
        cached = dataset.cache(str(tmp_path / f"c{i}"))
        written = [[part.numpy().tolist() for part in element] for element in cached]
        for _ in range(2):
            assert [[part.numpy().tolist() for part in element] for element in cached] == written
        sizes = [batch[1].numpy().tolist() for batch in cached.take(15).batch(6)]
        assert sizes == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11], [12, 13, 14]]
    batches = list(rows.cache(str(tmp_path / "c0")).batch(16))
    np.testing.assert_array_equal(np.concatenate([batch[0].numpy() for batch in batches]), x)
    words = tf.data.Dataset.from_tensor_slices([b"a", b"", b"bc"]).cache(str(tmp_path / "words"))
    assert [list(words.as_numpy_iterator()) for _ in range(2)] == [[b"a", b"", b"bc"]] * 2
    data = tmp_path / "c0.data-00000-of-00001"
    content = bytearray(data.read_bytes())
    content[13 * 20 + 1] ^= 1  # of element 20
    data.write_bytes(content)
    passing, n = iter(rows.cache(str(tmp_path / "c0"))), 0
    with pytest.raises(errors.DataLossError, match="Checksum does not match"):
        for _ in passing:
            n += 1
    assert n == 20


@pytest.mark.parametrize("spec", [("int64", [2]), ("float64", []), ("string", []), ("int64", [None])])
@pytest.mark.parametrize("alike", [True, False])
def test_files_of_another_dtype_or_shape_are_errors(folder: Any, spec: Any, alike: bool) -> None:
    given = Dataset.range(3) if alike else Dataset.range(1)
    path = str(folder / "elements")
    list(given.cache(path))
    given.save(path)
    dtype, shape = spec
    size = [2 if n is None else n for n in shape]
    other = Dataset.from_tensors(tf.zeros(size, tf.int32)).map(
        lambda x: tf.as_string(x) if dtype == "string" else tf.cast(x, dtype)
    )
    wrong = "expected .* but got int64" if dtype != "int64" else r"expected \[.\] but got \[\]"
    if shape != [None]:
        with pytest.raises(errors.InvalidArgumentError, match=wrong):
            list(other.cache(path))
    with pytest.raises(errors.InvalidArgumentError, match=wrong):
        list(Dataset.load(path, element_spec=tf.TensorSpec(shape, dtype)))
    assert len(list(Dataset.load(path, element_spec=tf.TensorSpec(None, tf.int64)))) == (3 if alike else 1)


def test_strings_in_a_cache_are_no_numbers(folder: Any) -> None:
    path = str(folder / "words")
    list(Dataset.from_tensor_slices(["a", "b"]).cache(path))
    with pytest.raises(errors.InvalidArgumentError, match="expected int64 but got string"):
        list(Dataset.range(2).cache(path))


def _on_full_disk(path: str, mode: str) -> Any:
    return open("/dev/full", mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full disk at hand")
def test_full_disks(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(folder / "elements")
    with monkeypatch.context() as patched:
        patched.setitem(stored_elements._OPENED, None, _on_full_disk)
        with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
            Dataset.range(10_000).save(path)
        with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
            Dataset.range(3).save(path)  # that is written at the end
    with monkeypatch.context() as patched:

        def full(file: int, content: Any) -> int:
            raise OSError(28, "No space left on device")

        patched.setattr(bundle_writer.os, "write", full)
        kept = iter(Dataset.range(3).cache(path))
        with pytest.raises(errors.ResourceExhaustedError, match="No space left"):
            next(kept)
        assert not os.path.exists(f"{path}_0.lockfile")
    assert len(list(Dataset.range(3).cache(path))) == 3


def test_compressions_that_files_do_not_have(folder: Any) -> None:
    path = str(folder / "text")
    with open(path, "wb") as file:
        file.write(b"ab\ncd\n")
    for kind in ("gzip", "FOO", "SNAPPY"):
        for made in (
            tf.data.TextLineDataset(path, kind),
            tf.data.FixedLengthRecordDataset(path, 1, None, None, None, kind),
        ):
            with pytest.raises(errors.InvalidArgumentError, match="Unsupported compression_type"):
                list(made)
    with pytest.raises(errors.DataLossError):
        list(tf.data.TFRecordDataset(path, "SNAPPY"))
    packed = snappy.SnappyWriter(path)
    packed.write(framed(b"first") + framed(b"second"))
    packed.close()
    assert [x.numpy() for x in tf.data.TFRecordDataset(path, "SNAPPY")] == [b"first", b"second"]
    for sizes in ((0,), (1, -1), (1, 0, -1)):
        with pytest.raises(errors.InvalidArgumentError, match="_bytes` must be >"):
            list(tf.data.FixedLengthRecordDataset(path, *sizes))


def test_a_pass_that_fails_leaves_no_run(tmp_path):
    def numbers():
        yield from range(3)
        raise ValueError("no more")

    dataset = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec([], tf.int32))
    with pytest.raises(errors.InvalidArgumentError, match="no more"):
        dataset.save(str(tmp_path / "s"))
    assert os.listdir(tmp_path / "s") == []
    with pytest.raises(errors.InvalidArgumentError, match="no more"):
        list(dataset.snapshot(str(tmp_path / "t")))
    assert not [path for path in (tmp_path / "t").rglob("*") if path.is_file()]


def test_a_save_that_fails_leaves_the_one_before_it(tmp_path, monkeypatch):
    path = str(tmp_path / "s")
    Dataset.range(4).save(path)
    texts = Dataset.from_tensor_slices(["a", "", "b"])
    with pytest.raises(errors.InvalidArgumentError):
        texts.map(lambda text: tf.strings.as_string(1 // tf.strings.length(text))).save(path)
    assert [int(x) for x in Dataset.load(path)] == [0, 1, 2, 3]
    put = stored_elements._put

    def broken_off(name, content):
        if name.endswith("snapshot.metadata"):
            raise KeyboardInterrupt
        put(name, content)

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(stored_elements, "_put", broken_off)
        texts.save(path)
    assert [int(x) for x in Dataset.load(path)] == [0, 1, 2, 3]
    assert not os.path.exists(f"{path}/dataset_spec.pb")  # TensorFlow would read the numbers as texts by it
    texts.save(path)
    assert os.path.exists(f"{path}/dataset_spec.pb")
    assert [x.numpy() for x in Dataset.load(path)] == [b"a", b"", b"b"]


def test_saved_datasets_packed_by_zlib(tmp_path):
    path = str(tmp_path / "s")
    Dataset.range(3000).save(path, compression="ZLIB", shard_func=lambda i: i % 2)
    files = sorted((tmp_path / "s").rglob("*.snapshot"))
    assert len(files) == 2 and all(file.read_bytes()[:1] == b"x" for file in files)
    assert sorted(int(x) for x in Dataset.load(path, compression="ZLIB")) == list(range(3000))
    files[0].write_bytes(files[0].read_bytes()[:-50])
    with pytest.raises(errors.DataLossError):
        list(Dataset.load(path, compression="ZLIB"))


@pytest.mark.parametrize("dtype", ["qint8", "quint16", "qint32", "int4", "uint2", "float8_e5m2", "float8_e4m3fn"])
def test_saved_elements_of_small_types(dtype, tmp_path):
    values = tf.constant([1, 2], dtype) if dtype[0] == "q" else tf.cast(tf.constant([1, 1]), dtype)
    Dataset.from_tensor_slices(values).save(str(tmp_path))
    loaded = list(Dataset.load(str(tmp_path)))
    assert [x.dtype for x in loaded] == [values.dtype] * 2
    assert [x.numpy().tolist() for x in loaded] == values.numpy().tolist()


def test_arguments_of_csv_datasets_are_checked(tmp_path):
    (tmp_path / "a.csv").write_text("1,2\n")
    for options, text in (
        ({"select_cols": [-1]}, "non-negative"), ({"select_cols": [0, 1]}, "match output size"),
        ({"field_delim": ",,"}, "only 1 char"), ({"field_delim": ""}, "only 1 char"),
        ({"buffer_size": 0}, "buffer_size should be positive"),
    ):  # fmt: skip
        with pytest.raises(errors.InvalidArgumentError, match=text):
            tf.data.experimental.CsvDataset(str(tmp_path / "a.csv"), [tf.int32], **options)
    with pytest.raises(errors.InvalidArgumentError, match="strictly increasing"):
        tf.data.experimental.CsvDataset(str(tmp_path / "a.csv"), [tf.int32] * 2, select_cols=[1, 0])
    with pytest.raises(errors.InvalidArgumentError, match="at least minimum 1"):
        tf.data.experimental.CsvDataset(str(tmp_path / "a.csv"), [])


def test_numbers_of_a_database_are_what_its_texts_begin_with(tmp_path):
    path = str(tmp_path / "numbers")
    with contextlib.closing(sqlite3.connect(path)) as base:
        base.execute("create table t(a text)")
        base.executemany("insert into t values(?)", [("7 of 9",), (" -2.5e1x",), ("none",), (None,)])
        base.commit()
    rows = lambda kind: [
        x.numpy() for (x,) in tf.data.experimental.SqlDataset("sqlite", path, "select a from t", (kind,))
    ]
    assert rows(tf.int32) == [7, -2, 0, 0] and rows(tf.float64) == [7.0, -25.0, 0.0, 0.0]
    with pytest.raises(errors.InvalidArgumentError, match="must be one of: string, int8.*not float"):
        tf.data.experimental.SqlDataset("sqlite", path, "select a from t", (tf.float32,))


def test_padded_shapes_of_numbers_that_a_graph_computes():
    @tf.function
    def padded(n):
        rows = Dataset.range(3).map(lambda x: tf.fill([2, tf.cast(x, tf.int32)], x))
        batches = rows.padded_batch(3, padded_shapes=[None, n])
        return batches.reduce(tf.zeros([3], tf.int32), lambda _, batch: tf.shape(batch))

    assert padded(tf.constant(4)).numpy().tolist() == [3, 2, 4]
    assert padded(tf.constant(-1)).numpy().tolist() == [3, 2, 2]
    with pytest.raises(errors.DataLossError):
        padded(tf.constant(1))


def test_a_state_of_another_pipeline_is_refused(tmp_path):
    iterator = iter(Dataset.range(9).map(lambda x: x * 2))
    next(iterator)
    path = tf.train.Checkpoint(it=iterator).save(str(tmp_path / "c"))
    same, other = (
        iter(Dataset.range(9).map(lambda x: x * 3)),
        iter(Dataset.range(9).map(lambda x: x).filter(lambda x: x > 0)),
    )
    tf.train.Checkpoint(it=same).restore(path)
    assert int(next(same)) == 3
    with pytest.raises(
        errors.InvalidArgumentError, match="of a pipeline of MapDataset, RangeDataset, the dataset is one of Filter"
    ):
        tf.train.Checkpoint(it=other).restore(path)
    with pytest.raises(errors.InvalidArgumentError, match="num_parallel_calls"):
        Dataset.range(3).interleave(lambda x: Dataset.range(x), num_parallel_calls=-2)


def test_a_state_goes_on_where_the_same_elements_were_taken(tmp_path):
    def gone_on(before, after):
        iterator, other = iter(before), iter(after)
        next(iterator)
        tf.train.Checkpoint(it=other).restore(tf.train.Checkpoint(it=iterator).save(str(tmp_path / "c")))
        return [x.numpy().tolist() for x in other]

    numbers, options = Dataset.range(6), tf.data.Options()
    assert gone_on(numbers.batch(2), numbers.batch(2, num_parallel_calls=2).prefetch(1)) == [[2, 3], [4, 5]]
    assert gone_on(numbers.prefetch(2).with_options(options), numbers) == [1, 2, 3, 4, 5]
    assert len(gone_on(numbers.repeat(2), numbers.repeat(3))) == 17
    for before, after in (
        (numbers.batch(2), numbers.batch(3)), (numbers.skip(1), numbers.skip(2)),
        (numbers.shuffle(2, seed=1), numbers.shuffle(3, seed=1)), (numbers.padded_batch(2), numbers.padded_batch(3)),
        (numbers.batch(2).rebatch(3), numbers.batch(2).rebatch(4)), (numbers.window(2), numbers.window(2, 1)),
    ):  # fmt: skip
        with pytest.raises(errors.InvalidArgumentError, match="it is of a pipeline of"):
            gone_on(before, after)
