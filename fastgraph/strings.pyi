# Written by tools/stubs.py from the ops' definitions; do not edit.
from collections.abc import Iterable
from fastgraph import as_string as as_string
from fastgraph.composites.ragged_strings import bytes_split as bytes_split
from fastgraph.composites.ragged_strings import ngrams as ngrams
from fastgraph.composites.ragged_strings import split as split
from fastgraph.composites.ragged_strings import unicode_split as unicode_split
from fastgraph.composites.unicode_strings import unicode_decode as unicode_decode
from fastgraph.composites.unicode_strings import unicode_decode_with_offsets as unicode_decode_with_offsets
from fastgraph.composites.unicode_strings import unicode_encode as unicode_encode
from fastgraph.composites.unicode_strings import unicode_script as unicode_script
from fastgraph.composites.unicode_strings import unicode_split_with_offsets as unicode_split_with_offsets
from fastgraph.composites.unicode_strings import unicode_transcode as unicode_transcode
from fastgraph.composites.unicode_strings import unsorted_segment_join as unsorted_segment_join
from fastgraph.core.base.dtype import DTypeLike
from fastgraph.core.conversion import TensorLike
from fastgraph.core.tensor import Tensor
import builtins

def format(template: builtins.str, inputs: TensorLike, placeholder: builtins.str = '{}', summarize: builtins.int = 3, name: builtins.str | None = None) -> Tensor:
    """The text `template` with the tensors in the places of `placeholder`, as print shows them. t[*s]... -> string[].

    inputs: a tensor or a list of them. summarize: elements shown at each end of an axis, -1: all.
    Raises: ValueError for another number of tensors than of places, TypeError for a template that is no text.
    Source: tf.strings.format."""
def join(inputs: Iterable[TensorLike], separator: builtins.str = '', name: builtins.str | None = None) -> Tensor:
    """Strings at the same place of a list of tensors, joined; scalars go with all. string[*s]... -> string[*s].

    Raises: InvalidArgumentError if shapes differ; ValueError for a tensor of another dtype beside Python's strings in
    eager mode. Source: tf.strings.join."""
def length(input: TensorLike, unit: builtins.str = 'BYTE', name: builtins.str | None = None) -> Tensor:
    """The length of each string, in bytes or, with unit "UTF8_CHAR", in characters. string[*s] -> i32[*s].

    Raises: InvalidArgumentError for another unit. Source: tf.strings.length."""
def lower(input: TensorLike, encoding: builtins.str = '', name: builtins.str | None = None) -> Tensor:
    """Each string in lower case (ASCII, or UTF-8). string[*s] -> string[*s]. Source: tf.strings.lower."""
def reduce_join(inputs: TensorLike, axis: TensorLike | None = None, keepdims: builtins.bool = False, separator: builtins.str = '', name: builtins.str | None = None) -> Tensor:
    """Strings along `axis` (None: all), joined: along the first axis of several first. string[*s] -> string[*r].

    Raises: OutOfRangeError for an axis that is none. Source: tf.strings.reduce_join."""
def regex_full_match(input: TensorLike, pattern: TensorLike, name: builtins.str | None = None) -> Tensor:
    """True where `pattern` matches the whole of a string. string[*s] -> bool[*s].

    Raises: InvalidArgumentError for what is no pattern. Source: tf.strings.regex_full_match."""
def regex_replace(input: TensorLike, pattern: TensorLike, rewrite: TensorLike, replace_global: builtins.bool = True, name: builtins.str | None = None) -> Tensor:
    """Each string with what matches `pattern` replaced by `rewrite`, in which \0 is the match, \1 its first group.

    string[*s] -> string[*s]. replace_global: every match, else the first one. Raises: InvalidArgumentError for what is
    no pattern. Source: tf.strings.regex_replace."""
def strip(input: TensorLike, name: builtins.str | None = None) -> Tensor:
    """Each string without white space at its ends. string[*s] -> string[*s]. Source: tf.strings.strip."""
def substr(input: TensorLike, pos: TensorLike, len: TensorLike, unit: builtins.str = 'BYTE', name: builtins.str | None = None) -> Tensor:
    """The `len` bytes of each string from `pos` on. string[*s], i[*s], i[*s] -> string[*s], broadcasting.

    Of a negative `len`: all bytes that follow, or no characters, which unit "UTF8_CHAR" counts.
    Raises: InvalidArgumentError for a position outside a string, or another unit. Source: tf.strings.substr."""
def to_hash_bucket(input: TensorLike, num_buckets: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The bucket of each string, by an older hash than to_hash_bucket_fast's. string[*s] -> i64[*s].

    Raises: InvalidArgumentError for less than one bucket. Source: tf.strings.to_hash_bucket."""
def to_hash_bucket_fast(input: TensorLike, num_buckets: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The bucket of each string, by its fingerprint. string[*s] -> i64[*s], from 0 to num_buckets - 1.

    Raises: InvalidArgumentError for less than one bucket. Source: tf.strings.to_hash_bucket_fast."""
def to_hash_bucket_strong(input: TensorLike, num_buckets: TensorLike, key: TensorLike, name: builtins.str | None = None) -> Tensor:
    """The bucket of each string, by a hash with a key of two numbers. string[*s] -> i64[*s].

    Raises: InvalidArgumentError for less than one bucket or another key. Source: tf.strings.to_hash_bucket_strong."""
def to_number(input: TensorLike, out_type: DTypeLike = ..., name: builtins.str | None = None) -> Tensor:
    """The number that each string says. string[*s] -> out_type[*s].

    Raises: InvalidArgumentError for a string that is no number. Source: tf.strings.to_number."""
def upper(input: TensorLike, encoding: builtins.str = '', name: builtins.str | None = None) -> Tensor:
    """Each string in upper case (ASCII, or UTF-8). string[*s] -> string[*s]. Source: tf.strings.upper."""
