"""Random numbers: a draw that advances a generator, and bits that are a pure function of what was drawn.

Rule: the bits of element i depend on (key, counter + i) alone, so that eager mode, graphs and any split into shards
give the same ones. Only `draw` has an effect.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph import _philox, _variable
from fastgraph._buffer import Cell
from fastgraph._tensor import cell_assign, cell_read, from_array
from fastgraph.dtype import DType, as_dtype, float32, int64
from fastgraph.errors import InvalidArgumentError
from fastgraph.ops.arguments import Extents, as_tensor, extents, known_value
from fastgraph.ops.creation import check_dims
from fastgraph.ops.elementwise import (
    add,
    bitwise_and,
    cast,
    floormod,
    multiply,
    right_shift,
    select,
    subtract,
    zeros_like_p,
)
from fastgraph.ops.exponentials import cos, log, sqrt
from fastgraph.ops.families import Array, Dims, body_of, custom, invalid, public
from fastgraph.ops.movement import expand_dims, shape, shape_of_value
from fastgraph.ops.reduction import argmax, reduce_prod
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
    return make(key, counter, int(np.prod(shape, dtype=np.int64))).reshape(shape)


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


def _mix(*numbers: int) -> int:
    """A 64-bit number that depends on all bits of `numbers`. Source: SplitMix64, Steele et al. 2014."""
    state = 0x9E3779B97F4A7C15
    for n in numbers:
        state = (state ^ (n % 2**64)) * 0xBF58476D1CE4E5B9 % 2**64
        state = (state ^ (state >> 27)) * 0x94D049BB133111EB % 2**64
        state ^= state >> 31
    return state - 2**64 if state >= 2**63 else state


class _Generators:
    """The cells of the global generator and of the ops with a seed of their own."""

    def __init__(self) -> None:
        self.seed: int | None = None
        self.main: Cell | None = None
        self.seeded: dict[int, Cell] = {}

    def cell(self, seed: int | None) -> Cell:
        """The cell from which an op with this seed (None: no seed of its own) draws."""
        if seed is not None:
            found = self.seeded.get(seed)
            if found is None:
                base = _DEFAULT_SEED if self.seed is None else self.seed
                found = self.seeded[seed] = new_generator(_mix(base, seed))
            return found
        if self.main is None:
            key = int.from_bytes(os.urandom(8), "little") if self.seed is None else _mix(self.seed)
            self.main = new_generator(key)
        return self.main

    def reset(self, seed: int | None) -> None:
        """Begin all sequences anew. The cells stay, so that Functions that hold them follow."""
        self.seed = seed
        base = _DEFAULT_SEED if seed is None else seed
        if self.main is not None:
            set_state(self.main, int.from_bytes(os.urandom(8), "little") if seed is None else _mix(seed))
        for own, cell in self.seeded.items():
            set_state(cell, _mix(base, own))


def new_generator(key: int) -> Cell:
    """A cell with a generator's state at its beginning."""
    cell = Cell(_STATE, "generator")
    set_state(cell, key)
    return cell


def set_state(cell: Cell, key: int) -> None:
    """Put a generator at the beginning of the sequence of `key`."""
    cell_assign(cell, from_array(np.array([key % 2**64, 0], np.uint64).view(np.int64), int64, True))


_generators = _Generators()


@public("random.set_seed")
def set_seed(seed: Any) -> Any:
    """Begin the sequences of all random ops anew, from `seed` (None: from an unforeseeable one).

    Source: tf.random.set_seed.
    """
    _generators.reset(None if seed is None else int(seed))


def global_seed() -> int | None:
    """The seed given to `set_seed` last."""
    return _generators.seed


# ---- draws of a shape -----------------------------------------------------------------------------------------------


