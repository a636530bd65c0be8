# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.base.dtype import float8_e4m3fn as float8_e4m3fn
from fastgraph.core.base.dtype import float8_e5m2 as float8_e5m2

