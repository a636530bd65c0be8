"""Text made by models: a decoder with a cache of keys and values, greedy; beam search over a recurrent cell."""

import numpy as np

from benchmarks.models import steps
from benchmarks.models.transformers import EPSILON, HEADS, transformer

CASES = {
    "KV cache, 48 tokens": {"model": "cache", "batch": 4, "tokens": 48, "width": 128, "vocabulary": 500},
    "beam search, 24 tokens": {"model": "beams", "batch": 8, "tokens": 24, "width": 128, "vocabulary": 1000},
}
SMALL = {"batch": 2, "tokens": 4, "width": 8, "vocabulary": 11}
LAYERS, BEAMS, NEVER = 2, 4, -1e9


def data(model, batch, tokens, width, vocabulary):
    rng = np.random.default_rng(0)

    def matrix(n, m):
        return rng.standard_normal((n, m), np.float32) * np.float32(2 / n**0.5)

    if model == "cache":
        weights = steps.mapped(lambda each: 2 * each, transformer(rng, tokens, width, LAYERS, vocabulary))
    else:
        weights = {"table": matrix(vocabulary, width) * np.float32(vocabulary**0.5 / 4), "w": matrix(width, width),
                   "u": matrix(width, width), "out": matrix(width, vocabulary)}  # fmt: skip
    return {"model": model, "start": np.arange(batch, dtype=np.int32), "tokens": tokens, "weights": weights}


def tensorflow(tf, stage, model, start, tokens, weights):
    variables = steps.mapped(tf.Variable, weights)
    batch, (vocabulary, width) = len(start), weights["table"].shape
    table = variables["table"]

    def norm(h):
        mean, variance = tf.nn.moments(h, axes=[-1], keepdims=True)
        return tf.nn.batch_normalization(h, mean, variance, None, None, EPSILON)

    def decode(start):
        head = width // HEADS
        positions = tf.range(tokens)
        cache = tf.zeros([tokens, batch, HEADS, head])  # time first: a token's keys are one row

        def step(t, token, caches, said):
            h = tf.nn.embedding_lookup(table, token) + variables["positions"][t]
            kept = []
            for layer, (keys, values) in zip(variables["layers"], caches, strict=True):
                w, b = layer["qkv"]
                q, k, v = tf.unstack(tf.reshape(norm(h) @ w + b, [batch, 3, HEADS, head]), axis=1)
                keys = tf.tensor_scatter_nd_update(keys, [[t]], k[tf.newaxis])
                values = tf.tensor_scatter_nd_update(values, [[t]], v[tf.newaxis])
                scores = tf.einsum("bhd,tbhd->bht", q, keys) * head**-0.5
                weighted = tf.nn.softmax(tf.where(positions <= t, scores, NEVER))
                w, b = layer["out"]
                h = h + tf.reshape(tf.einsum("bht,tbhd->bhd", weighted, values), [batch, width]) @ w + b
                w, b = layer["wide"]
                inner = tf.nn.gelu(norm(h) @ w + b)
                w, b = layer["narrow"]
                h = h + inner @ w + b
                kept.append((keys, values))
            logits = tf.matmul(norm(h), table, transpose_b=True)
            token = tf.argmax(logits, axis=-1, output_type=tf.int32)
            return t + 1, token, kept, said.write(t, token)

        said = tf.TensorArray(tf.int32, tokens, element_shape=[batch])
        state = (tf.constant(0), start, [(cache, cache)] * LAYERS, said)
        return tf.while_loop(lambda t, *_: t < tokens, step, state, maximum_iterations=tokens)[3].stack()

    def search(start):
        def step(t, token, h, scores, said, parents):
            h = tf.tanh(tf.nn.embedding_lookup(table, token) @ variables["w"] + h @ variables["u"])
            more = tf.nn.log_softmax(tf.reshape(h @ variables["out"], [batch, BEAMS, vocabulary]))
            totals = tf.reshape(more + scores[:, :, tf.newaxis], [batch, BEAMS * vocabulary])
            scores, chosen = tf.math.top_k(totals, BEAMS)
            parent, token = chosen // vocabulary, tf.reshape(chosen % vocabulary, [-1])
            h = tf.gather(tf.reshape(h, [batch, BEAMS, width]), parent, batch_dims=1)
            h = tf.reshape(h, [batch * BEAMS, width])
            return t + 1, token, h, scores, said.write(t, token), parents.write(t, parent)

        said = tf.TensorArray(tf.int32, tokens, element_shape=[batch * BEAMS])
        parents = tf.TensorArray(tf.int32, tokens, element_shape=[batch, BEAMS])
        scores = tf.tile([[0.0] + [NEVER] * (BEAMS - 1)], [batch, 1])
        state = (tf.constant(0), tf.repeat(start, BEAMS), tf.zeros([batch * BEAMS, width]), scores, said, parents)
        *_, scores, said, parents = tf.while_loop(lambda t, *_: t < tokens, step, state, maximum_iterations=tokens)
        return said.stack(), parents.stack(), scores

    staged, start = stage(decode if model == "cache" else search), tf.constant(start)
    return lambda: staged(start)


