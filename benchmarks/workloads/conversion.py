"""A function of 100 lines, six conditions and six loops among them, converted by AutoGraph and run as it is.

Its code is another in each call: a number in it differs. Both packages analyse it by one algorithm, whose time grows
fast with the number of conditions in a row.
"""

import importlib.util
import os
import tempfile

ROWS = {"100 lines": 23}
CASES = {"100 lines": {"blocks": 6}}
SMALL = {"blocks": 1}
GOALS: dict[str, float] = {}
MODES = ("staged",)
_WHY = "it converts no Python"
ABSENT = {"numpy": _WHY, "numba": _WHY, "jax": _WHY, "torch": "it reads byte code, as it traces", "pytensor": _WHY}

BLOCK = """
    if x > {k}.0:
        x = x * 0.5
    else:
        x = x + 1.0
    i = 0
    while i < 2:
        x, i = x + 0.25, i + 1
    y = x * 2.0
    z = y - 1.0
    x = z * 0.5 + x
    y = x + z
    z = y * 0.125
    x = x - z
    x = x + 0.5
    z = x * 0.25
    x = x - z"""


def data(blocks):
    return {"text": "def f(x):" + "".join(BLOCK.format(k=k) for k in range(blocks)) + "\n"}


def tensorflow(tf, stage, text):
    folder = tempfile.TemporaryDirectory()
    numbers = iter(range(1 << 60))
    x = tf.constant(3.0)

    def call():
        path = os.path.join(folder.name, f"code_{next(numbers)}.py")
        with open(path, "w") as file:
            file.write(f"{text}    number = {next(numbers)}\n    return x + 0.0 * number\n")
        spec = importlib.util.spec_from_file_location("code", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return tf.autograph.to_graph(module.f)(x)

    return call
