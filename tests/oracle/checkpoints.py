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
from tests.oracle.checkpoint_models import MODELS, OPTIMIZERS
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

        wrong, values, equal, sharded = [], 0, 0, 0

        def both_ways(what: str, order: dict[str, Any], place: str) -> int:
            """Save with each and restore with the other; the number of values that came back."""
            came = 0
            for name, save, restore in (("to TensorFlow", ours, theirs), ("from TensorFlow", theirs, ours)):
                saved = save({**order, "do": "save", "path": f"{folder}/{place}{name[0]}/ckpt"})
                restored = saved if "error" in saved else restore({**order, "do": "restore", "path": saved["path"]})
                if "error" in restored:
                    wrong.append(f"{what}, {name}: {restored['error']}")
                elif restored["values"] != saved["values"]:
                    names = [n for n in saved["values"] if restored["values"].get(n) != saved["values"][n]]
                    wrong.append(f"{what}, {name}: {names} differ")
                else:
                    came += len(saved["values"])
            return came

        for seed in range(args.first, args.first + args.n):
            values += both_ways(f"seed {seed}", {"seed": seed}, str(seed))
            equal += _same_files(f"{folder}/{seed}t", f"{folder}/{seed}f")
            shard = ("task", "halves", 7, 64)[seed % 4]
            sharded += both_ways(f"seed {seed} by {shard}", {"seed": seed, "shard": shard}, f"{seed}s")
        weights = 0
        rows = [(m, o, later) for m in MODELS for o in OPTIMIZERS for later in (False, True)]
        for seed, (model, optimizer, later) in enumerate(rows):
            order = {"model": model, "optimizer": optimizer, "later": later, "seed": seed}
            weights += both_ways(f"{model} with {optimizer}{', built later' * later}", order, f"model{seed}")
        assert other.stdin is not None
        other.stdin.close()
    for text in wrong:
        print(text)
    lines = [
        "Drawn graphs of objects (Variables of all dtypes, Modules, lists, dicts, tuples, generators, tables, shared and "
        "nested; tests/oracle/checkpoint_objects.py), saved by one and restored by the other, bit for bit.",
        "",
        f"- compared on {datetime.date.today()}",
        f"- graphs: {args.n}, each both ways; values: {values}",
        f"- graphs of which both write the same files, byte for byte: {equal} (tables are written in the order of hashes there)",
        f"- the same graphs in several data files (a task's own, halves of each tensor, 7 or 64 bytes at most): values: {sharded}",
        f"- models of Keras 2 with their optimizers (tests/oracle/checkpoint_models.py): {len(rows)}, each both ways, half "
        f"of them restored before they had weights; values: {weights}",
        f"- that differ, or were left over: {len(wrong)}",
        "",
    ]
    print("\n".join(lines))
    if args.report:
        args.report.write_text(with_section(args.report.read_text(), "\n".join(lines), CHECKPOINTS))
    return 1 if wrong else 0


def _same_files(one: str, other: str) -> bool:
    """Whether two folders hold the same files."""
    folders = [{path.name: path.read_bytes() for path in Path(each).iterdir()} for each in (one, other)]
    return folders[0] == folders[1]


if __name__ == "__main__":
    sys.exit(main())
