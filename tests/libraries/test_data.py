"""What TensorFlow's own tests of tf.data are run with: names that lead to public ones, graphs with sessions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
PROGRAM = """
import data_inside
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops
from tensorflow.python.data.util import nest, structure
from tensorflow.python.framework import errors, ops
from tensorflow.python.ops import array_ops

for name in data_inside.names():
    try:
        data_inside._found(name)
    except NotImplementedError:  # which names what is not built
        pass
try:
    array_ops.no_such_name
    raise SystemExit("a name that nobody has")
except AttributeError as error:
    assert "ops.array_ops.no_such_name is an inner name" in str(error)
assert dataset_ops.Dataset is tf.data.Dataset
assert nest.flatten({"b": (1, [2]), "a": 3}) == [3, 1, [2]]
assert nest.map_structure(str, (1, {"a": 2})) == ("1", {"a": "2"})
assert structure.get_flat_tensor_types((tf.TensorSpec([], tf.int32), tf.SparseTensorSpec([2]))) == [tf.int32, tf.variant]


class Case(tf.test.TestCase):
    def test(self):
        with ops.Graph().as_default():
            five = array_ops.placeholder_with_default(tf.constant(5, tf.int64), [])
            iterator = dataset_ops.make_initializable_iterator(tf.data.Dataset.range(3).repeat(tf.constant(1, tf.int64)))
            element = iterator.get_next()
            with self.session() as session:
                with self.assertRaises(errors.FailedPreconditionError):
                    session.run(element)
                session.run(iterator.initializer)
                assert [session.run(element + five) for _ in range(3)] == [5, 6, 7]
                with self.assertRaises(errors.OutOfRangeError):
                    self.evaluate(element)


Case("test").debug()
print("ok")
"""


def test_names_and_sessions() -> None:
    paths = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    environment = {**os.environ, "PYTHONPATH": paths, "LIBRARY_SOURCE": os.devnull}
    command = [sys.executable, "-m", "fastgraph", "run", "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.stdout == "ok\n", done.stderr
