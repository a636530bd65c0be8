"""Models of Keras 2 and 3 as cases of SavedModels: TensorFlow alone makes them.

Rule: as in saved_model_cases.py. Both versions of Keras have to be installed beside TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras as keras3  # type: ignore[import-not-found, unused-ignore]
import numpy as np
import tensorflow as tf  # type: ignore[import-not-found, unused-ignore]
import tf_keras as keras2  # type: ignore[import-not-found, unused-ignore]

from tests.oracle.saved_model_cases import KERAS, Case, floats


def _seeded(model: Any) -> Any:
    for i, weight in enumerate(model.weights):
        shape = tuple(weight.shape)
        if np.dtype(getattr(weight.dtype, "name", weight.dtype)).kind == "f" and "variance" not in weight.name:
            weight.assign(floats(*shape, seed=i) * 0.3)
    return model


def _exported(keras: Any, build: Callable[[Any], Any], *inputs: Any) -> Case:
    """A model written by `model.export`."""
    model = _seeded(build(keras))
    model(*inputs)

    def save(path: str) -> None:
        model.export(path)

    save.saves = True  # type: ignore[attr-defined]
    return Case(None, [("serve", list(inputs))], save)


def _saved(keras: Any, build: Callable[[Any], Any], *inputs: Any) -> Case:
    """A model written by tf.saved_model.save, called as it is."""
    model = _seeded(build(keras))
    model(*inputs)
    return Case(model, [("__call__", list(inputs))])


def _dense(keras: Any) -> Any:
    return keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(8, "relu"), keras.layers.Dropout(0.5),
                             keras.layers.Dense(3, "softmax")])  # fmt: skip


def _images(keras: Any) -> Any:
    layers = keras.layers
    return keras.Sequential([
        layers.Input((8, 8, 3)), layers.Conv2D(4, 3, padding="same"), layers.BatchNormalization(), layers.ReLU(),
        layers.MaxPooling2D(), layers.DepthwiseConv2D(3), layers.UpSampling2D(), layers.GlobalAveragePooling2D(),
        layers.Dense(2),
    ])  # fmt: skip


def _recurrent(kind: str) -> Callable[[Any], Any]:
    def build(keras: Any) -> Any:
        layers = keras.layers
        return keras.Sequential([layers.Input((None, 3)), getattr(layers, kind)(4, return_sequences=True),
                                 getattr(layers, kind)(2)])  # fmt: skip

    return build


def _bidirectional(keras: Any) -> Any:
    layers = keras.layers
    return keras.Sequential([layers.Input((5, 3)), layers.Bidirectional(layers.LSTM(3)), layers.Dense(1)])


def _functional(keras: Any) -> Any:
    layers = keras.layers
    a, b = keras.Input((3,), name="a"), keras.Input((2,), name="b")
    x = layers.Concatenate()([layers.Dense(4, "gelu")(a), b])
    y = layers.LayerNormalization()(x)
    return keras.Model({"a": a, "b": b}, {"y": layers.Dense(1)(y), "x": x})


def _attention(keras: Any) -> Any:
    layers = keras.layers
    x = keras.Input((4,), dtype="int32")
    y = layers.Embedding(10, 6)(x)
    y = layers.Add()([y, layers.MultiHeadAttention(2, 3)(y, y)])
    return keras.Model(x, layers.Dense(2)(layers.Flatten()(y)))


def _normalised(keras: Any) -> Any:
    layers = keras.layers
    return keras.Sequential([layers.Input((3,)), layers.Normalization(mean=[1.0, 2.0, 3.0], variance=[1.0, 4.0, 9.0]),
                             layers.Rescaling(0.5, 1.0), layers.Discretization(bin_boundaries=[0.0, 0.5, 1.0])])  # fmt: skip


def _words(keras: Any) -> Any:
    layers = keras.layers
    x = keras.Input((2,), dtype="string")
    numbers = layers.StringLookup(vocabulary=["red", "green", "blue"])(x)
    return keras.Model(x, layers.CategoryEncoding(5, output_mode="multi_hot")(numbers))


def _text(keras: Any) -> Any:
    layers = keras.layers
    x = keras.Input((), dtype="string")
    return keras.Model(x, layers.TextVectorization(vocabulary=["the", "cat", "sat"], output_sequence_length=5)(x))


def _hashed(keras: Any) -> Any:
    x = keras.Input((2,), dtype="string")
    return keras.Model(x, keras.layers.Hashing(7)(x))


def _integers(keras: Any) -> Any:
    x = keras.Input((2,), dtype="int64")
    return keras.Model(x, keras.layers.IntegerLookup(vocabulary=[5, 6, 7])(x))


_BUILDS: dict[str, tuple[Callable[[Any], Any], list[Any]]] = {
    "dense": (_dense, [floats(2, 4)]),
    "images": (_images, [floats(1, 8, 8, 3)]),
    "lstm": (_recurrent("LSTM"), [floats(2, 4, 3)]),
    "gru": (_recurrent("GRU"), [floats(2, 4, 3)]),
    "simple_rnn": (_recurrent("SimpleRNN"), [floats(2, 4, 3)]),
    "bidirectional": (_bidirectional, [floats(2, 5, 3)]),
    "functional": (_functional, [{"a": floats(2, 3), "b": floats(2, 2)}]),
    "attention": (_attention, [np.int32([[1, 2, 3, 9]])]),
    "normalised": (_normalised, [floats(2, 3)]),
    "words": (_words, [np.array([[b"red", b"pink"]], object)]),
    "text": (_text, [np.array([b"The cat!", b"a dog sat"], object)]),
    "hashed": (_hashed, [np.array([[b"x", b"y"]], object)]),
    "integers": (_integers, [np.int64([[5, 9]])]),
}


def _enter() -> None:
    for name, (build, inputs) in _BUILDS.items():
        tensors = [tf.nest.map_structure(tf.constant, each) for each in inputs]
        for keras, label in ((keras2, "keras2"), (keras3, "keras3")):

            def exported(
                _: Any, keras: Any = keras, build: Any = build, tensors: Any = tensors, inputs: Any = inputs
            ) -> Any:
                listed = keras is keras2 and isinstance(inputs[0], dict)
                given = [list(inputs[0].values())] if listed else inputs  # as that version's `serve` takes them
                return _exported(keras, build, *tensors)._replace(calls=[("serve", given)])

            def saved(
                _: Any, keras: Any = keras, build: Any = build, tensors: Any = tensors, inputs: Any = inputs
            ) -> Any:
                return _saved(keras, build, *tensors)._replace(calls=[("__call__", inputs)])

            KERAS[f"{label}_{name}_exported"] = exported
            if keras is keras2 and name in ("dense", "lstm", "functional", "words", "images"):
                KERAS[f"{label}_{name}_saved"] = saved


def _v1(build: Callable[[Any], tuple[dict[str, Any], dict[str, Any], Any]], **inputs: Any) -> Callable[[Any], Case]:
    """A graph of TensorFlow 1 with a session's values, as simple_save writes it."""

    def make(_: Any) -> Case:
        def save(path: str) -> None:
            v1 = tf.compat.v1
            with tf.Graph().as_default(), v1.Session() as session:
                given, made, first = build(v1)
                session.run(v1.global_variables_initializer())
                session.run(v1.tables_initializer())
                v1.saved_model.simple_save(session, path, given, made, legacy_init_op=first)

        save.saves = True  # type: ignore[attr-defined]
        return Case(None, [("signatures/serving_default", [], inputs)], save)

    return make


