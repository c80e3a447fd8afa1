"""Operators of TVM as functions without arguments that make a program: topi, MetaSchedule's workloads, Relax."""

import itertools

try:
    import tvm
    from tvm import te, topi, tirx
except ImportError:
    tvm = None


def P(shape, name="x", dtype="float32"):
    return te.placeholder(shape, name=name, dtype=dtype)


def Make(compute, *inputs):
    """`inputs`: (shape, dtype). `compute` takes the placeholders and returns a tensor or several."""

    def Create():
        tensors = [P(shape, f"p{i}", dtype) for i, (shape, dtype) in enumerate(inputs)]
        with tvm.target.Target("llvm"):
            results = compute(*tensors)
        results = list(results) if isinstance(results, (list, tuple)) or type(results).__name__ == "Array" else [results]
        return te.create_prim_func(tensors + results)

    return Create


FLOATS = ["float32", "float16", "bfloat16", "float64"]
INTS = ["int8", "uint8", "int16", "int32", "int64", "uint32"]
# Programs that schedules are applied to: names of entries of All().
SCHEDULED = [
    "matmul-float32", "matmul-float16-float32", "matmul-int8-int32", "matmul-dynamic", "batch_matmul", "dense", "conv2d_nhwc", "conv2d_nchw",
    "depthwise_nchw", "conv1d_ncw", "conv2d_transpose", "softmax-float32", "layer_norm-float32", "rms_norm-float32",
    "max_pool2d", "sum-float32", "argmax-float32", "gelu", "transpose", "reshape", "softmax-dynamic", "matmul_relu",
    "concatenate", "group_conv", "take", "conv3d", "NRM", "CAP", "T2D", "winograd", "instance_norm", "mean_var",
    "matmul-bfloat16-float32", "matmul-e4m3", "gemv", "resize2d-linear", "scatter_elements", "cumsum", "dequant_matmul", "attention",
]


def Dynamic():
    return te.var("n", "int64"), te.var("m", "int64")


def Elementwise():
    unary = ["exp", "erf", "tanh", "tan", "cos", "cosh", "sin", "sinh", "acos", "acosh", "asin", "asinh", "atan", "atanh",
             "floor", "ceil", "sign", "trunc", "abs", "isnan", "isfinite", "isinf", "round", "log", "log2", "log10",
             "sqrt", "rsqrt", "sigmoid", "negative", "identity", "fast_exp", "fast_tanh", "fast_erf"]
    for name, dtype in itertools.product(unary, ["float32", "float16"]):
        yield f"{name}-{dtype}", Make(getattr(topi, name), ((4, 33), dtype))
    for name, dtype in itertools.product(["abs", "sign", "negative", "bitwise_not"], ["int8", "int64"]):
        yield f"{name}-{dtype}", Make(getattr(topi, name), ((7, 5), dtype))
    binary = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "greater", "less", "equal", "not_equal",
              "greater_equal", "less_equal", "power", "floor_divide", "floor_mod", "mod", "atan2", "log_add_exp"]
    for name, dtype in itertools.product(binary, ["float32", "float16", "bfloat16", "int32", "uint8", "int64"]):
        if name in ("power", "log_add_exp") and "int" in dtype:
            continue
        yield f"{name}-{dtype}", Make(getattr(topi, name), ((4, 1, 8), dtype), ((3, 8), dtype))
    for name, dtype in itertools.product(["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift"], INTS):
        yield f"{name}-{dtype}", Make(getattr(topi, name), ((16,), dtype), ((16,), dtype))
    for name in ("logical_and", "logical_or", "logical_xor"):
        yield name, Make(getattr(topi, name), ((16,), "bool"), ((16,), "bool"))
    yield "logical_not", Make(topi.logical_not, ((16,), "bool"))
    types = FLOATS + INTS + ["bool", "uint64", "float8_e4m3fn", "float8_e5m2", "uint16"]
    for source, target in itertools.product(types, types):
        if source != target:
            yield f"cast-{source}-{target}", Make(lambda a, t=target: topi.cast(a, t), ((8,), source))
    for dtype in ("float32", "float16", "int32", "int8"):
        yield f"clip-{dtype}", Make(lambda a: topi.clip(a, -3, 5), ((8,), dtype))
        yield f"where-{dtype}", Make(topi.where, ((4, 8), "bool"), ((4, 8), dtype), ((1, 8), dtype))
        yield f"full-{dtype}", Make(lambda a: topi.full_like(a, 3), ((4,), dtype))
    yield "full-inf", Make(lambda a: topi.full((4, 4), "float32", float("inf")), ((1,), "float32"))
    yield "full-nan", Make(lambda a: topi.full((4, 4), "float16", float("nan")), ((1,), "float32"))
    yield "reinterpret", Make(lambda a: topi.reinterpret(a, "int32"), ((4,), "float32"))
    yield "fixed_point", Make(lambda a: topi.fixed_point_multiply(a, 1 << 30, 2), ((4,), "int32"))
    yield "gelu", Make(lambda a: topi.multiply(topi.multiply(a, tirx.const(0.5, "float32")), topi.add(
        topi.erf(topi.multiply(a, tirx.const(0.70710678, "float32"))), tirx.const(1.0, "float32"))), ((16, 256), "float32"))
    yield "elemwise_sum", Make(lambda a, b, c: topi.elemwise_sum([a, b, c]), *[((4, 4), "float32")] * 3)
    for k in (-1, 0, 1):
        yield f"eye{k}", Make(lambda a, k=k: topi.eye(4, 5, k), ((1,), "float32"))


