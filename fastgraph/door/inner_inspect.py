"""TensorFlow's module tf_inspect: Python's inspect, which knows decorated functions by what they say of themselves.

Rule: these are Python's own functions but for getargspec, which Python no longer has.
"""

from __future__ import annotations

import inspect as _inspect  # noqa: F401 - a name of TensorFlow's module
from inspect import BoundArguments as BoundArguments
from inspect import FullArgSpec as FullArgSpec
from inspect import Parameter as Parameter
from inspect import Signature as Signature
from inspect import currentframe as currentframe
from inspect import getcallargs as getcallargs
from inspect import getdoc as getdoc
from inspect import getfile as getfile
from inspect import getframeinfo as getframeinfo
from inspect import getfullargspec as getfullargspec
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


def getargspec(obj: object) -> ArgSpec:
    """Return the parameters of a function without those that are by keyword only."""
    found = getfullargspec(obj)
    return ArgSpec(found.args, found.varargs, found.varkw, found.defaults)
