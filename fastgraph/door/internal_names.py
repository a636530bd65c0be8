"""The table of TensorFlow's internal names that libraries import: the path of each, and what of ours means the same.

Rule: one row for each path, without conditions. What is not in the table is an error that names it.
"""

from __future__ import annotations

import importlib
import operator
import os
import re
import sys
from typing import Any

import fastgraph
from fastgraph.api import namespaces, public_names
from fastgraph.door import class_names

_PACKAGE = os.path.dirname(fastgraph.__file__) + os.sep
#: The folders of TensorFlow's sources that are no public modules.
FOLDERS = ("__internal__", "compiler", "core", "python", "tools")


def _below(path: str, names: str, module: str) -> dict[str, str]:
    """Rows for names that are called the same in a module of ours."""
    return {f"{path}.{name}": f"{module}:{name}" for name in names.split()}


#: Path below `tensorflow` -> "module:attribute" within fastgraph.
NAMES: dict[str, str] = {
    "__internal__.FuncGraph": "graphdef.func_graph:FuncGraph",
    "__internal__.CompositeTensor": "core.base.composite:CompositeTensor",
    **{full.partition(".")[2]: path for path, full in class_names.CLASSES.items()},
    "__internal__.EagerTensor": "core.tensor:EagerTensor",
    "__internal__.types.Tensor": "core.tensor_type:TensorType",
    "__internal__.smart_cond.smart_cond": "graph.control_flow:smart_cond",
    "__internal__.distribute.interim.maybe_merge_call": "replication.contexts:maybe_merge_call",
    "__internal__.distribute.strategy_supports_no_merge_call": "replication.contexts:strategy_supports_no_merge_call",
    **_below("__internal__.tracking", "Trackable AutoTrackable no_automatic_dependency_tracking", "state.tracking"),
    **_below("python.trackable.data_structures", "ListWrapper NoDependency _DictWrapper", "state.tracking"),
    **_below("python.trackable.base", "Trackable no_automatic_dependency_tracking", "state.tracking"),
    "python.trackable.autotrackable.AutoTrackable": "state.tracking:AutoTrackable",
    **_below("python.training.saving.saveable_object", "SaveSpec SaveableObject", "saving.object_graph"),
    **_below("python.checkpoint.checkpoint", "Checkpoint", "saving.checkpoint"),
    "python.checkpoint.checkpoint_management.CheckpointManager": "saving.checkpoint_rotation:CheckpointManager",
    **_below("python.checkpoint.checkpoint_management", "latest_checkpoint", "saving.checkpoint_state"),
    "__internal__.train.update_checkpoint_state": "saving.checkpoint_state:update_checkpoint_state",
    "compiler.tf2xla.python.xla.dynamic_update_slice": "ops.array_ops:dynamic_update_slice",
    **_below("python.eager.context", "_reset_context async_wait context executing_eagerly", "api.eager_context"),
    "python.data.experimental.ops.distribute.compute_batch_size": "data.dataset:compute_batch_size",
    **_below(
        "python.ops.linalg.sparse.sparse_csr_matrix_ops",
        "csr_sparse_matrix_to_sparse_tensor sparse_matrix_sparse_mat_mul sparse_tensor_to_csr_sparse_matrix",
        "composites.sparse_matrices",
    ),
    "core.util.event_pb2.Event": "graphdef.messages:Event",
    "python.lib.io.tf_record.tf_record_iterator": "graphdef.event_files:RecordIterator",
    "compat.v1.SummaryMetadata": "graphdef.messages:SummaryMetadata",
    **_below("python.framework.type_spec_registry", "get_name lookup", "door.type_spec_names"),
    "python.ops.math_ops.is_nan": "tf.math.is_nan",
    **_below("python.framework.config", "enable_op_determinism disable_op_determinism", "api.configuration"),
    "python.framework.config.is_op_determinism_enabled": "api.configuration:is_op_determinism_enabled",
}

#: The modules of those paths, and of those above them.
MODULES = frozenset(".".join(parts[:n]) for parts in (path.split(".") for path in NAMES) for n in range(1, len(parts)))


def value(path: str) -> Any:
    """Return what the table's row `path` leads to."""
    home, _, attribute = NAMES[path].partition(":")
    if home.startswith("tf."):  # a public name
        return operator.attrgetter(home[3:])(fastgraph)
    module = importlib.import_module(f"fastgraph.{home}")
    return getattr(module, attribute) if attribute else module


def advice(path: str) -> str:
    """Say that a path of TensorFlow's inside is not in the table, who asks for it, and what comes nearest to it."""
    name = _core_of(path)
    every = [*namespaces.built_names(), *public_names.NAMESPACES, *public_names.FILES]
    same = [full for full in every if name and _core_of(full) == name and "numpy" not in full]
    near = f"The public name nearest to it is tf.{min(same, key=len)}." if same else "No public name is near to it."
    return (
        f"tensorflow.{path}, which {_asking()} asks for, is inside of TensorFlow, and not one of the inner names that "
        f"fastgraph answers for (fastgraph/door/internal_names.py lists them). {near}"
    )


def _core_of(path: str) -> str:
    """Return a path's last name without what inner ones have more than public ones (`math_ops`, `_v2`)."""
    return re.sub(r"^(gen|tf)_|_(ops?|v[12])$|V[12]$|_", "", path.rpartition(".")[2]).lower()


def _asking() -> str:
    """Return the file and line that is asking for a name: the innermost one that is neither ours nor Python's."""
    frame: Any = sys._getframe(2)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith((_PACKAGE, "<frozen")) and not file.endswith(f"importlib{os.sep}__init__.py"):
            return f"{file}:{frame.f_lineno}"
        frame = frame.f_back
    return "the program"
