"""Programs that make objects to save as SavedModels: each takes the library, TensorFlow's `tf` or fastgraph's.

Rule: a case gives the object and calls of it, as (path of what is called, positional arguments, keywords); what these
give is the oracle's to say. Weights come from a seed, so that both libraries make the same object.
"""

from __future__ import annotations

import collections
import os
import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """What a program gives: the object, calls, its signatures, and the Variables whose gradients are asked for."""

    root: Any
    calls: list[tuple[Any, ...]]
    signatures: Any = None
    gradients: tuple[str, ...] = ()


CASES: dict[str, Callable[[Any], Case]] = {}
#: Cases of Keras, which is the oracle's own: by name.
KERAS: dict[str, Callable[[Any], Case]] = {}
#: Cases of datasets, which are read here and not written: by name.
DATASETS: dict[str, Callable[[Any], Case]] = {}


def case(function: Callable[[Any], Case]) -> Callable[[Any], Case]:
    """Enter a case under the function's name."""
    CASES[function.__name__] = function
    return function


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    """Return numbers around zero: f32[*shape]."""
    return np.random.RandomState(seed + len(shape)).randn(*shape).astype(np.float32)


Point = collections.namedtuple("Point", "x y")


def spec(tf: Any, shape: Any = None, dtype: str = "float32", name: str | None = None) -> Any:
    """Return a TensorSpec."""
    return tf.TensorSpec(shape, dtype, name)


def holder(tf: Any, **attributes: Any) -> Any:
    """Return a Module with these attributes."""
    module = tf.Module()
    for name, value in attributes.items():
        setattr(module, name, value)
    return module


def simple(tf: Any, function: Any, specs: Any, *calls: Any, **attributes: Any) -> Case:
    """A Module with one function `f` of a signature, called with each of `calls`."""
    traced = tf.function(function, input_signature=specs)
    return Case(holder(tf, f=traced, **attributes), [("f", list(args)) for args in calls])


# ---- arithmetic, Variables ------------------------------------------------------------------------------------------


@case
def affine(tf: Any) -> Case:
    w, b = tf.Variable(floats(3, 2), name="w"), tf.Variable(floats(2), name="b")
    found = simple(tf, lambda x: tf.matmul(x, w) + b, [spec(tf, [None, 3])], (floats(4, 3),), (floats(1, 3),), w=w, b=b)
    return Case(found.root, found.calls, None, ("w", "b"))


@case
def polynomial(tf: Any) -> Case:
    return simple(tf, lambda x: 3.0 * x**3 - 2.0 * x + 1.0, [spec(tf, [])], (np.float32(2.5),), (np.float32(-1),))


@case
def several_traces(tf: Any) -> Case:
    @tf.function
    def f(x: Any, power: int = 2, negate: bool = False) -> Any:
        y = x**power
        return -y if negate else y

    f.get_concrete_function(spec(tf, [None]))
    f.get_concrete_function(spec(tf, [None]), 3)
    f.get_concrete_function(spec(tf, [None]), 3, negate=True)
    f.get_concrete_function(spec(tf, [], "int32"), 2)
    x = floats(4)
    return Case(
        holder(tf, f=f),
        [("f", [x]), ("f", [x, 3]), ("f", [x, 3], {"negate": True}), ("f", [np.int32(7), 2])],
    )


@case
def unknown_rank(tf: Any) -> Case:
    return simple(tf, lambda x: tf.reduce_sum(x * x) + x, [spec(tf, None)], (floats(2, 3),), (floats(5),))


