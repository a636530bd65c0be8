"""Checkpoints of drawn graphs of objects, saved here and restored by TensorFlow, and the other way round.

    PEER_TENSORFLOW=/path/to/its/python python -m tests.oracle.checkpoints [--n 100] [--report docs/oracle.md]

Exit status 1 if a value differs by a bit or a status says that something was left over, 2 without TensorFlow.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import fastgraph
from tests.oracle.checkpoint_objects import answer
from tests.oracle.sections import CHECKPOINTS, with_section


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--n", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--report", type=Path)
    args = parser.parse_args()
    python = os.environ.get("PEER_TENSORFLOW")
    if not python:
        print("set PEER_TENSORFLOW to a Python that has TensorFlow")
        return 2
    script = Path(__file__).with_name("checkpoint_objects.py")
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "", "PYTHONPATH": ""}
    with (
        subprocess.Popen(
            [python, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        ) as other,
        tempfile.TemporaryDirectory() as folder,
    ):

        def theirs(order: dict[str, Any]) -> dict[str, Any]:
            assert other.stdin is not None and other.stdout is not None
            other.stdin.write(json.dumps(order) + "\n")
            other.stdin.flush()
            found: dict[str, Any] = json.loads(other.stdout.readline())
            return found

        def ours(order: dict[str, Any]) -> dict[str, Any]:
            try:
                return answer(fastgraph, order)
            except Exception as error:
                return {"error": f"{type(error).__name__}: {error}"[:2000]}

        wrong, values = [], 0
        for seed in range(args.first, args.first + args.n):
            for name, save, restore in (("to TensorFlow", ours, theirs), ("from TensorFlow", theirs, ours)):
                saved = save({"do": "save", "seed": seed, "path": f"{folder}/{seed}{name[0]}/ckpt"})
                restored = (
                    saved if "error" in saved else restore({"do": "restore", "seed": seed, "path": saved["path"]})
                )
                if "error" in restored:
                    wrong.append(f"seed {seed}, {name}: {restored['error']}")
                elif restored["values"] != saved["values"]:
                    names = [n for n in saved["values"] if restored["values"].get(n) != saved["values"][n]]
                    wrong.append(f"seed {seed}, {name}: {names} differ")
                else:
                    values += len(saved["values"])
        assert other.stdin is not None
        other.stdin.close()
    for text in wrong:
        print(text)
    lines = [
        "Drawn graphs of objects (Variables of all dtypes, Modules, lists, dicts, tuples, generators, tables, shared and "
        "nested; tests/oracle/checkpoint_objects.py), saved by one and restored by the other, bit for bit.",
        "",
        f"- compared on {datetime.date.today()}",
        f"- graphs: {args.n}, each both ways; values: {values}; that differ, or were left over: {len(wrong)}",
        "",
    ]
    print("\n".join(lines))
    if args.report:
        args.report.write_text(with_section(args.report.read_text(), "\n".join(lines), CHECKPOINTS))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
