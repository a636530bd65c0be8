"""tf.config.optimizer: TensorFlow's names of the optimisers of graphs, and which passes of ours each of them switches.

Rule: nothing here optimises; it sets the flag `passes`, which every pass reads.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Mapping
from typing import Any

from fastgraph.core.base import flags

#: The passes that an option switches off when it is False.
_SWITCHES: dict[str, tuple[str, ...]] = {
    "constant_folding": ("fold",),
    "arithmetic_optimization": ("algebra", "cse"),
    "remapping": ("fuse",),
}
#: The same for options that say what is not done: they switch off when they are True.
_DISABLERS: dict[str, tuple[str, ...]] = {"disable_model_pruning": ("prune",), "disable_meta_optimizer": flags.PASSES}
#: Options between ways of which there is one here: they are remembered, and change nothing.
_WITHOUT_EFFECT = (
    "layout_optimizer",
    "shape_optimization",
    "dependency_optimization",
    "loop_optimization",
    "function_optimization",
    "scoped_allocator_optimization",
    "pin_to_host_optimization",
    "implementation_selector",
    "auto_mixed_precision",
    "auto_mixed_precision_mkl",
    "auto_mixed_precision_onednn_bfloat16",
    "auto_mixed_precision_cpu",
    "auto_parallel",
    "use_plugin_optimizers",
    "disable_auto_parallel",
    "min_graph_nodes",
)
_OPTIONS = (*_SWITCHES, *_DISABLERS, "debug_stripper", *_WITHOUT_EFFECT)
_NUMBERS = ("min_graph_nodes", "auto_parallel")

_options: dict[str, Any] = dict.fromkeys(_DISABLERS, False)
_jit = ""


def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Switch passes over graphs by TensorFlow's names of them, for the graphs that run first after this.

    `constant_folding=False` switches off the pass `fold`, `arithmetic_optimization=False` the passes `algebra` and
    `cse`, `remapping=False` the fusion into kernels, `disable_model_pruning=True` the pass `prune`,
    `disable_meta_optimizer=True` all of them; `debug_stripper=True` leaves out assertions, prints and checks of
    numbers. TensorFlow's other options are taken and change nothing. None leaves an option as it is at first. Raises
    TypeError for what is no mapping, and for a value that is not a bool; an unknown name is a warning.
    Source: tf.config.optimizer.set_experimental_options.
    """
    if not isinstance(options, Mapping):
        raise TypeError(f"`options` must be a dictionary from names of optimizers to bools. Received: {options!r}")
    known = {}
    for name, value in options.items():
        if name not in _OPTIONS:
            near = difflib.get_close_matches(str(name), _OPTIONS, 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" The options are {', '.join(_OPTIONS)}."
            warnings.warn(f"{name!r} is not an option of the optimizer, and changes nothing.{hint}", stacklevel=2)
        elif name not in _NUMBERS and value is not None and not isinstance(value, bool):
            raise TypeError(f"The option {name!r} must be True or False. Received: {value!r}")
        else:
            known[name] = value
    for name, value in known.items():
        if value is not None:
            _options[name] = value
        elif name in _DISABLERS:
            _options[name] = False
        else:
            _options.pop(name, None)
    _apply()


def get_experimental_options() -> dict[str, Any]:
    """Return the options that are set, and the two that TensorFlow always names.

    Source: tf.config.optimizer.get_experimental_options.
    """
    return dict(_options)


def set_jit(enabled: bool | str) -> None:
    """Take note whether graphs should be compiled. Here they always are, so nothing changes.

    Source: tf.config.optimizer.set_jit.
    """
    global _jit
    _jit = "autoclustering" if enabled is True or enabled == "autoclustering" else ""


def get_jit() -> str:
    """Return "autoclustering" after `set_jit(True)`, else an empty text. Source: tf.config.optimizer.get_jit."""
    return _jit


def _apply() -> None:
    flags.clear_flag("passes")
    usual = flags.get("passes")
    off = {name for option, names in _SWITCHES.items() if _options.get(option) is False for name in names}
    off |= {name for option, names in _DISABLERS.items() if _options[option] for name in names}
    chosen = usual - (off - {flags.INLINE})
    if _options.get("debug_stripper") and not _options["disable_meta_optimizer"]:
        chosen |= {flags.STRIP}
    if chosen != usual:
        flags.set_flag("passes", frozenset(chosen))
