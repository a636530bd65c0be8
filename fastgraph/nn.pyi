# Written by tools/stubs.py from the ops' definitions; do not edit.
from fastgraph import sigmoid as sigmoid
from fastgraph import tanh as tanh
from fastgraph._tensor import Tensor
from fastgraph.nn import silu as swish
from typing import Any
import builtins

def bias_add(value: Any, bias: Any, data_format: Any = None, name: builtins.str | None = None) -> Any:
    """value plus a bias per channel (the last axis; the second of "NC..."). t[*s, c], t[c] -> t[*s, c].

    Raises: InvalidArgumentError if the channels do not fit; ValueError for another format. Source: tf.nn.bias_add."""
def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: builtins.str | None = None) -> Any:
    """x with a share `rate` of the elements 0, the others scaled up by 1 / (1 - rate). f[*s] -> f[*s].

    `noise_shape`, which broadcasts to x's, says which elements fall together.
    Raises: ValueError for integers or a rate outside [0, 1). Source: tf.nn.dropout; Srivastava et al. 2014."""
def elu(features: Any, name: str | None = None) -> Tensor:
    """exp(features) - 1 where negative, else features. f[*s] -> f[*s]. Source: tf.nn.elu."""
def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: builtins.str | None = None) -> Any:
    """The rows of params that ids name, shortened to norm max_norm if given. f[n, *r], i[*q] -> f[*q, *r].

    Raises: InvalidArgumentError for an id out of range. Source: tf.nn.embedding_lookup."""
def gelu(features: Any, approximate: builtins.bool = False, name: builtins.str | None = None) -> Any:
    """Gaussian error linear unit, or its tanh form. f[*s] -> f[*s]. Source: Hendrycks and Gimpel 2016; tf.nn.gelu."""
def l2_loss(t: Any, name: builtins.str | None = None) -> Any:
    """Half the sum of squares. f[*s] -> f[]. Source: tf.nn.l2_loss."""
def l2_normalize(x: Any, axis: Any = None, epsilon: Any = 1e-12, name: builtins.str | None = None) -> Any:
    """x over its Euclidean norm along `axis`. f[*s] -> f[*s]. Source: tf.nn.l2_normalize."""
def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """features where positive, else alpha * features. f[*s] -> f[*s]. Source: tf.nn.leaky_relu."""
def log_softmax(logits: Any, axis: Any = None, name: builtins.str | None = None) -> Any:
    """log(softmax(logits)) along `axis` (-1), without overflow. f[*s] -> f[*s]. Source: tf.nn.log_softmax."""
def moments(x: Any, axes: Any, shift: Any = None, keepdims: builtins.bool = False, name: builtins.str | None = None) -> Any:
    """Mean and variance along `axes`. f[*s] -> f[*r], f[*r]. Source: tf.nn.moments."""
def relu(features: Any, name: str | None = None) -> Tensor:
    """features where positive, else 0; NaN stays. t[*s] -> t[*s]. Source: tf.nn.relu."""
def relu6(features: Any, name: str | None = None) -> Tensor:
    """features limited to [0, 6]. t[*s] -> t[*s]. Source: tf.nn.relu6."""
def selu(features: Any, name: str | None = None) -> Tensor:
    """Scaled exponential linear unit. f[*s] -> f[*s]. Source: Klambauer et al. 2017, eq. 2; tf.nn.selu."""
def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: builtins.str | None = None) -> Any:
    """Cross entropy of independent yes/no labels: max(x, 0) - x * z + log(1 + exp(-|x|)). f[*s], f[*s] -> f[*s].

    Raises: ValueError if shapes differ. Source: tf.nn.sigmoid_cross_entropy_with_logits."""
def silu(features: Any, beta: Any = 1.0) -> Any:
    """features * sigmoid(beta * features). f[*s] -> f[*s]. Source: tf.nn.silu."""
def softmax(logits: Any, axis: Any = None, name: builtins.str | None = None) -> Any:
    """exp(logits) / sum(exp(logits)) along `axis` (-1). f[*s] -> f[*s].

    Raises: InvalidArgumentError for integers or an axis out of range. Source: tf.nn.softmax."""
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: Any = -1, name: builtins.str | None = None) -> Any:
    """-sum(labels * log(softmax(logits))) along `axis`. f[*s], f[*s] -> f[*r].

    Raises: InvalidArgumentError for shapes that do not broadcast. Source: tf.nn.softmax_cross_entropy_with_logits."""
def softplus(features: Any, name: str | None = None) -> Tensor:
    """log(1 + exp(features)), without overflow. f[*s] -> f[*s]. Source: tf.math.softplus."""
def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: builtins.str | None = None) -> Any:
    """-log(softmax(logits)) at the label of each row. i[*s], f[*s, n] -> f[*s].

    Raises: InvalidArgumentError for a label out of range; ValueError for shapes that do not fit.
    Source: tf.nn.sparse_softmax_cross_entropy_with_logits."""
