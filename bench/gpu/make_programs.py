#!/usr/bin/env python3
"""Writes programs bound to threads whose kernels gpu_check runs: every scalar type, function and conversion, vectors,
shared memory, several kernels of one function.

  make_programs.py FOLDER
"""

import os
import sys

TYPES = ["float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int8", "uint8", "int16", "uint16",
         "int32", "uint32", "int64", "uint64"]
FLOATS = [t for t in TYPES if "float" in t]
INTEGERS = [t for t in TYPES if "float" not in t]


def pointwise(name, inputs, output, value, count=4096):
    """B[v] = value, one thread an element."""
    params = [f'{n}: T.Buffer(({count},), "{t}")' for n, t in inputs.items()]
    return f"""
@T.prim_func
def {name}({", ".join(params)}, Y: T.Buffer(({count},), "{output}")):
    for i_0 in T.thread_binding({count // 128}, thread="blockIdx.x"):
        for i_1 in T.thread_binding(128, thread="threadIdx.x"):
            with T.block("Y"):
                v = T.axis.spatial({count}, i_0 * 128 + i_1)
                Y[v] = {value}
"""


def conversions():
    for source in TYPES:
        for target in TYPES:
            if source == target:
                continue
            value = "A[v]"
            if "float" in source and "float" not in target:
                # Within the range of every type.
                wide = "float64" if source == "float64" else "float32"
                value = f'T.Cast("{source}", T.max(T.Cast("{wide}", A[v]), T.{wide}(0)) * T.{wide}(20))'
            yield f"cast_{source}_{target}", pointwise("main", {"A": source}, target, f'T.Cast("{target}", {value})', 512)


def arithmetic():
    for t in TYPES:
        for op, value in {"sum": "A[v] + B[v] * A[v]", "least": "T.min(A[v], B[v])", "most": "T.max(A[v], B[v])"}.items():
            yield f"{op}_{t}", pointwise("main", {"A": t, "B": t}, t, value)
    for t in FLOATS:
        yield f"quotient_{t}", pointwise("main", {"A": t, "B": t}, t, "A[v] / B[v]")
    for t in INTEGERS:
        for op, value in {"floordiv": "A[v] // D", "floormod": "A[v] % D", "truncdiv": "T.truncdiv(A[v], D)",
                          "truncmod": "T.truncmod(A[v], D)"}.items():
            divisor = f'(B[v] * B[v] + T.Cast("{t}", 1))'
            yield f"{op}_{t}", pointwise("main", {"A": t, "B": t}, t, value.replace("D", divisor))
        one = f'T.Cast("{t}", 1)'
        yield f"bits_{t}", pointwise("main", {"A": t, "B": t}, t,
                                     f"T.bitwise_xor(T.bitwise_and(A[v], B[v]), T.bitwise_or(T.shift_left(A[v], {one}), "
                                     f"T.shift_right(B[v], {one})))")
        yield f"select_{t}", pointwise("main", {"A": t, "B": t}, t, "T.Select(A[v] < B[v], A[v], B[v] - A[v])")


def functions():
    any_number = ["exp", "exp2", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "erf", "sigmoid", "floor",
                  "ceil", "trunc", "round", "nearbyint", "round_away", "abs", "exp10"]
    positive = ["log", "log2", "log10", "log1p", "sqrt", "rsqrt"]
    bounded = {"asin": "A[v] / T.{t}(2.5)", "acos": "A[v] / T.{t}(2.5)", "atanh": "A[v] / T.{t}(2.5)",
               "acosh": "A[v] * A[v] + T.{t}(1.5)"}
    for t in ["float32", "float64", "float16", "bfloat16"]:
        for f in any_number:
            yield f"{f}_{t}", pointwise("main", {"A": t}, t, f"T.{f}(A[v])", 512)
        for f in positive:
            yield f"{f}_{t}", pointwise("main", {"A": t}, t, f"T.{f}(A[v] * A[v] + T.{t}(0.25))", 512)
        for f, argument in bounded.items():
            yield f"{f}_{t}", pointwise("main", {"A": t}, t, f"T.{f}({argument.format(t=t)})", 512)
        yield f"pow_{t}", pointwise("main", {"A": t, "B": t}, t, f"T.pow(T.abs(A[v]) + T.{t}(0.5), B[v])", 512)
        for f in ["atan2", "hypot", "copysign", "nextafter"]:
            yield f"{f}_{t}", pointwise("main", {"A": t, "B": t}, t, f"T.{f}(A[v], B[v])", 512)
        yield f"fmod_{t}", pointwise("main", {"A": t, "B": t}, t, f"T.fmod(A[v], T.abs(B[v]) + T.{t}(0.5))", 512)
        yield f"fma_{t}", pointwise("main", {"A": t, "B": t}, t, "T.fma(A[v], B[v], A[v])", 512)


