"""The traces that a Function keeps: how many, which go, how they are found, and that nothing else stays."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.runtime import executable as executables
from fastgraph.staging import trace_cache
from fastgraph.staging.signature.relaxed_keys import masked


def first(x: Any, k: Any) -> Any:
    return x + 1.0


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a Function keep no more than 8 traces."""
    monkeypatch.setattr(trace_cache, "MOST_TRACES", 8)
    monkeypatch.setattr(trace_cache, "FEWEST_TRACES", 2)


def count(f: Any) -> int:
    return len(f._list_all_concrete_functions())


@pytest.mark.usefixtures("few")
def test_the_least_recently_used_traces_go() -> None:
    f = fg.function(first, autograph=False)
    kept = [f.get_concrete_function(fg.TensorSpec([], fg.float32), k) for k in range(8)]
    assert count(f) == 8
    assert f.get_concrete_function(fg.TensorSpec([], fg.float32), 0) is kept[0]
    f.get_concrete_function(fg.TensorSpec([], fg.float32), 8)
    assert count(f) == 8 and f.experimental_get_tracing_count() == 9
    assert f.get_concrete_function(fg.TensorSpec([], fg.float32), 0) is kept[0]
    assert f.experimental_get_tracing_count() == 9
    assert f.get_concrete_function(fg.TensorSpec([], fg.float32), 1) is not kept[1]
    assert f.experimental_get_tracing_count() == 10
    assert float(kept[1](fg.constant(1.0))) == 2.0  # who holds one can go on using it


@pytest.mark.usefixtures("few")
def test_what_the_fast_way_still_calls_stays() -> None:
    f = fg.function(first, autograph=False)
    x = fg.constant(1.0)
    f(x, "hot")
    f(x, "hot")
    for k in range(30):
        f(x, k)
        f(x, "hot")
    assert f.experimental_get_tracing_count() == 31
    f._forget_calls()  # from here on only the table knows it
    f(x, "hot")
    assert f.experimental_get_tracing_count() == 31


def test_large_graphs_are_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_cache, "MOST_NODES", 300)
    monkeypatch.setattr(trace_cache, "FEWEST_TRACES", 2)

    def long(x: Any, k: int) -> Any:
        for _ in range(100):
            x = x + 1.0
        return x

    f = fg.function(long, autograph=False)
    for k in range(6):
        f.get_concrete_function(fg.TensorSpec([], fg.float32), k)
    assert 2 <= count(f) < 6


def test_clear_cache_frees_the_graphs_and_keeps_the_variables() -> None:
    class Model:
        def __init__(self) -> None:
            self.v: Any = None

        @fg.function
        def call(self, x: Any) -> Any:
            if self.v is None:
                self.v = fg.Variable(2.0)
            return self.v * x

    m = Model()
    assert float(m.call(fg.constant(3.0))) == 6.0
    concrete = weakref.ref(m.call.get_concrete_function(fg.TensorSpec([], fg.float32)))
    traced = m.call.experimental_get_tracing_count()
    m.v.assign(5.0)
    m.call.clear_cache()
    gc.collect()
    assert concrete() is None and count(m.call) == 0
    assert float(m.call(fg.constant(3.0))) == 15.0
    assert m.call.experimental_get_tracing_count() == traced + 1


def test_clear_cache_of_a_method_is_for_all_objects() -> None:
    class Model:
        @fg.function(autograph=False)
        def call(self, x: Any) -> Any:
            return x

    models = [Model(), Model()]
    for m in models:
        m.call(fg.constant(1.0))
    assert [count(m.call) for m in models] == [1, 1]
    Model.call.clear_cache()
    assert [count(m.call) for m in models] == [0, 0]


def test_general_traces_are_found_among_hundreds() -> None:
    f = fg.function(first, autograph=False)
    specs = [fg.TensorSpec([None], fg.float32), fg.TensorSpec([None, 3], fg.float32), fg.TensorSpec([2, None, None])]
    found = {(i, k): f.get_concrete_function(spec, k) for k in range(40) for i, spec in enumerate(specs)}
    for k in (0, 17, 39):
        for i, shape in enumerate([(5,), (4, 3), (2, 7, 1)]):
            assert f.get_concrete_function(fg.TensorSpec(shape, fg.float32), k) is found[i, k]
    assert f.experimental_get_tracing_count() == 120
    f.get_concrete_function(fg.TensorSpec([4, 5], fg.float32), 0)
    f.get_concrete_function(fg.TensorSpec([4], fg.float64), 0)
    assert f.experimental_get_tracing_count() == 122
    unknown = f.get_concrete_function(fg.TensorSpec(None, fg.float32), "any")
    assert f.get_concrete_function(fg.TensorSpec([9, 9], fg.float32), "any") is unknown


