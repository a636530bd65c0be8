"""ConcreteFunction: one graph of a Function, with the signature it was traced for.

Rule: what was a Python value when it was traced is bound; only tensors (and Variables, which count by identity) are
arguments of the graph.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import TensorShape, compatible, generalises
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.op_errors import message_name
from fastgraph.core.tensor import EagerTensor, Tensor, convert, current_state
from fastgraph.errors import FailedPreconditionError, InaccessibleTensorError
from fastgraph.graph.captures import Deferred, cell_name, held_like, place_of, shown
from fastgraph.graph.ir import Value
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graph.trace import GraphTrace, out_of_reach
from fastgraph.graphdef.graph_view import Graph
from fastgraph.ops.families import invalid
from fastgraph.ops.random_states import generators
from fastgraph.staging import implementation_selector
from fastgraph.staging.atomic_function import AtomicFunction
from fastgraph.staging.fast_call import Composed, FastCall, forget_all
from fastgraph.staging.graph_runner import Runner
from fastgraph.staging.signature import cache_keys
from fastgraph.staging.signature.cache_keys import Held
from fastgraph.staging.signature.dataclass_arguments import apart
from fastgraph.staging.signature.function_type import FunctionType, of_trace
from fastgraph.staging.signature.parameters import with_shape
from fastgraph.staging.signature.signature_printing import has_spec, pretty, spec_of, type_of_result
from fastgraph.staging.signature.trace_types import TraceType, has_type, type_of
from fastgraph.staging.signature.traced_signature import Signature, has_parts, is_same, only_variables
from fastgraph.state.resource_handles import ResourceHandle

#: Where a thread's state names the graphs that run, when it wants to know (graph_traces.py).
GRAPHS = "graphs_that_run"


class ConcreteFunction(FastCall):
    """A graph that can be called. Source: tf.types.experimental.ConcreteFunction.

    Call it as the function that was traced: with tensors in the places of tensors; Python values may be left out, and
    if given must be those of the trace.
    """

    _KEEPS_NAMES = False  # whether its type shows the names that specs have of parameters

    def __init__(self, trace: GraphTrace, signature: Signature, structure: Any, name: str) -> None:
        self._trace = trace
        self.signature = signature
        self._structure = structure  # of the result, SymbolicTensors as leaves
        trace.graph.structured = signature, structure
        self._runner = Runner(trace, name)
        self.guard: cache_keys.Guard | None = None  # of the objects that the trace was made for
        self.latest_use = 0  # a number that grows with time
        self.first: ConcreteFunction | None = None  # what the call that it is traced for runs in its place
        self._cell_names = [cell_name(held) for held, _ in trace.graph.captures]
        flat = nesting.flatten(structure, expand_composites=True)
        self._flat = flat
        self._single = len(flat) == 1 and flat[0] is structure
        self._kept = [is_computed(leaf) for leaf in flat]
        self.label = name  # as text

    # -- what it is

    @property
    def name(self) -> bytes:
        """The name of the function, UTF-8 encoded as TensorFlow has it."""
        return self.label.encode()

    graph = ReadOnly[Graph]("_trace.graph.public", "The graph as written.")
    inputs = ReadOnly[list[SymbolicTensor]]("graph.inputs", "The placeholders of arguments and captures.")

    outputs = ReadOnly[list[SymbolicTensor]]("graph.outputs", "The tensors that are returned.")

    @property
    def structured_outputs(self) -> Any:
        """The result as the function built it, with symbolic tensors."""
        return self.graph.structured_outputs

    @property
    def structured_input_signature(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """(positional arguments, keyword-only arguments) with TensorSpecs for tensors."""
        return self.signature.structured_inputs

    @property
    def output_shapes(self) -> Any:
        """The shapes of the result's tensors; where that is None, one of which nothing is known."""
        return nesting.map_structure(
            lambda leaf: TensorShape(None) if leaf is None else leaf.shape, nesting.taken_apart(self.structured_outputs)
        )

    @property
    def output_dtypes(self) -> Any:
        """The dtypes of the result's tensors; None where that is None."""
        return nesting.map_structure(
            lambda leaf: None if leaf is None else leaf.dtype, nesting.taken_apart(self.structured_outputs)
        )

    @property
    def captured_inputs(self) -> list[Any]:
        """The eager tensors and handles of Variables (None where one is gone) that the graph uses from outside."""
        return [shown(held) for held, _ in self._trace.graph.captures]

    def enclosing(self) -> GraphTrace | None:
        """Return the innermost trace whose tensors the graph takes, None if it takes none of any."""
        taken = [held.trace for held, _ in self._trace.graph.captures if isinstance(held, SymbolicTensor)]
        trace = current_state().trace
        while taken and isinstance(trace, GraphTrace):
            if trace in taken:
                return trace
            trace = trace.outer
        return None

    def set_external_captures(self, captures: Sequence[Any]) -> None:
        """Let the graph use other tensors and Variables from outside, one for each of `captured_inputs`.

        Raises ValueError if their number, or a dtype or shape, differs. A graph that calls this one keeps the old ones.
        """
        now = self._trace.graph.captures
        if len(captures) != len(now):
            raise ValueError(f"{self.label} captures {len(now)} tensors and Variables, got {len(captures)}")
        self._capture([held_like(capture, old) for capture, (old, _) in zip(captures, now, strict=True)])

    def replace_capture_with_deferred_capture(
        self, tensor: object, closure: Any, spec: object, placeholder: object = None, default_value: object = None
    ) -> None:
        """Let `closure()` give, for every call, what stands in the place of a tensor or Variable from outside.

        `spec` is what it gives; `placeholder` finds the place where `tensor` is not known; `default_value` changes
        nothing here. A graph that calls this one keeps what is given while it is traced. Raises ValueError if there is
        no such place or the spec does not fit it. Source: ConcreteFunction.replace_capture_with_deferred_capture.
        """
        captures = self._trace.graph.captures
        i = place_of(captures, tensor, placeholder)
        aval = captures[i][1].aval
        if isinstance(spec, TensorSpec) and (spec.dtype != aval.dtype or not compatible(spec.aval.shape, aval.shape)):
            raise ValueError(f"{spec} does not fit what the graph takes there: {spec_of(captures[i][1])}")
        held = [each for each, _ in captures]
        held[i] = Deferred(closure, aval)
        self._capture(held)

    def _capture(self, held: Sequence[Any]) -> None:
        now = self._trace.graph.captures
        self._trace.graph.captures[:] = [(each, value) for each, (_, value) in zip(held, now, strict=True)]
        self._cell_names = [cell_name(held) for held, _ in self._trace.graph.captures]
        self._runner = Runner(self._trace, self.label)
        forget_all()

    @property
    def function_def(self) -> Any:
        """The graph as TensorFlow's FunctionDef."""
        from fastgraph.graphdef import exporter

        return exporter.function_def(self._trace.graph, self.label)

    @property
    def inference_fn(self) -> AtomicFunction:
        """The graph as a function of all that it takes, captures included."""
        return AtomicFunction(self)

    def add_to_graph(self, g: Graph | None = None, overwrite: bool = False) -> None:
        """Add the function to the library of a graph (None: the one that is being made, if any): see as_graph_def.

        One that implements an API for the CPU takes the place of others that implement it in calls that are there.
        """
        trace = current_state().trace
        graph = g.ir if g is not None else trace.graph if isinstance(trace, GraphTrace) else None
        if graph is not None and (overwrite or self.label not in graph.library):
            graph.library = {**graph.library, self.label: self._trace.graph}
            implementation_selector.choose(graph, self._trace.graph)

    def add_gradient_functions_to_graph(self, g: Graph | None = None) -> None:
        """Add the function to the library of a graph; its gradient is made of it where one is asked for."""
        self.add_to_graph(g)

    @property
    def function_type(self) -> FunctionType:
        """The signature of the trace, with the specs of tensors and the values of the others."""
        held = {id(each): TensorSpec(each.shape, each.dtype) for each in self.captured_inputs if each is not None}
        named = self._KEEPS_NAMES
        return of_trace(self.signature.parameters, self.signature.structure, self._result_types(), held, named)

    def _result_types(self) -> Any:
        return nesting.map_structure(
            lambda leaf: leaf if leaf is None else type_of_result(leaf), self.structured_outputs
        )

    variables = ReadOnly[tuple[Any, ...]]("graph.variables", "The Variables that the graph uses.")

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """The trainable ones among `variables`."""
        return self.graph.trainable_variables

    # -- calling it

    def _call_slow(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the graph. Raises TypeError for arguments that do not fit, InvalidArgumentError for wrong dtypes."""
        leaves = self.leaves_of_call(args, kwargs)
        if current_state().trace is None:
            self.offer(self, args, kwargs, leaves)
            self.note()
        return self.call_flat(leaves)

    def note(self) -> None:
        """Note the graph where this thread wants those that run."""
        graphs = current_state().extra.get(GRAPHS)
        if graphs is not None:
            graphs.setdefault(self._trace.graph, self)

    def offer(self, caller: FastCall, args: tuple[Any, ...], kwargs: dict[str, Any], leaves: list[Any]) -> None:
        """Let `caller` remember the Plan for these arguments, if there is one and they say at sight that it fits."""
        if current_state().replica is not None:  # where the same arguments may mean another trace
            return
        parts: list[cache_keys.Part] = []
        given: list[Any] = []
        if not all(cache_keys.pattern(argument, parts, given) for argument in (*args, *kwargs.values())):
            return
        if kwargs and not self._in_order(len(args), kwargs, given, by_name=caller is not self):
            return
        if len(given) != len(leaves) or not all(map(cache_keys.becomes, given, leaves)):
            return
        captures = [held for held, _ in self._trace.graph.captures]
        if any(held() is None for held in captures if isinstance(held, weakref.ref)):
            return
        if any(isinstance(held, Deferred) for held in captures):
            return
        operands = self._operands(leaves)
        recording = self._runner.recording(operands)
        executable = self._runner.executable(None if recording is None else recording.derivative)
        plan = getattr(executable, "plan", None)
        found = None if plan is None else plan(operands)
        if found is None:
            return
        call = (*args, *kwargs.values()), tuple(kwargs), parts, captures, self._runner.candidates
        result, structure = self._packing
        caller.remember(*call, result, self.pack if result == "packed" else structure, found, recording, self)

    @functools.cached_property
    def _packing(self) -> tuple[str, Any]:
        """The way an Entry packs the flat results, and the structure that it needs for that."""
        structure = self._structure
        if self._single and self._kept[0]:
            return "single", None
        if structure is None or (isinstance(structure, tuple) and structure == ()):
            return "constant", structure
        if type(structure) in (tuple, list) and all(self._kept) and all(isinstance(item, Tensor) for item in structure):
            return type(structure).__name__, None
        if _is_plain(structure) and not any(isinstance(leaf, ResourceHandle) for leaf in self._flat):
            return "nested", _numbered(structure, itertools.count())
        return "packed", None  # by `pack`, which kept here would keep this object

    def _in_order(self, n_positional: int, kwargs: dict[str, Any], given: list[Any], by_name: bool) -> bool:
        """Return whether the graph is seen to take what was given, the last of it by names, in just this order.

        Tensors show it by being the graph's arguments, unless one is given twice: f(y=a, x=a). Arrays are copied: for
        them the names must come in the order of the parameters.
        """
        if all(type(tensor) is EagerTensor for tensor in given):
            return len({id(tensor) for tensor in given}) == len(given)
        order = list(self.signature.structure)
        places = [order.index(name) if name in order else -1 for name in kwargs]
        return by_name and places == sorted(places) and places[0] >= n_positional

    def call_flat(self, leaves: list[Any]) -> Any:
        """Call the graph on its input tensors and return the structured result."""
        return self.pack(self._runner(self._operands(leaves)))

    def leaves_of_call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the input tensors that a call's arguments hold. Raises as a call does.

        The arguments are those of the function, or else the graph's tensors alone, in order or by their own names.
        """
        try:
            return self._bind(args, kwargs)
        except TypeError as error:
            if error.__cause__ is not None:
                raise
            if also := self._flat_misfit(args, kwargs):
                raise TypeError(self._unbound(args, kwargs, error, also)) from error
        return self._fitted([*args, *[kwargs[name] for name in self._flat_names()[len(args) :]]])

    def _unbound(self, args: tuple[Any, ...], kwargs: dict[str, Any], error: TypeError, also: str) -> str:
        """Say in TensorFlow's words that a call fits neither the function's parameters nor the graph's tensors."""
        signature = self.function_type
        try:
            inspect.Signature([p.replace(default=p.empty) for p in self.signature.parameters]).bind(*args, **kwargs)
            reason = str(error)
        except TypeError as misfit:
            reason = str(misfit)
        return (
            f"Binding inputs to tf.function failed due to `{reason}`. Received args: {args} and kwargs: {kwargs} for "
            f"signature: {signature}.\nFallback to flat signature also failed due to: {also}"
        )

    def _flat_misfit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        """Say why the call does not fit the graph's tensors alone either, in the order of the graph; "" if it does."""
        names = self._flat_names()
        summary, most = f"{self.signature.name}({', '.join(names)})", self._n_positional()
        if len(args) > most:
            return f"{summary} takes {most} positional arguments, got {len(args)}."
        if missing := [name for name in names[len(args) :] if name not in kwargs]:
            return f"{summary} missing required arguments: {', '.join(sorted(missing))}."
        if twice := [name for name in kwargs if name in names[: len(args)]]:
            return f"{summary} got two values for '{twice[0]}'."
        if unknown := [name for name in kwargs if name not in names]:
            return f"{summary} got unexpected keyword arguments: {', '.join(sorted(unknown))}."
        for i, leaf in enumerate([*args, *[kwargs[name] for name in names[len(args) :]]]):
            if not isinstance(leaf, Tensor) and not hasattr(leaf, "__fg_cell__"):
                kind = type(leaf).__name__
                return f"{summary}: expected argument #{i}(zero-based) to be a Tensor; got {kind} ({leaf})."
        return ""

    def _n_positional(self) -> int:
        """Return how many of the graph's tensors a call can give without their names."""
        return len(self._flat_names())

    def _flat_names(self) -> list[str]:
        """Return what a call can name the graph's tensors: as their specs and parameters do, each once."""
        return [value.node.name.replace("/", "_") for value in self._trace.graph.inputs]

    def run_flat(self, operands: list[Any]) -> Any:
        """Run the graph on all that it takes, outside of traces and tapes."""
        return self._runner.executable()(operands)

    def _operands(self, leaves: list[Any]) -> list[Any]:
        """Return the parameters of the graph: the input tensors, then what is captured."""
        operands = list(leaves)
        for i, (held, _) in enumerate(self._trace.graph.captures):
            if isinstance(held, Deferred):
                operands.append(held.value())
            elif type(held) is weakref.ref:
                cell = held()
                if cell is None:
                    raise self._gone(i)
                operands.append(generators.of_call(cell) if cell.name == "generator" else cell)
            elif isinstance(held, SymbolicTensor) and current_state().trace is None:
                raise InaccessibleTensorError(out_of_reach(held, None))
            else:
                operands.append(held)
        return operands

    def pack(self, results: Sequence[Any]) -> Any:
        """Return the flat results in the structure that the function returned."""
        if self._single:
            return results[0] if len(results) else self._structure
        if not self._kept:
            return self._structure
        tensors = iter(results)
        flat = [next(tensors) if kept else leaf for kept, leaf in zip(self._kept, self._flat, strict=True)]
        return nesting.pack_sequence_as(self._structure, flat, expand_composites=True)

    def _gone(self, i: int) -> FailedPreconditionError:
        """Return the error for the Variable behind capture i, which is freed."""
        name, value = self._cell_names[i], self._trace.graph.captures[i][1]
        reader = next((node for node in self._trace.graph.nodes if value in node.inputs), None)
        where = ""
        if reader is not None:
            at = f" (defined at {reader.source[0]})" if reader.source and reader.source[0] else ""
            where = f"\n\t [[node {reader.name}{at}]]"
        function = self.signature.name
        return FailedPreconditionError(
            None,
            None,
            f"Error while reading resource variable {name} from Container: localhost. This could mean that the "
            f"variable was uninitialized. Not found: Resource localhost/{name}/N10tensorflow3VarE does not "
            f"exist.{where} "
            f"[Op:{self.label}]\n\nFunction call stack:\n{function} -> {function}\n",
        )

    def _bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """Return the input tensors that a call's arguments hold."""
        given = self._assign(args, kwargs)
        leaves: list[Any] = []
        for parameter in self.signature.parameters:
            name = parameter.name
            traced = self.signature.structure[name]
            if name not in given:
                if self.signature.has_tensors(name) and not only_variables(traced):
                    raise TypeError(f"{self._summary()} missing required arguments: {name}.")
                continue
            self._check(name, traced, given[name], leaves)
        return self._fitted(leaves)

    def _fitted(self, leaves: list[Any]) -> list[Any]:
        """Return the arguments as tensors of the dtypes and shapes that were traced."""
        expected = self._trace.graph.inputs
        return [self._fit(i, leaf, value) for i, (leaf, value) in enumerate(zip(leaves, expected, strict=True))]

    def _assign(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Say which parameter each argument is for."""
        positional = [p.name for p in self.signature.parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        every = [p.name for p in self.signature.parameters]
        if len(args) > len(positional):
            raise TypeError(
                f"{self._summary()} takes {len(positional)} positional arguments but {len(args)} were given"
            )
        unknown = [name for name in kwargs if name not in every]
        if unknown:
            raise TypeError(f"{self._summary()} got unexpected keyword arguments: {', '.join(unknown)}.")
        with_tensors = [name for name in positional if self.signature.has_tensors(name) and name not in kwargs]
        names = positional
        # Python values of the trace may be left out, leading ones too: then only tensors are given.
        if len(args) < len(positional) and len(args) == len(with_tensors):
            names = with_tensors
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"{self._summary()} got two values for argument '{name}'.")
            given[name] = value
        return given

    def _check(self, name: str, traced: object, value: object, leaves: list[Any]) -> None:
        """Compare an argument with what was traced, and collect its tensors."""
        if isinstance(traced, Held):
            if not traced.stands_for(value):
                raise self._other_value(name, traced, value)
            return
        if isinstance(traced, TensorSpec):
            leaves.append(value)
            return
        if isinstance(traced, TraceType):
            if not has_type(value) or not type_of(value).is_subtype_of(traced):
                raise self._other_value(name, traced, value)
            leaves += traced.to_tensors(value)
            return
        value = apart(value)
        if has_parts(traced):
            try:
                nesting.assert_same_structure(traced, value, expand_composites=True)
            except (TypeError, ValueError) as error:
                raise TypeError(
                    f"{self._summary()} was traced with the structure {traced!r} in {name}, and called with "
                    f"{value!r}: {error}"
                ) from None
            flat = zip(
                nesting.flatten(traced, expand_composites=True),
                nesting.flatten(value, expand_composites=True),
                strict=True,
            )
            for old, new in flat:
                self._check(name, old, new, leaves)
            return
        if value is not traced and not is_same(value, traced):
            raise self._other_value(name, traced, value)

    def _other_value(self, name: str, traced: object, value: object) -> TypeError:
        names = ", ".join(parameter.name for parameter in self.signature.parameters)
        return TypeError(
            f"ConcreteFunction {self.signature.name}({names}) was constructed with {_kind(traced)} value "
            f"{traced!r} in {name}, but was called with {type(value).__name__} value {value!r}"
        )

    def _fit(self, i: int, leaf: Any, value: Value) -> Any:
        """Return argument i as a tensor of the dtype and shape that was traced."""
        aval, given = value.aval, leaf
        if not isinstance(leaf, Tensor):
            try:
                # NumPy's values are cast, as tf.convert_to_tensor does.
                leaf = convert(leaf) if isinstance(leaf, bool) else _convert(leaf, aval.dtype)
                wrong = leaf.dtype != aval.dtype
            except (TypeError, ValueError):
                wrong = True
            if wrong:
                names = ", ".join([value.node.attrs["name"] for value in self._trace.graph.inputs])
                raise TypeError(
                    f"{self.signature.name}({names}): expected argument #{i}(zero-based) to be a Tensor; got "
                    f"{type(given).__name__} ({given!s}), which is no {message_name(aval.dtype)} tensor"
                )
        if leaf.dtype != aval.dtype:
            raise invalid(
                f"cannot compute {self.label} as input #{i}(zero-based) was expected to be a "
                f"{message_name(aval.dtype)} tensor but is a {message_name(leaf.dtype)} tensor [Op:{self.label}]"
            )
        if not generalises(aval.shape, leaf.aval.shape):
            if compatible(aval.shape, leaf.aval.shape):
                return with_shape(leaf, aval.shape)
            raise invalid(
                f"cannot compute {self.label} as input #{i}(zero-based) was traced with shape {spec_of(value).shape} "
                f"and called with shape {leaf.shape} [Op:{self.label}]"
            )
        return leaf

    # -- how it prints

    def _summary(self) -> str:
        """The call as traced: `pow(a, b=2)`."""
        parts = []
        for parameter in self.signature.parameters:
            value = self.signature.structure[parameter.name]
            shown = self.signature.has_tensors(parameter.name)
            parts.append(parameter.name if shown else f"{parameter.name}={value!r}")
        return f"{self.signature.name}({', '.join(parts)})"

    def pretty_printed_signature(self, verbose: bool = True) -> str:
        """Return the signature over several lines: arguments and results with dtypes and shapes."""
        if not verbose:
            return self._summary()
        lines = [self._summary()]
        args, kwargs = self.structured_input_signature
        positional = [p.name for p in self.signature.parameters if p.kind is not inspect.Parameter.KEYWORD_ONLY]
        details = [*zip(positional, args, strict=True), *sorted(kwargs.items())]
        shown = [f"    {name}: {pretty(spec)}" for name, spec in details if has_spec(spec)]
        if shown:
            lines += ["  Args:", *shown]
        lines += ["  Returns:", f"    {pretty(self._result_types())}"]
        return "\n".join(lines)

    def __reduce__(self) -> Any:
        raise TypeError(f"cannot pickle or copy {self.label}: it is one graph of its tf.function, which can be pickled")

    def __repr__(self) -> str:
        return f"<ConcreteFunction {self._summary()} at 0x{id(self):X}>"

    def __str__(self) -> str:
        return f"ConcreteFunction {self.pretty_printed_signature()}"

    # -- what the compiler made of it

    @property
    def executable(self) -> Any:
        """The object that runs the graph."""
        return self._runner.executable()

    @property
    def host_steps(self) -> int:
        """The number of steps of the compiled program that run Python."""
        return int(self.executable.host_steps)

    @property
    def is_compiled(self) -> bool:
        """True if all kernels are there and used."""
        return bool(self.executable.is_compiled)

    def steps(self) -> list[Any]:
        """Return the steps of the compiled program."""
        return list(self.executable.steps())

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until all kernels are compiled."""
        return bool(self.executable.wait(timeout))

    def explain(self) -> str:
        """Return the graph as written and after each pass, the kernels' source, the plan and its host steps."""
        explain = getattr(self.executable, "explain", None)
        text = f"# {self.label} as written\n{self._trace.graph}\n"
        return text + (explain() if explain is not None else f"\n# optimised\n{self.executable.graph}\n")


def is_computed(leaf: object) -> bool:
    """Return whether a leaf of a result is one of the graph's: None and the handles of Variables are what they are."""
    return leaf is not None and not isinstance(leaf, ResourceHandle)


def _is_plain(structure: Any) -> bool:
    """Return whether there is nothing but tensors, composites and None in tuples, lists and dicts."""
    if type(structure) in (tuple, list):
        return all(_is_plain(item) for item in structure)
    if type(structure) is dict:
        return all(_is_plain(item) for item in structure.values())
    if structure is None or isinstance(structure, Tensor):
        return True
    spec = nesting.composite_spec(structure)
    return spec is not None and _is_plain(spec._to_components(structure))


def _numbered(structure: Any, numbers: Iterator[int]) -> Any:
    """Return a plain structure with the next number for each tensor, in the order of the flat results."""
    if structure is None or isinstance(structure, Tensor):
        return None if structure is None else next(numbers)
    spec = nesting.composite_spec(structure)
    if spec is not None:
        return Composed(spec._from_components, _numbered(spec._to_components(structure), numbers))
    return nesting.rebuilt(structure, [_numbered(child, numbers) for child in nesting.children(structure)])


def _kind(traced: object) -> str:
    return traced.type_name if isinstance(traced, Held) else type(traced).__name__


def _convert(leaf: Any, dtype: DType) -> Any:
    try:
        return convert(leaf, dtype)
    except (TypeError, ValueError):
        return convert(leaf)
