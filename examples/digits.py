"""Train on scikit-learn's handwritten digits, and show that it worked.

1,797 real scans of 8x8 pixels; 360 of them, stratified by class, are held out and looked at once, at the end.
A linear model is trained eagerly with SGD; a two-layer network and a convolutional one each by one compiled step with
Adam: forward pass, gradients and the optimiser's update are one graph. Three pictures go to the folder given by
--output.

    python examples/digits.py [--epochs 40] [--output demo-out]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

import fastgraph as fg

N_HELD_OUT = 360
BATCH = 32
Batch = tuple[np.ndarray, np.ndarray]
Step = Callable[[fg.Tensor, fg.Tensor], tuple[fg.Tensor, fg.Tensor]]


def load_digits(seed: int = 0) -> tuple[Batch, Batch]:
    """Return ((images f32[1437, 64] in [0, 1], labels i32[1437]), the same of the 360 held out)."""
    from sklearn.datasets import load_digits as load
    from sklearn.model_selection import train_test_split

    images, labels = load(return_X_y=True)
    split = train_test_split(
        (images / 16.0).astype(np.float32),
        labels.astype(np.int32),
        test_size=N_HELD_OUT,
        random_state=seed,
        stratify=labels,
    )
    return (split[0], split[2]), (split[1], split[3])


class Network(Protocol):
    """A model: images f32[n, 64] -> logits f32[n, 10]."""

    @property
    def trainable_variables(self) -> Sequence[fg.Variable]: ...

    def __call__(self, x: fg.Tensor, /) -> fg.Tensor: ...


class Linear(fg.Module):
    """logits = x @ weights + bias. f32[n, 64] -> f32[n, 10]."""

    def __init__(self) -> None:
        self.weights = fg.Variable(np.zeros((64, 10), np.float32), name="weights")
        self.bias = fg.Variable(np.zeros(10, np.float32), name="bias")

    def __call__(self, x: fg.Tensor) -> fg.Tensor:
        return x @ self.weights + self.bias


class TwoLayers(fg.Module):
    """A hidden layer of 128 rectified units. f32[n, 64] -> f32[n, 10]."""

    def __init__(self, n_hidden: int = 128, seed: int = 0) -> None:
        random = np.random.default_rng(seed)

        def glorot(n_in: int, n_out: int) -> np.ndarray:
            limit = np.sqrt(6 / (n_in + n_out))
            return random.uniform(-limit, limit, (n_in, n_out)).astype(np.float32)

        self.weights_1 = fg.Variable(glorot(64, n_hidden), name="weights_1")
        self.bias_1 = fg.Variable(np.zeros(n_hidden, np.float32), name="bias_1")
        self.weights_2 = fg.Variable(glorot(n_hidden, 10), name="weights_2")
        self.bias_2 = fg.Variable(np.zeros(10, np.float32), name="bias_2")

    def __call__(self, x: fg.Tensor) -> fg.Tensor:
        hidden = fg.nn.relu(x @ self.weights_1 + self.bias_1)
        return hidden @ self.weights_2 + self.bias_2


def convolutional(seed: int = 0) -> fg.keras.Sequential:
    """The network of TensorFlow's guide to eager execution; wider and padded. f32[n, 64] -> f32[n, 10].

    Widths, rate and epochs were chosen by cross-validation within the training digits.
    """
    fg.random.set_seed(seed)
    layers = fg.keras.layers
    return fg.keras.Sequential(
        [
            layers.Reshape((8, 8, 1), input_shape=(64,)),
            layers.Conv2D(32, [3, 3], activation="relu", padding="same"),
            layers.Conv2D(64, [3, 3], activation="relu", padding="same"),
            layers.GlobalAveragePooling2D(),
            layers.Dense(10),
        ]
    )


def make_step(model: Network, optimizer: fg.keras.optimizers.Optimizer) -> Step:
    """Return one training step: (images f32[n, 64], labels i32[n]) -> (mean loss f32[], accuracy f32[])."""
    loss_of = fg.keras.losses.SparseCategoricalCrossentropy(from_logits=True)

    def step(images: fg.Tensor, labels: fg.Tensor) -> tuple[fg.Tensor, fg.Tensor]:
        with fg.GradientTape() as tape:
            logits = model(images)
            loss = loss_of(labels, logits)
        variables = model.trainable_variables
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        correct = fg.equal(fg.argmax(logits, axis=1, output_type=fg.int32), labels)
        return loss, fg.reduce_mean(fg.cast(correct, fg.float32))

    return step


def batches(data: Batch, n_epochs: int, seed: int) -> Iterator[tuple[fg.Tensor, fg.Tensor]]:
    """Yield batches of 32, shuffled anew in each epoch; what is left over at an epoch's end is dropped."""
    images, labels = data
    random = np.random.default_rng(seed)
    for _ in range(n_epochs):
        order = random.permutation(len(labels))
        for begin in range(0, len(order) - BATCH + 1, BATCH):
            chosen = order[begin : begin + BATCH]
            yield fg.constant(images[chosen]), fg.constant(labels[chosen])


