"""tf.train.Checkpoint and its family: what is saved comes back, at once or when its objects come to be."""

from __future__ import annotations

import ctypes
import logging
import os
import shutil
import subprocess
import threading
import time
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.core.native.array_kernels import crc32c, crc32c_of_file, joined_crc, masked
from fastgraph.saving import bulk_reading, folder_lock, tensor_bundle
from fastgraph.saving import checkpoint as checkpoints
from fastgraph.saving.bundle_writer import BundleWriter
from fastgraph.saving.checkpoint_state import update_checkpoint_state
from fastgraph.saving.object_graph import SaveableObject, SaveSpec
from fastgraph.saving.tensor_bundle import BundleReader

FOLDER = Path(__file__).parent / "checkpoints"  # see tests/oracle/checkpoint_files.py


def values(*variables: Any) -> list[Any]:
    """The values of Variables as Python ones."""
    return [variable.numpy().tolist() for variable in variables]


# -- The files


def test_the_checksum_has_its_check_values() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA  # RFC 3720, B.4
    assert crc32c(b"") == 0
    assert crc32c(b"789", crc32c(b"123456")) == 0xE3069283
    assert masked(0) == 0xA282EAD8
    assert masked(0xFFFFFFFF) == 0xA282EAD7


@pytest.fixture(scope="module")
def by_tables(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], int]:
    """The checksum as CPUs without the instruction compute it, from the header that the extension is made of."""
    folder, compiler = tmp_path_factory.mktemp("crc"), shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    header = Path(__file__).parents[2] / "fastgraph" / "core" / "native" / "crc32c.h"
    lines = f'#include "{header}"\nvoid begin(void) {{ fg_crc_begin(); }}\n'
    lines += "uint32_t checksum(const uint8_t *p, int64_t n) { return ~fg_crc_by_tables(~0u, p, n); }\n"
    (folder / "crc.c").write_text(lines)
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", folder / "crc.so", folder / "crc.c"], check=True)
    library = ctypes.CDLL(str(folder / "crc.so"))
    library.begin()
    library.checksum.argtypes, library.checksum.restype = (ctypes.c_char_p, ctypes.c_int64), ctypes.c_uint32
    return lambda content: int(library.checksum(content, len(content)))


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 6143, 6144, 6145, 12288, 100_003])
def test_the_checksum_is_that_of_the_tables(size: int, by_tables: Callable[[bytes], int]) -> None:
    content = np.random.default_rng(size).bytes(size)
    assert crc32c(content) == by_tables(content)
    assert crc32c(content[size // 3 :], crc32c(content[: size // 3])) == by_tables(content)
    assert crc32c(memoryview(content)[1:]) == by_tables(content[1:])  # not aligned


def test_a_bundle_gives_back_what_it_was_given(tmp_path: Path) -> None:
    arrays = {f"a/{i:03}/{'long' * (i % 7)}": np.arange(i, dtype=np.float32) for i in range(300)}
    arrays |= {"text": np.array([b"", b"x" * 300], object), "flag": np.array(True), "z": np.ones([0, 4], np.int8)}
    with BundleWriter(str(tmp_path / "b")) as writer:
        for key, array in arrays.items():
            writer.add(key, array)
        writer.finish()
    reader = BundleReader(str(tmp_path / "b"))
    assert reader.keys() == sorted(arrays)
    for key, array in arrays.items():
        found = reader.read(key)
        assert found.dtype == array.dtype and found.shape == array.shape, key
        assert found.tolist() == array.tolist(), key
    assert reader.dtype_and_shape("flag") == (tf.bool, ())
    assert sorted(os.listdir(tmp_path)) == ["b.data-00000-of-00001", "b.index"]


def test_a_bundle_of_slices_is_read_as_one_tensor(tmp_path: Path) -> None:
    whole = np.arange(20.0).reshape(5, 4)
    with BundleWriter(str(tmp_path / "b")) as writer:
        writer.add_slice("a", (5, 4), [(0, 3), (0, -1)], whole[:3])
        writer.add_slice("a", (5, 4), [(3, 2), (0, 4)], whole[3:])
        writer.finish()
    reader = BundleReader(str(tmp_path / "b"))
    assert reader.keys() == ["a"]
    assert np.array_equal(reader.read("a"), whole)


def test_large_tensors_begin_at_lines_and_are_read_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_bundle, "_PART", 1 << 19)
    sizes = [3, 1 << 20, (1 << 19) + 5, 5_000_011, 7]
    given = [np.random.default_rng(n).integers(0, 255, n, np.uint8) for n in sizes]
    variables = [tf.Variable(each) for each in given]
    path = tf.train.Checkpoint(v=variables).write(str(tmp_path / "c"))
    reader = tf.train.load_checkpoint(path)
    with BundleReader(path) as bundle:
        keys = [key for key in reader.get_variable_to_shape_map() if key.startswith("v/")]
        large = {key: bundle.plain(key) for key in keys if bundle.n_bytes(key) > 1 << 18}
        assert len(large) == 3 and not any(entry.offset % 64 for entry in large.values() if entry)
        for key, entry in large.items():
            parts = bundle.parts(key)
            crcs = [bundle.check_part(key, part, bundle.buffer()) for part in parts]
            bundle.expect(key, parts, crcs)
            with pytest.raises(tf.errors.DataLossError, match="Checksum"):
                bundle.expect(key, parts, [*crcs[:-1], crcs[-1] ^ 1])
            assert entry is not None and sum(n for _, _, n in parts) == entry.size
    monkeypatch.setattr(bulk_reading, "_KEPT", 0)
    for each in variables:
        each.assign(tf.zeros_like(each))
    tf.train.Checkpoint(v=variables).read(path).assert_consumed()
    assert all(np.array_equal(each, wanted) for each, wanted in zip(variables, given, strict=True))
    file = tmp_path / "c.data-00000-of-00001"
    content = bytearray(file.read_bytes())
    content[-20] ^= 1
    file.write_bytes(content)
    for each in variables:
        each.assign(tf.zeros_like(each))
    with pytest.raises(tf.errors.DataLossError):
        tf.train.Checkpoint(v=variables).read(path).assert_consumed()
    assert not any(np.any(each) for each in variables)
    file.write_bytes(content[:-9_000_000])
    with pytest.raises(tf.errors.DataLossError, match="truncated"):
        tf.train.Checkpoint(v=variables).read(path).assert_consumed()


def test_checksums_of_parts_are_joined() -> None:
    content = np.random.default_rng(0).bytes(1000)
    for n in (0, 1, 17, 999, 1000):
        assert joined_crc(crc32c(content[:n]), crc32c(content[n:]), 1000 - n) == crc32c(content)


def test_what_a_file_lacks_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"0123456789")
    memory = bytearray(4)
    with path.open("rb") as file:
        assert crc32c_of_file(file.fileno(), 1, 9, memory, 4, True) == crc32c(b"123456789") and memory == b"9678"
        assert crc32c_of_file(file.fileno(), 2, 4, memory, 4, False) == 0 and memory == b"2345"
        with pytest.raises(EOFError, match="3 bytes of 4"):
            crc32c_of_file(file.fileno(), 7, 4, memory, 4, True)
        with pytest.raises(ValueError, match="pieces"):
            crc32c_of_file(file.fileno(), 0, 9, memory, 8, True)
    with pytest.raises(OSError, match="Bad file"):
        crc32c_of_file(-1, 0, 4, memory, 4, True)


