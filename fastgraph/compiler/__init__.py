"""Graph to Program.

From an optimised graph to a Program: ops written in others, half floats widened, epilogues, clusters to kernels.

Rule: a Program depends on the graph and its witnesses; no run-time extent is in it.
"""
