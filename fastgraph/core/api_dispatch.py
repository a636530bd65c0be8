"""tf.experimental.dispatch_for_*: what public functions do to values of users' own types.

Rule: a public function has other code only while something is registered for it; until then a call costs what it did.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from fastgraph.core.base.composite import CompositeTensor
from fastgraph.core.name_scopes import name_scope
from fastgraph.core.registry import public_function

_UNARY_IN = {
    "": "cast clip_by_value ones_like zeros_like",
    "bitwise": "invert",
    "debugging": "check_numerics",
    "dtypes": "saturate_cast",
    "image": "adjust_brightness adjust_gamma convert_image_dtype random_brightness stateless_random_brightness",
    "io": "decode_base64 decode_compressed encode_base64",
    "math": "abs acos acosh angle asin asinh atan atanh bessel_i0 bessel_i0e bessel_i1 bessel_i1e ceil conj cos cosh "
    "digamma erf erfc erfcinv erfinv exp expm1 floor imag is_finite is_inf is_nan lgamma log log1p log_sigmoid "
    "logical_not ndtri negative nextafter real reciprocal reciprocal_no_nan rint round rsqrt sigmoid sign sin sinh "
    "softplus sqrt square tan tanh",
    "math.special": "bessel_j0 bessel_j1 bessel_k0 bessel_k0e bessel_k1 bessel_k1e bessel_y0 bessel_y1 dawsn expint "
    "fresnel_cos fresnel_sin spence",
    "nn": "elu gelu leaky_relu relu relu6 selu silu softsign",
    "strings": "as_string length lower regex_full_match regex_replace strip substr to_hash_bucket to_hash_bucket_fast "
    "to_hash_bucket_strong to_number unicode_script unicode_transcode upper",
}
_BINARY_IN = {
    "": "complex realdiv truncatediv truncatemod",
    "bitwise": "bitwise_and bitwise_or bitwise_xor left_shift right_shift",
    "math": "add atan2 divide divide_no_nan equal floordiv floormod greater greater_equal less less_equal logical_and "
    "logical_or logical_xor maximum minimum multiply multiply_no_nan not_equal pow scalar_mul squared_difference "
    "subtract truediv xdivy xlog1py xlogy zeta",
    "nn": "sigmoid_cross_entropy_with_logits",
}
_ASSERTS_IN = {
    "debugging": "assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near "
    "assert_none_equal"
}
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _checker(annotation: Any) -> Callable[[Any], bool]:
    """Return a check of values: a class, List[...] of one, or a Union, as the annotation says."""
    origin, inner = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType):
        options = [_checker(each) for each in inner]
        return lambda value: any(option(value) for option in options)
    if origin is list and inner:
        each = _checker(inner[0])
        return lambda value: isinstance(value, (list, tuple)) and len(value) > 0 and all(map(each, value))
    if isinstance(annotation, type) and origin is None:
        return lambda value: isinstance(value, annotation)
    raise ValueError(
        f"Type annotation {annotation} is not currently supported by dispatch.  Supported annotations: type objects,  "
        "List[...], and Union[...]"
    )


_foreign: dict[type, bool] = {}


def is_foreign(value: Any) -> bool:
    """Return whether public functions know nothing of a value: it is a composite, or of a class of users'."""
    kind = type(value)
    if kind is list or kind is tuple:
        return any(map(is_foreign, value))
    if kind not in _foreign:
        if len(_foreign) > 1000:  # classes made at run time must not be kept for ever
            _foreign.clear()
        house = kind.__module__.partition(".")[0] in ("builtins", "numpy", "tensorflow", __name__.partition(".")[0])
        _foreign[kind] = issubclass(kind, CompositeTensor) or not house
    return _foreign[kind]


