"""tf.saved_model.LoadOptions, SaveOptions, experimental.VariablePolicy: what programs say about loading and saving."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from typing import Any


class VariablePolicy(enum.Enum):
    """The choice of what is saved of a Variable's places. Source: tf.saved_model.experimental.VariablePolicy."""

    NONE = None
    SAVE_VARIABLE_DEVICES = "save_variable_devices"
    EXPAND_DISTRIBUTED_VARIABLES = "expand_distributed_variables"

    @staticmethod
    def from_obj(obj: Any) -> VariablePolicy:
        """Return the policy of a value, of a text in any case. Raises ValueError for another."""
        if obj is None:
            return VariablePolicy.NONE
        if isinstance(obj, VariablePolicy):
            return obj
        key = str(obj).lower()
        for policy in VariablePolicy:
            if policy.value == key:
                return policy
        raise ValueError(f"Received invalid VariablePolicy value: {obj}.")


class LoadOptions:
    """Options of tf.saved_model.load. Source: tf.saved_model.LoadOptions.

    Args:
        allow_partial_checkpoint: Whether Variables may be missing among the values; they are left without one.
        experimental_io_device, experimental_variable_policy: Taken and without effect: there is one device.
        experimental_skip_checkpoint: Whether Variables are left without values.
        experimental_load_function_aliases: Whether the object gets `function_aliases`, functions by the names that
            SaveOptions gave them.
        experimental_skip_unknown_ops: Beyond TensorFlow: functions of which an operation has no equal here are an error
            when they are called, not when they are loaded.
        experimental_open_files: Beyond TensorFlow: whether operations may open files that the graph or a call names
            (io.read_file, io.write_file, datasets of records and lines). Without it they have no equal here.
    """

    def __init__(
        self,
        allow_partial_checkpoint: bool = False,
        experimental_io_device: str | None = None,
        experimental_skip_checkpoint: bool = False,
        experimental_variable_policy: Any = None,
        experimental_load_function_aliases: bool = False,
        *,
        experimental_skip_unknown_ops: bool = False,
        experimental_open_files: bool = False,
    ) -> None:
        self.allow_partial_checkpoint = allow_partial_checkpoint
        self.experimental_io_device = experimental_io_device
        self.experimental_skip_checkpoint = experimental_skip_checkpoint
        self.experimental_variable_policy = VariablePolicy.from_obj(experimental_variable_policy)
        self.experimental_load_function_aliases = experimental_load_function_aliases
        self.experimental_skip_unknown_ops = experimental_skip_unknown_ops
        self.experimental_open_files = experimental_open_files


class SaveOptions:
    """Options of tf.saved_model.save. Source: tf.saved_model.SaveOptions.

    Args:
        namespace_whitelist: The namespaces of operations ("Namespace>Op") that may be saved; none is.
        save_debug_info: Taken and without effect: where an operation was made is not saved.
        function_aliases: Names for Functions, as serving programs look for them.
        experimental_custom_gradients: Whether the gradients that functions state themselves are saved.
        extra_tags: Tags besides "serve".
        experimental_debug_stripper, experimental_io_device, experimental_variable_policy, experimental_image_format:
            Taken and without effect.
        experimental_sharding_callback: A tf.train.experimental.ShardingCallback: what is in which file of values.

    Raises:
        TypeError: The namespaces are no list of texts.
        ValueError: `experimental_variable_policy` is none.
    """

    def __init__(
        self,
        namespace_whitelist: Sequence[str] | None = None,
        save_debug_info: bool = False,
        function_aliases: Mapping[str, Any] | None = None,
        experimental_debug_stripper: bool = False,
        experimental_io_device: str | None = None,
        experimental_variable_policy: Any = None,
        experimental_custom_gradients: bool = True,
        experimental_image_format: bool = False,
        experimental_skip_saver: bool = False,
        experimental_sharding_callback: Any = None,
        extra_tags: Sequence[str] | None = None,
    ) -> None:
        if isinstance(namespace_whitelist, str) or not all(isinstance(each, str) for each in namespace_whitelist or ()):
            raise TypeError(f"`namespace_whitelist` must be a list of strings, got {namespace_whitelist!r}")
        self.namespace_whitelist = list(namespace_whitelist or [])
        self.save_debug_info = save_debug_info
        self.function_aliases = dict(function_aliases or {})
        self.experimental_debug_stripper = experimental_debug_stripper
        self.experimental_io_device = experimental_io_device
        self.experimental_variable_policy = VariablePolicy.from_obj(experimental_variable_policy)
        self.experimental_custom_gradients = experimental_custom_gradients
        self.experimental_image_format = experimental_image_format
        self.experimental_skip_saver = experimental_skip_saver
        self.experimental_sharding_callback = experimental_sharding_callback
        self.extra_tags = list(extra_tags or [])