@case
def counter(tf: Any) -> Case:
    class Counter(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.n = tf.Variable(0, dtype="int64")

        @tf.function(input_signature=[tf.TensorSpec([], "int64")])
        def add(self, k: Any) -> Any:
            self.n.assign_add(k)
            return self.n.read_value()

    return Case(Counter(), [("add", [np.int64(2)]), ("add", [np.int64(40)])])


@case
def assigns(tf: Any) -> Case:
    v = tf.Variable(floats(3))

    def f(x: Any) -> Any:
        before = v.read_value()
        v.assign(x)
        v.assign_sub(before)
        return v.read_value() + before

    return simple(tf, f, [spec(tf, [3])], (floats(3, seed=1),), (floats(3, seed=2),), v=v)


@case
def growing_variable(tf: Any) -> Case:
    v = tf.Variable([1.0], shape=[None])

    def f(x: Any) -> Any:
        v.assign(tf.concat([v, x], 0))
        return tf.reduce_sum(v), tf.size(v)

    return simple(tf, f, [spec(tf, [None])], (floats(2),), (floats(3),), v=v)


@case
def dtypes_of_variables(tf: Any) -> Case:
    names = (
        "float16",
        "bfloat16",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "bool",
        "complex64",
    )
    all_of_them = [tf.Variable(tf.cast(tf.constant([1, 0, 3]), name), name=name) for name in names]
    words = tf.Variable([b"one", b"", b"three"], dtype=tf.string)

    @tf.function(input_signature=[])
    def f() -> Any:
        return [
            tf.cast(v, tf.float64) if v.dtype != tf.complex64 else tf.math.real(v) for v in all_of_them
        ], words + "!"

    return Case(holder(tf, f=f, all_of_them=all_of_them, words=words), [("f", [])])


@case
def nested_modules(tf: Any) -> Case:
    class Dense(tf.Module):
        def __init__(self, n: int, m: int, seed: int) -> None:
            super().__init__()
            self.w = tf.Variable(floats(n, m, seed=seed))
            self.b = tf.Variable(tf.zeros([m]), trainable=False)

        def __call__(self, x: Any) -> Any:
            return tf.nn.relu(x @ self.w + self.b)

    class Net(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [Dense(3, 4, 1), Dense(4, 2, 2)]
            self.named = {"last": Dense(2, 2, 3)}

        @tf.function(input_signature=[tf.TensorSpec([None, 3], "float32")])
        def __call__(self, x: Any) -> Any:
            for layer in self.layers:
                x = layer(x)
            return self.named["last"](x)

    return Case(Net(), [("__call__", [floats(5, 3)])], None, ("layers/0/w", "named/last/w"))


@case
def captured_constants(tf: Any) -> Case:
    small, large = tf.constant(floats(3)), tf.constant(floats(20, 20))
    return simple(tf, lambda x: (x + small, tf.reduce_sum(x[0] * large)), [spec(tf, [3])], (floats(3, seed=5),))


@case
def structures(tf: Any) -> Case:
    @tf.function
    def f(pair: Any, table: Any, *rest: Any, scale: Any = 2.0) -> Any:
        return {"sum": pair[0] + pair[1], "rest": [r * scale for r in rest], "point": Point(table["a"], table["b"] * 2)}

    a = spec(tf, [2])
    f.get_concrete_function((a, a), {"a": a, "b": a}, a, a)
    f.get_concrete_function((a, a), {"a": a, "b": a}, a, scale=spec(tf, []))
    x, y = floats(2), floats(2, seed=3)
    return Case(
        holder(tf, f=f),
        [("f", [(x, y), {"a": x, "b": y}, x, y]), ("f", [(x, y), {"a": x, "b": y}, x], {"scale": np.float32(3)})],
    )


@case
def named_tuples(tf: Any) -> Case:
    @tf.function
    def f(p: Any) -> Any:
        return Point(p.y, p.x + 1)

    f.get_concrete_function(Point(spec(tf, [2]), spec(tf, [])))
    return Case(holder(tf, f=f), [("f", [Point(floats(2), np.float32(4))])])


@case
def no_arguments(tf: Any) -> Case:
    return simple(tf, lambda: tf.range(5) * 2, [], ())


@case
def none_result(tf: Any) -> Case:
    v = tf.Variable(1.0)

    def f(x: Any) -> None:
        v.assign(x)

    traced = tf.function(f, input_signature=[spec(tf, [])])
    read = tf.function(lambda: v * 2.0, input_signature=[])
    return Case(holder(tf, f=traced, read=read, v=v), [("f", [np.float32(5)]), ("read", [])])


@case
def signatures(tf: Any) -> Case:
    w = tf.Variable(2.0)

    @tf.function(input_signature=[spec(tf, [None], name="x"), spec(tf, [None], name="y")])
    def both(x: Any, y: Any) -> Any:
        return {"sum": w * x + y, "product": x * y}

    @tf.function(input_signature=[spec(tf, [None], name="x")])
    def one(x: Any) -> Any:
        return x * w, x + w

    x, y = floats(3), floats(3, seed=1)
    return Case(
        holder(tf, w=w, both=both),
        [("signatures/serving_default", [], {"x": x, "y": y}), ("signatures/one", [], {"x": x})],
        {"serving_default": both, "one": one},
    )


@case
def only_signature(tf: Any) -> Case:
    f = tf.function(lambda inputs: tf.nn.softmax(inputs))
    return Case(
        holder(tf),
        [("signatures/serving_default", [], {"inputs": floats(2, 3)})],
        f.get_concrete_function(spec(tf, [None, 3], name="inputs")),
    )


@case
def calls_of_functions(tf: Any) -> Case:
    w = tf.Variable(floats(3))

    @tf.function
    def inner(x: Any, k: int) -> Any:
        return x * w + k

    @tf.function(input_signature=[spec(tf, [3])])
    def f(x: Any) -> Any:
        return inner(inner(x, 1), 2) + inner(x, 1)

    return Case(holder(tf, f=f, inner=inner, w=w), [("f", [floats(3)])], None, ("w",))


@case
def input_signature_casts(tf: Any) -> Case:
    return simple(tf, lambda x, k: x * k, [spec(tf, [None]), spec(tf, [], "float32")], (floats(3), np.float32(2)))


# ---- control flow ---------------------------------------------------------------------------------------------------


@case
def branches(tf: Any) -> Case:
    @tf.function(input_signature=[spec(tf, [])])
    def f(x: Any) -> Any:
        if x > 1.0:
            y = x * 2.0
        elif x > 0.0:
            y = x - 10.0
        else:
            y = -x
        return y

    return Case(holder(tf, f=f), [("f", [np.float32(each)]) for each in (2, 0.5, -3)])


@case
def while_loop(tf: Any) -> Case:
    @tf.function(input_signature=[spec(tf, [], "int32")])
    def f(n: Any) -> Any:
        a, b = 0, 1
        while a < n:
            a, b = b, a + b
        return a

    return Case(holder(tf, f=f), [("f", [np.int32(100)]), ("f", [np.int32(0)])])


@case
def for_over_rows(tf: Any) -> Case:
    w = tf.Variable(floats(3))

    @tf.function(input_signature=[spec(tf, [None, 3])])
    def f(x: Any) -> Any:
        total = tf.zeros([3])
        for row in x:
            if tf.reduce_sum(row) < 0.0:
                continue
            total += row * w
        return total

    return Case(holder(tf, f=f, w=w), [("f", [floats(5, 3)])])


@case
def early_return(tf: Any) -> Case:
    @tf.function(input_signature=[spec(tf, [None])])
    def f(x: Any) -> Any:
        found = -1
        for i in tf.range(tf.size(x)):
            if x[i] < 0.0:
                found = i
                break
        return found

    return Case(holder(tf, f=f), [("f", [np.float32([1, 2, -1])]), ("f", [np.float32([1])])])


@case
def loop_with_variable(tf: Any) -> Case:
    v = tf.Variable(0.0)

    @tf.function(input_signature=[spec(tf, [], "int32")])
    def f(n: Any) -> Any:
        for i in tf.range(n):
            v.assign_add(tf.cast(i, tf.float32))
        return v.read_value()

    return Case(holder(tf, f=f, v=v), [("f", [np.int32(4)]), ("f", [np.int32(3)])])


@case
def tensor_arrays(tf: Any) -> Case:
    @tf.function(input_signature=[spec(tf, [None, 2])])
    def f(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(tf.shape(x)[0]):
            rows = rows.write(i, x[i] * tf.cast(i, tf.float32))
        return rows.stack(), rows.size()

    return Case(holder(tf, f=f), [("f", [floats(4, 2)])])


@case
def tensor_array_fixed(tf: Any) -> Case:
    @tf.function(input_signature=[spec(tf, [4, 2])])
    def f(x: Any) -> Any:
        rows = tf.TensorArray(tf.float32, size=4, element_shape=[2]).unstack(x)
        out = tf.TensorArray(tf.float32, size=4)
        for i in tf.range(4):
            out = out.write(3 - i, rows.read(i) * 2.0)
        return out.concat(), out.gather([0, 2])

    return Case(holder(tf, f=f), [("f", [floats(4, 2)])])


@case
def switch_case(tf: Any) -> Case:
    def f(i: Any, x: Any) -> Any:
        return tf.switch_case(i, [lambda: x + 1.0, lambda: x * 2.0, lambda: -x])

    return simple(tf, f, [spec(tf, [], "int32"), spec(tf, [2])], *[(np.int32(i), floats(2)) for i in (0, 1, 2, 7)])


@case
def scan_and_map(tf: Any) -> Case:
    def f(x: Any) -> Any:
        return tf.scan(lambda a, b: a + b, x), tf.map_fn(lambda row: row * row, x), tf.foldl(lambda a, b: a * b, x)

    return simple(tf, f, [spec(tf, [None, 2])], (floats(4, 2),))


@case
def assertions(tf: Any) -> Case:
    def f(x: Any) -> Any:
        tf.debugging.assert_greater(x, 0.0, message="x must be positive")
        with tf.control_dependencies([tf.debugging.assert_less(x, 100.0)]):
            return tf.sqrt(x)

    return simple(tf, f, [spec(tf, [None])], (np.float32([1, 4]),))


# ---- shapes, movement -----------------------------------------------------------------------------------------------


@case
def movement(tf: Any) -> Case:
    def f(x: Any) -> Any:
        y = tf.transpose(tf.reshape(x, [2, 3, -1]), [1, 0, 2])
        return y, tf.concat([y, y], 2), tf.stack([y, -y]), y[:, ::-1, tf.newaxis, 1:], tf.tile(y, [1, 2, 1])

    return simple(tf, f, [spec(tf, [None])], (floats(24),))


@case
def dynamic_shapes(tf: Any) -> Case:
    def f(x: Any, n: Any) -> Any:
        shape = tf.shape(x)
        y = tf.reshape(x, [shape[0] * shape[1]])
        return y[:n], tf.broadcast_to(x[0, 0], [n, 2]), tf.pad(x, [[1, n], [0, 0]]), tf.one_hot(n, shape[1])

    return simple(tf, f, [spec(tf, [None, None]), spec(tf, [], "int32")], (floats(3, 4), np.int32(2)))


@case
def gathers(tf: Any) -> Case:
    def f(x: Any, i: Any) -> Any:
        return (
            tf.gather(x, i), tf.gather(x, i, axis=1), tf.gather_nd(x, i[:, None]), tf.boolean_mask(x, x[:, 0] > 0.0),
            tf.where(x > 0.0, x, 0.0), tf.where(x[:, 0] > 0.0), tf.tensor_scatter_nd_add(x, i[:, None], x[:2]),
        )  # fmt: skip

    return simple(tf, f, [spec(tf, [4, 3]), spec(tf, [2], "int32")], (floats(4, 3), np.int32([0, 2])))


@case
def reductions(tf: Any) -> Case:
    def f(x: Any) -> Any:
        return (
            tf.reduce_sum(x, 0), tf.reduce_mean(x, -1, keepdims=True), tf.reduce_max(x), tf.reduce_prod(x, [0, 1]),
            tf.argmax(x, 1), tf.reduce_any(x > 0.0, 1), tf.cumsum(x, 1, reverse=True), tf.math.top_k(x, 2),
            tf.math.reduce_std(x, 0), tf.reduce_logsumexp(x, 1), tf.sort(x, 1), tf.linalg.norm(x),
        )  # fmt: skip

    return simple(tf, f, [spec(tf, [None, 4])], (floats(3, 4),))


@case
def linear_algebra(tf: Any) -> Case:
    def f(x: Any) -> Any:
        a = x @ tf.transpose(x) + 5.0 * tf.eye(3)
        return (
            tf.linalg.inv(a), tf.linalg.cholesky(a), tf.linalg.solve(a, x), tf.linalg.det(a), tf.linalg.diag_part(a),
            tf.linalg.band_part(a, 0, 1), tf.einsum("ij,kj->ik", x, x), tf.linalg.trace(a), tf.linalg.diag(x[0]),
        )  # fmt: skip

    return simple(tf, f, [spec(tf, [3, 4])], (floats(3, 4),))


@case
def segments(tf: Any) -> Case:
    def f(x: Any, ids: Any) -> Any:
        return (
            tf.math.segment_sum(x, ids), tf.math.unsorted_segment_max(x, ids, 4), tf.math.bincount(ids, minlength=5),
            tf.unique(ids), tf.dynamic_partition(x, ids, 3), tf.math.unsorted_segment_mean(x, ids, 3),
        )  # fmt: skip

    return simple(tf, f, [spec(tf, [4, 2]), spec(tf, [4], "int32")], (floats(4, 2), np.int32([0, 0, 1, 2])))


@case
def bits_and_integers(tf: Any) -> Case:
    def f(x: Any, y: Any) -> Any:
        return tf.bitwise.bitwise_xor(x, y), x // y, x % y, tf.cast(x, tf.uint8), tf.bitcast(x, tf.float32), abs(x - y)

    return simple(tf, f, [spec(tf, [3], "int32")] * 2, (np.int32([5, -7, 300]), np.int32([2, 3, 7])))


@case
def complex_numbers(tf: Any) -> Case:
    def f(x: Any) -> Any:
        z = tf.complex(x, -x)
        return tf.abs(z), tf.math.conj(z), tf.signal.fft(z), tf.math.angle(z), tf.signal.irfft(tf.signal.rfft(x))

    return simple(tf, f, [spec(tf, [8])], (floats(8),))


# ---- strings, ragged and sparse tensors, tables ---------------------------------------------------------------------


@case
def strings(tf: Any) -> Case:
    def f(x: Any) -> Any:
        return (
            tf.strings.lower(x), tf.strings.length(x), tf.strings.join([x, x], "-"), tf.strings.substr(x, 0, 2),
            tf.strings.regex_replace(x, "[aeiou]", "_"), tf.strings.to_hash_bucket_fast(x, 10), x == "Ab c",
            tf.strings.strip(x), tf.strings.as_string(tf.strings.length(x)), tf.strings.reduce_join(x, separator="/"),
        )  # fmt: skip

    return simple(tf, f, [spec(tf, [None], "string")], (np.array([b"Ab c", b"", b" xyz "], object),))


@case
def split_strings(tf: Any) -> Case:
    def f(x: Any) -> Any:
        words = tf.strings.split(x)
        return words, words.row_lengths(), words.to_tensor("?")

    return simple(tf, f, [spec(tf, [None], "string")], (np.array([b"a bc d", b"", b"e"], object),))


@case
def numbers_in_strings(tf: Any) -> Case:
    def f(x: Any) -> Any:
        numbers = tf.strings.to_number(x)
        return numbers, tf.strings.format("{} of {}", [tf.size(x), numbers])

    return simple(tf, f, [spec(tf, [None], "string")], (np.array([b"1.5", b"-2"], object),))


@case
def ragged(tf: Any) -> Case:
    @tf.function
    def f(x: Any) -> Any:
        return x * 2.0, tf.reduce_sum(x, 1), x.to_tensor(-1.0), tf.concat([x, x], 1)

    f.get_concrete_function(tf.RaggedTensorSpec([None, None], tf.float32))
    return Case(holder(tf, f=f), [("f", [("ragged", floats(5), np.int64([0, 2, 2, 5]))])])


@case
def sparse(tf: Any) -> Case:
    @tf.function
    def f(x: Any, d: Any) -> Any:
        return tf.sparse.to_dense(x), tf.sparse.sparse_dense_matmul(x, d), x.dense_shape

    f.get_concrete_function(tf.SparseTensorSpec([None, 3], tf.float32), spec(tf, [3, 2]))
    x = ("sparse", np.int64([[0, 1], [1, 2]]), np.float32([1, 2]), np.int64([2, 3]))
    return Case(holder(tf, f=f), [("f", [x, floats(3, 2)])])


@case
def hash_table(tf: Any) -> Case:
    keys, values = tf.constant(["a", "b", "c"]), tf.constant([1, 2, 3], tf.int64)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
    words = np.array([b"b", b"z", b"a"], object)
    return simple(tf, lambda x: (table.lookup(x), table.size()), [spec(tf, [None], "string")], (words,), table=table)


@case
def vocabulary_table(tf: Any) -> Case:
    keys, values = tf.constant(["x", "y"]), tf.constant([0, 1], tf.int64)
    table = tf.lookup.StaticVocabularyTable(tf.lookup.KeyValueTensorInitializer(keys, values), 3)
    words = np.array([b"y", b"new", b"x"], object)
    return simple(tf, lambda x: table.lookup(x) * 2, [spec(tf, [None], "string")], (words,), table=table)


@case
def table_of_file(tf: Any) -> Case:
    path = os.path.join(tempfile.mkdtemp(), "words.txt")
    with open(path, "w") as file:
        file.write("red\ngreen\nblue\n")
    initializer = tf.lookup.TextFileInitializer(path, tf.string, -2, tf.int64, -1)
    table = tf.lookup.StaticHashTable(initializer, -1)
    words = np.array([b"blue", b"pink"], object)
    return simple(tf, lambda x: table.lookup(x), [spec(tf, [None], "string")], (words,), table=table)


@case
def table_of_numbers(tf: Any) -> Case:
    keys, values = tf.constant([10, 20], tf.int64), tf.constant([0.5, 1.5])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), 0.0)
    return simple(tf, lambda x: table.lookup(x), [spec(tf, [None], "int64")], (np.int64([20, 30]),), table=table)


@case
def mutable_table(tf: Any) -> Case:
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64))
    put = tf.function(
        lambda k, v: table.insert(k, v) and None,
        input_signature=[spec(tf, [None], "string"), spec(tf, [None], "int64")],
    )
    get = tf.function(lambda k: (table.lookup(k), table.size()), input_signature=[spec(tf, [None], "string")])
    words = np.array([b"b", b"c"], object)
    return Case(
        holder(tf, table=table, put=put, get=get),
        [("get", [words]), ("put", [words, np.int64([5, 6])]), ("get", [words])],
    )


