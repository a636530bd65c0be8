"""The families of ops: decorators that turn one NumPy function into an op.

Rule: an op is defined once, by its decorated body; what a family can know (inference, lowering, wrapper) it supplies.

The decorators' arguments that are strings are literals: `setup.py` reads them without importing this package, and
writes C loops from `expr`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

import fastgraph.core.op_errors as op_errors
from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.base.shapes import Aval
from fastgraph.core.registry import Primitive, register, register_public
from fastgraph.core.tensor import bind, current_trace
from fastgraph.errors import InvalidArgumentError, MisfitError, OpError
from fastgraph.ops.value_inference import following

if TYPE_CHECKING:
    from fastgraph.compiler.nest.loop_nest import Builder as Builder
    from fastgraph.compiler.nest.loop_nest import Operand as Operand
    from fastgraph.compiler.nest.scalar_ir import Scalar as Scalar
    from fastgraph.graph.ir import Node as Node
else:  # what lowerings receive comes from above
    Builder = Node = Operand = Scalar = Any

#: Sets of dtypes in the order in which TensorFlow's messages list them. A literal: setup.py reads it.
DTYPE_SETS = {
    "any": "",
    "floating": "bfloat16 float16 float32 float64",
    "fractional": "bfloat16 float16 float32 float64 complex64 complex128",
    "integer": "int8 int16 int32 int64 uint8 uint16 uint32 uint64",
    "signed": "bfloat16 float16 float32 float64 int8 int16 int32 int64",
    "signed_complex": "bfloat16 float16 float32 float64 int8 int16 int32 int64 complex64 complex128",
    "ordered": "float32 float64 int32 uint8 int16 int8 int64 bfloat16 uint16 float16 uint32 uint64",
    "real": "bfloat16 float16 float32 float64 int8 uint8 int16 uint16 int32 uint32 int64 uint64",
    "addable": "bfloat16 float16 float32 float64 uint8 uint16 uint32 uint64 int8 int16 int32 int64 complex64 "
    "complex128",
    "arithmetic": "bfloat16 float16 float32 float64 uint8 int8 uint16 int16 int32 uint32 uint64 int64 complex64 "
    "complex128",
    "summable": "float32 float64 int32 uint8 int16 int8 complex64 int64 bfloat16 uint16 complex128 float16 uint32 "
    "uint64",
    "index": "int32 int64",
}

Array = np.ndarray[Any, Any]
Dims = tuple[int | None, ...] | None
_NO_ATTRS: dict[str, Any] = {}


def public(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Publish a function written in other ops under `names`."""

    def publish(function: Callable[..., Any]) -> Callable[..., Any]:
        function.__name__ = function.__name__.rstrip("_")
        return register_public(function, *names)

    return publish


def dtype_set(words: str) -> tuple[DType, ...]:
    """The dtypes that `words` lists: names of dtypes and of `DTYPE_SETS`. Empty: any dtype."""
    found: dict[DType, None] = {}
    for word in words.split():
        for name in DTYPE_SETS.get(word, word).split():
            found.setdefault(as_dtype(name))
    return tuple(found)


