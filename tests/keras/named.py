"""Keras's losses, metrics, optimizers, layers and utilities by name, whose values are compared with tf-keras.

    TF_USE_LEGACY_KERAS=1 python -m tests.keras.named tensorflow      (writes named.json, with tf-keras installed)

Each program is a function of the module that is `tf` and returns lists, dicts, numbers and text.
"""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tests.keras.programs import plain

RESULTS = Path(__file__).with_name("named.json")
PROGRAMS: dict[str, Callable[[Any], Any]] = {}


def _drawn() -> tuple[Any, ...]:
    """The programs' data, the same in every run."""
    random = np.random.RandomState(0)
    shares, weights = random.rand(6, 4).astype("float32"), random.rand(6).astype("float32")
    yes, one_hot = (random.rand(6, 4) > 0.5).astype("float32"), np.eye(4, dtype="float32")[random.randint(0, 4, 6)]
    dims = (2, 4, 6), (2, 6, 8, 4), (1, 4, 4, 4, 2), (2, 5, 6)
    return shares, weights, yes, one_hot, *(random.randn(*one).astype("float32") for one in dims)


SHARES, WEIGHTS, YES, ONE_HOT, LINE, PLANE, SPACE, OTHER = _drawn()
NUMBERS = np.array([[1, 2, 400], [3, 400, 2]])
TEXTS = ["The cat, sat!", "the dog sat down", "a b c"]

