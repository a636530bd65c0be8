"""Loop nests.

Nodes to clusters to target-neutral loop nests, made canonical, cut for threads, and what they cost.

Rule: a lowering says what one element is; only this room knows in which loop it is computed.
"""
