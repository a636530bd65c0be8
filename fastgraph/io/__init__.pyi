# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.data.decoding import decode_bmp as decode_bmp
from fastgraph.data.decoding import decode_gif as decode_gif
from fastgraph.data.decoding import decode_image as decode_image
from fastgraph.data.decoding import decode_jpeg as decode_jpeg
from fastgraph.data.decoding import decode_png as decode_png
from fastgraph.data.files import read_file as read_file
from fastgraph.data.files import write_file as write_file
from fastgraph.io import gfile as gfile

