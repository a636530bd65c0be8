"""Values of several tensors.

Ragged and sparse tensors and TensorArrays: what they are, and what ops do to them.

Rule: written in ops on their component tensors, so that gradients, Functions and kernels follow.
"""
