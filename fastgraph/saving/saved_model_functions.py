"""Functions of SavedModels: graphs that were traced elsewhere, called as this package's own Functions are.

Rule: a function becomes a graph when it is first needed; from then on nothing tells it from one that was traced here.
"""

from __future__ import annotations

import inspect
import keyword
import weakref
from collections.abc import Sequence
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import resource, variant
from fastgraph.core.base.gc_pause import resting
from fastgraph.core.base.locks import Lock
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import Aval, compatible
from fastgraph.core.base.type_specs import TensorSpec, TypeSpec
from fastgraph.core.native.buffer import Cell
from fastgraph.core.replicas import current
from fastgraph.core.tensor import EagerTensor, Tensor, convert, current_trace, init_scope
from fastgraph.errors import InvalidArgumentError, NotFoundError, OpError
from fastgraph.graph.differentiate import entering
from fastgraph.graph.trace import GraphTrace
from fastgraph.graphdef.attribute_bytes import SMALL
from fastgraph.graphdef.import_calls import Library
from fastgraph.graphdef.import_datasets import Held
from fastgraph.graphdef.import_values import dtype_of, field_of
from fastgraph.graphdef.importer import Body
from fastgraph.graphdef.messages import Message
from fastgraph.saving.saved_model_structures import VariableSpec, decoded, filled, flat_specs, matched
from fastgraph.staging.concrete_function import ConcreteFunction
from fastgraph.staging.function import Function
from fastgraph.staging.signature import cache_keys
from fastgraph.staging.signature.traced_signature import Signature
from fastgraph.state.tracking import TrackableResource
from fastgraph.state.variable import Variable

_BUILT = frozenset({"_trace", "_structure", "_runner", "_cell_names", "_flat", "_single", "_kept"})