LOSSES: list[tuple[str, dict[str, Any]]] = [
    *((name, {}) for name in ["MeanSquaredError", "MeanAbsoluteError", "MeanAbsolutePercentageError", "MeanSquaredLogarithmicError", "Poisson", "KLDivergence", "LogCosh", "Hinge", "SquaredHinge", "CategoricalHinge", "BinaryCrossentropy", "CategoricalCrossentropy"]),
    ("CosineSimilarity", {"axis": 1}), ("Huber", {"delta": 0.3}), ("BinaryFocalCrossentropy", {"from_logits": True}),
    ("BinaryFocalCrossentropy", {"apply_class_balancing": True, "alpha": 0.3, "label_smoothing": 0.1}),
    ("CategoricalFocalCrossentropy", {"gamma": 3.0, "label_smoothing": 0.2}),
    ("CategoricalFocalCrossentropy", {"from_logits": True, "alpha": [0.1, 0.2, 0.3, 0.4]}),
]  # fmt: skip
METRICS: list[tuple[str, dict[str, Any]]] = [
    ("AUC", {}), ("AUC", {"curve": "PR"}), ("AUC", {"thresholds": [0.2, 0.5, 0.9], "summation_method": "majoring"}),
    ("AUC", {"multi_label": True, "label_weights": [0.1, 0.2, 0.3, 0.4]}), ("AUC", {"from_logits": True}),
    ("Precision", {}), ("Precision", {"thresholds": [0, 0.25, 0.5, 0.75, 1]}), ("Precision", {"top_k": 2, "class_id": 1}),
    ("Recall", {"thresholds": [0.1, 0.9]}), ("Recall", {"top_k": 1}), ("TruePositives", {}),
    ("TrueNegatives", {"thresholds": 0.3}), ("FalsePositives", {"thresholds": [0.1, 0.6]}), ("FalseNegatives", {}),
    *((name, {}) for name in ["LogCoshError", "Poisson", "KLDivergence", "Hinge", "SquaredHinge", "CategoricalHinge", "MeanAbsolutePercentageError", "MeanSquaredLogarithmicError", "RootMeanSquaredError", "CategoricalAccuracy", "BinaryCrossentropy", "CosineSimilarity"]),
    ("BinaryAccuracy", {"threshold": 0.3}), ("TopKCategoricalAccuracy", {"k": 2}),
    ("F1Score", {}), ("F1Score", {"average": "macro", "threshold": 0.5}), ("FBetaScore", {"average": "weighted", "beta": 2.0}),
    ("FBetaScore", {"average": "micro", "beta": 0.5, "threshold": 0.3}), ("PrecisionAtRecall", {"recall": 0.6}),
    ("RecallAtPrecision", {"precision": 0.6, "num_thresholds": 20}), ("SensitivityAtSpecificity", {"specificity": 0.4}),
    ("SpecificityAtSensitivity", {"sensitivity": 0.7, "class_id": 1}), ("R2Score", {"class_aggregation": None}),
    ("R2Score", {"num_regressors": 1}), ("R2Score", {"class_aggregation": "variance_weighted_average"}),
    ("MeanRelativeError", {"normalizer": [1.0, 2.0, 0.0, 0.5]}),
    ("OneHotIoU", {"num_classes": 4, "target_class_ids": [0, 2]}),
    ("OneHotMeanIoU", {"num_classes": 4, "ignore_class": 0}),
]  # fmt: skip
OPTIMIZERS: list[tuple[str, dict[str, Any]]] = [
    ("Adadelta", {"rho": 0.5, "weight_decay": 0.1}), ("Adamax", {"beta_1": 0.5, "clipnorm": 0.3}),
    ("Nadam", {"learning_rate": 0.1}), ("Lion", {"learning_rate": 0.1, "weight_decay": 0.1}), ("Lion", {"beta_1": 0.5}),
    ("Adafactor", {"learning_rate": 0.1}), ("Adafactor", {"relative_step": False, "clip_threshold": 0.5}), ("Ftrl", {"learning_rate": 0.1}),
    ("Ftrl", {"l1_regularization_strength": 0.1, "l2_regularization_strength": 0.2, "l2_shrinkage_regularization_strength": 0.3, "beta": 0.4}),
    ("Adam", {"learning_rate": 0.1, "use_ema": True, "ema_momentum": 0.5, "ema_overwrite_frequency": 2}),
]  # fmt: skip
LAYERS: list[tuple[str, Any, dict[str, Any]]] = [
    ("EinsumDense", LINE, {"equation": "abc,cd->abd", "output_shape": (None, 5), "bias_axes": "d"}),
    ("EinsumDense", LINE, {"equation": "...x,xy->...y", "output_shape": 5, "activation": "relu"}),
    ("PReLU", PLANE, {"shared_axes": [1, 2]}), ("ELU", LINE, {"alpha": 0.5}), ("Identity", LINE, {}),
    ("Permute", LINE, {"dims": (2, 1)}), ("RepeatVector", LINE[:, 0], {"n": 3}), ("UpSampling1D", LINE, {"size": 3}),
    ("UpSampling2D", PLANE, {"size": (2, 3)}), ("UpSampling2D", PLANE, {"interpolation": "bilinear"}),
    ("ZeroPadding1D", LINE, {"padding": (1, 2)}), ("ZeroPadding2D", PLANE, {"padding": ((1, 2), (0, 1))}),
    ("UpSampling3D", SPACE, {"size": (1, 2, 3)}), ("ZeroPadding3D", SPACE, {"padding": (1, 2, 0), "data_format": "channels_first"}),
    ("Cropping3D", SPACE, {"cropping": ((1, 0), (0, 2), (1, 1))}), ("Cropping3D", SPACE, {"cropping": 2}),
    ("RandomTranslation", PLANE, {"height_factor": (0.3, 0.3), "width_factor": (-0.2, -0.2)}),
    ("RandomTranslation", PLANE, {"height_factor": (-1, -1), "width_factor": (1, 1), "fill_mode": "constant", "fill_value": 0.5}),
    ("RandomBrightness", PLANE, {"factor": [0.2, 0.2], "value_range": [-1, 1]}),
    ("Cropping1D", LINE, {"cropping": 1}), ("Cropping2D", PLANE, {"cropping": ((1, 0), (2, 1))}),
    ("Conv1DTranspose", LINE, {"filters": 3, "kernel_size": 3, "padding": "same", "strides": 2, "output_padding": 1}),
    ("Conv3DTranspose", SPACE, {"filters": 3, "kernel_size": 2, "strides": 2}),
    ("SeparableConv1D", LINE, {"filters": 5, "kernel_size": 3, "padding": "causal"}),
    ("DepthwiseConv1D", LINE, {"kernel_size": 2, "strides": 2, "depth_multiplier": 2}),
    ("Dot", [LINE, OTHER], {"axes": 2}), ("Dot", [LINE[:, 0], LINE[:, 1]], {"axes": 1, "normalize": True}),
    ("Resizing", PLANE, {"height": 3, "width": 4, "crop_to_aspect_ratio": True}),
    ("RandomRotation", PLANE, {"factor": (0.1, 0.1)}),
    ("RandomZoom", PLANE, {"height_factor": (0.3, 0.3), "width_factor": (-0.2, -0.2), "fill_mode": "wrap"}),
    ("RandomZoom", PLANE, {"height_factor": (0.1, 0.1), "interpolation": "nearest", "fill_mode": "constant"}),
    ("Attention", [LINE, OTHER], {"use_scale": True}), ("Attention", [LINE, OTHER, OTHER[::-1].copy()], {}),
    ("Attention", [LINE, OTHER], {"score_mode": "concat"}), ("AdditiveAttention", [LINE, OTHER], {}),
    ("AdditiveAttention", [LINE, OTHER], {"use_scale": False}), ("GroupNormalization", PLANE, {"groups": 2}),
    ("GroupNormalization", PLANE, {"groups": -1, "axis": 1, "scale": False}),
    ("CategoryEncoding", np.array([[0, 1], [4, 4]]), {"num_tokens": 5, "output_mode": "count"}),
    ("UnitNormalization", LINE, {"axis": [0, 1]}), ("CenterCrop", PLANE, {"height": 4, "width": 5}),
    ("CenterCrop", PLANE, {"height": 7, "width": 9}), ("Discretization", LINE, {"bin_boundaries": [-0.5, 0.0, 1.0]}),
    ("Discretization", LINE[0], {"bin_boundaries": [0.0], "output_mode": "count"}),
    ("Hashing", NUMBERS, {"num_bins": 5}), ("Hashing", NUMBERS, {"num_bins": 5, "mask_value": 2, "salt": [1, 7]}),
    ("Hashing", np.array([["a", "b"], ["", "a"]]), {"num_bins": 4, "mask_value": "", "output_mode": "multi_hot"}),
    ("HashedCrossing", [NUMBERS[0], np.array(["a", "b", "a"])], {"num_bins": 5, "output_mode": "one_hot"}),
    ("HashedCrossing", [NUMBERS[:, :1], NUMBERS[:, 1:2]], {"num_bins": 7}),
    ("IntegerLookup", NUMBERS, {"vocabulary": [400, 2], "num_oov_indices": 3, "mask_token": 1}),
    ("IntegerLookup", NUMBERS, {"vocabulary": [400, 2], "output_mode": "count", "max_tokens": 6, "pad_to_max_tokens": True}),
    ("IntegerLookup", NUMBERS % 3, {"vocabulary": [400, 2], "invert": True}),
    ("StringLookup", np.array([["a", "x"], ["yy", "z"]]), {"vocabulary": ["a"], "num_oov_indices": 2}),
]  # fmt: skip


