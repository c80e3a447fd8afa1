# Attention step by step, with all scores.
@T.prim_func
def main(Q: T.Buffer((8, 4), "float32"), K: T.Buffer((16, 4), "float32"), V: T.Buffer((16, 4), "float32"), O: T.Buffer((8, 4), "float32")):
    P = T.alloc_buffer((8, 16), "float32")
    M = T.alloc_buffer((8,), "float32")
    S = T.alloc_buffer((8,), "float32")
    R = T.alloc_buffer((8, 4), "float32")
    for i, j, d in T.grid(8, 16, 4):
        with T.block("P"):
            vi, vj, vd = T.axis.remap("SSR", [i, j, d])
            with T.init():
                P[vi, vj] = T.float32(0)
            P[vi, vj] = P[vi, vj] + Q[vi, vd] * K[vj, vd]
    for i, j in T.grid(8, 16):
        with T.block("M"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                M[vi] = T.float32(-1.0e30)
            M[vi] = T.max(M[vi], P[vi, vj])
    for i, j in T.grid(8, 16):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.exp(P[vi, vj] - M[vi])
    for i, d, j in T.grid(8, 4, 16):
        with T.block("R"):
            vi, vd, vj = T.axis.remap("SSR", [i, d, j])
            with T.init():
                R[vi, vd] = T.float32(0)
            R[vi, vd] = R[vi, vd] + T.exp(P[vi, vj] - M[vi]) * V[vj, vd]
    for i, d in T.grid(8, 4):
        with T.block("O"):
            vi, vd = T.axis.remap("SS", [i, d])
            O[vi, vd] = R[vi, vd] / S[vi]