def test_a_key_is_written_once(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="duplicate key: a"), BundleWriter(str(tmp_path / "b")) as writer:
        writer.add("a", np.zeros(2))
        writer.add("a", np.zeros(2))
    assert os.listdir(tmp_path) == []


def test_a_bundle_written_over_leaves_two_files(tmp_path: Path) -> None:
    path = str(tmp_path / "b")
    for i in range(3):
        before = BundleReader(path) if i else None
        with BundleWriter(path) as writer:
            writer.add("a", np.full(5, i))
            assert before is None or before.read("a").tolist() == [i - 1] * 5
            writer.finish()
        assert before is None or before.read("a").tolist() == [i - 1] * 5  # of files that are gone
        assert BundleReader(path).read("a").tolist() == [i] * 5
        assert len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("older", [False, True])
def test_a_bundle_whose_index_finds_no_place_leaves_nothing(tmp_path: Path, older: bool) -> None:
    path = str(tmp_path / "b")
    with BundleWriter(path) as writer:
        writer.add("a", np.zeros(2))
        if older:
            writer.finish()
    before = sorted(os.listdir(tmp_path))
    with BundleWriter(path) as writer:
        writer.add("a", np.ones(2))
        writer._close()
        os.unlink(writer._temporary_index)  # as where no name can be made any more
        with pytest.raises(tf.errors.NotFoundError):
            writer.finish()
    assert sorted(os.listdir(tmp_path)) == before
    assert not older or BundleReader(path).read("a").tolist() == [0, 0]


