"""Checkpoints at bad moments: killed while writing, a full disk, damaged files. What was complete stays so."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as tf
from fastgraph.graphdef.message_types import KINDS
from fastgraph.graphdef.wire_format import parsed, serialized
from fastgraph.saving.bundle_writer import BundleWriter
from fastgraph.saving.sstable import entries_of, table
from fastgraph.saving.tensor_bundle import BundleReader
from tests.fuzz import checkpoints

ROOT = Path(__file__).parents[2]
KEY = "v/.ATTRIBUTES/VARIABLE_VALUE"


@pytest.mark.slow
def test_killed_saves_leave_the_last_complete_checkpoint(tmp_path: Path) -> None:
    """30 of them; `make soak` kills 300."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.checkpoint_kills", str(tmp_path), "30", "1"], cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("30 killed, nothing lost\n", 0), done.stdout + done.stderr


def test_threads_that_write_one_bundle_take_turns(tmp_path: Path) -> None:
    def work(number: int) -> None:
        checkpoint = tf.train.Checkpoint(v=tf.Variable(tf.fill([3000], float(number))))
        for _ in range(15):
            checkpoint.write(tmp_path / "c")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(1, 5)))
    v = tf.Variable(tf.zeros([3000]))
    tf.train.Checkpoint(v=v).read(tmp_path / "c").assert_consumed()
    assert len({*v.numpy().tolist()}) == 1 and v.numpy()[0] > 0
    assert len(os.listdir(tmp_path)) == 2


def test_of_two_that_write_one_bundle_the_last_to_finish_is_there(tmp_path: Path) -> None:
    path = str(tmp_path / "b")
    for of_an_older_one in range(2):
        with BundleWriter(path) as first, BundleWriter(path) as second:
            first.add("a", np.full(5, 1))
            second.add("a", np.full(5, 2))
            first.prepare()
            second.prepare()
            first.finish()
            assert BundleReader(path).read("a").tolist() == [1] * 5, of_an_older_one
            second.finish()
        assert BundleReader(path).read("a").tolist() == [2] * 5
        assert len(os.listdir(tmp_path)) == 2


def test_what_killed_writers_left_goes_and_what_is_being_written_stays(tmp_path: Path) -> None:
    def killed(name: str) -> None:
        child = os.fork()
        if child == 0:
            BundleWriter(str(tmp_path / name)).add("a", np.zeros(5))
            os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(child, 0)

    killed("c-7")
    killed("other")
    assert len(os.listdir(tmp_path)) == 4
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(v=tf.Variable(1.0)), tmp_path, 2, checkpoint_name="c")
    with BundleWriter(str(tmp_path / "c-8")) as living:
        living.add("a", np.ones(5))
        manager.save()
        names = " ".join(os.listdir(tmp_path))
        assert "c-7." not in names and names.count("c-8.") == 2 and names.count("other.") == 2
        living.finish()
    tf.train.Checkpoint().write(tmp_path / "other")
    written = [f"{name}{end}" for name in ("c-1", "c-8", "other") for end in (".data-00000-of-00001", ".index")]
    assert sorted(os.listdir(tmp_path)) == [*written[:4], "checkpoint", *written[4:]]


def test_a_handler_that_saves_amid_a_save_waits_for_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, other = [tf.train.Checkpoint(v=tf.Variable(value)) for value in (1.0, 2.0)]
    replace = os.replace

    def signalled(*paths: str) -> None:
        os.kill(os.getpid(), signal.SIGUSR1)
        replace(*paths)

    def save(*_: object) -> None:
        monkeypatch.setattr(os, "replace", replace)
        other.write(tmp_path / "c")

    before = signal.signal(signal.SIGUSR1, save)
    try:
        monkeypatch.setattr(os, "replace", signalled)
        checkpoint.write(tmp_path / "c")
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert tf.train.load_variable(str(tmp_path / "c"), KEY) == 2.0


def saved(folder: Path, n: int = 3000) -> tuple[str, Any, Any]:
    """A checkpoint of two Variables and a string, and such Variables with other values."""
    v, w, s = tf.Variable(np.arange(float(n))), tf.Variable([1.0, 2.0]), tf.Variable(["one", "two"])
    path = tf.train.Checkpoint(v=v, w=w, s=s).write(folder / "c")
    v.assign(-v)
    w.assign([0.0, 0.0])
    s.assign(["", ""])
    return path, tf.train.Checkpoint(v=v, w=w, s=s), (v, w, s)


def refused(checkpoint: Any, path: str, kind: Any, text: str, variables: Any) -> None:
    """Reading raises this error, and no value is another one."""
    before = [variable.numpy().tolist() for variable in variables]
    with pytest.raises(kind, match=text):
        checkpoint.read(path)
    assert [variable.numpy().tolist() for variable in variables] == before


def _flip(path: str, at: int) -> None:
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))


@pytest.mark.parametrize("large", [False, True])
def test_a_wrong_checksum_names_the_key(large: bool, tmp_path: Path) -> None:
    path, checkpoint, variables = saved(tmp_path, 3_000_000 if large else 3000)
    data = path + ".data-00000-of-00001"
    at = os.path.getsize(data) - 16 - 5000  # in `v`, behind which `w` lies
    _flip(data, at)
    refused(checkpoint, path, tf.errors.DataLossError, f"Checksum does not match for {KEY}", variables)
    with pytest.raises(tf.errors.DataLossError, match=KEY):
        tf.train.load_variable(path, KEY)


