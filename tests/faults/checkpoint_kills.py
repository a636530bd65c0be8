"""Saves that are killed at random moments; after each the last complete checkpoint must restore.

python -m tests.faults.checkpoint_kills FOLDER [N [SEED]]
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path
from typing import Any

import fastgraph as tf

SIZES = (3, 100_000, 400_000)


def save_on(folder: str, what: str, first: int, said: int) -> None:
    """Save again and again, and say so after each; the values are the number of the save."""
    v = [tf.Variable(tf.zeros([n])) for n in SIZES]
    checkpoint = tf.train.Checkpoint(v=v)
    manager = tf.train.CheckpointManager(checkpoint, folder, 2)
    if what == "rotation" and manager.latest_checkpoint:
        checkpoint.restore(manager.latest_checkpoint)
    os.write(said, b"0\n")
    for i in range(first, first + 10_000):
        for each in v:
            each.assign(tf.fill(each.shape, float(i)))
        if what == "rotation":
            manager.save()
        else:
            checkpoint.write(folder + "/same")
        os.write(said, b"%d\n" % i)


def killed_saves(folder: Path, n: int, what: str, seed: int) -> list[str]:
    """Kill n processes while they save; return what was wrong with what they left."""
    draw = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    v = [tf.Variable(tf.zeros([n])) for n in SIZES]
    checkpoint = tf.train.Checkpoint(v=v)
    wrong: list[str] = []
    last = 0
    for _ in range(n):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                save_on(str(folder), what, last + 1, write)
            finally:
                os._exit(3)
        os.close(write)
        with os.fdopen(read, "rb") as file:
            for _ in range(draw.randrange(1, 5)):
                file.readline()
            time.sleep(draw.random() * 0.015)
            os.kill(child, signal.SIGKILL)
            done = [int(line) for line in file.read().split()]
        status = os.waitpid(child, 0)[1]
        if os.WIFEXITED(status):
            wrong.append(f"{folder}: the process ended by itself")
        last = _check(folder, what, checkpoint, v, max([last, *done]), wrong)
    return wrong


def _check(folder: Path, what: str, checkpoint: Any, v: list[Any], done: int, wrong: list[str]) -> int:
    """Restore what is there; return the number of its save."""
    path = tf.train.latest_checkpoint(folder) if what == "rotation" else str(folder / "same")
    if path is None or not os.path.exists(path + ".index"):
        if done:
            wrong.append(f"{folder}: nothing left, and {done} was complete")
        return done
    try:
        (checkpoint.restore if what == "rotation" else checkpoint.read)(path).expect_partial()
    except Exception as error:
        wrong.append(f"{path}: {type(error).__name__}: {error}")
        return done
    found = {value for each in v for value in each.numpy()[[0, -1]].tolist()}
    if len(found) != 1 or not done <= min(found) <= done + 2:
        wrong.append(f"{path}: values {found}, and {done} was complete")
    return int(max(found))


if __name__ == "__main__":
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    number = int(sys.argv[3]) if len(sys.argv) > 3 else int(time.time())
    problems = []
    for kind in ("rotation", "same"):
        problems += killed_saves(Path(sys.argv[1]) / kind, count // 2, kind, seed=number)
    print("\n".join(problems) or f"{count} killed, nothing lost")
    sys.exit(1 if problems else 0)
