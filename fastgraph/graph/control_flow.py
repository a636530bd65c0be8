"""cond, while_loop, case, switch_case: in a trace one op each, with the branches and bodies as subgraphs.

Rule: a subgraph is closed: what it uses from outside is an operand of its op. In eager mode they are Python's `if` and
`while`. Source: tf.cond, tf.while_loop, tf.case, tf.switch_case.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fastgraph.composites.symbolic_tensor_array import unify_all
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import Aval
from fastgraph.core.base.type_specs import TypeSpec, not_both, of_both
from fastgraph.core.conversion import TensorLike
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.op_errors import message_name
from fastgraph.core.registry import get, public_function
from fastgraph.core.tape.indexed_slices import IndexedSlices
from fastgraph.core.tensor import Tensor, bind, class_has, convert, current_trace
from fastgraph.graph import control_flow_gradients as control_flow_gradients  # fills in the gradients of cond and while
from fastgraph.graph.differentiate import entering
from fastgraph.graph.ir import OperationView
from fastgraph.graph.recursive_calls import Unknown
from fastgraph.graph.shape_invariants import check_invariants, declared_shapes, next_values
from fastgraph.graph.subgraphs import as_tensor, converted, make_cond, make_while, packed, subgraph_name, traced
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graph.trace import GraphTrace, reserved
from fastgraph.ops.arguments import known_value
from fastgraph.ops.families import invalid

# ---- cond -----------------------------------------------------------------------------------------------------------


def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: str | None = None) -> Any:
    """Return true_fn() if the scalar `pred` is true, else false_fn().

    Args:
        pred: A bool scalar.
        true_fn: A function without arguments.
        false_fn: Another. In a trace both are traced and must give the same structure and dtypes.

    Raises:
        TypeError: They do not, one cannot be called, or pred is a Python bool in a trace.

    Examples:
        >>> @tf.function
        ... def safe_inverse(x):
        ...     return tf.cond(tf.equal(x, 0.0), lambda: 0.0, lambda: 1.0 / x)
        >>> float(safe_inverse(tf.constant(4.0))), float(safe_inverse(tf.constant(0.0)))
        (0.25, 0.0)

    Source: tf.cond.
    """
    for function, what in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(function):
            raise TypeError(f"'{what}' must be callable.")
    trace = current_trace()
    if trace is None:
        return true_fn() if _holds(pred) else false_fn()
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool", pred)
    pred = _predicate(convert(pred))
    scope = reserved(trace, name or "cond")
    return _branching(pred, (true_fn, false_fn), scope, ("true", "false"))


def smart_cond(
    pred: TensorLike, true_fn: Callable[..., Any], false_fn: Callable[..., Any], name: str | None = None
) -> Any:
    """Return what `cond` gives; where `pred` is known already, only the function that it names is called.

    Raises TypeError if a function is not callable. Source: tf.__internal__.smart_cond.smart_cond.
    """
    for function, what in ((true_fn, "true_fn"), (false_fn, "false_fn")):
        if not callable(function):
            raise TypeError(f"Argument `{what}` must be callable.")
    known = known_value(pred) if isinstance(pred, Tensor) else None if class_has(pred, "__fg_tensor__") else pred
    if known is None:
        return cond(pred, true_fn, false_fn, name=name)
    return true_fn() if known else false_fn()


def _branching(
    pred: Tensor, functions: tuple[Any, Any], scope: str, names: tuple[str, str], *, index: TensorLike | None = None
) -> Any:
    """Trace the two functions as the branches of a node of this name, and return its result.

    `index` is the number that decides, of a switch_case.
    """
    trace = current_trace()
    functions = tuple([_without_operations(each, pred if index is None else index) for each in functions])
    value = known_value(pred)
    skipped = (False, False) if value is None else (not value, bool(value))
    known = functions[1]  # the function that is left where the other calls what is being traced
    try:
        branches = [traced(trace, functions[0], [], subgraph_name(f"{scope}_{names[0]}"), scope, skipped[0])]
        known = functions[0]
        branches.append(traced(trace, functions[1], [], subgraph_name(f"{scope}_{names[1]}"), scope, skipped[1]))
    except Unknown as unknown:
        unknown.left_out()
        return converted(known())
    branches = _with_like_nothing(_with_like_indices(branches))
    (then_trace, then_result), (else_trace, else_result) = branches
    _check_branches(branches)
    outputs = make_cond(then_trace, else_trace, pred, name=scope, indexed=_is_index(index))
    return packed(of_both(then_result, else_result), outputs)


def _is_index(index: Any) -> bool:
    return index is not None and index.dtype == dtypes.int32  # as TensorFlow's operation for it has it


def _without_operations(function: Callable[..., Any], decides: object) -> Any:
    """Return the function with, as in TensorFlow, the tensor that decides for an Operation among its results."""

    def branch() -> Any:
        result = function()
        if not any(isinstance(leaf, OperationView) for leaf in nesting.flatten(result)):
            return result
        return nesting.map_structure(lambda leaf: decides if isinstance(leaf, OperationView) else leaf, result)

    return branch


def _holds(pred: TensorLike) -> bool:
    """Say whether an eager predicate is true: as the tensor that it is, never as the Python object."""
    return pred if isinstance(pred, bool) else bool(convert(pred))


def _predicate(pred: Tensor) -> Any:
    """Return the predicate if it is a bool scalar. Raises InvalidArgumentError or ValueError as TensorFlow would."""
    if pred.dtype != dtypes.bool_:
        raise invalid(f"Input 'pred' passed {message_name(pred.dtype)} expected bool: compare it first ({pred!r})")
    if pred.shape.rank not in (None, 0) and pred.shape.num_elements() != 1:
        raise ValueError(f"pred must be a scalar, and {pred!r} has shape {pred.shape}")
    return pred


def _with_like_indices(branches: list[tuple[GraphTrace, Any]]) -> list[tuple[GraphTrace, Any]]:
    """Return the branches with int64 indices of IndexedSlices where one has those and the other int32."""
    pairs = list(zip(*[nesting.flatten(result) for _, result in branches], strict=False))
    wide = [
        isinstance(a, IndexedSlices) and isinstance(b, IndexedSlices) and a.indices.dtype != b.indices.dtype
        for a, b in pairs
    ]
    return [(trace, _widened(trace, result, wide)) for trace, result in branches] if any(wide) else branches


def _with_like_nothing(branches: list[tuple[GraphTrace, Any]]) -> list[tuple[GraphTrace, Any]]:
    """Return the branches with what holds nothing, of any kind, as nothing of the kind that the other one gives."""
    pairs = list(zip(*[nesting.flatten(result) for _, result in branches], strict=False))
    if not any(_is_open(a) != _is_open(b) for a, b in pairs):
        return branches
    specs = [(b if _is_open(a) else a)._type_spec if _is_open(a) != _is_open(b) else None for a, b in pairs]
    return [(trace, _closed(trace, result, specs)) for trace, result in branches]


def _closed(trace: GraphTrace, result: Any, specs: list[Any]) -> Any:
    """Let open leaves of a branch's result be of these types, and give what stands for nothing out of its graph."""
    leaves = nesting.flatten(result)
    place = 0
    with entering(trace):
        for i, leaf in enumerate(leaves):
            if i < len(specs) and specs[i] is not None and _is_open(leaf):
                said, *_ = specs[i]._to_components(leaf)
                specs[i]._close(leaf)
                nothing = specs[i]._to_components(leaf)[1:]
                trace.graph.outputs[place + 1 : place + 1] = [trace.identity(part) for part in nothing]
                leaf = leaves[i] = specs[i]._from_components((said, *nothing))
            place += len([part for part in nesting.flatten(leaf, expand_composites=True) if part is not None])
    return nesting.pack_sequence_as(result, leaves)


