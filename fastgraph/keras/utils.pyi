# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.backend import set_random_seed as set_random_seed
from fastgraph.keras.batches import Sequence as Sequence
from fastgraph.keras.batches import to_categorical as to_categorical
from fastgraph.keras.fetching import get_file as get_file
from fastgraph.keras.progress import Progbar as Progbar

