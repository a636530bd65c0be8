"""tf.experimental.numpy: NumPy's functions of tensors, and NumPy's behaviour of tensors where it is switched on.

Rule: a function is a row of a table, or a few lines of public ops; no op is defined here.
"""
