"""Checkpoints that something has damaged: each is restored, or refused by an error, and then nothing has changed.

    python -m tests.fuzz.checkpoints --seconds 600 --seed 1

Some have other bytes in the index, in the data or in the file `checkpoint`; others are whole but for an entry, a header
or a graph of objects that is damaged, with right checksums. Exit status 1 where reading raised what is no answer
(KeyError, struct.error, ...), changed some values before it raised, or took memory that the files do not justify, which
is printed with its seed.
"""

from __future__ import annotations

import random
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import fastgraph as fg
from fastgraph.saving.bundle_writer import BundleWriter
from fastgraph.saving.object_graph import OBJECT_GRAPH
from fastgraph.saving.sstable import entries_of, table
from fastgraph.saving.tensor_bundle import BundleReader
from tests.fuzz import damage

#: What restoring a damaged checkpoint may raise: ValueError for a shape that does not fit.
ANSWERS = (fg.errors.OpError, ValueError)


def objects(x: float) -> tuple[Any, list[Any]]:
    """A Checkpoint, and the Variables that it keeps."""
    module = fg.Module()
    module.w = fg.Variable([x, x])
    module.parts = [fg.Variable([[x]]), {"a": fg.Variable(int(x)), "text": fg.Variable([str(x), "b"])}]
    big = fg.Variable(np.full(1000, x))
    variables = [module.w, module.parts[0], module.parts[1]["a"], module.parts[1]["text"], big]
    return fg.train.Checkpoint(module=module, big=big), variables


@cache
def original() -> dict[str, bytes]:
    """The files of a whole checkpoint by name."""
    with tempfile.TemporaryDirectory() as folder:
        objects(2.0)[0].save(folder + "/c")
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def write_damaged(rng: random.Random, folder: Path) -> None:
    """Write the checkpoint to a folder, damaged."""
    files = dict(original())
    index, data = "c-1.index", "c-1.data-00000-of-00001"
    way = rng.randrange(6)
    if way == 0:
        files[index] = damage.other_bytes(rng, files[index])
    elif way == 1:
        files[data] = damage.other_bytes(rng, files[data])
    elif way == 2:
        files["checkpoint"] = damage.other_bytes(rng, files["checkpoint"])
    elif way in (3, 4):
        rows = entries_of(files[index], index)
        for _ in range(rng.choice([1, 1, 2, 5])):
            key = rng.choice(sorted(rows))
            value = damage.other_bytes(rng, rows.pop(key))
            rows[damage.other_bytes(rng, key) if rng.random() < 0.2 else key] = value
        files[index] = table(sorted(rows.items()))
    for name, content in files.items():
        (folder / name).write_bytes(content)
    if way == 5:
        reader = BundleReader(str(folder / "c-1"))
        with BundleWriter(str(folder / "d")) as writer:
            for key in sorted(reader.keys()):
                value = reader.read(key)
                if key == OBJECT_GRAPH:
                    value = np.array(damage.other_bytes(rng, value.item()), object)
                writer.add(key, value)
            writer.finish()
        for end in (".index", ".data-00000-of-00001"):
            (folder / ("d" + end)).rename(folder / ("c-1" + end))


def one(seed: int) -> str:
    """Restore the checkpoint of a seed; return what came of it. Raises what is no answer."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_damaged(rng, folder)
        size = sum(path.stat().st_size for path in folder.iterdir())
        checkpoint, variables = objects(1.0)
        before = [variable.numpy().tolist() for variable in variables]
        with damage.little_memory(size):
            try:
                fg.train.latest_checkpoint(folder)
                for key, _ in fg.train.list_variables(folder / "c-1"):
                    with suppress(ANSWERS):
                        fg.train.load_variable(folder / "c-1", key)
                checkpoint.restore(str(folder / "c-1")).expect_partial()
                return "restored"
            except ANSWERS as error:
                assert [variable.numpy().tolist() for variable in variables] == before, "some values changed"
                return type(error).__name__


if __name__ == "__main__":
    fg.get_logger().setLevel("CRITICAL")
    sys.exit(damage.main("damaged checkpoints", one, __doc__))