def Reductions():
    for name, dtype in itertools.product(["sum", "max", "min", "prod"], ["float32", "float16", "bfloat16", "int8", "int32"]):
        yield f"{name}-{dtype}", Make(lambda a, n=name: getattr(topi, n)(a, axis=1), ((4, 64, 3), dtype))
        yield f"{name}-{dtype}-all", Make(lambda a, n=name: getattr(topi, n)(a), ((4, 16), dtype))
        yield f"{name}-{dtype}-keep", Make(lambda a, n=name: getattr(topi, n)(a, axis=[0, 2], keepdims=True), ((4, 6, 8), dtype))
    for name, dtype in itertools.product(["argmax", "argmin"], ["float32", "int32", "float16"]):
        yield f"{name}-{dtype}", Make(lambda a, n=name: getattr(topi, n)(a, axis=1), ((4, 64), dtype))
        yield f"{name}-{dtype}-last", Make(lambda a, n=name: getattr(topi, n)(a, axis=0, select_last_index=True), ((4, 64), dtype))
    for name in ("all", "any"):
        yield name, Make(lambda a, n=name: getattr(topi, n)(a, axis=1), ((4, 8), "bool"))
    yield "collapse_sum", Make(lambda a: topi.collapse_sum(a, (1, 8)), ((4, 8), "float32"))
    for dtype in ("float32", "float16"):
        yield f"softmax-{dtype}", Make(topi.nn.softmax, ((16, 256), dtype))
        yield f"softmax0-{dtype}", Make(lambda a: topi.nn.softmax(a, 0), ((16, 25), dtype))
        yield f"log_softmax-{dtype}", Make(topi.nn.log_softmax, ((16, 256), dtype))
        yield f"fast_softmax-{dtype}", Make(topi.nn.fast_softmax, ((16, 25), dtype))
        yield f"layer_norm-{dtype}", Make(lambda a, g, b: topi.nn.layer_norm(a, g, b, [1]), ((4, 96), dtype), ((96,), dtype), ((96,), dtype))
        yield f"rms_norm-{dtype}", Make(lambda a, g: topi.nn.rms_norm(a, g, [1]), ((4, 96), dtype), ((96,), dtype))
    yield "instance_norm", Make(lambda a, g, b: topi.nn.instance_norm(a, g, b, 1, [2, 3]), ((2, 4, 8, 8), "float32"), ((4,), "float32"), ((4,), "float32"))
    yield "group_norm", Make(lambda a, g, b: topi.nn.group_norm(a, g, b, 2, 1, [2, 3]), ((2, 4, 8, 8), "float32"), ((4,), "float32"), ((4,), "float32"))
    yield "batch_norm", Make(lambda a, g, b, m, v: topi.nn.batch_norm(a, g, b, m, v, 1, training=True), ((2, 4, 8, 8), "float32"), *[((4,), "float32")] * 4)
    yield "batch_norm-eval", Make(lambda a, g, b, m, v: topi.nn.batch_norm(a, g, b, m, v, 1), ((2, 4, 8, 8), "float32"), *[((4,), "float32")] * 4)
    yield "lrn", Make(lambda a: topi.nn.lrn(a, 3), ((1, 8, 4, 4), "float32"))
    yield "mean_var", Make(lambda a: [topi.divide(topi.sum(a, 1), tirx.const(64.0, "float32")), topi.sum(topi.multiply(a, a), 1)], ((4, 64), "float32"))
    yield "nll_loss", Make(lambda p, t, w: topi.nn.nll_loss(p, t, w, "mean", -100), ((4, 8), "float32"), ((4,), "int32"), ((8,), "float32"))
    for name in ("cumsum", "cumprod"):
        yield name, Make(lambda a, n=name: getattr(topi, n)(a, axis=1), ((4, 16), "float32"))
        yield name + "-exclusive", Make(lambda a, n=name: getattr(topi, n)(a, axis=0, exclusive=True, dtype="int64"), ((4, 16), "int32"))