# ---- networks -------------------------------------------------------------------------------------------------------


@case
def convolution(tf: Any) -> Case:
    w = tf.Variable(floats(3, 3, 2, 4))

    def f(x: Any) -> Any:
        y = tf.nn.relu(tf.nn.conv2d(x, w, 2, "SAME"))
        return tf.nn.max_pool2d(y, 2, 2, "VALID"), tf.nn.avg_pool2d(y, 2, 1, "SAME")

    found = simple(tf, f, [spec(tf, [None, 8, 8, 2])], (floats(1, 8, 8, 2),), w=w)
    return Case(found.root, found.calls, None, ("w",))


@case
def transposed_convolution(tf: Any) -> Case:
    w = tf.Variable(floats(3, 3, 4, 2))

    def f(x: Any) -> Any:
        n = tf.shape(x)[0]
        return tf.nn.conv2d_transpose(x, w, tf.stack([n, 8, 8, 4]), 2), tf.nn.depth_to_space(
            tf.tile(x, [1, 1, 1, 2]), 2
        )

    return simple(tf, f, [spec(tf, [None, 4, 4, 2])], (floats(2, 4, 4, 2),), w=w)


@case
def attention(tf: Any) -> Case:
    w = tf.Variable(floats(4, 12))

    def f(x: Any) -> Any:
        q, k, v = tf.split(x @ w, 3, -1)
        scores = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / 2.0)
        return tf.einsum("bij,bjd->bid", scores, v), tf.nn.gelu(x), tf.nn.silu(x)

    found = simple(tf, f, [spec(tf, [None, None, 4])], (floats(2, 3, 4),), w=w)
    return Case(found.root, found.calls, None, ("w",))


