#!/usr/bin/env python3
"""Compares what model_fuzz --write left (SEED.onnx, SEED.inputs, SEED.outputs) with ONNX Runtime without optimizations.

  compare_onnxruntime.py FOLDER

Packages numpy and onnxruntime. Models that it does not run (operators without a kernel for a type) are counted apart.
"""

import glob
import os
import sys

import numpy as np
import onnxruntime as ort


def Difference(expected, actual):
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        return f"{expected.dtype}{expected.shape} and {actual.dtype}{actual.shape}"
    if expected.dtype.kind != "f":
        return "" if np.array_equal(expected, actual) else "other integers"
    if not np.array_equal(np.isnan(expected), np.isnan(actual)):
        return "NaN at other places"
    finite = np.isfinite(expected)
    if not np.array_equal(expected[~finite], actual[~finite], equal_nan=True):
        return "other infinities"
    error = np.abs(expected[finite] - actual[finite]).max(initial=0)
    largest = np.abs(expected[finite]).max(initial=1)
    return f"error {error}, largest {largest}" if error > 2e-3 * largest else ""


def main():
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    same = different = not_run = 0
    for path in sorted(glob.glob(os.path.join(sys.argv[1], "*.onnx"))):
        base = path[: -len(".onnx")]
        inputs = {}
        for file in glob.glob(base + ".inputs/*.npy"):
            inputs[os.path.basename(file)[: -len(".npy")]] = np.load(file)
        try:
            session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
            results = session.run(None, inputs)
        except Exception as error:  # of its own kinds, all of which mean that it does not run
            not_run += 1
            print(f"{path}: not run: {str(error)[:150]}")
            continue
        why = ""
        for output, expected in zip(session.get_outputs(), results):
            difference = Difference(expected, np.load(f"{base}.outputs/{output.name}.npy"))
            why = why or (f"{output.name}: {difference}" if difference else "")
        if why:
            different += 1
            print(f"{path}: {why}")
        else:
            same += 1
    print(f"{same} the same, {different} different, {not_run} not run")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
