# A convolution of 3 x 3 over an image that is padded already, channels last.
@T.prim_func
def main(X: T.Buffer((1, 10, 10, 4), "float32"), W: T.Buffer((3, 3, 4, 8), "float32"), Y: T.Buffer((1, 8, 8, 8), "float32")):
    for n, h, w, o, rh, rw, c in T.grid(1, 8, 8, 8, 3, 3, 4):
        with T.block("Y"):
            vn, vh, vw, vo, vrh, vrw, vc = T.axis.remap("SSSSRRR", [n, h, w, o, rh, rw, c])
            with T.init():
                Y[vn, vh, vw, vo] = T.float32(0)
            Y[vn, vh, vw, vo] = Y[vn, vh, vw, vo] + X[vn, vh + vrh, vw + vrw, vc] * W[vrh, vrw, vc, vo]
