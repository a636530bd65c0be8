"""Where random numbers come from: generators, and bits that are a pure function of a key and a counter.

Rule: the bits of element i depend on (key, counter + i) alone, so that eager mode, graphs and any split into shards
give the same ones. Only `draw` has an effect.

Which key an op has (tf.random.set_seed): with a seed of its own it is of that and the global seed; without one, of the
global seed and of how many such ops came before it, in the program (eagerly) or in the Function that is traced: so two
Functions of the same text give the same numbers. Each op of a Function keeps a counter of its own from call to call;
an eager op with a seed shares one with all calls of the same op and seed. `set_seed` resets them all.
"""

from __future__ import annotations

import math
import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from fastgraph import _philox, _variable
from fastgraph._buffer import Cell
from fastgraph._tensor import cell_assign, cell_read, current_state, current_trace, from_array
from fastgraph.dtype import DType, as_dtype, int64
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import Extents, as_tensor, whole
from fastgraph.ops.creation import check_dims
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import Array, Dims, body_of, custom, elementwise, invalid
from fastgraph.ops.movement import shape_of_value
from fastgraph.ops.reduction import reduce_prod
from fastgraph.shapes import Aval

_STATE = Aval(int64, (2,))  # key, counter
_MULTIPLIER, _WEYL = 0xD256D193, 0x9E3779B9

# ---- the two primitives ---------------------------------------------------------------------------------------------


@custom(
    op="RandomDraw",
    infer=lambda generator, n: _STATE,
    groups=("resource", "int64"),
    effect="write",
    step="draw",
)
def draw(generator: Any, n: Array) -> Any:
    """The generator's key and counter; its counter goes on by n. resource, i64[] -> i64[2]."""
    while True:  # until no other thread drew in between: the same numbers are never given twice
        state = cell_read(generator)
        after = np.array(state)
        after[1] += int(n)
        if _variable.replace(generator, state, from_array(after, int64, False)):
            return np.asarray(state)


def _bits_shape(shape: Dims) -> None:
    if shape is not None:
        check_dims(shape)


def _infer_bits(state: Aval, *, shape: tuple[int, ...], dtype: DType) -> Aval:
    _bits_shape(shape)
    return Aval(dtype, shape)


def _lower_bits(b: Any, node: Any) -> list[Any]:
    state, out = b.input(0), b.output(0)
    wide = node.attrs["dtype"].name == "uint64"

    def element(index: Sequence[Any]) -> Any:
        key = b.cast(state.at((b.const(0, "int64"),)), "uint64")
        counter = b.cast(state.at((b.const(1, "int64"),)) + b.flat(index, out.shape), "uint64")
        half = b.const(32, "uint64")
        round_key = b.cast(key, "uint32")
        left = b.cast(counter, "uint32")
        right = b.op(
            "xor", b.cast(b.op("rshift", counter, half), "uint32"), b.cast(b.op("rshift", key, half), "uint32")
        )
        for i in range(10):
            product = b.cast(left, "uint64") * b.const(_MULTIPLIER, "uint64")
            bumped = round_key + b.const(_WEYL * i % 2**32, "uint32")
            high = b.cast(b.op("rshift", product, half), "uint32")
            left, right = b.op("xor", b.op("xor", high, bumped), right), b.cast(product, "uint32")
        if not wide:
            return left
        return b.op("or", b.op("lshift", b.cast(right, "uint64"), half), b.cast(left, "uint64"))

    return [element]


def _bit_samples() -> list[Any]:
    states = [np.array(s) for s in ((0, 0), (123456789012, 2**32 - 2), (-5, 77))]
    return [
        ((s,), {"shape": d, "dtype": as_dtype(t)})
        for s in states
        for d in ((), (5,), (2, 3), (0,))
        for t in ("uint32", "uint64")
    ]


@custom(
    op="RandomBits",
    infer=_infer_bits,
    groups=("int64",),
    lower=_lower_bits,
    samples=_bit_samples,
    error_samples=lambda: [
        (
            (np.array([0, 0]),),
            {"shape": (-1,), "dtype": as_dtype("uint32")},
            InvalidArgumentError,
            "Dimension -1 must be >= 0",
        ),
    ],
)
def random_bits(state: Array, *, shape: tuple[int, ...], dtype: DType) -> Any:
    """Bits of the counters from state on: Philox 2x32-10, its first word or both. i64[2] -> u32 or u64[*shape]."""
    try:
        _bits_shape(shape)
    except ValueError as error:
        raise invalid(str(error)) from None
    key, counter = (int(n) % 2**64 for n in state)
    make = _philox.words64 if dtype.size == 8 else _philox.words32
    return make(key, counter, math.prod(shape)).reshape(shape)


def _infer_bits_dynamic(state: Aval, shape: Aval, *, dtype: DType) -> Aval:
    dims = shape_of_value(shape)
    _bits_shape(dims)
    return Aval(dtype, dims)


