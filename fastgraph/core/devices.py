"""Devices: their names, what is there, and which one ops are asked to run on.

Rule: a Block carries a device number; number 0 is main memory, and names are TensorFlow's. What is said to lie on a GPU
lies in main memory between calls: eager ops compute there, Functions have the GPU compute and copy to it and back.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from fastgraph.core import gpus
from fastgraph.core.base.logger import get_logger
from fastgraph.core.registry import public_function
from fastgraph.core.tensor import EagerTensor, Tensor, current_state, from_array, place_by, register_slot
from fastgraph.errors import InvalidArgumentError, NotFoundError

PREFIX = "/job:localhost/replica:0/task:0"
CPU = f"{PREFIX}/device:CPU:0"

#: Without "device:" before it a kind is one of TensorFlow's: another word may be anything.
_NAME = (
    r"^(?:/?job:(?P<job>[A-Za-z0-9_]+))?(?:/replica:(?P<replica>\d+))?(?:/task:(?P<task>\d+))?"
    r"(?:/?(?:device:|(?=(?i:cpu|gpu|tpu)(?::|$)))(?P<kind>[A-Za-z_]+)(?::(?P<index>\d+|\*))?)?$"
)


class PhysicalDevice(NamedTuple):
    """A device of this machine. Source: tf.config.PhysicalDevice."""

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """A part of a physical device that ops can be placed on. Source: tf.config.LogicalDeviceConfiguration."""

    memory_limit: int | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


class LogicalDevice(NamedTuple):
    """A device that ops can be placed on. Source: tf.config.LogicalDevice."""

    name: str
    device_type: str


#: The parts of the divided CPU, None for none. They share memory and threads: they differ in name alone.
_parts: list[LogicalDeviceConfiguration] | None = None
#: The part by whose number, and those after it, tensors are said to lie on GPUs.
_GPU = 1 << 10
#: The parts of divided GPUs, whether GPUs take memory as they need it, and which devices are used, None for all.
_divided: dict[PhysicalDevice, list[LogicalDeviceConfiguration]] = {}
_growing: dict[PhysicalDevice, bool] = {}
_visible: list[PhysicalDevice] | None = None
#: Which part each name means that was asked for.
_numbers: dict[str | None, int] = {}
_in_use = False  # whether the devices were listed, or a tensor was found to be on one


def _number_of_a_new_tensor() -> int:
    """Tensors are numbered in the order in which they are made, whoever makes them."""
    return from_array(np.zeros(())).id


#: The number of the tensor that this module made last.
_last_number = _number_of_a_new_tensor()


def get_logical_device_configuration(device: PhysicalDevice) -> list[LogicalDeviceConfiguration] | None:
    """The parts of a physical device, None where it is whole. ValueError for a device that is not there."""
    _known(device)
    parts = _parts if device.device_type == "CPU" else _divided.get(device)
    return None if parts is None else list(parts)


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration]
) -> None:
    """Divide a physical device: CPU:0, CPU:1, ... are then names of the one CPU.

    ValueError for a device that is not there, for no parts, and for memory limits, which the CPU has not; RuntimeError
    for another division than before, once devices were listed or ops were run.
    Source: tf.config.set_logical_device_configuration.
    """
    _known(device)
    if not logical_devices:
        raise ValueError("A device is divided into one part or more; got none")
    if device.device_type == "GPU":
        if any(part.memory_limit is None for part in logical_devices):
            raise ValueError("Setting memory limit is required for GPU virtual devices")
        _refuse_late(list(logical_devices) != _divided.get(device), "Virtual devices")
        _divided[device] = list(logical_devices)
        return
    for part in logical_devices:
        if part.memory_limit is not None:
            raise ValueError("Setting memory limit on CPU virtual devices is currently not supported")
        if part.experimental_priority is not None:
            raise ValueError("Setting experimental_priority on CPU virtual  devices is currently not supported")
    if list(logical_devices) == _parts:
        return
    _refuse_late(True, "Virtual devices")
    divide(logical_devices)


def _refuse_late(changes: bool, what: str) -> None:
    if changes and _has_run():
        raise RuntimeError(f"{what} cannot be modified after being initialized")


def divide(parts: Sequence[LogicalDeviceConfiguration] | None) -> None:
    """Let the CPU have these parts from now on, whatever was run before; None: let it be whole."""
    global _parts
    _parts = None if parts is None else list(parts)
    _numbers.clear()
    _numbers.update({device_name(0, part): part for part in range(len(_parts or ()))})
    place_by(_numbers if len(_parts or ()) > 1 else None)


def forget() -> None:
    """Let the CPU be whole, and what has run be no hindrance to dividing it."""
    global _in_use, _last_number, _visible
    divide(None)
    _divided.clear()
    _growing.clear()
    _visible = None
    _in_use, _last_number = False, _number_of_a_new_tensor()


def _has_run() -> bool:
    """Return whether devices were listed, or tensors made by others since the import of this module, before all ops.

    If none did, a tensor made now has the number that follows the last one's made here.
    """
    global _in_use, _last_number
    number = _number_of_a_new_tensor()
    _in_use, _last_number = _in_use or number != _last_number + 1, number
    return _in_use


def _known(device: object) -> None:
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine, of one type or all. Source: tf.config.list_physical_devices.

    Args:
        device_type: "CPU", "GPU" or another type; None: all.

    Returns:
        A list of PhysicalDevices, which is empty for a type that is not there.

    Examples:
        >>> tf.config.list_physical_devices("CPU")
        [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
        >>> tf.config.list_physical_devices("TPU")
        []
    """
    counts = {"CPU": 1, "GPU": len(gpus.found()) if device_type in (None, "GPU") else 0}
    return [
        PhysicalDevice(f"/physical_device:{kind}:{index}", kind)
        for kind, count in counts.items()
        if device_type in (None, kind)
        for index in range(count)
    ]


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices that are used. Source: tf.config.get_visible_devices."""
    return [device for device in list_physical_devices(device_type) if _visible is None or device in _visible]


def set_visible_devices(devices: Any, device_type: str | None = None) -> None:
    """Say which devices are used.

    Raises ValueError for one that is not there; NotFoundError if the CPU is left out, as ops then do in TensorFlow;
    RuntimeError for another choice than before, once devices were listed or ops were run. Source: tf.config.
    """
    global _visible
    chosen = [devices] if isinstance(devices, PhysicalDevice) else list(devices or ())
    for each in chosen:
        _known(each)
        if device_type not in (None, each.device_type):
            raise ValueError(f"Unrecognized device: {each!r}")
    if device_type in (None, "CPU") and not set(list_physical_devices("CPU")) <= set(chosen):
        raise NotFoundError(None, None, "No CPU devices are available in this process: one of them must be visible.")
    others = [] if device_type is None else [each for each in get_visible_devices() if each.device_type != device_type]
    _refuse_late({*others, *chosen} != set(get_visible_devices()), "Visible devices")
    _visible = [*others, *chosen]


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Say whether a GPU takes memory as it is needed, as every GPU does here.

    Raises ValueError for a device that is not there or is no GPU, RuntimeError for a change after devices were listed
    or ops were run. Source: tf.config.experimental.set_memory_growth.
    """
    _refuse_late(bool(enable) != get_memory_growth(device), "Physical devices")
    _growing[device] = bool(enable)


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Return what `set_memory_growth` was told. Raises ValueError for what is no GPU of this machine."""
    _known(device)
    if device.device_type != "GPU":
        raise ValueError(f"Cannot set memory growth on non-GPU and non-Pluggable devices: {device!r}")
    return _growing.get(device, False)


def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """Return what is known of a GPU; of the CPU nothing. Source: tf.config.experimental.get_device_details."""
    if device not in list_physical_devices():
        raise ValueError(f"device must be a tf.config.PhysicalDevice that is there, but got: {device!r}")
    return dict(gpus.found()[int(device.name.rpartition(":")[2])]) if device.device_type == "GPU" else {}


def _counts(kind: str | None = None) -> dict[str, int]:
    """The number of logical devices of each kind, or of one; GPUs are not looked for in vain."""
    counts = {"CPU": len(_parts or (None,))}
    if kind in (None, "GPU"):
        counts["GPU"] = sum(len(_divided.get(each, (None,))) for each in get_visible_devices("GPU"))
    return counts


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """The devices that ops can be placed on. Source: tf.config.list_logical_devices."""
    global _in_use
    _in_use = True
    return [
        LogicalDevice(f"/device:{kind}:{index}", kind)
        for kind, count in _counts(device_type).items()
        if device_type in (None, kind)
        for index in range(count)
    ]


def device_name(number: int, part: int = 0) -> str:
    """The full name of the device with this number in Blocks, of the CPU that of a part."""
    if number or part >= _GPU:
        return f"{PREFIX}/device:GPU:{number - 1 if number else part - _GPU}"
    return f"{PREFIX}/device:CPU:{part}"


def is_gpu(name: str) -> bool:
    """Return whether a name, one that `device` has let pass, is a GPU's."""
    return "GPU:" in name.upper() and part_of(name) >= _GPU


