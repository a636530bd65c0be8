"""The ops: what can be computed. Importing this package registers every primitive and public function."""

from fastgraph.ops import (  # noqa: F401
    activations,
    checks,
    contraction,
    conv,
    creation,
    elementwise,
    exponentials,
    gathering,
    indexing,
    joining,
    movement,
    nnops,
    operators,
    output,
    padding,
    pooling,
    random,
    reduction,
    strings,
)
