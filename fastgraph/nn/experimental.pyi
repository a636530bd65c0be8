# Written by tools/stubs.py from the ops' definitions; do not edit.
from collections.abc import Callable
from fastgraph.core.conversion import SizeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.random_algorithms import Algorithm
from typing import Any
import builtins

def general_dropout(x: TensorLike, rate: TensorLike, uniform_sampler: Callable[..., Any], noise_shape: SizeLike = None, name: builtins.str | None = None) -> Tensor:
    """x with 0 where uniform_sampler(shape=, dtype=) gives less than rate, the others over 1 - rate. f[*s] -> f[*s].

    Raises: ValueError for integers or a rate outside [0, 1). Source: tf.nn.experimental.general_dropout."""
def stateless_dropout(x: TensorLike, rate: TensorLike, seed: TensorLike, rng_alg: Algorithm | TensorLike = 'auto_select', noise_shape: SizeLike = None, name: builtins.str | None = None) -> Tensor:
    """`dropout` that drops the same elements for the same seed i[2]. f[*s] -> f[*s].

    Source: tf.nn.experimental.stateless_dropout."""
