"""Graphs of the Functions that run, for TensorBoard: trace_on, trace_export, trace_off.

Rule: while it is on, Functions are called by their slow way, which notes their graphs; nothing is paid otherwise.
"""

from __future__ import annotations

import os

from fastgraph.core.base.dtype import string
from fastgraph.core.base.logger import get_logger
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import current_scope
from fastgraph.core.tensor import convert, current_state, current_trace
from fastgraph.graphdef import exporter
from fastgraph.graphdef.node_bytes import field
from fastgraph.profiling import sessions
from fastgraph.staging.concrete_function import GRAPHS
from fastgraph.staging.fast_call import set_run_eagerly
from fastgraph.staging.function import functions_run_eagerly
from fastgraph.summaries import writers

_PROFILED = "graphs_that_run_are_profiled"


def _inside(name: str) -> bool:
    """Return whether a Function is traced, where these functions do nothing but say so."""
    if current_trace() is None:
        return False
    get_logger().warning(f"Cannot {name} inside a tf.function.")
    return True


def trace_on(graph: bool = True, profiler: bool = False, profiler_outdir: str | os.PathLike[str] | None = None) -> None:
    """Note the graphs of the Functions that this thread calls from now on; with `profiler`, record when what runs.

    The recording's files are those of tf.profiler.experimental, below `profiler_outdir`; without that nothing is
    recorded. In a Function, and where it is on already, it only warns. Source: tf.summary.trace_on.
    """
    extra = current_state().extra
    if _inside("enable trace"):
        return
    if GRAPHS in extra or _PROFILED in extra:
        get_logger().warning("Trace already enabled")
        return
    extra[_PROFILED] = False
    if profiler and profiler_outdir is None:
        get_logger().warning("No `profiler_outdir` passed to trace_on(). Profiler won't be enabled.")
    elif profiler and profiler_outdir is not None:
        sessions.start(profiler_outdir)
        extra[_PROFILED] = True
    if graph or profiler:
        extra[GRAPHS] = {}
        set_run_eagerly(True)


def trace_off() -> None:
    """Forget the graphs and note no more; a recording is written. Source: tf.summary.trace_off."""
    extra = current_state().extra
    extra.pop(GRAPHS, None)
    if extra.pop(_PROFILED, False):
        sessions.stop()
    set_run_eagerly(functions_run_eagerly())


def trace_export(name: str, step: TensorLike | None = None, profiler_outdir: str | None = None) -> None:
    """Write the graphs noted since trace_on, as traced and as optimised, under `name` to the default writer, and stop.

    `profiler_outdir` changes nothing: it is trace_on's. In a Function it only warns. Raises ValueError before trace_on
    or without a step. Source: tf.summary.trace_export.
    """
    extra = current_state().extra
    if _inside("export trace"):
        return
    if _PROFILED not in extra:
        raise ValueError("Must enable trace before export through tf.summary.trace_on.")
    graphs = extra.get(GRAPHS)
    pairs = [(each.graph.ir, each.executable.graph) for each in (graphs or {}).values()]
    write = exporter.graph_bytes
    metadata = b"".join([field(4, field(2, write(traced)) + field(3, write(after))) for traced, after in pairs])
    plugin = b"graph_run_metadata" + (b"_graph" if graphs is not None and not extra[_PROFILED] else b"")
    about, tag = (
        field(1, field(1, plugin) + field(2, b"1")),
        (current_scope() + name).encode(),
    )  # 1: the version of the format
    writers.written(step, lambda: [convert(metadata)], lambda array: writers.value_message(tag, array, string, about))
    trace_off()
