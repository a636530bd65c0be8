# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.gradient import GradientTape as GradientTape

