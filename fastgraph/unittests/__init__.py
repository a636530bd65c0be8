"""tf.test.

A base class of test cases whose asserts take tensors, Jacobians beside finite differences, benchmarks.

Rule: an assert within a Function is checked when the Function runs; absl is used where it is installed, never needed.
"""
