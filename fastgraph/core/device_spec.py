"""DeviceSpec: the parts of a device's name.

Rule: a part that is not given is open, and leaves no trace in the text.
"""

from __future__ import annotations

from typing import Any

from fastgraph.core.base.read_only import ReadOnly

_KINDS = ("CPU", "GPU", "TPU", "CUSTOM")


class DeviceSpec:
    """A device's name in parts, each of which may be open: "/job:worker/replica:0/task:1/device:GPU:0".

    It never changes; equal parts make equal specs. Source: tf.DeviceSpec.
    """

    __slots__ = ("_device_index", "_device_type", "_job", "_replica", "_task")

    def __init__(
        self,
        job: str | None = None,
        replica: int | None = None,
        task: int | None = None,
        device_type: str | None = None,
        device_index: int | None = None,
    ) -> None:
        self._job = None if job is None else str(job)
        self._replica = None if replica is None else int(replica)
        self._task = None if task is None else int(task)
        kind = None if device_type is None else str(device_type)
        self._device_type = kind.upper() if kind in ("cpu", "gpu") else kind
        self._device_index = None if device_index is None else int(device_index)

    job = ReadOnly[str | None]("_job", "The name of the job.")
    replica = ReadOnly[int | None]("_replica", "The number of the replica.")

    task = ReadOnly[int | None]("_task", "The number of the task.")
    device_type = ReadOnly[str | None]("_device_type", "CPU, GPU, ...")

    device_index = ReadOnly[int | None]("_device_index", "The number of the device among those of its type.")

    @classmethod
    def from_string(cls, spec: str) -> DeviceSpec:
        """Return the spec that a name describes. Raises ValueError for a part that is none."""
        parts: dict[str, Any] = {}
        for word in filter(None, spec.split("/")):
            name, *rest = word.split(":")
            if name == "job" and len(rest) == 1:
                parts["job"] = rest[0]
            elif name in ("replica", "task") and len(rest) == 1:
                parts[name] = int(rest[0])
            elif (name == "device" and 1 <= len(rest) <= 2) or (name.upper() in _KINDS and len(rest) <= 1):
                if "device_type" in parts:
                    raise ValueError(f"Multiple device types are not allowed while parsing the device spec: {spec}.")
                parts |= _device(*(rest if name == "device" else [name.upper(), *rest]))
            else:
                raise ValueError(f"Unknown attribute '{name}' is encountered while parsing the device spec: '{spec}'.")
        return cls(**parts)

    def parse_from_string(self, spec: str) -> DeviceSpec:
        """Return the spec that a name describes; this one stays as it is."""
        return type(self).from_string(spec)

    def replace(self, **parts: Any) -> DeviceSpec:
        """Return a spec with some parts replaced."""
        names = ("job", "replica", "task", "device_type", "device_index")
        return DeviceSpec(**({name: getattr(self, name) for name in names} | parts))

    def make_merged_spec(self, dev: DeviceSpec) -> DeviceSpec:
        """Return a spec of the parts of `dev`, and of this one where those are open. TypeError for another type."""
        if not isinstance(dev, DeviceSpec):
            raise TypeError(f"A DeviceSpec is merged with a DeviceSpec, got {dev!r}")
        return self.replace(**{name: value for name, value in dev._parts() if value is not None})

    def to_string(self) -> str:
        """Return the name."""
        words = [f"/{name}:{value}" for name, value in self._parts()[:3] if value is not None]
        if self._device_type is not None:
            index = "*" if self._device_index is None else self._device_index
            words.append(f"/device:{self._device_type}:{index}")
        return "".join(words)

    def _parts(self) -> tuple[tuple[str, Any], ...]:
        return (
            ("job", self._job),
            ("replica", self._replica),
            ("task", self._task),
            ("device_type", self._device_type),
            ("device_index", self._device_index),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceSpec) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        return f"<DeviceSpec({', '.join(f'{name}={value}' for name, value in self._parts())})>"


def _device(kind: str, index: str | None = None) -> dict[str, Any]:
    """The type and index of a device's last part."""
    return {"device_type": kind, "device_index": None if index in (None, "*") else int(index or 0)}
