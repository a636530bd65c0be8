"""Signatures of SavedModels: functions of named tensors, made of what a program gives, with results that have names.

Rule: a signature takes tensors by keywords and gives a dict of tensors, whatever the function behind it does.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastgraph.core import replicas
from fastgraph.core.base import nesting
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import Tensor
from fastgraph.saving.saved_model_files import DEFAULT_SERVING_SIGNATURE_DEF_KEY
from fastgraph.saving.saved_model_functions import RestoredConcreteFunction
from fastgraph.saving.saved_model_structures import VariableSpec, flat_specs
from fastgraph.staging.concrete_function import ConcreteFunction
from fastgraph.staging.function import Function
from fastgraph.staging.signature import cache_keys
from fastgraph.state.distributed import DistributedVariable
from fastgraph.state.variable import Variable, VariableAggregation, VariableSynchronization


def signatures_of(given: Any) -> dict[str, ConcreteFunction]:
    """Return the signatures of what a program gives: nothing, a function, or a mapping of functions.

    Raises ValueError for what is no concrete function and has no input_signature, and for results that have no names.
    """
    if given is None:
        return {}
    named = given if isinstance(given, Mapping) else {DEFAULT_SERVING_SIGNATURE_DEF_KEY: given}
    return {key: _signature(key, function) for key, function in named.items()}


def concrete_of(function: Any) -> ConcreteFunction | None:
    """Return the one concrete function that a value stands for, None if there is no one."""
    if isinstance(function, ConcreteFunction):
        name = next((each._name for each, copy in _shared(function) if _is_other(each, copy)), None)
        if name is not None:
            raise ValueError(
                f"A ConcreteFunction that takes the copies which replicas have of a Variable ({name!r}) cannot be "
                "saved: it writes all of them, or adds them up. Give the function itself, which is traced anew for one "
                "Variable: f_with_input_signature = tf.function(f, input_signature=[...])."
            )
        return function
    if isinstance(function, Function) and function.input_signature is not None:
        return for_one(function, function.get_concrete_function())
    return None


def _shared(concrete: ConcreteFunction) -> Iterator[tuple[DistributedVariable, Variable]]:
    """Yield the Variables of several replicas that a trace takes, each with the copy that it takes."""
    if not isinstance(concrete, RestoredConcreteFunction):
        for held, _ in concrete._trace.graph.captures:
            cell = held() if isinstance(held, weakref.ref) else held
            owner = cell.variable() if isinstance(cell, Cell) and cell.variable is not None else None
            if isinstance(owner, DistributedVariable):
                yield owner, next(copy for copy in owner.values if copy.__fg_cell__ is cell)


def _is_other(owner: DistributedVariable, copy: Variable) -> bool:
    """Return whether what takes this copy does something else once there is one Variable."""
    on_read = owner.synchronization is VariableSynchronization.ON_READ
    return copy is not owner.values[0] and (not on_read or owner.aggregation is VariableAggregation.SUM)


def for_one(function: Function, concrete: ConcreteFunction) -> ConcreteFunction:
    """Return a Function's trace in which Variables of several replicas are one: what is loaded has no replicas."""
    if not any(owner.synchronization is VariableSynchronization.ON_READ or _is_other(owner, copy)
               for owner, copy in _shared(concrete)):  # fmt: skip
        return concrete
    args, kwargs = concrete.structured_input_signature
    with replicas.acting(replicas.Replica(0, 1, updates=True)):
        return function.get_concrete_function(*args, **kwargs)


def found_in(children: Mapping[str, Any]) -> ConcreteFunction | None:
    """Return what is a signature though a program names none: `_default_save_signature`, or the only one."""
    possible = []
    for name, child in children.items():
        if not isinstance(child, Function | ConcreteFunction):
            continue
        concrete = concrete_of(child)
        if concrete is None:
            continue
        if name == "_default_save_signature":
            return concrete
        if _is_valid(concrete):
            possible.append(concrete)
    return possible[0] if len(possible) == 1 else None


def variables_of(concrete: ConcreteFunction) -> list[cache_keys.Held]:
    """Return the Variables that are arguments of a trace of this program, in order; a loaded one takes any."""
    if isinstance(concrete, RestoredConcreteFunction):
        return []
    leaves = nesting.flatten(concrete.structured_input_signature)
    return [each for each in leaves if isinstance(each, cache_keys.Held) and each.is_variable]


