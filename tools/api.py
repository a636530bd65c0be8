"""Write docs/api.md: which of the public names that programs use are there, and which are missing.

    .venv/bin/python tools/api.py        (after make test: that is where fastgraph is installed)

The counts of uses stand in tests/api/api_counts.txt; a test writes the page again and compares.
"""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import fastgraph
from fastgraph.api import namespaces
from fastgraph.core.unimplemented_classes import Unbuilt

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
OF_KERAS = """
# The names of Keras 2

Of the {} names of tf.keras, {} are there. Every other one raises NotBuiltError too, which says what to use, or how to
get Keras 3.

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


#: Why modules, and single names, are not built; the longest that fits counts.
REASONS = {
    "": "needs TensorFlow's own kernels or graphs", "tpu": "TPUs", "distribute": "several processes",
    "experimental.dtensor": "several devices as one", "dtensor": "several devices as one",
    "experimental.tensorrt": "other devices", "lite": "another runtime", "mlir": "another compiler's forms",
    "xla": "another compiler, deprecated there", "tools": "of TensorFlow's own documentation",
    "security": "of TensorFlow's own tests", "feature_column": "deprecated there",
    "optimizers.legacy": "deprecated there", "optimizers": "keras",
    "quantization": "of whole models, for another runtime",
    "profiler.experimental": "several processes", "config": "several processes",
    "data.experimental": "the data service",
    "data.experimental.enable_debug_mode": "datasets' functions are always graphs",
    "data.experimental.get_model_proto": "TensorFlow's own tuning of datasets",
    "data.experimental.make_saveable_from_iterator": "deprecated there", "debugging": "TensorFlow's own debugger",
    "experimental.enable_strict_mode": "nothing is deprecated here",
    "experimental.register_filesystem_plugin": "compiled against TensorFlow's C++",
    **dict.fromkeys(("load_library", "load_op_library", "sysconfig"), "compiled against TensorFlow's C++"),
    **dict.fromkeys(("RegisterGradient", "no_gradient"), "of TensorFlow 1's graphs and sessions"),
    **dict.fromkeys(("check_pinned", "conv2d_backprop_filter_v2", "conv2d_backprop_input_v2"), "for GPUs alone there"),
    **dict.fromkeys(("train", "test", "nondifferentiable_batch_function"), "several processes"),
    **dict.fromkeys(("image.decode_jxl", "io.decode_jxl"), "no reader of JPEG XL in Pillow"),
    **dict.fromkeys(("io.decode_proto", "io.encode_proto"), "descriptors of messages"),
    "image.generate_bounding_box_proposals": "for GPUs alone there",
    **dict.fromkeys(("nn", "random"), "a sampler that learns while it runs"),
    **dict.fromkeys(("nn.RNNCellDeviceWrapper", "nn.RNNCellDropoutWrapper", "nn.RNNCellResidualWrapper"), "keras"),
    "keras": "Keras 3's", "keras.dtensor": "several devices as one", "keras.estimator": "deprecated there",
    "keras.optimizers": "deprecated there", "keras.preprocessing.text": "deprecated there",
    "keras.utils.legacy": "deprecated there",
}  # fmt: skip


def reason(full: str) -> str:
    """Return why a name is not built."""
    while full and full not in REASONS:
        full = full.rpartition(".")[0]
    return REASONS[full]


def exported(head: str, of_keras: bool) -> str:
    """Return the table of TensorFlow's exported names: how many are there, and which are not."""
    rows, total = [], [0, 0]
    for space, names in namespaces.tensorflow_names().items():
        if (space.partition(".")[0] == "keras") != of_keras:
            continue
        missing = [name for name in sorted(names) if not is_there(f"tf.{space}".rstrip("."), name)]
        total = [total[0] + len(names), total[1] + len(names) - len(missing)]
        by_reason: dict[str, list[str]] = {}
        for name in missing:
            by_reason.setdefault(reason(namespaces.joined(space, name)), []).append(name)
        for why, group in by_reason.items():
            shown = f"`tf.{space}`".replace(".`", "`")
            rows.append(f"| {shown} | {len(names)} | {len(group)} | {', '.join(group)} | {why} |")
    return head.format(*total) + "\n".join(rows) + "\n"


def is_there(space: str, name: str) -> bool:
    """Return whether fastgraph has the name, not only to be asked about (`core/unimplemented_classes`)."""
    thing: object = fastgraph
    for part in [*space.split(".")[1:], name]:
        try:
            thing = getattr(thing, part)
        except AttributeError:
            return False
    return not isinstance(thing, (Unbuilt, SimpleNamespace))


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
    return HEAD.format(often=OFTEN) + "\n".join(rows) + "\n" + exported(EXPORTED, False) + exported(OF_KERAS, True)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