def test_a_new_bundle_goes_where_what_follows_it_fails(tmp_path: Path) -> None:
    def fail() -> None:
        raise OSError(28, "No space left on device")

    with BundleWriter(str(tmp_path / "b")) as writer:
        writer.add("a", np.ones(2))
        with pytest.raises(tf.errors.ResourceExhaustedError):
            writer.finish(then=fail)
    assert os.listdir(tmp_path) == []


# -- Saving and restoring


def test_a_variable_is_saved_and_restored(tmp_path: Path) -> None:
    x = tf.Variable(2.0)
    checkpoint = tf.train.Checkpoint(x=x)
    path = checkpoint.save(f"{tmp_path}/ckpt/")
    assert path == f"{tmp_path}/ckpt/-1"
    x.assign(11.0)
    assert tf.train.latest_checkpoint(f"{tmp_path}/ckpt/") == path
    status = checkpoint.restore(path)
    assert repr(x) == "<tf.Variable 'Variable:0' shape=() dtype=float32, numpy=2.0>"
    assert status.assert_consumed() is status
    assert type(status).__name__ == "CheckpointLoadStatus"
    assert int(checkpoint.save_counter) == 1
    assert checkpoint.save(f"{tmp_path}/ckpt/") == f"{tmp_path}/ckpt/-2"


ALL = [
    "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "bool", "complex64", "complex128",
]  # fmt: skip


@pytest.mark.parametrize("dtype", ALL)
def test_every_dtype_comes_back_bit_for_bit(dtype: str, tmp_path: Path) -> None:
    given = tf.cast(tf.constant([0.0, 1.0, 3.0, 100.0]), dtype)
    v = tf.Variable(given)
    checkpoint = tf.train.Checkpoint(v=v)
    path = checkpoint.write(tmp_path / "c")
    v.assign(tf.zeros_like(given))
    checkpoint.read(path).assert_consumed()
    assert v.numpy().tobytes() == given.numpy().tobytes()
    assert tf.train.load_checkpoint(path).get_variable_to_dtype_map()["v/.ATTRIBUTES/VARIABLE_VALUE"] == dtype


def test_objects_of_all_kinds_are_found(tmp_path: Path) -> None:
    Pair = namedtuple("Pair", "left right")

    class Tree(tf.Module):
        def __init__(self, x: float) -> None:
            super().__init__()
            self.w = tf.Variable(x)
            self.parts = [tf.Variable(x + 1), {"a/b": tf.Variable(x + 2), "n": 3}, self.w]
            self.pair = Pair(tf.Variable(x + 3), [tf.Variable(x + 4)])
            self.table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
            self.generator = tf.random.Generator.from_seed(int(x))

        def values(self) -> list[Any]:
            return values(self.w, self.parts[0], self.parts[1]["a/b"], self.pair.left, self.pair.right[0])

    tree = Tree(1.0)
    tree.table.insert(["k"], [5])
    tree.generator.normal([3])
    path = tf.train.Checkpoint(tree=tree, more=(tf.Variable(9.0),)).save(tmp_path / "c")
    keys = [key for key, _ in tf.train.list_variables(path)]
    assert "tree/parts/1/a.Sb/.ATTRIBUTES/VARIABLE_VALUE" in keys
    assert "tree/pair/left/.ATTRIBUTES/VARIABLE_VALUE" in keys
    assert "tree/table/.ATTRIBUTES/table-keys" in keys
    assert not any(key.startswith("tree/parts/2") for key in keys)  # saved once, by the shorter way
    other = Tree(50.0)
    last = tf.Variable(0.0)
    tf.train.Checkpoint(tree=other, more=(last,)).restore(path).assert_consumed()
    assert other.values() == [1.0, 2.0, 3.0, 4.0, 5.0]
    assert last.numpy() == 9.0
    assert other.table.lookup(tf.constant(["k", "z"])).numpy().tolist() == [5, -1]
    assert other.generator.state.numpy().tolist() == tree.generator.state.numpy().tolist()


