# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.profiler import experimental as experimental
from fastgraph.profiling.recording import KernelRow as KernelRow
from fastgraph.profiling.recording import Recording as Recording
from fastgraph.profiling.recording import StepEvent as StepEvent
from fastgraph.profiling.recording import record as record
from fastgraph.profiling.roofline import Ceilings as Ceilings
from fastgraph.profiling.roofline import ceilings as ceilings

