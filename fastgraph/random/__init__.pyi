# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import SizeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.nn import all_candidate_sampler as all_candidate_sampler
from fastgraph.nn import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from fastgraph.ops.random_algorithms import Algorithm as Algorithm
from fastgraph.random import experimental as experimental
from fastgraph.state.random_generator import Generator as Generator
from fastgraph.state.random_generator import create_rng_state as create_rng_state
from fastgraph.state.random_generator import get_global_generator as get_global_generator
from fastgraph.state.random_generator import set_global_generator as set_global_generator
from typing import Any
import builtins

def categorical(logits: TensorLike, num_samples: TensorLike, dtype: DTypeLike | None = None, seed: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Classes drawn with the probabilities softmax(logits) of each row. f[n, c] -> i64[n, num_samples].

    Raises: InvalidArgumentError for other ranks or no classes. Source: tf.random.categorical."""
def fold_in(seed: TensorLike, data: TensorLike, alg: Algorithm | TensorLike = 'auto_select') -> Tensor:
    """A new seed from one and a number, of the number's dtype. i[2], i[] -> i[2]. Source: tf.random.fold_in."""
def gamma(shape: SizeLike, alpha: TensorLike, beta: TensorLike | None = None, dtype: DTypeLike = ..., seed: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Gamma variates of shape alpha and rate beta (1). f[*s], f[*s] -> f[*shape, *s].

    They have gradients with respect to both. Raises: InvalidArgumentError for shapes that do not broadcast. Source:
    tf.random.gamma; Marsaglia and Tsang 2000."""
def log_uniform_candidate_sampler(true_classes: TensorLike, num_true: TensorLike, num_sampled: TensorLike, unique: builtins.bool, range_max: TensorLike, seed: builtins.int | None = None, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """`uniform_candidate_sampler`, where class k comes with (log(k + 2) - log(k + 1)) / log(range_max + 1).

    Source: tf.random.log_uniform_candidate_sampler."""
def normal(shape: SizeLike, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: DTypeLike = ..., seed: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Numbers of the normal distribution. -> dtype[*shape].

    Args:
        shape: The extents: a list of ints or an integer tensor.
        mean: The distribution's mean; it and stddev broadcast with the shape.
        stddev: Its standard deviation.
        dtype: A floating dtype.
        seed: An int: this op's own sequence, see `tf.random.set_seed`.

    Raises:
        TypeError: The dtype is an integer's.

    Examples:
        >>> x = tf.random.normal([10000, 2], mean=[0.0, 5.0], seed=1)
        >>> x.shape, np.round(np.abs(tf.reduce_mean(x, 0))).tolist()
        (TensorShape([10000, 2]), [0.0, 5.0])

    Source: tf.random.normal."""
def poisson(shape: SizeLike, lam: TensorLike, dtype: DTypeLike = ..., seed: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Poisson variates of mean lam. t[*s] -> dtype[*shape, *s].

    Raises: InvalidArgumentError for other dtypes. Source: tf.random.poisson; Knuth 1969, Hormann 1993."""
def set_seed(seed: Any) -> None:
    """Begin the sequences of all random ops anew, from `seed`. Source: tf.random.set_seed.

    An op without a seed of its own takes one from it and from the number of ops before it; one with a `seed` has the
    sequence that the pair says.

    Args:
        seed: An int; None: one that nobody can foresee.

    Returns:
        Nothing.

    Raises:
        TypeError: The seed is no number, or not finite.

    Examples:
        >>> tf.random.set_seed(3)
        >>> first, second = tf.random.uniform([]), tf.random.uniform([])
        >>> tf.random.set_seed(3)
        >>> bool(tf.random.uniform([]) == first), bool(first == second)
        (True, False)"""
def shuffle(value: TensorLike, seed: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """The slices of value along its first axis in random order. t[n, *s] -> t[n, *s]. Source: tf.random.shuffle."""
def split(seed: TensorLike, num: TensorLike = 2, alg: Algorithm | TensorLike = 'auto_select') -> Tensor:
    """New seeds, independent of each other, from one. i[2] -> i[num, 2]. Source: tf.random.split."""
def stateless_binomial(shape: SizeLike, seed: TensorLike, counts: TensorLike, probs: TensorLike, output_dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Successes in `counts` trials of probability `probs`, the same for the same seed i[2]. -> output_dtype[*shape].

    shape ends with that of the parameters, which broadcast. Raises: InvalidArgumentError if it does not. Source:
    tf.random.stateless_binomial; Hormann 1993."""
def stateless_categorical(logits: TensorLike, num_samples: TensorLike, seed: TensorLike, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Classes drawn with the probabilities softmax(logits), the same for the same seed. f[n, c] -> i64[n, samples].

    Raises: as `categorical`. Source: tf.random.stateless_categorical."""
def stateless_gamma(shape: SizeLike, seed: TensorLike, alpha: TensorLike, beta: TensorLike | None = None, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """`gamma`, the same for the same seed i[2]; shape is the result's and ends with that of the parameters.

    Raises: InvalidArgumentError if it does not. Source: tf.random.stateless_gamma."""
def stateless_normal(shape: SizeLike, seed: TensorLike, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: DTypeLike = ..., name: builtins.str | None = None, alg: Algorithm | TensorLike = 'auto_select') -> Tensor:
    """Numbers of the normal distribution, the same for the same seed i[2]. -> dtype[*shape].

    Raises: InvalidArgumentError for another seed. Source: tf.random.stateless_normal."""
def stateless_parameterized_truncated_normal(shape: SizeLike, seed: TensorLike, means: TensorLike = 0.0, stddevs: TensorLike = 1.0, minvals: TensorLike = -2.0, maxvals: TensorLike = 2.0, name: builtins.str | None = None) -> Tensor:
    """Normal variates between minvals and maxvals, the same for the same seed i[2]. -> f[*shape].

    shape ends with that of the parameters, which broadcast; the result has gradients with respect to each of them.
    Raises: InvalidArgumentError for shapes that do not fit, no standard deviation or no room between the ends. Source:
    tf.random.stateless_parameterized_truncated_normal; Robert 1995."""
def stateless_poisson(shape: SizeLike, seed: TensorLike, lam: TensorLike, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """`poisson`, the same for the same seed i[2]; shape is the result's and ends with lam's.

    Raises: InvalidArgumentError if it does not. Source: tf.random.stateless_poisson."""
def stateless_truncated_normal(shape: SizeLike, seed: TensorLike, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: DTypeLike = ..., name: builtins.str | None = None, alg: Algorithm | TensorLike = 'auto_select') -> Tensor:
    """`truncated_normal` that is the same for the same seed i[2]. -> dtype[*shape].

    Raises: InvalidArgumentError for another seed. Source: tf.random.stateless_truncated_normal."""
def stateless_uniform(shape: SizeLike, seed: TensorLike, minval: TensorLike | None = 0, maxval: TensorLike | None = None, dtype: DTypeLike = ..., name: builtins.str | None = None, alg: TensorLike = 'auto_select') -> Tensor:
    """Numbers spread evenly over [minval, maxval), the same for the same seed i[2]. -> dtype[*shape].

    Of integers, both bounds None give any number. Raises: ValueError for integers with one bound or another `alg`;
    InvalidArgumentError for another seed. Source: tf.random.stateless_uniform."""
def truncated_normal(shape: SizeLike, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: DTypeLike = ..., seed: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Numbers of the normal distribution, no further than 2 stddev from the mean. -> dtype[*shape].

    Raises: TypeError for integers. Source: tf.random.truncated_normal."""
def uniform(shape: SizeLike, minval: TensorLike = 0, maxval: TensorLike | None = None, dtype: DTypeLike = ..., seed: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Numbers spread evenly over [minval, maxval). -> dtype[*shape].

    Args:
        shape: The extents: a list of ints or an integer tensor.
        minval: The least number that can occur.
        maxval: What all numbers are below; None is 1 for floats and must be given for integers.
        dtype: A floating dtype, int32 or int64.
        seed: An int: this op's own sequence, see `tf.random.set_seed`.

    Raises:
        ValueError: Another dtype, or integers without maxval.
        InvalidArgumentError: minval >= maxval, for integers.

    Examples:
        >>> x = tf.random.uniform([1000], -1.0, 1.0)
        >>> bool(tf.reduce_all((x >= -1.0) & (x < 1.0)))
        True
        >>> tf.random.uniform([2, 3], maxval=6, dtype=tf.int32).shape
        TensorShape([2, 3])

    Source: tf.random.uniform."""
def uniform_candidate_sampler(true_classes: TensorLike, num_true: TensorLike, num_sampled: TensorLike, unique: builtins.bool, range_max: TensorLike, seed: builtins.int | None = None, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor, Tensor]:
    """Classes below range_max, each as likely. i64[b, num_true] -> i64[n], f32[b, num_true], f32[n].

    The second and third result: how often the true classes and the sampled ones are expected to be drawn.
    Raises: InvalidArgumentError for more different classes than there are. Source: tf.random.uniform_candidate_sampler."""
