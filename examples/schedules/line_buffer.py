# An activation and a depthwise convolution of its result, 3 x 3.
@T.prim_func
def main(
    X: T.Buffer((18, 14, 16), "float32"),
    S: T.Buffer((16,), "float32"),
    W: T.Buffer((3, 3, 16), "float32"),
    Y: T.Buffer((16, 12, 16), "float32"),
):
    P = T.alloc_buffer((18, 14, 16), "float32")
    for h, w, c in T.grid(18, 14, 16):
        with T.block("P"):
            vh, vw, vc = T.axis.remap("SSS", [h, w, c])
            P[vh, vw, vc] = T.max(X[vh, vw, vc] * S[vc], T.float32(0))
    for h, w, c, r, s in T.grid(16, 12, 16, 3, 3):
        with T.block("Y"):
            vh, vw, vc, vr, vs = T.axis.remap("SSSRR", [h, w, c, r, s])
            with T.init():
                Y[vh, vw, vc] = T.float32(0)
            Y[vh, vw, vc] = Y[vh, vw, vc] + P[vh + vr, vw + vs, vc] * W[vr, vs, vc]
