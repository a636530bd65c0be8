"""Runs a library's test files, each in a fork of this process, which has imported the library but run nothing of it.

Started by tools/libraries.py, in an interpreter of either side. Reads lines of JSON from standard input, [log, outcomes,
home, *arguments of pytest], and answers each with the child's number and, when it has ended, with its exit status.
What the import costs is paid once: with TensorFlow it is more than most of the files take. LIBRARY_IMPORTS names it.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import traceback

import outcomes  # noqa: F401 - a plugin, found by its name
import pytest


def child(log: str, written: str, home: str, arguments: list[str]) -> int:
    """Run the tests in a process that has just been forked; return the exit status."""
    output = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for standard in (1, 2):
        os.dup2(output, standard)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.environ.update(LIBRARY_OUTCOMES=written, KERAS_HOME=home, TMPDIR=home)
    return int(pytest.main(arguments))


def main() -> None:
    library = importlib.import_module(os.environ["LIBRARY_IMPORTS"])
    assert library.__name__ != "keras" or library.backend.backend() == "tensorflow"
    with contextlib.suppress(ImportError):
        importlib.import_module("absl.flags").FLAGS.mark_as_parsed()
    for line in sys.stdin:
        log, written, home, *arguments = json.loads(line)
        number = os.fork()
        if number == 0:
            status = 70
            try:
                status = child(log, written, home, arguments)
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
        print(number, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]), flush=True)


if __name__ == "__main__":
    main()
