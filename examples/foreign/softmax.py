@T.prim_func
def main(x: T.Buffer((12, 100), "float16"), y: T.Buffer((12, 100), "float32")):
    largest = T.alloc_buffer((12,), "float32")
    total = T.alloc_buffer((12,), "float32")
    for i, k in T.grid(12, 100):
        with T.block("largest"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                largest[vi] = T.float32(-65504)
            largest[vi] = T.max(largest[vi], T.Cast("float32", x[vi, vk]))
    for i, k in T.grid(12, 100):
        with T.block("total"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                total[vi] = T.float32(0)
            total[vi] += T.exp(T.Cast("float32", x[vi, vk]) - largest[vi])
    for i, j in T.grid(12, 100):
        with T.block("softmax"):
            vi, vj = T.axis.remap("SS", [i, j])
            y[vi, vj] = T.exp(T.Cast("float32", x[vi, vj]) - largest[vi]) / total[vi]
