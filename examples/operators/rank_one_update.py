# One outer product added to a matrix that is there: A += x y^T.
@T.prim_func
def main(
    X: T.Buffer((384,), "float32"),
    Y: T.Buffer((1024,), "float32"),
    A: T.Buffer((384, 1024), "float32"),
):
    for i, j in T.grid(384, 1024):
        with T.block("update"):
            vi, vj = T.axis.remap("SS", [i, j])
            A[vi, vj] = A[vi, vj] + X[vi] * Y[vj]
