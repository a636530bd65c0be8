"""Passes over graphs.

Rewriting: the engine that rebuilds a graph node by node, and the passes, each a function Graph -> Graph.

Rule: a pass leaves its argument alone and computes the same values; Fuel counts every change.
"""