def part_of(name: str | None) -> int:
    """The part of the CPU that a name means, 0 for None; a GPU's number there. Raises as `device_number` does."""
    match = re.match(_NAME, name) if name else None
    if match is not None:
        device_number(name or "")
    first = _GPU if match is not None and (match["kind"] or "").upper() == "GPU" else 0
    return first + (0 if match is None or match["index"] in (None, "*") else int(match["index"]))


def device_number(name: str) -> int:
    """The number of the device `name` ("/CPU:0", "cpu", "/job:localhost/.../device:CPU:0").

    ValueError for what is no device name; InvalidArgumentError for a device that is not there.
    """
    match = re.match(_NAME, name) if name else None  # compiled with the first name: few programs have one
    if match is None:
        raise ValueError(f"Unknown attribute: {name!r} in {name!r} is not a device name such as '/CPU:0'")
    kind = (match["kind"] or "CPU").upper()
    index = 0 if match["index"] in (None, "*") else int(match["index"])
    local = (match["job"] or "localhost") == "localhost"
    local = local and not int(match["replica"] or 0) and not int(match["task"] or 0)
    if not local or index >= _counts(kind).get(kind, 0):
        full = f"/job:{match['job'] or 'localhost'}/replica:{match['replica'] or 0}/task:{match['task'] or 0}"
        there = {kind: count for kind, count in _counts().items() if count}
        names = [f"{PREFIX}/device:{kind}:{index}" for kind, count in there.items() for index in range(count)]
        raise InvalidArgumentError(
            None, None, f"Could not satisfy device specification '{full}/device:{kind}:{index}'. "
            f"enable_soft_placement=0. Supported device types [{', '.join(there)}]. "
            f"All available devices [{', '.join(names)}]."
        )  # fmt: skip
    return 0


