# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.graph.events import SummaryWriter as SummaryWriter
from fastgraph.graph.events import create_file_writer as create_file_writer
from fastgraph.graph.events import graph as graph

