"""Every name that TensorFlow exports is there, or says that it is not, and what to use."""

from __future__ import annotations

import operator

import fastgraph as fg
from fastgraph.api import namespaces


def test_every_exported_name_is_there_or_says_what_to_use() -> None:
    silent, helpless = [], []
    for space, names in namespaces.tensorflow_names().items():
        for name in names:
            full = f"{space}.{name}".lstrip(".")
            try:
                operator.attrgetter(full)(fg)
            except (fg.errors.NotBuiltError, ImportError) as error:
                if "no near substitute" in str(error):
                    helpless.append(full)
            except AttributeError:
                silent.append(full)
    assert silent == []
    assert helpless == []
