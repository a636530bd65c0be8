# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.state.distributed import DistributedVariable as _Mirrored
from fastgraph.state.distributed import PerReplica as PerReplica

Mirrored = _Mirrored
