"""The executor. See executor.pyx."""

import numpy as np

from fastgraph.core.native.buffer import Cell
from fastgraph.core.tensor import EagerTensor
from fastgraph.runtime.plan import PlanSpec

class Plan:
    """A PlanSpec as C structs, ready to run from several threads at once."""

    def __init__(self, spec: PlanSpec) -> None: ...
    def run(self, inputs: list[EagerTensor | Cell]) -> list[EagerTensor]:
        """Run the plan on EagerTensors (Cells for resources); gives EagerTensors."""
    def profile(self, inputs: list[EagerTensor | Cell], repeat: int = 100) -> list[float]:
        """Run the plan `repeat` times on one thread; gives the least nanoseconds that each step took."""
    @property
    def spec(self) -> PlanSpec: ...
    @property
    def needs_python(self) -> bool: ...
    @property
    def parallel(self) -> bool: ...
    @property
    def alone(self) -> bool:
        """True while one thread runs it, as runs on several took longer."""
    def shards(self) -> list[int]:
        """Into how many parts each step is cut."""

def count_exchanges(place: int) -> None:
    """Say at which address there stands how many exchanges this process has begun with others: int64."""

def start_recording(capacity: int) -> None:
    """Record every step that runs, on whatever thread, up to `capacity` events."""

def stop_recording() -> tuple[np.ndarray, dict[int, Plan], int]:
    """End the recording; gives (events, {address: Plan}, the number of events that found no place)."""

def thread_id() -> int:
    """The number by which events name the current thread."""

def clock() -> int:
    """The time that events are given in, in nanoseconds."""
