"""The demo's three pictures, drawn by matplotlib alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAMES = ("loss.png", "digits.png", "graph.png")
COLOURS = {"kernel": "#cfe3f7", "gemm": "#f9ddb1", "read": "#e4e4e4", "assign": "#d5ecd0", "host": "#f5c6c6"}


def draw_losses(curves: dict[str, list[float]], path: Path) -> None:
    """Draw each curve of losses against its step, with the noisy curve faint behind its running mean."""
    figure, axes = plt.subplots(figsize=(7, 4))
    for name, losses in curves.items():
        window = min(25, len(losses))
        mean = np.convolve(losses, np.ones(window) / window, mode="valid")
        (line,) = axes.plot(np.arange(window - 1, len(losses)), mean, label=name)
        axes.plot(losses, color=line.get_color(), alpha=0.2, linewidth=0.7)
    axes.set(xlabel="step", ylabel="loss (cross-entropy)", yscale="log", title="Training on handwritten digits")
    axes.legend()
    _save(figure, path)


def draw_digits(images: np.ndarray, labels: np.ndarray, predictions: np.ndarray, path: Path) -> None:
    """Show 40 held-out digits with what the network took them for; all wrong ones (up to 20) come first, in red."""
    wrong = np.flatnonzero(predictions != labels)[:20]
    right = np.flatnonzero(predictions == labels)[: 40 - len(wrong)]
    figure, grid = plt.subplots(4, 10, figsize=(10, 5))
    for axes, i in zip(grid.flat, np.concatenate([wrong, right])):
        axes.imshow(images[i].reshape(8, 8), cmap="gray_r")
        is_right = predictions[i] == labels[i]
        title = f"{predictions[i]}" if is_right else f"{predictions[i]} (is {labels[i]})"
        axes.set_title(title, color="black" if is_right else "crimson", fontsize=10)
        axes.axis("off")
    figure.suptitle("Held-out digits and predictions")
    _save(figure, path)


def draw_steps(concrete: Any, path: Path) -> None:
    """Draw the optimised graph of a concrete function as it runs: a box per step, an arrow per value."""
    steps = concrete.steps()
    depth: dict[int, int] = {}
    for step in steps:
        depth[step.number] = 1 + max((depth[i] for i in step.waits_for), default=-1)
    columns: dict[int, list[Any]] = {}
    for step in steps:
        columns.setdefault(depth[step.number], []).append(step)
    widest = max(len(column) for column in columns.values())
    figure, axes = plt.subplots(figsize=(max(7, 2.6 * len(columns)), max(4, 0.95 * widest)))
    place = {}
    for number, column in columns.items():
        for row, step in enumerate(column):
            place[step.number] = (2.6 * number, -(row + 0.5) * widest / len(column))
    for step in steps:
        for i in step.waits_for:
            _arrow(axes, place[i], place[step.number])
    for step in steps:
        x, y = place[step.number]
        box = {"boxstyle": "round,pad=0.35", "facecolor": COLOURS.get(step.kind, "white"), "edgecolor": "#777777"}
        axes.text(x, y, _label(step), ha="center", va="center", fontsize=7, bbox=box)
    axes.set_xlim(-1.5, 2.6 * len(columns) - 1.1)
    axes.set_ylim(-widest - 0.2, 0.2)
    axes.axis("off")
    counts = ", ".join(f"{sum(step.kind == kind for step in steps)} {kind}" for kind in COLOURS)
    axes.set_title(f"One training step as it runs ({counts})", fontsize=10)
    _save(figure, path)


def _label(step: Any) -> str:
    """Return the step's kind and the ops in it, in lines of three ops, at most nine of them."""
    ops = list(step.ops)
    shown = ops[:9] + ([f"... {len(ops) - 9} more"] if len(ops) > 9 else [])
    lines = [", ".join(shown[i : i + 3]) for i in range(0, len(shown), 3)]
    return "\n".join([step.kind, *lines])


def _arrow(axes: Axes, begin: tuple[float, float], end: tuple[float, float]) -> None:
    style = {"arrowstyle": "-|>", "color": "#999999", "linewidth": 0.6, "shrinkA": 20, "shrinkB": 20}
    axes.annotate("", xy=end, xytext=begin, arrowprops=style)


def _save(figure: Any, path: Path) -> None:
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
