# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph.api.eager_context import async_clear_error as async_clear_error
from fastgraph.api.eager_context import async_scope as async_scope
from fastgraph.api.eager_context import function_executor_type as function_executor_type
from fastgraph.composites.extension_batching import BatchableExtensionType as BatchableExtensionType
from fastgraph.composites.extension_batching import ExtensionTypeBatchEncoder as ExtensionTypeBatchEncoder
from fastgraph.composites.extension_type import ExtensionType as ExtensionType
from fastgraph.composites.extension_type import ExtensionTypeSpec as ExtensionTypeSpec
from fastgraph.composites.ragged_shape import DynamicRaggedShape as DynamicRaggedShape
from fastgraph.composites.row_partition import RowPartition as RowPartition
from fastgraph.core.api_dispatch import dispatch_for_api as dispatch_for_api
from fastgraph.core.api_dispatch import dispatch_for_binary_elementwise_apis as dispatch_for_binary_elementwise_apis
from fastgraph.core.api_dispatch import dispatch_for_binary_elementwise_assert_apis as dispatch_for_binary_elementwise_assert_apis
from fastgraph.core.api_dispatch import dispatch_for_unary_elementwise_apis as dispatch_for_unary_elementwise_apis
from fastgraph.core.api_dispatch import unregister_dispatch_for as unregister_dispatch_for
from fastgraph.core.base.dtype import float8_e4m3fn as float8_e4m3fn
from fastgraph.core.base.dtype import float8_e5m2 as float8_e5m2
from fastgraph.data.optionals import Optional as Optional
from fastgraph.experimental import dlpack as dlpack
from fastgraph.experimental import dtensor as dtensor
from fastgraph.experimental import extension_type as extension_type
from fastgraph.experimental import numpy as numpy