class RestoredConcreteFunction(ConcreteFunction):
    """A function of a SavedModel's library; `bound` is what it takes besides its arguments: Cells, tensors, tables."""

    _KEEPS_NAMES = True

    def __init__(
        self, name: str, library: Library, signature: Signature, result: Any, keywords: Sequence[str] | None = None
    ) -> None:
        self.label = name
        self.signature = signature
        self.bound: list[Any] = []
        self.objects: list[Any] = []  # that these stand for
        self.guard = None
        self.latest_use = 0
        self.first = None
        self.library = library
        self.result = result  # the structure of what it returns, specs for tensors
        self._keywords = None if keywords is None else list(keywords)
        self._most_positional = -1  # -1: as many as there are
        self._of_others: dict[Any, RestoredConcreteFunction] = {}  # by replica, or by the Variables that are arguments
        self.given: list[weakref.ref[Variable]] = []  # that are arguments: callers hold them
        self._lock = Lock()

    def __getattr__(self, name: str) -> Any:
        if name not in _BUILT:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        with self._lock:
            if "_trace" not in self.__dict__:
                try:
                    trace, structure = self._imported()
                except (LookupError, AttributeError, ArithmeticError, AssertionError, UnicodeError, TypeError) as error:
                    if isinstance(error, OpError | NotImplementedError):
                        raise
                    what = f"{type(error).__name__}: {error}"
                    text = f"Function {self.label} is not as one is written: {what}"
                    raise InvalidArgumentError(None, None, text) from error
                super().__init__(trace, self.signature, structure, self.label)
        return self.__dict__[name]

    def _imported(self) -> tuple[GraphTrace, Any]:
        """Return the function as a graph, and its result with the graph's tensors."""
        function = self.library[self.label]
        parameters = field_of(function.signature, "input_arg", [])
        specs = flat_specs(self.signature.structured_inputs)
        places = _places_of(self.signature.structured_inputs)
        n = len(parameters) - len(self.bound)
        if n != len(specs) + len(places):
            raise InvalidArgumentError(
                None, None, f"Function {self.label} takes {n} tensors, and its signature speaks of {len(specs)}"
            )
        trace = GraphTrace(self.signature.name)
        values: dict[str, Any] = {}
        if len(places) != len(self.given):
            text = f"Function {self.label} takes Variables, which only the function that has it as a trace passes on"
            raise InvalidArgumentError(None, None, text)
        with entering(trace):
            for place, variable in zip(places, [each() for each in self.given], strict=True):
                assert variable is not None
                values[f"{parameters[place].name}:0"] = _bound(trace, variable.__fg_cell__)
        of_tensors = [each for i, each in enumerate(parameters[:n]) if i not in places]
        for parameter, spec, owner in zip(of_tensors, specs, _owners(self.signature.structured_inputs), strict=True):
            if dtype_of(parameter.type) in (variant, resource) if owner else dtype_of(parameter.type) == spec.dtype:
                name = _node_name(spec.name or parameter.name)
                given = trace.add_input(Aval(spec.dtype, spec.shape._dims), name)
                values[f"{parameter.name}:0"] = Held(owner.from_tensors(iter([given]))) if owner else given
                continue
            raise InvalidArgumentError(
                None, None, f"Function {self.label}: argument {parameter.name} is no {spec.dtype.name}"
            )
        with resting, entering(trace):
            for parameter, held in zip(parameters[n:], self.bound, strict=True):
                values[f"{parameter.name}:0"] = _bound(trace, held)
            body = Body(field_of(function, "node_def", []), values, self.library)
            body.run()
            returned = field_of(function.signature, "output_arg", [])
            results = [body.tensor(function.ret[each.name]) for each in returned]
            wanted = flat_specs(self.result)
            if len(wanted) != len(results):
                raise InvalidArgumentError(
                    None, None, f"Function {self.label} returns {len(results)} tensors, and says it were {len(wanted)}"
                )
            outputs = [
                trace.identity(_as(spec, _handle_of(result, owner), self.label))
                for spec, result, owner in zip(wanted, results, _owners(self.result), strict=True)
            ]
        trace.finish(outputs)
        trace.graph.function_name = self.label
        return trace, filled(self.result, iter([trace.tensor(value) for value in outputs]))

    structured_outputs = ReadOnly[Any]("result", "The result as the Python function built it, with TensorSpecs.")

    def _flat_names(self) -> list[str]:
        if self._keywords is not None or not flat_specs(self.signature.structured_inputs):
            return self._keywords or []
        if _places_of(self.signature.structured_inputs) and not self.given:  # it has no graph yet
            return [_node_name(spec.name or "") for spec in flat_specs(self.signature.structured_inputs)]
        return super()._flat_names()

    def limit(self, positional: int) -> None:
        """Let so many arguments, and no more, be given without their names."""
        self._most_positional = positional

    def _n_positional(self) -> int:
        return self._most_positional if self._most_positional >= 0 else super()._n_positional()

    def call_flat(self, leaves: list[Any]) -> Any:
        """Call the graph on its input tensors, on a replica that of its own copies of Variables."""
        replica = current()
        index = 0 if replica is None else replica.index
        if not index or not any(isinstance(each, Variable) and len(each._copies) > 1 for each in self.objects):
            return super().call_flat(leaves)
        if index not in self._of_others:
            own = self._of_others[index] = self._other()
            own.bound = [
                each._copies[index].__fg_cell__ if isinstance(each, Variable) and len(each._copies) > 1 else held
                for each, held in zip(self.objects, self.bound, strict=True)
            ]
        return self._of_others[index].call_flat(leaves)

    def _other(self) -> RestoredConcreteFunction:
        return RestoredConcreteFunction(self.label, self.library, self.signature, self.result, self._keywords)

    def of_variables(self, variables: list[Variable]) -> RestoredConcreteFunction:
        """Return the function for these Variables, which are arguments of it; it goes when one of them goes."""
        key = tuple(map(id, variables))
        if key not in self._of_others:
            own = self._of_others[key] = self._other()
            own.bound, own.objects, own.given = self.bound, self.objects, [weakref.ref(each) for each in variables]
            for each in {id(each): each for each in variables}.values():
                weakref.finalize(each, self._of_others.pop, key, None).atexit = False
        return self._of_others[key]

    def fitted(self, leaves: list[Any]) -> list[Any]:
        """Return the tensors of a call as the graph takes them."""
        return self._fitted(leaves)


