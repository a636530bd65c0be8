# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.replication.cluster import ClusterResolver as ClusterResolver
from fastgraph.replication.cluster import SimpleClusterResolver as SimpleClusterResolver
from fastgraph.replication.cluster import TFConfigClusterResolver as TFConfigClusterResolver
from fastgraph.replication.cluster import UnionResolver as UnionResolver
from fastgraph.replication.slurm import SlurmClusterResolver as SlurmClusterResolver

