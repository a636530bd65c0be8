"""GraphDefs across: TensorFlow imports what fastgraph wrote, and fastgraph what TensorFlow wrote; the results are equal.

    PEER_TENSORFLOW=/path/to/its/python python -m tests.oracle.graph_defs

Each case is a function; one package traces, runs and writes it, the other
imports its GraphDef and runs it on the same arguments.
"""

from __future__ import annotations

import argparse
import importlib
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tests.oracle import processes, small_graphs

Case = tuple[str, Callable[..., Any], list[np.ndarray], Any]


def cases(tf: Any) -> Iterator[Case]:
    """Yield (name, function, arguments, specs or None for unknown first dimensions)."""
    rng = np.random.default_rng(0)

    def a(*shape: int) -> np.ndarray:
        return rng.normal(size=shape).astype(np.float32)

    w1, b1, w2, b2 = (tf.Variable(each) for each in (a(5, 7), a(7), a(7, 3), a(3)))
    yield "mlp", lambda x: tf.nn.softmax(tf.matmul(tf.nn.relu(tf.matmul(x, w1) + b1), w2) + b2), [a(4, 5)], None

    k1, k2, dense = tf.constant(a(3, 3, 2, 4)), tf.constant(a(3, 3, 4, 8)), tf.constant(a(8, 3))

    def convnet(x: Any) -> Any:
        h = tf.nn.max_pool2d(tf.nn.relu(tf.nn.conv2d(x, k1, 1, "SAME")), 2, 2, "VALID")
        h = tf.nn.bias_add(tf.nn.conv2d(h, k2, [1, 2, 2, 1], "SAME"), tf.range(8, dtype=tf.float32))
        h = tf.nn.avg_pool2d(tf.nn.relu(h), 2, 1, "SAME")
        return tf.matmul(tf.reduce_mean(h, axis=[1, 2]), dense)

    yield "convnet", convnet, [a(2, 8, 8, 2)], None

    wq, wk, wv, wo = (tf.constant(a(8, 8)) for _ in range(4))
    gain, shift = tf.constant(a(8)), tf.constant(a(8))

    def attention(x: Any) -> Any:
        n, t = tf.shape(x)[0], tf.shape(x)[1]

        def heads(w: Any) -> Any:
            return tf.transpose(tf.reshape(tf.tensordot(x, w, 1), [n, t, 2, 4]), [0, 2, 1, 3])

        scores = tf.matmul(heads(wq), heads(wk), transpose_b=True) / tf.sqrt(4.0)
        mask = tf.linalg.band_part(tf.ones([t, t]), -1, 0)
        weights = tf.nn.softmax(tf.where(mask > 0.0, scores, -1e9))
        mixed = tf.reshape(tf.transpose(tf.matmul(weights, heads(wv)), [0, 2, 1, 3]), [n, t, 8])
        y = x + tf.einsum("ntd,de->nte", mixed, wo)
        mean = tf.reduce_mean(y, -1, keepdims=True)
        variance = tf.reduce_mean(tf.square(y - mean), -1, keepdims=True)
        return tf.nn.gelu((y - mean) * tf.math.rsqrt(variance + 1e-5) * gain + shift)

    yield "attention", attention, [a(2, 5, 8)], None

    def branches(x: Any, y: Any) -> Any:
        return tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * y, lambda: tf.abs(x) - y) + 1.0

    yield "cond, true", branches, [np.abs(a(3)), a(3)], None
    yield "cond, false", branches, [-np.abs(a(3)), a(3)], None

    def nested(x: Any, y: Any) -> Any:
        inner = lambda: tf.cond(tf.reduce_sum(y) > 0.0, lambda: x * y, lambda: y)
        return tf.cond(tf.reduce_sum(x) > 0.0, inner, lambda: tf.stack([x, y])[0])

    threes = [tf.TensorSpec([3])] * 2
    yield "cond in cond", nested, [np.abs(a(3)), a(3)], threes

    def loop(x: Any, y: Any) -> Any:
        return tf.while_loop(
            lambda x, i: tf.reduce_sum(tf.abs(x)) < 1000.0, lambda x, i: (x * 1.5 + y, i + 1), (x, tf.constant(0))
        )

    yield "while", loop, [a(3), a(3)], threes

    def loop_of_cond(x: Any, y: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            even = tf.equal(i % 2, 0)
            return i + 1, tf.cond(even, lambda: s + x * tf.cast(i, tf.float32), lambda: s - y)

        return tf.while_loop(lambda i, s: i < 5, body, (tf.constant(0), tf.zeros_like(x)))[1]

    yield "cond in while", loop_of_cond, [a(3), a(3)], threes

    inner = tf.function(lambda x: x * x + 1.0)
    yield "functions in a function", lambda x: inner(x) + inner(x * 2.0), [a(3)], None
    yield (
        "slices",
        lambda x: (
            x[:, 1:], x[..., tf.newaxis, ::-1], x[0, 1], x[tf.shape(x)[0] - 1], x[1 : tf.shape(x)[0]], x[:, -1],
            tf.slice(x, [1, 0], [2, -1]),
        ),
        [a(4, 3)],
        None,
    )  # fmt: skip
    yield (
        "shapes",
        lambda x: (
            tf.reshape(x, tf.stack([tf.shape(x)[1], -1])), tf.concat([x, x], -1), tf.stack([x, x], 1),
            tf.unstack(x, axis=1), tf.split(x, [1, 2], 1), tf.split(x, 3, 1), tf.tile(x, [2, 1]), tf.reverse(x, [1]),
            tf.pad(x, [[1, 1], [0, 2]]), tf.pad(x, [[1, 1], [0, 1]], "REFLECT"), tf.expand_dims(x, -1),
            tf.squeeze(x[None], 0), tf.broadcast_to(x[:1], [5, 3]), tf.gather(x, [0, 1], axis=1),
            tf.one_hot([0, 2], 3), tf.fill(tf.shape(x), 2.0), tf.range(tf.shape(x)[0]), tf.size(x), tf.rank(x),
            tf.zeros([2, 3]) + x[:2], tf.transpose(x), tf.ones_like(x), tf.linalg.matrix_transpose(x),
        ),
        [a(4, 3)],
        None,
    )  # fmt: skip
    yield (
        "reductions",
        lambda x: (
            tf.reduce_sum(x), tf.reduce_max(x, 1), tf.reduce_min(x, [0, 1]), tf.reduce_prod(x, 0, True),
            tf.argmax(x, 1), tf.argmin(x, 0), tf.math.top_k(x, 2), tf.cumsum(x, 1, reverse=True),
            tf.reduce_any(x > 0.0, 1), tf.reduce_all(x > -9.0), tf.reduce_logsumexp(x, 1), tf.math.l2_normalize(x, 1),
        ),
        [a(4, 3)],
        None,
    )  # fmt: skip
    yield (
        "elementwise",
        lambda x, y: (
            x + y, x - y, x * y, x / (y + 9.0), x // (y + 9.0), x % (y + 9.0), tf.maximum(x, y), tf.pow(tf.abs(x), y),
            tf.exp(x), tf.tanh(x), tf.sigmoid(x), tf.math.erf(x), tf.nn.elu(x), tf.nn.selu(x),
            tf.nn.leaky_relu(x, 0.1), tf.nn.relu6(x), tf.nn.softplus(x), tf.nn.log_softmax(x),
            tf.clip_by_value(x, -0.5, 0.5), tf.sign(x), tf.floor(x), tf.round(x), tf.logical_and(x > y, x > 0.0),
            tf.cast(x, tf.int32), tf.where(x > y, x, y), tf.math.squared_difference(x, y), tf.nn.silu(x),
            tf.add_n([x, y, x]),
        ),
        [a(4, 3), a(4, 3)],
        None,
    )  # fmt: skip
    yield "embedding", lambda i: tf.nn.embedding_lookup(wq, i), [np.array([1, 2, 1], np.int32)], None
    yield (
        "matrices", lambda x, y: (tf.matmul(x, y, transpose_b=True), tf.linalg.matvec(x, y[:, 0])),
        [a(2, 3, 4), a(2, 5, 4)], None,
    )  # fmt: skip

    yield from flow_cases(tf, a)
    yield from other_cases(tf, a)


def flow_cases(tf: Any, a: Callable[..., np.ndarray]) -> Iterator[Case]:
    """Yield cases with loops, lists, branches and functions."""
    three, matrix = [tf.TensorSpec([3])], [tf.TensorSpec([4, 3])]

    def at_most(x: Any) -> Any:
        return tf.while_loop(
            lambda i, x: tf.reduce_sum(x) < 1e6,
            lambda i, x: (i + 1, x * 2.0),
            (tf.constant(0), x),
            maximum_iterations=5,
        )

    yield "while with maximum_iterations", at_most, [np.abs(a(3))], three

    def nested_loops(x: Any) -> Any:
        def body(i: Any, s: Any) -> Any:
            inner = tf.while_loop(lambda j, t: j < i, lambda j, t: (j + 1, t + x), (tf.constant(0), s))
            return i + 1, inner[1] * 0.5

        return tf.while_loop(lambda i, s: i < 4, body, (tf.constant(0), x))[1]

    yield "while in while", nested_loops, [a(3)], three

    def written_in_turn(x: Any) -> Any:
        ta = tf.TensorArray(tf.float32, size=4, element_shape=[3])
        ta = tf.while_loop(
            lambda i, ta: i < 4, lambda i, ta: (i + 1, ta.write(i, x * tf.cast(i, tf.float32))), (tf.constant(0), ta)
        )[1]
        return ta.stack(), ta.read(2), ta.size(), ta.concat()

    yield "TensorArray in while", written_in_turn, [a(3)], three

    def unknown_elements(x: Any) -> Any:
        ta = tf.TensorArray(tf.float32, size=3)
        ta = ta.write(1, x).write(0, x * 2.0).write(2, x - 1.0)
        return ta.stack(), ta.read(1), ta.gather([2, 0])

    yield "TensorArray written in any order", unknown_elements, [a(3)], three

    def growing(x: Any) -> Any:
        ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True, element_shape=[3])
        for i in range(5):
            ta = ta.write(i, x + float(i))
        return ta.stack(), ta.size()

    yield "TensorArray that grows", growing, [a(3)], three

    def of_many_lengths(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            ta = tf.TensorArray(tf.float32, size=0, dynamic_size=True, infer_shape=False)
            for i in tf.range(3):
                ta = ta.write(i, tf.tile(x, [i + 1]) * tf.cast(i, tf.float32))
            joined = ta.concat()
        return joined, tape.gradient(joined, x)

    if "tensorflow" not in tf.__name__:  # lists of entries of many lengths are not imported here
        yield "TensorArray of entries of many lengths, and its gradient", of_many_lengths, [a(3)], three
    yield (
        "TensorArray unstacked",
        lambda x: (tf.TensorArray(tf.float32, 4).unstack(x).read(1), tf.TensorArray(tf.float32, 4).unstack(x).stack()),
        [a(4, 3)], matrix,
    )  # fmt: skip
    yield "map_fn", lambda x: tf.map_fn(lambda row: tf.reduce_sum(row * row), x), [a(4, 3)], matrix
    yield (
        "map_fn of two",
        lambda x, y: tf.map_fn(lambda p: (p[0] * p[1], p[0]), (x, y)),
        [a(4, 3), a(4, 3)],
        matrix * 2,
    )
    yield "scan", lambda x: tf.scan(lambda s, row: s * 0.5 + row, x), [a(4, 3)], matrix
    yield "foldl", lambda x: tf.foldl(lambda s, row: s * 0.5 + row, x), [a(4, 3)], matrix

    def switch(i: Any, x: Any) -> Any:
        return tf.switch_case(i, [lambda: x, lambda: x * 2.0, lambda: tf.cond(x[0] > 0.0, lambda: -x, lambda: x + 1.0)])

    for i in range(4):
        specs = [tf.TensorSpec([], tf.int32), *three]
        yield f"switch_case, {i}", switch, [np.array(i, np.int32), a(3)], specs
    yield (
        "case",
        lambda x: tf.case([(x[0] > 2.0, lambda: x * 3.0), (x[1] > -9.0, lambda: x - 1.0)], default=lambda: x),
        [a(3)], three,
    )  # fmt: skip

    yield "sorted", lambda x: (tf.sort(x), tf.argsort(x, direction="DESCENDING")), [a(4, 3)], matrix
    yield "bounds", lambda x, y: tf.searchsorted(tf.sort(x), y), [a(4), a(3)], [tf.TensorSpec([4]), tf.TensorSpec([3])]
    yield "eye", lambda x: x @ tf.eye(3) + tf.eye(3, 3)[0], [a(4, 3)], matrix

    one = tf.function(lambda x: tf.nn.relu(x) * 2.0)
    two = tf.function(lambda x, y: one(x) + one(y) * tf.cond(tf.reduce_sum(x) > 0.0, lambda: one(x), lambda: y))
    yield "functions in functions", lambda x: two(x, x + 1.0) - one(x), [a(3)], three

    w, b = tf.Variable(a(3, 2)), tf.Variable(a(2))

    def gradients(x: Any) -> Any:
        with tf.GradientTape() as tape:
            y = tf.nn.softmax(tf.nn.relu(tf.matmul(x, w) + b))
            loss = tf.reduce_mean(tf.square(y - 0.5))
        return [loss, *tape.gradient(loss, [w, b])]

    yield "gradients", gradients, [a(4, 3)], None
    yield "gradients, known shapes", gradients, [a(4, 3)], matrix

    def of_loop(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.sin(y) * x), (tf.constant(0), x))[1]
        return tape.gradient(y, x)

    yield "gradient of a loop", of_loop, [a(3)], three

    def of_branch(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.cond(tf.reduce_sum(x) > 0.0, lambda: x * x, lambda: tf.sin(x))
        return tape.gradient(y, x)

    def of_slices(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x[1:, ::2] ** 2) + tf.reduce_sum(x[0] * x[..., -1:][0]) + x[tf.shape(x)[0] - 1, 1]
        return tape.gradient(y, x)

    yield "gradient of slices", of_slices, [a(4, 3)], matrix

    def of_columns(x: Any) -> Any:
        return tf.gradients(tf.gather(x, [0, 2, 0], axis=1) ** 2.0 + tf.gather(x, [[1, 0, 1]], axis=-1)[:, 0], x)[0]

    yield "gradient of columns, unknown shapes", of_columns, [a(4, 3)], [tf.TensorSpec([None, None])]
    yield "gradient of columns", of_columns, [a(4, 3)], matrix
    yield "gradient of a branch", of_branch, [a(3)], three


def other_cases(tf: Any, a: Callable[..., np.ndarray]) -> Iterator[Case]:
    """Yield cases with strings and with random numbers of given seeds."""
    strings = tf.TensorSpec([3], tf.string)
    yield (
        "strings",
        lambda s: (
            tf.strings.upper(s), tf.strings.length(s), tf.strings.join([s, s], "-"), s + "!", tf.equal(s, "a"),
            tf.strings.as_string(tf.strings.length(s)), tf.concat([s, s], 0), s[1:], tf.strings.lower(s),
            tf.strings.to_number(tf.strings.as_string(tf.strings.length(s))), tf.where(s == "a", s, "z"),
            tf.strings.reduce_join(s), tf.strings.format("{} and {}", [s, tf.size(s)]), tf.strings.split(s, "B").flat_values,
            tf.strings.bytes_split(s).row_splits,
        ),
        [np.array([b"a", b"Bc", b""], object)], [strings],
    )  # fmt: skip
    yield (
        "stateless random",
        lambda x: (
            x, tf.random.stateless_uniform([2, 3], [1, 2]), tf.random.stateless_uniform(tf.shape(x), [5, 2], -1.0, 3.0),
            tf.random.stateless_normal([5], [7, 8]),
        ),
        [a(3)], [tf.TensorSpec([3])],
    )  # fmt: skip
    yield (
        "seeded random",
        lambda x: (x, tf.random.uniform([5], seed=3), tf.random.normal(tf.shape(x), seed=4), tf.random.shuffle([1], 4)),
        [a(3)], [tf.TensorSpec([3])],
    )  # fmt: skip
    generator = tf.random.Generator.from_seed(3)
    yield (
        "random numbers of a Variable",
        lambda x: (generator.uniform([3]), generator.normal(tf.shape(x)), generator.uniform([2], 1, 9, tf.int32)),
        [a(3)], None,
    )  # fmt: skip
    matrix = [tf.TensorSpec([None, None])]
    numbers = [tf.TensorSpec([4, 3]), tf.TensorSpec([], tf.int32), tf.TensorSpec([2, 2], tf.int32)]
    yield (
        "integers that only a call knows",
        lambda x, n, p: (tf.pad(x, p), tf.math.top_k(x, n), tf.linalg.band_part(x, n, n), tf.tile(x, [1, n])),
        [a(4, 3), np.array(2, np.int32), np.array([[1, 0], [0, 2]], np.int32)], numbers,
    )  # fmt: skip
    yield "masks", lambda x: (tf.boolean_mask(x, x > 0.0), tf.boolean_mask(x, x[:, 0] > 0.0)), [a(4, 3)], matrix
    yield (
        "Fourier transforms",
        lambda x: (
            tf.signal.rfft(x), tf.signal.rfft2d(x), tf.signal.irfft(tf.signal.rfft(x)), tf.signal.rfft(x, [3]),
            tf.signal.irfft2d(tf.signal.rfft2d(x)), tf.signal.fft(tf.cast(x, tf.complex64)),
            tf.signal.ifft2d(tf.cast(x, tf.complex64)), tf.signal.rfft(x, [9]),
        ),
        [a(4, 6)], [tf.TensorSpec([4, 6])],
    )  # fmt: skip

    def of_transforms(x: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.abs(tf.signal.rfft(x))) + tf.reduce_sum(tf.boolean_mask(x, x > 0.0) ** 2.0)
            y += tf.reduce_sum(tf.abs(tf.signal.ifft(tf.cast(x, tf.complex64)))) + tf.reduce_sum(
                tf.signal.irfft(tf.cast(x, tf.complex64)) ** 2.0
            )
        return tape.gradient(y, x)

    yield "gradient of transforms", of_transforms, [a(4, 6)], [tf.TensorSpec([4, 6])]


# ---------------------------------------------------------------------------------------------------------------------
# One side writes


def written(tf: Any, ours: bool) -> dict[str, Any]:
    """Return for each case its GraphDef, arguments and Variables by tensors' names, the outputs' names and values."""
    found = {}
    for name, function, arrays, specs in [*cases(tf), *small_graphs.cases(tf)]:
        if name in small_graphs.NOT_ACROSS:
            continue
        if specs is None:
            specs = [tf.TensorSpec([None, *x.shape[1:]], tf.as_dtype(x.dtype)) for x in arrays]
        concrete = tf.function(function).get_concrete_function(*specs)
        feeds = {tensor.name: x for tensor, x in zip(concrete.inputs, arrays, strict=False)}
        variables = {}
        for outer, inner_name in _captures(tf, concrete, ours):  # before the call, which may assign
            (variables if isinstance(outer, tf.Variable) else feeds)[inner_name] = outer.numpy()
        results = [_array(each.numpy()) for each in tf.nest.flatten(concrete(*[tf.constant(x) for x in arrays]))]
        names = [tensor.name for tensor in concrete.outputs]
        definition = concrete.graph.as_graph_def().SerializeToString()
        found[name] = definition, feeds, variables, names, results
    return found


def _array(value: Any) -> np.ndarray:
    """A result as an array; strings are objects."""
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)


