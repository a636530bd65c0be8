"""Attention: Attention, AdditiveAttention, MultiHeadAttention, EinsumDense. Meaning and messages of Keras 2.

Rule: scores say how much each place of the query takes of each place of the value; masked places get none.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from types import MappingProxyType
from typing import Any

from fastgraph.core.base.shapes import ShapeLike, TensorShape
from fastgraph.core.conversion import convert_to_tensor
from fastgraph.core.tensor import Tensor
from fastgraph.keras import regularizers
from fastgraph.keras.activations import ActivationLike
from fastgraph.keras.identifiers import Identifier
from fastgraph.keras.layers.base import Layer
from fastgraph.keras.layers.calls import Training
from fastgraph.keras.layers.core import Softmax
from fastgraph.keras.layers.regularization import in_training
from fastgraph.ops.comparison import logical_and, logical_not
from fastgraph.ops.creation import range_
from fastgraph.ops.einsum import einsum
from fastgraph.ops.elementwise import cast
from fastgraph.ops.exponentials import tanh
from fastgraph.ops.matmul import matmul
from fastgraph.ops.movement import expand_dims, shape
from fastgraph.ops.random_ops import dropout
from fastgraph.ops.reduction import reduce_sum
from fastgraph.ops.softmax import softmax


def _both(one: Any, other: Any) -> Any:
    """Two masks, either of which may be None, as one."""
    return other if one is None else one if other is None else logical_and(one, other)


def _causal(n: Any, m: Any) -> Any:
    """b[1, n, m]: which places are not later."""
    return expand_dims(expand_dims(range_(n), 1) >= expand_dims(range_(m), 0), 0)


class _Attention(Layer):
    """The base of layers on [query, value] or [query, value, key]: scores by `_scores(query, key)`."""

    def __init__(self, dropout: float = 0.0, **kwargs: Any) -> None:
        self.causal = kwargs.pop("causal", False)
        super().__init__(**kwargs)
        self.supports_masking = True

    def _scores(self, query: Any, key: Any) -> Any:
        pairs = tanh(expand_dims(query, -2) + expand_dims(key, -3))
        return reduce_sum(pairs if self.scale is None else self.scale * pairs, axis=-1)

    def call(
        self, inputs: Any, mask: Any = None, training: Training = None, return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:  # fmt: skip
        """Return what the query takes of the value: f[b, q, n], and with `return_attention_scores` f[b, q, v] too.

        inputs: [query f[b, q, n], value f[b, v, n]] and perhaps a key like the value. mask: [b[b, q], b[b, v]].
        use_causal_mask: nothing is taken of later places. Raises ValueError for other inputs or masks.
        """
        if not (isinstance(inputs, list) and 2 <= len(inputs) <= 3 and isinstance(mask or [], list)):
            told = "inputs must be a list, namely [query, value] or [query, value, key], and masks a list as well"
            raise ValueError(f"{type(self).__name__} layer {told}. Received: {inputs}, {mask}.")
        query, value, key = inputs[0], inputs[1], inputs[-1]
        of_query, of_value = mask[:2] if mask else (None, None)
        scores = self._scores(query, key)
        allowed = None if of_value is None else expand_dims(cast(of_value, "bool"), -2)
        if self.causal or use_causal_mask:
            allowed = _both(allowed, _causal(shape(query)[-2], shape(value)[-2]))
        if allowed is not None:
            least = 65504.0 if scores.dtype.name == "float16" else 1e9
            scores = scores - least * cast(logical_not(allowed), scores.dtype)
        weights = softmax(scores)
        if self.dropout > 0:
            weights = in_training(training, lambda: dropout(weights, rate=self.dropout), weights)
        result = matmul(weights, value)
        if of_query is not None:
            result = result * cast(expand_dims(of_query, -1), result.dtype)
        return (result, weights) if return_attention_scores else result

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the query's mask."""
        return mask[0] if mask else None


