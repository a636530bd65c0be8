"""tf.compat.v1's functions that have no counterpart of the same meaning in TensorFlow 2, by their names ("." is "_").

Rule: each is a few lines of public names. What would need a session, or another mode than TensorFlow 2's, is an error.
"""

from __future__ import annotations

import atexit
import functools
import logging
import math
import os
import shutil
import tempfile
import unittest.mock
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import fastgraph as tf
from fastgraph.composites.composite_values import RaggedTensorValue
from fastgraph.composites.composite_values import SparseTensorValue as SparseTensorValue
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.base.logger import get_logger
from fastgraph.core.base.shapes import Aval, ShapeLike, as_dims
from fastgraph.core.base.shapes import Dimension as Dimension
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import current_trace
from fastgraph.data.iterators import OwnedIterator
from fastgraph.data.sources import Cursor, Source, generator_spec
from fastgraph.errors import DataLossError, NotBuiltError
from fastgraph.graph.symbolic_tensor import SymbolicTensor
from fastgraph.graphdef.func_graph import placeholder as placeholder
from fastgraph.graphdef.messages import AttrValue as AttrValue
from fastgraph.graphdef.messages import GraphDef as GraphDef
from fastgraph.graphdef.messages import NameAttrList as NameAttrList
from fastgraph.graphdef.messages import NodeDef as NodeDef
from fastgraph.graphdef.messages import SummaryMetadata as SummaryMetadata
from fastgraph.ops.families import invalid, shape_text
from fastgraph.ops.image_resizing import Pixels, resize_at
from fastgraph.ops.random_states import generators
from fastgraph.saving.checkpoint_reader import CheckpointReader
from fastgraph.state.variable import Variable

_raw: Any = tf.raw_ops


def assign(ref: Variable, value: TensorLike, validate_shape: bool | None = None, use_locking: bool | None = None,
           name: str | None = None) -> Any:  # fmt: skip
    """Assign a value to a Variable and return it."""
    return ref.assign(value, name=name)


