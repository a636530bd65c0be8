"""Text of tensors: `str`, `repr` and `format` as TensorFlow writes them, by way of NumPy.

Rule: the text of the elements is NumPy's own, so np.set_printoptions works.
"""

from __future__ import annotations

from fastgraph.core.tensor import EagerTensor, Tensor, as_array, register_slot


def _elements(tensor: EagerTensor, *, as_repr: bool) -> str:
    view = as_array(tensor).view(tensor.dtype.plain)
    if as_repr:
        name = view.dtype.name  # of which ml_dtypes says "dtype(bfloat16)" from 0.7 on
        text = repr(view.item()) if tensor.ndim == 0 else repr(view).replace(f"=dtype({name})", f"={name}")
    else:
        text = str(view[()]) if tensor.ndim == 0 else str(view)
    return "\n" + text if "\n" in text else text


def tensor_str(tensor: EagerTensor) -> str:
    """tf.Tensor([1. 0.], shape=(2,), dtype=float32)"""
    return f"tf.Tensor({_elements(tensor, as_repr=False)}, shape={tensor.shape}, dtype={tensor.dtype.name})"


def tensor_repr(tensor: EagerTensor) -> str:
    """<tf.Tensor: shape=(), dtype=int32, numpy=11>"""
    return f"<tf.Tensor: shape={tensor.shape}, dtype={tensor.dtype.name}, numpy={_elements(tensor, as_repr=True)}>"


def tensor_format(tensor: Tensor, spec: str) -> str:
    """The result of format(): that of the NumPy value."""
    return format(tensor.numpy(), spec)


register_slot("repr", tensor_repr)
register_slot("str", tensor_str)
register_slot("format", tensor_format)
