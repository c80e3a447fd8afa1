M = 4 * 16
n = TypeVar("n")
@T.prim_func
def f(A: T.Buffer((n, M), "float32", strides=("p", 1)), p: T.handle, k: T.int64):
    A_1 = A.view(M * 2)
    x: T.int32 = 3
    with T.launch_thread("blockIdx.y", 4) as by:
        L = T.alloc_local((16,), annotations={"buffer_data_alignment": 64})
        y: T.let[T.int32] = by * 4 + x
        L[0:4] = A_1[T.Ramp(y, 1, 4)] * T.Broadcast(T.float32("inf"), 4)
        L.vstore([T.Ramp(0, 2, 4)], A_1.vload([T.Ramp(0, 2, 4)], predicate=T.Broadcast(True, 4)), predicate=T.Broadcast(y < 3, 4))
        while L[0] < T.float32(1) or L[1] >= 1e-3:
            assert k > T.int64(3), "message"
            L[0] = T.Let(L[q] + T.Cast("float32", T.Div(q, 3)), where={q: y % 2 // 3})
        if y > 3:
            T.attr(A.data, "pragma", 1)
            L[1] = T.Select(y > 2, T.exp(L[0]), T.max(L[0], L[1]))
        elif y << 2 & 1 == 1:
            L[2] = T.call_intrin("float32", "tirx.foo", T.address_of(L[0]), T.type_annotation("int8"))
        else:
            T.barrier("shared", "warpgroup")
            T.arrive("shared", "cluster", operand=1, object=L.data)
        X = T.alloc_buffer((8, 8), "int8", scope="local", layout=T.layout(lambda i, j: (i % 4, j), owner_dims=1, shape=(4, 8)))
        for v, w in T.grid(T.int64(4), (2, 6)):
            X[v, w] = T.Select(T.isnan(L[0]), T.min_value("int8"), X[0, 0] + T.int8(-3))