def program(name: str) -> Callable[[Any], Any]:
    def registered(function: Any) -> Any:
        PROGRAMS[name] = function
        return function

    return registered


def label(name: str, arguments: dict[str, Any]) -> str:
    return f"{name}({', '.join(f'{key}={value}' for key, value in arguments.items())})"


def weighted(layer: Any) -> None:
    random = np.random.RandomState(3)
    layer.set_weights([np.float32(random.randn(*weight.shape)) * np.float32(0.3) for weight in layer.get_weights()])


for kind, arguments in LOSSES:

    @program(f"losses.{label(kind, arguments)}")
    def loss(tf: Any, kind: str = kind, arguments: dict[str, Any] = arguments) -> Any:
        made = getattr(tf.keras.losses, kind)
        again = made.from_config(made(**arguments).get_config())
        pairs = (YES, SHARES), (ONE_HOT, SHARES), (SHARES, SHARES[::-1])
        given = [(tf.constant(wanted), tf.constant(found.copy())) for wanted, found in pairs]
        values = [[again(*one), again(*one, sample_weight=WEIGHTS)] for one in given]
        return [
            values,
            made(reduction="none", **arguments)(*given[0]),
            {name: again.get_config()[name] for name in arguments},
        ]


for kind, arguments in METRICS:

    @program(f"metrics.{label(kind, arguments)}")
    def metric(tf: Any, kind: str = kind, arguments: dict[str, Any] = arguments) -> Any:
        made = getattr(tf.keras.metrics, kind)(**arguments)
        found: list[Any] = []

        @tf.function  # type: ignore[untyped-decorator]
        def staged(wanted: Any, scores: Any, sample_weight: Any) -> None:
            made.update_state(wanted, scores, sample_weight)

        for wanted, scores, weights in ((YES, SHARES, None), (ONE_HOT, SHARES, None), (YES, SHARES, WEIGHTS)):
            for step in (made.update_state, staged):
                step(tf.constant(wanted), tf.constant(scores), sample_weight=weights)
                found.append(made.result())
            made.reset_state()
        weights = [[weight.name, list(weight.shape)] for weight in made.weights]
        again = type(made).from_config(made.get_config())
        return [found, made.name, weights, {name: again.get_config()[name] for name in arguments}]


