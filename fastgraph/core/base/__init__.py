"""Foundations.

Words, settings and shapes: what everything else may use and what makes no array.
Dtypes, shapes and abstract values, nested structures, flags, locks, signals, the language of element expressions.

Rule: standard library, NumPy and errors alone.
"""