def bind_named(name: str | None, primitive: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """`bind`, but a graph's node takes `name`."""
    trace = current_trace()
    if name is None:
        return bind(primitive, inputs, attrs)
    if trace is not None:
        trace.node_name = name
        return bind(primitive, inputs, attrs)
    try:
        return bind(primitive, inputs, attrs)
    except OpError as error:
        raise op_errors.called(error, name) from error.__cause__


def bind_effect(name: str | None, primitive: Primitive, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """`bind_named` of an op without results: in a graph the Operation, else None."""
    bind_named(name, primitive, inputs, attrs)
    return operation_made()


def operation_made() -> Any:
    """The Operation that an op has just become, None where nothing is traced."""
    trace: Any = current_trace()
    return None if trace is None else trace.operation()


# ---- shapes that may be known in part -------------------------------------------------------------------------------


def broadcast(a: Dims, b: Dims) -> Dims:
    """The shape of `a` and `b` broadcast together; None where unknown. ValueError if they cannot be."""
    if a is None or b is None:
        return None
    if len(a) < len(b):
        a, b = b, a
    if a == b or not b:
        return a
    pad = len(a) - len(b)
    dims = list(a[:pad])
    for x, y in zip(a[pad:], b, strict=True):
        if x == y or y == 1:
            dims.append(x)
        elif x == 1:
            dims.append(y)
        elif x is None or y is None:
            dims.append(y if x is None else x)
        else:
            raise ValueError(f"Dimensions must be equal, but are {x} and {y}")
    return tuple(dims)


def canonical_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front. ValueError if it is not an axis of a tensor of this rank."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is out of bounds for a tensor of rank {rank}")
    return axis % rank


def canonical_axes(axes: tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """`axes` counted from the front, in rising order; None means all."""
    if axes is None:
        return tuple(range(rank))
    if len(axes) == 1:
        return (canonical_axis(axes[0], rank),)
    return tuple(sorted(canonical_axis(a, rank) for a in axes))


def shape_text(shape: Iterable[int | None]) -> str:
    """A shape as TensorFlow's kernels print it: [2,3]."""
    return "[" + ",".join("?" if d is None else str(d) for d in shape) + "]"


def invalid(text: str, op: str = "", *shapes: Any) -> InvalidArgumentError:
    """The error of an op that cannot take these shapes or numbers; its name where no Primitive adds it.

    InvalidArgumentError; where a graph is made ValueError as well, with the inputs' shapes if they are given.
    """
    if current_trace() is None:
        return InvalidArgumentError(None, None, f"{text} [Op:{op}]" if op else text)
    return MisfitError(None, None, str(op_errors.misfit(text, op, *shapes)) if op else text)


def validated(check: Callable[..., Any], *args: Any) -> Any:
    """The result of a check of shapes, its ValueError as an op raises it. Raises: InvalidArgumentError."""
    try:
        return check(*args)
    except ValueError as error:
        raise invalid(str(error)) from None


def misuse(text: str, /, *inputs: Any, **attrs: Any) -> tuple[Any, ...]:
    """A row of `error_samples`: inputs and attributes that the op refuses, with a text that matches this pattern."""
    return inputs, attrs, InvalidArgumentError, text


def known(aval: Aval) -> bool:
    """Return whether every dimension is known."""
    return aval.shape is not None and None not in aval.shape


# ---- registration ---------------------------------------------------------------------------------------------------


def define(
    body: Callable[..., Any],
    *,
    op: str | None = None,
    infer: Callable[..., Any],
    public: tuple[str, ...] = (),
    groups: tuple[str, ...] | None = None,
    dtypes: str | dict[str, str] = "any",
    n_outputs: int | None = 1,
    vjp: dict[str, Callable[..., Any]] | None = None,
    vjp_all: Callable[..., Any] | None = None,
    effect: Literal["read", "write", "host"] | None = None,
    lower: Callable[..., Any] | None = None,
    expr: str | None = None,
    decompose: Callable[..., Any] | None = None,
    shape_inputs: tuple[int, ...] = (),
    step: str | None = None,
    samples: Callable[[], list[Any]] | None = None,
    error_samples: Callable[[], list[Any]] | None = None,
    domain: tuple[float, float] | None = None,
    reason: str | None = None,
    family: str = "",
    of_parts: bool = False,
    node_name: str = "",
) -> Callable[..., Any]:
    """Register `body` as a primitive and return the function that applies it.

    The body's positional parameters are the inputs (`*values`: any number), its keyword-only ones the attributes. The
    primitive is called as the function, without a trailing `_p`; `op` is what TensorFlow calls it, if not the same in
    CamelCase. With `public` names the function returned also takes `name=None`. `node_name` is what errors call an op
    that was given no name. `of_parts`: a composite that says nothing of ops itself becomes one of the parts' results.
    """
    names, attrs, variadic = _parameters(body)
    if isinstance(dtypes, str):
        dtypes = {"T": dtypes}
    if groups is None:
        groups = ("T",) * len(names)
    name = primitive_name(body)
    primitive = Primitive(
        name=name,
        op_type=op,
        public=public,
        body=body,
        infer=infer if effect is not None else following(infer, body, name, family),
        n_outputs=n_outputs,
        inputs=tuple("*" + n if variadic and n == names[-1] else n for n in names),
        attrs=tuple(attrs),
        groups=groups,
        dtypes={letter: allowed for letter, words in dtypes.items() if (allowed := dtype_set(words))},
        vjp=vjp or {},
        vjp_all=vjp_all,
        effect=effect,
        lower=lower,
        expr=expr,
        decompose=decompose,
        shape_inputs=shape_inputs,
        step=step,
        family=family,
        of_parts=of_parts,
        samples=samples,
        error_samples=error_samples,
        domain=domain,
        reason=reason,
        node_name=node_name,
    )
    register(primitive)
    function = _wrapper(primitive, body, bool(public))
    return register_public(function, *public)


def body_of(function: Callable[..., Any]) -> Callable[..., Any]:
    """The NumPy body of the op that `function` applies."""
    found: Callable[..., Any] = function.primitive.body  # type: ignore[attr-defined]
    return found


def primitive_name(body: Callable[..., Any]) -> str:
    """The primitive's name: the function's, without the ending of an internal (`_p`) or a shadowing (`_`) one."""
    return body.__name__.removesuffix("_p").rstrip("_")


def _parameters(body: Callable[..., Any]) -> tuple[list[str], list[str], bool]:
    """Names of the inputs, names of the attributes, and whether the last input stands for any number."""
    code = _written(body).__code__
    n, variadic = code.co_argcount, bool(code.co_flags & inspect.CO_VARARGS)
    end = n + code.co_kwonlyargcount
    names = code.co_varnames  # the positional ones, the keyword-only ones, then the one that takes the rest
    return [*names[:n], *names[end : end + variadic]], list(names[n:end]), variadic


def _written(body: Callable[..., Any]) -> Any:
    """The function that has the parameters of `body`, which may be one around it."""
    return getattr(body, "__wrapped__", body)


@functools.cache
def _compiled(source: str) -> CodeType:
    """Compile a wrapper's text: many ops have the same parameters, and to compile for each is most of their import."""
    return compile(source, "<fastgraph op>", "exec")


def _wrapper(primitive: Primitive, body: Callable[..., Any], named: bool) -> Callable[..., Any]:
    """A plain function with the body's parameters and docstring that applies the primitive.

    It is made from text because a call through `*args` costs as much again as the whole eager op.
    """
    inputs, attrs, variadic = _parameters(body)
    if variadic:
        inputs[-1] = f"*{inputs[-1]}"
    parameters = list(inputs)
    if attrs and not named and not variadic:
        parameters.append("*")
    defaults = _written(body).__kwdefaults__ or {}
    parameters += [f"{a}={defaults[a]!r}" if a in defaults else a for a in attrs]
    arguments = "".join([f"{p}, " for p in inputs])
    given = "{" + ", ".join(f"{a!r}: {a}" for a in attrs) + "}" if attrs else "_no_attrs"
    name = body.__name__
    text = f"({arguments})" if arguments else "()"
    source = f"def op({', '.join(parameters + ['name=None'] * named)}):\n"
    if named:
        source += f"    if name is not None:\n        return _bind_named(name, _primitive, {text}, {given})\n"
    source += f"    return _bind(_primitive, {text}, {given})\n"
    scope: dict[str, Any] = {
        "_bind": bind,
        "_bind_named": bind_named,
        "_primitive": primitive,
        "_no_attrs": _NO_ATTRS,
        "__name__": body.__module__,
    }
    exec(_compiled(source), scope)
    function: Any = scope.pop("op")
    function.__code__ = function.__code__.replace(co_name=name, co_qualname=name, co_filename=f"<fastgraph op {name}>")
    function.__name__ = function.__qualname__ = name
    function.__doc__ = body.__doc__
    function.primitive = primitive
    return function


# ---- elementwise ----------------------------------------------------------------------------------------------------


def elementwise(
    *public: str,
    expr: str | None = None,
    check: str | None = None,
    dtypes: str = "floating",
    groups: tuple[str, ...] | None = None,
    out: str | None = None,
    lower: Callable[..., Any] | None = None,
    **rest: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An op on elements at the same index of inputs that broadcast; `rest` is what `define` takes.

    `expr` is one element in the language of `expr.py`; `check`, in the same language, must hold for integer elements or
    the op fails. `out` is the result's dtype where it is not that of the inputs of letter T: a dtype's name, "real"
    (the type of the real part) or the name of an attribute.
    """

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        names, attrs, _ = _parameters(body)
        letters = groups or ("T",) * len(names)
        typed_by = letters.index("T") if "T" in letters else 0

        def infer(*avals: Aval, **given: Any) -> Aval:
            shape = avals[0].shape
            for aval in avals[1:]:
                shape = broadcast(shape, aval.shape)
            dtype = avals[typed_by].dtype
            if out == "real":
                dtype = dtype.real_dtype
            elif out is not None:
                dtype = given[out] if out in attrs else as_dtype(out)
            return Aval(dtype, shape)

        return define(
            _fitting(body) if len(names) == 2 else body,
            infer=infer,
            public=public,
            groups=letters,
            dtypes=dtypes,
            lower=lower or (lower_elementwise(expr, names, attrs, check) if expr is not None else None),
            expr=expr,
            family="elementwise",
            **rest,
        )

    return decorate


def _fitting(body: Callable[..., Any]) -> Callable[..., Any]:
    """`body` of two inputs, failing with TensorFlow's text where their shapes do not broadcast."""

    def checked(x: Array, y: Array, **attrs: Any) -> Any:
        try:
            return body(x, y, **attrs)
        except ValueError as error:
            if x.shape == y.shape or op_errors.is_of_memory(error):
                raise
            raise InvalidArgumentError(
                None, None, f"Incompatible shapes: {shape_text(x.shape)} vs. {shape_text(y.shape)}"
            ) from None

    checked.__name__, checked.__doc__, checked.__module__ = body.__name__, body.__doc__, body.__module__
    checked.__wrapped__ = body  # type: ignore[attr-defined]
    return checked


def lower_elementwise(
    expr: str, names: Sequence[str], attrs: Sequence[str] = (), check: str | None = None
) -> Callable[..., Any]:
    """The lowering of an op that is `expr` of its inputs' elements; `check` must hold for integers."""

    def lower(b: Builder, node: Node) -> list[Callable[..., Any]]:
        dtype = node.inputs[0].aval.dtype

        def element(index: Sequence[Any]) -> Any:
            scalars = {name: b.input(i).broadcast_at(index) for i, name in enumerate(names)}
            scalars.update((a, b.const(node.attrs[a], dtype)) for a in attrs)
            value = b.expr(expr, **scalars)
            if check is not None and dtype.is_integer:
                value = b.check(b.expr(check, **scalars), value)
            return value

        return [element]

    return lower


# ---- reduction ------------------------------------------------------------------------------------------------------


def reduced_shape(shape: Dims, axes: tuple[int, ...] | None, keepdims: bool) -> Dims:
    """The shape after `axes` (None: all) are reduced.

    Raises: ValueError for an axis out of range; InvalidArgumentError for one named twice, which TensorFlow notices when
    the op runs.
    """
    if shape is None:
        return () if axes is None and not keepdims else None
    rank = len(shape)
    if axes is not None:
        for a in axes:
            if not -rank <= a < rank:
                raise ValueError(f"Invalid reduction dimension {a} for input with {rank} dimensions.")
        if len({a % rank for a in axes}) < len(axes):
            twice = next(a % rank for i, a in enumerate(axes) if a % rank in {b % rank for b in axes[:i]})
            raise InvalidArgumentError(
                None, None, f"Invalid reduction arguments: Axes contains duplicate dimension: {twice}"
            )
    reduced = canonical_axes(axes, rank)
    if keepdims:
        return tuple(1 if i in reduced else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in reduced)


def reduction(
    *public: str, kind: str, lower: Callable[..., Any] | None = None, **rest: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An op `f(x, *, axes, keepdims)` that combines the elements along `axes` (None: all); `kind` says how.

    `rest` is what `define` takes.
    """

    def decorate(body: Callable[..., Any]) -> Callable[..., Any]:
        def checked(x: Array, *, axes: tuple[int, ...] | None, keepdims: bool) -> Any:
            if axes is not None:
                _check_axes(axes, x.ndim)
            return body(x, axes=axes, keepdims=keepdims)

        checked.__name__, checked.__doc__, checked.__module__ = body.__name__, body.__doc__, body.__module__
        return define(
            checked,
            infer=lambda x, *, axes, keepdims: Aval(x.dtype, reduced_shape(x.shape, axes, keepdims)),
            public=public,
            lower=lower or lower_reduction(kind),
            family="reduction",
            **rest,
        )

    return decorate


def _check_axes(axes: tuple[int, ...], rank: int) -> None:
    if len(axes) == 1 and -rank <= axes[0] < rank:
        return
    seen = set()
    for axis in axes:
        if not -rank <= axis < rank:
            raise InvalidArgumentError(
                None, None, f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)"
            )
        if axis % rank in seen:
            raise InvalidArgumentError(
                None, None, f"Invalid reduction arguments: Axes contains duplicate dimension: {axis % rank}"
            )
        seen.add(axis % rank)


def lower_reduction(
    kind: str, finish: Callable[..., Any] | None = None, wide_integers: bool = False
) -> Callable[..., Any]:
    """The lowering of a reduction: 16-bit floats accumulate in float32, the result is rounded once.

    `finish(b, total, extents, dtype)` makes the result from the total and the extents reduced; with `wide_integers`
    integers accumulate in 64 bits.
    """

    def lower(b: Builder, node: Node) -> list[Callable[..., Any]]:
        x = b.input(0)
        dtype = node.inputs[0].aval.dtype
        rank = x.rank
        axes = canonical_axes(node.attrs["axes"], rank)
        keepdims = node.attrs["keepdims"]
        wide = accumulator(dtype) if kind in ("sum", "prod") else dtype
        if wide_integers and dtype.is_integer:
            wide = as_dtype("uint64" if dtype.is_unsigned else "int64")

        def element(index: Sequence[Any]) -> Any:
            def inner(position: Sequence[Any]) -> Any:
                inside, outside = iter(position), iter(index)
                full = []
                for axis in range(rank):
                    if axis in axes:
                        full.append(next(inside))
                        if keepdims:
                            next(outside)
                    else:
                        full.append(next(outside))
                value = x.at(tuple(full))
                return value if wide is dtype else b.cast(value, wide)

            extents = [x.shape[a] for a in axes]
            total = b.reduce(kind, extents, inner) if axes else inner(())
            if finish is not None:
                total = finish(b, total, extents, dtype)
            return b.cast(total, dtype)

        return [element]

    return lower


def is_one(extent: Scalar) -> bool:
    """Return whether an extent, in a lowering, is 1 whatever the run-time sizes are."""
    return bool(extent.op == "const" and extent.attr == 1)


def accumulator(dtype: DType) -> DType:
    """The dtype in which sums and products of `dtype` are accumulated."""
    return as_dtype("float32") if dtype.name in ("float16", "bfloat16") else dtype


# ---- the other families ---------------------------------------------------------------------------------------------


def movement(*public: str, **rest: Any) -> Callable[..., Callable[..., Any]]:
    """An op whose results are elements of its inputs at other places: it states `infer` and `lower`."""
    return lambda body: define(body, public=public, family="movement", **rest)


def contraction(*public: str, **rest: Any) -> Callable[..., Callable[..., Any]]:
    """A sum of products over shared axes: `step="gemm"` for float32 and float64, `lower` for the rest."""
    return lambda body: define(body, public=public, family="contraction", **rest)


def custom(*public: str, **rest: Any) -> Callable[..., Callable[..., Any]]:
    """An op of no family: it states everything itself, and a `reason` if it has no lowering."""
    return lambda body: define(body, public=public, family="custom", **rest)