for kind, arguments in OPTIMIZERS:

    @program(f"optimizers.{label(kind, arguments)}")
    def optimizer(tf: Any, kind: str = kind, arguments: dict[str, Any] = arguments) -> Any:
        made = getattr(tf.keras.optimizers, kind)
        made = made.from_config(made(**arguments).get_config())
        v, w = tf.Variable(np.arange(12.0, dtype="float32").reshape(4, 3) / 7), tf.Variable([1.0, -2.0])
        for i in range(3):
            gradient: Any = tf.constant(np.sin(np.arange(12.0) + i).reshape(4, 3).astype("float32"))
            if i == 1:
                gradient = tf.IndexedSlices(gradient[:3], tf.constant([0, 2, 2]), tf.constant([4, 3]))
            made.apply_gradients([(gradient, v), (tf.constant([0.1 * i, 0.3]), w)])
        return [v, w]


for kind, value, arguments in LAYERS:

    @program(f"layers.{label(kind, arguments)}")
    def layer(tf: Any, kind: str = kind, value: Any = value, arguments: dict[str, Any] = arguments) -> Any:
        made = getattr(tf.keras.layers, kind)(**arguments)
        made = type(made).from_config(made.get_config())
        given = [tf.constant(one) for one in value] if isinstance(value, list) else tf.constant(value)
        how = {"training": True} if kind.startswith("Random") else {}
        made(given, **how)
        weighted(made)
        outputs = made(given, **how)
        shapes = [list(weight.shape) for weight in made.weights]
        again = tf.function(lambda x: made(x, **how))(given)
        return [outputs, abs(again - outputs), shapes, [weight.name.partition("/")[2] for weight in made.weights]]


@program("attention")
def attention(tf: Any) -> Any:
    made = tf.keras.layers.MultiHeadAttention(2, 3, value_dim=4)
    x, y = tf.constant(LINE), tf.constant(OTHER)
    made(x, y)
    weighted(made)
    allowed = tf.constant(np.arange(40).reshape(2, 4, 5) % 3 > 0)
    words = tf.keras.layers.Embedding(5, 6, mask_zero=True)
    texts = tf.constant([[1, 2, 0], [3, 0, 0]])
    words(texts)
    weighted(words)
    own = tf.keras.layers.MultiHeadAttention.from_config(made.get_config())
    inputs = [tf.keras.Input((4, 6)), tf.keras.Input((5, 6))]
    model = tf.keras.Model(inputs, own(*inputs))
    model.set_weights(made.get_weights())
    return [
        made(x, y, return_attention_scores=True), made(x, x, use_causal_mask=True), made(x, y, attention_mask=allowed),
        made(words(texts), words(texts)), [weight.name for weight in made.weights], model([x, y]), str(model.output_shape),
    ]  # fmt: skip


