"""Summaries beside TensorFlow's: what the same programs write, message by message, and what they see on the way.

    PYTHONPATH=. TENSORFLOW_PYTHON -m tests.oracle.summaries make FOLDER    # TensorFlow writes (tensorboard has to be there)
    PYTHONPATH=. python -m tests.oracle.summaries check FOLDER              # the same programs here, compared
    PYTHONPATH=. python -m tests.oracle.summaries pack FOLDER FILE          # as data of the tests

Compared are the files' events but for their times: steps, tags, metadata, tensors bit for bit, pictures by their pixels.
"""

from __future__ import annotations

import io
import json
import os
import re
import struct
import sys
import tarfile
import tempfile
import threading
from pathlib import Path
from typing import Any

from tests.oracle.summary_cases import CASES


def run(tf: Any, folder: str) -> dict[str, Any]:
    """Run all cases below a folder; return what they saw."""
    seen = {}

    def cases() -> None:
        for name, program in CASES.items():
            seen[name] = program(tf, os.path.join(folder, name))
            tf.summary.experimental.set_step(None)

    thread = threading.Thread(target=cases)  # whose defaults end with it
    thread.start()
    thread.join()
    return seen


def records(path: Path) -> list[bytes]:
    """The contents of the records of a file."""
    data, found, at = path.read_bytes(), [], 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        found.append(data[at + 12 : at + 12 + size])
        at += 16 + size
    return found


def make(folder: str) -> None:
    """Let TensorFlow write: for each folder of a case one file of its events, each with its length."""
    import tensorflow as tf

    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as made:
        seen = run(tf, made)
        text = json.dumps(seen, indent=1).replace(made, "FOLDER")
        for path, events in sorted(collected(made).items()):
            kept = Path(folder, path)
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_bytes(b"".join(struct.pack("<I", len(event)) + event for event in events))
    Path(folder, "seen.json").write_text(text)


def collected(folder: str) -> dict[str, list[bytes]]:
    """The events below a folder, by the folder that their files are in."""
    found: dict[str, list[bytes]] = {}
    for path in sorted(
        Path(folder).rglob("events.out.*"), key=lambda p: int(re.findall(r"\.(\d+)\.", p.name + ".")[-1])
    ):
        found.setdefault(f"{path.parent.relative_to(folder)}.events", []).extend(records(path))
    return found


def unpacked(content: bytes) -> list[bytes]:
    """The events of a file that `make` has written."""
    found, at = [], 0
    while at < len(content):
        (size,) = struct.unpack_from("<I", content, at)
        found.append(content[at + 4 : at + 4 + size])
        at += 4 + size
    return found


def shown(event: bytes) -> Any:
    """What is compared of an event."""
    import fastgraph as fg
    from fastgraph.graphdef.event_files import parsed

    message = parsed(event, "Event")
    what = message.WhichOneof("what")
    head: list[Any] = [message.step, what, message.file_version, message.source_metadata.writer]
    for value in message.summary.value:
        metadata = value.metadata
        plugin = metadata.plugin_data.plugin_name
        row = [value.tag, value.node_name, plugin, metadata.plugin_data.content, metadata.data_class]
        row += [metadata.display_name, metadata.summary_description, value.WhichOneof("value"), value.simple_value]
        if plugin.startswith("graph_run"):
            head.append(row)  # the graphs are of other operations
            continue
        if value.HasField("tensor"):
            tensor = value.tensor
            array = fg.make_ndarray(tensor)
            row += [
                "content" if tensor.tensor_content else "",
                tensor.dtype,
                [dim.size for dim in tensor.tensor_shape.dim],
            ]
            row += [
                pixels(array.tolist())
                if plugin == "images"
                else array.tolist()
                if array.dtype == object
                else repr(array)
            ]
            if array.dtype != object:
                row.append(array.tobytes().hex())
        head.append(row)
    return head


def pixels(texts: list[Any]) -> list[Any]:
    """Pictures of an image summary, as modes and bytes."""
    from PIL import Image

    found = []
    for text in texts:
        if text.startswith(b"\x89PNG"):
            picture = Image.open(io.BytesIO(text))
            text = (picture.mode, picture.size, picture.tobytes().hex())
        found.append(text)
    return found


def differences(theirs: dict[str, bytes]) -> list[str]:
    """Run the cases here and compare with the files of a folder that `make` has filled; return what differs."""
    import fastgraph as fg

    wanted_seen = json.loads(theirs["seen.json"])
    found = []
    with tempfile.TemporaryDirectory() as made:
        seen = json.loads(json.dumps(run(fg, made)).replace(made, "FOLDER"))
        for name in CASES:
            ours_seen, wanted = seen[name], wanted_seen[name]
            for i, (a, b) in enumerate(zip(ours_seen or [], wanted or [], strict=True)):
                if not alike(a, b):
                    found.append(f"{name}[{i}] saw {a!r}\n   not {b!r}")
        ours = collected(made)
        wanted_files = {path: unpacked(content) for path, content in theirs.items() if path.endswith(".events")}
        for path in sorted({*ours, *wanted_files}):
            mine, yours = ([shown(event) for event in part.get(path, [])] for part in (ours, wanted_files))
            for i in range(max(len(mine), len(yours))):  # to the first that differs
                ours_text, text = (str(part[i]) if i < len(part) else "nothing" for part in (mine, yours))
                if ours_text != text:
                    found.append(f"{path}[{i}] has {ours_text[:600]}\n   not {text[:600]}")
                    break
    return found


def alike(ours: Any, theirs: Any) -> bool:
    """Whether two things seen are as good as one: equal, or errors of one class."""
    if isinstance(theirs, str) and re.match(r"\w+: ", theirs) and isinstance(ours, str):
        ours_kind, kind = ours.partition(":")[0], theirs.partition(":")[0]
        return ours_kind == kind or (kind == "AssertionError" and ours_kind.endswith("Error"))  # "Unreachable"
    return repr(ours) == repr(theirs)


def loaded(path: Path) -> dict[str, bytes]:
    """The files of a folder, or of an archive that `pack` has made, by their names."""
    if path.is_dir():
        return {str(each.relative_to(path)): each.read_bytes() for each in path.rglob("*") if each.is_file()}
    with tarfile.open(path) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive if each.isfile()}  # type: ignore[union-attr]


def pack(folder: str, file: str) -> None:
    """Write a folder that `make` has filled as one file."""
    with tarfile.open(file, "w:xz") as archive:
        for name, content in sorted(loaded(Path(folder)).items()):
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def main() -> int:
    way, folder, *rest = sys.argv[1:]
    if way == "make":
        make(folder)
    elif way == "pack":
        pack(folder, *rest)
    else:
        found = differences(loaded(Path(folder)))
        print("\n".join(found))
        print(f"{len(CASES)} programs, {len(found)} differences")
        return 1 if found else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
