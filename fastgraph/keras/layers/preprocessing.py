"""Preprocessing layers: Normalization, Rescaling, StringLookup, IntegerLookup, with the meaning they have in Keras 2.

Rule: what a layer learns from data (`adapt`) is state, which `call` uses and training leaves alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from fastgraph.composites.lookup_primitives import new_table
from fastgraph.composites.lookup_tables import MutableHashTable
from fastgraph.composites.ragged_tensor import RaggedTensor
from fastgraph.composites.sparse_ops import to_dense
from fastgraph.composites.sparse_tensor import SparseTensor
from fastgraph.core.base import nesting
from fastgraph.core.base.dtype import DTypeLike, as_dtype, int64, string
from fastgraph.core.base.missing_methods import without
from fastgraph.core.conversion import TensorLike, constant, convert_to_tensor
from fastgraph.core.registry import get
from fastgraph.core.tensor import Tensor
from fastgraph.errors import NotBuiltError
from fastgraph.keras import backend
from fastgraph.keras.layers.base import Layer
from fastgraph.ops.comparison import logical_not
from fastgraph.ops.division import floormod
from fastgraph.ops.elementwise import cast, maximum
from fastgraph.ops.exponentials import sqrt
from fastgraph.ops.families import bind_named
from fastgraph.ops.gathering import boolean_mask, gather, where
from fastgraph.ops.movement import expand_dims, reshape
from fastgraph.ops.one_hot import one_hot
from fastgraph.ops.reduction import reduce_all, reduce_max, reduce_sum
from fastgraph.ops.runtime_assertions import Assert
from fastgraph.ops.string_hashes import to_hash_bucket_fast

ROWS = ("one_hot", "multi_hot", "count", "tf_idf")


def encoded(
    numbers: Any,
    mode: str,
    depth: int,
    dtype: DTypeLike | None,
    weights: TensorLike | None = None,
    idf: TensorLike | None = None,
) -> Any:
    """Return numbers, or with `mode` one of ROWS the rows of length `depth` that they make. i[*s] -> [*t, depth].

    Ragged and sparse numbers stay what they are, or make dense rows. Numbers outside [0, depth) make no entry.
    weights: of numbers that are counted. idf: of "tf_idf", f[depth]. Raises ValueError for rows of more than two axes.
    """
    if mode == "int":
        return of_values(lambda values: cast(values, dtype), numbers)
    given = numbers.shape
    if given.rank == 2 and mode != "one_hot":
        numbers = _dense(numbers)
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
    rows = reduce_sum(rows, axis=-2) if mode in ("count", "tf_idf") else reduce_max(rows, axis=-2)
    return rows * idf if mode == "tf_idf" else rows


def of_values(function: Callable[[Tensor], Any], inputs: TensorLike) -> Any:
    """Return function(inputs), element by element: of a RaggedTensor's values, or of a SparseTensor's."""
    if isinstance(inputs, RaggedTensor):
        return inputs.with_flat_values(function(inputs.flat_values))
    if isinstance(inputs, SparseTensor):
        return SparseTensor(inputs.indices, function(inputs.values), inputs.dense_shape)
    return function(convert_to_tensor(inputs))


def _dense(numbers: Any) -> Any:
    """The numbers, with -1 where ragged or sparse ones have none."""
    if isinstance(numbers, SparseTensor):
        return to_dense(numbers, -1)
    return numbers.to_tensor(-1) if isinstance(numbers, RaggedTensor) else numbers


def dtype_of_mode(dtype: DTypeLike | None, mode: str) -> DTypeLike:
    """Return the dtype of a layer that gives numbers, or rows: what was asked for, if it can have that."""
    if dtype is None or as_dtype(dtype) is string or (mode == "int" and not as_dtype(dtype).is_integer):
        return "int64" if mode == "int" else backend.floatx()
    return dtype


class Rescaling(Layer):
    """inputs * scale + offset. f[*s] -> f[*s]. Source: tf.keras.layers.Rescaling."""

    def __init__(self, scale: TensorLike, offset: TensorLike = 0.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._take(locals())

    def call(self, inputs: TensorLike) -> Tensor:
        """Return the scaled inputs."""
        inputs = cast(inputs, self._dtype)
        return inputs * cast(self.scale, self._dtype) + cast(self.offset, self._dtype)


@without(
    {
        "adapt, which takes a whole Dataset": "compile finalize_state make_adapt_function reset_state update_state",
        "`built`": "is_adapted",
    }
)
class Normalization(Layer):
    """(inputs - mean) / sqrt(variance), each place of the axes kept with its own. f[*s] -> f[*s].

    mean, variance: numbers, or learnt by `adapt(data)`. axis: the axes that are kept (-1; None: none). invert: the way
    back. Source: tf.keras.layers.Normalization.

    Examples:
        >>> layer = tf.keras.layers.Normalization(axis=None)
        >>> layer.adapt(np.array([1.0, 2.0, 3.0]))
        >>> layer(np.array([2.0])).numpy()
        array([0.], dtype=float32)
    """

    def __init__(
        self, axis: int | Sequence[int] = -1, mean: TensorLike | None = None, variance: TensorLike | None = None,
        invert: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(**kwargs)
        if (mean is None) != (variance is None):
            raise ValueError(
                "When setting values directly, both `mean` and `variance` must be set. Got mean: "
                f"{mean} and variance: {variance}"
            )
        self.axis = () if axis is None else (axis,) if isinstance(axis, int) else tuple(axis)
        self.input_mean, self.input_variance, self.invert = mean, variance, invert
        self.adapt_mean: Any = None
        self.adapt_variance: Any = None
        self._dims: list[int] = []

    def build(self, input_shape: Any) -> None:
        """Make the mean, the variance and the count, unless they are given."""
        dims = input_shape.as_list()
        if len(dims) < 2 and self.axis and dims:
            dims = [1, *dims]
        kept = [axis % len(dims) if dims else axis for axis in self.axis]
        for axis in kept:
            if dims[axis] is None:
                raise ValueError(
                    f"All `axis` values to be kept must have known shape. Got axis: {self.axis}, input shape: "
                    f"{input_shape}, with unknown axis at index: {axis}"
                )
        self._rank = len(dims)
        self._kept = kept
        self._dims = [n if axis in kept else 1 for axis, n in enumerate(dims)]
        own = [dims[axis] for axis in kept]
        if self.input_mean is None:
            self.adapt_mean = self.add_weight("mean", own, initializer="zeros", trainable=False)
            self.adapt_variance = self.add_weight("variance", own, initializer="ones", trainable=False)
            self.count = self.add_weight("count", (), dtype=int64, initializer="zeros", trainable=False)
        self.built = True

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Learn the mean and the variance of data: an array, or a Dataset of batches."""
        if self.input_mean is not None:
            raise ValueError(
                "Cannot `adapt` a Normalization layer that is initialized with static `mean` and `variance`."
            )
        total: Any = None
        squares: Any = None
        count = 0
        for batch in batches(data, steps):
            values = np.asarray(batch, np.float64)
            values = values.reshape(-1, 1) if values.ndim == 1 and self.axis else values
            if not self.built:
                self._build_for(convert_to_tensor(np.zeros(values.shape, self._dtype.name)), self._name)
            axes = tuple(axis for axis in range(values.ndim) if axis not in self._kept)
            n = int(np.prod([values.shape[axis] for axis in axes]))
            mean, variance = values.mean(axis=axes), values.var(axis=axes)
            if total is None:
                total, squares, count = mean, variance, n
            else:  # Source: Chan, Golub and LeVeque 1983
                apart = mean - total
                whole = count + n
                squares = (squares * count + variance * n) / whole + apart**2 * (count / whole) * (n / whole)
                total, count = total + apart * n / whole, whole
        if total is None:
            raise ValueError("Normalization.adapt was given no data.")
        self.adapt_mean.assign(np.asarray(total, self._dtype.name))
        self.adapt_variance.assign(np.asarray(squares, self._dtype.name))
        self.count.assign(count)

    def call(self, inputs: TensorLike) -> Tensor:
        """Return the normalised inputs."""
        inputs = cast(convert_to_tensor(inputs), self._dtype)
        deviation = maximum(sqrt(self.variance), cast(1e-7, self._dtype))
        return self.mean + inputs * deviation if self.invert else (inputs - self.mean) / deviation

    @property
    def mean(self) -> Tensor:
        """The mean, as it broadcasts to the inputs."""
        return self._beside(self.input_mean, self.adapt_mean)

    @property
    def variance(self) -> Tensor:
        """The variance, as it broadcasts to the inputs."""
        return self._beside(self.input_variance, self.adapt_variance)

    def _beside(self, given: Any, learnt: Any) -> Any:
        value = cast(given, self._dtype) if given is not None else learnt
        whole = value.shape.num_elements() == int(np.prod(self._dims))
        return reshape(value, self._dims) if whole else value

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        axis = None if not self.axis else self.axis
        own = {"axis": axis, "invert": self.invert, "mean": self.input_mean, "variance": self.input_variance}
        return {**super().get_config(), **own}


