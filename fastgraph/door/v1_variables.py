"""tf.compat.v1's Variables, initializers, scopes of Variables, and functions wrapped from programs that build graphs.

Rule: a Variable is TensorFlow 2's and is initialized when it is made: what initializes Variables does nothing. Names
belong to the graph under construction; in eager mode each get_variable makes one.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

import fastgraph as tf
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.shapes import ShapeLike
from fastgraph.core.conversion import SizeLike
from fastgraph.core.tensor import current_trace
from fastgraph.door.v1_arguments import taken
from fastgraph.errors import NotBuiltError

AUTO_REUSE = "AUTO_REUSE"
_VARIABLE = (
    "initial_value trainable collections validate_shape caching_device name variable_def dtype expected_shape "
    "import_scope constraint use_resource synchronization aggregation shape experimental_enable_variable_lifting"
)
_GET = (
    "name shape dtype initializer regularizer trainable collections caching_device partitioner validate_shape "
    "use_resource custom_getter constraint synchronization aggregation"
)
_SCOPE = (
    "name_or_scope default_name values initializer regularizer caching_device partitioner custom_getter reuse dtype "
    "use_resource constraint auxiliary_name_scope"
)


def _refuse(given: dict[str, Any], *names: str) -> None:
    for name in names:
        if given.pop(name, None) is not None:
            raise NotBuiltError(f"tf.compat.v1: the argument {name!r} of Variables and their scopes is not built.")


class _AnyVariable(type):
    """The class that every Variable is of, and whose call makes one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, tf.Variable)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        given = taken("Variable", _VARIABLE, args, kwargs)
        _refuse(given, "variable_def")
        if not given.pop("validate_shape", True):
            given["shape"] = tf.TensorShape(None)
        unused = ("collections", "caching_device", "expected_shape", "import_scope", "use_resource")
        return tf.Variable(**{key: value for key, value in given.items() if key not in unused})


class Variable(metaclass=_AnyVariable):
    """A Variable, with the parameters of TensorFlow 1. Source: tf.compat.v1.Variable."""


# ---- initializers ---------------------------------------------------------------------------------------------------


def _uniform(shape: ShapeLike, dtype: DTypeLike, minval: Any = 0.0, maxval: Any = None, seed: int | None = None) -> Any:
    return tf.random.uniform(shape, minval, maxval, dtype, seed=seed)


def _normal(shape: ShapeLike, dtype: DTypeLike, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None) -> Any:
    return tf.random.normal(shape, mean, stddev, dtype, seed=seed)


def _truncated(shape: ShapeLike, dtype: DTypeLike, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None) -> Any:
    return tf.random.truncated_normal(shape, mean, stddev, dtype, seed=seed)


def _scaled(shape: ShapeLike, dtype: DTypeLike, scale: float = 1.0, mode: str = "fan_in", distribution: str =
            "truncated_normal", seed: int | None = None) -> Any:  # fmt: skip
    """Numbers whose variance is `scale` over the inputs, the outputs, or the mean of both."""
    if scale <= 0.0:
        raise ValueError(f"Argument `scale` must be a positive float. Received: {scale}")
    dims: list[Any] = tf.TensorShape(shape).as_list()
    field = math.prod(dims[:-2])
    fans: Any = (dims[-2] * field, dims[-1] * field) if len(dims) > 1 else (dims * 2 or [1, 1])
    n = {"fan_in": fans[0], "fan_out": fans[1], "fan_avg": sum(fans) / 2}[mode]
    deviation = math.sqrt(scale / max(1.0, n))
    if distribution == "uniform":
        limit = math.sqrt(3.0) * deviation
        return tf.random.uniform(shape, -limit, limit, dtype, seed=seed)
    if distribution == "untruncated_normal":
        return tf.random.normal(shape, 0.0, deviation, dtype, seed=seed)
    # 0.8796...: the deviation of a normal number cut at two deviations
    return tf.random.truncated_normal(shape, 0.0, deviation / 0.87962566103423978, dtype, seed=seed)


def _orthogonal(shape: ShapeLike, dtype: DTypeLike, gain: float = 1.0, seed: int | None = None) -> Any:
    dims: list[Any] = tf.TensorShape(shape).as_list()
    if len(dims) < 2:
        raise ValueError("The tensor to initialize, specified by argument `shape` must be at least two-dimensional.")
    rows, columns = math.prod(dims[:-1]), dims[-1]
    flat = (rows, columns) if rows > columns else (columns, rows)
    q, r = tf.linalg.qr(tf.random.normal(flat, dtype=dtype, seed=seed))
    q = q * tf.sign(tf.linalg.diag_part(r))
    return gain * tf.reshape(q if rows > columns else tf.linalg.matrix_transpose(q), dims)


