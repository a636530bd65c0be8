# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.api.optimizer_options import get_experimental_options as get_experimental_options
from fastgraph.api.optimizer_options import get_jit as get_jit
from fastgraph.api.optimizer_options import set_experimental_options as set_experimental_options
from fastgraph.api.optimizer_options import set_jit as set_jit

