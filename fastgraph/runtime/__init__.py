"""Programs to Plans, Plans run.

The schedule (a Program and shapes to a Plan: order, memory, shards), the executor that runs Plans without Python,
and the executable that a traced graph is run by.

Rule: everything is decided by shapes alone, so results have the same bits on any number of threads.
"""
