# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.random import experimental as experimental
from typing import Any
import builtins

def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: builtins.str | None = None) -> Any:
    """Classes drawn with the probabilities softmax(logits) of each row. f[n, c] -> i64[n, num_samples].

    Raises: InvalidArgumentError for other ranks or no classes. Source: tf.random.categorical."""
def fold_in(seed: Any, data: Any, alg: Any = 'auto_select') -> Any:
    """A new seed from one and a number. i[2], i[] -> i[2]. Source: tf.random.fold_in."""
def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., seed: Any = None, name: builtins.str | None = None) -> Any:
    """Numbers of the normal distribution. -> dtype[*shape].

    Raises: TypeError for integers. Source: tf.random.normal."""
def set_seed(seed: Any) -> Any:
    """Begin the sequences of all random ops anew, from `seed` (None: from an unforeseeable one).

    Source: tf.random.set_seed, whose examples of global and op seeds hold here."""
def shuffle(value: Any, seed: Any = None, name: builtins.str | None = None) -> Any:
    """The slices of value along its first axis in random order. t[n, *s] -> t[n, *s]. Source: tf.random.shuffle."""
def split(seed: Any, num: Any = 2, alg: Any = 'auto_select') -> Any:
    """New seeds, independent of each other, from one. i[2] -> i[num, 2]. Source: tf.random.split."""
def stateless_categorical(logits: Any, num_samples: Any, seed: Any, dtype: Any = ..., name: builtins.str | None = None) -> Any:
    """Classes drawn with the probabilities softmax(logits), the same for the same seed. f[n, c] -> i64[n, samples].

    Source: tf.random.stateless_categorical."""
def stateless_normal(shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., name: builtins.str | None = None, alg: Any = 'auto_select') -> Any:
    """Numbers of the normal distribution, the same for the same seed i[2]. -> dtype[*shape].

    Source: tf.random.stateless_normal."""
def stateless_truncated_normal(shape: Any, seed: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., name: builtins.str | None = None, alg: Any = 'auto_select') -> Any:
    """Numbers of the truncated normal distribution, the same for the same seed i[2]. -> dtype[*shape].

    Source: tf.random.stateless_truncated_normal."""
def stateless_uniform(shape: Any, seed: Any, minval: Any = 0, maxval: Any = None, dtype: Any = ..., name: builtins.str | None = None, alg: Any = 'auto_select') -> Any:
    """Numbers spread evenly over [minval, maxval), the same for the same seed i[2]. -> dtype[*shape].

    Of integers, both bounds None give any number. Raises: ValueError for integers with one bound;
    InvalidArgumentError for another seed. Source: tf.random.stateless_uniform."""
def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., seed: Any = None, name: builtins.str | None = None) -> Any:
    """Numbers of the normal distribution, no further than 2 stddev from the mean. -> dtype[*shape].

    Raises: TypeError for integers. Source: tf.random.truncated_normal."""
def uniform(shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = ..., seed: Any = None, name: builtins.str | None = None) -> Any:
    """Numbers spread evenly over [minval, maxval). -> dtype[*shape].

    maxval is 1 for floats and must be given for integers.

    Raises: ValueError for other dtypes or integers without maxval; InvalidArgumentError if minval >= maxval.
    Source: tf.random.uniform."""
