# Scores of an attention layer: scaled products of queries and keys for each of 12 heads, plus a mask that is added.
@T.prim_func
def main(
    Q: T.Buffer((2, 128, 12, 64), "float32"),
    K: T.Buffer((2, 128, 12, 64), "float32"),
    M: T.Buffer((2, 128, 128), "float32"),
    S: T.Buffer((2, 12, 128, 128), "float32"),
):
    dots = T.alloc_buffer((2, 12, 128, 128))
    for b, h, i, j, d in T.grid(2, 12, 128, 128, 64):
        with T.block("dots"):
            vb, vh, vi, vj, vd = T.axis.remap("SSSSR", [b, h, i, j, d])
            with T.init():
                dots[vb, vh, vi, vj] = T.float32(0)
            dots[vb, vh, vi, vj] += Q[vb, vi, vh, vd] * K[vb, vj, vh, vd]
    for b, h, i, j in T.grid(2, 12, 128, 128):
        with T.block("mask"):
            vb, vh, vi, vj = T.axis.remap("SSSS", [b, h, i, j])
            S[vb, vh, vi, vj] = dots[vb, vh, vi, vj] * T.float32(0.125) + M[vb, vi, vj]
