"""tf.distribute: a program on several devices of one machine, as replicas on threads, and in processes of MPI.

Strategies, the contexts in which their programs run, Variables' copies made, values brought together, input shared out.

Rule: a replica's step is an ordinary program; what stands here makes it several, and nothing below knows a strategy.
"""

from __future__ import annotations

from fastgraph.api.namespaces import lookup
from fastgraph.distribute.contexts import (
    InputContext,
    ReplicaContext,
    get_replica_context,
    in_cross_replica_context,
)
from fastgraph.distribute.input import (
    DistributedDataset,
    DistributedIterator,
    InputOptions,
    InputReplicationMode,
    RunOptions,
)
from fastgraph.distribute.processes import MultiWorkerMirroredStrategy
from fastgraph.distribute.reductions import (
    CrossDeviceOps,
    HierarchicalCopyAllReduce,
    NcclAllReduce,
    ReduceOp,
    ReductionToOneDevice,
)
from fastgraph.distribute.strategy import (
    MirroredStrategy,
    OneDeviceStrategy,
    ParameterServerStrategy,
    Strategy,
    StrategyExtended,
    TPUStrategy,
    experimental_set_strategy,
    get_strategy,
    has_strategy,
)
from fastgraph.state.distributed import DistributedValues

__all__ = [
    "CrossDeviceOps",
    "DistributedDataset",
    "DistributedIterator",
    "DistributedValues",
    "HierarchicalCopyAllReduce",
    "InputContext",
    "InputOptions",
    "InputReplicationMode",
    "MirroredStrategy",
    "MultiWorkerMirroredStrategy",
    "NcclAllReduce",
    "OneDeviceStrategy",
    "ParameterServerStrategy",
    "ReduceOp",
    "ReductionToOneDevice",
    "ReplicaContext",
    "RunOptions",
    "Strategy",
    "StrategyExtended",
    "TPUStrategy",
    "experimental_set_strategy",
    "get_replica_context",
    "get_strategy",
    "has_strategy",
    "in_cross_replica_context",
]

__getattr__, __dir__ = lookup("distribute")
