# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.summaries.graph_traces import trace_export as trace_export
from fastgraph.summaries.graph_traces import trace_off as trace_off
from fastgraph.summaries.graph_traces import trace_on as trace_on
from fastgraph.summaries.summary_ops import audio as audio
from fastgraph.summaries.summary_ops import histogram as histogram
from fastgraph.summaries.summary_ops import image as image
from fastgraph.summaries.summary_ops import scalar as scalar
from fastgraph.summaries.summary_ops import text as text
from fastgraph.summaries.writers import SummaryWriter as SummaryWriter
from fastgraph.summaries.writers import create_file_writer as create_file_writer
from fastgraph.summaries.writers import create_noop_writer as create_noop_writer
from fastgraph.summaries.writers import flush as flush
from fastgraph.summaries.writers import graph as graph
from fastgraph.summaries.writers import record_if as record_if
from fastgraph.summaries.writers import should_record_summaries as should_record_summaries
from fastgraph.summaries.writers import write as write
from fastgraph.summary import experimental as experimental

