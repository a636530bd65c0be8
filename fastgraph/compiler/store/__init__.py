"""Kernels asked for, compiled, kept.

The service that is asked for kernels: from memory, from the user's directory, or from processes that compile.

Rule: a request never waits for a compilation; nothing is run that this user did not write, whole, with this user's key.
"""
