"""fastgraph: TensorFlow 2's programming model, small and fast. Use it as `import fastgraph as tf`.

The public names are found when they are first asked for: `namespaces.py` says how.
"""

from __future__ import annotations

__version__ = "2.21.0+fastgraph.0.1.0"

import sys as _sys

try:
    import fastgraph.core.native.buffer  # noqa: F401
except ModuleNotFoundError as error:
    if error.name != "fastgraph.core.native.buffer":
        raise
    raise ImportError(
        "fastgraph's compiled parts are missing: this is a source tree that has not been built for this Python. Build "
        "it by `python -m pip install -e .` in the folder that holds setup.py (it needs a C compiler and Python's "
        "headers), or leave that folder so that an installed fastgraph is found instead."
    ) from None

from fastgraph.api import namespaces

_first = _sys.modules["fastgraph.core.native.buffer"]
if getattr(_first, "package", _sys.modules[__name__]) is not _sys.modules[__name__]:
    raise ImportError(
        "fastgraph is imported a second time, after it was taken out of sys.modules: its compiled parts belong to the "
        "first one. Leave it there, or begin a new process."
    )

__getattr__, __dir__ = namespaces.install(globals())
_first.package = _sys.modules[__name__]
