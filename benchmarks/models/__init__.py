"""Whole programs, a file for each family, as `benchmarks.workloads` defines them: one function for each library.

What is timed is a step of training, a decoded batch, some iterations: whatever a user would wait for. fastgraph runs
TensorFlow's function. A weight is an array in `data`, so that all libraries begin with the same and their first three
calls can be compared; noise is data, too. `python -m benchmarks.models` measures them (`make bench-models`).
"""

FAMILIES = (
    "classifiers", "segmentation", "generative", "transformers", "decoding", "recurrent", "embeddings", "graphs",
    "control", "inference", "simulation", "preprocessing",
)  # fmt: skip
