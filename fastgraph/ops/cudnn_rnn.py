"""The recurrent op of NVIDIA's library, which libraries trace beside the one for CPUs.

Rule: it has its shapes and no numbers: as in TensorFlow, a graph may hold it, and running it on a CPU is an error.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.errors import UnimplementedError
from fastgraph.ops.python_functions import numpy_function


def cudnn_rnn(
    input: TensorLike,
    input_h: TensorLike,
    input_c: TensorLike,
    params: TensorLike,
    sequence_lengths: TensorLike,
    rnn_mode: str = "lstm",
    input_mode: str = "linear_input",
    direction: str = "unidirectional",
    dropout: float = 0.0,
    seed: int = 0,
    seed2: int = 0,
    num_proj: int = 0,
    is_training: bool = True,
    time_major: bool = True,
    name: str | None = None,
) -> tuple[Tensor, ...]:
    """Layers of recurrent cells on an NVIDIA GPU. f[t, b, i], f[l, b, h], f[l, b, h], f[p], i32[b] -> f[t, b, h], ...

    Raises UnimplementedError when it is run: there is no such device. Source: tf.raw_ops.CudnnRNNV3.
    """

    def unavailable(*_: Any) -> Any:
        raise UnimplementedError(None, None, "No OpKernel was registered to support Op 'CudnnRNNV3' on CPU devices")

    inputs = [convert_to_tensor(each) for each in (input, input_h, input_c, params, sequence_lengths)]
    dtype = inputs[0].dtype
    found = numpy_function(unavailable, inputs, [dtype, dtype, dtype, dtype, "int8"], name=name)
    features = None if inputs[1].shape.rank is None else inputs[1].shape[-1]
    if features is not None:
        features *= 2 if direction == "bidirectional" else 1
    found[0].set_shape(TensorShape([*inputs[0].shape[:2], features] if inputs[0].shape.rank else None))
    for state, given in zip(found[1:3], inputs[1:3], strict=True):
        state.set_shape(given.shape)
    return tuple(found)


def cudnn_rnn_of_one_length(
    input: TensorLike, input_h: TensorLike, input_c: TensorLike, params: TensorLike, **options: Any
) -> tuple[Tensor, ...]:
    """`cudnn_rnn` of sequences that are all as long: without the last of its results. Source: tf.raw_ops.CudnnRNN."""
    return cudnn_rnn(input, input_h, input_c, params, 0, **options)[:4]