VECTORS = """
@T.prim_func
def main(A: T.Buffer((65536,), "{t}"), B: T.Buffer((65536,), "{t}")):
    for i_0 in T.thread_binding({blocks}, thread="blockIdx.x"):
        for i_1 in T.thread_binding(128, thread="threadIdx.x"):
            for i_2 in T.vectorized({lanes}):
                with T.block("B"):
                    v = T.axis.spatial(65536, i_0 * {tile} + i_1 * {lanes} + i_2)
                    B[v] = A[v] * A[v] + A[v]
"""

TRANSPOSE = """
@T.prim_func
def main(A: T.Buffer((500, 300), "{t}"), B: T.Buffer((300, 500), "{t}")):
    for i_0 in T.thread_binding(10, thread="blockIdx.y"):
        for j_0 in T.thread_binding(16, thread="blockIdx.x"):
            with T.block("tile"):
                vi = T.axis.opaque(10, i_0)
                vj = T.axis.opaque(16, j_0)
                tile = T.alloc_buffer((32, 32), "{t}", scope="shared")
                for y in T.thread_binding(32, thread="threadIdx.y"):
                    for x in T.thread_binding(32, thread="threadIdx.x"):
                        if vj * 32 + y < 500 and vi * 32 + x < 300:
                            tile[y, x] = A[vj * 32 + y, vi * 32 + x]
                        T.tvm_storage_sync("shared")
                        if vi * 32 + y < 300 and vj * 32 + x < 500:
                            B[vi * 32 + y, vj * 32 + x] = tile[x, y]
"""

PRODUCT = """
@T.prim_func
def main(A: T.Buffer((256, 128), "float32"), B: T.Buffer((128, 192), "float32"), C: T.Buffer((256, 192), "float32")):
    for i_0 in T.thread_binding(16, thread="blockIdx.y"):
        for j_0 in T.thread_binding(12, thread="blockIdx.x"):
            for i_1 in T.thread_binding(16, thread="threadIdx.y"):
                for j_1 in T.thread_binding(16, thread="threadIdx.x"):
                    for k in range(128):
                        with T.block("C"):
                            vi = T.axis.spatial(256, i_0 * 16 + i_1)
                            vj = T.axis.spatial(192, j_0 * 16 + j_1)
                            vk = T.axis.reduce(128, k)
                            with T.init():
                                C[vi, vj] = T.float32(0)
                            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

TWO_KERNELS = """
@T.prim_func
def main(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
    M = T.alloc_buffer((4096,), "float32")
    for r in range(3):
        for i_0 in T.thread_binding(32, thread="blockIdx.x"):
            for i_1 in T.thread_binding(128, thread="threadIdx.x"):
                with T.block("M"):
                    v = T.axis.spatial(4096, i_0 * 128 + i_1)
                    w = T.axis.opaque(3, r)
                    M[v] = A[v] * T.float32(2) + T.Cast("float32", w)
    for i_0 in T.thread_binding(32, thread="blockIdx.x"):
        for i_1 in T.thread_binding(128, thread="threadIdx.x"):
            with T.block("B"):
                v = T.axis.spatial(4096, i_0 * 128 + i_1)
                B[v] = M[4095 - v] + T.float32(1)
"""


def structures():
    for t, lanes in {"float32": 4, "float16": 8, "bfloat16": 8, "int8": 16, "float64": 2}.items():
        yield f"vectors_{t}", VECTORS.format(t=t, lanes=lanes, tile=128 * lanes, blocks=65536 // (128 * lanes))
    for t in ["float32", "float16", "int8", "float64"]:
        yield f"transpose_{t}", TRANSPOSE.format(t=t)
    yield "product_simt", PRODUCT
    yield "two_kernels", TWO_KERNELS


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for group in (structures, arithmetic, functions, conversions):
        for name, text in group():
            with open(os.path.join(folder, name + ".py"), "w", encoding="utf-8") as file:
                file.write(text)


if __name__ == "__main__":
    main()
