"""tf.saved_model.save: an object with its Variables, functions and signatures as a folder that TensorFlow reads.

Rule: a SavedModel is there when saved_model.pb is, which comes last and whole; what was there before stays until
all of the new one is on the disk; the same objects give the same bytes.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections import namedtuple
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np

from fastgraph.core import replicas
from fastgraph.core.base.file_errors import raising_for
from fastgraph.core.base.gc_pause import resting
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.op_errors import enum_name
from fastgraph.core.tensor import current_trace
from fastgraph.errors import InvalidArgumentError
from fastgraph.graphdef.message_types import KINDS, Enum
from fastgraph.graphdef.messages import Message, VersionDef
from fastgraph.graphdef.wire_format import serialized
from fastgraph.ops.string_hashes import fingerprint
from fastgraph.saving import revived_types
from fastgraph.saving import saved_model_files as files
from fastgraph.saving.bundle_writer import sync_folder
from fastgraph.saving.object_graph import OBJECT_GRAPH, VALUE, variable_of
from fastgraph.saving.saved_model_export import Functions, MainGraph
from fastgraph.saving.saved_model_functions import RestoredDataset
from fastgraph.saving.saved_model_gradients import input_specs
from fastgraph.saving.saved_model_graph import Constant, SavedGraph, TableFunction, functions_of, table_of
from fastgraph.saving.saved_model_objects import Asset, CapturedName, SignatureMap
from fastgraph.saving.saved_model_options import SaveOptions
from fastgraph.saving.saved_model_signatures import argument_names, described_inputs, found_in, result_of, signatures_of
from fastgraph.saving.saved_model_structures import encoded, shape_message
from fastgraph.saving.sharding import bundle_of
from fastgraph.staging.concrete_function import ConcreteFunction
from fastgraph.staging.function import Function
from fastgraph.state.tracked_containers import ObjectIdentityDictionary, Step
from fastgraph.state.tracking import Trackable, children_of

_VERSION = "2.21.0"  # of TensorFlow, whose format this is
_BESIDE = ".tmp"  # the end of a file's name until all of a SavedModel is written
FullArgSpec = namedtuple(  # noqa: PYI024  # a tuple of these names is all that the format knows
    "FullArgSpec", "args varargs varkw defaults kwonlyargs kwonlydefaults annotations"
)


def save(
    obj: Any, export_dir: str | os.PathLike[str], signatures: Any = None, options: SaveOptions | None = None
) -> None:
    """Write an object, all that it has and the functions of these as a SavedModel into a folder.

    Functions that were never traced are left out, with a warning. What is there already is written over.
    Source: tf.saved_model.save.

    Args:
        obj: A Trackable: a Module, a model, an AutoTrackable.
        export_dir: The folder, made if it is not there.
        signatures: A function with an input_signature or without parameters, a concrete one, or a dict of such: what
            serving programs call. Without it the only such function is "serving_default".
        options: A SaveOptions: what is written beside the functions.

    Returns:
        None.

    Raises:
        ValueError: The object is not Trackable, a signature is none, an operation has no equal in TensorFlow (the text
            names all of them), or an argument of a trace has no place in the format.
        AssertionError: A function uses a Variable that nothing in the object has; or it is called in a tf.function.

    Examples:
        >>> import tempfile
        >>> module = tf.Module()
        >>> module.double = tf.function(lambda x: 2.0 * x, input_signature=[tf.TensorSpec([None])])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tf.saved_model.save(module, folder)
        ...     tf.saved_model.load(folder).double([1.0, 2.0])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2., 4.], dtype=float32)>
    """
    save_and_return_nodes(obj, export_dir, signatures, options)


def save_and_return_nodes(
    obj: Any, export_dir: str | os.PathLike[str], signatures: Any = None, options: SaveOptions | None = None
) -> tuple[list[Any], Any]:
    """Save as `save` does; return the objects in their order in the file, and a mapping of each to its way there.

    A way is a tuple of parts with a `name` and the object there, `ref`; Keras 2 asks for it.
    """
    if current_trace() is not None:
        raise AssertionError(
            "`tf.saved_model.save` is not supported inside a traced @tf.function. Move the call to the outer "
            "eagerly-executed context."
        )
    if not isinstance(obj, Trackable):
        raise ValueError(
            "Expected an object of type `Trackable`, such as `tf.Module` or a subclass of the `Trackable` class, for "
            f"export. Got {obj} with type {type(obj)}."
        )
    options = options or SaveOptions()
    with resting:
        with replicas.saving():  # libraries trace their functions when they are asked for them
            saver = _Saver(obj, files.plain_export_dir(export_dir), signatures, options)
        saver.save()
    graph, ways = saver.graph, ObjectIdentityDictionary()
    ways[obj] = ()
    for value, children in zip(graph.objects, graph.children, strict=True):
        for name, child in children.items():
            if child not in ways:
                ways[child] = (*ways[value], Step(name, child))
    return graph.objects, ways


#: Children of a table: what TensorFlow saves and restores it by.
_KEPT = ("_save", "_restore")


class _Saver:
    """One SavedModel while it is written."""

    def __init__(self, root: Any, path: str, signatures: Any, options: SaveOptions) -> None:
        self.path, self.options = path, options
        functions = functions_of(root)  # once: properties may make them
        cache: dict[Any, Any] = {}
        if signatures is None:
            said = children_of(root, "savedmodel", cache=cache)  # among which Keras 2 has its signature
            found = found_in({**functions, **said})
            signatures = {} if found is None else {files.DEFAULT_SERVING_SIGNATURE_DEF_KEY: found}
        self.signatures = SignatureMap(signatures_of(signatures))
        self.graph = SavedGraph(root, self.signatures, functions, cache)
        self.functions = Functions(self.graph)
        if options.experimental_custom_gradients:
            self.functions.state_gradients()

    def save(self) -> None:
        """Write the folder: values, files, what they are, and last saved_model.pb."""
        self._check_captures()
        checkpoint, tensors = self.graph.tensors()
        keys = self._keys()
        main = MainGraph(self.graph, self.functions, keys)
        for key, concrete in sorted(self.signatures.items()):
            main.sign(key, concrete)
        names = _file_names([asset for _, asset in main.assets])
        saved = KINDS["SavedModel"](
            saved_model_schema_version=files.SAVED_MODEL_SCHEMA_VERSION, meta_graphs=[self._meta_graph(main, names)]
        )
        content = serialized(saved)
        if not replicas.writes(os.path.join(self.path, files.SAVED_MODEL_FILENAME_PB)):
            for name in sorted(tensors):  # some are read by all processes together
                convert_to_tensor(tensors[name])
            return
        folder = os.path.join(self.path, files.VARIABLES_DIRECTORY)
        with raising_for(folder):
            os.makedirs(folder, exist_ok=True)
        tensors[OBJECT_GRAPH] = np.array(serialized(checkpoint), object)
        policy = self.options.experimental_sharding_callback
        with bundle_of(os.path.join(self.path, files.VARIABLES), dict(sorted(tensors.items())), policy) as writer:
            writer.prepare()
            beside: list[str] = []  # what is to be put in its place once all of it is on the disk
            try:
                self._write_assets(names, beside)
                self._write(files.FINGERPRINT_FILENAME, serialized(_fingerprint(saved, content, writer.index)), beside)
                self._write(files.SAVED_MODEL_FILENAME_PB, content, beside)
                writer.finish(then=functools.partial(_put, beside))
                sync_folder(os.path.join(self.path, files.SAVED_MODEL_FILENAME_PB))
            except BaseException:
                for path in beside:
                    with suppress(OSError):
                        os.unlink(path + _BESIDE)
                raise

    def _check_captures(self) -> None:
        """Raise AssertionError if a function takes a Variable that no object has."""
        for name, concrete in self.functions.traces.items():
            try:
                self.functions.captures(concrete)
            except LookupError:
                raise AssertionError(
                    "Tried to export a function which references an 'untracked' resource. TensorFlow objects (e.g. "
                    "tf.Variable) captured by functions must be 'tracked' by assigning them to an attribute of a "
                    "tracked object or assigned to an attribute of the main object directly. See the information "
                    f"below:\n\tFunction name = {name.encode()!r}\n\tCaptured Tensors = {concrete.captured_inputs!r}"
                ) from None

    def _keys(self) -> dict[int, str]:
        """The keys of Variables' values, by their numbers."""
        return {
            number: f"{self.graph.paths[number]}/.ATTRIBUTES/{VALUE}"
            for number, value in enumerate(self.graph.objects)
            if variable_of(value) is not None
        }

    # -- messages

    def _meta_graph(self, main: MainGraph, names: Mapping[str, str]) -> Message:
        info = KINDS["MetaInfoDef"](
            tags=[files.SERVING, *self.options.extra_tags], tensorflow_version=_VERSION,
            tensorflow_git_version="unknown", stripped_default_attrs=True, function_aliases=self._aliases(),
        )  # fmt: skip
        numbers = {id(asset): i for i, (_, asset) in enumerate(main.assets)}
        assets = [
            KINDS["AssetFileDef"](tensor_info=KINDS["TensorInfo"](name=f"{tensor}:0"), filename=names[_path(asset)])
            for tensor, asset in main.assets
        ]
        return KINDS["MetaGraphDef"](
            meta_info_def=info, graph_def=main.message(), saver_def=main.saver, collection_def=main.collections,
            signature_def=main.signatures, asset_file_def=assets, object_graph_def=self._objects(main, numbers),
        )  # fmt: skip

    def _aliases(self) -> dict[str, str]:
        found = {}
        for alias, function in self.options.function_aliases.items():
            if isinstance(function, Function):
                traces = function._list_all_concrete_functions()
            else:
                traces = list(function) if isinstance(function, list | tuple | set | frozenset) else [function]
                if not all(isinstance(each, ConcreteFunction) for each in traces):
                    raise TypeError(
                        f"Unsupported type {type(function)} under {alias!r}. Functions in `function_aliases` should be "
                        "created by tf.function, or concrete functions, or collections of concrete functions."
                    )
            for each in traces:
                name = self.functions.name_of(each)
                if name is not None:
                    found[name] = alias
        return found

    def _objects(self, main: MainGraph, assets: Mapping[int, int]) -> Message:
        reference = KINDS["ObjectReference"]
        nodes = []
        for number, value in enumerate(self.graph.objects):
            children = [
                reference(node_id=self.graph.ids[id(child)], local_name=name)
                for name, child in self.graph.children[number].items()
                if not isinstance(child, TableFunction) or child.is_child
            ]
            slots = [
                KINDS["SlotVariable"](original_variable_node_id=place, slot_name=name, slot_variable_node_id=slot)
                for name, place, slot in self.graph.slots.get(number, ())
            ]
            field, what = self._object(number, value, main, assets)
            saveable = self._saveable(number)
            nodes.append(KINDS["SavedObject"](children=children, slot_variables=slots, **saveable, **{field: what}))
        traces = {name: self._trace(concrete) for name, concrete in self.functions.traces.items()}
        for name, of in self.functions.of_tables.items():
            bound = [] if of.file is None else [self.graph.ids[id(of.file)]]
            result = TensorSpec([], "resource" if of.kind == "_create_resource" else "int32")
            said = {"bound_inputs": bound, "canonicalized_input_signature": encoded(((), {}))}
            said = self._kept(of) if of.kind in _KEPT else {**said, "output_signature": encoded(result)}
            traces[name] = KINDS["SavedConcreteFunction"](**said)
        self._gradients(nodes, traces)
        return KINDS["SavedObjectGraph"](nodes=nodes, concrete_functions=traces)

    def _saveable(self, number: int) -> dict[str, Any]:
        """The field that says how a mutable table is saved and restored: by functions that are nobody's children."""
        own = self.graph.children[number].values()
        kept = [self.graph.ids[id(each)] for each in own if isinstance(each, TableFunction) and each.kind in _KEPT]
        if not kept:
            return {}
        return {"saveable_objects": {"table": KINDS["SaveableObject"](save_function=kept[0], restore_function=kept[1])}}

    def _kept(self, of: TableFunction) -> dict[str, Any]:
        """The fields of a SavedConcreteFunction, for the functions of `_saveable`."""
        types = (of.table.key_dtype, of.table.dtype)
        own = [number for number, each in enumerate(self.graph.objects) if table_of(each) is of.table]
        if of.kind == "_restore":
            given = [TensorSpec(None, dtype, f"restored_tensors_{i}") for i, dtype in enumerate(types)]
            found: Any = TensorSpec([], "int32")
        else:
            given, text = [TensorSpec([], "string", "checkpoint_key")], TensorSpec([], "string")
            found = [{"name": text, "slice_spec": text, "tensor": TensorSpec(None, dtype)} for dtype in types]
        taken = encoded((tuple(given), {}))
        return {
            "bound_inputs": own[:1], "canonicalized_input_signature": taken, "output_signature": encoded(found)
        }  # fmt: skip

    def _object(self, number: int, value: Any, main: MainGraph, assets: Mapping[int, int]) -> tuple[str, Message]:
        own = variable_of(value)
        if own is not None:
            return "variable", KINDS["SavedVariable"](
                dtype=Enum(enum_name(own.dtype)), shape=shape_message(own.shape), trainable=own.trainable,
                synchronization=own.synchronization.value, aggregation=own.aggregation.value, name=own._shared_name,
            )  # fmt: skip
        if isinstance(value, Constant):
            return "constant", KINDS["SavedConstant"](operation=main.operations[number])
        if isinstance(value, Asset):
            return "asset", KINDS["SavedAsset"](asset_file_def_index=assets[id(value)])
        if isinstance(value, TableFunction) and value.kind in _KEPT:
            given = ["checkpoint_key"] if value.kind == "_save" else ["restored_tensors_0", "restored_tensors_1"]
            return "bare_concrete_function", KINDS["SavedBareConcreteFunction"](
                concrete_function_name=self.functions.names[number], argument_keywords=given,
                allowed_positional_arguments=len(given),
            )  # fmt: skip
        if isinstance(value, TableFunction):
            return "function", _saved_function(
                [self.functions.names[number]], _spec_message(((), None, None, (), (), {}))
            )
        if isinstance(value, ConcreteFunction):
            return "bare_concrete_function", self._bare(number, value)
        if isinstance(value, Function):
            children = self.graph.children[number].values()
            names = [self.functions.names[self.graph.ids[id(each)]] for each in children]
            return "function", _saved_function(names, _function_spec(value))
        if table_of(value) is not None or isinstance(value, RestoredDataset):
            return "resource", KINDS["SavedResource"]()
        revived = revived_types.written(value)
        if revived is not None:
            said = revived.to_proto()
            metadata = getattr(value, "_tracking_metadata", "")
            return "user_object", KINDS["SavedUserObject"](
                identifier=said["identifier"], version=VersionDef(**said["version"]), metadata=metadata
            )
        version = VersionDef(producer=1, min_consumer=1)
        return "user_object", KINDS["SavedUserObject"](identifier=_identifier(value), version=version)

    def _bare(self, number: int, concrete: ConcreteFunction) -> Message:
        is_signature = any(each is concrete for each in self.signatures.values())
        try:
            names = argument_names(concrete)
        except ValueError:
            names = []
        positional = (1 if len(names) == 1 else 0) if is_signature else len(names)
        said = {} if is_signature else {"function_spec": _spec_of_trace(concrete)}
        return KINDS["SavedBareConcreteFunction"](
            concrete_function_name=self.functions.names[number], argument_keywords=names,
            allowed_positional_arguments=positional, **said,
        )  # fmt: skip

    def _trace(self, concrete: ConcreteFunction) -> Message:
        try:
            found = result_of(concrete)
            if any(each is concrete for each in self.signatures.values()):
                found = {key: TensorSpec(spec.shape, spec.dtype, key) if isinstance(spec, TensorSpec) else spec
                         for key, spec in found.items()}  # fmt: skip
            inputs, result = encoded(described_inputs(concrete)), encoded(found)
        except ValueError as error:
            raise ValueError(f"{concrete!r} cannot be saved: {error}") from None
        return KINDS["SavedConcreteFunction"](
            bound_inputs=self.functions.captures(concrete),
            canonicalized_input_signature=inputs,
            output_signature=result,
        )

    def _gradients(self, nodes: list[Message], traces: dict[str, Message]) -> None:
        """Enter the gradients that loaded functions state, and the tensors of functions that these take."""
        for name, library, stated in self.functions.gradients.values():
            bound = []
            for each in stated.objects:
                if isinstance(each, CapturedName):
                    function = self.functions.loaded[id(library)][1].get(each.function, each.function)
                    said = KINDS["CapturedTensor"](name=str(each), concrete_function=function)
                    bound.append(len(nodes))
                    nodes.append(KINDS["SavedObject"](captured_tensor=said))
                else:
                    bound.append(self.graph.number_of_object(each))
            before = library.messages[stated.function]
            traces[name] = KINDS["SavedConcreteFunction"](
                bound_inputs=bound, canonicalized_input_signature=before.canonicalized_input_signature,
                output_signature=before.output_signature,
            )  # fmt: skip

        for name, gradient, captured in self.functions.stated:
            bound = []
            for each in captured:
                if isinstance(each, int):
                    bound.append(each)
                else:
                    said = KINDS["CapturedTensor"](name=each[0], concrete_function=each[1])
                    bound.append(len(nodes))
                    nodes.append(KINDS["SavedObject"](captured_tensor=said))
            traces[name] = KINDS["SavedConcreteFunction"](
                bound_inputs=bound, canonicalized_input_signature=encoded(input_specs(gradient)),
                output_signature=encoded(gradient.given),
            )  # fmt: skip

    # -- files

    def _write_assets(self, names: Mapping[str, str], beside: list[str]) -> None:
        folder = os.path.join(self.path, files.ASSETS_DIRECTORY)  # there without files too, as in TensorFlow
        with raising_for(folder):
            os.makedirs(folder, exist_ok=True)
        for path, name in names.items():
            target = os.path.join(folder, name)
            with raising_for(path):
                if not (os.path.exists(target) and os.path.samefile(path, target)):
                    beside.append(target)
                    with open(path, "rb") as source, open(target + _BESIDE, "wb") as file:
                        shutil.copyfileobj(source, file)
                        file.flush()
                        os.fsync(file.fileno())

    def _write(self, name: str, content: bytes, beside: list[str]) -> None:
        """Write a file beside its place."""
        path = os.path.join(self.path, name)
        beside.append(path)
        with raising_for(path), open(path + _BESIDE, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())


