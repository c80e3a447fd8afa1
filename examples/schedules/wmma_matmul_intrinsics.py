# A matrix product of a warp, by its description: fragments are opaque to the threads, the warp computes together.
@T.prim_func
def wmma_16x16x16_desc(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 16), "float16", offset_factor=1, scope="wmma.matrix_a")
    B = T.match_buffer(b, (16, 16), "float16", offset_factor=1, scope="wmma.matrix_b")
    C = T.match_buffer(c, (16, 16), "float32", offset_factor=1, scope="wmma.accumulator")
    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        for i, j, k in T.grid(16, 16, 16):
            with T.block("update"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                C[vi, vj] = C[vi, vj] + T.Cast("float32", A[vi, vk]) * T.Cast("float32", B[vk, vj])


@T.prim_func
def wmma_16x16x16_impl(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 16), "float16", offset_factor=1, scope="wmma.matrix_a")
    B = T.match_buffer(b, (16, 16), "float16", offset_factor=1, scope="wmma.matrix_b")
    C = T.match_buffer(c, (16, 16), "float32", offset_factor=1, scope="wmma.accumulator")
    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16], B[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        T.block_attr({"warp_execution": 1})
        for k, i, j in T.grid(16, 16, 16):
            C[i, j] = C[i, j] + T.Cast("float32", A[i, k]) * T.Cast("float32", B[k, j])