@case
def normalisation(tf: Any) -> Case:
    scale, offset = tf.Variable(tf.ones([3])), tf.Variable(floats(3))

    def f(x: Any) -> Any:
        mean, variance = tf.nn.moments(x, [0])
        y = tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)
        return y, tf.nn.l2_normalize(x, 1), tf.clip_by_value(x, -0.5, 0.5)

    return simple(tf, f, [spec(tf, [None, 3])], (floats(6, 3),), scale=scale, offset=offset)


@case
def embedding(tf: Any) -> Case:
    table = tf.Variable(floats(10, 4))
    found = simple(
        tf, lambda i: tf.nn.embedding_lookup(table, i), [spec(tf, [None, None], "int32")], (np.int32([[1, 2], [9, 0]]),),
        table=table,
    )  # fmt: skip
    return Case(found.root, found.calls, None, ("table",))


@case
def losses(tf: Any) -> Case:
    def f(x: Any, y: Any) -> Any:
        return (
            tf.nn.sparse_softmax_cross_entropy_with_logits(y, x), tf.nn.sigmoid_cross_entropy_with_logits(x * 0 + 1, x),
            tf.nn.log_softmax(x), tf.nn.softmax_cross_entropy_with_logits(tf.one_hot(y, 3), x), tf.nn.l2_loss(x),
        )  # fmt: skip

    return simple(tf, f, [spec(tf, [None, 3]), spec(tf, [None], "int32")], (floats(2, 3), np.int32([2, 0])))


