"""tensorflow.python.layers.utils: what arguments of layers are in full, and the lengths that windows give."""

from __future__ import annotations

from typing import Any

from fastgraph.core.tensor import Tensor
from fastgraph.ops.control_dependencies import get_static_value

_LETTERS = {3: "W", 4: "HW", 5: "DHW"}


def convert_data_format(data_format: str, ndim: int) -> str:
    """Return TensorFlow's word ("NHWC") for Keras's ("channels_last") of tensors of rank `ndim`."""
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f'Invalid data_format: {data_format}. We only support "channels_first" or "channels_last"')
    if ndim not in _LETTERS:
        raise ValueError(f"Input rank: {ndim} not supported. We only support input rank 3, 4 or 5.")
    return f"N{_LETTERS[ndim]}C" if data_format == "channels_last" else f"NC{_LETTERS[ndim]}"


def normalize_tuple(value: Any, n: int, name: str) -> tuple[Any, ...]:
    """Return n integers: those given, or one n times. Raises ValueError for anything else."""
    if isinstance(value, int):
        return (value,) * n
    wrong = f"Argument `{name}` must be a tuple of {n} integers. Received: {value}"
    try:
        found = tuple(value)
    except TypeError:
        raise ValueError(wrong) from None
    if len(found) != n:
        raise ValueError(wrong)
    for each in found:
        try:
            int(each)
        except (ValueError, TypeError):
            raise ValueError(f"{wrong} including element {each} of type {type(each)}") from None
    return found


def normalize_data_format(value: str) -> str:
    """Return "channels_first" or "channels_last", whatever the case of the letters."""
    found = value.lower()
    if found not in ("channels_first", "channels_last"):
        raise ValueError(
            f'The `data_format` argument must be one of "channels_first", "channels_last". Received: {value}.'
        )
    return found


def normalize_padding(value: str) -> str:
    """Return "valid" or "same", whatever the case of the letters."""
    found = value.lower()
    if found not in ("valid", "same"):
        raise ValueError(f'The `padding` argument must be one of "valid", "same". Received: {found}.')
    return found


def conv_output_length(
    input_length: int | None, filter_size: int, padding: str, stride: int, dilation: int = 1
) -> int | None:
    """Return how long a convolution's output is, None for an unknown input. padding: "same", "valid" or "full"."""
    if input_length is None:
        return None
    assert padding in ("same", "valid", "full")
    reach = (filter_size - 1) * dilation
    length = input_length + {"same": 0, "valid": -reach, "full": reach}[padding]
    return (length + stride - 1) // stride


def conv_input_length(output_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """Return how long the input of a convolution was that gave an output, None for an unknown one."""
    if output_length is None:
        return None
    assert padding in ("same", "valid", "full")
    pad = {"same": filter_size // 2, "valid": 0, "full": filter_size - 1}[padding]
    return (output_length - 1) * stride - 2 * pad + filter_size


def deconv_output_length(input_length: int | None, filter_size: int, padding: str, stride: int) -> int | None:
    """Return how long a transposed convolution's output is, None for an unknown input."""
    if input_length is None:
        return None
    extra = max(filter_size - stride, 0)
    return input_length * stride + {"valid": extra, "full": -(stride + filter_size - 2)}.get(padding, 0)


def constant_value(pred: Any) -> Any:
    """Return a condition's value as far as it is known, None otherwise (of a Variable, too).

    Raises TypeError for what is neither a tensor, a bool, 0 nor 1.
    """
    if isinstance(pred, Tensor) or hasattr(pred, "__fg_cell__"):
        return get_static_value(pred)
    if pred in (0, 1):
        return bool(pred)
    raise TypeError(
        f"Argument `pred` must be a Tensor, or a Python bool, or 1 or 0. Received: pred={pred} of type "
        f"{type(pred).__name__}"
    )
