# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.graphdef.example_messages import BytesList as BytesList
from fastgraph.graphdef.example_messages import Example as Example
from fastgraph.graphdef.example_messages import Feature as Feature
from fastgraph.graphdef.example_messages import FeatureList as FeatureList
from fastgraph.graphdef.example_messages import FeatureLists as FeatureLists
from fastgraph.graphdef.example_messages import Features as Features
from fastgraph.graphdef.example_messages import FloatList as FloatList
from fastgraph.graphdef.example_messages import Int64List as Int64List
from fastgraph.graphdef.example_messages import SequenceExample as SequenceExample
from fastgraph.replication.cluster import ClusterSpec as ClusterSpec
from fastgraph.saving.checkpoint import Checkpoint as Checkpoint
from fastgraph.saving.checkpoint import CheckpointOptions as CheckpointOptions
from fastgraph.saving.checkpoint_reader import CheckpointView as CheckpointView
from fastgraph.saving.checkpoint_reader import TrackableView as TrackableView
from fastgraph.saving.checkpoint_reader import list_variables as list_variables
from fastgraph.saving.checkpoint_reader import load_checkpoint as load_checkpoint
from fastgraph.saving.checkpoint_reader import load_variable as load_variable
from fastgraph.saving.checkpoint_rotation import CheckpointManager as CheckpointManager
from fastgraph.saving.checkpoint_state import checkpoints_iterator as checkpoints_iterator
from fastgraph.saving.checkpoint_state import get_checkpoint_state as get_checkpoint_state
from fastgraph.saving.checkpoint_state import latest_checkpoint as latest_checkpoint
from fastgraph.state.coordinator import Coordinator as Coordinator
from fastgraph.state.moving_averages import ExponentialMovingAverage as ExponentialMovingAverage
from fastgraph.train import experimental as experimental

