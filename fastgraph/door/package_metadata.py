"""The answer of importlib.metadata about `tensorflow` while the door is open."""

from __future__ import annotations

import importlib.metadata
import os
from typing import Any

from fastgraph.door.modules import API_LEVEL


class TensorFlowDistribution(importlib.metadata.Distribution):
    """The distribution `tensorflow`, while the door is open: its name and the level of the API."""

    def read_text(self, filename: str) -> str | None:
        """Return the text of a file of the metadata, None where there is no such file."""
        return {
            "METADATA": f"Metadata-Version: 2.1\nName: tensorflow\nVersion: {API_LEVEL}\n"
            "Summary: fastgraph, by the name under which programs import TensorFlow\n",
            "top_level.txt": "tensorflow\n",
            "INSTALLER": "fastgraph\n",
        }.get(filename)

    def locate_file(self, path: str | os.PathLike[str]) -> Any:
        """Return where a file of the distribution would lie: beside fastgraph."""
        return os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), path)
