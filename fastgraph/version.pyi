# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.configuration import COMPILER_VERSION as COMPILER_VERSION
from fastgraph.configuration import GIT_VERSION as GIT_VERSION
from fastgraph.configuration import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from fastgraph.configuration import VERSION as VERSION

