# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.staging.concrete import ConcreteFunction as ConcreteFunction
from fastgraph.staging.function import Function as GenericFunction
from fastgraph.staging.function import Function as PolymorphicFunction
from fastgraph.staging.function_types import FunctionType as FunctionType
from fastgraph.staging.tracing_types import SupportsTracingProtocol as SupportsTracingProtocol
from fastgraph.staging.tracing_types import TraceType as TraceType

