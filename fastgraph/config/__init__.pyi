# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.config import experimental as experimental
from fastgraph.config import threading as threading
from fastgraph.configuration import get_soft_device_placement as get_soft_device_placement
from fastgraph.configuration import get_visible_devices as get_visible_devices
from fastgraph.configuration import set_soft_device_placement as set_soft_device_placement
from fastgraph.configuration import set_visible_devices as set_visible_devices
from fastgraph.devices import LogicalDevice as LogicalDevice
from fastgraph.devices import PhysicalDevice as PhysicalDevice
from fastgraph.devices import list_logical_devices as list_logical_devices
from fastgraph.devices import list_physical_devices as list_physical_devices
from fastgraph.staging.function import functions_run_eagerly as functions_run_eagerly
from fastgraph.staging.function import run_functions_eagerly as run_functions_eagerly

