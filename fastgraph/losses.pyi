# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.losses import Loss as Loss
from fastgraph.keras.losses import MSE as MSE
from fastgraph.keras.losses import MeanSquaredError as MeanSquaredError
from fastgraph.keras.losses import Reduction as Reduction
from fastgraph.keras.losses import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from fastgraph.keras.losses import mean_squared_error as mean_squared_error
from fastgraph.keras.losses import mse as mse
from fastgraph.keras.losses import sparse_categorical_crossentropy as sparse_categorical_crossentropy

