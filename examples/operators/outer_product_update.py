# A sum of 64 outer products added to a matrix that is there: A += x y^T for each row x of X and y of Y.
@T.prim_func
def main(
    X: T.Buffer((64, 512), "float32"),
    Y: T.Buffer((64, 768), "float32"),
    A: T.Buffer((512, 768), "float32"),
):
    for i, j, k in T.grid(512, 768, 64):
        with T.block("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            A[vi, vj] += X[vk, vi] * Y[vk, vj]
