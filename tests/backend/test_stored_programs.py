"""Programs in the store: the next process has nothing to make, and computes the same."""

from __future__ import annotations

import dataclasses
import marshal
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.assemble import assemble
from fastgraph.compiler.program import graph_key as keys
from fastgraph.compiler.program import packed, program
from fastgraph.compiler.program.graph_key import graph_key
from fastgraph.compiler.program.program import programs
from fastgraph.compiler.store import kernel_service, program_store
from fastgraph.compiler.store.kernel_store import PROGRAM, Store, store
from fastgraph.core.base import flags
from fastgraph.graph.ir import Graph
from fastgraph.runtime.executable import compile_graph

#: A number in the kernels of `chain`: each test has its own, since a kernel that a test before still holds is stored no
#: second time.
FACTOR = 3.0


@pytest.fixture(autouse=True)
def own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    global FACTOR
    FACTOR += 1.0
    for name in ("recall", "keep"):
        function = getattr(program_store, name)
        monkeypatch.setattr(program_store, name, getattr(function, "__wrapped__", function))
    with flags.override(store=str(tmp_path / "kernels"), tier="auto"):
        yield tmp_path / "kernels"


def chain(x: Any) -> Any:
    return fg.reduce_sum(fg.tanh(x) * FACTOR + x, axis=1), fg.exp(x - FACTOR)


def branches(x: Any) -> Any:
    return fg.exp(x) + 1.0 if fg.reduce_sum(x) > 0.0 else fg.nn.softmax(x)


def scalar_loop(x: Any) -> Any:
    n = fg.cast(fg.reduce_max(x), fg.int32)
    total = 0
    while n > 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        total += 1
    return total


def small_loop(x: Any) -> Any:
    state = x[0]
    for i in fg.range(4):
        state = fg.tanh(fg.linalg.matvec(x, state)) * fg.cast(i, fg.float32)
    return state


def stacked(x: Any) -> Any:
    rows = fg.TensorArray(fg.float32, 3)
    for i in fg.range(3):
        rows = rows.write(i, x[i] * 2.0)
    return rows.stack()


def gathered(x: Any) -> Any:
    order = fg.argsort(x[:, 0])
    return fg.gather(x, order), fg.boolean_mask(x, x > 0.0), fg.cumsum(x, axis=0)


def multiplied(x: Any) -> Any:
    return fg.matmul(fg.tanh(x), x, transpose_b=True)


def convolved(x: Any) -> Any:
    image = fg.reshape(x, (1, 3, 3, 1))
    return fg.nn.relu(fg.nn.conv2d(image, fg.ones((2, 2, 1, 4)), 1, "SAME") + 0.5)


def gradient(x: Any) -> Any:
    with fg.GradientTape() as tape:
        tape.watch(x)
        y = fg.reduce_sum(small_loop(x) ** 2)
    return tape.gradient(y, x)


CORPUS = [chain, branches, scalar_loop, small_loop, stacked, gathered, multiplied, convolved, gradient]
X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, -0.5], [-2.0, 1.0, 6.0]], np.float32)


def traced(body: Callable[[Any], Any], spec: Any = None) -> Graph:
    concrete = fg.function(body).get_concrete_function(fg.TensorSpec((3, 3)) if spec is None else spec)
    return compile_graph(concrete.executable.traced)


def flat(result: Any) -> list[np.ndarray[Any, Any]]:
    return [np.asarray(each) for each in fg.nest.flatten(result)]


@pytest.mark.parametrize("body", CORPUS)
def test_what_is_unpacked_packs_as_it_was(body: Callable[[Any], Any]) -> None:
    graph, again = traced(body), traced(body)
    made = assemble(graph, [(3, 3)])
    data = packed.pack(made)
    other = packed.unpack(marshal.loads(marshal.dumps(data)), again)
    assert packed.pack(other) == data
    assert other.graph is again and other.constants.keys() == made.constants.keys()
    assert [type(s) for p in programs(other) for s in p.steps] == [type(s) for p in programs(made) for s in p.steps]
    assert [s.name for p in programs(other) for s in p.steps] == [s.name for p in programs(made) for s in p.steps]
    assert other.alike.keys() == set(again.nodes) & other.alike.keys()