def _captures(tf: Any, concrete: Any, ours: bool) -> Iterator[tuple[Any, str]]:
    """Yield each tensor or Variable that a function uses, and the name of its placeholder."""
    if ours:
        for held, value in concrete.graph.ir.captures:
            if isinstance(held, tf.Tensor):
                yield held, value.name
            elif held().variable is not None:  # else the generator of a random op, which draws by itself there
                yield held().variable(), value.name
    else:
        for held, inner in concrete.graph.captures:
            variable = next((each for each in concrete.variables if each.handle is held), None)
            yield (held if variable is None else variable), inner.name


# ---------------------------------------------------------------------------------------------------------------------
# The other side reads


def imported(tf: Any, ours: bool, found: dict[str, Any]) -> int:
    """Import and run each case; print what differs and return how many do."""
    n_bad = 0
    for name, (definition, feeds, variables, outputs, expected) in found.items():
        try:
            results = _run(tf, ours, definition, feeds, variables, outputs)
            assert len(results) == len(expected), (len(results), len(expected))
            for result, wanted in zip(map(_array, results), expected, strict=True):
                assert result.dtype == wanted.dtype, (result.dtype, wanted.dtype)
                if wanted.dtype == object:
                    np.testing.assert_array_equal(result, wanted)
                else:
                    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)
        except Exception as error:
            n_bad += 1
            print(f"  {name}: {type(error).__name__}: {str(error)[:2000]}")
        else:
            print(f"  {name}: {len(expected)} equal")
    return n_bad


