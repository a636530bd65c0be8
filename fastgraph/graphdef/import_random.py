"""Random operations of GraphDefs: each has a generator that its seeds begin, or takes a key and a counter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import Tensor, current_state
from fastgraph.ops.arguments import extents
from fastgraph.ops.creation import ones
from fastgraph.ops.elementwise import cast
from fastgraph.ops.joining import concat
from fastgraph.ops.random_distributions import binomial_of, random_gamma
from fastgraph.ops.random_ops import categorical_of, shuffled, standard_normal, truncated_of, uniform_of
from fastgraph.ops.random_states import (
    REPLAY,
    RESERVED,
    Held,
    Source,
    as_vector,
    draw,
    generators,
    numbers,
    state_of_seed,
)


class _Keyed(Source):
    """A random operation of a key and a counter, u64[1] and u64[2]."""

    def __init__(self, key: Tensor, counter: Tensor) -> None:
        bitcast = public_function("bitcast")
        self.begin = concat([bitcast(counter, dtypes.int64), bitcast(key, dtypes.int64)], 0)

    def blocks(self, n: object) -> Any:
        """The state."""
        return self.begin


class _Seeded:
    """Stands where random ops look for a piece of a program that draws again: they begin with these seeds."""

    def __init__(self, first: int, second: int) -> None:
        self.seeds = first, second

    def source(self, make: Callable[[], Source]) -> Source:
        """Return a generator of these seeds."""
        return generators.with_seeds(*self.seeds)


@contextmanager
def seeded(attrs: dict[str, Any]) -> Iterator[None]:
    """Let this thread's random ops begin with the seeds of an operation, if it has some."""
    seeds = attrs.get("seed", 0), attrs.get("seed2", 0)
    if not any(isinstance(seed, int) and seed for seed in seeds):
        yield
        return
    extra = current_state().extra
    before = extra.get(REPLAY)
    extra[REPLAY] = _Seeded(*seeds)
    try:
        yield
    finally:
        extra[REPLAY] = before


def _own(attrs: dict[str, Any]) -> Source:
    return generators.with_seeds(attrs.get("seed", 0), attrs.get("seed2", 0))


#: The dtypes of whole numbers of a kind where an operation does not say them.
_WHOLE = {"bits": dtypes.uint64, "int": dtypes.int64, "binomial": dtypes.int64}


def _uniform_int(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    size, low, high = inputs
    return uniform_of(_own(attrs), extents(size), low, high, attrs["Tout"], "RandomUniformInt", name)


def _normal(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return standard_normal(_own(attrs), extents(inputs[0]), attrs["dtype"])


def _truncated(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return truncated_of(_own(attrs), extents(inputs[0]), 0.0, 1.0, attrs["dtype"], name)


def _multinomial(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    logits, number = inputs
    return categorical_of(_own(attrs), logits, number, attrs.get("output_dtype", dtypes.int64), "Multinomial", name)


def _keys(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    state = public_function("bitcast")(state_of_seed(inputs[0]), dtypes.uint64)
    return state[2:], state[:2]


def _keyed(kind: str) -> Callable[[str, list[Any], dict[str, Any]], Any]:
    def made(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        size, dtype = extents(inputs[0]), attrs.get("dtype", _WHOLE.get(kind, dtypes.float32))
        source = _Keyed(*inputs[1:3])
        if kind == "bits":
            return cast(numbers(source, size, kind, dtypes.as_dtype(f"uint{8 * dtype.size}")), dtype)
        return numbers(source, size, "unit", dtype) if kind == "unit" else standard_normal(source, size, dtype)

    return made


def _keyed_truncated(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    dtype = attrs.get("dtype", dtypes.float32)
    return truncated_of(_Keyed(*inputs[1:3]), extents(inputs[0]), 0.0, 1.0, dtype, name)


def _keyed_int(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    size, key, counter, _, low, high = inputs
    return uniform_of(_Keyed(key, counter), extents(size), low, high, low.dtype, "StatelessRandomUniformInt", name)


def _keyed_gamma(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    size, key, counter, _, shapes = inputs
    return random_gamma(_Keyed(key, counter).begin, as_vector(extents(size)), shapes)


def _held(kind: str) -> Callable[[str, list[Any], dict[str, Any]], Any]:
    """Numbers of a generator's state, which goes on: the generator, perhaps its algorithm, the shape."""

    def made(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        source, size = Held(inputs[0]), extents(inputs[min(len(inputs) - 1, 2)])
        dtype = attrs.get("dtype", _WHOLE.get(kind, dtypes.float32))
        if kind == "bits":
            return cast(numbers(source, size, kind, dtypes.as_dtype(f"uint{8 * dtype.size}")), dtype)
        if kind == "int":
            return uniform_of(source, size, inputs[3], inputs[4], dtype, "StatefulUniformInt", name)
        if kind == "binomial":
            return binomial_of(source, inputs[2], inputs[3], inputs[4], dtype)
        if kind == "truncated":
            return truncated_of(source, size, 0.0, 1.0, dtype, name)
        return numbers(source, size, "unit", dtype) if kind == "unit" else standard_normal(source, size, dtype)

    return made


def _skipped(name: str, inputs: list[Any], attrs: dict[str, Any]) -> None:
    draw(inputs[0], cast(inputs[2], dtypes.int64))


def _keyed_shuffle(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return shuffled(_Keyed(*inputs[1:3]), inputs[0], name)


def _full_range(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    size, seed = inputs
    return _keyed("bits")(name, [size, *_keys(name, [seed], attrs)], attrs)


def _drawn(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    resource, _, delta = inputs
    return draw(resource, cast(delta, dtypes.int64) * RESERVED)


RANDOM: dict[str, Callable[[str, list[Any], dict[str, Any]], Any]] = {
    "Multinomial": _multinomial,
    "RandomShuffle": lambda name, inputs, attrs: shuffled(_own(attrs), inputs[0], name),
    "RandomStandardNormal": _normal,
    "RandomUniform": lambda name, inputs, attrs: numbers(_own(attrs), extents(inputs[0]), "unit", attrs["dtype"]),
    "RandomUniformInt": _uniform_int,
    "RngReadAndSkip": _drawn,
    "RngSkip": _skipped,
    "StatefulRandomBinomial": _held("binomial"),
    **dict.fromkeys(("StatefulStandardNormal", "StatefulStandardNormalV2"), _held("normal")),
    "StatefulTruncatedNormal": _held("truncated"),
    "StatefulUniform": _held("unit"),
    "StatefulUniformFullInt": _held("bits"),
    "StatefulUniformInt": _held("int"),
    "StatelessRandomGetAlg": lambda name, inputs, attrs: cast(ones([]), dtypes.int32),
    "StatelessRandomGetKeyCounter": _keys,
    "StatelessRandomGetKeyCounterAlg": lambda name, inputs, attrs: (
        *_keys(name, inputs, attrs),
        cast(ones([]), dtypes.int32),
    ),
    "StatelessRandomGammaV3": _keyed_gamma,
    "StatelessRandomUniformFullInt": _full_range,
    "StatelessShuffle": _keyed_shuffle,
    "StatelessTruncatedNormalV2": _keyed_truncated,
    "StatelessRandomNormalV2": _keyed("normal"),
    "StatelessRandomUniformFullIntV2": _keyed("bits"),
    "StatelessRandomUniformIntV2": _keyed_int,
    "StatelessRandomUniformV2": _keyed("unit"),
    "TruncatedNormal": _truncated,
}
