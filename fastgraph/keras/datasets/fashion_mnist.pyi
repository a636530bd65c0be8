# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.dataset_files import fashion_mnist as _load_data

load_data = _load_data
