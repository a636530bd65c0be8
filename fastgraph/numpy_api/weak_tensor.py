"""WeakTensor: a tensor whose dtype gives way to others', as that of a Python number does."""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import ShapeLike, TensorShape, as_dims, shape_of
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor

#: The dtypes that may be weak.
WEAK_DTYPES = frozenset(["int32", "int64", "float32", "float64", "complex128"])


class WeakTensor(CompositeTensor):
    """A tensor of a weak dtype, in the modes "all" and "safe"; ops that know nothing of weakness take it as a tensor.

    Source: what TensorFlow prints as `weak=True`.
    """

    __slots__ = ("__weakref__", "tensor")
    _is_tensor = True
    __array_priority__ = 100
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tensor: Tensor) -> None:
        if tensor.dtype.name not in WEAK_DTYPES:
            raise TypeError(f"Weak tensors are of {sorted(WEAK_DTYPES)}, not of {tensor.dtype.name}")
        self.tensor = tensor

    dtype = ReadOnly[DType]("tensor.dtype", "The weak dtype.")
    shape = ReadOnly[TensorShape]("tensor.shape", "The static shape.")

    def to_tensor(self) -> Tensor:
        """Return the tensor, whose dtype gives way to no other."""
        return self.tensor

    def __getattr__(self, name: str) -> Any:
        if name == "tensor" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.tensor, name)

    def __fg_tensor__(self, dtype: DType | None = None) -> Tensor:
        return self.tensor

    def __pos__(self) -> WeakTensor:
        return self

    def __repr__(self) -> str:
        text = repr(self.tensor)
        return f"{text[:-1]}, weak=True>" if text.endswith(">") else text

    def __str__(self) -> str:
        return f"{self.tensor}"

    @property
    def _type_spec(self) -> WeakTensorSpec:
        return WeakTensorSpec(self.shape, self.dtype)


class WeakTensorSpec(TypeSpec):
    """The type of a WeakTensor: shape and dtype."""

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: ShapeLike = None, dtype: DTypeLike = "float32") -> None:
        self._shape = shape_of(as_dims(shape))
        self._dtype = as_dtype(dtype)

    @property
    def value_type(self) -> type:
        return WeakTensor

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype

    @property
    def _component_specs(self) -> TensorSpec:
        return TensorSpec(self._shape, self._dtype)

    def _to_components(self, value: WeakTensor) -> Tensor:
        return value.tensor

    def _from_components(self, components: Any) -> Any:
        return weakened(components)


def weakened(value: TensorLike) -> Any:
    """Tensors, alone or in lists, as weak ones where their dtype may be weak; anything else as it is."""
    if isinstance(value, list | tuple):
        return type(value)([weakened(part) for part in value])
    return WeakTensor(value) if isinstance(value, Tensor) and value.dtype.name in WEAK_DTYPES else value


def _as_its_tensor(name: str) -> None:
    setattr(WeakTensor, name, lambda self, *args: getattr(self.tensor, name)(*args))


def _weak_of_its_tensor(name: str) -> None:
    setattr(WeakTensor, name, lambda self, *args: weakened(getattr(self.tensor, name)(*args)))


for each in ("array", "len", "bool", "int", "float", "complex", "index", "getitem"):
    _as_its_tensor(f"__{each}__")
for each in ("neg", "abs", "invert"):
    _weak_of_its_tensor(f"__{each}__")
