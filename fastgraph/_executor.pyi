"""The executor. See _executor.pyx."""

from collections.abc import Sequence

from fastgraph._buffer import Cell
from fastgraph._tensor import EagerTensor
from fastgraph.compiler.plan import PlanSpec

class Plan:
    """A PlanSpec as C structs, ready to run from several threads at once."""

    def __init__(self, spec: PlanSpec) -> None: ...
    def run(self, inputs: Sequence[EagerTensor | Cell]) -> list[EagerTensor]:
        """Run the plan on EagerTensors (Cells for resources); gives EagerTensors."""
    @property
    def spec(self) -> PlanSpec: ...
    @property
    def needs_python(self) -> bool: ...
    @property
    def idle_frames(self) -> int: ...
    @property
    def parallel(self) -> bool: ...
    def shards(self) -> list[int]:
        """Into how many parts each step is cut."""
