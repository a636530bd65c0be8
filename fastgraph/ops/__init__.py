"""The ops: what can be computed. Importing this package registers every primitive and public function."""

from fastgraph.ops import (  # noqa: F401
    contraction,
    creation,
    elementwise,
    gathering,
    indexing,
    joining,
    movement,
    nnops,
    operators,
    padding,
    random,
    reduction,
)
