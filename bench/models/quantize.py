#!/usr/bin/env python3
"""Makes a model of eight bits from one of f32, by ONNX Runtime's quantizer.

  ~/.cache/tilewright/peers/bin/python3 quantize.py FILE.onnx OUT.onnx [--dynamic] [--dims=batch=1,sequence=32]

Convolutional models are quantized statically: weights by channel and activations are s8, in pairs of QuantizeLinear and
DequantizeLinear, with ranges of eight seeded random inputs. --dynamic leaves activations f32 between the products, which
quantize them when they run (DynamicQuantizeLinear, MatMulInteger): the usual form of transformers. bench/peers/setup.sh
onnxruntime makes the environment.
"""

import argparse
import os
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import (CalibrationDataReader, QuantFormat, QuantType, quantize_dynamic,
                                      quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process

CALIBRATED_INPUTS = 8


class SeededInputs(CalibrationDataReader):
    """Normal floats and small integers."""

    def __init__(self, path, dims):
        random = np.random.default_rng(1)
        session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
        self.feeds = iter([{i.name: self.one(random, i, dims) for i in session.get_inputs()}
                           for _ in range(CALIBRATED_INPUTS)])

    @staticmethod
    def one(random, described, dims):
        shape = [dims[d] if isinstance(d, str) else d for d in described.shape]
        if described.type == "tensor(float)":
            return random.standard_normal(shape).astype(np.float32)
        return random.integers(0, 2, shape)

    def get_next(self):
        return next(self.feeds, None)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("out")
    parser.add_argument("--dynamic", action="store_true")
    parser.add_argument("--dims", default="", help="numbers of symbolic dimensions, NAME=N by commas")
    args = parser.parse_args()
    dims = {name: int(number) for name, number in (pair.split("=") for pair in args.dims.split(",") if pair)}
    if args.dynamic:
        quantize_dynamic(args.file, args.out, per_channel=True, weight_type=QuantType.QInt8)
    else:
        with tempfile.TemporaryDirectory() as folder:
            prepared = os.path.join(folder, "prepared.onnx")
            quant_pre_process(args.file, prepared, skip_symbolic_shape=True)
            quantize_static(prepared, args.out, SeededInputs(prepared, dims), quant_format=QuantFormat.QDQ,
                            per_channel=True, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)
    nodes = onnx.load(args.out, load_external_data=False).graph.node
    print(f"{args.out}: {len(nodes)} nodes, {sum('Quant' in node.op_type for node in nodes)} of them quantize")
    return 0


if __name__ == "__main__":
    sys.exit(main())
