# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.saving.object_graph import PythonState as PythonState

