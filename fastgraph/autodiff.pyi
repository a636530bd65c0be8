# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.tape.forward_mode import ForwardAccumulator as ForwardAccumulator
from fastgraph.core.tape.gradient_tape import GradientTape as GradientTape

