"""IREE, in f32: a module of named linalg operators, weights as its constants, compiled for this CPU."""

import importlib.metadata
import os

import iree.compiler
import iree.runtime
import numpy as np

from array_variant import ArrayVariant
from serve import Refused

FLAGS = ["--iree-llvmcpu-target-cpu=" + os.environ.get("TILEWRIGHT_IREE_CPU", "host"), "--iree-opt-level=O3",
         "--iree-opt-data-tiling=true"]


def type_of(shape):
    return "tensor<" + "".join(f"{extent}x" for extent in shape) + "f32>"


def constant(name, array):
    data = np.ascontiguousarray(array, np.float32).tobytes().hex().upper()
    return f'    %{name} = arith.constant dense<"0x{data}"> : {type_of(array.shape)}\n'


def attributes(w):
    vector = lambda value: f"dense<{value}> : tensor<{w.rank}xi64>"
    return f"{{dilations = {vector(w.dilation)}, strides = {vector(w.stride)}}}"


def matmul(w):
    if not w.b_constant:
        raise Refused("IREE's attention scores are not built")
    weight = np.swapaxes(w.weight, 1, 2) if w.b_transposed else w.weight
    x, out, op = w.activation, w.output_shape, "linalg.batch_matmul"
    if w.batch == 1:
        x, weight, out, op = x[0], weight[0], out[1:], "linalg.matmul"
    body = (constant("w", weight) + zeros(out) +
            f"    %r = {op} ins(%x, %w : {type_of(x.shape)}, {type_of(weight.shape)})"
            f" outs(%init : {type_of(out)}) -> {type_of(out)}\n")
    return x, out, body


def zeros(shape):
    return (f"    %zero = arith.constant 0.0 : f32\n    %empty = tensor.empty() : {type_of(shape)}\n"
            f"    %init = linalg.fill ins(%zero : f32) outs(%empty : {type_of(shape)}) -> {type_of(shape)}\n")


def convolution(w):
    if w.transposed or w.normalized:
        raise Refused(f"IREE's {w.op} is not built")
    depthwise = w.groups == w.in_channels == w.out_channels and w.rank == 2
    if w.groups > 1 and not depthwise:
        raise Refused("linalg has no grouped convolution with channels last")
    op = ("linalg.depthwise_conv_2d_nhwc_hwc" if depthwise else
          {1: "linalg.conv_1d_nwc_wcf", 2: "linalg.conv_2d_nhwc_hwcf", 3: "linalg.conv_3d_ndhwc_dhwcf"}[w.rank])
    weight = w.weight[:, :, 0, :] if depthwise else w.weight
    shape = (w.activation.shape[0], *(n + 2 * p for n, p in zip(w.activation.shape[1:], w.padding)), w.in_channels)
    sides = "[0, " + ", ".join(map(str, w.padding)) + ", 0]"
    body = zeros(w.output_shape) + constant("w", weight)
    source = "%x"
    if any(w.padding):
        arguments = ", ".join(f"%i{i}: index" for i in range(w.rank + 2))
        body += (f"    %padded = tensor.pad %x low{sides} high{sides} {{\n    ^bb0({arguments}):\n"
                 f"      tensor.yield %zero : f32\n    }} : {type_of(w.activation.shape)} to {type_of(shape)}\n")
        source = "%padded"
    body += (f"    %r = {op} {attributes(w)} ins({source}, %w : {type_of(shape)}, {type_of(weight.shape)})"
             f" outs(%init : {type_of(w.output_shape)}) -> {type_of(w.output_shape)}\n")
    return w.activation, w.output_shape, body


def rows(w):
    if w.function != "softmax":
        raise Refused("IREE's norms are not built")
    t = type_of(w.output_shape)
    body = (f"    %empty = tensor.empty() : {t}\n"
            f"    %r = linalg.softmax dimension(1) ins(%x : {t}) outs(%empty : {t}) -> {t}\n")
    return w.activation, w.output_shape, body


class Peer:
    version = importlib.metadata.version("iree-base-compiler")

    def __init__(self, threads, cpus):
        iree.runtime.flags.parse_flags(f"--task_topology_cpu_ids={','.join(map(str, cpus))}")
        self.config = iree.runtime.Config("local-task")

    def prepare(self, w):
        if w.dtype != "f32":
            raise Refused("IREE is measured in f32 only")
        if w.kind == "attention":
            raise Refused("attention is not written for IREE")
        x, out, body = {"matmul": matmul, "convolution": convolution, "rows": rows}[w.kind](w)
        text = (f"module {{\n  func.func @main(%x: {type_of(x.shape)}) -> {type_of(out)} {{\n{body}"
                f"    return %r : {type_of(out)}\n  }}\n}}\n")
        binary = iree.compiler.compile_str(text, target_backends=["llvm-cpu"], extra_args=FLAGS)
        context = iree.runtime.SystemContext(config=self.config)
        context.add_vm_module(iree.runtime.VmModule.copy_buffer(context.instance, binary))
        function = context.modules.module["main"]
        sets = [[iree.runtime.asdevicearray(self.config.device, np.array(x))] for _ in range(w.num_sets)]
        self.keep = context
        return [ArrayVariant("", function, sets, lambda y: y.to_host().reshape(w.output_shape))]
