"""Recordings: which steps of which plans ran when, on which thread, and what they moved and computed.

Rule: the executor notes times and numbers only; names, bytes and operations are looked up in the plans afterwards.
Calls that run op by op, because their kernels are still being compiled, are not in a recording: they have no plan.
"""

from __future__ import annotations

import gzip
import json
import math
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastgraph.core.native.buffer import pool_statistics
from fastgraph.profiling.roofline import Ceilings, ceilings
from fastgraph.runtime import executor
from fastgraph.runtime import plan as specs
from fastgraph.runtime.executor import Plan

#: Events kept: 12 MB.
CAPACITY = 1 << 18

_KINDS: dict[type[specs.StepSpec], str] = {
    specs.KernelCall: "kernel",
    specs.GemmCall: "gemm",
    specs.HostCall: "host",
    specs.Branch: "cond",
    specs.Loop: "while",
    specs.Transfer: "transfer",
    specs.Rest: "rest",
}


@dataclass(frozen=True)
class StepEvent:
    """One stretch of work on one thread.

    `kind` is kernel, gemm, host, native (one of those in C), cond, while, transfer, rest, call (a whole call of a plan)
    or trace (a stretch of the user's program, see `tf.profiler.experimental.Trace`). `begin` and `end` are nanoseconds
    from the start of the recording. `step` is the number of the step in its plan, `units` the part of it that ran here.
    `bytes` are those of all buffers of the step that this part reads or writes, each counted once; `operations` its
    arithmetic.
    """

    name: str
    kind: str
    plan: str
    step: int
    thread: int
    begin: int
    end: int
    units: tuple[int, int] = (0, 1)
    bytes: float = 0.0
    operations: float = 0.0
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class KernelRow:
    """All runs of one step: how often, microseconds in all (while any part of it ran), GB/s and GF/s meanwhile."""

    name: str
    kind: str
    plan: str
    step: int
    runs: int
    microseconds: float
    bandwidth: float
    rate: float


class Recording:
    """The steps that ran between `record()`'s begin and end. Filled when the recording ends."""

    def __init__(self) -> None:
        self.events: list[StepEvent] = []
        self.lost = 0  # events for which there was no room
        self.threads: dict[int, str] = {}  # thread -> its name
        self.memory: dict[str, int] = {}  # the pool of Buffers at the end, in bytes
        self._begin = executor.clock()
        self._marks: list[StepEvent] = []

    def mark(self, name: str, begin: int, end: int, **arguments: object) -> None:
        """Add a stretch of the user's own program, by `fastgraph.runtime.executor.clock()`, on the current thread."""
        thread = executor.thread_id()
        self.threads.setdefault(thread, threading.current_thread().name)
        arguments = {key: _plain(value) for key, value in arguments.items()}
        self._marks.append(
            StepEvent(name, "trace", "", -1, thread, begin - self._begin, end - self._begin, arguments=arguments)
        )

    def fill(self, events: Any, plans: dict[int, Plan], lost: int) -> None:
        """Take what the executor recorded."""
        known: dict[int, Plan] = {}
        for plan in plans.values():
            with_inner_plans(plan, known)
        callers = {int(thread) for thread in events["thread"][events["step"] == -1]}
        names = {thread.native_id: thread.name for thread in threading.enumerate()}
        workers = 0
        for thread in dict.fromkeys(map(int, events["thread"])):
            if thread in callers:
                self.threads.setdefault(thread, names.get(thread, f"thread {thread}"))
            else:
                workers += 1
                self.threads.setdefault(thread, f"pool {workers}")
        for begin, end, address, first, last, step, thread in events.tolist():
            owner = known.get(address)
            if owner is not None:  # a plan that ended as the recording began is not held, nor known
                times = (begin - self._begin, end - self._begin)
                self.events.append(_event(owner.spec, step, thread, times, (first, last)))
        self.events += self._marks
        self.events.sort(key=lambda event: (event.begin, -event.end))
        self.lost = lost
        self.memory = {name: int(value) for name, value in pool_statistics().items()}

    def rows(self) -> list[KernelRow]:
        """The steps that compute, those that took most time first."""
        groups: dict[tuple[str, int, str], list[StepEvent]] = {}
        for event in self.events:
            if event.kind in ("kernel", "gemm", "host", "native"):
                groups.setdefault((event.plan, event.step, event.name), []).append(event)
        rows = []
        for (plan, step, name), events in groups.items():
            busy = max(_busy(events), 1)
            runs = sum(event.units[0] == 0 for event in events)
            moved, computed = sum(e.bytes for e in events), sum(e.operations for e in events)
            rows.append(KernelRow(name, events[0].kind, plan, step, runs, busy / 1e3, moved / busy, computed / busy))
        return sorted(rows, key=lambda row: -row.microseconds)

    def table(self, limit: int = 20) -> str:
        """The costliest steps as text, their rates beside what the machine can do (measured now, if not before)."""
        rows, best = self.rows(), ceilings()
        total = sum(row.microseconds for row in rows) or 1.0
        lines = [
            f"Steps that computed: {len(rows)}, {total:,.0f} us in all. This machine, all threads: "
            f"{best.bandwidth:.1f} GB/s copied, {best.operations:.0f} GF/s in products.",
            f"{'us':>10} {'share':>6} {'runs':>7} {'us/run':>9} {'GB/s':>7} {'of max':>7} {'GF/s':>7} {'of max':>7}  "
            "kind    step",
        ]
        lines += [_line(row, total, best) for row in rows[:limit]]
        if len(rows) > limit:
            lines.append(f"{sum(row.microseconds for row in rows[limit:]):10,.1f} us in {len(rows) - limit} more steps")
        if self.lost:
            lines.append(f"{self.lost} later events found no place: record fewer calls, or with a larger capacity")
        return "\n".join(lines)

    def timeline(self) -> dict[str, Any]:
        """Chrome's trace format: one row per thread; times in microseconds. Perfetto and chrome://tracing open it."""
        process = os.getpid()
        events: list[dict[str, Any]] = [
            {"ph": "M", "pid": process, "name": "process_name", "args": {"name": "fastgraph"}},
            *(
                {"ph": "M", "pid": process, "tid": thread, "name": "thread_name", "args": {"name": name}}
                for thread, name in self.threads.items()
            ),
        ]
        for event in self.events:
            arguments: dict[str, Any] = dict(event.arguments)
            if event.plan:
                arguments["plan"] = event.plan
            if event.step >= 0:
                arguments |= {"step": event.step, "units": list(event.units)}
            if event.bytes or event.operations:
                arguments |= {"bytes": round(event.bytes), "operations": round(event.operations)}
            events.append(
                {
                    "ph": "X", "pid": process, "tid": event.thread, "name": event.name, "cat": event.kind,
                    "ts": event.begin / 1e3, "dur": (event.end - event.begin) / 1e3, "args": arguments,
                }
            )  # fmt: skip
        return {
            "traceEvents": events,
            "displayTimeUnit": "ns",
            "otherData": {"lost_events": self.lost, "memory": self.memory},
        }

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the timeline as JSON, compressed if the name ends in .gz; complete or not at all."""
        target = Path(path)
        data = json.dumps(self.timeline(), separators=(",", ":"), allow_nan=False).encode()
        write_whole(target, gzip.compress(data, 6) if target.suffix == ".gz" else data)


def write_whole(target: Path, data: bytes) -> None:
    """Write a file so that it is there complete or not at all, also if this process is killed meanwhile."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _plain(value: object) -> Any:
    """Return a value that a user gives a stretch as JSON has it; the text of one that it has not."""
    if isinstance(value, (str, bool, int)) or value is None or (isinstance(value, float) and math.isfinite(value)):
        return value
    return str(value)


