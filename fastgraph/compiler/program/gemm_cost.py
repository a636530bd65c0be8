"""The cost of a matrix product, and how it is cut into pieces for threads.

Rule: from its sizes alone, in nanoseconds on one thread; the pieces are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

SHARD_NS = 30_000.0  # a shard of any kernel: several times what handing it to another thread costs
HALF = 0.6  # of such a shard is each of two that a step is halved by: no other cut saves as much
GEMM_PIECE_NS = 50_000.0
GEMM_LEAST = 96  # rows or columns of a piece: below that BLAS packs more than it multiplies
GEMM_DEEP_LEAST = 32  # where sums are so long that a piece of few is worth it: gradients of weights
#: Floating-point operations per nanosecond of one thread, by element size. Written, not measured at the start: products
#: are cut by it, and a plan is the same wherever it is made. Where a core does half or twice as many, a piece takes 100
#: or 25 microseconds instead of 50, both hundreds of times what handing it to another thread costs.
GEMM_FLOPS_NS = {4: 80.0, 8: 40.0}
VECTOR_BYTES_NS = 40.0  # of the matrix in a product by a vector, which reads more than it computes


def gemm_size(dtype: str) -> int:
    """Return the bytes of a float whose products take as long: those of int32 have no fused addition, pairs have."""
    return 4 if dtype in ("float32", "uint32") else 8


def gemm_cost(batch: Sequence[int], m: int, n: int, k: int, size: int) -> float:
    """Return the estimated nanoseconds of a batch of products on one thread."""
    count = 1
    for extent in batch:
        count *= extent
    reading = m * n * k * size / VECTOR_BYTES_NS if min(m, n) == 1 else 0.0
    return count * (200.0 + max(reading, 2.0 * m * n * k / GEMM_FLOPS_NS[size]))


def gemm_shards(batch: Sequence[int], m: int, n: int, k: int, size: int) -> tuple[int, bool, int]:
    """Return (pieces per product, whether they cut N, pieces per shard)."""
    count = 1
    for extent in batch:
        count *= extent
    one = gemm_cost((), m, n, k, size)
    along_n = n >= m  # blocks then copy each column of the right operand once
    pieces = 1
    if count < 16:
        least = GEMM_DEEP_LEAST if k >= 4 * max(m, n) else GEMM_LEAST
        while pieces * 2 <= 32 and max(m, n) // (pieces * 2) >= least:
            if one / (pieces * 2) < (HALF * SHARD_NS if pieces == 1 else GEMM_PIECE_NS):
                break
            pieces *= 2
    chunk = 1
    if pieces == 1 and count > 1:
        chunk = max(1, min(count, int(SHARD_NS // one)))
    return pieces, along_n, chunk
