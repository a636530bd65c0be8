# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph import cast as cast
from fastgraph import complex as complex
from fastgraph import saturate_cast as saturate_cast
from fastgraph.core.base.dtype import DType as DType
from fastgraph.core.base.dtype import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from fastgraph.core.base.dtype import as_dtype as as_dtype
from fastgraph.core.base.dtype import bfloat16 as bfloat16
from fastgraph.core.base.dtype import bool_ as _bool
from fastgraph.core.base.dtype import complex128 as complex128
from fastgraph.core.base.dtype import complex64 as complex64
from fastgraph.core.base.dtype import double as double
from fastgraph.core.base.dtype import float16 as float16
from fastgraph.core.base.dtype import float32 as float32
from fastgraph.core.base.dtype import float64 as float64
from fastgraph.core.base.dtype import half as half
from fastgraph.core.base.dtype import int16 as int16
from fastgraph.core.base.dtype import int32 as int32
from fastgraph.core.base.dtype import int64 as int64
from fastgraph.core.base.dtype import int8 as int8
from fastgraph.core.base.dtype import qint16 as qint16
from fastgraph.core.base.dtype import qint32 as qint32
from fastgraph.core.base.dtype import qint8 as qint8
from fastgraph.core.base.dtype import quint16 as quint16
from fastgraph.core.base.dtype import quint8 as quint8
from fastgraph.core.base.dtype import resource as resource
from fastgraph.core.base.dtype import string as string
from fastgraph.core.base.dtype import uint16 as uint16
from fastgraph.core.base.dtype import uint32 as uint32
from fastgraph.core.base.dtype import uint64 as uint64
from fastgraph.core.base.dtype import uint8 as uint8
from fastgraph.core.base.dtype import variant as variant
from fastgraph.dtypes import experimental as experimental

bool = _bool
