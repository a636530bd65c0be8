# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.autograph import experimental as experimental
from fastgraph.staging.autograph import to_code as to_code

