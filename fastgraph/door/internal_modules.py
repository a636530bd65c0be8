"""Modules of TensorFlow's inside that libraries import: files beside modules, parameters of functions, names kept.

Rule: the caller's own module or function is asked; nothing here knows of tensors, but for weights and conversions.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import fastgraph as tf
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import SizeLike, TensorLike
from fastgraph.door.internal_weights import broadcast_weights

_FUTURE = ("absolute_import", "division", "print_function", "os", "sys")
_MENTIONED = re.compile(r"^@@([a-zA-Z0-9_.]+)[^\S\n]*$", re.MULTILINE)
_hidden: dict[tuple[str, str], Any] = {}


# ---- util.all_util --------------------------------------------------------------------------------------------------


def make_all(module_name: str, doc_string_modules: Sequence[Any] | None = None) -> list[str]:
    """Return the names of a module that its documentation, or that of others, mentions as `@@name`."""
    mentioned: set[str] = set()
    for module in [sys.modules[module_name]] if doc_string_modules is None else doc_string_modules:
        mentioned.update(_MENTIONED.findall(module.__doc__ or ""))
    there = {name for name, _ in inspect.getmembers(sys.modules[module_name])}
    return sorted(each for each in mentioned if each in there)


def remove_undocumented(
    module_name: str, allowed_exception_list: Sequence[str] | None = None, doc_string_modules: Any = None
) -> None:
    """Take from a module the names that are not documented, private or allowed; reveal_undocumented gives them back."""
    module = sys.modules[module_name]
    kept = {*make_all(module_name, doc_string_modules), *(allowed_exception_list or ()), *_FUTURE}
    for name in dir(module):
        if not name.startswith("_") and name not in kept:
            _hidden[f"{module_name}.{name}".rpartition(".")[::2]] = getattr(module, name)
            delattr(module, name)


def reveal_undocumented(symbol_name: str, target_module: Any = None) -> None:
    """Give a module back a name that remove_undocumented took. Raises LookupError for another one."""
    where, _, name = symbol_name.rpartition(".")
    if (where, name) not in _hidden:
        raise LookupError(f"{symbol_name} is not a hidden symbol")
    setattr(target_module or sys.modules[where], name, _hidden[where, name])


# ---- platform.resource_loader ---------------------------------------------------------------------------------------


def get_data_files_path() -> str:
    """Return the folder of the module that calls this."""
    return os.path.dirname(inspect.getfile(sys._getframe(1)))


def get_path_to_datafile(path: str) -> str:
    """Return the path of a file beside the module that calls this."""
    return os.path.join(os.path.dirname(inspect.getfile(sys._getframe(1))), path)


def load_resource(path: str) -> bytes:
    """Return what is in a file beside the module that calls this. Raises OSError."""
    with open(os.path.join(os.path.dirname(inspect.getfile(sys._getframe(1))), path), "rb") as file:
        return file.read()


def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Return the path: nothing is read ahead."""
    return path


# ---- util.function_utils --------------------------------------------------------------------------------------------


def fn_args(fn: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a callable's parameters, of methods without the instance, of partials those left open."""
    if isinstance(fn, functools.partial):
        return tuple([name for name in fn_args(fn.func)[len(fn.args) :] if name not in fn.keywords])
    called: Any = fn if inspect.isroutine(fn) or inspect.isclass(fn) else type(fn).__call__
    found = inspect.getfullargspec(called).args
    bound = inspect.ismethod(fn) or not inspect.isroutine(fn)
    return tuple(found[1:] if bound and found else found)


def has_kwargs(fn: Callable[..., Any]) -> bool:
    """Return whether a callable takes any argument by name. Raises TypeError for what is not callable."""
    if isinstance(fn, functools.partial):
        return has_kwargs(fn.func)
    if not callable(fn):
        raise TypeError(f"Argument `fn` should be a callable. Received: fn={fn} (of type {type(fn)})")
    return inspect.getfullargspec(fn).varkw is not None


def get_func_name(func: Callable[..., Any]) -> str:
    """Return the name of a callable, of a lambda its line. Raises ValueError for what is not callable."""
    if not callable(func):
        raise ValueError(f"Argument `func` must be a callable. Received func={func} (of type {type(func)})")
    while isinstance(func, functools.partial):
        func = func.func
    return str(getattr(func, "__name__", type(func)))


def get_func_code(func: Callable[..., Any]) -> Any:
    """Return the code of a callable, None where it is not Python's. Raises ValueError for what is not callable."""
    if not callable(func):
        raise ValueError(f"Argument `func` must be a callable. Received func={func} (of type {type(func)})")
    while isinstance(func, functools.partial):
        func = func.func
    return getattr(func if hasattr(func, "__code__") else type(func).__call__, "__code__", None)


# ---- compat.compat --------------------------------------------------------------------------------------------------


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return True: what is written from now on may need this version."""
    return True


@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """A context that changes nothing: there is one way to write what is saved."""
    yield


# ---- ops.weights_broadcast_ops, ops.ragged.ragged_conversion_ops ----------------------------------------------------


def assert_broadcastable(weights: TensorLike, values: TensorLike) -> Any:
    """Return an operation that fails unless weights can be broadcast to values. Raises as broadcast_weights does."""
    return tf.group(broadcast_weights(weights, values))


def to_tensor(
    rt_input: RaggedTensor | TensorLike, default_value: TensorLike | None = None, name: str | None = None
) -> Any:
    """Return a ragged tensor's rows filled up to one length; another tensor as it is."""
    if not isinstance(rt_input, RaggedTensor):
        return tf.convert_to_tensor(rt_input)
    return rt_input.to_tensor(default_value, name=name)


def ragged_to_dense(
    rt_input: RaggedTensor, default_value: TensorLike | None = None, shape: SizeLike | None = None
) -> Any:
    """Return a ragged tensor's rows filled up to one shape."""
    return rt_input.to_tensor(default_value=default_value, shape=shape)


def to_sparse(rt_input: RaggedTensor, name: str | None = None) -> Any:
    """Return a ragged tensor's values as a SparseTensor."""
    return rt_input.to_sparse(name)


def from_tensor(
    tensor: TensorLike, lengths: Any = None, padding: Any = None, ragged_rank: int = 1,
    row_splits_dtype: DTypeLike = "int64", name: str | None = None,
) -> Any:  # fmt: skip
    """Return a tensor's rows as a ragged tensor, which tensors with ragged rows stay."""
    if isinstance(tensor, RaggedTensor):
        return tensor
    return RaggedTensor.from_tensor(tensor, lengths, padding, ragged_rank, name, row_splits_dtype)


def from_sparse(st_input: Any, name: str | None = None) -> Any:
    """Return a SparseTensor's rows as a ragged tensor."""
    return RaggedTensor.from_sparse(st_input, name)