@custom(
    op="RandomBits",
    infer=_infer_bits_dynamic,
    groups=("int64", "T"),
    dtypes="index",
    shape_inputs=(1,),
    lower=_lower_bits,
    samples=lambda: [((np.array([1, 2]), np.array([2, 3])), {"dtype": as_dtype("uint32")})],
)
def random_bits_dynamic(state: Array, shape: Array, *, dtype: DType) -> Any:
    """`random_bits` of a shape known only at run time. i64[2], i[n] -> u32 or u64[*shape]."""
    return body_of(random_bits)(state, shape=tuple(shape.tolist()), dtype=dtype)


# ---- generators -----------------------------------------------------------------------------------------------------

_DEFAULT_SEED = 87654321  # the global seed of programs that set only op seeds


def mix(*numbers: int) -> int:
    """A 64-bit number that depends on all bits of `numbers`. Source: SplitMix64, Steele et al. 2014."""
    state = 0x9E3779B97F4A7C15
    for n in numbers:
        state = (state ^ (n % 2**64)) * 0xBF58476D1CE4E5B9 % 2**64
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
        state ^= state >> 31
    return state - 2**64 if state >= 2**63 else state


class Source:
    """What an op takes its bits from: `state(n)` is the key and counter of its next n blocks, i64[2]."""

    def state(self, n: Any) -> Any:
        """The state from which n blocks follow; the next call's begin after them."""
        raise NotImplementedError


class Numbered(Source):
    """An eager op without a seed: its key is its own, so nothing is shared and nothing is locked."""

    __slots__ = ("counter", "key")

    def __init__(self, key: int) -> None:
        self.key = key
        self.counter = 0

    def state(self, n: Any) -> Any:
        """The state from which n blocks follow."""
        state = from_array(np.array([self.key, self.counter], np.int64), int64, True)
        self.counter += int(n)
        return state


class Held(Source):
    """A generator in a cell: its counter lives on between the executions of an op."""

    __slots__ = ("cell",)

    def __init__(self, cell: Cell) -> None:
        self.cell = cell

    def state(self, n: Any) -> Any:
        """The state from which n blocks follow; the cell's counter goes on when this runs."""
        return draw(self.cell, cast(n, int64) if not isinstance(n, int) else as_tensor(min(n, 2**62), int64))


class Replay:
    """The states that a piece of a program drew, so that it draws the same numbers when it is run again."""

    def __init__(self) -> None:
        self.states: list[Any] = []
        self.again: Iterator[Any] | None = None

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note the states that this thread's random ops take inside."""
        trace = current_trace()
        self.states = []
        with self._active(None):
            yield
        for state in self.states:
            if getattr(state, "trace", trace) is not trace:
                raise NotImplementedError(
                    "recompute_grad: a random op in a cond or loop inside the function cannot draw the same numbers "
                    "when it is run again in a Function. Draw them outside, and pass them in."
                )

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Let this thread's random ops take the noted states again, in the same order."""
        with self._active(iter(self.states)):
            yield

    @contextmanager
    def _active(self, again: Iterator[Any] | None) -> Iterator[None]:
        extra = current_state().extra
        before, outer = self.again, extra.get("replay")
        self.again, extra["replay"] = again, self
        try:
            yield
        finally:
            self.again, extra["replay"] = before, outer


class Noted(Source):
    """A source whose states are noted."""

    __slots__ = ("replay", "source")

    def __init__(self, replay: Replay, source: Source) -> None:
        self.replay = replay
        self.source = source

    def state(self, n: Any) -> Any:
        """The state from which n blocks follow."""
        state = self.source.state(n)
        self.replay.states.append(state)
        return state


class Replayed(Source):
    """A source that gives noted states again."""

    __slots__ = ("replay",)

    def __init__(self, replay: Replay) -> None:
        self.replay = replay

    def state(self, n: Any) -> Any:
        """The state that was noted in this place."""
        assert self.replay.again is not None
        return next(self.replay.again)


