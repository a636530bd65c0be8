"""Arrays of random numbers, each a pure function of a state i64[3] and its place. See philox.pyx."""

from collections.abc import Sequence
from typing import Any

from numpy import ndarray

def shuffled(keys: ndarray, size: int, state: ndarray, /) -> ndarray: ...
def words(state: ndarray, n: int, /) -> ndarray:
    """n words. i64[3] -> u32[n]."""

def units(state: ndarray, n: int, dtype: str, /) -> ndarray:
    """n numbers in [0, 1) of a float dtype; those of bfloat16 as their bits. i64[3] -> dtype[n]."""

def normals(state: ndarray, n: int, wide: bool, truncated: bool = False, /) -> ndarray:
    """n numbers of the standard normal distribution; if truncated, those below 2 in size. i64[3] -> f32 or f64[n]."""

def drawn(distribution: str, state: ndarray, parameters: Sequence[Any], samples: int, /) -> ndarray:
    """`samples` numbers of each of n distributions, whose parameters are rows. i64[3], f64[k, n] -> f64[samples, n]."""

def normals_between(state: ndarray, parameters: Sequence[Any], samples: int, bits: int, /) -> ndarray:
    """`samples` normal numbers for each of n means, deviations and pairs of ends. i64[3], f64[4, n] -> f64[samples, n]."""

def gamma_slope(alpha: Any, x: Any, /) -> ndarray:
    """Slope of numbers drawn from gamma distributions along alpha. f64[n], f64[n] -> f64[n]."""

def permuted(state: ndarray, n: int, /) -> ndarray:
    """0 ... n - 1 in random order, by exchanging each with one that follows or itself. i64[3] -> i64[n]."""

def shuffled_index(index: int, seed: tuple[int, ...], rounds: int, last: int, /) -> int:
    """Place of `index` in a random order of 0 ... last, which a key of two words chooses."""

def scrambled(first: int, second: int, /) -> ndarray:
    """The state that a seed of two numbers stands for. -> i64[3]."""
