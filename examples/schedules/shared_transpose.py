@T.prim_func
def main(A: T.Buffer((64, 96), "float32"), B: T.Buffer((96, 64), "float32")):
    for i, j in T.grid(96, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi]
