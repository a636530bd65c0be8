# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.dataset_files import imdb as _load_data

load_data = _load_data
