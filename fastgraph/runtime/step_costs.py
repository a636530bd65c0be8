"""What steps cost, how they are cut into shards, and when a plan is worth more than one thread.

Rule: estimates in nanoseconds on one thread, from shapes alone; being wrong costs time, never correctness, and the
shards of a step are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastgraph.runtime.plan import GemmCall, KernelCall, StepSpec

CALL_NS = 30.0  # calling a kernel
SHARD_NS = 30_000.0  # a kernel's shard: several times what handing it to another thread costs
MAX_SHARDS = 64
GEMM_PIECE_NS = 50_000.0
GEMM_LEAST = 96  # rows or columns of a piece: below that BLAS packs more than it multiplies
#: Floating-point operations per nanosecond of one thread, by element size. Written, not measured at the start: products
#: are cut by it, and a plan is the same wherever it is made. Where a core does half or twice as many, a piece takes 100
#: or 25 microseconds instead of 50, both hundreds of times what handing it to another thread costs.
GEMM_FLOPS_NS = {4: 80.0, 8: 40.0}
WAKE_NS = 30_000.0  # what must be gained by threads before any are woken
HANDOVER_NS = 150.0  # queueing one step


def kernel_chunk(extent: int, per_unit: float) -> int:
    """Return the units in one shard of a kernel over `extent` units of `per_unit` nanoseconds each."""
    cost = extent * per_unit
    if cost < 2 * SHARD_NS or extent < 2:
        return max(extent, 1)
    n_shards = int(min(cost // SHARD_NS, MAX_SHARDS))
    if n_shards > 2:
        n_shards = -(-n_shards // 4) * 4  # seven parts would leave one of two or four threads waiting
    n_shards = min(n_shards, extent)
    chunk = -(-extent // n_shards)
    if chunk >= 256:
        chunk = -(-chunk // 64) * 64  # shards begin at a cache line, if the buffers do
    return chunk


def gemm_size(dtype: str) -> int:
    """Return the bytes of a float whose products take as long: those of int32 have no fused addition."""
    return 4 if dtype == "float32" else 8


def gemm_cost(batch: Sequence[int], m: int, n: int, k: int, size: int) -> float:
    """Return the estimated nanoseconds of a batch of products on one thread."""
    count = 1
    for extent in batch:
        count *= extent
    return count * (200.0 + 2.0 * m * n * k / GEMM_FLOPS_NS[size])


def gemm_shards(batch: Sequence[int], m: int, n: int, k: int, size: int) -> tuple[int, bool, int]:
    """Return (pieces per product, whether they cut N, pieces per shard)."""
    count = 1
    for extent in batch:
        count *= extent
    one = gemm_cost((), m, n, k, size)
    along_n = n >= m  # blocks then copy each column of the right operand once
    pieces = 1
    if count < 16:
        while pieces * 2 <= 32 and one / (pieces * 2) >= GEMM_PIECE_NS and max(m, n) // (pieces * 2) >= GEMM_LEAST:
            pieces *= 2
    chunk = 1
    if pieces == 1 and count > 1:
        chunk = max(1, min(count, int(SHARD_NS // one)))
    return pieces, along_n, chunk


def n_shards(step: StepSpec) -> int:
    """Return into how many shards a step is cut."""
    if isinstance(step, KernelCall):
        return max(1, -(-step.extent // max(step.chunk, 1)))
    if isinstance(step, GemmCall):
        return max(1, -(-len(step.a_offsets) * step.pieces // step.chunk))
    return 1


def worth_threads(steps: Sequence[StepSpec]) -> bool:
    """Return whether several threads would finish the steps enough earlier than one."""
    total = sum([step.cost for step in steps])
    least = WAKE_NS + HANDOVER_NS * len(steps)
    if total <= least:
        return False
    longest = 0.0
    done = [0.0] * len(steps)
    for i, step in enumerate(steps):
        begin = max([done[before] for before in step.after], default=0.0)
        done[i] = begin + step.cost / n_shards(step)
        longest = max(longest, done[i])
    return total - longest > least
