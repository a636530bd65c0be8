# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.base.dtype import float4_e2m1fn as float4_e2m1fn
from fastgraph.core.base.dtype import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from fastgraph.core.base.dtype import float8_e4m3fn as float8_e4m3fn
from fastgraph.core.base.dtype import float8_e4m3fnuz as float8_e4m3fnuz
from fastgraph.core.base.dtype import float8_e5m2 as float8_e5m2
from fastgraph.core.base.dtype import float8_e5m2fnuz as float8_e5m2fnuz
from fastgraph.core.base.dtype import int2 as int2
from fastgraph.core.base.dtype import int4 as int4
from fastgraph.core.base.dtype import uint2 as uint2
from fastgraph.core.base.dtype import uint4 as uint4