class Progress:
    """A bar with loss and accuracy on a terminal; a plain line every tenth of the way elsewhere."""

    def __init__(self, title: str, n_steps: int) -> None:
        self.title = title
        self.n_steps = n_steps
        self.on_terminal = sys.stdout.isatty()
        self.n_tenths = 0

    def show(self, n_done: int, loss: float, accuracy: float) -> None:
        text = f"loss {loss:.4f}  accuracy {accuracy:.3f}"
        if self.on_terminal:
            filled = 30 * n_done // self.n_steps
            end = "\n" if n_done == self.n_steps else ""
            print(f"\r{self.title} [{'=' * filled:30}] {n_done}/{self.n_steps}  {text}", end=end, flush=True)
        elif n_done * 10 // self.n_steps > self.n_tenths:
            self.n_tenths = n_done * 10 // self.n_steps
            print(f"{self.title} {n_done}/{self.n_steps}  {text}", flush=True)


def train(title: str, step: Step, data: Batch, n_epochs: int) -> tuple[list[float], float]:
    """Run `step` over the data; return the loss of every step and the median seconds of one."""
    n_steps = n_epochs * (len(data[1]) // BATCH)
    progress = Progress(title, n_steps)
    losses: list[float] = []
    seconds: list[float] = []
    smooth_accuracy = 0.0
    for images, labels in batches(data, n_epochs, seed=1):
        started = time.perf_counter()
        loss, accuracy = step(images, labels)
        losses.append(float(loss))
        seconds.append(time.perf_counter() - started)
        smooth_accuracy += (float(accuracy) - smooth_accuracy) * max(0.02, 1 / len(losses))
        if len(losses) % 10 == 0 or len(losses) == n_steps:
            progress.show(len(losses), losses[-1], smooth_accuracy)
    return losses, float(np.median(seconds))


def predict(model: Network, images: np.ndarray) -> np.ndarray:
    """Return the most likely class of each image. f32[n, 64] -> i64[n]."""
    classes: np.ndarray = fg.argmax(model(fg.constant(images)), axis=1).numpy()
    return classes


BATCH_SPEC = (fg.TensorSpec((BATCH, 64), fg.float32), fg.TensorSpec((BATCH,), fg.int32))


def eager_against_compiled(
    data: Batch, make_model: Callable[[], Network] = TwoLayers, n_steps: int = 100
) -> tuple[np.ndarray, float, float]:
    """Train the same network eagerly and compiled, the latter with its kernels from the first step on.

    Return (difference of the losses f64[n_steps], median seconds of an eager step, of a compiled one).
    """
    losses: list[list[float]] = []
    medians = []
    for compile_step in (False, True):
        chosen = make_step(make_model(), fg.keras.optimizers.Adam(2e-3))
        if compile_step:
            chosen = fg.function(chosen)
            chosen.get_concrete_function(*BATCH_SPEC).wait()
        seconds = []
        losses.append([])
        for (images, labels), _ in zip(batches(data, n_epochs=10, seed=2), range(n_steps)):
            started = time.perf_counter()
            loss, _ = chosen(images, labels)
            losses[-1].append(float(loss))
            seconds.append(time.perf_counter() - started)
        medians.append(float(np.median(seconds)))
    eager, compiled = losses
    return np.abs(np.subtract(eager, compiled)), medians[0], medians[1]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--epochs", type=int, default=40, help="epochs of the two-layer network; the other has half as many more"
    )
    parser.add_argument("--output", type=Path, default=Path("demo-out"), help="folder of the pictures (%(default)s)")
    options = parser.parse_args()
    try:
        return run(options.epochs, options.output)
    except KeyboardInterrupt:
        print("\nstopped")
        return 130


