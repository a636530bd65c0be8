# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph import einsum as einsum
from fastgraph import eye as eye
from fastgraph import matmul as matmul
from fastgraph import norm as norm
from fastgraph import tensordot as tensordot
from fastgraph.nn import l2_normalize as l2_normalize
from typing import Any
import builtins

def adjoint(matrix: Any, name: builtins.str | None = None) -> Any:
    """Matrices transposed and conjugated. t[*s, m, n] -> t[*s, n, m]. Source: tf.linalg.adjoint."""
def band_part(input: Any, num_lower: Any, num_upper: Any, name: builtins.str | None = None) -> Any:
    """Matrices with zeros outside a band of diagonals; a negative number of them means all. t[*s, m, n] -> same.

    Raises: InvalidArgumentError for more diagonals than there are. Source: tf.linalg.band_part."""
def cross(a: Any, b: Any, name: builtins.str | None = None) -> Any:
    """The cross product of vectors of three elements. t[*s, 3], t[*s, 3] -> t[*s, 3].

    Raises: InvalidArgumentError if shapes differ; FailedPreconditionError for other lengths. Source: tf.linalg.cross."""
def diag(diagonal: Any, name: builtins.str | None = 'diag', k: Any = 0, num_rows: Any = -1, num_cols: Any = -1, padding_value: Any = 0, align: builtins.str = 'RIGHT_LEFT') -> Any:
    """Matrices with the diagonals given, padding_value elsewhere; k may be a pair, the lowest and the highest diagonal.

    t[*s, (n,) m] -> t[*s, rows, columns]. Raises: InvalidArgumentError for sizes that do not fit.
    Source: tf.linalg.diag."""
def diag_part(input: Any, name: builtins.str | None = 'diag_part', k: Any = 0, padding_value: Any = 0, align: builtins.str = 'RIGHT_LEFT') -> Any:
    """The diagonal k of matrices, or the diagonals of a pair k, padded. t[*s, m, n] -> t[*s, (n,) length].

    Raises: InvalidArgumentError for a diagonal that is not there. Source: tf.linalg.diag_part."""
def global_norm(t_list: Any, name: builtins.str | None = None) -> Any:
    """The norm of all elements of a list of tensors (None is passed over; of none 0). f[*s]... -> f[].

    Source: tf.linalg.global_norm."""
def matrix_transpose(a: Any, name: builtins.str | None = 'matrix_transpose', conjugate: builtins.bool = False) -> Any:
    """Matrices with rows and columns exchanged. t[*s, m, n] -> t[*s, n, m].

    Raises: ValueError for less than two axes. Source: tf.linalg.matrix_transpose."""
def matvec(a: Any, b: Any, transpose_a: builtins.bool = False, adjoint_a: builtins.bool = False, a_is_sparse: builtins.bool = False, b_is_sparse: builtins.bool = False, name: builtins.str | None = None) -> Any:
    """Product of matrices and vectors. t[*b, m, k], t[*b, k] -> t[*b, m]. Source: tf.linalg.matvec."""
def normalize(tensor: Any, ord: Any = 'euclidean', axis: Any = None, name: builtins.str | None = None) -> Any:
    """tensor over its norm along `axis`, and that norm with its axes kept. f[*s] -> f[*s], f[*r].

    Source: tf.linalg.normalize."""
def set_diag(input: Any, diagonal: Any, name: builtins.str | None = 'set_diag', k: Any = 0, align: builtins.str = 'RIGHT_LEFT') -> Any:
    """Matrices with the diagonal k replaced, or the diagonals of a pair k. t[*s, m, n], t[*s, (n,) length] -> same.

    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.linalg.set_diag."""
def tensor_diag(diagonal: Any, name: builtins.str | None = None) -> Any:
    """A tensor of zeros with `diagonal` where the first and the second half of the index agree. t[*s] -> t[*s, *s].

    Source: tf.linalg.tensor_diag."""
def tensor_diag_part(input: Any, name: builtins.str | None = None) -> Any:
    """The elements whose first and second half of the index agree. t[*s, *s] -> t[*s].

    Raises: InvalidArgumentError for an odd rank or halves that differ. Source: tf.linalg.tensor_diag_part."""
def trace(x: Any, name: builtins.str | None = None) -> Any:
    """The sum of the main diagonal of matrices. t[*s, m, n] -> t[*s]. Source: tf.linalg.trace."""
