"""Graphs of objects drawn from a seed, made by whichever library is given: what is saved by one is restored by the other.

Run as a script it is the other library's side: it reads lines {"do", "seed", "path"} and answers each.
"""

from __future__ import annotations

import json
import random
import sys
from typing import Any

import numpy as np

NUMBERS = [
    "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
    "bool", "complex64", "complex128", "float8_e5m2", "float8_e4m3fn",
]  # fmt: skip
#: Dtypes whose parts TensorFlow puts together; nor has it parts without elements.
CUT = ["float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool", "complex64", "complex128"]
#: Dtypes that NumPy has not, made of float32.
NARROW = ("bfloat16", "float8_e5m2", "float8_e4m3fn")


def array(draw: random.Random, dtype: str) -> Any:
    """An array of a dtype's name (of one of NARROW: of float32), small and sometimes empty."""
    shape = tuple(draw.choice([0, 1, 2, 3, 7]) for _ in range(draw.choice([0, 0, 1, 1, 2, 3])))
    noise = np.random.default_rng(draw.randrange(1 << 30))
    if dtype == "string":
        n = int(np.prod(shape))
        items = [bytes(noise.integers(0, 256, draw.choice([0, 1, 5, 130]), np.uint8)) for _ in range(n)]
        return np.array(items + [b""], object)[:n].reshape(shape)
    if dtype == "bool":
        return noise.integers(0, 2, shape).astype(bool)
    if "int" in dtype:
        info = np.iinfo(dtype)
        return noise.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    if dtype.startswith("complex"):
        return (noise.normal(size=shape) + 1j * noise.normal(size=shape)).astype(dtype)
    values = noise.normal(size=shape).astype("float32" if dtype in NARROW else dtype)
    if values.size:
        values.reshape(-1)[0] = draw.choice([np.nan, np.inf, -0.0, 1e-40])
    return values


class Objects:
    """The objects of a seed: `root`, and `values`, what is compared, by names."""

    def __init__(self, tf: Any, seed: int, filled: bool) -> None:
        self.tf, self.draw, self.filled = tf, random.Random(seed), filled
        self.variables: list[Any] = []
        self.others: list[Any] = []
        self.values: dict[str, Any] = {}
        parts = {f"part{i}": self.value(3) for i in range(self.draw.randrange(1, 5))}
        if self.draw.random() < 0.3:
            top = tf.Module()
            for name, part in parts.items():
                setattr(top, name, part)
            self.root = (
                tf.train.Checkpoint(top) if self.draw.random() < 0.5 else tf.train.Checkpoint(top, more=self.variable())
            )
        else:
            self.root = tf.train.Checkpoint(**parts)

    def variable(self) -> Any:
        """A Variable; seldom one that is there already."""
        if self.variables and self.draw.random() < 0.15:
            return self.draw.choice(self.variables)
        dtype = self.draw.choice([*NUMBERS, "string", "float32", "float32"])
        values = array(self.draw, dtype)
        unknown = self.draw.random() < 0.1
        if not self.filled:
            values = np.full(values.shape, b"", object) if dtype == "string" else np.zeros_like(values)
        made = self.tf.Variable(
            self.tf.cast(values, dtype) if dtype in NARROW else self.tf.constant(values, dtype=dtype),
            shape=self.tf.TensorShape(None) if unknown else None,
            trainable=self.draw.random() < 0.5,
            name=self.draw.choice(["v", "weight", "a/b", "x.y"]),
        )
        self.values[f"v{len(self.variables)}"] = made
        self.variables.append(made)
        return made

    def value(self, depth: int) -> Any:
        """A Variable, a Module, a list, a dict, a tuple, a generator, a table."""
        tf, draw = self.tf, self.draw
        kind = draw.choice(["variable"] * 4 + ["module", "list", "dict", "tuple", "generator", "table", "checkpoint"])
        if depth == 0 or kind == "variable":
            return self.variable()
        n = draw.randrange(0, 4)
        if kind == "list":
            return [self.value(depth - 1) for _ in range(n)] + [3] * draw.randrange(2)
        if kind == "tuple":
            return (self.variable(), *[self.value(depth - 1) for _ in range(n)])
        if kind == "dict":
            return {draw.choice(["a", "b/c", "d.e", "é", "_f"]) + str(i): self.value(depth - 1) for i in range(n)}
        if kind == "generator":
            seed = draw.randrange(1 << 30)
            made = tf.random.Generator.from_seed(seed if self.filled else 0)
            self.values[f"g{len(self.others)}"] = made.state
            self.others.append(made)
            return made
        if kind == "table":
            keys, values = draw.choice([("string", "int64"), ("int64", "float32"), ("int64", "string")])
            made = tf.lookup.experimental.MutableHashTable(keys, values, {"string": "-"}.get(values, -1))
            count = draw.randrange(0, 4)
            if self.filled and count:
                names = np.array([f"k{i}" for i in range(count)], object) if keys == "string" else np.arange(count)
                found = np.array([f"w{i}" for i in range(count)], object) if values == "string" else np.arange(count)
                made.insert(tf.constant(names, dtype=keys), tf.constant(found, dtype=values))
            self.values[f"t{len(self.others)}"] = made
            self.others.append(made)
            return made
        if kind == "checkpoint":
            return tf.train.Checkpoint(**{f"c{i}": self.value(depth - 1) for i in range(n)})
        made = tf.Module()
        for i in range(n + 1):
            setattr(made, draw.choice(["w", "layer", "ütf", "_own"]) + str(i), self.value(depth - 1))
        return made

    def found(self) -> dict[str, list[Any]]:
        """{name: [dtype, shape, bytes in hexadecimal]} of all values now."""
        rows = {}
        for name, value in self.values.items():
            if hasattr(value, "export"):
                keys, values = (np.asarray(part) for part in value.export())
                order = np.argsort(keys)
                rows[name] = [_row(keys[order]), _row(values[order])]
            else:
                rows[name] = _row(np.asarray(value.numpy()))
        return rows


