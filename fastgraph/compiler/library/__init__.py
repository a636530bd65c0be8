"""Kernels of single ops.

Kernels that are written op by op, not fused: convolutions, scans and scatters, counted results, random numbers,
and loops whose steps are small kernels, as one kernel.

Rule: each gives its source and the step that runs it; threads share work without changing a bit.
"""