def _v1_affine(is_resource: bool) -> Callable[[Any], Any]:
    def build(v1: Any) -> Any:
        x = v1.placeholder(tf.float32, [None, 3], name="x")
        w = v1.get_variable("w", initializer=floats(3, 2), use_resource=is_resource)
        b = v1.get_variable("layer/b", initializer=floats(2), use_resource=is_resource)
        return {"x": x}, {"y": tf.matmul(x, w) + b, "z": tf.nn.relu(x)}, None

    return build


def _v1_table(v1: Any) -> Any:
    x = v1.placeholder(tf.string, [None], name="words")
    initializer = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([3, 4], tf.int64))
    table = v1.lookup.StaticHashTable(initializer, -1)
    return {"words": x}, {"numbers": table.lookup(x)}, v1.tables_initializer()


def _raw() -> Any:
    """One call each of operations that no public function of TensorFlow 2 makes, or few do."""
    r: Any = tf.raw_ops
    x, m = tf.reshape(tf.range(16.0), [4, 2, 2, 1]), tf.constant(floats(3, 3))
    i, v = tf.constant([0, 1, 1]), tf.constant([1.0, 2.0, 3.0])
    none, places = [[0, 0], [0, 0]], tf.constant([[0, 0], [2, 1]], tf.int64)
    large = r.BatchToSpace(input=x, crops=none, block_size=2)
    words = tf.constant(["a", "b", "c"])
    key, state = tf.constant([1], tf.uint64), tf.constant([1, 2], tf.uint64)
    return [
         r.ApproximateEqual(x=m, y=m + 1e-7), large,
        r.ConjugateTranspose(x=m, perm=[1, 0]), r.DataFormatVecPermute(x=tf.constant([1, 2, 3, 4])), r.Diag(diagonal=v),
        r.DiagPart(input=m), r.GuaranteeConst(input=v), r.Reverse(tensor=m, dims=tf.constant([True, False])),
        r.MatrixSolveLs(matrix=m, rhs=m, l2_regularizer=tf.constant(0.0, tf.float64)),
        r.SpaceToBatch(input=large, paddings=none, block_size=2), r.Roll(input=m, shift=1, axis=0),
        r.TridiagonalMatMul(superdiag=m[:1], maindiag=m[1:2], subdiag=m[2:], rhs=m),
        r.MatrixSetDiagV3(input=m, diagonal=v, k=0), r.MatrixDiagPartV3(input=m, k=[-1, 1], padding_value=9.0),
        r.Qr(input=m).r, r.Lu(input=m).p, r.Bucketize(input=v, boundaries=[1.5, 2.5]),
        r.DenseBincount(input=i, size=tf.constant(4), weights=tf.constant([], tf.float32)),
        r.ClipByValue(t=m, clip_value_min=-0.1, clip_value_max=0.1), r.EuclideanNorm(input=m, axis=[0]),
        r.ReverseSequence(input=m, seq_lengths=i + 1, seq_dim=1, batch_dim=0), r.UniqueV2(x=i, axis=[0]).y,
        r.InTopKV2(predictions=m, targets=i, k=tf.constant(1)),
        r.DynamicStitch(indices=[tf.constant([0, 2]), tf.constant([1])], data=[m[:2], m[2:]]),
        r.StatelessTruncatedNormalV2(shape=[3], key=key, counter=state, alg=1),
        r.SparseSegmentMean(data=m, indices=i, segment_ids=i), r.HistogramFixedWidth(values=v, value_range=[0.0, 4.0], nbins=4),
        r.RaggedRange(starts=i[:2], limits=i[:2] + 2, deltas=tf.constant([1, 1])).rt_dense_values,
        *r.SparseFillEmptyRows(indices=places, values=v[:2], dense_shape=[3, 2], default_value=0.0)[:3],
        r.StringNGrams(data=words, data_splits=tf.constant([0, 3], tf.int64), separator=" ", ngram_widths=[2], left_pad="",
                       right_pad="", pad_width=0, preserve_short_sequences=False)[0],
    ]  # fmt: skip


def _raw_operations(_: Any) -> Case:
    root = tf.Module()
    root.f = tf.function(_raw, input_signature=[])
    return Case(root, [("f", [])])


KERAS["raw_operations"] = _raw_operations
KERAS["v1_resource"] = _v1(_v1_affine(True), x=floats(2, 3))
KERAS["v1_reference"] = _v1(_v1_affine(False), x=floats(2, 3))
KERAS["v1_table"] = _v1(_v1_table, words=np.array([b"b", b"z"], object))
_enter()
