"""Layers of categories and text: CategoryEncoding, Discretization, Hashing, HashedCrossing, TextVectorization.

Rule: each says which number a value has; `encoded` makes rows of the numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from fastgraph.composites.ragged_strings import ngrams, split, unicode_split
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.sparse_ops import to_dense
from fastgraph.composites.sparse_sets import cross_hashed
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import as_dtype, string
from fastgraph.core.base.missing_methods import without
from fastgraph.core.conversion import TensorLike, convert_to_tensor
from fastgraph.core.tensor import EagerTensor, Tensor
from fastgraph.errors import NotBuiltError
from fastgraph.keras import backend
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.preprocessing import ROWS, StringLookup, batches, encoded, of_values
from fastgraph.ops.comparison import equal, logical_and
from fastgraph.ops.elementwise import maximum, zeros_like
from fastgraph.ops.gathering import where
from fastgraph.ops.movement import reshape, shape, squeeze
from fastgraph.ops.padding import pad
from fastgraph.ops.reduction import reduce_max, reduce_min
from fastgraph.ops.runtime_assertions import Assert
from fastgraph.ops.sorting import bucketize
from fastgraph.ops.string_hashes import to_hash_bucket_fast, to_hash_bucket_strong
from fastgraph.ops.string_patterns import regex_replace
from fastgraph.ops.strings import as_string, lower


class _Encoding(Layer):
    """The base: `output_mode` says whether numbers come out, in int64, or rows in floats."""

    def __init__(self, given: dict[str, Any], known: Sequence[str] = ("int", *ROWS[:3])) -> None:
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
        super().__init__(locals(), ROWS[:3])
        if num_tokens is None:
            raise ValueError(
                "num_tokens must be set to use this layer. If the number of tokens is not known beforehand, use the "
                "IntegerLookup layer instead."
            )
        if num_tokens < 1:
            raise ValueError(f"`num_tokens` must be >= 1. Received: num_tokens={num_tokens}.")

    def call(self, inputs: Any, count_weights: Any = None) -> Tensor | Any:
        """Return the rows."""
        if count_weights is not None and self.output_mode != "count":
            raise ValueError(
                "`count_weights` is not used when `output_mode` is not `'count'`. Received "
                f"`count_weights={count_weights}`."
            )
        numbers = of_values(self._checked, inputs)
        return encoded(numbers, self.output_mode, self.num_tokens, self._dtype, count_weights)

    def _checked(self, numbers: Tensor) -> Tensor:
        inside = logical_and(reduce_max(numbers) < self.num_tokens, reduce_min(numbers) >= 0)
        told = f"Input values must be in the range 0 <= values < num_tokens with num_tokens={self.num_tokens}"
        Assert(inside, [told])
        return numbers


class Discretization(_Encoding):
    """The number of the range between boundaries that each value is in. f[*s] -> i64[*s], or rows.

    bin_boundaries: rising; or num_bins, whose boundaries `adapt(data)` learns, each of as many values but for a share
    `epsilon`. output_mode: "int", "one_hot", "multi_hot" or "count". Source: tf.keras.layers.Discretization.
    """

    def __init__(
        self, bin_boundaries: Sequence[float] | None = None, num_bins: int | None = None, epsilon: float = 0.01,
        output_mode: str = "int", sparse: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(locals())
        if num_bins is not None and bin_boundaries is not None:
            raise ValueError(
                f"Both `num_bins` and `bin_boundaries` should not be set. You passed `num_bins={num_bins}` and "
                f"`bin_boundaries={bin_boundaries}`"
            )
        self.bin_boundaries = [] if bin_boundaries is None else np.asarray(bin_boundaries).tolist()
        self._is_given = bin_boundaries is not None

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Learn the boundaries of data, an array or a Dataset."""
        if self._is_given:
            raise ValueError(
                "Cannot adapt a Discretization layer that has been initialized with `bin_boundaries`, use `num_bins` "
                f"instead. You passed `bin_boundaries={self.bin_boundaries}`."
            )
        summary = np.zeros((2, 0), np.float32)
        for batch in batches(data, steps):
            rows = np.atleast_1d(np.asarray(batch, np.float32))
            size = max(1, len(rows)) if hasattr(data, "element_spec") else batch_size or 32
            for start in range(0, len(rows), size):  # Keras sums up 32 rows of an array at a time
                values = np.sort(rows[start : start + size].reshape(-1))
                step = int(np.float32(len(values)) * np.float32(self.epsilon))
                bounds = values[step :: max(step, 1)]
                new = np.stack([bounds, np.full_like(bounds, max(step, 1))])
                both = np.concatenate([new, summary], axis=1)
                summary = _compressed(both[:, np.argsort(both[0], kind="stable")], self.epsilon)
        self.bin_boundaries = _compressed(summary, 1.0 / self.num_bins)[0, :-1].tolist()

    def call(self, inputs: TensorLike) -> Tensor | Any:
        """Return the numbers of the ranges, or rows. Raises ValueError if there are no boundaries yet."""
        return encoded(of_values(self._numbers, inputs), self.output_mode, len(self.bin_boundaries) + 1, self._dtype)

    def _numbers(self, values: Tensor) -> Any:
        if not self.bin_boundaries and self.num_bins != 1 and isinstance(values, EagerTensor):  # a model may be built
            raise ValueError(f"{self.name} has no boundaries yet: call `adapt`, or give it `bin_boundaries`.")
        return bucketize(values, self.bin_boundaries)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer, with the boundaries that it has learnt."""
        return {**super().get_config(), "bin_boundaries": self.bin_boundaries or None}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Discretization:
        """Return the layer of a config; beside `num_bins` its boundaries are those that were learnt, as in Keras 3."""
        learnt = config.get("bin_boundaries") if config.get("num_bins") is not None else None
        made: Discretization = super().from_config({**config, "bin_boundaries": None} if learnt else config)
        made.bin_boundaries = learnt or made.bin_boundaries
        return made


def _compressed(summary: np.ndarray, epsilon: float) -> np.ndarray:
    """Values and how many each stands for, f[2, n], made about 1 / epsilon pairs if they are more."""
    if summary.shape[1] * epsilon < 1:
        return summary
    shares, total = epsilon + np.arange(0.0, 1.0, epsilon), summary[1].cumsum()
    values, total = (np.interp(shares, total / total[-1], one) for one in (summary[0], total))
    return np.stack([values, np.diff(total, prepend=0)]).astype(np.float32)


class Hashing(_Encoding):
    """A number below `num_bins` for each integer or string, by its hash. i or string[*s] -> i64[*s], or rows.

    mask_value: what alone is 0. salt: a number, or two, for other hashes. Source: tf.keras.layers.Hashing.
    """

    def __init__(
        self, num_bins: int, mask_value: str | int | None = None, salt: int | Sequence[int] | None = None,
        output_mode: str = "int", sparse: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if num_bins is None or num_bins <= 0:
            raise ValueError(
                f"The `num_bins` for `Hashing` cannot be `None` or non-positive values. Received: num_bins={num_bins}."
            )
        if salt is not None and not (isinstance(salt, int) or (isinstance(salt, (list, tuple)) and len(salt) == 2)):
            raise ValueError(
                "The `salt` argument for `Hashing` can only be a tuple of size 2 integers, or a single integer. "
                f"Received: salt={salt}."
            )
        super().__init__(locals())
        self.salt = [salt, salt] if isinstance(salt, int) else salt

    def call(self, inputs: TensorLike) -> Tensor | Any:
        """Return the numbers, or rows."""
        return encoded(of_values(self._numbers, inputs), self.output_mode, self.num_bins, self._dtype)

    def _numbers(self, values: Tensor) -> Any:
        n = self.num_bins - int(self.mask_value is not None and self.num_bins > 1)
        text = as_string(values) if values.dtype.is_integer else values
        found = to_hash_bucket_fast(text, n) if self.salt is None else to_hash_bucket_strong(text, n, list(self.salt))
        if n < self.num_bins:
            found = where(equal(values, self.mask_value), zeros_like(found), found + 1)
        return found


class HashedCrossing(_Encoding):
    """A number below `num_bins` for each combination of several categories, by its hash.

    [i or string[b], or [b, 1], ...] -> i64 of this shape, or rows ("one_hot"). Source: tf.keras.layers.HashedCrossing.
    """

    def __init__(self, num_bins: int, output_mode: str = "int", sparse: bool = False, **kwargs: Any) -> None:
        super().__init__(locals(), ("int", "one_hot"))

    def call(self, inputs: Sequence[TensorLike]) -> Tensor | Any:
        """Return the numbers, or rows."""
        if not isinstance(inputs, (list, tuple)) or len(inputs) < 2:
            raise ValueError(f"`HashedCrossing` should be called on at least two inputs. Received: inputs={inputs}")
        parts: list[Any] = [convert_to_tensor(one) for one in inputs]
        dims = parts[0].shape.as_list()
        known = all(part.dtype.is_integer or part.dtype is string for part in parts)
        if not known or dims[1:] not in ([], [1]) or any(part.shape.as_list() != dims for part in parts):
            raise ValueError(
                "All `HashedCrossing` inputs should have an integer or string dtype, and equal shape: `[]`, "
                f"`[batch_size]` or `[batch_size, 1]`. Received: inputs={inputs}"
            )
        crossed = to_dense(cross_hashed([reshape(part, [-1, 1]) for part in parts], self.num_bins))
        numbers = reshape(crossed, [-1 if n is None else n for n in dims])
        return encoded(numbers, self.output_mode, self.num_bins, self._dtype)


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
        idf_weights: TensorLike | None = None, sparse: bool = False, ragged: bool = False, encoding: str = "utf-8",
        **kwargs: Any,
    ) -> None:  # fmt: skip
        if as_dtype(kwargs.pop("dtype", None) or "string") is not string:
            raise ValueError("`TextVectorization` may only have a dtype of string.")
        output_mode = {"binary": "multi_hot", "tf-idf": "tf_idf"}.get(output_mode, output_mode)
        given = locals()
        super().__init__(dtype="string", autocast=False, **kwargs)
        for name, known in (
            ("standardize", (None, "lower_and_strip_punctuation", "lower", "strip_punctuation")),
            ("split", tuple(_SPLITS)),
            ("output_mode", ("int", "multi_hot", "count", "tf_idf")),
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
        self._lookup_layer = StringLookup(
            max_tokens, mask_token="", vocabulary=vocabulary, idf_weights=idf_weights, encoding=encoding,
            output_mode=output_mode, pad_to_max_tokens=pad_to_max_tokens,
        )  # fmt: skip

    def set_vocabulary(self, vocabulary: Any, idf_weights: Any = None) -> None:
        """Let these be the words, and with `output_mode` "tf_idf" their weights."""
        self._lookup_layer.set_vocabulary(vocabulary, idf_weights)

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[str]:
        """Return the words in the order of their numbers."""
        return self._lookup_layer.get_vocabulary(include_special_tokens)

    def vocabulary_size(self) -> int:
        """Return how many numbers there are."""
        return self._lookup_layer.vocabulary_size()

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Learn the words of texts, an array or a Dataset, the most frequent first."""
        texts = (convert_to_tensor(np.asarray(batch, object), string) for batch in batches(data, steps))
        rows = (self._words(one if one.shape.rank else reshape(one, [1])) for one in texts)
        lists = (one.to_list() if hasattr(one, "to_list") else one.numpy().tolist() for one in rows)
        self._lookup_layer.learn(nesting.flatten(text) for batch in lists for text in batch)

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
        found: Any = self._lookup_layer.numbers(words)
        if self.output_mode == "int":
            n = self.output_sequence_length
            if self.ragged:
                return found
            if isinstance(found, RaggedTensor):
                return found.to_tensor(0, shape=None if n is None else [None] * (words.shape.rank - 1) + [n])
            if n is None:
                return found
            missing = maximum(n - shape(found)[-1], 0)
            return pad(found, [[0, 0]] * (found.shape.rank - 1) + [[0, missing]])[..., :n]
        return self._lookup_layer.rows(found)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer, with the words that it has learnt."""
        learnt = self._lookup_layer.get_config()
        return {**super().get_config(), **{name: learnt[name] for name in ("vocabulary", "idf_weights")}}
