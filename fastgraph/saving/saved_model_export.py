"""The graph of a SavedModel: functions as a library, and around them what programs without Python begin with.

Rule: the same objects give the same bytes. Around the functions there are handles of Variables, constants, a call of
each signature, what fills tables, and operations that save and restore all values (see SaverDef).
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.composites.lookup_primitives import Table
from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DType
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.op_errors import enum_name
from fastgraph.core.tensor import convert, from_array
from fastgraph.graph.ir import Graph
from fastgraph.graphdef.export_slots import DATASETS
from fastgraph.graphdef.export_structure import STRUCTURE, custom_gradient, table_maker
from fastgraph.graphdef.exporter import MIN_CONSUMER, PRODUCER, Library, attr_value, function_bytes
from fastgraph.graphdef.graph_copies import Copies
from fastgraph.graphdef.import_calls import CustomGradient
from fastgraph.graphdef.import_calls import Library as Written
from fastgraph.graphdef.message_types import KINDS, Enum
from fastgraph.graphdef.messages import (
    ArgDef,
    AttrValue,
    FunctionDef,
    FunctionDefLibrary,
    GraphDef,
    Message,
    NodeDef,
    OpDef,
    VersionDef,
)
from fastgraph.graphdef.node_definitions import definitions
from fastgraph.graphdef.op_table import Dims
from fastgraph.graphdef.wire_format import parsed, sealed_message, serialized
from fastgraph.saving.object_graph import variable_of
from fastgraph.saving.saved_model_files import INIT_OP_SIGNATURE, MAIN_OPS, PREDICT_METHOD_NAME
from fastgraph.saving.saved_model_functions import RestoredConcreteFunction
from fastgraph.saving.saved_model_gradients import Stated, captured_name, has_one, stated_gradients
from fastgraph.saving.saved_model_graph import Constant, SavedGraph, TableFunction, is_dataset, table_of
from fastgraph.saving.saved_model_objects import Asset
from fastgraph.saving.saved_model_signatures import argument_names, described_inputs, result_of, variables_of
from fastgraph.saving.saved_model_structures import VariableSpec, flat_specs, shape_message
from fastgraph.staging.concrete_function import ConcreteFunction
from fastgraph.staging.signature import cache_keys
from fastgraph.state.variable import Variable


class Unsavable(ValueError):
    """Error of operations that TensorFlow has no equal of."""


class Functions:
    """The functions of a SavedModel: traces by their names, those of tables, and all that these call."""

    def __init__(self, graph: SavedGraph) -> None:
        self.graph = graph
        self.library = Library()
        self.traces: dict[str, ConcreteFunction] = {}
        self.names: dict[int, str] = {}  # of an object's number
        self.of_tables: dict[str, TableFunction] = {}
        self.loaded: dict[int, tuple[Written, dict[str, str]]] = {}
        self.gradients: dict[str, tuple[str, Written, CustomGradient]] = {}  # by the name that operations have for it
        self.stated: list[tuple[str, Stated, list[tuple[str, str] | int]]] = []  # with what each takes from outside
        for number, value in enumerate(graph.objects):
            if isinstance(value, ConcreteFunction):
                name = self._name(value)
                self.names[number] = name
                self.traces[name] = value
            elif isinstance(value, TableFunction):
                name = self._unique(f"__inference_{value.kind.strip('_')}_{value.table}")
                self.names[number] = name
                self.of_tables[name] = value

    def _name(self, concrete: ConcreteFunction) -> str:
        name = self._unique(concrete.label)
        if variables_of(concrete):  # calls inside of functions pass them after all else
            self.library.names[concrete._trace.graph] = self._unique(f"{name}_inside")
            return name
        if isinstance(concrete, RestoredConcreteFunction):
            self._own_names(concrete.library)[concrete.label] = name
            return name
        self.library.names[concrete._trace.graph] = name
        return name

    def _own_names(self, library: Written) -> dict[str, str]:
        """The names here of functions of a library that was loaded."""
        known = self.loaded.get(id(library))
        if known is None:
            known = self.loaded[id(library)] = (library, {})
        return known[1]

    def name_of(self, concrete: ConcreteFunction) -> Any:
        """Return what a trace is called here, None for one that is not saved."""
        if isinstance(concrete, RestoredConcreteFunction):
            return self._own_names(concrete.library).get(concrete.label)
        return self.library.names.get(concrete._trace.graph)

    def captures(self, concrete: ConcreteFunction) -> list[int]:
        """Return the numbers of what a trace takes from outside. Raises LookupError for what nothing leads to."""
        if isinstance(concrete, RestoredConcreteFunction):
            return [self.graph.number_of_object(each) for each in concrete.objects]
        given = {id(_cell_of(each)) for each in variables_of(concrete)}
        captures = [held for held, _ in concrete._trace.graph.captures if not is_dataset(held)]
        return [self.graph.number_of_capture(held) for held in captures if id(_behind(held)) not in given]

    def _as_loaded(self) -> dict[str, Message]:
        """The functions that were loaded, and all that these call, as they were written."""
        found = {}
        for library, names in self.loaded.values():
            roots = {*names, *[stated.function for stated in library.gradients.values()]}
            for name in sorted(library.reached(roots)):
                if name not in names:
                    names[name] = self._unique(name)
            changed = {old: new for old, new in names.items() if old != new}
            shared = library.resources.items()
            tables = {old.encode(): str(each).encode() for old, each in shared if isinstance(each, Table)}
            for old, new in names.items():
                found[new] = _renamed(library[old], changed, tables) if changed or tables else library[old]
            for op_type, stated in library.gradients.items():
                self.gradients[op_type] = names[stated.function], library, stated
        return found

    def _unique(self, name: str) -> str:
        found, n = name, 0
        while found in self.library._taken:
            n += 1
            found = f"{name}_{n}"
        self.library._taken.add(found)
        return found

    def state_gradients(self) -> None:
        """Enter the gradients that functions of this program state, as functions."""
        for stated in stated_gradients(self):
            name = self._unique(f"__inference_internal_grad_fn_{len(self.stated)}")
            self.library.names[stated.graph] = name
            self.stated.append((name, stated, []))

    def _find_captured(self, done: dict[str, Message], copies: Copies) -> None:
        """Say by name what stated gradients take of functions, by number what they take else."""
        for _, stated, bound in self.stated:
            function = self.library.names[stated.within]
            within = copies.of(stated.within)
            for value in stated.residuals:
                bound.append((captured_name(value, within, done[function]), function))
            bound += [self.graph.number_of_capture(held) for held, _ in stated.graph.captures]

    def messages(self) -> list[Message]:
        """Return the FunctionDefs by name. Raises Unsavable, with all their names, for operations without an equal."""
        done: dict[str, Message] = {name: _table_function(name, each) for name, each in self.of_tables.items()}
        done.update(self._as_loaded())
        foreign: dict[str, list[str]] = {}
        named, n = self.library.names, len(done)
        variables = {stated.op_type: stated.variables for _, stated, _ in self.stated}
        copies = Copies({**STRUCTURE, "custom_gradient_identity": custom_gradient(variables)})
        datasets = DATASETS[0]()(copies) if DATASETS else None
        while len(done) < len(named) + n:
            for graph, name in list(named.items()):
                if name not in done:
                    if variables and has_one(graph, variables):
                        copies.of(graph)
                    if datasets is not None:
                        datasets.enter(graph)
                        self.library.inside |= datasets.inner
                    written = copies.of(graph) if graph in copies else graph
                    done[name] = sealed_message(function_bytes(written, name, self.library), "FunctionDef")
                    for op in _foreign(written):
                        foreign.setdefault(op, []).append(name)
        self._find_captured(done, copies)
        for name, concrete in self.traces.items():
            if variables_of(concrete):
                done[name] = _with_variables(concrete, name, done[named[concrete._trace.graph]])
        if foreign:
            lines = "\n".join(f"  {op}, in {', '.join(where[:3])}" for op, where in sorted(foreign.items()))
            raise Unsavable(
                f"Functions use operations that TensorFlow has no equal of, or not for these arguments:\n{lines}"
            )
        return [done[name] for name in sorted(done)]


def _behind(held: Any) -> Any:
    """Return what a graph takes from outside, of which it may have a weak reference."""
    return held() if isinstance(held, weakref.ref) else held


def _cell_of(variable: cache_keys.Held) -> Any:
    found = variable.get()
    return None if found is None else found.__fg_cell__


def _with_variables(concrete: ConcreteFunction, name: str, function: Message) -> Message:
    """A FunctionDef whose arguments are those of a trace in order, the Variables among them where they are given."""
    found = parsed(serialized(function), "FunctionDef")
    captures = [_behind(held) for held, _ in concrete._trace.graph.captures if not is_dataset(held)]
    tensors = len(found.signature.input_arg) - len(captures)
    of_cells = {id(cell): tensors + i for i, cell in enumerate(captures)}
    order: list[Any] = []  # places of arguments that there are, or the Variables that the graph does not take
    n = 0
    for leaf in nesting.flatten(described_inputs(concrete), expand_composites=True):
        if isinstance(leaf, TensorSpec):
            order.append(n)
            n += 1
        elif isinstance(leaf, VariableSpec):
            order.append(leaf)
    held = iter(variables_of(concrete))
    order = [of_cells.pop(id(_cell_of(next(held))), each) if isinstance(each, VariableSpec) else each for each in order]
    order += [place for place in range(tensors, tensors + len(captures)) if place in of_cells.values()]
    arguments, attributes = list(found.signature.input_arg), dict(found.arg_attr.items())
    del found.signature.input_arg[:]
    found.arg_attr.clear()
    for i, place in enumerate(order):
        if isinstance(place, int):
            found.signature.input_arg.append(arguments[place])
            if place in attributes:
                found.arg_attr[i].CopyFrom(attributes[place])
        else:
            handle = KINDS["DtypeAndShape"](dtype=Enum(enum_name(place.dtype)), shape=shape_message(place.shape))
            found.signature.input_arg.append(ArgDef(name=f"unused_{i}", type=Enum("DT_RESOURCE"), handle_data=[handle]))
    found.signature.name = name
    return found


def _renamed(function: Message, names: dict[str, str], tables: dict[bytes, bytes]) -> Message:
    """A FunctionDef in which functions are called otherwise, and tables are those of this program."""
    found = parsed(serialized(function), "FunctionDef")
    found.signature.name = names.get(found.signature.name, found.signature.name)
    for each in found.node_def:
        each.op = names.get(each.op, each.op)
        shared = each.attr.get("shared_name") if "Table" in each.op else None
        if shared is not None:
            shared.s = tables.get(shared.s, shared.s)
        for value in each.attr.values():
            for func in [*([value.func] if value.HasField("func") else []), *value.list.func]:
                func.name = names.get(func.name, func.name)
    return found


def _foreign(graph: Graph) -> list[str]:
    """The operations of a graph that are written with this package's own attributes."""
    return [each.type for each in definitions(graph) if each.is_foreign]


