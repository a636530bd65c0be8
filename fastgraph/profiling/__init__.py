"""Timelines.

Recordings of which steps ran when, on which thread, and what the machine can do at most.

Rule: it only looks. tf.profiler's two public files (profiler/) are a front of it.
"""
