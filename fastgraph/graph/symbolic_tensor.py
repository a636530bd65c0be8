"""SymbolicTensor: a tensor of a graph that is being traced.

Rule: it has a dtype, a shape and a place in the graph, but no number; whatever would need one says how to do without.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from fastgraph.core.base.dtype import DType
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import Aval, ShapeLike, TensorShape, shape_of
from fastgraph.core.tensor import Tensor
from fastgraph.errors import OperatorNotAllowedInGraphError
from fastgraph.graph.ir import Value
from fastgraph.graph.node_names import tensor_place
from fastgraph.graph.source_lines import is_internal, unconverted

if TYPE_CHECKING:
    from fastgraph.graph.trace import GraphTrace
    from fastgraph.graphdef import graph_view


def _remedy() -> str:
    """Say what to do where a symbolic tensor would have to be a Python value."""
    frame = sys._getframe(2)
    while frame is not None and is_internal(frame.f_code):
        frame = frame.f_back  # type: ignore[assignment]
    reason = None if frame is None else unconverted.get(frame.f_code)
    if reason is None:
        return _REMEDY
    code = frame.f_code
    return (
        f" is not allowed in {code.co_name!r} (file {code.co_filename!r}, line {frame.f_lineno}), which AutoGraph has "
        f"not converted: {reason}. Use tf.cond, tf.while_loop or tf.where there instead."
    )


_REMEDY = (
    " is not allowed. You can attempt the following resolutions to the problem: If you are running in Graph mode, use"
    " Eager execution mode or decorate this function with @tf.function. If you are using AutoGraph, you can try"
    " decorating this function with @tf.function. If that does not work, then you may be using an unsupported feature"
    " or your source code may not be visible to AutoGraph: use tf.cond, tf.while_loop or tf.where instead."
)


class SymbolicTensor(Tensor):
    """A tensor of a graph under construction: it has a dtype, a shape as far as it is known, and no value."""

    __slots__ = ("dtype", "trace", "value")

    value: Value
    trace: GraphTrace
    dtype: DType  #: The element type.

    def __init__(self, value: Value, trace: GraphTrace) -> None:
        self.value = value
        self.trace = trace
        self.dtype = value.aval.dtype  # of every op that takes it, asked for several times

    @property
    def aval(self) -> Aval:
        """The dtype, the shape as far as it is known, and the value where it follows from shapes."""
        return self.value.aval

    @property
    def shape(self) -> TensorShape:
        """The shape; a dimension that is known only when the graph runs is None."""
        return shape_of(self.value.aval.shape)

    @property
    def name(self) -> str:
        """TensorFlow's name: `node:index`."""
        if not self.value.node.name:
            self.trace.settle(self.value.node)
        return "{}:{}".format(*tensor_place(self.value))

    @property
    def op(self) -> graph_view.Operation:
        """The operation that makes this tensor."""
        return self.trace.graph.public.maker_of(self.value)

    def consumers(self) -> list[graph_view.Operation]:
        """Return the operations that take this tensor."""
        return self.trace.graph.public.consumers_of(self.value)

    graph = ReadOnly["graph_view.Graph"]("trace.graph.public", "The graph under construction.")

    @property
    def value_index(self) -> int:
        """The number of this result among those of its operation."""
        return tensor_place(self.value)[1]

    @property
    def device(self) -> str:
        """The device asked for, or "" where the placement is open."""
        return self.value.node.device or ""

    @property
    def numpy(self) -> Any:
        """Raise AttributeError, which says what to do instead: there is no value."""
        return self.__getattr__("numpy")

    def set_shape(self, shape: ShapeLike) -> None:
        """Note what is known besides about the shape. Raises ValueError if it contradicts what is known."""
        merged = self.shape.merge_with(shape)
        aval = self.value.aval
        self.value.aval = Aval(aval.dtype, None if merged.rank is None else tuple(merged), aval.value, aval.partial)

    @property
    def made_at(self) -> str:
        """The place where it was made, for people: `from f, file:line`; of an argument, whose it is."""
        line = next(iter(self.value.node.source), None)
        if line is not None:
            return f"from {line.function}, {line}"
        trace = self.trace.root
        what = "an argument" if self.value in trace.graph.inputs else "a tensor"
        return f"from {trace.graph.name}, {what} of it"

    def __bool__(self) -> bool:
        raise OperatorNotAllowedInGraphError("Using a symbolic `tf.Tensor` as a Python `bool`" + _remedy())

    def __iter__(self) -> Any:
        raise OperatorNotAllowedInGraphError("Iterating over a symbolic `tf.Tensor`" + _remedy())

    def __len__(self) -> int:
        raise TypeError(
            f"len is not well defined for a symbolic Tensor ({self.name}). "
            "Please call `x.shape` rather than `len(x)` for shape information."
        )

    def __array__(self, *_: object, **__: object) -> Any:
        raise NotImplementedError(
            f"Cannot convert a symbolic tf.Tensor ({self.name}) to a numpy array. This error may indicate that you're "
            f"trying to pass a Tensor to a NumPy call, which is not supported. The tensor ({self.made_at}) has no "
            "value while tracing: use ops of tf, tf.numpy_function, or return it."
        )

    def _no_number(self, what: str) -> TypeError:
        return TypeError(
            f"{what}() needs a value, and the symbolic tensor {self.name} ({self.made_at}) has none until the graph "
            "runs. Compute with it as a tensor (tf.cast), or call the function eagerly."
        )

    def __int__(self) -> int:
        known = self.aval.value  # what tf.get_static_value gives, a program may ask for
        if known is None or known.ndim:
            raise self._no_number("int")
        return int(known)

    def __float__(self) -> float:
        raise self._no_number("float")

    def __complex__(self) -> complex:
        raise self._no_number("complex")

    def __index__(self) -> int:
        raise TypeError(
            f"the symbolic tensor {self.name} ({self.made_at}) cannot be a Python index: it has no value until the "
            "graph runs. Use tf.gather, or tf.range for a loop's counter."
        )

    def __getattr__(self, name: str) -> Any:
        if name in ("numpy", "item", "tolist"):
            raise AttributeError(
                f"'SymbolicTensor' object has no attribute {name!r}: {self.name} ({self.made_at}) has no value until "
                "the graph runs. Return it from the tf.function, print it with tf.print, or take it to Python with "
                "tf.py_function."
            )
        raise AttributeError(f"'SymbolicTensor' object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<tf.Tensor {self.name!r} shape={self.shape} dtype={self.dtype.name}>"

    def __str__(self) -> str:
        shape = "" if self.aval.shape is None else f" shape={self.shape},"
        return f'Tensor("{self.name}",{shape} dtype={self.dtype.name})'

    def __format__(self, spec: str) -> str:
        if spec:
            raise TypeError(f"unsupported format string passed to SymbolicTensor.__format__: {self.name} has no value")
        return str(self)
