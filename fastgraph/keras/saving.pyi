# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.identifiers import custom_object_scope as custom_object_scope
from fastgraph.keras.identifiers import get_custom_objects as get_custom_objects
from fastgraph.keras.identifiers import get_registered_name as get_registered_name
from fastgraph.keras.identifiers import get_registered_object as get_registered_object
from fastgraph.keras.identifiers import register_keras_serializable as register_keras_serializable
from fastgraph.keras.model_serialization import deserialize_keras_object as deserialize_keras_object
from fastgraph.keras.model_serialization import load_model as load_model
from fastgraph.keras.model_serialization import save_model as save_model
from fastgraph.keras.model_serialization import serialize_keras_object as serialize_keras_object

