# A bilinear form for each of 64 pairs of vectors and 96 outputs: y[b, o] = sum over i, j of x[b, i] W[o, i, j] z[b, j].
@T.prim_func
def main(
    X: T.Buffer((64, 64), "float32"),
    W: T.Buffer((96, 64, 64), "float32"),
    Z: T.Buffer((64, 64), "float32"),
    Y: T.Buffer((64, 96), "float32"),
):
    T.func_attr({"tilewright.constant_params": [1]})  # the weights: packed once, ahead of time
    for b, o, i, j in T.grid(64, 96, 64, 64):
        with T.block("bilinear"):
            vb, vo, vi, vj = T.axis.remap("SSRR", [b, o, i, j])
            with T.init():
                Y[vb, vo] = T.float32(0)
            Y[vb, vo] += X[vb, vi] * W[vo, vi, vj] * Z[vb, vj]
