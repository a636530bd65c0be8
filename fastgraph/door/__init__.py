"""The door: programs that say `import tensorflow as tf` get fastgraph.

The finder that Python asks for `tensorflow` and the public modules behind it, the command `run`, the table of the
internal paths of TensorFlow's that libraries import, and the names of TensorFlow 1 that programs of TensorFlow 2 use.

Rule: nothing is computed here. Every name leads to the very object that `fastgraph` has under it, or to an error that
names it.
"""