@case
def training_step(tf: Any) -> Case:
    w = tf.Variable(floats(3, 1))

    @tf.function(input_signature=[spec(tf, [None, 3]), spec(tf, [None, 1])])
    def step(x: Any, y: Any) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((x @ w - y) ** 2)
        w.assign_sub(0.1 * tape.gradient(loss, w))
        return loss

    x, y = floats(8, 3), floats(8, 1, seed=4)
    return Case(holder(tf, step=step, w=w), [("step", [x, y])] * 3)


@case
def custom_gradients(tf: Any) -> Case:
    w = tf.Variable(2.0)

    @tf.custom_gradient
    def clipped(x: Any) -> Any:
        def grad(dy: Any) -> Any:
            return tf.clip_by_value(dy, -0.1, 0.1)

        return tf.identity(x), grad

    found = simple(tf, lambda x: clipped(x * w) * 3.0, [spec(tf, [3])], (floats(3),), w=w)
    return Case(found.root, found.calls, None, ("w",))


@case
def custom_gradients_inside(tf: Any) -> Case:
    w, b = tf.Variable(floats(3)), tf.Variable(floats(3, seed=9))

    @tf.custom_gradient
    def product(x: Any, y: Any) -> Any:
        inner = tf.exp(x) + y

        def grad(dy: Any) -> Any:
            return dy * inner, dy * 2.0

        return inner * x, grad

    @tf.function
    def called(x: Any) -> Any:
        return product(x * w, b)

    def f(x: Any) -> Any:
        return tf.cond(x[0] > 0.0, lambda: called(x) + w, lambda: called(-x) * 2.0)

    found = simple(tf, f, [spec(tf, [3])], (floats(3),), (-floats(3),), w=w, b=b)
    return Case(found.root, found.calls, None, ("w", "b"))


