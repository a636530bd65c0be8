"""Tables of names beside the modules that read them: text in the sources, packed by zlib in a wheel (setup.py).

Rule: one way to read both; zlib is loaded with the first table that is packed.
"""

from __future__ import annotations

import os

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))


def lines_of(path: str) -> list[str]:
    """Return the lines of a table, by its path below the package, without comments and blank ones.

    Raises FileNotFoundError if there is neither the text nor the packed table.
    """
    place = os.path.join(_PACKAGE, path)
    try:
        with open(place, "rb") as file:
            data = file.read()
    except FileNotFoundError:
        import zlib

        with open(f"{place}.z", "rb") as file:
            data = zlib.decompress(file.read())
    return [line for line in data.decode().splitlines() if line and not line.startswith("#")]
