"""The CPU target.

Loop nests to the source of njit kernels, what that source calls (intrinsics), and source to object code to address.

Rule: only object_code and what it imports know Numba; they are imported where kernels are compiled.
"""
