"""The context of an op: whether a function is traced, what waits for what, what is known now.

Rule: nothing here makes a node. Effects keep program order by themselves, so waiting costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, MappingView
from collections.abc import Set as AbstractSet
from typing import Any, Self

import numpy as np

from fastgraph.core.base import nesting
from fastgraph.core.base.locks import Lock
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.name_scopes import current_scope
from fastgraph.core.tensor import Tensor, class_has, current_trace, executing_eagerly
from fastgraph.ops.arguments import known_value


def inside_function() -> bool:
    """Return whether a Function is being traced. Source: tf.inside_function."""
    trace: Any = current_trace()
    return trace is not None and trace.kind != "graph"


def is_symbolic_tensor(tensor: Tensor) -> bool:
    """Return whether `tensor` is one of a graph. Source: tf.is_symbolic_tensor."""
    return isinstance(tensor, Tensor) and not class_has(tensor, "backing_device")


def get_static_value(tensor: TensorLike, partial: bool = False) -> Any:
    """Return the elements of a tensor as an array if they are known now, else None. Source: tf.get_static_value.

    With `partial`, integers of which some are known give those, and None for the others.
    """
    if not isinstance(tensor, Tensor):
        return None if hasattr(tensor, "__fg_cell__") or hasattr(tensor, "is_tensor_like") else tensor
    found = known_value(tensor)
    if found is not None:
        return np.array(found)[()]
    if not partial:
        return None
    if tensor.aval.partial is not None:
        return np.array(tensor.aval.numbers, object).reshape(tensor.aval.partial.shape)
    node: Any = getattr(getattr(tensor, "value", None), "node", None)
    if tensor.shape.rank == 1 and node is not None and node.op.name == "stack":  # of other numbers, or all unknown
        parts = [known_value(tensor.trace.tensor(value)) for value in node.inputs]  # type: ignore[attr-defined]
        return np.array([None if part is None else part[()] for part in parts], object)
    return None


def get_current_name_scope() -> str:
    """Return this thread's name scope without the last "/". Source: tf.get_current_name_scope."""
    return current_scope().removesuffix("/")


class control_dependencies:
    """A context in which ops run after those given. Source: tf.control_dependencies.

    Ops with effects run in program order in any case, and what has no effect cannot be seen to run; so the context
    checks what it is given and notes it in the graph.

    Args:
        control_inputs: A list or an iterator of tensors, operations, Variables or, run when it is entered, callables;
            None: no more.

    Raises:
        TypeError: One of them is something else.

    Examples:
        >>> count = tf.Variable(0)
        >>> @tf.function
        ... def next_number():
        ...     with tf.control_dependencies([count.assign_add(1)]):
        ...         return tf.identity(count)
        >>> [int(next_number()) for _ in range(3)]
        [1, 2, 3]
    """

    def __init__(self, control_inputs: Iterable[Any] | None) -> None:
        self._nodes: list[Any] = []
        self._before: Any = None
        self._none = control_inputs is None
        if isinstance(control_inputs, Iterator | AbstractSet | MappingView):
            control_inputs = list(control_inputs)
        for given in nesting.flatten([] if control_inputs is None else control_inputs):
            if executing_eagerly() and callable(given) and not isinstance(given, Tensor):
                given()
            elif given is not None and not executing_eagerly():
                if not _operation(given):
                    raise TypeError(f"Control input must be an Operation, a Tensor, or a Variable: {given!r}")
                given = getattr(given, "op", given)  # of what an assign returns, the assign
                node = getattr(getattr(given, "value", None), "node", None) or getattr(given, "node", None)
                self._nodes += [] if node is None else [node]

    def __enter__(self) -> Self:
        trace: Any = current_trace()
        self._before = trace, () if trace is None else trace.control
        if trace is not None:
            trace.control = () if self._none else (*trace.control, (self._nodes, set()))
        return self

    def __exit__(self, *exception: object) -> None:
        trace, before = self._before
        if trace is not None:
            trace.control = before


def _operation(given: object) -> bool:
    return isinstance(given, Tensor) or any(hasattr(given, name) for name in ("__fg_cell__", "outputs", "dense_shape"))


class CriticalSection:
    """A section that runs alone: of all calls of `execute`, in any thread, one at a time. Source: tf.CriticalSection.

    In a Function the body runs in program order, as all effects do.
    """

    def __init__(
        self, name: str | None = None, shared_name: str | None = None, critical_section_def: int | None = None,
        import_scope: str | None = None
    ) -> None:  # fmt: skip
        if critical_section_def is not None:
            raise ValueError("Argument `critical_section_def` is not supported.")
        self.name = name or "critical_section"
        self._lock = Lock()

    def execute(self, fn: Callable[[], Any], exclusive_resource_access: bool = True, name: str | None = None) -> Any:
        """Return what `fn()` gives, as tensors, once no other body is running."""
        with self._lock:
            return nesting.map_structure(lambda x: None if x is None else convert_to_tensor(x), fn())
