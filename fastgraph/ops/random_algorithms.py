"""The names of algorithms of random numbers, of which Philox is the one there is.

Rule: an argument `alg` is a name, a number or an `Algorithm`; what it means is said here alone.
"""

from __future__ import annotations

import enum
from typing import Any

from fastgraph.core.conversion import TensorLike
from fastgraph.errors import UnimplementedError


class Algorithm(enum.Enum):
    """An algorithm of random numbers; AUTO_SELECT is Philox here. Source: tf.random.Algorithm."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


_NAMES = {"philox": Algorithm.PHILOX, "threefry": Algorithm.THREEFRY, "autoselect": Algorithm.AUTO_SELECT}


def _unsupported(alg: object) -> ValueError:
    names: tuple[Any, ...] = ("philox", "threefry", "auto_select") if isinstance(alg, str) else (1, 2, 3)
    return ValueError(
        f"Argument `alg` got unsupported value {alg}. Supported values are {names[0]} for the Philox algorithm, "
        f"{names[1]} for the ThreeFry algorithm, and {names[2]} for auto-selection."
    )


def algorithm_number(alg: Algorithm | TensorLike) -> int:
    """The number of an algorithm given by name, number or `Algorithm`. Raises: ValueError for unknown ones."""
    if isinstance(alg, Algorithm):
        return int(alg.value)
    if isinstance(alg, str):
        found = _NAMES.get(alg.strip().lower().replace("-", "").replace("_", ""))
        if found is None:
            raise _unsupported(alg)
        return int(found.value)
    if isinstance(alg, int):
        if alg not in (1, 2, 3):
            raise _unsupported(alg)
        return int(alg)
    raise TypeError(f"Can't convert argument `alg` (of value {alg!s} and type {type(alg)}) to int.")


def check_philox(alg: Algorithm | TensorLike) -> None:
    """Raise unless `alg` (None: any) is Philox, or leaves the choice."""
    if alg is not None and algorithm_number(alg) == Algorithm.THREEFRY.value:
        raise no_threefry()


def no_threefry() -> UnimplementedError:
    """The error of whoever draws by ThreeFry."""
    return UnimplementedError(None, None, "Non-XLA devices don't support the ThreeFry algorithm.")