def _run(tf: Any, ours: bool, definition: bytes, feeds: dict[str, Any], variables: dict[str, Any], outputs: Any) -> Any:
    graph_def: Any = definition
    if not ours:
        graph_def = tf.compat.v1.GraphDef.FromString(definition)
    made = {key: tf.Variable(value) for key, value in variables.items()}
    constants = _constants(definition)
    feeds = {key: value for key, value in feeds.items() if key not in constants}

    def run(*tensors: Any) -> Any:
        given = dict(zip(feeds, tensors, strict=True))
        given |= made if ours else {key: tf.convert_to_tensor(each.handle) for key, each in made.items()}
        return tf.graph_util.import_graph_def(graph_def, input_map=given, return_elements=outputs, name="")

    arguments = [tf.constant(value) for value in feeds.values()]
    if ours:
        return [each.numpy() for each in tf.function(run)(*arguments)]
    specs = [tf.TensorSpec(value.shape, value.dtype) for value in arguments]
    return [each.numpy() for each in tf.compat.v1.wrap_function(run, specs)(*arguments)]


def _constants(definition: bytes) -> set[str]:
    """The captured tensors that were written as constants: these need not be given."""
    from fastgraph.graphdef.messages import GraphDef

    return {f"{node.name}:0" for node in GraphDef.FromString(definition).node if node.op == "Const"}