def assign_add(ref: Variable, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Add a value to a Variable and return it."""
    return ref.assign_add(value, name=name)


def assign_sub(ref: Variable, value: TensorLike, use_locking: bool | None = None, name: str | None = None) -> Any:
    """Subtract a value from a Variable and return it."""
    return ref.assign_sub(value, name=name)


def batch_scatter_update(ref: Variable, indices: TensorLike, updates: TensorLike, use_locking: bool = True,
                         name: str | None = None) -> Any:  # fmt: skip
    """Assign rows of each batch of a Variable and return it."""
    return ref.batch_scatter_update(
        tf.IndexedSlices(tf.convert_to_tensor(updates), tf.convert_to_tensor(indices)), use_locking, name
    )


def count_up_to(ref: Variable, limit: int, name: str | None = None) -> Any:
    """Return a Variable's number and add one to it. Raises OutOfRangeError from the limit on."""
    return ref.count_up_to(limit)


def data_make_one_shot_iterator(dataset: Any) -> Any:
    """Return an iterator over a dataset."""
    return iter(dataset)


def _of_specs(part: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def function(dataset_or_iterator: Any) -> Any:
        return tf.nest.map_structure(part, dataset_or_iterator.element_spec)

    return function


data_get_output_shapes = _of_specs(lambda spec: getattr(spec, "shape", spec))  # None's has none
data_get_output_types = _of_specs(lambda spec: getattr(spec, "dtype", spec))
data_get_output_classes = _of_specs(lambda spec: tf.Tensor if isinstance(spec, tf.TensorSpec) else spec.value_type)


def data_experimental_TensorStructure(dtype: DTypeLike, shape: ShapeLike) -> tf.TensorSpec:
    """Return the TensorSpec."""
    return tf.TensorSpec(shape, dtype)


def data_experimental_SparseTensorStructure(dtype: DTypeLike, shape: ShapeLike) -> Any:
    """Return the SparseTensorSpec."""
    return tf.SparseTensorSpec(shape, dtype)


def data_experimental_RaggedTensorStructure(dtype: DTypeLike, shape: ShapeLike, ragged_rank: int) -> Any:
    """Return the RaggedTensorSpec."""
    return tf.RaggedTensorSpec(shape, dtype, ragged_rank)


def data_experimental_TensorArrayStructure(dtype: DTypeLike, element_shape: ShapeLike, dynamic_size: bool,
                                           infer_shape: bool) -> Any:  # fmt: skip
    """Return the TensorArraySpec."""
    return tf.TensorArraySpec(element_shape, dtype, dynamic_size, infer_shape)


class _Unset(Source):
    """The elements of an iterator that no dataset was given to."""

    def __init__(self, spec: Any) -> None:
        self.spec = spec

    def elements(self, run: Any) -> Any:
        raise tf.errors.FailedPreconditionError(
            None, None, "GetNext() failed because the iterator has not been initialized. Ensure that you have run the "
            "initializer operation for this iterator before getting the next element. [Op:IteratorGetNext]",
        )  # fmt: skip


class data_Iterator(tf.data.Iterator):
    """An iterator that `from_structure` makes and `make_initializer` lets begin, at once, a dataset after another."""

    @staticmethod
    def from_structure(output_types: Any, output_shapes: Any = None, shared_name: str | None = None,
                       output_classes: Any = None) -> Any:  # fmt: skip
        """Return an iterator over datasets of elements of these dtypes and shapes (None: any)."""
        spec = generator_spec(output_types, output_shapes, None)
        return _Restarted(Cursor(_Unset(spec)), spec)


class _Restarted(OwnedIterator, data_Iterator):
    """Iterator that `from_structure` gives."""

    def make_initializer(self, dataset: Any, name: str | None = None) -> None:
        """Begin a pass over a dataset. Raises ValueError for another structure, TypeError for other dtypes, shapes."""
        of, wanted = dataset.element_spec, self.element_spec
        (types, own), (shapes, sizes) = ([part(each) for each in (self, dataset)] for part in (
            data_get_output_types, data_get_output_shapes))  # fmt: skip
        tf.nest.assert_same_structure(types, own)
        if types != own:
            raise TypeError(f"Expected output types {types} but got dataset with output types {own}.")
        if not all(a.is_compatible_with(b) for a, b in zip(*map(tf.nest.flatten, (wanted, of)), strict=True)):
            raise TypeError(
                f"Expected output shapes compatible with {shapes} but got dataset with output shapes {sizes}."
            )
        if dataset.source is None:
            raise NotBuiltError("Iterator.make_initializer of a dataset that only a graph makes is not built.")
        assert self._cursor is not None
        self._cursor.begin(dataset.source)


def _on(config: Any = None, device_policy: Any = None, execution_mode: Any = None) -> None:
    """Do nothing: this is how fastgraph is."""


def _off(what: str) -> Callable[[], None]:
    def function() -> None:
        raise NotBuiltError(f"tf.compat.v1.{what} is not built: there is no mode of TensorFlow 1. Leave the call out.")

    function.__name__ = function.__qualname__ = what
    return function


enable_control_flow_v2 = enable_eager_execution = enable_resource_variables = enable_tensor_equality = _on
enable_v2_behavior = enable_v2_tensorshape = _on
disable_control_flow_v2 = _off("disable_control_flow_v2")
disable_eager_execution = _off("disable_eager_execution")
disable_resource_variables = _off("disable_resource_variables")
disable_tensor_equality = _off("disable_tensor_equality")
disable_v2_behavior = _off("disable_v2_behavior")
disable_v2_tensorshape = _off("disable_v2_tensorshape")


def executing_eagerly_outside_functions() -> bool:
    """Return whether ops run at once outside of traced functions: not within a graph that a program builds itself."""
    trace: Any = current_trace()
    return trace is None or trace.root.kind != "graph"


def control_flow_v2_enabled() -> bool:
    """Return True."""
    return True


def resource_variables_enabled() -> bool:
    """Return True."""
    return True


_default_graph: list[Any] = []


def get_default_graph() -> Any:
    """Return the graph that ops are added to; outside of all, one that stands for none."""
    trace: Any = current_trace()
    if trace is not None:
        return trace.graph.public
    if not _default_graph:
        _default_graph.append(tf.Graph())
    return _default_graph[0]


def reset_default_graph() -> None:
    """Forget the graph that stands for none. Raises AssertionError within a graph."""
    if current_trace() is not None:
        raise AssertionError("Do not use tf.reset_default_graph() to clear nested graphs.")
    _default_graph.clear()


class name_scope(tf.name_scope):
    """A context in which names begin with `name`, or with `default_name` where that is None."""

    def __init__(self, name: str | None, default_name: str | None = None, values: Sequence[Any] | None = None) -> None:
        super().__init__(name if name is not None else default_name or "")


def nn_dropout(x: TensorLike, keep_prob: Any = None, noise_shape: Any = None, seed: Any = None, name: str | None =
               None, rate: Any = None) -> Any:  # fmt: skip
    """Return `x` with elements set to zero with probability `rate`, which is 1 - `keep_prob`."""
    if (keep_prob is None) == (rate is None):
        raise ValueError("`rate` or `keep_prob` must be given, and not both.")
    return tf.nn.dropout(x, rate=1 - keep_prob if rate is None else rate, noise_shape=noise_shape, seed=seed, name=name)


def nn_softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, dim: int = -1,
                                         name: str | None = None, axis: int | None = None) -> Any:  # fmt: skip
    """Return the cross-entropy of labels that no gradient goes to."""
    return tf.nn.softmax_cross_entropy_with_logits(
        tf.stop_gradient(labels), logits, axis=dim if axis is None else axis, name=name
    )


def colocate_with(op: Any, ignore_existing: bool = False) -> Any:
    """Return a context in which ops are placed on the device that `op` is on."""
    del ignore_existing
    return tf.device(None if op is None else op.device)


def placeholder_with_default(input: TensorLike, shape: ShapeLike, name: str | None = None) -> Any:
    """Return a tensor of a graph that is `input` where nothing is fed: there is no feeding, so it is `input`.

    In a graph all that is known of it is its dtype and `shape`. Raises ValueError for an input of another shape.
    """
    given = tf.convert_to_tensor(input)
    if not given.shape.is_compatible_with(shape):
        raise ValueError(f"placeholder_with_default: an input of shape {given.shape} has not the shape {shape}")
    found = tf.identity(given, name=name or "PlaceholderWithDefault")
    if isinstance(found, SymbolicTensor):
        found.value.aval = Aval(found.dtype, as_dims(shape))
    return found


def sparse_placeholder(dtype: DTypeLike, shape: ShapeLike = None, name: str | None = None) -> Any:
    """Return a SparseTensor of the graph under construction whose parts are inputs of it."""
    shape = tf.TensorShape(shape)
    rank = shape.rank
    base = name or "sparse"
    if rank is not None and shape.is_fully_defined():
        dense_shape = tf.constant(shape.as_list(), tf.int64, shape=[rank])
    else:
        dense_shape = placeholder(tf.int64, [rank], f"{base}/shape")
    result = tf.SparseTensor(
        placeholder(tf.int64, [None, rank], f"{base}/indices"),
        placeholder(dtype, [None], f"{base}/values"),
        dense_shape,
    )
    if rank is not None:
        result.set_shape(shape)
    return result


def cond(pred: TensorLike, true_fn: Callable[[], Any] | None = None, false_fn: Callable[[], Any] | None = None,
         strict: bool = False, name: str | None = None, fn1: Callable[[], Any] | None = None,
         fn2: Callable[[], Any] | None = None) -> Any:  # fmt: skip
    """Return what tf.cond gives; of an eager call that is not `strict` what is alone in a list without it."""
    for new, old, names in ((true_fn, fn1, "'true_fn' and 'fn1'"), (false_fn, fn2, "'false_fn' and 'fn2'")):
        if new is not None and old is not None:
            raise TypeError(f"cond(): {names} may not be set simultaneously.")
    found = tf.cond(pred, fn1 if true_fn is None else true_fn, fn2 if false_fn is None else false_fn, name)
    return _alone(found) if tf.executing_eagerly() and not strict else found


def _alone(found: Any) -> Any:
    return found[0] if isinstance(found, list | tuple) and len(found) == 1 else found


def while_loop(cond: Callable[..., Any], body: Callable[..., Any], loop_vars: Any, shape_invariants: Any = None,
               parallel_iterations: int = 10, back_prop: bool = True, swap_memory: bool = False,
               name: str | None = None, maximum_iterations: TensorLike | None = None,
               return_same_structure: bool = False) -> Any:  # fmt: skip
    """Return what tf.while_loop gives; of a single loop variable, unless `return_same_structure`, not in a list."""
    found = tf.while_loop(
        cond,
        body,
        loop_vars,
        shape_invariants=shape_invariants,
        parallel_iterations=parallel_iterations,
        swap_memory=swap_memory,
        maximum_iterations=maximum_iterations,
        name=name,
    )
    return found if return_same_structure else _alone(found)


def logging_set_verbosity(level: int | str) -> None:
    """Set from which level on messages are written."""
    get_logger().setLevel(level)


def logging_get_verbosity() -> int:
    """Return from which level on messages are written."""
    return get_logger().getEffectiveLevel() if get_logger().level else logging.WARNING


# ---- numbers --------------------------------------------------------------------------------------------------------


def batch_gather(params: TensorLike, indices: TensorLike, name: str | None = None) -> Any:
    """Return tf.gather in which all axes of `indices` but the last are of the batch."""
    ragged = isinstance(indices, tf.RaggedTensor) or isinstance(params, tf.RaggedTensor)
    places = indices if isinstance(indices, tf.RaggedTensor) else tf.convert_to_tensor(indices)
    rank = places.shape.rank
    if ragged:
        return tf.gather(params, places, batch_dims=-1 if rank is None else rank - 1, name=name)
    if rank is None:
        raise ValueError("batch_gather does not allow indices with unknown shape.")
    return tf.gather(params, places, axis=rank - 1, batch_dims=rank - 1, name=name)


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Any:
    """Return the quotient, of integers the rounded one, as Python 2 had it."""
    ragged = isinstance(x, tf.RaggedTensor) or isinstance(y, tf.RaggedTensor)
    a: Any = x if ragged else tf.convert_to_tensor(x)
    b: Any = y if ragged else tf.convert_to_tensor(y, a.dtype)
    integers = (a if hasattr(a, "dtype") else b).dtype.is_integer
    return tf.math.floordiv(a, b, name=name) if integers else tf.divide(a, b, name=name)


def clip_by_average_norm(t: TensorLike, clip_norm: TensorLike, name: str | None = None) -> Any:
    """Return t, shortened where its norm over its number of elements is more than clip_norm."""
    x = tf.convert_to_tensor(t)
    average = tf.norm(x) / tf.cast(tf.size(x), x.dtype)
    return x * clip_norm * tf.minimum(1.0 / average, tf.ones([], x.dtype) / clip_norm)


def setdiff1d(x: TensorLike, y: TensorLike, index_dtype: DTypeLike = tf.int32, name: str | None = None) -> Any:
    """Return the elements of x that y has not, and their places."""
    return _raw.ListDiff(x=x, y=y, out_idx=index_dtype)


def where(
    condition: TensorLike, x: TensorLike | None = None, y: TensorLike | None = None, name: str | None = None
) -> Any:
    """Return tf.where; a vector for tensors of more axes chooses rows. ValueError if one of x and y is given."""
    ragged = [isinstance(each, tf.RaggedTensor) for each in (condition, x, y)]
    if x is None or y is None or any(ragged):
        if all(ragged):
            return tf.ragged.map_flat_values(where, condition, x, y)
        if ragged == [False, True, True] and tf.convert_to_tensor(condition).shape.rank == 1:  # which rows
            rows = tf.range(tf.shape(condition)[0])
            return tf.gather(tf.concat([x, y], 0), tf.where(condition, rows, rows + tf.shape(rows)[0]))
        return tf.where(condition, x, y, name)
    chosen, a, b = tf.convert_to_tensor(condition), tf.convert_to_tensor(x), tf.convert_to_tensor(y)
    a.shape.assert_is_compatible_with(b.shape)
    if chosen.shape.rank == 1 and (a.shape.rank or 0) > 1:
        chosen = tf.reshape(chosen, [-1] + [1] * (len(a.shape) - 1))
    elif chosen.shape.rank and not chosen.shape.is_compatible_with(a.shape):
        shapes = [str(list(each.shape)).replace(" ", "") for each in (chosen, a)]
        what = "Inputs to operation Select of type Select must have the same size and shape."
        raise tf.errors.InvalidArgumentError(None, None, f"{what}  Input 0: {shapes[0]} != input 1: {shapes[1]}")
    return tf.where(chosen, a, b, name=name)


def Print(
    input_: TensorLike, data: Any, message: str | None = None, first_n: int | None = None, summarize: int | None = None,
    name: str | None = None,
) -> Any:  # fmt: skip
    """Return `input_`, and write `data` when it is computed. NotBuiltError for first_n."""
    if first_n is not None and first_n >= 0:
        raise NotBuiltError("tf.compat.v1.Print with first_n is not built.")
    written = tf.print(message or "", *data, summarize=summarize or 3, sep="")
    with tf.control_dependencies([] if written is None else [written]):
        return tf.identity(input_, name=name)


def nn_relu_layer(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Any:
    """Return relu(x @ weights + biases)."""
    return tf.nn.relu(nn_xw_plus_b(x, weights, biases), name=name)


def nn_xw_plus_b(x: TensorLike, weights: TensorLike, biases: TensorLike, name: str | None = None) -> Any:
    """Return x @ weights + biases."""
    return tf.nn.bias_add(tf.matmul(x, weights), biases, name=name)


def nn_ctc_loss(
    labels: Any, inputs: Any = None, sequence_length: Any = None, preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True, ignore_longer_outputs_than_inputs: bool = False, time_major: bool = True,
    logits: Any = None,
) -> Any:  # fmt: skip
    """Return tf.nn.ctc_loss of sparse labels, the last class being the blank. NotBuiltError for other ways."""
    if preprocess_collapse_repeated or not ctc_merge_repeated or ignore_longer_outputs_than_inputs:
        raise NotBuiltError("tf.compat.v1.nn.ctc_loss in another way than with its defaults is not built.")
    scores = tf.convert_to_tensor(inputs if logits is None else logits)
    return tf.nn.ctc_loss(labels, scores, None, sequence_length, logits_time_major=time_major, blank_index=-1)


def space_to_batch(input: TensorLike, paddings: TensorLike, block_size: Any = None, name: str | None = None,
                   block_shape: Any = None) -> Any:  # fmt: skip
    """Return tf.space_to_batch, by a block as long along both axes."""
    return tf.space_to_batch(input, [block_size] * 2 if block_shape is None else block_shape, paddings, name)


nn_space_to_batch = space_to_batch


def nn_ctc_beam_search_decoder(
    inputs: TensorLike, sequence_length: TensorLike, beam_width: int = 100, top_paths: int = 1,
    merge_repeated: bool = True,
) -> Any:  # fmt: skip
    """Return the likeliest paths as SparseTensors, equal neighbours in them as one, and their log probabilities."""
    paths, scores = tf.nn.ctc_beam_search_decoder(inputs, sequence_length, beam_width, top_paths)
    return [_without_repeats(path) for path in paths] if merge_repeated else paths, scores


def _without_repeats(path: Any) -> Any:
    """Return the rows of a SparseTensor without elements that are as the one before."""
    rows = path.indices[:, 0]
    again = (rows[1:] == rows[:-1]) & (path.values[1:] == path.values[:-1])
    kept = tf.concat([tf.ones_like(rows[:1], tf.bool), ~again], 0)
    values, of = tf.boolean_mask(path.values, kept), tf.boolean_mask(rows, kept)
    return tf.RaggedTensor.from_value_rowids(values, of, path.dense_shape[0]).to_sparse()


# ---- images ---------------------------------------------------------------------------------------------------------


def _resized(kind: str) -> Callable[..., Any]:
    def function(images: TensorLike, size: TensorLike, align_corners: bool = False, name: str | None = None,
                 half_pixel_centers: bool = False) -> Any:  # fmt: skip
        return tf.identity(resize_at(images, size, kind, Pixels(align_corners, half_pixel_centers)), name=name)

    return function


image_resize_bilinear, image_resize_nearest_neighbor = _resized("bilinear"), _resized("nearest")
image_resize_area, image_resize_bicubic = _resized("area"), _resized("bicubic")


def image_resize_images(images: TensorLike, size: Any, method: Any = "bilinear", align_corners: bool = False,
                        preserve_aspect_ratio: bool = False, name: str | None = None) -> Any:  # fmt: skip
    """Return images [b, h, w, c] or [h, w, c] of another size, pixels placed as TensorFlow 1 does."""
    x = tf.convert_to_tensor(images)
    if x.shape.rank == 3:
        return image_resize_images(x[tf.newaxis], size, method, align_corners, preserve_aspect_ratio, name)[0]
    kind = {0: "bilinear", 1: "nearest", 2: "bicubic", 3: "area"}.get(method, method)
    if preserve_aspect_ratio:
        scale = min(size[0] / x.shape[1], size[1] / x.shape[2])
        size = [round(scale * x.shape[1]), round(scale * x.shape[2])]
    if list(size) == list(x.shape[1:3]):
        return x
    return _resized(kind)(x, size, align_corners, name)


image_resize = image_resize_images


def image_resize_image_with_pad(image: TensorLike, target_height: int, target_width: int, method: Any = "bilinear",
                                align_corners: bool = False) -> Any:  # fmt: skip
    """Return images as large as they go into another size at their own proportions, with zeros around them."""
    x = tf.convert_to_tensor(image)
    if x.shape.rank == 3:
        return image_resize_image_with_pad(x[tf.newaxis], target_height, target_width, method, align_corners)[0]
    if not x.shape[1:3].is_fully_defined():
        raise NotBuiltError("tf.compat.v1.image.resize_image_with_pad of images of unknown size is not built.")
    target = target_height, target_width
    extents: Any = x.shape.as_list()[1:3]
    ratio = max(own / wanted for own, wanted in zip(extents, target, strict=True))
    exact = [own / ratio for own in extents]  # what is before them follows from sizes that are not yet cut
    size = [math.floor(each) for each in exact]
    top, left = [max(0, math.floor((wanted - each) / 2)) for wanted, each in zip(target, exact, strict=True)]
    resized = image_resize_images(x, size, method, align_corners)
    return tf.image.pad_to_bounding_box(resized, top, left, target_height, target_width)


def image_extract_glimpse(
    input: TensorLike, size: TensorLike, offsets: TensorLike, centered: bool = True, normalized: bool = True,
    uniform_noise: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """Return a window of each image, whose middle is at the offset, as TensorFlow 1 counts it."""
    x, window, at = tf.cast(input, tf.float32), tf.cast(size, tf.float32), tf.cast(offsets, tf.float32)
    extents = tf.cast(tf.shape(x)[1:3], tf.float32)
    at = at * extents if normalized else at
    at = at / 2.0 + extents / 2.0 if centered else at
    noise = "uniform" if uniform_noise else "gaussian"
    return tf.image.extract_glimpse(x, size, at - window / 2.0, False, False, noise, name)


# ---- strings, sparse and ragged tensors -----------------------------------------------------------------------------


def strings_split(input: Any = None, sep: str | None = None, maxsplit: int = -1, result_type: str = "SparseTensor",
                  source: Any = None, name: str | None = None) -> Any:  # fmt: skip
    """Return tf.strings.split, by default as a SparseTensor."""
    words = source if input is None else input
    words = words if isinstance(words, tf.RaggedTensor) else tf.convert_to_tensor(words)
    if result_type not in ("SparseTensor", "RaggedTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")
    found = tf.strings.split(words[tf.newaxis] if words.shape.rank == 0 else words, sep, maxsplit, name)
    return found if result_type == "RaggedTensor" else found.to_sparse()


def string_split(source: Any, sep: str | None = None, skip_empty: bool = True, delimiter: str | None = None,
                 result_type: str = "SparseTensor", name: str | None = None) -> Any:  # fmt: skip
    """Return the parts of a vector's strings, by default as a SparseTensor, without empty ones; at each character."""
    between = delimiter if sep is None else sep
    indices, values, shape = _raw.StringSplit(
        input=source, delimiter=" " if between is None else between, skip_empty=skip_empty
    )
    found = tf.SparseTensor(indices, values, shape)
    return found if result_type == "SparseTensor" else tf.RaggedTensor.from_sparse(found)


def sparse_to_dense(
    sparse_indices: TensorLike, output_shape: TensorLike, sparse_values: TensorLike, default_value: TensorLike = 0,
    validate_indices: bool = True, name: str | None = None,
) -> Any:  # fmt: skip
    """Return a tensor of `default_value` with other values at some places: i[n, rank], i[n] or i[], v[n] or v[].

    Raises InvalidArgumentError for other shapes and, with `validate_indices`, for places twice or not in order.
    """
    values, places = tf.convert_to_tensor(sparse_values), tf.cast(sparse_indices, tf.int64)
    default = tf.convert_to_tensor(default_value, values.dtype)
    if default.shape.rank not in (0, None):
        raise invalid("default_value should be a scalar.")
    places = tf.reshape(places, [-1, 1]) if places.shape.rank in (0, 1) else places
    if values.shape.rank == 0:
        values = tf.fill(tf.shape(places)[:1], values)
    elif not values.shape.is_compatible_with(places.shape[:1]):
        n = places.shape[0]
        raise invalid(f"sparse_values has incorrect shape {shape_text(values.shape)}, should be [] or [{n}]")
    sparse = tf.SparseTensor(places, values, tf.cast(output_shape, tf.int64))
    return tf.sparse.to_dense(sparse, default, validate_indices, name)


def ragged_placeholder(
    dtype: DTypeLike, ragged_rank: int, value_shape: ShapeLike = None, name: str | None = None
) -> Any:
    """Return a RaggedTensor of the graph under construction whose parts are inputs of it."""
    inner = tf.TensorShape(value_shape)
    if not ragged_rank:
        return placeholder(dtype, inner, name)
    found = placeholder(dtype, tf.TensorShape([None]).concatenate(inner), f"{name or 'ragged'}/flat_values")
    for level in reversed(range(ragged_rank)):
        splits = placeholder(tf.int64, [None], f"{name or 'ragged'}/row_splits_{level}")
        found = tf.RaggedTensor.from_row_splits(found, splits, validate=False)
    return found


def ragged_constant_value(
    pylist: Any, dtype: Any = None, ragged_rank: int | None = None, inner_shape: Any = None,
    row_splits_dtype: DTypeLike = "int64",
) -> Any:  # fmt: skip
    """Return nested lists as a RaggedTensorValue of arrays as NumPy makes them; without ragged axes as an array."""
    found = tf.ragged.constant(pylist, dtype, ragged_rank, inner_shape, row_splits_dtype=row_splits_dtype)
    ragged = isinstance(found, tf.RaggedTensor)
    splits = found.nested_row_splits if ragged else ()
    for _ in splits:
        pylist = [item for row in pylist for item in row]
    kind = dtype.as_numpy_dtype if isinstance(dtype, tf.DType) else dtype
    flat: Any = found.flat_values if ragged else found
    values: Any = np.array(pylist, kind).reshape(flat.shape)
    for each in reversed(splits):
        values = RaggedTensorValue(values, each.numpy())
    return values


def convert_to_tensor_or_indexed_slices(value: Any, dtype: DTypeLike | None = None, name: str | None = None) -> Any:
    """Return IndexedSlices as they are, anything else as a tensor. ValueError for IndexedSlices of another dtype."""
    if not isinstance(value, tf.IndexedSlices):
        return tf.convert_to_tensor(value, dtype, name=name)
    if dtype is not None and not tf.as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(f"Tensor conversion requested dtype {tf.as_dtype(dtype).name} for {value!r}")
    return value


def convert_to_tensor_or_sparse_tensor(
    value: TensorLike, dtype: DTypeLike | None = None, name: str | None = None
) -> Any:
    """Return a SparseTensor as it is, its value as one, anything else as a tensor."""
    if isinstance(value, tf.SparseTensor | SparseTensorValue):
        return tf.SparseTensor.from_value(value)
    return tf.convert_to_tensor(value, dtype, name=name)


# ---- what programs are made of --------------------------------------------------------------------------------------


def get_seed(op_seed: int | None) -> tuple[int | None, int | None]:
    """Return the seeds of an op: the global one and its own."""
    if generators.seed is None and op_seed is None:
        return None, None
    return generators.seeds(op_seed) if op_seed is not None else (generators.next_seeds() or (None, None))


def no_regularizer(_: Any) -> None:
    """Return None."""


def is_variable_initialized(variable: Any) -> Any:
    """Return True: Variables are initialized when they are made."""
    return tf.constant(True)


class io_TFRecordCompressionType:
    """Numbers of compressions, which tf.io.TFRecordOptions takes."""

    NONE, ZLIB, GZIP = 0, 1, 2


def io_tf_record_iterator(path: Any, options: Any = None) -> Any:
    """Return an iterator over the records of a file, as bytes."""
    kind = tf.io.TFRecordOptions.get_compression_type_string(options)
    return tf.data.TFRecordDataset(path, kind).as_numpy_iterator()


def train_NewCheckpointReader(filepattern: str) -> CheckpointReader:
    """Return what reads the checkpoint of a prefix. Raises NotFoundError; DataLossError for a folder."""
    if os.path.isdir(filepattern):
        raise DataLossError(None, None, f"Unable to open table file {filepattern}: Is a directory")
    return CheckpointReader(filepattern)


def train_checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Return whether there is a checkpoint with this path."""
    return os.path.exists(f"{os.fspath(checkpoint_prefix)}.index")


test_mock = unittest.mock


@functools.cache
def test_get_temp_dir() -> str:
    """Return the path of this process's folder for files of tests, which is new, and goes when the process ends."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


logging_DEBUG, logging_INFO, logging_WARN, logging_ERROR, logging_FATAL = 10, 20, 30, 40, 50


def _logged(level: str) -> Callable[..., None]:
    def log(msg: Any, *args: Any, **kwargs: Any) -> None:
        getattr(get_logger(), level)(msg, *args, **kwargs)

    log.write = lambda text: log("%s", text.removesuffix("\n"))  # type: ignore[attr-defined] # for tf.print
    return log


logging_debug, logging_info, logging_error = _logged("debug"), _logged("info"), _logged("error")
logging_warn, logging_warning, logging_fatal = _logged("warning"), _logged("warning"), _logged("critical")


def logging_log(level: int, msg: str, *args: Any, **kwargs: Any) -> None:
    """Write a message of a level."""
    get_logger().log(level, msg, *args, **kwargs)


#: One thing under several names.
ragged_RaggedTensorValue, random_get_seed = RaggedTensorValue, get_seed
python_io_tf_record_iterator, python_io_TFRecordCompressionType = io_tf_record_iterator, io_TFRecordCompressionType
