# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.types import experimental as experimental

