"""py_function and numpy_function: Python that runs each time its place in the program is reached.

Rule: the function is an effect: every run of a graph calls it, in program order, and nothing prunes it. What it raises
becomes the error that TensorFlow's kernels make of it.
"""

from __future__ import annotations

import functools
import itertools
import secrets
import traceback
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from fastgraph.core.base.dtype import DType, as_dtype
from fastgraph.core.base.nesting import flatten, pack_sequence_as
from fastgraph.core.base.shapes import Aval
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.conversion import TensorLike
from fastgraph.core.op_errors import message_name
from fastgraph.core.registry import get
from fastgraph.core.replicas import process
from fastgraph.core.tape.gradient_tape import GradientTape
from fastgraph.core.tensor import Tensor, bind, convert, current_trace, from_array, get_slot, init_scope
from fastgraph.errors import (
    InvalidArgumentError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
)
from fastgraph.ops.deferred_calls import Held, differentiated, flows, infer_dtypes, placed, tensors_of
from fastgraph.ops.families import Array, bind_named, custom, operation_made, public

#: Runs of one function whose tapes wait for a gradient; of an older one it is computed by calling the function again.
TAPES_KEPT = 4096

_ERRORS: tuple[tuple[tuple[type[Exception], ...], type[OpError]], ...] = (
    ((TypeError, ValueError), InvalidArgumentError),
    ((StopIteration,), OutOfRangeError),
    ((MemoryError,), ResourceExhaustedError),
    ((NotImplementedError,), UnimplementedError),
)
_PROCESS = secrets.token_hex(8)
_there: WeakValueDictionary[str, Any] = WeakValueDictionary()  # the functions that graphs hold, by names
_names = itertools.count()
_tickets = itertools.count()


def as_op_error(error: Exception) -> OpError:
    """The error that TensorFlow makes of what a Python function raised."""
    kind: Any = UnknownError
    for classes, made in _ERRORS:
        if isinstance(error, classes) and not isinstance(error, OpError):
            kind = made
            break
    inner = error.__traceback__.tb_next if error.__traceback__ is not None else None  # without the frame of ours
    text = "\n".join(traceback.format_exception(type(error), error, inner)).rstrip()
    return kind(None, None, f"{type(error).__name__}: {error}\n{text}\n")


class _Called:
    """A Python function as a graph holds it."""

    def __init__(self, function: Callable[..., Any], dtypes: Sequence[DType]) -> None:
        self.function = function
        self.dtypes = list(dtypes)
        self.name = f"pyfunc_{next(_names)}"
        self.differentiated = False  # whether a graph has the gradient of it: then runs keep their tapes
        self.tapes: OrderedDict[int, Any] = OrderedDict()
        self.backward: dict[Any, Held] = {}

    def tensors(self, inputs: Sequence[Any]) -> list[Any]:
        """Call the function with tensors and return its results as tensors of the dtypes promised."""
        try:
            results = self.function(*inputs)
            given = list(results) if isinstance(results, (list, tuple)) else [] if results is None else [results]
            made = [convert(value, dtype) for value, dtype in zip(given, self.dtypes, strict=False)]
        except Exception as error:
            raise as_op_error(error) from error
        if len(made) < len(self.dtypes):
            raise self._wrong_number(len(given))
        return made

    def arrays(self, inputs: Sequence[Any]) -> list[Any]:
        """Call the function with arrays and return its results as arrays, whose dtypes must be those promised."""
        try:
            results = self.function(*inputs)
            given = list(results) if isinstance(results, (list, tuple)) else [] if results is None else [results]
            made = [from_array(_array(value), None) for value in given]
        except Exception as error:
            raise as_op_error(error) from error
        if len(made) != len(self.dtypes):
            raise self._wrong_number(len(made))
        for i, (tensor, dtype) in enumerate(zip(made, self.dtypes, strict=True)):
            if tensor.dtype is not dtype:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"{i}-th value returned by {self.name} is {message_name(tensor.dtype)}, but expects "
                    f"{message_name(dtype)}",
                )
        return made

    def _wrong_number(self, n: int) -> InvalidArgumentError:
        return InvalidArgumentError(
            None, None, f"{self.name} returns {n} values, but expects to see {len(self.dtypes)} values."
        )


def _held(called: _Called) -> Held:
    _there[called.name] = called
    return Held(called.name, called)


def token_of(key: Held) -> str:
    """Return what stands for a function in a GraphDef: no other process has a function of this token."""
    return f"{key}_{_PROCESS}"


def held_by(token: str) -> Held | None:
    """Return the function of a token, None if it is gone or is of another process."""
    name, _, process = token.rpartition("_")
    called = _there.get(name) if process == _PROCESS else None
    return None if called is None else Held(name, called)