class Attention(_Attention):
    """Attention by products of query and key, as Luong's. [f[b, q, n], f[b, v, n]] -> f[b, q, n].

    use_scale: a learnt number times the scores. score_mode: "dot", or "concat": learnt * sum tanh(query + key).
    Source: tf.keras.layers.Attention; Luong et al. 2015.
    """

    def __init__(self, use_scale: bool = False, score_mode: str = "dot", dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(dropout, **kwargs)
        if score_mode not in ("dot", "concat"):
            raise ValueError(f'Received: score_mode={score_mode}. Acceptable values are: ["dot", "concat"]')
        self._take(locals())

    def build(self, input_shape: Any) -> None:
        """Make the numbers that are learnt."""
        made = {"scale": self.use_scale, "concat_score_weight": self.score_mode == "concat"}
        for name, wanted in made.items():
            setattr(self, name, self.add_weight(name, (), initializer="ones") if wanted else None)
        self.built = True

    def _scores(self, query: Any, key: Any) -> Any:
        if self.concat_score_weight is None:
            scores = matmul(query, key, transpose_b=True)
            return scores if self.scale is None else scores * self.scale
        pairs = expand_dims(query, -2) + expand_dims(key, -3)
        pairs = pairs if self.scale is None else self.scale * pairs
        return self.concat_score_weight * reduce_sum(tanh(pairs), axis=-1)


class AdditiveAttention(_Attention):
    """Attention by scores sum(scale * tanh(query + key)), as Bahdanau's. [f[b, q, n], f[b, v, n]] -> f[b, q, n].

    Source: tf.keras.layers.AdditiveAttention; Bahdanau et al. 2015.
    """

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, **kwargs: Any) -> None:
        super().__init__(dropout, **kwargs)
        self._take(locals())

    def build(self, input_shape: Any) -> None:
        """Make the scale."""
        self.scale = self.add_weight("scale", TensorShape(input_shape[1])[-1:]) if self.use_scale else None
        self.built = True


_ENDS = r"(\.\.\.)?"
_EQUATION = rf"{_ENDS}([a-zA-Z]+){_ENDS},([a-zA-Z]+)->{_ENDS}([a-zA-Z]+){_ENDS}"