class _Case:
    """One registration: the parameters that must be of certain types, and what is called then."""

    def __init__(self, signature: inspect.Signature, wanted: Any, target: Any, handler: Any) -> None:
        if not isinstance(wanted, dict) or not all(isinstance(key, str | int) for key in wanted):
            raise TypeError("signatures must be dictionaries mapping parameter names to type annotations.")
        self.target, self.handler = target, handler
        self.checks: list[tuple[int, str, Any, Callable[[Any], bool]]] = []
        names = list(signature.parameters)
        for key, annotation in wanted.items():
            name = names[key] if isinstance(key, int) and 0 <= key < len(names) else key
            parameter = signature.parameters.get(name)
            if parameter is None:
                raise ValueError(f"signature includes annotation for unknown parameter {name!r}.")
            if parameter.kind not in _POSITIONAL:
                raise ValueError(
                    "Dispatch currently only supports type annotations for positional parameters; can't handle "
                    f"annotation for {parameter.kind!r} parameter {name}."
                )
            self.checks.append((names.index(name), name, parameter.default, _checker(annotation)))

    def fits(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Return whether the arguments of a call are of these types, and one of them is no tensor."""
        given = [args[at] if at < len(args) else kwargs.get(name, default) for at, name, default, _ in self.checks]
        checks = [check for *_, check in self.checks]
        return any(map(is_foreign, given)) and all(check(each) for check, each in zip(checks, given, strict=True))


class _Api:
    """A public function for which something is registered: its own code, and the cases that come before it.

    The function keeps its identity, so that whoever has imported it before sees the cases too; only its code is
    another, which leads here.
    """

    def __init__(self, function: types.FunctionType) -> None:
        self.function = function
        self.signature = inspect.signature(function)
        self.cases: list[_Case] = []
        self.own = types.FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        self.own.__kwdefaults__ = function.__kwdefaults__

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        targets: list[Any] = []
        for case in self.cases if any(map(is_foreign, (*args, *kwargs.values()))) else ():
            if case.target not in targets and case.fits(args, kwargs):
                targets.append(case.target)
        if len(targets) > 1:
            both = " and ".join([str(getattr(target, "__wrapped__", target)) for target in targets])
            raise ValueError(
                f"Multiple dispatch targets that were registered with tf.dispatch_for ({both}) match the arguments to "
                f"{self.own.__name__}"
            )
        found = targets[0](*args, **kwargs) if targets else NotImplemented
        return self.own(*args, **kwargs) if found is NotImplemented else found

    def open(self) -> None:
        """Let calls of the function come here."""
        self.function.__code__ = leading_code(self.function, {"cases": self}, "return {cases}(args, kwargs)")
        function = self.function
        function.__signature__ = self.signature  # type: ignore[attr-defined]

    def close(self) -> None:
        """Give the function its own code back."""
        self.function.__code__ = self.own.__code__
        del self.function.__signature__  # type: ignore[attr-defined]


def leading_code(function: types.FunctionType, led_to: dict[str, Any], body: str) -> types.CodeType:
    """Return code of another body for a function: it takes `args` and `kwargs`, and {name} in it is of `led_to`.

    What it leads to stands among its constants, so that nothing is written into the function's module.
    """
    n_cells = len(function.__closure__ or ())  # as many as the code that it replaces
    code = _template(n_cells, body, tuple(led_to))
    constants = tuple(
        led_to[each[1:]] if isinstance(each, str) and each[:1] == "\0" else each for each in code.co_consts
    )
    return code.replace(co_consts=constants, co_name=function.__name__, co_qualname=function.__qualname__)


@functools.cache
def _template(n_cells: int, body: str, names: tuple[str, ...]) -> types.CodeType:
    """Return code in which texts of a zero and a name stand for the objects that it leads to."""
    cells = ", ".join(f"cell_{i}" for i in range(n_cells))
    source = (
        f"def make({cells}):\n    def call(*args, **kwargs):\n        if 0:\n            ({cells})\n"
        f"        {body.format(**{name: repr(chr(0) + name) for name in names})}\n    return call"
    )
    scope: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # that texts are called
        exec(source, scope)
    code: types.CodeType = scope["make"](*range(n_cells)).__code__
    return code


_apis: dict[Any, _Api] = {}
_handlers: dict[tuple[Any, ...], Any] = {}


def _api(function: Any) -> _Api:
    """The record of a public function. Raises ValueError for what is none."""
    found = _apis.get(function) if callable(function) else None
    if found is not None:
        return found
    plain = isinstance(function, types.FunctionType) and function.__globals__["__name__"].startswith("fastgraph.")
    if not plain:
        raise ValueError(f"{function} does not support dispatch.")
    return _Api(function)


def _register(api: _Api, case: _Case) -> None:
    api.cases.append(case)
    if api.function not in _apis:
        _apis[api.function] = api
        api.open()


def _taking_name(target: Any, signature: inspect.Signature) -> Any:
    """`target`, or, where it takes no `name` and the function does, what calls it within that name scope."""
    names = list(signature.parameters)
    own = inspect.signature(target).parameters
    if "name" not in names or "name" in own or any(p.kind is inspect.Parameter.VAR_KEYWORD for p in own.values()):
        return target
    at = names.index("name")

    def named(*args: Any, **kwargs: Any) -> Any:
        name = args[at] if len(args) > at else kwargs.pop("name", None)
        with nullcontext() if name is None else name_scope(name):
            return target(*args[:at], *args[at + 1 :], **kwargs)

    named.__wrapped__ = target  # type: ignore[attr-defined]
    return named


def dispatch_for_api(api: Any, *signatures: dict[str | int, Any]) -> Callable[[Any], Any]:
    """Decorate a function that stands for a public one where its arguments are of the given types.

    signatures: dicts from names of parameters, or their places, to types (classes, `List[...]` of them, Unions);
    without any, the annotations of the decorated function, which has the parameters of `api` (`name` may be missing)
    and may return NotImplemented. Raises ValueError for other functions, names of parameters and types.
    Source: tf.experimental.dispatch_for_api.
    """
    record = _api(api)
    for signature in signatures:
        _Case(record.signature, signature, None, None)

    def decorate(target: Any) -> Any:
        if not callable(target):
            raise TypeError(f"Expected dispatch_target to be callable; got {target!r}")
        record, own = _api(api), inspect.signature(target)
        names, others = ([name for name in each.parameters if name != "name"] for each in (own, record.signature))
        if names not in (others, ["args", "kwargs"]):
            raise ValueError(f"Dispatch function's signature {own} does not match API's signature {record.signature}.")
        hints = {} if signatures else typing.get_type_hints(target)
        wanted = signatures or ({name: hints[name] for name in own.parameters if name in hints},)
        if wanted == ({},):
            raise ValueError(
                "The dispatch_for_api decorator must be called with at least one signature, or applied to a function "
                "that has type annotations on its parameters."
            )
        called = _taking_name(target, record.signature)
        for signature in wanted:
            _register(record, _Case(record.signature, signature, called, target))
        return target

    return decorate


def unregister_dispatch_for(dispatch_target: Any) -> None:
    """Forget a function that one of the decorators has registered.

    Raises ValueError for any other. Source: tf.experimental.unregister_dispatch_for.
    """
    found = False
    for key in [key for key, handler in _handlers.items() if handler is dispatch_target]:
        del _handlers[key]
        found = True
    for api in list(_apis.values()):
        left = [case for case in api.cases if case.handler is not dispatch_target]
        found = found or len(left) < len(api.cases)
        api.cases = left
        if not left:
            del _apis[api.function]
            api.close()
    if not found:
        raise ValueError(f"Function {dispatch_target} was not registered using a `@dispatch_for_*` decorator.")


def _functions(spaces: dict[str, str]) -> list[Any]:
    """The public functions of these names that are built, in the order of the names."""
    found: dict[Any, None] = {}
    for space, names in spaces.items():
        for name in names.split():
            try:
                found[public_function(f"{space}.{name}".strip("."))] = None
            except KeyError:
                continue
    return list(found)


def _elementwise(kind: str, key: tuple[Any, ...], apis: dict[str, str]) -> Callable[[Any], Any]:
    n = len([each for each in key if each != "assert"])
    for annotation in key[:n]:
        _checker(annotation)

    def decorate(handler: Any) -> Any:
        if key in _handlers:
            shown = key[0] if n == 1 else f"({key[0]}, {key[1]})"
            raise ValueError(f"A {kind} dispatch handler ({_handlers[key]}) has already been registered for {shown}.")
        _handlers[key] = handler
        for function in _functions(apis):
            record = _api(function)
            names = list(record.signature.parameters)
            target = _applied(function, handler, names, n)
            wanted = dict(zip(names[:n], key, strict=False))
            _register(record, _Case(record.signature, wanted, target, handler))
        return handler

    return decorate


def _applied(function: Any, handler: Any, names: list[str], n: int) -> Any:
    """Calls of a handler with a public function and its first n arguments; others are bound to the function."""
    name_at = names.index("name") if "name" in names else len(names)

    def applied(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        name = given.pop("name", None) if name_at < len(names) else None
        operands = [given.pop(each) for each in names[:n]]
        bound = (lambda *values: function(*values, **given)) if given else function
        with nullcontext() if name is None else name_scope(name):
            return handler(bound, *operands)

    return applied


def dispatch_for_unary_elementwise_apis(x_type: Any) -> Callable[[Any], Any]:
    """Decorate `handler(api_func, x)`, which stands for all public functions of single elements of an `x_type`.

    Raises ValueError if there is one already. Source: tf.experimental.dispatch_for_unary_elementwise_apis.
    """
    return _elementwise("unary elementwise", (x_type,), _UNARY_IN)


def dispatch_for_binary_elementwise_apis(x_type: Any, y_type: Any) -> Callable[[Any], Any]:
    """Decorate `handler(api_func, x, y)`, which stands for all public functions of two elements of these types.

    Raises ValueError if there is one already. Source: tf.experimental.dispatch_for_binary_elementwise_apis.
    """
    return _elementwise("binary elementwise", (x_type, y_type), _BINARY_IN)


def dispatch_for_binary_elementwise_assert_apis(x_type: Any, y_type: Any) -> Callable[[Any], Any]:
    """Decorate `handler(assert_func, x, y)`, which stands for the assertions about two values of these types.

    Raises ValueError if there is one already. Source: tf.experimental.dispatch_for_binary_elementwise_assert_apis.
    """
    return _elementwise("binary elementwise assert", (x_type, y_type, "assert"), _ASSERTS_IN)
