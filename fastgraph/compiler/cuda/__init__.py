"""The second target: the same loop nests as `cuda.jit` kernels.

Rule: nothing outside this package imports it.
"""
