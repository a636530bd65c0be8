# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph import cast as cast
from fastgraph import complex as complex
from fastgraph import saturate_cast as saturate_cast
from fastgraph.dtype import DType as DType
from fastgraph.dtype import as_dtype as as_dtype
from fastgraph.dtype import bfloat16 as bfloat16
from fastgraph.dtype import bool_ as bool
from fastgraph.dtype import complex128 as complex128
from fastgraph.dtype import complex64 as complex64
from fastgraph.dtype import double as double
from fastgraph.dtype import float16 as float16
from fastgraph.dtype import float32 as float32
from fastgraph.dtype import float64 as float64
from fastgraph.dtype import half as half
from fastgraph.dtype import int16 as int16
from fastgraph.dtype import int32 as int32
from fastgraph.dtype import int64 as int64
from fastgraph.dtype import int8 as int8
from fastgraph.dtype import resource as resource
from fastgraph.dtype import string as string
from fastgraph.dtype import uint16 as uint16
from fastgraph.dtype import uint32 as uint32
from fastgraph.dtype import uint64 as uint64
from fastgraph.dtype import uint8 as uint8
from fastgraph.dtype import variant as variant

