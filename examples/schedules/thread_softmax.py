@T.prim_func
def main(A: T.Buffer((8, 96), "float32"), B: T.Buffer((8, 96), "float32")):
    M = T.alloc_buffer((8,))
    S = T.alloc_buffer((8,))
    for i, k in T.grid(8, 96):
        with T.block("M"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                M[vi] = T.min_value("float32")
            M[vi] = T.max(M[vi], A[vi, vk])
    for i, k in T.grid(8, 96):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.exp(A[vi, vk] - M[vi])
    for i, j in T.grid(8, 96):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = T.exp(A[vi, vj] - M[vi]) / S[vi]
