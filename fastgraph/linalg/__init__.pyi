# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph import eig as eig
from fastgraph import eigvals as eigvals
from fastgraph import einsum as einsum
from fastgraph import eye as eye
from fastgraph import matmul as matmul
from fastgraph import matrix_square_root as _sqrtm
from fastgraph import norm as norm
from fastgraph import tensordot as tensordot
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.linalg import experimental as experimental
from fastgraph.linear_operators.base import LinearOperator as LinearOperator
from fastgraph.linear_operators.block_operators import LinearOperatorBlockDiag as LinearOperatorBlockDiag
from fastgraph.linear_operators.block_operators import LinearOperatorBlockLowerTriangular as LinearOperatorBlockLowerTriangular
from fastgraph.linear_operators.circulant import LinearOperatorCirculant as LinearOperatorCirculant
from fastgraph.linear_operators.circulant import LinearOperatorCirculant2D as LinearOperatorCirculant2D
from fastgraph.linear_operators.circulant import LinearOperatorCirculant3D as LinearOperatorCirculant3D
from fastgraph.linear_operators.composed_operators import LinearOperatorAdjoint as LinearOperatorAdjoint
from fastgraph.linear_operators.composed_operators import LinearOperatorComposition as LinearOperatorComposition
from fastgraph.linear_operators.composed_operators import LinearOperatorInversion as LinearOperatorInversion
from fastgraph.linear_operators.composed_operators import LinearOperatorKronecker as LinearOperatorKronecker
from fastgraph.linear_operators.composed_operators import LinearOperatorLowRankUpdate as LinearOperatorLowRankUpdate
from fastgraph.linear_operators.structured_matrices import LinearOperatorDiag as LinearOperatorDiag
from fastgraph.linear_operators.structured_matrices import LinearOperatorFullMatrix as LinearOperatorFullMatrix
from fastgraph.linear_operators.structured_matrices import LinearOperatorHouseholder as LinearOperatorHouseholder
from fastgraph.linear_operators.structured_matrices import LinearOperatorIdentity as LinearOperatorIdentity
from fastgraph.linear_operators.structured_matrices import LinearOperatorLowerTriangular as LinearOperatorLowerTriangular
from fastgraph.linear_operators.structured_matrices import LinearOperatorPermutation as LinearOperatorPermutation
from fastgraph.linear_operators.structured_matrices import LinearOperatorScaledIdentity as LinearOperatorScaledIdentity
from fastgraph.linear_operators.structured_matrices import LinearOperatorToeplitz as LinearOperatorToeplitz
from fastgraph.linear_operators.structured_matrices import LinearOperatorTridiag as LinearOperatorTridiag
from fastgraph.linear_operators.structured_matrices import LinearOperatorZeros as LinearOperatorZeros
from fastgraph.nn import l2_normalize as l2_normalize
from fastgraph.ops.factorizations import Lu
from fastgraph.ops.factorizations import Qr
from fastgraph.ops.linear_solvers import LogMatrixDeterminant
from typing import Any
from typing import Literal
from typing import overload
import builtins

