# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.staging.autograph import do_not_convert as do_not_convert

