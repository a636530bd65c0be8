"""Timelines as XSpace messages, for TensorBoard's profile plugin: a plane of the host, with a line for each thread."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastgraph.graphdef.node_bytes import field, varint


def _number(key: int, value: float) -> bytes:
    return varint(key << 3) + varint(max(int(value), 0))


def xspace(timeline: Mapping[str, Any], host: str) -> bytes:
    """Return the events of a timeline (Chrome's: microseconds) as the bytes of an XSpace."""
    names: dict[str, int] = {}
    threads: dict[int, str] = {}
    lines: dict[int, list[bytes]] = {}
    for event in timeline["traceEvents"]:
        if event["ph"] == "M" and event["name"] == "thread_name":
            threads[event["tid"]] = event["args"]["name"]
        elif event["ph"] == "X":
            number = names.setdefault(event["name"], len(names) + 1)
            times = _number(2, event["ts"] * 1e6) + _number(3, event["dur"] * 1e6)  # in picoseconds
            lines.setdefault(event["tid"], []).append(field(4, _number(1, number) + times))
    plane = _number(1, 0) + field(2, b"/host:CPU")
    for number, events in lines.items():
        title = threads.get(number, f"thread {number}").encode()
        plane += field(3, _number(1, number) + field(2, title) + b"".join(events))
    for name, number in names.items():
        about = _number(1, number) + field(2, name.encode())
        plane += field(4, _number(1, number) + field(2, about))
    return field(1, plane) + field(4, host.encode())