@program("attention with masks")
def masked_attention(tf: Any) -> Any:
    x, y = tf.constant(LINE), tf.constant(OTHER)
    masks = [tf.constant(np.arange(n).reshape(2, -1) % 3 > 0) for n in (8, 10)]
    found = []
    for made in (tf.keras.layers.Attention(), tf.keras.layers.AdditiveAttention()):
        made([x, y])
        weighted(made)
        found += [made([x, y], mask=masks), made([x, x], use_causal_mask=True, return_attention_scores=True)]
        found.append(tf.function(lambda a, b, made=made: made([a, b], mask=[None, masks[1]]))(x, y))
    return found


@program("steps")
def steps(tf: Any) -> Any:
    layers = tf.keras.layers
    inputs = tf.keras.Input((3,), dtype="int32")
    embedded = layers.Embedding(5, 6, mask_zero=True)(inputs)
    model = tf.keras.Model(inputs, layers.LSTM(2)(layers.TimeDistributed(layers.Dense(3))(embedded)))
    weighted(model)
    again = type(model).from_config(model.get_config())
    again.set_weights(model.get_weights())
    texts = tf.constant([[1, 2, 0], [3, 0, 0]])
    return [model(texts), again(texts)]


for arguments in (
    {}, {"max_tokens": 5}, {"output_sequence_length": 2}, {"ngrams": 2}, {"output_mode": "count", "split": "character"},
    {"standardize": None, "output_mode": "multi_hot"}, {"output_mode": "tf_idf"},
    {"output_mode": "tf-idf", "max_tokens": 20, "pad_to_max_tokens": True, "ngrams": (1, 2)},
):  # fmt: skip

    @program(label("TextVectorization", arguments))
    def texts(tf: Any, arguments: dict[str, Any] = arguments) -> Any:
        made = tf.keras.layers.TextVectorization(**arguments)
        made.adapt(TEXTS)
        return [made.get_vocabulary(), made(["the cat  ran", "A dog.", ""]), made([["b cat"]])]


@program("categories that are learnt")
def learnt(tf: Any) -> Any:
    layers, found = tf.keras.layers, []
    values = np.concatenate([LINE.reshape(-1), PLANE.reshape(-1)]).astype("float32")
    for arguments in ({"num_bins": 4}, {"num_bins": 6, "epsilon": 0.1}):
        for data in (
            values,
            np.repeat(values, 9).reshape(-1, 3),
            tf.data.Dataset.from_tensor_slices(values).batch(150),
        ):
            made = layers.Discretization(**arguments)
            made.adapt(data)
            found += [list(made.bin_boundaries), made(values[:9])]
    for arguments in ({}, {"max_tokens": 3}, {"output_mode": "count"}):
        made = layers.IntegerLookup(**arguments)
        made.adapt(NUMBERS)
        found += [[int(number) for number in made.get_vocabulary()], made(NUMBERS[::-1])]
    again = layers.TextVectorization(output_mode="tf_idf", vocabulary=["dog", "cat"], idf_weights=[1.0, 2.0])
    numbers = layers.IntegerLookup(vocabulary=[400, 2], output_mode="tf_idf", idf_weights=[0.5, 2.0])
    return [found, again(TEXTS), numbers(NUMBERS), numbers.get_config()["output_mode"]]


@program("what recurrent layers drop")
def dropped(tf: Any) -> Any:
    keras, layers, found = tf.keras, tf.keras.layers, []
    rates = {"dropout": 0.4, "recurrent_dropout": 0.3}
    for make in (
        lambda: layers.LSTM(3, dropout=0.4), lambda: layers.LSTM(3, **rates), lambda: layers.GRU(3, dropout=0.4),
        lambda: layers.GRU(3, **rates), lambda: layers.GRU(3, reset_after=False, **rates),
        lambda: layers.SimpleRNN(3, **rates), lambda: layers.LSTM(3, unroll=True, **rates),
        lambda: layers.Bidirectional(layers.LSTM(3, recurrent_dropout=0.4)),
        lambda: layers.RNN([layers.LSTMCell(3, **rates), layers.GRUCell(2, dropout=0.5)]),
        lambda: layers.LSTM(3, use_bias=False, dropout=0.4),
        lambda: layers.LSTM(3, "relu", dropout=0.4, implementation=1),
        lambda: layers.RNN(layers.GRUCell(3, dropout=0.4, implementation=1, reset_after=False)),
        lambda: layers.LSTM(3, tf.tanh, recurrent_activation=tf.sigmoid, dropout=0.4),
    ):  # fmt: skip
        keras.backend.clear_session()
        for steps in (4, 1):  # TensorFlow draws for the steps of a loop in no certain order
            model = keras.Sequential([keras.Input((steps, 6)), make(), layers.Dropout(0.5), layers.Dense(1)])
            weighted(model)
            keras.utils.set_random_seed(5)
            found.append([model(LINE[:, :steps], training=True)])
        model.compile("sgd", "mse")
        found.append(model.fit(LINE[:, :1], LINE[:, 0, :1], epochs=2, verbose=0).history["loss"])
    return found


