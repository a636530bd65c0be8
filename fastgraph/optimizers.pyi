# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.optimizers import Adam as Adam
from fastgraph.keras.optimizers import Optimizer as Optimizer
from fastgraph.keras.optimizers import SGD as SGD
from fastgraph.keras.optimizers import get as get

