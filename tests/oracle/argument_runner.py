"""Runs calls with one integer argument of many values: `python argument_runner.py fastgraph|tensorflow CASES RESULTS`.

Rule: nothing but NumPy and the library is imported, so that the process of either library can run it.

A case is (text, arrays, values, mode): a call in which `n` is the argument, of which `values` are arrays of one dtype and
rank. A mode is "eager", or "static" or "unknown": a Function with the tensors' shapes, or with None for each extent;
"static/last" runs kernels, "static/first" the bodies; "written": a Function in which the number stands, as Python's. A
result is a list: for each value what `Runner` calls a result.
"""

from __future__ import annotations

import importlib
import pickle
import resource
import signal
import sys
import warnings
from functools import partial
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).resolve().parents[2]))

from tests.oracle.runner import PLAIN, Runner, is_float, unpacked

#: Bytes of address space that the calls may take, and seconds that one case may, and one that waits for kernels.
MEMORY, SECONDS, COMPILING = 1 << 30, 45, 240


class ArgumentRunner(Runner):
    """Runs a call with an integer argument of several values."""

    def computed(self, text: str, given: dict[str, Any], n: Any, slopes: bool) -> list[Any]:
        """The tensors of a call, and with `slopes` the gradients of their weighted sum to the tensors given."""
        tf = self.tf
        sources = [t for t in given.values() if is_float(t)] if slopes else []
        with tf.GradientTape() as tape:
            tape.watch(sources)
            found = self.flat(eval(text, {"tf": tf, **PLAIN, **given, "n": n}))
            values = [v for v in found if isinstance(v, tf.Tensor)]
            targets = [v for v in values if is_float(v)]
            total = self.total(targets) if targets and sources else None
        if total is None:
            return values
        return values + [tf.convert_to_tensor(g) for g in tape.gradient(total, sources) if g is not None]

    def weight(self, like: Any) -> Any:
        """Weights that a graph knows how to make of a tensor whose size it does not know."""
        tf = self.tf
        places = tf.cast(tf.reshape(tf.range(1, 1 + tf.size(like)), tf.shape(like)), "float64")
        return tf.cast(tf.math.cos(places), like.dtype)

    def total(self, values: list[Any]) -> Any:
        tf = self.tf
        parts = [tf.reduce_sum(v * self.weight(v)) for v in values]
        parts = [tf.math.real(p) if p.dtype.is_complex else p for p in parts]
        return tf.add_n([tf.cast(p, "float64") for p in parts])

    def staged(self, text: str, given: dict[str, Any], n: Any, unknown: bool, slopes: bool) -> Any:
        """A Function traced for tensors like these; `n` is an argument if it is a tensor."""
        tf = self.tf

        def spec(tensor: Any) -> Any:
            return tf.TensorSpec([None] * len(tensor.shape) if unknown else tensor.shape, tensor.dtype)

        names = list(given)
        specs = [spec(tensor) for tensor in given.values()]

        def called(n: Any, *tensors: Any) -> Any:
            return self.computed(text, dict(zip(names, tensors, strict=True)), n, slopes)

        function, specs = (called, [spec(n), *specs]) if isinstance(n, tf.Tensor) else (partial(called, n), specs)
        return tf.function(function, input_signature=specs, autograph=False).get_concrete_function()

    def traced(self, text: str, given: dict[str, Any], n: Any, unknown: bool) -> Any:
        """`staged`, with the gradients of its value; without them where those cannot be traced."""
        slopes = any(is_float(t) for t in given.values())
        try:
            return self.staged(text, given, n, unknown, slopes)
        except Exception:
            if not slopes:
                raise
            return self.staged(text, given, n, unknown, False)  # what a gradient says is no less a result

    def written_in(self, text: str, given: dict[str, Any], n: Any) -> dict[str, Any]:
        """What comes of a number that is written into a Function."""
        try:
            function = self.traced(text, given, n, False)
        except Exception as error:
            return {"traced": (type(error).__name__, str(error)[:500])}
        return self.one(lambda: function(*given.values()))

    def one(self, call: Any) -> dict[str, Any]:
        try:
            return {"values": [self.written(v) for v in call()]}
        except Exception as error:
            return {"error": (type(error).__name__, str(error)[:500])}

    def run_all(self, text: str, arrays: dict[str, Any], values: list[Any], mode: str) -> list[dict[str, Any]]:
        """What came of each value; "traced" instead of "error" is what came of tracing."""
        tf = self.tf
        given = self.tensors(arrays)
        numbers = [tf.constant(unpacked(v)) for v in values]
        if mode == "eager":
            return [self.eagerly(text, given, n) for n in numbers]
        where, _, tier = mode.partition("/")
        if tier:
            importlib.import_module("fastgraph.core.base.flags").set_flag("tier", tier)
        if where == "written":
            return [self.written_in(text, given, unpacked(v).tolist()) for v in values]
        try:
            function = self.traced(text, given, numbers[0], where == "unknown")
        except Exception as error:
            return [{"traced": (type(error).__name__, str(error)[:500])}] * len(numbers)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found = [self.one(lambda n=n: function(n, *given.values())) for n in numbers]
        if uncompiled := [str(w.message) for w in caught if "uncompiled" in str(w.message)]:
            return [{"error": ("uncompiled", uncompiled[0][:500])}] * len(numbers)
        return found

    def eagerly(self, text: str, given: dict[str, Any], n: Any) -> dict[str, Any]:
        found = self.one(lambda: self.computed(text, given, n, True))
        return found if "values" in found else self.one(lambda: self.computed(text, given, n, False))


def limit_memory() -> None:
    """Let this process take so much address space more, so that a call that asks for all of it is refused."""
    now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def main() -> None:
    library, cases, results = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    warnings.simplefilter("ignore")
    runner = ArgumentRunner(library)
    wanted = pickle.loads(cases.read_bytes())
    kernels = any(mode.endswith("/last") for *_, mode in wanted)
    runner.run_all(
        "tf.matmul(x, x) + tf.cast(n, 'float32')",
        {"x": ("float32", (1, 1), bytes(4))},
        [("int32", (), bytes(4))],
        "static/last" if kernels else "static",  # the process that compiles has memory of its own
    )
    limit_memory()
    with results.open("wb") as file:
        pickle.dump((runner.tf.__version__, np_version()), file)
        file.flush()
        for case in wanted:
            signal.alarm(COMPILING if case[3].endswith("/last") else SECONDS)  # ends this process
            pickle.dump(runner.run_all(*case), file)
            file.flush()
            signal.alarm(0)


def np_version() -> str:
    return str(importlib.import_module("numpy").__version__)


if __name__ == "__main__":
    main()
