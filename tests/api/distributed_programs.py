"""Programs of TensorFlow's guides to distributed training, on two parts of the CPU: what they print as numbers.

Run as a script with the module's name ("tensorflow", "fastgraph") it prints the numbers of all, or of those named, as JSON (in processes
of MPI: "mpi=FOLDER" and names, a file for each): those in
`distributed_numbers.json` are TensorFlow's, which mistakes sums of one program for the next one's: one at a time.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np

TWO = ["CPU:0", "CPU:1"]


def data(seed: int = 0, rows: int = 22) -> tuple[Any, Any]:
    """Return inputs f32[rows, 6] and labels i64[rows] of three classes."""
    random = np.random.RandomState(seed)
    return random.randn(rows, 6).astype("float32"), random.randint(0, 3, rows).astype("int64")


def model_of(tf: Any, layers: list[Any] | None = None) -> Any:
    """Return a small model whose weights do not depend on chance."""
    random = np.random.RandomState(7)
    first, last = random.randn(6, 5).astype("float32"), random.randn(5, 3).astype("float32")
    model = tf.keras.Sequential([
        tf.keras.layers.Dense(5, activation="tanh", input_shape=(6,),
                              kernel_regularizer=tf.keras.regularizers.L2(0.01)),
        *(layers or []),
        tf.keras.layers.Dense(3),
    ])  # fmt: skip
    model.layers[0].set_weights([first, np.zeros(5, "float32")])
    model.layers[-1].set_weights([last, np.zeros(3, "float32")])
    return model


def strategy_of(tf: Any, devices: list[str]) -> Any:
    """Return a strategy over these devices; over the processes of MPI where there are none."""
    return tf.distribute.MirroredStrategy(devices) if devices else tf.distribute.MultiWorkerMirroredStrategy()


def custom_loop(tf: Any, devices: list[str], optimizer: str = "Adam") -> list[float]:
    """The tutorial "Custom training with tf.distribute.Strategy"."""
    strategy = strategy_of(tf, devices)
    x, y = data()
    global_batch_size = 8
    train = tf.data.Dataset.from_tensor_slices((x, y)).batch(global_batch_size)
    test = tf.data.Dataset.from_tensor_slices(data(1, 10)).batch(global_batch_size)
    train_dist, test_dist = map(strategy.experimental_distribute_dataset, (train, test))
    with strategy.scope():
        loss_object = tf.keras.losses.SparseCategoricalCrossentropy(
            from_logits=True, reduction=tf.keras.losses.Reduction.NONE
        )

        def compute_loss(labels: Any, predictions: Any, model_losses: Any) -> Any:
            per_example_loss = loss_object(labels, predictions)
            loss = tf.nn.compute_average_loss(per_example_loss, global_batch_size=global_batch_size)
            if model_losses:
                loss += tf.nn.scale_regularization_loss(tf.add_n(model_losses))
            return loss

        test_loss = tf.keras.metrics.Mean(name="test_loss")
        train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
        test_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="test_accuracy")
        model = model_of(tf)
        opt = getattr(tf.keras.optimizers, optimizer)(learning_rate=0.05)
        checkpoint = tf.train.Checkpoint(optimizer=opt, model=model)

    def train_step(inputs: Any) -> Any:
        images, labels = inputs
        with tf.GradientTape() as tape:
            predictions = model(images, training=True)
            loss = compute_loss(labels, predictions, model.losses)
        gradients = tape.gradient(loss, model.trainable_variables)
        opt.apply_gradients(zip(gradients, model.trainable_variables))
        train_accuracy.update_state(labels, predictions)
        return loss

    def test_step(inputs: Any) -> None:
        images, labels = inputs
        predictions = model(images, training=False)
        test_loss.update_state(loss_object(labels, predictions))
        test_accuracy.update_state(labels, predictions)

    @tf.function
    def distributed_train_step(dataset_inputs: Any) -> Any:
        per_replica_losses = strategy.run(train_step, args=(dataset_inputs,))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)

    @tf.function
    def distributed_test_step(dataset_inputs: Any) -> Any:
        return strategy.run(test_step, args=(dataset_inputs,))

    found = []
    for _ in range(2):
        total_loss, num_batches = 0.0, 0
        for batch in train_dist:
            total_loss += distributed_train_step(batch)
            num_batches += 1
        for batch in test_dist:
            distributed_test_step(batch)
        found += [float(total_loss) / num_batches, train_accuracy.result(), test_loss.result(), test_accuracy.result()]
        test_loss.reset_state()
        train_accuracy.reset_state()
        test_accuracy.reset_state()
    # Iterating using an iterator, and inside a tf.function.
    iterator = iter(train_dist)
    found.append(sum(float(distributed_train_step(next(iterator))) for _ in range(2)))

    @tf.function
    def distributed_train_epoch(dataset: Any) -> Any:
        total_loss, num_batches = 0.0, 0
        for batch in dataset:
            per_replica_losses = strategy.run(train_step, args=(batch,))
            total_loss += strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)
            num_batches += 1
        return total_loss / tf.cast(num_batches, dtype=tf.float32)

    found.append(distributed_train_epoch(train_dist))
    assert len(checkpoint.optimizer.variables) > 0
    return [float(value) for value in found] + [float(tf.reduce_sum(w)) for w in model.trainable_variables]


def worker_loop(tf: Any, devices: list[str]) -> list[float]:
    """The tutorial "Custom training loop with Keras and MultiWorkerMirroredStrategy", its loop in one process."""
    strategy = strategy_of(tf, devices)
    x, y = data(3, 24)

    def dataset_fn(global_batch_size: int, input_context: Any) -> Any:
        dataset = tf.data.Dataset.from_tensor_slices((x, y)).repeat(2)
        dataset = dataset.shard(input_context.num_input_pipelines, input_context.input_pipeline_id)
        return dataset.batch(input_context.get_per_replica_batch_size(global_batch_size))

    with strategy.scope():
        multi_worker_dataset = strategy.distribute_datasets_from_function(
            lambda input_context: dataset_fn(8, input_context)
        )
        multi_worker_model = model_of(tf)
        optimizer = tf.keras.optimizers.RMSprop(learning_rate=0.01)
        train_accuracy = tf.keras.metrics.SparseCategoricalAccuracy(name="train_accuracy")
        step_in_epoch = tf.Variable(tf.constant(0, dtype=tf.dtypes.int64), name="step_in_epoch")

    @tf.function
    def train_step(iterator: Any) -> Any:
        def step_fn(inputs: Any) -> Any:
            x, y = inputs
            with tf.GradientTape() as tape:
                predictions = multi_worker_model(x, training=True)
                per_example_loss = tf.keras.losses.SparseCategoricalCrossentropy(
                    from_logits=True, reduction=tf.keras.losses.Reduction.NONE
                )(y, predictions)
                loss = tf.nn.compute_average_loss(per_example_loss)
                model_losses = multi_worker_model.losses
                if model_losses:
                    loss += tf.nn.scale_regularization_loss(tf.add_n(model_losses))
            grads = tape.gradient(loss, multi_worker_model.trainable_variables)
            optimizer.apply_gradients(zip(grads, multi_worker_model.trainable_variables))
            train_accuracy.update_state(y, predictions)
            return loss

        per_replica_losses = strategy.run(step_fn, args=(next(iterator),))
        return strategy.reduce(tf.distribute.ReduceOp.SUM, per_replica_losses, axis=None)

    found = []
    iterator = iter(multi_worker_dataset)
    for _ in range(2):
        total_loss = 0.0
        step_in_epoch.assign(0)
        while step_in_epoch.numpy() < 3:
            total_loss += train_step(iterator)
            step_in_epoch.assign_add(1)
        found += [float(total_loss), float(train_accuracy.result())]
        train_accuracy.reset_states()
    return found + [float(tf.reduce_sum(w)) for w in multi_worker_model.trainable_variables]


def fit(tf: Any, devices: list[str], layers: Any = None, rows: int = 22) -> list[float]:
    """The guide "Distributed training with Keras": `fit`, `evaluate` and `predict` of a model made in the scope."""
    strategy = strategy_of(tf, devices)
    x, y = data(5, rows)
    with strategy.scope():
        model = model_of(tf, layers and layers(tf))
        model.compile(
            loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
            optimizer=tf.keras.optimizers.SGD(0.1, momentum=0.9),
            metrics=["accuracy"],
        )
    history = model.fit(x, y, batch_size=8, epochs=2, shuffle=False, verbose=0).history
    dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(6)
    more = model.fit(dataset, epochs=1, verbose=0).history
    found = [*history["loss"], *history["accuracy"], *more["loss"], *more["accuracy"]]
    found += model.evaluate(dataset, verbose=0)
    predicted = model.predict(x[:7], batch_size=4, verbose=0)
    assert predicted.shape == (7, 3)
    return [float(value) for value in (*found, predicted.sum())]


def fit_normalised(tf: Any, devices: list[str]) -> list[float]:
    """`fit` with BatchNormalization of all replicas' batches together."""

    def layers(tf: Any) -> list[Any]:
        return [tf.keras.layers.BatchNormalization(synchronized=True)]

    return fit(tf, devices, layers, 24)


