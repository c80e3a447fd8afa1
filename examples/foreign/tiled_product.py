@T.prim_func
def main(A: T.Buffer((40, 50), "float32"), B: T.Buffer((50, 36), "float32"), C: T.Buffer((40, 36), "float32")):
    for i, j, k in T.grid(40, 36, 50):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += A[vi, vk] * B[vk, vj]
