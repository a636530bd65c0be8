# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.composites.dense_hash_table import DenseHashTable as DenseHashTable
from fastgraph.composites.lookup_tables import MutableHashTable as MutableHashTable

