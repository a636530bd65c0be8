# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.api.configuration import get_visible_devices as get_visible_devices
from fastgraph.api.configuration import set_visible_devices as set_visible_devices
from fastgraph.config import experimental as experimental
from fastgraph.config import optimizer as optimizer
from fastgraph.config import threading as threading
from fastgraph.core.devices import LogicalDevice as LogicalDevice
from fastgraph.core.devices import LogicalDeviceConfiguration as LogicalDeviceConfiguration
from fastgraph.core.devices import PhysicalDevice as PhysicalDevice
from fastgraph.core.devices import get_logical_device_configuration as get_logical_device_configuration
from fastgraph.core.devices import get_soft_device_placement as get_soft_device_placement
from fastgraph.core.devices import list_logical_devices as list_logical_devices
from fastgraph.core.devices import list_physical_devices as list_physical_devices
from fastgraph.core.devices import set_logical_device_configuration as set_logical_device_configuration
from fastgraph.core.devices import set_soft_device_placement as set_soft_device_placement
from fastgraph.staging.function import functions_run_eagerly as experimental_functions_run_eagerly
from fastgraph.staging.function import functions_run_eagerly as functions_run_eagerly
from fastgraph.staging.function import run_functions_eagerly as experimental_run_functions_eagerly
from fastgraph.staging.function import run_functions_eagerly as run_functions_eagerly

