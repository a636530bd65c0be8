"""tf.saved_model.load: the objects of a SavedModel made again, with the values of their Variables and their functions.

Rule: nothing of a file is run but graphs; what a file names by number or name is there, or the load is an error.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from fastgraph.core.base.gc_pause import resting
from fastgraph.core.base.shapes import TensorShape
from fastgraph.core.tensor import EagerTensor, current_state, init_scope
from fastgraph.errors import InvalidArgumentError, NotFoundError, OpError
from fastgraph.graphdef import import_datasets
from fastgraph.graphdef.import_calls import OPENING_FILES, CustomGradient, Library
from fastgraph.graphdef.import_resources import RESOURCES
from fastgraph.graphdef.import_values import attribute, attributes, dims_of, dtype_of, field_of
from fastgraph.graphdef.importer import unserved
from fastgraph.graphdef.messages import Message, TensorShapeProto, VersionDef
from fastgraph.graphdef.wire_format import parsed
from fastgraph.ops.creation import zeros
from fastgraph.saving import revived_types
from fastgraph.saving import saved_model_files as files
from fastgraph.saving.saved_model_functions import (
    ArgumentNames,
    RestoredConcreteFunction,
    RestoredDataset,
    RestoredFunction,
    signature_of,
)
from fastgraph.saving.saved_model_objects import (
    Asset,
    CapturedName,
    RestoredMutableTable,
    RestoredTable,
    SignatureMap,
    restored_table,
    set_child,
    user_object,
)
from fastgraph.saving.saved_model_options import LoadOptions
from fastgraph.saving.saved_model_structures import decoded
from fastgraph.saving.saved_model_v1 import load_v1
from fastgraph.saving.saved_model_values import restore_table, restore_variable
from fastgraph.saving.tensor_bundle import BundleReader
from fastgraph.state.variable import Variable, VariableAggregation, VariableSynchronization

#: The entry of a checkpoint that says which objects its values belong to.
_OBJECTS = "_CHECKPOINTABLE_OBJECT_GRAPH"


def load(
    export_dir: str | os.PathLike[str], tags: Sequence[str] | str | None = None, options: LoadOptions | None = None
) -> Any:
    """Return the object that was saved in a folder, with its attributes, Variables, functions and `signatures`.

    `signatures` maps names to functions that are called with keywords. A SavedModel of TensorFlow 1 gives an object
    with `signatures`, `variables`, `prune(feeds, fetches)` and `graph`. Source: tf.saved_model.load.

    Args:
        export_dir: The folder, of TensorFlow or of this package.
        tags: The tags of the graph among several; None if there is one.
        options: A LoadOptions: whether operations without an equal are left out, whether Variables are restored.

    Raises:
        OSError: There is no SavedModel in the folder, or its file is damaged.
        ValueError: `tags` are not those of a graph in it.
        NotFoundError: There are operations that have no equal here; the text names them all.
        InvalidArgumentError, DataLossError: What the files say does not go together.

    Examples:
        >>> import tempfile
        >>> module = tf.Module()
        >>> module.double = tf.function(lambda x: 2.0 * x, input_signature=[tf.TensorSpec([None])])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.saved_model.save(module, folder)
        ...     tf.saved_model.load(folder).signatures["serving_default"](x=tf.constant([3.0]))
        {'output_0': <tf.Tensor: shape=(1,), dtype=float32, numpy=array([6.], dtype=float32)>}
    """
    return load_partial(export_dir, {_ROOT: None}, tags, options)[_ROOT]


def load_partial(
    export_dir: str | os.PathLike[str],
    filters: Mapping[str, Any] | Iterable[str],
    tags: Sequence[str] | str | None = None,
    options: LoadOptions | None = None,
) -> dict[str, Any]:
    """Return {way: object} of the objects of a SavedModel by the ways to them in `filters`: "root.layer.kernel".

    A mapping may give an object for a way, or a tuple of one and of the function that sets its attributes: it then
    stands for the one that was saved, and gets its values. Raises ValueError for a way that leads nowhere, and what
    `load` raises. Source: tf.__internal__.saved_model.load_partial.
    """
    path = files.plain_export_dir(export_dir)
    options = options or LoadOptions()
    given = filters if isinstance(filters, Mapping) else dict.fromkeys(filters)
    meta_graph = files.choose_meta_graph(files.read_saved_model(path), tags, path)
    found: dict[str, Any]
    with init_scope(), resting:
        try:
            if files.objects_of(meta_graph) is None:
                found = {_ROOT: load_v1(meta_graph, path, options)}
            else:
                found = _Loader(meta_graph, path, options).load(given)
        except (LookupError, AttributeError, ArithmeticError, AssertionError, UnicodeError, TypeError) as error:
            if isinstance(error, OpError | NotImplementedError):
                raise
            what = f"{type(error).__name__}: {error}"
            raise InvalidArgumentError(
                None, None, f"The SavedModel in {path} is not as one is written: {what}"
            ) from error
    return found


def names_of_traces(node: Message) -> list[str]:
    """Return the names of a function's traces; none of what is no function."""
    function, bare = field_of(node, "function"), field_of(node, "bare_concrete_function")
    found = [] if function is None else list(field_of(function, "concrete_functions", []))
    return found if bare is None else [*found, field_of(bare, "concrete_function_name", "")]


