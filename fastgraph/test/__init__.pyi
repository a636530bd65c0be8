# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.devices import gpu_device_name as gpu_device_name
from fastgraph.core.devices import is_built_with_cuda as is_built_with_cuda
from fastgraph.core.devices import is_built_with_gpu_support as is_built_with_gpu_support
from fastgraph.core.devices import is_built_with_rocm as is_built_with_rocm
from fastgraph.core.devices import is_built_with_xla as is_built_with_xla
from fastgraph.core.devices import is_gpu_available as is_gpu_available
from fastgraph.test import experimental as experimental
from fastgraph.unittests.case import TestCase as TestCase
from fastgraph.unittests.jacobians import compute_gradient as compute_gradient
from fastgraph.unittests.running import Benchmark as Benchmark
from fastgraph.unittests.running import assert_equal_graph_def as assert_equal_graph_def
from fastgraph.unittests.running import benchmark_config as benchmark_config
from fastgraph.unittests.running import disable_with_predicate as disable_with_predicate
from fastgraph.unittests.running import is_cpu_target_available as is_cpu_target_available
from fastgraph.unittests.running import main as main
from fastgraph.unittests.running import with_eager_op_as_function as with_eager_op_as_function