def _array(value: TensorLike) -> Any:
    array = np.asarray(value, order="C")
    return np.asarray(value, object) if array.dtype.kind in "SU" else array  # NumPy's texts lose zeros at their ends


# ---- the ops --------------------------------------------------------------------------------------------------------


def _infer_taped(*values: Aval, key: Held, dtypes: tuple[str, ...]) -> tuple[Aval, ...]:
    return (*infer_dtypes(dtypes=dtypes), Aval(as_dtype("int64"), ()))


def _vjp(
    needs: Sequence[bool], dys: list[Any], values: list[Any], outs: list[Any], key: Held, dtypes: tuple[str, ...]
) -> dict[str, Any]:
    """One call of Python for the cotangents of all inputs: it asks the tape of the run that they belong to."""
    called: _Called = key.object
    sources, flowing = differentiated(needs, dys[:-1], values, outs)
    if not sources or not flowing:
        return {"values": [None] * len(values)}
    called.differentiated = True
    backward = called.backward.get((sources, flowing))
    if backward is None:
        backward = called.backward[sources, flowing] = _held(_backward_of(called, sources, flowing, len(values)))
    operands = (outs[-1], *values, *[dys[k] for k in flowing])
    names = tuple([values[i].dtype.name for i in sources])
    results = bind(get("eager_py_func"), operands, {"key": backward, "dtypes": names})
    return {"values": placed(values, sources, results[: len(sources)])}


def _backward_of(called: _Called, sources: Sequence[int], flowing: Sequence[int], n: int) -> _Called:
    """The function of (ticket, *inputs, *cotangents of the results `flowing`) for the cotangents of `sources`."""

    def backward(ticket: Tensor, *operands: Tensor) -> list[Any]:
        dys = list(operands[n:])
        kept = None if made.differentiated else called.tapes.pop(int(ticket), None)
        tape, inputs, outputs = kept if kept is not None else _taped(called, operands[:n])
        found = tape.gradient([outputs[k] for k in flowing], [inputs[i] for i in sources], output_gradients=dys)
        zeros_like = get_slot("zeros_like")
        return [zeros_like(inputs[i]) if g is None else convert(g) for i, g in zip(sources, found, strict=True)]

    made = _Called(backward, [])
    made.dtypes = []
    return made


def _taped(called: _Called, inputs: Sequence[Any]) -> tuple[Any, Sequence[Any], list[Any]]:
    with GradientTape(persistent=True) as tape:
        for tensor in inputs:
            if flows(tensor):
                tape.watch(tensor)
        outputs = called.tensors(inputs)
    return tape, inputs, outputs


@custom(
    infer=_infer_taped, groups=("-",), n_outputs=None, effect="host", vjp_all=_vjp, reason="it calls a Python function"
)
def eager_py_func_p(*values: Array, key: Held, dtypes: tuple[str, ...]) -> Any:
    """Call a Python function with tensors: its results, and the number under which the tape of this run is kept."""
    called: _Called = key.object
    called.dtypes = called.dtypes or [as_dtype(name) for name in dtypes]
    ticket = -1
    with init_scope():
        inputs = tensors_of(values)
        if called.differentiated:
            kept = _taped(called, inputs)
            ticket = next(_tickets)
            called.tapes[ticket] = kept
            while len(called.tapes) > TAPES_KEPT:
                called.tapes.popitem(last=False)
            results = kept[2]
        else:
            results = called.tensors(inputs)
    return (*[np.asarray(tensor) for tensor in results], np.int64(ticket))


@custom(infer=infer_dtypes, groups=("-",), n_outputs=None, effect="host", reason="it calls a Python function")
def py_func_p(*values: Array, key: Held, dtypes: tuple[str, ...]) -> Any:
    """Call a Python function with arrays: its results."""
    with init_scope():
        values = tuple([np.array(value) if np.ndim(value) else value[()] for value in values])  # func may change them
        return tuple([np.asarray(tensor) for tensor in key.object.arrays(values)])


@custom(
    op="WriteSummary",
    infer=lambda *values, key: Aval(as_dtype("bool"), ()),
    groups=("-",),
    effect="host",
    reason="it writes to a file",
)
def write_summary_p(*values: Array, key: Held) -> Any:
    """Call what writes a summary, with arrays: what it raises is raised."""
    with init_scope():
        return key.object(*map(np.asarray, values))


@custom(op="HostCall", infer=infer_dtypes, groups=("-",), n_outputs=None, effect="host", reason="it calls a function")
def host_call_p(*values: Array, key: Held, dtypes: tuple[str, ...]) -> Any:
    """Call a function of this package with arrays: its results; what it raises is raised."""
    with init_scope():
        return tuple([np.asarray(each) for each in key.object(*map(np.asarray, values))])


