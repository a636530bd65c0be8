"""Memory: reference-counted Blocks from one process-wide pool, and the Cells in which Variables keep them."""

from typing import Any, Final, final

from fastgraph.core.base.shapes import Aval

@final
class Buffer:
    """Python's view of a Block: what a read-only NumPy view of a tensor holds as its base."""

    def __init__(self) -> None: ...
    @property
    def device(self) -> int:
        """The number of the device that the memory is on; 0 is main memory."""
    @property
    def pointer(self) -> int:
        """The address of the memory."""
    @property
    def nbytes(self) -> int:
        """The bytes that are in use."""
    @property
    def refs(self) -> int:
        """The number of tensors, Variables, plans and views that hold the memory now, this one included."""

class Cell:
    """A Variable's storage: the Block it holds now, under a spin lock of its own."""

    id: Final[int]
    aval: Aval
    name: str
    variable: Any
    part: int
    trainable: bool

    def __init__(self, aval: Aval, name: str = "Variable") -> None: ...
    @property
    def initialized(self) -> bool:
        """True if it holds a value."""
    @property
    def assignments(self) -> int:
        """The number of times a value was assigned."""

def pool_statistics() -> dict[str, int]:
    """Bytes and Blocks of the pool: in use (`live_*`) and kept for reuse (`free_*`)."""