# ---------------------------------------------------------------------------------------------------------------------
# Signatures


def wrong_signatures() -> int:
    """Compare the table of signatures with TensorFlow's registry; print what differs and return how many do."""
    from tensorflow.python.framework import op_def_registry

    from fastgraph.graphdef.op_table import signatures

    n_bad = 0
    for op, signature in signatures().items():
        there = op_def_registry.get(op)
        same = (
            there is not None
            and [_argument(each) for each in there.input_arg] == [tuple(each) for each in signature.inputs]
            and [_argument(each) for each in there.output_arg] == [tuple(each) for each in signature.outputs]
            and {each.name: _default(each) for each in there.attr}
            == {name: _text(default) for name, (_, default) in signature.attrs.items()}
        )
        if not same:
            n_bad += 1
            print(f"  {op}: {signature} is not {there}")
    print(f"  {len(signatures()) - n_bad} signatures equal")
    return n_bad


def _argument(there: Any) -> tuple[str, str, str | None]:
    import tensorflow as tf

    kind = there.type_list_attr or there.type_attr or tf.dtypes.as_dtype(there.type).name
    return there.name, kind, "*" if there.type_list_attr else there.number_attr or None


def _default(there: Any) -> str:
    import tensorflow as tf

    kind = there.default_value.WhichOneof("value")
    if kind is None:
        return "None"
    value = getattr(there.default_value, kind)
    if kind == "type":
        return tf.dtypes.as_dtype(value).name
    if kind == "list":
        items = [*value.s, *value.i, *value.f, *value.b]
        return str([item.decode() if isinstance(item, bytes) else item for item in items])
    if kind == "shape":
        return "unknown" if value.unknown_rank else str(len(value.dim))
    return value.decode() if kind == "s" else f"{value:.6g}" if kind == "f" else str(value)