def _identity(shape: ShapeLike, dtype: DTypeLike, gain: float = 1.0) -> Any:
    dims: list[Any] = tf.TensorShape(shape).as_list()
    if len(dims) != 2:
        raise ValueError(
            "The tensor to initialize, specified by argument `shape` must be at least two-dimensional. "
            f"Received shape={shape}"
        )
    return tf.eye(dims[0], dims[1], dtype=dtype) * gain


def _unit_scaled(shape: ShapeLike, dtype: DTypeLike, factor: float = 1.0, seed: int | None = None) -> Any:
    """Numbers as large as keep the deviation of inputs through a product with them."""
    dims: list[Any] = tf.TensorShape(shape).as_list()
    limit = math.sqrt(3.0 / max(math.prod(dims[:-1]), 1)) * factor
    return tf.random.uniform(shape, -limit, limit, dtype, seed=seed)


#: name -> (the parameters, dtype among them; what makes the numbers).
INITIALIZERS: dict[str, tuple[str, Callable[..., Any]]] = {
    "constant": ("value dtype verify_shape", lambda shape, dtype, value=0, verify_shape=False: tf.constant(value, dtype,
                                                                                                        shape)),
    "zeros": ("dtype", tf.zeros),
    "ones": ("dtype", tf.ones),
    "random_uniform": ("minval maxval seed dtype", _uniform),
    "random_normal": ("mean stddev seed dtype", _normal),
    "truncated_normal": ("mean stddev seed dtype", _truncated),
    "variance_scaling": ("scale mode distribution seed dtype", _scaled),
    "glorot_uniform": ("seed dtype", functools.partial(_scaled, mode="fan_avg", distribution="uniform")),
    "glorot_normal": ("seed dtype", functools.partial(_scaled, mode="fan_avg")),
    "he_normal": ("seed dtype", functools.partial(_scaled, scale=2.0)),
    "he_uniform": ("seed dtype", functools.partial(_scaled, scale=2.0, distribution="uniform")),
    "lecun_normal": ("seed dtype", _scaled),
    "lecun_uniform": ("seed dtype", functools.partial(_scaled, distribution="uniform")),
    "orthogonal": ("gain seed dtype", _orthogonal),
    "identity": ("gain dtype", _identity),
    "uniform_unit_scaling": ("factor seed dtype", _unit_scaled),
}  # fmt: skip


_OF_ANY_DTYPE = ("constant", "zeros", "ones", "random_uniform")


class Initializer:
    """A function of shape and dtype, made by the parameters of TensorFlow 1."""

    _name = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._given = taken(self._name, INITIALIZERS[self._name][0], args, kwargs)
        self.dtype = tf.as_dtype(self._given.pop("dtype", tf.float32))
        if self._name not in _OF_ANY_DTYPE and not self.dtype.is_floating:
            raise ValueError(f"Argument `dtype` is expected to be floating point. Received: {self.dtype}.")
        value = self._given.get("value", 0)
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value={value} of type: {type(value).__name__}. Expected Python scalar, list "
                "or tuple of values, or numpy.ndarray."
            )

    def __call__(self, shape: ShapeLike, dtype: DTypeLike | None = None, partition_info: Any = None) -> Any:
        kind = self.dtype if dtype is None else tf.as_dtype(dtype)
        return INITIALIZERS[self._name][1](shape, kind, **self._given)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments."""
        return {**self._given, "dtype": self.dtype.name}


for _name in INITIALIZERS:
    _made = type(f"{_name}_initializer", (Initializer,), {"_name": _name, "__doc__": f"Initializer: {_name}."})
    globals()[f"{_name}_initializer"] = globals()[f"initializers_{_name}"] = _made


# ---- scopes ---------------------------------------------------------------------------------------------------------


class VariableScope:
    """A scope, and the choices that get_variable takes from it. Source: tf.compat.v1.VariableScope."""

    def __init__(self, reuse: Any, name: str = "", original_name_scope: str = "", dtype: Any = tf.float32,
                 initializer: Any = None, custom_getter: Any = None, constraint: Any = None) -> None:  # fmt: skip
        self.reuse, self.name, self.initializer, self.custom_getter = reuse, name, initializer, custom_getter
        self.original_name_scope, self.dtype, self.constraint = original_name_scope, dtype, constraint
        self.caching_device: Any = None

    def reuse_variables(self) -> None:
        """Give from now on only Variables that are there."""
        self.reuse = True

    def set_initializer(self, initializer: Any) -> None:
        """Set the initializer of Variables without one."""
        self.initializer = initializer

    def set_caching_device(self, caching_device: Any) -> None:
        """Note a device for copies of Variables, or a function that names it. None are made: all read one memory."""
        self.caching_device = caching_device


class VariableStore:
    """The Variables of one graph, by their names; what is asked for again when a function is traced again is there."""

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.fresh: set[str] | None = None  # the names of this trace, where there are several
        self.made: list[Any] = []
        self.at = 0
        self.is_named = False  # whether the Variable that is made now is get_variable's

    def known(self, name: str) -> bool:
        return name in (self.variables if self.fresh is None else self.fresh)

    def get(self, name: str, make: Callable[[], Any]) -> Any:
        if name not in self.variables:
            self.is_named = True
            try:
                self.variables[name] = make()
            finally:
                self.is_named = False
        if self.fresh is not None:
            self.fresh.add(name)
        return self.variables[name]

    def creator(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Make a Variable without a name of its own; at another trace give the one made at this place."""
        if self.is_named:
            return next_creator(**kwargs)
        if self.at == len(self.made):
            self.made.append(next_creator(**kwargs))
        self.at += 1
        return self.made[self.at - 1]

    @contextlib.contextmanager
    def used(self) -> Any:
        """A context, that of one trace, in which get_variable's Variables are in here."""
        before, _local.store = _local.store, self
        self.fresh, self.at = set(), 0
        try:
            with tf.variable_creator_scope(self.creator):
                yield
        finally:
            _local.store = before


