# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.replication.cluster import TFConfigClusterResolver as TFConfigClusterResolver

