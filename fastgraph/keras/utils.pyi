# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.data.folders import image_dataset_from_directory as image_dataset_from_directory
from fastgraph.data.folders import text_dataset_from_directory as text_dataset_from_directory
from fastgraph.data.picture_files import array_to_img as array_to_img
from fastgraph.data.picture_files import img_to_array as img_to_array
from fastgraph.data.picture_files import load_img as load_img
from fastgraph.data.picture_files import save_img as save_img
from fastgraph.data.time_series import timeseries_dataset_from_array as timeseries_dataset_from_array
from fastgraph.keras.backend import set_random_seed as set_random_seed
from fastgraph.keras.data_adapters import Sequence as Sequence
from fastgraph.keras.data_adapters import to_categorical as to_categorical
from fastgraph.keras.diagram import model_to_dot as model_to_dot
from fastgraph.keras.diagram import plot_model as plot_model
from fastgraph.keras.file_downloads import get_file as get_file
from fastgraph.keras.identifiers import CustomObjectScope as CustomObjectScope
from fastgraph.keras.identifiers import custom_object_scope as custom_object_scope
from fastgraph.keras.identifiers import get_custom_objects as get_custom_objects
from fastgraph.keras.identifiers import get_registered_name as get_registered_name
from fastgraph.keras.identifiers import get_registered_object as get_registered_object
from fastgraph.keras.identifiers import register_keras_serializable as register_keras_serializable
from fastgraph.keras.model_serialization import deserialize_keras_object as deserialize_keras_object
from fastgraph.keras.model_serialization import serialize_keras_object as serialize_keras_object
from fastgraph.keras.progress import Progbar as Progbar
from fastgraph.keras.sequences import normalize as normalize
from fastgraph.keras.sequences import pad_sequences as pad_sequences

