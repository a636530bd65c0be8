"""TensorArray and its spec, with all kinds of arrays: eager ones, those of graphs, those whose entries differ in shape.

Rule: who takes the class from here has them all; each kind enters itself in the class below it, which makes it.
"""

from fastgraph.composites.eager_tensor_array import TensorArray
from fastgraph.composites.tensor_array_spec import TensorArraySpec
from fastgraph.composites.variable_shape_tensor_array import UnevenTensorArray

__all__ = ["TensorArray", "TensorArraySpec", "UnevenTensorArray"]
