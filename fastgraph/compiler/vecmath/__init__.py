"""The mathematics of kernels.

exp, log, pow, sine, ... of one element, written over lanes: kernels get LLVM IR of it, eager mode C.

Rule: straight-line code; nothing of Numba, and of fastgraph this room alone.
"""
