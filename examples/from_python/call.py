"""Calls a compiled library from Python, on numpy's arrays, without a binding of its own.

    tilewright compile affine.py -o affine.so
    pip install apache-tvm-ffi numpy
    python3 call.py affine.so
"""

import sys

import numpy as np
import tvm_ffi


def aligned(shape):
    """Zeros at a multiple of 64 bytes, which compiled functions ask for (docs/abi.md)."""
    count = int(np.prod(shape))
    raw = np.zeros(count * 4 + 64, np.uint8)
    start = -raw.ctypes.data % 64
    return raw[start : start + count * 4].view(np.float32).reshape(shape)


def expect_error(kind, text, call, *arguments):
    try:
        call(*arguments)
    except kind as error:
        assert text in str(error), f"expected {text!r} in {error!r}"
        return
    raise AssertionError(f"nothing was raised, expected {text!r}")


def main():
    affine = tvm_ffi.load_module(sys.argv[1])["affine"]
    rng = np.random.default_rng(0)
    for rows in (1, 7, 128):
        x, w, b, y = aligned((rows, 64)), aligned((64, 32)), aligned((32,)), aligned((rows, 32))
        for array in (x, w, b):
            array[...] = rng.standard_normal(array.shape)
        tensors = [tvm_ffi.from_dlpack(array) for array in (x, w, b, y)]
        affine(tensors[0], tensors[1], tensors[2], 0.5, tensors[3])
        error = np.abs(y - (x @ w + b) * 0.5).max()
        print(f"{rows} rows: largest error {error:.2g}")
        assert error < 1e-4

    wrong = aligned((7, 63))
    expect_error(ValueError, "argument 0 (X): dimension 1 has extent 63, expected 64", affine,
                 tvm_ffi.from_dlpack(wrong), tensors[1], tensors[2], 0.5, tensors[3])
    expect_error(TypeError, "argument 3 (scale) is not a number", affine, tensors[0], tensors[1], tensors[2], "half",
                 tensors[3])
    expect_error(TypeError, "takes 5 arguments, got 1", affine, tensors[0])
    print("good")


if __name__ == "__main__":
    main()