#: A result: its dtype, the operand whose shape it has (None: it is a scalar), the axis along which that has another
#: extent (None: there is none).
Like = tuple[DType, int | None, int | None]


def _infer_communicated(
    *values: Aval, key: Held, dtypes: tuple[str, ...], like: tuple[tuple[int | None, int | None], ...], early: bool
) -> tuple[Aval, ...]:
    found = []
    for name, (operand, axis) in zip(dtypes, like, strict=True):
        shape = () if operand is None else values[operand].shape
        if axis is not None and shape is not None:
            axis %= len(shape)
            shape = (*shape[:axis], None, *shape[axis + 1 :])
        found.append(Aval(as_dtype(name), shape))
    return tuple(found)


@custom(
    op="Communicate", infer=_infer_communicated, groups=("-",), n_outputs=None, effect="host", reason="it calls MPI"
)
def communicate_p(
    *values: Array, key: Held, dtypes: tuple[str, ...], like: tuple[tuple[int | None, int | None], ...], early: bool
) -> Any:
    """Call a function of this package that talks with other processes, and uses no Variable.

    early: it runs as soon as its operands are there, before what the program does in between.
    """
    with init_scope():
        return tuple([np.asarray(each) for each in key.object(*map(np.asarray, values))])


def communicated(
    function: Callable[..., Sequence[Any]], inputs: Sequence[Any], *results: Like, early: bool = False
) -> list[Any]:
    """The results of a function of arrays that talks with other processes: one such call after the other."""
    attrs = {
        "key": Held(f"{getattr(function, '__qualname__', type(function).__name__)}_{next(_names)}", function),
        "dtypes": tuple([dtype.name for dtype, _, _ in results]),
        "like": tuple([like[1:] for like in results]),
        "early": early,
    }
    process.staged += 1
    made = bind(get("communicate"), tuple(inputs), attrs)
    return list(made) if isinstance(made, tuple | list) else [made]


def host_call(
    function: Callable[..., Sequence[Any]], inputs: Sequence[Any], *results: tuple[DType, Any],
    written: tuple[str, str, dict[str, Any]] | None = None,
) -> list[Any]:  # fmt: skip
    """The results of a function of arrays, run on the host, in a graph at every run: tensors of (dtype, shape).

    `written`: the operation that it is in files, the names of its results there, and its attributes.
    """
    called = Held(f"{function.__qualname__}_{next(_names)}", function, written)
    names = tuple([dtype.name for dtype, _ in results])
    made = bind(get("host_call"), tuple(inputs), {"key": called, "dtypes": names})
    found = list(made) if isinstance(made, tuple | list) else [] if made is None else [made]
    for tensor, (_, shape) in zip(found, results, strict=True):
        tensor.set_shape(shape)
    return found


# ---- the public functions -------------------------------------------------------------------------------------------


def _specs(Tout: Any) -> tuple[list[Any], bool]:
    """The specs of the results, and whether these are a list."""
    many = isinstance(Tout, (list, tuple))
    specs = [item if isinstance(item, TypeSpec) else as_dtype(item) for item in (Tout if many else [Tout])]
    return specs, many


def _applied(op: str, function: Callable[..., Any], inputs: list[Any], Tout: Any, name: str | None) -> Any:
    """Add the node that calls `function` with tensors or arrays, and return its results as `Tout` says."""
    specs, many = _specs(Tout)
    parts: list[Any] = []
    for spec in specs:
        parts += flatten(spec, expand_composites=True) if isinstance(spec, TypeSpec) else [spec]
    dtypes = [part.dtype if isinstance(part, TensorSpec) else part for part in parts]
    attrs = {"key": _held(_Called(function, dtypes)), "dtypes": tuple([dtype.name for dtype in dtypes])}
    results = list(bind_named(name, get(op), tuple(inputs), attrs) or ())
    for tensor, part in zip(results, parts, strict=False):
        if isinstance(part, TensorSpec) and hasattr(tensor, "set_shape"):
            tensor.set_shape(part.shape)
    made: list[Any] = []
    for spec in specs:
        n = len(flatten(spec, expand_composites=True)) if isinstance(spec, TypeSpec) else 1
        own, results = results[:n], results[n:]
        made.append(pack_sequence_as(spec, own, expand_composites=True) if isinstance(spec, TypeSpec) else own[0])
    if many and not specs:  # called for its effects
        return operation_made()
    return made if many else made[0]


def _callable(func: object) -> None:
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func} of type {type(func)}.")