def _put(paths: list[str]) -> None:
    """Put files in their places."""
    for path in paths:
        os.replace(path + _BESIDE, path)


def _path(asset: Asset) -> str:
    return os.fsdecode(asset.asset_path.numpy())


def _file_names(assets: list[Asset]) -> dict[str, str]:
    """Return {where a file lies: what it is called in the SavedModel}; files of one name get numbers."""
    found: dict[str, str] = {}
    for asset in assets:
        path = _path(asset)
        if path in found:
            continue
        if not os.path.isfile(path):
            raise InvalidArgumentError(None, None, f"the file of an asset is not there: {path}")
        name, n = os.path.basename(path), 0
        while name in found.values():
            n += 1
            name = f"{os.path.basename(path)}_{n}"
        found[path] = name
    return found


def _identifier(value: Any) -> str:
    """The format's name for the class of an object."""
    if isinstance(value, SignatureMap):
        return "signature_map"
    if isinstance(value, dict):
        return "trackable_dict_wrapper"
    if isinstance(value, tuple):
        return "trackable_tuple_wrapper"
    if isinstance(value, list):
        return "trackable_list_wrapper"
    return str(getattr(value, "_object_identifier", "_generic_user_object"))


def _saved_function(names: list[str], spec: Message) -> Message:
    return KINDS["SavedFunction"](concrete_functions=names, function_spec=spec)