class EinsumDense(Layer):
    """activation(einsum(equation, x, kernel) + bias). Source: tf.keras.layers.EinsumDense.

    equation: "ab,bc->ac", or with "..." at either end of the inputs and of the result. output_shape: without the
    batch's axis, None where the inputs say it. bias_axes: the result's axes that the bias has; None: there is none.
    """

    def __init__(
        self, equation: str, output_shape: Any, activation: ActivationLike = None, bias_axes: str | None = None,
        kernel_initializer: Identifier = "glorot_uniform", bias_initializer: Identifier = "zeros",
        kernel_regularizer: Identifier = None, bias_regularizer: Identifier = None,
        activity_regularizer: Identifier = None, kernel_constraint: Identifier = None,
        bias_constraint: Identifier = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        given = {name: value for name, value in locals().items() if name != "output_shape"}
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        self.partial_output_shape = [output_shape] if isinstance(output_shape, int) else list(output_shape)
        self._take(given)

    def build(self, input_shape: ShapeLike) -> None:
        """Make the kernel and the bias. Raises ValueError for an equation that does not fit the shapes."""
        dims = TensorShape(input_shape).as_list()
        found = re.fullmatch(_EQUATION, self.equation)
        if found is None or (found[1] and found[3]) or (found[1], found[3]) != (found[5], found[7]):
            raise ValueError(
                f"Invalid einsum equation '{self.equation}'. Equations must be in the form [X],[Y]->[Z], "
                "...[X],[Y]->...[Z], or [X]...,[Y]->[Z]...."
            )
        x, kernel, result = found[2], found[4], found[6]
        elided = len(dims) - len(x)
        lengths = dict(zip(x, dims[elided:] if found[1] else dims, strict=False))
        wanted = self.partial_output_shape
        out = dict(zip(result, wanted if found[1] else [dims[0], *wanted], strict=False))
        given = ((result, x + kernel), (kernel, x + result), (self.bias_axes or "", result))
        wrong = {axis for axes, known in given for axis in set(axes) - set(known)}
        wrong |= {axis for axis, n in out.items() if axis in lengths and n not in (None, lengths[axis])}
        if wrong:
            raise ValueError(f"{self.equation}: {sorted(wrong)} do not match the shapes, or the other terms.")
        self.kernel = self._weight("kernel", [lengths.get(axis, out.get(axis)) for axis in kernel])
        self.bias = None
        if self.bias_axes is not None:
            first = min(result.find(axis) for axis in self.bias_axes)
            own = [out[axis] or lengths.get(axis) if axis in self.bias_axes else 1 for axis in result[first:]]
            self.bias = self._weight("bias", own + [1] * (elided if found[3] else 0))
        self.built = True

    def call(self, inputs: Tensor) -> Tensor:
        """Return the layer's output."""
        outputs = einsum(self.equation, inputs, self.kernel)
        return self.activation(outputs if self.bias is None else outputs + self.bias)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer."""
        return {**super().get_config(), "output_shape": self.partial_output_shape}


class MultiHeadAttention(Layer):
    """Attention of several heads, each in a projection of its own. f[b, *q, n], f[b, *v, m] -> f[b, *q, n].

    A call takes (query, value, key=value). output_shape: instead of n. attention_axes: over which axes (all between the
    first and the last). Masks, attention_mask b[b, q, v] and use_causal_mask say which places are seen.
    Source: tf.keras.layers.MultiHeadAttention; Vaswani et al. 2017.
    """

    _KERAS_3_NAMES = MappingProxyType({f"_{one}_dense": f"{one}_dense" for one in ("query", "key", "value", "output")})

    def __init__(
        self, num_heads: int, key_dim: int, value_dim: int | None = None, dropout: float = 0.0, use_bias: bool = True,
        output_shape: Any = None, attention_axes: int | Sequence[int] | None = None,
        kernel_initializer: Identifier = "glorot_uniform", bias_initializer: Identifier = "zeros",
        kernel_regularizer: Identifier = None, bias_regularizer: Identifier = None,
        activity_regularizer: Identifier = None, kernel_constraint: Identifier = None,
        bias_constraint: Identifier = None, softmax_robust_masking: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        given = locals()
        super().__init__(**kwargs)
        self.supports_masking = True
        self._of_result, self._activity = output_shape, regularizers.get(activity_regularizer)
        given["value_dim"] = value_dim or key_dim
        given["attention_axes"] = (attention_axes,) if isinstance(attention_axes, int) else attention_axes
        self._take({name: value for name, value in given.items() if name not in _APART})
        self._signature: dict[str, Any] = {"query_shape": None, "key_shape": None, "value_shape": None}

    attention_axes: Any

    def build(self, input_shape: Any) -> None:
        """The projections are made by the first call, which knows the shapes of value and key as well."""

    def _make(self, query: TensorShape, value: TensorShape, key: TensorShape) -> None:
        self._signature = {"query_shape": query, "key_shape": key, "value_shape": value}
        self._query_dense = self._projection("query", query, 1, [self.num_heads, self.key_dim])
        self._key_dense = self._projection("key", key, 1, [self.num_heads, self.key_dim])
        self._value_dense = self._projection("value", value, 1, [self.num_heads, self.value_dim])
        wanted = self._of_result or [query[-1]]
        wanted = [wanted] if isinstance(wanted, int) else list(wanted)
        self._output_dense = self._projection("attention_output", query, 2, wanted)
        n = (value.rank or 0) + 1  # axes after the projection: the value's, and the heads' before the last
        self.attention_axes = axes = tuple(self.attention_axes or range(1, n - 2))
        target = _LETTERS[:n]
        source = "".join(_LETTERS[n + i] if i in axes else target[i] for i in range(n))
        beside = "".join(target[i] for i in range(n - 1) if i not in axes)
        product = beside + "".join(target[i] for i in axes) + "".join(source[i] for i in axes)
        self._equations = f"{source},{target}->{product}", f"{product},{source}->{target}"
        self._softmax = Softmax(axis=tuple(range(len(product) - len(axes), len(product))), dtype=self._dtype)

    def _projection(self, name: str, dims: TensorShape, n_bound: int, wanted: list[Any]) -> EinsumDense:
        """x[*free, *bound] times a kernel [*bound, *wanted]; initializers are its own: one with a seed draws again."""
        free = (dims.rank or 0) - 1
        x, out = _LETTERS[: free + n_bound], _LETTERS[free + n_bound : free + n_bound + len(wanted)]
        given = {key: getattr(self, key) for key in self._taken if key.startswith(("kernel_", "bias_"))}
        own = {k: type(v).from_config(v.get_config()) for k, v in given.items() if k.endswith("_initializer")}
        return EinsumDense(
            f"{x},{x[free:]}{out}->{x[:free]}{out}", [None] * (free - 1) + wanted, name=name, dtype=self._dtype,
            bias_axes=out if self.use_bias else None, activity_regularizer=self._activity, **{**given, **own},
        )  # fmt: skip

    def call(
        self, query: Any, value: Any, key: Any = None, attention_mask: Any = None,
        return_attention_scores: bool = False, training: Training = None, use_causal_mask: bool = False,
    ) -> Any:  # fmt: skip
        """Return what the query takes of the value, and with `return_attention_scores` f[b, heads, q, v] too."""
        value = self._as_input(value)
        key = value if key is None else self._as_input(key)
        if self._signature["query_shape"] is None:
            self._make(query.shape, value.shape, key.shape)
        seen = None
        for x, axis in ((query, 2), (value, 1), (key, 1)):
            mask = getattr(x, "_keras_mask", None)
            if mask is not None:
                seen = _both(seen, expand_dims(cast(mask, "bool"), axis))
        if use_causal_mask:
            seen = _both(seen, _causal(shape(query)[1], shape(value)[1]))
        if attention_mask is not None and seen is not None:
            attention_mask = cast(attention_mask, "bool")
        seen = _both(attention_mask, seen)
        query, key, value = self._query_dense(query), self._key_dense(key), self._value_dense(value)
        scores = einsum(self._equations[0], key, query * (1.0 / math.sqrt(float(self.key_dim))))
        if seen is not None:
            seen = convert_to_tensor(seen)
            for _ in range(scores.shape.rank - seen.shape.rank):
                seen = expand_dims(seen, -2 * len(self.attention_axes) - 1)
        kept = weights = self._softmax(scores, mask=seen)
        if self.dropout:
            kept = in_training(training, lambda: dropout(weights, rate=self.dropout), weights)
        outputs = self._output_dense(einsum(self._equations[1], kept, value))
        return (outputs, weights) if return_attention_scores else outputs

    def get_config(self) -> dict[str, Any]:
        """Return the arguments that make such a layer, and the shapes that it was called with."""
        own = {"output_shape": self._of_result, "activity_regularizer": regularizers.serialize(self._activity)}
        return {**super().get_config(), **own, **self._signature}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Return the layer that `get_config` described, with weights if it had any."""
        config = dict(cls._asking(config))
        query, key, value = (config.pop(f"{name}_shape", None) for name in ("query", "key", "value"))
        layer = cls(**config)
        if None not in (query, key, value):
            layer._make(TensorShape(query), TensorShape(value), TensorShape(key))
        return layer


_APART = ("output_shape", "activity_regularizer", "given")  # attributes of these names mean something else
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
