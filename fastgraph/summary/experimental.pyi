# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.graphdef.event_files import get_step as get_step
from fastgraph.graphdef.event_files import set_step as set_step
from fastgraph.graphdef.summary_kinds import summary_scope as summary_scope