@case
def recurrent_cell(tf: Any) -> Case:
    w, u = tf.Variable(floats(2, 3)), tf.Variable(floats(3, 3) * 0.3)

    @tf.function(input_signature=[spec(tf, [None, None, 2])])
    def f(x: Any) -> Any:
        h = tf.zeros([tf.shape(x)[0], 3])
        for t in tf.range(tf.shape(x)[1]):
            h = tf.tanh(x[:, t] @ w + h @ u)
        return h

    return Case(holder(tf, f=f, w=w, u=u), [("f", [floats(2, 4, 2)])], None, ("w", "u"))


@case
def stateless_random(tf: Any) -> Case:
    def f(seed: Any) -> Any:
        return (
            tf.random.stateless_uniform([3], seed), tf.random.stateless_normal([2, 2], seed),
            tf.random.stateless_uniform([4], seed, 0, 10, tf.int32),
        )  # fmt: skip

    return simple(tf, f, [spec(tf, [2], "int32")], (np.int32([1, 2]),))


@case
def generator(tf: Any) -> Case:
    g = tf.random.Generator.from_seed(7, alg="philox")
    return simple(tf, lambda: g.uniform([3]), [], (), (), g=g)


@case
def pictures(tf: Any) -> Case:
    def f(x: Any) -> Any:
        return tf.image.resize(x, [4, 6]), tf.reverse(x, [2]), tf.image.rgb_to_grayscale(x)

    return simple(tf, f, [spec(tf, [None, 3, 5, 3])], (np.abs(floats(1, 3, 5, 3)),))