def parts(tf: Any, devices: list[str]) -> list[Any]:
    """The guide "Distributed training with TensorFlow" and "Distributed Input": values of replicas, small things."""
    strategy = strategy_of(tf, devices)
    found: list[Any] = [strategy.num_replicas_in_sync]

    def local(value: Any) -> list[Any]:
        return [np.asarray(each).tolist() for each in strategy.experimental_local_results(value)]

    dataset = tf.data.Dataset.range(10).batch(4)
    found += [local(each) for each in strategy.experimental_distribute_dataset(dataset)]
    found += [local(each) for each in strategy.experimental_distribute_dataset(tf.data.Dataset.range(7).batch(3))]
    found += [
        local(each) for each in strategy.distribute_datasets_from_function(lambda _: tf.data.Dataset.range(10).batch(4))
    ]
    found += [
        local(each)
        for each in strategy.distribute_datasets_from_function(
            lambda _: tf.data.Dataset.range(12).batch(4, drop_remainder=True)
        )
    ]
    found += [local(each) for each in strategy.experimental_distribute_dataset(tf.data.Dataset.range(7).batch(5))]
    with strategy.scope():
        generator = tf.random.Generator.from_seed(1)
    for _ in range(2):
        found += [local(strategy.run(lambda: generator.normal([2]))), generator.state.numpy().tolist()]
    found += [local(tf.function(lambda: strategy.run(lambda: generator.uniform([3])))())]
    values = strategy.experimental_distribute_values_from_function(
        lambda ctx: tf.constant([float(ctx.replica_id_in_sync_group), 5.0])
    )
    found += [local(values), strategy.reduce("SUM", values, axis=None).numpy().tolist()]
    found += [float(strategy.reduce("MEAN", values, axis=0)), strategy.gather(values, 0).numpy().tolist()]
    rows = strategy.experimental_distribute_values_from_function(
        lambda ctx: tf.ones([1 + ctx.replica_id_in_sync_group, 2]) * ctx.replica_id_in_sync_group
    )
    found += [strategy.reduce("MEAN", rows, axis=0).numpy().tolist(), strategy.gather(rows, 0).numpy().tolist()]

    def step(value: Any) -> Any:
        context = tf.distribute.get_replica_context()
        total = context.all_reduce("sum", value)
        mean = context.all_reduce(tf.distribute.ReduceOp.MEAN, {"a": value, "b": value * 2.0})
        gathered = context.all_gather(value, axis=0)
        merged = context.merge_call(lambda s, v: s.reduce("SUM", v, axis=None), (value,))
        return total, mean["b"], gathered, merged, context.replica_id_in_sync_group

    for each in (strategy.run(step, (values,)), tf.function(lambda v: strategy.run(step, (v,)))(values)):
        found += [[local(part) for part in each[:4]]]

    with strategy.scope():
        mirrored = tf.Variable(1.0, aggregation=tf.VariableAggregation.MEAN)
        total = tf.Variable(
            0.0, synchronization=tf.VariableSynchronization.ON_READ, aggregation=tf.VariableAggregation.SUM
        )
        alone = tf.Variable(0.0)

    def assign() -> Any:
        i = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, tf.float32)
        mirrored.assign_add(i + 1.0)
        total.assign_add(i + 1.0)
        return mirrored + 0.0, total + 0.0

    for run in (strategy.run, lambda f: tf.function(lambda: strategy.run(f))()):
        found += [[local(part) for part in run(assign)], float(mirrored.numpy()), float(total.numpy()), local(total)]
    total.assign(10.0)
    mirrored.assign_sub(0.5)
    alone.assign(3.0)
    found += [local(total), local(mirrored), local(alone), [v.device[-5:] for v in mirrored.values]]

    def squares(value: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(value)
            context = tf.distribute.get_replica_context()
            loss = tf.reduce_sum(context.all_reduce("SUM", value) ** 2) * (1.0 + value[0])
            loss += tf.reduce_sum(context.all_gather(value, 0) ** 3)
        return tape.gradient(loss, value)

    found += [local(strategy.run(squares, (values,)))]
    return found


PROGRAMS = (custom_loop, worker_loop, fit, fit_normalised, parts)


def divided(tf: Any) -> None:
    """Divide the CPU into two."""
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)


if __name__ == "__main__":
    tf = importlib.import_module(sys.argv[1])
    folders = [each.removeprefix("mpi=") for each in sys.argv if each.startswith("mpi=")]
    if not folders:
        divided(tf)
    chosen = [each for each in PROGRAMS if each.__name__ in sys.argv[2:] or not sys.argv[2:]]
    numbers = json.dumps({program.__name__: program(tf, [] if folders else TWO) for program in chosen}, indent=1)
    if folders:  # a file for each process: an mpiexec may mix the lines that two of them print
        Path(folders[0], f"{os.getpid()}.json").write_text(numbers, encoding="utf-8")
    else:
        print(numbers)
