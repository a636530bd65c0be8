"""`python -m fastgraph saved_model show | run`: what a SavedModel takes and gives, and a call of a signature.

Rule: what `saved_model_cli` of TensorFlow is asked for, in the same words; nothing that is given is evaluated.
"""

from __future__ import annotations

import argparse
import ast
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from fastgraph.core.base.type_specs import TensorSpec
from fastgraph.core.conversion import constant
from fastgraph.errors import NotFoundError, OpError
from fastgraph.graphdef.example_messages import Example
from fastgraph.graphdef.import_values import dims_of, field_of
from fastgraph.graphdef.message_types import Enum
from fastgraph.graphdef.messages import Message, TensorShapeProto
from fastgraph.saving import saved_model_files as files
from fastgraph.saving.saved_model_loader import load, names_of_traces
from fastgraph.saving.saved_model_structures import decoded

_CALLABLE = ("function", "bare_concrete_function")  # kinds of objects


def main(arguments: list[str]) -> int:
    """Run the command that the arguments ask for; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m fastgraph saved_model", description="Look at and run SavedModels.")
    commands = parser.add_subparsers(dest="command", required=True)
    show = commands.add_parser("show", help="print tags, signatures, inputs and outputs")
    run = commands.add_parser("run", help="call a signature")
    for each in (show, run):
        each.add_argument("--dir", required=True, help="the folder of the SavedModel")
        each.add_argument("--tag_set", help="the tags of the graph, with commas between; all of them where left out")
        each.add_argument("--signature_def", help="the name of a signature")
    show.add_argument("--all", action="store_true", help="print all signatures")
    run.add_argument("--inputs", default="", help='files: "x=file.npy;y=file.npz[key]"')
    run.add_argument("--input_exprs", default="", help='Python literals: "x=[[1.0, 2.0]];y=3"')
    run.add_argument("--input_examples", default="", help="Examples: \"x=[{'a': [1.0, 2.0]}]\"")
    run.add_argument("--outdir", help="the folder that results are written to, as NAME.npy")
    run.add_argument("--overwrite", action="store_true", help="write over files that are there")
    chosen = parser.parse_args(arguments)
    try:
        return _show(chosen) if chosen.command == "show" else _run(chosen)
    except (OSError, ValueError, RuntimeError, OpError, KeyError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1


def _tags(given: str | None) -> list[str] | None:
    return None if given is None else [each for each in given.split(",") if each]


def _show(chosen: argparse.Namespace) -> int:
    saved = files.read_saved_model(chosen.dir)
    if chosen.tag_set is None and not chosen.all:
        print("The given SavedModel contains the following tag-sets:")
        for meta_graph in field_of(saved, "meta_graphs", []):
            print(repr(", ".join(sorted(files.tags_of(meta_graph)))))
        return 0
    if chosen.all:
        return _show_all(field_of(saved, "meta_graphs", []))
    meta_graph = files.choose_meta_graph(saved, _tags(chosen.tag_set), chosen.dir)
    signatures = field_of(meta_graph, "signature_def", {})
    if chosen.signature_def is None:
        print("The given SavedModel MetaGraphDef contains SignatureDefs with the following keys:")
        for name in sorted(signatures):
            print(f'SignatureDef key: "{name}"')
    else:
        if chosen.signature_def not in signatures:
            raise ValueError(f"There is no signature {chosen.signature_def!r}; there are {sorted(signatures)}")
        print("\n".join(_lines(signatures[chosen.signature_def], "")))
    return 0


def _show_all(meta_graphs: list[Message]) -> int:
    for each in sorted(meta_graphs, key=files.tags_of):
        tags = files.tags_of(each)
        print(f"\nMetaGraphDef with tag-set: '{', '.join(tags)}' contains the following SignatureDefs:")
        for name, said in sorted(field_of(each, "signature_def", {}).items()):
            print(f"\nsignature_def['{name}']:")
            print("\n".join(_lines(said)))
        ops = ", ".join(map(repr, sorted(_ops(files.graph_of(each)))))
        print(f"The MetaGraph with tag set {tags} contains the following ops: {{{ops}}}")
    if any(files.objects_of(each) is not None for each in meta_graphs):
        print("\nConcrete Functions:", end="")
        print("\n".join(_of_functions(meta_graphs[0])))
    return 0


def _functions(graph: Message) -> list[Message]:
    library = field_of(graph, "library")
    return [] if library is None else list(field_of(library, "function", []))


def _ops(graph: Message) -> set[str]:
    """The operations that the graph runs, or functions that it calls."""
    functions = {each.signature.name: field_of(each, "node_def", []) for each in _functions(graph)}
    found: set[str] = set()
    later = [*field_of(graph, "node", [])]
    while later:
        node = later.pop()
        called = _called(node) if node.op in ("PartitionedCall", "StatefulPartitionedCall") else []
        for name in (node.op, *called):
            later += functions[name] if name in functions and name not in found else []
            found.add(name)
    return found - functions.keys()


def _of_functions(meta_graph: Message) -> Iterator[str]:
    """The lines about what the loaded object's own functions take; traces in the order in which they are loaded."""
    places = {name: i for i, name in enumerate(_loaded_order(_functions(files.graph_of(meta_graph))))}
    objects: Message = meta_graph.object_graph_def
    nodes, traces = objects.nodes, field_of(objects, "concrete_functions", {})
    children = {
        field_of(each, "local_name", ""): field_of(each, "node_id", 0) for each in field_of(nodes[0], "children", [])
    }
    for child, number in sorted(children.items()):
        if not 0 <= number < len(nodes) or nodes[number].WhichOneof("kind") not in _CALLABLE:
            continue
        yield f"\n  Function Name: '{child}'"
        plain = [
            (re.sub(r"^__inference_(.*)_\d+$", r"\1", name), places.get(name, 0), name)
            for name in names_of_traces(nodes[number])
        ]
        for i, (*_, name) in enumerate(sorted(plain), 1):
            if name not in traces:
                raise ValueError(f"the function {name!r} is not in the SavedModel")
            try:
                args, kwargs = decoded(traces[name].canonicalized_input_signature)
            except NotFoundError as error:
                args, kwargs = (error.message,), {}
            if args:
                yield f"    Option #{i}"
                yield "      Callable with:"
                yield from _arguments(args, "Argument")
            yield from _arguments(kwargs, "Named Argument")


