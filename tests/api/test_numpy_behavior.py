"""NumPy's behaviour, switched on: methods, indexing, operators of several dtypes, weak dtypes. Each mode has a process."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest

from fastgraph.core.base.dtype import as_dtype
from fastgraph.numpy_api.promotion import meet

START = """
import logging
logging.disable(logging.WARNING)
import numpy as np
import fastgraph as tf
tnp = tf.experimental.numpy

def refused(error, call):
    try:
        call()
    except error:
        return True
    return False
"""

LEGACY = """
x = tf.constant([[1, 2, 3], [4, 5, 6]])
assert refused(Exception, lambda: x + 1.5) and refused(AttributeError, lambda: x.T) and refused(TypeError, lambda: +x)
tnp.experimental_enable_numpy_behavior()
assert x.T.shape == (3, 2) and x.reshape(3, 2).shape == x.reshape((3, 2)).shape == (3, 2) and x.reshape(-1).shape == 6
assert x.reshape(3, 2, order="F").numpy().tolist() == [[1, 5], [4, 3], [2, 6]]
assert x.ravel().shape == x.flatten().shape == 6 and x.astype("float32").dtype == tf.float32
assert (x.ndim, x.size, x.tolist()) == (2, 6, [[1, 2, 3], [4, 5, 6]]) and x.data is x and (+x) is x
assert float(x.mean()) == 3.5 and int(x.max()) == 6 and x.min(axis=1).tolist() == [1, 4]
assert x.clip(2, 4).tolist() == [[2, 2, 3], [4, 4, 4]] and round(tf.constant(1.26), 1).numpy() == np.float32(1.3)
assert x.transpose((1, 0)).shape == (3, 2)

for key in ([0, 1], ([1, 0], [2, 0]), (slice(None), [0, 2]), (..., [0, 2]), np.array([1], np.uint8),
            (None, [0, 1]), ([-1], 1), ([[0], [1]], [0, 2]), (slice(1), [True, False, True]), 1, (0, 1), ()):
    assert np.array_equal(x[key], x.numpy()[key]), key
y = np.arange(24).reshape(2, 3, 4)
for key in (([0, 1], slice(None), [1, 2]), (slice(None), [0, 1], [1, 2]), (..., [0, 1], 1), ([0, 1], slice(1, None), 0)):
    assert np.array_equal(tf.constant(y)[key], y[key]), key
assert np.array_equal(x[x > 2], [3, 4, 5, 6])
assert refused(IndexError, lambda: x[1.5])

i, f, d = tf.constant(1), tf.constant(1.5), tf.constant(1.5, tf.float64)
assert (i + 1.5).dtype == (1.5 + i).dtype == (i + f).dtype == tf.float64 and (f + 1.5).dtype == tf.float32
assert (f + d).dtype == (f + np.ones(1)).dtype == tf.float64 and (f + [1, 2]).dtype == tf.float32
assert (tf.cast(i, "int8") + tf.cast(i, "uint8")).dtype == tf.int16 and (i * True).dtype == tf.int32
assert (tf.cast(i, "int8") << i).dtype == tf.int32 and (i.__array_namespace__().astype(i, tf.int8) >> 0).dtype == tf.int8
assert (tf.constant(True) * 3).dtype == tf.int64 and (tf.constant(True) * True).dtype == tf.bool
assert bool(i < 1.5) and bool(f == d) and bool(i != f) and (2 ** f).dtype == tf.float32
assert (x @ [1.0, 1.0, 1.0]).dtype == tf.float64 and int(tf.constant([1, 2]) @ tf.constant([3, 4])) == 11
assert (tf.Variable([1, 2]) * f).dtype == tf.float64 and tf.constant("a") + "b" == b"ab"
assert refused(Exception, lambda: tf.add(i, f))  # operators alone
g = tf.function(lambda x, y: (x * y)[[1, 0]].T)
assert g(tf.constant([1, 2]), tf.constant([0.5, 2.0])).tolist() == [4.0, 0.5]
with tf.GradientTape() as tape:
    tape.watch(f)
    z = f * tf.constant(2) * d
