"""x[...] in all its forms, in graphs: known and unknown sizes, numbers and tensors as bounds, values and gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags

KEYS = [
    np.s_[1],
    np.s_[-1],
    np.s_[1:3],
    np.s_[-3:-1],
    np.s_[::-1],
    np.s_[3:0:-1],
    np.s_[-1:-9:-2],
    np.s_[5:1:-3, ::2],
    np.s_[10:2],
    np.s_[:, None, 1],
    np.s_[..., 0],
    np.s_[None, ..., ::-1, None],
    np.s_[1, ..., -1],
    np.s_[2:, 1:, -2:],
    np.s_[:-1, ..., :-1],
    np.s_[0, 1, 2],
    np.s_[..., None],
    np.s_[None],
    np.s_[1:2, 0, ::-2],
    np.s_[:0],
    np.s_[-2:, ::-1, 1:4:2],
]
X = np.arange(60, dtype=np.float32).reshape(5, 3, 4)


def with_tensors(key: Any, take: Any) -> Any:
    """The key with each number replaced by a tensor."""
    if isinstance(key, tuple):
        return tuple(with_tensors(k, take) for k in key)
    if isinstance(key, slice):
        return slice(*[None if n is None else take(n) for n in (key.start, key.stop, key.step)])
    return take(key) if isinstance(key, int) else key


def numbers(key: Any) -> list[int]:
    found: list[int] = []
    with_tensors(key, lambda n: found.append(n) or n)
    return found


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("sizes", ["known", "unknown"])
def test_numbers_as_bounds(sizes: str, tier: str) -> None:
    signature = [fg.TensorSpec([5, 3, 4] if sizes == "known" else [None, None, None], fg.float32)]

    @fg.function(input_signature=signature)
    def every(x: Any) -> Any:
        with fg.GradientTape(persistent=True) as tape:
            tape.watch(x)
            parts = [x[key] for key in KEYS]
        return parts, [tape.gradient(part, x) for part in parts]

    with flags.override(tier=tier):
        parts, slopes = every(fg.constant(X))
    for key, part, slope in zip(KEYS, parts, slopes, strict=True):
        wanted = np.zeros_like(X)
        wanted[key] = 1
        assert np.array_equal(part.numpy(), X[key]) and part.shape == X[key].shape, key
        assert np.array_equal(slope.numpy(), wanted), key


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("key", [k for k in KEYS if numbers(k)], ids=str)
def test_tensors_as_bounds(key: Any, dtype: str, tier: str) -> None:
    bounds = [fg.constant(n, dtype) for n in numbers(key)]

    @fg.function(reduce_retracing=True)
    def part(x: Any, bounds: list[Any]) -> Any:
        rest = iter(bounds)
        with fg.GradientTape() as tape:
            tape.watch(x)
            result = x[with_tensors(key, lambda n: next(rest))]
        return result, tape.gradient(result, x)

    wanted = np.zeros_like(X)
    wanted[key] = 1
    with flags.override(tier=tier):
        result, slope = part(fg.constant(X), bounds)
    assert np.array_equal(result.numpy(), X[key]) and result.shape == X[key].shape
    assert np.array_equal(slope.numpy(), wanted)
    assert np.array_equal(fg.constant(X)[with_tensors(key, lambda n: fg.constant(n, dtype))].numpy(), X[key])


MASKED = [
    (([0, 0], [2, 3], [1, 2]), {}, np.s_[0:2, 0:3:2]),
    (([1, -1], [2, -9], [1, -1]), {}, np.s_[1:2, ::-1]),
    (([1, 0], [2, 2]), dict(begin_mask=1, end_mask=2), np.s_[:2, 0:]),
    (([0, 1], [0, 0]), dict(shrink_axis_mask=2, ellipsis_mask=1), np.s_[..., 1]),
    (([0, 1], [0, 2]), dict(new_axis_mask=1), np.s_[None, 1:2]),
    (([2], [-9], [-1]), {}, np.s_[2::-1]),
    (([7, 0, 0, 1], [0, 0, 0, 3]), dict(begin_mask=1, end_mask=1, ellipsis_mask=2, new_axis_mask=4), np.s_[:, ..., None, 1:3]),
]  # fmt: skip


@pytest.mark.parametrize(("bounds", "masks", "key"), MASKED, ids=str)
def test_strided_slice(bounds: Any, masks: dict[str, int], key: Any) -> None:
    assert np.array_equal(fg.strided_slice(X, *bounds, **masks).numpy(), X[key])
    tensors = [fg.constant(b) for b in bounds]
    function = fg.function(lambda x, *b: fg.strided_slice(x, *b, **masks))
    assert np.array_equal(function(fg.constant(X), *tensors).numpy(), X[key])
    mixed = [[fg.constant(n) if i % 2 else n for i, n in enumerate(b)] for b in bounds]
    assert np.array_equal(fg.strided_slice(X, *mixed, **masks).numpy(), X[key])


@pytest.mark.parametrize(
    ("arguments", "masks", "text"),
    [
        (([0], [1], [0]), {}, r"strides\[0\] must be non-zero"),
        (([5], [6]), dict(shrink_axis_mask=1), "slice index 5 of dimension 0 out of bounds."),
        (([0, 0], [1]), {}, r"equal size tensors, but got shapes \[2\], \[1\], and \[2\] instead"),
        (([[1]], [[2]]), {}, r"equal size tensors, but got shapes \[1,1\], \[1,1\], and \[1,1\] instead"),
        (([0] * 4, [1] * 4), {}, "Index out of range using input dim 3; input has only 3 dims"),
        (([1], [2], [-1]), dict(shrink_axis_mask=1), "only stride 1 allowed on non-range indexing."),
        (([0] * 3, [0] * 3), dict(ellipsis_mask=3), "Multiple ellipses in slice spec not allowed"),
    ],
)
def test_strided_slice_refuses(arguments: Any, masks: dict[str, int], text: str) -> None:
    with pytest.raises(fg.errors.InvalidArgumentError, match=text):
        fg.strided_slice(X, *arguments, **masks)


@pytest.mark.parametrize("tier", ["first", "last"])
def test_an_index_out_of_bounds_in_a_graph(tier: str) -> None:
    function = fg.function(lambda x, i: x[i])
    with flags.override(tier=tier):
        assert np.array_equal(function(fg.constant(X), fg.constant(-5)).numpy(), X[-5])
        for i in (5, -6):
            with pytest.raises(fg.errors.InvalidArgumentError, match="slice index .* of dimension 0 out of bounds"):
                function(fg.constant(X), fg.constant(i))


_LENGTHS = [(2, 2, 1), (1, 2, 2), (2, 1, 2), (1, 1, 2), (0, 0, 1), (2, 2, None), (None, 2, 2), (2, None, 2)]


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("noted", _LENGTHS, ids=str)
def test_bounds_of_other_lengths_are_refused(noted: tuple[int | None, ...], tier: str) -> None:
    x = fg.reshape(fg.range(24.0), [4, 6])
    with flags.override(tier=tier, worker=False):
        staged = fg.function(
            lambda *bounds: fg.strided_slice(x, *bounds), input_signature=[fg.TensorSpec([n], fg.int32) for n in noted]
        )
        if None in noted:
            assert np.array_equal(staged([1, 2], [3, 6], [1, 2]), x[1:3, 2:6:2])
        for n in (1, 3):
            with pytest.raises(fg.errors.InvalidArgumentError if None in noted else ValueError):
                staged(*[fg.ones([n if m is None else m], fg.int32) for m in noted])


@pytest.mark.parametrize("tier", ["eager", "first", "last"])
@pytest.mark.parametrize("mode", ["CONSTANT", "REFLECT", "SYMMETRIC"])
def test_a_scalar_has_no_edges_to_pad(mode: str, tier: str) -> None:
    def padded(x: Any) -> Any:
        with fg.GradientTape() as tape:
            tape.watch(x)
            y = fg.pad(x, np.zeros((0, 2), np.int32), mode)
        return y, tape.gradient(y, x)

    with flags.override(tier="first" if tier == "eager" else tier):
        value, gradient = (padded if tier == "eager" else fg.function(padded))(fg.constant(2.0))
    assert (value.shape, value.numpy(), gradient.numpy()) == ((), 2.0, 1.0)