@without(
    {
        "adapt, which takes a whole Dataset": "compile finalize_state make_adapt_function reset_state update_state",
        "`built`": "is_adapted",
        "vocabulary_size()": "vocab_size",
        "set_vocabulary": "load_assets",
        "get_vocabulary()": "save_assets",
    }
)
class StringLookup(Layer):
    """The number of each string in a vocabulary. string[*s] -> i64[*s], with `invert` the way back.

    vocabulary: a list, or a file with a string a line; without one `adapt(data)` learns it, the most frequent first.
    num_oov_indices: how many numbers, after the mask's, are for strings that are not in it (1; 0 raises for them).
    mask_token: the string that is 0. output_mode: "int", "one_hot", "multi_hot", "count" or "tf_idf" (the counts times
    `idf_weights`, given with the vocabulary or learnt from documents, the rows of data), of the last axis, float32.
    Source: tf.keras.layers.StringLookup.

    Examples:
        >>> tf.keras.layers.StringLookup(vocabulary=["a", "b"])(["b", "a", "z"]).numpy()
        array([2, 1, 0])
    """

    KEYS: Any = string

    def __init__(
        self, max_tokens: int | None = None, num_oov_indices: int = 1, mask_token: str | int | None = None,
        oov_token: str | int = "[UNK]", vocabulary: TensorLike | None = None, idf_weights: TensorLike | None = None,
        encoding: str | None = None, invert: bool = False, output_mode: str = "int", sparse: bool = False,
        pad_to_max_tokens: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        output_mode = {"binary": "multi_hot", "tf-idf": "tf_idf"}.get(output_mode, output_mode)
        super().__init__(dtype=dtype_of_mode(kwargs.pop("dtype", None), output_mode), autocast=False, **kwargs)
        if output_mode not in ("int", *ROWS):
            raise ValueError(f"`output_mode` must be one of {('int', *ROWS)}. Received: {output_mode}")
        if sparse:
            raise NotBuiltError("sparse=True is not built: tf.sparse.from_dense makes a SparseTensor of the rows.")
        if invert and output_mode != "int":
            raise ValueError(f'`output_mode` must be "int" when `invert` is true. You passed {output_mode}')
        encoding = encoding or "utf-8"
        self._take({name: value for name, value in locals().items() if name not in ("vocabulary", "idf_weights")})
        self._words: list[Any] = []
        self._idf: Any = None
        self._table = new_table(self.KEYS, int64, is_fixed=True)
        self._table.is_waiting = True
        if vocabulary is not None:
            self.set_vocabulary(vocabulary, idf_weights)
        else:  # what `adapt` counts is empty between its calls; TensorFlow's checkpoints have it
            self.token_counts = MutableHashTable(self.KEYS, int64, 0)

    @property
    def _special(self) -> list[Any]:
        """The entries before the words: the mask, then the unknown."""
        masked = self.mask_token is not None and self.output_mode == "int"
        return ([self.mask_token] if masked else []) + [self.oov_token] * self.num_oov_indices

    def set_vocabulary(self, vocabulary: TensorLike, idf_weights: Any = None) -> None:
        """Let these be the words: a list or array of strings, or the path of a file with one a line.

        idf_weights: of each word, for "tf_idf"; unknown words have the mean. Raises ValueError for a word twice, more
        than `max_tokens`, or weights that are missing.
        """
        if self.output_mode == "tf_idf" and idf_weights is None:
            raise ValueError("`idf_weights` must be set if output_mode is TF_IDF")
        if self.output_mode != "tf_idf" and idf_weights is not None:
            raise ValueError(
                "`idf_weights` should only be set if output_mode is `'tf_idf'`. Received: output_mode="
                f"{self.output_mode} and idf_weights={idf_weights}"
            )
        if isinstance(vocabulary, str):
            with open(vocabulary, encoding=self.encoding) as file:
                vocabulary = file.read().splitlines()
        words = [self._text(word) for word in np.asarray(vocabulary, object).reshape(-1)]
        special = self._special
        if idf_weights is not None and len(idf_weights) != len(words):
            raise ValueError(
                "`idf_weights` must be the same length as vocabulary. len(idf_weights) is "
                f"{len(idf_weights)}, len(vocabulary) is {len(words)}"
            )
        new = [] if words[: len(special)] == special else special
        if words[: len(special)] == special:
            words = words[len(special) :]
        repeated = sorted(word for word, n in Counter(words).items() if n > 1)
        if repeated:
            raise ValueError(f"The passed vocabulary has at least one repeated term. Please uniquify your dataset. The "
                             f"repeated terms are: {repeated}")  # fmt: skip
        taken = sorted({self.oov_token, self.mask_token} & set(words) - {None}, key=str)
        if taken:
            raise ValueError(
                f"The passed vocabulary has {taken} at another place than its beginning: they are special."
            )
        if self.max_tokens is not None and len(words) + len(special) > self.max_tokens:
            raise ValueError(
                "Attempted to set a vocabulary larger than the maximum vocab size. Passed vocab size is "
                f"{len(words) + len(special)}, max vocab size is {self.max_tokens}."
            )
        self._words = words
        if idf_weights is not None:
            idf = np.asarray(idf_weights, self._dtype.as_numpy_dtype)
            idf = np.concatenate([np.full(len(new), idf.mean(), idf.dtype), idf])
            self._idf = np.pad(idf, (0, self._width() - len(idf)))
        places = {self._order(word): i for i, word in enumerate(words, len(special))}
        if self.mask_token is not None and self.output_mode == "int":
            places[self._order(self.mask_token)] = 0
        self._table.fill(places.items())

    def adapt(self, data: Any, batch_size: int | None = None, steps: int | None = None) -> None:
        """Learn the words of data, an array or a Dataset, the most frequent first."""
        rows = (np.asarray(batch, object) for batch in batches(data, steps))
        self.learn(row.reshape(-1) for batch in rows for row in (batch if batch.ndim > 1 else [batch]))

    def learn(self, documents: Iterable[Any]) -> None:
        """Learn the words of documents, which are lists of words each."""
        counts: Counter[Any] = Counter()
        within: Counter[Any] = Counter()  # how many documents have the word
        n = 0
        for n, document in enumerate(documents, 1):  # noqa: B007
            found = Counter(map(self._text, document))
            counts.update(found)
            within.update(found.keys())
        for special in (self.mask_token, self.oov_token):
            counts.pop(special, None)
        words = sorted(counts, key=lambda word: (counts[word], self._order(word)), reverse=True)
        most = None if self.max_tokens is None else self.max_tokens - len(self._special)
        weights = [np.log(1.0 + n / (1.0 + within[word])) for word in words[:most]]
        self.set_vocabulary(words[:most], weights if self.output_mode == "tf_idf" else None)

    def _order(self, word: Any) -> Any:
        """A word as the table has it; of words that are as frequent the greater comes first."""
        return word.encode(self.encoding)

    def get_vocabulary(self, include_special_tokens: bool = True) -> list[Any]:
        """Return the words in the order of their numbers."""
        return (
            ["" if word is None else word for word in self._special] if include_special_tokens else []
        ) + self._words

    def vocabulary_size(self) -> int:
        """Return how many numbers there are, those of the special words among them."""
        return len(self._special) + len(self._words)

    def call(self, inputs: TensorLike) -> Tensor | Any:
        """Return the numbers, or with `invert` the strings."""
        if self._table.is_waiting and (self.invert or self.output_mode != "int"):
            kind = type(self).__name__
            raise RuntimeError(f"The {kind} layer has no vocabulary yet: call `adapt`, or give it `vocabulary`.")
        if self.invert:
            return of_values(lambda numbers: self._strings(cast(numbers, int64)), inputs)
        found = self.numbers(inputs)
        if self.output_mode == "int":
            return found
        return self.rows(found)

    def rows(self, numbers: Tensor) -> Tensor | Any:
        """Return what `output_mode` makes of numbers. i64[*s] -> f[*t, width]."""
        return encoded(numbers, self.output_mode, self._width(), self._dtype, idf=self._idf)

    def _named_values(self) -> dict[str, Any]:
        return {} if self._idf is None else {"idf_weights": self._idf}

    def _width(self) -> int:
        return self.max_tokens if self.pad_to_max_tokens and self.max_tokens else self.vocabulary_size()

    def numbers(self, inputs: TensorLike) -> Tensor | Any:
        """Return the numbers of strings. string[*s] -> i64[*s]."""
        if isinstance(inputs, (RaggedTensor, SparseTensor)):
            return of_values(self.numbers, inputs)
        words: Any = inputs if isinstance(inputs, Tensor) else convert_to_tensor(inputs, self.KEYS)
        words = words if self.KEYS is string else cast(words, self.KEYS)
        first = len(self._special) - self.num_oov_indices
        unknown = constant(first if self.num_oov_indices == 1 else -1, int64)
        found = bind_named(None, get("table_find"), (words, unknown), {"table": self._table})
        if self.num_oov_indices > 1:
            return where(found < 0, first + self._spread(words), found)
        if not self.num_oov_indices:
            text = "When `num_oov_indices=0` all inputs should be in the vocabulary; these are not:"
            known = found >= 0
            Assert(reduce_all(known), [text, boolean_mask(words, logical_not(known))])
        return found

    def _spread(self, words: Tensor) -> Any:
        """Return which of the numbers of unknown words each has. -> i64[*s]."""
        return to_hash_bucket_fast(words, self.num_oov_indices)

    def _strings(self, numbers: Tensor) -> Any:
        return self._of_table(numbers, constant(self.get_vocabulary(), self.KEYS))

    def _of_table(self, numbers: Tensor, table: Tensor) -> Any:
        """The table's entries, that of unknown words for a number that is none."""
        n = self.vocabulary_size()
        unknown = self._special.index(self.oov_token) if self.num_oov_indices else 0
        inside = cast(numbers >= 0, int64) * cast(numbers < n, int64)
        return gather(table, numbers * inside + unknown * (1 - inside))

    def _text(self, word: object) -> Any:
        return word.decode(self.encoding) if isinstance(word, bytes) else str(word)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        config, words = super().get_config(), list(self._words) or None
        if self._idf is None:
            return {**config, "vocabulary": words, "idf_weights": None}
        weights = self._idf[: self.vocabulary_size()].tolist()  # of what is special too: they may have been given
        return {**config, "vocabulary": [*self._special, *self._words], "idf_weights": weights}


class IntegerLookup(StringLookup):
    """The number of each integer in a vocabulary, as StringLookup's of strings. i[*s] -> i64[*s]. Source: tf.keras."""

    KEYS = int64

    def __init__(
        self, max_tokens: int | None = None, num_oov_indices: int = 1, mask_token: int | None = None,
        oov_token: int = -1, vocabulary: TensorLike | None = None, vocabulary_dtype: str = "int64",
        idf_weights: TensorLike | None = None, invert: bool = False, output_mode: str = "int", **kwargs: Any,
    ) -> None:  # fmt: skip
        if not as_dtype(vocabulary_dtype).is_integer:
            raise ValueError(f"`vocabulary_dtype` must be an integer dtype. Received: {vocabulary_dtype}")
        kwargs.pop("encoding", None)
        own = max_tokens, num_oov_indices, mask_token, oov_token, vocabulary, idf_weights, None, invert, output_mode
        super().__init__(*own, **kwargs)
        self._take({"vocabulary_dtype": vocabulary_dtype}, more=True)

    def _spread(self, words: Tensor) -> Any:
        return floormod(words, constant(self.num_oov_indices, int64))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {name: value for name, value in super().get_config().items() if name != "encoding"}

    def _order(self, word: Any) -> Any:
        return int(word)

    _text = _order


def batches(data: Any, steps: int | None) -> Iterator[Any]:
    """Yield the arrays in what `adapt` is given: an array, a tensor, a list, or a Dataset of batches."""
    if not hasattr(data, "element_spec"):
        yield data.numpy() if isinstance(data, Tensor) else np.asarray(data, object if _of_text(data) else None)
        return
    for count, item in enumerate(data):
        if count == steps:
            return
        yield item.numpy()


def _of_text(data: Any) -> bool:
    if isinstance(data, np.ndarray):
        return data.dtype.kind in "OSU"
    return any(isinstance(leaf, (str, bytes)) for leaf in nesting.flatten(data)[:1])
