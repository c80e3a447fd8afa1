@T.prim_func
def main(x: T.Buffer((1000,), "float32"), total: T.Buffer((1,), "float32")):
    for i, k in T.grid(1, 1000):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] += x[vk]
