"""A store that is unwritable, torn, tampered with, foreign, open to others, or from elsewhere: one warning, no harm."""

from __future__ import annotations

import os
import resource
import stat
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from elementwise_kernels import elementwise, run

from fastgraph import __main__
from fastgraph.compiler.store import kernel_service, store_key
from fastgraph.compiler.store import kernel_store as store_module
from fastgraph.compiler.store.kernel_store import Store
from fastgraph.core.base import flags

KEY = "ab" * 20
root_only = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
not_root = pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root can write anywhere")


def stored(tmp_path: Path, code: bytes = b"the code of a kernel") -> tuple[Store, Path]:
    """A store with one kernel, and that kernel's file."""
    place = Store(str(tmp_path / "kernels"), 1 << 20)
    assert place.write(KEY, code)
    return place, Path(place.directory) / f"{KEY}.kernel"


def one_warning(place: Store, match: str) -> None:
    """Reading and writing warn once, together, and do not raise."""
    with pytest.warns(RuntimeWarning, match=match) as caught:
        assert place.read(KEY) is None
        assert place.read(KEY) is None
        place.write(KEY, b"new")
    assert len([w for w in caught if issubclass(w.category, RuntimeWarning)]) == 1


@pytest.mark.parametrize("keep", [0, 1, 18, 30, 58, 60, 75, 109])
def test_torn_file(tmp_path: Path, keep: int) -> None:
    """Cut anywhere: recompiled, and then the store is whole again."""
    place, file = stored(tmp_path)
    data = file.read_bytes()
    assert keep < len(data)
    file.write_bytes(data[:keep])
    one_warning(place, "torn or was changed|made again")
    assert place.read(KEY) == b"new"