def _bits(cell: Any, size: Extents, dtype: str) -> Any:
    """Fresh bits of a shape: advances the generator by one block per element."""
    if size.static is not None:
        n = 1
        for d in size.static:
            n *= max(d, 0)
        state = draw(cell, as_tensor(min(n, 2**62), int64))
        return random_bits(state, shape=size.static, dtype=as_dtype(dtype))
    state = draw(cell, cast(reduce_prod(size.tensor), int64))
    return random_bits_dynamic(state, size.tensor, dtype=as_dtype(dtype))


_MANTISSA = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


def _unit(bits: Any, dtype: DType) -> Any:
    """Bits as floats in [0, 1): the leading ones, as many as the mantissa holds. u[*s] -> f[*s]."""
    kept = _MANTISSA[dtype.name]
    total = bits.dtype.size * 8
    if kept < total:
        bits = right_shift(bits, as_tensor(total - kept, bits.dtype))
    return multiply(cast(bits, dtype), as_tensor(2.0**-kept, dtype))


def _word(dtype: DType) -> str:
    return "uint64" if dtype.name == "float64" else "uint32"


@public("random.uniform")
def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> Any:
    """Numbers spread evenly over [minval, maxval). -> dtype[*shape].

    maxval is 1 for floats and must be given for integers.

    Raises: ValueError for other dtypes or integers without maxval; InvalidArgumentError if minval >= maxval.
    Source: tf.random.uniform.
    """
    target = as_dtype(dtype)
    accepted = ("float16", "bfloat16", "float32", "float64", "int32", "int64")
    if target.name not in accepted:
        raise ValueError(
            f"Argument `dtype` got invalid value {target!r}. Accepted dtypes are "
            f"({', '.join('tf.' + n for n in accepted)})."
        )
    if maxval is None:
        if target.is_integer:
            raise ValueError(f"Must specify maxval for integer dtype {target!r}")
        maxval = 1
    size = extents(shape)
    low, high = as_tensor(minval, target), as_tensor(maxval, target)
    cell = _generators.cell(seed)
    if target.is_integer:
        bounds = known_value(low), known_value(high)
        if bounds[0] is not None and bounds[1] is not None and np.any(bounds[0] >= bounds[1]):
            raise InvalidArgumentError(
                None,
                None,
                "{{function_node __wrapped__RandomUniformInt_device_/job:localhost/replica:0/task:0/device:CPU:0}} "
                f"Need minval < maxval, got {bounds[0]} >= {bounds[1]} [Op:RandomUniformInt] name: ",
            )
        span = cast(subtract(cast(high, int64), cast(low, int64)), "uint64")
        offset = floormod(_bits(cell, size, "uint64"), span)
        return add(cast(cast(offset, int64), target), low, name=name)
    unit = _unit(_bits(cell, size, _word(target)), target)
    if type(minval) in (int, float) and minval == 0 and type(maxval) in (int, float) and maxval == 1:
        return unit
    return add(multiply(unit, subtract(high, low)), low, name=name)


def _standard_normal(cell: Any, size: Extents, dtype: DType) -> Any:
    """Numbers of the standard normal distribution. Source: Box and Muller 1958."""
    if dtype.name == "float64":
        first, second = _bits(cell, size, "uint64"), _bits(cell, size, "uint64")
        radius, angle = _unit(first, dtype), _unit(second, dtype)
    else:
        both = _bits(cell, size, "uint64")
        low = cast(bitwise_and(both, as_tensor(0xFFFFFFFF, both.dtype)), "uint32")
        high = cast(right_shift(both, as_tensor(32, both.dtype)), "uint32")
        radius, angle = _unit(low, float32), _unit(high, float32)
    # 1 - u lies in (0, 1]: its logarithm is finite.
    result = sqrt(log(1.0 - radius) * -2.0) * cos(angle * 6.283185307179586)
    return cast(result, dtype)


