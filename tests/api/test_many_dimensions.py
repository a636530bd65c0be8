"""Tensors have up to 64 dimensions, as NumPy's arrays; what would have more says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import fastgraph as fg
from fastgraph.core.base import flags

RANKS = [16, 17, 33, 63, 64]


def shaped(rank: int) -> list[int]:
    return [2, *[1] * (rank - 3), 3, 2]


def computed(x: Any) -> list[Any]:
    rank = len(x.shape)
    with fg.GradientTape() as tape:
        tape.watch(x)
        turned = fg.transpose(x, [rank - 1, *range(rank - 1)])
        row = fg.reshape(fg.constant([1.0, 2.0, 3.0]), [3, 1])
        y = fg.reduce_sum(turned * turned, [0, rank - 1]) + fg.reduce_max(x * row, [0, rank - 2])
        z = fg.concat([x, x], 0)[1:3, ..., ::-1] * fg.broadcast_to(fg.constant([2.0, 3.0]), x.shape)
        w = fg.linalg.matmul(x, x, transpose_b=True) + fg.cast(x[..., :1] > 2, fg.float32)
        total = fg.reduce_sum(y) + fg.reduce_sum(z * z) + fg.reduce_sum(w)
    return [y, z, w, fg.nn.softmax(x), fg.gather(x, [1, 0], axis=0), fg.tile(x, [2] + [1] * (rank - 1)),
            fg.where(x > 3, x, 0.0), fg.argmax(x, rank - 2), tape.gradient(total, x)]  # fmt: skip


@pytest.mark.parametrize("rank", RANKS)
def test_ops_and_gradients(rank: int) -> None:
    small = fg.constant(np.arange(12, dtype="f").reshape(shaped(4)))
    wanted = [np.squeeze(each.numpy()) for each in computed(small)]
    x = fg.reshape(small, shaped(rank))
    for found in (computed(x), fg.function(computed)(x)):
        for got, expected in zip(found, wanted, strict=True):
            np.testing.assert_allclose(np.squeeze(got.numpy()), expected, rtol=1e-5)


@pytest.mark.parametrize("shape", [shaped(20), shaped(64), [None] * 20])
def test_kernels(shape: list[int | None]) -> None:
    small = np.arange(12, dtype="f").reshape(shaped(4))
    x = fg.constant(small.reshape([n or 1 for n in shape] if shape[0] else shaped(20)))
    with flags.override(tier="last"):
        step = fg.function(lambda v: [fg.transpose(v + 1) * 2, fg.reduce_sum(v * v, -1), fg.exp(v[..., :1]) + v],
                           input_signature=[fg.TensorSpec(shape)])  # fmt: skip
        found = step(x)
    for got, wanted in zip(
        found, [(x.numpy() + 1).T * 2, (x.numpy() ** 2).sum(-1), np.exp(x.numpy()[..., :1]) + x.numpy()]
    ):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=1e-5)


MOST = [1] * 64
TOO_MANY: list[Callable[[], Any]] = [
    lambda: fg.zeros([*MOST, 1]),
    lambda: fg.ones([*MOST, 1], fg.string if False else fg.int32),
    lambda: fg.fill([*MOST, 1], 1),
    lambda: fg.constant(1, shape=[*MOST, 1]),
    lambda: fg.reshape(1.0, [*MOST, 1]),
    lambda: fg.broadcast_to(1.0, [*MOST, 1]),
    lambda: fg.expand_dims(fg.zeros(MOST), 0),
    lambda: fg.stack([fg.zeros(MOST)]),
    lambda: fg.zeros(MOST)[fg.newaxis],
    lambda: fg.zeros(MOST)[..., fg.newaxis],
    lambda: fg.gather(fg.zeros(MOST[:40]), fg.zeros(MOST[:40], fg.int32)),
    lambda: fg.tensordot(fg.zeros(MOST[:40]), fg.zeros(MOST[:40]), 0),
    lambda: fg.one_hot(fg.zeros(MOST, fg.int32), 2),
    lambda: fg.random.normal([*MOST, 1]),
    lambda: fg.linalg.diag(fg.zeros(MOST)),
]


@pytest.mark.parametrize("tier", ["first", "last"])
@pytest.mark.parametrize("make", TOO_MANY)
def test_more_are_refused(make: Callable[[], Any], tier: str) -> None:
    for call in (make, fg.function(make)):
        with flags.override(tier=tier), pytest.raises((fg.errors.InvalidArgumentError, ValueError), match="dimension"):
            call()


def test_rows_of_lists_have_one_less() -> None:
    @fg.function
    def stacked(x: Any, n: Any) -> Any:
        rows = fg.TensorArray(fg.float32, n)
        for i in fg.range(n):
            rows = rows.write(i, x + fg.cast(i, fg.float32))
        return rows.stack()

    assert stacked(fg.zeros(MOST[:63]), fg.constant(2)).shape == [2, *MOST[:63]]
    with pytest.raises((fg.errors.InvalidArgumentError, ValueError), match="dimension"):
        stacked(fg.zeros(MOST), fg.constant(2))
