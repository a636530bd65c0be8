"""Public names and tf.config.

The table of public names, which is read when one is first asked for, and tf.config, tf.version, tf.sysconfig.
What lies in higher rooms stands here as text ("staging.function_decorator:function") and is imported on demand.

Rule: nothing here computes; it reads and writes flags, and finds names.
"""
