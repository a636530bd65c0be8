# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.data.folders import image_dataset_from_directory as image_dataset_from_directory
from fastgraph.data.folders import text_dataset_from_directory as text_dataset_from_directory
from fastgraph.data.time_series import timeseries_dataset_from_array as timeseries_dataset_from_array
from fastgraph.keras.preprocessing import image as image
from fastgraph.keras.preprocessing import sequence as sequence

