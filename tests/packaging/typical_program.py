"""Three hundred lines as users of type checkers write them. Not run as a test: mypy and pyright find no error in it.

Where a type is known it is written down, so that a result that had become `Any` would not go unnoticed by the
`assert_type`s at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, assert_type

import numpy as np

import fastgraph as tf
from fastgraph import keras
from fastgraph.keras import layers

Batch = tuple[tf.Tensor, tf.Tensor]
LossFunction = Callable[[tf.Tensor, tf.Tensor], tf.Tensor]


class Linear(tf.Module):
    def __init__(self, n_in: int, n_out: int, name: str | None = None) -> None:
        super().__init__(name=name)
        self.w: tf.Variable = tf.Variable(tf.random.normal([n_in, n_out]), name="w")
        self.b = tf.Variable(tf.zeros([n_out]), name="b", trainable=True)
        self.calls = tf.Variable(0, trainable=False, dtype=tf.int64)

    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        self.calls.assign_add(1)
        return x @ self.w + self.b


class Scaled(layers.Layer):
    def __init__(self, units: int = 32, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape: tf.TensorShape) -> None:
        self.kernel = self.add_weight(
            name="kernel", shape=(input_shape[-1], self.units), initializer="glorot_uniform", trainable=True
        )
        self.scale: tf.Variable = self.add_weight(name="scale", shape=(), initializer="ones")

    def call(self, x, training=False):  # type: ignore[no-untyped-def]
        y = tf.matmul(x, self.kernel) * self.scale
        if training:
            y = tf.nn.dropout(y, rate=0.1)
        return y

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}


class Halves(keras.initializers.Initializer):
    def __call__(self, shape: Sequence[int], dtype: tf.DType | None = None, **kwargs: Any) -> tf.Tensor:
        return tf.fill(shape, tf.constant(0.5, dtype or tf.float32))


class Gate(layers.Layer):
    def call(self, inputs: Sequence[tf.Tensor]) -> tf.Tensor:
        value, gate = inputs
        return value * tf.sigmoid(gate)


class Classifier(keras.Model):
    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.first = layers.Dense(64, activation="relu")
        self.second = Scaled(n_classes)
        self.drop = layers.Dropout(0.5)
        self.norm = layers.BatchNormalization()

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        hidden = self.norm(self.first(inputs), training=training)
        logits: tf.Tensor = self.second(self.drop(hidden, training=training))
        return logits


def huber(error: tf.Tensor, delta: float = 1.0) -> tf.Tensor:
    small = tf.abs(error) <= delta
    return tf.where(small, 0.5 * tf.square(error), delta * (tf.abs(error) - 0.5 * delta))


def mean_squared(y: tf.Tensor, prediction: tf.Tensor) -> tf.Tensor:
    return tf.reduce_mean((y - prediction) ** 2)


@tf.function
def power(x: tf.Tensor, n: tf.Tensor) -> tf.Tensor:
    result = tf.ones_like(x)
    for _ in tf.range(n):
        result *= x
    return result


@tf.function(input_signature=[tf.TensorSpec([None, 3], tf.float32)], reduce_retracing=True)
def rows(x: tf.Tensor) -> tf.Tensor:
    if tf.reduce_sum(x) > 0:
        return tf.reduce_max(x, axis=1)
    return -tf.reduce_min(x, axis=1, keepdims=False)


@tf.custom_gradient
def clipped(x: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
    def backward(dy: tf.Tensor) -> tf.Tensor:
        return tf.clip_by_value(dy, -1.0, 1.0)

    return tf.identity(x), backward


def make_step(
    model: keras.Model, optimizer: keras.optimizers.Optimizer, loss_of: LossFunction
) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
    @tf.function
    def step(x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as tape:
            loss = loss_of(y, model(x, training=True))
            loss += tf.add_n([tf.nn.l2_loss(w) for w in model.trainable_weights]) * 1e-4
        variables = model.trainable_variables
        gradients = tape.gradient(loss, variables)
        gradients, norm = tf.clip_by_global_norm(gradients, 5.0)
        optimizer.apply_gradients(zip(gradients, variables))
        tf.print("norm", norm)
        return loss

    return step


def batches(x: np.ndarray, y: np.ndarray, size: int) -> tf.data.Dataset:
    made = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(len(x), seed=1).batch(size, drop_remainder=True)
    return made.map(lambda a, b: (tf.cast(a, tf.float32), b)).prefetch(tf.data.AUTOTUNE).repeat(2)


def epochs(data: tf.data.Dataset, n: int) -> Iterator[Batch]:
    for _ in range(n):
        for x, y in data:
            yield x / 255.0, y


def attention(q: tf.Tensor, k: tf.Tensor, v: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor:
    scores = tf.matmul(q, k, transpose_b=True) / tf.sqrt(tf.cast(tf.shape(k)[-1], q.dtype))
    if mask is not None:
        scores += (1.0 - tf.cast(mask, scores.dtype)) * -1e9
    weights = tf.nn.softmax(scores, axis=-1)
    return tf.einsum("bhqk,bhkd->bhqd", weights, v)


class Report(keras.callbacks.Callback):
    def on_epoch_end(self, epoch: int, logs: dict[str, float] | None = None) -> None:
        print(epoch, (logs or {}).get("loss"))


class Ramp(keras.optimizers.schedules.LearningRateSchedule):
    def __call__(self, step: tf.Tensor) -> tf.Tensor:
        return tf.cast(step, tf.float32) * 1e-4


class Distance(keras.losses.Loss):
    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        return tf.norm(y_true - y_pred, axis=-1)


class Smooth(keras.regularizers.Regularizer):
    def __call__(self, x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.square(x[1:] - x[:-1]))


class Unit(keras.constraints.Constraint):
    def __call__(self, w: tf.Variable) -> tf.Tensor:
        return w / tf.norm(w)


def kinds(v: tf.Variable, a: np.ndarray, n: np.int64, r: tf.RaggedTensor, t: tf.Tensor) -> None:
    """What is no tensor stands for one: lists, numbers, arrays, Variables, ragged tensors."""
    print(tf.reduce_sum(v), tf.reduce_sum([[1, 2]], axis=n), tf.reduce_max(a, axis=(0, 1)), tf.add(r, 1), tf.abs(-1))
    print(tf.reshape(a, [n, -1]), tf.pad(v, [[1, n]]), tf.tile(r, [1, 2]), tf.repeat([1], n), tf.roll(a, n, [0]))
    print(tf.ones(tf.shape(a)), tf.zeros(v.shape, "int32"), tf.fill([2, n], True), tf.eye(n, dtype=int), tf.range(n))
    print(tf.concat([a, v], 0), tf.stack([v, 1.0]), tf.stack(a), tf.split(a, [1, n]), tf.add_n([t, v]), tf.unstack(v))
    print(
        tf.random.normal([2, n], seed=int(n)), tf.random.uniform((), 0, n, "int32"), tf.random.stateless_normal([], t)
    )
    print(tf.nn.conv2d(a, v, 1, [[0, 0], [1, 1], [1, 1], [0, 0]]), tf.nn.max_pool2d(a, (2, 2), 2, "SAME"))
    print(tf.nn.dropout(v, t), tf.nn.bias_add(a, v), tf.nn.moments(a, [0]), tf.nn.softmax([1.0, 2.0], -1))
    print(tf.image.resize(a, (n, 2), "nearest"), tf.image.pad_to_bounding_box(a, 0, n, 9, t), tf.strings.join(["a", t]))
    print(
        tf.linspace(0, v, n), tf.one_hot(range(3), n), tf.gather(v, [[0]]), tf.where([True], a, 0), tf.cast(b"a", str)
    )
    tf.debugging.assert_near(a, [1.0], rtol=1e-3)
    v.assign([1.0])
    regular = layers.Dense(
        2, tf.nn.relu, kernel_regularizer=Smooth(), kernel_constraint=Unit(), bias_initializer="ones"
    )
    model = keras.Sequential([keras.Input((4,)), regular, layers.Dense(1, kernel_initializer=keras.initializers.Zeros)])
    model.compile(keras.optimizers.Adam(Ramp()), Distance(), ["mae", keras.metrics.Mean()])
    model.fit(a, [1.0], callbacks=[Report()], validation_data=(a, v), epochs=2)
    model.evaluate(tf.data.Dataset.from_tensor_slices((a, a)).batch(n))
    model.predict([t])


def newton(f: Callable[[tf.Tensor], tf.Tensor], x: tf.Tensor) -> tf.Tensor:
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = f(x)
        dy: tf.Tensor = inner.gradient(y, x)
    return x - dy / outer.gradient(dy, x)


def results(a: tf.Tensor, v: tf.Variable, data: tf.data.Dataset, words: tf.Tensor) -> None:
    """What functions give is known where it is one thing, and `Any` besides where programs seldom ask for the rest."""
    mean, variance = tf.nn.moments(a, [0])
    assert_type(mean, tf.Tensor)
    assert_type(tf.math.top_k(a, 2).indices, tf.Tensor)
    assert_type(tf.unique(a).idx, tf.Tensor)
    assert_type(tf.unique_with_counts(a).count, tf.Tensor)
    assert_type(tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x), (a, a)), tuple[tf.Tensor, tf.Tensor])
    assert_type(tf.while_loop(lambda i: i < 3, lambda i: (i + 1,), [a]), list[tf.Tensor])
    numbers: tuple[tf.Tensor, tf.Tensor] = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x), (0, a))
    assert_type(tf.cond(a > 0, lambda: a, lambda: -a), tf.Tensor)
    assert_type(tf.cond(a > 0, lambda: (a, a), lambda: (-a, a)), tuple[tf.Tensor, tf.Tensor])
    either: tf.Tensor = tf.cond(a > 0, lambda: a, lambda: 0.0)
    assert_type(tf.case([(a > 0, lambda: a)], default=lambda: -a), tf.Tensor)
    assert_type(tf.switch_case(a, [lambda: a, lambda: -a]), tf.Tensor)
    assert_type(tf.map_fn(lambda row: row * 2, a), tf.Tensor)
    assert_type(tf.map_fn(lambda row: (row, row), v, fn_output_signature=tf.float32), tuple[tf.Tensor, tf.Tensor])
    pairs: tuple[tf.Tensor, tf.Tensor] = tf.map_fn(lambda x: x, (a, a))
    assert_type(tf.vectorized_map(tf.reduce_sum, a), tf.Tensor)
    assert_type(tf.scan(lambda total, x: total + x, a, initializer=0.0), tf.Tensor)
    assert_type(tf.foldl(lambda total, x: total + x, a), tf.Tensor)
    s, u, w = tf.linalg.svd(a)
    assert_type(u, tf.Tensor)
    assert_type(tf.linalg.svd(a, compute_uv=False), tf.Tensor)
    assert_type(tf.linalg.eigh(a), tuple[tf.Tensor, tf.Tensor])
    assert_type(tf.linalg.qr(a).r, tf.Tensor)
    assert_type(tf.linalg.lu(a)[0], tf.Tensor)
    assert_type(tf.linalg.eigh_tridiagonal(a, a), tf.Tensor)
    assert_type(tf.py_function(print, [a], tf.float32), tf.Tensor)
    assert_type(tf.numpy_function(np.unique, [a], [tf.int64, tf.int64]), list[tf.Tensor])
    with tf.GradientTape(persistent=True) as tape:
        y = v * a
    assert_type(tape.gradient(y, v), tf.Tensor | Any)
    assert_type(tape.gradient(y, [v, a]), list[tf.Tensor | Any])
    assert_type(tape.gradient(y, (v, a)), tuple[tf.Tensor | Any, ...])
    named = {"v": v}
    assert_type(tape.gradient(y, named), dict[str, tf.Tensor | Any])
    assert_type(tape.jacobian(y, v), tf.Tensor | Any)
    assert_type(tape.jacobian(y, [v]), list[tf.Tensor | Any])
    assert_type(tape.batch_jacobian(y, a), tf.Tensor)
    assert_type(tf.image.resize(a, [2, 2]), tf.Tensor)
    assert_type(tf.image.random_flip_left_right(a), tf.Tensor)
    assert_type(tf.io.decode_jpeg(tf.io.read_file("a.jpg")), tf.Tensor)
    assert_type(tf.io.serialize_tensor(a), tf.Tensor)
    assert_type(tf.strings.length(words), tf.Tensor)
    assert_type(tf.strings.split(words), tf.RaggedTensor | Any)
    assert_type(tf.random.uniform([2]), tf.Tensor)
    assert_type(tf.random.Generator.from_seed(1).normal([2]), tf.Tensor)
    assert_type(tf.unstack(a), list[tf.Tensor])
    assert_type(tf.meshgrid(a, a), list[tf.Tensor])
    assert_type(tf.RaggedTensor.from_row_lengths(a, [1, 2]).to_tensor(), tf.Tensor)
    assert_type(tf.sparse.to_dense(tf.sparse.from_dense(a)), tf.Tensor)
    assert_type(a.shape[1:], tf.TensorShape)
    assert_type(a.shape.rank, int | None)
    assert_type(v.value(), tf.Tensor)
    assert_type(v.assign_add(a), tf.Variable | Any)
    assert_type(data.batch(2).map(lambda x: x).take(1), tf.data.Dataset)
    assert_type(keras.losses.MeanSquaredError()(a, a), tf.Tensor)
    assert_type(keras.metrics.binary_accuracy(a, a), tf.Tensor)
    assert_type(layers.Dense(2)(a), tf.Tensor | Any)
    assert_type(keras.optimizers.get("adam"), keras.optimizers.Optimizer)
    assert_type(power(a, a), tf.Tensor)
    assert_type(clipped(a), tf.Tensor)
    half = a.shape[-1] // 2
    print(mean, variance, numbers, either, pairs, s, w, a.shape[0] + 1, half, tf.experimental.numpy.sum(a) + 1)


def main() -> None:
    tf.random.set_seed(0)
    random = np.random.default_rng(0)
    x = random.random((64, 8)).astype(np.float32)
    y = random.integers(0, 4, 64)
    model = Classifier(4)
    optimizer = keras.optimizers.Adam(learning_rate=1e-3)
    loss_of = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    step = make_step(model, optimizer, loss_of)
    accuracy = keras.metrics.SparseCategoricalAccuracy()
    for a, b in epochs(batches(x, y, 16), 2):
        loss = step(a, b)
        accuracy.update_state(b, model(a))
        print(float(loss), loss.numpy(), accuracy.result().numpy())
    counter = tf.Variable(0)
    counter.assign_add(1)
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    total = tf.reduce_sum(a[:, 0]) + a[0, 1] * 2 - 1
    flat = tf.reshape(a, [-1])
    parts = tf.split(flat, 2)
    first, second = tf.unstack(a)
    joined = tf.concat([first, second, *parts], axis=0)
    shape: tf.TensorShape = joined.shape
    n = shape[0]
    values, indices = tf.math.top_k(joined, k=2)
    names = tf.constant(["a", "b"], dtype=tf.string)
    lengths = tf.strings.length(names)
    picked = tf.gather(a, [0], axis=0)
    hot = tf.one_hot(indices, depth=3, dtype=tf.float32)
    ragged = tf.ragged.constant([[1, 2], [3]])
    sparse = tf.sparse.from_dense(a)
    spec = tf.TensorSpec(shape=[None], dtype=tf.float32, name="x")
    concrete = power.get_concrete_function(spec, tf.TensorSpec([], tf.int32))
    answer = concrete(tf.constant([2.0]), tf.constant(3))
    loop = tf.while_loop(lambda i: i < 3, lambda i: (i + 1,), [tf.constant(0)])
    chosen = tf.cond(total > 0, lambda: a, lambda: -a)
    mapped = tf.map_fn(lambda row: row * 2, a)
    with tf.device("/CPU:0"), tf.name_scope("part"):
        moments = tf.nn.moments(a, axes=[0])
    array = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
    array = array.write(0, total)
    try:
        tf.debugging.assert_positive(array.stack(), message="all of them")
    except tf.errors.InvalidArgumentError as error:
        print(error.message)
    small = keras.Sequential([layers.Dense(8, input_shape=(8,)), layers.ReLU(), Gate(), layers.Flatten()])
    small.add(layers.Conv2D(8, 3, padding="same"))
    print(n, values, lengths, picked, hot, ragged.to_list(), sparse.indices, answer, loop, chosen, mapped, moments)
    print(huber(a), attention(a, a, a), newton(tf.sin, tf.constant(1.0)), clipped(a), rows(a), len(small.layers))
    print(tf.config.list_physical_devices("CPU"), tf.nest.map_structure(tf.square, {"a": a}), counter.numpy() + 1)
    w: list[tf.Variable] = model.trainable_variables
    assert_type(tf.reduce_sum(a), tf.Tensor)
    assert_type(tf.nn.relu(a), tf.Tensor)
    assert_type(tf.nn.conv2d(a, a, 1, "SAME"), tf.Tensor)
    assert_type(a + 1, tf.Tensor)
    assert_type(a[0], tf.Tensor)
    assert_type(w[0] * a, tf.Tensor)
    assert_type(tf.split(flat, 2), list[tf.Tensor])
    assert_type(a.dtype, tf.DType)
    assert_type(mean_squared(a, a), tf.Tensor)
    assert_type(accuracy.result(), tf.Tensor)


if __name__ == "__main__":
    main()
