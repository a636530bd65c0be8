# Written by tools/stubs.py from the ops' definitions; do not edit.
from collections.abc import Sequence
from fastgraph import abs as abs
from fastgraph import acos as acos
from fastgraph import acosh as acosh
from fastgraph import add as add
from fastgraph import add_n as add_n
from fastgraph import argmax as argmax
from fastgraph import argmin as argmin
from fastgraph import asin as asin
from fastgraph import asinh as asinh
from fastgraph import atan as atan
from fastgraph import atan2 as atan2
from fastgraph import atanh as atanh
from fastgraph import cos as cos
from fastgraph import cosh as cosh
from fastgraph import cumsum as cumsum
from fastgraph import divide as divide
from fastgraph import equal as equal
from fastgraph import exp as exp
from fastgraph import floor as floor
from fastgraph import greater as greater
from fastgraph import greater_equal as greater_equal
from fastgraph import less as less
from fastgraph import less_equal as less_equal
from fastgraph import logical_and as logical_and
from fastgraph import logical_not as logical_not
from fastgraph import logical_or as logical_or
from fastgraph import maximum as maximum
from fastgraph import minimum as minimum
from fastgraph import multiply as multiply
from fastgraph import negative as negative
from fastgraph import not_equal as not_equal
from fastgraph import pow as pow
from fastgraph import reduce_all as reduce_all
from fastgraph import reduce_any as reduce_any
from fastgraph import reduce_logsumexp as reduce_logsumexp
from fastgraph import reduce_max as reduce_max
from fastgraph import reduce_mean as reduce_mean
from fastgraph import reduce_min as reduce_min
from fastgraph import reduce_prod as reduce_prod
from fastgraph import reduce_sum as reduce_sum
from fastgraph import round as round
from fastgraph import scalar_mul as scalar_mul
from fastgraph import sigmoid as sigmoid
from fastgraph import sign as sign
from fastgraph import sin as sin
from fastgraph import sinh as sinh
from fastgraph import sqrt as sqrt
from fastgraph import square as square
from fastgraph import subtract as subtract
from fastgraph import tan as tan
from fastgraph import tanh as tanh
from fastgraph import truediv as truediv
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.shapes import ShapeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.math import mod as _floormod
from fastgraph.math import special as special
from fastgraph.nn import approx_max_k as approx_max_k
from fastgraph.nn import approx_min_k as approx_min_k
from fastgraph.nn import in_top_k as in_top_k
from fastgraph.nn import l2_normalize as l2_normalize
from fastgraph.nn import log_softmax as log_softmax
from fastgraph.nn import softmax as softmax
from fastgraph.nn import softplus as softplus
from fastgraph.nn import softsign as softsign
from fastgraph.nn import top_k as top_k
from fastgraph.nn import zero_fraction as zero_fraction
from typing import Any
import builtins

