"""Checks of values: debugging.assert_*, Assert, check_numerics, ensure_shape.

Rule: a check is a host effect: a graph keeps it, and what comes after it in the program comes after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fastgraph.core.base.dtype import DType, DTypeLike, as_dtype, int64
from fastgraph.core.base.shapes import Aval, ShapeLike, TensorShape, as_dims
from fastgraph.core.conversion import TensorLike
from fastgraph.core.registry import get
from fastgraph.core.tensor import EagerTensor, Tensor, convert, current_trace
from fastgraph.ops.arguments import as_tensor, converted_like, known_value, named, whole, word
from fastgraph.ops.comparison import equal, greater, greater_equal, less, less_equal, not_equal
from fastgraph.ops.elementwise import abs, cast
from fastgraph.ops.families import (
    Array,
    Builder,
    Node,
    bind_effect,
    custom,
    invalid,
    misuse,
    movement,
    public,
    shape_text,
)
from fastgraph.ops.movement import rank as rank_of
from fastgraph.ops.movement import shape as shape_of
from fastgraph.ops.print_op import tensor_text
from fastgraph.ops.reduction import all_p

# ---- the ops --------------------------------------------------------------------------------------------------------


@custom(
    infer=lambda condition, *data, summarize: (),
    groups=("bool", "-"),
    n_outputs=0,
    effect="host",
    step="unless",
    error_samples=lambda: [misuse(r"assertion failed: \[1 2\]", np.array(False), np.array([1, 2]), summarize=3)],
    reason="its message is made of whole tensors",
)
def assert_p(condition: Array, *data: Any, summarize: int) -> Any:
    """InvalidArgumentError that shows the data unless the condition holds. bool[], t[*s]... -> nothing."""
    if not condition:
        # A text stands as it is, between brackets; other tensors bring their own.
        shown = [f"[{x[()].decode()}]" if x.dtype == object and x.ndim == 0 else _bracketed(x, summarize) for x in data]
        raise invalid("assertion failed: " + " ".join(shown))
    return ()


def _bracketed(x: Array, summarize: int) -> str:
    flat = x.reshape(-1)
    text = tensor_text(flat if summarize < 0 or flat.size <= summarize else flat[:summarize], -1)
    return text[:-1] + "...]" if 0 <= summarize < flat.size else text


def lower_numerics(b: Builder, node: Node) -> list[Any]:
    x = b.input(0)

    def element(index: Sequence[Any]) -> Any:
        value = x.at(index)
        return b.check(b.expr("isfinite(x)", x=value), value, b.flat(index, x.shape))

    return [element]


@movement(
    infer=lambda tensor, *, message: Aval(tensor.dtype, tensor.shape),
    dtypes="bfloat16 float16 float32 float64",
    lower=lower_numerics,
    vjp=dict(tensor=lambda dy, message: check_numerics_p(dy, message=message + " (gradient)")),
    samples=lambda: [((np.array([1.0, 2.0], t),), {"message": "m"}) for t in ("float32", "float64", "float16")],
    error_samples=lambda: [
        misuse("m : Tensor had NaN values", np.array([1.0, np.nan]), message="m"),
        misuse("m : Tensor had Inf values", np.array([1.0, np.inf]), message="m"),
        misuse("m : Tensor had Inf and NaN values", np.array([np.nan, np.inf]), message="m"),
    ],
)
def check_numerics_p(tensor: Array, *, message: str) -> Any:
    """The tensor itself, if all of it is finite. f[*s] -> f[*s]."""
    nan, inf = bool(np.isnan(tensor).any()), bool(np.isinf(tensor).any())
    if nan or inf:
        what = "Inf and NaN" if nan and inf else "NaN" if nan else "Inf"
        raise invalid(f"{message} : Tensor had {what} values")
    return tensor


@public("debugging.check_numerics")
def check_numerics(tensor: TensorLike, message: TensorLike, name: str | None = None) -> Any:
    """The tensor itself. f[*s] -> f[*s].

    Raises: InvalidArgumentError for NaN or infinities. Source: tf.debugging.check_numerics.
    """
    return named(name, check_numerics_p, tensor, message=word(message, "message"))


def _indices_errors() -> list[Any]:
    shape, row = np.array([2, 3]), r"indices\[1\] = \[0,1\]"
    return [
        misuse(f"{row} is out of order", np.array([[1, 0], [0, 1]]), shape, sorted=True),
        misuse(f"{row} is repeated", np.array([[0, 1], [0, 1]]), shape, sorted=True),
        misuse(
            r"indices\[1\] = \[5,0\] is out of bounds: need 0 <= index < \[2,3\]",
            np.array([[0, 1], [5, 0]]),
            shape,
            sorted=True,
        ),
        misuse(
            r"Indices are not valid \(out of bounds\).  Shape: \[2,3\]",
            np.array([[0, 1], [0, -1]]),
            shape,
            sorted=False,
        ),
    ]


@custom(
    infer=lambda indices, dense_shape, *, sorted: Aval(indices.dtype, indices.shape),
    dtypes="int64",
    samples=lambda: [
        ((np.array([[0, 1], [1, 0], [1, 2]]), np.array([2, 3])), {"sorted": True}),
        ((np.array([[1, 0], [0, 1]]), np.array([2, 3])), {"sorted": False}),
        ((np.zeros([0, 2], np.int64), np.array([2, 3])), {"sorted": True}),
    ],
    error_samples=_indices_errors,
    reason="its message is made of the first wrong index and its neighbour",
)
def check_indices(indices: Array, dense_shape: Array, *, sorted: bool) -> Any:
    """The indices of a sparse tensor, if they lie within its shape, and with `sorted` each is after the one before.

    i64[n, rank], i64[rank] -> i64[n, rank].
    """
    outside = np.asarray(((indices < 0) | (indices >= dense_shape)).any(1))
    limits = shape_text(dense_shape.tolist())
    if not sorted:
        if outside.any():
            raise invalid(f"Indices are not valid (out of bounds).  Shape: {limits}")
        return indices
    step = indices[1:] - indices[:-1]  # its first entry that is not 0 decides
    rising = np.take_along_axis(step, (step != 0).argmax(1)[:, None], 1)[:, 0] if step.size else step.sum(1)
    wrong = np.flatnonzero(outside | np.concatenate([np.zeros(min(len(indices), 1), bool), rising <= 0]))
    if wrong.size:
        at = int(wrong[0])
        index = f"indices[{at}] = {shape_text(indices[at].tolist())}"
        if outside[at]:
            raise invalid(f"{index} is out of bounds: need 0 <= index < {limits}")
        if rising[at - 1] == 0:
            raise invalid(f"{index} is repeated")
        raise invalid(
            f"{index} is out of order. Many sparse ops require sorted indices.\n    Use `tf.sparse.reorder` to create "
            "a correctly ordered copy.\n\n"
        )
    return indices


def _infer_ensure(input: Aval, *, shape: tuple[Any, ...]) -> Aval:
    if shape is None:
        return Aval(input.dtype, input.shape)
    if input.shape is None:
        return Aval(input.dtype, shape)
    if len(shape) != len(input.shape) or any(
        m is not None and n is not None and m != n for m, n in zip(shape, input.shape, strict=True)
    ):
        raise ValueError(
            f"Shape of tensor {TensorShape(input.shape)} is not compatible with expected shape {TensorShape(shape)}."
        )
    return Aval(input.dtype, tuple(n if m is None else m for m, n in zip(shape, input.shape, strict=True)))


@movement(
    infer=_infer_ensure,
    lower=lambda b, node: [lambda index: b.input(0).at(index)],
    vjp=dict(input=lambda dy: dy),
    samples=lambda: [((np.ones([2, 3]),), {"shape": s}) for s in ((2, 3), (None, 3), None)],
    error_samples=lambda: [
        misuse(
            r"Shape of tensor input \[2,3\] is not compatible with expected shape \[2,4\]",
            np.ones([2, 3]),
            shape=(2, 4),
        )
    ],
)
def ensure_shape_p(input: Array, *, shape: tuple[int, ...]) -> Any:
    """The input itself, if it has this shape. t[*s] -> t[*s]."""
    if shape is not None and (
        len(shape) != input.ndim or any(m is not None and m != n for m, n in zip(shape, input.shape, strict=True))
    ):
        own, wanted = ",".join(map(str, input.shape)), ",".join("?" if n is None else str(n) for n in shape)
        raise invalid(f"Shape of tensor input [{own}] is not compatible with expected shape [{wanted}].")
    return input


@public("ensure_shape")
def ensure_shape(x: TensorLike, shape: ShapeLike, name: str | None = None) -> Any:
    """x itself, whose shape is known to be `shape` from here on. t[*s] -> t[*s].

    Raises: InvalidArgumentError at run time, ValueError while tracing, if it is another. Source: tf.ensure_shape.
    """
    return named(name, ensure_shape_p, x, shape=as_dims(shape))


# ---- assertions -----------------------------------------------------------------------------------------------------


def _fail(lines: Sequence[Any]) -> None:
    raise invalid("\n".join(str(line) for line in lines))


@public("debugging.Assert", "Assert")
def Assert(
    condition: TensorLike, data: Sequence[TensorLike], summarize: TensorLike | None = None, name: str | None = None
) -> Any:
    """Stop unless the condition holds, showing the data. bool[], list of t[*s] -> nothing.

    Raises: InvalidArgumentError. Source: tf.debugging.Assert.
    """
    number = 3 if summarize is None else whole(summarize, "summarize")
    if current_trace() is None:
        if not condition:
            shown = [_short(as_tensor(x), number) for x in data]
            _fail([f"Expected '{condition!s}' to be true. Summarized data: " + "\n".join(shown)])
        return None
    return _asserted(name, as_tensor(condition), data, number)


def _asserted(name: str | None, condition: Tensor, data: Sequence[Any], summarize: int | None = None) -> Any:
    """The Operation that stops the graph unless the condition holds."""
    attrs = {"summarize": 3 if summarize is None else summarize}
    return bind_effect(name, assert_p.primitive, (condition, *data), attrs)  # type: ignore[attr-defined]


def _short(x: Tensor, summarize: int) -> str:
    value = np.asarray(x.numpy())
    if value.ndim == 0:
        return str(value[()])
    number = value.size if summarize < 0 else summarize
    return ", ".join([str(each) for each in value.reshape(-1)[:number]] + ["..."] * (number < value.size))


def _elements(x: Array, summarize: int | None) -> str:
    """The first elements (3), as a list of texts, and whether there are more; a scalar as it is."""
    number = x.size if summarize is not None and summarize < 0 else 3 if summarize is None else summarize
    shown = [str(each) for each in x.reshape(-1)[:number]]
    return str(shown + ["..."] * (len(shown) < x.size)) if x.ndim else str(x[()])


def beginning(message: str | None) -> str:
    """Return a message of the caller's as the beginning of an error's text."""
    return f"{message}.  " if message else ""


def _called(argument: str, value: object) -> str:
    """The word before the elements of an argument: its name in the graph, where it has one."""
    name = getattr(value, "name", None)
    return f"{argument} ({name}) = " if name else f"{argument} = "


def _binary(name: str, symbol: str, holds: Callable[..., Any]) -> Callable[..., Any]:
    """debugging.assert_<name>(x, y)."""

    def check(
        x: TensorLike, y: TensorLike, message: str | None = None, summarize: Any = None, name: str | None = None
    ) -> Any:
        x = as_tensor(x) if not isinstance(y, Tensor) or isinstance(x, Tensor) else converted_like(x, y)
        y = converted_like(y, x)
        result = holds(x, y)
        if current_trace() is None:
            if not bool(all_p(result, axes=None, keepdims=False)):
                _fail(_comparison(symbol, np.asarray(x), np.asarray(y), np.asarray(result), message, summarize))
            return None
        condition = all_p(result, axes=None, keepdims=False)
        known = known_value(condition)
        if known is not None and not known:
            _fail(_comparison(symbol, known_value(x), known_value(y), known_value(result), message, summarize))
        told = [message] if message else []
        data = [*told, f"Condition x {symbol} y did not hold element-wise:", _called("x", x), x, _called("y", y), y]
        return _asserted(name, condition, data, summarize)

    def turned(
        x: TensorLike, y: TensorLike, summarize: Any = None, message: str | None = None, name: str | None = None
    ) -> Any:
        return check(x, y, message, summarize, name)

    made: Callable[..., Any] = turned if name == "none_equal" else check  # TensorFlow's order there
    made.__name__ = made.__qualname__ = f"assert_{name}"
    made.__doc__ = f"""Stop unless x {symbol} y for all elements. t[*s], t[*s] -> nothing, broadcasting.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_{name}.
    """
    names = [f"debugging.assert_{name}"]
    if name in ("equal", "less", "greater"):
        names.append(f"assert_{name}")
    return public(*names)(made)


def _comparison(
    symbol: str, x: Array | None, y: Array | None, held: Any, message: str | None, summarize: int | None
) -> list[Any]:
    """The lines that say where two tensors differ."""
    number = 3 if summarize is None else whole(summarize, "summarize")
    number = number if number >= 0 else 10**9
    lines: list[Any] = [] if message is None else [message]
    lines.append(f"Condition x {symbol} y did not hold.")
    if number == 0 or x is None or y is None:
        return lines
    if x.shape == y.shape and x.ndim:
        apart = np.argwhere(~held)
        n = min(number, len(apart))
        lines += [f"Indices of first {n} different values:", apart[:n]]
        lines += ["Corresponding x values:", x[~held].reshape(-1)[:n]]
        lines += ["Corresponding y values:", y[~held].reshape(-1)[:n]]
    for letter, value in (("x", x), ("y", y)):
        n = min(value.size, number)
        lines += [f"First {n} elements of {letter}:", value.reshape(-1)[:n]]
    return lines


assert_equal = _binary("equal", "==", equal)
assert_none_equal = _binary("none_equal", "!=", not_equal)
assert_less = _binary("less", "<", less)
assert_less_equal = _binary("less_equal", "<=", less_equal)
assert_greater = _binary("greater", ">", greater)
assert_greater_equal = _binary("greater_equal", ">=", greater_equal)


@public("debugging.assert_near")
def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    message: str | None = None,
    summarize: TensorLike | None = None,
    name: str | None = None,
) -> Any:
    """Stop unless |x - y| <= atol + rtol * |y| for all elements (both 10 eps by default). t[*s], t[*s] -> nothing.

    Raises: InvalidArgumentError. Source: tf.debugging.assert_near.
    """
    x = as_tensor(x)
    other = converted_like(y, x)
    real = x.dtype.real_dtype
    eps = 10 * float(np.finfo(np.float32 if real.name == "bfloat16" else real.numpy_dtype).eps)
    bound = _tolerance(atol, eps, real, "atol") + _tolerance(rtol, eps, real, "rtol") * abs(other)
    near = less_equal(abs(x - other), bound)
    condition = all_p(near, axes=None, keepdims=False)
    if current_trace() is None:
        if not bool(condition):
            lines: list[Any] = [] if message is None else [message]
            lines += [
                "",
                f"x and y not equal to tolerance rtol = {eps if rtol is None else rtol!s}, "
                f"atol = {eps if atol is None else atol!s}",
            ]
            lines += [
                f"x (shape={x.shape} dtype={x.dtype.name}) = ",
                np.asarray(x),
                f"y (shape={other.shape} dtype={other.dtype.name}) = ",
                np.asarray(other),
            ]
            _fail(lines)
        return None
    return _asserted(name, condition, [message or "x and y not equal to tolerance", "x = ", x, "y = ", y])


def _tolerance(given: TensorLike | None, eps: float, real: DType, what: str) -> Any:
    try:
        return convert(eps if given is None else given, real)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{what}: {error}") from None


def _unary(name: str, symbol: str, holds: Callable[[Any], Any]) -> Callable[..., Any]:
    """debugging.assert_<name>(x)."""

    def check(x: TensorLike, message: str | None = None, summarize: int | None = None, name: str | None = None) -> Any:
        x = as_tensor(x)
        condition = all_p(holds(x), axes=None, keepdims=False)
        if current_trace() is None:
            if not bool(condition):
                told = [f"x (shape={x.shape} dtype={x.dtype.name}) = ", _elements(np.asarray(x), summarize)]
                _fail([beginning(message), f"Condition x {symbol} 0 did not hold element-wise:", *told])
            return None
        data = [beginning(message), f"Condition x {symbol} 0 did not hold element-wise:", _called("x", x), x]
        return _asserted(name, condition, data, summarize)

    check.__name__ = check.__qualname__ = f"assert_{name}"
    check.__doc__ = f"""Stop unless x {symbol} 0 for all elements. t[*s] -> nothing.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_{name}.
    """
    return public(f"debugging.assert_{name}")(check)


assert_positive = _unary("positive", ">", lambda x: x > 0)
assert_negative = _unary("negative", "<", lambda x: x < 0)
assert_non_negative = _unary("non_negative", ">=", lambda x: x >= 0)
assert_non_positive = _unary("non_positive", "<=", lambda x: x <= 0)


def _in_graph(x: Tensor) -> str:
    """The name of a tensor of the graph that is built."""
    return "" if current_trace() is None or isinstance(x, EagerTensor) else getattr(x, "name", "")


def rank_text(message: str | None, x: Tensor, what: str) -> str:
    found = f"Received rank {x.shape.rank}, shape {x.shape}"
    return f"{beginning(message)}Tensor {_in_graph(x)} must have rank {what}.  {found}"


def rank_at_run_time(name: str | None, x: Any, holds: Tensor, message: str | None, what: str) -> Any:
    """The Operation that checks a rank which is not known while a function is traced, or is to be what is not."""
    text = f"{beginning(message)}Tensor {_in_graph(x)} must have rank {what}.  Received shape: "
    return _asserted(name, holds, [text, shape_of(x)])


def rank_known(name: str | None, default: str) -> Any:
    """The result of a check of a rank that is known, and right: in a graph an Operation that does nothing."""
    if current_trace() is None:
        return None
    return bind_effect(f"{name or default}/static_checks_determined_all_ok", get("no_op"), (), {})


def _wanted_rank(rank: TensorLike) -> Any:
    """An int, or the tensor where only a run knows it. Raises: ValueError, TypeError for what is no scalar integer."""
    tensor = as_tensor(rank)
    if tensor.shape.rank:
        raise ValueError("Rank must be a scalar.")
    if not tensor.dtype.is_integer:
        raise TypeError(f"Rank must be an integer, got {tensor.dtype.name}")
    found = known_value(tensor)
    return cast(tensor, int64) if found is None else int(found)


@public("debugging.assert_rank", "assert_rank")
def assert_rank(x: TensorLike, rank: TensorLike, message: str | None = None, name: str | None = None) -> Any:
    """Stop unless x has this rank. Raises: ValueError. Source: tf.debugging.assert_rank."""
    x = as_tensor(x)
    wanted = _wanted_rank(rank)
    if x.shape.rank is None or not isinstance(wanted, int):
        what = str(wanted) if isinstance(wanted, int) else "as given"
        return rank_at_run_time(name, x, equal(cast(rank_of(x), int64), wanted), message, what)
    if x.shape.rank != wanted:
        raise ValueError(rank_text(message, x, str(wanted)))
    return rank_known(name, "assert_rank")


@public("debugging.assert_rank_at_least")
def assert_rank_at_least(x: TensorLike, rank: TensorLike, message: str | None = None, name: str | None = None) -> Any:
    """Stop unless x has at least this rank. Raises: ValueError. Source: tf.debugging.assert_rank_at_least."""
    x = as_tensor(x)
    wanted = _wanted_rank(rank)
    if x.shape.rank is None or not isinstance(wanted, int):
        what = str(wanted) if isinstance(wanted, int) else "as given"
        return rank_at_run_time(name, x, greater_equal(cast(rank_of(x), int64), wanted), message, f"at least {what}")
    if x.shape.rank < wanted:
        raise ValueError(rank_text(message, x, f"at least {wanted}"))
    return rank_known(name, "assert_rank_at_least")


@public("debugging.assert_scalar")
def assert_scalar(tensor: TensorLike, message: str | None = None, name: str | None = None) -> Any:
    """Stop unless the tensor is a scalar. Raises: ValueError. Source: tf.debugging.assert_scalar."""
    tensor = as_tensor(tensor)
    if tensor.shape.rank != 0:
        raise ValueError(f"{beginning(message)}Expected scalar shape, saw shape: {tensor.shape}.")


@public("debugging.assert_type")
def assert_type(tensor: TensorLike, tf_type: DTypeLike, message: str | None = None, name: str | None = None) -> Any:
    """Stop unless the tensor has this dtype. Raises: TypeError. Source: tf.debugging.assert_type."""
    tensor, wanted = as_tensor(tensor), as_dtype(tf_type)
    if tensor.dtype is not wanted:
        raise TypeError(f"{beginning(message)}tensor must be of type {wanted!r}; got {tensor.dtype!r}")


@public("debugging.assert_integer")
def assert_integer(x: TensorLike, message: str | None = None, name: str | None = None) -> Any:
    """Stop unless x is of integers. Raises: TypeError. Source: tf.debugging.assert_integer."""
    x = as_tensor(x)
    if not x.dtype.is_integer:
        raise TypeError(f'{beginning(message)}Expected "x" to be integer type.  Found: {x.dtype!r}')
