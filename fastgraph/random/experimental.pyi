# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.random import fold_in as stateless_fold_in
from fastgraph.random import split as stateless_split
from typing import Any
import builtins

def stateless_shuffle(value: Any, seed: Any, alg: Any = 'auto_select', name: builtins.str | None = None) -> Any:
    """The slices of value along its first axis in an order that the seed i[2] says. t[n, *s] -> t[n, *s].

    Source: tf.random.experimental.stateless_shuffle."""