def adjoint(matrix: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Matrices transposed and conjugated. t[*s, m, n] -> t[*s, n, m]. Source: tf.linalg.adjoint."""
def band_part(input: TensorLike, num_lower: TensorLike, num_upper: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Matrices with zeros outside a band of diagonals; a negative number of them means all. t[*s, m, n] -> same.

    Raises: InvalidArgumentError for more diagonals than there are. Source: tf.linalg.band_part."""
def banded_triangular_solve(bands: TensorLike, rhs: TensorLike, lower: builtins.bool = True, adjoint: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """x with A x = rhs for a triangular A of few diagonals. t[*b, m, n], t[*b, n, k] -> t[*b, n, k], broadcasting.

    bands[k, i] is A[i, i - k]; without `lower` the main diagonal is the last of the bands, and bands[-1 - k, i] is
    A[i, i + k]. Raises: InvalidArgumentError for shapes that do not fit and zeros on the main diagonal.
    Source: tf.linalg.banded_triangular_solve."""
def cholesky(input: Any, name: str | None = None) -> Tensor:
    """L with L L^H = input, lower triangular; the input's lower triangle is read. t[*b, n, n] -> t[*b, n, n].

    Of a matrix that is not positive definite the lower triangle is NaN.

    Args:
        input: Symmetric (Hermitian) positive definite matrices of floating or complex numbers.

    Raises:
        InvalidArgumentError: They are not square.

    Examples:
        >>> tf.linalg.cholesky([[4.0, 2.0], [2.0, 5.0]])
        <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
        array([[2., 0.],
               [1., 2.]], dtype=float32)>
        >>> bool(tf.math.is_nan(tf.linalg.cholesky([[-1.0]]))[0, 0])
        True

    Source: tf.linalg.cholesky."""
def cholesky_solve(chol: TensorLike, rhs: TensorLike, name: builtins.str | None = None) -> Tensor:
    """x with A x = rhs, given Cholesky's factor of A. t[*b, n, n], t[*b, n, k] -> t[*b, n, k].

    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.linalg.cholesky_solve."""
def cross(a: TensorLike, b: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The cross product of vectors of three elements. t[*s, 3], t[*s, 3] -> t[*s, 3].

    Raises: InvalidArgumentError if shapes differ; FailedPreconditionError for other lengths. Source: tf.linalg.cross."""
def det(input: Any, name: str | None = None) -> Tensor:
    """Determinants; their gradient needs matrices that have inverses. t[*b, n, n] -> t[*b].

    Raises: InvalidArgumentError for what is not square. Source: tf.linalg.det."""
def diag(diagonal: TensorLike, name: builtins.str | None = 'diag', k: TensorLike = 0, num_rows: TensorLike = -1, num_cols: TensorLike = -1, padding_value: TensorLike = 0, align: builtins.str = 'RIGHT_LEFT') -> Tensor:
    """Matrices with the diagonals given, padding_value elsewhere; k may be a pair, the lowest and the highest diagonal.

    t[*s, (n,) m] -> t[*s, rows, columns]. Raises: InvalidArgumentError for sizes that do not fit.
    Source: tf.linalg.diag."""
def diag_part(input: TensorLike, name: builtins.str | None = 'diag_part', k: TensorLike = 0, padding_value: TensorLike = 0, align: builtins.str = 'RIGHT_LEFT') -> Tensor:
    """The diagonal k of matrices, or the diagonals of a pair k, padded. t[*s, m, n] -> t[*s, (n,) length].

    Args:
        input: Matrices, of rank 2 or more.
        k: 0: the main diagonal; above it > 0, below < 0. A pair: all from the lower to the upper.
        padding_value: What fills diagonals shorter than the longest.
        align: Where they are filled: the superdiagonals and the subdiagonals at the "RIGHT" or "LEFT".

    Raises:
        InvalidArgumentError: There is no such diagonal.

    Examples:
        >>> x = tf.constant([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
        >>> tf.linalg.diag_part(x)
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 5, 9], dtype=int32)>
        >>> tf.linalg.diag_part(x, k=(0, 1))
        <tf.Tensor: shape=(2, 3), dtype=int32, numpy=
        array([[0, 2, 6],
               [1, 5, 9]], dtype=int32)>

    Source: tf.linalg.diag_part."""
def eigh(tensor: TensorLike, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Eigenvalues, rising, and eigenvectors of Hermitian matrices, whose lower triangle is read.

    t[*b, n, n] -> t[*b, n], t[*b, n, n]. Raises: InvalidArgumentError for what is not square or not finite.
    Source: tf.linalg.eigh."""
@overload
def eigh_tridiagonal(alpha: TensorLike | None, beta: TensorLike, eigvals_only: Literal[True] = ..., select: builtins.str = 'a', select_range: TensorLike | None = None, tol: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Eigenvalues, rising, of a Hermitian tridiagonal matrix; also eigenvectors, in columns, unless eigvals_only.

    t[n], t[n - 1] -> f[k] (, t[n, k]): its diagonal, and what stands above that. select "i": those with indices from
    select_range[0] to [1]; "v": those in ]select_range[0], select_range[1]]; "a": all. `tol` changes nothing here.
    Raises: ValueError for another `select`; InvalidArgumentError for an empty range or shapes that do not fit.
    Source: tf.linalg.eigh_tridiagonal."""
@overload
def eigh_tridiagonal(alpha: TensorLike | None, beta: TensorLike, *, eigvals_only: Literal[False], select: builtins.str = 'a', select_range: TensorLike | None = None, tol: TensorLike | None = None, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor]:
    ...
@overload
def eigh_tridiagonal(alpha: TensorLike | None, beta: TensorLike, eigvals_only: builtins.bool = True, select: builtins.str = 'a', select_range: TensorLike | None = None, tol: TensorLike | None = None, name: builtins.str | None = None) -> Any:
    ...
def eigvalsh(tensor: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Eigenvalues, rising, of Hermitian matrices, whose lower triangle is read. t[*b, n, n] -> t[*b, n].

    Raises: InvalidArgumentError for what is not square or not finite. Source: tf.linalg.eigvalsh."""
def expm(input: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Exponentials of matrices: sum of A^k / k!. t[*b, n, n] -> t[*b, n, n].

    Raises: ValueError for signed integers; InvalidArgumentError for other dtypes and what is not square.
    Source: tf.linalg.expm."""
def global_norm(t_list: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The norm of all elements of a list of tensors (None is passed over; of none 0). f[*s]... -> f[].

    Raises: TypeError for one tensor. Source: tf.linalg.global_norm."""
def inv(input: TensorLike, adjoint: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Inverse matrices, or those of the adjoint matrices. t[*b, n, n] -> t[*b, n, n].

    Raises: InvalidArgumentError for what is not square or has no inverse. Source: tf.linalg.inv."""
def logdet(matrix: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Log-determinants of Hermitian positive definite matrices, as real numbers. t[*b, n, n] -> f[*b].

    NaN where `cholesky` is. Raises: InvalidArgumentError as `cholesky` does. Source: tf.linalg.logdet."""
def logm(input: Any, name: str | None = None) -> Tensor:
    """The matrix whose exponential is the input, with eigenvalues of imaginary parts in ]-pi, pi]; NaN if singular.

    c[*b, n, n] -> c[*b, n, n]. Raises: InvalidArgumentError for what is not square or not complex.
    Source: tf.linalg.logm."""
def lstsq(matrix: TensorLike, rhs: TensorLike, l2_regularizer: TensorLike = 0.0, fast: builtins.bool = True, name: builtins.str | None = None) -> Tensor:
    """x with the least |matrix x - rhs|^2 + l2_regularizer |x|^2. t[*b, m, n], t[*b, m, k] -> t[*b, n, k].

    By Cholesky's factor of the normal equations, for full rank; with fast=False by singular values, for any rank and
    without the regularizer: then of all best x the shortest. Raises: InvalidArgumentError. Source: tf.linalg.lstsq."""
def lu(input: TensorLike, output_idx_type: DTypeLike = ..., name: builtins.str | None = None) -> Lu:
    """L (unit) below the diagonal and U on and above it, with input[p] = L U, and p. t[*b, n, n] -> same, i[*b, n].

    Raises: InvalidArgumentError for what is not square or not invertible. Source: tf.linalg.lu."""
def lu_matrix_inverse(lower_upper: TensorLike, perm: TensorLike, validate_args: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """The inverse of the matrix whose `lu` is given. t[*b, n, n], i[*b, n] -> t[*b, n, n].

    Raises: ValueError for shapes that do not fit. Source: tf.linalg.lu_matrix_inverse."""
def lu_reconstruct(lower_upper: TensorLike, perm: TensorLike, validate_args: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """The matrix whose `lu` is given. t[*b, n, n], i[*b, n] -> t[*b, n, n].

    Raises: ValueError for shapes that do not fit, InvalidArgumentError for a `perm` that is no permutation. Source:
    tf.linalg.lu_reconstruct."""
def lu_solve(lower_upper: TensorLike, perm: TensorLike, rhs: TensorLike, validate_args: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """x with A x = rhs, given `lu` of A. t[*b, n, n], i[*b, n], t[*b, n, k] -> t[*b, n, k].

    Raises: ValueError for shapes that do not fit. Source: tf.linalg.lu_solve."""
def matrix_rank(a: TensorLike, tol: TensorLike | None = None, validate_args: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Number of singular values above tol (eps max(m, n) times the greatest). f[*b, m, n] -> i32[*b].

    Raises: TypeError for other dtypes; ValueError for ranks below 2. Source: tf.linalg.matrix_rank."""
def matrix_transpose(a: TensorLike, name: builtins.str | None = 'matrix_transpose', conjugate: builtins.bool = False) -> Tensor:
    """Matrices with rows and columns exchanged. t[*s, m, n] -> t[*s, n, m].

    Raises: ValueError for less than two axes. Source: tf.linalg.matrix_transpose."""
def matvec(a: TensorLike, b: TensorLike, transpose_a: builtins.bool = False, adjoint_a: builtins.bool = False, a_is_sparse: builtins.bool = False, b_is_sparse: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Product of matrices and vectors. t[*b, m, k], t[*b, k] -> t[*b, m]. Source: tf.linalg.matvec."""
def normalize(tensor: TensorLike, ord: builtins.str | builtins.float = 'euclidean', axis: TensorLike | None = None, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor]:
    """tensor over its norm along `axis`, and that norm with its axes kept. f[*s] -> f[*s], f[*r].

    Source: tf.linalg.normalize."""
def pinv(a: TensorLike, rcond: TensorLike | None = None, validate_args: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Pseudoinverses; singular values up to rcond (10 eps max(m, n)) times the greatest count as 0.

    f[*b, m, n] -> f[*b, n, m]; rcond is f[*b]. Raises: TypeError for other dtypes; ValueError for ranks below 2.
    Source: tf.linalg.pinv."""
def qr(input: TensorLike, full_matrices: builtins.bool = False, name: builtins.str | None = None) -> Qr:
    """Q with orthonormal columns and R upper triangular, Q R = input. t[*b, m, n] -> t[*b, m, k], t[*b, k, n].

    k is min(m, n), or m with full_matrices. Raises: InvalidArgumentError for ranks below 2. Source: tf.linalg.qr."""
def set_diag(input: TensorLike, diagonal: TensorLike, name: builtins.str | None = 'set_diag', k: TensorLike = 0, align: builtins.str = 'RIGHT_LEFT') -> Tensor:
    """Matrices with the diagonal k replaced, or the diagonals of a pair k. t[*s, m, n], t[*s, (n,) length] -> same.

    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.linalg.set_diag."""
def slogdet(input: TensorLike, name: builtins.str | None = None) -> LogMatrixDeterminant:
    """Sign (of complex matrices the phase) and log(|det|), both of the input's dtype. t[*b, n, n] -> t[*b], t[*b].

    Raises: InvalidArgumentError for what is not square. Source: tf.linalg.slogdet."""
def solve(matrix: TensorLike, rhs: TensorLike, adjoint: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """x with matrix x = rhs, or, with `adjoint`, with the adjoint matrix. t[*b, n, n], t[*b, n, k] -> t[*b, n, k].

    Raises: InvalidArgumentError for shapes that do not fit and matrices without an inverse. Source: tf.linalg.solve."""
sqrtm = _sqrtm
@overload
def svd(tensor: TensorLike, full_matrices: builtins.bool = False, compute_uv: Literal[True] = ..., name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """s falling, u and v with u diag(s) v^H = tensor; without compute_uv only s. t[*b, m, n] -> f[*b, k], t, t.

    u is [*b, m, k] and v [*b, n, k] for k = min(m, n), or square with full_matrices.
    Raises: InvalidArgumentError for ranks below 2. Source: tf.linalg.svd."""
@overload
def svd(tensor: TensorLike, full_matrices: builtins.bool = False, *, compute_uv: Literal[False], name: builtins.str | None = None) -> Tensor:
    ...
@overload
def svd(tensor: TensorLike, full_matrices: builtins.bool = False, compute_uv: builtins.bool = True, name: builtins.str | None = None) -> Any:
    ...
def tensor_diag(diagonal: TensorLike, name: builtins.str | None = None) -> Tensor:
    """A tensor of zeros with `diagonal` where the first and the second half of the index agree. t[*s] -> t[*s, *s].

    Raises: InvalidArgumentError for a scalar. Source: tf.linalg.tensor_diag."""
def tensor_diag_part(input: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The elements whose first and second half of the index agree. t[*s, *s] -> t[*s].

    Raises: InvalidArgumentError for an odd rank or halves that differ. Source: tf.linalg.tensor_diag_part."""
def trace(x: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The sum of the main diagonal of matrices. t[*s, m, n] -> t[*s]. Source: tf.linalg.trace."""
def triangular_solve(matrix: TensorLike, rhs: TensorLike, lower: builtins.bool = True, adjoint: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """x with matrix x = rhs, only the lower (upper) triangle of the matrix being read; batches broadcast.

    t[*b, n, n], t[*b, n, k] -> t[*b, n, k]. With `adjoint`: of the adjoint matrix. Zeros on the diagonal give infinity.
    Raises: InvalidArgumentError for shapes that do not fit. Source: tf.linalg.triangular_solve."""
def tridiagonal_matmul(diagonals: TensorLike, rhs: TensorLike, diagonals_format: builtins.str = 'compact', name: builtins.str | None = None) -> Tensor:
    """The product of a tridiagonal matrix, in a format of `tridiagonal_solve`, and rhs.

    t[*b, 3, n], t[*b, n, k] -> t[*b, n, k]. Raises: InvalidArgumentError for shapes that do not fit.
    Source: tf.linalg.tridiagonal_matmul."""
def tridiagonal_solve(diagonals: TensorLike, rhs: TensorLike, diagonals_format: builtins.str = 'compact', transpose_rhs: builtins.bool = False, conjugate_rhs: builtins.bool = False, name: builtins.str | None = None, partial_pivoting: builtins.bool = True, perturb_singular: builtins.bool = False) -> Tensor:
    """x with A x = rhs for a tridiagonal A. t[*b, 3, n], t[*b, n(, k)] -> t[*b, n(, k)].

    diagonals: one tensor of A[i, i + 1], A[i, i], A[i, i - 1] ("compact"), a sequence of these ("sequence"), or A
    ("matrix"). Rows are exchanged whether or not `partial_pivoting` asks for it; NaN comes from A without an inverse.
    With `perturb_singular` that of a matrix next to A instead. Raises: ValueError for shapes that do not fit.
    Source: tf.linalg.tridiagonal_solve."""
