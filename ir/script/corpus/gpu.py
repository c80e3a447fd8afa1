@I.ir_module
class Module:
    @T.prim_func(s_tir=True, private=True)
    def main(A: T.Buffer((128,), "float16"), n: T.int32):
        # with T.sblock("root"):
        S = T.sblock_alloc_buffer((128,), "float16", scope="shared")
        for bx in T.thread_binding(4, thread="blockIdx.x", annotations={"k": [1, 2.5, "x"]}):
            for tx in T.thread_binding(0, 32, "threadIdx.x"):
                with T.sblock("copy"):
                    v = T.axis.spatial(128, bx * 32 + tx)
                    T.where(bx * 32 + tx < n)
                    T.reads(A[v])
                    T.writes(S[v])
                    T.sblock_attr({"buffer_dim_align": [[0, 0, 32, 8]]})
                    S[v] = T.if_then_else(v < 3 and not v == 2, A[v], T.float16(-1.5))
                T.tvm_storage_sync("shared")
                T.ptx_wait_group(1)