class _Generators:
    """The global seed, and the cells of the ops that keep a counter."""

    def __init__(self) -> None:
        self.seed: int | None = None
        self.entropy = 0  # the seed where none is set
        self.drawn = 0  # eager ops without a seed of their own since the seed was set
        self.seeded: dict[tuple[str, int], Cell] = {}
        # Cells of ops in Functions, with what their keys follow from; they live as long as the Functions' graphs.
        self.traced: weakref.WeakKeyDictionary[Cell, tuple[int, ...]] = weakref.WeakKeyDictionary()

    def base(self) -> int:
        """The global seed, or a number that no one can foresee."""
        if self.seed is not None:
            return self.seed
        if not self.entropy:
            self.entropy = int.from_bytes(os.urandom(8), "little") | 1
        return self.entropy

    def source(self, op: str, seed: int | None) -> Source:
        """Where one application of `op` with this seed (None: no seed of its own) takes its bits."""
        replay: Replay | None = current_state().extra.get("replay")
        if replay is None:
            return self._own_source(op, seed)
        if replay.again is not None:
            return Replayed(replay)
        return Noted(replay, self._own_source(op, seed))

    def _own_source(self, op: str, seed: int | None) -> Source:
        trace: Any = current_trace()
        if trace is not None:
            while trace.parent is not None:
                trace = trace.parent
            trace.n_random_ops += 1
            path = (trace.n_random_ops,) if seed is None else (-1, whole(seed, "seed"))
            cell = Cell(_STATE, "generator")  # the graph that captures it keeps it
            set_state(cell, self.key(path))
            self.traced[cell] = path
            return Held(cell)
        if seed is None:
            self.drawn += 1
            return Numbered(self.key((self.drawn,)))
        found = self.seeded.get((op, whole(seed, "seed")))
        if found is None:
            found = self.seeded[op, int(seed)] = Cell(_STATE, "generator")
            set_state(found, self.key((-1, int(seed))))
        return Held(found)

    def key(self, path: tuple[int, ...]) -> int:
        """The key of the op that `path` says: (-1, its seed), or (its number,)."""
        if path[0] == -1:
            return mix(_DEFAULT_SEED if self.seed is None else self.seed, path[1], -1)
        return mix(self.base(), path[0])

    def reset(self, seed: int | None) -> None:
        """Begin all sequences anew. The cells stay, so that Functions that hold them follow."""
        self.seed, self.entropy, self.drawn = seed, 0, 0
        for (_, own), cell in self.seeded.items():
            set_state(cell, self.key((-1, own)))
        for cell, path in list(self.traced.items()):
            set_state(cell, self.key(path))


def set_state(cell: Cell, key: int) -> None:
    """Put a generator at the beginning of the sequence of `key`."""
    cell_assign(cell, from_array(np.array([key % 2**64, 0], np.uint64).view(np.int64), int64, True))


generators = _Generators()


def global_seed() -> int | None:
    """The seed given to `set_seed` last."""
    return generators.seed


# ---- bits as numbers ------------------------------------------------------------------------------------------------

#: How many bits of a word a float of each kind holds exactly.
MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def _lower_unit(b: Any, node: Any) -> list[Any]:
    word, dtype = node.inputs[0].aval.dtype, node.attrs["dtype"]
    drop = b.const(8 * word.size - MANTISSA[dtype.name], word.name)
    scale = b.const(2.0 ** -MANTISSA[dtype.name], dtype.name)
    return [lambda index: b.cast(b.op("rshift", b.input(0).at(index), drop), dtype) * scale]


@elementwise(
    op="UnitFromBits",
    dtypes="uint32 uint64",
    out="dtype",
    lower=_lower_unit,
    samples=lambda: [
        ((np.array([0, 1, 2**31, 2**32 - 1]).astype(t) * k,), {"dtype": as_dtype(f)})
        for t, k in (("uint32", np.uint32(1)), ("uint64", np.uint64(2**32 + 1)))
        for f in ("float16", "bfloat16", "float32", "float64")
        if f != "float64" or t == "uint64"
    ],
)
def unit_from_bits(x: Array, *, dtype: DType) -> Any:
    """Words as floats in [0, 1): the leading bits, as many as the mantissa holds. u[*s] -> dtype[*s]."""
    kept = MANTISSA[dtype.name]
    words = np.right_shift(x, x.dtype.type(8 * x.dtype.itemsize - kept))
    return words.astype(dtype.numpy_dtype) * dtype.numpy_dtype.type(2.0**-kept)


@elementwise(
    op="NormalFromBits",
    groups=("uint64",),
    out="float32",
    expr="sqrt(log(1 - float32(uint32(x & 4294967295) >> 8) * 5.960464477539063e-08) * -2)"
    " * cos(float32(uint32(x >> 32) >> 8) * 5.960464477539063e-08 * 6.283185307179586)",
    samples=lambda: [((np.array([0, 1, 2**40 + 12345, 2**64 - 1, 0x9E3779B97F4A7C15], np.uint64),), {})],
)
def normal_from_bits(x: Array) -> Any:
    """Words as numbers of the standard normal distribution. u64[*s] -> f32[*s]. Source: Box and Muller 1958."""
    halves = ((x & np.uint64(0xFFFFFFFF)).astype(np.uint32), (x >> np.uint64(32)).astype(np.uint32))
    radius, angle = [(h >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24) for h in halves]
    # 1 - u lies in (0, 1]: its logarithm is finite.
    return np.sqrt(np.log(np.float32(1) - radius) * np.float32(-2)) * np.cos(angle * np.float32(6.283185307179586))


# ---- bits of a shape ------------------------------------------------------------------------------------------------


def bits(source: Source, size: Extents, dtype: str) -> Any:
    """Fresh bits of a shape: takes one block per element from the source."""
    if size.static is not None:
        n = 1
        for d in size.static:
            n *= max(d, 0)
        return random_bits(source.state(n), shape=size.static, dtype=as_dtype(dtype))
    return random_bits_dynamic(source.state(reduce_prod(size.tensor)), size.tensor, dtype=as_dtype(dtype))