@program("batches of other sizes")
def other_sizes(tf: Any) -> Any:
    keras, layers, found = tf.keras, tf.keras.layers, []
    x, y = PLANE.reshape(24, 16), PLANE[..., 0].reshape(24, 4)
    for seed in (None, 5):
        keras.utils.set_random_seed(3)
        model = keras.Sequential([layers.Dropout(0.5, seed=seed), layers.Dense(4)])
        start = [np.full((16, 4), 0.1, "float32"), np.zeros(4, "float32")]
        model.compile("sgd", "mse")
        model.build((None, 16)) if seed is None else None
        for size in (6, 8, 12, 6, 5):
            found.append(model.fit(x, y, size, 2, verbose=0, shuffle=False).history["loss"])
            model.set_weights(start)
        found.append([model.train_on_batch(x[:n], y[:n]) for n in (3, 6, 6)])
        data = tf.data.Dataset.from_tensor_slices((x, y))
        found += [model.fit(data.batch(6, drop_remainder=exact), verbose=0).history["loss"] for exact in (True, False)]
    start = keras.Input((16,))
    ends = [layers.Dense(4, "relu", kernel_initializer="ones", name=name)(start) for name in "ab"]
    for metrics in (["mse"], ["mae", keras.metrics.MeanSquaredError()], [["mse"], ["mae"]], {"b": "mse"}, None):
        model = keras.Model(start, ends)
        model.compile("sgd", "mse", metrics=metrics)
        found.append(model.evaluate(x, [y, y + 1], verbose=0, return_dict=True))
    return found


@program("what steps of one's own are given")
def given_to_steps(tf: Any) -> Any:
    found: list[str] = []

    class Own(tf.keras.Model):  # type: ignore[misc]
        def train_step(self, data: Any) -> Any:
            found.append(repr(tf.nest.map_structure(lambda leaf: leaf.dtype.name, data)))
            return {"n": tf.constant(1.0)}

        test_step = train_step

        def predict_step(self, data: Any) -> Any:
            return self.train_step(data)["n"][None]

    x = PLANE[:, 0, 0]
    for value in (x, (x,), {"a": x}, (x, x), (x, x, x[:, 0]), ({"a": x}, x)):
        own = Own()
        own.compile()
        arrays = value if isinstance(value, tuple) else (value,)
        for method in (own.fit, own.evaluate, own.predict):
            method(tf.data.Dataset.from_tensors(value), verbose=0)
            steps = {"steps_per_epoch" if method == own.fit else "steps": 1}
            method(iter([value, value]), verbose=0, **steps)
            if len(arrays) < 3:
                method(*arrays[: 1 if method == own.predict else 2], verbose=0)
        own.train_on_batch(*arrays)
        own.predict_on_batch(arrays[0])
    return found


