"""The cost of a step, the number of shards it is cut into, and whether a plan is worth more than one thread.

Rule: costs are estimates in nanoseconds on one thread, made from shapes alone. A wrong estimate costs time, never
correctness, and the shards of a step are the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastgraph.compiler.program.gemm_cost import HALF, SHARD_NS
from fastgraph.runtime.plan import GemmCall, KernelCall, StepSpec

CALL_NS = 30.0  # calling a kernel
MAX_SHARDS = 64
WAKE_NS = 30_000.0  # what must be gained by threads before any are woken
HANDOVER_NS = 150.0  # queueing one step


def kernel_chunk(extent: int, per_unit: float) -> int:
    """Return the units in one shard of a kernel over `extent` units of `per_unit` nanoseconds each."""
    cost = extent * per_unit
    if cost < 2 * HALF * SHARD_NS or extent < 2:
        return max(extent, 1)
    n_shards = int(max(2, min(cost // SHARD_NS, MAX_SHARDS)))
    if n_shards > 2:
        n_shards = -(-n_shards // 4) * 4  # seven parts would leave one of two or four threads waiting
    n_shards = min(n_shards, extent)
    chunk = -(-extent // n_shards)
    if chunk >= 256:
        chunk = -(-chunk // 64) * 64  # shards begin at a cache line, if the buffers do
    return chunk


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
