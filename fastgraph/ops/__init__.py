"""The ops: what can be computed. Importing this package registers every primitive and public function."""

from fastgraph.ops import (  # noqa: F401
    checks,
    contraction,
    creation,
    elementwise,
    gathering,
    indexing,
    joining,
    movement,
    nnops,
    operators,
    output,
    padding,
    random,
    reduction,
    strings,
)