def test_each_field_of_a_step_has_a_form() -> None:
    """A new kind of field is to be packed as what it is."""
    plain = {
        "int",
        "float",
        "bool",
        "str",
        "tuple[int, ...]",
        "tuple[tuple[int, int], ...]",
        "tuple[tuple[int, ...], ...]",
    }
    for kind in packed._KINDS:
        for field in dataclasses.fields(kind):
            assert str(field.type) in plain | set(packed._FORMS), (kind, field.name)
    assert (
        len(packed._KINDS)
        == sum(isinstance(each, type) and issubclass(each, program.Step) for each in vars(program).values()) - 1
    )


@pytest.mark.parametrize("body", CORPUS)
def test_the_next_trace_runs_compiled_from_its_first_call_on(own_store: Path, body: Callable[[Any], Any]) -> None:
    expected = flat(body(fg.constant(X)))
    first = fg.function(body)
    assert first.get_concrete_function(fg.constant(X)).wait(60.0)
    compiled = flat(first(fg.constant(X)))
    assert soon(lambda: list(own_store.glob(f"*{PROGRAM}")))
    kept = kernel_service.statistics().compiled
    second = fg.function(body)
    results = flat(second(fg.constant(X)))
    executable = second.get_concrete_function(fg.constant(X)).executable
    assert executable._plans and not executable._has_run
    assert kernel_service.statistics().compiled == kept
    for a, b, c in zip(expected, compiled, results, strict=True):
        np.testing.assert_allclose(c, a, rtol=1e-5, atol=1e-6)
        assert b.tobytes() == c.tobytes()
    other = X[::-1] * 0.5
    np.testing.assert_allclose(
        flat(second(fg.constant(other)))[0], flat(body(fg.constant(other)))[0], rtol=1e-5, atol=1e-6
    )


def test_one_program_serves_all_sizes_of_what_is_unknown() -> None:
    spec = fg.TensorSpec((None, 3))
    first = fg.function(chain, input_signature=[spec])
    assert first.get_concrete_function().wait(60.0)
    second = fg.function(chain, input_signature=[spec])
    for rows in (3, 1, 5):
        x = np.arange(rows * 3, dtype=np.float32).reshape(rows, 3)
        for a, b in zip(flat(second(fg.constant(x))), flat(chain(fg.constant(x))), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)


def test_checks_of_a_stored_program_say_what_is_wrong() -> None:
    def body(x: Any) -> Any:
        return fg.gather(x * 2.0, fg.cast(x[:, 0], fg.int32)) + 1.0

    assert fg.function(body).get_concrete_function(fg.constant(X)).wait(60.0)
    wrong = fg.constant(X + 10.0)
    second = fg.function(body)
    for _ in range(2):
        with pytest.raises(fg.errors.InvalidArgumentError, match=r"indices\[0\] = 10 is not in \[0, 3\)"):
            second(wrong)


def test_the_key_is_of_what_the_program_depends_on() -> None:
    def key(body: Callable[[Any], Any], shapes: Any = ((3, 3),)) -> str | None:
        return graph_key(traced(body), shapes)

    keys = [
        key(lambda x: x * 2.0), key(lambda x: x * 3.0), key(lambda x: x * -2.0), key(lambda x: x + 2.0),
        key(lambda x: fg.transpose(x) * 2.0), key(lambda x: x * 2.0, ((7, 3),)), key(lambda x: (x * 2.0, x)),
        key(lambda x: fg.matmul(x, fg.constant(X))), key(lambda x: fg.matmul(x, fg.constant(X + 1.0))),
        key(lambda x: fg.matmul(x, fg.ones((3, 2000)))), key(lambda x: fg.matmul(x, fg.zeros((3, 2000)) + 1.5)),
    ]  # fmt: skip
    assert None not in keys and len(set(keys)) == len(keys)
    assert key(lambda y: fg.multiply(y, 2.0, name="other")) == keys[0]
    with flags.override(passes=flags.get("passes") - {"fuse"}):
        assert graph_key(traced(lambda x: x * 2.0), ((3, 3),)) != keys[0]


def test_what_another_process_would_not_know_has_no_key() -> None:
    def body(x: Any) -> Any:
        return fg.numpy_function(lambda each: each + 1.0, [x], fg.float32)

    assert graph_key(traced(body), ((3, 3),)) is None
    function = fg.function(body)
    for _ in range(2):
        np.testing.assert_allclose(function(fg.constant(X)).numpy(), X + 1.0)


