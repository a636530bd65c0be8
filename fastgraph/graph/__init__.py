"""Graphs.

The IR and its check, tracing, control flow and calls, differentiation, batching, and the interpreter.

Rule: a graph's node list is its program order; subgraphs are closed.
"""
