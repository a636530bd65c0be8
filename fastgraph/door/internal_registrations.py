"""Notes of what libraries tell TensorFlow of themselves: functions that its other parts would call.

Rule: what is told is kept, by name; the parts that would ask for it (tf.lite, sessions) are not built, and say so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

#: Registered class or name -> the functions.
registered: dict[str, Any] = {}


def _keeping(name: str) -> Callable[..., None]:
    def register(*functions: Any) -> None:
        registered[name] = functions

    register.__name__ = f"register_{name}"
    register.__doc__ = f"Keep a library's functions: {name}."
    return register


register_call_context_function = _keeping("call_context_function")
register_clear_session_function = _keeping("clear_session_function")
register_get_session_function = _keeping("get_session_function")
register_load_model_function = _keeping("load_model_function")
register_loss_scale_wrapper = _keeping("loss_scale_wrapper")
register_session_provider = _keeping("session_provider")


def set_using_mixed_precision_policy(is_using: bool) -> None:
    """Keep whether a library's policy of mixed precision is in use."""
    registered["mixed_precision_policy"] = is_using


def is_mixed_precision_graph_rewrite_enabled() -> bool:
    """Return whether TensorFlow 1's rewrite of graphs to half floats is on: there is none."""
    return False
