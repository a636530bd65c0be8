"""The GPUs of this machine, as their driver tells of them when somebody first asks.

Rule: nothing here imports Numba, and where there is no driver's device file nothing is loaded. Numba's simulator
(NUMBA_ENABLE_CUDASIM=1) counts as one GPU.
"""

from __future__ import annotations

import functools
import os
from typing import Any

from fastgraph.core.base import flags
from fastgraph.core.base.deferred_signals import imported

_MAJOR, _MINOR = 75, 76  # the driver's numbers of a capability's two parts


def _driver() -> Any:
    """The CUDA driver's library, None where there is none."""
    if not any(map(os.path.exists, ("/dev/nvidiactl", "/dev/dxg"))):
        return None
    try:
        return imported("ctypes").CDLL("libcuda.so.1")
    except OSError:
        return None


@functools.cache
def found() -> tuple[dict[str, Any], ...]:
    """The facts known of each GPU: {"device_name": ..., "compute_capability": (8, 0)}."""
    if flags.of_others("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0"):
        hidden = flags.of_others("CUDA_VISIBLE_DEVICES", "0") in ("", "-1")
        return () if hidden else ({"device_name": "Simulator", "compute_capability": (5, 2)},)
    driver = _driver()
    if driver is None or driver.cuInit(0):
        return ()
    ctypes = imported("ctypes")

    def asked(function: Any, *arguments: Any) -> int:
        number = ctypes.c_int()
        return 0 if function(ctypes.byref(number), *arguments) else int(number.value)

    rows = []
    for index in range(asked(driver.cuDeviceGetCount)):
        device, name = asked(driver.cuDeviceGet, index), ctypes.create_string_buffer(256)
        driver.cuDeviceGetName(name, len(name), device)
        capability = tuple(asked(driver.cuDeviceGetAttribute, part, device) for part in (_MAJOR, _MINOR))
        rows.append({"device_name": name.value.decode(), "compute_capability": capability})
    return tuple(rows)
