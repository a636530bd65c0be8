# Written by tools/stubs.py from the ops' definitions; do not edit.
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Mapping
from collections.abc import Sequence
from fastgraph import audio as audio
from fastgraph import autodiff as autodiff
from fastgraph import autograph as autograph
from fastgraph import bitwise as bitwise
from fastgraph import compat as compat
from fastgraph import config as config
from fastgraph import data as data
from fastgraph import debugging as debugging
from fastgraph import distribute as distribute
from fastgraph import dtypes as dtypes
from fastgraph import errors as errors
from fastgraph import experimental as experimental
from fastgraph import graph_util as graph_util
from fastgraph import image as image
from fastgraph import initializers as initializers
from fastgraph import io as io
from fastgraph import keras as keras
from fastgraph import linalg as linalg
from fastgraph import lookup as lookup
from fastgraph import losses as losses
from fastgraph import math as math
from fastgraph import metrics as metrics
from fastgraph import nest as nest
from fastgraph import nn as nn
from fastgraph import optimizers as optimizers
from fastgraph import profiler as profiler
from fastgraph import quantization as quantization
from fastgraph import queue as queue
from fastgraph import ragged as ragged
from fastgraph import random as random
from fastgraph import raw_ops as raw_ops
from fastgraph import saved_model as saved_model
from fastgraph import sets as sets
from fastgraph import signal as signal
from fastgraph import space_to_batch as _space_to_batch_nd
from fastgraph import sparse as sparse
from fastgraph import strings as strings
from fastgraph import summary as summary
from fastgraph import sysconfig as sysconfig
from fastgraph import test as test
from fastgraph import testing as testing
from fastgraph import train as train
from fastgraph import types as types
from fastgraph import version as version
from fastgraph.api.configuration import show_config as show_config
from fastgraph.composites.edit_distance import edit_distance as edit_distance
from fastgraph.composites.ragged_tensor import RaggedTensor as RaggedTensor
from fastgraph.composites.ragged_tensor import RaggedTensorSpec as RaggedTensorSpec
from fastgraph.composites.raw_op_exports import approx_top_k as approx_top_k
from fastgraph.composites.raw_op_exports import conv as conv
from fastgraph.composites.raw_op_exports import guarantee_const as guarantee_const
from fastgraph.composites.raw_op_exports import ragged_fill_empty_rows as ragged_fill_empty_rows
from fastgraph.composites.raw_op_exports import ragged_fill_empty_rows_grad as ragged_fill_empty_rows_grad
from fastgraph.composites.sparse_tensor import SparseTensor as SparseTensor
from fastgraph.composites.sparse_tensor import SparseTensorSpec as SparseTensorSpec
from fastgraph.composites.tensor_array import TensorArray as TensorArray
from fastgraph.composites.tensor_array import TensorArraySpec as TensorArraySpec
from fastgraph.core.base.dtype import DType as DType
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.dtype import as_dtype as as_dtype
from fastgraph.core.base.dtype import bfloat16 as bfloat16
from fastgraph.core.base.dtype import bool_ as _bool
from fastgraph.core.base.dtype import complex128 as complex128
from fastgraph.core.base.dtype import complex64 as complex64
from fastgraph.core.base.dtype import double as double
from fastgraph.core.base.dtype import float16 as float16
from fastgraph.core.base.dtype import float32 as float32
from fastgraph.core.base.dtype import float64 as float64
from fastgraph.core.base.dtype import half as half
from fastgraph.core.base.dtype import int16 as int16
from fastgraph.core.base.dtype import int32 as int32
from fastgraph.core.base.dtype import int64 as int64
from fastgraph.core.base.dtype import int8 as int8
from fastgraph.core.base.dtype import qint16 as qint16
from fastgraph.core.base.dtype import qint32 as qint32
from fastgraph.core.base.dtype import qint8 as qint8
from fastgraph.core.base.dtype import quint16 as quint16
from fastgraph.core.base.dtype import quint8 as quint8
from fastgraph.core.base.dtype import resource as resource
from fastgraph.core.base.dtype import string as string
from fastgraph.core.base.dtype import uint16 as uint16
from fastgraph.core.base.dtype import uint32 as uint32
from fastgraph.core.base.dtype import uint64 as uint64
from fastgraph.core.base.dtype import uint8 as uint8
from fastgraph.core.base.dtype import variant as variant
from fastgraph.core.base.logger import get_logger as get_logger
from fastgraph.core.base.shapes import ShapeLike
from fastgraph.core.base.shapes import TensorShape as TensorShape
from fastgraph.core.base.type_specs import NoneTensorSpec as NoneTensorSpec
from fastgraph.core.base.type_specs import TensorSpec as TensorSpec
from fastgraph.core.base.type_specs import TypeSpec as TypeSpec
from fastgraph.core.base.type_specs import type_spec_from_value as type_spec_from_value
from fastgraph.core.conversion import SizeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.conversion import constant as constant
from fastgraph.core.conversion import convert_to_tensor as convert_to_tensor
from fastgraph.core.conversion import is_tensor as is_tensor
from fastgraph.core.conversion import register_tensor_conversion_function as register_tensor_conversion_function
from fastgraph.core.device_spec import DeviceSpec as DeviceSpec
from fastgraph.core.devices import device as device
from fastgraph.core.name_scopes import name_scope as name_scope
from fastgraph.core.tape.gradient_tape import GradientTape as GradientTape
from fastgraph.core.tape.gradient_tape import UnconnectedGradients as UnconnectedGradients
from fastgraph.core.tape.indexed_slices import IndexedSlices as IndexedSlices
from fastgraph.core.tape.indexed_slices import IndexedSlicesSpec as IndexedSlicesSpec
from fastgraph.core.tensor import Tensor as Tensor
from fastgraph.core.tensor import executing_eagerly as executing_eagerly
from fastgraph.core.tensor import init_scope as init_scope
from fastgraph.data.optionals import OptionalSpec as OptionalSpec
from fastgraph.door.import_hook import install_as_tensorflow as install_as_tensorflow
from fastgraph.graph.differentiate import AggregationMethod as AggregationMethod
from fastgraph.graph.differentiate import gradients as gradients
from fastgraph.graph.differentiate import hessians as hessians
from fastgraph.graphdef.exporter import make_tensor_proto as make_tensor_proto
from fastgraph.graphdef.graph_view import Graph as Graph
from fastgraph.graphdef.graph_view import Operation as Operation
from fastgraph.graphdef.import_values import make_ndarray as make_ndarray
from fastgraph.graphdef.importer import import_graph_def as import_graph_def
from fastgraph.keras.initializers import ConstantOfAnyType as _constant_initializer
from fastgraph.keras.initializers import NormalDraws as _random_normal_initializer
from fastgraph.keras.initializers import Ones as _ones_initializer
from fastgraph.keras.initializers import UniformDraws as _random_uniform_initializer
from fastgraph.keras.initializers import Zeros as _zeros_initializer
from fastgraph.ops.control_dependencies import CriticalSection as CriticalSection
from fastgraph.ops.control_dependencies import control_dependencies as control_dependencies
from fastgraph.ops.control_dependencies import get_current_name_scope as get_current_name_scope
from fastgraph.ops.control_dependencies import get_static_value as get_static_value
from fastgraph.ops.control_dependencies import inside_function as inside_function
from fastgraph.ops.control_dependencies import is_symbolic_tensor as is_symbolic_tensor
from fastgraph.ops.custom_gradients import custom_gradient as custom_gradient
from fastgraph.ops.custom_gradients import grad_pass_through as grad_pass_through
from fastgraph.ops.custom_gradients import recompute_grad as recompute_grad
from fastgraph.ops.sorting import Unique
from fastgraph.ops.sorting import UniqueWithCounts
from fastgraph.staging.typed_function import Composed
from fastgraph.staging.typed_function import Dense
from fastgraph.staging.typed_function import Nest
from fastgraph.staging.typed_function import Structure
from fastgraph.staging.typed_function import function as function
from fastgraph.state.module import Module as Module
from fastgraph.state.variable import Variable as Variable
from fastgraph.state.variable import VariableAggregation as VariableAggregation
from fastgraph.state.variable import VariableSynchronization as VariableSynchronization
from fastgraph.state.variable import variable_creator_scope as variable_creator_scope
from typing import Any
from typing import overload
import builtins

__version__: str
bool = _bool
@overload
def case(pred_fn_pairs: Sequence[builtins.tuple[Any, Callable[[], Structure]]], default: Callable[[], Structure] | None = ..., exclusive: builtins.bool = False, strict: builtins.bool = False, name: builtins.str = 'case') -> Structure:
    """Return the result of the function beside the first true predicate, else of `default`.

    `exclusive` demands that at most one predicate is true. Raises InvalidArgumentError, in a graph when it runs, if no
    predicate is true and there is no default. Eagerly, without `strict`, a list or tuple of one thing is that thing:
    once for each predicate that was asked. Source: tf.case."""
@overload
def case(pred_fn_pairs: Mapping[Any, Callable[[], Any]] | Iterable[Any], default: Callable[[], Any] | None = None, exclusive: builtins.bool = False, strict: builtins.bool = False, name: builtins.str = 'case') -> Any:
    ...
@overload
def cond(pred: Any, true_fn: Callable[[], Structure] = ..., false_fn: Callable[[], Structure] = ..., name: builtins.str | None = None) -> Structure:
    """Return true_fn() if the scalar `pred` is true, else false_fn().

    Args:
        pred: A bool scalar.
        true_fn: A function without arguments.
        false_fn: Another. In a trace both are traced and must give the same structure and dtypes.

    Raises:
        TypeError: They do not, one cannot be called, or pred is a Python bool in a trace.

    Examples:
        >>> @tf.function
        ... def safe_inverse(x):
        ...     return tf.cond(tf.equal(x, 0.0), lambda: 0.0, lambda: 1.0 / x)
        >>> float(safe_inverse(tf.constant(4.0))), float(safe_inverse(tf.constant(0.0)))
        (0.25, 0.0)

    Source: tf.cond."""
@overload
def cond(pred: Any, true_fn: Any = None, false_fn: Any = None, name: builtins.str | None = None) -> Any:
    ...