@public("random.normal")
def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> Any:
    """Numbers of the normal distribution. -> dtype[*shape].

    Raises: TypeError for integers. Source: tf.random.normal.
    """
    target = as_dtype(dtype)
    mean_, stddev_ = as_tensor(mean, target), as_tensor(stddev, target)
    if not target.is_floating:
        raise TypeError(f"random.normal gives floating numbers, not {target.name}")
    return add(multiply(_standard_normal(_generators.cell(seed), extents(shape), target), stddev_), mean_, name=name)


_GILES_CENTRE = (
    2.81022636e-08,
    3.43273939e-07,
    -3.5233877e-06,
    -4.39150654e-06,
    0.00021858087,
    -0.00125372503,
    -0.00417768164,
    0.246640727,
    1.50140941,
)
_GILES_TAIL = (
    -0.000200214257,
    0.000100950558,
    0.00134934322,
    -0.00367342844,
    0.00573950773,
    -0.0076224613,
    0.00943887047,
    1.00167406,
    2.83297682,
)


def _horner(x: Any, coefficients: Sequence[float]) -> Any:
    result: Any = coefficients[0]
    for c in coefficients[1:]:
        result = result * x + c
    return result


@public("random.truncated_normal")
def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> Any:
    """Numbers of the normal distribution, no further than 2 stddev from the mean. -> dtype[*shape].

    By the inverse of the distribution function: Giles, "Approximating the erfinv function" (2010), single precision.
    Source: tf.random.truncated_normal.
    """
    target = as_dtype(dtype)
    cell = _generators.cell(seed)
    wide = float32 if target.size < 8 else target
    # erf(2 / sqrt(2)): the mass within two standard deviations.
    x = (_unit(_bits(cell, extents(shape), _word(wide)), wide) * 2.0 - 1.0) * 0.954499736103642
    w = -log((1.0 - x) * (1.0 + x))
    inner, outer = w - 2.5, sqrt(w) - 3.0
    standard = select(w < 5.0, _horner(inner, _GILES_CENTRE), _horner(outer, _GILES_TAIL)) * x * 1.4142135623730951
    return add(multiply(cast(standard, target), as_tensor(stddev, target)), as_tensor(mean, target), name=name)


@public("nn.dropout")
def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Any:
    """x with a share `rate` of the elements 0, the others scaled up by 1 / (1 - rate). f[*s] -> f[*s].

    `noise_shape`, which broadcasts to x's, says which elements fall together.
    Raises: ValueError for integers or a rate outside [0, 1). Source: tf.nn.dropout; Srivastava et al. 2014.
    """
    x = as_tensor(x)
    if not x.dtype.is_floating:
        raise ValueError(
            f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x_dtype={x.dtype}"
        )
    if isinstance(rate, (int, float)):
        if not 0 <= rate < 1:
            raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
        if rate == 0:
            return x
    dims = x.shape
    size = extents(noise_shape) if noise_shape is not None else Extents(None, shape(x))
    if noise_shape is None and dims.is_fully_defined():
        size = extents(dims)
    unit = _unit(_bits(_generators.cell(seed), size, _word(x.dtype)), x.dtype)
    scaled = x * (1.0 / (1.0 - as_tensor(rate, x.dtype)))
    return select(unit >= as_tensor(rate, x.dtype), scaled, zeros_like_p(scaled))


@public("random.categorical")
def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None) -> Any:
    """Classes drawn with the probabilities softmax(logits) of each row. f[n, c] -> i64[n, num_samples].

    By the largest of logits + Gumbel noise: Gumbel 1954. Source: tf.random.categorical.
    """
    logits = as_tensor(logits)
    rows = extents(logits.shape)
    n, c = rows.static  # type: ignore[misc]
    unit = _unit(_bits(_generators.cell(seed), extents((n, num_samples, c)), "uint32"), float32)
    noise = -log(-log(unit + 2.0**-25))
    return argmax(cast(expand_dims(logits, 1), float32) + noise, axis=-1, output_type=dtype or int64, name=name)
