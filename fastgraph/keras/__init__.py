"""tf.keras with the meaning that it has in Keras 2; so far optimizers and losses.

Rule: what stands here is written in public ops and Variables only; nothing below knows of it.
"""

from __future__ import annotations

from fastgraph._namespaces import lookup

__getattr__ = lookup("keras")
