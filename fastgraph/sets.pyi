# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.composites.sparse_sets import difference as difference
from fastgraph.composites.sparse_sets import intersection as intersection
from fastgraph.composites.sparse_sets import size as size
from fastgraph.composites.sparse_sets import union as union

