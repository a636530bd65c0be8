# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.losses import BinaryCrossentropy as BinaryCrossentropy
from fastgraph.keras.losses import CategoricalCrossentropy as CategoricalCrossentropy
from fastgraph.keras.losses import Huber as Huber
from fastgraph.keras.losses import Loss as Loss
from fastgraph.keras.losses import MAE as MAE
from fastgraph.keras.losses import MSE as MSE
from fastgraph.keras.losses import MeanAbsoluteError as MeanAbsoluteError
from fastgraph.keras.losses import MeanSquaredError as MeanSquaredError
from fastgraph.keras.losses import Reduction as Reduction
from fastgraph.keras.losses import SparseCategoricalCrossentropy as SparseCategoricalCrossentropy
from fastgraph.keras.losses import binary_crossentropy as binary_crossentropy
from fastgraph.keras.losses import categorical_crossentropy as categorical_crossentropy
from fastgraph.keras.losses import deserialize as deserialize
from fastgraph.keras.losses import get as get
from fastgraph.keras.losses import huber as huber
from fastgraph.keras.losses import mae as mae
from fastgraph.keras.losses import mean_absolute_error as mean_absolute_error
from fastgraph.keras.losses import mean_squared_error as mean_squared_error
from fastgraph.keras.losses import mse as mse
from fastgraph.keras.losses import serialize as serialize
from fastgraph.keras.losses import sparse_categorical_crossentropy as sparse_categorical_crossentropy