class _Local(threading.local):
    def __init__(self) -> None:
        self.scopes = [VariableScope(False)]
        self.counts: dict[str, int] = {}
        self.store: VariableStore | None = None


_local = _Local()
_stores: weakref.WeakKeyDictionary[Any, VariableStore] = weakref.WeakKeyDictionary()


def _store() -> VariableStore | None:
    """The store of the graph under construction, None in eager mode."""
    trace: Any = current_trace()
    if _local.store is not None or trace is None:
        return _local.store
    return _stores.setdefault(trace.root.graph, VariableStore())


def get_variable_scope() -> VariableScope:
    """Return the scope that get_variable is in."""
    return _local.scopes[-1]


class variable_scope:
    """A context in which the names of get_variable's Variables begin with `name_or_scope`: tf.compat.v1's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given = taken("variable_scope", _SCOPE, args, kwargs)
        _refuse(given, "regularizer", "partitioner")
        self._given, self._default = given.get("name_or_scope"), given.get("default_name")
        if self._given is None and self._default is None:
            raise TypeError("If default_name is None then name_or_scope is required")
        self._reuse, self._aux = given.get("reuse"), given.get("auxiliary_name_scope", True)
        self._options = {key: given.get(key) for key in ("initializer", "custom_getter", "dtype", "constraint")}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> VariableScope:
        outer, given = get_variable_scope(), self._given
        if isinstance(given, VariableScope):
            base, name, last = given, given.name, given.name.rpartition("/")[2]
        else:
            base, last = outer, given if given is not None else self._unique(f"{outer.name}/{self._default}")
            name = f"{outer.name}/{last}" if outer.name and last else outer.name or last
        reuse = self._reuse if self._reuse is not None else outer.reuse or base.reuse
        options = {key: getattr(base, key) if value is None else value for key, value in self._options.items()}
        if base.custom_getter is not None and (own := self._options["custom_getter"]) is not None:
            options["custom_getter"] = lambda get, *a, **k: own(functools.partial(base.custom_getter, get), *a, **k)
        scope = str(self._stack.enter_context(tf.name_scope(last))) if self._aux and last else ""
        counts = _local.counts
        counts[name] = counts.get(name, 0) + 1
        # Names in a scope that is entered anew are counted from nothing, and forgotten when it is left.
        self._counts = dict(counts) if isinstance(given, VariableScope) else None
        self._inside = f"{name}/"
        _local.scopes.append(VariableScope(reuse, name, scope, **options))
        return _local.scopes[-1]

    @staticmethod
    def _unique(key: str) -> str:
        """The last name of a scope of this name, or of the first one that follows it and is not taken."""
        key, n = key.strip("/"), 0
        while _local.counts.get(f"{key}_{n}" if n else key):
            n += 1
        last = key.rpartition("/")[2]
        return f"{last}_{n}" if n else last

    def __exit__(self, *error: object) -> None:
        if self._counts is not None:
            _local.counts = self._counts
        else:
            _local.counts = {key: n for key, n in _local.counts.items() if not key.startswith(self._inside)}
        _local.scopes.pop()
        self._stack.close()


def get_variable(*args: Any, **kwargs: Any) -> Any:
    """Return the Variable of a name in the scope: a new one, or if the scope reuses them the one that is there.

    Without an initializer a Variable of floats begins as glorot_uniform_initializer says, others with zeros. Raises
    ValueError for a Variable that is there, or is not. Source: tf.compat.v1.get_variable.
    """
    given = taken("get_variable", _GET, args, kwargs)
    _refuse(given, "regularizer", "partitioner")
    scope = get_variable_scope()
    for key in ("collections", "caching_device", "validate_shape", "use_resource"):
        given.pop(key, None)
    getter = given.pop("custom_getter", None) or scope.custom_getter
    given["name"] = f"{scope.name}/{given['name']}" if scope.name else given["name"]
    given["dtype"] = tf.as_dtype(_dtype(given.get("dtype"), given.get("initializer"), scope))
    for key in ("initializer", "constraint"):
        given[key] = given.get(key) if given.get(key) is not None else getattr(scope, key)
    given["reuse"] = scope.reuse
    return _found(**given) if getter is None else getter(_found, **given)


def _dtype(dtype: Any, initializer: Any, scope: VariableScope) -> Any:
    """The dtype of a Variable: that of the value which it begins with. Raises ValueError for another one."""
    if initializer is None or callable(initializer):
        return dtype or scope.dtype
    found = tf.convert_to_tensor(initializer).dtype
    if dtype and tf.as_dtype(dtype) != found:
        raise ValueError(f"Initializer type '{found}' and explicit dtype '{dtype}' don't match.")
    return found


def _found(name: str, shape: Any = None, reuse: Any = False, **given: Any) -> Any:
    store = _store()
    make = functools.partial(_new, name, shape, **given)
    if store is None:
        return make()
    if store.known(name):
        if not reuse:
            raise ValueError(f"Variable {name} already exists, disallowed. Did you mean to set reuse=True or "
                             "reuse=tf.AUTO_REUSE in VarScope?")  # fmt: skip
        known = store.variables[name].shape
        if shape is not None and not known.is_compatible_with(shape):
            raise ValueError(f"Trying to share variable {name}, but specified shape {tf.TensorShape(shape)} and found "
                             f"shape {known}.")  # fmt: skip
    elif reuse is True:
        raise ValueError(f"Variable {name} does not exist, or was not created with tf.get_variable(). Did you mean to "
                         "set reuse=tf.AUTO_REUSE in VarScope?")  # fmt: skip
    return store.get(name, make)


def _new(name: str, shape: SizeLike, initializer: Any = None, dtype: Any = None, **rest: Any) -> Any:
    with tf.name_scope(""):  # the name has the scope already
        return _variable(name, shape, initializer, dtype, **rest)


def _variable(name: str, shape: Any, initializer: Any, dtype: Any, **rest: Any) -> Any:
    begin: Any = initializer() if inspect.isclass(initializer) else initializer
    if begin is None:
        begin = globals()["glorot_uniform_initializer" if dtype.is_floating else "zeros_initializer"]()
    if not callable(begin):
        if shape is not None:
            raise ValueError("If initializer is a constant, do not specify shape.")
        return tf.Variable(begin, name=name, dtype=dtype, **rest)
    if shape is None or not tf.TensorShape(shape).is_fully_defined():
        raise ValueError(f"Shape of a new variable ({name}) must be fully defined, but instead was {shape}.")
    return tf.Variable(functools.partial(begin, tf.TensorShape(shape).as_list(), dtype=dtype), name=name, dtype=dtype,
                       **rest)  # fmt: skip


def get_local_variable(*args: Any, **kwargs: Any) -> Any:
    """Return get_variable(..., trainable=False)."""
    return get_variable(**{**taken("get_local_variable", _GET, args, kwargs), "trainable": False})


def global_variables(scope: str | None = None) -> list[Any]:
    """Return the Variables of get_variable in the graph under construction; in eager mode none."""
    store = _store()
    found = [] if store is None else list(store.variables.items())
    return [variable for name, variable in found if name.startswith(scope or "")]


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Return those that are trained."""
    return [variable for variable in global_variables(scope) if variable.trainable]


def global_variables_initializer(*args: Any, **kwargs: Any) -> Any:
    """Return an op that does nothing: Variables and tables are initialized when they are made."""
    return tf.group()


for _name in ["local_variables", "variables", "tables"]:
    globals()[f"{_name}_initializer"] = globals()[f"initializers_{_name}"] = global_variables_initializer
for _name in ["all_variables", "local_variables", "variables", "all_tables"]:
    globals()[f"initialize_{_name}"] = global_variables_initializer
initializers_global_variables = assert_variables_initialized = global_variables_initializer


def _scattered(method: str) -> Callable[..., Any]:
    def function(ref: Any, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None) -> Any:
        found = getattr(ref, method)
        return found(indices, updates) if "_nd_" in method else found(tf.IndexedSlices(updates, indices))

    function.__name__ = function.__qualname__ = method
    function.__doc__ = f"Update rows of a Variable and return it: {method} of TensorFlow 2's Variables."
    return function


for _name in ["add", "sub", "mul", "div", "min", "max", "update", "nd_add", "nd_sub", "nd_update"]:
    globals()[f"scatter_{_name}"] = _scattered(f"scatter_{_name}")
