# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.api.configuration import COMPILER_VERSION as COMPILER_VERSION
from fastgraph.api.configuration import GIT_VERSION as GIT_VERSION
from fastgraph.api.configuration import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from fastgraph.api.configuration import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from fastgraph.api.configuration import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from fastgraph.api.configuration import VERSION as VERSION

