# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.keras.metric_base import PyMetric as PyMetric

