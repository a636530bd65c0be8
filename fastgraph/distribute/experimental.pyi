# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.distribute.contexts import ValueContext as ValueContext
from fastgraph.distribute.processes import CommunicationImplementation as CollectiveCommunication
from fastgraph.distribute.processes import CommunicationImplementation as CommunicationImplementation
from fastgraph.distribute.processes import CommunicationOptions as CommunicationOptions
from fastgraph.distribute.processes import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from fastgraph.distribute.strategy import CentralStorageStrategy as CentralStorageStrategy
from fastgraph.distribute.strategy import ParameterServerStrategy as ParameterServerStrategy
from fastgraph.distribute.strategy import TPUStrategy as TPUStrategy