def Contractions():
    def Matmul(dtype, out, n=128, m=128, k=128):
        return Make(lambda a, b: te.compute((n, m), lambda i, j: te.sum(
            a[i, r].astype(out) * b[r, j].astype(out), axis=r) if (r := te.reduce_axis((0, k), "k")) is not None else 0,
            name="C"), ((n, k), dtype), ((k, m), dtype))

    yield "matmul-float32", Matmul("float32", "float32")
    for dtype, out in [("float16", "float16"), ("float16", "float32"), ("bfloat16", "float32"), ("int8", "int32"),
                       ("uint8", "int32"), ("float64", "float64"), ("int4", "int32"), ("int16", "int32")]:
        yield f"matmul-{dtype}-{out}", Matmul(dtype, out)
    yield "matmul-e4m3", Matmul("float8_e4m3fn", "float32")
    yield "matmul-e5m2", Matmul("float8_e5m2", "float16")
    yield "matmul-odd", Matmul("float32", "float32", 127, 31, 65)

    def MatmulDynamic():
        n, m = Dynamic()
        a, b = P((n, 64), "A"), P((64, m), "B")
        k = te.reduce_axis((0, 64), "k")
        return te.create_prim_func([a, b, te.compute((n, m), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")])
    yield "matmul-dynamic", MatmulDynamic

    def Relu():
        a, b = P((64, 64), "A"), P((64, 64), "B")
        k = te.reduce_axis((0, 64), "k")
        c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
        return te.create_prim_func([a, b, topi.nn.relu(c)])
    yield "matmul_relu", Relu
    yield "gemv", Make(lambda a, b: te.compute((1, 256), lambda i, j: te.sum(a[i, r] * b[j, r], axis=r) if (r := te.reduce_axis((0, 128), "k")) is not None else 0, name="C"),
                       ((1, 128), "float16"), ((256, 128), "float16"))
    yield "dequant_matmul", Make(lambda a, w, s: topi.nn.matmul(a, te.compute((64, 64), lambda i, j: ((w[i, j // 8] >> (tirx.Cast("uint32", j % 8) * tirx.const(4, "uint32"))) & tirx.const(15, "uint32")).astype("float16") * s[i, j // 32], name="dequant")),
                                 ((32, 64), "float16"), ((64, 8), "uint32"), ((64, 2), "float16"))
    yield "attention", Make(lambda q, k, v: topi.nn.batch_matmul(topi.nn.softmax(topi.nn.batch_matmul(q, k)), v, transpose_b=False), *[((4, 16, 32), "float32")] * 3)
    for ta, tb in itertools.product([False, True], repeat=2):
        yield f"matmul-{ta}-{tb}", Make(lambda a, b, ta=ta, tb=tb: topi.matmul(a, b, ta, tb), ((16, 16), "float32"), ((16, 16), "float32"))
        yield f"batch_matmul-{ta}-{tb}", Make(lambda a, b, ta=ta, tb=tb: topi.nn.batch_matmul(a, b, transpose_a=ta, transpose_b=tb), ((2, 16, 16), "float16"), ((2, 16, 16), "float16"))
    yield "batch_matmul", Make(topi.nn.batch_matmul, ((2, 16, 64), "float32"), ((2, 32, 64), "float32"))
    yield "dense", Make(lambda a, b, c: topi.nn.dense(a, b, c), ((16, 64), "float32"), ((32, 64), "float32"), ((32,), "float32"))
    yield "dense-int8", Make(lambda a, b: topi.nn.dense(a, b, None, "int32"), ((16, 64), "int8"), ((32, 64), "int8"))
    yield "tensordot", Make(lambda a, b: topi.tensordot(a, b, 2), ((3, 4, 5), "float32"), ((4, 5, 6), "float32"))
    for subscripts, shapes in [("ij,jk->ik", [(4, 5), (5, 6)]), ("bij,bjk->bik", [(2, 4, 5), (2, 5, 6)]), ("ii->i", [(4, 4)]),
                               ("ij->", [(4, 4)]), ("i,j->ij", [(4,), (5,)]), ("bhqd,bhkd->bhqk", [(1, 2, 4, 8), (1, 2, 6, 8)]),
                               ("ij,ij->ij", [(4, 5)] * 2), ("ijk->kji", [(2, 3, 4)]), ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 5)])]:
        yield f"einsum-{subscripts}", Make(lambda *t, s=subscripts: topi.einsum(s, *t), *[(s, "float32") for s in shapes])


def Convolutions():
    f = "float32"
    for s, p, d in [(1, 0, 1), (1, 1, 1), (2, 1, 1), (1, 2, 2), ((2, 1), (0, 1), (1, 2))]:
        tag = f"-{s}-{p}-{d}"
        plain = (s, p, d) == (1, 1, 1)
        yield "conv2d_nchw" + ("" if plain else tag), Make(lambda a, w, s=s, p=p, d=d: topi.nn.conv2d_nchw(a, w, s, p, d), ((1, 8, 14, 14), f), ((16, 8, 3, 3), f))
        yield "conv2d_nhwc" + ("" if plain else tag), Make(lambda a, w, s=s, p=p, d=d: topi.nn.conv2d_nhwc(a, w, s, p, d), ((1, 14, 14, 8), f), ((3, 3, 8, 16), f))
        yield "depthwise_nchw" + ("" if plain else tag), Make(lambda a, w, s=s, p=p, d=d: topi.nn.depthwise_conv2d_nchw(a, w, s, p, d), ((1, 8, 14, 14), f), ((8, 1, 3, 3), f))
        yield "depthwise_nhwc" + tag, Make(lambda a, w, s=s, p=p, d=d: topi.nn.depthwise_conv2d_nhwc(a, w, s, p, d), ((1, 14, 14, 8), f), ((3, 3, 8, 2), f))
        yield "group_conv" + ("" if plain else tag), Make(lambda a, w, s=s, p=p, d=d: topi.nn.group_conv2d_nchw(a, w, s, p, d, 4), ((1, 8, 14, 14), f), ((16, 2, 3, 3), f))
        yield "group_conv_nhwc" + tag, Make(lambda a, w, s=s, p=p, d=d: topi.nn.group_conv2d_nhwc(a, w, s, p, d, 4), ((1, 14, 14, 8), f), ((3, 3, 2, 16), f))
    yield "conv2d-float16", Make(lambda a, w: topi.nn.conv2d_nchw(a, w, 1, 1, 1, "float32"), ((1, 8, 14, 14), "float16"), ((16, 8, 3, 3), "float16"))
    yield "conv2d-int8", Make(lambda a, w: topi.nn.conv2d_nhwc(a, w, 1, 1, 1, "int32"), ((1, 14, 14, 8), "uint8"), ((3, 3, 8, 16), "int8"))
    yield "conv2d_hwcn", Make(lambda a, w: topi.nn.conv2d_hwcn(a, w, 1, 1, 1), ((14, 14, 8, 1), f), ((3, 3, 8, 16), f))
    yield "conv2d_nchwc", Make(lambda a, w: topi.nn.conv2d_NCHWc(a, w, 1, 1, 1, "NCHW8c", "NCHW8c"), ((1, 2, 14, 14, 8), f), ((2, 2, 3, 3, 8, 8), f))
    yield "conv2d_nchwc-int8", Make(lambda a, w: topi.nn.conv2d_NCHWc_int8(a, w, 1, 1, 1, "NCHW8c", "NCHW8c"), ((1, 2, 14, 14, 8), "uint8"), ((2, 2, 3, 3, 2, 8, 4), "int8"))
    yield "conv1d_ncw", Make(lambda a, w: topi.nn.conv1d_ncw(a, w, 1, 1, 1), ((1, 8, 64), f), ((16, 8, 3), f))
    yield "conv1d_nwc", Make(lambda a, w: topi.nn.conv1d_nwc(a, w, 2, 1, 1), ((1, 64, 8), f), ((3, 8, 16), f))
    yield "group_conv1d", Make(lambda a, w: topi.nn.group_conv1d_ncw(a, w, 1, 1, 1, 4), ((1, 8, 64), f), ((16, 2, 3), f))
    yield "conv3d", Make(lambda a, w: topi.nn.conv3d_ncdhw(a, w, 1, 1, 1, 1), ((1, 4, 6, 8, 8), f), ((8, 4, 3, 3, 3), f))
    yield "conv3d_ndhwc", Make(lambda a, w: topi.nn.conv3d_ndhwc(a, w, 1, 1, 1, 1), ((1, 6, 8, 8, 4), f), ((3, 3, 3, 4, 8), f))
    yield "conv1d_transpose", Make(lambda a, w: topi.nn.conv1d_transpose_ncw(a, w, (2,), (1, 1), f, (0,)), ((1, 4, 16), f), ((4, 8, 4), f))
    yield "conv2d_transpose", Make(lambda a, w: topi.nn.conv2d_transpose_nchw(a, w, (2, 2), (1, 1), f, (0, 0)), ((1, 4, 8, 8), f), ((4, 6, 4, 4), f))
    yield "group_conv2d_transpose", Make(lambda a, w: topi.nn.group_conv2d_transpose_nchw(a, w, (2, 2), (1, 1), f, (0, 0), 2), ((1, 4, 8, 8), f), ((4, 3, 4, 4), f))
    yield "conv3d_transpose", Make(lambda a, w: topi.nn.conv3d_transpose_ncdhw(a, w, (2, 2, 2), (1, 1, 1), f, (0, 0, 0)), ((1, 4, 4, 4, 4), f), ((4, 6, 4, 4, 4), f))
    yield "winograd", Make(lambda a, w: topi.nn.conv2d_winograd_nhwc(a, w, 1, 1, 1, f), ((1, 14, 14, 8), f), ((3, 3, 8, 8), f))
    yield "winograd_nchw", Make(lambda a, w: topi.nn.conv2d_winograd_nchw(a, w, 1, 1, 1, f), ((1, 8, 14, 14), f), ((8, 8, 3, 3), f))
    yield "deformable_nchw", Make(lambda a, o, w: topi.nn.deformable_conv2d_nchw(a, o, w, 1, 1, 1, 1, 1, f), ((1, 4, 8, 8), f), ((1, 18, 8, 8), f), ((8, 4, 3, 3), f))
    yield "deformable_nhwc", Make(lambda a, o, w: topi.nn.deformable_conv2d_nhwc(a, o, w, 1, 1, 1, 1, 1, f), ((1, 8, 8, 4), f), ((1, 8, 8, 18), f), ((3, 3, 4, 8), f))
    yield "bitserial_nchw", Make(lambda a, w: topi.nn.bitserial_conv2d_nchw(a, w, 1, 1, 2, 1, "uint8"), ((1, 16, 8, 8), "uint8"), ((8, 16, 3, 3), "uint8"))
    yield "bitserial_dense", Make(lambda a, w: topi.nn.bitserial_dense(a, w, 1, 1, "uint8"), ((4, 32), "uint8"), ((8, 32), "uint8"))
    yield "binary_dense", Make(lambda a, w: topi.nn.binary_dense(topi.nn.binarize_pack(a), topi.nn.binarize_pack(w)), ((4, 64), f), ((8, 64), f))
    yield "correlation", Make(lambda a, b: topi.nn.correlation_nchw(a, b, 1, 2, 1, 1, 2, True), ((1, 4, 8, 8), f), ((1, 4, 8, 8), f))
    yield "dilation2d_nchw", Make(lambda a, w: topi.image.dilation2d_nchw(a, w, 1, 1, 1), ((1, 4, 8, 8), f), ((4, 3, 3), f))
    yield "dilation2d_nhwc", Make(lambda a, w: topi.image.dilation2d_nhwc(a, w, 1, 1, 1), ((1, 8, 8, 4), f), ((3, 3, 4), f))
    yield "dilate", Make(lambda a: topi.nn.dilate(a, (2, 3)), ((4, 4), f))


def Pools():
    f = "float32"
    for kind, dtype in itertools.product(["max", "avg"], ["float32", "float16", "int8"]):
        name = f"{kind}_pool2d" + ("" if dtype == f else f"-{dtype}")
        yield name, Make(lambda a, k=kind: topi.nn.pool2d(a, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), k), ((1, 4, 9, 9), dtype))
        yield name + "-ceil", Make(lambda a, k=kind: topi.nn.pool2d(a, (2, 2), (2, 2), (1, 1), (0, 0, 0, 0), k, ceil_mode=True, count_include_pad=False), ((1, 4, 9, 9), dtype))
    for kind in ("max", "avg"):
        yield f"{kind}_pool1d", Make(lambda a, k=kind: topi.nn.pool1d(a, (3,), (2,), (1,), (1, 1), k), ((1, 4, 9), f))
        yield f"{kind}_pool3d", Make(lambda a, k=kind: topi.nn.pool3d(a, (3, 3, 3), (2, 2, 2), (1, 1, 1), (1,) * 6, k), ((1, 4, 9, 9, 9), f))
        yield f"{kind}_pool-nhwc", Make(lambda a, k=kind: topi.nn.pool2d(a, (3, 3), (2, 2), (1, 1), (1, 1, 1, 1), k, layout="NHWC"), ((1, 9, 9, 4), f))
        yield f"{kind}_adaptive", Make(lambda a, k=kind: topi.nn.adaptive_pool(a, (3, 3), k), ((1, 4, 10, 10), f))
        yield f"{kind}_adaptive1d", Make(lambda a, k=kind: topi.nn.adaptive_pool1d(a, (3,), k), ((1, 4, 10), f))
        yield f"{kind}_adaptive3d", Make(lambda a, k=kind: topi.nn.adaptive_pool3d(a, (3, 3, 3), k), ((1, 4, 10, 10, 10), f))
        yield f"{kind}_global", Make(lambda a, k=kind: topi.nn.global_pool(a, k), ((1, 4, 10, 10), f))
        yield f"{kind}_pool_grad", Make(lambda g, a, k=kind: topi.nn.pool_grad(g, a, (2, 2), (2, 2), (0, 0, 0, 0), k), ((1, 4, 4, 4), f), ((1, 4, 8, 8), f))
    yield "softplus", Make(topi.nn.softplus, ((8,), f))
    yield "leaky_relu", Make(lambda a: topi.nn.leaky_relu(a, 0.1), ((8,), f))
    yield "prelu", Make(lambda a, s: topi.nn.prelu(a, s), ((1, 4, 8), f), ((4,), f))
    yield "scale_shift", Make(topi.nn.scale_shift_nchw, ((1, 4, 8, 8), f), ((4,), f), ((4,), f))
    for mode in ("nearest_neighbor", "linear", "cubic"):
        for transformation in ("half_pixel", "asymmetric", "align_corners"):
            yield f"resize2d-{mode}" + ("" if transformation == "half_pixel" else "-" + transformation), Make(
                lambda a, m=mode, t=transformation: topi.image.resize2d(a, [0.0] * 4, (13, 16), method=m, coordinate_transformation_mode=t, rounding_method="round"), ((1, 4, 8, 8), f))
        yield f"resize1d-{mode}", Make(lambda a, m=mode: topi.image.resize1d(a, [0.0] * 2, (13,), method=m), ((1, 4, 8), f))
        yield f"resize3d-{mode}", Make(lambda a, m=mode: topi.image.resize3d(a, [0.0] * 6, (13, 9, 8), method=m), ((1, 4, 8, 8, 8), f))
    yield "upsampling", Make(lambda a: topi.nn.upsampling(a, 2, 2), ((1, 4, 8, 8), f))
    yield "upsampling-bilinear", Make(lambda a: topi.nn.upsampling(a, 2, 2, method="bilinear"), ((1, 4, 8, 8), f))
    yield "crop_and_resize", Make(lambda a, b, i: topi.image.crop_and_resize(a, b, i, (5, 5), extrapolation_value=0.0), ((1, 4, 8, 8), f), ((2, 4), f), ((2,), "int32"))
    for mode, padding in itertools.product(["bilinear", "nearest", "bicubic"], ["zeros", "border", "reflection"]):
        yield f"grid_sample-{mode}-{padding}", Make(lambda a, g, m=mode, p=padding: topi.image.grid_sample(a, g, m, "NCHW", p), ((1, 4, 8, 8), f), ((1, 2, 5, 5), f))
    yield "affine_grid", Make(lambda a: topi.image.affine_grid(a, (5, 6)), ((1, 2, 3), f))
    yield "roi_align", Make(lambda a, r: topi.vision.roi_align(a, r, (3, 3), 1.0, "avg", 2), ((1, 4, 8, 8), f), ((2, 5), f))
    yield "roi_align-max", Make(lambda a, r: topi.vision.roi_align(a, r, (3, 3), 1.0, "max", -1), ((1, 4, 8, 8), f), ((2, 5), f))
    yield "roi_pool", Make(lambda a, r: topi.vision.roi_pool(a, r, (3, 3), 1.0), ((1, 4, 8, 8), f), ((2, 5), f))
    yield "valid_counts", Make(lambda a: topi.vision.get_valid_counts(a, 0.5), ((1, 10, 6), f))
    yield "nms", Make(lambda a, v, i: topi.vision.non_max_suppression(a, v, i, 5, 0.5), ((1, 10, 6), f), ((1,), "int32"), ((1, 10), "int32"))
    yield "all_class_nms", Make(lambda b, s: topi.vision.all_class_non_max_suppression(b, s, tirx.const(5, "int64"), 0.5, 0.1), ((1, 10, 4), f), ((1, 3, 10), f))


def Transforms():
    f = "float32"
    yield "transpose", Make(lambda a: topi.transpose(a, (0, 2, 1)), ((4, 16, 32), f))
    yield "transpose-reversed", Make(topi.transpose, ((4, 16), f))
    yield "reshape", Make(lambda a: topi.reshape(a, (8, 8)), ((4, 16), f))
    yield "expand_dims", Make(lambda a: topi.expand_dims(a, 1, 2), ((4, 16), f))
    yield "squeeze", Make(lambda a: topi.squeeze(a), ((1, 4, 1), f))
    yield "squeeze-all", Make(lambda a: topi.squeeze(a), ((1, 1), f))
    yield "concatenate", Make(lambda a, b, c: topi.concatenate((a, b, c), 1), ((4, 16), f), ((4, 8), f), ((4, 3), f))
    yield "stack", Make(lambda a, b: topi.stack((a, b), 1), ((4, 16), f), ((4, 16), f))
    yield "split", Make(lambda a: topi.split(a, [3, 8], 1), ((4, 16), f))
    for mode in ("fast", "clip", "wrap", "nan"):
        yield "take" + ("" if mode == "fast" else "-" + mode), Make(lambda a, i, m=mode: topi.take(a, i, 0, mode=m), ((40, 16), f), ((5, 2), "int64"))
    yield "take-flat", Make(lambda a, i: topi.take(a, i), ((40, 16), f), ((5,), "int32"))
    yield "gather", Make(lambda a, i: topi.gather(a, 0, i), ((40, 16), f), ((5, 16), "int64"))
    yield "gather_nd", Make(lambda a, i: topi.gather_nd(a, i), ((40, 16), f), ((2, 5), "int32"))
    yield "flip", Make(lambda a: topi.flip(a, 1), ((4, 16), f))
    yield "reverse_sequence", Make(lambda a, l: topi.reverse_sequence(a, l, 1, 0), ((4, 16), f), ((4,), "int32"))
    yield "strided_slice", Make(lambda a: topi.strided_slice(a, [0, 1], [4, 9], [1, 2]), ((4, 16), f))
    yield "strided_slice-negative", Make(lambda a: topi.strided_slice(a, [3, 14], [0, 2], [-1, -3]), ((4, 16), f))
    yield "strided_set", Make(lambda a, v, b, e: topi.strided_set(a, v, b, e), ((16,), f), ((4,), f), ((1,), "int32"), ((1,), "int32"))
    yield "repeat", Make(lambda a: topi.repeat(a, 3, 0), ((4, 16), f))
    yield "tile", Make(lambda a: topi.tile(a, (2, 3)), ((4, 16), f))
    yield "broadcast_to", Make(lambda a: topi.broadcast_to(a, (4, 5, 16)), ((5, 1), f))
    yield "arange", Make(lambda a: topi.arange(0, 10, 2, "int64"), ((1,), f))
    yield "meshgrid", Make(lambda a, b: topi.meshgrid([a, b], "ij"), ((4,), f), ((5,), f))
    yield "layout_transform", Make(lambda a: topi.layout_transform(a, "NCHW", "NCHW8c"), ((1, 16, 4, 4), f))
    yield "layout_transform-odd", Make(lambda a: topi.layout_transform(a, "NCHW", "NCHW8c"), ((1, 13, 4, 4), f))
    yield "shape", Make(topi.shape, ((4, 16), f))
    yield "tensor_size", Make(topi.tensor_size, ((4, 16), f))
    yield "sequence_mask", Make(lambda a, l: topi.sequence_mask(a, l), ((4, 16), f), ((16,), "int32"))
    yield "one_hot", Make(lambda i: topi.one_hot(i, tirx.const(1.0, f), tirx.const(0.0, f), 10, -1, f), ((5,), "int32"))
    yield "unravel_index", Make(lambda i, s: topi.unravel_index(i, s), ((5,), "int32"), ((2,), "int32"))
    yield "sparse_to_dense", Make(lambda i, v, d: topi.sparse_to_dense(i, (3, 4), v, d()), ((2, 2), "int32"), ((2,), f), ((), f))
    yield "matrix_set_diag", Make(lambda a, d: topi.matrix_set_diag(a, d), ((4, 4), f), ((4,), f))
    yield "adv_index", Make(lambda a, i, j: topi.adv_index(a, [i, j]), ((4, 5, 6), f), ((3,), "int32"), ((3,), "int32"))
    yield "sliding_window", Make(lambda a: topi.sliding_window(a, 0, (3, 2), (1, 2)), ((8, 9), f))
    for upper in (True, False):
        yield f"trilu-{upper}", Make(lambda a, u=upper: topi.trilu(a, tirx.const(1), u), ((8, 8), f))
    yield "hamming_window", Make(lambda a: topi.hamming_window(10, True, 0.54, 0.46, f), ((1,), f))
    yield "index_tensor", Make(lambda a, i: topi.index_tensor(a, [i]), ((4, 5), f), ((3,), "int64"))
    for mode in ("update", "add", "mul", "min", "max"):
        yield f"scatter_nd-{mode}", Make(lambda a, i, u, m=mode: topi.scatter_nd(a, i, u, m), ((16, 4), f), ((1, 5), "int32"), ((5, 4), f))
        yield "scatter_elements" + ("" if mode == "update" else "-" + mode), Make(lambda a, i, u, m=mode: topi.scatter_elements(a, i, u, 1, m), ((8, 16), f), ((8, 4), "int64"), ((8, 4), f))
    yield "slice_scatter", Make(lambda a, s: topi.slice_scatter(a, s, 2, 10, 2, 1), ((8, 16), f), ((8, 4), f))
    yield "index_put", Make(lambda a, i, j, v: topi.index_put(a, [i, j], v), ((8, 4), f), ((3,), "int64"), ((3,), "int64"), ((3,), f))
    yield "index_put-accumulate", Make(lambda a, i, j, v: topi.index_put(a, [i, j], v, True), ((8, 4), f), ((3,), "int64"), ((3,), "int64"), ((3,), f))
    for dtype in (f, "int32"):
        yield f"sort-{dtype}", Make(topi.sort, ((4, 16), dtype))
        yield f"argsort-{dtype}", Make(topi.argsort, ((4, 16), dtype))
        yield f"topk-{dtype}", Make(lambda a: topi.topk(a, 3), ((4, 16), dtype))
    yield "searchsorted", Make(topi.searchsorted, ((4, 16), f), ((4, 5), f))
    yield "searchsorted-right", Make(lambda s, v: topi.searchsorted(s, v, True, "int32"), ((16,), f), ((4, 5), f))
    for name in ("pad", "reflect_pad", "replicate_pad", "circular_pad"):
        yield name, Make(lambda a, n=name: getattr(topi.nn, n)(a, (1, 2), (2, 1)), ((6, 7), f))
    for mode in ("SYMMETRIC", "REFLECT"):
        yield f"mirror_pad-{mode}", Make(lambda a, m=mode: topi.nn.mirror_pad(a, (1, 2), (2, 1), m), ((6, 7), f))
    yield "flatten", Make(topi.nn.flatten, ((2, 3, 4), f))
    yield "depth_to_space", Make(lambda a: topi.nn.depth_to_space(a, 2), ((1, 8, 4, 4), f))
    yield "space_to_depth", Make(lambda a: topi.nn.space_to_depth(a, 2), ((1, 8, 4, 4), f))
    yield "space_to_batch", Make(lambda a: topi.nn.space_to_batch_nd(a, [2, 2], [0, 0], [0, 0]), ((1, 4, 4, 3), f))
    yield "batch_to_space", Make(lambda a: topi.nn.batch_to_space_nd(a, [2, 2], [0, 0], [0, 0]), ((4, 4, 4, 3), f))
    yield "fifo_buffer", Make(lambda a, b: topi.nn.fifo_buffer(a, b, 1), ((1, 2, 3), f), ((1, 6, 3), f))
    yield "dft", Make(lambda a, b: topi.dft(a, b, False), ((4, 8), f), ((4, 8), f))
    yield "stft", Make(lambda a, w: topi.stft(a, 8, 4, 8, w, False, True, (1, 5, 3, 2)), ((1, 16), f), ((8,), f))
    yield "dynamic_slice", Make(lambda a, b, e, s: topi.dynamic_strided_slice(a, b, e, s, [te.var("o")]), ((16,), f), ((1,), "int64"), ((1,), "int64"), ((1,), "int64"))


def WithSymbols():
    for name, compute in [("softmax", topi.nn.softmax), ("relu", topi.nn.relu), ("transpose", topi.transpose),
                          ("sum", lambda a: topi.sum(a, 1)), ("argmax", lambda a: topi.argmax(a, 1)),
                          ("reshape", lambda a: topi.reshape(a, (a.shape[0] * a.shape[1],))), ("tile", lambda a: topi.tile(a, (2, 2))),
                          ("slice", lambda a: topi.strided_slice(a, [0, 1], [2, 5])), ("concat", lambda a: topi.concatenate((a, a), 0)),
                          ("pad", lambda a: topi.nn.pad(a, (1, 1), (1, 1))), ("cumsum", lambda a: topi.cumsum(a, 1)),
                          ("split", lambda a: topi.split(a, 2, 0)), ("max", lambda a: topi.max(a)), ("sort", topi.sort), ("flip", topi.flip)]:
        for dtype in ("int64", "int32"):
            def Create(compute=compute, dtype=dtype):
                n, m = te.var("n", dtype), te.var("m", dtype)
                a = P((n, m), "A")
                results = compute(a)
                results = list(results) if type(results).__name__ in ("Array", "list", "tuple") else [results]
                return te.create_prim_func([a, *results])
            yield f"{name}-dynamic" + ("" if dtype == "int64" else "-int32"), Create


def Workloads():
    from tvm.s_tir.meta_schedule.testing import te_workload
    for name, (_, params) in te_workload.CONFIGS.items():
        for index in range(len(params)):
            yield name + (f"-{index}" if index else ""), lambda name=name, index=index: te_workload.create_te_workload(name, index)


def All():
    for family in (Elementwise, Reductions, Contractions, Convolutions, Pools, Transforms, WithSymbols, Workloads):
        yield from family()


def Relax():
    """Operators of Relax, legalized: modules of the functions that they become."""
    from tvm import relax
    op = relax.op
    f = "float32"

    def Build(compute, *inputs):
        def Create():
            builder = relax.BlockBuilder()
            args = [relax.Var(f"a{i}", relax.TensorType(shape, dtype) if hasattr(relax, "TensorType") else relax.TensorStructInfo(shape, dtype))
                    for i, (shape, dtype) in enumerate(inputs)]
            with builder.function("main", args):
                with builder.dataflow():
                    result = builder.emit_output(builder.emit(compute(*args)))
                builder.emit_func_output(result)
            module = relax.transform.LegalizeOps()(builder.get())
            return tvm.IRModule({var: function for var, function in module.functions.items()
                                 if isinstance(function, tirx.PrimFunc)})
        return Create

    def Symbol(name):
        return tirx.Var(name, "int64")

    for name in ("abs acos asin atan ceil cos erf exp floor log negative round rsqrt sigmoid sign sin sqrt square tan tanh "
                 "isnan isinf isfinite cosh sinh").split():
        if hasattr(op, name):
            yield name, Build(getattr(op, name), ((4, 8), f))
            n = Symbol("n") if tvm else None
            yield name + "-dynamic", Build(getattr(op, name), ((n, 8), f))
    for name in ("add subtract multiply divide power floor_divide maximum minimum equal greater less mod floor_mod bitwise_and").split():
        if hasattr(op, name):
            n = Symbol("n") if tvm else None
            yield name, Build(getattr(op, name), ((4, 1), "int32"), ((4, 8), "int32"))
            yield name + "-dynamic", Build(getattr(op, name), ((n, 8), "float16"), ((n, 8), "float16"))
    n, m = Symbol("n"), Symbol("m")
    yield "matmul", Build(op.matmul, ((2, 4, 8), f), ((8, 16), f))
    yield "matmul-dynamic", Build(op.matmul, ((n, 8), f), ((8, m), f))
    yield "sum", Build(lambda a: op.sum(a, axis=1), ((n, m), f))
    yield "mean", Build(lambda a: op.mean(a, axis=1), ((n, m), f))
    yield "variance", Build(lambda a: op.variance(a, axis=1), ((n, m), f))
    yield "std", Build(lambda a: op.std(a, axis=1), ((4, 8), f))
    yield "cumsum", Build(lambda a: op.cumsum(a, axis=1), ((n, m), f))
    yield "argmax", Build(lambda a: op.argmax(a, axis=1), ((n, m), f))
    yield "where", Build(op.where, ((n, m), "bool"), ((n, m), f), ((n, m), f))
    yield "reshape", Build(lambda a: op.reshape(a, (m, n)), ((n, m), f))
    yield "permute", Build(lambda a: op.permute_dims(a, [1, 0]), ((n, m), f))
    yield "concat", Build(lambda a, b: op.concat([a, b], 0), ((n, 4), f), ((m, 4), f))
    yield "split", Build(lambda a: op.split(a, 2, 1), ((n, 4), f))
    yield "take", Build(lambda a, i: op.take(a, i, 0), ((n, 4), f), ((m,), "int32"))
    yield "tril", Build(lambda a: op.tril(a, 1), ((n, m), f))
    yield "full", Build(lambda a: op.full((4, 4), a, f), ((), f))
    yield "arange", Build(lambda a: op.arange(0, n, 1, "int64"), ((n,), f))
    yield "one_hot", Build(lambda i: op.one_hot(i, relax.PrimValue(1), relax.PrimValue(0), 10), ((n,), "int32"))
    yield "repeat", Build(lambda a: op.repeat(a, 2, 0), ((n, 4), f))
    yield "scatter_elements", Build(lambda a, i, u: op.scatter_elements(a, i, u, 0), ((n, 4), f), ((m, 4), "int64"), ((m, 4), f))
    yield "sort", Build(lambda a: op.sort(a), ((n, 4), f))
    yield "topk", Build(lambda a: op.topk(a, 2), ((n, 4), f))
    yield "unique", Build(lambda a: op.unique(a), ((n,), "int64"))
    nn = op.nn
    yield "conv2d", Build(lambda a, w: nn.conv2d(a, w, padding=1), ((n, 3, 14, 14), f), ((8, 3, 3, 3), f))
    yield "conv1d", Build(lambda a, w: nn.conv1d(a, w, padding=1), ((n, 3, 14), f), ((8, 3, 3), f))
    yield "conv2d_transpose", Build(lambda a, w: nn.conv2d_transpose(a, w, strides=2), ((n, 3, 14, 14), f), ((3, 8, 3, 3), f))
    yield "max_pool2d", Build(lambda a: nn.max_pool2d(a, (2, 2), (2, 2)), ((n, 3, 14, 14), f))
    yield "avg_pool2d", Build(lambda a: nn.avg_pool2d(a, (2, 2), (2, 2)), ((n, 3, 14, 14), f))
    yield "adaptive", Build(lambda a: nn.adaptive_avg_pool2d(a, (1, 1)), ((n, 3, 14, 14), f))
    yield "softmax", Build(nn.softmax, ((n, m), f))
    yield "log_softmax", Build(nn.log_softmax, ((n, m), f))
    yield "gelu", Build(nn.gelu, ((n, m), "float16"))
    yield "gelu_tanh", Build(nn.gelu_tanh, ((n, m), f))
    yield "silu", Build(nn.silu, ((n, m), f))
    yield "relu", Build(nn.relu, ((n, m), f))
    yield "layer_norm", Build(lambda a, g, b: nn.layer_norm(a, g, b, [-1]), ((n, 64), f), ((64,), f), ((64,), f))
    yield "rms_norm", Build(lambda a, g: nn.rms_norm(a, g, [-1]), ((n, 64), "float16"), ((64,), "float16"))
    yield "group_norm", Build(lambda a, g, b: nn.group_norm(a, g, b, 2, 1, [2, 3]), ((n, 4, 8, 8), f), ((4,), f), ((4,), f))
    yield "batch_norm", Build(lambda a, g, b, u, v: nn.batch_norm(a, g, b, u, v, 1)[0], ((n, 4, 8, 8), f), *[((4,), f)] * 4)
    yield "dropout", Build(lambda a: nn.dropout(a)[0], ((n, 4), f))
    yield "attention", Build(lambda q, k, v: nn.attention(q, k, v), *[((2, 16, 4, 8), f)] * 3)
    yield "cross_entropy", Build(nn.cross_entropy_with_logits, ((n, 4), f), ((n, 4), f))
    yield "pad", Build(lambda a: nn.pad(a, [1, 1, 2, 2]), ((n, 4), f))
    yield "resize2d", Build(lambda a: op.image.resize2d(a, (28, 28)), ((n, 3, 14, 14), f))
    yield "quantize", Build(lambda a, s, z: op.quantize(a, s, z, 1, "int8"), ((n, 4), f), ((4,), f), ((4,), "int8"))
    yield "dequantize", Build(lambda a, s, z: op.dequantize(a, s, z, 1), ((n, 4), "int8"), ((4,), f), ((4,), "int8"))
