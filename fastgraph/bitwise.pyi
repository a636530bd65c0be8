# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.tensor import Tensor
from typing import Any

def bitwise_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bits set in both. i[*s], i[*s] -> i[*s], broadcasting. Source: tf.bitwise.bitwise_and."""
def bitwise_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bits set in either. i[*s], i[*s] -> i[*s], broadcasting. Source: tf.bitwise.bitwise_or."""
def bitwise_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Bits set in one of the two. i[*s], i[*s] -> i[*s], broadcasting. Source: tf.bitwise.bitwise_xor."""
def invert(x: Any, name: str | None = None) -> Tensor:
    """Every bit flipped. i[*s] -> i[*s]. Source: tf.bitwise.invert."""
def left_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x moved left by y bits, from 0 to its width less one. i[*s], i[*s] -> i[*s], broadcasting."""
def right_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x moved right by y bits, from 0 to its width less one, keeping its sign. i[*s], i[*s] -> i[*s], broadcasting."""