class RestoredDataset(TrackableResource):
    """A dataset that functions captured: one function of the library makes it, once something asks for it."""

    def __init__(self, name: str, maker: Any) -> None:
        self.name = name
        self.maker = maker  # the function of this name, as an object
        self._held: Held | None = None

    def held(self, library: Library, bound: Sequence[Any]) -> Held:
        """Return what stands for it in graphs. `bound`: what its function takes. Raises NotFoundError if it is none."""
        if self._held is not None:
            return self._held

        def make() -> Any:
            trace: Any = current_trace()
            parameters = field_of(library[self.name].signature, "input_arg", [])
            given = [_bound(trace, each) for each in bound]
            values = {f"{each.name}:0": value for each, value in zip(parameters, given, strict=True)}
            body = Body(field_of(library[self.name], "node_def", []), values, library)
            body.run()
            found: Any = body.tensor(next(iter(library[self.name].ret.values())))
            if not isinstance(found, Held):
                raise NotFoundError(None, None, f"Function {self.name} makes a resource that has no equal here")
            return found.value

        with init_scope():
            self._held = found = Held(Function(make, autograph=False)())
        return found


def _bound(trace: GraphTrace, held: Any) -> Any:
    """Return what stands in a graph for something from outside: of small tensors a constant."""
    if isinstance(held, Cell):
        trace.value_of(held)  # in the order in which they are bound
        return held
    if not isinstance(held, EagerTensor):
        return held
    return trace.constant(held) if held.num_elements <= SMALL else trace.tensor(trace.value_of(held))


def _places_of(structure: object) -> list[int]:
    """Return which of the parameters for a structure of specs are Variables."""
    flat = nesting.flatten(structure, expand_composites=True)
    return [i for i, each in enumerate([each for each in flat if isinstance(each, TensorSpec | VariableSpec)])
            if isinstance(each, VariableSpec)]  # fmt: skip


def _variables_in(structure: object, given: object) -> list[Variable] | None:
    """Return the Variables in a structure of arguments that stand where specs of such are.

    None if two stand where the trace had one: it reads and writes the first alone.
    """
    pairs = zip(nesting.flatten(structure), nesting.flatten(given), strict=True)
    found = [(spec.alias_id, value) for spec, value in pairs if isinstance(spec, VariableSpec)]
    first: dict[int | None, Variable] = {}
    if any(alias is not None and first.setdefault(alias, value) is not value for alias, value in found):
        return None
    return [value for _, value in found]


def _owners(structure: Any) -> list[Any]:
    """Return the spec of the dataset or iterator whose handle each tensor of a structure of specs is, or None."""
    found = []
    for leaf in nesting.flatten(structure):
        owner = leaf if isinstance(leaf, TypeSpec) and hasattr(leaf, "element_spec") else None
        found += [owner] * len(flat_specs(leaf))
    return found


def _handle_of(result: Any, owner: Any) -> Any:
    """The handle of a dataset that a function returns, whose elements are built as its spec says."""
    if not isinstance(result, Held) or owner is None or not hasattr(result.value, "map"):
        return result
    spec = owner.element_spec
    return result.value.map(lambda *element: nesting.pack_sequence_as(spec, nesting.flatten(element))).handle


def _as(spec: TensorSpec, result: Any, function: str) -> Any:
    """Return a result that is known to be as the signature says, but for sizes, of which it says some wrong."""
    ranks = {spec.shape.rank, result.shape.rank if isinstance(result, Tensor) else -1} - {None}
    if len(ranks) > 1 or -1 in ranks or result.dtype != spec.dtype:
        raise InvalidArgumentError(None, None, f"Function {function} returns {result!r}, and says it were {spec!r}")
    if result.shape.rank is None or None in tuple(result.shape):
        result.set_shape(spec.shape)
    return result


