"""Every primitive in a GraphDef: TensorFlow imports it, runs it and gives what fastgraph gives.

    PEER_TENSORFLOW=/path/to/its/python python -m tests.oracle.graph_primitives [primitive ...]

Each primitive is traced by itself for some of its samples, once with every size known and once with none, and written.
What has no equal there, on purpose, stands in NOT_THERE with the reason; anything else that TensorFlow does not know,
refuses or computes otherwise is printed, and the exit status is 1.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from tests.oracle import processes

#: Samples of each primitive.
MOST = 4
#: Primitives that are written with their own attributes, which TensorFlow cannot run: why.
NOT_THERE: dict[str, str] = {}


def chosen(samples: list[Any]) -> list[Any]:
    """Some samples of a primitive, of as many dtypes and ranks as may be."""
    samples = [each for each in samples if not any(np.asarray(x).dtype.name == "bfloat16" for x in each[0])]
    return (
        [samples[i] for i in sorted({round(k * (len(samples) - 1) / (MOST - 1)) for k in range(MOST)})]
        if samples
        else []
    )


def written(names: list[str]) -> Iterator[tuple[str, bool, Any]]:
    """Yield for each sample (primitive, whether sizes are known, (GraphDef, arguments, outputs' names, results))."""
    import fastgraph as fg
    from fastgraph.core.tensor import bind
    from tests.ops import op_samples

    for primitive in op_samples.op_primitives():
        if names and primitive.name not in names:
            continue
        if primitive.samples is None and primitive.family not in ("elementwise", "reduction"):
            continue
        for inputs, attrs in chosen(op_samples.samples(primitive)):
            arrays = [np.asarray(x) for x in inputs]
            for known in (True, False):
                specs = [
                    fg.TensorSpec(x.shape if known else [None] * x.ndim, fg.string if x.dtype == object else x.dtype)
                    for x in arrays
                ]
                function = fg.function(lambda *given, p=primitive, a=attrs: bind(p, given, a))
                try:
                    concrete = function.get_concrete_function(*specs)
                    results = [np.asarray(each) for each in fg.nest.flatten(concrete(*map(fg.constant, arrays)))]
                except Exception as error:  # its sizes must be known, or its integers
                    print(f"  {primitive.name}: not traced or run here: {str(error)[:100]}", file=sys.stderr)
                    continue
                definition = concrete.graph.as_graph_def().SerializeToString()
                feeds = {tensor.name: x for tensor, x in zip(concrete.inputs, arrays, strict=True)}
                yield primitive.name, known, (definition, feeds, [each.name for each in concrete.outputs], results)


def imported(cases: list[tuple[str, bool, Any]]) -> int:
    """Import and run each case in TensorFlow; print what differs, and return 1 if something does."""
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    wrong: dict[str, Counter[str]] = {}
    equal: Counter[str] = Counter()
    for name, known, (definition, feeds, outputs, expected) in cases:
        try:
            graph_def = tf.compat.v1.GraphDef.FromString(definition)
            nodes = [*graph_def.node, *[node for each in graph_def.library.function for node in each.node_def]]
            missing = sorted({node.op for node in nodes if op_def_registry.get(node.op) is None})
            assert not missing, f"no operation {', '.join(missing)}"
            given = [tf.constant(x) for x in feeds.values()]
            run = tf.compat.v1.wrap_function(
                lambda *t, g=graph_def, f=feeds, o=outputs: tf.graph_util.import_graph_def(
                    g, input_map=dict(zip(f, t, strict=True)), return_elements=o, name=""
                ),
                [tf.TensorSpec(x.shape, x.dtype) for x in given],
            )
            for result, wanted in zip(run(*given), expected, strict=True):
                found = np.asarray(result.numpy())
                assert found.shape == wanted.shape, (found.shape, wanted.shape)
                if wanted.dtype.kind in "OSU":
                    assert found.tolist() == wanted.tolist()
                else:
                    assert found.dtype == wanted.dtype, (found.dtype, wanted.dtype)
                    half = wanted.dtype.name == "float16"
                    np.testing.assert_allclose(found, wanted, rtol=2e-2 if half else 1e-4, atol=2e-2 if half else 1e-5)
        except Exception as error:
            text = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            wrong.setdefault(name, Counter())[f"{'known' if known else 'unknown'} sizes: {text}"] += 1
        else:
            equal[name] += 1
    unexpected = 0
    for name, texts in sorted(wrong.items()):
        if name not in NOT_THERE:
            unexpected = 1
        for text, n in texts.items():
            print(f"  {name}{' (stated)' if name in NOT_THERE else ''}: {n} of {equal[name] + texts.total()}, {text}")
    print(f"  {len(equal)} primitives, {equal.total()} graphs equal; {len(wrong)} primitives differ")
    return unexpected


def main(given: list[str] | None = None) -> int:
    """Write here, import there; return 1 if something differs that is not stated."""
    names = sys.argv[1:] if given is None else given
    if names[:1] == ["--read"]:
        with open(names[1], "rb") as file:
            return imported(pickle.load(file))
    environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": os.getcwd(), "CUDA_VISIBLE_DEVICES": ""}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "cases")
        with open(path, "wb") as file:
            pickle.dump(list(written(names)), file)
        command = [processes.tensorflow_python(), "-m", "tests.oracle.graph_primitives", "--read", path]
        return subprocess.run(command, env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