def test_what_comes_later_is_restored_as_it_comes(tmp_path: Path) -> None:
    module = tf.Module()
    module.w = tf.Variable(1.0)
    module.items = [tf.Variable(2.0), [tf.Variable(3.0)]]
    module.named = {"a": tf.Variable(4.0)}
    module.inner = tf.Module()
    module.inner.deep = tf.Variable(5.0)
    path = tf.train.Checkpoint(module=module).save(tmp_path / "c")
    later = tf.Module()
    later.items = []
    status = tf.train.Checkpoint(module=later).restore(path)
    with pytest.raises(AssertionError, match=r"Unresolved object in checkpoint \(root\).module"):
        status.assert_consumed()
    status.assert_existing_objects_matched()
    later.w = tf.Variable(0.0)
    assert later.w.numpy() == 1.0
    later.items.append(tf.Variable(0.0))
    assert later.items[0].numpy() == 2.0
    later.items.append([])
    later.items[1].append(tf.Variable(0.0))
    assert later.items[1][0].numpy() == 3.0
    later.named = {}
    later.named["a"] = tf.Variable(0.0)
    assert later.named["a"].numpy() == 4.0
    inner = tf.Module()
    inner.deep = tf.Variable(0.0)
    later.inner = inner
    assert later.inner.deep.numpy() == 5.0
    assert status.assert_consumed() is status


def test_lists_that_wait_are_those_that_others_know(tmp_path: Path) -> None:
    module = tf.Module()
    module.items = [tf.Variable(1.0), tf.Variable(2.0), tf.Variable(3.0)]
    module.named = {"a": tf.Variable(4.0), "b": tf.Variable(5.0)}
    path = tf.train.Checkpoint(module=module).save(tmp_path / "c")
    later = tf.Module()
    items: list[Any] = []
    named: dict[str, Any] = {}
    later.items, later.named = items, named
    tf.train.Checkpoint(module=later).restore(path)
    items.append(tf.Variable(0.0))  # behind the Module's back: seen when that is looked at
    assert later.items[0].numpy() == 1.0
    later.items += [tf.Variable(0.0)]
    assert len(items) == 2 and items[1].numpy() == 2.0
    items.append(tf.Variable(0.0))
    named["a"] = tf.Variable(0.0)
    later.name_of_something = 3  # or set
    assert items[2].numpy() == 3.0 and named["a"].numpy() == 4.0
    assert later.items is items and type(later.items) is list  # which waits no longer
    later.named.update(b=tf.Variable(0.0), c=1)
    assert values(*[named[key] for key in "ab"]) == [4.0, 5.0] and sorted(named) == sorted(later.named)
    later.more = 4
    assert later.named is named


def test_what_a_waiting_list_gets_and_does_not_fit_stays_as_it_is(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    module, later = tf.Module(), tf.Module()
    module.items, module.named = [tf.Variable([1.0, 2.0]), tf.Variable(3.0)], {"a": tf.Variable([4.0, 5.0])}
    module.w = tf.Variable([6.0, 7.0])
    later.items, later.named = [], {}
    tf.train.Checkpoint(module=later).restore(tf.train.Checkpoint(module=module).save(tmp_path / "c"))
    with caplog.at_level(logging.WARNING, logger="tensorflow"):
        later.items.append(tf.Variable([0.0, 0.0, 0.0]))
        later.items.append(tf.Variable(0.0))
        later.named["a"] = tf.Variable(0.0)
    assert later.items[0].numpy().tolist() == [0.0] * 3 and values(later.items[1], later.named["a"]) == [3.0, 0.0]
    assert caplog.text.count("Not restored: Received incompatible tensor") == 2
    with pytest.raises(ValueError, match="Received incompatible tensor with shape"):
        later.w = tf.Variable(0.0)


def test_the_last_restoration_counts(tmp_path: Path) -> None:
    paths = []
    for x in (1.0, 2.0):
        module = tf.Module()
        module.w = tf.Variable(x)
        paths.append(tf.train.Checkpoint(module=module).save(tmp_path / str(x) / "c"))
    later = tf.Module()
    checkpoint = tf.train.Checkpoint(module=later)
    for path in paths:
        checkpoint.restore(path)
    later.w = tf.Variable(0.0)
    assert later.w.numpy() == 2.0


def test_a_root_has_its_own_dependencies_and_more(tmp_path: Path) -> None:
    root = tf.Module()
    root.v = tf.Variable(1.0)
    more = tf.Variable(2.0)
    checkpoint = tf.train.Checkpoint(root, more=more)
    path = checkpoint.save(tmp_path / "c")
    assert [key.partition("/")[0] for key, _ in tf.train.list_variables(path)] == [
        "_CHECKPOINTABLE_OBJECT_GRAPH", "more", "save_counter", "v",
    ]  # fmt: skip
    root.v.assign(0.0)
    more.assign(0.0)
    checkpoint.restore(path).assert_consumed()
    assert values(root.v, more, checkpoint.save_counter) == [1.0, 2.0, 1]
    tf.train.Checkpoint(v=root.v).restore(path).expect_partial().assert_existing_objects_matched()
    with pytest.raises(ValueError, match="keyword argument v if root.v already exists"):
        tf.train.Checkpoint(root, v=more)
    with pytest.raises(ValueError, match="expecting x to be a trackable object"):
        tf.train.Checkpoint(x=3)
    tf.train.Checkpoint(root, f=tf.function(lambda: 1)).restore(path).expect_partial()  # which has no values


def test_statuses_say_what_is_left(tmp_path: Path) -> None:
    a, b = tf.Variable(1.0), tf.Variable(2.0)
    path = tf.train.Checkpoint(a=a, b=b).write(tmp_path / "c")
    status = tf.train.Checkpoint(a=a, c=tf.Variable(3.0)).read(path).expect_partial()
    with pytest.raises(AssertionError, match="Found 1 Python objects that were not bound"):
        status.assert_existing_objects_matched()
    assert status.assert_nontrivial_match() is status
    with pytest.raises(AssertionError, match="Nothing except the root"):
        tf.train.Checkpoint(c=tf.Variable(3.0)).read(path).expect_partial().assert_nontrivial_match()
    nothing = tf.train.Checkpoint(a=a).restore(None)
    assert type(nothing).__name__ == "InitializationOnlyStatus"
    for method in (nothing.assert_consumed, nothing.assert_existing_objects_matched, nothing.run_restore_ops):
        with pytest.raises(AssertionError, match="No checkpoint specified"):
            method()
    assert nothing.initialize_or_restore() is None


def test_values_left_over_are_named_when_nobody_asked(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0)).write(tmp_path / "c")
    with caplog.at_level(logging.WARNING, logger="tensorflow"):
        tf.train.Checkpoint(a=tf.Variable(0.0)).read(path)
        assert "could not be found in the restored object: (root).b" in caplog.text
        caplog.clear()
        tf.train.Checkpoint(a=tf.Variable(0.0)).read(path).expect_partial()
        assert caplog.text == ""