def test_truncated_missing_and_foreign_files_are_refused(tmp_path: Path) -> None:
    path, checkpoint, variables = saved(tmp_path)
    data, index = path + ".data-00000-of-00001", path + ".index"
    content, table_of = Path(data).read_bytes(), Path(index).read_bytes()
    Path(data).write_bytes(content[:-100])
    refused(checkpoint, path, tf.errors.DataLossError, r"truncated", variables)
    os.unlink(data)
    refused(checkpoint, path, tf.errors.NotFoundError, r"\.data-00000-of-00001; No such file", variables)
    Path(data).write_bytes(content)
    for damaged in (table_of[:-1], table_of[: len(table_of) // 2], b"", b"\0" * 200, os.urandom(500)):
        Path(index).write_bytes(damaged)
        refused(checkpoint, path, tf.errors.DataLossError, r"\.index: not an sstable", variables)
    for at in range(0, len(table_of) - 48, 7):
        Path(index).write_bytes(table_of)
        _flip(index, at)
        with pytest.raises(tf.errors.OpError):
            checkpoint.read(path)
    Path(index).write_bytes(table_of)
    checkpoint.read(path).assert_consumed()


def test_what_does_not_fit_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    path, _, variables = saved(tmp_path)
    v, _, s = variables
    for other, kind, text in (
        (tf.Variable([0.0, 0.0, 0.0]), ValueError, r"incompatible tensor with shape \(2,\).*\(3,\).*w/.ATTRIBUTES"),
        (tf.Variable([0, 0]), tf.errors.InvalidArgumentError, "w/.ATTRIBUTES.*expected dtype int32"),
    ):
        checkpoint = tf.train.Checkpoint(v=v, w=other, s=s)
        refused(checkpoint, path, kind, text, (v, other, s))
    grows = tf.Variable([0.0], shape=[None])
    tf.train.Checkpoint(w=grows).read(path).expect_partial()
    assert grows.numpy().tolist() == [1.0, 2.0]


def test_a_file_that_asks_for_much_gets_nothing(tmp_path: Path) -> None:
    path, checkpoint, variables = saved(tmp_path)
    index = Path(path + ".index")
    rows = entries_of(index.read_bytes(), "c")

    def changed(**fields: Any) -> None:
        entry = parsed(rows[KEY.encode()], "BundleEntry")
        for name, value in fields.items():
            if name == "shape":
                entry.shape.dim[:] = [KINDS["Dim"](size=n) for n in value]
            else:
                setattr(entry, name, value)
        index.write_bytes(table(sorted({**rows, KEY.encode(): serialized(entry)}.items())))

    for fields in (
        {"shape": [1 << 40]}, {"shape": [1 << 40], "size": 8 << 40}, {"shape": [0, 1 << 62], "size": 0},
        {"offset": 1 << 40}, {"offset": -5}, {"shard_id": 7}, {"dtype": 99}, {"dtype": 7}, {"shape": [3] * 300},
        {"shape": [-3000]}, {"size": 10},
    ):  # fmt: skip
        changed(**fields)
        with pytest.raises((tf.errors.OpError, ValueError)):
            checkpoint.read(path)
        with pytest.raises((tf.errors.OpError, ValueError)):
            tf.train.load_variable(path, KEY)
    assert variables[1].numpy().tolist() == [0.0, 0.0]


def test_damaged_checkpoints_are_refused_or_restored() -> None:
    """`make soak` damages many more."""
    came = Counter(checkpoints.one(seed) for seed in range(100))
    assert came["DataLossError"] > 40 and came["restored"] > 10, came


def test_a_full_disk_leaves_the_checkpoint_before(tmp_path: Path) -> None:
    program = f"""
import resource, signal
import fastgraph as tf
v = tf.Variable(tf.ones([1000]))
checkpoint = tf.train.Checkpoint(v=v)
manager = tf.train.CheckpointManager(checkpoint, {str(tmp_path)!r}, 2)
manager.save()
big = tf.Variable(tf.ones([1000000]))
checkpoint.big = big
resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    manager.save()
except tf.errors.OutOfRangeError as error:
    print("refused", "File too large" in str(error))
print(int(checkpoint.save_counter) == 1 and manager.latest_checkpoint == tf.train.latest_checkpoint({str(tmp_path)!r}))
checkpoint.restore(manager.latest_checkpoint).expect_partial()
print(int(checkpoint.save_counter))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert (done.stdout.split(), done.returncode) == (["refused", "True", "True", "1"], 0), done.stderr
    assert sorted(os.listdir(tmp_path)) == ["checkpoint", "ckpt-1.data-00000-of-00001", "ckpt-1.index"]


def test_a_device_without_room_is_resource_exhausted() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("there is no /dev/full")
    from fastgraph.core.base.file_errors import raising_for

    with pytest.raises(tf.errors.ResourceExhaustedError, match="/dev/full; No space left"), raising_for("/dev/full"):
        with open("/dev/full", "wb", buffering=0) as file:
            file.write(b"x")


def test_folders_that_cannot_be_written_to_are_named(tmp_path: Path) -> None:
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    (tmp_path / "file").write_text("x")
    with pytest.raises(tf.errors.FailedPreconditionError, match="file is not a directory"):
        checkpoint.write(tmp_path / "file" / "c")
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(0o500)
    if os.access(folder, os.W_OK):  # root may write anywhere
        pytest.skip("this user may write to folders that are read-only")
    with pytest.raises(tf.errors.PermissionDeniedError, match="folder"):
        checkpoint.write(folder / "c")


def test_the_files_in_use_outlive_their_removal(tmp_path: Path) -> None:
    module = tf.Module()
    module.w = tf.Variable(3.0)
    path = tf.train.Checkpoint(module=module).save(tmp_path / "a" / "c")
    later = tf.Module()
    tf.train.Checkpoint(module=later, v=tf.Variable(0.0)).restore(path).expect_partial()
    shutil.rmtree(tmp_path / "a")
    later.w = tf.Variable(0.0)
    assert later.w.numpy() == 3.0
