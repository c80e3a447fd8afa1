"""XLA through JAX, in f32: one compiled function, weights as its constants, layouts as the workload has them."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from array_variant import ArrayVariant
from serve import Refused


class Peer:
    version = jax.__version__

    def __init__(self, threads, cpus):
        # XLA takes a thread for each CPU that the process may use; serve.py has seen to that.
        jax.config.update("jax_platforms", "cpu")
        jax.devices()

    def prepare(self, w):
        if w.dtype != "f32":
            raise Refused("XLA is measured in f32 only")
        function, inputs = getattr(self, w.kind)(w)
        compiled = jax.jit(function)
        sets = [[jax.device_put(np.array(array)) for array in inputs] for _ in range(w.num_sets)]
        compiled(*sets[0]).block_until_ready()
        return [ArrayVariant("", lambda *x: compiled(*x).block_until_ready(), sets,
                             lambda out: np.asarray(out).reshape(w.output_shape))]

    def matmul(self, w):
        if not w.b_constant:
            return lambda q, v: jnp.einsum("bihk,bjhk->bhij", q, v), [w.activation, w.weight]
        weight = jnp.asarray(np.swapaxes(w.weight, 1, 2) if w.b_transposed else w.weight)
        if w.batch == 1:
            return lambda x: x @ weight[0], [w.activation[0]]
        return lambda x: x @ weight, [w.activation]

    def convolution(self, w):
        letters = "DHW"[-w.rank:]
        numbers = ("N" + letters + "C", letters + "IO", "N" + letters + "C")
        weight = jnp.asarray(w.weight)
        strides, padding = [w.stride] * w.rank, [(p, p) for p in w.padding]
        if w.transposed:
            # Zeros between the inputs, and the kernel turned round.
            turned = jnp.flip(weight, axis=range(w.rank))
            padding = [(k - 1 - p, k - 1 - p) for k, p in zip(w.kernel, w.padding)]
            return (lambda x: lax.conv_general_dilated(x, turned, [1] * w.rank, padding, lhs_dilation=strides,
                                                       dimension_numbers=numbers)), [w.activation]

        def convolve(x):
            return lax.conv_general_dilated(x, weight, strides, padding, rhs_dilation=[w.dilation] * w.rank,
                                            dimension_numbers=numbers, feature_group_count=w.groups)

        if not w.normalized:
            return convolve, [w.activation]
        bias, scale, offset = (jnp.asarray(row) for row in w.parameters)
        return lambda x: jnp.maximum(0, (convolve(x) + bias) * scale + offset), [w.activation]

    def attention(self, w):
        group, sees = w.heads // w.key_heads, w.sees()
        key, value = jnp.asarray(w.weight), jnp.asarray(w.value)

        def attend(q):
            grouped = q.reshape(w.batch, w.key_heads, group, w.queries, w.dim)
            scores = jnp.einsum("bhgid,bhjd->bhgij", grouped, key) * w.dim ** -0.5
            if sees is not None:
                scores = jnp.where(sees, scores, -jnp.inf)
            return jnp.einsum("bhgij,bhjd->bhgid", jax.nn.softmax(scores, axis=-1), value)

        return attend, [w.activation]

    def rows(self, w):
        if w.function == "softmax":
            return lambda x: jax.nn.softmax(x, axis=1), [w.activation]
        if w.function == "row_norm":
            return lambda x: jnp.sqrt(jnp.sum(x * x, axis=1, keepdims=True)), [w.activation]
        if w.function == "gelu":
            return lambda x: jax.nn.gelu(x, approximate=False), [w.activation]
        scale, shift = (jnp.asarray(row) for row in w.parameters)

        def layer_norm(x):
            mean = x.mean(axis=1, keepdims=True)
            variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
            return (x - mean) * lax.rsqrt(variance + w.epsilon) * scale + shift

        return layer_norm, [w.activation]
