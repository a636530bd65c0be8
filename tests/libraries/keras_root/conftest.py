"""What Keras's tests import from the `conftest` of its checkout, which is not in its wheel."""

from __future__ import annotations

import keras
import pytest


def skip_if_backend(given_backend: str, reason: str) -> pytest.MarkDecorator:
    """Return the mark that skips a test on one backend."""
    return pytest.mark.skipif(keras.backend.backend() == given_backend, reason=reason)
