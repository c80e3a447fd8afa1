# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @T.prim_func
    def fused_dense_add0(x: T.Buffer((T.int64(1), T.int64(784)), "float32"), weight0: T.Buffer((T.int64(784), T.int64(128)), "float32"), weight1: T.Buffer((T.int64(128),), "float32"), lv1: T.Buffer((T.int64(1), T.int64(128)), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        lv = T.alloc_buffer((T.int64(1), T.int64(128)))
        for i0, i1, k in T.grid(T.int64(1), T.int64(128), T.int64(784)):
            with T.block("matmul"):
                v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
                T.reads(x[v_i0, v_k], weight0[v_k, v_i1])
                T.writes(lv[v_i0, v_i1])
                with T.init():
                    lv[v_i0, v_i1] = T.float32(0)
                lv[v_i0, v_i1] = lv[v_i0, v_i1] + x[v_i0, v_k] * weight0[v_k, v_i1]
        for i0, i1 in T.grid(T.int64(1), T.int64(128)):
            with T.block("add"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(lv[v_i0, v_i1], weight1[v_i1])
                T.writes(lv1[v_i0, v_i1])
                lv1[v_i0, v_i1] = lv[v_i0, v_i1] + weight1[v_i1]

    @T.prim_func
    def fused_dense_add1(lv2: T.Buffer((T.int64(1), T.int64(128)), "float32"), weight0: T.Buffer((T.int64(128), T.int64(10)), "float32"), weight1: T.Buffer((T.int64(10),), "float32"), lv4: T.Buffer((T.int64(1), T.int64(10)), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        lv3 = T.alloc_buffer((T.int64(1), T.int64(10)))
        for i0, i1, k in T.grid(T.int64(1), T.int64(10), T.int64(128)):
            with T.block("matmul"):
                v_i0, v_i1, v_k = T.axis.remap("SSR", [i0, i1, k])
                T.reads(lv2[v_i0, v_k], weight0[v_k, v_i1])
                T.writes(lv3[v_i0, v_i1])
                with T.init():
                    lv3[v_i0, v_i1] = T.float32(0)
                lv3[v_i0, v_i1] = lv3[v_i0, v_i1] + lv2[v_i0, v_k] * weight0[v_k, v_i1]
        for i0, i1 in T.grid(T.int64(1), T.int64(10)):
            with T.block("add"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(lv3[v_i0, v_i1], weight1[v_i1])
                T.writes(lv4[v_i0, v_i1])
                lv4[v_i0, v_i1] = lv3[v_i0, v_i1] + weight1[v_i1]

    @T.prim_func
    def relu(A: T.Buffer((T.int64(1), T.int64(128)), "float32"), relu: T.Buffer((T.int64(1), T.int64(128)), "float32")):
        T.func_attr({"tir.noalias": True})
        # with T.block("root"):
        for i0, i1 in T.grid(T.int64(1), T.int64(128)):
            with T.block("relu"):
                v_i0, v_i1 = T.axis.remap("SS", [i0, i1])
                T.reads(A[v_i0, v_i1])
                T.writes(relu[v_i0, v_i1])
                relu[v_i0, v_i1] = T.max(A[v_i0, v_i1], T.float32(0))

    @R.function
    def main(x: R.Tensor((1, 784), dtype="float32")) -> R.Tensor((1, 10), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv1: R.Tensor((1, 128), dtype="float32") = R.call_tir(cls.fused_dense_add0, (x, metadata["relax.expr.Constant"][0], metadata["relax.expr.Constant"][1]), out_sinfo=R.Tensor((1, 128), dtype="float32"))
            lv2: R.Tensor((1, 128), dtype="float32") = R.call_tir(cls.relu, (lv1,), out_sinfo=R.Tensor((1, 128), dtype="float32"))
            lv4: R.Tensor((1, 10), dtype="float32") = R.call_tir(cls.fused_dense_add1, (lv2, metadata["relax.expr.Constant"][2], R.const([-0.013708836, 0.07848137, 0.07182343, -0.0016451472, -0.021083903, 0.017343668, 0.08413599, -0.010252144, -0.063642845, 0.0075342604], "float32")), out_sinfo=R.Tensor((1, 10), dtype="float32"))
            R.output(lv4)
        return lv4
