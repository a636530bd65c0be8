"""Graphs of the Functions that run, for TensorBoard: trace_on, trace_export, trace_off.

Rule: while it is on, Functions are called by their slow way, which notes their graphs; nothing is paid otherwise.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.tensor import convert, current_state
from fastgraph.graphdef import event_files, exporter
from fastgraph.graphdef.wire_format import field, serialized
from fastgraph.staging.concrete_function import GRAPHS
from fastgraph.staging.fast_call import set_run_eagerly
from fastgraph.staging.function import functions_run_eagerly


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: str | None = None) -> None:
    """Note the graphs of the Functions that this thread calls from now on. Source: tf.summary.trace_on.

    Raises ValueError with `profiler`: that is fg.profiler's.
    """
    if profiler:
        raise ValueError("trace_on(profiler=True): use fastgraph.profiler, which has a timeline of its own")
    if graph:
        current_state().extra[GRAPHS] = {}
        set_run_eagerly(True)


def trace_off() -> None:
    """Forget the graphs and note no more. Source: tf.summary.trace_off."""
    current_state().extra.pop(GRAPHS, None)
    set_run_eagerly(functions_run_eagerly())


def trace_export(name: str, step: Any = None, profiler_outdir: str | None = None) -> None:
    """Write the graphs noted since trace_on, under `name`, to the default writer, and stop.

    Raises ValueError before trace_on or without a step. Source: tf.summary.trace_export.
    """
    graphs = current_state().extra.get(GRAPHS)
    if graphs is None:
        raise ValueError("Must enable trace before export through tf.summary.trace_on.")
    writer, when = event_files.default_writer(), event_files.step_of(step)
    if writer is not None:
        parts = [field(2, serialized(exporter.message(each))) for each in graphs]  # as traced, before any pass
        metadata = b"".join([field(4, part) for part in parts])
        content = event_files.summary(name, "graph_run_metadata_graph", convert(metadata), content=b"1")  # the version
        writer.write(5, content, int(when))
    trace_off()