constant_initializer = _constant_initializer
@overload
def foldl(fn: Callable[[Tensor, Tensor], Any], elems: Dense, initializer: Dense | builtins.complex | None = ..., parallel_iterations: builtins.int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """The last accumulator a = fn(a, element) over the elements along the first axis, the first one first.

    The first a is `initializer`, or the first element. Raises as `scan`, which gives all of them. Source: tf.foldl."""
@overload
def foldl(fn: Callable[[Any, Any], Any], elems: builtins.object, initializer: Composed, parallel_iterations: builtins.int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, name: builtins.str | None = None) -> Any:
    ...
@overload
def foldl(fn: Callable[[Any, Any], Any], elems: Composed, initializer: builtins.object = None, parallel_iterations: builtins.int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, name: builtins.str | None = None) -> Any:
    ...
@overload
def foldr(fn: Callable[[Tensor, Tensor], Any], elems: Dense, initializer: Dense | builtins.complex | None = ..., parallel_iterations: builtins.int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """The last accumulator a = fn(a, element) over the elements along the first axis, the last one first.

    The first a is `initializer`, or the last element. Raises as `scan`, which gives all of them. Source: tf.foldr."""
@overload
def foldr(fn: Callable[[Any, Any], Any], elems: builtins.object, initializer: Composed, parallel_iterations: builtins.int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, name: builtins.str | None = None) -> Any:
    ...
@overload
def foldr(fn: Callable[[Any, Any], Any], elems: Composed, initializer: builtins.object = None, parallel_iterations: builtins.int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, name: builtins.str | None = None) -> Any:
    ...
@overload
def map_fn(fn: Callable[[Tensor], Nest], elems: Dense, dtype: DTypeLike | None = ..., parallel_iterations: builtins.int | None = None, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, infer_shape: builtins.bool = True, name: builtins.str | None = None, fn_output_signature: DTypeLike | None = ...) -> Nest:
    """Apply `fn` to each element of `elems` along the first axis, and stack the results. t[n, *s] -> u[n, *r].

    `elems` may be a structure of tensors with the same n: fn gets one element in that structure. `fn_output_signature`
    (before: `dtype`) says the structure and dtypes of fn's result where they are not those of elems: dtypes or
    TensorSpecs, and RaggedTensorSpecs and SparseTensorSpecs where results differ in size; all others have one shape.
    elems may be RaggedTensors and SparseTensors, of which fn gets rows, and BatchableExtensionTypes.
    `parallel_iterations` and `swap_memory` change nothing.
    Raises TypeError or ValueError for a result of another structure, ValueError for scalars, n that differ and shapes
    that differ (in eager mode without `infer_shape`: InvalidArgumentError), InvalidArgumentError for another dtype.
    Source: tf.map_fn."""
@overload
def map_fn(fn: Callable[[Any], Any], elems: builtins.object, dtype: Composed, parallel_iterations: builtins.int | None = None, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, infer_shape: builtins.bool = True, name: builtins.str | None = None, fn_output_signature: builtins.object = None) -> Any:
    ...
@overload
def map_fn(fn: Callable[[Any], Any], elems: builtins.object, dtype: builtins.object = None, parallel_iterations: builtins.int | None = None, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, infer_shape: builtins.bool = True, name: builtins.str | None = None, *, fn_output_signature: Composed) -> Any:
    ...
@overload
def map_fn(fn: Callable[[Any], Any], elems: Composed, dtype: builtins.object = None, parallel_iterations: builtins.int | None = None, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, infer_shape: builtins.bool = True, name: builtins.str | None = None, fn_output_signature: builtins.object = None) -> Any:
    ...
newaxis: None
ones_initializer = _ones_initializer
random_normal_initializer = _random_normal_initializer
random_uniform_initializer = _random_uniform_initializer
@overload
def scan(fn: Callable[[Tensor, Tensor], Any], elems: Dense, initializer: Dense | builtins.complex | None = ..., parallel_iterations: builtins.int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, infer_shape: builtins.bool = True, reverse: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """The accumulators a = fn(a, element) after each element along the first axis, stacked. t[n, *s] -> u[n, *r].

    The first a is `initializer`, or the first element (then fn is called n - 1 times). With `reverse` the elements come
    last first; results stay at the places of their elements. Structures of tensors may be given; fn's result has the
    structure, dtypes and, with `infer_shape`, shapes of the accumulator. Raises TypeError or ValueError where it has
    not. Source: tf.scan."""
@overload
def scan(fn: Callable[[Any, Any], Any], elems: builtins.object, initializer: Composed, parallel_iterations: builtins.int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, infer_shape: builtins.bool = True, reverse: builtins.bool = False, name: builtins.str | None = None) -> Any:
    ...
@overload
def scan(fn: Callable[[Any, Any], Any], elems: Composed, initializer: builtins.object = None, parallel_iterations: builtins.int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, infer_shape: builtins.bool = True, reverse: builtins.bool = False, name: builtins.str | None = None) -> Any:
    ...
@overload
def switch_case(branch_index: TensorLike, branch_fns: Sequence[Callable[[], Structure]] | Mapping[builtins.int, Callable[[], Structure]], default: Callable[[], Structure] | None = ..., name: builtins.str = 'switch_case') -> Structure:
    """Return the result of the function at `branch_index`; of `default`, or the last one, if there is none.

    `branch_fns` is a list of functions, a dict or list of pairs from int to function. Raises ValueError unless these
    ints are 0, 1, 2, ..., TypeError for an index that is no integer. Source: tf.switch_case."""
@overload
def switch_case(branch_index: TensorLike, branch_fns: Mapping[builtins.int, Callable[[], Any]] | Sequence[Any], default: Callable[..., Any] | None = None, name: builtins.str = 'switch_case') -> Any:
    ...
@overload
def vectorized_map(fn: Callable[[Tensor], Nest], elems: Dense, fallback_to_while_loop: builtins.bool = True, warn: builtins.bool = True) -> Nest:
    """Apply `fn` to each element of `elems` along the first axis, all at once: t[n, *s] -> u[n, *r].

    `fn` is traced for one element, and each op in it becomes one op on all elements; one that cannot (it is said once
    for each op if `warn`) is applied to one after the other, or raises ValueError without `fallback_to_while_loop`. A
    first axis of 1 stands for the same element n times. IndexedSlices among the results become dense. Random ops draw
    for each element; Variables are read once. The result can be differentiated. Raises ValueError for scalars and for
    numbers of elements that differ.
    Source: tf.vectorized_map."""
@overload
def vectorized_map(fn: Callable[[Any], Any], elems: Composed, fallback_to_while_loop: builtins.bool = True, warn: builtins.bool = True) -> Any:
    ...
@overload
def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Structure, shape_invariants: builtins.object = None, parallel_iterations: builtins.int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, maximum_iterations: TensorLike | None = None, name: builtins.str | None = None) -> Structure:
    """Return `loop_vars` after `body` has been applied to them as long as `cond` of them is true.

    Args:
        cond: A function of the loop variables that gives a bool scalar.
        body: A function of the loop variables that gives their next values, in the same structure.
        loop_vars: A tuple or list of tensors or structures of them. In a trace they keep their dtypes and shapes.
        shape_invariants: What the shapes keep to instead: TensorShapes in the structure of loop_vars.
        parallel_iterations, swap_memory: Taken; they change no result here.
        back_prop: Whether, in a trace, gradients go through the loop.
        maximum_iterations: A bound on the iterations, an integer scalar.

    Raises:
        TypeError: A dtype or the structure changes, or cond or body cannot be called.
        ValueError: A shape changes that must not.

    Examples:
        >>> tf.while_loop(lambda i, total: i < 5, lambda i, total: (i + 1, total + i), (0, 0))
        (<tf.Tensor: shape=(), dtype=int32, numpy=5>, <tf.Tensor: shape=(), dtype=int32, numpy=10>)
        >>> grown = tf.while_loop(
        ...     lambda x: tf.size(x) < 8,
        ...     lambda x: (tf.concat([x, x], 0),),
        ...     (tf.constant([1, 2, 3]),),
        ...     shape_invariants=(tf.TensorShape([None]),),
        ... )
        >>> grown[0].shape
        TensorShape([12])

    Source: tf.while_loop."""
@overload
def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: builtins.object, shape_invariants: builtins.object = None, parallel_iterations: builtins.int = 10, back_prop: builtins.bool = True, swap_memory: builtins.bool = False, maximum_iterations: TensorLike | None = None, name: builtins.str | None = None) -> Any:
    ...
zeros_initializer = _zeros_initializer
def Assert(condition: TensorLike, data: Sequence[TensorLike], summarize: TensorLike | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless the condition holds, showing the data. bool[], list of t[*s] -> nothing.

    Raises: InvalidArgumentError. Source: tf.debugging.Assert."""
def abs(x: Any, name: builtins.str | None = None) -> Tensor:
    """Absolute value; modulus of complex numbers. t[*s] -> t[*s], c64[*s] -> f32[*s]. Source: tf.abs.

    Args:
        x: A tensor of signed numbers.

    Raises:
        InvalidArgumentError: x is no number, or unsigned.

    Examples:
        >>> tf.abs([-1.5, 2.0])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1.5, 2. ], dtype=float32)>
        >>> tf.abs(tf.constant(3 + 4j))
        <tf.Tensor: shape=(), dtype=float64, numpy=5.0>"""
def acos(x: Any, name: str | None = None) -> Tensor:
    """Angle whose cosine is x. f[*s] -> f[*s]. Source: tf.acos."""
def acosh(x: Any, name: str | None = None) -> Tensor:
    """Number, not negative, whose hyperbolic cosine is x. f[*s] -> f[*s]. Source: tf.acosh."""
def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Sum of x and y; strings are joined. t[*s], t[*s] -> t[*s], broadcasting. Source: tf.add.

    Args:
        x: A tensor of numbers or strings.
        y: A tensor of the same dtype.

    Raises:
        InvalidArgumentError: The dtypes differ, or the shapes do not broadcast.

    Examples:
        >>> tf.add([[1], [2]], [10, 20])
        <tf.Tensor: shape=(2, 2), dtype=int32, numpy=
        array([[11, 21],
               [12, 22]], dtype=int32)>
        >>> tf.add("ab", "c")
        <tf.Tensor: shape=(), dtype=string, numpy=b'abc'>"""
def add_n(inputs: TensorLike | Iterable[TensorLike], name: builtins.str | None = None) -> Tensor:
    """Sum of tensors of one shape, of anything that gives them one by one. t[*s]... -> t[*s].

    Args:
        inputs: Tensors of numbers of one shape and dtype, or IndexedSlices; at least one.

    Raises:
        ValueError: There is none.
        InvalidArgumentError: Shapes or dtypes differ.

    Examples:
        >>> tf.add_n([[1, 2], [10, 20], [100, 200]])
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([111, 222], dtype=int32)>

    Source: tf.add_n."""
