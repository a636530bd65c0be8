# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.base.nesting import assert_same_structure as assert_same_structure
from fastgraph.core.base.nesting import flatten as flatten
from fastgraph.core.base.nesting import is_nested as is_nested
from fastgraph.core.base.nesting import map_structure as map_structure
from fastgraph.core.base.nesting import pack_sequence_as as pack_sequence_as