_ROOT = "root"  #: of ways to objects
#: TensorFlow's name for resources that only captures lead to.
_NAMELESS = ("", "cd2c89b7-88b7-44c8-ad83-06c2a9158347")
_MOST_ITEMS = 1 << 16  # that a list may have besides those that are kept


class _Loader:
    """One SavedModel while it is loaded."""

    def __init__(self, meta_graph: Message, path: str, options: LoadOptions) -> None:
        self.meta_graph, self.path, self.options = meta_graph, path, options
        objects = files.objects_of(meta_graph)
        assert objects is not None
        self.saved: list[Message] = field_of(objects, "nodes", [])
        self.traces: dict[str, Message] = field_of(objects, "concrete_functions", {})
        graph = files.graph_of(meta_graph)
        self.nodes = {node.name: node for node in field_of(graph, "node", [])}
        held = field_of(graph, "library")
        self.library = Library([] if held is None else field_of(held, "function", []))
        self.assets = files.asset_paths(meta_graph, path)
        self.library.files = frozenset([os.fsencode(file) for _, file in self.assets])
        self.library.opens_files = options.experimental_open_files
        self.registered = (
            {}
            if held is None
            else {
                field_of(each, "registered_op_type", ""): field_of(each, "gradient_func", "")
                for each in field_of(held, "registered_gradients", [])
            }
        )
        self.concrete: dict[str, RestoredConcreteFunction] = {}
        self.made: dict[int, Any] = {}
        self.making: list[int] = []  # the datasets that something asks for, one for the next
        self.setters: dict[int, Callable[..., None]] = {}  # of objects of registered classes, by identity
        self.of_saver = {
            number
            for node in self.saved
            for each in field_of(node, "saveable_objects", {}).values()
            for number in (field_of(each, "save_function", 0), field_of(each, "restore_function", 0))
        }
        self.of_tables = {
            reference.node_id
            for node in self.saved
            if "resource" in node.__dict__
            for reference in field_of(node, "children", [])
        }

    def load(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the objects by the ways to them, those that are given as they are."""
        places = {way: self._number_at(way) for way in given}
        for way, number in places.items():
            if given[way] is not None:
                found, setter = given[way] if isinstance(given[way], tuple) else (given[way], setattr)
                self.made[number], self.setters[id(found)] = found, setter
        if not self.options.experimental_skip_unknown_ops:
            self._check_operations()
        for number in range(len(self.saved)):
            self._node(number)
        for number, node in enumerate(self.saved):
            self._connect(number, node)
        for name, concrete in self.concrete.items():
            numbers = self._bound_numbers(name)
            concrete.bound = [self._held(number) for number in numbers]
            concrete.objects = [self._node(number) for number in numbers]
        self._enter_gradients()
        if not self.options.experimental_skip_checkpoint:
            self._restore()
        self._fill_tables()
        self._finish_root()
        return {way: self.made[number] for way, number in places.items()}

    def _number_at(self, way: str) -> int:
        number, (root, *names) = 0, way.split(".")
        if root != _ROOT:
            raise ValueError(f"a way to an object begins with {_ROOT!r}, got {way!r}")
        while names:
            children = {each.local_name: each.node_id for each in self._saved(number).children}
            for n in range(1, len(names) + 1):  # a name may have dots
                if (name := ".".join(names[:n])) in children:
                    number, names = children[name], names[n:]
                    break
            else:
                raise ValueError(f"no object of the SavedModel {self.path} is at {way!r}")
        return number

    def _bound_numbers(self, function: str) -> list[int]:
        """The objects that a function takes besides its arguments."""
        found: list[int] = field_of(self.traces[function], "bound_inputs", [])
        return found

    def _finish_root(self) -> None:
        root = self.made[0]
        if not hasattr(root, "signatures") and hasattr(root, "__dict__"):
            root.__dict__["signatures"] = SignatureMap()
        if self.options.experimental_load_function_aliases:
            if hasattr(root, "function_aliases"):
                raise ValueError(
                    "Could not load with experimental_load_function_aliases option because the top-level object "
                    "already has an attributed with name 'function_aliases'"
                )
            root.__dict__["function_aliases"] = self._aliases()
        for name in ("tensorflow_version", "tensorflow_git_version"):
            if hasattr(root, "__dict__"):
                root.__dict__[name] = field_of(self.meta_graph.meta_info_def, name, "")

    def _aliases(self) -> dict[str, Any]:
        """The functions by the names that whoever saved them gave them: Functions, or lists of traces of several."""
        said = field_of(self.meta_graph.meta_info_def, "function_aliases", {})
        found: dict[str, Any] = {}
        for name, alias in said.items():
            if name in self.concrete:
                found.setdefault(alias, []).append(self.concrete[name])
        for function in self.made.values():
            traces = set(function.concrete_functions) if isinstance(function, RestoredFunction) else set()
            for alias in {said.get(each.label) for each in traces} & found.keys():
                if type(found[alias]) is list and set(found[alias]) == traces:
                    found[alias] = function
        return found

    # -- operations

    def _check_operations(self) -> None:
        """Raise NotFoundError, with all their names, if operations of functions that can be called have no equal."""
        missing = unserved(self.library, self._callable())
        if missing:
            lines = "\n".join(f"  {op}, in {', '.join(where[:3])}" for op, where in missing.items())
            opening = sorted(OPENING_FILES & missing.keys())
            raise NotFoundError(
                None,
                None,
                f"The SavedModel in {self.path} uses operations that have no equal here:\n{lines}\nWith "
                "LoadOptions(experimental_skip_unknown_ops=True) all else in it can be used."
                + f" LoadOptions(experimental_open_files=True) allows {', '.join(opening)}."
                * bool(opening),
            )

    def _callable(self) -> Iterator[str]:
        """Yield the names of the functions that users can call."""
        for number, node in enumerate(self.saved):
            if number in self.of_saver or number in self.of_tables:
                continue
            yield from names_of_traces(node)

    # -- objects

    def _node(self, number: int) -> Any:
        """Make the object of a number, if it is not there yet."""
        if number in self.made:
            return self.made[number]
        node = self._saved(number)
        kind = node.WhichOneof("kind")
        make = self._MAKERS.get(kind or "")
        if make is None:
            raise InvalidArgumentError(None, None, f"Unknown SavedObject type: {kind} (object {number})")
        found = self.made[number] = make(self, number, node)
        return found

    def _saved(self, number: int) -> Message:
        if not 0 <= number < len(self.saved):
            raise InvalidArgumentError(None, None, f"object {number} is meant, and there are {len(self.saved)}")
        return self.saved[number]

    def _user_object(self, number: int, node: Message) -> Any:
        identifier = field_of(node.user_object, "identifier", "")
        if identifier == "signature_map":
            return SignatureMap()
        if identifier == "trackable_list_wrapper":
            return []
        if identifier == "trackable_dict_wrapper":
            return {}
        version = field_of(node.user_object, "version", VersionDef())
        revived = revived_types.read(
            identifier, field_of(version, "producer", 0), field_of(version, "min_consumer", 0),
            field_of(version, "bad_consumers", ()),
        )  # fmt: skip
        if revived is not None:
            made = revived.from_proto(node.user_object)
            self.setters[id(made)] = revived.setter
            return made
        return user_object()  # of tuples, too, until their items are there

    def _variable(self, number: int, node: Message) -> Any:
        said = node.variable
        dtype, dims = dtype_of(said.dtype), dims_of(field_of(said, "shape", TensorShapeProto()))
        what: dict[str, Any] = {
            "dtype": dtype,
            "shape": TensorShape(dims),
            "name": field_of(said, "name") or None,
            "trainable": bool(field_of(said, "trainable", False)),
            "synchronization": VariableSynchronization(field_of(said, "synchronization", 0)),
            "aggregation": VariableAggregation(field_of(said, "aggregation", 0)),
        }
        if not current_state().extra.get("variable_creators"):
            return Variable._uninitialized(**what)
        empty = zeros([size or 0 for size in dims or ()], dtype)  # strategies and others make it in their ways
        return Variable(empty, **what)

    def _constant(self, number: int, node: Message) -> Any:
        name = field_of(node.constant, "operation", "")
        maker = self.nodes.get(name)
        if maker is None or maker.op != "Const":
            raise InvalidArgumentError(None, None, f"object {number} is the constant {name!r}, which is not there")
        return attribute(maker.attr["value"])

    def _asset(self, number: int, node: Message) -> Any:
        index = field_of(node.asset, "asset_file_def_index", 0)
        if not 0 <= index < len(self.assets):
            raise InvalidArgumentError(None, None, f"asset {index} is meant, and there are {len(self.assets)}")
        return Asset(self.assets[index][1])

    def _function(self, number: int, node: Message) -> Any:
        names = ArgumentNames(field_of(node.function, "function_spec"))
        traces = [self._trace(name, names) for name in names_of_traces(node)]
        label = traces[0].signature.name if traces else "function"
        return RestoredFunction(label, names, traces)

    def _bare(self, number: int, node: Message) -> Any:
        said = node.bare_concrete_function
        spec = field_of(said, "function_spec")
        name = field_of(said, "concrete_function_name", "")
        names = None if spec is None else ArgumentNames(spec)
        keywords = [str(each) for each in field_of(said, "argument_keywords", [])]
        concrete = self._trace(name, names, keywords)
        if spec is None or not concrete.signature.structured_inputs[0]:  # all by name
            concrete.limit(field_of(said, "allowed_positional_arguments", 0))
        return concrete

    def _trace(
        self, name: str, names: ArgumentNames | None, keywords: list[str] | None = None
    ) -> RestoredConcreteFunction:
        found = self.concrete.get(name)
        if found is not None:
            return found
        said = self.traces.get(name)
        if said is None or name not in self.library:
            raise InvalidArgumentError(None, None, f"the function {name!r} is not in the SavedModel")
        signature = signature_of(_short(name), decoded(said.canonicalized_input_signature), names)
        result = decoded(said.output_signature)
        found = self.concrete[name] = RestoredConcreteFunction(name, self.library, signature, result, keywords)
        return found

    def _captured_tensor(self, number: int, node: Message) -> Any:
        found = CapturedName(field_of(node.captured_tensor, "name", ""))
        found.function = field_of(node.captured_tensor, "concrete_function", "")
        return found

    def _resource(self, number: int, node: Message) -> Any:
        """A table: the operation that made it says which kind."""
        for reference in field_of(node, "children", []):
            if field_of(reference, "local_name") != "_create_resource":
                continue
            for name in names_of_traces(self._saved(field_of(reference, "node_id", 0))):
                for function in sorted(self.library.reached((name,)), key=lambda each: each != name):
                    table = self._table_made_by(function)
                    if table is not None:
                        return restored_table(table)
                if name in self.traces and any(
                    maker.op in import_datasets.MADE
                    for inner in self.library.reached((name,))
                    for maker in field_of(self.library[inner], "node_def", [])
                ):
                    return RestoredDataset(name, self._node(field_of(reference, "node_id", 0)))
        raise NotFoundError(None, None, f"object {number} is a resource of a kind that has no equal here")

    def _table_made_by(self, function: str) -> Any:
        """The table that a function's operation makes, None if there is none."""
        makers = {maker.name: maker for maker in field_of(self.library[function], "node_def", [])}
        for maker in makers.values():
            if "Table" in maker.op and maker.op in RESOURCES:
                said = attributes(maker)
                sources = [makers.get(each.partition(":")[0]) for each in field_of(maker, "input", [])]
                inputs = [attributes(each)["value"] for each in sources if each is not None and each.op == "Const"]
                if said.get("shared_name", "") in _NAMELESS:  # else functions may name it, as ours do
                    said["shared_name"] = f"{function}/{maker.name}"
                return RESOURCES[maker.op](self.library, maker.name, inputs, said)
        return None

    _MAKERS: ClassVar[dict[str, Callable[[_Loader, int, Message], Any]]] = {
        "user_object": _user_object,
        "variable": _variable,
        "constant": _constant,
        "asset": _asset,
        "function": _function,
        "bare_concrete_function": _bare,
        "captured_tensor": _captured_tensor,
        "resource": _resource,
    }

    def _held(self, number: int) -> Any:
        """Return what a function takes for an object that it is bound to."""
        found = self._node(number)
        if isinstance(found, Variable):
            return found.__fg_cell__
        if isinstance(found, RestoredTable):
            return found._table
        if isinstance(found, Asset):
            return found.asset_path
        if isinstance(found, RestoredDataset):
            if number in self.making or len(self.making) > 100:
                raise InvalidArgumentError(None, None, f"object {number} is a dataset that is made of itself")
            self.making.append(number)
            bound = [self._held(each) for each in self._bound_numbers(found.name)]
            self.making.pop()
            return found.held(self.library, bound)
        if not isinstance(found, EagerTensor | str):
            raise InvalidArgumentError(None, None, f"a function is bound to object {number}, which is {found!r}")
        return found

    # -- what objects have

    def _connect(self, number: int, node: Message) -> None:
        """Give an object its attributes, a list or a dict its items."""
        parent = self.made[number]
        children = [
            (field_of(each, "local_name", ""), field_of(each, "node_id", 0)) for each in field_of(node, "children", [])
        ]
        if id(parent) in self.setters:
            for name, child in children:
                self.setters[id(parent)](parent, name, self._value(child))
        elif type(parent) is list:
            parent.extend([None if child is None else self._value(child) for child in _items(children)])
        elif isinstance(parent, SignatureMap):
            parent._signatures.update({name: self._value(child) for name, child in children})
        elif type(parent) is dict:
            parent.update({name: self._value(child) for name, child in children})
        elif "user_object" in node.__dict__ or not number:  # a root that is a Variable has signatures
            for name, child in children:
                set_child(parent, name, self._value(child))

    def _value(self, number: int, depth: int = 0) -> Any:
        """Return the value of an attribute: the object of this number, of tuples the tuple."""
        node = self._saved(number)
        user = field_of(node, "user_object")
        if user is None or field_of(user, "identifier") != "trackable_tuple_wrapper":
            return self._node(number)
        if depth > 100:
            raise InvalidArgumentError(None, None, f"object {number} is a tuple that holds itself")
        children = [
            (field_of(each, "local_name", ""), field_of(each, "node_id", 0)) for each in field_of(node, "children", [])
        ]
        return tuple([None if child is None else self._value(child, depth + 1) for child in _items(children)])

    def _enter_gradients(self) -> None:
        """Tell the importer of the gradients that functions state themselves."""
        for op_type, name in self.registered.items():
            said = self.traces.get(name)
            if said is None or name not in self.library:
                continue
            result = decoded(said.output_signature)
            given = list(result) if isinstance(result, list | tuple) else [result]
            numbers = field_of(said, "bound_inputs", [])
            bound = [self._held(number) for number in numbers]
            objects = [self._node(number) for number in numbers]
            self.library.gradients[op_type] = CustomGradient(name, given, bound, objects)
            self.library.messages[name] = said

    # -- values

    def _restore(self) -> None:
        """Give Variables and tables the values that were saved."""
        waiting = {number: each for number, each in self.made.items() if isinstance(each, Variable)}
        tables = {number: each for number, each in self.made.items() if isinstance(each, RestoredMutableTable)}
        prefix = os.path.join(self.path, files.VARIABLES)
        if not waiting and not tables and not os.path.exists(f"{prefix}.index"):
            return
        reader = BundleReader(prefix)
        for number, values in self._pairs(reader):
            keys = {
                field_of(each, "name", ""): field_of(each, "checkpoint_key", "")
                for each in field_of(values, "attributes", [])
            }
            variable = waiting.get(number)
            if variable is not None and "VARIABLE_VALUE" in keys:
                restore_variable(variable, reader, keys["VARIABLE_VALUE"])
                del waiting[number]
            elif number in tables:
                restore_table(tables[number]._table, reader, list(keys.values()))
        if waiting and not self.options.allow_partial_checkpoint:
            names = sorted([each.name for each in waiting.values()])
            raise InvalidArgumentError(
                None, None, f"The values of Variables are not in the SavedModel {self.path}: {', '.join(names[:5])}"
            )

    def _pairs(self, reader: BundleReader) -> Iterator[tuple[int, Message]]:
        """Yield the number of each object here with what the checkpoint says of the same object."""
        if _OBJECTS not in reader:
            raise InvalidArgumentError(None, None, f"The values of {self.path} do not say which objects they belong to")
        content = reader.read(_OBJECTS).item()
        nodes = field_of(parsed(content, "TrackableObjectGraph"), "nodes", [])
        known = {0: 0} if nodes else {}
        left = list(known)
        while left:
            number = left.pop()
            there = nodes[known[number]]
            yield number, there
            node = self._saved(number)
            children = {
                field_of(e, "local_name", ""): field_of(e, "node_id", 0) for e in field_of(there, "children", [])
            }
            slots = {
                (field_of(e, "slot_name", ""), field_of(e, "original_variable_node_id", 0)): field_of(
                    e, "slot_variable_node_id", 0
                )
                for e in field_of(there, "slot_variables", [])
            }
            found = [
                (field_of(each, "node_id", 0), children[field_of(each, "local_name", "")])
                for each in field_of(node, "children", [])
                if field_of(each, "local_name", "") in children
            ]
            for each in field_of(node, "slot_variables", []):
                original = known.get(field_of(each, "original_variable_node_id", 0))
                at = slots.get((field_of(each, "slot_name", ""), original if original is not None else -1))
                if at is not None:
                    found.append((field_of(each, "slot_variable_node_id", 0), at))
            for own, other in found:
                if own not in known and 0 <= other < len(nodes):
                    known[own] = other
                    left.append(own)

    def _fill_tables(self) -> None:
        """Fill the tables by the functions that were saved for that."""
        for node in self.saved:
            if "resource" not in node.__dict__:
                continue
            for reference in field_of(node, "children", []):
                if field_of(reference, "local_name") != "_initialize":
                    continue
                for name in names_of_traces(self._saved(field_of(reference, "node_id", 0))):
                    concrete = self.concrete[name]
                    if concrete.signature.parameters:
                        raise InvalidArgumentError(None, None, f"{name}, which fills a table, takes arguments")
                    concrete()


def _items(children: list[tuple[str, int]]) -> list[int | None]:
    """The numbers of the objects in a list or tuple, None where what was there is not kept. Raises for absurd ones."""
    places = {int(name): child for name, child in children if name.isdecimal() and len(name) < 10}
    n = max(places, default=-1) + 1
    if n > _MOST_ITEMS + len(places):
        raise InvalidArgumentError(None, None, f"a list of {n} items, of which {len(places)} are there")
    return [places.get(place) for place in range(n)]


def _short(name: str) -> str:
    """Return the name that a function had where it was written: __inference_f_12 is f."""
    found = name.removeprefix("__inference_")
    head, _, number = found.rpartition("_")
    return head if found != name and number.isdecimal() and head else found