def test_objects_state_what_is_kept_of_them(tmp_path: Path) -> None:
    class Counter(tf.__internal__.tracking.Trackable if hasattr(tf, "__internal__") else tf.Module):  # type: ignore
        n = 0

        def _serialize_to_tensors(self) -> dict[str, Any]:
            return {"n": tf.constant(self.n), "twice/n": tf.constant([self.n, self.n])}

        def _restore_from_tensors(self, restored_tensors: dict[str, Any]) -> None:
            self.n = int(restored_tensors["n"])
            assert restored_tensors["twice/n"].numpy().tolist() == [self.n] * 2

    class Older(tf.Module):
        text = "old"

        def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
            owner = self

            class Saveable(SaveableObject):
                def __init__(self, name: str) -> None:
                    super().__init__(owner, [SaveSpec(lambda: tf.constant(owner.text), "", name + "-text")], name)

                def restore(self, restored_tensors: list[Any], restored_shapes: Any) -> None:
                    owner.text = restored_tensors[0].numpy().decode()

            return {"state": lambda name="global": Saveable(name)}

    class State(tf.train.experimental.PythonState):
        seen = "a"

        def serialize(self) -> str:
            return self.seen

        def deserialize(self, string_value: Any) -> None:
            self.seen = string_value.decode()

    objects = counter, older, state = Counter(), Older(), State()
    counter.n, older.text, state.seen = 4, "new", "b"
    checkpoint = tf.train.Checkpoint(counter=counter, older=older, state=state)
    path = checkpoint.save(tmp_path / "c")
    keys = [key for key, _ in tf.train.list_variables(path)]
    assert "counter/.ATTRIBUTES/twice.Sn" in keys
    assert "older/.ATTRIBUTES/state-text" in keys
    assert "state/.ATTRIBUTES/py_state" in keys
    counter.n, older.text, state.seen = 0, "", ""
    checkpoint.restore(path).assert_consumed()
    assert (objects[0].n, objects[1].text, objects[2].seen) == (4, "new", "b")


