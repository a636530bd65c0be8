# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.layers import EinsumDense as EinsumDense
from fastgraph.keras.layers.experimental import preprocessing as preprocessing
from fastgraph.keras.layers.normalization import SyncBatchNormalization as SyncBatchNormalization

