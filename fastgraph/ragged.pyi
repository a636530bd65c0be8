# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.composites.ragged_functions import boolean_mask as boolean_mask
from fastgraph.composites.ragged_functions import constant as constant
from fastgraph.composites.ragged_functions import map_flat_values as map_flat_values
from fastgraph.composites.ragged_functions import range as range
from fastgraph.composites.ragged_functions import row_splits_to_segment_ids as row_splits_to_segment_ids
from fastgraph.composites.ragged_functions import segment_ids_to_row_splits as segment_ids_to_row_splits
from fastgraph.composites.ragged_functions import stack as stack
from fastgraph.composites.ragged_functions import stack_dynamic_partitions as stack_dynamic_partitions
from fastgraph.composites.sparse_sets import ragged_cross as _cross
from fastgraph.composites.sparse_sets import ragged_cross_hashed as _cross_hashed

cross = _cross
cross_hashed = _cross_hashed
