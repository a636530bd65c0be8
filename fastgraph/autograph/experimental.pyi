# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.staging.autograph.loop_options import Feature as Feature
from fastgraph.staging.autograph.loop_options import set_loop_options as set_loop_options
from fastgraph.staging.typed_function import do_not_convert as do_not_convert

