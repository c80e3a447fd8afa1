# The convolution itself. The transforms are parameters of both.
@T.prim_func
def main(X: T.Buffer((10, 10, 4), "float32"), W: T.Buffer((3, 3, 4, 6), "float32"), BT: T.Buffer((4, 4), "float32"), G: T.Buffer((4, 3), "float32"), AT: T.Buffer((2, 4), "float32"), Y: T.Buffer((8, 8, 6), "float32")):
    for h, w, o, r, s, c in T.grid(8, 8, 6, 3, 3, 4):
        with T.block("Y"):
            vh, vw, vo, vr, vs, vc = T.axis.remap("SSSRRR", [h, w, o, r, s, c])
            with T.init():
                Y[vh, vw, vo] = T.float32(0)
            Y[vh, vw, vo] = Y[vh, vw, vo] + X[vh + vr, vw + vs, vc] * W[vr, vs, vc, vo]
