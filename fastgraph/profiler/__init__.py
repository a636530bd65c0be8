"""Where the time of compiled calls goes: a timeline for Perfetto, and a table of the costliest kernels.

Rule: it only looks; what runs, and where, is the same with and without a recording.

    with fastgraph.profiler.record() as recording:
        step(x, y)
    print(recording.table())
    recording.save("trace.json")  # open it at ui.perfetto.dev or chrome://tracing
"""

from __future__ import annotations

from fastgraph.api.namespaces import lookup
from fastgraph.profiling.machine_peaks import Ceilings, ceilings
from fastgraph.profiling.recording import KernelRow, Recording, StepEvent, record

__all__ = ["Ceilings", "KernelRow", "Recording", "StepEvent", "ceilings", "record"]

__getattr__, __dir__ = lookup("profiler")
