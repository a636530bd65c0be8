# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
from fastgraph.ops.random_algorithms import Algorithm as Algorithm
from fastgraph.random import fold_in as _stateless_fold_in
from fastgraph.random import split as _stateless_split
from fastgraph.state.random_generator import Generator as Generator
from fastgraph.state.random_generator import create_rng_state as create_rng_state
from fastgraph.state.random_generator import get_global_generator as get_global_generator
from fastgraph.state.random_generator import set_global_generator as set_global_generator
import builtins

def index_shuffle(index: TensorLike, seed: TensorLike, max_index: TensorLike) -> Tensor:
    """Place of `index` in the permutation of 0 ... max_index that the seed says. i[], i[2], i[] -> i[].

    A vector of indices or of last indices, or a matrix of seeds, gives a vector. Raises: InvalidArgumentError for an
    index outside. Source: tf.random.experimental.index_shuffle; the cipher: Beaulieu et al., "The SIMON and SPECK
    families of lightweight block ciphers" (2013)."""
stateless_fold_in = _stateless_fold_in
def stateless_shuffle(value: TensorLike, seed: TensorLike, alg: Algorithm | TensorLike = 'auto_select', name: builtins.str | None = None) -> Tensor:
    """The slices of value along its first axis in an order that the seed i[2] says. t[n, *s] -> t[n, *s].

    Source: tf.random.experimental.stateless_shuffle."""
stateless_split = _stateless_split
