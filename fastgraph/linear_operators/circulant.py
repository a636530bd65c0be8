"""Circulant matrices, of one, two and three levels of blocks: diagonal after a Fourier transform."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fastgraph.core.base.dtype import as_dtype
from fastgraph.core.base.shapes import TensorShape, shape_of
from fastgraph.core.tensor import Tensor
from fastgraph.linear_operators.base import Hints, largest_to_least
from fastgraph.linear_operators.batches import extent, product, regrouped
from fastgraph.linear_operators.fields import Field, OperatorOfFields
from fastgraph.linear_operators.structured_matrices import is_real, log_size, nowhere_zero
from fastgraph.ops.arguments import as_tensor
from fastgraph.ops.complex_numbers import conj, imag, real
from fastgraph.ops.creation import ones
from fastgraph.ops.elementwise import abs, cast
from fastgraph.ops.fourier import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from fastgraph.ops.matrix_transposes import matrix_transpose
from fastgraph.ops.movement import shape
from fastgraph.ops.reduction import reduce_prod, reduce_sum
from fastgraph.ops.runtime_assertions import assert_less, assert_positive

_FORWARD, _BACK = {1: fft, 2: fft2d, 3: fft3d}, {1: ifft, 2: ifft2d, 3: ifft3d}


class LinearOperatorCirculant(
    OperatorOfFields, defaults={"is_square": True}, kind="A [[nested] block] circulant operator"
):
    """Convolution around a circle, of a spectrum [*b, n]. Source: tf.linalg.LinearOperatorCirculant.

    Of another input_output_dtype than complex64 if said; real where the spectrum is Hermitian. Raises: ValueError for a
    scalar and hints that cannot hold.
    """

    spectrum, input_output_dtype = Field("The transform of what it convolves with.", 1), Field(default="complex64")
    _real = "A real spectrum always corresponds to a self-adjoint operator."
    _depth: ClassVar[int] = 1
    block_depth = property(lambda A: A._depth, doc="The number of dimensions of the convolution.")

    def _checked(self, given: dict[str, Any], hints: Hints) -> tuple[Any, Hints]:
        self._input_output_dtype = as_dtype(given["input_output_dtype"])
        return self._input_output_dtype, hints

    @property
    def block_shape(self) -> TensorShape:
        """The extents of the spectrum without its batch, as far as they are known."""
        dims = self.spectrum.shape._dims
        return shape_of(None if dims is None else dims[-self._depth :])

    def block_shape_tensor(self) -> Tensor:
        """Return the extents of the spectrum without its batch."""
        return shape(self.spectrum)[-self._depth :]

    def _complex(self, x: Any) -> Any:
        """x in the complex dtype in which transforms are made."""
        wide = self.spectrum.dtype.name in ("float64", "complex128")
        return cast(as_tensor(x), "complex128" if wide else "complex64")

    def convolution_kernel(self, name: str = "convolution_kernel") -> Tensor:
        """Return what it convolves with. -> t[*b, *block]."""
        with self._scope(name):
            return self._given_back(_BACK[self._depth](self._complex(self.spectrum)))

    def _convolved(self, x: Any, spectrum: Any) -> Any:
        """Columns whose transforms are multiplied by the spectrum. t[*b, n, k] -> t[*b, n, k]."""
        depth, lines = self._depth, matrix_transpose(self._complex(x))
        blocks = regrouped(lines, 1, *(extent(self.spectrum, i) for i in self._axes()))
        found = _BACK[depth](_FORWARD[depth](blocks) * spectrum[(..., None, *[slice(None)] * depth)])
        return self._given_back(matrix_transpose(regrouped(found, depth, extent(self, -1))))

    def _diag_part(self) -> Any:
        n = extent(self, -1)
        return (self._trace() / cast(n, self.dtype))[..., None] * ones([n], self.dtype)

    def assert_hermitian_spectrum(self, name: str = "assert_hermitian_spectrum") -> Any:
        """Stop unless the matrix is real: spectrum[i] the conjugate of spectrum[-i]. Raises InvalidArgumentError."""
        with self._scope(name):
            kernel = imag(_BACK[self._depth](self._complex(self.spectrum)))
            most = 5 * np.finfo(kernel.dtype.as_numpy_dtype).eps * cast(self.domain_dimension_tensor(), kernel.dtype)
            return assert_less(abs(kernel), most, message="Spectrum was not Hermitian")

    _own: Any = lambda A, name: A._depth
    _axes: Any = lambda A: list(range(-A._depth, 0))
    _dims: Any = lambda A, extent: (product([extent(A.spectrum, i) for i in A._axes()]),) * 2
    _given_back: Any = lambda A, x: cast(x if A.dtype.is_complex else real(x), A.dtype)
    _with: Any = lambda A, spectrum: type(A)(spectrum, input_output_dtype=A.dtype, **A._hints())
    _linop_adjoint: Any = lambda A: A._with(conj(A.spectrum))
    _linop_inverse: Any = lambda A: A._with(1 / as_tensor(A.spectrum))
    _factor: Any = lambda A, adjoint: A._complex(conj(A.spectrum) if adjoint else A.spectrum)
    _times: Any = lambda A, x, adjoint: A._convolved(x, A._factor(adjoint))
    _over: Any = lambda A, rhs, adjoint: A._convolved(rhs, 1 / A._factor(adjoint))
    _determinant: Any = lambda A: A._given_back(reduce_prod(A.spectrum, A._axes()))
    _log_abs_determinant: Any = lambda A: A._given_back(reduce_sum(log_size(A.spectrum), A._axes()))
    _trace: Any = lambda A: A._given_back(reduce_sum(A.spectrum, A._axes()))
    _eigvals: Any = lambda A: regrouped(as_tensor(A.spectrum), A._depth, extent(A, -1))
    _cond: Any = lambda A: largest_to_least(abs(as_tensor(A.spectrum)), A._axes())
    _assert_non_singular: Any = lambda A: nowhere_zero(
        A.spectrum, "Singular operator:  Spectrum contained zero values."
    )
    _assert_positive_definite: Any = lambda A: assert_positive(
        real(A.spectrum), message="Not positive definite:  Real part of spectrum was not all positive."
    )
    _assert_self_adjoint: Any = lambda A: is_real(
        A.spectrum, "Not self-adjoint:  The spectrum contained non-zero imaginary part."
    )


class LinearOperatorCirculant2D(LinearOperatorCirculant):
    """Circulant blocks in a circle, of a spectrum [*b, m, n]; else as LinearOperatorCirculant.

    Raises: ValueError as that does. Source: tf.linalg.LinearOperatorCirculant2D.
    """

    _depth = 2


class LinearOperatorCirculant3D(LinearOperatorCirculant):
    """Circles of circles of circulant blocks, of a spectrum [*b, l, m, n]; else as LinearOperatorCirculant.

    Raises: ValueError as that does. Source: tf.linalg.LinearOperatorCirculant3D.
    """

    _depth = 3
