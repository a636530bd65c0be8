"""The part of docs/oracle.md that the table of integer arguments writes, and the report of all ops keeps."""

from __future__ import annotations

HEADING = "## Integer arguments"


def section(text: str) -> str:
    """What stands under the heading in a report, or ""."""
    _, found, rest = text.partition(f"\n{HEADING}\n\n")
    return rest.partition("\n## ")[0].rstrip("\n") + "\n" if found else ""


def with_section(text: str, content: str) -> str:
    """The report with `content` under the heading, which comes last."""
    before, _, rest = text.partition(f"\n{HEADING}\n")
    _, more, after = rest.partition("\n## ")
    kept = before.rstrip("\n") + (f"\n\n## {after}" if more else "\n")
    return f"{kept.rstrip()}\n\n{HEADING}\n\n{content}" if content else kept
