"""What lasts.

Checkpoints in TensorFlow's format: tables of keys, bundles of tensors, graphs of objects, and what restores them.

Rule: a file is whole or is not there: written beside, synced, renamed. Nothing that is read is run, and no memory is
taken that the size of a file does not justify.
"""
