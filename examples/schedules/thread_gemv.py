@T.prim_func
def main(A: T.Buffer((16, 256), "float16"), X: T.Buffer((256,), "float16"), Y: T.Buffer((16,), "float16")):
    S = T.alloc_buffer((16,), "float32")
    for i, k in T.grid(16, 256):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
            S[vi] = S[vi] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", X[vk])
    for i in range(16):
        with T.block("Y"):
            vi = T.axis.spatial(16, i)
            Y[vi] = T.Cast("float16", S[vi])
