"""Runs calls of ops with one library and writes down what came: `python runner.py fastgraph|tensorflow CASES RESULTS`.

Rule: nothing but NumPy and the library is imported, so that the process of either library can run it.

A case is (text, arrays, gradients): a call in which `tf` is the library and `x`, `y`, ... are tensors of the arrays;
arrays are (dtype, shape, bytes or list of bytes). A result is a dict: "values" (arrays, None or texts) or "error" (class,
text), and "first" and "second", the gradients of a weighted sum of the values by order, each an array, None or an error.
"""

from __future__ import annotations

import importlib
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

PLAIN = {"nan": float("nan"), "inf": float("inf"), "np": np}


def packed(array: Any) -> tuple[str, tuple[int, ...], Any]:
    """An array as what another process can read."""
    array = np.asarray(array)
    if array.dtype.kind in "OSU":
        return "string", array.shape, [x if isinstance(x, bytes) else str(x).encode() for x in array.ravel().tolist()]
    return array.dtype.name, array.shape, np.ascontiguousarray(array).tobytes()


def unpacked(record: tuple[str, tuple[int, ...], Any]) -> Any:
    """The array of what `packed` made."""
    dtype, shape, data = record
    if dtype == "string":
        made = np.empty(len(data), object)
        made[:] = data
        return made.reshape(shape)
    if dtype == "bfloat16":
        import ml_dtypes

        return np.frombuffer(data, ml_dtypes.bfloat16).reshape(shape)
    return np.frombuffer(data, dtype).reshape(shape)


class Runner:
    """Runs cases with a library."""

    def __init__(self, library: str) -> None:
        self.tf = importlib.import_module(library)

    def tensors(self, arrays: dict[str, Any]) -> dict[str, Any]:
        made = {}
        for name, record in arrays.items():
            array = unpacked(record)
            made[name] = self.tf.constant(array.tolist() if record[0] == "string" else array, record[0])
            if record[0] == "string" and array.size == 0:
                made[name] = self.tf.zeros(record[1], "string")
        return made

    def flat(self, value: Any) -> list[Any]:
        """The tensors of a result, in order; what is not a tensor as text."""
        if isinstance(value, (list, tuple)):
            return [leaf for part in value for leaf in self.flat(part)]
        if isinstance(value, dict):
            return [leaf for key in sorted(value) for leaf in self.flat(value[key])]
        if isinstance(value, self.tf.IndexedSlices):
            return [self.tf.convert_to_tensor(value)]
        if value is None or isinstance(value, self.tf.Tensor):
            return [value]
        if isinstance(value, (bool, int, float, str, bytes, np.generic, np.ndarray, self.tf.TensorShape)):
            return [str(value)]
        return [type(value).__name__.rpartition(".")[2]]

    def written(self, value: Any) -> Any:
        return packed(value.numpy()) if isinstance(value, self.tf.Tensor) else value

    def weight(self, like: Any) -> Any:
        shape, n = tuple(like.shape), int(np.prod(like.shape))
        wave = np.cos(np.arange(n) + 1.0).reshape(shape)
        if like.dtype.is_complex:
            wave = wave + 1j * np.sin(np.arange(n) + 2.0).reshape(shape)
        return self.tf.cast(self.tf.constant(wave), like.dtype)

    def total(self, values: list[Any]) -> Any:
        """One number of the values: their weighted sum, of complex ones its real part."""
        tf = self.tf
        parts = []
        for value in values:
            part = tf.reduce_sum(value * self.weight(value))
            parts.append(tf.cast(tf.math.real(part) if value.dtype.is_complex else part, "float64"))
        return tf.add_n(parts)

    def gradients(self, case: Any, result: dict[str, Any]) -> None:
        tf = self.tf
        text, arrays, _ = case
        given = self.tensors(arrays)
        names = [n for n, t in given.items() if t.dtype.is_floating or t.dtype.is_complex]
        sources = [given[n] for n in names]
        if not sources:
            return
        order = "first"
        try:
            with tf.GradientTape() as outer:
                outer.watch(sources)
                with tf.GradientTape() as inner:
                    inner.watch(sources)
                    values = self.flat(eval(text, {"tf": tf, **PLAIN, **given}))
                    values = [v for v in values if isinstance(v, tf.Tensor) and is_float(v)]
                    if not values:
                        return
                    total = self.total(values)
                first = [None if g is None else tf.convert_to_tensor(g) for g in inner.gradient(total, sources)]
                result["first"] = [self.written(g) for g in first]
                order = "second"
                if all(g is None for g in first):
                    return
                total = self.total([g for g in first if g is not None])
            result["second"] = [
                None if g is None else self.written(tf.convert_to_tensor(g)) for g in outer.gradient(total, sources)
            ]
        except Exception as error:
            result[order] = ("error", type(error).__name__, str(error)[:500])

    def run(self, case: Any) -> dict[str, Any]:
        """What came of a case."""
        text, arrays, gradients = case
        result: dict[str, Any] = {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                given = self.tensors(arrays)
                value = eval(text, {"tf": self.tf, **PLAIN, **given})
                result["values"] = [self.written(v) for v in self.flat(value)]
            except Exception as error:
                result["error"] = (type(error).__name__, str(error)[:500])
            if gradients and "values" in result:
                self.gradients(case, result)
        leaked = [str(w.message) for w in caught if issubclass(w.category, RuntimeWarning)]
        if leaked:
            result["warnings"] = leaked
        return result


def is_float(tensor: Any) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)


def main() -> None:
    library, cases, results = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    runner = Runner(library)
    wanted = pickle.loads(cases.read_bytes())
    with results.open("wb") as file:
        pickle.dump((runner.tf.__version__, np.__version__), file)
        file.flush()
        for case in wanted:
            result = runner.run(case)
            pickle.dump(result, file)
            file.flush()  # what is there stays there if the next call ends the process


if __name__ == "__main__":
    main()
