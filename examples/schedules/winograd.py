# A convolution of 3 x 3 with stride 1 as Winograd's F(2 x 2, 3 x 3): tiles of 4 x 4 inputs and the weights are transformed,
# multiplied element by element and summed over channels, and transformed back to 2 x 2 outputs.
@T.prim_func
def main(X: T.Buffer((10, 10, 4), "float32"), W: T.Buffer((3, 3, 4, 6), "float32"), BT: T.Buffer((4, 4), "float32"), G: T.Buffer((4, 3), "float32"), AT: T.Buffer((2, 4), "float32"), Y: T.Buffer((8, 8, 6), "float32")):
    U = T.alloc_buffer((4, 4, 4, 6), "float32")
    V = T.alloc_buffer((4, 4, 16, 4), "float32")
    M = T.alloc_buffer((4, 4, 16, 6), "float32")
    for a, b, c, o, r, s in T.grid(4, 4, 4, 6, 3, 3):
        with T.block("U"):
            va, vb, vc, vo, vr, vs = T.axis.remap("SSSSRR", [a, b, c, o, r, s])
            with T.init():
                U[va, vb, vc, vo] = T.float32(0)
            U[va, vb, vc, vo] = U[va, vb, vc, vo] + G[va, vr] * W[vr, vs, vc, vo] * G[vb, vs]
    for a, b, t, c, r, s in T.grid(4, 4, 16, 4, 4, 4):
        with T.block("V"):
            va, vb, vt, vc, vr, vs = T.axis.remap("SSSSRR", [a, b, t, c, r, s])
            with T.init():
                V[va, vb, vt, vc] = T.float32(0)
            V[va, vb, vt, vc] = V[va, vb, vt, vc] + BT[va, vr] * X[vt // 4 * 2 + vr, vt % 4 * 2 + vs, vc] * BT[vb, vs]
    for a, b, t, o, c in T.grid(4, 4, 16, 6, 4):
        with T.block("M"):
            va, vb, vt, vo, vc = T.axis.remap("SSSSR", [a, b, t, o, c])
            with T.init():
                M[va, vb, vt, vo] = T.float32(0)
            M[va, vb, vt, vo] = M[va, vb, vt, vo] + V[va, vb, vt, vc] * U[va, vb, vc, vo]
    for h, w, o, a, b in T.grid(8, 8, 6, 4, 4):
        with T.block("Y"):
            vh, vw, vo, va, vb = T.axis.remap("SSSRR", [h, w, o, a, b])
            with T.init():
                Y[vh, vw, vo] = T.float32(0)
            Y[vh, vw, vo] = Y[vh, vw, vo] + AT[vh % 2, va] * M[va, vb, vh // 2 * 4 + vw // 2, vo] * AT[vw % 2, vb]
