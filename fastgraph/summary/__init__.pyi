# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.graphdef.event_files import SummaryWriter as SummaryWriter
from fastgraph.graphdef.event_files import create_file_writer as create_file_writer
from fastgraph.graphdef.event_files import graph as graph
from fastgraph.graphdef.event_files import scalar as scalar
from fastgraph.graphdef.summary_kinds import histogram as histogram
from fastgraph.graphdef.summary_kinds import image as image
from fastgraph.graphdef.summary_kinds import record_if as record_if
from fastgraph.graphdef.summary_kinds import should_record_summaries as should_record_summaries
from fastgraph.graphdef.summary_kinds import write as write
from fastgraph.staging.graph_summaries import trace_export as trace_export
from fastgraph.staging.graph_summaries import trace_off as trace_off
from fastgraph.staging.graph_summaries import trace_on as trace_on
from fastgraph.summary import experimental as experimental