# ---- Functions of tables, written by hand ---------------------------------------------------------------------------


def _table_function(name: str, of: TableFunction) -> Message:
    """A FunctionDef: of a table's handle, or of what fills it (from a file that is given, or constants)."""
    table = of.table
    if of.kind in ("_save", "_restore"):
        return _kept_function(name, of.kind, table)
    kind, attrs = table_maker(table)
    maker = node("table", kind, (), **attrs)
    handle = "table:table_handle:0"
    if of.kind == "_create_resource":
        nodes = [maker, node("handle", "Identity", [handle], T=dtypes.resource)]
        return _function(name, nodes, (), [("table_handle", dtypes.resource, "handle:output:0")])
    zero = node("zero", "Const", (), dtype=dtypes.int32, value=convert(np.int32(0)))
    if of.kind == "_initialize" and not table.is_fixed:
        return _function(name, [zero], (), [("done", dtypes.int32, "zero:output:0")])
    if of.file is not None:
        said = {"key_index": -2, "value_index": -1, "vocab_size": -1, "delimiter": "\t", "offset": 0, **of.said}
        fill = node("fill", "InitializeTableFromTextFileV2", [handle, "file"], **said)
        arguments = [("file", dtypes.string)]
    else:
        keys = np.empty(len(table.entries), table.key_dtype.numpy_dtype)
        keys[:] = list(table.entries)
        values = np.empty((len(keys), *table.shape), table.dtype.numpy_dtype)
        for i, value in enumerate(table.entries.values()):
            values[i] = value
        nodes = [
            node("keys", "Const", (), dtype=table.key_dtype, value=from_array(keys, table.key_dtype)),
            node("values", "Const", (), dtype=table.dtype, value=from_array(values, table.dtype)),
        ]
        types = {"Tin": table.key_dtype, "Tout": table.dtype}
        fill = node("fill", "LookupTableImportV2", [handle, "keys:output:0", "values:output:0"], **types)
        arguments = []
    before = [maker, zero, *(nodes if of.file is None else [])]
    last = node("done", "Identity", ["zero:output:0", "^fill"], T=dtypes.int32)
    return _function(name, [*before, fill, last], arguments, [("done", dtypes.int32, "done:output:0")], ["fill"])