def test_every_changed_byte_is_noticed(tmp_path: Path) -> None:
    place, file = stored(tmp_path)
    data = file.read_bytes()
    for at in range(len(data)):
        file.write_bytes(data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert place.read(KEY) is None, at
    file.write_bytes(data)
    assert place.read(KEY) == b"the code of a kernel"


def test_a_file_under_another_kernels_name(tmp_path: Path) -> None:
    """A whole file, but not the one its name says: the key inside counts."""
    place, file = stored(tmp_path)
    other = "cd" * 20
    file.rename(file.with_name(f"{other}.kernel"))
    with pytest.warns(RuntimeWarning, match="another kernel"):
        assert place.read(other) is None


def test_directory_open_to_others(tmp_path: Path) -> None:
    for mode in (0o777, 0o770, 0o702):
        place, _ = stored(tmp_path / oct(mode))
        os.chmod(place.directory, mode)
        one_warning(place, f"others can write to it \\(mode 0{mode:o}\\)")
        assert not place.info().usable and "others can write" in place.info().why_not
        with pytest.raises(PermissionError, match="left alone"):
            place.clear()


def test_file_open_to_others(tmp_path: Path) -> None:
    place, file = stored(tmp_path)
    file.chmod(0o666)
    one_warning(place, "others can write to it")


@root_only
def test_foreign_directory(tmp_path: Path) -> None:
    place, _ = stored(tmp_path)
    os.chown(place.directory, 12345, -1)
    one_warning(place, "belongs to another user")


@root_only
def test_foreign_file(tmp_path: Path) -> None:
    place, file = stored(tmp_path)
    os.chown(file, 12345, -1)
    one_warning(place, "belongs to another user")


def test_links_are_not_followed(tmp_path: Path) -> None:
    place, file = stored(tmp_path)
    target = tmp_path / "target"
    file.rename(target)
    file.symlink_to(target)
    with pytest.warns(RuntimeWarning, match="not used"):
        assert place.read(KEY) is None
    (tmp_path / "link").symlink_to(place.directory)
    with pytest.warns(RuntimeWarning, match="not used"):
        assert Store(str(tmp_path / "link"), 1).read(KEY) is None


@pytest.mark.timeout(20)
def test_a_pipe_or_a_directory_in_place_of_a_file(tmp_path: Path) -> None:
    place, file = stored(tmp_path)
    file.unlink()
    os.mkfifo(file)
    with pytest.warns(RuntimeWarning, match="not a plain file"):
        assert place.read(KEY) is None
    place = Store(place.directory, 1)
    file.mkdir()
    with pytest.warns(RuntimeWarning, match="not a plain file"):
        assert place.read(KEY) is None


@not_root
def test_unwritable_directory_as_a_user(tmp_path: Path) -> None:
    place, _ = stored(tmp_path)
    os.chmod(place.directory, 0o500)
    with pytest.warns(RuntimeWarning, match="cannot write"):
        assert not place.write("cd" * 20, b"code")
    assert place.read(KEY) == b"the code of a kernel"
    os.chmod(place.directory, 0o700)


def test_unwritable_directory(tmp_path: Path) -> None:
    """A file stands where the directory, or one above it, should be."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    for directory in (blocked, blocked / "kernels"):
        place = Store(str(directory), 1)
        with pytest.warns(RuntimeWarning, match="not used") as caught:
            assert not place.write(KEY, b"code")
            assert not place.write(KEY, b"code")
            assert place.read(KEY) is None
        assert len(caught) == 1


def test_a_full_disk_leaves_no_half_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = Store(str(tmp_path / "kernels"), 1 << 20)

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(store_module.os, "rename", full)
    with pytest.warns(RuntimeWarning, match="No space left"):
        assert not place.write(KEY, b"code")
    assert os.listdir(place.directory) == []


def test_killed_while_writing_leaves_nothing_that_is_read(tmp_path: Path) -> None:
    """A temporary file left behind is never taken for a kernel, and goes after a while."""
    place, file = stored(tmp_path)
    abandoned = file.with_name(".new-1-0123")
    abandoned.write_bytes(file.read_bytes()[:50])
    assert place.info().kernels == 1
    os.utime(abandoned, (1, 1))
    Store(place.directory, 1 << 20).write("cd" * 20, b"code")
    assert not abandoned.exists()


def test_killed_while_making_the_key(tmp_path: Path) -> None:
    """What was to become the key goes as well, the key and what another process writes now stay."""
    key = tmp_path / "state" / "key"
    place = Store(str(tmp_path / "kernels"), 1 << 20, str(key))
    key.parent.mkdir()
    files = [key.with_name(f"{name}.new-1-01") for name in ("key", "key", "other")]
    files[1] = files[1].with_name("key.new-2-02")
    for file in files:
        file.write_bytes(b"half")
    os.utime(files[0], (1, 1))
    os.utime(files[2], (1, 1))
    assert place.write(KEY, b"code")
    assert [file.exists() for file in files] == [False, True, True] and place.read(KEY) == b"code"


def test_code_of_another_version_or_cpu_is_not_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It lies under another key, so it is not even found."""
    from fastgraph.compiler.cpu import target

    spec = elementwise("a * a", ("float32",), "float32")
    with flags.override(store=str(tmp_path / "kernels"), worker=False):
        handle = kernel_service.request([spec])[0]
        assert handle.wait(60)
        here = handle.key
        real = target.host()
        monkeypatch.setattr(target, "host", lambda: target.Host(real.triple, "another-cpu", real.features))
        target._environment.cache_clear()
        target.environment.cache_clear()
        assert target.kernel_key(spec) != here
        monkeypatch.undo()
        target._environment.cache_clear()
        target.environment.cache_clear()


@pytest.mark.parametrize("fault", ["torn", "nonsense", "blocked", "open"])
def test_a_request_goes_on(tmp_path: Path, fault: str) -> None:
    """Through the whole desk: one warning, the kernel is compiled, the result is right."""
    directory = tmp_path / "kernels"
    spec = elementwise("a * float32(3)", ("float32",), "float32", fault)
    with flags.override(store=str(directory), worker=False):
        first = kernel_service.request([spec])[0]
        assert first.wait(60)
        file = directory / f"{first.key}.kernel"
        deadline = time.monotonic() + 10
        while not file.exists() and time.monotonic() < deadline:  # the code is stored just after it is ready
            time.sleep(0.01)
        key = first.key
        first.close()
        if fault == "torn":
            file.write_bytes(file.read_bytes()[:-9])
        elif fault == "nonsense":  # rightly sealed, but no object code: the linker refuses it
            file.write_bytes(
                store_module._sealed(key, ".kernel", b"no object code", store_module.store()._secret(create=False))
            )
            file.chmod(0o600)
        elif fault == "open":
            directory.chmod(0o777)
        else:
            file.unlink()
            directory.rmdir()
            directory.write_text("")
        store_module._stores.clear()
        with pytest.warns(RuntimeWarning) as caught:
            second = kernel_service.request([spec])[0]
            assert second.wait(60)
        assert len([w for w in caught if "store" in str(w.message)]) == 1
        assert run(second.address, [np.arange(3, dtype=np.float32)], np.float32).tolist() == [0, 3, 6]


@pytest.mark.parametrize("package", ["numba", "llvmlite"])
@pytest.mark.parametrize("error", ["ImportError", "RuntimeError", "OSError", "SystemError"])
@pytest.mark.parametrize("worker", ["1", "0"])
def test_a_missing_or_broken_compiler_is_told_once(tmp_path: Path, package: str, worker: str, error: str) -> None:
    """Whatever the number of Functions, and whatever its import raises: one warning, and their ops run uncompiled."""
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text(f"raise {error}('No module named {package}')")
    program = (
        "import fastgraph as tf\n"
        "functions = [tf.function(lambda x, i=i: tf.reduce_sum(tf.sin(x) * i), autograph=False) for i in range(3)]\n"
        "for _ in range(2):\n"
        "    for i, f in enumerate(functions): assert abs(float(f(tf.constant([1.0]))) - i * 0.84147) < 1e-4\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(tmp_path), str(Path(__file__).parents[2])]),
            "FASTGRAPH_STORE": str(tmp_path / "kernels"),
            "FASTGRAPH_WORKER": worker,
            "FASTGRAPH_TIER": "last",
        },
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("Warning:") == 1 and f"No module named {package}" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


# ---- whose code it is ----


def test_code_that_another_key_has_authenticated_is_not_run(tmp_path: Path) -> None:
    """A store that was copied from elsewhere: one warning, until it is asked for by name; what is made anew is ours."""
    place, file = stored(tmp_path)
    data = file.read_bytes()
    for key in ("another.key", "none-yet.key"):
        copy = Store(place.directory, 1 << 20, str(tmp_path / key))
        if key == "another.key":
            assert copy.prepare()
        with pytest.warns(RuntimeWarning, match="another key") as caught:
            assert copy.read(KEY) is None and copy.read(KEY) is None
        assert len(caught) == 1 and "FASTGRAPH_STORE_TRUST=copied" in str(caught[0].message)
        assert file.read_bytes() == data  # it may be good for others
        assert Store(place.directory, 1 << 20, copy.key_file, copied=True).read(KEY) == b"the code of a kernel"
    assert copy.write(KEY, b"new") and copy.read(KEY) == b"new"
    with pytest.warns(RuntimeWarning, match="another key"):
        assert Store(place.directory, 1 << 20).read(KEY) is None


def test_a_forged_file_is_not_run(tmp_path: Path) -> None:
    """Right in all that can be computed without the key; and code that is ours, but under another name or kind."""
    place, file = stored(tmp_path)
    file.write_bytes(store_module._sealed(KEY, ".kernel", b"forged", b""))
    with pytest.warns(RuntimeWarning, match="another key"):
        assert place.read(KEY) is None
    for copied in (False, True):
        place, file = stored(tmp_path / str(copied))
        file.rename(file.with_suffix(store_module.CONVERTED))
        place = Store(place.directory, 1 << 20, copied=copied)
        with pytest.warns(RuntimeWarning, match="another kernel"):
            assert place.read(KEY, store_module.CONVERTED) is None


@pytest.mark.parametrize("fault", ["readable", "short", "link", "folder", "unwritable"])
def test_a_key_that_cannot_be_trusted(tmp_path: Path, fault: str) -> None:
    """Nothing is read and nothing written: one warning that names the key."""
    place, _ = stored(tmp_path)
    key = tmp_path / "a key"
    if fault == "unwritable":
        (tmp_path / "file").write_text("")
        key = tmp_path / "file" / "key"
    elif fault == "folder":
        key.mkdir()
    elif fault == "link":
        key.symlink_to(place.key_file)
    else:
        key.write_bytes(b"x" * (5 if fault == "short" else 32))
        key.chmod(0o644 if fault == "readable" else 0o600)
    place = Store(place.directory, 1 << 20, str(key))
    with pytest.warns(RuntimeWarning, match=f"its key {key} cannot be used") as caught:
        assert place.read(KEY) is None and not place.write(KEY, b"code") and not place.prepare()
    assert len(caught) == 1
    assert not place.info().usable and str(key) in place.info().why_not


def test_all_read_the_key_that_was_first(tmp_path: Path) -> None:
    found: list[bytes] = []
    ready = threading.Barrier(8)

    def make() -> None:
        ready.wait()
        found.append(store_key.made_key(str(tmp_path / "state" / "fastgraph" / "key")))

    threads = [threading.Thread(target=make) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and len(set(found)) == 1 and len(found[0]) == 32
    assert os.listdir(tmp_path / "state" / "fastgraph") == ["key"]


def test_without_a_umask_all_is_the_users_alone(tmp_path: Path) -> None:
    """The folders above as well, also where the doctor makes them."""
    before = os.umask(0)
    try:
        place = Store(str(tmp_path / "a" / "b" / "kernels"), 1 << 20, str(tmp_path / "c" / "d" / "key"))
        assert place.write(KEY, b"code")
        with flags.override(store=str(tmp_path / "e" / "f" / "kernels")):
            __main__.check_store()
    finally:
        os.umask(before)
    made = {path: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert len(made) == 10 and all(mode == (0o700 if path.is_dir() else 0o600) for path, mode in made.items())


# ---- how much of it ----


def test_a_limit_below_one_file_keeps_none_and_says_so(tmp_path: Path) -> None:
    place = Store(str(tmp_path / "kernels"), 50)
    with pytest.warns(RuntimeWarning, match="FASTGRAPH_STORE_LIMIT") as caught:
        assert not place.write(KEY, b"code") and not place.write("cd" * 20, b"code")
    assert len(caught) == 1 and place.info().kernels == 0


def test_without_a_store_nothing_is_made(tmp_path: Path) -> None:
    place = Store(str(tmp_path / "kernels"), 0)
    assert not place.write(KEY, b"code") and place.read(KEY) is None and not place.prepare()
    assert os.listdir(tmp_path) == []


def test_the_limit_holds_after_every_write(tmp_path: Path) -> None:
    place = Store(str(tmp_path / "kernels"), 4_000)
    for i in range(20):
        assert place.write(f"{i:040d}", bytes(1000))
        assert place.info().nbytes <= 4_000
        assert place.read(f"{i:040d}") is not None


def test_a_limit_of_the_system_is_told(tmp_path: Path) -> None:
    place = Store(str(tmp_path / "kernels"), 1 << 20)
    assert place.prepare()
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.warns(RuntimeWarning, match="cannot write to the kernel store .*: File too large") as caught:
            assert not place.write(KEY, bytes(1000)) and not place.write(KEY, bytes(1000))
        with pytest.warns(RuntimeWarning, match="100 bytes"):  # before it comes to that: what lingers can tell nobody
            Store(place.directory, 1 << 20).prepare()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert len(caught) == 1 and place.info().kernels == 0 and os.listdir(place.directory) == []
