"""Large Variables saved and restored, beside plain writes and reads and, where PEER_TENSORFLOW names it, TensorFlow.

    python -m benchmarks.checkpoints [--gigabytes 2] [--rounds 3] [--folder DIR]

The plain ones: `dd` of as many zeros with fsync, and a read of as many bytes into memory that is there already, as the
Variables' is. (`dd` to nowhere reads into one piece that never leaves the cache: what no restoration can do.) Prints
seconds, best of the rounds, GB/s, the ratio to the plain ones, and how much memory saving and restoring took beside
that of the Variables.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

N = 32  # Variables
WHAT = ("save", "read warm", "read cold")  # cold: the files are not in the system's memory


def resident() -> int:
    """Return the bytes of this process that are in memory and no file's."""
    text = Path("/proc/self/status").read_text()
    return 1024 * int(text.partition("RssAnon:")[2].split()[0])


def measured(act: Callable[[], Any]) -> tuple[float, int]:
    """Return seconds, and by how many bytes the process was larger meanwhile."""
    before, most, done = resident(), 0, threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(0.002):
            most = max(most, resident())

    thread = threading.Thread(target=watch)
    thread.start()
    begin = time.perf_counter()
    act()
    seconds = time.perf_counter() - begin
    done.set()
    thread.join()
    return seconds, max(0, most - before)


def library(name: str, gigabytes: float, rounds: int, folder: str) -> dict[str, Any]:
    """Save and restore with `fastgraph` or `tensorflow`."""
    import importlib

    tf = importlib.import_module(name)
    size = int(gigabytes * 1e9 / 4 / N)
    v = [tf.Variable(tf.random.stateless_uniform([size], [i, 1])) for i in range(N)]
    small = tf.Variable(0.0)
    checkpoint = tf.train.Checkpoint(v=v, small=small)
    found: dict[str, Any] = {what: [] for what in WHAT}
    for i in range(rounds):
        path = f"{folder}/{name}{i}"
        found["save"].append(measured(lambda path=path: _synced(checkpoint.write(path), name)))
        for what in WHAT[1:]:
            for each in v:
                each.assign(tf.fill([size], 0.5))
            if what == "read cold":
                forgotten(f"{path}.data-00000-of-00001")
            found[what].append(measured(lambda path=path: checkpoint.read(path).assert_consumed()))
        assert float(tf.reduce_max(v[-1])) > 0.9
        for file in Path(folder).glob(f"{name}{i}*"):
            file.unlink()
    return found


def forgotten(path: str) -> None:
    """Let the system's memory hold nothing of a file."""
    with open(path, "rb") as file:
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _synced(path: str, name: str) -> None:
    """Let what TensorFlow wrote be on the disk, which it does not ask for."""
    if name == "tensorflow":
        for file in Path(path).parent.glob(Path(path).name + ".*"):
            with open(file, "rb") as opened:
                os.fsync(opened.fileno())


def plain(gigabytes: float, rounds: int, folder: str) -> dict[str, list[tuple[float, int]]]:
    """Write as many bytes with `dd`, and read them into memory."""
    place, memory = f"{folder}/plain", memoryview(bytearray(b"1") * (int(gigabytes * 1e9) >> 20 << 20))
    found: dict[str, list[tuple[float, int]]] = {what: [] for what in WHAT}
    for _ in range(rounds):
        command = ["dd", "bs=1M", "if=/dev/zero", f"of={place}", f"count={len(memory) >> 20}", "conv=fsync"]
        begin = time.perf_counter()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        found["save"].append((time.perf_counter() - begin, 0))
        for what in WHAT[1:]:
            if what == "read cold":
                forgotten(place)
            begin = time.perf_counter()
            with open(place, "rb", buffering=0) as file:
                at = 0
                while n := file.readinto(memory[at : at + (1 << 20)]):
                    at += n
            found[what].append((time.perf_counter() - begin, 0))
            assert at == len(memory)
        os.unlink(place)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--library")
    args = parser.parse_args()
    if args.library:
        print(json.dumps(library(args.library, args.gigabytes, args.rounds, args.folder)))
        return
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        rows = {"plain": plain(args.gigabytes, args.rounds, folder)}
        for name, python in (("fastgraph", sys.executable), ("tensorflow", os.environ.get("PEER_TENSORFLOW"))):
            if python:
                command = [python, __file__, "--library", name, "--folder", folder]
                command += ["--gigabytes", str(args.gigabytes), "--rounds", str(args.rounds)]
                done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
                rows[name] = json.loads(done.stdout.splitlines()[-1])
    for what in WHAT:
        base = min(seconds for seconds, _ in rows["plain"][what])
        for name, found in rows.items():
            best = min(seconds for seconds, _ in found[what])
            most = max(size for _, size in found[what])
            print(
                f"{what:10} {name:11} {best:6.2f} s {args.gigabytes / best:6.2f} GB/s, {base / best:5.2f} of plain, "
                f"{most / 1e6:7.1f} MB more memory"
            )


if __name__ == "__main__":
    main()
