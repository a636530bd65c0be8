"""Types of operations that tf.raw_ops has and TensorFlow's own Python seldom writes: sets, counts, old forms.

Rule: as in import_ops.py: a function takes the node's name, its inputs and its attributes, and returns the results.
"""

from __future__ import annotations

from typing import Any

from fastgraph.api.namespaces import resolve
from fastgraph.composites import ctc_decoders, sparse_sets
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base.dtype import as_dtype, uint8
from fastgraph.core.conversion import constant
from fastgraph.core.tape.gradient_tape import GradientTape
from fastgraph.errors import NotFoundError
from fastgraph.graphdef.import_arrays import Make
from fastgraph.graphdef.import_values import fixed, fixed_text
from fastgraph.ops.elementwise import cast
from fastgraph.ops.families import bind_named, invalid


def call_public(function: str, *args: Any, **kwargs: Any) -> Any:
    """Call a public function, of ops or of composites."""
    space, _, last = function.rpartition(".")
    return resolve(space, last)(*args, **kwargs)


# ---- elements and arrays


def _bits(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Count the bits set in each whole number: pairs of bits, then of fours, ... are added up side by side."""
    (x,) = inputs
    if not x.dtype.is_integer:
        raise invalid(f"Value for attr 'T' of {x.dtype.name} is not in the list of allowed values: whole numbers")
    bits = 8 * x.dtype.size
    kind = as_dtype(f"uint{bits}")
    n = call_public("bitcast", x, kind)

    def masked(x: Any, mask: int) -> Any:
        return call_public("bitwise.bitwise_and", x, constant(mask % (1 << bits), kind))

    def moved(x: Any, by: int) -> Any:
        return call_public("bitwise.right_shift", x, constant(by, kind))

    n = n - masked(moved(n, 1), 0x5555555555555555)
    n = masked(n, 0x3333333333333333) + masked(moved(n, 2), 0x3333333333333333)
    n = masked(n + moved(n, 4), 0x0F0F0F0F0F0F0F0F)
    for by in (8, 16, 32):
        n = n + moved(n, by) if by < bits else n
    return cast(masked(n, 0x7F), uint8)


def _quotient(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return quotients, those of whole numbers cut off towards 0."""
    whole = inputs[0].dtype.is_integer
    return call_public("truncatediv" if whole else "divide", *inputs, name=name)


def _dim_map(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """Return where the axes of one layout are in another."""
    source, target = attrs.get("src_format", "NHWC"), attrs.get("dst_format", "NCHW")
    if sorted(source) != sorted(target) or len(source) not in (4, 5):
        raise invalid(f"the layouts {source} and {target} are not two of the same four or five axes")
    places = [target.index(letter) for letter in source]
    return call_public("gather", constant(places, inputs[0].dtype), inputs[0] % len(places))


def _truth(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """True where a number is not 0, a text not empty; of any other tensor: where it has elements."""
    (x,) = inputs
    if x.shape.rank != 0:
        return call_public("size", x) > 0
    return call_public("not_equal", x, "" if x.dtype.name == "string" else False if x.dtype.is_bool else 0)


def _in_place(how: str) -> Make:
    """Rows i of x with v written over them, added or taken off; the result is a tensor of its own."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        x, i, v = inputs
        return call_public(f"tensor_scatter_nd_{how}", x, call_public("reshape", i, [-1, 1]), v)

    return make


def _nth(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    """The element that has place n when each row is sorted."""
    x, n = inputs
    direction = "DESCENDING" if attrs.get("reverse") else "ASCENDING"
    return call_public("gather", call_public("sort", x, -1, direction), n, axis=-1)


def _soft_nms(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    boxes, scores, most, *thresholds = inputs
    found, kept = call_public("image.non_max_suppression_with_scores", boxes, scores, most, *thresholds)
    n = call_public("size", found)
    if attrs.get("pad_to_max_output_size"):
        found, kept = [call_public("pad", each, [[0, most - n]]) for each in (found, kept)]
    return found, kept, n


def _per_slice(function: str) -> Make:
    """Numbers rounded to steps; the axis -1 is none, the bits may be an input."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        x, low, high, *bits = inputs
        keys = ("signed_input", "range_given", "round_mode", "narrow_range")
        said = {key: attrs[key] for key in keys if key in attrs}
        axis = attrs.get("axis", -1)
        said["num_bits"] = int(fixed(bits[0], f"Node '{name}': the bits")) if bits else attrs.get("num_bits", 8)
        return call_public(function, x, low, high, **said, axis=None if axis == -1 else axis)

    return make


def _joined_steps(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    axis, *rest = inputs
    n = len(rest) // 3
    return call_public("quantization.quantized_concat", axis, rest[:n], rest[n : 2 * n], rest[2 * n :])


def _windows_by_tensors(op: str) -> Make:
    """A pooling whose windows and strides are inputs."""

    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        *given, ksize, strides = inputs
        keys = ("input",) if len(given) == 1 else ("orig_input", "orig_output", "grad")
        said = {"ksize": ksize, "strides": strides}
        sizes = {key: fixed(each, f"Node '{name}': {key}").tolist() for key, each in said.items()}
        layout = attrs.get("data_format", "NHWC")
        named = dict(zip(keys, given, strict=True))
        return call_public(f"raw_ops.{op}", **named, **sizes, padding=attrs["padding"], data_format=layout, name=name)

    return make


# ---- text, paths, labels


def _decoded(offsets: bool) -> Make:
    def make(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
        keys = ("errors", "replacement_char", "replace_control_characters")
        said = {key: attrs[key] for key in keys if key in attrs}
        function = "strings.unicode_decode_with_offsets" if offsets else "strings.unicode_decode"
        found = call_public(function, call_public("reshape", inputs[0], [-1]), attrs["input_encoding"], **said)
        parts = found if offsets else [found]
        splits = cast(parts[0].row_splits, as_dtype(attrs.get("Tsplits", "int64")))
        return [splits, *(part.values for part in parts)]

    return make


def _encoded(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    values, splits = inputs
    rows = RaggedTensor.from_row_splits(values, splits, validate=False)
    said = {key: attrs[key] for key in ("errors", "replacement_char") if key in attrs}
    return call_public("strings.unicode_encode", rows, attrs["output_encoding"], **said)


def _shard_name(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    base, *numbers = inputs
    digits = [call_public("strings.as_string", number, width=5, fill="0") for number in numbers]
    return call_public("strings.join", [base, "-", digits[0], "-of-", digits[1]], name=name)


def _greedy(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    merge, blank = attrs.get("merge_repeated", False), attrs.get("blank_index", -1)
    (decoded,), score = call_public("nn.ctc_greedy_decoder", *inputs, merge_repeated=merge, blank_index=blank)
    return [decoded.indices, decoded.values, decoded.dense_shape, score]


def _loss(name: str, inputs: list[Any], attrs: dict[str, Any]) -> list[Any]:
    """The loss of all alignments, whose blank is the last class, and its gradient."""
    logits, indices, values, lengths = inputs
    usual = {"preprocess_collapse_repeated": False, "ctc_merge_repeated": True}
    if any(attrs.get(key, value) != value for key, value in usual.items()):
        raise NotFoundError(None, None, f"Node '{name}': a CTC loss that joins labels has no equal here")
    if attrs.get("ignore_longer_outputs_than_inputs", False):
        raise NotFoundError(None, None, f"Node '{name}': a CTC loss that leaves rows out has no equal here")
    labels = SparseTensor(indices, values, [2**31 - 1, 2**31 - 1])
    with GradientTape() as tape:
        tape.watch(logits)
        loss = call_public("nn.ctc_loss", labels, logits, None, lengths, blank_index=-1, name=name)
    return [loss, tape.gradient(loss, logits)]


def _primitive(function: Any) -> Any:
    return function.primitive


def _columns(name: str, inputs: list[Any], attrs: dict[str, Any], n_last: int) -> list[Any]:
    """Columns of features as indices, values and shape, one after the other. Raises for dense ones."""
    n = attrs["N"]
    if len(inputs) != 3 * n + n_last:
        raise NotFoundError(None, None, f"Node '{name}': a cross of dense columns has no equal here")
    return [
        part for column in zip(inputs[:n], inputs[n : 2 * n], inputs[2 * n : 3 * n], strict=True) for part in column
    ]


def _crossed(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    if not attrs["hashed_output"]:
        raise NotFoundError(None, None, f"Node '{name}': a cross of this kind that is not hashed has no equal here")
    said = {"num_buckets": attrs["num_buckets"], "key": attrs["hash_key"]}
    return bind_named(name, _primitive(sparse_sets.cross_hashed_p), tuple(_columns(name, inputs, attrs, 0)), said)


def _crossed_texts(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    separator = fixed_text(inputs[-1], f"Node '{name}': what stands between")
    return bind_named(
        name, _primitive(sparse_sets.cross_p), tuple(_columns(name, inputs, attrs, 1)), {"separator": separator}
    )


def _beams(name: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    if attrs.get("merge_repeated", True):
        raise NotFoundError(None, None, f"Node '{name}': beams whose repeated labels are merged have no equal here")
    found = bind_named(name, _primitive(ctc_decoders.ctc_beam_search_p), tuple(inputs), {
        "beam_width": attrs["beam_width"], "top_paths": attrs["top_paths"],
    })  # fmt: skip
    *paths, scores = found
    return [*paths[::3], *paths[1::3], *paths[2::3], scores]


RAW_OP_IMPORTS: dict[str, Make] = {
    "CTCBeamSearchDecoder": _beams,
    "CTCGreedyDecoder": _greedy,
    "CTCLoss": _loss,
    "Concat": lambda name, inputs, attrs: call_public("concat", inputs[1:], inputs[0], name=name),
    "DataFormatDimMap": _dim_map,
    "Div": _quotient,
    "DrawBoundingBoxes": lambda name, inputs, attrs: call_public("image.draw_bounding_boxes", *inputs, None, name=name),
    "EncodeJpegVariableQuality": lambda name, inputs, attrs: call_public(
        "io.encode_jpeg", inputs[0], quality=int(fixed(inputs[1], f"Node '{name}': the quality")), name=name
    ),
    "InplaceAdd": _in_place("add"),
    "InplaceSub": _in_place("sub"),
    "InplaceUpdate": _in_place("update"),
    **{f"{op}V2": _windows_by_tensors(op) for op in ("MaxPool", "MaxPoolGrad", "MaxPoolGradGrad")},
    "NonMaxSuppressionV5": _soft_nms,
    "NthElement": _nth,
    "PopulationCount": _bits,
    "QuantizeAndDequantizeV2": _per_slice("quantization.quantize_and_dequantize"),
    "QuantizeAndDequantizeV3": _per_slice("quantization.quantize_and_dequantize"),
    "QuantizeAndDequantizeV4": _per_slice("quantization.quantize_and_dequantize_v2"),
    "QuantizedConcat": _joined_steps,
    "ShardedFilename": _shard_name,
    "SparseCross": _crossed,
    "SparseCrossV2": _crossed_texts,
    "ToBool": _truth,
    "UnicodeDecode": _decoded(False),
    "UnicodeDecodeWithOffsets": _decoded(True),
    "UnicodeEncode": _encoded,
}
