"""Why results of integer arguments differ where they do: (names, parameter, mode, difference, reason); the first counts."""

from __future__ import annotations

import re

ROWS: list[tuple[str, str, str, str, str]] = []


def reason(name: str, parameter: str, mode: str, difference: str) -> str | None:
    """Why results of an argument differ in this way, or None."""
    for names, parameters, modes, texts, why in ROWS:
        if (
            re.fullmatch(names, name)
            and re.fullmatch(parameters, parameter)
            and re.search(modes, mode)
            and re.match(texts, difference, re.S)
        ):
            return why
    return None
