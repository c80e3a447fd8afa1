# A convolution of 3 x 3 with stride 2 and padding over a batch of images, channels last.
@T.prim_func
def main(X: T.Buffer((3, 17, 13, 64), "float16"), W: T.Buffer((3, 3, 64, 64), "float16"), Y: T.Buffer((3, 9, 7, 64), "float32")):
    P = T.alloc_buffer((3, 19, 15, 64), "float16")
    for n, h, w, c in T.grid(3, 19, 15, 64):
        with T.block("P"):
            vn, vh, vw, vc = T.axis.remap("SSSS", [n, h, w, c])
            P[vn, vh, vw, vc] = T.if_then_else(1 <= vh and vh < 18 and 1 <= vw and vw < 14, X[vn, vh - 1, vw - 1, vc], T.float16(0))
    for n, h, w, o, rh, rw, c in T.grid(3, 9, 7, 64, 3, 3, 64):
        with T.block("Y"):
            vn, vh, vw, vo, vrh, vrw, vc = T.axis.remap("SSSSRRR", [n, h, w, o, rh, rw, c])
            with T.init():
                Y[vn, vh, vw, vo] = T.float32(0)
            Y[vn, vh, vw, vo] = Y[vn, vh, vw, vo] + T.Cast("float32", P[vn, vh * 2 + vrh, vw * 2 + vrw, vc]) * T.Cast("float32", W[vrh, vrw, vc, vo])
