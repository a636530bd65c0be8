"""`random.Generator`: a state in a Variable, from which numbers are drawn.

Rule: drawing is one atomic step that reads the state and moves it on, eagerly and in Functions, whichever threads do
it; what is drawn then follows from the state that was read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.core import replicas
from fastgraph.core.base.dtype import DTypeLike, as_dtype, float32, int32, int64, uint64
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import Tensor, init_scope
from fastgraph.ops.arguments import as_tensor, tensor_of
from fastgraph.ops.elementwise import add, cast, multiply, zeros_like_p
from fastgraph.ops.families import invalid
from fastgraph.ops.joining import concat, stack, unstack
from fastgraph.ops.movement import reshape
from fastgraph.ops.random_algorithms import Algorithm, algorithm_number, no_threefry
from fastgraph.ops.random_distributions import binomial_of
from fastgraph.ops.random_ops import shape_vector, standard_normal, truncated_of, uniform_of
from fastgraph.ops.random_states import Held, Source, numbers
from fastgraph.state.tracking import AutoTrackable
from fastgraph.state.variable import Variable

_FULL = ("int32", "int64", "uint32", "uint64")


def _size(alg: int) -> int:
    """Return the length of a state: the counter's numbers (ThreeFry: one, otherwise two) and the key."""
    return 2 if alg == Algorithm.THREEFRY.value else 3


def _wrapped(value: TensorLike) -> Any:
    """Python integers of 64 bits without sign as those with one."""
    if isinstance(value, int):
        return value - 2**64 if value >= 2**63 else value
    return [_wrapped(v) for v in value] if isinstance(value, (list, tuple)) else value


def _as_state(value: TensorLike) -> Any:
    """Integers as a tensor i64. TypeError for others."""
    tensor = as_tensor(_wrapped(value))
    if not tensor.dtype.is_integer:
        raise TypeError(f"The state of a generator is integers, not {tensor.dtype.name}: {value!r}")
    return cast(tensor, int64)


def _check(value: Any, dims: list[int]) -> None:
    if not value.shape.is_compatible_with(dims):
        raise ValueError(f"Shapes {value.shape} and {dims} are incompatible")


def create_rng_state(seed: TensorLike, alg: Algorithm | TensorLike) -> Tensor:
    """The state that a seed, an integer or integers i[n], stands for. -> i64[3], or i64[2] of ThreeFry.

    Raises: ValueError for an unknown algorithm. Source: tf.random.create_rng_state.
    """
    n = _size(algorithm_number(alg))
    if isinstance(seed, int):
        return as_tensor([_wrapped(seed >> 64 * i & 2**64 - 1) for i in range(n)], int64)
    given = reshape(_as_state(seed), [-1])[:n]
    if given.shape[0] is None:
        raise ValueError("A seed must be of known shape.")
    # A short seed comes last: it is then the key, and generators of two seeds do not overlap.
    return concat([as_tensor(np.zeros(n - given.shape[0], np.int64)), given], 0)


def _with_key(key: Any, counter: Any, alg: int) -> Any:
    counter, key = _as_state(counter), _as_state(key)
    _check(counter, [_size(alg) - 1])
    _check(key, [])
    return concat([counter, reshape(key, [1])], 0)


class _OfReplica(Held):
    """The generator of one of several replicas: their counters go on together, and each has a key of its own."""

    __slots__ = ("context", "is_shared")

    def __init__(self, cell: Cell, context: Any, is_shared: bool) -> None:
        super().__init__(cell)
        self.context, self.is_shared = context, is_shared

    def blocks(self, n: Any) -> Any:
        """The state, with the key that follows from the generator's and the replica's number."""
        own = super().blocks
        state = self.context.merge_call(lambda strategy: own(n)) if self.is_shared else own(n)
        place = _At(concat([as_tensor([self.context._replica_id, 0], int64), state[2:]], 0))
        key = cast(numbers(place, shape_vector([1]), "bits", as_dtype("uint64")), int64)
        return concat([state[:2], key], 0)


class _OfAll(Source):
    """The generator of all replicas, asked for between them: all copies go on together."""

    __slots__ = ("copies",)

    def __init__(self, copies: Sequence[Variable]) -> None:
        self.copies = copies

    def blocks(self, n: Any) -> Any:
        """The state, which is the same in all copies."""
        first, *_ = [Held(copy.__fg_cell__).blocks(n) for copy in self.copies]
        return first


class _At(Source):
    __slots__ = ("given",)

    def __init__(self, given: Any) -> None:
        self.given = given

    def blocks(self, n: Any) -> Any:
        """The state."""
        return self.given