def run(n_epochs: int, output: Path) -> int:
    """Train the three models, report, draw; return the exit status."""
    import pictures

    training, held_out = load_digits()
    print(f"{len(training[1])} digits to train on, {len(held_out[1])} held out; fastgraph {fg.__version__}")

    linear = Linear()
    linear_losses, linear_seconds = train(
        "linear, eager      ", make_step(linear, fg.keras.optimizers.SGD(0.1)), training, n_epochs=10
    )
    network = TwoLayers()
    step = fg.function(make_step(network, fg.keras.optimizers.Adam(2e-3)))
    losses, _ = train("two layers, compiled", step, training, n_epochs)
    n_epochs_2d = n_epochs * 3 // 2
    n_steps = n_epochs_2d * (len(training[1]) // BATCH)
    network_2d = convolutional()
    rates = fg.keras.optimizers.schedules.CosineDecay(1e-2, n_steps)
    step_2d = fg.function(make_step(network_2d, fg.keras.optimizers.Adam(rates)))
    losses_2d, _ = train("convolutional, compiled", step_2d, training, n_epochs_2d)
    differences, eager_seconds, seconds = eager_against_compiled(training)
    differences_2d, eager_seconds_2d, seconds_2d = eager_against_compiled(training, convolutional, 30)

    images, labels = held_out
    predictions = predict(network_2d, images)
    accuracy_2d = float(np.mean(predictions == labels))
    accuracy = float(np.mean(predict(network, images) == labels))
    linear_accuracy = float(np.mean(predict(linear, images) == labels))
    concrete = step.get_concrete_function(*BATCH_SPEC)
    concrete_2d = step_2d.get_concrete_function(*BATCH_SPEC)

    output.mkdir(parents=True, exist_ok=True)
    curves = {"linear, eager": linear_losses, "two layers, compiled": losses, "convolutional, compiled": losses_2d}
    pictures.draw_losses(curves, output / "loss.png")
    pictures.draw_digits(images, labels, predictions, output / "digits.png")
    pictures.draw_steps(concrete, output / "graph.png")

    print()
    print(
        f"held-out accuracy      {accuracy_2d:.4f} (convolutional)   {accuracy:.4f} (two layers)   "
        f"{linear_accuracy:.4f} (linear)"
    )
    print(f"time of a step         {eager_seconds * 1e6:.0f} us eager   {seconds * 1e6:.0f} us compiled (two layers)")
    times_2d = f"{eager_seconds_2d * 1e6:.0f} us eager   {seconds_2d * 1e6:.0f} us compiled"
    print(f"                       {times_2d} (convolutional)")
    print(f"                       {linear_seconds * 1e6:.0f} us eager (linear)")
    print(f"host steps             {concrete.host_steps} (two layers)   {concrete_2d.host_steps} (convolutional)")
    # The last difference may be 0 by luck: the greatest says more.
    print(f"loss after 100 steps   |eager - compiled| = {differences[-1]:.1e}, at most {differences.max():.1e} before")
    of_2d = f"|eager - compiled| = {differences_2d[-1]:.1e}, at most {differences_2d.max():.1e} before"
    print(f"loss after 30 steps    {of_2d} (convolutional)")
    print(f"pictures               {', '.join(str(output / name) for name in pictures.NAMES)}")
    for name, reached, wanted in (("two layers", accuracy, 0.96), ("convolutional", accuracy_2d, 0.97)):
        if reached < wanted:
            print(f"held-out accuracy of {name} is below {wanted}", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
