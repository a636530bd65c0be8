# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.data.media_decoding import decode_wav as decode_wav
from fastgraph.data.media_decoding import encode_wav as encode_wav