@case
def sequences(tf: Any) -> Case:
    def f(x: Any, n: Any) -> Any:
        return tf.sequence_mask(n, 5), tf.reverse_sequence(x, n, seq_axis=1), tf.roll(x, 1, 1), tf.repeat(x, 2, 0)

    return simple(tf, f, [spec(tf, [2, 5]), spec(tf, [2], "int32")], (floats(2, 5), np.int32([2, 4])))


@case
def special_functions(tf: Any) -> Case:
    def f(x: Any) -> Any:
        return (
            tf.math.erf(x), tf.math.lgamma(x), tf.math.digamma(x), tf.math.igamma(x, x), tf.math.xlogy(x, x),
            tf.math.log1p(x), tf.math.expm1(x), tf.nn.softplus(x), tf.nn.elu(x), tf.nn.selu(-x), tf.nn.leaky_relu(-x),
        )  # fmt: skip

    return simple(tf, f, [spec(tf, [None])], (np.float32([0.5, 1.5, 3]),))


@case
def printing(tf: Any) -> Case:
    def f(x: Any) -> Any:
        tf.print("x is", x, output_stream="file:///dev/null")
        return x + 1.0

    return simple(tf, f, [spec(tf, [])], (np.float32(1),))


@case
def lists_and_tuples(tf: Any) -> Case:
    parts = [tf.Variable(1.0), (tf.Variable(2.0), tf.Variable(3.0)), {"k": tf.Variable(4.0)}]

    def f(x: Any) -> Any:
        return x * parts[0] + parts[1][0] + parts[1][1] * parts[2]["k"]

    return simple(tf, f, [spec(tf, [])], (np.float32(2),), parts=parts)


