"""fastgraph: TensorFlow 2's programming model, small and fast. Use it as `import fastgraph as tf`."""

from __future__ import annotations

__version__ = "2.21.0+fastgraph.0.1.0"
