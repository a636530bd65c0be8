"""`python -m fastgraph saved_model show | run`: what a SavedModel takes and gives, and a call of a signature.

Rule: what `saved_model_cli` of TensorFlow is asked for, in the same words; nothing that is given is evaluated.
"""

from __future__ import annotations

import argparse
import ast
import os
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from fastgraph.core.conversion import constant
from fastgraph.errors import OpError
from fastgraph.graphdef.import_values import dims_of, field_of
from fastgraph.graphdef.message_types import Enum
from fastgraph.graphdef.messages import Message, TensorShapeProto
from fastgraph.saving import saved_model_files as files
from fastgraph.saving.saved_model_loader import load


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
            print(", ".join(f"'{tag}'" for tag in files.tags_of(meta_graph)))
        return 0
    meta_graph = files.choose_meta_graph(saved, _tags(chosen.tag_set), chosen.dir)
    signatures = field_of(meta_graph, "signature_def", {})
    if chosen.all:
        print(
            f"MetaGraphDef with tag-set: '{', '.join(files.tags_of(meta_graph))}' contains the following SignatureDefs:"
        )
        for name, said in sorted(signatures.items()):
            print(f"\nsignature_def['{name}']:")
            print("\n".join(_lines(said)))
    elif chosen.signature_def is None:
        print("The given SavedModel MetaGraphDef contains SignatureDefs with the following keys:")
        for name in sorted(signatures):
            print(f'SignatureDef key: "{name}"')
    else:
        if chosen.signature_def not in signatures:
            raise ValueError(f"There is no signature {chosen.signature_def!r}; there are {sorted(signatures)}")
        print("\n".join(_lines(signatures[chosen.signature_def], "")))
    return 0


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
    given = {**_from_files(chosen.inputs), **_from_texts(chosen.input_exprs)}
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
    """Python literals: numbers, texts, lists of them."""
    return {name: ast.literal_eval(value) for name, value in _pairs(text)}


def _write(path: str, array: np.ndarray, overwrite: bool) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path) and not overwrite:
        raise OSError(f"{path} is there already: add --overwrite")
    np.save(path, array.astype("S") if array.dtype == object else array, allow_pickle=False)
    print(f"Output is saved to {path}")
