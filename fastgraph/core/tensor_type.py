"""The type of everything that is a tensor to an op: tensors, Variables, and classes of libraries that derive from it.

Rule: it computes nothing. A class that derives from it says by `__tf_tensor__` which tensor it stands for.
"""

from __future__ import annotations

from abc import ABCMeta
from typing import Any

from fastgraph.core.tensor import Tensor


class TensorType(metaclass=ABCMeta):  # noqa: B024 - Tensor and Variable are registered with it
    """The base of all that `tf.is_tensor` says yes to: Tensor, Variable, and what derives from this class.

    A subclass defines `__tf_tensor__(dtype, name)`, which gives the tensor that it stands for; ops take it as they take
    Variables. Source: tf.__internal__.types.Tensor.
    """

    def __tf_tensor__(self, dtype: Any = None, name: str | None = None) -> Any:
        """Return the tensor that this object stands for."""
        raise NotImplementedError(f"{type(self).__name__} does not say which tensor it stands for: __tf_tensor__")

    def __fg_tensor__(self, dtype: Any = None) -> Any:
        """Return the tensor that an op gets in its place."""
        return self.__tf_tensor__(dtype, None)

    @property
    def __fg_cell__(self) -> Any:
        """The Cell of its value, if it stands for a Variable, whose `handle` it then has."""
        cell = getattr(getattr(self, "handle", None), "cell", None)
        if cell is None:
            raise AttributeError(f"{type(self).__name__} stands for no Variable")
        return cell


TensorType.register(Tensor)
