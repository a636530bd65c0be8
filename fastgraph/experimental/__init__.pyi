# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.composites.ragged_shape import DynamicRaggedShape as DynamicRaggedShape
from fastgraph.data.optionals import Optional as Optional
from fastgraph.experimental import dlpack as dlpack
from fastgraph.experimental import dtensor as dtensor
from fastgraph.experimental import numpy as numpy