def _loaded_order(functions: list[Message]) -> list[str]:
    """The names of a library's functions as TensorFlow loads them: from the last, none before those it calls."""
    names = [function.signature.name for function in functions]
    callers: dict[str, list[str]] = {name: [] for name in names}
    waits = dict.fromkeys(names, 0)
    for name, function in zip(names, functions, strict=True):
        called = set()
        for node in field_of(function, "node_def", []):
            found = [node.op] if node.op in callers else _called(node)
            called.update([each for each in found if each in callers])
        for each in called:
            callers[each].append(name)
        waits[name] = len(called)
    ready, order = [name for name in names if not waits[name]], []
    while ready:
        order.append(ready.pop())
        for name in callers[order[-1]]:
            waits[name] -= 1
            if not waits[name]:
                ready.append(name)
    return order


def _called(node: Message) -> list[str]:
    """The names of functions among a node's attributes."""
    found = []
    for value in field_of(node, "attr", {}).values():
        one, many = field_of(value, "func"), field_of(value, "list")
        several = [] if many is None else field_of(many, "func", [])
        found += [field_of(each, "name", "") for each in ([*several] if one is None else [one])]
    return found


def _arguments(values: Iterable[Any], kind: str) -> Iterator[str]:
    """The lines about arguments; of those that are given by name the names are all that is said."""
    for i, value in enumerate(values, 1):
        yield f"        {kind} #{i}"
        if isinstance(value, str):
            yield f"          {value}"
        elif isinstance(value, TensorSpec):
            yield f"          {value.name}: {value!r}"
        else:
            yield f"          DType: {type(value).__name__}"
            yield f"          Value: {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join([f"'{key}': {_quoted(each)}" for key, each in value.items()]) + "}"
    return f"[{', '.join(map(_quoted, value))}]" if isinstance(value, Iterable) else str(value)


def _quoted(value: Any) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value)


