"""Write docs/api.md: which of the public names that programs use are there, and which are missing.

    .venv/bin/python tools/api.py        (after make test: that is where fastgraph is installed)

The counts of uses stand in tests/api/api_counts.txt; a test writes the page again and compares.
"""

from __future__ import annotations

from pathlib import Path

import fastgraph
from fastgraph.api import namespaces

ROOT = Path(__file__).resolve().parents[1]
COUNTS = ROOT / "tests" / "api" / "api_counts.txt"
PAGE = ROOT / "docs" / "api.md"
#: From how many uses on a name is called often used.
OFTEN = 10
#: Names that the corpora use and TensorFlow 2 does not have: of TensorFlow 1, or slips of the pen.
NOT_TENSORFLOW = {
    "tf": "assign disable_eager_execution log pi make_template assert_near matrix_inverse squared_difference Variables "
    "sparse_tensor_dense_matmul random_normal random_uniform",
    "tf.losses": "sigmoid_cross_entropy",
    "tf.random": "stateless_",
    "tf.train": "GradientDescentOptimizer AdamOptimizer",
    "tf.linag": "lu",
}

HEAD = """\
# The public names that programs use

Counted over guides, tutorials, examples, a library and a backend (`tests/api/api_counts.txt`): of the names of
TensorFlow 2 that occur there, how many fastgraph has, and which it has not, with the number of their uses. Written by
`tools/api.py`.

| namespace | names | there | of those used {often} times or more | missing (uses) |
|---|---|---|---|---|
"""
EXPORTED = """
# All of TensorFlow's names

Of the {} names that TensorFlow 2.21 exports, those of keras and `raw_ops` left out, {} are there. Every other one
raises NotBuiltError, which says what to use.

| namespace | names | missing | which | why |
|---|---|---|---|---|
"""


def counted() -> dict[str, list[tuple[str, int]]]:
    """Return {namespace: [(name, uses), ...]} of what TensorFlow 2 has."""
    found: dict[str, list[tuple[str, int]]] = {}
    for line in COUNTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            continue
        space, _, names = line.partition(": ")
        wrong = NOT_TENSORFLOW.get(space, "").split()
        pairs = [entry.rsplit(" ", 1) for entry in names.split(", ")]
        found[space] = [(name, int(uses)) for name, uses in pairs if name not in wrong]
    return found


#: Modules whose names are not built, and why; other names are not built yet.
REASONS = {
    "tpu": "TPUs", "distribute": "several processes", "experimental.dtensor": "several devices as one",
    "experimental.tensorrt": "other devices", "lite": "another runtime", "mlir": "another compiler's forms",
    "xla": "another compiler", "tools": "of TensorFlow's own documentation", "security": "of TensorFlow's own tests",
    "feature_column": "deprecated there", "quantization": "no quantized dtypes", "dtypes": "no such elements",
    "data.experimental.service": "several processes", "optimizers": "keras", "losses": "keras", "metrics": "keras",
    "profiler.experimental": "several processes", "config": "several processes",
}  # fmt: skip


def exported() -> str:
    """Return the table of TensorFlow's exported names: how many are there, and which are not."""
    rows, total = [], [0, 0]
    for space, names in namespaces.tensorflow_names().items():
        if space == "keras" or space.startswith("keras."):
            continue
        missing = [name for name in sorted(names) if not is_there(f"tf.{space}".rstrip("."), name)]
        total = [total[0] + len(names), total[1] + len(names) - len(missing)]
        if missing:
            reason = next((REASONS[key] for key in (space, space.partition(".")[0]) if key in REASONS), "not yet")
            shown = f"`tf.{space}`".replace(".`", "`")
            rows.append(f"| {shown} | {len(names)} | {len(missing)} | {', '.join(missing)} | {reason} |")
    return EXPORTED.format(*total) + "\n".join(rows) + "\n"


def is_there(space: str, name: str) -> bool:
    """Whether fastgraph has the name."""
    thing: object = fastgraph
    for part in [*space.split(".")[1:], name]:
        try:
            thing = getattr(thing, part)
        except AttributeError:
            return False
    return True


def page() -> str:
    """Return the text of docs/api.md."""
    rows, total = [], [0, 0, 0, 0]
    for space, names in counted().items():
        missing = [(name, uses) for name, uses in names if not is_there(space, name)]
        often = [name for name, uses in names if uses >= OFTEN]
        lacking = [name for name, uses in missing if uses >= OFTEN]
        numbers = [len(names), len(names) - len(missing), len(often), len(often) - len(lacking)]
        total = [a + b for a, b in zip(total, numbers, strict=True)]
        text = ", ".join(f"{name} {uses}" for name, uses in missing)
        rows.append(f"| `{space}` | {numbers[0]} | {numbers[1]} | {numbers[3]} of {numbers[2]} | {text} |")
    rows.append(f"| all | {total[0]} | {total[1]} | {total[3]} of {total[2]} | |")
    return HEAD.format(often=OFTEN) + "\n".join(rows) + "\n" + exported()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
