"""debugging.enable_check_numerics: the first op that gives NaN or an infinity is named, and where it was written.

Rule: on each thread for itself, for the ops that run, and for the graphs that are traced, between enabling and
disabling; a graph keeps its checks.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph._tape import OpListener, user_place
from fastgraph.core.base.shapes import Aval
from fastgraph.core.primitive import Primitive
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, Tensor, bind, current_state
from fastgraph.ops.families import Array, Node, invalid, misuse, movement, public
from fastgraph.ops.runtime_assertions import lower_numerics

_KEY = "check_numerics"
_LISTENER = "check_numerics_listener"
#: Ops that only pass on what was there before, or hold subgraphs whose ops are looked at themselves.
_PASSED_ON = frozenset(
    [
        "concat",
        "expand_dims",
        "fill",
        "fill_dynamic",
        "gather",
        "maximum",
        "minimum",
        "reshape",
        "slice",
        "slice_dynamic",
        "squeeze",
        "stack",
        "strided_slice",
        "strided_slice_grad",
        "transpose",
        "unstack",
        "identity",
        "list_begin",
        "list_get",
        "list_set",
        "list_grow",
        "list_push",
        "list_push_begin",
        "list_extend",
        "list_trim",
        "list_reserve",
        "list_blank",
        "call",
        "cond",
        "while",
        "custom_gradient_identity",
        "placeholder",
        "check_numerics",
        "check_numerics_v2",
        "stop_gradient",
        "eager_py_func",
        "py_func",
    ]
)


def _found(array: Array) -> str:
    """Name the infinities and NaN there are, in words; "" if there is nothing."""
    kinds = [
        word
        for word, mask in (("-Inf", np.isneginf(array)), ("+Inf", np.isposinf(array)), ("NaN", np.isnan(array)))
        if mask.any()
    ]
    return ", ".join(kinds[:-1]) + " and " + kinds[-1] if len(kinds) > 1 else "".join(kinds)


@movement(
    infer=lambda tensor, *, message: Aval(tensor.dtype, tensor.shape),
    dtypes="bfloat16 float16 float32 float64",
    lower=lower_numerics,
    vjp=dict(tensor=lambda dy, message: check_numerics_v2(dy, message=message)),
    samples=lambda: [((np.array([1.0, 2.0], t),), {"message": "m"}) for t in ("float32", "float64", "float16")],
    error_samples=lambda: [
        misuse("m : Tensor had NaN values", np.array([1.0, np.nan]), message="m"),
        misuse(r"m : Tensor had \+Inf and NaN values", np.array([np.inf, np.nan]), message="m"),
        misuse("m : Tensor had -Inf values", np.array([-np.inf]), message="m"),
    ],
)
def check_numerics_v2(tensor: Array, *, message: str) -> Any:
    """The tensor itself, if all of it is finite. f[*s] -> f[*s]."""
    found = _found(tensor)
    if found:
        raise invalid(f"{message} : Tensor had {found} values")
    return tensor


def _headline(what: str, op: str, k: int, n: int) -> str:
    return f'\n\n!!! Detected Infinity or NaN in output {k} of {what} "{op}" (# of outputs: {n}) !!!'


def _inputs_text(inputs: Sequence[Any]) -> str:
    if len(inputs) == 1:
        return f"  Input tensor: {inputs[0]!s}\n"
    return f"  Input tensors ({len(inputs)}):\n" + "".join(f"         {i}: {x!s}\n" for i, x in enumerate(inputs))


def _eager(primitive: Primitive, inputs: list[Any], outputs: list[Any]) -> None:
    """Look at what an op gave that ran just now."""
    if primitive.name in _PASSED_ON:
        return
    for k, tensor in enumerate(outputs):
        if not isinstance(tensor, EagerTensor) or not tensor.dtype.is_floating:
            continue
        array = np.asarray(tensor)
        if np.isfinite(array).all():
            continue
        masks = {"-Inf": np.isneginf(array), "+Inf": np.isposinf(array), "NaN": np.isnan(array)}
        counts = "".join(f"  # of {word} elements: {int(m.sum())}\n" for word, m in masks.items() if m.any())
        raise invalid(
            f"{_headline('eagerly-executing op', primitive.op_type, k, len(outputs))}\n"
            f"  dtype: {tensor.dtype!r}\n  shape: {tensor.shape}\n{counts}\n{_inputs_text(inputs)}\n"
            f"  Where the op was called: {user_place()}\n"
            f" : Tensor had {_found(array)} values [Op:CheckNumericsV2] name: "
        )


def _traced(trace: Any, node: Node) -> Any:
    """The results of a node that was just made, checked where they are floats."""
    results = trace.results(node)
    if node.op.name in _PASSED_ON or node.op.effect == "read":
        return results
    many = isinstance(results, tuple)
    made = [_checked(trace, node, k, tensor) for k, tensor in enumerate(results if many else (results,))]
    return tuple(made) if many else made[0]


def _checked(trace: Any, node: Node, k: int, tensor: Tensor) -> Any:
    if not tensor.dtype.is_floating:
        return tensor
    inputs = [trace.tensor(value) for value in node.inputs]
    lines = "".join(
        f"    | {line.file}, line {line.line}, in {line.function}\n    |   "
        f"{linecache.getline(line.file, line.line).strip()}\n"
        for line in reversed(node.source)
    )
    message = (
        f"{_headline('graph op', node.op.op_type, k, len(node.outputs))}\n"
        f"  dtype: {tensor.dtype!r}\n  shape: {tensor.shape}\n\n{_inputs_text(inputs) if inputs else ''}"
        f'  Graph name: "{trace.graph.name}"\n\n  Where the op was made (most recent call last):\n{lines}\n'
    )
    scope = current_state().extra.get("name_scope", "")  # which the name of a node made now begins with anyway
    trace.node_name = f"{node.name.removeprefix(scope)}/CheckNumericsV2"
    return bind(get("check_numerics_v2"), (tensor,), {"message": message})


@public("debugging.enable_check_numerics")
def enable_check_numerics(stack_height_limit: int = 30, path_length_limit: int = 50) -> None:
    """Raise an error that names the op and the line as soon as an op of this thread gives NaN or an infinity.

    It is so for ops that run from now on, and for graphs traced from now on, until `disable_check_numerics`; ops that
    only move elements are passed over. The limits change nothing: the lines of the user's program are shown.
    Raises: InvalidArgumentError, later, by the op. Source: tf.debugging.enable_check_numerics.
    """
    state = current_state()
    if _KEY not in state.extra:
        told: Callable[..., None] = _eager
        listener = OpListener(told)
        listener.start()
        state.extra[_KEY], state.extra[_LISTENER] = _traced, listener


@public("debugging.disable_check_numerics")
def disable_check_numerics() -> None:
    """Undo `enable_check_numerics` on this thread; graphs keep the checks that they were traced with.

    Source: tf.debugging.disable_check_numerics.
    """
    state = current_state()
    if state.extra.pop(_KEY, None) is not None:
        state.extra.pop(_LISTENER).stop()