@case
def shared_objects(tf: Any) -> Case:
    v = tf.Variable(3.0)
    one, other = holder(tf, v=v), holder(tf, v=v)

    @tf.function(input_signature=[spec(tf, [])])
    def set_it(x: Any) -> None:
        v.assign(x)

    get_it = tf.function(lambda: v * 1.0, input_signature=[])
    return Case(
        holder(tf, one=one, other=other, set_it=set_it, get_it=get_it),
        [("get_it", []), ("set_it", [np.float32(8)]), ("get_it", [])],
    )


@case
def method_of_class(tf: Any) -> Case:
    class Scale(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.factor = tf.Variable(3.0)

        @tf.function
        def scale(self, x: Any, twice: bool = False) -> Any:
            return x * self.factor * (2.0 if twice else 1.0)

    root = Scale()
    root.scale(tf.constant(1.0))
    root.scale(tf.constant(1.0), True)
    root.scale(tf.constant([1.0, 2.0]), twice=False)
    return Case(root, [("scale", [np.float32(2)]), ("scale", [np.float32(2), True]), ("scale", [floats(2)])])


@case
def quantised(tf: Any) -> Case:
    def f(x: Any) -> Any:
        return tf.quantization.fake_quant_with_min_max_vars(x, -1.0, 1.0, 4), tf.round(x * 8.0) / 8.0

    return simple(tf, f, [spec(tf, [None])], (floats(6),))


@case
def recursion_free_closure(tf: Any) -> Case:
    def make(k: float) -> Any:
        return tf.function(lambda x: x * k, input_signature=[spec(tf, [])])

    return Case(holder(tf, two=make(2.0), three=make(3.0)), [("two", [np.float32(5)]), ("three", [np.float32(5)])])
