# Written by tools/stubs.py from the ops' definitions; do not edit.
from typing import Any
import builtins

def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: builtins.str | None = None) -> Any:
    """Classes drawn with the probabilities softmax(logits) of each row. f[n, c] -> i64[n, num_samples].

    By the largest of logits + Gumbel noise: Gumbel 1954. Source: tf.random.categorical."""
def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., seed: Any = None, name: builtins.str | None = None) -> Any:
    """Numbers of the normal distribution. -> dtype[*shape].

    Raises: TypeError for integers. Source: tf.random.normal."""
def set_seed(seed: Any) -> Any:
    """Begin the sequences of all random ops anew, from `seed` (None: from an unforeseeable one).

    Source: tf.random.set_seed."""
def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = ..., seed: Any = None, name: builtins.str | None = None) -> Any:
    """Numbers of the normal distribution, no further than 2 stddev from the mean. -> dtype[*shape].

    By the inverse of the distribution function: Giles, "Approximating the erfinv function" (2010), single precision.
    Source: tf.random.truncated_normal."""
def uniform(shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = ..., seed: Any = None, name: builtins.str | None = None) -> Any:
    """Numbers spread evenly over [minval, maxval). -> dtype[*shape].

    maxval is 1 for floats and must be given for integers.

    Raises: ValueError for other dtypes or integers without maxval; InvalidArgumentError if minval >= maxval.
    Source: tf.random.uniform."""
