# One sweep of Jacobi's method on a plane: every inner point becomes the weighted mean of itself and its four neighbours.
@T.prim_func
def main(A: T.Buffer((258, 514), "float32"), B: T.Buffer((258, 514), "float32")):
    for i, j in T.grid(256, 512):
        with T.block("sweep"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi + 1, vj + 1] = T.float32(0.2) * (
                A[vi + 1, vj + 1] + A[vi, vj + 1] + A[vi + 2, vj + 1] + A[vi + 1, vj] + A[vi + 1, vj + 2])
