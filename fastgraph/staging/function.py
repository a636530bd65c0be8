"""Function: a Python function that is traced into graphs, one for each kind of arguments.

Rule: what the cache key says is all that decides which graph serves a call; a graph is traced once.
"""

from __future__ import annotations

import copy
import functools
import inspect
import itertools
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any, cast

from fastgraph.core.base import flags, nesting
from fastgraph.core.base.gc_pause import resting
from fastgraph.core.base.locks import Turn
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.core.base.shapes import Aval
from fastgraph.core.base.type_specs import TypeSpec
from fastgraph.core.conversion import is_sequence
from fastgraph.core.native.buffer import Cell
from fastgraph.core.replicas import process
from fastgraph.core.tensor import EagerTensor, Tensor, convert, current_state, init_scope
from fastgraph.errors import InaccessibleTensorError
from fastgraph.graph.differentiate import entering
from fastgraph.graph.interpreter import talks
from fastgraph.graph.source_lines import boundaries
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graph.trace import GraphTrace, out_of_reach
from fastgraph.graphdef.graph_view import Operation
from fastgraph.runtime.foreground_threads import foreground
from fastgraph.staging import autograph, implementation_selector
from fastgraph.staging.autograph.loop_options import with_features
from fastgraph.staging.concrete_function import ConcreteFunction, is_computed
from fastgraph.staging.fast_call import BoundCall, MethodCall, forget_all, set_run_eagerly
from fastgraph.staging.lifted_variables import InitialValues, not_first_call
from fastgraph.staging.signature import cache_keys, recursive_tracing
from fastgraph.staging.signature.cache_keys import Arguments, Guard
from fastgraph.staging.signature.dataclass_arguments import together
from fastgraph.staging.signature.function_type import FunctionType, of_function
from fastgraph.staging.signature.parameters import Parameters, SignatureOfWrapped
from fastgraph.staging.signature.relaxed_keys import general_key
from fastgraph.staging.signature.retrace_warnings import Detector, History, code_of, detector_of
from fastgraph.staging.signature.trace_types import TraceType
from fastgraph.staging.signature.traced_signature import Signature
from fastgraph.staging.trace_cache import Traces
from fastgraph.staging.user_errors import in_user_code, with_user_frames
from fastgraph.state.variable import variable_creator_scope

flags.on_change(forget_all)

_numbers = itertools.count(1)
_SIGNATURE = "input_signature"  # the key of the one trace that a Function with an input_signature has

# ---- Running Functions as plain Python ------------------------------------------------------------------------------

_run_eagerly = False


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Let Functions run as plain Python from now on (True), or as graphs again. Source: tf.config."""
    global _run_eagerly
    _run_eagerly = bool(run_eagerly)
    set_run_eagerly(_run_eagerly)


def functions_run_eagerly() -> bool:
    """Return whether Functions run as plain Python."""
    return _run_eagerly


# ---- Function -------------------------------------------------------------------------------------------------------


class FunctionSpec(inspect.Signature):
    """The Python signature of a Function, with what Keras 2 asks of TensorFlow's FunctionSpec."""

    @property
    def arg_names(self) -> list[str]:
        """The names of the parameters that can be given by position."""
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        return [each.name for each in self.parameters.values() if each.kind in kinds]

    @property
    def default_values(self) -> dict[str, Any]:
        """The values of the parameters that may be left out."""
        return {each.name: each.default for each in self.parameters.values() if each.default is not each.empty}

    @property
    def fullargspec(self) -> inspect.FullArgSpec:
        """The parameters as inspect.getfullargspec gives them, without annotations."""
        named = {each.kind: each.name for each in self.parameters.values()}
        only = [each.name for each in self.parameters.values() if each.kind is each.KEYWORD_ONLY]
        defaults = self.default_values
        return inspect.FullArgSpec(
            self.arg_names, named.get(inspect.Parameter.VAR_POSITIONAL), named.get(inspect.Parameter.VAR_KEYWORD),
            tuple([defaults[name] for name in self.arg_names if name in defaults]) or None, only,
            {name: defaults[name] for name in only if name in defaults} or None, {},
        )  # fmt: skip


