"""Kernels that count before they write: places, masks and sorted segments; any shape, any threads, eager's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags
from fastgraph.core.native.thread_pool import num_threads, set_num_threads

F = Callable[..., Any]

SHAPES = [(), (9,), (4, 5), (2, 3, 4), (2, 1, 3, 2), (0,), (3, 0), (700,), (30, 50)]
NUMBERS = (
    "bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "complex64", "complex128",
)  # fmt: skip


def flat(result: Any) -> list[Any]:
    return list(result) if isinstance(result, (tuple, list)) else [result]


def check(f: F, *args: Any, like: Any = None, exact: bool = True, kinds: set[str] | None = None) -> None:
    """f compiled, on one thread and on four, has the dtypes, shapes and values of f; all its steps are kernels."""
    function = fg.function(f, input_signature=like)
    wanted, before = flat(f(*args)), num_threads()
    try:
        for n in (1, 4):
            set_num_threads(n)
            with flags.override(tier="last"):
                got = flat(function(*args))
            for a, b in zip(got, wanted, strict=True):
                assert (a.dtype, a.shape) == (b.dtype, b.shape)
                if exact:
                    np.testing.assert_array_equal(a.numpy(), b.numpy())
                else:
                    np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5, atol=1e-6)
    finally:
        set_num_threads(before)
    with flags.override(tier="last"):
        steps = function.get_concrete_function(*args).steps()
    assert {s.kind for s in steps} <= (kinds or {"kernel", "alias"}), steps


def numbers(shape: tuple[int, ...], dtype: str = "float32", seed: int = 0) -> Any:
    """Whole numbers from -2 to 2, or 0 to 2: some are 0."""
    random = np.random.default_rng(seed)
    return fg.cast(fg.constant(random.integers(0 if "u" in dtype else -2, 3, shape)), dtype)


# ---- places ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
def test_places_of_every_rank(shape: tuple[int, ...]) -> None:
    x = numbers(shape)
    check(lambda t: [fg.where(t), fg.where(t > 5), fg.where(t < 5)], x)


@pytest.mark.parametrize("dtype", NUMBERS)
def test_places_of_every_dtype(dtype: str) -> None:
    x = numbers((5, 7), dtype)
    check(fg.where, x)
    if x.dtype.is_floating or x.dtype.is_complex:
        check(fg.where, fg.constant(np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-7]).astype(x.numpy().dtype)))


def test_a_part_of_a_complex_number_is_enough() -> None:
    check(fg.where, fg.constant([0j, 1j, 1 + 0j, complex(0, float("nan"))]))


# ---- masks -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", SHAPES[1:])
def test_masks_of_every_rank(shape: tuple[int, ...], depth: int) -> None:
    if depth <= len(shape):
        x, mask = numbers(shape), numbers(shape[:depth], "bool")
        check(
            lambda t, m: [fg.boolean_mask(t, m), fg.boolean_mask(t, m & False), fg.boolean_mask(t, m | True)], x, mask
        )


@pytest.mark.parametrize("dtype", NUMBERS)
def test_masks_of_every_dtype(dtype: str) -> None:
    x, mask = numbers((6, 4), dtype), numbers((6, 4), "bool", 1)
    check(lambda t, m: [fg.boolean_mask(t, m), fg.boolean_mask(t, m[:, 0]), fg.boolean_mask(t, m[0], axis=1)], x, mask)


def test_strings_are_masked_on_the_host() -> None:
    x, mask = fg.constant(["a", "bc", "d"]), fg.constant([True, False, True])
    check(fg.boolean_mask, x, mask, kinds={"dynamic"})


def test_sizes_change_from_call_to_call() -> None:
    like = [fg.TensorSpec([None, None], "float32")]
    f = fg.function(
        lambda t: [fg.boolean_mask(t, t > 0), fg.where(t > 0), fg.reduce_sum(fg.boolean_mask(t, t[:, 0] > 0) * 2, 0)],
        input_signature=like,
    )
    with flags.override(tier="last"):
        for i, shape in enumerate([(3, 4), (1, 1), (50, 20), (0, 3), (3, 4), (4, 3)]):
            x = numbers(shape, seed=i)
            if shape[1]:
                for a, b in zip(f(x), f.python_function(x), strict=True):
                    np.testing.assert_array_equal(a.numpy(), b.numpy())


@pytest.mark.parametrize("tier", ["first", "last"])
def test_a_mask_that_does_not_fit_is_refused(tier: str) -> None:
    like = [fg.TensorSpec([None, 2], "float32"), fg.TensorSpec([None], "bool")]
    f = fg.function(fg.boolean_mask, input_signature=like)
    with flags.override(tier=tier):
        f(numbers((3, 2)), fg.constant([True, False, True]))
        for n in (0, 2, 4, 4000):
            with pytest.raises(fg.errors.InvalidArgumentError, match="are incompatible"):
                f(numbers((3, 2)), fg.ones([n], "bool"))


def test_what_a_mask_picks_goes_on() -> None:
    """Steps that take a counted result, in the same call and in loops."""

    def f(x: Any) -> list[Any]:
        kept = fg.boolean_mask(x, x > 0)
        again = fg.boolean_mask(kept, kept > 1)
        places = fg.where(x > 0)
        return [kept * 2, again, fg.size(again), fg.gather_nd(x, places), fg.cumsum(kept)]

    check(f, numbers((40,)), kinds={"kernel", "alias", "dynamic"})

    @fg.function
    def loop(x: Any) -> Any:
        total = fg.constant(0.0)
        for i in fg.range(5):
            total += fg.reduce_sum(fg.boolean_mask(x, x > fg.cast(i, "float32") - 2))
        return total

    x = numbers((40,))
    wanted = sum(float(x.numpy()[x.numpy() > i - 2].sum()) for i in range(5))
    with flags.override(tier="last"):
        assert float(loop(x)) == float(loop(x)) == wanted


def test_a_shape_that_was_promised_is_held_to() -> None:
    def f(x: Any) -> Any:
        y = fg.boolean_mask(x, x > 0)
        y.set_shape([2])
        return y

    function = fg.function(f)
    with flags.override(tier="last"):
        np.testing.assert_array_equal(function(fg.constant([1.0, -1.0, 2.0])).numpy(), [1, 2])
        with pytest.raises((fg.errors.InvalidArgumentError, fg.errors.InternalError)):
            function(fg.constant([1.0, 1.0, 2.0]))


# ---- segments --------------------------------------------------------------------------------------------------------

KINDS = ("sum", "mean", "prod", "max", "min")
IDS = [0, 0, 1, 3, 3, 3, 7]


def segments(kinds: tuple[str, ...] = KINDS) -> F:
    return lambda x, ids: [getattr(fg.math, f"segment_{k}")(x, ids) for k in kinds]


@pytest.mark.parametrize("row", [(), (1,), (3,), (0,), (2, 3), (70,), (2, 1, 65)])
@pytest.mark.slow
def test_segments_of_every_rank(row: tuple[int, ...]) -> None:
    check(segments(), numbers((7, *row)), fg.constant(IDS))
    check(segments(), numbers((0, *row)), fg.constant([], "int32"))
    check(segments(), numbers((1, *row)), fg.constant([5], "int64"))


@pytest.mark.slow
@pytest.mark.parametrize("index", ["int32", "int64"])
@pytest.mark.parametrize("dtype", NUMBERS[1:])
def test_segments_of_every_dtype(dtype: str, index: str) -> None:
    kinds = KINDS[:3] if dtype.startswith("complex") else KINDS
    check(segments(kinds), numbers((7, 3), dtype), fg.constant(IDS, index))
    check(segments(kinds), numbers((7,), dtype), fg.constant(IDS, index))


def test_long_segments_of_any_number() -> None:
    random = np.random.default_rng(0)
    like = [fg.TensorSpec([None], "float32"), fg.TensorSpec([None], "int32")]
    for n, last in ((5000, 3), (5000, 4000), (1, 0), (0, 1), (33, 90)):
        ids = fg.constant(np.sort(random.integers(0, last + 1, n)), "int32")
        x = fg.constant(random.normal(size=n).astype(np.float32))
        check(segments(), x, ids, like=like, exact=False)


def test_nan_and_infinities_in_segments() -> None:
    x = fg.constant([np.nan, 1.0, 2.0, np.nan, -np.inf, np.inf, np.nan, -np.inf], "float32")
    check(segments(), x, fg.constant([0, 0, 1, 1, 2, 2, 3, 5]))


@pytest.mark.parametrize("tier", ["first", "last"])
def test_ids_that_do_not_rise_are_refused(tier: str) -> None:
    like = [fg.TensorSpec([None], "float32"), fg.TensorSpec([None], "int64")]
    f = fg.function(fg.math.segment_sum, input_signature=like)
    with flags.override(tier=tier):
        f(fg.ones([3]), fg.constant([0, 1, 1], "int64"))
        for ids, text in (
            ([0, 2, 1], "segment ids are not increasing"),
            ([-1, 0, 1], r"Segment id -1 out of range \[0, 2\)"),
            ([0, 1], "should be the same size as dimension 0"),
            ([0, 1, 1, 2], "should be the same size as dimension 0"),
        ):
            with pytest.raises(fg.errors.InvalidArgumentError, match=text):
                f(fg.ones([3]), fg.constant(ids, "int64"))


def test_more_segments_than_memory_holds_are_refused() -> None:
    f = fg.function(fg.math.segment_sum)
    with flags.override(tier="last"):
        f(fg.ones([2]), fg.constant([0, 1], "int64"))
        for last in (2**50, 2**62, 2**63 - 1):
            with pytest.raises(fg.errors.ResourceExhaustedError):
                f(fg.ones([2]), fg.constant([0, last], "int64"))


# ---- gradients -------------------------------------------------------------------------------------------------------


def both_orders(f: F) -> F:
    def second(x: Any, *rest: Any) -> list[Any]:
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as tape:
                tape.watch(x)
                total = fg.reduce_sum(f(x, *rest) ** 3)
            first = tape.gradient(total, x)
            size = fg.reduce_sum(first * first)
        return [total, first, outer.gradient(size, x)]

    return second


@pytest.mark.parametrize("shape", [(9,), (4, 5), (2, 3, 2), (0, 2), (300, 7)])
def test_gradients_of_masks(shape: tuple[int, ...]) -> None:
    x = numbers(shape) * 1.5
    kinds = {"kernel", "alias"}
    check(both_orders(lambda t: fg.boolean_mask(t, t > 0)), x, exact=False, kinds=kinds)
    rows = numbers(shape[:1], "bool", 1)
    if len(shape) > 1:
        kinds = {*kinds, "dynamic"}  # the total's gradient has a shape of which one extent alone is data
    check(both_orders(fg.boolean_mask), x, rows, exact=False, kinds=kinds)
    like = [fg.TensorSpec([None] * len(shape), "float32"), fg.TensorSpec([None], "bool")]
    check(both_orders(fg.boolean_mask), x, rows, exact=False, kinds=kinds, like=like)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_segments(kind: str) -> None:
    x = numbers((7, 3)) * 0.5 + 0.25
    f = both_orders(getattr(fg.math, f"segment_{kind}"))
    check(f, x, fg.constant(IDS), exact=False, kinds={"kernel", "alias", "dynamic", "host"})


def test_values_that_are_not_as_many_as_the_places_are_refused() -> None:
    from fastgraph.core.registry import get
    from fastgraph.core.tensor import bind

    def f(values: Any, mask: Any) -> Any:
        return bind(get("mask_scatter"), (values, mask, fg.constant([4])), {})

    like = [fg.TensorSpec([None], "float32"), fg.TensorSpec([4], "bool")]
    function, mask = fg.function(f, input_signature=like), fg.constant([True, False, True, True])
    for tier in ("first", "last"):
        with flags.override(tier=tier):
            np.testing.assert_array_equal(function(fg.constant([1.0, 2.0, 3.0]), mask).numpy(), [1, 0, 2, 3])
            for n in (0, 1, 2, 5):
                with pytest.raises(fg.errors.InvalidArgumentError, match=f"3 places, and there are {n} values"):
                    function(fg.ones([n]), mask)