def _row(values: Any) -> list[Any]:
    if values.dtype == object:
        items = [item if isinstance(item, bytes) else str(item).encode() for item in values.reshape(-1).tolist()]
        return ["string", list(values.shape), [item.hex() for item in items]]
    return [str(values.dtype), list(values.shape), np.ascontiguousarray(values).tobytes().hex()]


def policy(tf: Any, shard: int | str | None) -> Any:
    """A policy of files: None: one; "task": a task's own; "halves": two for each tensor; else the most bytes of one.

    TensorFlow's own of the most bytes loses empty tensors, and does not end for some small sizes: it takes halves there.
    """
    names = tf.train.experimental

    class Halves(names.ShardingCallback):  # type: ignore[misc]
        @property
        def description(self) -> str:
            return "halves"

        def __call__(self, shardable_tensors: Any) -> Any:
            shards = []
            for each in shardable_tensors:
                value, shape = each.tensor, [int(size) for size in each.tensor.shape]
                if not shape or shape[0] < 2 or 0 in shape or each.dtype.name not in CUT:
                    shards.append({each.checkpoint_key: {each.slice_spec: value}})
                    continue
                half = shape[0] // 2
                whole, rest = " ".join(map(str, shape)), "".join(f":0,{size}" for size in shape[1:])
                for part, at in ((value[:half], f"0,{half}"), (value[half:], f"{half},{shape[0] - half}")):
                    shards.append({each.checkpoint_key: {f"{whole} {at}{rest}": part}})
            return shards

    if shard is None:
        return None
    if shard == "halves" or (shard != "task" and tf.__name__ != "fastgraph"):
        return Halves()
    return names.ShardByTaskPolicy() if shard == "task" else names.MaxShardSizePolicy(shard)


def answer(tf: Any, order: dict[str, Any]) -> dict[str, Any]:
    """Do what a line says: save the objects of a seed, or restore them into such that are empty."""
    if "model" in order:
        if tf.__name__ == "fastgraph":
            from tests.oracle.checkpoint_models import model_answer

            return model_answer(tf, tf.keras, order)
        import tf_keras
        from checkpoint_models import model_answer

        return model_answer(tf, tf_keras, order)
    objects = Objects(tf, order["seed"], filled=order["do"] == "save")
    if order["do"] == "save":
        options = tf.train.CheckpointOptions(experimental_sharding_callback=policy(tf, order.get("shard")))
        return {"path": objects.root.save(order["path"], options), "values": objects.found()}
    status = objects.root.restore(order["path"])
    status.assert_consumed()
    return {"values": objects.found()}


def main() -> None:
    import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    for line in sys.stdin:
        try:
            found = answer(tf, json.loads(line))
        except Exception as error:
            found = {"error": f"{type(error).__name__}: {error}"[:2000]}
        sys.stdout.write(json.dumps(found) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