def test_slots_of_optimizers_are_kept_under_their_variables(tmp_path: Path) -> None:
    class WithSlots(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self._own = self._no_dependency({})

        def get_slot_names(self) -> list[str]:
            return ["m"]

        def get_slot(self, variable: Any, name: str) -> Any:
            return self._own.get(id(variable))

        def _create_or_restore_slot_variable(self, slot_variable_position: Any, slot_name: str, variable: Any) -> Any:
            made = self._own.get(id(variable))
            if made is None:
                made = tf.Variable(tf.zeros_like(variable))
                self._own[id(variable)] = made
            slot_variable_position.restore(made)
            return made

    v, optimizer = tf.Variable([1.0, 2.0]), WithSlots()
    optimizer._own[id(v)] = tf.Variable([3.0, 4.0])
    path = tf.train.Checkpoint(v=v, opt=optimizer).save(tmp_path / "c")
    assert ("v/.OPTIMIZER_SLOT/opt/m/.ATTRIBUTES/VARIABLE_VALUE", [2]) in tf.train.list_variables(path)
    other, later = tf.Variable([0.0, 0.0]), WithSlots()
    checkpoint = tf.train.Checkpoint(v=other)
    status = checkpoint.restore(path)
    checkpoint.opt = later  # the Variable was there, the optimizer comes later
    assert later.get_slot(other, "m").numpy().tolist() == [3.0, 4.0]
    status.assert_consumed()


def test_iterators_go_on_where_they_were(tmp_path: Path) -> None:
    def numbers() -> Iterator[Any]:
        return iter(tf.data.Dataset.range(20).shuffle(8).batch(3).repeat(2))

    first = numbers()
    for _ in range(8):
        next(first)
    path = tf.train.Checkpoint(it=first).save(tmp_path / "c")
    wanted = [batch.numpy().tolist() for batch in first]
    second = numbers()
    next(second)
    tf.train.Checkpoint(it=second).restore(path).assert_consumed()
    assert [batch.numpy().tolist() for batch in second] == wanted
    with pytest.raises(tf.errors.InvalidArgumentError, match="no state of an iterator"):
        tf.train.Checkpoint(it=iter(tf.data.Dataset.range(3))).restore(path)


def test_saving_beside_training_keeps_the_values_of_the_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, free = threading.Event(), threading.Event()
    real = checkpoints.write_checkpoint

    def slow(*args: Any) -> None:
        begun.set()
        assert free.wait(10)
        real(*args)

    monkeypatch.setattr(checkpoints, "write_checkpoint", slow)
    v = tf.Variable(tf.ones([1000]))
    called: list[str] = []
    options = tf.train.CheckpointOptions(enable_async=True, experimental_write_callbacks=[called.append])
    checkpoint = tf.train.Checkpoint(v=v)
    path = checkpoint.save(tmp_path / "c", options=options)
    assert begun.wait(10)
    v.assign_add(tf.ones([1000]))
    assert tf.train.latest_checkpoint(tmp_path) is None and called == []
    free.set()
    checkpoint.sync()
    assert tf.train.latest_checkpoint(tmp_path) == path and called == [path]
    assert v.numpy()[0] == 2.0
    checkpoint.restore(path).assert_consumed()
    assert v.numpy()[0] == 1.0
    monkeypatch.setattr(checkpoints, "write_checkpoint", lambda *args: 1 / 0)
    checkpoint.save(tmp_path / "c", options=options)
    with pytest.raises(ZeroDivisionError):
        checkpoint.sync()


def test_a_function_writes_in_every_call(tmp_path: Path) -> None:
    v = tf.Variable([1.0, 2.0])
    text = tf.Variable("x")
    checkpoint = tf.train.Checkpoint(v=v, text=text)

    @tf.function
    def write(path: Any) -> Any:
        v.assign_add([1.0, 1.0])
        return checkpoint.write(path)

    for i in range(2):
        assert write(tf.constant(f"{tmp_path}/{i}")).numpy() == f"{tmp_path}/{i}".encode()
    assert tf.train.load_variable(tmp_path / "1", "v/.ATTRIBUTES/VARIABLE_VALUE").tolist() == [3.0, 4.0]
    assert tf.train.load_variable(tmp_path / "0", "v/.ATTRIBUTES/VARIABLE_VALUE").tolist() == [2.0, 3.0]
    assert tf.train.load_variable(tmp_path / "0", "text/.ATTRIBUTES/VARIABLE_VALUE") == b"x"
    with pytest.raises(NotImplementedError, match=r"save\(\) from a function is not supported"):
        tf.function(lambda: checkpoint.save("c"))()


def test_what_is_in_a_checkpoint_is_told_by_keys(tmp_path: Path) -> None:
    path = tf.train.Checkpoint(a=tf.Variable([1.0]), s=tf.Variable("t")).save(tmp_path / "c")
    reader = tf.train.load_checkpoint(tmp_path)
    assert reader.has_tensor("a/.ATTRIBUTES/VARIABLE_VALUE") and not reader.has_tensor("a")
    assert reader.get_tensor("s/.ATTRIBUTES/VARIABLE_VALUE") == b"t"
    assert reader.get_variable_to_shape_map()["a/.ATTRIBUTES/VARIABLE_VALUE"] == [1]
    assert b"a/.ATTRIBUTES/VARIABLE_VALUE (DT_FLOAT) [1]" in reader.debug_string()
    with pytest.raises(tf.errors.NotFoundError, match="Key b not found in checkpoint"):
        tf.train.load_variable(path, "b")
    with pytest.raises(ValueError, match="Couldn't find 'checkpoint' file"):
        tf.train.load_checkpoint(tmp_path.parent)
    with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files"):
        tf.train.load_checkpoint(tmp_path / "none")
    with pytest.raises(tf.errors.NotFoundError, match="missing the checkpoint suffix"):
        tf.train.Checkpoint().restore(tmp_path / "c")
    view = tf.train.CheckpointView(path)
    assert view.children(0) == {"a": 1, "s": 2, "save_counter": 3}
    assert view.descendants() == [0, 1, 2, 3]
    assert len(tf.train.TrackableView(tf.train.Checkpoint(a=tf.Variable(1.0))).descendants()) == 2
    other = tf.train.Checkpoint(a=tf.Variable(1.0), b=tf.Variable(2.0))
    found, unmatched, own = view.diff(other)
    assert found == view.match(other) and found[0] is other and found[1] is other.a and own == [other.b]
    assert (unmatched, list(found)) == ([2, 3], [0, 1])
    with pytest.raises(ValueError, match="Expected a Trackable, got 3"):
        view.match(3)


# -- Managers


def test_a_manager_keeps_the_latest(tmp_path: Path) -> None:
    v = tf.Variable(0)
    checkpoint = tf.train.Checkpoint(v=v)
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    assert manager.latest_checkpoint is None and manager.checkpoints == []
    for i in range(1, 5):
        v.assign(i)
        assert manager.save() == f"{tmp_path}/ckpt-{i}"
    assert manager.checkpoints == [f"{tmp_path}/ckpt-3", f"{tmp_path}/ckpt-4"]
    assert sorted(os.listdir(tmp_path)) == [
        "checkpoint", *[f"ckpt-{i}.{end}" for i in (3, 4) for end in ("data-00000-of-00001", "index")],
    ]  # fmt: skip
    again = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=1)
    assert again.checkpoints == manager.checkpoints
    v.assign(0)
    assert again.restore_or_initialize() == f"{tmp_path}/ckpt-4"
    assert v.numpy() == 4
    assert again.save(checkpoint_number=9) == f"{tmp_path}/ckpt-9"
    assert again.checkpoints == [again.latest_checkpoint] == [tf.train.latest_checkpoint(tmp_path)]
    state = tf.train.get_checkpoint_state(tmp_path)
    assert state.all_model_checkpoint_paths == [f"{tmp_path}/ckpt-9"]
    with pytest.raises(ValueError, match="positive integer or `None`"):
        tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=0)
    again.save()
    named = [f"{tmp_path}/ckpt-9", again.latest_checkpoint]
    update_checkpoint_state(tmp_path, again.latest_checkpoint, named, all_model_checkpoint_timestamps=[9e9, 9e9])

    Path(f"{tmp_path}/ckpt-9.data-00000-of-00001").write_bytes(b"")  # killed between the two
    third = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    assert third.checkpoints == [again.latest_checkpoint]
    third.save()
    assert len(third.checkpoints) == 2 and not list(tmp_path.glob("ckpt-9*"))


