# A product of 16-bit floats whose sums have 32 bits and are stored in 16, as libraries for GPUs have it.
@T.prim_func
def main(A: T.Buffer((256, 448), "float16"), B: T.Buffer((448, 64), "float16"), D: T.Buffer((256, 64), "float16")):
    C = T.alloc_buffer((256, 64), "float32")
    for i, j, k in T.grid(256, 64, 448):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])
    for i, j in T.grid(256, 64):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.Cast("float16", C[vi, vj])