@program("models of lists of one tensor")
def lists_of_one(tf: Any) -> Any:
    keras, layers = tf.keras, tf.keras.layers
    start, middle = keras.Input((4,)), keras.Input((2,))
    mean, deviation = (layers.Dense(2, name=name)(start) for name in ("mean", "deviation"))
    encoder = keras.Model([start], [mean, deviation, layers.Add()([mean, deviation])])
    decoder = keras.Model([middle], [layers.Dense(4, name="back")(middle)])
    made = decoder(encoder(start)[2])
    model = keras.Model([start], [made])
    model.add_loss(tf.reduce_mean(tf.square(mean) - deviation))
    model.compile("sgd", "mse")
    weighted(model)
    found = [str(tuple(made.shape)), keras.backend.backend(), type(decoder(np.ones((3, 2), "float32"))).__name__]
    return [found, model.fit(SHARES, SHARES, 3, 2, verbose=0, shuffle=False).history, model.predict(SHARES, verbose=0)]


@program("categories in ragged and sparse tensors")
def composite_categories(tf: Any) -> Any:
    layers, found = tf.keras.layers, []
    numbers = tf.ragged.constant([[1, 5], [], [9, 0, 3]], dtype=tf.int64)
    texts = tf.ragged.constant([["a", "b"], [], ["c", "a", "d"]])
    floats = tf.ragged.constant([[1.0, 5.0], [], [9.0, 0.5, 3.0]])
    for mode in ("int", "multi_hot", "count"):
        made = [
            layers.Hashing(5, output_mode=mode)(numbers), layers.Hashing(5, "a", 3, output_mode=mode)(texts),
            layers.Discretization([1.0, 4.0], output_mode=mode)(floats),
            layers.IntegerLookup(vocabulary=[1, 5], num_oov_indices=2, output_mode=mode)(numbers),
            layers.StringLookup(vocabulary=["a", "b"], output_mode=mode)(texts),
        ]  # fmt: skip
        made += [] if mode == "int" else [layers.CategoryEncoding(10, output_mode=mode)(numbers)]
        found.append([one.to_list() if mode == "int" else one for one in made])
    sparse = tf.sparse.from_dense(np.array([["a", ""], ["b", "c"]]))
    values = tf.sparse.from_dense(np.array([[1.0, 0.0], [5.0, 2.0]], "float32"))
    made = [
        layers.Hashing(5)(sparse),
        layers.StringLookup(vocabulary=["a", "b"])(sparse),
        layers.Discretization([3.0])(values),
    ]
    rows = layers.CategoryEncoding(6)(tf.sparse.from_dense(np.array([[1, 0], [5, 2]])))
    return [found, [tf.sparse.to_dense(one) for one in made], rows]


@program("a cell of one's own")
def own_cell(tf: Any) -> Any:
    class Doubled(tf.keras.layers.LSTMCell):  # type: ignore[misc]
        def call(self, inputs: Any, states: Any, training: Any = None) -> Any:
            output, after = super().call(inputs, states, training=training)
            return output * 2, after

    found = []
    for made in (tf.keras.layers.RNN(Doubled(3)), tf.keras.layers.RNN([Doubled(3), Doubled(2)])):
        made(LINE)
        weighted(made)
        found += [made(LINE, training=True), tf.function(made)(LINE)]
    return found


@program("dropout for selu")
def selu(tf: Any) -> Any:
    made = tf.keras.layers.AlphaDropout(0.3, seed=4)
    made = type(made).from_config(made.get_config())
    tf.keras.utils.set_random_seed(5)
    return [made(LINE, training=True), made(LINE), tf.function(lambda x: made(x, training=True))(LINE)]


@program("fit")
def fit(tf: Any) -> Any:
    keras = tf.keras
    metrics = keras.metrics
    found = []
    for kind, own in (
        ("kld", ["AUC", "Precision", "hinge"]),
        (keras.losses.Poisson(), [metrics.Recall(name="rc"), "cosine_similarity"]),
        ("binary_focal_crossentropy", [metrics.TruePositives(), metrics.MeanAbsolutePercentageError()]),
    ):
        keras.backend.clear_session()
        inputs = keras.Input((4, 6))
        h = keras.layers.TimeDistributed(keras.layers.Dense(3, activation="relu"))(inputs)
        h = keras.layers.MultiHeadAttention(2, 3)(h, h)
        model = keras.Model(inputs, keras.layers.Dense(1, activation="sigmoid")(keras.layers.Flatten()(h)))
        weighted(model)
        model.compile("sgd", kind, metrics=own, weighted_metrics=["mse"])
        random = np.random.RandomState(5)
        x, y = random.randn(12, 4, 6).astype("float32"), (random.rand(12, 1) > 0.5).astype("float32")
        slower = keras.callbacks.ReduceLROnPlateau("loss", patience=1, min_delta=10.0)
        history = model.fit(
            x, y, epochs=3, batch_size=4, shuffle=False, verbose=0, sample_weight=np.linspace(0.5, 1, 12),
            callbacks=[slower],
        )  # fmt: skip
        found.append([{k: [float(n) for n in v] for k, v in history.history.items()}, model.evaluate(x, y, verbose=0)])
    return found