def test_a_manager_keeps_one_in_so_many_hours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    checkpoint = tf.train.Checkpoint(v=tf.Variable(0))
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, 1, keep_checkpoint_every_n_hours=2.0)
    for _ in range(6):
        now += 3600
        manager.save()
    left = sorted(name for name in os.listdir(tmp_path) if name.endswith(".index"))
    assert left == ["ckpt-2.index", "ckpt-4.index", "ckpt-6.index"]
    assert manager.checkpoints == [f"{tmp_path}/ckpt-6"]


def test_a_manager_waits_for_steps_and_initializes(tmp_path: Path) -> None:
    step = tf.Variable(0)
    begun: list[int] = []
    checkpoint = tf.train.Checkpoint(step=step)
    with pytest.raises(ValueError, match="`step_counter` should be passed"):
        tf.train.CheckpointManager(checkpoint, tmp_path, 3, checkpoint_interval=5)
    manager = tf.train.CheckpointManager(
        checkpoint, tmp_path, 3, step_counter=step, checkpoint_interval=5, init_fn=lambda: begun.append(1)
    )
    assert manager.restore_or_initialize() is None and begun == [1]
    saved = []
    for i in range(12):
        step.assign(i)
        saved.append(manager.save() is not None)
    assert [i for i, there in enumerate(saved) if there] == [0, 5, 10]
    assert manager.save(check_interval=False) is not None
    assert manager.save(check_interval=False) is None


