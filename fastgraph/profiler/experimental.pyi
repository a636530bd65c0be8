# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.profiling.sessions import Profile as Profile
from fastgraph.profiling.sessions import ProfilerOptions as ProfilerOptions
from fastgraph.profiling.sessions import Trace as Trace
from fastgraph.profiling.sessions import start as start
from fastgraph.profiling.sessions import stop as stop