def accumulate_n(inputs: Sequence[TensorLike], shape: ShapeLike = None, tensor_dtype: DTypeLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Sum of a list of tensors of one shape. t[*s]... -> t[*s].

    Raises: ValueError for an empty list or shapes that differ, TypeError if they are not of `tensor_dtype`.
    Source: tf.math.accumulate_n."""
def angle(input: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The angle of complex numbers; 0 of positive real ones, pi of negative ones. c64[*s] -> f32[*s].

    Source: tf.math.angle."""
def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function I0; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.bessel_i0."""
def bessel_i0e(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function I0 over e**|x|. f[*s] -> f[*s]. Source: tf.math.bessel_i0e."""
def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function I1; NaN at infinity. f[*s] -> f[*s]. Source: tf.math.bessel_i1."""
def bessel_i1e(x: Any, name: str | None = None) -> Tensor:
    """The modified Bessel function I1 over e**|x|. f[*s] -> f[*s]. Source: tf.math.bessel_i1e."""
def betainc(a: Any, b: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularised incomplete beta function, a > 0, b > 0, x in [0, 1]; NaN elsewhere. f[*s] x3 -> f[*s].

    Raises: InvalidArgumentError for shapes that differ, scalars apart. Source: tf.math.betainc."""
def bincount(arr: TensorLike, weights: TensorLike | None = None, minlength: TensorLike | None = None, maxlength: TensorLike | None = None, dtype: DTypeLike = ..., name: builtins.str | None = None, axis: builtins.int | None = None, binary_output: builtins.bool = False) -> Tensor:
    """Count each number's occurrences, or sum the weights of these. i[*s] -> dtype[n].

    There are as many results as the greatest number and `minlength` say, at most `maxlength`. With axis -1 each row is
    counted by itself: i[b, n] -> dtype[b, n]. With binary_output: whether it occurs, as 1 and 0. Of a SparseTensor or
    RaggedTensor, with weights of its kind, what it holds is counted.
    Raises: InvalidArgumentError for negative numbers, and for more axes than two with axis -1; ValueError for another
    axis. Source: tf.math.bincount."""
def ceil(x: Any, name: str | None = None) -> Tensor:
    """The least whole number not below x. f[*s] -> f[*s]. Source: tf.math.ceil."""
def confusion_matrix(labels: TensorLike, predictions: TensorLike, num_classes: TensorLike | None = None, weights: TensorLike | None = None, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Count how often each label (row) met each prediction (column), or sum weights. i[n], i[n] -> dtype[c, c].

    Raises: InvalidArgumentError for a negative number, or one that is no class. Source: tf.math.confusion_matrix."""
def conj(x: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Complex conjugate; real numbers as they are. t[*s] -> t[*s]. Raises: TypeError for others.

    Source: tf.math.conj."""
def count_nonzero(input: TensorLike, axis: TensorLike | None = None, keepdims: builtins.bool | None = None, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """The number of elements along `axis` that are not 0 (of strings: not empty). t[*s] -> i64[*r].

    Source: tf.math.count_nonzero."""
def cumprod(x: TensorLike, axis: TensorLike = 0, exclusive: builtins.bool = False, reverse: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Running product along `axis`; without the element itself if `exclusive`. t[*s] -> t[*s].

    Raises: InvalidArgumentError for an axis out of range. Source: tf.math.cumprod."""
def cumulative_logsumexp(x: TensorLike, axis: TensorLike = 0, exclusive: builtins.bool = False, reverse: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Running log(sum(exp(x))) along `axis`, without overflow; of no elements -inf. f[*s] -> f[*s].

    Raises: InvalidArgumentError for integers or an axis out of range. Source: tf.math.cumulative_logsumexp."""
def digamma(x: Any, name: str | None = None) -> Tensor:
    """The derivative of lgamma; NaN at 0, -1, -2, ... f[*s] -> f[*s]. Source: tf.math.digamma."""
def divide_no_nan(x: TensorLike, y: TensorLike, name: builtins.str | None = None) -> Tensor:
    """x / y as `truediv` divides, and 0 where y is 0. t[*s], t[*s] -> f[*s], broadcasting.

    Raises: TypeError if the dtypes differ or are no numbers. Source: tf.math.divide_no_nan."""
def erf(x: Any, name: str | None = None) -> Tensor:
    """Gauss's error function. f[*s] -> f[*s]. Source: tf.math.erf."""
def erfc(x: Any, name: str | None = None) -> Tensor:
    """1 - erf(x), precise for large x. f[*s] -> f[*s]. Source: tf.math.erfc."""
def erfcinv(x: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The number whose erfc is x, precise for small x. f[*s] -> f[*s]. Source: tf.math.erfcinv."""
def erfinv(x: Any, name: str | None = None) -> Tensor:
    """The number whose erf is x; infinite at -1 and 1, NaN outside. f[*s] -> f[*s]. Source: tf.math.erfinv."""
def expm1(x: Any, name: str | None = None) -> Tensor:
    """exp(x) - 1, precise near 0. f[*s] -> f[*s]. Source: tf.math.expm1."""
def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Quotient rounded towards minus infinity. t[*s], t[*s] -> t[*s], broadcasting.

    Raises: InvalidArgumentError for an integer y of 0. Source: tf.math.floordiv; floats are floor(x / y)."""
floormod = _floormod
def igamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularised lower incomplete gamma function, a > 0, x >= 0; NaN elsewhere. f[*s], f[*s] -> f[*s].

    Source: tf.math.igamma."""
def igammac(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The regularised upper incomplete gamma function, a > 0, x >= 0; NaN elsewhere. f[*s], f[*s] -> f[*s].

    Source: tf.math.igammac."""
def imag(input: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Imaginary part; 0 of real numbers. c64[*s] -> f32[*s]. Source: tf.math.imag."""
def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """The permutation that undoes x: y[x[i]] = i. i[n] -> i[n].

    Raises: InvalidArgumentError for numbers that are no permutation. Source: tf.math.invert_permutation."""
def is_finite(x: Any, name: str | None = None) -> Tensor:
    """True where x is neither infinite nor NaN. f[*s] -> bool[*s]. Source: tf.math.is_finite."""
def is_inf(x: Any, name: str | None = None) -> Tensor:
    """True where x is infinite. f[*s] -> bool[*s]. Source: tf.math.is_inf."""
def is_nan(x: Any, name: str | None = None) -> Tensor:
    """True where x is not a number. f[*s] -> bool[*s]. Source: tf.math.is_nan.

    Args:
        x: A floating tensor.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.math.is_nan([1.0, float("nan"), float("inf")])
        <tf.Tensor: shape=(3,), dtype=bool, numpy=array([False,  True, False])>"""
def is_non_decreasing(x: TensorLike, name: builtins.str | None = None) -> Tensor:
    """True if no element is less than the one before, in row-major order. t[*s] -> bool[].

    Source: tf.math.is_non_decreasing."""
def is_strictly_increasing(x: TensorLike, name: builtins.str | None = None) -> Tensor:
    """True if every element is greater than the one before, in row-major order. t[*s] -> bool[].

    Source: tf.math.is_strictly_increasing."""
def lbeta(x: TensorLike, name: builtins.str | None = None) -> Tensor:
    """log(|Beta|) of the last axis: sum(lgamma(x)) - lgamma(sum(x)). f[*s, n] -> f[*s]. Source: tf.math.lbeta."""
def lgamma(x: Any, name: str | None = None) -> Tensor:
    """log(|gamma(x)|); infinite at 0, -1, -2, ... f[*s] -> f[*s]. Source: tf.math.lgamma.

    Args:
        x: A floating tensor.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        The gamma function of n is the factorial of n - 1:

        >>> tf.round(tf.exp(tf.math.lgamma([1.0, 4.0, 6.0])))
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([  1.,   6., 120.], dtype=float32)>"""
def log(x: Any, name: str | None = None) -> Tensor:
    """Natural logarithm; -inf of 0, NaN of negative numbers. f[*s] -> f[*s]. Source: tf.math.log.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype: `tf.cast` it first.

    Examples:
        >>> tf.math.log([1.0, 0.0, -1.0])
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([  0., -inf,  nan], dtype=float32)>"""
def log1p(x: Any, name: str | None = None) -> Tensor:
    """log(1 + x), precise near 0. f[*s] -> f[*s]. Source: tf.math.log1p.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> float(tf.math.log(1.0 + tf.constant(1e-10)))
        0.0
        >>> bool(tf.math.log1p(1e-10) == 1e-10)
        True"""
def log_sigmoid(x: TensorLike, name: builtins.str | None = None) -> Tensor:
    """log(sigmoid(x)), without overflow. f[*s] -> f[*s]. Source: tf.math.log_sigmoid."""
def logical_xor(x: TensorLike, y: TensorLike, name: builtins.str | None = 'LogicalXor') -> Tensor:
    """True where exactly one holds. bool[*s], bool[*s] -> bool[*s], broadcasting. Source: tf.math.logical_xor."""
def mod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Remainder with the sign of y. t[*s], t[*s] -> t[*s], broadcasting.

    Raises: InvalidArgumentError for an integer y of 0. Source: tf.math.floormod."""
def multiply_no_nan(x: TensorLike, y: TensorLike, name: builtins.str | None = None) -> Tensor:
    """x * y, and 0 where y is 0 whatever x is. f[*s], f[*s] -> f[*s], broadcasting.

    Raises: ValueError if y is a tensor of another dtype. Source: tf.math.multiply_no_nan."""
def ndtri(x: Any, name: str | None = None) -> Tensor:
    """The quantile of the standard normal distribution. f[*s] -> f[*s]. Source: Wichura 1988; tf.math.ndtri."""
def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """The number next to x1 in the direction of x2. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.math.nextafter."""
def polygamma(a: Any, x: Any, name: str | None = None) -> Tensor:
    """The derivative of order a of digamma, x > 0; NaN if a is not whole. f[*s], f[*s] -> f[*s], broadcasting.

    Source: tf.math.polygamma."""
def polyval(coeffs: TensorLike, x: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The polynomial of these coefficients, the highest power first, at x. [t[*s], ...], t[*s] -> t[*s].

    By Horner's rule. Raises: ValueError if coeffs is no list. Source: tf.math.polyval."""
def real(input: Any, name: builtins.str | None = None) -> Tensor:
    """Real part; real numbers as they are. c64[*s] -> f32[*s]. Raises: TypeError for others. Source: tf.math.real."""
def reciprocal(x: Any, name: str | None = None) -> Tensor:
    """1 / x. f[*s] -> f[*s]. Source: tf.math.reciprocal.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.math.reciprocal([4.0, 0.0])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.25,  inf], dtype=float32)>"""
def reciprocal_no_nan(x: TensorLike, name: builtins.str | None = None) -> Tensor:
    """1 / x, and 0 where x is 0. f[*s] -> f[*s]. Source: tf.math.reciprocal_no_nan."""
def reduce_euclidean_norm(input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Square root of the sum of squares along `axis`. f[*s] -> f[*r]. Source: tf.math.reduce_euclidean_norm."""
def reduce_std(input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Square root of the variance along `axis`. f[*s] -> f[*r]. Source: tf.math.reduce_std."""
def reduce_variance(input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Mean of the squared distances from the mean along `axis`. f[*s] -> f[*r].

    Raises: TypeError for integers. Source: tf.math.reduce_variance."""
def rint(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number, halves to even. f[*s] -> f[*s]. Source: tf.math.rint."""
def rsqrt(x: Any, name: str | None = None) -> Tensor:
    """1 / sqrt(x). f[*s] -> f[*s]. Source: tf.math.rsqrt."""
def segment_max(data: TensorLike, segment_ids: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Greatest of the rows of data with one id; ids rise. t[n, *r], i[n] -> t[last + 1, *r].

    Raises: InvalidArgumentError for ids that do not rise from 0 on. Source: tf.math.segment_max."""
def segment_mean(data: TensorLike, segment_ids: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Mean of the rows of data with one id; ids rise. t[n, *r], i[n] -> t[last + 1, *r].

    Raises: InvalidArgumentError for ids that do not rise from 0 on. Source: tf.math.segment_mean."""
def segment_min(data: TensorLike, segment_ids: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Least of the rows of data with one id; ids rise. t[n, *r], i[n] -> t[last + 1, *r].

    Raises: InvalidArgumentError for ids that do not rise from 0 on. Source: tf.math.segment_min."""
def segment_prod(data: TensorLike, segment_ids: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Product of the rows of data with one id; ids rise. t[n, *r], i[n] -> t[last + 1, *r].

    Raises: InvalidArgumentError for ids that do not rise from 0 on. Source: tf.math.segment_prod."""
def segment_sum(data: TensorLike, segment_ids: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Sum of the rows of data with one id; ids rise. t[n, *r], i[n] -> t[last + 1, *r].

    Raises: InvalidArgumentError for ids that do not rise from 0 on. Source: tf.math.segment_sum."""
def sobol_sample(dim: TensorLike, num_results: TensorLike, skip: TensorLike = 0, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Points of Sobol's sequence in the unit cube, after the origin and `skip` more. -> f[num_results, dim].

    Raises: InvalidArgumentError for no dimension, or more than there are direction numbers for. Source: Joe and Kuo
    2008; tf.math.sobol_sample."""
def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """(x - y) * conj(x - y). t[*s], t[*s] -> t[*s], broadcasting. Source: tf.math.squared_difference.

    Args:
        x: A tensor of numbers.
        y: A tensor of the same dtype.

    Raises:
        InvalidArgumentError: The dtypes differ, or the shapes do not broadcast.

    Examples:
        >>> tf.math.squared_difference([1.0, 5.0], 2.0)
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 9.], dtype=float32)>"""
def unsorted_segment_max(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Greatest of the slices of data with the same id. t[*q, *r], i[*q] -> t[num_segments, *r].

    Negative ids are passed over.
    Raises: InvalidArgumentError for an id out of range. Source: tf.math.unsorted_segment_max."""
def unsorted_segment_mean(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Mean of the slices of data with the same id; 0 of none. t[*q, *r], i[*q] -> f[num_segments, *r].

    Raises: InvalidArgumentError for an id out of range. Source: tf.math.unsorted_segment_mean."""
def unsorted_segment_min(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Least of the slices of data with the same id. t[*q, *r], i[*q] -> t[num_segments, *r].

    Negative ids are passed over.
    Raises: InvalidArgumentError for an id out of range. Source: tf.math.unsorted_segment_min."""
def unsorted_segment_prod(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Product of the slices of data with the same id. t[*q, *r], i[*q] -> t[num_segments, *r].

    Negative ids are passed over.
    Raises: InvalidArgumentError for an id out of range. Source: tf.math.unsorted_segment_prod."""
def unsorted_segment_sqrt_n(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Sum of the slices of data with the same id over the root of their number. f[*q, *r], i[*q] -> f[n, *r].

    Raises: InvalidArgumentError for an id out of range. Source: tf.math.unsorted_segment_sqrt_n."""
def unsorted_segment_sum(data: TensorLike, segment_ids: TensorLike, num_segments: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Sum of the slices of data with the same id. t[*q, *r], i[*q] -> t[num_segments, *r].

    Negative ids are passed over.
    Raises: InvalidArgumentError for an id out of range. Source: tf.math.unsorted_segment_sum."""
def xdivy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x / y, and 0 where x is 0. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.math.xdivy."""
def xlog1py(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * log(1 + y), and 0 where x is 0. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.math.xlog1py."""
def xlogy(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x * log(y), and 0 where x is 0. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.math.xlogy."""
def zeta(x: Any, q: Any, name: str | None = None) -> Tensor:
    """Hurwitz's zeta function sum((q + k) ** -x), x > 1, q > 0. f[*s], f[*s] -> f[*s]. Source: tf.math.zeta."""
