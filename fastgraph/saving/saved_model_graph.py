"""The objects that a SavedModel keeps: those of a checkpoint, and functions, their constants, signatures and tables.

Rule: an object is found by the names of attributes that lead to it, as in a checkpoint; what a function takes from
outside is an object as well.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from fastgraph.composites.lookup_primitives import Table
from fastgraph.composites.lookup_tables import LookupInterface, TextFileInitializer
from fastgraph.core.base import nesting
from fastgraph.core.base.logger import get_logger
from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import EagerTensor, cell_read, class_has, convert, init_scope
from fastgraph.graph.captures import Deferred
from fastgraph.graph.ir import subgraphs
from fastgraph.graphdef.export_slots import DATASETS
from fastgraph.graphdef.wire_format import serialized
from fastgraph.ops.creation import zeros
from fastgraph.saving.object_graph import ObjectGraph, variable_of
from fastgraph.saving.saved_model_functions import RestoredConcreteFunction, RestoredDataset
from fastgraph.saving.saved_model_objects import Asset, RestoredTable, SignatureMap, restored_table
from fastgraph.saving.saved_model_signatures import described_inputs, for_one, variables_of
from fastgraph.saving.saved_model_structures import VariableSpec, encoded
from fastgraph.staging.concrete_function import ConcreteFunction
from fastgraph.staging.function import BoundFunction, Function
from fastgraph.state.tracking import AutoTrackable, Trackable, children_of
from fastgraph.state.variable import Variable, VariableAggregation, VariableSynchronization

_SHOWN = 5  # names of functions that a warning tells
#: Functions of models of Keras 2 that only training calls.
_OF_TRAINING = frozenset(("train_function", "test_function", "predict_function", "train_tf_function"))


class Constant:
    """A tensor that a function takes from outside."""

    def __init__(self, tensor: EagerTensor) -> None:
        self.tensor = tensor


class TableFunction:
    """A function that a table has in a SavedModel: `kind` says which.

    "_create_resource", "_initialize"; of a mutable one "_save" and "_restore", by which TensorFlow keeps what it has,
    and "_fill", which is what it begins with where nothing restores it.
    """

    @property
    def is_child(self) -> bool:
        """True for what the table has as an attribute."""
        return self.kind in ("_create_resource", "_initialize")

    def __init__(
        self, kind: str, table: Table, file: Asset | None = None, said: Mapping[str, Any] | None = None
    ) -> None:
        self.kind, self.table, self.file, self.said = kind, table, file, dict(said or {})


class SavedGraph(ObjectGraph):
    """The objects below a root that a SavedModel keeps, with signatures."""

    def __init__(self, root: Any, signatures: SignatureMap, functions: dict[str, Any], cache: dict[Any, Any]) -> None:
        """`functions`: those of the root, by `functions_of`; `cache`: what Keras 2 has made for this file."""
        self.functions = functions
        self._cache = cache
        self.untraced: list[str] = []
        self.constants: dict[int, Any] = {}  # a captured tensor's id -> what stands for it
        self.states: dict[int, Variable] = {}  # of generators that operations have for themselves
        self._known: dict[int, dict[str, Any]] = {}
        self._stand_ins: list[Variable] = []  # which traces know weakly
        self._assets: dict[bytes, Asset] = {}
        super().__init__(root, {"signatures": signatures}, slots=False)
        known = {table_of(value) for value in self.objects}
        hidden = [table for table in self._tables() if table not in known]
        self.attach({f"_table_{i}": restored_table(table) for i, table in enumerate(hidden)})
        self._merge_texts()
        self._find_slots()
        if self.untraced:
            shown = ", ".join(self.untraced[:_SHOWN])
            get_logger().warning(
                "Found untraced functions such as %s while saving (showing %d of %d). These functions will not be "
                "directly callable after loading.", shown, min(_SHOWN, len(self.untraced)), len(self.untraced),
            )  # fmt: skip

    def _merge_texts(self) -> None:
        """Let the texts that functions took before assets with these paths were met be the assets."""
        for value in self.objects:
            if isinstance(value, Asset):
                self._asset(value)
        found = {key: self._asset_of(each) for key, each in self.constants.items() if type(each) is Constant}
        gone = {id(self.constants[key]): asset for key, asset in found.items() if asset is not None}
        if not gone:
            return
        self.constants.update({key: asset for key, asset in found.items() if asset is not None})
        kept = [place for place, value in enumerate(self.objects) if id(value) not in gone]
        self.objects, self.paths = [self.objects[i] for i in kept], [self.paths[i] for i in kept]
        self.children = [{name: gone.get(id(child), child) for name, child in self.children[i].items()} for i in kept]
        self.ids = {id(value): place for place, value in enumerate(self.objects)}

    def _asset_of(self, constant: Constant) -> Asset | None:
        tensor = constant.tensor
        return self._assets.get(tensor.numpy()) if tensor.dtype.name == "string" and not tensor.dims else None

    def children_of(self, value: Any) -> dict[str, Any]:
        """Return {name: what an object depends on, or has as a function}."""
        found = self._known.get(id(value))
        if found is None:
            found = self._known[id(value)] = self._children(value)
        return found

    def _children(self, value: Any) -> dict[str, Any]:
        if isinstance(value, Constant | Asset | TableFunction):
            return {}
        if isinstance(value, ConcreteFunction):
            return self._captured(value)
        if isinstance(value, Function):
            return self._traces(value)
        if variable_of(value) is not None:
            return {**self.attached} if value is self.root else {}
        found = {}
        if isinstance(value, Trackable | list | tuple | dict):
            found = {name: _plain(child) for name, child in children_of(value, "savedmodel", cache=self._cache).items()}
        found.update(self.functions if value is self.root else functions_of(value))
        table = table_of(value)
        if table is not None:
            found.update(self._of_table(value, table))
        if isinstance(value, RestoredDataset):
            found["_create_resource"] = value.maker
        if value is self.root:
            if "signatures" in found and not isinstance(found["signatures"], SignatureMap):
                raise ValueError(
                    "Exporting an object that has an attribute named 'signatures' is not supported: signatures are "
                    "given by the argument. Delete the attribute (`del obj.signatures`) or call it otherwise."
                )
            found.update(self.attached)
        return found

    def _tables(self) -> list[Table]:
        """The tables that functions look things up in."""
        left = [value._trace.graph for value in self.objects if type(value) is ConcreteFunction]
        seen, found = set(left), dict[Table, None]()
        while left:
            graph = left.pop()
            for node in graph.nodes:
                if isinstance(node.attrs.get("table"), Table):
                    found.setdefault(node.attrs["table"])
                inner = [each for each, _ in subgraphs(node) if each not in seen]
                seen.update(inner)
                left += inner
        return list(found)

    def _traces(self, function: Function) -> dict[str, Any]:
        """The traces of a Function."""
        found = function._trackable_children("savedmodel")
        if not found:
            self.untraced.append(function.name)
        traces = dict.fromkeys(for_one(function, concrete) for concrete in found.values())
        kept = dict[Any, ConcreteFunction]()
        for each in traces:
            if not variables_of(each):
                kept[id(each)] = each
            else:  # the traces for other Variables are the same
                inputs = described_inputs(each)
                try:
                    key = serialized(encoded(inputs))
                except ValueError as error:
                    raise ValueError(f"{each!r} cannot be saved: {error}") from None
                kept[key] = kept[key] if key in kept else self._of_any_variables(function, inputs)
        return {f"trace_{i}": concrete for i, concrete in enumerate(kept.values())}

    def _of_any_variables(self, function: Function, inputs: Any) -> ConcreteFunction:
        """Trace a Function for Variables that nobody else has: its body may find those of the program, too."""
        made: dict[Any, Variable] = {}

        def variable(spec: Any) -> Any:
            if not isinstance(spec, VariableSpec):
                return spec
            if spec.alias_id not in made:
                dims = [1 if n is None else n for n in spec.shape]
                made[spec.alias_id] = Variable(zeros(dims, spec.dtype), spec.trainable, shape=spec.shape)
            return made[spec.alias_id]

        with init_scope():
            args, kwargs = nesting.map_structure(variable, inputs)
        self._stand_ins += made.values()
        return function.get_concrete_function(*args, **kwargs)

    def _captured(self, concrete: ConcreteFunction) -> dict[str, Any]:
        """The tensors that a trace takes from outside; Variables are found by their owners."""
        found: dict[str, Any] = {}
        if isinstance(concrete, RestoredConcreteFunction):
            of_gradients = [each for stated in concrete.library.gradients.values() for each in stated.objects]
            for kind, objects in (("capture", concrete.objects), ("of_gradient", of_gradients)):
                for i, each in enumerate(objects):
                    if isinstance(each, Asset):
                        found[f"{kind}_{i}"] = self._asset(each)
                    elif isinstance(each, EagerTensor):
                        found[f"{kind}_{i}"] = self.constants.setdefault(each.id, Constant(each))
                    elif isinstance(each, RestoredTable | RestoredDataset):
                        found[f"{kind}_{i}"] = each
            return found
        for i, (held, _) in enumerate(concrete._trace.graph.captures):
            tensor = held.value() if isinstance(held, Deferred) else held
            if isinstance(tensor, weakref.ref):
                cell = tensor()
                if cell is not None and cell.name == "generator" and (cell.variable is None or cell.variable() is None):
                    state = self.states.get(cell.id)
                    if state is None:
                        state = self.states[cell.id] = Variable(cell_read(cell), trainable=False, name="generator")
                    found[f"capture_{i}"] = state
            elif isinstance(tensor, EagerTensor) and not is_dataset(tensor):
                known = self.constants.get(tensor.id)
                if known is None:
                    known = self.constants[tensor.id] = Constant(tensor)
                found[f"capture_{i}"] = known
        return found

    def _asset(self, file: Any) -> Asset:
        """Return the asset of a file, of which there is one."""
        found = file if isinstance(file, Asset) else Asset(convert(file))
        return self._assets.setdefault(found.asset_path.numpy(), found)

    def _of_table(self, value: Any, table: Table) -> dict[str, Any]:
        initializer = getattr(value, "_initializer", None)
        found: dict[str, Any] = {"_create_resource": TableFunction("_create_resource", table)}
        if isinstance(initializer, TextFileInitializer):
            file = self._asset(initializer.file)
            found["_asset"] = file
            found["_initialize"] = TableFunction("_initialize", table, file, initializer.described())
        else:
            found["_initialize"] = TableFunction("_initialize", table)
        if not table.is_fixed:
            found.update({kind: TableFunction(kind, table) for kind in ("_save", "_restore", "_fill")})
        return found

    def number_of_capture(self, held: Any) -> int:
        """Return the number of what stands for a capture. Raises LookupError if nothing leads to it."""
        tensor: Any = held.value() if isinstance(held, Deferred) else held
        tensor = tensor() if isinstance(tensor, weakref.ref) else tensor
        if isinstance(tensor, Cell):
            state = self.states.get(tensor.id)
            if state is not None:
                return self.ids[id(state)]
            return self.variables()[tensor.id]
        return self.ids[id(self.constants[tensor.id])]

    def number_of_object(self, value: Any) -> int:
        """Return the number of what a loaded function is bound to. Raises LookupError if nothing leads to it."""
        if isinstance(value, Variable):
            return self.variables()[value.__fg_cell__.id]
        if isinstance(value, EagerTensor):
            return self.ids[id(self.constants[value.id])]
        return self.ids[id(self._asset(value) if isinstance(value, Asset) else value)]

    def variables(self) -> dict[int, int]:
        """Return {a Cell's id: the number of the object that owns the Variable}."""
        if not hasattr(self, "_variables"):
            self._variables: dict[int, int] = {}
            for number, value in enumerate(self.objects):
                own = variable_of(value)
                if own is not None:
                    for copy in _alike(own):
                        self._variables.setdefault(copy.__fg_cell__.id, number)
        return self._variables


def is_dataset(held: Any) -> bool:
    """Return whether what a function captured is a dataset, which is written inside of it."""
    return bool(DATASETS) and DATASETS[0]().is_written(held)


def table_of(value: Any) -> Table | None:
    """Return the table that an object has for itself."""
    found = getattr(value, "_table", None) if isinstance(value, LookupInterface | RestoredTable) else None
    return found if isinstance(found, Table) else None


def _plain(value: Any) -> Any:
    """Return the Function of a bound one: there is one for each instance."""
    return value.function if type(value) is BoundFunction else value


def _alike(variable: Variable) -> Sequence[Variable]:
    """The replicas' copies that a function may take for a Variable; of those that are added up each is but a part."""
    on_read = variable.synchronization is VariableSynchronization.ON_READ
    parts = on_read and variable.aggregation is VariableAggregation.SUM
    return variable._copies if variable._copies and not parts else (variable,)


def functions_of(value: Any) -> dict[str, Any]:
    """Return the functions among an object's attributes, items, methods, by name."""
    if isinstance(value, dict):
        items = [(str(name), each) for name, each in value.items()]
    elif isinstance(value, list | tuple):
        items = [(str(i), each) for i, each in enumerate(value)]
    else:
        items = []
        for cls in reversed(type(value).__mro__):
            for name, each in vars(cls).items():
                of_user = isinstance(each, property) and not cls.__module__.startswith("fastgraph.")
                if isinstance(each, Function) or (of_user and isinstance(value, AutoTrackable)):
                    try:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")  # of properties that nobody but this asked for
                            items.append((name, getattr(value, name)))
                    except Exception as error:  # as TensorFlow, which asks for all attributes
                        get_logger().debug("%s of %r: %s", name, value, error)
        hidden = _OF_TRAINING if class_has(value, "_trackable_saved_model_saver") else ()
        items += [(name, each) for name, each in getattr(value, "__dict__", {}).items() if name not in hidden]
        try:  # a property of Keras's models
            items.append(("_default_save_signature", getattr(value, "_default_save_signature", None)))
        except (TypeError, ValueError, AttributeError) as error:  # of inputs that are not known
            get_logger().debug("%r has no default signature: %s", value, error)
    return {
        name: _plain(each)
        for name, each in items
        if type(each) is BoundFunction or isinstance(each, Function | ConcreteFunction)
    }
