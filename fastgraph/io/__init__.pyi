# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.data.decoding import decode_bmp as decode_bmp
from fastgraph.data.decoding import decode_gif as decode_gif
from fastgraph.data.decoding import decode_image as decode_image
from fastgraph.data.decoding import decode_jpeg as decode_jpeg
from fastgraph.data.decoding import decode_png as decode_png
from fastgraph.data.files import matching_files as matching_files
from fastgraph.data.files import read_file as read_file
from fastgraph.data.files import write_file as write_file
from fastgraph.io import gfile as gfile
from fastgraph.records.features import FixedLenFeature as FixedLenFeature
from fastgraph.records.features import FixedLenSequenceFeature as FixedLenSequenceFeature
from fastgraph.records.features import RaggedFeature as RaggedFeature
from fastgraph.records.features import SparseFeature as SparseFeature
from fastgraph.records.features import VarLenFeature as VarLenFeature
from fastgraph.records.parsing import parse_example as parse_example
from fastgraph.records.parsing import parse_sequence_example as parse_sequence_example
from fastgraph.records.parsing import parse_single_example as parse_single_example
from fastgraph.records.parsing import parse_single_sequence_example as parse_single_sequence_example
from fastgraph.records.record_files import TFRecordOptions as TFRecordOptions
from fastgraph.records.record_files import TFRecordWriter as TFRecordWriter