def _widened(trace: GraphTrace, result: Any, wide: list[bool]) -> Any:
    """Make the indices of these leaves of a branch's result int64, among the outputs of its graph as well."""
    leaves = nesting.flatten(result)
    place = 0
    with entering(trace):
        for i, leaf in enumerate(leaves):
            parts = [part for part in nesting.flatten(leaf, expand_composites=True) if part is not None]
            if i < len(wide) and wide[i] and leaf.indices.dtype != dtypes.int64:
                at = place + next(k for k, part in enumerate(parts) if part is leaf.indices)
                indices = bind_cast(trace.tensor(trace.graph.outputs[at]), dtypes.int64)
                trace.graph.outputs[at] = trace.identity(indices)
                leaves[i] = IndexedSlices(leaf.values, indices, leaf.dense_shape)
            place += len(parts)
    return nesting.pack_sequence_as(result, leaves)


def _check_branches(branches: list[tuple[GraphTrace, Any]]) -> None:
    """Raise TypeError (ValueError for None on one side) unless the branches give the same structure and dtypes."""
    (then_trace, then_result), (else_trace, else_result) = branches
    n_then, n_else = len(then_trace.graph.outputs), len(else_trace.graph.outputs)

    def mismatch(details: str) -> TypeError:
        return TypeError(
            "true_fn and false_fn arguments to tf.cond must have the same number, type, and overall structure of "
            f"return values.\ntrue_fn output: {then_result}\nfalse_fn output: {else_result}\nError details:\n{details}"
        )

    if n_then != n_else and 0 in (n_then, n_else):
        raise ValueError(
            f"Lengths of branch outputs of cond must match.\nlen(graphs[0].outputs): {n_then}\n"
            f"len(graphs[1].outputs): {n_else}"
        )
    try:
        nesting.assert_same_structure(then_result, else_result, expand_composites=True)
    except (TypeError, ValueError) as error:
        raise mismatch(str(error)) from None
    unify_all(then_result, else_result)
    flat = zip(
        nesting.flatten(then_result, expand_composites=True),
        nesting.flatten(else_result, expand_composites=True),
        strict=True,
    )
    for a, b in flat:
        if (a is None) != (b is None):
            raise mismatch(f"{a} and {b}: one branch gives None")
        if a is not None and a.dtype != b.dtype:
            raise mismatch(f"{a} and {b} have different types")