def described_inputs(concrete: ConcreteFunction) -> Any:
    """Return the inputs of a trace, with specs for Variables too: equal `alias_id`s where one stands twice."""
    places: dict[int, int] = {}

    def spec_of(leaf: Any) -> Any:
        if not isinstance(leaf, cache_keys.Held) or not leaf.is_variable:
            return leaf
        one = id(leaf if leaf.get() is None else leaf.get())
        return VariableSpec(*leaf.spec, places.setdefault(one, len(places)))  # type: ignore[misc, call-arg]

    return nesting.map_structure(spec_of, concrete.structured_input_signature)


def result_of(concrete: ConcreteFunction) -> Any:
    """Return the structure of what a function returns, specs for tensors."""
    return concrete.result if isinstance(concrete, RestoredConcreteFunction) else concrete._result_types()


def _is_valid(concrete: ConcreteFunction) -> bool:
    result = result_of(concrete)
    if not flat_specs(result):
        return False
    try:
        _named_results(result, "", "")
    except ValueError:
        return False
    return True


def _signature(key: str, function: Any) -> ConcreteFunction:
    concrete = concrete_of(function)
    if concrete is None:
        raise ValueError(
            f"Expected a TensorFlow function for which to generate a signature, but got {function}. Only "
            "`tf.functions` with an input signature or concrete functions can be used as a signature."
        )
    names = argument_names(concrete)
    specs = [
        TensorSpec(spec.shape, spec.dtype, name)
        for name, spec in zip(names, flat_specs(concrete.structured_input_signature), strict=True)
    ]
    named = _named_results(result_of(concrete), concrete.label, key)
    if isinstance(concrete, RestoredConcreteFunction) and _is_signature(concrete, named):
        return concrete

    def signature_wrapper(**kwargs: Any) -> Any:
        result = concrete.call_flat([kwargs[name] for name in names])
        return _named_results(result, concrete.label, key)

    wrapped = Function(signature_wrapper, f"signature_wrapper_{concrete.signature.name}", autograph=False)
    return wrapped.get_concrete_function(**{str(spec.name): spec for spec in specs})


def _is_signature(concrete: RestoredConcreteFunction, named: dict[str, Any]) -> bool:
    """Return whether a function that was loaded takes tensors by keywords and gives a dict of tensors."""
    positional, keywords = concrete.signature.structured_inputs
    tensors = [*keywords.values(), *named.values()]
    return not positional and type(concrete.result) is dict and all(isinstance(each, TensorSpec) for each in tensors)


def argument_names(concrete: ConcreteFunction) -> list[str]:
    """Return what the tensors that a function takes are called. Raises ValueError if two have one name."""
    names = [_parameter(str(name)) for name in concrete._flat_names()]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(
            "Got non-flat/non-unique argument names for SavedModel signature: more than one argument to "
            f"'{concrete.label}' was named '{twice}'. Signatures have one Tensor per named input, so to have "
            "predictable names Python functions used to generate these signatures should avoid *args and Tensors in "
            "nested structures unless unique names are specified for each. Use tf.TensorSpec(..., name=...) to give a "
            "name for a Tensor input."
        )
    return names


def _parameter(name: str) -> str:
    """Return a tensor's name as a parameter can have it."""
    plain = "".join([c if c.isalnum() else "_" for c in name])
    return plain if plain[:1].isalpha() else f"arg_{plain}"


def _named_results(outputs: Any, function: str, key: str) -> dict[str, Any]:
    """Return results by names: a mapping's, a named tuple's, or output_0 and so on. Raises ValueError."""
    if not isinstance(outputs, Mapping):
        if hasattr(outputs, "_asdict"):
            outputs = outputs._asdict()
        else:
            if not isinstance(outputs, Sequence):
                outputs = [outputs]
            outputs = {f"output_{i}": output for i, output in enumerate(outputs)}
    for name, value in outputs.items():
        if not isinstance(name, str):
            raise ValueError(
                f"Got a dictionary with a non-string key {name!r} in the output of the function {function} used to "
                f"generate the SavedModel signature {key!r}."
            )
        if not isinstance(value, Tensor | TypeSpec) and getattr(value, "_type_spec", None) is None:
            raise ValueError(
                f"Got a non-Tensor value {value!r} for key {name!r} in the output of the function {function} used to "
                f"generate the SavedModel signature {key!r}. Outputs for functions used as signatures must be a single "
                "Tensor, a sequence of Tensors, or a dictionary from string to Tensor."
            )
    return dict(outputs)
