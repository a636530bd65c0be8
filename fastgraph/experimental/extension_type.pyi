# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.composites.extension_type import as_dict as as_dict

