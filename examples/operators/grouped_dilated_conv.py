# A 3x3 convolution with holes of one element (dilation 2), the channels in 4 groups, and an activation that no library
# has: v (1 + v / (1 + |v|)) / 2, which falls to -1/2 on the left and approaches v on the right.
@T.prim_func
def main(
    X: T.Buffer((1, 28, 28, 128), "float32"),
    W: T.Buffer((3, 3, 32, 128), "float32"),
    Y: T.Buffer((1, 28, 28, 128), "float32"),
):
    T.func_attr({"tilewright.constant_params": [1]})  # the weights: packed once, ahead of time
    pad = T.alloc_buffer((1, 32, 32, 128))
    conv = T.alloc_buffer((1, 28, 28, 128))
    for n, h, w, c in T.grid(1, 32, 32, 128):
        with T.block("pad"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            pad[vn, vh, vw, vc] = T.if_then_else(
                2 <= vh and vh < 30 and 2 <= vw and vw < 30, X[vn, vh - 2, vw - 2, vc], T.float32(0))
    for n, h, w, o, kh, kw, c in T.grid(1, 28, 28, 128, 3, 3, 32):
        with T.block("conv"):
            vn, vh, vw, vo, vkh, vkw, vc = T.axis.remap("SSSSRRR", [n, h, w, o, kh, kw, c])
            with T.init():
                conv[vn, vh, vw, vo] = T.float32(0)
            conv[vn, vh, vw, vo] += pad[vn, vh + vkh * 2, vw + vkw * 2, vo // 32 * 32 + vc] * W[vkh, vkw, vc, vo]
    for n, h, w, o in T.grid(1, 28, 28, 128):
        with T.block("activation"):
            vn, vh, vw, vo = T.axis.remap("SSSS", [n, h, w, o])
            Y[vn, vh, vw, vo] = conv[vn, vh, vw, vo] * T.float32(0.5) * (
                T.float32(1) + conv[vn, vh, vw, vo] / (T.float32(1) + T.abs(conv[vn, vh, vw, vo])))
