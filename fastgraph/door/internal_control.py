"""Answers to what libraries ask TensorFlow's inside about traces, devices and conversion, in the words of ours.

Rule: each is one call of a public function, or of the room that knows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import fastgraph
from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.staging import autograph


class ControlStatusCtx:
    """The context that says whether AutoGraph converts what is called in it."""

    def __init__(self, converts: bool) -> None:
        self.converts = converts


def control_status_ctx() -> ControlStatusCtx:
    """Return the present context."""
    return ControlStatusCtx(True)


def tf_convert(
    f: Callable[..., Any], ctx: ControlStatusCtx, convert_by_default: bool = True, user_requested: bool = False
) -> Any:
    """Return a function as AutoGraph makes it for graphs; a library's own only where it is asked for."""
    del convert_by_default
    return autograph.convert(f, user_requested) if ctx.converts else f


def enabled() -> bool:
    """Return whether the behaviour is that of TensorFlow 2: always."""
    return True


def execute_fn_for_device(
    device_branch_fns: Mapping[str, Callable[[], Any]], default_fn: Callable[[], Any], name: str = "execute_fn"
) -> Any:
    """Return what the branch for CPUs gives, of functions by kinds of devices; the default where there is none."""
    del name
    return {kind.upper(): function for kind, function in device_branch_fns.items()}.get("CPU", default_fn)()


def is_resource_variable(var: object) -> bool:
    """Return whether a value is a Variable."""
    return isinstance(var, fastgraph.Variable)


def get_enclosing_xla_context() -> None:
    """Return the XLA context of the present trace: None, there are none."""


def graph_or_parents_in_xla_context(graph: object) -> bool:
    """Return whether a graph is traced for XLA: no graph is, `jit_compile` compiles as ever."""
    del graph
    return False


def convert_to_tensor_or_composite(value: Any, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Return a composite as it is, of another value its tensor."""
    if isinstance(value, CompositeTensor):
        own = value.dtype  # type: ignore[attr-defined]  # all of them have one
        if dtype is not None and not fastgraph.as_dtype(dtype).is_compatible_with(own):
            raise ValueError(f"Tensor conversion dtype mismatch. Requested dtype is {dtype}; Tensor has dtype {own}")
        return value
    return fastgraph.convert_to_tensor(value, dtype, name=name)


@contextlib.contextmanager
def cache_variable_reads() -> Iterator[None]:
    """Enter a context in which Variables are read as ever: reading one costs nothing that could be saved."""
    yield


def assert_splits_match(nested_splits_lists: Sequence[Sequence[TensorLike]]) -> list[Any]:
    """Return assertions that lists of row splits are alike. Raises ValueError where their lengths differ."""
    if any(len(splits) != len(nested_splits_lists[0]) for splits in nested_splits_lists):
        raise ValueError(f"Inputs must have identical ragged splits. Input received: {nested_splits_lists}.")
    first, *others = nested_splits_lists
    return [
        fastgraph.debugging.assert_equal(one, two, message="Inputs must have identical ragged splits")
        for other in others
        for one, two in zip(first, other, strict=True)
    ]


def get_config() -> Any:
    """Raise: the session's configuration is TensorFlow 1's."""
    raise fastgraph.errors.NotBuiltError(
        "tensorflow.python.eager.context.get_config is not built: there are no sessions to configure."
    )


class KerasModeKeys:
    """The names of the modes in which a model runs."""

    TRAIN = "train"
    TEST = "test"
    PREDICT = "predict"


def pluggable_devices() -> list[Any]:
    """Return the devices that came with plug-ins: none can."""
    return []


#: Loops and conditions are always nodes with graphs of their own.
CONTROL_FLOW_V2 = True


_load_options: list[Any] = []


@contextlib.contextmanager
def load_context(load_options: object) -> Iterator[None]:
    """Enter a context in which a library loads models with these tf.saved_model.LoadOptions."""
    _load_options.append(load_options)
    try:
        yield
    finally:
        _load_options.pop()


def get_load_options() -> Any:
    """Return the options of the innermost such context, None outside of all."""
    return _load_options[-1] if _load_options else None
