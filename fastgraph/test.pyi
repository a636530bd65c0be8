# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.devices import gpu_device_name as gpu_device_name
from fastgraph.core.devices import is_built_with_cuda as is_built_with_cuda
from fastgraph.core.devices import is_built_with_gpu_support as is_built_with_gpu_support
from fastgraph.core.devices import is_built_with_rocm as is_built_with_rocm
from fastgraph.core.devices import is_built_with_xla as is_built_with_xla
from fastgraph.core.devices import is_gpu_available as is_gpu_available

