"""The thread pool. See thread_pool.pyx."""

def num_threads() -> int:
    """Threads that run steps at once, the calling thread included."""

def set_num_threads(count: int | None) -> None:
    """Use `count` threads from now on, the calling one included (None: as the flag `threads` says)."""

def is_crowded() -> bool:
    """Return whether short work has one helper at most, on the caller's core, because other programs want the cores."""

def set_crowded(seconds: float) -> None:
    """Let the pool count as crowded for so long from now (0: no longer)."""

def alive_threads() -> int:
    """Worker threads that exist now; none before the first parallel call."""

def sleeping_threads() -> int:
    """Worker threads that wait for work without using the CPU."""
