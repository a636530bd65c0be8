"""Gradients that a function states itself: custom_gradient, grad_pass_through, recompute_grad.

Rule: the function's own ops are no way back: what it returns goes through one record whose gradient is what it states.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import types
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar, overload

from fastgraph._tape import VariableWatcher, record_operation, stop_recording, watch_accessed
from fastgraph.core import registry as primitives
from fastgraph.core.base import nesting
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tape.gradient_tape import GradientTape, is_trainable, is_variable
from fastgraph.core.tensor import Tensor, class_has, convert, current_trace
from fastgraph.ops.elementwise import apart
from fastgraph.ops.random_replay import Replay

P = ParamSpec("P")
R = TypeVar("R")


@overload
def custom_gradient(f: Callable[P, tuple[R, Callable[..., Any]]]) -> Callable[P, R]: ...
@overload
def custom_gradient(f: None = None) -> Callable[[Callable[P, tuple[R, Callable[..., Any]]]], Callable[P, R]]: ...
def custom_gradient(f: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """Decorate a function that returns (its result, grad_fn) so that gradients through it are grad_fn's.

    grad_fn(*dys) takes one cotangent for each tensor of the result, of its shape and dtype, and gives one gradient (or
    None) for each positional argument, of the argument's shape, as a list, tuple or single tensor. Keyword arguments
    (eager mode only) get none. Where `f` reads trainable Variables that are not its arguments it is called as
    grad_fn(*dys, variables=[...]) and gives (gradients of the arguments, list of gradients of those Variables). It is
    made of ops, so that it is differentiated again for higher order, and in forward mode.
    Raises TypeError where `f` gives no pair, or grad_fn takes no `variables` and must; ValueError where grad_fn gives
    another number of gradients, or in a Function for keyword arguments. Source: tf.custom_gradient.
    """
    if f is None:
        return custom_gradient
    if not callable(f):
        raise TypeError(f"custom_gradient decorates a function, got {f!r}")

    return _Stated(f)


class _Stated:
    """A function with a gradient of its own; as a method it is bound first: the object is no argument."""

    def __init__(self, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self._stated = f  # `__wrapped__` may become another one

    @property
    def __fg_decorator__(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return, for AutoGraph, which converts what is decorated: (the decorator, that function)."""
        return custom_gradient, self._stated

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _apply_custom(self._stated, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> _Stated:
        return self if instance is None else _Stated(types.MethodType(self._stated, instance))


def _apply_custom(f: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `f`, and let the tapes take its grad_fn for the gradient of what it returned."""
    if current_trace() is not None and kwargs:
        raise ValueError(
            "The custom_gradient decorator currently supports keywords arguments only when eager execution is enabled."
        )
    name = getattr(f, "__name__", type(f).__name__)
    if current_trace() is not None:  # Variables that are given are read now: what `f` reads then is of its own
        args = nesting.map_structure(_read, args)
    with VariableWatcher() as watcher:
        returned = f(*args, **kwargs)
    if not isinstance(returned, (tuple, list)) or len(returned) != 2 or not callable(returned[1]):
        raise TypeError(
            f"A function decorated with custom_gradient must return a pair (result, grad_fn), but {name} returned "
            f"{returned!r}"
        )
    result, grad_fn = returned
    given_args = nesting.flatten(args)
    flat_args = [part for given in given_args for part in _parts(given)]
    flat_inputs = flat_args + nesting.flatten(kwargs)
    variables = [v for v in watcher.variables if all(v is not given for given in flat_inputs)]
    if variables and not _takes_variables(grad_fn):
        raise TypeError(
            "@tf.custom_gradient grad_fn must accept keyword argument 'variables', since function uses variables: "
            f"{variables}"
        )
    n_args, results = len(given_args), nesting.flatten(result)

    def backward(*dys: Any) -> list[Any]:
        """grad_fn's gradients as one flat list: of the arguments, then of the Variables."""
        of_variables: list[Any] = []
        left = iter(dys)
        dys = tuple([_with_parts(made, [next(left) for _ in _parts(made)]) for made in results])
        if variables:
            of_args, of_variables = grad_fn(*dys, variables=variables)
            of_variables = list(of_variables)
            if len(of_variables) != len(variables):
                raise ValueError("Must return gradient for each variable from @custom_gradient grad_fn.")
        else:
            of_args = grad_fn(*dys)
        flat = nesting.flatten(of_args)
        if len(flat) != n_args:
            raise ValueError(
                f"custom_gradient function expected to return {n_args} gradients, but returned {len(flat)} instead."
            )
        of_parts = [part for gradient, given in zip(flat, given_args, strict=True) for part in _of(gradient, given)]
        return of_parts + of_variables

    backward.refusal = getattr(grad_fn, "refusal", None)  # type: ignore[attr-defined]
    inputs = flat_args + variables
    trace = current_trace()
    results = [made if is_composite(made) else convert(made) for made in results]
    flat_result = [part for made in results for part in _parts(made)]
    if trace is not None:
        known = [given if isinstance(given, Tensor) or is_variable(given) else convert(given) for given in inputs]
        flat_result = list(trace.custom_gradient(flat_result, known, backward))
    else:
        identity = primitives.public_function("identity")
        with stop_recording():  # a tensor of its own, so that what `f` did to compute it is no way back
            flat_result = [identity(made) for made in flat_result]
        record_operation(name, inputs, flat_result, backward)
    found = iter(flat_result)
    leaves = [_with_parts(made, [next(found) for _ in _parts(made)]) for made in results]
    return nesting.pack_sequence_as(result, leaves)


def _read(given: Any) -> Any:
    """Return the tensor of a Variable, or of an object that stands for one; anything else as it is."""
    if isinstance(given, Tensor) or is_composite(given) or not hasattr(given, "__fg_tensor__"):
        return given
    return convert(given)


def is_composite(value: TensorLike | None) -> bool:
    """Return whether no one tensor can stand for `value`: a RaggedTensor or SparseTensor."""
    return class_has(value, "__fg_bind__")


def _parts(value: TensorLike | None) -> list[Any]:
    """The tensors of a composite that have gradients; anything else is its own."""
    if not is_composite(value):
        return [value]
    return [part for part in nesting.flatten(value, expand_composites=True) if is_trainable(part.dtype)]


def _with_parts(value: TensorLike, parts: list[Any]) -> Any:
    """The composite with other tensors for those that have gradients; of anything else the one part."""
    if not is_composite(value):
        return parts[0]
    given = iter(parts)
    flat = nesting.flatten(value, expand_composites=True)
    flat = [next(given) if is_trainable(part.dtype) else part for part in flat]
    return nesting.pack_sequence_as(value, flat, expand_composites=True)


def _of(gradient: TensorLike | None, given: TensorLike) -> list[Any]:
    """The gradients of the parts of `given`, from what grad_fn gave for it: a composite like it, or a tensor."""
    if is_composite(given) and gradient is None:
        return [None for _ in _parts(given)]
    return _parts(gradient)


def _takes_variables(grad_fn: Callable[..., Any]) -> bool:
    """Return whether grad_fn can be called with the keyword `variables`."""
    try:
        parameters = inspect.signature(grad_fn).parameters
    except (TypeError, ValueError):
        return True
    return "variables" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


primitives.register_public(custom_gradient, "custom_gradient")


def grad_pass_through(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f` with the gradient of the identity: what flows into its result flows into its arguments unchanged.

    `f` takes one tensor (t[*s]) or several and gives as many. Source: tf.grad_pass_through.
    """

    @custom_gradient
    def passed(*args: Any, **kwargs: Any) -> tuple[Any, Callable[..., Any]]:
        def grad(*dys: Any, variables: Sequence[Any] | None = None) -> Any:
            if variables is not None:
                return dys, [None] * len(variables)
            return dys

        return f(*args, **kwargs), grad

    return functools.wraps(f)(passed)


# ---- recomputation --------------------------------------------------------------------------------------------------

_numbers = itertools.count(1)


def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return `f`, which is run again for its gradient instead of keeping what it computed. Source: tf.recompute_grad.

    Only the arguments stay in memory, and the states of random ops, so that the second run draws the same numbers.
    Variables that `f` reads get gradients too. Structures of tensors and keyword arguments may be given.
    Raises NotImplementedError for random ops in a cond or loop inside `f` in a Function: their states end with these.
    """

    @functools.wraps(f)
    def recomputed(*args: Any, **kwargs: Any) -> Any:
        leaves = nesting.flatten((args, kwargs), expand_composites=True)
        given = [leaf for leaf in leaves if isinstance(leaf, Tensor) or is_variable(leaf)]
        numbers = Replay()

        def run(values: list[Any]) -> Any:
            """`f` with other tensors in place of those given."""
            others = iter(values)
            flat = [next(others) if isinstance(leaf, Tensor) or is_variable(leaf) else leaf for leaf in leaves]
            own_args, own_kwargs = nesting.pack_sequence_as((args, kwargs), flat, expand_composites=True)
            return f(*own_args, **own_kwargs)

        def forward(*values: Any) -> tuple[Any, Callable[..., Any]]:
            with stop_recording(), VariableWatcher() as watcher, numbers.noting():
                result = run(list(values))
            for variable in watcher.variables:
                watch_accessed(variable)
            return result, backward

        def backward(*dys: Any, variables: Sequence[Any] = ()) -> Any:
            again = [value if is_variable(value) else _apart(value) for value in given]
            sources = [value for value in again if is_trainable(value.dtype)]
            with GradientTape(watch_accessed_variables=False) as tape:
                tape.watch([*sources, *variables])
                with numbers.replaying():
                    result = run(again)
            found = tape.gradient(
                nesting.flatten(result, expand_composites=True),
                [*sources, *variables],
                output_gradients=list(dys),
                unconnected_gradients="zero",
            )
            of_values = iter(found)
            grads = [next(of_values) if is_trainable(value.dtype) else None for value in again]
            return (grads, list(of_values)) if variables else grads

        return custom_gradient(forward)(*given)

    return recomputed


def _apart(value: Tensor) -> Any:
    """The tensor as one of its own, which in a graph no pass takes for the other: or nothing would be run again."""
    if current_trace() is None or not (value.dtype.is_numeric or value.dtype.is_bool):
        return primitives.public_function("identity")(value)
    return apart(value, number=next(_numbers))


primitives.register_public(grad_pass_through, "grad_pass_through")
primitives.register_public(recompute_grad, "recompute_grad")


def prevent_gradient(input: TensorLike, message: str | bytes = "", name: str | None = None) -> Any:
    """Return `input`; a gradient through it is an error. Raises LookupError when one is asked for.

    Source: tf.raw_ops.PreventGradient.
    """
    text = message.encode() if isinstance(message, str) else message

    @custom_gradient
    def kept(x: Any) -> Any:
        def refused(*dy: Any) -> Any:
            raise LookupError(f"Gradient explicitly disabled. Reason: {text!r}")

        refused.refusal = text  # type: ignore[attr-defined]  # by which the operation is written as PreventGradient
        return primitives.public_function("identity")(x, name=name), refused

    return kept(input)
