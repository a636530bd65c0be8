# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.dlpack import from_dlpack as from_dlpack
from fastgraph.core.dlpack import to_dlpack as to_dlpack

