"""Runtime: from Program to Plan, and the execution of Plans.

The schedule turns a Program and shapes into a Plan: order, memory, shards. The executor runs Plans without Python. The
executable is what a traced graph is run by.

Rule: everything is decided by shapes alone, so results have the same bits on any number of threads.
"""
