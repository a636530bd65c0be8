# Written by tools/stubs.py from the ops' definitions; do not edit.
from typing import Any
import builtins

def stateless_dropout(x: Any, rate: Any, seed: Any, rng_alg: Any = 'auto_select', noise_shape: Any = None, name: builtins.str | None = None) -> Any:
    """`dropout` that drops the same elements for the same seed i[2]. f[*s] -> f[*s].

    Source: tf.nn.experimental.stateless_dropout."""
