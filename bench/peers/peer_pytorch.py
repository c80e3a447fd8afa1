"""PyTorch, eager, in f32; attention in bf16 too. Convolutions of two and three dimensions run channels last, as their inputs lie in memory;
those of one dimension have no such format and take channels first."""

import numpy as np
import torch
import torch.nn.functional as F

from array_variant import ArrayVariant
from serve import Refused


def tensor(array):
    if array.dtype == "bfloat16":
        return tensor(array.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(np.ascontiguousarray(array).copy())


class Peer:
    version = torch.__version__

    def __init__(self, threads, cpus):
        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)

    def prepare(self, w):
        if w.dtype != "f32" and (w.kind, w.dtype) != ("attention", "bf16h"):
            raise Refused(f"PyTorch is measured in f32 only; its {w.dtype} operators give other types")
        call, inputs, to_plain = getattr(self, w.kind)(w)
        sets = [[tensor(array) if isinstance(array, np.ndarray) else array.clone() for array in inputs]
                for _ in range(w.num_sets)]
        return [ArrayVariant("", torch.inference_mode()(call), sets, to_plain)]

    def matmul(self, w):
        plain = lambda out: out.reshape(w.output_shape).numpy()
        if not w.b_constant:
            return (lambda q, v: torch.matmul(q.transpose(1, 2), v.permute(0, 2, 3, 1)), [w.activation, w.weight],
                    plain)
        weight = tensor(w.weight)
        if w.b_transposed:
            weight = weight.transpose(1, 2)
        if w.batch == 1:
            weight = weight[0]
            return lambda x: torch.mm(x, weight), [w.activation[0]], plain
        return lambda x: torch.bmm(x, weight), [w.activation], plain

    def convolution(self, w):
        formats = {1: torch.contiguous_format, 2: torch.channels_last, 3: torch.channels_last_3d}
        layout = dict(memory_format=formats[w.rank])
        x = tensor(w.channels_first(w.activation)).contiguous(**layout)
        to_plain = lambda out: w.channels_last(out.numpy())
        if w.transposed:
            weight = tensor(w.weight_inputs_first()).contiguous(**layout)
            function = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[w.rank]
            return lambda x: function(x, weight, stride=w.stride, padding=w.padding), [x], to_plain
        weight = tensor(w.weight_outputs_first()).contiguous(**layout)
        function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[w.rank]
        window = dict(stride=w.stride, padding=tuple(w.padding), dilation=w.dilation, groups=w.groups)
        if not w.normalized:
            return lambda x: function(x, weight, **window), [x], to_plain
        bias, scale, offset = (tensor(row) for row in w.parameters)
        mean, variance = torch.zeros_like(scale), torch.ones_like(scale)

        def normalized(x):
            y = F.batch_norm(function(x, weight, bias, **window), mean, variance, scale, offset, eps=0.0)
            return F.relu_(y)

        return normalized, [x], to_plain

    def attention(self, w):
        key, value, sees = tensor(w.weight), tensor(w.value), w.sees()
        # Its own mask is that of as many queries as keys.
        causal = w.causal and not w.window and w.queries == w.keys
        mask = None if causal or sees is None or sees.all() else tensor(sees)
        options = dict(attn_mask=mask, is_causal=causal, enable_gqa=w.key_heads != w.heads)

        def to_plain(out):
            return out.float().numpy().astype(w.activation.dtype)

        return lambda q: F.scaled_dot_product_attention(q, key, value, **options), [w.activation], to_plain

    def rows(self, w):
        plain = lambda out: out.numpy()
        if w.function == "softmax":
            return lambda x: torch.softmax(x, 1), [w.activation], plain
        if w.function == "row_norm":
            return lambda x: torch.linalg.vector_norm(x, dim=1, keepdim=True), [w.activation], plain
        if w.function == "gelu":
            return F.gelu, [w.activation], plain
        scale, shift = (tensor(row) for row in w.parameters)
        return (lambda x: F.layer_norm(x, (w.columns,), scale, shift, w.epsilon), [w.activation], plain)
