"""tf.summary: what programs write for TensorBoard.

Writers of event files, the kinds of summaries, the graphs of the Functions that run.

Rule: what is written in a Function is written in every call, to the writer that is the default while it is traced.
"""