def test_new_checkpoints_are_waited_for(tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint(v=tf.Variable(0))
    paths = [checkpoint.save(tmp_path / "c")]
    found = tf.train.checkpoints_iterator(tmp_path, timeout=0.0)
    assert next(found) == paths[0]
    paths.append(checkpoint.save(tmp_path / "c"))
    assert list(found) == [paths[1]]
    asked: list[int] = []
    other = tf.train.checkpoints_iterator(tmp_path / "none", timeout=0.0, timeout_fn=lambda: asked.append(1) or True)
    assert list(other) == [] and asked == [1]


def test_the_file_of_a_folder_says_which_is_the_latest(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tf.train.Checkpoint(v=tf.Variable(0)).save(tmp_path / "ü'\"c")
    assert tf.train.latest_checkpoint(tmp_path) == path
    state = tmp_path / "checkpoint"
    state.write_text('model_checkpoint_path: "moved/\\303\\274-1"\nall_model_checkpoint_paths: "a\\"b"\n')
    assert tf.train.get_checkpoint_state(tmp_path).model_checkpoint_path == f"{tmp_path}/moved/ü-1"
    assert tf.train.get_checkpoint_state(tmp_path).all_model_checkpoint_paths == [f'{tmp_path}/a"b']
    assert tf.train.latest_checkpoint(tmp_path) is None  # named, and not there
    with caplog.at_level(logging.WARNING, logger="tensorflow"):
        state.write_text("model_checkpoint_path: 3 what")
        assert tf.train.get_checkpoint_state(tmp_path) is None
    assert "Checkpoint ignored" in caplog.text
    state.write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state"):
        tf.train.get_checkpoint_state(tmp_path)
    with pytest.raises(RuntimeError, match="conflicts with path used for checkpoint state"):
        from fastgraph.saving.checkpoint_state import update_checkpoint_state

        update_checkpoint_state(tmp_path, state)


def test_folders_are_no_checkpoints_and_numbers_are_prefixes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1))
    assert checkpoint.save(3) == "3-1" and (tmp_path / "3-1.index").exists()
    with pytest.raises(tf.errors.DataLossError, match="it is a directory; a checkpoint is meant by its prefix"):
        checkpoint.restore(tmp_path)


@pytest.mark.parametrize("locks", [True, False])
def test_what_a_killed_process_left_of_a_state_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, locks: bool
) -> None:
    left, new = [tmp_path / f"checkpoint.tmp{n:016x}" for n in range(2)]
    for path in (left, new):
        path.write_text("")
    os.utime(left, (time.time() - 4000,) * 2)
    if not locks:
        monkeypatch.setattr(folder_lock, "try_lock", lambda file: None)
    tf.train.Checkpoint(v=tf.Variable(1)).save(tmp_path / "c")
    assert not left.exists() and new.exists() is not locks  # without locks another process may be writing that


def test_what_a_manager_removes_is_named_until_it_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that ends amid removing, time and again, leaves nothing behind for ever."""
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    unlink = os.unlink

    def broken_off(path: str) -> None:
        if ".data" in str(path):
            raise KeyboardInterrupt
        unlink(path)

    tf.train.CheckpointManager(checkpoint, tmp_path, 1).save(1)
    for number in range(2, 5):
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
            patched.setattr(os, "unlink", broken_off)
            tf.train.CheckpointManager(checkpoint, tmp_path, 1).save(number)
    tf.train.CheckpointManager(checkpoint, tmp_path, 1).save(5)
    assert {path.name.split(".")[0] for path in tmp_path.iterdir()} == {"checkpoint", "ckpt-5"}


def test_a_variable_in_two_places_has_the_value_of_the_first(tmp_path: Path) -> None:
    apart, together = tf.Module(), tf.Module()
    apart.x, apart.y = tf.Variable(1.0), tf.Variable(2.0)
    path = tf.train.Checkpoint(m=apart).write(tmp_path / "c")
    together.x = together.y = tf.Variable(0.0)
    tf.train.Checkpoint(m=together).read(path).assert_consumed()
    assert together.x.numpy() == 1.0  # as in TensorFlow