def _function_spec(function: Function) -> Message:
    """A FunctionSpec: the parameters, without the instance of a method."""
    parameters = function._parameters
    positional = [each.name for each in parameters.positional]
    defaults = [each.default for each in parameters.positional if each.default is not each.empty]
    only = [each for each in parameters.named if each.kind is each.KEYWORD_ONLY]
    only_defaults = {each.name: each.default for each in only if each.default is not each.empty}
    said = (
        positional, parameters.variadic, parameters.keywords, defaults, [each.name for each in only], only_defaults
    )  # fmt: skip
    return _spec_message(said, function.input_signature, function._jit_compile)


def _spec_of_trace(concrete: ConcreteFunction) -> Message:
    """A FunctionSpec of a trace that is no Function's: its parameters, each on its own."""
    parameters = concrete.signature.parameters
    only = [each for each in parameters if each.kind is each.KEYWORD_ONLY]
    positional = [each for each in parameters if each.kind is not each.KEYWORD_ONLY]
    defaults = [each.default for each in positional if each.default is not each.empty]
    said = {each.name: each.default for each in only if each.default is not each.empty}
    return _spec_message(([each.name for each in positional], None, None, defaults, [each.name for each in only], said))


def _spec_message(said: tuple[Any, ...], signature: Any = None, compiled: bool | None = None) -> Message:
    """`said`: positional parameters, *args, **kwargs, defaults, keyword parameters, their defaults."""
    args, varargs, varkw, defaults, only, only_defaults = said
    spec = FullArgSpec(
        list(args), varargs, varkw, tuple(map(_plain_default, defaults)) or None, list(only),
        {name: _plain_default(each) for name, each in only_defaults.items()} or None, {},
    )  # fmt: skip
    chosen = {} if compiled is None else {"jit_compile": 1 if compiled else 2}
    return KINDS["FunctionSpecProto"](fullargspec=encoded(spec), input_signature=encoded(signature), **chosen)


def _plain_default(value: Any) -> Any:
    """A default that the format has a place for; of others the text."""
    try:
        encoded(value)
    except ValueError:
        return str(value)
    return value


def _fingerprint(saved: Message, content: bytes, index: bytes) -> Message:
    """The numbers that tell one SavedModel from another."""
    meta_graph = saved.meta_graphs[0]
    signatures = b"".join([serialized(each) for _, each in sorted(meta_graph.signature_def.items())])
    numbers = [fingerprint(each) for each in (content, serialized(meta_graph.graph_def), signatures,
                                        serialized(meta_graph.object_graph_def))]  # fmt: skip
    return KINDS["FingerprintDef"](
        saved_model_checksum=numbers[0], graph_def_program_hash=numbers[1], signature_def_hash=numbers[2],
        saved_object_graph_hash=numbers[3], checkpoint_hash=fingerprint(index),
        uuid=f"{sum(numbers) % (1 << 64)}", version=VersionDef(producer=4),
    )  # fmt: skip
