# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.saving.object_graph import PythonState as PythonState
from fastgraph.saving.sharding import MaxShardSizePolicy as MaxShardSizePolicy
from fastgraph.saving.sharding import ShardByTaskPolicy as ShardByTaskPolicy
from fastgraph.saving.sharding import ShardableTensor as ShardableTensor
from fastgraph.saving.sharding import ShardingCallback as ShardingCallback

