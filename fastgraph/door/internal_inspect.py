"""TensorFlow's module tf_inspect: Python's inspect, which knows decorated functions by what they say of themselves.

Rule: these are Python's own functions but for getargspec, which Python no longer has, and for getfullargspec, which
leaves out the annotations of this package's functions: TensorFlow's have none, and libraries compare with them.
"""

from __future__ import annotations

import inspect as _inspect
from inspect import BoundArguments as BoundArguments
from inspect import FullArgSpec as FullArgSpec
from inspect import Parameter as Parameter
from inspect import Signature as Signature
from inspect import currentframe as currentframe
from inspect import getcallargs as getcallargs
from inspect import getdoc as getdoc
from inspect import getfile as getfile
from inspect import getframeinfo as getframeinfo
from inspect import getmembers as getmembers
from inspect import getmodule as getmodule
from inspect import getmro as getmro
from inspect import getsource as getsource
from inspect import getsourcefile as getsourcefile
from inspect import getsourcelines as getsourcelines
from inspect import isabstract as isabstract
from inspect import isbuiltin as isbuiltin
from inspect import isclass as isclass
from inspect import isframe as isframe
from inspect import isfunction as isfunction
from inspect import isgenerator as isgenerator
from inspect import isgeneratorfunction as isgeneratorfunction
from inspect import ismethod as ismethod
from inspect import ismethoddescriptor as ismethoddescriptor
from inspect import ismodule as ismodule
from inspect import isroutine as isroutine
from inspect import signature as signature
from inspect import stack as stack
from typing import Any, NamedTuple


class ArgSpec(NamedTuple):
    """The parameters of a function without those that are by keyword only."""

    args: list[str]
    varargs: str | None
    keywords: str | None
    defaults: tuple[Any, ...] | None


def getfullargspec(obj: Any) -> FullArgSpec:
    """Return the names and defaults of a function's parameters, of what a decorator of ours made those of the inner."""
    while type(obj).__module__.partition(".")[0] == "fastgraph" and hasattr(obj, "__wrapped__"):
        obj = obj.__wrapped__
    found = _inspect.getfullargspec(obj)
    ours = str(getattr(obj, "__module__", "")).partition(".")[0] == "fastgraph"
    return found._replace(annotations={}) if ours else found


def getargspec(obj: object) -> ArgSpec:
    """Return the parameters of a function without those that are by keyword only."""
    found = getfullargspec(obj)
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)
