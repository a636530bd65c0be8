# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.layers.normalization import SyncBatchNormalization as SyncBatchNormalization