def _as_decorator(op: Callable[..., Any], func: Any, inp: Any, Tout: Any, **rest: Any) -> Any:
    """The decorator of a function where none was given, else None. Raises: TypeError for arguments that lack."""
    public_name = f"tf.{op.__name__}"
    if Tout is None:
        raise TypeError(
            f"Missing required argument: 'Tout'\n  If using {public_name} as a decorator, set `Tout`\n  **by name** "
            f"above the function:\n  `@{public_name}(Tout=tout)`"
        )
    if func is not None:
        if inp is None:
            raise TypeError(
                "Missing argument `inp`:\n  You must set the `inp` argument (the list of arguments to the\n  "
                f"function), unless you use `{public_name}` as a decorator(`func=None`)."
            )
        return None
    if inp is not None:
        raise TypeError(f"Don't set the `inp` argument when using {public_name} as a decorator (`func=None`).")

    def decorate(function: Any) -> Any:
        return functools.wraps(function)(lambda *args: op(function, args, Tout, **rest))

    return decorate


@public("py_function")
def py_function(func: Any = None, inp: Sequence[Any] | None = None, Tout: Any = None, name: str | None = None) -> Any:
    """Results of the Python function `func` for eager tensors, called anew whenever a graph comes to this place.

    `Tout` is the dtype or spec of the result, or a list of them (empty: func is called for its effects). Tensors,
    ragged and sparse ones too, may go in and out; gradients flow, to any order, through what func computes.
    Raises: InvalidArgumentError for results that do not fit and for a ValueError or TypeError in func, OutOfRangeError
    for StopIteration, ResourceExhaustedError for MemoryError, UnimplementedError for NotImplementedError, UnknownError
    for all else that func raises. Without `func` (and `inp`), a decorator. Source: tf.py_function.
    """
    decorator = _as_decorator(py_function, func, inp, Tout, name=name)
    if decorator is not None:
        return decorator
    _callable(func)
    structure = [item if _is_composite(item) else convert(item) for item in (() if inp is None else inp)]
    flat = flatten(structure, expand_composites=True)
    if current_trace() is None:
        specs, many = _specs(Tout)
        results = _eager_results(func, structure, specs)
        return results if many else results[0]
    layout = [getattr(item, "_type_spec", None) if _is_composite(item) else None for item in structure]

    def call(*tensors: Tensor) -> Any:
        rest = iter(tensors)
        arguments = []
        for spec in layout:
            n = 1 if spec is None else len(flatten(spec, expand_composites=True))
            own = [next(rest) for _ in range(n)]
            arguments.append(own[0] if spec is None else pack_sequence_as(spec, own, expand_composites=True))
        results = func(*arguments)
        if _is_composite(results):
            return flatten(results, expand_composites=True)
        if isinstance(results, (list, tuple)) and any(_is_composite(item) for item in results):
            return [part for item in results for part in flatten(item, expand_composites=True)]
        return results

    return _applied("eager_py_func", call, flat, Tout, name)


def _is_composite(value: TensorLike | None) -> bool:
    spec = None if isinstance(value, Tensor) else getattr(value, "_type_spec", None)
    return isinstance(spec, TypeSpec) and spec._is_composite


def _eager_results(func: Callable[..., Any], inputs: Sequence[Any], specs: Sequence[Any]) -> list[Any]:
    """Call the function now; tapes see what it does."""
    called = _Called(func, [spec.dtype if isinstance(spec, TensorSpec) else spec for spec in specs])
    if not any(isinstance(spec, TypeSpec) and not isinstance(spec, TensorSpec) for spec in specs):
        return called.tensors(inputs)
    try:
        results = func(*inputs)
    except Exception as error:
        raise as_op_error(error) from error
    return list(results) if isinstance(results, (list, tuple)) else [results]


@public("numpy_function")
def numpy_function(
    func: Any = None, inp: Sequence[Any] | None = None, Tout: Any = None, stateful: bool = True, name: str | None = None
) -> Any:
    """Results of the Python function `func` for NumPy arrays, called anew whenever a graph comes to this place.

    `Tout` is the dtype of the result, or a list of them. There is no gradient; `stateful` changes nothing. Outside a
    graph what func raises is raised as it is, results keep their dtypes, and func gets arrays as NumPy makes them of
    the inputs; in a graph scalars are NumPy's scalars, or bytes.
    Raises: in a graph, InvalidArgumentError for results of another number or dtype than `Tout`'s, and as py_function.
    Without `func` (and `inp`), a decorator. Source: tf.numpy_function.
    """
    decorator = _as_decorator(numpy_function, func, inp, Tout, stateful=stateful, name=name)
    if decorator is not None:
        return decorator
    _callable(func)
    given = () if inp is None else inp
    if current_trace() is None:
        results = flatten(func(*[np.array(item) for item in given]))
        made = [None if result is None else convert(result) for result in results]
        return made[0] if len(made) == 1 else made
    return _applied("py_func", func, [convert(item) for item in given], Tout, name)
