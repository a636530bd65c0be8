"""A pytest plugin: the outcome of every test, written as a line of JSON as soon as it is known.

Loaded by name (`-p outcomes`) into a library's own test run, in whichever interpreter that runs; the file is named by
LIBRARY_OUTCOMES. Lines: {"collected": [ids]} once, then {"id", "outcome", "seconds", "why", "where"} for each test.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import zlib
from typing import Any

import pytest

#: Addresses and the like, which differ from run to run.
_PASSING = re.compile(r"0x[0-9a-f]{6,}|" + re.escape(tempfile.gettempdir()) + r"/[^\s'\"]+")


def _write(line: dict[str, Any]) -> None:
    for name in ("id", "collected"):
        if name in line:
            line[name] = json.loads(_PASSING.sub("_", json.dumps(line[name])))
    with open(os.environ["LIBRARY_OUTCOMES"], "a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep one test in LIBRARY_EVERY, by its name's checksum, of those whose names LIBRARY_ONLY fits."""
    every, only = int(os.environ.get("LIBRARY_EVERY", "1")), re.compile(os.environ.get("LIBRARY_ONLY", ""))
    kept = [item for item in items if only.search(item.nodeid)]
    items[:] = [item for item in kept if zlib.crc32(_PASSING.sub("_", item.nodeid).encode()) % every == 0]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Write down which tests there are, before the first one runs."""
    _write({"collected": [item.nodeid for item in session.items]})


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write down a file that cannot be collected."""
    if report.failed:
        _write({"id": report.nodeid, "outcome": "collection", **_reason(report)})


class _Outcomes:
    """The worst outcome of each test's phases."""

    def __init__(self) -> None:
        self.phases: dict[str, dict[str, Any]] = {}

    def add(self, report: pytest.TestReport) -> None:
        line = self.phases.setdefault(report.nodeid, {"id": report.nodeid, "outcome": "passed", "seconds": 0.0})
        line["seconds"] = round(line["seconds"] + report.duration, 3)
        if report.skipped and not hasattr(report, "wasxfail"):
            line.update(outcome="skipped", why=str(report.longrepr)[-200:])
        elif hasattr(report, "wasxfail"):
            line.update(outcome="xfailed" if report.skipped else "xpassed")
        elif report.failed:
            line.update(outcome="failed" if report.when == "call" else "error", **_reason(report))
        if report.when == "teardown":
            _write(self.phases.pop(report.nodeid))


_outcomes = _Outcomes()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Gather a test's phases, and write it down when it is over."""
    _outcomes.add(report)


def _reason(report: pytest.TestReport | pytest.CollectReport) -> dict[str, str]:
    """Return the error's first line, and the last frames that it passed through, library's and fastgraph's."""
    representation = report.longrepr
    crash = getattr(representation, "reprcrash", None)
    text = crash.message if crash is not None else str(representation)[-600:]
    where = []
    for entry in getattr(getattr(representation, "reprtraceback", None), "reprentries", []):
        place = getattr(entry, "reprfileloc", None)
        if place is not None:
            path = str(place.path).rpartition("site-packages/")[2]
            where.append(f"{path[path.rfind('fastgraph/') :] if 'fastgraph/' in path else path}:{place.lineno}")
    return {"why": _PASSING.sub("_", text)[:600], "where": " < ".join(reversed(where[-6:]))}
