"""The ops: what can be computed. Importing this package registers every primitive and public function."""

from fastgraph.ops import contraction, elementwise, gathering, joining, movement, operators, reduction  # noqa: F401
