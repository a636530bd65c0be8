"""Arguments of layers that move a window over their inputs: sizes, strides, padding. Messages of Keras 2."""

from __future__ import annotations

from collections.abc import Sequence

from fastgraph.keras.layers.core import checked_data_format

#: An extent for each axis of a window, or one for all of them.
Sizes = int | Sequence[int]

_LAYOUTS = {1: "NWC", 2: "NHWC", 3: "NDHWC"}
_CHANNELS_FIRST = {1: "NCW", 2: "NCHW", 3: "NCDHW"}


def sizes(value: Sizes, rank: int, name: str, allow_zero: bool = False) -> tuple[int, ...]:
    """Return `rank` integers: one for every axis, or those given. Raises ValueError for anything else."""
    told = f"The `{name}` argument must be a tuple of {rank} integers. Received: {value}"
    try:
        found = (value,) * rank if not hasattr(value, "__iter__") or isinstance(value, str) else tuple(value)
        if len(found) != rank:
            raise ValueError(told)
        found = tuple(int(n) for n in found)
    except (TypeError, ValueError):
        raise ValueError(told) from None
    bad = {n for n in found if n < 0 or (n == 0 and not allow_zero)}
    if bad:
        raise ValueError(
            f"{told} including {bad} that does not satisfy the requirement `{'>=' if allow_zero else '>'} 0`."
        )
    return found


def padding_of(value: str, causal: bool = False) -> str:
    """Return the padding in lower case. Raises ValueError for another than Keras's."""
    chosen = str(value).lower()
    if chosen not in ("valid", "same", "causal"):
        raise ValueError(
            'The `padding` argument must be a list/tuple or one of "valid", "same" (or "causal", only for `Conv1D). '
            f"Received: {chosen}"
        )
    if chosen == "causal" and not causal:
        raise ValueError("Causal padding is only supported for `Conv1D`and `SeparableConv1D`.")
    return chosen


def layout(data_format: str | None, rank: int) -> tuple[str, str]:
    """Return Keras's and tf.nn's name of where the channels are. Raises ValueError for an unknown one."""
    chosen = checked_data_format(data_format)
    return chosen, (_LAYOUTS if chosen == "channels_last" else _CHANNELS_FIRST)[rank]
