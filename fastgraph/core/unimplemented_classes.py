"""Classes of TensorFlow's that are not built, for who asks whether an object is one of them: none is.

Rule: such a class can be asked about and nothing else: it makes no objects and has no attributes, and says so.
"""

from __future__ import annotations

import enum
import types
from typing import Any, NoReturn

from fastgraph.errors import NotBuiltError


class Unbuilt(type):
    """The class of such classes."""

    full: str
    instead: str

    def __call__(cls, *args: object, **kwargs: Any) -> NoReturn:
        raise NotBuiltError(f"{cls.full} is not built. Use {cls.instead}.")

    def __getattr__(cls, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotBuiltError(f"{cls.full}.{name} is not built. Use {cls.instead}.")


def _unbuilt(full: str, instead: str) -> Unbuilt:
    name = full.rpartition(".")[2]
    text = f"{full}, which is not built: no object is one, and none can be made. Use {instead}."
    return Unbuilt(name, (), {"full": full, "instead": instead, "__doc__": text, "__module__": __name__})


_MIRRORED = "tf.distribute.MirroredStrategy in one process"
_LAYERS = "Keras's preprocessing layers"
DTensorDataset = _unbuilt("tf.experimental.dtensor.DTensorDataset", _MIRRORED)
DVariable = _unbuilt("tf.experimental.dtensor.DVariable", _MIRRORED)
ClusterCoordinator = _unbuilt("tf.distribute.experimental.coordinator.ClusterCoordinator", _MIRRORED)
PerWorkerValues = _unbuilt("tf.distribute.experimental.coordinator.PerWorkerValues", _MIRRORED)
RemoteValue = _unbuilt("tf.distribute.experimental.coordinator.RemoteValue", _MIRRORED)
PreemptionCheckpointHandler = _unbuilt(
    "tf.distribute.experimental.PreemptionCheckpointHandler", "tf.train.CheckpointManager"
)
ShardedVariable = _unbuilt("tf.__internal__.distribute.ShardedVariable", "tf.Variable")
_CALLS = "calls of a tf.function, or wrap_function(...).prune(feeds, fetches)"
Session = _unbuilt("tf.compat.v1.Session", _CALLS)
InteractiveSession = _unbuilt("tf.compat.v1.InteractiveSession", _CALLS)
MonitoredSession = _unbuilt("tf.compat.v1.train.MonitoredSession", _CALLS)
SessionRunHook = _unbuilt("tf.compat.v1.train.SessionRunHook", "callbacks of Keras's fit, or a loop of your own")
Saver = _unbuilt("tf.compat.v1.train.Saver", "tf.train.Checkpoint")
Optimizer = _unbuilt("tf.compat.v1.train.Optimizer", "a tf.keras.optimizers optimizer, and a loop of your own")
FeatureColumn = _unbuilt("tf.__internal__.feature_column.FeatureColumn", _LAYERS)
DenseColumn = _unbuilt("tf.__internal__.feature_column.DenseColumn", _LAYERS)
SequenceDenseColumn = _unbuilt("tf.__internal__.feature_column.SequenceDenseColumn", _LAYERS)

_LOOKUP = "tf.nn.embedding_lookup, or Keras's Embedding"
_EMBEDDING = "tf.tpu.experimental.embedding."
EmbeddingAdagrad, EmbeddingAdam, EmbeddingFTRL, EmbeddingSGD, FeatureConfig, TableConfig, TPUEmbedding = (
    _unbuilt(_EMBEDDING + name, _LOOKUP)
    for name in ("Adagrad", "Adam", "FTRL", "SGD", "FeatureConfig", "TableConfig", "TPUEmbedding")
)
TPUEmbeddingV0 = _unbuilt(_EMBEDDING + "TPUEmbeddingV0", _LOOKUP)
TPUEmbeddingForServing = _unbuilt(_EMBEDDING + "TPUEmbeddingForServing", _LOOKUP)


class EmbeddingFeature(enum.Enum):
    """Kinds of hardware that TPUs have for embeddings. Source: tf.tpu.experimental.HardwareFeature.EmbeddingFeature."""

    UNSUPPORTED = "UNSUPPORTED"
    V1 = "V1"
    V2 = "V2"


#: TensorFlow's module of these classes.
coordinator = types.SimpleNamespace(
    ClusterCoordinator=ClusterCoordinator, PerWorkerValues=PerWorkerValues, RemoteValue=RemoteValue
)
CheckpointInitialValueCallable = _unbuilt(
    "tf.__internal__.tracking.CheckpointInitialValueCallable",
    "tf.Variable, which a checkpoint restores once it is there",
)
