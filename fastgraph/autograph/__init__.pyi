# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.autograph import experimental as experimental
from fastgraph.staging.autograph import to_code as to_code
from fastgraph.staging.autograph.inspection import set_verbosity as set_verbosity
from fastgraph.staging.autograph.inspection import to_graph as to_graph
from fastgraph.staging.autograph.inspection import trace as trace

