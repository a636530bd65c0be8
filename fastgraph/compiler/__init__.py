"""Compiler: from graph to Program.

Takes an optimised graph and makes a Program of it: rewrites ops in terms of simpler ones, widens half floats, attaches
epilogues to convolutions, and turns clusters of nodes into kernels.

Rule: a Program depends on the graph and its witnesses only; it contains no size that is known at run time alone.
"""