@program("penalties and constraints")
def penalties(tf: Any) -> Any:
    keras = tf.keras
    rows = [keras.regularizers.OrthogonalRegularizer(0.3), keras.regularizers.get("orthogonal_regularizer")]
    columns = keras.regularizers.OrthogonalRegularizer(mode="columns")
    radial = [keras.constraints.RadialConstraint(), keras.constraints.get("radial_constraint")]
    kernels = [np.arange(n * n * 6, dtype="float32").reshape(n, n, 2, 3) for n in (2, 3, 4, 5)]
    return [
        [one(tf.constant(SHARES)) for one in [*rows, columns]], columns.get_config(),
        [one(tf.constant(kernel)) for one in radial for kernel in kernels], radial[0].get_config(),
    ]  # fmt: skip


@program("means of tensors")
def means(tf: Any) -> Any:
    made = tf.keras.metrics.MeanTensor(), tf.keras.metrics.MeanTensor(dtype="float64", shape=(6, 4), name="m")
    found = [made[1].result()]
    pairs = tf.keras.metrics.BinaryIoU([1], 0.3), tf.keras.metrics.BinaryIoU(threshold=0.6)
    found += [
        [one(YES, SHARES), one(YES, SHARES, sample_weight=SHARES), one.get_config()["threshold"]] for one in pairs
    ]
    for one in made:
        for weights in (None, WEIGHTS, YES):
            one.update_state(SHARES, sample_weight=weights)
            found.append(one.result())
        one.reset_state()
        found += [tf.function(one)(YES), one.name, [weight.name for weight in one.weights]]
    return found


@program("metrics in Python")
def in_python(tf: Any) -> Any:
    class Longest(tf.keras.metrics.experimental.PyMetric):  # type: ignore[misc]
        def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
            self.longest = max(self.longest, float(y_pred.numpy().sum()) * (sample_weight is None))

        def reset_state(self) -> None:
            self.longest = 0.0

        def result(self) -> Any:
            return self.longest

    made = Longest(name="longest")
    found = [made(YES, SHARES), tf.function(made)(YES, 2 * SHARES), made(YES, SHARES, WEIGHTS)]
    made.reset_state()
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(4)])
    weighted(model)
    model.compile("sgd", "mse", metrics=[made])
    return [found, made.result(), model.evaluate(SHARES, SHARES, batch_size=3, verbose=0)]


@program("averages of weights")
def averages(tf: Any) -> Any:
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(2)])
    weighted(model)
    model.compile(tf.keras.optimizers.SGD(0.1, 0.5, use_ema=True, ema_momentum=0.7), "mse")
    model.fit(SHARES, SHARES[:, :2], epochs=2, batch_size=3, shuffle=False, verbose=0)
    return [model.get_weights(), [list(one.shape) for one in model.optimizer.variables]]


@program("utils")
def utils(tf: Any) -> Any:
    pad = tf.keras.utils.pad_sequences
    return [
        pad([[1], [2, 3], [4, 5, 6]]), pad([[1], [2, 3]], maxlen=1, padding="post", truncating="post", dtype="float32"),
        pad([[[1, 2]], [[3, 4], [5, 6]]], value=9, padding="post"),
    ]  # fmt: skip


def main() -> None:
    tf = importlib.import_module(sys.argv[1])
    results = {}
    for name, run in PROGRAMS.items():
        tf.keras.backend.clear_session()
        results[name] = plain(run(tf))
    RESULTS.write_text(json.dumps(results) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