class Generator(AutoTrackable):
    """A generator of random numbers; its state, a counter and a key, is a Variable i64[3].

    Exactly one of `copy_from` and `state` (with `alg`) is given; a `state` that is a Variable is used itself. Drawing n
    numbers moves the counter on by 256 n. Raises: ValueError for another shape of state. Source: tf.random.Generator.
    """

    def __init__(
        self, copy_from: Generator | None = None, state: Any = None, alg: Algorithm | TensorLike | None = None
    ) -> None:
        self._is_shared_out = replicas.strategy() is not None  # each replica then has a key of its own
        if copy_from is not None:
            if alg is not None or state is not None:
                raise AssertionError("Generator takes either copy_from or state and alg")
            self._alg: int = copy_from.algorithm
            self._state_var = Variable(copy_from.state, dtype=int64, trainable=False, name="StateVar")
            return
        if alg is None or state is None:
            raise AssertionError("Generator takes copy_from, or state and alg")
        self._alg = algorithm_number(alg)
        if isinstance(state, Variable):
            _check(state, [_size(self._alg)])
            self._state_var = state
        else:
            state = _as_state(state)
            _check(state, [_size(self._alg)])
            self._state_var = Variable(state, dtype=int64, trainable=False, name="StateVar")

    # How one is made.

    @classmethod
    def from_state(cls, state: TensorLike, alg: Algorithm | TensorLike) -> Generator:
        """A generator that begins with a state i64[3]. Source: tf.random.Generator.from_state."""
        return cls(alg=alg, state=state)

    @classmethod
    def from_seed(cls, seed: TensorLike, alg: Algorithm | TensorLike | None = None) -> Generator:
        """A generator that begins with `create_rng_state(seed, alg)`. Source: tf.random.Generator.from_seed."""
        number = Algorithm.PHILOX.value if alg is None else algorithm_number(alg)
        return cls(state=create_rng_state(seed, number), alg=number)

    @classmethod
    def from_non_deterministic_state(cls, alg: Algorithm | TensorLike | None = None) -> Generator:
        """A generator that begins where no one can foresee.

        Source: tf.random.Generator.from_non_deterministic_state.
        """
        number = Algorithm.PHILOX.value if alg is None else algorithm_number(alg)
        return cls(state=np.frombuffer(os.urandom(8 * _size(number)), np.int64), alg=number)

    @classmethod
    def from_key_counter(cls, key: TensorLike, counter: TensorLike, alg: Algorithm | TensorLike) -> Generator:
        """A generator of a key i64[] and a counter i64[2]. Source: tf.random.Generator.from_key_counter."""
        number = algorithm_number(alg)
        return cls(state=_with_key(key, counter, number), alg=number)

    # Properties.

    state = ReadOnly[Variable]("_state_var", "The Variable that holds the counter and the key, i64[3].")
    algorithm = ReadOnly[int]("_alg", "The algorithm's number: `Algorithm.PHILOX.value`.")

    @property
    def key(self) -> Tensor:
        """The key, i64[]."""
        return self._state_var[-1]

    # Setting it.

    def reset(self, state: TensorLike) -> None:
        """Go to a state i64[3]. Source: tf.random.Generator.reset."""
        state = _as_state(state)
        _check(state, [_size(self._alg)])
        self._state_var.assign(state)

    def reset_from_seed(self, seed: TensorLike) -> None:
        """Go where `from_seed` begins. Source: tf.random.Generator.reset_from_seed."""
        self._state_var.assign(create_rng_state(seed, self._alg))

    def reset_from_key_counter(self, key: TensorLike, counter: TensorLike) -> None:
        """Go where `from_key_counter` begins. Source: tf.random.Generator.reset_from_key_counter."""
        self._state_var.assign(_with_key(key, counter, self._alg))

    def skip(self, delta: TensorLike) -> Tensor:
        """Go on as if `delta` numbers were drawn; the state before that, i64[3]. Source: tf.random.Generator.skip."""
        return self._source().state(delta if isinstance(delta, int) else as_tensor(delta))

    def _source(self) -> Source:
        if self._alg == Algorithm.THREEFRY.value:
            raise no_threefry()
        replica, copies = replicas.current(), self._state_var._copies
        context = replicas.scopes.stack[-1][1] if self._is_shared_out and replicas.scopes.stack else None
        if context is not None and (replica is None or not replica.updates):
            is_shared = 0 < len(copies) < len(context.strategy._own)
            return _OfReplica(self._state_var.__fg_cell__, context, is_shared)
        if len(copies) > 1 and replica is None:
            return _OfAll(copies)
        return Held(self._state_var.__fg_cell__)

    # Numbers.

    def normal(
        self, shape: SizeLike, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Numbers of the normal distribution. -> dtype[*shape]. Source: tf.random.Generator.normal."""
        target = as_dtype(dtype)
        mean, stddev = tensor_of(mean, target), tensor_of(stddev, target)
        return add(multiply(standard_normal(self._source(), shape_vector(shape), target), stddev), mean, name=name)

    def truncated_normal(
        self, shape: SizeLike, mean: TensorLike = 0.0, stddev: TensorLike = 1.0, dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Numbers of the normal distribution, no further than 2 stddev from the mean. -> dtype[*shape].

        Source: tf.random.Generator.truncated_normal.
        """
        target = as_dtype(dtype)
        mean, stddev = tensor_of(mean, target), tensor_of(stddev, target)
        return truncated_of(self._source(), shape_vector(shape), mean, stddev, target, name)

    def uniform(
        self,
        shape: TensorLike,
        minval: TensorLike = 0,
        maxval: TensorLike | None = None,
        dtype: DTypeLike = float32,
        name: str | None = None,
    ) -> Tensor:
        """Numbers spread evenly over [minval, maxval); of integers, any where both are None. -> dtype[*shape].

        Raises: ValueError for integers with one bound; InvalidArgumentError if minval >= maxval. Source:
        tf.random.Generator.uniform.
        """
        target = as_dtype(dtype)
        if target.is_integer and (minval is None) != (maxval is None):
            raise ValueError(
                f"For integer dtype {target!r}, minval and maxval must be both `None` or both non-`None`; got "
                f"minval={minval!r} and maxval={maxval!r}"
            )
        if target.is_integer and minval is None:
            return self.uniform_full_int(shape, target, name)
        bounds = minval, (1 if maxval is None else maxval)
        return uniform_of(self._source(), shape_vector(shape), *bounds, target, "StatelessRandomUniformIntV2", name)

    def uniform_full_int(self, shape: SizeLike, dtype: DTypeLike = uint64, name: str | None = None) -> Tensor:
        """Integers, each number of the dtype as likely. -> dtype[*shape].

        Source: tf.random.Generator.uniform_full_int.
        """
        target = as_dtype(dtype)
        if target.name not in _FULL:
            raise invalid(
                f"Value for attr 'dtype' of {target.name} is not in the list of allowed values: int32, int64, uint32, "
                "uint64"
            )
        return cast(
            numbers(self._source(), shape_vector(shape), "bits", as_dtype(f"uint{8 * target.size}")), target, name
        )

    def binomial(
        self, shape: TensorLike, counts: TensorLike, probs: TensorLike, dtype: DTypeLike = int32,
        name: str | None = None,
    ) -> Tensor:  # fmt: skip
        """Successes in `counts` trials of probability `probs`. -> dtype[*shape], which ends with the shape of both.

        Raises: InvalidArgumentError if it does not. Source: tf.random.Generator.binomial.
        """
        return binomial_of(self._source(), shape, counts, probs, dtype)

    # More of them.

    def make_seeds(self, count: TensorLike = 1) -> Tensor:
        """Seeds of the stateless functions, one in each column. -> i64[2, count].

        Source: tf.random.Generator.make_seeds.
        """
        keys = self.uniform_full_int([count], int64)
        return stack([keys, zeros_like_p(keys)])

    def split(self, count: int = 1) -> list[Generator]:
        """Generators that are independent of each other and of this one. Source: tf.random.Generator.split."""
        keys = unstack(self.uniform_full_int([count], int64), num=count)
        before = as_tensor(np.zeros(_size(self._alg) - 1, np.int64))
        return [Generator(state=concat([before, reshape(key, [1])], 0), alg=self._alg) for key in keys]


_lock = threading.Lock()
_global: Generator | None = None


def get_global_generator() -> Generator:
    """The generator that `set_global_generator` set; until then, one that no one can foresee.

    Source: tf.random.get_global_generator.
    """
    global _global
    with _lock:
        if _global is not None:
            return _global
        with init_scope():
            made = Generator.from_non_deterministic_state()
        _global = made
        return made


def set_global_generator(generator: Generator) -> None:
    """Make `generator` the one that `get_global_generator` gives. Source: tf.random.set_global_generator."""
    global _global
    with _lock:
        _global = generator