def _node_name(name: str) -> str:
    plain = "".join(c if c.isalnum() or c in "_./-" else "_" for c in name)
    return plain if plain[:1].isalnum() else f"arg_{plain}".rstrip("_")


# ---- Signatures -----------------------------------------------------------------------------------------------------


class ArgumentNames:
    """The parameters of a function as Python has them: read from the message FunctionSpec."""

    def __init__(self, message: Message | None) -> None:
        spec = None if message is None or "fullargspec" not in message.__dict__ else decoded(message.fullargspec)
        fields = {} if spec is None or not hasattr(spec, "_asdict") else spec._asdict()
        self.names = [str(name) for name in fields.get("args") or []]
        if message is not None and self.names and (field_of(message, "is_method") or self.names[0] == "self"):
            del self.names[0]
        self.variadic, self.keywords = fields.get("varargs"), fields.get("varkw")
        defaults = list(fields.get("defaults") or ())
        self.defaults = dict(zip(self.names[len(self.names) - len(defaults) :], defaults, strict=False))
        self.only = [str(name) for name in fields.get("kwonlyargs") or []]
        self.only_defaults = dict(fields.get("kwonlydefaults") or {})
        signature = (
            None if message is None or "input_signature" not in message.__dict__ else decoded(message.input_signature)
        )
        self.input_signature = tuple(signature) if isinstance(signature, list | tuple) else None
        self.jit_compile = {1: True, 2: False}.get(0 if message is None else field_of(message, "jit_compile", 0))

    def signature(self) -> inspect.Signature:
        """Return the signature of a Python function with these parameters. Raises ValueError if none can have them."""
        kind = inspect.Parameter
        found = []
        for name in self.names:
            found.append(kind(_plain(name), kind.POSITIONAL_OR_KEYWORD, default=self.defaults.get(name, kind.empty)))
        if self.variadic:
            found.append(kind(_plain(self.variadic), kind.VAR_POSITIONAL))
        for name in self.only:
            found.append(kind(_plain(name), kind.KEYWORD_ONLY, default=self.only_defaults.get(name, kind.empty)))
        if self.keywords:
            found.append(kind(_plain(self.keywords), kind.VAR_KEYWORD))
        return inspect.Signature(found)


def _plain(name: str) -> str:
    found = "".join(c if c.isalnum() or c == "_" else "_" for c in str(name)) or "arg"
    found = found if found.isidentifier() else f"_{found}"
    return f"{found}_" if keyword.iskeyword(found) else found


def signature_of(name: str, inputs: Any, names: ArgumentNames | None) -> Signature:
    """Return the signature of a trace whose inputs are (positional ones, {name: keyword}). Raises ValueError."""
    if not (isinstance(inputs, tuple) and len(inputs) == 2 and isinstance(inputs[0], tuple | list)) or not isinstance(
        inputs[1], dict
    ):
        raise ValueError(f"the inputs of a function are (positional ones, keywords), not {inputs!r}")
    positional, keywords = inputs
    kind = inspect.Parameter
    own = [] if names is None else names.names
    more = "arg" if names is None or not names.variadic else str(names.variadic)
    parameters, structure, taken = [], {}, set(keywords)
    for i, value in enumerate(positional):
        wanted = _plain(own[i]) if i < len(own) else f"{_plain(more)}_{i - len(own)}"
        while wanted in taken:
            wanted += "_"
        taken.add(wanted)
        parameters.append(kind(wanted, kind.POSITIONAL_OR_KEYWORD))
        structure[wanted] = value
    for key in sorted(keywords):
        if not key.isidentifier():
            parameters.append(_Keyword(key))
        else:
            parameters.append(kind(key, kind.KEYWORD_ONLY))
        structure[key] = keywords[key]
    return Signature(name, parameters, structure)


