# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.graphdef.event_files import SummaryWriter as SummaryWriter
from fastgraph.graphdef.event_files import create_file_writer as create_file_writer
from fastgraph.graphdef.event_files import graph as graph