def _text(default: Any) -> str:
    from fastgraph.core.base.dtype import DType
    from fastgraph.graphdef.op_table import Dims

    if isinstance(default, DType):
        return default.name
    if isinstance(default, Dims):
        return "unknown" if default.shape is None else str(len(default.shape))
    return f"{default:.6g}" if isinstance(default, float) else str(default)


def main(given: list[str] | None = None) -> int:
    """Run both directions; return how many cases differ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--side", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args(given)
    if arguments.side:
        module, what, path = arguments.side
        tf, ours = importlib.import_module(module), module == "fastgraph"
        if what == "write":
            with open(path, "wb") as file:
                pickle.dump(written(tf, ours), file)
            return 0
        if what == "signatures":
            return wrong_signatures()
        with open(path, "rb") as file:
            return imported(tf, ours, pickle.load(file))
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": os.getcwd()}
    sides = {"fastgraph": sys.executable, "tensorflow": processes.tensorflow_python()}
    n_bad = 0
    with tempfile.TemporaryDirectory() as folder:
        for writer, reader in (("fastgraph", "tensorflow"), ("tensorflow", "fastgraph")):
            print(f"written by {writer}, imported by {reader}")
            path = os.path.join(folder, writer)
            for module, what in ((writer, "write"), (reader, "read")):
                command = [sides[module], "-m", "tests.oracle.graph_defs", "--side", module, what, path]
                status = subprocess.run(command, env=environment).returncode
                if what == "write" and status:
                    return 1
                n_bad += status
    print("signatures")
    command = [sides["tensorflow"], "-m", "tests.oracle.graph_defs", "--side", "tensorflow", "signatures", ""]
    return n_bad + subprocess.run(command, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
