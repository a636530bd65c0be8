def rename(cls: type, full: str) -> None:
    """Let a class of C, `cls`, be known as `module.Name`, as `__module__` and `__name__` of a class of Python's say it."""