def jax(jax, stage, model, start, tokens, weights):
    jnp, lax = jax.numpy, jax.lax
    batch, (vocabulary, width) = len(start), weights["table"].shape
    head = width // HEADS

    def norm(h):
        return (h - h.mean(-1, keepdims=True)) * lax.rsqrt(h.var(-1, keepdims=True) + EPSILON)

    def decode(weights, start):
        def step(held, t):
            token, caches = held
            h = weights["table"][token] + weights["positions"][t]
            kept = []
            for layer, (keys, values) in zip(weights["layers"], caches, strict=True):
                w, b = layer["qkv"]
                q, k, v = (norm(h) @ w + b).reshape(batch, 3, HEADS, 1, head).swapaxes(0, 1)
                keys = lax.dynamic_update_slice(keys, k, (0, 0, t, 0))
                values = lax.dynamic_update_slice(values, v, (0, 0, t, 0))
                scores = (q @ keys.swapaxes(-1, -2))[:, :, 0] * head**-0.5
                weighted = jax.nn.softmax(jnp.where(jnp.arange(tokens) <= t, scores, NEVER))
                w, b = layer["out"]
                h = h + (weighted[:, :, None] @ values).reshape(batch, width) @ w + b
                w, b = layer["wide"]
                inner = jax.nn.gelu(norm(h) @ w + b, approximate=False)
                w, b = layer["narrow"]
                h = h + inner @ w + b
                kept.append((keys, values))
            token = jnp.argmax(norm(h) @ weights["table"].T, axis=-1).astype(jnp.int32)
            return (token, kept), token

        cache = jnp.zeros((batch, HEADS, tokens, head))
        return lax.scan(step, (start, [(cache, cache)] * LAYERS), jnp.arange(tokens))[1]

    def search(weights, start):
        def step(held, _):
            token, h, scores = held
            h = jnp.tanh(weights["table"][token] @ weights["w"] + h @ weights["u"])
            more = jax.nn.log_softmax((h @ weights["out"]).reshape(batch, BEAMS, vocabulary))
            scores, chosen = lax.top_k((more + scores[:, :, None]).reshape(batch, -1), BEAMS)
            parent, token = chosen // vocabulary, (chosen % vocabulary).reshape(-1)
            h = jnp.take_along_axis(h.reshape(batch, BEAMS, width), parent[:, :, None], 1).reshape(-1, width)
            return (token, h, scores), (token, parent)

        scores = jnp.tile(jnp.array([0.0] + [NEVER] * (BEAMS - 1)), (batch, 1))
        begin = (jnp.repeat(start, BEAMS), jnp.zeros((batch * BEAMS, width)), scores)
        (_, _, scores), (said, parents) = lax.scan(step, begin, None, tokens)
        return said, parents, scores

    staged = stage(decode if model == "cache" else search)
    weights, start = steps.mapped(jnp.asarray, weights), jnp.asarray(start)
    return lambda: staged(weights, start)


def torch(torch, stage, model, start, tokens, weights):
    functional = torch.nn.functional
    weights = steps.mapped(torch.tensor, weights)
    batch, (vocabulary, width) = len(start), weights["table"].shape
    head, start = width // HEADS, torch.tensor(start)
    positions = torch.arange(tokens)

    def norm(h):
        return functional.layer_norm(h, (width,), None, None, EPSILON)

    def token_after(token, t, caches):
        """The caches [batch, heads, time, head] take the new row in place."""
        h = weights["table"][token] + weights["positions"][t]
        past = positions <= t
        for layer, (keys, values) in zip(weights["layers"], caches, strict=True):
            q, k, v = (
                functional.linear(norm(h), layer["qkv"][0].T, layer["qkv"][1]).view(batch, 3, HEADS, 1, head).unbind(1)
            )
            keys.index_copy_(2, t, k)
            values.index_copy_(2, t, v)
            mixed = functional.scaled_dot_product_attention(q, keys, values, attn_mask=past[None])
            h = h + torch.addmm(layer["out"][1], mixed.reshape(batch, width), layer["out"][0])
            inner = functional.gelu(torch.addmm(layer["wide"][1], norm(h), layer["wide"][0]))
            h = h + torch.addmm(layer["narrow"][1], inner, layer["narrow"][0])
        return (norm(h) @ weights["table"].T).argmax(-1)

    def beams_after(token, h, scores):
        h = torch.tanh(weights["table"][token] @ weights["w"] + h @ weights["u"])
        more = torch.log_softmax((h @ weights["out"]).view(batch, BEAMS, vocabulary), -1)
        scores, chosen = (more + scores[:, :, None]).view(batch, -1).topk(BEAMS)
        parent, token = chosen // vocabulary, (chosen % vocabulary).view(-1)
        h = h.view(batch, BEAMS, width).gather(1, parent[:, :, None].expand(-1, -1, width)).view(-1, width)
        return token, parent, h, scores

    staged = stage(token_after if model == "cache" else beams_after)

    @torch.no_grad()
    def decode():
        shape = batch, HEADS, tokens, head
        caches = [(torch.zeros(shape), torch.zeros(shape)) for _ in range(LAYERS)]
        token, said = start.long(), []
        for t in positions.split(1):
            token = staged(token, t, caches)
            said.append(token)
        return torch.stack(said)

    @torch.no_grad()
    def search():
        token, h = start.long().repeat_interleave(BEAMS), torch.zeros(batch * BEAMS, width)
        scores = torch.tensor([[0.0] + [NEVER] * (BEAMS - 1)]).repeat(batch, 1)
        said, parents = [], []
        for _ in range(tokens):
            token, parent, h, scores = staged(token, h, scores)
            said.append(token)
            parents.append(parent)
        return torch.stack(said), torch.stack(parents), scores

    return decode if model == "cache" else search
