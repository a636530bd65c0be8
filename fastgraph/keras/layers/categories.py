"""Layers of categories and text: CategoryEncoding, Discretization, Hashing, IntegerLookup, TextVectorization.

Rule: each says which number a value has; `encoded` makes rows of the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.composites.ragged_strings import ngrams, split, unicode_split
from fastgraph.core.base.dtype import DTypeLike, as_dtype, string
from fastgraph.core.base.missing_methods import without
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.errors import NotBuiltError
from fastgraph.keras import backend
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.preprocessing import StringLookup, batches
from fastgraph.ops.comparison import logical_and
from fastgraph.ops.elementwise import cast, maximum
from fastgraph.ops.movement import expand_dims, shape, squeeze
from fastgraph.ops.one_hot import one_hot
from fastgraph.ops.padding import pad
from fastgraph.ops.reduction import reduce_max, reduce_min, reduce_sum
from fastgraph.ops.runtime_assertions import Assert
from fastgraph.ops.string_patterns import regex_replace
from fastgraph.ops.strings import lower

_ROWS = ("one_hot", "multi_hot", "count")


def encoded(numbers: Any, mode: str, depth: int, dtype: DTypeLike | None, weights: Any = None) -> Any:
    """Return numbers, or with `mode` one of _ROWS the rows of length `depth` that they make. i[*s] -> [*t, depth].

    Numbers outside [0, depth) make no entry. Raises ValueError for rows of more than two axes.
    """
    if mode == "int":
        return cast(numbers, dtype)
    given = numbers.shape
    if given.rank == 0 or (mode == "one_hot" and numbers.shape[-1] != 1):
        numbers = expand_dims(numbers, -1)
    if (numbers.shape.rank or 0) > 2:
        raise ValueError(
            "When output_mode is not `'int'`, maximum supported output rank is 2. Received output_mode "
            f"{mode} and input shape {given}, which would result in output rank {numbers.shape.rank}."
        )
    rows = one_hot(cast(numbers, "int64"), depth, dtype=dtype)
    if weights is not None:
        rows = rows * expand_dims(cast(weights, dtype), -1)
    return reduce_sum(rows, axis=-2) if mode == "count" else reduce_max(rows, axis=-2)


class _Encoding(Layer):
    """The base: `output_mode` says whether numbers come out, in int64, or rows in floats."""

    def __init__(self, given: dict[str, Any], known: Sequence[str] = ("int", *_ROWS)) -> None:
        mode, kwargs = given["output_mode"], given.pop("kwargs")
        dtype = kwargs.pop("dtype", None)
        if dtype is None or (mode == "int" and not as_dtype(dtype).is_integer):
            dtype = "int64" if mode == "int" else backend.floatx()
        super().__init__(dtype=dtype, autocast=False, **kwargs)
        if mode not in known:
            raise ValueError(
                f"The `output_mode` argument received an invalid value {mode!r}. Allowed for {type(self).__name__}: "
                f"{', '.join(map(repr, known))}."
            )
        if given.get("sparse"):
            raise NotBuiltError("sparse=True is not built: tf.sparse.from_dense makes a SparseTensor of the rows.")
        self._take(given)


class CategoryEncoding(_Encoding):
    """Rows that are 1, or the count, at the numbers given, 0 elsewhere. i[b, n] -> f[b, num_tokens].

    output_mode: "multi_hot", "one_hot" (i[*s] or [*s, 1]) or "count". Raises InvalidArgumentError for a number that is
    none of `num_tokens`. Source: tf.keras.layers.CategoryEncoding.
    """

    def __init__(
        self, num_tokens: int | None = None, output_mode: str = "multi_hot", sparse: bool = False, **kwargs: Any
    ) -> None:
        output_mode = "multi_hot" if output_mode == "binary" else output_mode
        super().__init__(locals(), _ROWS)
        if num_tokens is None:
            raise ValueError(
                "num_tokens must be set to use this layer. If the number of tokens is not known beforehand, use the "
                "IntegerLookup layer instead."
            )
        if num_tokens < 1:
            raise ValueError(f"`num_tokens` must be >= 1. Received: num_tokens={num_tokens}.")

    def call(self, inputs: Any, count_weights: Any = None) -> Tensor | Any:
        """Return the rows."""
        numbers = convert_to_tensor(inputs)
        if count_weights is not None and self.output_mode != "count":
            raise ValueError(
                "`count_weights` is not used when `output_mode` is not `'count'`. Received "
                f"`count_weights={count_weights}`."
            )
        inside = logical_and(reduce_max(numbers) < self.num_tokens, reduce_min(numbers) >= 0)
        told = f"Input values must be in the range 0 <= values < num_tokens with num_tokens={self.num_tokens}"
        Assert(inside, [told])
        return encoded(numbers, self.output_mode, self.num_tokens, self._dtype, count_weights)


_PUNCTUATION = "[" + re.escape("!\"#$%&()*+,-./:;<=>?@[\\]^_`{|}~'") + "]"
_SPLITS: dict[Any, Any] = {
    None: lambda texts: texts, "whitespace": split, "character": lambda texts: unicode_split(texts, "UTF-8"),
}  # fmt: skip


@without(
    {
        "adapt, which takes a whole Dataset": "compile finalize_state make_adapt_function reset_state update_state",
        "`built`": "is_adapted",
        "set_vocabulary": "load_assets",
        "get_vocabulary()": "save_assets",
    }
)
class TextVectorization(Layer):
    """Texts as numbers of their words, padded with 0, or as rows of counts. string[b] -> i64[b, n] or f[b, words].

    standardize: "lower_and_strip_punctuation", "lower", "strip_punctuation", None or a function of strings.
    split: "whitespace", "character", None or a function that makes rows. ngrams: up to how many words together, or
    which numbers of them. output_mode: "int", "multi_hot" or "count". output_sequence_length: n. ragged: rows
    as long as they are. Words: `vocabulary`, or learnt by `adapt(data)`. Source: tf.keras.layers.TextVectorization.
    """

    def __init__(
        self, max_tokens: int | None = None, standardize: Any = "lower_and_strip_punctuation",
        split: Any = "whitespace", ngrams: int | tuple[int, ...] | None = None, output_mode: str = "int",
        output_sequence_length: int | None = None, pad_to_max_tokens: bool = False, vocabulary: Any = None,
        idf_weights: Any = None, sparse: bool = False, ragged: bool = False, encoding: str = "utf-8", **kwargs: Any,
    ) -> None:  # fmt: skip
        if as_dtype(kwargs.pop("dtype", None) or "string") is not string:
            raise ValueError("`TextVectorization` may only have a dtype of string.")
        output_mode = "multi_hot" if output_mode == "binary" else output_mode
        given = locals()
        super().__init__(dtype="string", autocast=False, **kwargs)
        for name, known in (
            ("standardize", (None, "lower_and_strip_punctuation", "lower", "strip_punctuation")),
            ("split", tuple(_SPLITS)),
            ("output_mode", ("int", "multi_hot", "count")),
        ):
            if not callable(given[name]) and given[name] not in known:
                raise ValueError(
                    f"The `{name}` argument of TextVectorization received an invalid value {given[name]!r}. Allowed: "
                    f"{known}."
                )
        if output_mode != "int" and output_sequence_length is not None:
            raise ValueError(
                "`output_sequence_length` must not be set if `output_mode` is not 'int'. Received "
                f"output_sequence_length={output_sequence_length}."
            )
        self._take(given)
        rows = "int" if output_mode == "int" else "one_hot"
        self._lookup_layer = StringLookup(
            max_tokens, mask_token="", vocabulary=vocabulary, encoding=encoding, output_mode=rows
        )

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Let these be the words."""
        self._lookup_layer.set_vocabulary(vocabulary)

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[str]:
        """Return the words in the order of their numbers."""
        return self._lookup_layer.get_vocabulary(include_special_tokens)

    def vocabulary_size(self) -> int:
        """Return how many numbers there are."""
        return self._lookup_layer.vocabulary_size()

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Learn the words of texts, an array or a Dataset, the most frequent first."""
        found: list[Any] = []
        for batch in batches(data, steps):
            rows = self._words(convert_to_tensor(np.asarray(batch, object), string))
            found += getattr(rows, "flat_values", rows).numpy().reshape(-1).tolist()
        self._lookup_layer.adapt(np.array(found, object))

    def _words(self, texts: Any) -> Any:
        """The words of each text: ragged rows, or strings where nothing splits them."""
        if self.standardize in ("lower", "lower_and_strip_punctuation"):
            texts = lower(texts)
        if self.standardize in ("strip_punctuation", "lower_and_strip_punctuation"):
            texts = regex_replace(texts, _PUNCTUATION, "")
        if callable(self.standardize):
            texts = self.standardize(texts)
        if self.split is not None and (texts.shape.rank or 0) > 1:
            if texts.shape[-1] != 1:
                raise ValueError(
                    "When using `TextVectorization` to tokenize strings, the input rank must be 1 or the last shape "
                    f"dimension must be 1. Received: inputs.shape={texts.shape} with rank={texts.shape.rank}"
                )
            texts = squeeze(texts, axis=-1)
        texts = (self.split if callable(self.split) else _SPLITS[self.split])(texts)
        if self.ngrams is None:
            return texts
        width = tuple(range(1, self.ngrams + 1)) if isinstance(self.ngrams, int) else self.ngrams
        return ngrams(texts, ngram_width=width, separator=" ")

    def call(self, inputs: Any) -> Tensor | Any:
        """Return the numbers of the words, or rows."""
        words = self._words(inputs if isinstance(inputs, Tensor) else convert_to_tensor(inputs, string))
        is_ragged, numbers = hasattr(words, "flat_values"), self._lookup_layer.numbers
        found: Any = words.with_flat_values(numbers(words.flat_values)) if is_ragged else numbers(words)
        if self.output_mode == "int":
            n = self.output_sequence_length
            if self.ragged:
                return found
            if is_ragged:
                return found.to_tensor(0, shape=None if n is None else [None] * (words.shape.rank - 1) + [n])
            if n is None:
                return found
            missing = maximum(n - shape(found)[-1], 0)
            return pad(found, [[0, 0]] * (found.shape.rank - 1) + [[0, missing]])[..., :n]
        size = self.max_tokens if self.pad_to_max_tokens and self.max_tokens else self.vocabulary_size()
        return encoded(found.to_tensor(-1) if is_ragged else found, self.output_mode, size, backend.floatx())

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer, with the words that it has learnt."""
        return {**super().get_config(), "vocabulary": self._lookup_layer.get_vocabulary(False) or None}
