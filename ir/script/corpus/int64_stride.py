@T.prim_func
def dot_impl(a: T.handle, c: T.handle) -> None:
    sa = T.int64()
    A = T.match_buffer(a, (16, 16), "float32", offset_factor=16, strides=[sa, 1], scope="global.A_reg")
    C = T.match_buffer(c, (16, 16), "float32", strides=("C_s0", 1), elem_offset="o", align=128)
    with T.block("root"):
        T.reads(C[0:16, 0:16], A[0:16, 0:16])
        T.writes(C[0:16, 0:16])
        A_1 = T.match_buffer(A[0:4, 0:16], (4, 16), strides=("s", 1), scope="global.A_reg", offset_factor=4)
        T.evaluate(T.call_extern("f", C.access_ptr("w", ofT.nan3), A_1.access_ptr("rw"), sa, dtype="int32"))
        T.call_llvm_pure_intrin("int32x16", "llvm.x", T.uint32(0), T.Broadcast(A_1.strides[0], 16))
