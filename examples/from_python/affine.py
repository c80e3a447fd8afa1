# Y = X W + b, scaled: two tensors of constant extents, one whose number of rows is known when it is called.
@T.prim_func
def affine(x: T.handle, W: T.Buffer((64, 32), "float32"), b: T.Buffer((32,), "float32"), scale: T.float32, y: T.handle):
    n = T.int64()
    X = T.match_buffer(x, (n, 64), "float32")
    Y = T.match_buffer(y, (n, 32), "float32")
    Z = T.alloc_buffer((n, 32))
    for i, j, k in T.grid(n, 32, 64):
        with T.block("Z"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Z[vi, vj] = T.float32(0)
            Z[vi, vj] = Z[vi, vj] + X[vi, vk] * W[vk, vj]
    for i, j in T.grid(n, 32):
        with T.block("Y"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = (Z[vi, vj] + b[vj]) * scale
