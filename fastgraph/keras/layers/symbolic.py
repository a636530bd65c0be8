"""Symbolic tensors of functional models: what tf.keras.Input returns, and what layers make of that.

Rule: a symbolic tensor knows its shape, its dtype and the call of a layer that it came from; it has no value. An op
that is applied to one becomes a layer of the model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import Aval, ShapeLike, TensorShape
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.registry import Primitive
from fastgraph.core.tensor import Tensor, current_trace
from fastgraph.keras.layers.calls import traced_specs

if TYPE_CHECKING:
    from fastgraph.keras.layers.base import Layer

#: Set by the module of layers: makes the layer that applies an op, of its primitive and attributes.
OPERATION: list[Any] = []


class InputTensor(Tensor):
    """A tensor to be: of this shape and dtype, the `index`-th output of a node. Keras calls it KerasTensor."""

    def __init__(self, shape: ShapeLike, dtype: DTypeLike, name: str, node: Node | None = None, index: int = 0) -> None:
        self._aval = _aval(TensorShape(shape), as_dtype(dtype))
        self._name = name
        self.node = node
        self.index = index

    name = ReadOnly[str]("_name", "The name of the layer that it came from.")
    aval = ReadOnly[Aval]("_aval", "The dtype, and the shape as far as it is known.")

    def set_shape(self, shape: ShapeLike) -> None:
        """Say more of the shape. Raises ValueError for one that does not fit."""
        self._aval = _aval(self.shape.merge_with(shape), self.dtype)

    def __repr__(self) -> str:
        layer = f" (created by layer {self.node.layer.name!r})" if self.node is not None else ""
        return f"<KerasTensor: shape={self.shape} dtype={self.dtype.name}{layer}>"

    @property
    def spec(self) -> TensorSpec:
        """The shape and dtype."""
        return TensorSpec(self.shape, self.dtype, name=self.name)

    def __fg_defer__(self, prim: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
        if current_trace() is not None:
            raise TypeError(
                f"{self!r} has no value: a tf.function cannot take it. Call the function in a Lambda layer."
            )
        return connect(OPERATION[0](prim, attrs), inputs, {})

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"{self!r} is a symbolic tensor of a functional model and has no value yet: NumPy cannot take it. Use "
            "TensorFlow's functions, or put NumPy's into a tf.keras.layers.Lambda by tf.numpy_function."
        )

    def __iter__(self) -> Any:
        raise TypeError("Cannot iterate over a symbolic tensor of a functional model.")

    def __bool__(self) -> bool:
        raise TypeError("A symbolic tensor of a functional model has no value yet, so `if` cannot ask it.")


def _aval(shape: TensorShape, dtype: DType) -> Aval:
    return Aval(dtype, None if shape.rank is None else tuple(shape.as_list()))


class Node:
    """One call of a layer on symbolic tensors: what it was given, and the symbolic tensors that it gave."""

    def __init__(self, layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.layer = layer
        self.args = args
        self.kwargs = kwargs
        self.inputs = [leaf for leaf in nesting.flatten([args, kwargs]) if isinstance(leaf, InputTensor)]
        self.outputs: Any = None


def symbolic(value: object) -> bool:
    """Return whether there is a symbolic tensor in a value."""
    if isinstance(value, InputTensor):
        return True
    return isinstance(value, (list, tuple, dict)) and any(
        isinstance(leaf, InputTensor) for leaf in nesting.flatten(value)
    )


def replaced(value: Any, tensors: dict[int, Any]) -> Any:
    """Return a value with the symbolic tensors in it replaced: {id of the symbolic tensor: what is put there}."""
    return nesting.map_structure(lambda leaf: tensors[id(leaf)] if isinstance(leaf, InputTensor) else leaf, value)


def connect(layer: Layer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Return the symbolic outputs of a layer called on symbolic inputs; the layer is built by it."""
    node = Node(layer, args, kwargs)

    def call(tensors: list[Any]) -> Any:
        given = {id(leaf): tensor for leaf, tensor in zip(node.inputs, tensors, strict=True)}
        called: list[Any] = replaced(list(args), given)
        return layer(*called, **replaced(kwargs, given))

    specs = traced_specs(call, [leaf.spec for leaf in node.inputs])
    layer._clear_losses()
    return attach(node, specs)


def attach(node: Node, specs: Any) -> Any:
    """Return new symbolic tensors with these specs as the outputs of a node, of which its layer takes note."""
    count = iter(range(len(nesting.flatten(specs))))
    node.outputs = nesting.map_structure(
        lambda spec: InputTensor(spec.shape, spec.dtype, node.layer.name, node, next(count)), specs
    )
    node.layer._nodes.append(node)
    return node.outputs