class Function(MethodCall):
    """A Python function that is traced into graphs. Source: tf.types.experimental.PolymorphicFunction.

    Calling it looks for a graph that was traced for arguments of this kind, and traces one if there is none.
    """

    __signature__ = SignatureOfWrapped()

    def __init__(
        self,
        python_function: Callable[..., Any],
        name: str | None = None,
        input_signature: Any = None,
        autograph: bool = True,
        jit_compile: bool | None = None,
        reduce_retracing: bool = False,
        experimental_implements: str | None = None,
        experimental_autograph_options: Any = None,
        experimental_attributes: Any = None,
        box_numbers: bool = False,
        lift_variables: bool = False,
        one_stream: bool = False,
        target: Any = None,
    ) -> None:
        if not callable(python_function):
            raise TypeError(f"tf.function needs a callable, not {python_function!r}")
        self._python_function = python_function
        self._name = name or str(getattr(python_function, "__name__", type(python_function).__name__))
        self._autograph = autograph
        self._features = experimental_autograph_options
        self._jit_compile = jit_compile
        self._reduce_retracing = reduce_retracing
        self._box_numbers = box_numbers
        self._lift_variables = lift_variables
        self._one_stream = one_stream  # random ops of each trace go on where those of the traces before stopped
        self._generators: list[Cell] = []
        self._choice = implementation_selector.named(experimental_attributes)
        self._parameters = Parameters(python_function, self._name, target is not None, input_signature)
        self._target: Callable[[], Any] | None = target  # weak: the object whose method this is
        self._traces = Traces()
        self._turn = Turn()  # held while tracing
        self._first_call_done = False
        self._n_traces = 0
        self._history = History()
        self._code = code_of(python_function)
        # A method has a Function for each instance, and each of them traces: that is no mistake.
        self._detector = Detector() if target is not None else detector_of(self._code)
        self._calls_seen = 0  # by the detector
        self._variables: list[Any] = []  # weak references to those made while tracing
        self._options: dict[str, Any] = {
            "name": name,
            "input_signature": input_signature,
            "autograph": autograph,
            "experimental_autograph_options": experimental_autograph_options,
            "jit_compile": jit_compile,
            "reduce_retracing": reduce_retracing,
            "box_numbers": box_numbers,
            "lift_variables": lift_variables,
            "one_stream": one_stream,
            "experimental_attributes": experimental_attributes,
        }
        functools.update_wrapper(self, python_function, updated=())
        for key, value in getattr(python_function, "__dict__", {}).items():
            self.__dict__.setdefault(key, value)  # what a function or an object that can be called holds

    def __reduce__(self) -> Any:
        name = str(getattr(self._python_function, "__qualname__", ""))
        module = sys.modules.get(str(getattr(self._python_function, "__module__", "")))
        found: Any = module
        for part in name.split("."):
            found = getattr(found, part, None)
        if found is self:  # it stands where its Python function stood
            return name
        return _made_again, (self._python_function, self._options)

    def __copy__(self) -> Function:
        return _made_again(self._python_function, self._options)

    def __deepcopy__(self, memo: dict[int, Any]) -> Function:
        return _made_again(copy.deepcopy(self._python_function, memo), self._options)

    def __del__(self) -> None:
        detector = getattr(self, "_detector", None)
        if detector is not None:
            detector.freed(self._calls - self._calls_seen)

    def _decorate(self, decorator: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Put a decorator round the Python function, as modules do with their methods.

        Raises ValueError after the first trace.
        """
        if self._n_traces:
            raise ValueError("Functions cannot be decorated after they have been traced.")
        self.__init__(decorator(self._python_function), **self._options)  # type: ignore[misc]  # as if made of that

    # -- what it is

    python_function = ReadOnly[Callable[..., Any]]("_python_function", "The Python function behind it.")
    name = ReadOnly[str]("_name", "The name.")

    @property
    def input_signature(self) -> Any:
        """The signature it is restricted to, () where there are no parameters, or None."""
        own = self._parameters
        return () if own.input_signature is None and own.is_empty else own.input_signature

    @property
    def function_spec(self) -> FunctionSpec:
        """The Python signature."""
        found = inspect.signature(self._python_function)
        return FunctionSpec(list(found.parameters.values()), return_annotation=found.return_annotation)

    @property
    def function_type(self) -> FunctionType:
        """The Python signature, of a method without the instance."""
        return of_function(self._python_function, self._target is not None)

    def experimental_get_compiler_ir(self, *args: object, **kwargs: object) -> Callable[..., str]:
        """Return a function that gives what the compiler makes of the trace for these arguments, as text.

        It takes `stage`: "hlo" is the optimised graph, "optimized_hlo" all that `explain` tells. The text is
        fastgraph's own: there is no XLA. It raises ValueError for other stages.
        """
        concrete = self.get_concrete_function(*args, **kwargs)

        def text(stage: str = "hlo", device_name: str | None = None, platform_name: str | None = None) -> str:
            if stage == "hlo":
                return str(concrete.executable.graph)
            if stage == "optimized_hlo":
                return concrete.explain()
            raise ValueError(f"Invalid stage selected: {stage!r}. Valid values are: 'hlo', 'optimized_hlo'")

        return text

    def experimental_get_tracing_count(self) -> int:
        """Return how many times the Python function was traced."""
        return self._n_traces

    def pretty_printed_concrete_signatures(self, verbose: bool = True) -> str:
        """Return the signatures of all traces so far, in the order of tracing."""
        return "\n\n".join(
            each.pretty_printed_signature(verbose=verbose) for each in self._list_all_concrete_functions()
        )

    def explain_retraces(self) -> str:
        """Return why each of the latest traces was made: the arguments that changed, old against new, and what helps.

        Each trace is compared with the one of those before it that is nearest.
        """
        return self._history.explain(self._name)

    @property
    def _concrete_variable_creation_fn(self) -> ConcreteFunction | None:
        """The first trace, by TensorFlow's name for it: libraries draw its graph. None before the first call."""
        return next(iter(self._traces.all()), None)

    def _list_all_concrete_functions(self) -> list[ConcreteFunction]:
        return self._traces.all()

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """Return what a SavedModel keeps of it: its traces; the one of an input_signature is made."""
        if save_type == "checkpoint":
            return {}
        found = self._list_all_concrete_functions()
        if not found and self.input_signature is not None:
            found = [self.get_concrete_function()]
        return {f"trace_{i}": concrete for i, concrete in enumerate(found)}

    def clear_cache(self) -> None:
        """Forget all traces, of a method those for all objects: the next call traces afresh.

        Variables that were made in the first call stay.
        """
        self._traces.clear()
        self._forget_calls()
        for _, function in list(self._instances.values()):
            function.clear_cache()

    def __repr__(self) -> str:
        return f"<fastgraph.staging.function.Function object of {self._python_function!r}>"

    # -- calling it

    @with_user_frames
    def _call_slow(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the graph for arguments of this kind; trace it first if need be."""
        if _run_eagerly:
            return self._call_python(args, kwargs)
        with foreground:
            return self._call_graph(args, kwargs)

    def _call_graph(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        staged, begun = process.staged, process.begun()
        try:
            concrete, leaves, has_traced = self._find(args, kwargs)
        except BaseException:
            # No graph has run, so that nobody else notes what other processes may have gone on with.
            if (
                process.journal is not None
                and current_state().trace is None
                and (process.staged != staged or any(talks(each._trace.graph) for each in self._traces.all()))
            ):
                process.note_failure(begun)
            raise
        if has_traced and concrete.first is not None:
            first, concrete.first = concrete.first, None
            return first.call_flat(leaves)
        if current_state().trace is None:
            if has_traced:
                self._detector.traced(self, self._code, self._history.latest())
            for leaf in leaves:
                if type(leaf) is not EagerTensor:
                    raise _no_value(leaf)
            concrete.offer(self, args, kwargs, leaves)
            concrete.note()
        return concrete.call_flat(leaves)

    def _call_python(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if self._target is not None:
            return self._python_function(self._target(), *args, **kwargs)
        return self._python_function(*args, **kwargs)

    @with_user_frames
    def get_concrete_function(self, *args: object, **kwargs: object) -> ConcreteFunction:
        """Return the ConcreteFunction for arguments of this kind (TensorSpecs stand for tensors); runs nothing."""
        if self._parameters.input_signature is not None and not args and not kwargs:
            args = self._parameters.input_signature
        found = self._find(args, kwargs)[0]
        if isinstance(found, recursive_tracing.Pending):
            raise RuntimeError(f"{self._name} is being traced: its concrete function is there when that is done")
        found.first = None  # no call has traced it
        return found

    def _find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[ConcreteFunction, list[Any], bool]:
        """Return the graph that serves these arguments, their tensors, and whether the graph was traced for them."""
        named = self._parameters.match(args, kwargs)
        if self._parameters.input_signature is not None:
            named = self._parameters.cast(named, args, kwargs)
        elif self._box_numbers:
            named = {name: cache_keys.boxed(value) for name, value in named.items()}
        arguments = cache_keys.analyse(named)
        if self._parameters.input_signature is not None:
            arguments.key = _SIGNATURE
            self._parameters.rename(arguments)
        replica = current_state().replica
        if replica is not None:  # whose copies of Variables the trace takes
            arguments.key = (cache_keys.REPLICA, *replica.key, arguments.key)
        found = self._traces.find(arguments.key) or recursive_tracing.find(self, arguments.key)
        if found is None:
            found = self._find_within(arguments.key)
        has_traced = False
        if found is None:
            with self._turn.held():
                found = self._traces.find(arguments.key)  # another thread may have been faster
                if found is None:
                    found, has_traced = self._trace_for(arguments), True
        return found, arguments.leaves, has_traced

    def _trace_for(self, arguments: Arguments) -> ConcreteFunction:
        key = arguments.key
        if self._parameters.input_signature is not None:
            shapes, specs = self._parameters.promised()
        else:
            shapes, specs = arguments.shapes, arguments.specs
            if self._reduce_retracing:
                key, shapes, specs = self._relax(arguments)
        n_before = self._n_traces
        name = f"__inference_{_plain(self._name)}_{next(_numbers)}"
        concrete, is_final, n_passes = recursive_tracing.settled(
            self,
            key,
            name,
            lambda: self._trace(arguments, shapes, specs, name),
            lambda: cache_keys.described(arguments, shapes, specs),
        )
        if n_passes > 1:
            self._n_traces = n_before + 1  # of a Function that calls itself, however many passes it takes
        if not is_final:
            return concrete
        self._history.note(concrete.signature.structure)
        around = concrete.enclosing()
        if around is not None:  # it takes tensors of another trace: what else is traced has no use for it
            around.within[(id(self), key)] = self, concrete
            return concrete
        general = any(shape is None or None in shape for shape in shapes) or any(
            isinstance(s, TraceType) for s in specs
        )
        general = general and self._parameters.input_signature is None
        exact = not general or bool(specs)  # a composite's shape may be known and yet not those of its tensors
        return self._traces.add(key, concrete, exact, general, self._owners())

    def _find_within(self, key: object) -> ConcreteFunction | None:
        """Return the trace for this key that takes tensors of what is being traced around the call."""
        trace = current_state().trace
        around = trace if isinstance(trace, GraphTrace) else None
        while around is not None:
            found = around.within.get((id(self), key))
            if found is not None:
                return cast("ConcreteFunction", found[1])
            around = around.outer
        return None

    def _relax(self, arguments: Arguments) -> tuple[Any, list[Any], list[Any]]:
        """Return the key, shapes and specs to trace for: relaxed where an earlier trace differs in shapes only."""
        key = arguments.key
        other = self._traces.alike(key) or recursive_tracing.alike(self, key)
        relaxed = None if other is None else general_key(key, other)
        if relaxed is None or relaxed == key:
            return key, arguments.shapes, arguments.specs
        specs: list[Any] = []
        return relaxed, cache_keys.shapes_in(relaxed, specs), specs

    # -- tracing

    def _trace(self, arguments: Arguments, shapes: list[Any], specs: list[Any], name: str) -> ConcreteFunction:
        """Trace the function for these arguments; the first time twice if Variables are made.

        Where they start from what only the call knows, it runs the first of the two, as in TensorFlow: what that does
        to Variables where it makes them is in no other.
        """
        first: ConcreteFunction | None = None
        if self._lift_variables or not self._first_call_done:
            made: list[Any] = []
            concrete, is_of_the_call = self._trace_once(arguments, shapes, specs, made, name)
            self._first_call_done = True
            if not made:
                return concrete
            self._variables += [weakref.ref(variable) for variable in made]
            first = concrete if is_of_the_call else None
        concrete, _ = self._trace_once(arguments, shapes, specs, None, name)
        concrete.first = first
        return concrete

    def _call_traced(self, named: dict[str, Any]) -> Any:
        """Call the Python function, converted where need be, with a value for each parameter."""
        args, kwargs = self._parameters.spread(named)
        return self._call_in_trace(*args, **kwargs)

    def _call_in_trace(self, *args: Any, **kwargs: Any) -> Any:
        """Call the Python function as a trace of it does, converted where need be, but in the trace that is there."""
        if self._target is not None:
            args = (self._target(), *args)
        if self._autograph:
            with with_features(self._features):
                return autograph.convert(self._python_function, asked=True)(*args, **kwargs)
        autograph.leave(self._python_function, "its Function has autograph=False")
        return self._python_function(*args, **kwargs)

    def _trace_once(
        self, arguments: Arguments, shapes: list[Any], specs: list[Any], made: list[Any] | None, graph_name: str
    ) -> tuple[ConcreteFunction, bool]:
        """Trace the function; say whether a Variable starts from what only the call knows.

        Variables are collected in `made`; where that is None, none may be made.
        """
        trace = GraphTrace(self._name)
        inputs = [
            trace.add_input(Aval(leaf.aval.dtype, shape), _plain(name.lstrip("*")))
            for leaf, shape, name in zip(arguments.leaves, shapes, arguments.names, strict=True)
        ]
        remaining = iter(inputs)
        composites = iter(specs)
        named = {
            name: cache_keys.substitute(value, lambda _: next(remaining), composites)
            for name, value in arguments.structure.items()
        }
        before, named = named, {name: together(cache_keys.copied(value)) for name, value in named.items()}

        def creator(next_creator: Callable[..., Any], **kwargs: object) -> Any:
            if made is None:
                raise ValueError(not_first_call(kwargs))
            initial = kwargs.get("initial_value")
            kwargs["initial_value"] = initial_values.lifted(initial)
            if isinstance(initial, SymbolicTensor) and kwargs.get("shape") is None:  # the graph's, not the first call's
                kwargs["shape"] = initial.shape
            with init_scope():
                variable = next_creator(**kwargs)
            made.append(variable)
            return variable

        state = current_state()
        device = state.device
        outermost = state.trace is None
        initial_values = InitialValues(trace, arguments.leaves)
        if isinstance(state.trace, GraphTrace):
            trace.graph.around = weakref.ref(state.trace.graph)
            trace.enclosing = state.trace
        try:
            with resting, entering(trace), variable_creator_scope(creator):
                recursive_tracing.begin(trace, self._generators)
                result = self._call_traced(named)
                self._check_unchanged(before, named)
                structure = nesting.map_structure(lambda leaf: self._as_output(leaf), result)
                flat = nesting.flatten(structure, expand_composites=True)
                outputs = [trace.identity(leaf) for leaf in flat if is_computed(leaf)]
                if initial_values.are_of_the_call:
                    initial_values.write_results()
        except Exception as error:
            told = in_user_code(error) if outermost and self._autograph else None
            if told is None:
                raise
            raise told from error.__cause__
        finally:
            state.device = device
            initial_values.end()
        trace.finish(outputs)
        trace.enclosing = None
        if self._one_stream:
            self._generators += [cell for cell in trace.generators if cell not in self._generators]
        self._n_traces += 1
        described = cache_keys.described(arguments, shapes, specs)
        parameters = self._parameters.flat(described)
        signature = Signature(self._name, parameters, described)
        concrete = ConcreteFunction(trace, signature, structure, graph_name)
        trace.graph.function_name = concrete.label
        trace.graph.choice = self._choice
        trace.graph.at_once = bool(self._jit_compile)
        traces, made_for = weakref.ref(self._traces), weakref.ref(concrete)

        def gone(_: object, ending: Callable[[], bool] = sys.is_finalizing) -> None:
            if not ending() and (table := traces()) is not None:
                table.void(made_for)

        concrete.guard = Guard(arguments.objects, gone)
        return concrete, initial_values.are_of_the_call

    def _check_unchanged(self, before: dict[str, Any], after: dict[str, Any]) -> None:
        """Raise ValueError if the traced function changed a list or dict that it was given: a copy, for the caller."""
        changed = [name.lstrip("*") for name, value in before.items() if cache_keys.changed(value, after[name])]
        if changed:
            raise ValueError(
                f"{self._name}({', '.join(before)}) should not modify its Python input arguments. Modifying a copy is "
                f"allowed. The following parameter(s) were modified: {', '.join(changed)}"
            )

    def _as_output(self, leaf: object) -> Any:
        """Return what a traced function returns as a tensor (or None). Raises TypeError for other objects."""
        if leaf is None or isinstance(leaf, Tensor):
            return leaf
        if cache_keys.is_variable(leaf) or not isinstance(getattr(leaf, "_type_spec", None), TypeSpec):
            try:
                tensor = convert(leaf)
                if is_sequence(leaf):  # of a class that says so itself: no tensor here, as in TensorFlow
                    raise TypeError
                return tensor
            except (TypeError, ValueError):
                if hasattr(leaf, "__fg_staged_list__"):
                    raise  # it says what can be returned instead
                if isinstance(leaf, Operation) and not leaf.node.outputs:
                    return None  # what tf.print and the like give: as where nothing is traced
                raise TypeError(
                    "To be compatible with tf.function, Python functions must return zero or more Tensors or "
                    f"ExtensionTypes or None values; in compilation of {self._python_function!r}, found return value "
                    f"of type {type(leaf)}, which is not a Tensor or ExtensionType."
                ) from None
        return leaf

    # -- methods

    def _for_instance(self, instance: object) -> Function:
        """Return the Function of an instance, which is held weakly: what a method is."""
        key = id(instance)
        entry = self._instances.get(key)
        if entry is not None and entry[0]() is instance:
            function: Function = entry[1]
            return function
        try:
            instances = self._instances
            reference: Any = weakref.ref(instance, lambda _: instances.pop(key, None))
        except TypeError:

            def reference() -> Any:
                return instance

        function = Function(self._python_function, target=reference, **self._options)
        self._instances[key] = (reference, function)
        return function


boundaries.add(Function._trace_once.__code__)


def _made_again(python_function: Callable[..., Any], options: dict[str, Any]) -> Function:
    """Return a Function with these options; it has traced nothing."""
    return Function(python_function, **options)


class BoundFunction(BoundCall):
    """A Function as a method of an object: calls the Function of this instance, has its attributes, is a Function."""

    __signature__ = SignatureOfWrapped()

    @property  # type: ignore[misc]
    def __class__(self) -> type[Function]:  # type: ignore[override]
        return Function

    @property
    def __func__(self) -> Function:
        function: Function = self.function
        return function

    @property
    def __wrapped__(self) -> Any:
        return types.MethodType(self.function.python_function, self.__self__)

    @property
    def python_function(self) -> Any:
        """The Python method."""
        return types.MethodType(self.function.python_function, self.__self__)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.function, name)

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self.function.python_function.__name__)

    def __repr__(self) -> str:
        return f"<bound {self.function!r} of {self.__self__!r}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BoundFunction) and self.__self__ is other.__self__ and self.function is other.function

    def __hash__(self) -> int:
        return hash((id(self.__self__), id(self.function)))


Function._bound_class = BoundFunction

# ---- Parts ----------------------------------------------------------------------------------------------------------


def _no_value(leaf: object) -> Exception:
    """Return the error for an argument without a value, outside of every trace."""
    if isinstance(leaf, SymbolicTensor):
        return InaccessibleTensorError(out_of_reach(leaf, None))
    return TypeError(f"A call needs values: {leaf!r} only describes one. Use get_concrete_function with it.")


def _plain(name: str) -> str:
    """Return a name that a node can have."""
    return "".join(c if c.isalnum() or c in "_./-<>" else "_" for c in name).strip("_") or "fn"