# ---- case -----------------------------------------------------------------------------------------------------------


def case(
    pred_fn_pairs: Mapping[Any, Callable[[], Any]] | Iterable[Any],
    default: Callable[[], Any] | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """Return the result of the function beside the first true predicate, else of `default`.

    `exclusive` demands that at most one predicate is true. Raises InvalidArgumentError, in a graph when it runs, if no
    predicate is true and there is no default. Eagerly, without `strict`, a list or tuple of one thing is that thing:
    once for each predicate that was asked. Source: tf.case.
    """
    pairs = list(pred_fn_pairs.items()) if isinstance(pred_fn_pairs, dict) else list(pred_fn_pairs)
    if not pairs and default is None:
        raise ValueError("case needs at least one pair or a default")
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(f"Each entry in pred_fn_pairs must be a 2-tuple. Received {pair}.")
        if not callable(pair[1]):
            raise TypeError(f"fn for pred {pair[0]} must be callable.")
    if default is not None and not callable(default):
        raise TypeError("Argument `default` must be callable.")
    if exclusive and len(pairs) > 1:
        names = ", ".join(pred.name if isinstance(pred, SymbolicTensor) else "?" for pred, _ in pairs)
        _demand(
            [pred for pred, _ in pairs],
            f"Input error: exclusive=True: more than 1 conditions ({names}) evaluated as True:",
            exclusive=True,
        )
    if default is None:
        _demand([pred for pred, _ in pairs], "Input error: None of conditions evaluated as True:")
    if current_trace() is None:
        asked = pairs if default is not None else pairs[:-1]
        chosen = next((i for i, (pred, _) in enumerate(asked) if _holds(pred)), None)
        result = (asked[chosen][1] if chosen is not None else default or pairs[-1][1])()
        for _ in asked if chosen is None else asked[: chosen + 1]:
            if not strict and isinstance(result, (list, tuple)) and len(result) == 1:
                result = result[0]
        return result
    if default is None:
        default = pairs[-1][1]
        pairs = pairs[:-1]
    function = default
    for pred, action in reversed(pairs):
        function = functools.partial(_either, pred, action, function)
    return function()


def _demand(preds: list[Any], text: str, *, exclusive: bool = False) -> None:
    """Stop unless one of the predicates holds or, if `exclusive`, at most one. In a graph, when it runs."""
    flags = public_function("stack")([_predicate(convert(pred)) for pred in preds])
    if exclusive:
        holds = public_function("reduce_sum")(bind_cast(flags, dtypes.int32)) < 2
    else:
        holds = public_function("reduce_any")(flags)
    public_function("debugging.Assert")(holds, [text, flags], summarize=len(preds))


def _either(pred: Tensor, action: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    if isinstance(pred, bool):
        return action() if pred else otherwise()
    return cond(pred, action, otherwise)


def switch_case(
    branch_index: TensorLike,
    branch_fns: Mapping[int, Callable[[], Any]] | Sequence[Any],
    default: Callable[..., Any] | None = None,
    name: str = "switch_case",
) -> Any:
    """Return the result of the function at `branch_index`; of `default`, or the last one, if there is none.

    `branch_fns` is a list of functions, a dict or list of pairs from int to function. Raises ValueError unless these
    ints are 0, 1, 2, ..., TypeError for an index that is no integer. Source: tf.switch_case.
    """
    if isinstance(branch_fns, dict) or (branch_fns and isinstance(branch_fns[0], tuple)):
        pairs = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    else:
        pairs = list(enumerate(branch_fns))
    if not pairs:
        raise ValueError("Must provide at least one item in 'branch_fns'")
    for key, function in pairs:
        if not isinstance(key, int):
            raise TypeError(f"key must be a Python `int`, got {key!r}")
        if not callable(function):
            raise TypeError(f"fn for key {key} must be callable.")
    numbers = sorted(key for key, _ in pairs)
    if numbers != list(range(len(pairs))):
        found = ",".join(map(str, numbers))
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found {{{found}}}"
        )
    branches: dict[int, Any] = dict(sorted(pairs))
    otherwise = default if default is not None else branches[max(branches)]
    index = convert(branch_index)
    if not index.dtype.is_integer:
        raise TypeError(f"'branch_index' must be an integer Tensor, got {index.dtype!r}")
    if current_trace() is None:
        return branches.get(int(index.numpy()), otherwise)()
    functions = list(branches.values()) + ([] if default is None else [default])
    with name_scope(name):
        return indexed_case(index, functions)


def indexed_case(index: Any, functions: Sequence[Callable[[], Any]], name: str = "indexed_case") -> Any:
    """Return in a trace the result of the function at `index`, of the last one if there is none."""
    trace: Any = current_trace()
    return _numbered(index, functions, reserved(trace, name), 0)


def _numbered(index: Tensor, functions: Sequence[Callable[[], Any]], scope: str, k: int) -> Any:
    """The function at `index` of those from the k-th on: a branch, with the rest in the other one."""
    if k == len(functions) - 1:
        return functions[k]()
    trace: Any = current_trace()
    with name_scope(f"{scope}/"):
        pred = index == k
    if _is_index(index):
        trace.graph.implied.add(pred.value.node)  # not written: the operation compares
    rest = functools.partial(_numbered, index, functions, scope, k + 1)
    return _branching(pred, (functions[k], rest), scope, (f"branch{k}", f"branch{k + 1}"), index=index)


# ---- while_loop -----------------------------------------------------------------------------------------------------


def while_loop(
    cond: Callable[..., Any],
    body: Callable[..., Any],
    loop_vars: object,
    shape_invariants: object = None,
    parallel_iterations: int = 10,
    back_prop: bool = True,
    swap_memory: bool = False,
    maximum_iterations: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Return `loop_vars` after `body` has been applied to them as long as `cond` of them is true.

    Args:
        cond: A function of the loop variables that gives a bool scalar.
        body: A function of the loop variables that gives their next values, in the same structure.
        loop_vars: A tuple or list of tensors or structures of them. In a trace they keep their dtypes and shapes.
        shape_invariants: What the shapes keep to instead: TensorShapes in the structure of loop_vars.
        parallel_iterations, swap_memory: Taken; they change no result here.
        back_prop: Whether, in a trace, gradients go through the loop.
        maximum_iterations: A bound on the iterations, an integer scalar.

    Raises:
        TypeError: A dtype or the structure changes, or cond or body cannot be called.
        ValueError: A shape changes that must not.

    Examples:
        >>> tf.while_loop(lambda i, total: i < 5, lambda i, total: (i + 1, total + i), (0, 0))
        (<tf.Tensor: shape=(), dtype=int32, numpy=5>, <tf.Tensor: shape=(), dtype=int32, numpy=10>)
        >>> grown = tf.while_loop(
        ...     lambda x: tf.size(x) < 8,
        ...     lambda x: (tf.concat([x, x], 0),),
        ...     (tf.constant([1, 2, 3]),),
        ...     shape_invariants=(tf.TensorShape([None]),),
        ... )
        >>> grown[0].shape
        TensorShape([12])

    Source: tf.while_loop.
    """
    if not callable(cond):
        raise TypeError("'cond' must be callable.")
    if not callable(body):
        raise TypeError("'body' must be callable.")
    if not isinstance(loop_vars, list | tuple):
        raise TypeError(f"loop_vars must be a list or tuple of loop variables, not {loop_vars!r}")
    if not loop_vars:
        raise ValueError("'loop_vars' must be provided.")
    trace = current_trace()
    if trace is None:
        return _eager_while(cond, body, loop_vars, maximum_iterations)
    start = converted(loop_vars)
    if any(map(_is_open, nesting.flatten(start))):
        _close(start, _traced_once(trace, body, start))
    flat = nesting.flatten(start, expand_composites=True)
    model, declared = declared_shapes(start, flat, loop_vars, shape_invariants)
    if maximum_iterations is not None:
        flat = [convert(0, dtypes.int64), *flat]
        declared = [(), *declared]
        limit = bind_cast(convert(maximum_iterations), dtypes.int64)
    else:
        limit = None
    counted = limit is not None

    def unpack(tensors: Sequence[Any]) -> Any:
        return nesting.pack_sequence_as(model, list(tensors[counted:]), expand_composites=True)

    def test(*tensors: object) -> Any:
        goes_on = cond(*unpack(tensors))
        if isinstance(goes_on, bool) and limit is None:
            return convert(goes_on)
        goes_on = _predicate(convert(goes_on))
        return bind(get("logical_and"), (tensors[0] < limit, goes_on), {}) if counted else goes_on

    def step(*tensors: Tensor) -> Any:
        result = body(*unpack(tensors))
        if not isinstance(result, list | tuple):
            result = [result]
        values = next_values(list(result), list(start), tensors, counted)
        excluded = not_both(list(model), list(result))
        if excluded:
            raise ValueError(f"Shapes {excluded[1]} and {excluded[0]} are not compatible")
        wider[:] = of_both(list(model), list(result))
        return values

    scope = reserved(trace, name or "while")
    own = [(Aval(t.dtype, shape), "Placeholder") for t, shape in zip(flat, declared, strict=True)]
    wider: list[Any] = []
    while True:
        test_trace, _ = traced(trace, test, own, subgraph_name(f"{scope}_cond"), scope)
        try:
            body_trace, _ = traced(trace, step, own, subgraph_name(f"{scope}_body"), scope)
        except Unknown as unknown:  # what is known is the loop that has no iteration
            unknown.left_out()
            return start
        if all(map(operator.is_, nesting.flatten(wider), nesting.flatten(list(model)))):
            break
        model = nesting.pack_sequence_as(model, nesting.flatten(wider))  # less is known of a composite's shape
    check_invariants(flat, own, body_trace.graph.outputs)
    outputs = make_while(test_trace, body_trace, flat, name=scope)[counted:]
    if not back_prop:
        outputs = tuple([bind(get("stop_gradient"), (output,), {}) for output in outputs])
    return packed(model, outputs)


def _is_open(leaf: object) -> bool:
    """Say whether a loop variable is of a kind that the body decides, as `Optional.empty(None)` is."""
    spec = getattr(leaf, "_type_spec", None)
    return isinstance(spec, TypeSpec) and spec._is_open


def _traced_once(trace: GraphTrace, body: Callable[..., Any], start: Any) -> Any:
    """Return what the body gives for loop variables like these, traced to no other end."""
    flat = nesting.flatten(start, expand_composites=True)

    def step(*tensors: Tensor) -> Any:
        return body(*nesting.pack_sequence_as(start, list(tensors), expand_composites=True))

    own = [(Aval(tensor.dtype, tensor.aval.shape), "Placeholder") for tensor in flat]
    return traced(trace, step, own, subgraph_name("while_body"))[1]


def _close(loop_vars: Any, result: Any) -> None:
    """Let the open ones among the loop variables be of the kind that the body has put in their place."""
    results = list(result) if isinstance(result, list | tuple) else [result]
    for leaf, value in zip(nesting.flatten(list(loop_vars)), nesting.flatten(results), strict=False):
        if _is_open(leaf) and not _is_open(value):
            value._type_spec._close(leaf)


def bind_cast(tensor: Tensor, dtype: DType) -> Any:
    """Return the tensor with another dtype."""
    return tensor if tensor.dtype == dtype else bind(get("cast"), (tensor,), {"dtype": dtype})


def _eager_while(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, maximum_iterations: Any) -> Any:
    kind = list if isinstance(loop_vars, list) else tuple
    limit = None if maximum_iterations is None else int(maximum_iterations)
    count = 0
    closes = any(map(_is_open, nesting.flatten(list(loop_vars))))
    while cond(*loop_vars) and (limit is None or count < limit):
        result = body(*loop_vars)
        if not isinstance(result, list | tuple):
            result = [result]
        if closes:
            _close(loop_vars, result)
        nesting.assert_same_structure(list(result), list(loop_vars), check_types=False, expand_composites=True)
        loop_vars = result if hasattr(result, "_fields") else kind(result)
        count += 1
    return nesting.map_structure(as_tensor, loop_vars)