def _kept_function(name: str, kind: str, table: Table) -> Message:
    """A FunctionDef: of a table's entries, each with its key in a checkpoint and no slice, or of what takes them."""
    if kind == "_restore":
        parts = [("restored_tensors_0", table.key_dtype), ("restored_tensors_1", table.dtype)]
        types = {"Tin": table.key_dtype, "Tout": table.dtype}
        fill = node("fill", "LookupTableImportV2", ["table", *[part for part, _ in parts]], **types)
        one = node("one", "Const", (), dtype=dtypes.int32, value=convert(np.int32(1)))
        last = node("done", "Identity", ["one:output:0", "^fill"], T=dtypes.int32)
        arguments = [*parts, ("table", dtypes.resource)]
        return _function(name, [fill, one, last], arguments, [("done", dtypes.int32, "done:output:0")], ["fill"])
    types = {"Tkeys": table.key_dtype, "Tvalues": table.dtype}
    nodes, results = [node("entries", "LookupTableExportV2", ["table"], **types)], []
    for text, value in (("slice", ""), ("-keys", "-keys"), ("-values", "-values")):
        nodes.append(node(text.strip("-"), "Const", (), dtype=dtypes.string, value=convert(value)))
    for part, dtype in (("keys", table.key_dtype), ("values", table.dtype)):
        nodes.append(node(f"name_of_{part}", "StringJoin", ["checkpoint_key", f"{part}:output:0"], N=2, separator=""))
        results += [(f"{part}_name", dtypes.string, f"name_of_{part}:output:0")]
        results += [(f"{part}_slice", dtypes.string, "slice:output:0"), (part, dtype, f"entries:{part}:0")]
    return _function(name, nodes, [("checkpoint_key", dtypes.string), ("table", dtypes.resource)], results, ["entries"])


