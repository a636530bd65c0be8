"""tf.keras.backend: Keras's settings, and the names that objects get when none is given.

Rule: settings hold for the whole process; what they say is asked for when it is needed, not at import.
"""

from __future__ import annotations

import itertools
import random
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from fastgraph.api.namespaces import lookup
from fastgraph.ops.random_ops import set_seed
from fastgraph.ops.random_states import generators

__all__ = [
    "backend",
    "clear_session",
    "epsilon",
    "floatx",
    "get_uid",
    "image_data_format",
    "reset_uids",
    "set_epsilon",
    "set_floatx",
]

__getattr__, __dir__ = lookup("keras.backend")

_settings: dict[str, Any] = {"epsilon": 1e-7, "floatx": "float32"}
_counts: dict[str, Iterator[int]] = {}
_anew = threading.local()  # its `counts`: those of the thread's `counting_anew`


def epsilon() -> float:
    """Return the small number that keeps logarithms and quotients finite (1e-7). Source: tf.keras.backend.epsilon."""
    return _settings["epsilon"]


def set_epsilon(value: float) -> None:
    """Set what `epsilon` returns. Source: tf.keras.backend.set_epsilon."""
    _settings["epsilon"] = value


def backend() -> str:
    """Return the name of what computes: "tensorflow". Source: tf.keras.backend.backend."""
    return "tensorflow"


def floatx() -> str:
    """Return the name of the dtype that weights have by default. Source: tf.keras.backend.floatx."""
    return _settings["floatx"]


def set_floatx(value: str) -> None:
    """Set the default dtype of weights. Raises ValueError unless it is float16, float32 or float64."""
    if value not in ("float16", "float32", "float64"):
        raise ValueError(f"Unknown `floatx` value: {value}. Expected one of {{'float16', 'float32', 'float64'}}")
    _settings["floatx"] = value


def image_data_format() -> str:
    """Return where images have their channels: always "channels_last"."""
    return "channels_last"


def set_random_seed(seed: int) -> None:
    """Seed Python's `random`, NumPy's global generator and `tf.random`, so that a program repeats itself.

    Source: tf.keras.utils.set_random_seed.
    """
    if not isinstance(seed, int):
        raise ValueError(f"Expected `seed` argument to be an integer. Received: seed={seed} (of type {type(seed)})")
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002  (programs draw from it)
    set_seed(seed)


def initializer_seed() -> int:
    """Return a seed for an initializer without one: of the sequence that the global seed begins, else of `random`."""
    return (generators.initializers or random).randint(1, 10**9)


def op_seed(layer: Any) -> int | None:
    """Return the seed of a layer's next random op: the layer's own, then one more each time; None without one."""
    if layer.seed is None:
        return None
    taken = getattr(layer, "_random_ops", -1) + 1
    for known in range(taken):  # a step that is traced again for other sizes is the same step
        if generators.is_spare(layer.seed + known):
            return layer.seed + known
    layer._random_ops = taken
    return layer.seed + taken


def skip_seeds(layers: Iterable[Any]) -> None:
    """Pass over a seed of each layer that has its own, as Keras 2 does where it calls the layers once more."""
    for layer in layers:
        if getattr(layer, "seed", None) is not None:
            op_seed(layer)


def get_uid(prefix: str = "") -> int:
    """Return how often names with this prefix were asked for, from 1 on. Source: tf.keras.backend.get_uid."""
    counts: dict[str, Iterator[int]] = getattr(_anew, "counts", _counts)
    return next(counts.setdefault(prefix, itertools.count(1)))


def reset_uids() -> None:
    """Begin all counts of `get_uid` anew."""
    _counts.clear()


@contextmanager
def counting_anew() -> Iterator[None]:
    """A context with counts of its own: what this thread makes in it has the first names."""
    before, _anew.counts = getattr(_anew, "counts", _counts), {}
    try:
        yield
    finally:
        _anew.counts = before


def clear_session() -> None:
    """Forget the names given: the next Dense is `dense` again. Source: tf.keras.backend.clear_session."""
    reset_uids()


def default_name(kind: type) -> str:
    """Return a name for an object of this class: `dense`, then `dense_1`, ..."""
    return unique_name(snake_case(kind.__name__))


def unique_name(base: str) -> str:
    """Return `base`, then `base_1`, ..."""
    number = get_uid(base) - 1
    return f"{base}_{number}" if number else base


def snake_case(name: str) -> str:
    """Return a class's name as Keras writes it: GlobalMaxPooling2D -> global_max_pooling2d, ReLU -> re_lu."""
    text = re.sub(r"(?<=.)(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return "private" + text if text.startswith("_") else text
