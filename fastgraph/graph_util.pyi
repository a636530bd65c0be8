# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.graphdef.importer import import_graph_def as import_graph_def