def _lines(said: Message, indent: str = "  ") -> list[str]:
    found = []
    for kind in ("inputs", "outputs"):
        found.append(f"{indent}The given SavedModel SignatureDef contains the following {kind[:-1]}(s):")
        for name, info in sorted(field_of(said, kind, {}).items()):
            found.append(f"{indent}  {kind}['{name}'] tensor_info:")
            dims = dims_of(field_of(info, "tensor_shape", TensorShapeProto()))
            shape = (
                "unknown_rank" if dims is None else "(" + ", ".join("-1" if n is None else str(n) for n in dims) + ")"
            )
            found.append(f"{indent}      dtype: {Enum(field_of(info, 'dtype', 0)).name}")
            found.append(f"{indent}      shape: {shape}")
            found.append(f"{indent}      name: {field_of(info, 'name', '')}")
    found.append(f"{indent}Method name is: {field_of(said, 'method_name', '')}")
    return found


def _run(chosen: argparse.Namespace) -> int:
    loaded = load(chosen.dir, _tags(chosen.tag_set))
    name = chosen.signature_def or files.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if name not in loaded.signatures:
        raise ValueError(f"There is no signature {name!r}; there are {sorted(loaded.signatures)}")
    function = loaded.signatures[name]
    specs: Mapping[str, Any] = function.structured_input_signature[1]
    given = {**_from_files(chosen.inputs), **_from_texts(chosen.input_exprs), **_from_examples(chosen.input_examples)}
    unknown = sorted(set(given) - set(specs))
    if unknown:
        raise ValueError(f"{name} takes {sorted(specs)}, not {', '.join(unknown)}")
    results = function(**{key: constant(value, specs[key].dtype) for key, value in given.items()})
    for key, tensor in sorted(results.items()):
        print(f"Result for output key {key}:\n{tensor.numpy()}")
        if chosen.outdir:
            _write(os.path.join(chosen.outdir, f"{os.path.basename(key)}.npy"), tensor.numpy(), chosen.overwrite)
    return 0


def _pairs(text: str) -> list[tuple[str, str]]:
    found = []
    for item in text.split(";"):
        if item.strip():
            name, equals, value = item.partition("=")
            if not equals:
                raise ValueError(f"NAME=VALUE is wanted, got {item!r}")
            found.append((name.strip(), value.strip()))
    return found


def _from_files(text: str) -> dict[str, Any]:
    """Arrays of .npy and .npz files; what is pickled in them is not read."""
    found = {}
    for name, value in _pairs(text):
        path, _, key = value.partition("[")
        held = np.load(path, allow_pickle=False)
        if isinstance(held, np.ndarray):
            found[name] = held
        else:
            key = key.rstrip("]") or held.files[0]
            found[name] = held[key]
    return found


def _from_texts(text: str) -> dict[str, Any]:
    """Python literals: numbers, texts, lists of them. Raises ValueError for all else, as TensorFlow 2.21 does."""
    found = {}
    for name, value in _pairs(text):
        try:
            found[name] = ast.literal_eval(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            raise ValueError(
                f'Expression "{value}" is not a valid python literal. No expression is evaluated; arrays that are none '
                f"come from files: --inputs {name}=FILE.npy"
            ) from None
    return found


def _from_examples(text: str) -> dict[str, Any]:
    """Lists of dicts {feature: list of numbers or texts}, as serialized Examples. Raises ValueError for other texts."""
    found = {}
    for name, examples in _from_texts(text).items():
        if not isinstance(examples, list) or not all(isinstance(each, dict) for each in examples):
            raise ValueError(f'tf.Example input must be a list of dictionaries, but "{examples}" is not')
        found[name] = [_example(each) for each in examples]
    return found


def _example(features: Mapping[str, Any]) -> bytes:
    made = Example()
    for key, values in features.items():
        kinds = {type(each) for each in values} if isinstance(values, list) else set()
        feature = made.features.feature[key]
        if kinds and kinds <= {str, bytes}:
            feature.bytes_list.value.extend([each.encode() if isinstance(each, str) else each for each in values])
        elif kinds == {int}:
            feature.int64_list.value.extend(values)
        elif kinds and kinds <= {int, float}:
            feature.float_list.value.extend(values)
        else:
            raise ValueError(f"feature value must be a list of numbers or of texts, but {key}: {values!r} is none")
    return made.SerializeToString()


def _write(path: str, array: np.ndarray, overwrite: bool) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path) and not overwrite:
        raise OSError(f"{path} is there already: add --overwrite")
    np.save(path, array.astype("S") if array.dtype == object else array, allow_pickle=False)
    print(f"Output is saved to {path}")
