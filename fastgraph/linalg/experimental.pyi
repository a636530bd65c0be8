# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.linear_operators.conjugate_gradient import conjugate_gradient as conjugate_gradient

