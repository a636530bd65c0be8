"""The start-up file of processes that a program behind the door starts: this folder stands in their PYTHONPATH.

Rule: what runs here runs before every program; it imports nothing, and undoes its own trace.
"""
