# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph import eye as eye
from fastgraph import matmul as matmul
from fastgraph import norm as norm
from fastgraph.nn import l2_normalize as l2_normalize
from typing import Any
import builtins

def global_norm(t_list: Any, name: builtins.str | None = None) -> Any:
    """The norm of all elements of a list of tensors (None is passed over). f[*s]... -> f[].

    Source: tf.linalg.global_norm."""
def matvec(a: Any, b: Any, transpose_a: builtins.bool = False, adjoint_a: builtins.bool = False, a_is_sparse: builtins.bool = False, b_is_sparse: builtins.bool = False, name: builtins.str | None = None) -> Any:
    """Product of matrices and vectors. t[*b, m, k], t[*b, k] -> t[*b, m]. Source: tf.linalg.matvec."""
