# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.sequences import make_sampling_table as make_sampling_table
from fastgraph.keras.sequences import pad_sequences as pad_sequences
from fastgraph.keras.sequences import skipgrams as skipgrams

