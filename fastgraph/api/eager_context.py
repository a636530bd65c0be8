"""The part of TensorFlow's eager context that libraries ask: whether ops run at once, which devices there are.

Rule: it keeps nothing; there is one context, and what it answers others know.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fastgraph.core import devices
from fastgraph.core.device_spec import DeviceSpec
from fastgraph.core.tensor import current_state
from fastgraph.core.tensor import executing_eagerly as executing_eagerly


class Context:
    """The eager context: TensorFlow's name for what a process has set up."""

    def executing_eagerly(self) -> bool:
        """Return whether ops run at once on this thread."""
        return executing_eagerly()

    def clear_kernel_cache(self) -> None:
        """Do nothing: eager ops keep no kernels."""

    def ensure_initialized(self) -> None:
        """Do nothing: what is needed is set up when it is first used."""

    def num_gpus(self) -> int:
        """Return how many GPUs ops can run on."""
        return len(devices.list_logical_devices("GPU"))

    def list_logical_devices(self, device_type: str | None = None) -> list[devices.LogicalDevice]:
        """Return the devices that ops can run on."""
        return list(devices.list_logical_devices(device_type))

    @property
    def device_name(self) -> str | None:
        """The device that ops are asked to run on, None if none was named."""
        return current_state().device

    @property
    def device_spec(self) -> DeviceSpec:
        """The device that tf.device names here; of none, a DeviceSpec of nothing."""
        return DeviceSpec.from_string(self.device_name or "")


_context = Context()


def context() -> Context:
    """Return the process's context."""
    return _context


def get_device_name() -> str | None:
    """Return the device that ops are asked to run on, None if none was named."""
    return _context.device_name


def _reset_context() -> None:
    """Forget how devices were divided, as if no op had run: tests of libraries do so before they divide them."""
    devices.forget()


def async_wait() -> None:
    """Wait for all ops that were begun: they are complete when their calls return."""


@contextmanager
def async_scope() -> Iterator[None]:
    """Enter a context like none: ops are complete when their calls return. Source: tf.experimental.async_scope."""
    yield


def async_clear_error() -> None:
    """Do nothing: no error waits to be raised. Source: tf.experimental.async_clear_error."""


@contextmanager
def function_executor_type(executor_type: str | None) -> Iterator[None]:
    """Enter a context like none: there is one executor of Functions. Source: tf.experimental, same name."""
    yield
