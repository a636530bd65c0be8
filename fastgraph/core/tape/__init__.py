"""The tape.

Gradients in eager mode: the parts of _tape.pyx (which itself stays in the package's root), GradientTape over them,
forward mode, and IndexedSlices, the sparse cotangents that the tape adds up.

Rule: the walk is _tape's; the Python here is structures, checks and messages.
"""