_soft_placement = True
_told: set[str] = set()  # of which missing devices it was said that the CPU stands for them


def get_soft_device_placement() -> bool:
    """Return whether ops for a device that is not there run on the CPU. Source: tf.config.get_soft_device_placement."""
    return _soft_placement


def set_soft_device_placement(enabled: bool) -> None:
    """Say whether ops for a device that is not there run on the CPU, as they do at first, or are an error.

    Source: tf.config.set_soft_device_placement.
    """
    global _soft_placement
    _soft_placement = bool(enabled)


def placed(name: str) -> str:
    """`name`, or the CPU's if this machine has no such device and that may be, of which the log tells once."""
    try:
        device_number(name)
    except InvalidArgumentError:
        match = re.match(_NAME, name)
        elsewhere = match is not None and (match["job"] or "localhost", int(match["task"] or 0)) != ("localhost", 0)
        if elsewhere or not _soft_placement:
            raise
        if name not in _told:
            _told.add(name)
            get_logger().warning("There is no device %s: the CPU stands for it.", name)
        return CPU
    return name


def _within(outer: str | None, name: str) -> str | None:
    """`name` as DeviceSpec spells it, with those parts of `outer` that it leaves open; None where all are."""
    from fastgraph.core.device_spec import DeviceSpec

    return DeviceSpec.from_string(outer or "").make_merged_spec(DeviceSpec.from_string(name)).to_string() or None


