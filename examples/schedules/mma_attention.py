# Attention of two heads, step by step: all scores, the greatest of a row, probabilities, their sum, weighted values.
@T.prim_func
def main(Q: T.Buffer((2, 128, 64), "float16"), K: T.Buffer((2, 128, 64), "float16"), V: T.Buffer((2, 128, 64), "float16"), O: T.Buffer((2, 128, 64), "float32")):
    S = T.alloc_buffer((2, 128, 128), "float32")
    M = T.alloc_buffer((2, 128), "float32")
    P = T.alloc_buffer((2, 128, 128), "float16")
    L = T.alloc_buffer((2, 128), "float32")
    R = T.alloc_buffer((2, 128, 64), "float32")
    for b, i, j, d in T.grid(2, 128, 128, 64):
        with T.block("S"):
            vb, vi, vj, vd = T.axis.remap("SSSR", [b, i, j, d])
            with T.init():
                S[vb, vi, vj] = T.float32(0)
            S[vb, vi, vj] = S[vb, vi, vj] + T.Cast("float32", Q[vb, vi, vd]) * T.Cast("float32", K[vb, vj, vd])
    for b, i, j in T.grid(2, 128, 128):
        with T.block("M"):
            vb, vi, vj = T.axis.remap("SSR", [b, i, j])
            with T.init():
                M[vb, vi] = T.float32(-3.4028235e+38)
            M[vb, vi] = T.max(M[vb, vi], S[vb, vi, vj])
    for b, i, j in T.grid(2, 128, 128):
        with T.block("P"):
            vb, vi, vj = T.axis.remap("SSS", [b, i, j])
            P[vb, vi, vj] = T.Cast("float16", T.exp((S[vb, vi, vj] - M[vb, vi]) * T.float32(0.125)))
    for b, i, j in T.grid(2, 128, 128):
        with T.block("L"):
            vb, vi, vj = T.axis.remap("SSR", [b, i, j])
            with T.init():
                L[vb, vi] = T.float32(0)
            L[vb, vi] = L[vb, vi] + T.Cast("float32", P[vb, vi, vj])
    for b, i, d, j in T.grid(2, 128, 64, 128):
        with T.block("R"):
            vb, vi, vd, vj = T.axis.remap("SSSR", [b, i, d, j])
            with T.init():
                R[vb, vi, vd] = T.float32(0)
            R[vb, vi, vd] = R[vb, vi, vd] + T.Cast("float32", P[vb, vi, vj]) * T.Cast("float32", V[vb, vj, vd])
    for b, i, d in T.grid(2, 128, 64):
        with T.block("O"):
            vb, vi, vd = T.axis.remap("SSS", [b, i, d])
            O[vb, vi, vd] = R[vb, vi, vd] / L[vb, vi]
