# exp(A - greatest of the row) / sum of the row.
@T.prim_func
def main(A: T.Buffer((6, 64), "float32"), Y: T.Buffer((6, 64), "float32")):
    M = T.alloc_buffer((6,), "float32")
    E = T.alloc_buffer((6, 64), "float32")
    S = T.alloc_buffer((6,), "float32")
    for i, k in T.grid(6, 64):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.float32(-3.0e38)
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, j in T.grid(6, 64):
        with T.block("E"):
            vi, vj = T.axis.remap("SS", [i, j])
            E[vi, vj] = T.exp(A[vi, vj] - M[vi])
    for i, k in T.grid(6, 64):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + E[vi, vk]
    for i, j in T.grid(6, 64):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = E[vi, vj] / S[vi]
