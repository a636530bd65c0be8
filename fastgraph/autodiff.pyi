# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.forward_mode import ForwardAccumulator as ForwardAccumulator
from fastgraph.gradient import GradientTape as GradientTape

