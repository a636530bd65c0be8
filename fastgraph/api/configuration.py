"""The functions of tf.config, tf.version and tf.sysconfig: devices, threads, versions.

Rule: nothing here computes; it reads and writes flags, and describes the machine.
"""

from __future__ import annotations

import importlib.metadata
import os
import platform
import sys
from pathlib import Path
from typing import Any

import fastgraph
from fastgraph.core import op_errors
from fastgraph.core.base import flags
from fastgraph.core.base.logger import get_logger
from fastgraph.core.devices import CPU, list_physical_devices
from fastgraph.core.native.thread_pool import set_num_threads

VERSION = fastgraph.__version__
GIT_VERSION = "unknown"
COMPILER_VERSION = platform.python_compiler()
GRAPH_DEF_VERSION = 1987
GRAPH_DEF_VERSION_MIN_CONSUMER = GRAPH_DEF_VERSION_MIN_PRODUCER = 0
CXX11_ABI_FLAG, CXX_VERSION, MONOLITHIC_BUILD = 1, 201703, 0

#: The packages that fastgraph uses, for `show_config`.
PACKAGES = (
    "numpy", "numba", "llvmlite", "scipy", "ml_dtypes", "diastatic-malt", "threadpoolctl",
    "scikit-learn", "matplotlib",
)  # fmt: skip


def get_memory_info(device: str) -> dict[str, int]:
    """Return {"current": bytes, "peak": bytes} of a device, of the CPU zeros: its memory is not counted.

    Raises ValueError for a device that is not there. Source: tf.config.experimental.get_memory_info.
    """
    if ":" not in device:
        raise ValueError(
            f"Failed parsing device name: {device!r}. Note a valid device string should at least contain a device "
            'type and a device index, like "CPU:0".'
        )
    if not any(known.name.endswith(f":{device}") or known.name == device for known in list_physical_devices()):
        raise ValueError(f"No matching devices found for {device!r}")
    return {"current": 0, "peak": 0}


def get_memory_usage(device: str) -> int:
    """Return `get_memory_info(device)["current"]`."""
    return get_memory_info(device)["current"]


def reset_memory_stats(device: str) -> None:
    """Make the peak of `get_memory_info(device)` the current value."""
    get_memory_info(device)


def enable_mlir_bridge() -> None:
    """Do nothing: there is one compiler. Source: tf.config.experimental, same name."""


disable_mlir_bridge = enable_mlir_bridge


def tensor_float_32_execution_enabled() -> bool:
    """Return whether GPUs may compute products with 10 bits. Source: tf.config.experimental."""
    return _switches["tensor_float_32"]


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Say whether GPUs may compute products with 10 bits; the CPU never does. Source: tf.config.experimental."""
    _switches["tensor_float_32"] = bool(enabled)


def get_synchronous_execution() -> bool:
    """Return whether eager ops are done when they return: always."""
    return True


def set_synchronous_execution(enable: bool | None) -> None:
    """Accept any wish: eager ops are always done when they return."""


def get_device_policy() -> str:
    """Return what happens to a tensor that is on another device: "silent", it is copied."""
    return "silent"


def set_device_policy(device_policy: str | None) -> None:
    """Accept "silent" or None. Raises ValueError for others: there is one kind of device."""
    if device_policy not in (None, "silent"):
        raise ValueError(f"There is one kind of device, so tensors are never elsewhere; got {device_policy!r}")


def get_log_device_placement() -> bool:
    """Return whether the devices of ops are logged. Source: tf.debugging.get_log_device_placement."""
    return _switches["log_device_placement"]


def set_log_device_placement(enabled: bool) -> None:
    """Say whether the devices of ops are logged; there is one, which is logged now. Source: tf.debugging."""
    _switches["log_device_placement"] = bool(enabled)
    if enabled:
        get_logger().info("All ops run on %s", CPU)


def is_traceback_filtering_enabled() -> bool:
    """Return whether tracebacks leave out the frames inside fastgraph. Source: tf.debugging."""
    return not op_errors.TRACEBACKS


def enable_traceback_filtering() -> None:
    """Leave out of tracebacks what happens inside fastgraph. Source: tf.debugging.enable_traceback_filtering."""
    op_errors.TRACEBACKS = False


def disable_traceback_filtering() -> None:
    """Show what happens inside fastgraph in tracebacks, and the Python exceptions behind errors of ops.

    Source: tf.debugging.disable_traceback_filtering.
    """
    op_errors.TRACEBACKS = True


_switches = {"tensor_float_32": True, "log_device_placement": False}


def enable_op_determinism() -> None:
    """Let every call wait for its kernels, so that the same program gives the same bits in every run.

    Within one tier results do not depend on threads anyway; what this rules out is that some calls run in the first
    tier. Source: tf.config.experimental.enable_op_determinism.
    """
    flags.set_flag("tier", "last")


def disable_op_determinism() -> None:
    """Undo `enable_op_determinism`: calls no longer wait for their kernels."""
    flags.clear_flag("tier")


def is_op_determinism_enabled() -> bool:
    """Return whether every call waits for its kernels."""
    return bool(flags.get("tier") == "last")


def get_inter_op_parallelism_threads() -> int:
    """Return how many threads run kernels."""
    return int(flags.get("threads"))


def set_inter_op_parallelism_threads(num_threads: int) -> None:
    """Set how many threads run kernels, before the first Function is called; 0 means one per CPU."""
    if num_threads < 0:
        raise ValueError(f"num_threads must be 0 or more; got {num_threads}")
    if num_threads:
        flags.set_flag("threads", num_threads)
    else:
        flags.clear_flag("threads")

    set_num_threads(None)


get_intra_op_parallelism_threads = get_inter_op_parallelism_threads
set_intra_op_parallelism_threads = set_inter_op_parallelism_threads


def get_build_info() -> dict[str, Any]:
    """Return how this fastgraph was built. Source: tf.sysconfig.get_build_info."""
    return {
        "is_cuda_build": False,
        "is_rocm_build": False,
        "is_tensorrt_build": False,
        "cpu_compiler": COMPILER_VERSION,
    }


def get_include() -> str:
    """Return the folder of fastgraph's .pxd and .h files."""
    return str(Path(__file__).parents[1])


def get_lib() -> str:
    """Return the folder of fastgraph's extensions."""
    return str(Path(__file__).parents[1])


def installed_versions() -> dict[str, str]:
    """Return {package: version} of what fastgraph uses, importing none of it; "not installed" where it is missing."""
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def describe() -> dict[str, str]:
    """Return what a bug report needs: versions, machine, flags."""
    rows = {
        "fastgraph": fastgraph.__version__,
        "python": f"{platform.python_version()} ({sys.executable})",
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} CPUs",
        "folder": str(Path(__file__).parents[1]),
    }
    rows |= installed_versions()
    for name, flag in flags.FLAGS.items():
        try:
            rows[flag.variable] = repr(flags.get(name))
        except ValueError as error:
            rows[flag.variable] = f"unusable: {error}"
    return rows


def show_config() -> None:
    """Print versions, machine and flags, as a bug report needs them."""
    rows = describe()
    width = max(map(len, rows))
    for name, value in rows.items():
        print(f"{name:<{width}}  {value}")
