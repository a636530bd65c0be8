# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.data.picture_files import array_to_img as array_to_img
from fastgraph.data.picture_files import img_to_array as img_to_array
from fastgraph.data.picture_files import load_img as load_img
from fastgraph.data.picture_files import save_img as save_img
from fastgraph.keras.layers.image_preprocessing import smart_resize as smart_resize

