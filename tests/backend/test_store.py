"""The kernel store and the loader: what is written is read, a second process compiles nothing, kernels are released."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest
from elementwise_kernels import elementwise, run

from fastgraph.compiler.cpu.target import kernel_key
from fastgraph.compiler.store import kernel_service, kernel_store
from fastgraph.compiler.store.kernel_store import Store
from fastgraph.core.base import flags

KEY = "ab" * 20
OTHER = "cd" * 20


@pytest.fixture
def place(tmp_path: Path) -> Store:
    return Store(str(tmp_path / "kernels"), 1 << 20)


def test_what_is_written_is_read(place: Store) -> None:
    assert place.read(KEY) is None
    assert place.write(KEY, b"code")
    assert place.read(KEY) == b"code"
    assert place.read(OTHER) is None
    assert place.write(KEY, b"other code")
    assert place.read(KEY) == b"other code"
    assert Store(place.directory, 1).read(KEY) == b"other code"


def test_modes_are_the_users_alone(place: Store) -> None:
    place.write(KEY, b"code")
    folder = Path(place.directory)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(f.stat().st_mode) for f in folder.iterdir()] == [0o600]


def test_info_and_clear(place: Store) -> None:
    assert place.info().kernels == 0 and place.clear() == 0
    place.write(KEY, b"x" * 100)
    place.write(OTHER, b"y" * 100)
    info = place.info()
    assert (info.usable, info.kernels, info.limit) == (True, 2, 1 << 20)
    assert 300 < info.nbytes < 500
    assert place.clear() == 2
    assert place.info().kernels == 0 and place.read(KEY) is None


def test_least_recently_used_go_first(tmp_path: Path) -> None:
    place = Store(str(tmp_path / "kernels"), 1 << 20)
    for i in range(50):
        place.write(f"{i:040d}", bytes(1000))
        os.utime(Path(place.directory) / f"{i:040d}.kernel", (i, i))
    assert place.read(f"{3:040d}") is not None  # being read makes it recent
    fresh = Store(place.directory, 30_000)  # a new process looks at the size with its first write
    fresh.write(KEY, bytes(1000))
    assert fresh.info().nbytes <= 30_000
    assert fresh.read(f"{3:040d}") is not None and fresh.read(KEY) is not None
    assert fresh.read(f"{4:040d}") is None and fresh.read(f"{49:040d}") is not None


def test_key_covers_everything_the_code_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    from fastgraph.compiler.cpu import target

    spec = elementwise("exp_float32(a)", ("float32",), "float32")
    keys = {kernel_key(spec)}
    keys.add(kernel_key(elementwise("exp_float32(a)", ("float32",), "float64")))
    keys.add(kernel_key(elementwise("tanh_float32(a)", ("float32",), "float32")))
    real = target.host()
    changes = [
        ("ABI", 999),
        ("OPTIONS", "none"),
        ("host", lambda: target.Host(real.triple, "another-cpu", real.features)),
        ("host", lambda: target.Host(real.triple, real.cpu, real.features + ",+another")),
        ("_SOURCES", target._SOURCES[:-1]),
    ]
    for name, value in changes:
        with monkeypatch.context() as patch:
            patch.setattr(target, name, value)
            target._environment.cache_clear()
            target.environment.cache_clear()
            keys.add(kernel_key(spec))
    with monkeypatch.context() as patch:
        patch.setattr(target, "version", lambda package: "0.0")
        target._environment.cache_clear()
        target.environment.cache_clear()
        keys.add(kernel_key(spec))
    target._environment.cache_clear()
    target.environment.cache_clear()
    assert len(keys) == 3 + len(changes) + 1
    assert kernel_key(spec) in keys


PROGRAM = textwrap.dedent(
    """
    import hashlib
    import sys
    import numpy as np
    from elementwise_kernels import elementwise, run
    from fastgraph.compiler.store import kernel_service
    specs = [elementwise("exp_float32(a) * float32(%d)" % i, ("float32",), "float32") for i in range(3)]
    handles = kernel_service.request(specs)
    assert all(handle.wait(60) for handle in handles), [handle.error for handle in handles]
    x = np.linspace(-3, 3, 1001).astype("float32")
    s = kernel_service.statistics()
    out = b"".join(run(handle.address, [x], np.float32).tobytes() for handle in handles)
    digest = hashlib.sha256(out).hexdigest()
    print(s.loaded_from_store, s.compiled, s.failed, "numba" in sys.modules, digest)
    """
)


def _program(directory: Path, **environment: str) -> list[str]:
    here = str(Path(__file__).parent)
    path = os.pathsep.join([here, str(Path(__file__).parents[2])])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": path, "FASTGRAPH_STORE": str(directory), **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.split()


def test_second_process_compiles_nothing(tmp_path: Path) -> None:
    """It loads, imports no Numba, and computes the same bits; so does a third that has no worker."""
    first = _program(tmp_path / "kernels")
    assert first[:4] == ["0", "3", "0", "False"]
    assert _program(tmp_path / "kernels") == ["3", "0", "0", "False", first[4]]
    assert _program(tmp_path / "kernels", FASTGRAPH_WORKER="0") == ["3", "0", "0", "False", first[4]]


def test_two_processes_fill_one_store(tmp_path: Path) -> None:
    """At the same time; both end well, and the store is whole."""
    here = str(Path(__file__).parent)
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([here, str(Path(__file__).parents[2])]),
        "FASTGRAPH_STORE": str(tmp_path / "kernels"),
    }
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    ended = [process.communicate(timeout=120) for process in running]
    assert [error for _, error in ended] == ["", ""]
    assert len({out.split()[4] for out, _ in ended}) == 1
    assert _program(tmp_path / "kernels")[:2] == ["3", "0"]
    assert not [name for name in os.listdir(tmp_path / "kernels") if not name.endswith(".kernel")]


def test_equal_specs_share_one_library_and_the_last_user_releases_it(tmp_path: Path) -> None:
    spec = elementwise("a + a", ("float32",), "float32")
    with flags.override(store=str(tmp_path / "kernels"), worker=False):
        one, two = kernel_service.request([spec, spec])
        assert one.wait(60) and two.wait(60)
        assert one.address == two.address != 0
        one.close()
        assert one.address == 0 and not one.ready
        x = np.arange(5, dtype=np.float32)
        assert run(two.address, [x], np.float32).tolist() == [0, 2, 4, 6, 8]
        file = tmp_path / "kernels" / f"{two.key}.kernel"
        deadline = time.monotonic() + 10
        while not file.exists() and time.monotonic() < deadline:  # it is stored just after it is ready
            time.sleep(0.01)
        two.close()
        loaded = kernel_service.statistics().loaded_from_store
        (three,) = kernel_service.request([spec])
        assert three.ready and kernel_service.statistics().loaded_from_store == loaded + 1


def test_a_kernel_that_does_not_compile_says_why(tmp_path: Path) -> None:
    with flags.override(store=str(tmp_path / "kernels"), worker=False):
        (handle,) = kernel_service.request([elementwise("no_such_function(a)", ("float32",), "float32")])
        assert not handle.wait(60)
        assert handle.error is not None and "no_such_function" in handle.error
        assert not handle.ready and handle.address == 0


def test_undefined_symbols_are_held_against_a_list() -> None:
    """libm may be called; anything else is refused when the object is made."""
    import llvmlite.binding as llvm

    from fastgraph.compiler.cpu.loader import ALLOWED, Library, LoadError, undefined_symbols
    from fastgraph.compiler.cpu.target import host

    text = "declare i32 @system(ptr)\ndefine i32 @fg(ptr %p) {\n %r = call i32 @system(ptr %p)\n ret i32 %r\n}\n"
    code = host().machine().emit_object(llvm.parse_assembly(text))
    assert undefined_symbols(code) == {"system"}
    assert "system" not in ALLOWED
    with pytest.raises(LoadError):
        Library(code, "fg")
    with pytest.raises(LoadError):
        Library(b"no object at all", "fg")


def test_the_flags_name_the_store(tmp_path: Path) -> None:
    with flags.override(store=str(tmp_path / "elsewhere"), store_limit=123), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert kernel_store.store().directory == str(tmp_path / "elsewhere")
        assert kernel_store.store().info().limit == 123
        assert kernel_store.store().clear() == 0
