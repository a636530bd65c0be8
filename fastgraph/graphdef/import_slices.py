"""Slices of tensors by begin, end, strides and masks: read, their gradients, and written over.

Rule: as in import_ops.py: a function takes the node's name, its inputs and its attributes, and returns the results.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fastgraph.core.registry import public_function
from fastgraph.core.tape.gradient_tape import GradientTape
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.graphdef.import_values import fixed
from fastgraph.ops.arguments import known_value


def sliced(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return x[...]: x, begin, end, strides."""
    key = _key(name, inputs[1:], attrs)
    trace: Any = current_trace()
    if trace is not None:
        trace.node_name = name
    return inputs[0][key]


def slice_gradient(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return the gradient to x: its shape, begin, end, strides, that of the slice."""
    shape, *positions, dy = inputs
    tape = GradientTape()
    with tape:
        x = public_function("zeros")(shape, dy.dtype)
        tape.watch(x)
        y = x[_key(name, positions, attrs)]
    return tape.gradient(y, x, output_gradients=dy)


def slice_update(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return a tensor with a value written over x[...]: x, begin, end, strides, value."""
    x, *positions, value = inputs
    dims = public_function("shape")(x)
    places = public_function("reshape")(public_function("range")(public_function("size")(x)), dims)
    chosen = places[_key(name, positions, attrs)]
    reshape, update = public_function("reshape"), public_function("tensor_scatter_nd_update")
    value = public_function("broadcast_to")(value, public_function("shape")(chosen))
    changed = update(reshape(x, [-1]), reshape(chosen, [-1, 1]), reshape(value, [-1]))
    return reshape(changed, dims, name=name)


def _key(name: str, inputs: list[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
    """Return the key in the brackets of x[...], from begin, end, strides and the masks."""
    begin, end, strides = inputs
    masks = {key: attrs.get(f"{key}_mask", 0) for key in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")}
    steps = fixed(strides, f"Node '{name}': the strides")
    starts, ends = _entries(begin, len(steps)), _entries(end, len(steps))
    key: list[Any] = []
    for i, step in enumerate(steps):
        bit = 1 << i
        if masks["ellipsis"] & bit:
            key.append(Ellipsis)
        elif masks["new_axis"] & bit:
            key.append(None)
        elif masks["shrink_axis"] & bit:
            key.append(starts[i])
        else:
            first = None if masks["begin"] & bit else starts[i]
            last = None if masks["end"] & bit else ends[i]
            key.append(slice(first, last, int(step)))
    return tuple(key)


def _entries(vector: Tensor, n: int) -> list[Any]:
    """The numbers of a vector: ints where they are known, else tensors."""
    known = known_value(vector)
    if known is not None:
        return [int(number) for number in np.array(known)]
    found = []
    for i in range(n):
        part = vector[i]
        number = known_value(part)
        found.append(part if number is None else int(number))
    return found
