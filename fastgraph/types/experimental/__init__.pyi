# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.core.conversion import TensorLike as TensorLike
from fastgraph.staging.atomic_function import AtomicFunction as AtomicFunction
from fastgraph.staging.concrete_function import ConcreteFunction as ConcreteFunction
from fastgraph.staging.concrete_function import ConcreteFunction as _Callable
from fastgraph.staging.function import Function as _GenericFunction
from fastgraph.staging.function import Function as _PolymorphicFunction
from fastgraph.staging.signature.function_type import FunctionType as FunctionType
from fastgraph.staging.signature.trace_types import SupportsTracingProtocol as SupportsTracingProtocol
from fastgraph.staging.signature.trace_types import TraceType as TraceType
from fastgraph.types.experimental import distributed as distributed

Callable = _Callable
GenericFunction = _GenericFunction
PolymorphicFunction = _PolymorphicFunction
