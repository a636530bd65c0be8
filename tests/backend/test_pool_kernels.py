"""Gradients of max_pool as kernels that go window by window: eager mode's bits, for known and unknown sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.compiler.assemble import assemble
from fastgraph.compiler.program.kernel_spec import KernelSpec
from fastgraph.core.base import flags
from fastgraph.ops.pooling_primitives import max_pool_grad_p, max_pool_p, max_pool_pick_p
from fastgraph.runtime.executable import compile_graph

#: shape, window, strides, padding
CASES = {
    "side by side": ((3, 8, 6, 33), (2, 2), (2, 2), "SAME"),
    "side by side, odd": ((2, 7, 9, 4), (2, 2), (2, 2), "SAME"),
    "side by side, some left": ((2, 9, 11, 17), (2, 3), (2, 3), "VALID"),
    "side by side, less than one": ((2, 1, 5, 3), (2, 2), (2, 2), "SAME"),
    "side by side, large": ((2, 9, 8, 5), (4, 4), (4, 4), "SAME"),
    "side by side, padded": ((2, 6, 7, 2), (3, 3), (3, 3), ((1, 2), (2, 0))),
    "small with gaps": ((2, 11, 9, 5), (2, 1), (3, 2), "VALID"),
    "overlapping along one axis": ((2, 8, 9, 20), (2, 3), (2, 1), "SAME"),
    "single elements": ((2, 5, 6, 3), (1, 1), (2, 1), "SAME"),
    "overlapping": ((2, 9, 8, 5), (3, 3), (2, 2), "SAME"),
    "side by side, whole vectors": ((2, 8, 6, 32), (2, 2), (2, 2), "VALID"),
    "overlapping, whole vectors": ((2, 9, 8, 32), (3, 3), (2, 2), "SAME"),
    "every place, whole vectors": ((1, 6, 7, 40), (2, 3), (1, 1), "VALID"),
    "every place": ((2, 7, 8, 17), (3, 3), (1, 1), "SAME"),
    "valid": ((3, 11, 9, 3), (5, 4), (2, 1), "VALID"),
    "gaps": ((2, 13, 13, 4), (5, 5), (6, 7), "VALID"),
    "padded": ((2, 6, 7, 2), (5, 3), (2, 2), ((4, 4), (2, 0))),
    "one channel": ((2, 9, 9, 1), (3, 3), (2, 2), "SAME"),
    "many channels": ((1, 5, 5, 300), (3, 3), (1, 1), "SAME"),
    "one axis": ((2, 30, 6), (6,), (1,), "SAME"),
    "three axes": ((1, 4, 5, 6, 3), (2, 3, 3), (1, 2, 2), "SAME"),
    "window over all": ((2, 3, 3, 2), (7, 7), (2, 2), "SAME"),
    "no images": ((0, 9, 9, 4), (3, 3), (1, 1), "SAME"),
    "no channels": ((2, 9, 9, 0), (3, 3), (1, 1), "SAME"),
}


def sample(shape: tuple[int, ...], dtype: str, seed: int) -> Any:
    random = np.random.default_rng(seed)
    made = random.integers(-4, 5, shape).astype(dtype)  # many are equal
    if dtype.startswith("float"):
        for number in (np.nan, np.inf, -np.inf, -0.0):
            made[random.random(shape) < 0.15] = number
    return made


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *[(name, "float32") for name in CASES],
        *[(name, d) for name in ("overlapping", "side by side, odd") for d in ("float64", "int64", "int8", "float16")],
    ],
)
def test_eager_compiled_and_unknown_sizes_have_the_same_bits(name: str, dtype: str) -> None:
    shape, window, strides, padding = CASES[name]
    attrs = {"window": window, "strides": strides, "padding": padding}
    x = sample(shape, dtype, 0)
    out = max_pool_p(x, **attrs).shape
    dy = np.random.default_rng(1).integers(-4, 5, out).astype(dtype)
    g = np.random.default_rng(2).integers(-4, 5, shape).astype(dtype)

    def both(x: Any, dy: Any, g: Any) -> Any:
        largest = max_pool_p(x, **attrs)  # so that the number of windows is known to be what dy has
        back = max_pool_grad_p(x, dy + fg.zeros_like(largest), **attrs)
        return back, max_pool_pick_p(x, g, **attrs)

    expected = max_pool_grad_p(x, dy, **attrs), max_pool_pick_p(x, g, **attrs)
    unknown = [fg.TensorSpec([None] * len(shape), dtype)] * 3
    for staged in (fg.function(both), fg.function(both, input_signature=unknown)):
        with flags.override(tier="last"):
            got = staged(x, dy, g)
        for a, b in zip(got, expected, strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats_go_by_windows_too(dtype: str) -> None:
    """In float32, as their bodies do, and rounded once."""
    shape, window, strides, padding = CASES["every place"]
    attrs = {"window": window, "strides": strides, "padding": padding}
    kind = fg.as_dtype(dtype).as_numpy_dtype
    x = sample(shape, "float32", 0).astype(kind)
    dy = np.random.default_rng(1).uniform(-4, 4, shape).astype(kind)

    @fg.function
    def both(x: Any, dy: Any) -> Any:
        return max_pool_grad_p(x, dy, **attrs), max_pool_pick_p(x, dy, **attrs)

    expected = max_pool_grad_p(x, dy, **attrs), max_pool_pick_p(x, dy, **attrs)
    with flags.override(tier="last"):
        got = both(x, dy)
        text = both.get_concrete_function(x, dy).explain()
    assert text.count("best = local_float32") == 2
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype == dtype
        np.testing.assert_array_equal(np.asarray(a, np.float32), np.asarray(b, np.float32))


def test_windows_side_by_side_compare_no_addresses_of_arrays_on_the_stack() -> None:
    """LLVM did so once for all windows of a row, and took them for overlapping because they go backwards: no vectors."""
    from fastgraph.compiler.cpu.object_code import compile_kernel

    attrs = {"window": (2, 2), "strides": (2, 2), "padding": "VALID"}
    gradient = fg.function(lambda x, dy: max_pool_grad_p(x, dy, **attrs))
    specs = (fg.TensorSpec([2, 8, 6, 32], fg.float32), fg.TensorSpec([2, 4, 3, 32], fg.float32))
    lines = gradient.get_concrete_function(*specs).explain().splitlines()
    source = "\n".join(
        line.lstrip().removeprefix("|").removeprefix(" ") for line in lines if line.lstrip().startswith("|")
    )
    listing = compile_kernel(KernelSpec(source[source.index("def kernel") :], ("float32",) * 3, 9), "0" * 40)
    assert "icmp ult ptr" not in listing.llvm_ir


def test_a_kernel_is_shared_by_windows_strides_and_padding() -> None:
    """What is written out is of one window alone, with any strides and padding."""

    def source(k: int, stride: int, padding: Any) -> str:
        dims = fg.function(lambda x: max_pool_p(x, window=(k, k), strides=(stride, stride), padding=padding))
        x = fg.TensorSpec([2, 17, 17, 4], fg.float32)
        dy = fg.TensorSpec(dims.get_concrete_function(x).output_shapes, fg.float32)
        gradient = fg.function(
            lambda x, dy: max_pool_grad_p(x, dy, window=(k, k), strides=(stride, stride), padding=padding)
        )
        text = gradient.get_concrete_function(x, dy).explain()
        return "".join(line for line in text.splitlines(True) if line.lstrip().startswith("|"))

    large = {source(5, 1, "SAME"), source(7, 2, "VALID"), source(6, 2, ((1, 2), (0, 3)))}
    small = {source(3, 1, "SAME"), source(3, 2, "VALID"), source(3, 2, ((1, 2), (0, 1)))}
    assert len(large) == len(small) == 1 and large != small and "def kernel" in large.pop()


MEANS: dict[str, Any] = {
    "same": ((2, 7, 9, 3), (3, 2), "SAME"),
    "valid": ((2, 7, 9, 3), (3, 2), "VALID"),
    "one image": ((1, 9, 8, 3), (4, 4), "VALID"),
    "window over all": ((1, 3, 4, 2), (7, 7), "SAME"),
    "one axis": ((2, 5, 5, 1), (1, 4), "SAME"),
}


@pytest.mark.parametrize("name", MEANS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_means_at_every_place_are_sums_along_one_axis_after_the_other(name: str, dtype: str) -> None:
    shape, window, padding = MEANS[name]
    x = fg.constant(np.random.default_rng(0).normal(size=shape), dtype)

    def both(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.nn.avg_pool(x, window, 1, padding)
            total = fg.reduce_sum(y**3)
        return y, tape.gradient(total, x)

    tolerance = 2e-6 if dtype == "float32" else 1e-14
    with flags.override(tier="last"):
        for signature in (None, [fg.TensorSpec([None, *shape[1:]], dtype)]):
            function = fg.function(both, input_signature=signature)
            for a, b in zip(function(x), both(x), strict=True):
                np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * np.abs(b).max())
            steps = [node.op.name for node in compile_graph(function.get_concrete_function(x).graph.ir).nodes]
            assert "avg_pool" not in steps and "add_n" in steps


def test_a_reshape_behind_an_axis_of_one_element_divides_nothing() -> None:
    function = fg.function(lambda x: fg.reshape(fg.reshape(x * 2.0, [1, 84])[:, 0:84], [12, 7])[:, 1:])
    graph = compile_graph(function.get_concrete_function(fg.zeros([84])).graph.ir)
    sources = [s.kernel.source for s in assemble(graph, [(84,)]).steps if hasattr(s, "kernel")]
    assert sources and not any("mod" in source or "div" in source for source in sources)
