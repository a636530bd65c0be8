"""A graph of 1,000 operations as a GraphDef, in the wire format, and such a message as a graph again.

The graph is the same one in each call; what a package keeps of it between the calls is its own affair.
"""

import numpy as np

ROWS = {"written": 23, "imported": 23}
CASES = {"written": {"n": 1000, "what": "written"}, "imported": {"n": 1000, "what": "imported"}}
SMALL = {"n": 9}
GOALS: dict[str, float] = {}
MODES = ("staged",)
_WHY = "it has no GraphDefs"
ABSENT = {"numpy": _WHY, "numba": _WHY, "jax": _WHY, "torch": _WHY, "pytensor": _WHY}


def data(n, what):
    return {"x": np.arange(10, dtype=np.float32), "n": n, "what": what}


def tensorflow(tf, stage, x, n, what):
    def ops(x):
        y = x
        for _ in range(n // 2):
            y = tf.maximum(y + x, x)
        return y

    graph = tf.function(ops, autograph=False).get_concrete_function(tf.constant(x)).graph
    if what == "written":

        def write():
            definition = graph.as_graph_def()
            definition.SerializeToString()
            return tf.constant(len(definition.node))

        return write
    definition = graph.as_graph_def()

    def read():
        with tf.Graph().as_default() as made:
            tf.graph_util.import_graph_def(definition, name="")
        return tf.constant(len(made.get_operations()))

    return read
