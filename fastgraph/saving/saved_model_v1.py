"""SavedModels of TensorFlow 1: one graph, of which signatures say what goes in and what comes out.

Rule: a function of such a graph is the part of it that its results need; Variables and tables all parts share.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fastgraph.composites.sparse_tensor import SparseTensorSpec
from fastgraph.core.base import nesting
from fastgraph.core.base.gc_pause import resting
from fastgraph.core.base.shapes import Aval, shape_of
from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.tensor import EagerTensor
from fastgraph.errors import InvalidArgumentError, NotFoundError
from fastgraph.graph.differentiate import entering
from fastgraph.graph.trace import GraphTrace
from fastgraph.graphdef.import_calls import Library
from fastgraph.graphdef.import_resources import of_variable
from fastgraph.graphdef.import_values import attributes, dims_of, dtype_of, field_of
from fastgraph.graphdef.importer import Body, unserved
from fastgraph.graphdef.messages import Message, TensorShapeProto
from fastgraph.saving import saved_model_files as files
from fastgraph.saving.saved_model_objects import Asset, SignatureMap
from fastgraph.saving.saved_model_options import LoadOptions
from fastgraph.saving.saved_model_values import restore_variable
from fastgraph.saving.tensor_bundle import BundleReader
from fastgraph.staging.concrete_function import ConcreteFunction
from fastgraph.staging.signature.traced_signature import Signature
from fastgraph.state.tracking import AutoTrackable
from fastgraph.state.variable import Variable

#: Types of Variables of the old kind, which give their value itself.
_REFERENCES = frozenset({"Variable", "VariableV2"})


class GraphModel(AutoTrackable):
    """A SavedModel of TensorFlow 1 as an object. Source: tf.saved_model.load of such a one.

    `signatures` maps names to functions, `variables` are those that the functions use, `asset_paths` its files;
    `prune(feeds, fetches)` gives a function of other tensors of the graph.
    """

    def __init__(self, nodes: Mapping[str, Message], library: Library, values: dict[str, Any], path: str) -> None:
        self._nodes, self._library, self._values, self._path = dict(nodes), library, values, path
        self.variables: list[Any] = []
        self.asset_paths: list[Any] = []
        self.signatures = SignatureMap()
        self.tensorflow_version = self.tensorflow_git_version = ""

    def prune(self, feeds: Any, fetches: Any, name: str | None = None, input_signature: Any = None) -> ConcreteFunction:
        """Return the function from some tensors of the graph, by their names ("x:0"), to others.

        feeds, fetches: A name, or a structure of names. Raises ValueError for a name of none, NotFoundError for
        operations that have no equal here.
        """
        names = [self._key(each) for each in nesting.flatten(feeds)]
        wanted = nesting.flatten(fetches)
        keys = [self._key(each) for each in wanted]
        specs = [self._spec(key) for key in names]
        if input_signature is not None:
            specs = nesting.flatten(input_signature)
        return self._function(name or "pruned", dict(zip(names, specs, strict=True)), keys, fetches)

    def _key(self, name: Any) -> str:
        text = str(getattr(name, "name", name))
        text = text if ":" in text else f"{text}:0"
        if text.partition(":")[0] not in self._nodes:
            raise ValueError(f"The graph of {self._path} has no tensor {text!r}")
        return text

    def _spec(self, key: str) -> TensorSpec:
        node = self._nodes[key.partition(":")[0]]
        said = attributes(node)
        dtype = said.get("dtype", said.get("T"))
        if dtype is None:
            raise ValueError(f"What {key!r} is has to be told: give an input_signature")
        shape = said.get("shape")
        return TensorSpec(None if shape is None else shape.shape, dtype)

    def _needed(self, roots: Iterable[str], fed: Mapping[str, Any]) -> list[Message]:
        """The nodes that tensors or operations need, down to what is fed."""
        found: dict[str, Message] = {}
        left = list(roots)
        while left:
            key = left.pop().lstrip("^")
            name = key.partition(":")[0]
            node = self._nodes.get(name)
            if name in found:
                continue
            if node is None:
                raise ValueError(f"The graph of {self._path} has no operation {name!r}")
            found[name] = node
            if (key if ":" in key else f"{key}:0") not in fed:
                left += field_of(node, "input", [])
        return [node for name, node in self._nodes.items() if name in found]

    def _import(self, trace: GraphTrace, given: dict[str, Any], roots: Iterable[str]) -> Body:
        """Make the part of the graph that `roots` need; the trace is entered."""
        values = dict(given)
        nodes = []
        for node in self._needed(roots, {**self._values, **values}):
            key = f"{node.name}:0"
            if key in values or key in self._values:
                held: Any = values.get(key, self._values.get(key))
                if node.op in _REFERENCES:
                    dtype = held.__fg_cell__.aval.dtype
                    held = of_variable("read_variable")(self._library, node.name, [held.__fg_cell__], {"dtype": dtype})
                elif isinstance(held, Variable):
                    held = held.__fg_cell__
                elif isinstance(held, EagerTensor):
                    held = trace.constant(held)
                values[key] = held
            else:
                nodes.append(node)
        missing = unserved(self._library, (), nodes)
        if missing:
            raise NotFoundError(
                None,
                None,
                f"The SavedModel in {self._path} uses operations that have no equal here: {', '.join(missing)}",
            )
        body = Body(nodes, values, self._library)
        body.run()
        return body

    def _function(self, name: str, inputs: Mapping[str, TensorSpec], fetches: Sequence[str], structure: Any,
                  names: Sequence[str] | None = None) -> ConcreteFunction:  # fmt: skip
        """The function from tensors of the graph, by `names` if there are any, to others."""
        trace = GraphTrace(name)
        given: dict[str, Any] = {}
        labels = list(names) if names is not None else [key.partition(":")[0].replace("/", "_") for key in inputs]
        for (key, spec), label in zip(inputs.items(), labels, strict=True):
            given[key] = trace.add_input(Aval(spec.dtype, spec.shape._dims), label)
        with resting, entering(trace):
            body = self._import(trace, given, fetches)
            outputs = [trace.identity(body.tensor(key)) for key in fetches]
        trace.finish(outputs)
        kind = inspect.Parameter.KEYWORD_ONLY if names is not None else inspect.Parameter.POSITIONAL_OR_KEYWORD
        parameters = []
        for label in labels:
            parameter = inspect.Parameter("name", kind)
            parameter._name = label  # type: ignore[attr-defined]  # names of tensors need not be Python's
            parameters.append(parameter)
        described = dict(zip(labels, inputs.values(), strict=True))
        results = iter([trace.tensor(value) for value in outputs])
        packed = nesting.map_structure(lambda _: next(results), structure)
        return ConcreteFunction(trace, Signature(name, parameters, described), packed, name)

    def _signature(self, name: str, said: Message) -> ConcreteFunction:
        inputs: dict[str, TensorSpec] = {}
        labels, fetches, structure = [], [], {}
        for label, info in sorted(field_of(said, "inputs", {}).items()):
            inputs[self._key(_name_of(info, label))] = _spec_of(info)
            labels.append(label)
        for label, info in sorted(field_of(said, "outputs", {}).items()):
            fetches.append(self._key(_name_of(info, label)))
            structure[label] = label
        return self._function(f"signature_{name}", inputs, fetches, structure, labels)

    def _run(self, operation: str) -> None:
        """Run an operation of the graph, and what it needs."""
        trace = GraphTrace("initialise")
        with resting, entering(trace):
            self._import(trace, {}, [operation])
        trace.finish([])
        ConcreteFunction(trace, Signature("initialise", [], {}), None, "initialise")()


def _name_of(info: Message, label: str) -> str:
    name = field_of(info, "name")
    if not name:
        raise NotFoundError(None, None, f"{label!r} of a signature is a {SparseTensorSpec.__name__[:-4]} or another "
                            "composite, which has no equal in graphs of TensorFlow 1 here")  # fmt: skip
    return str(name)


def _spec_of(info: Message) -> TensorSpec:
    return TensorSpec(shape_of(dims_of(field_of(info, "tensor_shape", TensorShapeProto()))), dtype_of(info.dtype))


def load_v1(meta_graph: Message, path: str, options: LoadOptions) -> GraphModel:
    """Return the model of a graph. Raises as tf.saved_model.load does."""
    graph = files.graph_of(meta_graph)
    nodes = {node.name: node for node in field_of(graph, "node", [])}
    held = field_of(graph, "library")
    library = Library([] if held is None else field_of(held, "function", []))
    values: dict[str, Any] = {}
    model = GraphModel(nodes, library, values, path)
    for name, file in files.asset_paths(meta_graph, path):
        asset = Asset(os.path.abspath(file))
        values[name if ":" in name else f"{name}:0"] = asset.asset_path
        model.asset_paths.append(asset.asset_path)
    library.files = frozenset([each.numpy() for each in model.asset_paths])
    reader = _reader(path)
    for node in nodes.values():
        if node.op == "VarHandleOp" or node.op in _REFERENCES:
            said = attributes(node)
            name = said.get("shared_name") or node.name
            known = library.resources.get(name)
            if known is None:
                known = library.resources[name] = _variable(node.name, name, said, reader, options)
                model.variables.append(known)
            values[f"{node.name}:0"] = known
    library.resources = {name: each.__fg_cell__ for name, each in library.resources.items()}
    for operation in _first(meta_graph):
        if operation in nodes:
            model._run(operation)
    found = {}
    for name, said in sorted(field_of(meta_graph, "signature_def", {}).items()):
        if name not in (files.INIT_OP_SIGNATURE, files.TRAIN_OP_SIGNATURE) and field_of(said, "outputs", {}):
            found[name] = model._signature(name, said)
    model.signatures = SignatureMap(found)
    model.tensorflow_version = field_of(meta_graph.meta_info_def, "tensorflow_version", "")
    return model


def _reader(path: str) -> BundleReader | None:
    prefix = os.path.join(path, files.VARIABLES)
    return BundleReader(prefix) if os.path.exists(f"{prefix}.index") else None


def _variable(
    node: str, name: str, said: Mapping[str, Any], reader: BundleReader | None, options: LoadOptions
) -> Variable:
    shape = said.get("shape")
    variable = Variable._uninitialized(said["dtype"], None if shape is None else shape.shape, name)
    key = next((each for each in (name, node) if reader is not None and each in reader), None)
    if reader is not None and key is not None:
        restore_variable(variable, reader, key)
    elif not (options.allow_partial_checkpoint or options.experimental_skip_checkpoint):
        raise InvalidArgumentError(None, None, f"The value of the Variable {name} is not in the SavedModel")
    return variable


def _first(meta_graph: Message) -> list[str]:
    """The operations that have to run before all others: what fills tables."""
    collections = field_of(meta_graph, "collection_def", {})
    for name in files.MAIN_OPS:
        found = collections.get(name)
        if found is not None:
            return [each.partition(":")[0] for each in field_of(found.node_list, "value", [])]
    said = field_of(meta_graph, "signature_def", {}).get(files.INIT_OP_SIGNATURE)
    outputs = {} if said is None else field_of(said, "outputs", {})
    return [field_of(info, "name", "").partition(":")[0] for info in outputs.values()]
