# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.summaries.summary_ops import summary_scope as summary_scope
from fastgraph.summaries.writers import get_step as get_step
from fastgraph.summaries.writers import set_step as set_step
from fastgraph.summaries.writers import write_raw_pb as write_raw_pb

