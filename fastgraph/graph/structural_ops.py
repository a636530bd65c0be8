"""The primitives that give a graph its structure: placeholder, const, calls, cond, while, custom_gradient_identity.

Rule: they have no kernel of their own; `interpreter.py` and the compiler know what they mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Aval, Shape, common_shape
from fastgraph.core.registry import Primitive, register
from fastgraph.core.tensor import Tensor, as_array, from_array, get_slot
from fastgraph.errors import InternalError, OpError
from fastgraph.graph.ir import Graph, Node, Value, infer

# A constant's value is known to inference up to this many elements: enough for shapes, axes and sizes.
KNOWN_ELEMENTS = 1024


def _no_body(*_: object, **__: object) -> Any:
    raise InternalError(None, None, "a structural op has no kernel: the interpreter or the executor runs it")


def _infer_placeholder(*, dtype: DType, shape: Shape, name: str | None = None) -> Aval:
    return Aval(dtype, shape)


def _infer_const(*, value: Any) -> Aval:
    known = value.aval
    if known.value is not None:
        return Aval(known.dtype, known.shape, known.value)
    if known.dtype is not dtypes.string and (known.size or 0) <= KNOWN_ELEMENTS:
        return Aval(known.dtype, known.shape, as_array(value))
    return Aval(known.dtype, known.shape)


def _infer_call(*operands: Aval, graph: Graph) -> tuple[Aval, ...]:
    return tuple(_outputs(graph, operands))


def _outputs(graph: Graph, operands: Sequence[Aval]) -> list[Aval]:
    """Return the types of a graph's results for operands of whose shapes more is known than it was traced for."""
    more: dict[Value, Aval] = {}
    is_open = any(value.aval.shape is None or None in value.aval.shape for value in graph.outputs)
    for parameter, operand in zip(graph.parameters, operands, strict=False):
        if is_open and operand.dtype.is_integer and (operand.value is not None or operand.partial is not None):
            _note(more, parameter, operand)  # it may be a size
        elif operand.shape != parameter.aval.shape:
            _note(more, parameter, operand.without_value())
    if more:
        for node in graph.nodes:
            inputs = [more.get(value, value.aval) for value in node.inputs]
            if any(value in more for value in node.inputs):
                try:
                    avals = infer(node.op, inputs, node.attrs)
                except (TypeError, ValueError, OpError):
                    continue  # it fails when it runs, if it does
                for value, aval in zip(node.outputs, avals, strict=True):
                    _note(more, value, aval)
    return [more.get(value, value.aval).without_value() for value in graph.outputs]


def _note(more: dict[Value, Aval], value: Value, found: Aval) -> None:
    """Note what is known of a value besides what its graph says."""
    noted, shape = value.aval, found.shape
    if noted.shape is None or shape is None:
        shape = noted.shape if shape is None else shape
    elif len(shape) == len(noted.shape):
        shape = tuple([m if n is None else n for m, n in zip(shape, noted.shape, strict=True)])
    else:
        return
    if shape != noted.shape or (found.value is not None and noted.value is None) or found.partial is not None:
        more[value] = Aval(noted.dtype, shape, found.value, found.partial)


def _infer_cond(
    pred: Aval, *operands: Aval, then_graph: Graph, else_graph: Graph, indexed: bool = False
) -> tuple[Aval, ...]:
    branches = _outputs(then_graph, operands), _outputs(else_graph, operands)
    return tuple([Aval(a.dtype, common_shape(a.shape, b.shape)) for a, b in zip(*branches, strict=True)])


def _infer_while(
    *operands: Aval, cond_graph: Graph, body_graph: Graph, n_carried: int, joined: tuple[int, ...] = ()
) -> tuple[Aval, ...]:
    """The carried values, then what the iterations give besides: stacked, or (outputs named by `joined`) end to end."""
    carried = [value.aval.without_value() for value in body_graph.inputs[:n_carried]]
    rows = []
    for i, value in enumerate(body_graph.outputs[n_carried:], start=n_carried):
        shape = value.aval.shape
        rows.append(Aval(value.aval.dtype, (None,) if i in joined else None if shape is None else (None, *shape)))
    return (*carried, *rows)


def known_trips(node: Node) -> int | None:
    """Return the number of a while node's iterations, if it counts by a fixed step from one known number to another."""
    test, body, n_carried = (node.attrs[key] for key in ("cond_graph", "body_graph", "n_carried"))
    compared = _itself(test.outputs[0]).node
    if compared.op.name not in ("less", "greater") or compared.inputs[0] not in test.inputs[:n_carried]:
        return None
    k = test.inputs.index(compared.inputs[0])
    moved = _itself(body.outputs[k]).node
    if moved.op.name not in ("add", "subtract") or moved.inputs[0] is not body.inputs[k]:
        return None
    end = compared.inputs[1]
    if end in test.parameters:
        place = test.parameters.index(end)
        end = node.inputs[place] if place >= n_carried else end
    numbers = [value.aval.value for value in (node.inputs[k], end, moved.inputs[1])]
    known = [int(n.reshape(())) for n in numbers if n is not None and n.size == 1 and n.dtype.kind in "iu"]
    if len(known) != len(numbers):
        return None
    first, last, step = known
    step = -step if moved.op.name == "subtract" else step
    if step == 0 or (step > 0) is not (compared.op.name == "less"):
        return None
    return len(range(first, last, step))