@contextmanager
def record(capacity: int = CAPACITY) -> Iterator[Recording]:
    """Record what compiled calls do, on all threads, until the end of the block.

    At most `capacity` events (48 bytes each) are kept. Raises RuntimeError inside another recording.
    """
    recording = Recording()
    executor.start_recording(capacity)
    try:
        yield recording
    finally:
        recording.fill(*executor.stop_recording())


def _event(spec: specs.PlanSpec, number: int, thread: int, times: tuple[int, int], units: tuple[int, int]) -> StepEvent:
    if number < 0:
        return StepEvent(spec.name, "call", spec.name, number, thread, *times)
    step = spec.steps[number]
    native = isinstance(step, specs.HostCall) and step.native[0]
    kind = "native" if native else _KINDS.get(type(step), "step")
    extent = step.extent if isinstance(step, specs.KernelCall) else 1
    if isinstance(step, specs.GemmCall):
        extent = len(step.a_offsets) * step.pieces
    share = (units[1] - units[0]) / max(extent, 1)
    devices = sorted({node.device for node in getattr(step.source, "nodes", ()) if node.device})
    return StepEvent(
        step.name or kind, kind, spec.name, number, thread, *times, units,
        bytes_moved(spec, step) * share, step.operations * share, {"device": " ".join(devices)} if devices else {},
    )  # fmt: skip


def bytes_moved(spec: specs.PlanSpec, step: specs.StepSpec) -> int:
    """Bytes of the buffers that a step reads and writes."""
    if isinstance(step, specs.GemmCall):
        slots: tuple[int, ...] = (step.a, step.b, step.c)
    elif isinstance(step, specs.KernelCall):
        slots = step.buffers
    else:
        return 0
    both = len(getattr(step.source, "in_place", ()))  # such a buffer is read and written
    return sum(spec.slots[slot].nbytes for slot in slots) + sum(
        spec.slots[slot].nbytes for slot in slots[-both:] if both
    )


def _busy(events: list[StepEvent]) -> int:
    """Nanoseconds during which at least one of the events was under way."""
    total, until = 0, -(1 << 62)
    for event in sorted(events, key=lambda event: event.begin):
        total += max(event.end - max(event.begin, until), 0)
        until = max(until, event.end)
    return total


def with_inner_plans(plan: Plan, known: dict[int, Plan]) -> None:
    """Add a plan and those of its branches and loops."""
    if id(plan) in known:
        return
    known[id(plan)] = plan
    for step in plan.spec.steps:
        if isinstance(step, specs.Branch):
            inner = [step.then_plan, step.else_plan]
        elif isinstance(step, specs.Loop):
            inner = [step.cond_plan, step.body_plan, *([step.burst_plan] if step.burst_plan is not None else [])]
        else:
            continue
        for each in inner:
            with_inner_plans(each, known)


def _line(row: KernelRow, total: float, best: Ceilings) -> str:
    return (
        f"{row.microseconds:10,.1f} {row.microseconds / total:6.1%} {row.runs:7,} "
        f"{row.microseconds / max(row.runs, 1):9,.2f} "
        f"{row.bandwidth:7.1f} {row.bandwidth / best.bandwidth:7.0%} "
        f"{row.rate:7.1f} {row.rate / best.operations:7.0%}  {row.kind:7} {row.name} ({row.plan}, step {row.step})"
    )