def test_other_files_of_the_package_have_other_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = keys._environment.__wrapped__
    monkeypatch.setattr(keys, "_PACKAGE", tmp_path)
    found = {environment()}
    (tmp_path / "room").mkdir()
    module = tmp_path / "room" / "module.py"
    for text in ("x = 1", "x = 22"):
        module.write_text(text)
        found.add(environment())
    assert environment() in found
    os.utime(module, (1, 1))
    found.add(environment())
    monkeypatch.setattr(keys, "vector_bits", lambda: 3)
    found.add(environment())
    assert len(found) == 5


def stored(folder: Path) -> Path:
    assert fg.function(chain).get_concrete_function(fg.constant(X)).wait(60.0)
    (found,) = soon(lambda: list(folder.glob(f"*{PROGRAM}")))
    return found


def soon(look: Callable[[], Any]) -> Any:
    """What `look` gives, before long: a Program is stored when it can run already."""
    end = time.monotonic() + 60.0
    while not (found := look()) and time.monotonic() < end:
        time.sleep(0.01)
    return found


def first_call() -> Any:
    """The executable of a new trace, which has run once."""
    function = fg.function(chain)
    for a, b in zip(flat(function(fg.constant(X))), flat(chain(fg.constant(X))), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)
    return function.get_concrete_function(fg.constant(X)).executable


@pytest.mark.filterwarnings("ignore:what is stored in")
@pytest.mark.parametrize("damage", ["torn", "changed", "of another graph", "no data", "of another machine"])
def test_what_is_no_program_of_this_graph_is_made_again(own_store: Path, damage: str) -> None:
    path = stored(own_store)
    whole = path.read_bytes()
    place, key = store(), path.name.removesuffix(PROGRAM)
    if damage == "torn":
        path.write_bytes(whole[: len(whole) // 2])
    elif damage == "changed":
        path.write_bytes(whole[:-80] + bytes([whole[-80] ^ 1]) + whole[-79:])
    elif damage == "of another graph":
        other = assemble(traced(branches), [(3, 3)])
        program_store.keep(key, other)
    elif damage == "no data":
        place.write(key, marshal.dumps((kernel_service.environment(), ((), (1, 2)))), PROGRAM)
    else:
        _, data = marshal.loads(place.read(key, PROGRAM) or b"")
        place.write(key, marshal.dumps((b"another", data)), PROGRAM)
    executable = first_call()
    assert executable._has_run
    assert executable.wait(60.0)
    assert soon(lambda: not first_call()._has_run)


def test_a_kernel_that_is_gone_is_compiled_again(own_store: Path) -> None:
    stored(own_store)
    assert not first_call()._has_run
    code = """
import sys, numpy as np, fastgraph as fg
from fastgraph.compiler.store import kernel_service
f = fg.function(lambda x: fg.reduce_sum(fg.tanh(x) * 5.0 + x, axis=1))
x = fg.constant(np.ones((4, 3), np.float32))
first = f(x).numpy()
print(first.tolist(), f.get_concrete_function(x).executable._has_run)
assert f.get_concrete_function(x).wait(60)
assert np.allclose(f(x).numpy(), first)
"""

    def run() -> str:
        environment = {**os.environ, "FASTGRAPH_STORE": str(own_store / "apart"), "FASTGRAPH_TIER": "auto"}
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=100, check=True
        )
        return done.stdout

    once = run()
    compiled = once.replace("True", "False")
    assert once.endswith("True\n") and soon(lambda: run() == compiled)
    for each in (own_store / "apart").glob("*.kernel"):
        each.unlink()
    assert run() == once and soon(lambda: run() == compiled)


def test_nothing_is_kept_where_there_is_no_store(own_store: Path) -> None:
    with flags.override(store_limit=0):
        executable = first_call()
        assert executable.wait(60.0)
    assert not own_store.exists()


def test_programs_count_as_what_the_store_holds(own_store: Path) -> None:
    path = stored(own_store)
    place = Store(str(own_store), 1 << 20)
    assert place.info().nbytes >= path.stat().st_size
    place.clear()
    assert not path.exists()
