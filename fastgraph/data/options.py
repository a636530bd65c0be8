"""tf.data.Options: what programs say about how a dataset's elements are made.

Rule: options are kept, merged and given back as TensorFlow does it; how elements are made here depends on none of them
(order is always that of the program, and no element is dropped).
"""

from __future__ import annotations

import enum
from typing import Any, ClassVar, Self


class AutotuneAlgorithm(enum.Enum):
    """Choice of buffers and threads. Source: tf.data.experimental.AutotuneAlgorithm."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class AutoShardPolicy(enum.IntEnum):
    """Ways to share a dataset out among workers. Source: tf.data.experimental.AutoShardPolicy."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """The fate of state outside a dataset when it is written. Source: tf.data.experimental.ExternalStatePolicy."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Fields:
    """Fields of given types and defaults, in a dict: setting another one, or a wrong type, is an error."""

    #: name -> (type or types, default); a class of options as default stands for a new object of it.
    FIELDS: ClassVar[dict[str, tuple[Any, Any]]] = {}

    def __init__(self) -> None:
        object.__setattr__(self, "_options", {})
        object.__setattr__(self, "_mutable", True)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self.FIELDS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        if name not in self._options:
            default = self.FIELDS[name][1]
            self._options[name] = default() if isinstance(default, type) else default
        return self._options[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if not self._mutable:
            raise ValueError(
                "Mutating `tf.data.Options()` returned by `tf.data.Dataset.options()` has no effect. Use "
                "`tf.data.Dataset.with_options(options)` to set or update dataset options."
            )
        if name not in self.FIELDS:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        kind = self.FIELDS[name][0]
        if not isinstance(value, kind):
            raise TypeError(f'Property "{name}" must be of type {kind}, got: {value} (type: {type(value)})')
        self._options[name] = value

    def __dir__(self) -> list[str]:
        return [*object.__dir__(self), *self.FIELDS]

    def _set(self) -> dict[str, Any]:
        """Return the fields that are not as they were."""
        found = {}
        for name, value in self._options.items():
            if isinstance(value, _Fields):
                if value._set():
                    found[name] = value
            elif value != self.FIELDS[name][1]:
                found[name] = value
        return found

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._set() == other._set()

    __hash__ = None  # type: ignore[assignment]

    def _merged(self, other: Self) -> Any:
        result = type(self)()
        for each in (self, other):
            for name, value in each._set().items():
                if isinstance(value, _Fields):
                    result._options[name] = getattr(result, name)._merged(value)
                else:
                    result._options[name] = value
        return result

    def _freeze(self) -> None:
        object.__setattr__(self, "_mutable", False)
        for value in self._options.values():
            if isinstance(value, _Fields):
                value._freeze()


class AutotuneOptions(_Fields):
    """Options of the tuning of buffers and threads. Source: tf.data.experimental.AutotuneOptions."""

    FIELDS: ClassVar[dict[str, tuple[Any, Any]]] = {
        **dict.fromkeys(("enabled",), (bool, None)),
        **dict.fromkeys(("cpu_budget", "ram_budget", "initial_parallelism", "min_parallelism"), (int, None)),
        "autotune_algorithm": (AutotuneAlgorithm, None),
    }


class DistributeOptions(_Fields):
    """Options of the sharing out of a dataset. Source: tf.data.experimental.DistributeOptions."""

    FIELDS: ClassVar[dict[str, tuple[Any, Any]]] = {
        "auto_shard_policy": (AutoShardPolicy, AutoShardPolicy.AUTO),
        "num_devices": (int, None),
    }


class OptimizationOptions(_Fields):
    """Rewrites of a pipeline that are on. Source: tf.data.experimental.OptimizationOptions."""

    FIELDS: ClassVar[dict[str, tuple[Any, Any]]] = dict.fromkeys(
        (
            *("apply_default_optimizations", "filter_fusion", "filter_parallelization", "inject_prefetch"),
            *("map_and_batch_fusion", "map_and_filter_fusion", "map_fusion", "map_parallelization"),
            *("noop_elimination", "parallel_batch", "seq_interleave_prefetch", "shuffle_and_repeat_fusion"),
        ),
        (bool, None),
    )


class ServiceOptions(_Fields):
    """Options of the data service. Source: tf.data.experimental.ServiceOptions."""

    FIELDS: ClassVar[dict[str, tuple[Any, Any]]] = {"pinned": (bool, None)}


class ThreadingOptions(_Fields):
    """Numbers of threads that make elements. Source: tf.data.ThreadingOptions."""

    FIELDS: ClassVar[dict[str, tuple[Any, Any]]] = dict.fromkeys(
        ("max_intra_op_parallelism", "private_threadpool_size"), (int, None)
    )


class Options(_Fields):
    """Options of a dataset: `dataset.with_options(options)`. Source: tf.data.Options."""

    FIELDS: ClassVar[dict[str, tuple[Any, Any]]] = {
        "autotune": (AutotuneOptions, AutotuneOptions),
        "dataset_name": (str, None),
        "deterministic": (bool, None),
        "experimental_distribute": (DistributeOptions, DistributeOptions),
        "experimental_external_state_policy": (ExternalStatePolicy, None),
        "experimental_optimization": (OptimizationOptions, OptimizationOptions),
        "experimental_service": (ServiceOptions, ServiceOptions),
        **dict.fromkeys(("experimental_slack", "experimental_symbolic_checkpoint"), (bool, None)),
        "experimental_warm_start": (bool, None),
        "framework_type": (list, None),
        "threading": (ThreadingOptions, ThreadingOptions),
    }
    #: Older names of fields.
    OLDER: ClassVar[dict[str, str]] = {
        "experimental_deterministic": "deterministic",
        "experimental_threading": "threading",
    }

    def __getattr__(self, name: str) -> Any:
        return super().__getattr__(self.OLDER.get(name, name))

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(self.OLDER.get(name, name), value)

    def merge(self, options: Options) -> Options:
        """Return these options with what another one says besides, which wins."""
        return self._merged(options)
