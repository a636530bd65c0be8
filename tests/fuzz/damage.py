"""What the fuzzers of damaged files share: other bytes, and a run over seeds with its report."""

from __future__ import annotations

import argparse
import random
import time
import traceback
import tracemalloc
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

#: Memory that reading files may take: so much per byte, and so much besides.
PER_BYTE, BESIDES = 200, 4 << 20


def other_bytes(rng: random.Random, content: bytes) -> bytes:
    """Return the bytes, changed in one to four places."""
    data = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(data)) if data else 0
        way = rng.randrange(5)
        if way == 0 and data:
            data[at] = rng.randrange(256)
        elif way == 1:
            data[at:at] = rng.randbytes(rng.randint(1, 4))
        elif way == 2:
            del data[at : at + rng.randint(1, 8)]
        elif way == 3:
            del data[at:]
        else:
            data[at:at] = data[at : at + rng.randint(1, 40)]
    return bytes(data)


@contextmanager
def little_memory(size: int, per_byte: int = PER_BYTE, besides: int = BESIDES) -> Iterator[None]:
    """Assert that what is done takes no memory that files of `size` bytes do not justify."""
    tracemalloc.start()
    try:
        yield
    finally:
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert most <= per_byte * size + besides, f"{most} bytes of memory for files of {size}"


def findings(answer: Callable[[int], str], seeds: Iterator[int], came: Counter[str]) -> Iterator[tuple[int, str]]:
    """Yield (seed, traceback) where `answer` raises, which is no answer; count what else it says."""
    for seed in seeds:
        try:
            came[answer(seed)] += 1
        except Exception as error:
            came[f"{type(error).__name__} (wrong)"] += 1
            yield seed, traceback.format_exc()


def warm(answer: Callable[[int], str]) -> None:
    """Let what reads be imported before memory is counted."""
    for seed in range(20):
        with suppress(Exception):
            answer(seed)


def main(what: str, answer: Callable[[int], str], doc: str | None) -> int:
    """Run over seeds for some seconds, or over as many as --count says; print what came and each place that was wrong
    once; return the exit status."""
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--count", type=int, help="run so many, however long it takes")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warm(answer)
    end = time.monotonic() + options.seconds
    came: Counter[str] = Counter()
    places: set[str] = set()

    def seeds() -> Iterator[int]:
        seed = options.seed
        while time.monotonic() < end if options.count is None else seed < options.seed + options.count:
            yield seed
            seed += 1

    for seed, text in findings(answer, seeds(), came):
        lines = text.strip().splitlines()
        place = next((line.strip() for line in reversed(lines) if line.startswith("  File")), "")
        if place not in places:
            print(f"seed {seed}: {lines[-1][:200]}\n    {place}", flush=True)
        places.add(place)
    print(f"{came.total()} {what}: " + ", ".join(f"{n} {name}" for name, n in came.most_common()))
    return 1 if places else 0
