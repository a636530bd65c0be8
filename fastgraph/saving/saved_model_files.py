"""The files of a SavedModel, and its main message: found, read and checked.

Rule: a name that a file gives is a name inside of the SavedModel's own folders, or an error.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from fastgraph.core.base.gc_pause import resting
from fastgraph.core.base.missing_methods import without
from fastgraph.core.base.paths import local_path
from fastgraph.errors import InvalidArgumentError
from fastgraph.graphdef.import_values import field_of
from fastgraph.graphdef.messages import Message
from fastgraph.graphdef.wire_format import parsed

SAVED_MODEL_SCHEMA_VERSION = 1
SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT = "saved_model.pb", "saved_model.pbtxt"
VARIABLES_DIRECTORY = VARIABLES_FILENAME = "variables"
ASSETS_DIRECTORY, ASSETS_KEY = "assets", "saved_model_assets"
DEBUG_DIRECTORY, DEBUG_INFO_FILENAME_PB = "debug", "saved_model_debug_info.pb"
FINGERPRINT_FILENAME = "fingerprint.pb"
SERVING, TRAINING, GPU, TPU = "serve", "train", "gpu", "tpu"  # tags
DEFAULT_SERVING_SIGNATURE_DEF_KEY = "serving_default"
PREDICT_METHOD_NAME, PREDICT_INPUTS, PREDICT_OUTPUTS = "tensorflow/serving/predict", "inputs", "outputs"
CLASSIFY_METHOD_NAME, CLASSIFY_INPUTS = "tensorflow/serving/classify", "inputs"
CLASSIFY_OUTPUT_CLASSES, CLASSIFY_OUTPUT_SCORES = "classes", "scores"
REGRESS_METHOD_NAME, REGRESS_INPUTS, REGRESS_OUTPUTS = "tensorflow/serving/regress", "inputs", "outputs"
INIT_OP_SIGNATURE = "__saved_model_init_op"
TRAIN_OP_SIGNATURE = "__saved_model_train_op"
MAIN_OPS = ("saved_model_main_op", "legacy_init_op")  # collections that name what has to run first

#: The values of Variables, in the SavedModel's folder: a bundle.
VARIABLES = os.path.join(VARIABLES_DIRECTORY, VARIABLES_FILENAME)


def contains_saved_model(export_dir: str | os.PathLike[str]) -> bool:
    """Return whether there is a SavedModel in this folder. Source: tf.saved_model.contains_saved_model."""
    path = local_path(export_dir)
    return any(
        os.path.exists(os.path.join(path, name)) for name in (SAVED_MODEL_FILENAME_PB, SAVED_MODEL_FILENAME_PBTXT)
    )


def read_saved_model(export_dir: str) -> Message:
    """Return the message SavedModel of a folder. Raises OSError if there is none, or none that can be read."""
    path = os.path.join(export_dir, SAVED_MODEL_FILENAME_PB)
    try:
        with open(path, "rb") as file:
            content = file.read()
    except FileNotFoundError:
        more = (
            ""
            if not os.path.exists(os.path.join(export_dir, SAVED_MODEL_FILENAME_PBTXT))
            else (f" ({SAVED_MODEL_FILENAME_PBTXT} is there, and is not read)")
        )
        raise OSError(
            f"SavedModel file does not exist at: {export_dir}{os.sep}"
            f"{{{SAVED_MODEL_FILENAME_PBTXT}|{SAVED_MODEL_FILENAME_PB}}}{more}"
        ) from None
    try:
        with resting:
            return parsed(content, "SavedModel")
    except ValueError as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None


@without({"tf.saved_model.experimental.read_fingerprint": "from_proto"})
@dataclass(frozen=True)
class Fingerprint:
    """The numbers that tell one SavedModel from another. Source: tf.saved_model.experimental.Fingerprint."""

    saved_model_checksum: int
    graph_def_program_hash: int
    signature_def_hash: int
    saved_object_graph_hash: int
    checkpoint_hash: int
    version: int = 0

    def singleprint(self) -> str:
        """Return the hashes as one text."""
        parts = (
            self.graph_def_program_hash, self.signature_def_hash, self.saved_object_graph_hash, self.checkpoint_hash
        )  # fmt: skip
        return "/".join([str(each) for each in parts])


def read_fingerprint(export_dir: str | os.PathLike[str]) -> Fingerprint:
    """Return the fingerprint of a SavedModel. Source: tf.saved_model.experimental.read_fingerprint.

    Raises FileNotFoundError if it has none, RuntimeError for a damaged one.
    """
    path = os.path.join(plain_export_dir(export_dir), FINGERPRINT_FILENAME)
    if not os.path.exists(path):
        raise FileNotFoundError(f"SavedModel Fingerprint Error: fingerprint.pb does not exist: {path}")
    with open(path, "rb") as file:
        content = file.read()
    try:
        message = parsed(content, "FingerprintDef")
    except ValueError as error:
        raise RuntimeError(f"SavedModel Fingerprint Error: {path}: {error}") from None
    names = [each.name for each in fields(Fingerprint) if each.name != "version"]
    version = field_of(message, "version")
    numbers = {name: field_of(message, name, 0) % (1 << 64) for name in names}
    return Fingerprint(**numbers, version=0 if version is None else field_of(version, "producer", 0))


def choose_meta_graph(saved: Message, tags: Sequence[str] | str | None, export_dir: str) -> Message:
    """Return the part of a SavedModel that has just these tags. Raises ValueError, or RuntimeError if none has them."""
    found = field_of(saved, "meta_graphs", [])
    wanted = None if tags is None else {tags} if isinstance(tags, str) else set(tags)
    known = [set(field_of(_info(each), "tags", [])) for each in found]
    if not found:
        raise OSError(f"The SavedModel in {export_dir} has no graph in it")
    if wanted is None:
        if len(found) > 1:
            raise ValueError(
                "Importing a SavedModel with `tf.saved_model.load` requires a `tags=` argument if there is more than "
                f"one MetaGraph. Got `tags=None`, but there are {len(found)} MetaGraphs in the SavedModel with tag "
                f"sets: {[sorted(each) for each in known]}. Pass a `tags=` argument to load this SavedModel."
            )
        first: Message = found[0]
        return first
    for each, own in zip(found, known, strict=True):
        if own == wanted:
            chosen: Message = each
            return chosen
    if len(found) == 1 and objects_of(found[0]) is not None:
        raise ValueError(
            f"Got an incompatible argument to `tags`: {tags}. The SavedModel at {export_dir} has one MetaGraph with "
            f"tags {sorted(known[0])}. You may omit the argument, pass 'None', or pass tags={sorted(known[0])}."
        )
    raise RuntimeError(
        f"MetaGraphDef associated with tags {tags!r} could not be found in SavedModel, with available tags "
        f"'{[sorted(each) for each in known]}'. To inspect available tag-sets in the SavedModel, please use the "
        "SavedModel CLI: `python -m fastgraph saved_model show`."
    )


def _info(meta_graph: Message) -> Any:
    return meta_graph.meta_info_def


def tags_of(meta_graph: Message) -> list[str]:
    """Return the tags of a part of a SavedModel."""
    return list(field_of(_info(meta_graph), "tags", []))


def objects_of(meta_graph: Message) -> Message | None:
    """Return the message of the objects, None where the SavedModel is of TensorFlow 1's kind."""
    found = field_of(meta_graph, "object_graph_def")
    return found if found is not None and field_of(found, "nodes", []) else None


def graph_of(meta_graph: Message) -> Any:
    """Return the GraphDef of a part."""
    return meta_graph.graph_def


def asset_paths(meta_graph: Message, export_dir: str) -> list[tuple[str, str]]:
    """Return (the tensor's name, the file's path) of each asset. Raises InvalidArgumentError for a path elsewhere."""
    found = []
    for each in field_of(meta_graph, "asset_file_def", []):
        name = field_of(each, "filename", "")
        parts = name.replace("\\", "/").split("/")
        if not name or os.path.isabs(name) or ".." in parts or "\0" in name or ":" in parts[0]:
            raise InvalidArgumentError(None, None, f"an asset lies in the SavedModel's own folder, not at {name!r}")
        found.append((field_of(each.tensor_info, "name", ""), os.path.join(export_dir, ASSETS_DIRECTORY, name)))
    return found


def plain_export_dir(export_dir: str | os.PathLike[str]) -> str:
    """Return the path of a SavedModel's folder as text. Raises TypeError for what is no path."""
    if not isinstance(export_dir, str | os.PathLike):
        raise TypeError(f"A path is wanted, got {export_dir!r}")
    return local_path(export_dir)
