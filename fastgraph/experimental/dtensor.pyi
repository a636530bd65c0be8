# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.unimplemented_classes import DTensorDataset as DTensorDataset
from fastgraph.core.unimplemented_classes import DVariable as DVariable