class device:
    """Context manager: ops inside run on the device named. Source: tf.device.

    Within another device it says what is to differ: the rest is the other's.

    Args:
        device_name: Such as "CPU:0" or "/job:localhost/device:CPU:0"; None: where they would run anyway.

    Raises:
        RuntimeError: What is given is a function, as TensorFlow 1 took it.
        InvalidArgumentError: On entering: the device is another process's, or is not there and
            `set_soft_device_placement` does not let the CPU stand for it.
        ValueError: On entering: what is given names no device.
        RuntimeError: On leaving: another one was entered since.

    Examples:
        >>> with tf.device("CPU:0"):
        ...     x = tf.add(1.0, 2.0)
        >>> x.device
        '/job:localhost/replica:0/task:0/device:CPU:0'
    """

    def __init__(self, device_name: str | None) -> None:
        if callable(device_name):
            raise RuntimeError(f"tf.device does not support functions. Received: {device_name!r}")
        self._name = device_name
        self._previous: list[str | None] = []

    @property
    def _device_name(self) -> str | None:
        """The device as it was named; libraries read it here."""
        return self._name

    def __enter__(self) -> None:
        name = self._name
        if name is not None and not isinstance(name, str):  # a DeviceSpec, or one of list_logical_devices()
            name = name.to_string() if hasattr(name, "to_string") else getattr(name, "name", name)
            if not isinstance(name, str):
                raise ValueError(f"Expecting a string device name. Got {type(name)}({name!r})")
        state = current_state()
        if name is not None:
            name = _within(state.device, placed(name) if name else "")
        self._previous.append(state.device)
        state.device = name
        if _parts is not None or (name is not None and "GPU" in name.upper()):
            _numbers[name] = part_of(name)
            place_by(_numbers)
        _entered.devices = (*_entered.devices, self)

    def __exit__(self, *exc: object) -> None:
        previous = self._previous[-1]
        if _entered.devices[-1:] != (self,):
            raise RuntimeError("Exiting device scope without proper scope nesting")
        _entered.devices = _entered.devices[:-1]
        current_state().device = previous
        self._previous.pop()


class _Entered(threading.local):
    """The devices that this thread has entered and not left, the innermost last."""

    devices: tuple[device, ...] = ()


_entered = _Entered()


_warned: set[str] = set()  # the deprecated methods that were warned of: once each


def copy_to(tensor: Tensor, name: str) -> Tensor:
    """`tensor` on the device `name`, as Tensor.cpu() and Tensor.gpu() give it: itself, for it is there already.

    RuntimeError for a device that is not there. Warns once that the methods are deprecated, as TensorFlow does.
    """
    if not isinstance(tensor, EagerTensor):
        return tensor
    method = name.partition(":")[0].lower()
    if method not in _warned:
        _warned.add(method)
        caller = sys._getframe(1)  # the methods are compiled and have no frame of their own
        get_logger().warning(
            "From %s:%d: _EagerTensorBase.%s (from tensorflow.python.framework.ops) is deprecated and will be removed "
            "in a future version.\nInstructions for updating:\nUse tf.identity%s instead.",
            caller.f_code.co_filename,
            caller.f_lineno,
            method,
            " with explicit device placement" if method == "cpu" else "",
        )
    try:
        device_number(name)
    except InvalidArgumentError as error:
        raise RuntimeError(f"{name} unknown device. {error.message}") from None
    with device(name):
        return tensor if tensor.device == device_name(0, part_of(name)) else public_function("identity")(tensor)


register_slot("device_name", device_name)
register_slot("copy_to", copy_to)


# ---- what tests ask -------------------------------------------------------------------------------------------------


def gpu_device_name() -> str:
    """Return the name of the first GPU, "" where there is none. Source: tf.test.gpu_device_name."""
    return "/device:GPU:0" if list_logical_devices("GPU") else ""


def is_gpu_available(cuda_only: bool = False, min_cuda_compute_capability: tuple[int, int] | None = None) -> bool:
    """Return whether there is a GPU, of a capability or more. Source: tf.test.is_gpu_available."""
    least = tuple(min_cuda_compute_capability or (0, 0))
    return any(get_device_details(each)["compute_capability"] >= least for each in get_visible_devices("GPU"))


def is_built_with_cuda() -> bool:
    """Return False: nothing here was built with CUDA; Numba brings it where there is a GPU. Source: tf.test."""
    return False


is_built_with_gpu_support = is_built_with_rocm = is_built_with_xla = is_built_with_cuda