def _function(
    name: str,
    nodes: Sequence[Message],
    arguments: Sequence[tuple[str, DType]],
    results: Sequence[tuple[str, DType, str]],
    effects: Sequence[str] = (),
) -> Message:
    signature = OpDef(
        name=name,
        input_arg=[ArgDef(name=each, type=Enum(enum_name(dtype))) for each, dtype in arguments],
        output_arg=[ArgDef(name=each, type=Enum(enum_name(dtype))) for each, dtype, _ in results],
        is_stateful=True,
        control_output=list(effects),
    )
    return FunctionDef(
        signature=signature,
        node_def=list(nodes),
        ret={each: source for each, _, source in results},
        control_ret={each: each for each in effects},
        attr={"_construction_context": AttrValue(s=b"kEagerRuntime")},
    )


def node(name: str, op: str, inputs: Sequence[str], **attrs: Any) -> Message:
    """Return a NodeDef."""
    return NodeDef(name=name, op=op, input=list(inputs), attr={key: attr_value(each) for key, each in attrs.items()})


# ---- The graph around the functions ---------------------------------------------------------------------------------


class MainGraph:
    """The nodes of a SavedModel's graph, and what other messages say of them."""

    def __init__(self, graph: SavedGraph, functions: Functions, keys: dict[int, str]) -> None:
        """`keys`: of Variables, by their numbers, the keys of their values."""
        self.graph, self.functions = graph, functions
        self.nodes: list[Message] = []
        self._taken: set[str] = set()
        self.handles: dict[int, str] = {}  # what a function takes for an object, by its number
        self._types: dict[str, DType] = {}  # of handles
        self.operations: dict[int, str] = {}  # the names of constants
        self.assets: list[tuple[str, Asset]] = []  # the tensors that are fed with the paths of files
        self.variables: dict[int, Variable] = {}
        self._assigned: list[str] = []
        for number, value in enumerate(graph.objects):
            self._enter(number, value)
        self.signatures: dict[str, Message] = {}
        self.collections: dict[str, Message] = {}
        self._initialise()
        self.saver = self._saver(keys)

    def add(self, name: str, op: str, inputs: Sequence[str] = (), **attrs: Any) -> str:
        """Append a node; return its name."""
        found, n = name, 0
        while found.lower() in self._taken:
            n += 1
            found = f"{name}_{n}"
        self._taken.add(found.lower())
        self.nodes.append(node(found, op, inputs, **attrs))
        return found

    def _enter(self, number: int, value: Any) -> None:
        own = variable_of(value)
        if own is not None:
            self.variables[number] = own
            self.handles[number] = self._handle(_plain(own._shared_name), own.dtype, own.shape)
        elif (table := table_of(value)) is not None:
            kind, attrs = table_maker(table)
            self.handles[number] = self.add("table", kind, **attrs)
            self._types[self.handles[number]] = dtypes.resource
        elif isinstance(value, Constant):
            dtype = value.tensor.dtype
            self.operations[number] = self.handles[number] = self.add("Const", "Const", dtype=dtype, value=value.tensor)
            self._types[self.handles[number]] = dtype
        elif isinstance(value, Asset):
            path = self.add("asset_path_initializer", "PlaceholderWithDefault", [self._text("unknown")],
                            dtype=dtypes.string, shape=Dims(()))  # fmt: skip
            handle = self._handle("asset", dtypes.string, TensorShape([]))
            self._assigned.append(self.add("asset/Assign", "AssignVariableOp", [handle, path], dtype=dtypes.string))
            self.handles[number] = self.add(
                "asset/Read/ReadVariableOp", "ReadVariableOp", [handle], dtype=dtypes.string
            )
            self._types[self.handles[number]] = dtypes.string
            self.assets.append((path, value))

    def _text(self, text: str) -> str:
        return self.add("Const", "Const", dtype=dtypes.string, value=convert(text))

    def _handle(self, name: str, dtype: DType, shape: TensorShape) -> str:
        found = self.add(name, "VarHandleOp", dtype=dtype, shape=Dims(shape._dims), shared_name=name, container="")
        if found != name:  # names of Variables need not differ
            self.nodes[-1].attr["shared_name"].s = found
        self._types[found] = dtypes.resource
        return found

    def _taken_by(self, concrete: ConcreteFunction) -> list[str]:
        return [self.handles[number] for number in self.functions.captures(concrete)]

    def _call(self, name: str, inputs: Sequence[str], types: Sequence[DType], results: Sequence[DType]) -> str:
        attrs = {"Tin": list(types), "Tout": list(results), "config": "", "config_proto": b"", "executor_type": ""}
        found = self.add("StatefulPartitionedCall", "StatefulPartitionedCall", inputs, **attrs)
        self.nodes[-1].attr["f"].func.name = name
        self.nodes[-1].attr["f"].SetInParent()
        return found

    # -- signatures

    def sign(self, key: str, concrete: ConcreteFunction) -> None:
        """Call a signature's function on placeholders, and say what goes in and comes out."""
        specs = flat_specs(concrete.structured_input_signature)
        inputs, names = {}, []
        for name, spec in zip(argument_names(concrete), specs, strict=True):
            made = self.add(_plain(f"{key}_{name}"), "Placeholder", dtype=spec.dtype, shape=Dims(spec.shape._dims))
            inputs[name] = _info(f"{made}:0", spec)
            names.append(made)
        taken = self._taken_by(concrete)
        results = [*zip(_flat_names(result_of(concrete)), flat_specs(result_of(concrete)), strict=True)]
        types = [*[spec.dtype for spec in specs], *[self._types[each] for each in taken]]
        label = self.functions.name_of(concrete)
        call = self._call(label, [*names, *taken], types, [spec.dtype for _, spec in results])
        given = {name: _info(f"{call}:{i}", spec) for i, (name, spec) in enumerate(results)}
        self.signatures[key] = KINDS["SignatureDef"](inputs=inputs, outputs=given, method_name=PREDICT_METHOD_NAME)

    # -- what runs first

    def _initialise(self) -> None:
        calls = []
        for number, value in enumerate(self.graph.objects):
            if isinstance(value, TableFunction) and value.kind == ("_initialize" if value.table.is_fixed else "_fill"):
                file = [path for path, asset in self.assets if asset is value.file]  # not read: that is for later
                types = [dtypes.string] * len(file)
                calls.append(self._call(self.functions.names[number], file, types, [dtypes.int32]))
        last = self.add("NoOp", "NoOp", [f"^{each}" for each in (*self._assigned, *calls)])
        self.collections[MAIN_OPS[0]] = KINDS["CollectionDef"](node_list=KINDS["NodeList"](value=[last]))
        info = KINDS["TensorInfo"](name=last, dtype=Enum(0), tensor_shape=shape_message(TensorShape(None)))
        self.signatures[INIT_OP_SIGNATURE] = KINDS["SignatureDef"](outputs={INIT_OP_SIGNATURE: info})

    # -- saving and restoring

    def _saver(self, keys: dict[int, str]) -> Message:
        """The operations that programs without Python save and restore values by."""
        numbers = [number for number in self.variables if number in keys]
        types = [self.variables[number].dtype for number in numbers]
        file = self.add("saver_filename", "Placeholder", dtype=dtypes.string, shape=Dims(()))
        restored: list[str] = []
        saved = file
        if numbers:
            names = self._texts("saver/tensor_names", [keys[number] for number in numbers])
            slices = self._texts("saver/shape_and_slices", [""] * len(numbers))
            reads = [
                self.add(
                    f"{self.handles[number]}/Read/ReadVariableOp", "ReadVariableOp", [self.handles[number]], dtype=dtype
                )
                for number, dtype in zip(numbers, types, strict=True)
            ]
            saved = self.add("saver/SaveV2", "SaveV2", [file, names, slices, *reads], dtypes=types)
            values = self.add("saver/RestoreV2", "RestoreV2", [file, names, slices], dtypes=types)
            for i, (number, dtype) in enumerate(zip(numbers, types, strict=True)):
                value = f"{values}:{i}" if i else values
                assign = [self.handles[number], value]
                restored.append(self.add("saver/AssignVariableOp", "AssignVariableOp", assign, dtype=dtype))
        done = self.add("saver/save", "Identity", [file, *([f"^{saved}"] if saved != file else [])], T=dtypes.string)
        restore = self.add("saver/restore_all", "NoOp", [f"^{each}" for each in restored])
        return KINDS["SaverDef"](
            filename_tensor_name=f"{file}:0", save_tensor_name=f"{done}:0", restore_op_name=restore, version=2
        )

    def _texts(self, name: str, texts: Sequence[str]) -> str:
        array = np.array([each.encode() for each in texts], object)
        return self.add(name, "Const", dtype=dtypes.string, value=from_array(array, dtypes.string))

    def message(self) -> Message:
        """Return the GraphDef."""
        functions = self.functions.messages()
        names = {op_type: name for op_type, (name, _, _) in self.functions.gradients.items()}
        names.update({stated.op_type: name for name, stated, _ in self.functions.stated})
        stated = [
            KINDS["RegisteredGradient"](gradient_func=name, registered_op_type=op_type)
            for op_type, name in sorted(names.items())
        ]
        return GraphDef(
            node=self.nodes,
            library=FunctionDefLibrary(function=functions, registered_gradients=stated),
            versions=VersionDef(producer=PRODUCER, min_consumer=MIN_CONSUMER),
        )


def _flat_names(result: Any) -> list[str]:
    """The names of a signature's results, in the order of the graph's: composites give several, by number."""
    found = []
    for name in sorted(result):
        n = len(flat_specs(result[name]))
        found += [name] if n == 1 else [f"{name}_{i}" for i in range(n)]
    return found


def _info(name: str, spec: TensorSpec) -> Message:
    return KINDS["TensorInfo"](name=name, dtype=Enum(enum_name(spec.dtype)), tensor_shape=shape_message(spec.shape))


def _plain(name: str) -> str:
    found = "".join(c if (c.isalnum() and c.isascii()) or c in "_./-" else "_" for c in name)
    return found if found[:1].isalnum() else f"v{found}"
