"""Operations on pictures, sounds, files, boxes, sets and characters as they are written.

Rule: as in `export_decompositions`: the last operation has the node's name and gives its results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from fastgraph.core.base import dtype as dtypes
from fastgraph.core.base.shapes import Aval
from fastgraph.graph.ir import Node
from fastgraph.graphdef.export_decompositions import Parts
from fastgraph.graphdef.node_bytes import Definition
from fastgraph.graphdef.op_table import Unwritable


def _definition(node: Node, op: str, *results: str, **attrs: Any) -> list[Definition]:
    found = Definition(node, op, node.inputs, attrs)
    found.slots = [f"{name}:0" for name in results]
    return [found]


def _jpeg(said: Any) -> dict[str, Any]:
    method = "" if said.get("fast", True) else "INTEGER_ACCURATE"
    return {
        "channels": said["channels"], "ratio": said["ratio"], "fancy_upscaling": said.get("smooth", True),
        "dct_method": method, "try_recover_truncated": said.get("recover", False),
        "acceptable_fraction": said.get("enough", 1.0),
    }  # fmt: skip


def _decoded(node: Node) -> list[Definition]:
    said, op = node.attrs, node.attrs["op"]
    kind = {"dtype": {8: dtypes.uint8, 16: dtypes.uint16, 32: dtypes.float32}[said["bits"]]}
    channels = {"channels": said["channels"]}
    attrs = {
        "DecodeBmp": channels,
        "DecodeGif": {},
        "DecodeImage": {**channels, **kind, "expand_animations": said["frames"]},
        "DecodeJpeg": _jpeg(said),
        "DecodePng": {**channels, **kind},
        "DecodeWebP": {**channels, **kind},
    }[op]
    return _definition(node, op, "image", **attrs)


def _encoded(node: Node) -> list[Definition]:
    said = node.attrs
    return _definition(
        node, "EncodeJpeg", "contents", format=said["kind"], quality=said["quality"], progressive=said["progressive"],
        optimize_size=said["small"], chroma_downsampling=said["sampled"], density_unit="in", x_density=300,
        y_density=300, xmp_metadata="",
    )  # fmt: skip


def _is_jpeg(node: Node) -> list[Definition]:
    parts = Parts(node)
    begin, length = [parts.const(n, name, dtypes.int32) for n, name in ((0, "pos"), (3, "len"))]
    head = parts.op("Substr", (*node.inputs, begin, length), Aval(dtypes.string, ()), unit="BYTE")
    wanted = parts.const(np.array(b"\xff\xd8\xff", object), "wanted", dtypes.string)
    return parts.last("Equal", (head, wanted))


def _suppression(node: Node) -> list[Definition]:
    boxes, scores, most, *thresholds = node.inputs
    if node.attrs["overlaps"]:
        raise Unwritable("what overlaps is told by numbers")
    parts = Parts(node)
    n = most if most.aval.dtype == dtypes.int32 else parts.op("Cast", (most,), Aval(dtypes.int32, ()))
    attrs = {"T": scores.aval.dtype, "pad_to_max_output_size": False}
    found = Definition(node, "NonMaxSuppressionV5", (boxes, scores, n, *thresholds), attrs)
    found.slots = ["selected_indices:0", "selected_scores:0"]
    return [*parts.made, found]


def _characters(node: Node) -> list[Definition]:
    """The code points of all strings, each written as a string again; how many each has by where it ends."""
    parts, (given,) = Parts(node), node.inputs
    n, many = given.aval.shape[0] if given.aval.shape else None, Aval(dtypes.int64, (None,))
    shape = Aval(dtypes.int64, None if n is None else (n + 1,))
    attrs = {
        "input_encoding": "UTF-8", "errors": "replace", "replacement_char": 65533,
        "replace_control_characters": False, "Tsplits": dtypes.int64,
    }  # fmt: skip
    raw = Node(node.op, (), {}, (shape, Aval(dtypes.int32, (None,))), f"{node.name}/UnicodeDecode", node.source)
    codes = Definition(raw, "UnicodeDecode", (given,), attrs)
    codes.slots = ["row_splits:0", "char_values:0"]
    parts.made.append(codes)
    splits, values = raw.outputs
    zero, one = [parts.const(i, name, dtypes.int64) for i, name in ((0, "zero"), (1, "one"))]
    count = parts.op("Size", (values,), Aval(dtypes.int64, ()), out_type=dtypes.int64)
    ends = parts.op("AddV2", (count, one), Aval(dtypes.int64, ()))
    each = parts.op("Range", (zero, ends, one), many)
    words = Definition(node, "UnicodeEncode", (values, each), {
        "errors": "replace", "output_encoding": "UTF-8", "replacement_char": 65533, "Tsplits": dtypes.int64,
    }, name=f"{node.name}/UnicodeEncode")  # fmt: skip
    words.outputs, words.slots = node.outputs[:1], ["output:0"]
    from_one, from_zero = [parts.const(np.array([i], np.int64), "begin", dtypes.int64) for i in (1, 0)]
    rest = parts.const(np.array([-1], np.int64), "size", dtypes.int64)
    length = Aval(dtypes.int64, (n,))
    number = parts.op("Shape", (given,), Aval(dtypes.int64, (1,)), out_type=dtypes.int64)
    last = parts.op("Slice", (splits, from_one, rest), length)
    first = parts.op("Slice", (splits, from_zero, number), length)
    found = Definition(node, "Sub", (last, first), {"T": dtypes.int64})
    found.outputs, found.slots = node.outputs[1:], ["z:0"]
    return [*parts.made, words, found]


def _crossed(node: Node) -> list[Definition]:
    """Columns, each given as indices, values and shape: all of the first, then all of the second, then of the third."""
    parts, said = Parts(node), node.attrs
    columns = [*node.inputs[::3], *node.inputs[1::3], *node.inputs[2::3]]
    types = [value.aval.dtype for value in node.inputs[1::3]]
    attrs: dict[str, Any] = {"N": len(types), "sparse_types": types, "dense_types": []}
    if "separator" in said:
        columns.append(parts.const(np.array(said["separator"], object), "sep", dtypes.string))
        op = "SparseCrossV2"
    else:
        attrs |= {"hashed_output": True, "num_buckets": said["num_buckets"], "hash_key": said["key"]}
        kind = dtypes.string if dtypes.string in types else dtypes.int64
        attrs |= {"out_type": dtypes.int64, "internal_type": kind}
        op = "SparseCross"
    found = Definition(node, op, columns, attrs)
    found.slots = ["output_indices:0", "output_values:0", "output_shape:0"]
    return [*parts.made, found]


def _beams(node: Node) -> list[Definition]:
    """Paths one after the other; there all indices come first, then all values, then all shapes."""
    n, (*paths, scores) = node.attrs["top_paths"], node.outputs
    attrs = {"beam_width": node.attrs["beam_width"], "top_paths": n, "merge_repeated": False}
    found = Definition(node, "CTCBeamSearchDecoder", node.inputs, {**attrs, "T": scores.aval.dtype})
    found.outputs = (*paths[::3], *paths[1::3], *paths[2::3], scores)
    kinds = ("decoded_indices", "decoded_values", "decoded_shape")
    found.slots = [*[f"{kind}:{i}" for kind in kinds for i in range(n)], "log_probability:0"]
    return [found]


def _joined(node: Node) -> list[Definition]:
    types = {"Tindices": node.inputs[1].aval.dtype, "Tnumsegments": node.inputs[2].aval.dtype}
    return _definition(node, "UnsortedSegmentJoin", "output", separator=node.attrs["separator"], **types)


MEDIA: dict[str, Callable[[Node], list[Any]]] = {
    "characters": _characters,
    "cross": _crossed,
    "cross_hashed": _crossed,
    "ctc_beam_search": _beams,
    "ctc_greedy": lambda node: _definition(
        node, "CTCGreedyDecoder", "decoded_indices", "decoded_values", "decoded_shape", "log_probability",
        merge_repeated=node.attrs["merge"], blank_index=node.attrs["blank"], T=node.inputs[0].aval.dtype,
    ),
    "isotonic": lambda node: _definition(
        node, "IsotonicRegression", "output", "segments", T=node.inputs[0].aval.dtype,
        output_dtype=node.outputs[0].aval.dtype,
    ),
    "join_segments": _joined,
    "set_operation": lambda node: _definition(
        node, "SparseToSparseSetOperation", "result_indices", "result_values", "result_shape",
        set_operation=node.attrs["operation"], validate_indices=True, T=node.inputs[1].aval.dtype,
    ),
    "set_size": lambda node: _definition(
        node, "SetSize", "size", validate_indices=True, T=node.inputs[1].aval.dtype
    ),
    "suppression": _suppression,
    "decode_and_crop_jpeg": lambda node: _definition(node, "DecodeAndCropJpeg", "image", **_jpeg(node.attrs)),
    "decode_image": _decoded,
    "decode_wav": lambda node: _definition(
        node, "DecodeWav", "audio", "sample_rate", desired_channels=node.attrs["channels"],
        desired_samples=node.attrs["samples"],
    ),
    "encode_jpeg": _encoded,
    "encode_png": lambda node: _definition(
        node, "EncodePng", "contents", compression=node.attrs["compression"], T=node.inputs[0].aval.dtype
    ),
    "encode_wav": lambda node: _definition(node, "EncodeWav", "contents"),
    "extract_jpeg_shape": lambda node: _definition(
        node, "ExtractJpegShape", "image_shape", output_type=dtypes.int64 if node.attrs["wide"] else dtypes.int32
    ),
    "is_jpeg": _is_jpeg,
    "matching_files": lambda node: _definition(node, "MatchingFiles", "filenames"),
    "read_file": lambda node: _definition(node, "ReadFile", "contents"),
    "write_file": lambda node: _definition(node, "WriteFile"),
}  # fmt: skip
