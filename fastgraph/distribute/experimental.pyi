# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.unbuilt_classes import PreemptionCheckpointHandler as PreemptionCheckpointHandler
from fastgraph.core.unbuilt_classes import coordinator as coordinator
from fastgraph.replication.contexts import ValueContext as ValueContext
from fastgraph.replication.processes import CollectiveHints as CollectiveHints
from fastgraph.replication.processes import CommunicationImplementation as CommunicationImplementation
from fastgraph.replication.processes import CommunicationImplementation as _CollectiveCommunication
from fastgraph.replication.processes import CommunicationOptions as CommunicationOptions
from fastgraph.replication.processes import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from fastgraph.replication.strategy import CentralStorageStrategy as CentralStorageStrategy
from fastgraph.replication.strategy import ParameterServerStrategy as ParameterServerStrategy
from fastgraph.replication.strategy import TPUStrategy as TPUStrategy

CollectiveCommunication = _CollectiveCommunication
