"""The abstract part of TensorFlow's feature columns that libraries derive from; columns themselves are not built.

Rule: abstract methods alone.
"""

from __future__ import annotations

from typing import Any


class StateManager:
    """Maker and keeper of the Variables of feature columns. Source: tf.__internal__.feature_column.StateManager."""

    def create_variable(self, feature_column: object, name: str, shape: object, *args: object, **kwargs: Any) -> Any:
        """Make a Variable for a column."""
        raise NotImplementedError("StateManager.create_variable")

    def add_variable(self, feature_column: object, var: object) -> None:
        """Enter a Variable of a column."""
        raise NotImplementedError("StateManager.add_variable")

    def get_variable(self, feature_column: object, name: str) -> Any:
        """Return a column's Variable."""
        raise NotImplementedError("StateManager.get_var")

    def add_resource(self, feature_column: object, name: str, resource: object) -> None:
        """Enter something else that a column needs."""
        raise NotImplementedError("StateManager.add_resource")

    def has_resource(self, feature_column: object, name: str) -> bool:
        """Return whether a column has such a thing."""
        raise NotImplementedError("StateManager.has_resource")

    def get_resource(self, feature_column: object, name: str) -> Any:
        """Return such a thing."""
        raise NotImplementedError("StateManager.get_resource")