def argmax(input: TensorLike, axis: TensorLike | None = None, output_type: DTypeLike | None = ..., name: builtins.str | None = None) -> Tensor:
    """Position of the greatest element along `axis` (None: 0), the first of several. t[*s] -> i64[*r].

    Args:
        input: A tensor of numbers or bools.
        axis: An int, or a tensor that holds one.
        output_type: int64, int32, int16 or uint16.

    Raises:
        InvalidArgumentError: There is no such axis, or there are no elements along it.

    Examples:
        >>> scores = tf.constant([[0.1, 0.7, 0.2], [0.5, 0.2, 0.3]])
        >>> tf.argmax(scores, axis=-1)
        <tf.Tensor: shape=(2,), dtype=int64, numpy=array([1, 0])>

    Source: tf.argmax."""
def argmin(input: TensorLike, axis: TensorLike | None = None, output_type: DTypeLike | None = ..., name: builtins.str | None = None) -> Tensor:
    """Position of the least element along `axis` (None: 0), the first of several. t[*s] -> i64[*r].

    Raises: InvalidArgumentError for an axis out of range, or no elements. Source: tf.argmin."""
def argsort(values: TensorLike, axis: TensorLike = -1, direction: builtins.str = 'ASCENDING', stable: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """The positions of the elements along `axis` in order, the first of equals first. t[*s] -> i32[*s].

    Raises: ValueError for another direction. Source: tf.argsort."""
def as_string(input: TensorLike, precision: TensorLike = -1, scientific: TensorLike = False, shortest: TensorLike = False, width: TensorLike = -1, fill: TensorLike = '', name: builtins.str | None = None) -> Tensor:
    """Each element as text. t[*s] -> string[*s].

    Raises: InvalidArgumentError if both scientific and shortest are asked for. Source: tf.strings.as_string."""
def asin(x: Any, name: str | None = None) -> Tensor:
    """Angle whose sine is x. f[*s] -> f[*s]. Source: tf.asin."""
def asinh(x: Any, name: str | None = None) -> Tensor:
    """Number whose hyperbolic sine is x. f[*s] -> f[*s]. Source: tf.asinh."""
def assert_equal(x: TensorLike, y: TensorLike, message: builtins.str | None = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x == y for all elements. t[*s], t[*s] -> nothing, broadcasting.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_equal."""
def assert_greater(x: TensorLike, y: TensorLike, message: builtins.str | None = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x > y for all elements. t[*s], t[*s] -> nothing, broadcasting.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_greater."""
def assert_less(x: TensorLike, y: TensorLike, message: builtins.str | None = None, summarize: Any = None, name: builtins.str | None = None) -> Any:
    """Stop unless x < y for all elements. t[*s], t[*s] -> nothing, broadcasting.

    Raises: InvalidArgumentError, which begins with `message`. Source: tf.debugging.assert_less."""
def assert_rank(x: TensorLike, rank: TensorLike, message: builtins.str | None = None, name: builtins.str | None = None) -> Any:
    """Stop unless x has this rank. Raises: ValueError. Source: tf.debugging.assert_rank."""
def atan(x: Any, name: str | None = None) -> Tensor:
    """Angle whose tangent is x. f[*s] -> f[*s]. Source: tf.atan."""
def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """Angle of the point (x, y) in [-pi, pi]. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.math.atan2."""
def atanh(x: Any, name: str | None = None) -> Tensor:
    """Number whose hyperbolic tangent is x. f[*s] -> f[*s]. Source: tf.atanh."""
def batch_to_space(input: TensorLike, block_shape: TensorLike, crops: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Batches as blocks of the axes after the first, which are then cropped: the inverse of space_to_batch.

    t[n * prod(block), *m, *r] -> t[n, *m * block - crops, *r]. A Python number is the block of two axes.
    Raises: InvalidArgumentError for a batch that the block does not divide. Source: tf.batch_to_space."""
def bitcast(input: TensorLike, type: DTypeLike, name: builtins.str | None = None) -> Tensor:
    """The same bytes as elements of another dtype; narrower ones add a last axis, wider ones take it. t[*s] -> u[*r].

    Raises: InvalidArgumentError where the last axis does not make up one element. Source: tf.bitcast."""
def boolean_mask(tensor: Any, mask: Any, axis: Any = None, name: builtins.str | None = 'boolean_mask') -> Tensor:
    """The slices of tensor where mask holds; the mask covers axes from `axis` (0) on. t[*a, *m, *r] -> t[*a, n, *r].

    Raises: ValueError for a scalar mask or shapes that do not fit. Source: tf.boolean_mask."""
def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """The extents to which two shapes broadcast, at run time. i[m], i[n] -> i[max(m, n)].

    Raises: InvalidArgumentError if they do not. Source: tf.broadcast_dynamic_shape."""
def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """The shape to which two shapes broadcast. Raises: ValueError if they do not. Source: tf.broadcast_static_shape."""
def broadcast_to(input: Any, shape: TensorLike | ShapeLike, name: builtins.str | None = None) -> Tensor:
    """input repeated along axes of size 1 and new leading axes to `shape`. t[*s] -> t[*shape].

    Args:
        input: The tensor.
        shape: The extents of the result: a list of ints or an integer tensor.

    Raises:
        InvalidArgumentError: An extent of the input is neither 1 nor that of the result.

    Examples:
        >>> tf.broadcast_to([[1], [2]], [2, 3])
        <tf.Tensor: shape=(2, 3), dtype=int32, numpy=
        array([[1, 1, 1],
               [2, 2, 2]], dtype=int32)>

    Source: tf.broadcast_to."""
def cast(x: TensorLike, dtype: DTypeLike, name: builtins.str | None = None) -> Tensor:
    """x with elements of `dtype`: floats are cut off to integers, anything but 0 is True. t[*s] -> dtype[*s].

    Args:
        x: A tensor, or sparse or indexed parts of one, whose values are cast.
        dtype: The dtype wanted; one that x has already costs nothing (a Variable of this dtype is given back unread).

    Raises:
        UnimplementedError: One dtype is a string's, the other is not.

    Examples:
        >>> tf.cast([1.9, -1.9, 0.0], tf.int32)
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([ 1, -1,  0], dtype=int32)>
        >>> tf.cast([0, 3], tf.bool)
        <tf.Tensor: shape=(2,), dtype=bool, numpy=array([False,  True])>

    Source: tf.cast."""
def clip_by_global_norm(t_list: TensorLike, clip_norm: TensorLike, use_norm: TensorLike | None = None, name: builtins.str | None = None) -> builtins.tuple[builtins.list[Tensor | Any], Tensor]:
    """A list of tensors, scaled down together where their common norm is above clip_norm; and that norm.

    A norm that is not finite makes all results NaN. Source: tf.clip_by_global_norm."""
def clip_by_norm(t: TensorLike, clip_norm: TensorLike, axes: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """t, scaled down where its norm along `axes` is above clip_norm. f[*s] -> f[*s].

    Raises: ValueError for norms that would make it larger. Source: tf.clip_by_norm."""
def clip_by_value(t: TensorLike, clip_value_min: TensorLike, clip_value_max: TensorLike, name: builtins.str | None = None) -> Tensor:
    """t limited to [clip_value_min, clip_value_max]; NaN stays. t[*s] -> t[*s].

    Args:
        t: A tensor of real numbers, or IndexedSlices.
        clip_value_min: The least that stays as it is, of t's dtype; it broadcasts.
        clip_value_max: The greatest.

    Raises:
        ValueError: The limits would make it larger.
        InvalidArgumentError: Dtypes differ, or shapes do not broadcast.

    Examples:
        >>> tf.clip_by_value([-3.0, 0.5, 7.0], -1.0, 1.0)
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([-1. ,  0.5,  1. ], dtype=float32)>

    Source: tf.clip_by_value."""
def complex(real: TensorLike, imag: TensorLike, name: builtins.str | None = None) -> Tensor:
    """real + i * imag. f32[*s], f32[*s] -> c64[*s]; f64 -> c128.

    Raises: TypeError for parts that are not both float32 or both float64. Source: tf.complex."""
def concat(values: TensorLike | Iterable[TensorLike], axis: TensorLike, name: builtins.str | None = 'concat') -> Tensor:
    """values one after the other along `axis`. t[*s]... -> t[*r].

    Args:
        values: A list of tensors of one dtype and rank, equal in all extents but that of `axis`.
        axis: The axis that grows, from -rank to rank - 1.

    Raises:
        InvalidArgumentError: The ranks, dtypes or other extents differ, or there is no such axis.

    Examples:
        >>> tf.concat([[[1, 2]], [[3, 4], [5, 6]]], axis=0)
        <tf.Tensor: shape=(3, 2), dtype=int32, numpy=
        array([[1, 2],
               [3, 4],
               [5, 6]], dtype=int32)>
        >>> tf.concat([[[1, 2]], [[3]]], axis=1)
        <tf.Tensor: shape=(1, 3), dtype=int32, numpy=array([[1, 2, 3]], dtype=int32)>

    Source: tf.concat."""
def cos(x: Any, name: str | None = None) -> Tensor:
    """Cosine of x, in radians. f[*s] -> f[*s]. Source: tf.cos."""
def cosh(x: Any, name: str | None = None) -> Tensor:
    """Hyperbolic cosine. f[*s] -> f[*s]. Source: tf.cosh."""
def cumsum(x: TensorLike, axis: TensorLike = 0, exclusive: builtins.bool = False, reverse: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Running sum along `axis`; without the element itself if `exclusive`. t[*s] -> t[*s].

    Raises: InvalidArgumentError for an axis out of range. Source: tf.cumsum."""
def divide(x: TensorLike | None, y: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Quotient as Python's `/`. t[*s], t[*s] -> f[*s], broadcasting. Source: tf.divide."""
def dynamic_partition(data: TensorLike, partitions: TensorLike, num_partitions: TensorLike, name: builtins.str | None = None) -> builtins.list[Tensor]:
    """The slices of data by the numbers in partitions, below num_partitions. t[*p, *r], i32[*p] -> list of t[n, *r].

    Raises: InvalidArgumentError for numbers outside, or shapes that do not fit; TypeError for a
    num_partitions that is no int. Source: tf.dynamic_partition."""
def dynamic_stitch(indices: Any, data: Any, name: builtins.str | None = None) -> Tensor:
    """Slices put where the indices say, 0 elsewhere; of equal indices the last counts.

    i[*s]..., t[*s, *r]... -> t[n, *r].
    Raises: InvalidArgumentError for negative indices, or shapes that do not fit. Source: tf.dynamic_stitch."""
def eig(tensor: TensorLike, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor]:
    """Eigenvalues and eigenvectors of length 1, in columns, in no particular order. t[*b, n, n] -> c[*b, n], c.

    Raises: InvalidArgumentError for what is not square or not finite. Source: tf.linalg.eig."""
def eigvals(tensor: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Eigenvalues, in no particular order. t[*b, n, n] -> c[*b, n].

    Raises: InvalidArgumentError for what is not square or not finite. Source: tf.linalg.eigvals."""
def einsum(equation: builtins.str, *inputs: Any, **kwargs: Any) -> Tensor:
    """The sum of products that `equation` says, "ij,jk->ik": labels not in the result are summed over.

    Without "->" the result has the labels that stand once, sorted. "..." stands for any axes, which broadcast; a label
    twice in one operand takes its diagonal. t[*a], t[*b], ... -> t[*c].

    Raises: ValueError for an equation that is none; InvalidArgumentError for extents that do not fit.
    Source: tf.einsum."""
def ensure_shape(x: TensorLike, shape: ShapeLike, name: builtins.str | None = None) -> Tensor:
    """x itself, whose shape is known to be `shape` from here on. t[*s] -> t[*s].

    Raises: InvalidArgumentError at run time, ValueError while tracing, if it is another. Source: tf.ensure_shape."""
def equal(x: TensorLike, y: TensorLike, name: builtins.str | None = None) -> Tensor:
    """True where x == y. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.equal.

    Args:
        x: A tensor of any dtype.
        y: A tensor of the same dtype.

    Raises:
        InvalidArgumentError: The dtypes differ, or the shapes do not broadcast.

    Examples:
        >>> tf.equal([1, 2, 3], 2)
        <tf.Tensor: shape=(3,), dtype=bool, numpy=array([False,  True, False])>
        >>> tf.equal([1, 2], [1, 2, 3])
        Traceback (most recent call last):
            ...
        fastgraph.errors.InvalidArgumentError: ...Incompatible shapes: [2] vs. [3]..."""
def exp(x: Any, name: str | None = None) -> Tensor:
    """e to the power of x. f[*s] -> f[*s]. Source: tf.exp.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype: `tf.cast` it first.

    Examples:
        >>> tf.exp([0.0, float("-inf"), 100.0])
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([ 1.,  0., inf], dtype=float32)>"""
def expand_dims(input: TensorLike, axis: TensorLike, name: builtins.str | None = None) -> Tensor:
    """input with a new axis of size 1 at position `axis`. t[*s] -> t[*s with a one].

    Args:
        input: The tensor.
        axis: Where the new axis stands in the result; -1: behind all others.

    Raises:
        InvalidArgumentError: There is no such position.

    Examples:
        >>> image = tf.zeros([28, 28])
        >>> tf.expand_dims(image, 0).shape, tf.expand_dims(image, -1).shape
        (TensorShape([1, 28, 28]), TensorShape([28, 28, 1]))

    Source: tf.expand_dims."""
def extract_volume_patches(input: TensorLike, ksizes: TensorLike, strides: TensorLike, padding: builtins.str, name: builtins.str | None = None) -> Tensor:
    """The elements of each window of a volume as channels, 0 outside. t[n, d, h, w, c] -> t[n, *o, prod(k) * c].

    Raises: InvalidArgumentError for another rank or dtype, or windows over batch or channels.
    Source: tf.extract_volume_patches."""
def eye(num_rows: TensorLike, num_columns: TensorLike | None = None, batch_shape: SizeLike = None, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Ones on the diagonal of zeros, as often as batch_shape says. -> dtype[*batch_shape, rows, columns].

    Args:
        num_rows: How many rows.
        num_columns: How many columns; None: as many as rows.
        batch_shape: The leading extents; None: there are none.
        dtype: A dtype of numbers, or bool.

    Raises:
        InvalidArgumentError: A size is negative.
        OverflowError: A Python int is none of 64 bits.

    Examples:
        >>> tf.eye(2)
        <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
        array([[1., 0.],
               [0., 1.]], dtype=float32)>
        >>> tf.eye(2, 3, batch_shape=[5]).shape
        TensorShape([5, 2, 3])

    Source: tf.eye."""
def fftnd(input_tensor: TensorLike, fft_length: TensorLike | None = None, axes: TensorLike | None = None, norm: builtins.str | None = None, name: builtins.str | None = None) -> Tensor:
    """The Fourier transform over `axes` (the last ones), brought to fft_length and scaled as `norm` says. t[*s] -> t[*r]. Raises: InvalidArgumentError for axes out of range.

    Source: tf.signal.fftnd."""
def fill(dims: SizeLike, value: TensorLike, name: builtins.str | None = None) -> Tensor:
    """A tensor of shape `dims` with the scalar `value` everywhere. t[] -> t[*dims].

    Args:
        dims: The extents: a list of ints or an integer tensor.
        value: A scalar of any dtype.

    Raises:
        InvalidArgumentError: An extent is negative, there are too many elements, or the value is no scalar.
        ValueError: In a Function, the extents are a scalar tensor.

    Examples:
        >>> tf.fill([2, 2], 7)
        <tf.Tensor: shape=(2, 2), dtype=int32, numpy=
        array([[7, 7],
               [7, 7]], dtype=int32)>

    Source: tf.fill."""
def fingerprint(data: TensorLike, method: TensorLike = 'farmhash64', name: builtins.str | None = None) -> Tensor:
    """FarmHash's 64 bits of each row, as bytes. t[n, *s] -> u8[n, 8]. Source: tf.fingerprint.

    Raises: InvalidArgumentError for a scalar and for another method."""
def floor(x: Any, name: str | None = None) -> Tensor:
    """The greatest whole number not above x. f[*s] -> f[*s]. Source: tf.floor.

    Args:
        x: A floating tensor.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.floor([1.7, -1.2])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 1., -2.], dtype=float32)>"""
def gather(params: TensorLike, indices: TensorLike, validate_indices: Any = None, axis: TensorLike | None = None, batch_dims: builtins.int = 0, name: builtins.str | None = None) -> Tensor:
    """Slices of params along `axis` at indices. t[*p], i[*q] -> t[*p before axis, *q, *p after axis].

    Args:
        params: The tensor that slices are taken of.
        indices: int32 or int64, from 0 to the extent of `axis` - 1.
        validate_indices: Taken and without effect: they always are.
        axis: The axis of params; None: `batch_dims`.
        batch_dims: How many leading axes params and indices share: one choice for each of their elements.

    Raises:
        InvalidArgumentError: An index is out of range, or the leading axes differ.

    Examples:
        >>> tf.gather([10, 20, 30], [2, 0])
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([30, 10], dtype=int32)>
        >>> scores = tf.constant([[0.1, 0.9], [0.8, 0.2]])
        >>> tf.gather(scores, [1, 0], batch_dims=1)
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0.9, 0.8], dtype=float32)>

    Source: tf.gather."""
def gather_nd(params: TensorLike, indices: TensorLike, batch_dims: TensorLike = 0, name: builtins.str | None = None, bad_indices_policy: builtins.str = '') -> Tensor:
    """The slices of params at the index vectors in the last axis of indices. t[*b, *p], i[*b, *q, d] -> t[*b, *q, *r].

    The first `batch_dims` axes of both are batches. With the policy "IGNORE" an index out of range gives zeros.
    Raises: InvalidArgumentError for an index out of range or too long, or an unknown policy. Source: tf.gather_nd."""
def greater(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where x > y. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.greater."""
def greater_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where x >= y. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.greater_equal."""
def group(*inputs: Any, **kwargs: Any) -> Any:
    """An Operation that is done when all of `inputs` are, None where nothing is traced.

    `inputs` are tensors, Operations, Variables and nests of them; keyword `name`. Operations on several devices are
    grouped by device first. Raises: TypeError for other inputs, ValueError for other keywords. Source: tf.group."""
def histogram_fixed_width(values: TensorLike, value_range: TensorLike, nbins: TensorLike = 100, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Count the values in each of nbins equal parts of value_range; those outside count at its ends.

    t[*s], t[2] -> dtype[nbins].
    Raises: InvalidArgumentError for NaN and for a range that does not rise. Source: tf.histogram_fixed_width."""
def histogram_fixed_width_bins(values: TensorLike, value_range: TensorLike, nbins: TensorLike = 100, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Find which of nbins equal parts of value_range a value is in; those outside are at its ends. t[*s] -> i[*s].

    Raises: InvalidArgumentError for a range that does not rise, no bins, or values that are not real. Source:
    tf.histogram_fixed_width_bins."""
def identity(input: Any, name: str | None = None) -> Tensor:
    """The input itself. t[*s] -> t[*s]. Source: tf.identity.

    Args:
        input: A tensor, or what is made of several; of a Variable, what it holds now.

    Examples:
        >>> v = tf.Variable(1.0)
        >>> before = tf.identity(v)
        >>> v.assign(2.0).numpy(), before.numpy()
        (np.float32(2.0), np.float32(1.0))"""
def identity_n(input: TensorLike, name: builtins.str | None = None) -> builtins.list[Tensor]:
    """The tensors of a list themselves. t[*s]... -> [t[*s], ...].

    Raises: InvalidArgumentError for an empty list; in a graph TypeError for what is none. Source: tf.identity_n."""
def ifftnd(input_tensor: TensorLike, fft_length: TensorLike | None = None, axes: TensorLike | None = None, norm: builtins.str | None = None, name: builtins.str | None = None) -> Tensor:
    """The inverse Fourier transform over `axes` (the last ones), brought to fft_length and scaled as `norm` says. t[*s] -> t[*r]. Raises: InvalidArgumentError for axes out of range.

    Source: tf.signal.ifftnd."""
def irfftnd(input_tensor: TensorLike, fft_length: TensorLike | None = None, axes: TensorLike | None = None, norm: builtins.str | None = None, name: builtins.str | None = None) -> Tensor:
    """The inverse Fourier transform of real numbers over `axes` (the last ones), brought to fft_length and scaled as `norm` says. t[*s] -> t[*r]. Raises: InvalidArgumentError for axes out of range.

    Source: tf.signal.irfftnd."""
def less(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where x < y. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.less."""
def less_equal(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where x <= y. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.less_equal."""
def linspace(start: TensorLike, stop: TensorLike, num: TensorLike, name: builtins.str | None = None, axis: TensorLike = 0) -> Tensor:
    """num numbers from start to stop, evenly spaced, along a new axis. t[*s], t[*s] -> t[*s with num].

    Args:
        start: The first. Integers of up to 16 bits give float32, wider ones float64.
        stop: The last; start and stop broadcast.
        num: How many.
        axis: Where the new axis stands.

    Raises:
        ValueError: start and stop differ in dtype.

    Examples:
        >>> tf.linspace(0.0, 1.0, 5)
        <tf.Tensor: shape=(5,), dtype=float32, numpy=array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)>
        >>> tf.linspace([0.0, 10.0], [1.0, 20.0], 3)
        <tf.Tensor: shape=(3, 2), dtype=float32, numpy=
        array([[ 0. , 10. ],
               [ 0.5, 15. ],
               [ 1. , 20. ]], dtype=float32)>

    Source: tf.linspace."""
def logical_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where both hold. bool[*s], bool[*s] -> bool[*s], broadcasting. Source: tf.logical_and."""
def logical_not(x: Any, name: str | None = None) -> Tensor:
    """True where x does not hold. bool[*s] -> bool[*s]. Source: tf.logical_not."""
def logical_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """True where at least one holds. bool[*s], bool[*s] -> bool[*s], broadcasting. Source: tf.logical_or."""
def matmul(a: TensorLike, b: TensorLike, transpose_a: builtins.bool = False, transpose_b: builtins.bool = False, adjoint_a: builtins.bool = False, adjoint_b: builtins.bool = False, a_is_sparse: builtins.bool = False, b_is_sparse: builtins.bool = False, output_type: DTypeLike | None = None, grad_a: TensorLike = False, grad_b: TensorLike = False, name: builtins.str | None = None) -> Tensor:
    """Product of the matrices in the last two axes; the others are batches and broadcast.

    t[*b, m, k], t[*b, k, n] -> t[*b, m, n].

    Args:
        a: Matrices of numbers, of rank 2 or more.
        b: Matrices of the same dtype; bfloat16 beside float32 gives float32.
        transpose_a, transpose_b: Whether an operand is transposed first.
        adjoint_a, adjoint_b: Whether it is transposed and conjugated.
        a_is_sparse, b_is_sparse: Hints for matrices with many zeros.
        output_type: int32 for int8 and uint8; bfloat16 for these and bfloat16; halves for what is wider. None: a's.
        grad_a, grad_b: Taken, as TensorFlow does.

    Raises:
        InvalidArgumentError: The shapes or dtypes do not fit.
        ValueError: One operand is to be both transposed and adjoint.

    Examples:
        >>> tf.matmul([[1.0, 2.0]], [[3.0], [4.0]])
        <tf.Tensor: shape=(1, 1), dtype=float32, numpy=array([[11.]], dtype=float32)>
        >>> batch = tf.ones([10, 2, 3])
        >>> tf.matmul(batch, batch, transpose_b=True).shape
        TensorShape([10, 2, 2])
        >>> tf.matmul([[1.0, 2.0]], [[3.0, 4.0]])
        Traceback (most recent call last):
            ...
        fastgraph.errors.InvalidArgumentError: ...Matrix size-incompatible: In[0]: [1,2], In[1]: [1,2]...

    Source: tf.matmul."""
def matrix_square_root(input: Any, name: str | None = None) -> Tensor:
    """R with R R = input, of whose eigenvalues none has a negative real part; NaN where there is none of this dtype.

    t[*b, n, n] -> t[*b, n, n]. Raises: InvalidArgumentError for what is not square. Source: tf.linalg.sqrtm."""
def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The larger of x and y; NaN if either is. t[*s], t[*s] -> t[*s], broadcasting. Source: tf.maximum.

    Args:
        x: A tensor of real numbers.
        y: A tensor of the same dtype.

    Raises:
        InvalidArgumentError: The dtypes differ, or the shapes do not broadcast.

    Examples:
        >>> tf.maximum([1, 5, 3], 2)
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([2, 5, 3], dtype=int32)>"""
def meshgrid(*args: TensorLike, **kwargs: Any) -> builtins.list[Tensor]:
    """Vectors repeated to grids of coordinates; indexing "xy" (first two swapped) or "ij". Source: tf.meshgrid."""
def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The smaller of x and y; NaN if either is. t[*s], t[*s] -> t[*s], broadcasting. Source: tf.minimum.

    Args:
        x: A tensor of real numbers.
        y: A tensor of the same dtype.

    Raises:
        InvalidArgumentError: The dtypes differ, or the shapes do not broadcast.

    Examples:
        >>> tf.minimum([[1], [5]], [2, 4])
        <tf.Tensor: shape=(2, 2), dtype=int32, numpy=
        array([[1, 1],
               [2, 4]], dtype=int32)>"""
def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Product of x and y, element by element. t[*s], t[*s] -> t[*s], broadcasting. Source: tf.multiply."""
def negative(x: Any, name: str | None = None) -> Tensor:
    """Minus x. t[*s] -> t[*s]. Source: tf.negative."""
def no_op(name: builtins.str | None = None) -> Any:
    """An Operation that does nothing, None where nothing is traced. Source: tf.no_op."""
def norm(tensor: TensorLike, ord: builtins.str | builtins.float = 'euclidean', axis: TensorLike | None = None, keepdims: builtins.bool | None = None, name: builtins.str | None = None) -> Tensor:
    """Norm of vectors along `axis` (None: of all elements): "euclidean", 1, 2, inf or another p. f[*s] -> f[*r].

    With two axes, of matrices: "fro", 1, 2 (the greatest singular value) or inf. Raises: ValueError for other norms or
    axes. Source: tf.norm."""
def not_equal(x: TensorLike, y: TensorLike, name: builtins.str | None = None) -> Tensor:
    """True where x != y; NaN differs from all. t[*s], t[*s] -> bool[*s], broadcasting. Source: tf.not_equal."""
@overload
def numpy_function(func: Any = None, inp: Sequence[Any] | None = None, Tout: DTypeLike = ..., stateful: builtins.bool = True, name: builtins.str | None = None) -> Tensor:
    """Results of the Python function `func` for NumPy arrays, called anew whenever a graph comes to this place.

    `Tout` is the dtype of the result, or a list of them. There is no gradient; `stateful` changes nothing. Outside a
    graph what func raises is raised as it is, results keep their dtypes, and func gets arrays as NumPy makes them of
    the inputs; in a graph scalars are NumPy's scalars, or bytes.
    Raises: in a graph, InvalidArgumentError for results of another number or dtype than `Tout`'s, and as py_function.
    Without `func` (and `inp`), a decorator. Source: tf.numpy_function."""
@overload
def numpy_function(func: Any = None, inp: Sequence[Any] | None = None, Tout: builtins.list[Any] | builtins.tuple[Any, ...] = ..., stateful: builtins.bool = True, name: builtins.str | None = None) -> builtins.list[Tensor]:
    ...
@overload
def numpy_function(func: Any = None, inp: Sequence[Any] | None = None, Tout: Any = None, stateful: builtins.bool = True, name: builtins.str | None = None) -> Any:
    ...
def one_hot(indices: TensorLike, depth: Any, on_value: Any = None, off_value: Any = None, axis: Any = None, dtype: DTypeLike | None = None, name: builtins.str | None = None) -> Tensor:
    """on_value (1) at the index, off_value (0) elsewhere, along a new axis of size depth. i[*s] -> t[*s with depth].

    Args:
        indices: Integers; one that is out of range gives off_value everywhere.
        depth: The size of the new axis.
        on_value: None: 1.
        off_value: None: 0.
        axis: Where the new axis stands; None: last.
        dtype: The result's; None: that of the values, or float32.

    Raises:
        InvalidArgumentError: depth is negative.
        TypeError: The values' dtypes differ.

    Examples:
        >>> tf.one_hot([0, 2, 5], depth=3)
        <tf.Tensor: shape=(3, 3), dtype=float32, numpy=
        array([[1., 0., 0.],
               [0., 0., 1.],
               [0., 0., 0.]], dtype=float32)>

    Source: tf.one_hot."""
def ones(shape: SizeLike, dtype: DTypeLike = ..., name: builtins.str | None = None, layout: builtins.object = None) -> Tensor:
    """Ones of `shape`. -> dtype[*shape].

    Args:
        shape: The extents: a list of ints, a TensorShape, or an integer tensor.
        dtype: A dtype of numbers, or bool.
        layout: None; others are refused.

    Raises:
        TypeError: The dtype is a string's.
        InvalidArgumentError: An extent is negative.

    Examples:
        >>> tf.ones([2, 3])
        <tf.Tensor: shape=(2, 3), dtype=float32, numpy=
        array([[1., 1., 1.],
               [1., 1., 1.]], dtype=float32)>
        >>> tf.ones([], tf.int64)
        <tf.Tensor: shape=(), dtype=int64, numpy=1>

    Source: tf.ones."""
def ones_like(input: TensorLike, dtype: DTypeLike | None = None, name: builtins.str | None = None, layout: TensorLike | None = None) -> Tensor:
    """Ones of the shape of input. t[*s] -> t[*s] or dtype[*s].

    Args:
        input: Whose shape the result has.
        dtype: The result's dtype; None: the input's.
        layout: None.

    Raises:
        ValueError: There is a layout.

    Examples:
        >>> tf.ones_like([0.5, 1.5])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([1., 1.], dtype=float32)>

    Source: tf.ones_like."""
def pad(tensor: TensorLike, paddings: TensorLike, mode: builtins.str = 'CONSTANT', constant_values: TensorLike = 0, name: builtins.str | None = None) -> Tensor:
    """tensor with paddings[i] elements before and after along axis i: a constant, or itself mirrored. t[*s] -> t[*r].

    Args:
        tensor: The tensor.
        paddings: i[rank, 2]: for each axis how many before, how many after.
        mode: "CONSTANT"; "REFLECT": mirrored without the element at the border; "SYMMETRIC": with it.
        constant_values: The constant, of the tensor's dtype.

    Raises:
        InvalidArgumentError: The paddings do not fit.
        ValueError: There is no such mode.

    Examples:
        >>> tf.pad([1, 2, 3], [[1, 2]])
        <tf.Tensor: shape=(6,), dtype=int32, numpy=array([0, 1, 2, 3, 0, 0], dtype=int32)>
        >>> tf.pad([1, 2, 3], [[2, 0]], mode="REFLECT")
        <tf.Tensor: shape=(5,), dtype=int32, numpy=array([3, 2, 1, 2, 3], dtype=int32)>
        >>> tf.pad([1, 2, 3], [[2, 0]], mode="SYMMETRIC")
        <tf.Tensor: shape=(5,), dtype=int32, numpy=array([2, 1, 1, 2, 3], dtype=int32)>

    Source: tf.pad."""
def parallel_stack(values: TensorLike, name: builtins.str | None = 'parallel_stack') -> Tensor:
    """Tensors of one shape along a new first axis, in graphs only. t[*s]... -> t[n, *s].

    Raises: RuntimeError in eager mode. Source: tf.parallel_stack."""
def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """x to the power of y. t[*s], t[*s] -> t[*s], broadcasting.

    Raises: InvalidArgumentError for integers with a negative y. Source: tf.pow."""
def print(*inputs: Any, **kwargs: Any) -> Any:
    """Write tensors and Python values to a stream, now and on every run of a graph.

    Keywords: output_stream (sys.stderr, sys.stdout, an open file, "file://path"), summarize (elements shown at each end
    of an axis, -1: all), sep, end, name. Source: tf.print."""
@overload
def py_function(func: Any = None, inp: Sequence[Any] | None = None, Tout: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Results of the Python function `func` for eager tensors, called anew whenever a graph comes to this place.

    `Tout` is the dtype or spec of the result, or a list of them (empty: func is called for its effects). Tensors,
    ragged and sparse ones too, may go in and out; gradients flow, to any order, through what func computes.
    Raises: InvalidArgumentError for results that do not fit and for a ValueError or TypeError in func, OutOfRangeError
    for StopIteration, ResourceExhaustedError for MemoryError, UnimplementedError for NotImplementedError, UnknownError
    for all else that func raises. Without `func` (and `inp`), a decorator. Source: tf.py_function."""
@overload
def py_function(func: Any = None, inp: Sequence[Any] | None = None, Tout: builtins.list[Any] | builtins.tuple[Any, ...] = ..., name: builtins.str | None = None) -> builtins.list[Tensor]:
    ...
@overload
def py_function(func: Any = None, inp: Sequence[Any] | None = None, Tout: Any = None, name: builtins.str | None = None) -> Any:
    ...
def random_index_shuffle(index: TensorLike, seed: TensorLike, max_index: TensorLike, rounds: builtins.int = 4, name: builtins.str | None = None) -> Tensor:
    """`random.experimental.index_shuffle` by a seed of three numbers. i[], i[3], i[] -> i[].

    rounds: how often each index is encrypted, an even number from 2 to 256. Raises: InvalidArgumentError for another
    one, and an index outside. Source: tf.random_index_shuffle."""
def range(start: TensorLike, limit: TensorLike | None = None, delta: TensorLike = 1, dtype: DTypeLike | None = None, name: builtins.str | None = 'range') -> Tensor:
    """start (0), start + delta, ... up to but without limit. t[], t[], t[] -> t[n].

    Args:
        start: The first number; of one argument alone: the limit.
        limit: What the numbers stay below, or above if delta is negative.
        delta: From each number to the next.
        dtype: The result's; None: the widest of the arguments', in the order int32, int64, float32, float64.

    Raises:
        InvalidArgumentError: delta is 0 or of the wrong sign.

    Examples:
        >>> tf.range(4)
        <tf.Tensor: shape=(4,), dtype=int32, numpy=array([0, 1, 2, 3], dtype=int32)>
        >>> tf.range(10, 4, -2)
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([10,  8,  6], dtype=int32)>
        >>> tf.range(0, 1, 0.25)
        <tf.Tensor: shape=(4,), dtype=float32, numpy=array([0.  , 0.25, 0.5 , 0.75], dtype=float32)>

    Source: tf.range."""
def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of axes of input. t[*s] -> i32[]. Source: tf.rank.

    Args:
        input: A tensor.

    Examples:
        >>> tf.rank([[1, 2, 3]])
        <tf.Tensor: shape=(), dtype=int32, numpy=2>"""
def realdiv(x: TensorLike, y: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Quotient x / y of floats or complex numbers. f[*s], f[*s] -> f[*s], broadcasting. Source: tf.realdiv."""
def reduce_all(input_tensor: TensorLike, axis: Any = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """True where all elements hold along `axis`. t[*s] -> t[*r].

    Args:
        input_tensor: A tensor of bools.
        axis: An int, a list of them, or None: all axes.
        keepdims: Whether axes reduced away stay, with size 1; else they are dropped.

    Raises:
        InvalidArgumentError: An axis is out of range or named twice, or the dtype is another.

    Examples:
        >>> x = tf.constant([[0.5, -1.0], [2.0, 3.0]])
        >>> tf.reduce_all(x > 0, axis=1)
        <tf.Tensor: shape=(2,), dtype=bool, numpy=array([False,  True])>
        >>> bool(tf.reduce_all(x > -2))
        True

    Source: tf.reduce_all."""
def reduce_any(input_tensor: TensorLike, axis: Any = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """True where any element holds along `axis`. t[*s] -> t[*r].

    Args:
        input_tensor: A tensor of bools.
        axis: An int, a list of them, or None: all axes.
        keepdims: Whether axes reduced away stay, with size 1; else they are dropped.

    Raises:
        InvalidArgumentError: An axis is out of range or named twice, or the dtype is another.

    Examples:
        >>> x = tf.constant([[0.5, -1.0], [2.0, 3.0]])
        >>> tf.reduce_any(x < 0, axis=1)
        <tf.Tensor: shape=(2,), dtype=bool, numpy=array([ True, False])>

    Source: tf.reduce_any."""
def reduce_logsumexp(input_tensor: TensorLike, axis: TensorLike | None = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """log(sum(exp(x))) along `axis`, without overflow. f[*s] -> f[*r]. Source: tf.reduce_logsumexp."""
def reduce_max(input_tensor: TensorLike, axis: Any = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Greatest element along `axis`. t[*s] -> t[*r].

    Args:
        input_tensor: A tensor of real numbers.
        axis: An int, a list of them, or None: all axes.
        keepdims: Whether axes reduced away stay, with size 1; else they are dropped.

    Raises:
        InvalidArgumentError: An axis is out of range or named twice, or the dtype is another.

    Examples:
        >>> tf.reduce_max([[1, 7], [5, 3]], axis=1)
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([7, 5], dtype=int32)>
        >>> float(tf.reduce_max(tf.zeros([0])))
        -inf

    Source: tf.reduce_max."""
def reduce_mean(input_tensor: TensorLike, axis: Any = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Mean of the elements (of integers cut off towards zero) along `axis`. t[*s] -> t[*r].

    Args:
        input_tensor: A tensor of numbers.
        axis: An int, a list of them, or None: all axes.
        keepdims: Whether axes reduced away stay, with size 1; else they are dropped.

    Raises:
        InvalidArgumentError: An axis is out of range or named twice, or the dtype is another.

    Examples:
        >>> tf.reduce_mean([[1.0, 2.0], [5.0, 8.0]], axis=0)
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([3., 5.], dtype=float32)>
        >>> int(tf.reduce_mean([1, 2])), float(tf.reduce_mean([1.0, 2.0]))
        (1, 1.5)

    Source: tf.reduce_mean."""
def reduce_min(input_tensor: TensorLike, axis: Any = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Least element along `axis`. t[*s] -> t[*r].

    Args:
        input_tensor: A tensor of real numbers.
        axis: An int, a list of them, or None: all axes.
        keepdims: Whether axes reduced away stay, with size 1; else they are dropped.

    Raises:
        InvalidArgumentError: An axis is out of range or named twice, or the dtype is another.

    Examples:
        >>> tf.reduce_min([[1, 7], [5, 3]], axis=0)
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([1, 3], dtype=int32)>

    Source: tf.reduce_min."""
def reduce_prod(input_tensor: TensorLike, axis: Any = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Product of the elements along `axis`. t[*s] -> t[*r].

    Args:
        input_tensor: A tensor of numbers.
        axis: An int, a list of them, or None: all axes.
        keepdims: Whether axes reduced away stay, with size 1; else they are dropped.

    Raises:
        InvalidArgumentError: An axis is out of range or named twice, or the dtype is another.

    Examples:
        >>> tf.reduce_prod([[1, 2, 3], [4, 5, 6]], axis=1)
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([  6, 120], dtype=int32)>
        >>> int(tf.reduce_prod(tf.zeros([0], tf.int32)))
        1

    Source: tf.reduce_prod."""
def reduce_sum(input_tensor: TensorLike, axis: Any = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Tensor:
    """Sum of the elements along `axis`. t[*s] -> t[*r].

    Args:
        input_tensor: A tensor of numbers.
        axis: An int, a list of them, or None: all axes.
        keepdims: Whether axes reduced away stay, with size 1; else they are dropped.

    Raises:
        InvalidArgumentError: An axis is out of range or named twice, or the dtype is another.

    Examples:
        >>> x = tf.constant([[1, 2, 3], [4, 5, 6]])
        >>> tf.reduce_sum(x, axis=1)
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([ 6, 15], dtype=int32)>
        >>> int(tf.reduce_sum(x)), tf.reduce_sum(x, 0, keepdims=True).shape
        (21, TensorShape([1, 3]))

    Source: tf.reduce_sum."""
def repeat(input: TensorLike, repeats: TensorLike, axis: builtins.int | None = None, name: builtins.str | None = None) -> Tensor:
    """Each element (or slice along `axis`) `repeats` times. t[*s] -> t[*r].

    Raises: ValueError for an axis out of range. Source: tf.repeat."""
def required_space_to_batch_paddings(input_shape: TensorLike, block_shape: TensorLike, base_paddings: TensorLike | None = None, name: builtins.str | None = None) -> builtins.tuple[Tensor, Tensor]:
    """The paddings that make each extent a multiple of its block, and the crops that undo what they add. -> i[n, 2] x2.

    Raises: ValueError for shapes that are no vectors of one length, and blocks below 1; InvalidArgumentError for what
    is no int32. Source: tf.required_space_to_batch_paddings."""
def reshape(tensor: TensorLike, shape: TensorLike | ShapeLike, name: builtins.str | None = None) -> Tensor:
    """The elements in row-major order in another shape. t[*s] -> t[*shape].

    Args:
        tensor: Anything with as many elements as `shape` has.
        shape: A list of ints, which may have tensors in it, or an integer tensor. One extent may be -1: what is left.

    Raises:
        InvalidArgumentError: The numbers of elements differ.

    Examples:
        >>> tf.reshape([1, 2, 3, 4, 5, 6], [2, -1])
        <tf.Tensor: shape=(2, 3), dtype=int32, numpy=
        array([[1, 2, 3],
               [4, 5, 6]], dtype=int32)>
        >>> tf.reshape([[1, 2], [3, 4]], [-1])
        <tf.Tensor: shape=(4,), dtype=int32, numpy=array([1, 2, 3, 4], dtype=int32)>
        >>> tf.reshape([1, 2, 3], [2, 2])
        Traceback (most recent call last):
            ...
        fastgraph.errors.InvalidArgumentError: ...Input to reshape is a tensor with 3 values...

    Source: tf.reshape."""
def reverse(tensor: TensorLike, axis: TensorLike, name: builtins.str | None = None) -> Tensor:
    """tensor read backwards along the axes `axis`. t[*s] -> t[*s].

    Raises: InvalidArgumentError for an axis out of range or named twice. Source: tf.reverse."""
def reverse_sequence(input: TensorLike, seq_lengths: TensorLike, seq_axis: TensorLike | None = None, batch_axis: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """Each slice along batch_axis with its first seq_lengths elements along seq_axis reversed. t[*s], i[n] -> t[*s].

    Raises: InvalidArgumentError for lengths below 0 or beyond the axis. Source: tf.reverse_sequence."""
def rfftnd(input_tensor: TensorLike, fft_length: TensorLike | None = None, axes: TensorLike | None = None, norm: builtins.str | None = None, name: builtins.str | None = None) -> Tensor:
    """The Fourier transform of real numbers over `axes` (the last ones), brought to fft_length and scaled as `norm` says. t[*s] -> t[*r]. Raises: InvalidArgumentError for axes out of range.

    Source: tf.signal.rfftnd."""
def roll(input: TensorLike, shift: TensorLike, axis: TensorLike, name: builtins.str | None = None) -> Tensor:
    """input moved by `shift` along `axis`, what leaves at the end coming in at the start. t[*s] -> t[*s].

    Several shifts go with as many axes. Raises: InvalidArgumentError for an axis out of range or other numbers.
    Source: tf.roll."""
def round(x: Any, name: str | None = None) -> Tensor:
    """The nearest whole number, halves to even. t[*s] -> t[*s]. Source: tf.round."""
def saturate_cast(value: TensorLike, dtype: DTypeLike, name: builtins.str | None = None) -> Tensor:
    """value with elements of `dtype`, limited to what that holds; of complex ones each part. t[*s] -> dtype[*s].

    Source: tf.saturate_cast."""
def scalar_mul(scalar: TensorLike, x: TensorLike, name: builtins.str | None = None) -> Tensor:
    """A scalar times a tensor. t[], t[*s] -> t[*s]. Raises: ValueError for no scalar, or another dtype.

    Source: tf.math.scalar_mul."""
def scatter_nd(indices: TensorLike, updates: TensorLike, shape: SizeLike, bad_indices_policy: builtins.str = '', name: builtins.str | None = None) -> Tensor:
    """Zeros of `shape` to which each update is added where its index vector says. i[*q, d], t[*q, *r] -> t[*shape].

    With the policy "IGNORE" updates at an index out of range are left out.
    Raises: InvalidArgumentError for an index out of range, shapes that do not fit, or an unknown policy.
    Source: tf.scatter_nd."""
def searchsorted(sorted_sequence: TensorLike, values: TensorLike, side: builtins.str = 'left', out_type: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Place of each value in a sorted sequence (last axis): before its equals, or after ("right").

    t[*s, n], t[*s, m] -> i[*s, m]. Raises: ValueError for another side. Source: tf.searchsorted."""
def sequence_mask(lengths: TensorLike, maxlen: TensorLike | None = None, dtype: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """Rows that hold up to each length, then not. i[*s] -> dtype[*s, maxlen].

    Raises: ValueError if maxlen is no scalar. Source: tf.sequence_mask."""
def shape(input: Any, out_type: DTypeLike | None = None, name: builtins.str | None = None) -> Tensor:
    """The extents of input at run time. t[*s] -> i32[rank]. Source: tf.shape.

    `x.shape` is what is known while a graph is made, where an extent may be None; this is what there will be.

    Args:
        input: A tensor or RaggedTensor.
        out_type: int32 (None) or int64.

    Examples:
        >>> @tf.function(input_signature=[tf.TensorSpec([None, 3])])
        ... def rows(x):
        ...     print("known:", x.shape)
        ...     return tf.shape(x)[0]
        >>> rows(tf.ones([4, 3]))
        known: (None, 3)
        <tf.Tensor: shape=(), dtype=int32, numpy=4>"""
def shape_n(input: TensorLike, out_type: DTypeLike = ..., name: builtins.str | None = None) -> builtins.list[Tensor]:
    """The extents of each tensor of a list at run time. t[*s]... -> [i[rank], ...].

    Raises: in a graph TypeError for what is no list. Source: tf.shape_n."""
def sigmoid(x: Any, name: str | None = None) -> Tensor:
    """1 / (1 + exp(-x)). f[*s] -> f[*s]. Source: tf.sigmoid.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.sigmoid([0.0, 100.0, -200.0])
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([0.5, 1. , 0. ], dtype=float32)>"""
def sign(x: Any, name: str | None = None) -> Tensor:
    """-1, 0 or 1 with the sign of x; NaN of NaN; x / |x| of complex numbers. t[*s] -> t[*s]. Source: tf.sign.

    Args:
        x: A tensor of signed or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.sign([-3, 0, 5])
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([-1,  0,  1], dtype=int32)>"""
def sin(x: Any, name: str | None = None) -> Tensor:
    """Sine of x, in radians. f[*s] -> f[*s]. Source: tf.sin.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype.

    Examples:
        >>> tf.sin([0.0, np.pi / 2])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0., 1.], dtype=float32)>"""
def sinh(x: Any, name: str | None = None) -> Tensor:
    """Hyperbolic sine. f[*s] -> f[*s]. Source: tf.sinh."""
def size(input: TensorLike, out_type: DTypeLike | None = None, name: builtins.str | None = None) -> Tensor:
    """The number of elements of input at run time. t[*s] -> i32[]. Source: tf.size.

    Args:
        input: A tensor.
        out_type: int32 or int64; None: int32.

    Examples:
        >>> tf.size(tf.zeros([2, 3, 4]))
        <tf.Tensor: shape=(), dtype=int32, numpy=24>"""
def slice(input_: TensorLike, begin: TensorLike, size: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The block of `size` at `begin`; a size of -1 reaches to the end. t[*s] -> t[*size].

    Raises: InvalidArgumentError if it does not lie inside, TypeError for mixed integer types. Source: tf.slice."""
def sort(values: TensorLike, axis: TensorLike = -1, direction: builtins.str = 'ASCENDING', name: builtins.str | None = None) -> Tensor:
    """The elements along `axis` in order. t[*s] -> t[*s]. Raises: ValueError for another direction. Source: tf.sort."""
def space_to_batch(input: TensorLike, block_shape: TensorLike, paddings: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Blocks of the padded axes after the first as batches. t[n, *m, *r] -> t[n * prod(block), *m / block, *r].

    Raises: InvalidArgumentError for extents that the block does not divide. Source: tf.space_to_batch."""
space_to_batch_nd = _space_to_batch_nd
def split(value: TensorLike, num_or_size_splits: TensorLike, axis: TensorLike = 0, num: builtins.int | None = None, name: builtins.str | None = 'split') -> builtins.list[Tensor]:
    """value in pieces along `axis`: so many equal ones, or of the sizes given. t[*s] -> list of t[*r].

    Args:
        value: The tensor.
        num_or_size_splits: How many pieces, an int; or their sizes, of which one may be -1: what is left.
        axis: The axis that is cut.
        num: How many sizes there are, where they are a tensor of unknown length.

    Raises:
        InvalidArgumentError: The sizes do not fit; ValueError where a graph is made.

    Examples:
        >>> [piece.numpy() for piece in tf.split([1, 2, 3, 4, 5, 6], 3)]
        [array([1, 2], dtype=int32), array([3, 4], dtype=int32), array([5, 6], dtype=int32)]
        >>> left, right = tf.split(tf.zeros([2, 10]), [3, -1], axis=1)
        >>> left.shape, right.shape
        (TensorShape([2, 3]), TensorShape([2, 7]))

    Source: tf.split."""
def sqrt(x: Any, name: str | None = None) -> Tensor:
    """Square root; NaN of negative numbers. f[*s] -> f[*s]. Source: tf.sqrt.

    Args:
        x: A tensor of floating or complex numbers.

    Raises:
        InvalidArgumentError: x is of another dtype: `tf.cast` it first.

    Examples:
        >>> tf.sqrt([4.0, 0.25])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([2. , 0.5], dtype=float32)>"""
def square(x: Any, name: str | None = None) -> Tensor:
    """x * x. t[*s] -> t[*s]. Source: tf.square.

    Args:
        x: A tensor of numbers.

    Raises:
        InvalidArgumentError: x is no number.

    Examples:
        >>> tf.square([-2, 3])
        <tf.Tensor: shape=(2,), dtype=int32, numpy=array([4, 9], dtype=int32)>"""
def squeeze(input: TensorLike, axis: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """input without axes of size 1: all of them, or those of `axis`. t[*s] -> t[*s without ones].

    Args:
        input: The tensor.
        axis: An int or a list of them; None: all axes of size 1.

    Raises:
        InvalidArgumentError: Such an axis has another size.

    Examples:
        >>> x = tf.zeros([1, 5, 1])
        >>> tf.squeeze(x).shape, tf.squeeze(x, axis=0).shape
        (TensorShape([5]), TensorShape([5, 1]))

    Source: tf.squeeze."""
def stack(values: TensorLike | Iterable[TensorLike], axis: TensorLike = 0, name: builtins.str | None = 'stack') -> Tensor:
    """values along a new axis. t[*s]... -> t[*r].

    Args:
        values: A list of tensors of one shape and dtype.
        axis: Where the new axis stands in the result, negative from its end.

    Raises:
        InvalidArgumentError: Shapes or dtypes differ.
        ValueError: The axis is out of range.

    Examples:
        >>> x, y = tf.constant([1, 2, 3]), tf.constant([4, 5, 6])
        >>> tf.stack([x, y])
        <tf.Tensor: shape=(2, 3), dtype=int32, numpy=
        array([[1, 2, 3],
               [4, 5, 6]], dtype=int32)>
        >>> tf.stack([x, y], axis=-1).shape
        TensorShape([3, 2])

    Source: tf.stack."""
def stop_gradient(input: Any, name: str | None = None) -> Tensor:
    """The input, through which no gradient flows. t[*s] -> t[*s]. Source: tf.stop_gradient.

    Args:
        input: A tensor, or what is made of several.

    Examples:
        >>> x = tf.Variable(3.0)
        >>> with tf.GradientTape() as tape:
        ...     y = x * tf.stop_gradient(x)
        >>> float(tape.gradient(y, x))
        3.0"""
def strided_slice(input_: TensorLike, begin: TensorLike, end: TensorLike, strides: TensorLike | None = None, begin_mask: builtins.int = 0, end_mask: builtins.int = 0, ellipsis_mask: builtins.int = 0, new_axis_mask: builtins.int = 0, shrink_axis_mask: builtins.int = 0, var: builtins.object = None, name: builtins.str | None = None) -> Tensor:
    """input_[begin:end:strides], one number per axis; bit i of a mask says what entry i is instead. t[*s] -> t[*r].

    begin_mask and end_mask: from or to the edge; ellipsis_mask: as many whole axes as there are; new_axis_mask: a new
    axis; shrink_axis_mask: the element at begin. Raises: InvalidArgumentError for a stride of 0, an index out of
    bounds or numbers that do not fit. Source: tf.strided_slice."""
def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Difference x - y. t[*s], t[*s] -> t[*s], broadcasting. Source: tf.subtract."""
def tan(x: Any, name: str | None = None) -> Tensor:
    """Tangent of x, in radians. f[*s] -> f[*s]. Source: tf.tan."""
def tanh(x: Any, name: str | None = None) -> Tensor:
    """Hyperbolic tangent. f[*s] -> f[*s]. Source: tf.tanh."""
def tensor_scatter_nd_add(tensor: TensorLike, indices: TensorLike, updates: TensorLike, bad_indices_policy: builtins.str = '', name: builtins.str | None = None) -> Tensor:
    """tensor with each update added to the slice at its index vector. t[*s], i[*q, d], t[*q, *r] -> t[*s].

    Raises: InvalidArgumentError for an index out of range or shapes that do not fit.
    Source: tf.tensor_scatter_nd_add."""
def tensor_scatter_nd_max(tensor: TensorLike, indices: TensorLike, updates: TensorLike, bad_indices_policy: builtins.str = '', name: builtins.str | None = None) -> Tensor:
    """tensor with the greater of each update and the slice at its index vector. t[*s], i[*q, d], t[*q, *r] -> t[*s].

    Raises: InvalidArgumentError for an index out of range or shapes that do not fit.
    Source: tf.tensor_scatter_nd_max."""
def tensor_scatter_nd_min(tensor: TensorLike, indices: TensorLike, updates: TensorLike, bad_indices_policy: builtins.str = '', name: builtins.str | None = None) -> Tensor:
    """tensor with the lesser of each update and the slice at its index vector. t[*s], i[*q, d], t[*q, *r] -> t[*s].

    Raises: InvalidArgumentError for an index out of range or shapes that do not fit.
    Source: tf.tensor_scatter_nd_min."""
def tensor_scatter_nd_sub(tensor: TensorLike, indices: TensorLike, updates: TensorLike, bad_indices_policy: builtins.str = '', name: builtins.str | None = None) -> Tensor:
    """tensor with each update subtracted from the slice at its index vector. t[*s], i[*q, d], t[*q, *r] -> t[*s].

    Raises: InvalidArgumentError for an index out of range or shapes that do not fit.
    Source: tf.tensor_scatter_nd_sub."""
def tensor_scatter_nd_update(tensor: TensorLike, indices: TensorLike, updates: TensorLike, name: builtins.str | None = None) -> Tensor:
    """tensor with each slice at an index vector replaced by the update for it, the last of several. t[*s], i[*q, d], t[*q, *r] -> t[*s].

    Raises: InvalidArgumentError for an index out of range or shapes that do not fit.
    Source: tf.tensor_scatter_nd_update."""
def tensordot(a: TensorLike, b: TensorLike, axes: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Sum of products over pairs of axes. t[*s], t[*q] -> t[*s without axes, *q without axes].

    Args:
        a: A tensor of numbers.
        b: A tensor of the same dtype.
        axes: An int n: the last n of a with the first n of b; or two lists, of a's axes and of b's.

    Raises:
        ValueError: The axes do not fit.
        InvalidArgumentError: The extents or dtypes do not.

    Examples:
        >>> tf.tensordot([1, 2, 3], [4, 5, 6], axes=1)
        <tf.Tensor: shape=(), dtype=int32, numpy=32>
        >>> tf.tensordot(tf.ones([2, 3, 4]), tf.ones([4, 3, 5]), axes=[[1, 2], [1, 0]]).shape
        TensorShape([2, 5])

    Source: tf.tensordot."""
def tile(input: TensorLike, multiples: SizeLike, name: builtins.str | None = None) -> Tensor:
    """input repeated multiples[i] times along axis i. t[*s] -> t[*r].

    Raises: InvalidArgumentError if there is not one number per axis, or a negative one. Source: tf.tile."""
def timestamp(name: builtins.str | None = None) -> Tensor:
    """The seconds since 1970 began, whenever it runs. -> f64[]. Source: tf.timestamp."""
def transpose(a: TensorLike, perm: TensorLike | None = None, conjugate: builtins.bool = False, name: builtins.str | None = 'transpose') -> Tensor:
    """a with its axes in the order `perm` (None: reversed), complex-conjugated if asked. t[*s] -> t[*permuted].

    Args:
        a: The tensor.
        perm: For each axis of the result, the axis of a that it is.
        conjugate: Whether complex numbers are conjugated as well.

    Raises:
        InvalidArgumentError: `perm` is no permutation of the axes.

    Examples:
        >>> tf.transpose([[1, 2, 3], [4, 5, 6]])
        <tf.Tensor: shape=(3, 2), dtype=int32, numpy=
        array([[1, 4],
               [2, 5],
               [3, 6]], dtype=int32)>
        >>> images = tf.zeros([8, 28, 32, 3])
        >>> tf.transpose(images, [0, 3, 1, 2]).shape
        TensorShape([8, 3, 28, 32])

    Source: tf.transpose."""
def truediv(x: TensorLike | None, y: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Quotient as Python's `/`: integers of up to 16 bits divide as float32, wider ones as float64.

    t[*s], t[*s] -> f[*s], broadcasting. Raises: TypeError if the dtypes differ or are no numbers. Source: tf.truediv."""
def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Quotient rounded towards zero. t[*s], t[*s] -> t[*s], broadcasting.

    Raises: InternalError for an integer y of 0. Source: tf.truncatediv."""
def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Remainder with the sign of x. t[*s], t[*s] -> t[*s], broadcasting.

    Raises: InternalError for an integer y of 0. Source: tf.truncatemod."""
def tuple(tensors: Sequence[TensorLike | None], control_inputs: Sequence[Any] | None = None, name: builtins.str | None = None) -> builtins.list[Tensor]:
    """The tensors of a list, None among them, as a list. t[*s]... -> [t[*s], ...]. Source: tf.tuple."""
def unique(x: TensorLike, out_idx: DTypeLike = ..., name: builtins.str | None = None) -> Unique:
    """The different elements in order of appearance, and where each element is among them. t[n] -> t[m], i[n].

    Raises: InvalidArgumentError for other ranks. Source: tf.unique."""
def unique_with_counts(x: TensorLike, out_idx: DTypeLike = ..., name: builtins.str | None = None) -> UniqueWithCounts:
    """`unique`, and how often each element occurs. t[n] -> t[m], i[n], i[m]. Source: tf.unique_with_counts."""
def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Tensor:
    """The index in a tensor of shape dims of each row-major position. i[*s], i[d] -> i[d, *s].

    Raises: InvalidArgumentError for a position outside, sizes below 1, and more elements than the dtype counts.
    Source: tf.unravel_index."""
def unstack(value: TensorLike, num: TensorLike | None = None, axis: TensorLike = 0, name: builtins.str | None = 'unstack') -> builtins.list[Tensor]:
    """The slices of value along `axis`, without it. t[*s] -> list of t[*r].

    Raises: ValueError if their number is neither known nor given; InvalidArgumentError if it is not `num`.
    Source: tf.unstack."""
def where(condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: builtins.str | None = None) -> Tensor:
    """x where condition holds, else y; without x and y: the indices where it holds.

    bool[*s], t[*s], t[*s] -> t[*s], broadcasting; t[*s] -> i64[n, rank].

    Args:
        condition: bool; without x and y a number is as good: what is not 0 holds.
        x: What is taken where condition holds.
        y: What is taken elsewhere, of the same dtype.

    Raises:
        ValueError: Only one of x and y is given.
        InvalidArgumentError: The shapes do not broadcast, or the dtypes differ.

    Examples:
        >>> x = tf.constant([-1.0, 4.0, 9.0])
        >>> tf.where(x > 0, x, 0.0)
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([0., 4., 9.], dtype=float32)>
        >>> tf.where([[True, False], [False, True]])
        <tf.Tensor: shape=(2, 2), dtype=int64, numpy=
        array([[0, 0],
               [1, 1]])>

        Both branches count in a gradient, so a NaN in the one not taken spoils it: make what is computed safe, too.

        >>> safe = tf.where(x > 0, x, 1.0)
        >>> tf.where(x > 0, tf.sqrt(safe), 0.0)
        <tf.Tensor: shape=(3,), dtype=float32, numpy=array([0., 2., 3.], dtype=float32)>

    Source: tf.where."""
def zeros(shape: SizeLike, dtype: DTypeLike = ..., name: builtins.str | None = None, layout: builtins.object = None) -> Tensor:
    """Zeros of `shape` ("" for strings). -> dtype[*shape].

    Args:
        shape: The extents: a list of ints, a TensorShape, or an integer tensor.
        dtype: Any dtype.
        layout: None; others are refused.

    Raises:
        InvalidArgumentError: An extent is negative, or there are too many elements.

    Examples:
        >>> tf.zeros([3], tf.int32)
        <tf.Tensor: shape=(3,), dtype=int32, numpy=array([0, 0, 0], dtype=int32)>
        >>> x = tf.ones([2, 5])
        >>> tf.zeros(tf.shape(x)[:1])
        <tf.Tensor: shape=(2,), dtype=float32, numpy=array([0., 0.], dtype=float32)>

    Source: tf.zeros."""
def zeros_like(input: TensorLike, dtype: DTypeLike | None = None, name: builtins.str | None = None, layout: TensorLike | None = None) -> Tensor:
    """Zeros of the shape of input. t[*s] -> t[*s] or dtype[*s].

    Args:
        input: Whose shape the result has.
        dtype: The result's dtype; None: the input's.
        layout: None.

    Raises:
        ValueError: There is a layout.

    Examples:
        >>> tf.zeros_like([[1, 2], [3, 4]], tf.float32)
        <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
        array([[0., 0.],
               [0., 0.]], dtype=float32)>

    Source: tf.zeros_like."""
def __dir__() -> list[str]: ...