assert float(tape.gradient(z, f)) == 3.0
tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="off")
assert refused(Exception, lambda: i + f) and x.T.shape == (3, 2)
tnp.experimental_enable_numpy_behavior(prefer_float32=True)
assert (tf.constant(1.5, tf.float16) + 1.5).dtype == tf.float32 and tnp.array(1.5).dtype == tf.float32
assert refused(ValueError, lambda: tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="x"))
"""

ALL = """
plain = tf.sqrt
tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="all")
i, f = tf.cast(1, "int32"), tf.cast(1.5, "float32")
assert "weak=True" in repr(tf.constant(5)) and "weak" not in repr(tf.constant(5, tf.int32)) and "weak" not in repr(i)
assert "weak=True" in repr(tf.constant(1.2) + 3.1) and (tf.constant(1) + f).dtype == tf.float32
assert (i + f).dtype == tf.add(i, f).dtype == tf.float32 and "weak=True" in repr(i + 1.5)
assert (tf.cast(1, "int8") + 5).dtype == tf.int8 and (tf.cast(1, "bfloat16") + tf.cast(1, "float16")).dtype == tf.float32
assert "weak=True" in repr(tf.sqrt(4.0)) and "weak" not in repr(tf.sqrt(f)) and "weak=True" in repr(tf.reduce_sum([1, 2]))
assert "weak=True" in repr(tnp.sin(1.0)) and tnp.sum([1, 2]).dtype == tf.int32 and tnp.zeros(2).dtype == tf.float32
assert "weak" not in repr(tf.maximum(1, 2)) and tnp.result_type(i, 2.5) == tf.float64
w = tf.constant([[1.0, 2.0]])
assert w.T.shape == (2, 1) and "weak=True" in repr(-w) and float(w[0, 1]) == 2.0 and len(w) == 1 and (w @ w.T).shape == (1, 1)
assert (w > 1).numpy().tolist() == [[False, True]] and bool(w[0, 0]) and np.asarray(w).shape == (1, 2)
assert "weak" not in repr(w + np.float32(1)) and "weak=True" in repr(1 + w)
assert (w == None) is False and int(tf.constant(6) & 3) == 2 and tnp.cumsum(tf.cast([1], "int8")).dtype == tf.int32
assert tnp.random.randint(3).dtype == tf.int64 and tnp.tile([1], 2).shape == 2 and i[None][np.array([0], np.int8)].shape == 1
v = tf.Variable(tf.cast(1.0, "float32"))
v.assign(i); v.assign_add(2); v.assign_sub(tf.cast(1, "int8"))
assert float(v) == 2.0 and (v + 1).dtype == tf.float32 and refused(TypeError, lambda: v.assign(tf.cast(1, "float64")))
h = tf.function(lambda x: x + tf.cast(1, "int8"))
assert h(tf.constant(1)).dtype == tf.int8 and h(tf.cast(1, "int32")).dtype == tf.int32
assert refused(OverflowError, lambda: i + 2**40)
tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="safe")
assert refused(TypeError, lambda: i + f) and refused(TypeError, lambda: tf.add(i, f)) and (i + tf.cast(1, "int64")).dtype == tf.int64
assert (f + 1.5).dtype == tf.float32 and refused(TypeError, lambda: i + 1.5) and refused(TypeError, lambda: tf.cast(1, "int8") + tf.cast(1, "uint8"))
tnp.experimental_enable_numpy_behavior()
assert tf.sqrt is plain and refused(Exception, lambda: tf.add(i, f)) and "weak" not in repr(tf.constant(5))
"""


@pytest.mark.parametrize("program", [LEGACY, ALL], ids=["legacy", "all"])
def test_modes(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", START + program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_the_lattice() -> None:
    """Commutative, and what the two lists below say of it."""
    strong = (
        "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 bfloat16 float16 float32 float64 complex64 complex128"
    )
    kinds = [(as_dtype(name), False) for name in strong.split()]
    kinds += [(as_dtype(name), True) for name in ("int32", "int64", "float32", "float64", "complex128")]
    letters = {kind: chr(ord("a") + i) for i, kind in enumerate(kinds)}
    for a, b in itertools.product(kinds, kinds):
        assert meet(a, b) == meet(b, a)
    rows = []
    for i, a in enumerate(kinds):
        made = [meet(a, b) for b in kinds[i:]]
        rows.append("".join(letters[kind].upper() if safe else letters[kind] for kind, safe in made))
    assert " ".join(rows) == LATTICE


#: The upper half of the table, a letter a dtype in the order above, in capitals where "safe" allows it.
LATTICE = (
    "ABCDEFGHIJKLMNOPQRST BCDEgGHIJKLMNOBBsST CDEhhHIjkLMNOCCsST DEiiiIjklMnODDsST EssssjklmnoEEsst "
    "FGHIJKLMNOFFsST GHIjkLMNOGGsST HIjklMnOHHsST IjklmnoIIsst JlLMNOJJJJn KLMNOKKKKn LMNOLLLLn MoOMMMMO NONNNNN OOOOOO PQRST QRST RST ST T"
)
