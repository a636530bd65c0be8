"""CompositeTensor: what values made of several tensors have in common."""

from __future__ import annotations


class CompositeTensor:
    """The base of ragged and sparse tensors, of IndexedSlices, and of what else several tensors make up.

    `_type_spec` says how it is taken apart and put together. Source: tf.__internal__.CompositeTensor.
    """

    __slots__ = ()
    _is_tensor = False  # what tf.is_tensor says: of libraries' own classes no
