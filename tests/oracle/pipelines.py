"""Drawn pipelines of tf.data beside TensorFlow's: elements, their order in two passes, specs, cardinalities.

    PEER_TENSORFLOW=/path/to/its/python python -m tests.oracle.pipelines [--n 200] [--seed 0]

Exit status 1 if some differ, 2 without TensorFlow.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.oracle import processes

RUNNER = Path(__file__).with_name("pipeline_runner.py")

#: What an element is: a number i64[], numbers of a known or an open count, a pair, rows of a batch, windows.
NUMBER, ROW, OPEN, PAIR, RAGGED, WINDOW = "number", "row", "open", "pair", "ragged", "window"
Step = tuple[str, str]  #: (text of the method's call, what an element then is)
D = "tf.data.Dataset"


class Draw:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.unordered = False
        self.n = 0

    def one_of(self, *values: Any) -> Any:
        return self.rng.choice(values)

    def seed(self) -> str:
        return self.one_of("", ", seed=3", ", seed=17")

    def parallel(self) -> str:
        """Return arguments of methods that call functions in threads."""
        return self.one_of(
            "", "", ", num_parallel_calls=2", ", num_parallel_calls=tf.data.AUTOTUNE, deterministic=True"
        )

    # -- sources

    def source(self) -> str:
        n = self.rng.randint(0, 14)
        return self.one_of(
            f"{D}.range({n})", f"{D}.range({n})", f"{D}.range(3, {n + 3}, {self.rng.randint(1, 3)})",
            f"{D}.range({n}, 0, -2)",
            f"{D}.from_tensor_slices(tf.constant({[self.rng.randint(0, 9) for _ in range(n + 1)]}, tf.int64))",
            f"{D}.random(seed={self.rng.randint(0, 9)}{self.one_of('', ', rerandomize_each_iteration=True')})"
            f".take({n}).map(lambda x: x % 20)",
            f"{D}.counter({n}, 2).take({n})",
            f"{D}.from_tensors(tf.range({n}, dtype=tf.int64)).unbatch()",
            f"{D}.from_generator(lambda: iter(range({n})), output_signature=tf.TensorSpec([], tf.int64))",
            f"{D}.range({n}).shuffle({self.rng.randint(1, 20)}{self.seed()})",
        )  # fmt: skip

    # -- steps

    def same(self) -> str:
        """Return a step that leaves elements as they are."""
        a, b = self.rng.randint(1, 5), self.rng.randint(1, 9)
        again = self.one_of("", "", ", reshuffle_each_iteration=False", ", reshuffle_each_iteration=True")
        return self.one_of(
            f"shuffle({b}{self.seed()}{again})", f"shuffle({b}{self.seed()}{again})", f"repeat({self.rng.randint(1, 3)})",
            f"take({b})", f"skip({a})", f"shard({a}, {self.rng.randint(0, a - 1)})", "cache()",
            f"prefetch({self.one_of(1, 2, 'tf.data.AUTOTUNE')})", f"snapshot(folder + '/{self.number()}')",
            f"repeat().take({b * 3})", "ignore_errors()", f"cache(folder + '/{self.number()}')",
            f"shuffle({b}{self.seed()}{again}).repeat({a})", f"repeat({a}).shuffle({b}{self.seed()}{again})",
            "apply(lambda d: d.concatenate(d))", f"apply(lambda d: d.concatenate(d.take({a})))",
            f"apply(tf.data.experimental.assert_cardinality({b}))" if self.rng.random() < 0.1 else "prefetch(1)",
        )  # fmt: skip

    def number(self) -> int:
        self.n += 1
        return self.n

    def of_number(self) -> Step:
        a, b, c = self.rng.randint(1, 5), self.rng.randint(1, 4), self.rng.randint(1, 3)
        drop = self.one_of("", ", drop_remainder=True")
        inner = self.one_of(
            f"lambda x: {D}.range(x % {b + 1})", f"lambda x: {D}.from_tensors(x).repeat({b})",
            f"lambda x: {D}.range(x, x + {b})", f"lambda x: {D}.range({a}).map(lambda y: y * 10 + x)",
            f"lambda x: {D}.range({a}).shuffle({b}{self.seed()}).map(lambda y: y * 10 + x)",
        )  # fmt: skip
        calls = self.one_of(
            "", "", f", num_parallel_calls={self.one_of(1, a)}", ", num_parallel_calls=tf.data.AUTOTUNE"
        )
        several = self.one_of("self", f"{D}.range({b}, {b} + 9)", "self.map(lambda x: -x)")
        stop = self.one_of("True", "False")
        again = self.one_of("", ", rerandomize_each_iteration=True")
        weights = self.one_of("None", "[0.5, 0.5]", "[0.2, 0.8]", f"{D}.from_tensors([0.3, 0.7]).repeat()")
        return self.one_of(
            (f"map(lambda x: x * {a} + {b}{self.parallel()})", NUMBER),
            (f"map(lambda x: x + tf.random.uniform([], 0, 50, tf.int64{self.seed()}))", NUMBER),
            (f"map(lambda x: (x, -x){self.parallel()})", PAIR),
            (f"map(lambda x: tf.fill([{a}], x){self.parallel()})", ROW),
            (f"map(lambda x: tf.fill([x % {a + 1}], x){self.parallel()})", OPEN),
            (f"map(lambda x: tf.range(x % {a + 1}){self.parallel()})", OPEN),
            (f"filter(lambda x: x % {a + 1} != {b})", NUMBER),
            (f"flat_map({inner})", NUMBER),
            (f"interleave({inner}, cycle_length={a}, block_length={c}{calls})", NUMBER),
            (f"interleave({inner}, cycle_length={a}, block_length={c}{calls})", NUMBER),
            (f"batch({a}{drop}{self.one_of('', ', num_parallel_calls=2')})", OPEN if not drop else ROW),
            (f"window({a}, {self.one_of(None, b)}, {c}{drop})", WINDOW),
            (f"window({a}, {self.one_of(None, b)}, {c}{drop}).flat_map(lambda w: w.batch({b}))", OPEN),
            (f"scan(tf.constant({b}, tf.int64), lambda s, x: (s + x, s * {a}))", NUMBER),
            (f"take_while(lambda x: x < {a * 3})", NUMBER),
            ("unique()", NUMBER),
            (f"enumerate({a})", PAIR),
            (f"group_by_window(lambda x: x % {b}, lambda k, w: w.batch({c}), {a})", OPEN),
            (f"group_by_window(lambda x: x % {b}, lambda k, w: w.map(lambda y: y + k), window_size_func=lambda k: k + {c})",
             NUMBER),
            (f"apply(lambda self: {D}.zip(self, {several}))", PAIR),
            (f"apply(lambda self: {D}.zip((self, {several}.shuffle({a}{self.seed()}))))", PAIR),
            (f"apply(lambda self: {D}.sample_from_datasets([self, {several}], {weights}{self.seed()}, "
             f"stop_on_empty_dataset={stop}{again}))", NUMBER),
            (f"apply(lambda self: {D}.choose_from_datasets([self, {several}], {D}.range(2).repeat({b})"
             f", {stop}))", NUMBER),
            (f"map(lambda x: tf.cast(x, tf.int32)).rejection_resample(lambda x: x % 2, [0.5, 0.5]"
             f"{self.one_of('', ', [0.7, 0.3]')}{self.seed()}).map(lambda c, x: tf.cast(x, tf.int64))", NUMBER),
            (f"batch({a}).rebatch({self.one_of(b, [b, c])}{drop})", OPEN),
            (f"map(lambda x: tf.debugging.check_numerics(1. / tf.cast(x % {a + 1}, tf.float32), 'no')).ignore_errors()"
             f".map(lambda x: tf.cast(x * 60, tf.int64))", NUMBER),
        )  # fmt: skip

    def of_row(self) -> Step:
        a = self.rng.randint(1, 4)
        return self.one_of(
            (f"map(tf.reduce_sum{self.parallel()})", NUMBER),
            ("unbatch()", NUMBER),
            (f"flat_map({D}.from_tensor_slices)", NUMBER),
            ("map(lambda x: x[::-1])", ROW),
            (f"rebatch({a})", OPEN),
        )  # fmt: skip

    def of_open(self) -> Step:
        a, b = self.rng.randint(1, 4), self.rng.randint(1, 4)
        drop = self.one_of("", ", drop_remainder=True")
        pad = self.one_of("", ", [None]", ", [9]", f", [None], tf.constant(-{a}, tf.int64)")
        return self.one_of(
            (f"map(tf.reduce_sum{self.parallel()})", NUMBER),
            ("unbatch()", NUMBER),
            (f"padded_batch({a}{pad}{drop})", RAGGED),
            (f"ragged_batch({a}{drop})", RAGGED),
            (f"apply(tf.data.experimental.dense_to_ragged_batch({a}{drop}))", RAGGED),
            (f"apply(tf.data.experimental.dense_to_sparse_batch({a}, [12]))", RAGGED),
            (f"bucket_by_sequence_length(lambda x: tf.shape(x)[0], {sorted({a, a + b})}, [{b}, {a}, 2]"
             f"{self.one_of('', ', pad_to_bucket_boundary=True')}{drop})", RAGGED),
            (f"bucket_by_sequence_length(lambda x: tf.shape(x)[0], {sorted({a, a + b})}, [{b}, {a}, 2]{drop})", RAGGED),
        )  # fmt: skip

    def of_pair(self) -> Step:
        a = self.rng.randint(1, 4)
        return self.one_of(
            (f"map(lambda x, y: x + {a} * y{self.parallel()})", NUMBER),
            ("filter(lambda x, y: (x + y) % 3 != 0)", PAIR),
            (f"batch({a}).unbatch()", PAIR),
            ("map(lambda x, y: {'b': x, 'a': y}).map(lambda d: d['b'] - d['a'])", NUMBER),
            ("scan(tf.constant(0, tf.int64), lambda s, e: (s + e[1], s - e[0]))", NUMBER),
            (f"window({a}).flat_map(lambda x, y: {D}.zip((x, y)))", PAIR),
            (f"batch({a}, drop_remainder=True).map(lambda x, y: x - y)", ROW),
        )  # fmt: skip

    def of_ragged(self) -> Step:
        return self.one_of(("map(lambda x: x)", RAGGED), ("prefetch(2)", RAGGED), ("take(5)", RAGGED))

    def of_window(self) -> Step:
        a = self.rng.randint(1, 4)
        return self.one_of(
            ("flat_map(lambda w: w)", NUMBER),
            (f"flat_map(lambda w: w.batch({a}))", OPEN),
            (f"interleave(lambda w: w, {a}, {self.rng.randint(1, 2)})", NUMBER),
            ("map(lambda w: w.reduce(tf.constant(0, tf.int64), lambda s, x: s + x))", NUMBER),
            (f"flat_map(lambda w: w.shuffle({a}{self.seed()}))", NUMBER),
            ("take(4)", WINDOW),
        )  # fmt: skip

    def program(self) -> str:
        """Return a program whose last line makes `dataset`."""
        lines = [self.one_of("tf.random.set_seed(7)", "tf.random.set_seed(123)", "")]
        text, kind = self.source(), NUMBER
        if not lines[0]:
            lines = ["tf.random.set_seed(1)"]
        step: dict[str, Callable[[], Step]] = {
            NUMBER: self.of_number, ROW: self.of_row, OPEN: self.of_open, PAIR: self.of_pair, RAGGED: self.of_ragged,
            WINDOW: self.of_window,
        }  # fmt: skip
        lines.append(f"dataset = {text}")
        for _ in range(self.rng.randint(1, 6)):
            if self.rng.random() < 0.4:
                text = self.same()
            else:
                text, kind = step[kind]()
            lines.append(f"dataset = dataset.{text}")
        return "\n".join(lines)


def drawn(n: int, seed: int) -> list[str]:
    """Return `n` programs."""
    return [Draw(1000 * seed + i).program() for i in range(n)]


def differs(ours: Any, theirs: Any) -> str:
    """Return what differs, "" for nothing. Of errors only the class counts."""
    if isinstance(ours, dict) or isinstance(theirs, dict):  # a process that ended
        return "" if ours == theirs else "the process ended"
    if "error" in (ours[0], theirs[0]):
        return "" if ours[:2] == theirs[:2] else f"error {ours[:3]} for {theirs[:3]}"
    for what, own, other in zip(("spec", "cardinality", "elements"), ours, theirs, strict=True):
        if own != other:
            return f"{what}: {own}\n    for {other}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--n", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    programs = drawn(options.n, options.seed)
    _, theirs = processes.run("tensorflow", processes.needed_tensorflow(), programs, runner=RUNNER)
    _, ours = processes.run("fastgraph", sys.executable, programs, runner=RUNNER)
    found = [
        (text, said) for text, own, other in zip(programs, ours, theirs, strict=True) if (said := differs(own, other))
    ]
    for text, said in found:
        print(f"{text}\n    {said}\n")
    errors = sum(isinstance(each, tuple) and each[0] == "error" for each in theirs)
    print(f"pipelines: {len(programs)}, of which {errors} are errors there; that differ: {len(found)}")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main())
