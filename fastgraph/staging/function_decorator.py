"""tf.function: the decorator that makes a Function of a Python function."""

from __future__ import annotations

from typing import Any

from fastgraph.staging.function import BoundFunction, Function

#: Keys of `experimental_attributes`; but for those of `implementation_selector` it changes nothing here.
_ATTRIBUTES = frozenset((
    "_OutputsOnOpDevice", "_disable_acd", "_implements", "_noinline", "_tf_data_function", "api_implements",
    "api_preferred_device", "disable_summaries_at_runtime", "experimental_ints_on_device", "function_runs_at_most_once",
    "go_backwards", "runtime_constant_optimization", "time_major",
))  # fmt: skip


def function(
    func: object = None,
    input_signature: object = None,
    autograph: bool = True,
    jit_compile: bool | None = None,
    reduce_retracing: bool = False,
    experimental_implements: str | None = None,
    experimental_autograph_options: object = None,
    experimental_attributes: Any = None,
    experimental_relax_shapes: bool | None = None,
    experimental_compile: bool | None = None,
    experimental_follow_type_hints: bool | None = None,
    *,
    experimental_box_numbers: bool = False,
    experimental_lift_variables: bool = False,
) -> Any:
    """Return `func` as a Function: traced into graphs, which are compiled. A decorator, with or without arguments.

    A call traces for what it has not met yet: another dtype, shape, structure or Python value among the arguments.
    Python's `if`, `for` and `while` on tensors become control flow of the graph. Source: tf.function.

    Args:
        func: What is traced; None: a decorator is given back.
        input_signature: The only kind of arguments it takes, a sequence of TensorSpecs; None dimensions take any size.
        autograph: Whether control flow on tensors is converted.
        reduce_retracing, experimental_relax_shapes: Relax shapes that turn out to differ between calls.
        experimental_attributes: "api_implements" names what the function implements, "api_preferred_device" where
            it does so best: see `ConcreteFunction.add_to_graph`. Others change nothing.
        jit_compile, experimental_compile, experimental_implements, experimental_autograph_options,
            experimental_follow_type_hints: Taken and without effect: every graph is compiled.
        experimental_box_numbers: Beyond TensorFlow: Python numbers (but no bools) among the arguments are taken as
            tensors, so that a new value traces nothing.
        experimental_lift_variables: Beyond TensorFlow: every trace, not only the first, may make Variables, as long as
            tracing again makes no others.

    Raises:
        TypeError: `input_signature` is no sequence of specs, or on a call: the arguments do not fit it.

    Examples:
        >>> @tf.function
        ... def power(x, n):
        ...     print("traced for", x.dtype.name, "and", n)
        ...     return x ** n
        >>> float(power(tf.constant(3.0), 2)), float(power(tf.constant(4.0), 2))
        traced for float32 and 2
        (9.0, 16.0)
        >>> @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
        ... def halvings(x):
        ...     steps = 0
        ...     while tf.reduce_max(x) > 1.0:
        ...         x /= 2.0
        ...         steps += 1
        ...     return steps
        >>> int(halvings(tf.constant([3.0, 9.0])))
        4
    """
    if experimental_relax_shapes is not None:
        reduce_retracing = experimental_relax_shapes
    if experimental_compile is not None:
        jit_compile = experimental_compile

    def decorate(python_function: Any) -> Function:
        if isinstance(python_function, Function | BoundFunction):
            python_function = python_function.python_function
        for name in dict(experimental_attributes or {}):
            if name not in _ATTRIBUTES:
                raise ValueError(f"`{name} is not supported by tf.function as an attribute.")
        return Function(
            python_function,
            input_signature=input_signature,
            autograph=autograph,
            jit_compile=jit_compile,
            reduce_retracing=reduce_retracing,
            experimental_implements=experimental_implements,
            experimental_autograph_options=experimental_autograph_options,
            experimental_attributes=experimental_attributes,
            box_numbers=experimental_box_numbers,
            lift_variables=experimental_lift_variables,
        )

    return decorate if func is None else decorate(func)
