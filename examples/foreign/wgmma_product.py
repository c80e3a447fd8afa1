@T.prim_func
def main(A: T.Buffer((64, 192), "float16"), B: T.Buffer((128, 192), "float16"), C: T.Buffer((64, 128), "float32")):
    for i, j, k in T.grid(64, 128, 192):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] += T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vj, vk])
