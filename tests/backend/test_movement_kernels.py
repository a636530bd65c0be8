"""Kernels that move elements: transposes, reshapes and slices of each other, for known and unknown sizes alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags

F = Callable[..., Any]

#: name -> (function of one tensor, its shape)
CASES: dict[str, tuple[F, tuple[int, ...]]] = {
    "matrix": (fg.transpose, (70, 131)),
    "long and thin": (fg.transpose, (3, 500)),
    "short and wide": (fg.transpose, (500, 3)),
    "inner axes": (lambda x: fg.transpose(x, [0, 2, 1]), (3, 65, 67)),
    "outer axes": (lambda x: fg.transpose(x, [1, 0, 2]), (9, 65, 5)),
    "turned round": (fg.transpose, (13, 17, 19)),
    "channels first": (lambda x: fg.transpose(x, [0, 3, 1, 2]), (2, 9, 11, 33)),
    "channels last": (lambda x: fg.transpose(x, [0, 2, 3, 1]), (2, 33, 9, 11)),
    "five axes": (lambda x: fg.transpose(x, [4, 1, 3, 0, 2]), (3, 4, 5, 6, 7)),
    "heads together": (lambda x: fg.reshape(fg.transpose(x, [0, 2, 1, 3]), [2 * 7, 3 * 5]), (2, 3, 7, 5)),
    "heads apart": (lambda x: fg.transpose(fg.reshape(x, [2, 7, 3, 5]), [0, 2, 1, 3]), (14, 15)),
    "three at once": (
        lambda x: [t + 0 for t in fg.unstack(fg.transpose(fg.reshape(x, [2, 7, 3, 5, 4]), [2, 0, 3, 1, 4]))],
        (14, 60),
    ),
    "and back": (lambda x: fg.reshape(fg.transpose(x, [1, 3, 0, 2, 4]), [2 * 7, -1]), (3, 2, 5, 7, 4)),
    "two shapes": (lambda x: fg.reshape(fg.transpose(fg.reshape(x, [4, 15])), [-1]) + fg.reshape(x, [-1]), (6, 10)),
    "reshaped sum": (lambda x: fg.reduce_sum(fg.reshape(fg.transpose(x, [1, 0, 2]), [15, -1]), 1), (5, 3, 8)),
    "reshaped place": (lambda x: fg.argmax(fg.reshape(fg.transpose(x, [1, 0, 2]), [15, -1]), 1), (5, 3, 8)),
    "reshaped maximum": (lambda x: fg.reduce_max(fg.reshape(fg.transpose(x, [2, 0, 1]), [-1])), (5, 3, 8)),
    "a slice turned": (lambda x: fg.transpose(x[3:, 1::2]), (40, 90)),
    "turned and sliced": (lambda x: fg.transpose(x)[5:-2], (40, 90)),
    "with itself": (lambda x: fg.transpose(x) * 2 + x, (67, 67)),
    "plus a row": (lambda x: fg.transpose(x) + x[:, 0], (67, 80)),
    "guarded": (lambda x: fg.transpose(fg.pad(x, [[1, 2], [3, 0]])), (66, 30)),
    "no rows": (fg.transpose, (0, 5)),
    "no columns": (lambda x: fg.reshape(fg.transpose(x, [0, 2, 1]), [-1, 3]), (4, 3, 0)),
    "one element": (fg.transpose, (1, 1)),
}  # fmt: skip


def sample(shape: tuple[int, ...], dtype: str) -> Any:
    random = np.random.default_rng(len(shape))
    made = random.integers(-90, 90, shape)
    if dtype.startswith("float") and made.size > 3:
        made = made.astype(dtype)
        made.flat[:3] = np.nan, -0.0, np.inf
    return made.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int8"])
@pytest.mark.parametrize("name", CASES)
def test_eager_compiled_and_unknown_sizes_agree(name: str, dtype: str) -> None:
    function, shape = CASES[name]
    x = fg.constant(sample(shape, dtype))
    expected = fg.nest.flatten(function(x))
    for spec in (shape, [None] * len(shape)):
        staged = fg.function(function, input_signature=[fg.TensorSpec(spec, dtype)])
        with flags.override(tier="last"):
            got = fg.nest.flatten(staged(x))
        for a, b in zip(got, expected, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("name", ["heads together", "and back", "three at once", "turned and sliced", "with itself"])
def test_gradients_of_first_and_second_order(name: str) -> None:
    function, shape = CASES[name]
    x = fg.constant(np.random.default_rng(1).standard_normal(shape))

    def both(x: Any) -> Any:
        with fg.GradientTape() as outer:
            outer.watch(x)
            with fg.GradientTape() as inner:
                inner.watch(x)
                y = fg.add_n([fg.reduce_sum(fg.sin(t) * fg.cos(t[:1])) for t in fg.nest.flatten(function(x))])
            first = inner.gradient(y, x)
            total = fg.reduce_sum(first * x)
        return first, outer.gradient(total, x)

    with flags.override(tier="last"):
        got = fg.function(both)(x)
    for a, b in zip(got, both(x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


GATHERED: dict[str, F] = {
    "elements": lambda x, i: fg.exp(fg.gather(x[:, 0], i)),
    "rows of three": lambda x, i: fg.reduce_sum(fg.square(fg.gather(x, i)), -1),
    "sums": lambda x, i: fg.reduce_sum(fg.exp(fg.gather(x[:, 0], fg.reshape(i, [2, -1]))), 1),
    "of two": lambda x, i: fg.tanh(fg.gather(x[:, 0], i)) + fg.gather(x[:, 1], 19 - i),
    "of a running place": lambda x, i: fg.exp(
        fg.sin(fg.gather(x[:, 0], i + x.shape[0] * fg.cast(x[i[0] * 0, 1] > 9, i.dtype)))
    ),
    "integers": lambda x, i: fg.cast(fg.gather(100 * x[:, 0], i), fg.int8),
    "guarded": lambda x, i: fg.exp(fg.pad(fg.gather(x[:, 0], i), [[2, 1]])),
}


@pytest.mark.parametrize("name", GATHERED)
def test_arithmetic_behind_checked_indices(name: str, rng: Any) -> None:
    """The first index that is wrong is the one that is named, as eagerly."""
    body = GATHERED[name]
    x, i = rng.standard_normal((20, 3)).astype("float32"), rng.integers(0, 20, 40).astype("int32")
    with flags.override(tier="last"):
        f = fg.function(body)
        np.testing.assert_allclose(f(x, fg.constant(i)), body(x, fg.constant(i)), rtol=1e-6)
        i[[17, 30]] = 25, -3
        for call in (f, body):
            with pytest.raises(fg.errors.InvalidArgumentError, match=r"17\] = (25|-6) is not in"):
                call(x, fg.constant(i))


@pytest.mark.parametrize("name", ["elements", "sums", "of two", "of a running place", "integers"])
def test_indices_are_checked_before_the_loop_that_computes(name: str) -> None:
    f = fg.function(GATHERED[name]).get_concrete_function(fg.ones((20, 3)), fg.zeros(40, "int32"))
    assert " = True\n" in f.explain()


@pytest.mark.parametrize(
    ("body", "i"),
    [
        (lambda c, x, i: fg.where(c, x[i], 0), 7),
        (lambda c, x, i: fg.where(c, fg.exp(fg.cast(fg.gather(x, i), fg.float32)), 0.0), [0, 9, 2]),
        (lambda c, x, i: fg.reduce_sum(fg.where(c, x // i, 0)), [1, 0, 2]),
    ],
)
def test_what_is_not_chosen_is_checked_too(body: F, i: Any) -> None:
    x = fg.range(3)
    with flags.override(tier="last"):
        f = fg.function(body)
        for call in (f, body):
            np.testing.assert_allclose(call(fg.fill([3], False), x, fg.ones_like(fg.constant(i))), 0)
            with pytest.raises(fg.errors.InvalidArgumentError):
                call(fg.fill([3], False), x, fg.constant(i))