def test_finding_a_general_trace_looks_at_few(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[Any] = []
    f = fg.function(first, autograph=False)
    for k in range(50):
        f.get_concrete_function(fg.TensorSpec([None, k], fg.float32), 0)
    real = trace_cache.hidden
    monkeypatch.setattr(trace_cache, "hidden", lambda *args: looked.append(1) or real(*args))
    f(fg.zeros([3, 7]), 0)
    assert len(looked) <= 2 and f.experimental_get_tracing_count() == 50


def test_keys_taken_apart() -> None:
    f = fg.function(lambda *x: x[0], autograph=False)
    f.get_concrete_function(fg.TensorSpec([None, 2]), fg.TensorSpec(None), 7)
    (kept,) = f._traces._kept.values()
    apart = masked(kept.key)
    assert apart.mask == ((True, False), None) and apart.sizes == ((2,), None) and kept.masked == apart


@pytest.mark.parametrize("name", ["C", "T", "type", "tensor"])
def test_a_dict_may_have_any_keys(name: str) -> None:
    f = fg.function(lambda d: d[name] + 1.0, reduce_retracing=True)
    for n in (1, 2, 3):
        np.testing.assert_array_equal(f({name: fg.zeros([n])}), np.ones(n))
    assert f.experimental_get_tracing_count() == 2


def test_a_general_trace_goes_with_the_object_it_was_made_for() -> None:
    class Model:
        bias = 0.0

    f = fg.function(lambda m, x: x + m.bias, reduce_retracing=True, autograph=False)
    m = Model()
    for n in (1, 2):
        f(m, fg.zeros([n]))
    assert count(f) == 2
    del m
    gc.collect()
    assert count(f) == 0
    for _ in range(20):  # a new object at the same address must not find the old trace
        other = Model()
        other.bias = 7.0
        assert float(f(other, fg.zeros([5]))[0]) == 7.0
        del other


def test_traces_go_with_the_variable_they_were_made_for() -> None:
    f = fg.function(lambda v, x: v + x, autograph=False)
    v = fg.Variable(1.0)
    assert float(f(v, fg.constant(1.0))) == 2.0 and count(f) == 1
    del v
    gc.collect()
    assert count(f) == 0


def resident() -> int:
    """The memory of this process, bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_does_not_grow_with_the_shapes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trace_cache, "MOST_TRACES", 64)
    f = fg.function(lambda x: x * 2.0 + 1.0, autograph=False)

    def calls(start: int, stop: int) -> None:
        for n in range(start, stop):
            f.get_concrete_function(fg.TensorSpec([n], fg.float32))(np.zeros([n], np.float32))
        gc.collect()

    calls(0, 400)
    before = resident()
    calls(400, 1600)
    assert count(f) == 64
    assert resident() - before < 6 << 20


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_is_bounded_for_ten_thousand_shapes() -> None:
    f = fg.function(lambda x: x * 2.0 + 1.0, autograph=False)
    used = []
    for n in range(10_000):
        f(np.zeros([n], np.float32))
        if n % 1000 == 999:
            gc.collect()
            used.append(resident())
    assert count(f) == trace_cache.MOST_TRACES
    assert used[-1] - used[1] < 16 << 20, used


@pytest.mark.soak
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="memory is read from /proc")
def test_memory_is_bounded_for_ten_thousand_sizes_of_one_signature() -> None:
    """One trace, one Program, and no more plans than are kept."""
    spec = fg.TensorSpec([None, 4], fg.float32)
    f = fg.function(lambda x: fg.reduce_sum(fg.tanh(x @ fg.ones([4, 3])), axis=0), input_signature=[spec])
    used = []
    with flags.override(tier="last"):
        for i, n in enumerate(np.random.default_rng(0).permutation(10_000)):
            f(fg.zeros([int(n), 4]))
            if i % 1000 == 999:
                gc.collect()
                used.append(resident())
        executable = f.get_concrete_function().executable
    assert count(f) == 1 and len(executable._versions) == 1 and len(executable._plans) <= executables.PLANS_KEPT
    assert used[-1] - used[1] < 16 << 20, used
