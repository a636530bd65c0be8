"""Programs.

What the compiler makes: kernels before they have an address, and Programs of them with symbolic sizes.

Rule: nothing here depends on a run-time size, or on a target.
"""
