"""tf.function.

Functions: traced once per kind of arguments, their traces kept, called by way of FastCall or slowly.

Rule: a call that was made before enters no Python function.
"""
