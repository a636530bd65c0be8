# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.configuration import enable_op_determinism as enable_op_determinism
from fastgraph.configuration import get_memory_growth as get_memory_growth
from fastgraph.configuration import set_memory_growth as set_memory_growth
from fastgraph.devices import list_logical_devices as list_logical_devices
from fastgraph.devices import list_physical_devices as list_physical_devices

