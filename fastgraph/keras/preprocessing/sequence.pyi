# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.sequences import pad_sequences as pad_sequences

