"""The parameters of a traced function: how arguments are matched with them, and with an input_signature.

Rule: whichever way an argument is given (by position, by name, by default), it stands under its parameter's name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.shapes import Shape, compatible, generalises
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.registry import get
from fastgraph.core.tensor import Tensor, bind, convert
from fastgraph.errors import InputSignatureError, UnimplementedError
from fastgraph.staging.signature import cache_keys


class SignatureOfWrapped:
    """The signature of the Python function that an object wraps, for `inspect` to find."""

    def __get__(self, wrapper: Any, owner: type) -> inspect.Signature | None:
        if wrapper is None:  # a class is asked for its own
            return None
        try:
            return inspect.signature(wrapper.__wrapped__)
        except ValueError as error:  # that of a builtin is unknown
            raise AttributeError(str(error)) from None


class Parameters:
    """The parameters of a Python function; of a method those after the instance."""

    def __init__(self, function: Callable[..., Any], name: str, is_method: bool, input_signature: Any) -> None:
        self.name = name
        self.named, self.variadic, self.keywords = _parameters(function, is_method)
        self.positional = [p for p in self.named if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        self.input_signature = _input_signature(input_signature, name)
        self.is_empty = not (self.named or self.variadic or self.keywords)
        #: The parameters that an input_signature speaks of, in its order; *args takes what is left of it.
        self.specified = self.positional if self.variadic is not None else self.named
        self._names = [parameter.name for parameter in self.specified]
        #: Those that keep their defaults, and what the input_signature calls its tensors.
        self._unspecified: list[inspect.Parameter] = []
        self._tensor_names: list[str | None] = []
        if self.input_signature is not None:
            self._check_signature(is_method)
            named = self._names[: len(self.input_signature)]
            self._unspecified = [p for p in self.named if p.name not in named]
            specs = nesting.flatten(self.input_signature, expand_composites=True)
            self._tensor_names = [getattr(spec, "name", None) for spec in specs]

    def _check_signature(self, is_method: bool) -> None:
        """Raise TypeError if the input_signature leaves out a parameter that has no default, or says too much."""
        specified = self.specified
        if not is_method and specified and specified[0].name == "self":  # the instance, once there is one
            specified = specified[1:]
        n = len(self.input_signature)
        missing = [p for p in specified[n:] if p.default is inspect.Parameter.empty]
        for p in self.named:
            if p.kind is inspect.Parameter.KEYWORD_ONLY and p.default is inspect.Parameter.empty:
                raise TypeError(
                    f"Since input_signature is defined, keyword-only parameter `{p.name}` must have a default value "
                    f"(in {self.name})"
                )
        if missing:
            raise TypeError(f"input_signature missing type constraint for {missing[0].name} (in {self.name})")
        if self.variadic is None and n > len(specified):
            raise TypeError(f"input_signature contains {n - len(specified)} extra type constraints (in {self.name}).")

    def match(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the value of each parameter, in order. Raises TypeError for arguments that do not fit the function."""
        parameters, positional = self.named, self.positional
        if not kwargs and len(args) == len(positional) == len(parameters):
            return {parameter.name: value for parameter, value in zip(parameters, args, strict=True)}
        named: dict[str, Any] = {}
        for parameter, value in zip(positional, args, strict=False):
            named[parameter.name] = value
        extra = args[len(positional) :]
        if extra and self.variadic is None:
            raise TypeError(self._unbound(args, kwargs))
        rest = dict(kwargs)
        for parameter in parameters:
            if parameter.name in rest and parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
                if parameter.name in named:
                    raise TypeError(self._unbound(args, kwargs))
                named[parameter.name] = rest.pop(parameter.name)
            elif parameter.name not in named:
                if parameter.default is inspect.Parameter.empty:
                    raise TypeError(self._unbound(args, kwargs))
                named[parameter.name] = parameter.default
        if rest and self.keywords is None:
            raise TypeError(self._unbound(args, kwargs))
        ordered = {parameter.name: named[parameter.name] for parameter in positional}
        if self.variadic is not None and extra:  # before what is given by name alone, as results of flattening are
            ordered["*" + self.variadic] = tuple(extra)
        ordered.update({p.name: named[p.name] for p in parameters if p.name not in ordered})
        if rest:
            assert self.keywords is not None
            ordered["**" + self.keywords] = dict(sorted(rest.items()))
        return ordered

    def spread(self, named: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Return what `match` gave as the positional and keyword arguments of a call."""
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for parameter in self.named:
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                kwargs[parameter.name] = named[parameter.name]
            else:
                args.append(named[parameter.name])
        if self.variadic is not None:
            args.extend(named.get("*" + self.variadic, ()))
        if self.keywords is not None:
            kwargs.update(named.get("**" + self.keywords, {}))
        return args, kwargs

    def cast(self, named: dict[str, Any], args: Any, kwargs: Any) -> dict[str, Any]:
        """Return the arguments as tensors of the input_signature. Raises InputSignatureError if they cannot be."""
        signature = self.input_signature
        names = self._names
        extra = named.get("*" + (self.variadic or ""), ())
        values = [*[named[name] for name in names], *extra]
        if len(values) < len(signature):
            raise self._misfit(args, kwargs, "missing a required argument")
        for p in self._unspecified:
            if not _is_default(named[p.name], p.default):
                raise self._misfit(args, kwargs, f"Can not cast {named[p.name]!r} to Literal[{p.default!r}]")
        if "**" + (self.keywords or "") in named:  # the one trace there is was made without them
            first = next(iter(named["**" + str(self.keywords)]))
            raise self._misfit(args, kwargs, f"got an unexpected keyword argument {first!r}")
        if len(extra) > max(len(signature) - len(names), 0):
            raise self._misfit(args, kwargs, "too many positional arguments")
        try:
            cast = [_fit_spec(spec, value) for spec, value in zip(signature, values, strict=False)]
        except (TypeError, ValueError, UnimplementedError) as error:  # the last one: there is no such cast
            raise self._misfit(args, kwargs, str(error)) from None
        fitted = {**named, **dict(zip(names, cast, strict=False))}
        if extra:
            fitted["*" + str(self.variadic)] = tuple(cast[len(names) :])
        return fitted

    def promised(self) -> tuple[list[Any], list[Any]]:
        """The shapes of all tensors, and the specs of all composites: the input_signature's, and those of defaults."""
        n = len(self._names)
        named, extra = self.input_signature[:n], self.input_signature[n:]
        defaults = cache_keys.analyse(
            {p.name: p.default for p in self._unspecified}
        )  # keywords all of them, where *args takes something

        def shapes(part: object) -> list[Any]:
            return [spec.aval.shape for spec in nesting.flatten(part, True)]

        def composites(part: object) -> list[Any]:
            return [spec for spec in nesting.flatten(part) if not isinstance(spec, TensorSpec)]

        return (
            [*shapes(named), *shapes(extra), *defaults.shapes],
            [*composites(named), *composites(extra), *defaults.specs],
        )

    def rename(self, arguments: cache_keys.Arguments) -> None:
        """Call the tensors of a call as the input_signature does."""
        for i, name in enumerate(self._tensor_names[: len(arguments.names)]):
            if name and name != arguments.names[i]:  # else the path tells more
                arguments.names[i] = arguments.paths[i] = name

    def _unbound(self, args: tuple[Any, ...], kwargs: dict[str, Any], reason: str = "") -> str:
        """Say that arguments do not fit, in TensorFlow's words; without a `reason`, Python's for the parameters."""
        specs = dict(zip(self._names, self.input_signature or (), strict=False))
        shown = [_described(parameter, specs, self.input_signature is not None) for parameter in self.named]
        positional = [p for p in shown if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        if self.variadic is not None:
            positional.append(inspect.Parameter(self.variadic, inspect.Parameter.VAR_POSITIONAL))
        found = [*positional, *[p for p in shown if p.kind is inspect.Parameter.KEYWORD_ONLY]]
        if self.keywords is not None:
            found.append(inspect.Parameter(self.keywords, inspect.Parameter.VAR_KEYWORD))
        signature = inspect.Signature(found)
        if not reason:
            try:
                signature.bind(*args, **kwargs)
            except TypeError as error:
                reason = str(error)
        return (
            f"Binding inputs to tf.function failed due to `{reason}`. Received args: {args} and kwargs: {kwargs} for "
            f"signature: {signature}."
        )

    def _misfit(self, args: tuple[Any, ...], kwargs: dict[str, Any], reason: str) -> InputSignatureError:
        def listed(items: Sequence[Any]) -> str:
            return ",\n    ".join(str(item) for item in items)

        inputs = listed([*args, *kwargs.values()])
        return InputSignatureError(
            f"Python inputs incompatible with input_signature:\n  inputs: (\n    {inputs})\n"
            f"  input_signature: (\n    {listed(self.input_signature)})\n{self._unbound(args, kwargs, reason)}"
        )

    def flat(self, structure: dict[str, Any]) -> list[inspect.Parameter]:
        """Return the parameters of a trace: those of the function, and what *args and **kwargs held."""
        known = {parameter.name: parameter for parameter in self.named}
        found = []
        for name in list(structure):
            if name in known:
                found.append(known[name])
            elif name.startswith("**"):
                for key, value in structure.pop(name).items():
                    structure[key] = value
                    found.append(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY))
            else:
                for i, value in enumerate(structure.pop(name)):
                    plain = f"{name[1:]}_{i}"
                    structure[plain] = value
                    found.append(inspect.Parameter(plain, inspect.Parameter.POSITIONAL_OR_KEYWORD))
        positional = [p for p in found if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        return [*positional, *[p for p in found if p.kind is inspect.Parameter.KEYWORD_ONLY]]


def _parameters(function: Any, is_method: bool) -> tuple[list[inspect.Parameter], str | None, str | None]:
    """Return the named parameters, and the names of *args and **kwargs where there are any."""
    try:
        found = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # some built-in functions
        return [], "args", "kwargs"
    if is_method:
        found = found[1:]
    variadic = next((p.name for p in found if p.kind is inspect.Parameter.VAR_POSITIONAL), None)
    keywords = next((p.name for p in found if p.kind is inspect.Parameter.VAR_KEYWORD), None)
    named = [p for p in found if p.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)]
    return named, variadic, keywords


class _Captured:
    """Stands for a default value where signatures are shown."""

    def __repr__(self) -> str:
        return "<captured_default_value>"


def _described(parameter: inspect.Parameter, specs: dict[str, Any], typed: bool) -> inspect.Parameter:
    """Return a parameter as TensorFlow shows it: with its spec or, if an input_signature leaves it out, its value."""
    own = parameter.default
    default = own if own is inspect.Parameter.empty else _Captured()
    if parameter.name in specs:
        return inspect.Parameter(parameter.name, parameter.kind, annotation=_Shown(repr(specs[parameter.name])))
    if not typed:
        return inspect.Parameter(parameter.name, parameter.kind, default=default)
    return inspect.Parameter(parameter.name, parameter.kind, default=default, annotation=_Shown(f"Literal[{own!r}]"))


class _Shown:
    """An annotation that reads as a text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _is_default(value: Any, default: Any) -> bool:
    """Say whether an argument is what the parameter has anyway: the object itself, or an equal plain value."""
    if value is default:
        return True
    if type(value) is not type(default):
        return False
    if isinstance(value, list | tuple):
        return len(value) == len(default) and all(map(_is_default, value, default))
    return isinstance(value, bool | int | float | complex | str | bytes) and value == default


def _input_signature(signature: object, name: str) -> Any:
    if signature is None:
        return None
    if not isinstance(signature, list | tuple):
        raise TypeError(f"input_signature must be either a tuple or a list, got {type(signature)}.")
    for spec in nesting.flatten(signature):
        if not isinstance(spec, TypeSpec):
            raise TypeError(
                "input_signature must be a possibly nested sequence of TensorSpec objects, got "
                f"{spec!r} in the signature of {name}"
            )
    return tuple(signature)


def with_shape(tensor: object, shape: Shape) -> Any:
    """Return a tensor of a graph, which may have `shape`, as one that has it: when it runs, it must."""
    return bind(get("ensure_shape"), (tensor,), {"shape": shape})


def _fit_spec(spec: Any, value: Any) -> Any:
    """Return the argument with tensors as the spec has them. Raises ValueError or TypeError where they cannot be."""
    if isinstance(spec, dict):
        if not isinstance(value, dict) or set(spec) != set(value):
            raise ValueError(f"{value!r} does not have the structure of {spec!r}")
        return {key: _fit_spec(spec[key], value[key]) for key in spec}
    if isinstance(spec, list | tuple):
        if not isinstance(value, list | tuple) or len(spec) != len(value):
            raise ValueError(f"{value!r} does not have the structure of {spec!r}")
        items = [_fit_spec(*pair) for pair in zip(spec, value, strict=True)]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if not isinstance(spec, TensorSpec):
        own = getattr(value, "_type_spec", value)
        if isinstance(own, TypeSpec) and own.is_subtype_of(spec):
            return value
        raise TypeError(f"{value!r} is no {spec!r}")
    if isinstance(value, TensorSpec):
        fits = value.dtype == spec.dtype and generalises(spec.aval.shape, value.aval.shape)
    else:
        if not isinstance(value, Tensor):
            # As tf.convert_to_tensor does: NumPy's values are cast, and the tensors in a list.
            value = convert(value, spec.dtype)
        fits = value.dtype == spec.dtype and generalises(spec.aval.shape, value.aval.shape)
        if not fits and value.dtype == spec.dtype and compatible(spec.aval.shape, value.aval.shape):
            return with_shape(value, spec.aval.shape)
    if fits:
        return value
    raise TypeError(f"Can not cast {TensorSpec(value.aval.shape, value.dtype)!r} to {spec!r}")
