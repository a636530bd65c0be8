"""tf.autograph.experimental.Feature: parts of AutoGraph that TensorFlow lets a function ask for.

Rule: they are taken and change nothing: what AutoGraph converts here, it converts always.
"""

from __future__ import annotations

import enum
from typing import Any


class Feature(enum.Enum):
    """What `experimental_autograph_options` and `experimental_optional_features` name. Source: tf.autograph."""

    ALL = "ALL"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"

    @classmethod
    def all(cls) -> tuple[Feature, ...]:
        """Return all of them."""
        return tuple(cls)

    @classmethod
    def all_but(cls, exclude: Any) -> tuple[Feature, ...]:
        """Return all of them without one or some."""
        left_out = exclude if isinstance(exclude, list | tuple | set) else (exclude,)
        return tuple(feature for feature in cls if feature not in left_out)