def _itself(value: Value) -> Value:
    while value.node.op.name == "identity":
        value = value.node.inputs[0]
    return value


def _run_recursive(*operands: object, callee: Callable[..., Any], specs: object, effects: object) -> tuple[Any, ...]:
    tensors = [from_array(x, None, x.dtype == object) if isinstance(x, np.ndarray) else x for x in operands]
    return tuple(callee(tensors))


# Backward functions of custom gradients: Python callables are no attributes, their keys are. They live as long as the
# process, like the graphs that name them.
_backward_functions: dict[str, Callable[..., Any]] = {}


def register_backward(function: Callable[..., Any]) -> str:
    """Keep `function(*dys) -> list of one gradient (or None) per input` and return the key that names it."""
    key = f"CustomGradient-{len(_backward_functions)}"
    _backward_functions[key] = function
    return key


def backward_function(key: str) -> Callable[..., Any]:
    """The backward function that `register_backward` gave this key."""
    return _backward_functions[key]


def _first(*values: Any, n_outputs: int, key: str) -> tuple[Any, ...]:
    return values[:n_outputs]


def _custom_vjp(dys: list[Any], outs: list[Any], n_outputs: int, key: str) -> dict[str, list[Any]]:
    zeros_like = get_slot("zeros_like")
    filled = [
        zeros_like(out) if dy is None and (out.dtype.is_floating or out.dtype.is_complex) else dy
        for dy, out in zip(dys, outs, strict=True)
    ]
    grads = _backward_functions[key](*filled)
    return {"values": [*[None] * n_outputs, *grads]}


# The rules of call, cond and while need tracing, which lies above: control_flow and differentiate fill them in.
rules: dict[str, Callable[..., Any]] = {}


def _call_vjp(needs: tuple[bool, ...], dys: list[Any], operands: list[Any], outs: list[Any], graph: Graph) -> Any:
    return rules["call"](needs, dys, operands, outs)


def _cond_vjp(needs: tuple[bool, ...], dys: list[Any], pred: Tensor, operands: list[Any], outs: list[Any]) -> Any:
    return rules["cond"](needs, dys, pred, operands, outs)


def _recursive_vjp(
    needs: tuple[bool, ...],
    dys: list[Any],
    operands: list[Any],
    outs: list[Any],
    callee: str,
    specs: object,
    effects: object,
) -> Any:
    return rules["recursive_call"](needs, dys, operands, outs, {"callee": callee, "effects": effects})


def _while_vjp(needs: tuple[bool, ...], dys: list[Any], operands: list[Any], outs: list[Any]) -> Any:
    return rules["while"](needs, dys, operands, outs)


_Function = Callable[..., Any]


def _of_any_number(
    name: str,
    op_type: str,
    inputs: str,
    infer: _Function,
    attrs: str,
    vjp: _Function,
    body: _Function = _no_body,
    step: str | None = None,
) -> Primitive:
    """Register a primitive that takes and gives any number of tensors as they are. inputs, attrs: names, as words."""
    names = tuple(inputs.split())
    stated = Primitive(
        name,
        op_type=op_type,
        body=body,
        infer=infer,
        n_outputs=None,
        inputs=names,
        groups=("-",) * len(names),
        attrs=tuple(attrs.split()),
        vjp_all=vjp,
        step=step,
    )
    return register(stated)


PLACEHOLDER = register(
    Primitive(
        "placeholder",
        op_type="Placeholder",
        body=_no_body,
        infer=_infer_placeholder,
        inputs=(),
        attrs=("dtype", "shape", "name"),
    )
)
CONST = register(
    Primitive(
        "const", op_type="Const", body=lambda *, value: value.numpy(), infer=_infer_const, inputs=(), attrs=("value",)
    )
)
#: Nothing: what others wait for, and what waits for others.
register(
    Primitive("no_op", op_type="NoOp", body=lambda: (), infer=lambda: (), inputs=(), groups=(), attrs=(), n_outputs=0)
)
CALL = _of_any_number("call", "PartitionedCall", "*operands", _infer_call, "graph", _call_vjp, step="call")
#: `indexed`: whether it stands for one of the numbers of a switch_case.
COND = _of_any_number(
    "cond", "If", "pred *operands", _infer_cond, "then_graph else_graph indexed", _cond_vjp, step="cond"
)
WHILE = _of_any_number(
    "while", "While", "*operands", _infer_while, "cond_graph body_graph n_carried joined", _while_vjp, step="while"
)
#: A call of a graph that is named, not held: by itself, or by one that it calls. `effects` says what it does besides
#: computing, by the positions of its operands; the rest is in `recursion`.
RECURSIVE_CALL = _of_any_number(
    "recursive_call",
    "PartitionedCall",
    "*operands",
    lambda *operands, callee, specs, effects: tuple([Aval(dtype, shape) for dtype, shape in specs]),
    "callee specs effects",
    _recursive_vjp,
    _run_recursive,
    step="recursive_call",
)
CUSTOM = _of_any_number(
    "custom_gradient_identity", "IdentityN", "*values", _first, "n_outputs key", _custom_vjp, _first
)