class _Keyword(inspect.Parameter):
    """A parameter that is given by a name which no Python function could have, as layers and files have them."""

    def __init__(self, name: str) -> None:
        super().__init__("name", inspect.Parameter.KEYWORD_ONLY)
        self._name = name


# ---- Functions of several traces ------------------------------------------------------------------------------------


class RestoredFunction(Function):
    """A Function that was saved: its traces are all that it has. Source: what tf.saved_model.load gives."""

    def __init__(self, name: str, names: ArgumentNames, concrete_functions: list[RestoredConcreteFunction]) -> None:
        def restored_function_body(*args: Any, **kwargs: Any) -> Any:
            return self._call_graph(args, kwargs)

        restored_function_body.__signature__ = names.signature()  # type: ignore[attr-defined]
        signature = names.input_signature
        try:
            super().__init__(restored_function_body, name, signature, False, names.jit_compile)
        except (TypeError, ValueError):
            super().__init__(restored_function_body, name, None, False, names.jit_compile)
        self.concrete_functions = concrete_functions

    def _list_all_concrete_functions(self) -> list[ConcreteFunction]:
        return list(self.concrete_functions)

    def _call_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._call_graph(args, kwargs)  # there is no Python to run

    def clear_cache(self) -> None:
        """Forget calls; the traces stay, as there is nothing to trace again."""
        self._forget_calls()

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ConcreteFunction, list[Any], bool]:
        named = self._parameters.match(args, kwargs)
        if self._parameters.input_signature is not None:
            named = self._parameters.cast(named, args, kwargs)
        named = {name: cache_keys.tensors_for_arrays(value) for name, value in named.items()}
        positional, keywords = self._parameters.spread(named)
        given = tuple(positional), keywords
        for fits in (_fits, _fits_converted):
            for concrete in self.concrete_functions:
                leaves: list[Any] = []
                if matched(concrete.signature.structured_inputs, given, fits, leaves):
                    if _places_of(concrete.signature.structured_inputs):
                        variables = _variables_in(concrete.signature.structured_inputs, given)
                        if variables is None:
                            continue
                        concrete = concrete.of_variables(variables)
                    if any(isinstance(leaf, TensorSpec) for leaf in leaves):
                        return concrete, leaves, False
                    return concrete, concrete.fitted(leaves), False
        raise ValueError(self._no_match(*given))

    def _no_match(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        if not self.concrete_functions:
            return "Found zero restored functions for caller function."

        def listed(items: Sequence[Any]) -> str:
            lines = "".join(f"\n    * {item!r}" for item in items)
            return f"Positional arguments ({len(items)} total):{lines}"

        options = []
        for i, concrete in enumerate(self.concrete_functions):
            positional, keywords = concrete.signature.structured_inputs
            options.append(f"Option {i + 1}:\n  {listed(positional)}\n  Keyword arguments: {keywords}")
        return (
            "Could not find matching concrete function to call loaded from the SavedModel. Got:\n  "
            f"{listed(args)}\n  Keyword arguments: {kwargs}\n\n Expected these arguments to match one of the following "
            f"{len(options)} option(s):\n\n" + "\n\n".join(options)
        )


def _fits(spec: TensorSpec, given: Any) -> bool:
    """Return whether a tensor, Variable or spec can stand in the place of a spec."""
    if not isinstance(given, Tensor | TensorSpec) and not cache_keys.is_variable(given):
        return False
    return bool(given.dtype == spec.dtype and compatible(spec.shape._dims, given.aval.shape))


def _fits_converted(spec: TensorSpec, given: Any) -> bool:
    """Return whether a value can, once it is a tensor."""
    if isinstance(given, Tensor | TensorSpec) or cache_keys.is_variable(given):
        return _fits(spec, given)
    if given is None:
        return False
    for dtype in (spec.dtype, None):
        try:
            return _fits(spec, convert(given) if dtype is None else convert(given, dtype))
        except (TypeError, ValueError):
            continue
    return False
