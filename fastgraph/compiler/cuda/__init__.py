"""The second target: the same loop nests as `cuda.jit` kernels. Nothing outside this package imports it."""
