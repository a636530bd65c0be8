"""Graphs as TensorFlow writes them.

GraphDefs: messages, writing, importing; tf.Graph and its operations, a view of the IR; event files; drawings.

Rule: one table says what each primitive is as an operation of TensorFlow, read in both directions.
"""
