# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.layers.image_preprocessing import smart_resize as smart_resize
from fastgraph.keras.sequences import img_to_array as img_to_array

