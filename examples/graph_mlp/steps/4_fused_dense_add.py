# from tvm.script import ir as I
# from tvm.script import tir as T
# from tvm.script import relax as R

@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((1, 784), dtype="float32")) -> R.Tensor((1, 10), dtype="float32"):
        cls = Module
        with R.dataflow():
            lv1: R.Tensor((1, 128), dtype="float32") = cls.fused_dense_add0(x)
            lv2: R.Tensor((1, 128), dtype="float32") = R.nn.relu(lv1)
            lv4: R.Tensor((1, 10), dtype="float32") = cls.fused_dense_add1(lv2)
            R.output(lv4)
        return lv4

    @R.function(private=True)
    def fused_dense_add0(x: R.Tensor((1, 784), dtype="float32")) -> R.Tensor((1, 128), dtype="float32"):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            lv: R.Tensor((1, 128), dtype="float32") = R.matmul(x, metadata["relax.expr.Constant"][0], out_dtype="void")
            lv1: R.Tensor((1, 128), dtype="float32") = R.add(lv, metadata["relax.expr.Constant"][1])
            R.output(lv1)
        return lv1

    @R.function(private=True)
    def fused_dense_add1(lv2: R.Tensor((1, 128), dtype="float32")) -> R.Tensor((1, 10), dtype="float32"):
        R.func_attr({"Primitive": True})
        with R.dataflow():
            lv3: R.Tensor((1, 10), dtype="float32") = R.matmul(lv2, metadata["relax.expr.Constant"][2], out_dtype="void")
            lv4: R.Tensor((1, 10), dtype="float32") = R.add(lv3, R.const([-0.013708836, 0.07848137, 0.07182343, -0.0016451472, -0.021083903, 0.017343668, 0.08413599, -0.010252144, -0.063642845, 0.0075342604], "float32"))
            R.output(lv4)
        return lv4
