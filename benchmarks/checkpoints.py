"""Large Variables saved and restored, beside plain writes and reads and, where PEER_TENSORFLOW names it, TensorFlow.

    python -m benchmarks.checkpoints [--gigabytes 2] [--rounds 3] [--folder DIR]

The plain ones: `dd` of as many zeros with fsync, and a read of as many bytes into memory that is there already, as the
Variables' is. (`dd` to nowhere reads into one piece that never leaves the cache: what no restoration can do.) All take
turns. Prints seconds, the best and the middle of the rounds, GB/s, the ratio to the plain ones, and how much memory
saving and restoring took beside that of the Variables.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

N = 32  # Variables
WHAT = ("save", "read warm", "read cold")  # cold: the files are not in the system's memory
Round = dict[str, tuple[float, int]]  # of each of these, seconds and bytes


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


def library(name: str, gigabytes: float, folder: str) -> Iterator[Round]:
    """Save and restore with `fastgraph` or `tensorflow`, whenever the next round is wanted."""
    tf = importlib.import_module(name)
    size = int(gigabytes * 1e9 / 4 / N)
    v = [tf.Variable(tf.random.stateless_uniform([size], [i, 1])) for i in range(N)]
    small = tf.Variable(0.0)
    checkpoint = tf.train.Checkpoint(v=v, small=small)
    for i in itertools.count():
        path = f"{folder}/{name}{i}"
        found = {"save": measured(lambda path=path: _synced(checkpoint.write(path), name))}
        for what in WHAT[1:]:
            for each in v:
                each.assign(tf.fill([size], 0.5))
            if what == "read cold":
                forgotten(f"{path}.data-00000-of-00001")
            found[what] = measured(lambda path=path: checkpoint.read(path).assert_consumed())
        assert float(tf.reduce_max(v[-1])) > 0.9
        for file in Path(folder).glob(f"{name}{i}*"):
            file.unlink()
        yield found


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


def plain(gigabytes: float, folder: str) -> Iterator[Round]:
    """Write as many bytes with `dd`, and read them into memory."""
    place, memory = f"{folder}/plain", memoryview(bytearray(b"1") * (int(gigabytes * 1e9) >> 20 << 20))
    while True:
        command = ["dd", "bs=1M", "if=/dev/zero", f"of={place}", f"count={len(memory) >> 20}", "conv=fsync"]
        begin = time.perf_counter()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        found = {"save": (time.perf_counter() - begin, 0)}
        for what in WHAT[1:]:
            if what == "read cold":
                forgotten(place)
            begin = time.perf_counter()
            with open(place, "rb", buffering=0) as file:
                at = 0
                while n := file.readinto(memory[at : at + (1 << 20)]):
                    at += n
            found[what] = time.perf_counter() - begin, 0
            assert at == len(memory)
        os.unlink(place)
        yield found


def served(python: str, command: list[str]) -> Iterator[Round]:
    """The rounds of a process of its own, which waits between them."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([python, __file__, *command], text=True, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        while True:
            print(file=process.stdin, flush=True)
            yield json.loads(process.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder")
    parser.add_argument("--library")
    args = parser.parse_args()
    kinds = {"plain": plain, **{name: functools.partial(library, name) for name in ("fastgraph", "tensorflow")}}
    if args.library:
        rounds = kinds[args.library](args.gigabytes, args.folder)
        for _ in sys.stdin:
            print(json.dumps(next(rounds)), flush=True)
        return
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        said = ["--folder", folder, "--gigabytes", str(args.gigabytes)]
        pythons = {
            "plain": sys.executable,
            "fastgraph": sys.executable,
            "tensorflow": os.environ.get("PEER_TENSORFLOW"),
        }
        peers = {name: served(python, ["--library", name, *said]) for name, python in pythons.items() if python}
        rows: dict[str, list[Round]] = {name: [] for name in peers}
        for _ in range(args.rounds):  # in turn, for the disk is another one every minute
            for name, rounds in peers.items():
                rows[name].append(next(rounds))
        for rounds in peers.values():
            rounds.close()
    for what in WHAT:
        for name, found in rows.items():
            seconds = sorted([each[what][0] for each in found])
            middle, base = statistics.median(seconds), statistics.median([each[what][0] for each in rows["plain"]])
            most = max(each[what][1] for each in found)
            print(
                f"{what:10} {name:11} best {seconds[0]:6.2f} s, in the middle {middle:6.2f} s, "
                f"{args.gigabytes / middle:6.2f} GB/s, {base / middle:5.2f} of plain, {most / 1e6:7.1f} MB more memory"
            )


if __name__ == "__main__":
    main()
