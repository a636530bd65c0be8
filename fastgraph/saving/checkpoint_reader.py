"""Contents of a checkpoint, by keys: load_checkpoint, load_variable, list_variables; views of its graph of objects.

Rule: reading changes nothing, neither files nor objects.
"""

from __future__ import annotations

import os
from typing import Any

from fastgraph.core.base.dtype import DType, from_code, string
from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.paths import local_path
from fastgraph.core.base.read_only import ReadOnly
from fastgraph.errors import DataLossError
from fastgraph.graphdef.messages import Message
from fastgraph.graphdef.wire_format import parsed
from fastgraph.saving.checkpoint_state import latest_checkpoint
from fastgraph.saving.object_graph import OBJECT_GRAPH, check_graph
from fastgraph.saving.tensor_bundle import BundleReader
from fastgraph.state.tracking import Trackable, children_of

_SAVED_MODEL = os.path.join("variables", "variables")


class CheckpointReader:
    """The tensors of a checkpoint by their keys. Source: tf.train.load_checkpoint."""

    def __init__(self, prefix: str) -> None:
        self._bundle = BundleReader(prefix)

    def has_tensor(self, tensor_str: str) -> bool:
        """Return whether there is a tensor of this key."""
        return tensor_str in self._bundle

    def get_tensor(self, tensor_str: Any) -> Any:
        """Return a tensor as an array, a single number as NumPy's scalar, a single string as bytes.

        Raises NotFoundError if there is none of this key.
        """
        key = tensor_str.decode() if isinstance(tensor_str, bytes) else str(tensor_str)
        found = self._bundle.read(key)
        return found if found.ndim else found[()]

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return {key: shape}."""
        keys = self._bundle.keys()
        return {key: [int(dim.size) for dim in self._bundle.entry(key).shape.dim] for key in keys}

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Return {key: dtype}. Raises UnimplementedError for a dtype that has no equal here."""
        keys = self._bundle.keys()
        return {key: self._bundle.dtype_and_shape(key)[0] for key in keys}

    def debug_string(self) -> bytes:
        """Return a line for each tensor: key, dtype, shape."""
        lines = []
        for key, dims in self.get_variable_to_shape_map().items():
            code = int(self._bundle.entry(key).dtype)
            try:
                name = from_code(code).name.removesuffix("32") if code == 1 else from_code(code).name
            except KeyError:
                name = str(code)
            lines.append(f"{key} (DT_{name.upper()}) {[*dims]}".replace(", ", ","))
        return "\n".join(lines).encode()


def open_checkpoint(path: Any) -> BundleReader:
    """Return the bundle of a checkpoint, or of a SavedModel's folder. Raises NotFoundError, DataLossError for a folder
    of other files.
    """
    prefix = local_path(path)
    if os.path.isdir(prefix) and os.path.exists(os.path.join(prefix, _SAVED_MODEL + ".index")):
        prefix = os.path.join(prefix, _SAVED_MODEL)
    elif os.path.isdir(prefix) and not os.path.exists(prefix + ".index"):
        raise DataLossError(
            None, None,
            f"Unable to open table file {prefix}: it is a directory; a checkpoint is meant by its prefix, as "
            "tf.train.latest_checkpoint gives that of a directory's latest",
        )  # fmt: skip
    return BundleReader(prefix)


def object_graph(reader: BundleReader) -> Message | None:
    """Return a checkpoint's graph of objects, None if it has none: then its keys are the names of Variables."""
    if OBJECT_GRAPH not in reader:
        return None
    entry = reader.entry(OBJECT_GRAPH)
    if int(entry.dtype) != string.code or entry.shape.dim:
        raise DataLossError(None, None, f"{reader.prefix}: {OBJECT_GRAPH} is not a string")
    try:
        message = parsed(reader.read(OBJECT_GRAPH).item(), "TrackableObjectGraph")
    except ValueError as error:
        raise DataLossError(None, None, f"{reader.prefix}: {OBJECT_GRAPH}: {error}") from None
    wrong = check_graph(message)
    if wrong is not None:
        raise DataLossError(None, None, f"{reader.prefix}: {OBJECT_GRAPH}: {wrong}")
    return message


def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """Return what reads a checkpoint: of a prefix, or the latest of a folder.

    Raises ValueError for a folder without any, NotFoundError for a prefix of none. Source: tf.train.load_checkpoint.
    """
    path = local_path(ckpt_dir_or_file)
    found = latest_checkpoint(path) if os.path.isdir(path) else path
    if found is None:
        raise ValueError(f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}")
    return CheckpointReader(found)


def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """Return the tensor of a key as an array. Raises NotFoundError. Source: tf.train.load_variable."""
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Return (key, shape) of all tensors of a checkpoint, by key. Source: tf.train.list_variables."""
    return sorted(load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map().items())


class TrackableView:
    """The objects below a root. Source: tf.train.TrackableView."""

    def __init__(self, root: Any) -> None:
        self._root = root

    root = ReadOnly[Any]("_root", "The root.")

    @classmethod
    def children(cls, obj: Any, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        """Return {name: what an object depends on}."""
        return children_of(obj, save_type)

    def descendants(self) -> list[Any]:
        """Return the root and all below it, breadth first."""
        found, seen = [self._root], {id(self._root)}
        for value in found:  # which grows
            for child in self.children(value).values():
                if id(child) not in seen:
                    seen.add(id(child))
                    found.append(child)
        return found


class CheckpointView:
    """The graph of objects of a checkpoint. Source: tf.train.CheckpointView.

    Raises ValueError if the checkpoint has none.
    """

    def __init__(self, save_path: Any) -> None:
        reader = open_checkpoint(save_path)
        message = object_graph(reader)
        if message is None:
            raise ValueError(
                f'The specified checkpoint "{save_path}" does not appear to be object-based (saved with TF2) since it '
                f'is missing the key "{OBJECT_GRAPH}". Likely it was created with the TF1 name-based saver and does '
                "not contain an object dependency graph."
            )
        self._object_graph_proto = message

    def children(self, node_id: int) -> dict[str, int]:
        """Return {name: number of the node} of what a node depends on."""
        return {child.local_name: int(child.node_id) for child in self._object_graph_proto.nodes[node_id].children}

    def descendants(self) -> list[int]:
        """Return the numbers of all nodes below the root, breadth first, the root's among them."""
        found = [0]
        for node in found:  # which grows
            found += [child for child in self.children(node).values() if child not in found]
        return found

    def match(self, obj: Any) -> dict[int, Any]:
        """Return {number of a node: the object at the same place below `obj`}. Raises ValueError for no Trackable."""
        if not isinstance(obj, Trackable):
            raise ValueError(f"Expected a Trackable, got {obj} of type {type(obj)}.")
        found: dict[int, Any] = {0: obj}
        for node, thing in ((n, found[n]) for n in self.descendants() if n in found):
            own = TrackableView.children(thing)
            for name, child in self.children(node).items():
                if name in own and found.setdefault(child, own[name]) is not own[name] and child:
                    get_logger().warning(
                        "Inconsistent references when matching the checkpoint into this object graph. The referenced "
                        "objects are: (%s and %s).", found[child], own[name],
                    )  # fmt: skip
        return found

    def diff(self, obj: Any) -> tuple[dict[int, Any], list[int], list[Any]]:
        """Return `match(obj)`, the nodes that only the checkpoint has, and the objects that are only below `obj`."""
        found = self.match(obj)
        there = {id(thing) for thing in found.values()}
        others = [thing for thing in TrackableView(obj).descendants() if id(thing) not in there]
        return found, [node for node in self.descendants() if node not in found], others
