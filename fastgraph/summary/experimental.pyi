# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.graph.events import get_step as get_step
from fastgraph.graph.events import set_step as set_step

